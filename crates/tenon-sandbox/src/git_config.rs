//! Finds the settings of git that are not known to run nothing, in the text of its configuration, and takes them
//! out or puts them back.
//!
//! Pure, and a reader of our own rather than git's: git would have to be run on a file that a
//! command wrote. What this reader is not sure about it does not accept, and the caller then keeps
//! the file as it was.

mod addresses;
mod filters;
mod harmless;
mod logins;

use std::{collections::HashSet, ops::Range, path::Path};

pub(crate) use self::addresses::local_addresses;
pub(crate) use self::filters::required_filters;
use self::harmless::is_harmless;
pub(crate) use self::harmless::{is_address, is_plain_address};
use self::logins::{is_login, without_login};
use crate::git_blanks::is_blank;

/// One `name = value`, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// In lower case.
    section: String,
    subsection: Option<String>,
    /// In lower case.
    name: String,
    /// From the name to the end of the value's last line.
    place: Range<usize>,
    /// Without quotes, comments and what continues lines.
    value: String,
}

/// What entries stand under, and where it stands.
#[derive(Debug)]
struct Header {
    section: String,
    subsection: Option<String>,
    place: Range<usize>,
}

/// Parts of names of what only the user and a server know.
const SECRETS: [&str; 5] = ["token", "pass", "secret", "extraheader", "cookie"];

/// What is not harmless where a command says it, and is where the user does: what is ignored and which attributes files
/// have everywhere, how long things are kept, how dates look, and of servers whom to trust, how to speak, and which kinds
/// there may be.
const OF_USERS: [(&str, &str); 8] = [
    ("blame", "date"),
    ("core", "attributesfile checkstat excludesfile ignorestat trustctime usereplacerefs"),
    ("fetch", "all"),
    (
        "gc",
        "logexpiry pruneexpire reflogexpire reflogexpireunreachable rerereresolved \
         rerereunresolved worktreepruneexpire",
    ),
    ("http", "postbuffer sslcainfo sslcapath sslverify version"),
    ("log", "date"),
    ("protocol", "allow version"),
    ("splitindex", "sharedindexexpire"),
];

impl Entry {
    /// Whether it runs a program, for all that is known here.
    fn runs_a_program(&self) -> bool {
        let subsection = self.subsection.as_deref();
        !is_harmless(&self.section, subsection, &self.name, &self.value)
    }

    /// Whether it runs a program, or has git go to a place where what it takes for a remote is none of these.
    fn counts(&self, remotes: &HashSet<&str>) -> bool {
        self.runs_a_program() || self.remote().is_some_and(|remote| !remotes.contains(remote))
    }

    /// Which setting it is.
    fn key(&self) -> (&str, Option<&str>, &str) {
        (&self.section, self.subsection.as_deref(), &self.name)
    }

    /// Whether a command may have it of the user's own settings: it is no secret, the only files that it names
    /// are what is ignored, which attributes files have, and whom to trust, and the only programs filters.
    fn may_be_shared(&self, text: &str) -> bool {
        let whole = [self.subsection.as_deref().unwrap_or_default(), text].join(" ");
        let is_secret = SECRETS.iter().any(|part| self.name.contains(part)) || is_login(&whole);
        let is_of_users = OF_USERS.iter().any(|(section, names)| {
            self.section == *section && names.split(' ').any(|name| self.name == name)
        });
        let may_be_read =
            !self.runs_a_program() || is_of_users || filters::may_be_shared(self, text);
        // A command has no key to sign with.
        may_be_read && !is_secret && self.name != "gpgsign"
    }

    /// Whether it names a file with more settings.
    fn includes(&self) -> bool {
        matches!(self.section.as_str(), "include" | "includeif") && self.name == "path"
    }

    /// What it says, in `text`.
    fn said<'a>(&'a self, text: &'a str) -> (&'a str, Option<&'a str>, &'a str, Option<&'a str>) {
        let line = text.get(self.place.clone()).map(|line| line.trim_matches(is_blank));
        (&self.section, self.subsection.as_deref(), &self.name, line)
    }

    /// As it stands above the entries of a section.
    fn header(&self) -> String {
        header(&self.section, self.subsection.as_deref())
    }

    fn shown(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.name),
            None => format!("{}.{}", self.section, self.name),
        }
    }
}

