//! Which outputs and files hold what a line downloads or decodes.
//!
//! A file is known by where it is, and by its name as it is written. What is made of such a file is such a
//! file too: a copy, a link, and whatever a command writes that is given one. What an archive holds and
//! what a package manager installs is not followed: people install so.

use std::collections::HashMap;
use std::ops::Range;

use super::{operands, ways};
use crate::policy::places::{Places, Target, clean};
use crate::policy::shell::{FOUND, Parsed, Piece, RedirectKind, SimpleCommand, Unknown, Word};

const DOWNLOADERS: &[&str] =
    &["curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lwp-download", "nc", "ncat"];
/// These turn text into another that no rule has seen.
const DECODERS: &[&str] = &["base64", "base32", "xxd", "openssl", "uudecode"];
/// These write what they read to the files that they are told.
const WRITERS: &[&str] = &["tee", "sponge"];
/// These make a file of another one.
const COPIERS: &[&str] = &["cp", "mv", "install", "ln", "rsync"];

/// A line is gone through so often: a loop may use in the next round what it makes in this one.
const PASSES: usize = 3;

/// How a text came there; the greater one is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Decoded,
    Downloaded,
}

/// Where a text comes from: the command at that place, which is told if there are several.
pub(super) type Source = (Kind, usize);

/// What of a line holds such a text.
#[derive(Default)]
pub(super) struct Held {
    /// By where they are, and as `=name` by their names.
    files: HashMap<String, Source>,
    variables: HashMap<String, Source>,
    outputs: Vec<Option<Source>>,
    /// The names that addresses in the line end with.
    addresses: Vec<Word>,
    /// Where the bodies of functions stand.
    functions: HashMap<String, Range<usize>>,
    /// The last places up to this one whose output is downloaded, and is decoded.
    last: Vec<[Option<usize>; 2]>,
}

/// Returns what of a line holds what is downloaded or decoded.
pub(super) fn held(parsed: &Parsed, places: &Places) -> Held {
    let mut held = Held::default();
    let begins = |command: &SimpleCommand| own_kind(command).is_some();
    if !parsed.commands.iter().any(begins) {
        return held;
    }
    held.addresses = parsed.commands.iter().flat_map(addresses).collect();
    held.functions = parsed.functions.iter().cloned().collect();
    held.outputs = vec![None; parsed.commands.len()];
    held.last = vec![[None; 2]; parsed.commands.len()];
    for _ in 0..PASSES {
        let mut folder = Folder::default();
        for (index, command) in parsed.commands.iter().enumerate() {
            folder.enter(command, places);
            held.take(index, command, &folder);
        }
    }
    held
}

fn own_kind(command: &SimpleCommand) -> Option<Kind> {
    let name = command.program()?;
    let is = |kind: Kind, names: &[&str]| names.contains(&name).then_some(kind);
    is(Kind::Downloaded, DOWNLOADERS).or_else(|| is(Kind::Decoded, DECODERS))
}

impl Held {
    fn take(&mut self, index: usize, command: &SimpleCommand, folder: &Folder) {
        let own = own_kind(command).map(|kind| (kind, index));
        let given = command.arguments().iter().filter_map(|word| self.word(word, folder)).max();
        let body = command.program().and_then(|name| self.functions.get(name));
        let body = body.and_then(|range| self.range(range.clone()));
        let source = own.max(self.read(command, folder)).max(given).max(body);
        if let Some(slot) = self.outputs.get_mut(index) {
            *slot = source;
        }
        let last = index.checked_sub(1).and_then(|before| self.last.get(before)).copied();
        let [downloaded, decoded] = last.unwrap_or_default();
        if let Some(slot) = self.last.get_mut(index) {
            *slot = match source {
                Some((Kind::Downloaded, _)) => [Some(index), decoded],
                Some((Kind::Decoded, _)) => [downloaded, Some(index)],
                None => [downloaded, decoded],
            };
        }
        for (name, value) in &command.assignments {
            if let Some(source) = self.unknown(value) {
                self.variables.insert(name.clone(), source);
            }
        }
        let Some(source) = source else { return };
        let written = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
        let mut names: Vec<Word> = written.map(|one| one.target.clone()).collect();
        if own.is_some() {
            names.extend(saved(command, &self.addresses));
        }
        names.extend(made(command));
        for name in names {
            for key in folder.keys(&name) {
                self.files.insert(key, source);
            }
        }
    }

