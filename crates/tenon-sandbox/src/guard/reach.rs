//! What a look did not come to: what the session knew of there before, and what nobody can know then.

use std::collections::BTreeMap;

use super::item::Item;
use super::place::Place;
use super::scan::{look, look_for_folder};
use super::{Guard, ProtectedChangeKind};

impl Guard {
    /// Returns what nobody can know of the commands that run, because of what the look before did not come to.
    pub(super) fn lack(&self) -> Option<ProtectedChangeKind> {
        match (self.is_unrecorded, self.left) {
            (_, left) if left.are_left() => None,
            (true, left) if left.folders_are_left() => Some(ProtectedChangeKind::FilesNotRecorded),
            (true, _) => Some(ProtectedChangeKind::NotRecorded),
            (false, left) if left.settings_are_left() || self.checkpoints.is_empty() => None,
            (false, _) => Some(ProtectedChangeKind::NotFollowed),
        }
    }

    /// Adds what was there before the session's commands and this look did not come to: however much they make, it
    /// takes no room from that.
    pub(super) fn keep_known(&self, before: &mut BTreeMap<Place, Item>) {
        // What settings include, and own settings, are found by their names anyway.
        let by_name = |place: &Place| place.is_own() || place.is_included();
        for (place, known) in self.before.iter().filter(|(_, known)| !known.is_made) {
            if before.contains_key(place) || by_name(place) {
                continue;
            }
            let found = match known.is_folder() {
                true => look_for_folder(place),
                false => look(place, Some(known)),
            };
            before.extend(found.map(|item| (place.clone(), item)));
        }
    }
}