/// Returns what commands may have of the user's own settings: no program but filters, no secret, nothing of signing,
/// and no line of comment, which may be any of these. Of a filter with a secret they have that git refuses without it.
/// What stands for a file that they include says
/// `included`, given the condition and the path. `None` for what cannot be read for sure.
pub(crate) fn shared(
    text: &str,
    included: &mut dyn FnMut(Option<&str>, &str) -> String,
) -> Option<String> {
    let mut shared = String::new();
    for entry in entries(text)? {
        let said = text.get(entry.place.clone())?;
        if entry.includes() {
            shared.push_str(&included(entry.subsection.as_deref(), &entry.value));
        } else if entry.may_be_shared(said) {
            shared.push_str(&format!("{}{}\n", entry.header(), said.trim_end_matches(is_blank)));
        } else {
            shared.extend(filters::instead(&entry));
        }
    }
    Some(shared)
}

/// Returns the lines that include a file under a condition, without a login in that.
pub(crate) fn include_if(condition: &str, path: &str) -> String {
    format!("{}path = {path}\n", header("includeIf", Some(&without_login(condition))))
}

fn header(section: &str, subsection: Option<&str>) -> String {
    match subsection {
        Some(name) => {
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            format!("[{section} \"{name}\"]\n\t")
        }
        None => format!("[{section}]\n\t"),
    }
}

/// Returns what a setting without a subsection is in the end; its names in lower case.
pub(crate) fn last(text: &str, section: &str, name: &str) -> Option<String> {
    let is_it = |entry: &Entry| {
        (entry.section.as_str(), entry.name.as_str()) == (section, name)
            && entry.subsection.is_none()
    };
    let entry = entries(text)?.into_iter().rfind(is_it)?;
    text.get(entry.place)?.contains('=').then_some(entry.value)
}

/// Returns what a setting without a subsection is, each time that it is set; its names in lower case. `None` where that is
/// not known for sure.
pub(crate) fn all(text: &str, section: &str, name: &str) -> Option<Vec<String>> {
    let is_it = |entry: &Entry| {
        (entry.section.as_str(), entry.name.as_str()) == (section, name)
            && entry.subsection.is_none()
    };
    Some(entries(text)?.into_iter().filter(is_it).map(|entry| entry.value).collect())
}

/// Returns the files that the settings include, as they name them, whatever the condition; none for
/// what cannot be read for sure.
pub(crate) fn included(bytes: &[u8]) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let entries = entries(text).unwrap_or_default();
    let valued = |entry: &Entry| text.get(entry.place.clone()).is_some_and(|it| it.contains('='));
    let found = entries.into_iter().filter(|entry| entry.includes() && valued(entry));
    found.map(|entry| entry.value).collect()
}

/// Returns settings without those that lead to a place on this machine by where the settings are; but for those of which
/// `leads_as_before` says, given name and value, that they lead there still. `None` for what cannot be read for sure.
pub(crate) fn without_relative(
    bytes: &[u8],
    leads_as_before: impl Fn(&str, &str) -> bool,
) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let entries = entries(text)?;
    let is_left_out = |entry: &&Entry| {
        entry.relative_way().is_some_and(|way| !leads_as_before(&entry.shown(), way))
    };
    let places = entries.iter().filter(is_left_out).map(|entry| with_blanks(text, &entry.place));
    without(text, &places.collect::<Vec<_>>()).map(String::into_bytes)
}

/// Returns the settings that run a program, for all that is known, in a file at `path` that holds `after`
/// and did not where it held `before`, each with its value; none where it is no file of git's settings by
/// its name, or cannot be read for sure.
///
/// ```
/// use tenon_sandbox::programs_set;
///
/// let (before, after) = ("[core]\n\t# pager = x\n", "[core]\n\tpager = x\n");
/// let path = std::path::Path::new("/work/.git/config");
/// assert_eq!(programs_set(path, before.as_bytes(), after.as_bytes()), ["core.pager = x"]);
/// ```
pub fn programs_set(path: &Path, before: &[u8], after: &[u8]) -> Vec<String> {
    let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(after)) else {
        return Vec::new();
    };
    let known = entries(before).unwrap_or_default();
    let found = if is_of_git(path) { entries(after).unwrap_or_default() } else { Vec::new() };
    let is_new = |entry: &&Entry| {
        let said = entry.said(after);
        entry.runs_a_program() && !known.iter().any(|known| known.said(before) == said)
    };
    let shown = |entry: &Entry| format!("{} = {}", entry.shown(), entry.value);
    found.iter().filter(is_new).map(shown).collect()
}

