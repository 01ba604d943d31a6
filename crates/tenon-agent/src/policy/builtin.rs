//! The built-in tiers: what destroys the machine is denied, what a person wants to know of before
//! is asked. One file for each kind of harm; each looks at one simple command at a time.

mod device;
mod download;
mod git;
mod held;
mod machine;
mod removal;

use super::places::Places;
use super::rule::Verdict;
use super::shell::{Folders, Launches, Parsed, Piece, SimpleCommand, Word};

/// What a built-in rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    /// The name of the rule, as people read it.
    pub(crate) rule: &'static str,
    /// One sentence: what would happen.
    pub(crate) reason: String,
    /// The command it speaks of, as an index into the parsed commands.
    pub(crate) command: usize,
    /// How many of its words a rule must name to speak of the same thing.
    pub(crate) words: usize,
    /// A yes runs the command line outside the walls.
    pub(crate) unconfined: bool,
}

impl Finding {
    fn deny(rule: &'static str, reason: String) -> Finding {
        Finding { verdict: Verdict::Deny, rule, reason, command: 0, words: 0, unconfined: false }
    }

    /// `words` are those up to and with the one that makes it so.
    fn ask(rule: &'static str, words: usize, reason: String) -> Finding {
        Finding { verdict: Verdict::Ask, rule, reason, command: 0, words, unconfined: false }
    }
}

/// Returns everything that the built-in rules say about a command line.
pub(crate) fn findings(parsed: &Parsed, places: &Places) -> Vec<Finding> {
    let mut findings = Vec::new();
    let held = held::held(parsed, places);
    for (index, command) in parsed.commands.iter().enumerate() {
        let before = findings.len();
        let found = [
            machine::judge(command, places),
            device::judge(command, places),
            removal::judge(command, places)
                .filter(|finding| !command.is_written || finding.verdict == Verdict::Deny),
            git::judge(command),
            privilege(command),
        ];
        let here = |finding| Finding { command: index, ..finding };
        findings.extend(found.into_iter().flatten().map(here));
        findings.extend(download::judge(parsed, index, &held, places));
        findings.extend(hidden(command).map(here));
        if command.is_moot {
            let found = findings.split_off(before);
            findings.extend(found.into_iter().filter(|one| one.verdict == Verdict::Deny));
        }
    }
    findings.extend(machine::fork_bomb(parsed));
    findings
}

fn privilege(command: &SimpleCommand) -> Option<Finding> {
    let name = command.program()?;
    if !matches!(name, "sudo" | "su" | "doas" | "pkexec" | "run0") {
        return None;
    }
    let harmless = [["--version"], ["--help"], ["-V"]];
    let only: Vec<_> = command.arguments().iter().filter_map(Word::literal).collect();
    if harmless.iter().any(|words| only == words) {
        return None;
    }
    let reason = format!("{name} runs the command with the rights of another user");
    let words = command.words.len();
    Some(Finding { unconfined: true, ..Finding::ask("privileges", words, reason) })
}

/// What runs is put together by the command line itself, so no rule can see it.
fn hidden(command: &SimpleCommand) -> Option<Finding> {
    // What a script of one's own does by itself is seen when it runs.
    if command.is_written {
        return None;
    }
    let first = command.words.first().filter(|_| is_hidden(command))?;
    let reason = match command.launches {
        Launches::Unknown => format!("what `{}` runs is only known when it runs", first.shown()),
        _ => format!("which program `{}` is, is only known when it runs", first.shown()),
    };
    Some(Finding::ask("hidden command", command.words.len(), reason))
}

/// Says whether what runs is only known when it runs, be it the program or what that starts.
pub(super) fn is_hidden(command: &SimpleCommand) -> bool {
    let is_hidden = |piece: &Piece| match piece {
        Piece::Unknown(unknown) => unknown.inherited.is_none(),
        Piece::Glob(_) => true,
        _ => false,
    };
    let program = || command.words.first().filter(|_| command.program().is_none());
    command.launches == Launches::Unknown && !command.words.is_empty()
        || program().is_some_and(|first| first.pieces.iter().any(is_hidden))
}

/// Returns the changes of folder before a command: as if each were done, and the other ways as far as they
/// are known, since any of them may have failed or not have run.
fn ways(command: &SimpleCommand) -> impl Iterator<Item = Option<&[Word]>> {
    let done = command.folder.as_deref();
    let others = command.folders.iter().flat_map(Folders::ways);
    std::iter::once(done).chain(others.filter(move |way| way.is_some() && *way != done))
}

/// Says whether an option is given: long ones also shortened, short ones also in a row (`-rf`).
fn has_option(arguments: &[Word], long: &str, long_bytes_min: usize, short: &[char]) -> bool {
    option_position(arguments, long, long_bytes_min, short).is_some()
}

/// Returns the position of an option among the arguments before `--`.
fn option_position(
    arguments: &[Word],
    long: &str,
    long_bytes_min: usize,
    short: &[char],
) -> Option<usize> {
    arguments.iter().take_while(|word| word.literal() != Some("--")).position(|word| {
        let text = word.prefix();
        if let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            return letters.contains(short);
        }
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        name.len() >= long_bytes_min && name.starts_with("--") && long.starts_with(name)
    })
}

/// Returns the arguments that are no options; all behind `--` are.
fn operands(arguments: &[Word]) -> Vec<&Word> {
    let mut plain = false;
    let mut operands = Vec::new();
    for word in arguments {
        if !plain && word.literal() == Some("--") {
            plain = true;
        } else if plain || !word.prefix().starts_with('-') || word.literal() == Some("-") {
            operands.push(word);
        }
    }
    operands
}