    /// Returns what a command is given to read.
    pub(super) fn read(&self, command: &SimpleCommand, folder: &Folder) -> Option<Source> {
        let piped = command.piped_from.clone().and_then(|range| self.range(range));
        let read = command.redirects.iter().filter_map(|one| match one.kind {
            RedirectKind::Read => self.word(&one.target, folder),
            RedirectKind::Text => self.unknown(&one.target),
            RedirectKind::Write | RedirectKind::Descriptor => None,
        });
        let around = command.reads_from.as_ref().and_then(|file| self.word(file, folder));
        read.max().max(piped).max(around)
    }

    /// Returns what the file of this name holds, or what the word itself is made of.
    fn word(&self, word: &Word, folder: &Folder) -> Option<Source> {
        let file = word.strip_prefix("if=").filter(|_| word.prefix().starts_with("if="));
        self.file(file.as_ref().unwrap_or(word), folder).max(self.unknown(word))
    }

    /// Returns what the file of this name holds; a pattern may be any name that fits.
    pub(super) fn file(&self, word: &Word, folder: &Folder) -> Option<Source> {
        if self.files.is_empty() {
            return None;
        }
        if let Some((begins, ends)) = pattern(word) {
            let fits = |name: &str| {
                let inner = name.strip_prefix(begins.as_str());
                inner.and_then(|inner| inner.strip_suffix(ends)).is_some_and(|it| !it.contains('/'))
            };
            return self
                .files
                .iter()
                .filter(|(name, _)| fits(name))
                .map(|(_, source)| *source)
                .max();
        }
        // Behind what is known of it any name may follow: `find` or `xargs` finds it.
        if word.unknown().any(|unknown| unknown.made.of.iter().any(|name| name == FOUND)) {
            let begins = word.prefix();
            let begins = format!("={}", begins.strip_prefix("./").unwrap_or(begins));
            let fits = |(name, _): &(&String, &Source)| name.starts_with(&begins);
            return self.files.iter().filter(fits).map(|(_, source)| *source).max();
        }
        folder.keys(word).iter().filter_map(|key| self.files.get(key).copied()).max()
    }

    /// Returns what a program of this name is, if it lies where programs are looked for.
    pub(super) fn program(&self, name: &str) -> Option<Source> {
        let ends = ["bin", "sbin"].map(|folder| format!("/{folder}/{name}"));
        let fits = |file: &&String| ends.iter().any(|end| file.ends_with(end.as_str()));
        self.files.keys().filter(fits).filter_map(|file| self.files.get(file).copied()).max()
    }

    /// Returns where what is not known of a word comes from.
    pub(super) fn unknown(&self, word: &Word) -> Option<Source> {
        let of = |unknown: &Unknown| {
            let variables = unknown.made.of.iter();
            let given = variables.filter_map(|name| self.variables.get(name).copied()).max();
            self.range(unknown.from.clone()).max(given)
        };
        word.unknown().filter_map(of).max()
    }

    /// Returns where the output of some of these commands comes from.
    fn range(&self, range: Range<usize>) -> Option<Source> {
        let last = self.last.get(range.end.checked_sub(1)?)?;
        let is_in = |at: &Option<usize>| at.filter(|at| range.contains(at));
        let at = last.iter().find_map(is_in)?;
        self.outputs.get(at).copied().flatten()
    }
}

/// The folders that a command may run in.
#[derive(Default)]
pub(super) struct Folder<'a> {
    command: Option<&'a SimpleCommand>,
    paths: Vec<String>,
    places: Option<&'a Places>,
}

impl<'a> Folder<'a> {
    /// Goes where a command runs.
    pub(super) fn enter(&mut self, command: &'a SimpleCommand, places: &'a Places) {
        let is_there = |before: &SimpleCommand| {
            before.folder == command.folder && before.folders == command.folders
        };
        if self.command.is_some_and(is_there) {
            return;
        }
        (self.command, self.places) = (Some(command), Some(places));
        let here = Word::text(".");
        let targets = ways(command).map(|way| places.target(&here, way));
        let exact = targets.filter_map(|target| match target {
            Target::Exact(path) => Some(path),
            Target::Beneath { .. } | Target::Unknown => None,
        });
        self.paths = exact.collect();
    }