/// Whether a file has settings of git by its name and that of the folder that it is in.
fn is_of_git(path: &Path) -> bool {
    let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    match named(path).as_deref() {
        Some("config.worktree" | ".gitconfig" | "gitconfig" | ".gitmodules") => true,
        Some("config") => path
            .ancestors()
            .skip(1)
            .filter_map(named)
            .any(|name| name == "git" || name.ends_with(".git")),
        _ => false,
    }
}

/// Returns a value without quotes, comments and what continues lines.
fn plain_value(written: &str) -> String {
    let (mut value, mut quoted) = (String::new(), false);
    // Blanks at its beginning and end are no part of it unless they are quoted.
    let mut kept = 0;
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                quoted = !quoted;
                kept = value.len();
            }
            '#' | ';' if !quoted => break,
            blank if !quoted && is_blank(blank) && value.is_empty() => {}
            '\\' => match letters.next() {
                Some('\r') => drop(letters.next()),
                Some('\n') | None => {}
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => value.push('\u{8}'),
                Some(other) => value.push(other),
            },
            other => value.push(other),
        }
        if quoted || !is_blank(letter) {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

/// Returns `after` with the settings that run a program as they were in `before`, and the names of
/// those that were taken out or put back: `before` itself where all other settings are as they were.
/// `may_stay` judges a new one by its name and value. `None` for what cannot be read with certainty.
pub(crate) fn put_back(
    before: Option<&[u8]>,
    after: &[u8],
    may_stay: impl Fn(&str, &str) -> bool,
) -> Option<(Vec<u8>, Vec<String>)> {
    let before_text = std::str::from_utf8(before.unwrap_or_default()).ok()?;
    let text = std::str::from_utf8(after).ok()?;
    let (known, (headers, found)) = (entries(before_text)?, read(text)?);
    let judged = Judged::of((&known, before_text), (&found, text), may_stay);
    let taken = judged.taken.iter().map(|entry| with_blanks(text, &entry.place)).collect();
    let mut result = without(text, &with_emptied(text, &headers, taken, before_text)?)?;
    for entry in &judged.restored {
        if !result.is_empty() && !result.ends_with('\n') {
            result.push('\n');
        }
        result.push_str(&entry.header());
        result.push_str(before_text.get(entry.place.clone())?);
    }
    let changed = judged.taken.iter().chain(&judged.restored);
    let mut names: Vec<String> = changed.map(|entry| entry.shown()).collect();
    names.sort();
    names.dedup();
    // What was written is read again: nothing may have come together that was apart.
    let remaining = entries(&result)?;
    let remotes: HashSet<&str> = remaining.iter().filter_map(Entry::addressed).collect();
    let count = |entries: &mut dyn Iterator<Item = &Entry>| {
        entries.filter(|entry| entry.counts(&remotes)).count()
    };
    if count(&mut remaining.iter()) != judged.stayed + count(&mut judged.restored.iter().copied()) {
        return None;
    }
    // Git writes lines of its own around a setting, which would be left.
    if let Some(before) = before
        && !names.is_empty()
        && all_said(&known, before_text) == all_said(&remaining, &result)
    {
        return Some((before.to_vec(), names));
    }
    Some((result.into_bytes(), names))
}

/// What of new settings may stay, and what of old ones comes back.
struct Judged<'a> {
    taken: Vec<&'a Entry>,
    restored: Vec<&'a Entry>,
    /// How many of those that count are as they were, or may be new.
    stayed: usize,
}

