//! What may run if a word that is not known is an option: `find . $x` runs whatever `$x` says.
//!
//! Nobody is asked about each of them: only where a rule forbids commands, or asks about them, which
//! the word may mean. A word in quotes is one word; it counts only if the line itself puts together
//! what is in it, since names of files and folders are given so.

use super::SimpleCommand;
use super::arguments::{git_subcommand, skip_options, valued};
use super::launch;
use super::made::{Made, Signs, Values};
use super::settings;
use super::shells;
use super::word::{self, Extent, Piece, Word};

/// A command of which it is not sure that it runs.
pub(super) struct Perhaps {
    pub(super) words: Vec<Word>,
    /// What the word is made of by which it runs.
    pub(super) made: Made,
    /// Whether that word needs no help of the line to be such.
    pub(super) is_open: bool,
}

/// Words that are kept of one command; no rule has more.
const WORDS_MAX: usize = 16;
/// Commands that are kept of one line.
pub(super) const PERHAPS_MAX: usize = 1_000;

/// These run programs by options that need no other word.
const BY_OPTION: &[&str] =
    &["bsdtar", "fd", "fdfind", "parallel", "rsync", "scp", "sftp", "ssh", "tar"];

/// Of these a word without quotes is a place most of the time.
const WITH_PLACES: &[&str] = &["rsync", "scp", "sftp", "ssh"];

/// Subcommands of git that run programs by option.
const OF_GIT: &[&str] =
    &["bisect", "clone", "difftool", "fetch", "grep", "ls-remote", "pull", "rebase", "submodule"];

/// Returns what a command may run by words that are not known.
pub(super) fn perhaps(command: &SimpleCommand) -> Vec<Perhaps> {
    let arguments = command.arguments();
    match command.program() {
        Some("find") => of_find(arguments),
        Some("git") => of_git(arguments),
        Some(name) if BY_OPTION.contains(&name) => of_options(name, arguments),
        Some(_) if shells::only_checks(command) => Vec::new(),
        Some(name) if shells::SHELLS.contains(&name) || matches!(name, "." | "source") => {
            let is_shell = !matches!(command.program(), Some("." | "source"));
            of_script(if is_shell { shells::operands(command) } else { shells::sourced(command) })
        }
        Some(name) => {
            let word = launch::behind_options(name, arguments).filter(|word| may_be_option(word));
            word.map(|word| anything(word, true)).into_iter().collect()
        }
        None => Vec::new(),
    }
}

/// Returns the commands that may be meant, once all values of the line are seen.
pub(super) fn meant(perhaps: Vec<Perhaps>, values: &Values) -> Vec<Vec<Word>> {
    if perhaps.is_empty() {
        return Vec::new();
    }
    let held = values.held();
    let mut meant: Vec<Vec<Word>> = Vec::new();
    for one in perhaps {
        if (one.is_open || held(&one.made) >= Signs::Letters) && !meant.contains(&one.words) {
            meant.push(one.words);
        }
    }
    meant
}

/// Says whether a word may be an option: not all of it is known, and it begins with that or with `-`.
fn may_be_option(word: &Word) -> bool {
    let is_glob = matches!(word.pieces.first(), Some(Piece::Glob(_)));
    word.literal().is_none() && !word.is_no_option() && !is_glob
}

/// Any command, if this word says so.
fn anything(word: &Word, may_be_open: bool) -> Perhaps {
    let words = vec![Word { pieces: word::spread(word::unknown(), Extent::Several) }];
    Perhaps { words, made: word.made_unknown(), is_open: may_be_open && word.is_open() }
}

/// Any command, whatever the word is made of.
fn surely(word: &Word) -> Perhaps {
    of_text(word, true)
}

/// Any command that a text may be.
pub(super) fn of_text(text: &Word, is_given: bool) -> Perhaps {
    Perhaps { is_open: is_given, ..anything(text, false) }
}

/// A shell runs a file as if it were a program: a rule may forbid the one of that name.
fn of_script(words: &[Word]) -> Vec<Perhaps> {
    let is_named = words.first().is_some_and(|word| word.literal().is_some());
    let perhaps = Perhaps {
        words: words.iter().take(WORDS_MAX).cloned().collect(),
        made: Made::default(),
        is_open: true,
    };
    if is_named { vec![perhaps] } else { Vec::new() }
}

fn is_dashed(word: &Word) -> bool {
    word.literal().is_some_and(|text| text.starts_with('-'))
}

/// What `find` runs stands between two words.
fn of_find(arguments: &[Word]) -> Vec<Perhaps> {
    let may_end = |word: &Word| matches!(word.literal(), None | Some(";" | "+"));
    let end = arguments.iter().rposition(may_end).unwrap_or_default();
    let mut perhaps = Vec::new();
    for (index, word) in arguments.iter().enumerate().filter(|(_, word)| may_be_option(word)) {
        if word.is_many() {
            perhaps.push(anything(word, true));
        } else if let Some(words) = arguments.get(index + 1..end) {
            let words = words.iter().take(WORDS_MAX).cloned().collect();
            perhaps.push(Perhaps { words, made: word.made_unknown(), is_open: false });
        }
    }
    perhaps
}

fn of_options(name: &str, arguments: &[Word]) -> Vec<Perhaps> {
    let is_place = WITH_PLACES.contains(&name);
    let mut perhaps = Vec::new();
    for (index, word) in arguments.iter().enumerate().filter(|(_, word)| may_be_option(word)) {
        let before = index.checked_sub(1).and_then(|before| arguments.get(before));
        let is_value = before.is_some_and(|word| is_dashed(word) || index == 1 && name == "tar");
        if is_place && before.and_then(Word::literal) == Some("-o") {
            perhaps.push(surely(word));
        } else if !is_value || word.is_many() {
            perhaps.push(anything(word, !is_place));
        }
    }
    perhaps
}

fn of_git(arguments: &[Word]) -> Vec<Perhaps> {
    let mut perhaps = Vec::new();
    let setting = valued(arguments, &["-c"]).filter(|word| word.literal().is_none());
    if let Some(setting) = setting.filter(|word| !word.prefix().contains('=')) {
        perhaps.push(surely(&setting));
    }
    let Some((subcommand, rest)) = git_subcommand(arguments) else { return perhaps };
    if OF_GIT.contains(&subcommand) {
        let words = rest.iter().filter(|word| may_be_option(word));
        perhaps.extend(words.map(|word| anything(word, true)));
    }
    if subcommand == "config" {
        let names = skip_options(rest, settings::CONFIG_VALUED);
        let unknown = names.first().filter(|name| names.len() > 1 && name.literal().is_none());
        perhaps.extend(unknown.filter(|name| name.prefix().is_empty()).map(surely));
    }
    perhaps
}
