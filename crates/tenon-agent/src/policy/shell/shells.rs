//! What a shell runs, by its own arguments: a text, a file, or what it reads.
//!
//! Options stand in rows (`-euxo pipefail -c`), and those with a value take the words behind the row,
//! one after the other. The text of `-c` is the first word that is no option.

use super::SimpleCommand;
use super::arguments::{Launched, is_output, script, skip_options, valued};
use super::given::aside;
use super::hidden;
use super::word::Word;

/// Shells that take `-c SCRIPT`.
pub(crate) const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "fish", "csh", "lksh", "mksh", "posh",
    "tcsh", "yash",
];

/// Shells in which the value of `-o` and `-O` is always a word of its own.
const BY_WORDS: &[&str] = &["ash", "bash", "dash", "rbash", "sh"];

/// Long options of bash, which may also have one dash, and whether they have a value.
const LONG: &[(&str, bool)] = &[
    ("debug", false),
    ("debugger", false),
    ("dump-po-strings", false),
    ("dump-strings", false),
    ("help", false),
    ("init-file", true),
    ("login", false),
    ("noediting", false),
    ("noprofile", false),
    ("norc", false),
    ("posix", false),
    ("pretty-print", false),
    ("protected", false),
    ("rcfile", true),
    ("restricted", false),
    ("verbose", false),
    ("version", false),
    ("wordexp", false),
];

/// Shells that know `-n` and `-o noexec`: they read their script and run nothing of it.
const CHECKING: &[&str] = &["ash", "bash", "dash", "ksh", "lksh", "mksh", "rbash", "sh", "zsh"];

/// Of these only what is no terminal keeps to it: a script that they are given.
const CHECKING_FILES: &[&str] = &["ksh", "lksh", "mksh"];

/// Options of one letter that have no value and mean in all of those shells what bash means by them.
const LETTERS: &str = "aCcefnuvx";

/// Long options of bash that may stand before those.
const LONG_OF_CHECKS: &[&str] = &["--noprofile", "--norc", "--posix", "--verbose"];

/// Values of `-o` that are known not to be about `noexec`.
const SETTINGS: &[&str] = &[
    "allexport",
    "errexit",
    "noclobber",
    "noglob",
    "nounset",
    "pipefail",
    "posix",
    "verbose",
    "xtrace",
];

/// Files in the home that shells run when a person or a session begins.
const OF_PEOPLE: [&str; 7] =
    [".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".profile", ".zshenv", ".zshrc"];

/// The arguments of a shell, read.
#[derive(Default)]
struct Invocation<'a> {
    /// The first operand is a script (`-c`).
    takes_text: bool,
    /// It reads its script, whatever the operands are (`-s`).
    reads: bool,
    /// The files that it runs first.
    startup: Vec<&'a Word>,
    /// It is told to be one for a person (`-i`, `-l`).
    is_of_people: bool,
    operands: &'a [Word],
}

