//! Places that the words of a command line name, for a look at what is there.

use super::places::{Places, Target};
use super::shell::{self, Piece, SimpleCommand, Word};
use super::written::folders;

/// Words that are looked at.
const WORDS_MAX: usize = 1_000;

/// Returns the places that a command line names by its words, each with the word: of a pattern its folder, of
/// `name=value` the value, too, and of `-Xvalue`. `None` if it has too many words, a pattern with names behind it, or
/// names beneath what only the shell knows.
pub(crate) fn named_places(command: &str, places: &Places) -> Option<Vec<(String, String)>> {
    let parsed = shell::parse(command);
    let mut named = Vec::new();
    for command in &parsed.commands {
        for word in words(command) {
            if has_names_behind_a_pattern(word) {
                return None;
            }
            for (shown, word) in readings(word) {
                for folder in folders(command) {
                    if named.len() >= WORDS_MAX {
                        return None;
                    }
                    let place = match places.target(&word, folder) {
                        Target::Exact(path) | Target::Beneath { folder: path, .. } => path,
                        Target::Unknown if has_names(&word) => return None,
                        Target::Unknown => continue,
                    };
                    let named_place = (shown.clone(), place);
                    if !named.contains(&named_place) {
                        named.push(named_place);
                    }
                }
            }
        }
    }
    Some(named)
}

/// Returns all words of a command, and those that say where it runs.
fn words(command: &SimpleCommand) -> impl Iterator<Item = &Word> {
    let assigned = command.assignments.iter().map(|(_, value)| value);
    let redirected = command.redirects.iter().map(|redirect| &redirect.target);
    command.words.iter().chain(assigned).chain(redirected).chain(command.folder.iter().flatten())
}

/// Whether a pattern says which folders a path goes through.
fn has_names_behind_a_pattern(word: &Word) -> bool {
    let is_pattern = |piece: &Piece| matches!(piece, Piece::Glob(_));
    let behind = word.pieces.iter().skip_while(|piece| !is_pattern(piece));
    let has_slash = |piece: &Piece| matches!(piece, Piece::Text(text) | Piece::Glob(text) if text.contains('/'));
    behind.into_iter().any(has_slash)
}

/// Whether a part of a path is in it.
fn has_names(word: &Word) -> bool {
    word.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains('/')))
}

/// Returns what a word may name: all of it, what is behind a `=` or the letter of an option, and what stands before each `..`, which leads up
/// from where a link before it leads.
fn readings(word: &Word) -> Vec<(String, Word)> {
    let shown = word.shown();
    let mut readings = vec![(shown.clone(), word.clone())];
    if let Some((name, _)) = word.prefix().split_once('=')
        && let Some(value) = word.strip_prefix(&format!("{name}="))
    {
        readings.push((shown.clone(), value));
    }
    let letter = word.prefix().get(..2).filter(|start| start.starts_with('-') && *start != "--");
    let attached = letter.and_then(|letter| word.strip_prefix(letter));
    readings.extend(attached.map(|value| (shown.clone(), value)));
    let ups = word.literal().into_iter().flat_map(|text| {
        text.match_indices("/..").filter_map(|(at, _)| text.get(..at)).map(Word::text)
    });
    readings.extend(ups.map(|before| (shown.clone(), before)));
    readings
}
