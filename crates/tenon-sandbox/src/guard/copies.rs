//! Copies of what was at protected names before a command: `git worktree add` and `git clone` make them
//! where a repository tracks such names, and what is taken out there the next commit would delete.
//!
//! A copy counts only as deep as its original, or deeper: what a dependency or an example has for
//! itself does nothing where it lies, and would at the top.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::item::Item;
use super::place::Place;

/// Bits that let a file be run or written by everybody, or be more than its content.
const POWERS: u32 = 0o7113;

/// What may be copied, by protected name and content.
pub(super) struct Copies<'a> {
    roots: &'a [PathBuf],
    originals: HashMap<(&'a Path, &'a [u8]), Originals>,
}

/// Files of one content, each by its depth and its powers.
type Originals = BTreeSet<(usize, u32)>;

impl<'a> Copies<'a> {
    pub(super) fn of(before: &'a BTreeMap<Place, Item>, roots: &'a [PathBuf]) -> Self {
        let mut originals: HashMap<_, Originals> = HashMap::new();
        for (place, item) in before {
            let Some((name, bytes)) = place.listed().zip(item.bytes()) else { continue };
            let Some(depth) = place.folders_above(roots) else { continue };
            originals.entry((name, bytes)).or_default().insert((depth, item.mode & POWERS));
        }
        Self { roots, originals }
    }

    /// Whether a file is one of them that can do no more than its original.
    pub(super) fn has(&self, place: &Place, item: &Item) -> bool {
        let Some((name, bytes)) = place.listed().zip(item.bytes()) else { return false };
        let Some(depth) = place.folders_above(self.roots) else { return false };
        self.originals.get(&(name, bytes)).is_some_and(|originals| {
            let mut above = originals.iter().take_while(|(original, _)| *original <= depth);
            above.any(|(_, powers)| item.mode & POWERS & !powers == 0)
        })
    }
}