impl<'a> Invocation<'a> {
    fn of(shell: &str, arguments: &'a [Word]) -> Invocation<'a> {
        let mut read = Invocation { operands: arguments, ..Invocation::default() };
        while let Some((word, after)) = read.operands.split_first() {
            let text = word.prefix();
            if !text.starts_with(['-', '+']) {
                break;
            }
            read.operands = after;
            if matches!(word.literal(), Some("--" | "-")) {
                break;
            }
            let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
            let long = LONG.iter().find(|(long, _)| name == Some(long));
            if let Some((_, has_value)) = long {
                read.is_of_people |= text.ends_with("login");
                let value = after.first().filter(|_| *has_value);
                read.startup.extend(value);
                read.operands = after.get(usize::from(value.is_some())..).unwrap_or_default();
            } else if !text.starts_with("--") {
                read.takes_text |= text.contains('c');
                read.reads |= text.contains('s');
                read.is_of_people |= text.contains(['i', 'l']);
                let values = match BY_WORDS.contains(&shell) {
                    true => text.chars().filter(|sign| matches!(sign, 'o' | 'O')).count(),
                    false => usize::from(text.ends_with('o')),
                };
                read.operands = after.get(values..).unwrap_or_default();
            }
        }
        read
    }
}

/// Says whether a command is a shell that only checks the syntax of what it is given (`bash -n x.sh`).
///
/// A word before its first operand that is not known makes that unsure.
pub(crate) fn only_checks(command: &SimpleCommand) -> bool {
    let name = command.program().unwrap_or_default();
    if !CHECKING.contains(&name) {
        return false;
    }
    let is_long = |word: &&Word| {
        let is_bash = matches!(name, "bash" | "rbash");
        is_bash && word.literal().is_some_and(|text| LONG_OF_CHECKS.contains(&text))
    };
    let long = command.arguments().iter().take_while(is_long).count();
    let mut rest = command.arguments().get(long..).unwrap_or_default();
    let mut checks = false;
    while let Some((word, after)) = rest.split_first() {
        if matches!(word.literal(), Some("-" | "--")) {
            rest = after;
            break;
        }
        if !word.prefix().starts_with(['-', '+']) {
            checks &= word.is_no_option();
            break;
        }
        let Some((sets, words)) = switch(word, after.first()) else { return false };
        checks = sets.unwrap_or(checks);
        rest = after.get(words..).unwrap_or_default();
    }
    checks && !(rest.is_empty() && CHECKING_FILES.contains(&name))
}

/// Returns whether a row of options turns `noexec` on or off, if it does either, and how many of the words
/// behind it are values; `None` if not all of it is known.
fn switch(row: &Word, next: Option<&Word>) -> Option<(Option<bool>, usize)> {
    let (sign, letters) = row.literal()?.split_at_checked(1)?;
    let plain = letters.strip_suffix('o');
    let is_known = plain.unwrap_or(letters).chars().all(|letter| LETTERS.contains(letter));
    if letters.is_empty() || !is_known {
        return None;
    }
    let by_letter = letters.contains('n').then_some(sign == "-");
    if plain.is_none() {
        return Some((by_letter, 0));
    }
    match next?.literal()? {
        "noexec" => Some((Some(sign == "-"), 1)),
        name => SETTINGS.contains(&name).then_some((by_letter, 1)),
    }
}

/// Returns what a shell is given behind its options: a script's name and its arguments.
pub(super) fn operands(command: &SimpleCommand) -> &[Word] {
    Invocation::of(command.program().unwrap_or_default(), command.arguments()).operands
}

/// Returns what `source` is given behind its options: a script's name and its arguments.
pub(crate) fn sourced(command: &SimpleCommand) -> &[Word] {
    match command.arguments() {
        [first, rest @ ..] if first.literal() == Some("--") => rest,
        arguments => arguments,
    }
}

/// Returns the files that a shell runs before anything else.
pub(super) fn startup(command: &SimpleCommand) -> Vec<Word> {
    let shell = command.program().unwrap_or_default();
    let read = Invocation::of(shell, command.arguments());
    let of_people = OF_PEOPLE.iter().filter(|_| read.is_of_people || shell == "zsh");
    read.startup.into_iter().cloned().chain(of_people.map(|name| Word::text(*name))).collect()
}

/// Returns what a shell starts; `feed` are the commands whose output it reads.
pub(super) fn launched(
    shell: &str,
    command: &SimpleCommand,
    feed: &[SimpleCommand],
) -> Vec<Launched> {
    if only_checks(command) {
        return Vec::new();
    }
    let arguments = command.arguments();
    let read = Invocation::of(shell, arguments);
    let hides = |file: &Word| is_output(file) || hidden::is_descriptor_of(command, file);
    let mut launched = Vec::new();
    for file in &read.startup {
        launched.extend(match file.literal() {
            _ if hides(file) => Some(Launched::Unknown),
            Some("/dev/null") => None,
            _ => Some(runs_file(command, file)),
        });
    }
    if shell == "fish" {
        let texts = valued(arguments, &["-c", "--command", "-C", "--init-command"]);
        launched.extend(texts.into_iter().flat_map(|text| script(text, false)));
    }
    if read.takes_text {
        let Some((text, parameters)) = read.operands.split_first() else { return launched };
        launched.extend(with_parameters(script(text.clone(), false), parameters));
        if hidden::has_aliases(arguments, text) {
            launched.push(Launched::Unknown);
        }
        return launched;
    }
    if read.operands.first().is_some_and(hides) {
        launched.push(Launched::Unknown);
    } else if reads_program(command) {
        let name = command.words.first().cloned().into_iter();
        let parameters: Vec<_> = name.chain(read.operands.iter().cloned()).collect();
        launched.extend(with_parameters(hidden::fed(command, feed, false), &parameters));
    }
    launched
}

/// Returns what a shell does with a file that it runs first: the same as if it were its script.
fn runs_file(command: &SimpleCommand, file: &Word) -> Launched {
    let words = command.words.first().into_iter().chain([file]).cloned().collect();
    aside(Launched::Command(SimpleCommand { words, ..Default::default() }))
}

fn with_parameters(launched: Vec<Launched>, parameters: &[Word]) -> Vec<Launched> {
    let with = |one| match one {
        Launched::Script { text, same_shell: false, made } => {
            Launched::Shell { text, made, parameters: parameters.to_vec() }
        }
        other => other,
    };
    launched.into_iter().map(with).collect()
}

/// Says whether an interpreter takes its program from standard input: it has no script to run.
pub(crate) fn reads_program(command: &SimpleCommand) -> bool {
    let arguments = command.arguments();
    let is_input = |word: &Word| matches!(word.literal(), Some("-" | "/dev/stdin"));
    if let Some(shell) = command.program().filter(|name| SHELLS.contains(name)) {
        if only_checks(command) {
            return false;
        }
        let read = Invocation::of(shell, arguments);
        return !read.takes_text && (read.reads || read.operands.first().is_none_or(is_input));
    }
    let takes_text = |word: &Word| {
        let text = word.prefix();
        ["-c", "-m", "-e", "-E", "-n", "-p", "-r"].iter().any(|option| text.starts_with(option))
            || matches!(text, "--eval" | "--print" | "--version" | "--help" | "-V" | "-v" | "-h")
    };
    let mut options = arguments.iter().take_while(|word| !word.is_no_option());
    !options.any(takes_text) && skip_options(arguments, &["-W", "-X"]).first().is_none_or(is_input)
}

/// Says whether a word names a program by what is open: the shell itself, or a descriptor.
pub(super) fn is_open_program(word: &Word) -> bool {
    let path = word.source();
    path.starts_with("/dev/fd/")
        || path.starts_with("/proc/") && (path.ends_with("/exe") || path.contains("/fd/"))
}

/// Returns what such a program runs, taken for the shell that the line is given to.
pub(super) fn of_open_program(command: &SimpleCommand) -> Vec<Launched> {
    let words = [&[Word::text("bash")], command.arguments()].concat();
    let shell = SimpleCommand { words, redirects: command.redirects.clone(), ..Default::default() };
    vec![Launched::Unknown, Launched::Command(shell)]
}

/// Says whether what a command runs depends on what it reads.
pub(super) fn runs_input(command: &SimpleCommand) -> bool {
    let first = || sourced(command).first().and_then(Word::literal);
    match command.program() {
        Some("." | "source") => first() == Some("/dev/stdin"),
        Some("at" | "batch" | "crontab" | "parallel" | "xargs") => true,
        Some(name) => SHELLS.contains(&name) && reads_program(command),
        None => false,
    }
}
