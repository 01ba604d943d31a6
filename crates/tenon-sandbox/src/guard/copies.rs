//! Copies of what was at protected names before a command: `git worktree add` and `git clone` make them
//! where a repository tracks such names, and what is taken out there the next commit would delete.
//!
//! A copy counts only as deep as its original, or deeper: what a dependency or an example has for
//! itself does nothing where it lies, and would at the top. One that is not whole yet is known by its
//! beginning.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::item::Item;
use super::place::Place;
use crate::git_config;

/// Bits that let a file be run or written by everybody, or be more than its content.
const POWERS: u32 = 0o7113;

/// What may be copied, by protected name and content.
pub(super) struct Copies<'a> {
    before: &'a BTreeMap<Place, Item>,
    roots: &'a [PathBuf],
    originals: HashMap<(&'a Path, &'a [u8]), Originals>,
}

/// Files of one content, each by its depth and its powers.
#[derive(Default)]
struct Originals(BTreeSet<(usize, u32)>);

impl Originals {
    /// Whether a file so deep can do no more than one of them.
    fn allow(&self, item: &Item, depth: usize) -> bool {
        let mut above = self.0.iter().take_while(|(original, _)| *original <= depth);
        above.any(|(_, powers)| item.mode & POWERS & !powers == 0)
    }
}

impl<'a> Copies<'a> {
    pub(super) fn of(before: &'a BTreeMap<Place, Item>, roots: &'a [PathBuf]) -> Self {
        let mut originals: HashMap<_, Originals> = HashMap::new();
        for (place, item) in before {
            let Some((name, bytes)) = place.listed().zip(item.bytes()) else { continue };
            let Some(depth) = place.folders_above(roots) else { continue };
            originals.entry((name, bytes)).or_default().0.insert((depth, item.mode & POWERS));
        }
        Self { before, roots, originals }
    }

    /// Whether a file is one of them that can do no more than its original.
    pub(super) fn has(&self, place: &Place, item: &Item) -> bool {
        let Some((name, bytes)) = place.listed().zip(item.bytes()) else { return false };
        let Some(depth) = place.folders_above(self.roots) else { return false };
        let originals = self.originals.get(&(name, bytes));
        originals.is_some_and(|originals| originals.allow(item, depth))
    }

    /// Whether a file begins as one of them does, and so may be written just now; or as settings of git do
    /// that were there, cut off where git cannot read it.
    pub(super) fn may_become_one(&self, place: &Place, item: &Item) -> bool {
        let Some(bytes) = item.bytes() else { return false };
        if place.is_git_config() {
            let mut settings = self.before.iter().filter(|(place, _)| place.is_git_config());
            return git_config::put_back(None, bytes, |_, _| true).is_none()
                && settings
                    .any(|(_, whole)| is_beginning(bytes, whole.bytes().unwrap_or_default()));
        }
        let Some(name) = place.listed() else { return false };
        let Some(depth) = place.folders_above(self.roots) else { return false };
        self.originals.iter().any(|((known, whole), originals)| {
            *known == name && is_beginning(bytes, whole) && originals.allow(item, depth)
        })
    }
}

fn is_beginning(bytes: &[u8], whole: &[u8]) -> bool {
    bytes.len() < whole.len() && whole.starts_with(bytes)
}
