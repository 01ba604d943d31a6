//! Where things are that an undo had to leave elsewhere than they were. Pure.

use std::collections::BTreeMap;

use super::record::Place;

/// Where what is elsewhere is, by where it was in the folder that it was in.
#[derive(Debug, Default)]
pub(crate) struct Astray(BTreeMap<Place, Place>);

impl Astray {
    pub(super) fn insert(&mut self, was: Place, now: Place) {
        self.0.insert(was, now);
    }

    /// Takes in what an undo of an earlier call left elsewhere, whose paths are older.
    pub(super) fn extend(&mut self, earlier: Self) {
        self.0.extend(earlier.0);
    }

    /// Where something is that was at `place`, by way of the folders above it.
    pub(super) fn now(&self, place: &Place) -> Place {
        let mut at = Place { root: place.root, path: "".into() };
        if self.0.is_empty() {
            return place.clone();
        }
        for name in &place.path {
            at = at.join(name);
            if let Some(now) = self.0.get(&at) {
                at = now.clone();
            }
        }
        at
    }
}