impl<'a> Judged<'a> {
    fn of(
        (known, before): (&'a [Entry], &str),
        (found, after): (&'a [Entry], &str),
        may_stay: impl Fn(&str, &str) -> bool,
    ) -> Self {
        let remotes_before: HashSet<&str> = known.iter().filter_map(Entry::addressed).collect();
        // By another name, an address leads to where it led.
        let is_renamed = |entry: &Entry| {
            let is_it = |known: &Entry| {
                known.section == entry.section
                    && known.value == entry.value
                    && match entry.is_local_address() {
                        true => known.is_local_address(),
                        false => known.name == entry.name && known.counts(&remotes_before),
                    }
            };
            (entry.is_local_address() || !entry.runs_a_program() && entry.takes_a_remote())
                && entry.has_plain_name()
                && known.iter().any(is_it)
        };
        let may_be_new = |entry: &Entry| {
            let is_judged = || entry.may_be_address() || !is_address(&entry.section, &entry.name);
            is_renamed(entry) || is_judged() && may_stay(&entry.shown(), &entry.value)
        };
        let is_addressed = |entry: &&Entry| {
            let was = |known: &Entry| known.key() == entry.key();
            !entry.runs_a_program() || known.iter().any(was) || may_be_new(entry)
        };
        let remotes = found.iter().filter(is_addressed).filter_map(Entry::addressed).collect();
        let mut left: Vec<&Entry> = known.iter().collect();
        let (mut taken, mut set, mut stayed) = (Vec::new(), Vec::new(), 0);
        for entry in found {
            let said = entry.said(after);
            let old = left.iter().position(|known| known.said(before) == said);
            let old = old.map(|index| left.remove(index));
            if !entry.counts(&remotes) {
                continue;
            }
            let is_old = old.is_some_and(|old| old.counts(&remotes_before));
            let is_set = !is_old
                && match entry.runs_a_program() {
                    true => may_be_new(entry),
                    false => is_renamed(entry),
                };
            set.extend(is_set.then_some(entry));
            match is_old || is_set {
                true => stayed += 1,
                false => taken.push(entry),
            }
        }
        // Behind the new one, the former would be what git goes by; of addresses there can be several.
        let is_replaced = |entry: &Entry| {
            !is_address(&entry.section, &entry.name)
                && set.iter().any(|set| set.key() == entry.key())
        };
        let is_wanted = |entry: &&Entry| {
            !is_replaced(entry)
                && (entry.runs_a_program() && !entry.is_local_address()
                    || taken.iter().any(|taken| taken.key() == entry.key()))
        };
        let restored = left.into_iter().filter(is_wanted).collect();
        Self { taken, restored, stayed }
    }
}

/// Returns all that settings say, in order.
fn all_said<'a>(entries: &'a [Entry], text: &'a str) -> Vec<impl Ord + 'a> {
    let mut all: Vec<_> = entries.iter().map(|entry| entry.said(text)).collect();
    all.sort();
    all
}

/// Returns a place with the blanks in front of it, if nothing else is there in its line.
fn with_blanks(text: &str, place: &Range<usize>) -> Range<usize> {
    let front = text.get(..place.start).unwrap_or_default();
    let front = front.trim_end_matches([' ', '\t']);
    let begins = front.is_empty() || front.ends_with('\n');
    (if begins { front.len() } else { place.start })..place.end
}

/// Returns what is `taken` out, in order, with the sections of which nothing is left; but for those that had
/// nothing in `before`.
fn with_emptied(
    text: &str,
    headers: &[Header],
    mut taken: Vec<Range<usize>>,
    before: &str,
) -> Option<Vec<Range<usize>>> {
    let (headers_before, _) = read(before)?;
    let was_empty = |header: &Header| {
        headers_before.iter().enumerate().any(|(index, known)| {
            let block = known.place.end..end_of(&headers_before, index, before);
            (&known.section, &known.subsection) == (&header.section, &header.subsection)
                && before.get(block).is_some_and(|rest| rest.chars().all(is_blank))
        })
    };
    for (index, header) in headers.iter().enumerate() {
        let block = header.place.start..end_of(headers, index, text);
        let (within, others): (Vec<_>, Vec<_>) =
            taken.iter().cloned().partition(|taken| block.contains(&taken.start));
        let first = std::slice::from_ref(&header.place);
        let cuts: Vec<_> = first.iter().chain(&within).cloned().collect();
        let cuts = cuts.iter().map(|cut| cut.start - block.start..cut.end - block.start);
        let rest = without(text.get(block.clone())?, &cuts.collect::<Vec<_>>())?;
        if !within.is_empty() && rest.chars().all(is_blank) && !was_empty(header) {
            taken = others;
            taken.push(with_blanks(text, &block));
        }
    }
    taken.sort_by_key(|taken| taken.start);
    Some(taken)
}

/// Where a section ends.
fn end_of(headers: &[Header], index: usize, text: &str) -> usize {
    headers.get(index + 1).map_or(text.len(), |next| next.place.start)
}

/// Returns a text without places in it, which are in order.
fn without(text: &str, places: &[Range<usize>]) -> Option<String> {
    let (mut result, mut copied) = (String::with_capacity(text.len()), 0);
    for place in places {
        result.push_str(text.get(copied..place.start)?);
        copied = place.end;
    }
    Some(result + text.get(copied..)?)
}

fn entries(text: &str) -> Option<Vec<Entry>> {
    read(text).map(|(_, entries)| entries)
}

fn read(text: &str) -> Option<(Vec<Header>, Vec<Entry>)> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_if("\u{feff}");
    let (mut headers, mut entries): (Vec<Header>, _) = (Vec::new(), Vec::new());
    loop {
        reader.skip_while(is_blank);
        match reader.peek() {
            None => return Some((headers, entries)),
            Some('#' | ';') => reader.skip_while(|c| c != '\n'),
            Some('[') => {
                let start = reader.at;
                let (section, subsection) = reader.section()?;
                headers.push(Header { section, subsection, place: start..reader.at });
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let start = reader.at;
                let name = reader.word(|c| c.is_ascii_alphanumeric() || c == '-');
                reader.skip_while(|c| c == ' ' || c == '\t');
                match reader.peek() {
                    Some('=') => reader.value()?,
                    None | Some('\n' | '#' | ';') => reader.skip_while(|c| c != '\n'),
                    Some('\r') if reader.rest().starts_with("\r\n") => {}
                    Some(_) => return None,
                }
                reader.skip_if("\r");
                reader.skip_if("\n");
                let header = headers.last()?;
                let (section, subsection) = (header.section.clone(), header.subsection.clone());
                let place = start..reader.at;
                let value = text.get(place.clone()).and_then(|setting| setting.split_once('='));
                let value = plain_value(value.map_or("", |(_, value)| value));
                entries.push(Entry { section, subsection, name, place, value });
            }
            Some(_) => return None,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip_if(&mut self, text: &str) {
        if self.rest().starts_with(text) {
            self.at += text.len();
        }
    }

    fn skip_while(&mut self, holds: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&holds) {
            self.next();
        }
    }

    /// Takes a name, in lower case.
    fn word(&mut self, holds: impl Fn(char) -> bool) -> String {
        let start = self.at;
        self.skip_while(holds);
        self.text.get(start..self.at).unwrap_or_default().to_ascii_lowercase()
    }

    /// `[name]`, `[name "sub"]` or, in old files, `[name.sub]`.
    fn section(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
        if name.is_empty() {
            return None;
        }
        let quoted = matches!(self.peek(), Some(' ' | '\t'));
        if !quoted {
            let (name, subsection) = match name.split_once('.') {
                Some((name, subsection)) => (name.to_owned(), Some(subsection.to_owned())),
                None => (name, None),
            };
            return (self.next() == Some(']')).then_some((name, subsection));
        }
        self.skip_while(|c| c == ' ' || c == '\t');
        if self.next() != Some('"') || name.contains('.') {
            return None;
        }
        let mut subsection = String::new();
        loop {
            match self.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => subsection.push(self.next().filter(|c| *c != '\n')?),
                other => subsection.push(other),
            }
        }
        (self.next() == Some(']')).then_some((name, Some(subsection)))
    }

    /// From the equals sign to before the line's end.
    fn value(&mut self) -> Option<()> {
        self.next();
        let mut quoted = false;
        loop {
            match self.peek() {
                None if quoted => return None,
                None => return Some(()),
                Some('\n') if quoted => return None,
                Some('\n') => return Some(()),
                Some('#' | ';') if !quoted => {
                    self.skip_while(|c| c != '\n');
                    return Some(());
                }
                Some('"') => quoted = !quoted,
                Some('\\') => {
                    self.next();
                    if self.rest().starts_with("\r\n") {
                        self.next();
                    }
                    if !matches!(self.peek()?, '\n' | '\\' | '"' | 'n' | 't' | 'b') {
                        return None;
                    }
                }
                Some('\0') => return None,
                Some(_) => {}
            }
            self.next();
        }
    }
}

#[cfg(test)]
mod tests;
