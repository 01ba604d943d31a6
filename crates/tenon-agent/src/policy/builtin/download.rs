//! Running what was just downloaded, unseen.

use super::Finding;
use crate::policy::shell::{Parsed, Redirect, RedirectKind, SimpleCommand, Unknown, Word, launch};

pub(super) const RULE: &str = "download and run";

const DOWNLOADERS: &[&str] =
    &["curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lwp-download", "nc", "ncat"];
/// These turn text into another that no rule has seen.
const DECODERS: &[&str] = &["base64", "base32", "xxd", "openssl", "uudecode"];
const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "php",
    "deno",
    "bun",
    "lua",
    "osascript",
];

/// A file that a command puts there from the network.
pub(super) struct Saved {
    command: usize,
    file: String,
}

/// Returns the files that the command line downloads, as far as their names are known.
pub(super) fn saved(parsed: &Parsed) -> Vec<Saved> {
    let mut saved = Vec::new();
    for (index, command) in parsed.commands.iter().enumerate() {
        if !command.program().is_some_and(|name| DOWNLOADERS.contains(&name)) {
            continue;
        }
        let mut add = |file: &str| {
            saved.push(Saved { command: index, file: plain(file).to_owned() });
        };
        let writes = |one: &&Redirect| one.kind == RedirectKind::Write;
        let targets = command.redirects.iter().filter(writes).map(|one| &one.target);
        // `-o` and `-O` name the file, and without them the address does: all words may be it.
        for word in command.arguments().iter().chain(targets) {
            let Some(text) = word.literal() else { continue };
            add(text);
            add(text.split_once('=').map_or(text, |(_, file)| file));
            if let Some((_, name)) = text.rsplit_once('/') {
                add(name);
            }
        }
    }
    saved
}

fn plain(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}

/// Returns the file that a command runs.
fn file_run(command: &SimpleCommand, interprets: bool) -> Option<&str> {
    let first = command.words.first()?.literal()?;
    let file = match interprets {
        true => command.arguments().iter().find(|word| word.is_no_option())?.literal()?,
        false => Some(first).filter(|name| name.contains('/'))?,
    };
    Some(plain(file))
}

/// Judges the command at `index`; the finding speaks of the download.
pub(super) fn judge(parsed: &Parsed, index: usize, saved: &[Saved]) -> Option<Finding> {
    let command = parsed.commands.get(index)?;
    let name = command.program();
    let shell = name.is_some_and(|name| launch::SHELLS.contains(&name));
    let interpreter = shell || name.is_some_and(|name| INTERPRETERS.contains(&name));
    let mut sources: Vec<&Unknown> = Vec::new();
    let mut downloads = Vec::new();
    if command.program().is_none() {
        sources.extend(command.words.iter().take(1).flat_map(Word::unknown));
    }
    if interpreter || matches!(name, Some("eval" | "source" | "." | "trap")) {
        sources.extend(command.arguments().iter().flat_map(Word::unknown));
    }
    if interpreter && launch::reads_program(command) {
        downloads.extend(upstream(parsed, index));
        let texts = |one: &&Redirect| matches!(one.kind, RedirectKind::Text | RedirectKind::Read);
        sources.extend(command.redirects.iter().filter(texts).flat_map(|one| one.target.unknown()));
    }
    let interprets = interpreter || matches!(name, Some("source" | "."));
    if let Some(file) = file_run(command, interprets) {
        let before = saved.iter().take_while(|one| one.command < index);
        downloads.extend(before.filter(|one| one.file == file).map(|one| one.command));
    }
    for source in sources {
        for from in source.from.clone() {
            downloads.push(from);
            downloads.extend(upstream(parsed, from));
        }
    }
    let found = |names: &[&str]| {
        downloads.iter().copied().find(|index| {
            parsed
                .commands
                .get(*index)
                .and_then(SimpleCommand::program)
                .is_some_and(|name| names.contains(&name))
        })
    };
    let runner = name.unwrap_or("a shell");
    let (download, reason) = match (found(DOWNLOADERS), found(DECODERS)) {
        (Some(download), _) => {
            (download, format!("{runner} would run what comes from the network, unseen"))
        }
        (None, Some(decoder)) => {
            (decoder, format!("{runner} would run what is decoded on the way, unseen"))
        }
        (None, None) => return None,
    };
    let words = parsed.commands.get(download).map_or(0, |command| command.words.len());
    Some(Finding { command: download, ..Finding::ask(RULE, words, reason) })
}

/// Returns the commands whose output reaches this one through pipes.
fn upstream(parsed: &Parsed, index: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut pending = vec![index];
    let mut seen = vec![false; parsed.commands.len()];
    while let Some(index) = pending.pop() {
        let Some(range) = parsed.commands.get(index).and_then(|one| one.piped_from.clone()) else {
            continue;
        };
        for feeder in range {
            if let Some(slot) = seen.get_mut(feeder)
                && !std::mem::replace(slot, true)
            {
                found.push(feeder);
                pending.push(feeder);
            }
        }
    }
    found
}
