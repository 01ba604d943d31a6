//! Programs that take what they do from a text, of which some begins a command: `ed`, `sqlite3`, `gdb`.

use super::arguments::Launched;
use super::given::{aside, run, values};
use super::hidden;
use super::word::Word;
use super::{RedirectKind, SimpleCommand};

/// Commands of sqlite3 that give a file, or with `|` in front a command.
const OF_FILES: &[&str] = &["import", "log", "once", "output", "read", "trace"];

/// Words in front of a command of an editor of vi's family.
const MODIFIERS: &[&str] = &[
    "bufdo",
    "execute",
    "exe",
    "keepalt",
    "noautocmd",
    "normal",
    "norm",
    "silent",
    "sil",
    "verbose",
    "windo",
];

/// Options whose value is a file with such a text.
const FILES: &[&str] =
    &["-S", "-command", "-f", "-init", "-u", "-x", "--command", "--init-command", "--source"];

/// Commands with the name of such a file behind them.
const READING: &[&str] = &[".read ", "so ", "source "];

/// A program that is told what to do, and how the command in a line of that is found.
type Told = (&'static [&'static str], fn(&str) -> Option<&str>);

const TOLD: &[Told] = &[
    (&["ed"], of_ed),
    (
        &[
            "ex",
            "gvim",
            "nvi",
            "nvim",
            "rview",
            "rvim",
            "vi",
            "view",
            "vim",
            "vim.basic",
            "vim.tiny",
        ],
        of_ex,
    ),
    (&["duckdb", "sqlcipher", "sqlite3"], of_sqlite),
    (&["gdb", "gdb-multiarch", "lldb", "rust-gdb", "rust-lldb"], of_debugger),
    (&["mariadb", "mysql", "psql"], of_client),
    (&["dc", "ftp", "lftp", "sftp"], of_mark),
    (&["strace"], of_strace),
];

fn told(name: &str) -> Option<&'static Told> {
    TOLD.iter().find(|(names, _)| names.contains(&name))
}

/// Says whether a program does what a text tells it.
pub(super) fn is_told(name: &str) -> bool {
    told(name).is_some()
}

/// Returns what a program runs because a text tells it that the command has itself: an argument, what it reads,
/// or what `feed` prints.
pub(super) fn launched(
    name: &str,
    command: &SimpleCommand,
    feed: &[SimpleCommand],
) -> Vec<Launched> {
    let (of_line, with_arguments): (fn(&str) -> Option<&str>, bool) = match name {
        "ed" | "ex" => (of_ed, false),
        "sqlite3" => (of_sqlite, true),
        _ => return Vec::new(),
    };
    let given = command.redirects.iter().filter(|one| one.kind == RedirectKind::Text);
    let arguments = command.arguments().iter().filter(|_| with_arguments).map(Word::source);
    let texts = given.map(|one| one.target.source()).chain(arguments);
    let texts: Vec<_> = texts.chain(feed.iter().filter_map(hidden::written)).collect();
    let lines = texts.iter().flat_map(|text| text.lines().filter(beyond_inserted(name)));
    lines.filter_map(of_line).map(|text| aside(run(&Word::text(text)))).collect()
}

/// Returns the commands that a text may have a program run.
pub(super) fn commands<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
    let Some((names, of_line)) = told(name) else { return Vec::new() };
    let parts = |line: &'a str| {
        // There another command begins, which goes on to the end of the line.
        let bars = line.match_indices('|').filter(|_| names.contains(&"ex"));
        let behind = bars.filter_map(|(at, _)| line.get(at + 1..));
        std::iter::once(line).chain(behind).filter_map(of_line)
    };
    text.lines().flat_map(parts).collect()
}

/// Returns the files that tell a program what to do, by an option.
pub(super) fn files(command: &SimpleCommand) -> Vec<Word> {
    let given = values(command.arguments(), FILES, true).into_iter();
    given.map(|file| file.strip_prefix("=").unwrap_or(file)).collect()
}

/// Returns the files that do so by what a text says.
pub(super) fn included(text: &str) -> impl Iterator<Item = Word> {
    let file = |line: &str| {
        let line = line.trim_start_matches([' ', ':']);
        let name = READING.iter().find_map(|command| line.strip_prefix(command))?;
        Some(Word::text(name.trim_matches([' ', '"', '\''])))
    };
    text.lines().filter_map(file)
}

