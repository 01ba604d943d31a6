//! Where things are that an undo had to leave elsewhere than they were. Pure.

use std::collections::BTreeMap;

use super::record::{Image, Place};

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

    /// Has a log speak of where what its call left is, by way of the folders above it.
    pub(super) fn bring(&self, image: &mut Image) {
        if self.0.is_empty() {
            return;
        }
        let set = |place: &mut Place| *place = self.now(place);
        // Where each was last: what was before that was during the call.
        image.nodes.values_mut().filter_map(|old| old.moved.last_mut()).for_each(set);
        let Some(end) = &mut image.end else { return };
        end.after.iter_mut().for_each(|(place, _)| set(place));
        end.left_at.iter_mut().for_each(|(_, place)| set(place));
        end.new_folders.iter_mut().for_each(set);
        end.left_files.iter_mut().filter_map(|(_, left)| left.place.as_mut()).for_each(set);
    }
}
