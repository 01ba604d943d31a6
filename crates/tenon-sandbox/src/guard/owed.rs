//! What a look could not put back, such as on a disk that is read-only by then: it is no state that anybody meant, and
//! each look after a later command tries again.

use std::collections::BTreeMap;

use super::change::ProtectedChange;
use super::item::Item;
use super::place::Place;

/// How things should be, by where they are, beside how they were left.
#[derive(Debug, Default)]
pub(super) struct Owed(BTreeMap<Place, (Option<Item>, Option<Item>)>);

impl Owed {
    /// Takes in which of the `changes` of one look were not put back: what it found, and how it should be.
    pub(super) fn take(
        &mut self,
        changes: &[ProtectedChange],
        found: &BTreeMap<Place, Item>,
        should_be: &[(Place, Option<Item>)],
    ) {
        for (place, should_be) in should_be {
            let path = place.path();
            if changes.iter().any(|change| !change.put_back && change.path == path) {
                let left = found.get(place).cloned();
                self.0.insert(place.clone(), (left, should_be.clone()));
            }
        }
    }

    /// Has what is there before a command not count where it is as it was left. What somebody changed since is theirs.
    pub(super) fn correct(&mut self, before: &mut BTreeMap<Place, Item>) {
        self.0.retain(|place, (left, should_be)| {
            let is_left = match (before.get(place), left) {
                (None, None) => true,
                (Some(now), Some(left)) => now.has_stamp_of(left),
                _ => false,
            };
            match should_be {
                _ if !is_left => {}
                Some(item) => drop(before.insert(place.clone(), item.clone())),
                None => drop(before.remove(place)),
            }
            is_left
        });
    }
}