/// Returns the arguments that may tell a program what to do.
pub(super) fn arguments(command: &SimpleCommand) -> Vec<String> {
    if command.program() == Some("strace") {
        let files = values(command.arguments(), &["-o", "--output"], true);
        return files.iter().map(Word::source).collect();
    }
    let text = |word: &Word| {
        let text = word.source();
        let is_option = text.starts_with('-');
        let value = text.split_once('=').filter(|_| is_option).map(|(_, value)| value);
        value.unwrap_or(text.trim_start_matches('+')).to_owned()
    };
    command.arguments().iter().map(text).collect()
}

/// Says of one line after the other whether it stands outside of what an editor puts into its file.
fn beyond_inserted(name: &str) -> impl FnMut(&&str) -> bool {
    let edits = matches!(name, "ed" | "ex");
    let mut inserts = false;
    move |line| {
        let is_inserted = inserts;
        inserts = match is_inserted {
            true => *line != ".",
            false => edits && inserts_behind(line),
        };
        !is_inserted
    }
}

/// `1i`, `$a`, `/x/c`: the lines behind it are put into the file.
fn inserts_behind(line: &str) -> bool {
    let address = line.trim_end().strip_suffix(['a', 'c', 'i']);
    let is_address = |text: &str| text.starts_with(is_of_address) && text.ends_with(is_of_address);
    address.is_some_and(|address| address.is_empty() || is_address(address))
}

fn is_of_address(sign: char) -> bool {
    sign.is_ascii_digit() || "%,;.$+-/?':".contains(sign)
}

/// `!command`, `r !command`, `1,2w !command`. A mark that stands elsewhere is text.
fn of_ed(line: &str) -> Option<&str> {
    let (before, command) = line.split_once('!')?;
    let before = before.trim_end().trim_end_matches(['E', 'W', 'e', 'r', 'w']).trim();
    let begins = before.chars().next().is_none_or(is_of_address) && !before.starts_with("//");
    let before = before.trim_end_matches(|sign: char| sign.is_ascii_lowercase());
    (begins && before.chars().next_back().is_none_or(is_of_address)).then_some(command)
}

/// The same behind other commands, such as `silent` and `g/x/`.
fn of_ex(part: &str) -> Option<&str> {
    let is_mark = |sign: char| sign.is_whitespace() || matches!(sign, ':' | '"' | '\'');
    let mut rest = part.trim_start_matches(is_mark);
    while let Some(behind) = MODIFIERS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = behind.strip_prefix('!').unwrap_or(behind).trim_start_matches(is_mark);
    }
    let global = rest.strip_prefix(['g', 'v']).filter(|pattern| pattern.starts_with('/'));
    let command = of_ed(global.unwrap_or(rest))?;
    let quote = part.contains("\"!").then_some('"').or(part.contains("'!").then_some('\''));
    Some(quote.map_or(command, |quote| command.trim_end_matches(quote)))
}

/// `.shell command`, `.system command`, which may be shortened, and `.once |command`
fn of_sqlite(line: &str) -> Option<&str> {
    let line = line.trim().strip_prefix('.')?;
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let is_one = |whole: &str| name.len() > 1 && whole.starts_with(name);
    if is_one("shell") || is_one("system") {
        return Some(rest);
    }
    let is_file = name.len() > 1 && OF_FILES.iter().any(|whole| whole.starts_with(name));
    let (_, command) = rest.split_once('|').filter(|_| is_file)?;
    // The word may be in quotes, with others behind it.
    let quote = rest.chars().find(|sign| matches!(sign, '"' | '\'' | '|'));
    command.split(quote.filter(|sign| *sign != '|').unwrap_or('\n')).next()
}

/// `shell command`, which may be shortened, `!command`, `pipe bt | command`
fn of_debugger(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    match name {
        "she" | "shel" | "shell" => Some(rest),
        "platform" => rest.trim_start().strip_prefix("shell "),
        "pip" | "pipe" | "tar" | "target" | "|" => Some(rest.split_once('|')?.1),
        _ => line.strip_prefix('!'),
    }
}

/// `\! command`, `\o |command`, `-o '|command'`, `system command`
fn of_client(line: &str) -> Option<&str> {
    let (_, marked) = line.split_once("\\!").unzip();
    let piped = || Some(line.split_once('\\')?.1.split_once('|')?.1);
    let line = line.trim_start();
    let named =
        || ["system ", "pager ", "\\P ", "|"].iter().find_map(|name| line.strip_prefix(name));
    marked.or_else(named).or_else(piped)
}

/// `!command`
fn of_mark(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('!')
}

/// `-o '|command'`, `-o '!command'`
fn of_strace(file: &str) -> Option<&str> {
    file.strip_prefix(['|', '!'])
}
