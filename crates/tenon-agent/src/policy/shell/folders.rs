//! The folders that a shell may be in. A `cd` may fail, or not run at all, so behind one there are
//! two; behind `cd x &&` there is one again.
//!
//! What is kept of each is how it is come to from where the line begins: where that is, and what is
//! there, is not known here.

use std::sync::Arc;

use super::SimpleCommand;
use super::word::{Piece, Unknown, Word};
use super::work;

/// Folders that are told apart. Three changes in a row make eight of one; behind more of them it is
/// not known where the shell is.
const WAYS_MAX: usize = 16;
/// Changes of folder that are followed on one way, since every command keeps them.
pub(super) const STEPS_MAX: usize = 50;

/// Where a shell may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    /// The changes of folder that lead to each of them.
    ways: Arc<Vec<Vec<Word>>>,
    /// It may be in any other folder, too.
    is_open: bool,
}

/// What is known of a folder by the word that names it.
pub(super) enum Named {
    /// It is the same from everywhere.
    Fixed,
    /// It depends on where the shell is.
    Beside,
    Unknown,
}

impl Folders {
    /// Where a line begins.
    pub(super) fn start() -> Folders {
        Folders { ways: Arc::new(vec![Vec::new()]), is_open: false }
    }

    /// Any folder.
    pub(super) fn open() -> Folders {
        Folders { ways: Arc::default(), is_open: true }
    }

    /// Returns the changes of folder that lead to each of the folders, and `None` if it may be in
    /// any other, too.
    pub(crate) fn ways(&self) -> impl Iterator<Item = Option<&[Word]>> {
        let known = self.ways.iter().map(|way| Some(way.as_slice()));
        known.chain(self.is_open.then_some(None))
    }

    /// Returns how many words it takes to say where they are.
    pub(super) fn words(&self) -> usize {
        self.ways.iter().map(|way| 1 + way.len()).sum()
    }

    /// Returns how many bytes these words have.
    pub(super) fn bytes(&self) -> usize {
        self.ways.iter().map(work::bytes_of).sum()
    }

    /// Returns where a shell is that went from any of them to `target`.
    pub(super) fn entered(&self, target: &Word) -> Folders {
        match named(target) {
            Named::Fixed => Folders { ways: Arc::new(vec![vec![target.clone()]]), is_open: false },
            Named::Unknown => Folders::open(),
            Named::Beside => {
                let mut all = Folders { ways: Arc::default(), is_open: self.is_open };
                for way in self.ways.iter() {
                    all.add(&joined(way, target));
                }
                all
            }
        }
    }

    /// Returns where the shell is, if it is in one folder for sure.
    pub(super) fn here(&self) -> Option<Vec<Piece>> {
        let [way] = self.ways.as_slice() else { return None };
        let mut pieces = vec![Piece::Begin];
        for step in way.iter().filter(|_| !self.is_open) {
            match (named(step), step.pieces.split_first()) {
                (Named::Fixed, _) => pieces.clone_from(&step.pieces),
                (Named::Beside, Some((Piece::Folder, rest))) => pieces.extend_from_slice(rest),
                (Named::Beside, _) => {
                    pieces.push(Piece::Text("/".to_owned()));
                    pieces.extend_from_slice(&step.pieces);
                }
                (Named::Unknown, _) => return None,
            }
        }
        (!self.is_open).then_some(pieces)
    }

    /// Returns a value as it stays wherever the shell goes from here; `None` if that is not known.
    pub(super) fn kept(&self, pieces: Vec<Piece>) -> Option<Vec<Piece>> {
        if !pieces.contains(&Piece::Folder) {
            return Some(pieces);
        }
        let here = self.here()?;
        let kept = |piece| if piece == Piece::Folder { here.clone() } else { vec![piece] };
        Some(pieces.into_iter().flat_map(kept).collect())
    }

    /// Takes in that it may be in one of the others instead.
    pub(super) fn join(&mut self, others: &Folders) {
        self.is_open |= others.is_open;
        for way in others.ways.iter() {
            self.add(way);
        }
    }

    fn add(&mut self, way: &[Word]) {
        if self.ways.iter().any(|known| known == way) {
            return;
        }
        if self.ways.len() >= WAYS_MAX || way.len() > STEPS_MAX {
            self.is_open = true;
            return;
        }
        Arc::make_mut(&mut self.ways).push(way.to_vec());
    }
}

/// Says whether `~` or `~+` stands for what is in a variable.
pub(super) fn is_home(variable: &str) -> bool {
    matches!(variable, "HOME" | "PWD")
}

/// Says whether a command is given such a variable in front of it, or as `env` is.
pub(super) fn sets_home(command: &SimpleCommand) -> bool {
    let in_front = command.assignments.iter().any(|(name, _)| is_home(name));
    let name = |word: &Word| word.prefix().split_once('=').is_some_and(|(name, _)| is_home(name));
    in_front || command.words.iter().any(name)
}

/// Takes from a command where it writes and runs as far as that is said by `~`, `~+` or `cd` alone: the line
/// says otherwise what these are.
pub(super) fn forget_home(command: &mut SimpleCommand) {
    let is_of_home = |word: &Word| match word.pieces.first() {
        Some(Piece::Home(user)) => user.is_empty(),
        first => matches!(first, Some(Piece::Folder | Piece::Begin)),
    };
    for redirect in command.redirects.iter_mut().filter(|one| is_of_home(&one.target)) {
        redirect.target = Word { pieces: vec![Piece::Unknown(Unknown::default())] };
    }
    command.folder.take_if(|steps| steps.iter().any(is_of_home));
    if let Some(folders) = &mut command.folders {
        folders.is_open |= folders.ways.iter().flatten().any(is_of_home);
    }
}

/// Says whether a word names a folder from wherever the shell is.
pub(super) fn named(target: &Word) -> Named {
    match target.pieces.first() {
        Some(Piece::Text(text)) if text.starts_with('/') => Named::Fixed,
        Some(Piece::Home(_) | Piece::Begin) => Named::Fixed,
        Some(Piece::Unknown(_)) => Named::Unknown,
        _ if target.literal() == Some("-") => Named::Unknown,
        _ => Named::Beside,
    }
}

/// Returns the way with one step more, as short as it can be said: `a` and `..` are none.
fn joined(way: &[Word], target: &Word) -> Vec<Word> {
    let mut way = way.to_vec();
    let Some(next) = target.literal() else {
        way.push(target.clone());
        return way;
    };
    let last = way.pop_if(|last| last.literal().is_some());
    let last = last.as_ref().and_then(Word::literal).unwrap_or_default();
    let mut parts: Vec<&str> = Vec::new();
    for part in last.split('/').chain(next.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if last.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    let text = format!("{}{}", if last.starts_with('/') { "/" } else { "" }, parts.join("/"));
    if !text.is_empty() {
        way.push(Word::text(text));
    }
    way
}
