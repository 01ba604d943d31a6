//! Programs that take what they do from a text, of which some begins a command: `ed`, `sqlite3`, `gdb`.
//!
//! The text is what they read, as a shell's script is: a command that is in it is judged, and where it is
//! not known, that is said.

use super::SimpleCommand;
use super::arguments::{self, Launched};
use super::given::{aside, run, values};
use super::hidden;
use super::made::Signs;
use super::told_lines::{of_client, of_debugger, of_ed, of_mark, of_sqlite};
use super::word::{UNKNOWN, Word};

/// A program that is told what to do.
struct Told {
    names: &'static [&'static str],
    /// Returns the command that a line of the text begins.
    of_line: fn(&str) -> Option<&str>,
    /// Options whose value is a file with such a text.
    files: &'static [&'static str],
    /// What it is told is data for the most part, which other programs make of files.
    is_data: bool,
}

const TOLD: &[Told] = &[
    Told { names: &["ed"], of_line: of_ed, files: &[], is_data: false },
    Told {
        names: &["ex", "nvim", "vi", "view", "vim"],
        of_line: of_ed,
        files: &["-S", "-s", "-u"],
        is_data: false,
    },
    Told { names: &["sqlite3"], of_line: of_sqlite, files: &["-init"], is_data: true },
    Told { names: &["gdb", "lldb"], of_line: of_debugger, files: &["-x", "-s"], is_data: false },
    Told {
        names: &["dc", "ftp", "lftp", "sftp"],
        of_line: of_mark,
        files: &["-b"],
        is_data: false,
    },
    Told {
        names: &["mariadb", "mysql", "psql"],
        of_line: of_client,
        files: &["-f"],
        is_data: true,
    },
];

fn told(name: &str) -> Option<&'static Told> {
    TOLD.iter().find(|told| told.names.contains(&name))
}

/// Returns what a program runs because a text tells it: an argument, or what it reads from `feed`.
pub(super) fn launched(
    name: &str,
    command: &SimpleCommand,
    feed: &[SimpleCommand],
) -> Vec<Launched> {
    let Some(told) = told(name) else { return Vec::new() };
    let arguments = command.arguments().iter().filter(|_| name == "sqlite3");
    let mut launched: Vec<_> = arguments.flat_map(|word| in_text(told, &word.source())).collect();
    let own = command.text().is_some() || command.reads_descriptor;
    let words: Option<Vec<_>> = feed.iter().map(said).collect();
    let fed = match words {
        Some(words) if !own && !words.is_empty() => {
            words.iter().flat_map(|word| of_word(told, word)).collect()
        }
        _ if own || !(told.is_data && feed.iter().all(takes_file)) => {
            let fed = hidden::fed(command, feed, false);
            fed.into_iter().flat_map(|one| in_script(told, one)).collect()
        }
        _ => Vec::new(),
    };
    launched.extend(fed);
    launched
}

/// Returns what such a program runs by a file with this text; nothing if the command is none.
pub(super) fn in_file(command: &SimpleCommand, text: &str) -> Vec<Launched> {
    let told = command.program().and_then(told);
    told.map_or_else(Vec::new, |told| in_text(told, text))
}

/// Says whether a program does what it reads, and that is no data for the most part.
pub(crate) fn obeys(name: &str) -> bool {
    told(name).is_some_and(|told| !told.is_data)
}

/// Says whether a program does what it reads.
pub(super) fn is_told(name: &str) -> bool {
    told(name).is_some()
}

/// Returns the files that tell such a program what to do.
pub(super) fn files(command: &SimpleCommand) -> Vec<Word> {
    let Some(told) = command.program().and_then(told) else { return Vec::new() };
    let given = values(command.arguments(), told.files, true);
    // `sqlite3 x '.read file'`
    let read = command.arguments().iter().filter(|_| told.is_data);
    let read = read.filter_map(|word| word.strip_prefix(".read "));
    given.into_iter().chain(read).chain(hidden::read_file(command).cloned()).collect()
}

fn in_text(told: &Told, text: &str) -> Vec<Launched> {
    let commands = text.lines().filter_map(told.of_line);
    commands.map(|text| aside(run(&Word::text(text)))).collect()
}

/// Returns what it runs by what would be a shell's script.
fn in_script(told: &Told, script: Launched) -> Vec<Launched> {
    let Launched::Script { text, made, same_shell } = script else { return vec![script] };
    // What is put together may hold a line of its own.
    let put_together = Launched::Script { text: String::new(), made, same_shell };
    in_text(told, &text).into_iter().chain([put_together]).collect()
}

fn of_word(told: &Told, word: &Word) -> Vec<Launched> {
    let text = word.source();
    let is_open = |line: &str| line.trim_start_matches([' ', ':']).starts_with(UNKNOWN);
    if !told.is_data && text.lines().any(is_open) {
        return vec![Launched::Unknown];
    }
    let made = word.made_unknown();
    in_script(told, Launched::Script { text, made, same_shell: false })
}

/// Returns what a command prints, as far as the line says it.
fn said(command: &SimpleCommand) -> Option<Word> {
    let said = hidden::said(command);
    let words = command.arguments();
    let is_known = |word: &Word| word.literal().is_some();
    let escapes = || arguments::made_printed(words).signs == Signs::Substitution;
    if said.is_some() || words.iter().all(is_known) || escapes() {
        return said;
    }
    match command.program()? {
        "echo" => Some(arguments::join(words)),
        "printf" => {
            let line = |word: &Word| Word::text("\n").joined(word);
            let lines = words.iter().map(|word| line(&word.replaced("\\n", &Word::text("\n"))));
            lines.reduce(|all, line| all.joined(&line))
        }
        _ => None,
    }
}

/// Says whether a command prints what it makes of a file that it names.
fn takes_file(command: &SimpleCommand) -> bool {
    let is_path = |sign: char| sign.is_alphanumeric() || "_-./".contains(sign);
    let is_file = |text: &str| text.contains(['.', '/']) && text.chars().all(is_path);
    let last = command.arguments().last().and_then(Word::literal);
    let reads = command.text().is_some() || command.reads_descriptor;
    !reads && command.piped_from.is_none() && last.is_some_and(is_file)
}
