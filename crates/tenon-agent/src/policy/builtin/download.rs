//! Running what was just downloaded, unseen.

use super::Finding;
use super::held::{Folder, Held, Kind, Source};
use crate::policy::places::Places;
use crate::policy::shell::{Parsed, SimpleCommand, Word, shells};

pub(super) const RULE: &str = "download and run";

const INTERPRETERS: &[&str] = &[
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "php",
    "deno",
    "bun",
    "lua",
    "osascript",
    "Rscript",
    "julia",
    "tclsh",
    "expect",
    "pwsh",
];

/// Judges the command at `index`; a finding speaks of the download, and one of the command that runs it:
/// leave for the one is none for the other.
pub(super) fn judge(
    parsed: &Parsed,
    index: usize,
    held: &Held,
    places: &Places,
) -> impl Iterator<Item = Finding> {
    let found = parsed.commands.get(index).and_then(|command| {
        let (kind, download) = run(command, held, places)?;
        let runner = command.program().unwrap_or("a shell");
        let reason = match kind {
            Kind::Downloaded => format!("{runner} would run what comes from the network, unseen"),
            Kind::Decoded => format!("{runner} would run what is decoded on the way, unseen"),
        };
        Some(std::iter::once(download).chain((download != index).then_some(index)).map(
            move |place| {
                let words = parsed.commands.get(place).map_or(0, |command| command.words.len());
                Finding { command: place, ..Finding::ask(RULE, words, reason.clone()) }
            },
        ))
    });
    found.into_iter().flatten()
}

/// Returns where that comes from which a command runs.
fn run(command: &SimpleCommand, held: &Held, places: &Places) -> Option<Source> {
    let mut folder = Folder::default();
    folder.enter(command, places);
    let name = command.program();
    let shell = name.is_some_and(|name| shells::SHELLS.contains(&name));
    let shell = shell && !shells::only_checks(command);
    let interpreter = shell || name.is_some_and(is_interpreter);
    let sources = matches!(name, Some("source" | "."));
    let mut found = None;
    if name.is_none() {
        found = command.words.first().and_then(|word| held.unknown(word));
    }
    if interpreter || sources || matches!(name, Some("eval" | "trap")) {
        found = found.max(command.arguments().iter().filter_map(|word| held.unknown(word)).max());
    }
    let is_input = |word: &Word| {
        matches!(word.literal(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
    };
    let reads_input = sources && shells::sourced(command).first().is_some_and(is_input);
    if reads_input || interpreter && shells::reads_program(command) {
        found = found.max(held.read(command, &folder));
    }
    let startup = |(name, _): &&(String, Word)| matches!(name.as_str(), "BASH_ENV" | "ENV");
    let startup = command.assignments.iter().filter(startup).map(|(_, file)| file);
    let options = command.arguments().iter().zip(command.arguments().iter().skip(1));
    let is_file =
        |(option, _): &(&Word, &Word)| matches!(option.literal(), Some("--rcfile" | "--init-file"));
    let options = options.filter(|both| shell && is_file(both)).map(|(_, file)| file);
    // What may be an option may be the file as well.
    let arguments = command.arguments();
    let known = arguments.iter().position(Word::is_no_option).map_or(arguments.len(), |at| at + 1);
    let words = match interpreter || sources {
        true => arguments.get(..known).unwrap_or_default(),
        false => command.words.get(..1).unwrap_or_default(),
    };
    let file = words.iter().filter(|word| !word.prefix().starts_with('-'));
    let files = file.chain(startup).chain(options);
    let is_named = |word: &&Word| {
        word.literal().is_none_or(|text| interpreter || sources || text.contains('/'))
    };
    let files = files.filter(is_named).filter_map(|file| held.file(file, &folder));
    let program = command.words.first().and_then(Word::literal).and_then(|name| held.program(name));
    found.max(files.max()).max(program)
}

/// Says whether a program is an interpreter, of whatever version.
fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    INTERPRETERS.contains(&plain)
}