    /// Returns what a file is known by: where it is, and its name.
    fn keys(&self, word: &Word) -> Vec<String> {
        let mut keys = Vec::new();
        let name = name(word);
        let is_told = word.literal().is_some_and(|text| !text.is_empty());
        if is_told && let Some(text) = word.literal() {
            match text.starts_with('/') {
                true => keys.push(clean(text)),
                false => {
                    keys.extend(self.paths.iter().map(|path| clean(&format!("{path}/{text}"))))
                }
            }
        } else if let (Some(places), Some(command)) = (self.places, self.command) {
            keys.extend(ways(command).filter_map(|way| match places.target(word, way) {
                Target::Exact(path) => Some(path),
                Target::Beneath { .. } | Target::Unknown => None,
            }));
        }
        keys.extend(name.map(|name| format!("={name}")));
        keys
    }
}

/// Returns a word as it is written; `None` if nothing of it is known.
fn name(word: &Word) -> Option<String> {
    let mut name = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text(text) | Piece::Glob(text) => name.push_str(text),
            Piece::Home(user) => name.push_str(&format!("~{user}")),
            Piece::Unknown(unknown) => {
                let one = match unknown.made.of.as_slice() {
                    [one] => Some(one),
                    _ => unknown.inherited.as_ref(),
                };
                name.push_str(&one.map_or("…".to_owned(), |one| format!("${one}")));
            }
            Piece::Folder | Piece::Begin | Piece::Brace(_) | Piece::Break => name.push('…'),
        }
    }
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.to_owned();
    }
    (!name.trim_matches('…').is_empty()).then_some(name)
}

/// Returns how the names that a pattern stands for begin and end.
fn pattern(word: &Word) -> Option<(String, &str)> {
    let is_glob = |piece: &Piece| matches!(piece, Piece::Glob(_));
    if !word.pieces.iter().any(is_glob) || word.unknown().next().is_some() {
        return None;
    }
    let begins = word.prefix();
    let begins = format!("={}", begins.strip_prefix("./").unwrap_or(begins));
    let ends = match word.pieces.last() {
        Some(Piece::Text(text)) if word.pieces.len() > 1 => text.rsplit(']').next(),
        _ => None,
    };
    Some((begins, ends.unwrap_or_default()))
}

/// Returns the files that a command makes of others.
fn made(command: &SimpleCommand) -> Vec<Word> {
    let name = command.program().unwrap_or_default();
    let arguments = command.arguments();
    if WRITERS.contains(&name) {
        return operands(arguments).into_iter().cloned().collect();
    }
    if name == "dd" {
        return arguments.iter().filter_map(|word| word.strip_prefix("of=")).collect();
    }
    if !COPIERS.contains(&name) {
        return Vec::new();
    }
    let operands = operands(arguments);
    let folder = value(arguments, &["-t"], &["--target-directory"]);
    let (target, files) = match (&folder, operands.split_last()) {
        (Some(folder), _) => (folder, operands.as_slice()),
        (None, Some((target, files))) => (*target, files),
        (None, None) => return Vec::new(),
    };
    // Whether the last one is a folder is only known when it runs.
    let inside = files.iter().filter_map(|file| beneath(target, &last_part(file)?));
    inside.chain([target.clone()]).collect()
}

/// Returns the names that the addresses in a command end with, also those in texts that it is given.
fn addresses(command: &SimpleCommand) -> Vec<Word> {
    let texts = command.redirects.iter().filter(|one| one.kind == RedirectKind::Text);
    let texts = texts.map(|one| &one.target).chain(&command.words);
    let texts = texts.chain(command.assignments.iter().map(|(_, value)| value));
    let pieces = texts.flat_map(|word| &word.pieces).filter_map(|piece| match piece {
        Piece::Text(text) if text.contains("://") => Some(text),
        _ => None,
    });
    let words = pieces.flat_map(|text| text.split_whitespace()).filter(|word| word.contains("://"));
    words.filter_map(|word| last_part(&Word::text(word))).collect()
}

/// Returns the files that a download is saved as, as far as the line says it: one from an address
/// that is not known may come from any of those that stand in the line.
fn saved(command: &SimpleCommand, line: &[Word]) -> Vec<Word> {
    let arguments = command.arguments();
    let (file, folder, keeps_name) = match command.program() {
        Some("curl") => {
            let keeps = arguments.iter().any(|word| {
                let text = word.prefix();
                let row = text.starts_with('-') && !text.starts_with("--") && text.contains('O');
                row || text.starts_with("--remote-name")
            });
            let file = values(arguments, &["-o"], &["--output"]);
            (file, value(arguments, &[], &["--output-dir"]), keeps)
        }
        Some("wget") => {
            let file = values(arguments, &["-O"], &["--output-document"]);
            let keeps = file.is_empty();
            (file, value(arguments, &["-P"], &["--directory-prefix"]), keeps)
        }
        Some("base32" | "base64") => (Vec::new(), None, false),
        // Any word may be the name, or the address that names it.
        _ => {
            let words = arguments.iter().cloned();
            let behind = |word: &Word| {
                word.strip_prefix(word.prefix().split_once('=')?.0)?.strip_prefix("=")
            };
            (words.chain(arguments.iter().filter_map(behind)).collect(), None, true)
        }
    };
    let is_told = |word: &Word| {
        let options = ["-i", "--input-file", "-K", "--config"];
        let is_list = options.iter().any(|option| word.prefix().starts_with(option));
        is_list || word.unknown().next().is_some()
    };
    let line = line.iter().filter(|_| keeps_name && arguments.iter().any(is_told)).cloned();
    let addresses = arguments.iter().filter(|_| keeps_name).filter_map(last_part).chain(line);
    // curl leaves out what wget keeps.
    let plain = |name: Word| {
        let short = name.literal().and_then(|text| text.split(['?', '#']).next());
        [short.map(Word::text), Some(name.clone())]
    };
    let named: Vec<Word> = addresses.flat_map(plain).flatten().chain(file).collect();
    let inside: Vec<Word> = match &folder {
        Some(folder) => named.iter().filter_map(|name| beneath(folder, name)).collect(),
        None => Vec::new(),
    };
    named.into_iter().chain(inside).collect()
}

/// Returns what stands behind the last `/` of a word, if that is known.
fn last_part(word: &Word) -> Option<Word> {
    let mut part = String::new();
    let mut is_whole = true;
    for piece in &word.pieces {
        match piece {
            Piece::Text(text) | Piece::Glob(text) => part.push_str(text),
            _ => {
                part.clear();
                is_whole = false;
            }
        }
    }
    match part.trim_end_matches('/').rsplit_once('/') {
        Some((_, name)) => Some(Word::text(name)),
        None => is_whole.then(|| Word::text(part)),
    }
}

fn beneath(folder: &Word, name: &Word) -> Option<Word> {
    let is_rooted = name.prefix().starts_with('/');
    (!is_rooted).then(|| folder.joined(&Word::text("/")).joined(name))
}

fn value(arguments: &[Word], short: &[&str], long: &[&str]) -> Option<Word> {
    values(arguments, short, long).into_iter().next()
}

/// Returns the values of an option: the next word, or what follows it in the same one. A short one may
/// end a row of letters (`-sSLo f`).
fn values(arguments: &[Word], short: &[&str], long: &[&str]) -> Vec<Word> {
    let mut values = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let text = word.prefix();
        let next = || arguments.get(index + 1).cloned();
        if text.starts_with("--") {
            let (name, _) = text.split_once('=').unwrap_or((text, ""));
            if long.contains(&name) {
                values.extend(word.strip_prefix(&format!("{name}=")).or_else(next));
            }
            continue;
        }
        let Some(row) = text.strip_prefix('-') else { continue };
        for letter in short.iter().filter_map(|option| option.strip_prefix('-')) {
            let Some(at) = row.find(letter) else { continue };
            let attached = word.strip_prefix(text.get(..at + 2).unwrap_or_default());
            values.extend(attached.filter(|rest| !rest.pieces.is_empty()).or_else(next));
        }
    }
    values
}
