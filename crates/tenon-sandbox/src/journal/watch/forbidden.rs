//! What a command may not change because a rule says so, whatever program it runs.
//!
//! A courtesy and no wall: what a path leads to may be exchanged between the question and the call.

use std::path::Path;
use std::sync::Arc;

use super::super::changes::Trouble;
use super::super::node::look;
use super::super::record::Place;
use super::super::recorder::Fate;
use super::super::walk::{Deeper, walk};
use super::Watch;
use super::places::Inside;

/// Of a folder that goes to another name, so many files and folders are looked at. One with more goes
/// nowhere if a rule may speak of something in it.
const MOVED_MAX: usize = 50_000;

/// What a call does with a name.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Does {
    /// It makes something if nothing is there.
    pub(super) makes: bool,
    /// It changes what is there.
    pub(super) changes: bool,
}

impl Does {
    pub(super) const CHANGES: Self = Self { makes: false, changes: true };
    pub(super) const MAKES: Self = Self { makes: true, changes: false };
    pub(super) const EITHER: Self = Self { makes: true, changes: true };
}

impl Fate {
    pub(super) fn does(self) -> Does {
        match self {
            Self::Appears => Does::MAKES,
            Self::Moves | Self::Gone => Does::CHANGES,
            Self::Replaced => Does::EITHER,
        }
    }
}

impl Watch {
    /// Whether a rule forbids what a call does with a name; if so that is noted.
    pub(super) fn is_forbidden(&self, (folder, name): &Inside, does: Does) -> bool {
        let Some(rules) = self.checkpoint.forbids() else { return false };
        let place = folder.place.join(name);
        let path = self.checkpoint.lock().store.absolute(&place);
        let Some(rule) = rules.forbids(&path) else { return false };
        let is_there = !matches!(look(&folder.handle, name), Ok(None));
        let is_meant = if is_there { does.changes } else { does.makes };
        if is_meant {
            self.note_forbidden(&place, rule);
        }
        is_meant
    }

    /// Whether a rule forbids to give what is at `from` the name `to`, for itself or for something in it.
    pub(super) fn is_move_forbidden(&self, from: &Inside, to: &Inside, exchange: bool) -> bool {
        let is_there = || !matches!(look(&from.0.handle, &from.1), Ok(None));
        self.checkpoint.forbids().is_some()
            && is_there()
            && (self.is_forbidden(from, Does::CHANGES)
                || self.is_forbidden(to, Does::EITHER)
                || self.is_forbidden_beneath(from, to)
                || exchange && self.is_forbidden_beneath(to, from))
    }

    /// Whether a rule may speak of something in what comes to a name.
    pub(super) fn may_forbid_beneath(&self, to: &Inside) -> bool {
        let Some(rules) = self.checkpoint.forbids() else { return false };
        let place = to.0.place.join(&to.1);
        let path = self.checkpoint.lock().store.absolute(&place);
        rules.may_forbid_beneath(&path)
    }

    /// Whether a rule speaks of something in the folder `from`, where it is or where it would be.
    fn is_forbidden_beneath(&self, from: &Inside, to: &Inside) -> bool {
        let Some(rules) = self.checkpoint.forbids() else { return false };
        let store = Arc::clone(&self.checkpoint.lock().store);
        let [from_place, to_place] = [from, to].map(|(folder, name)| folder.place.join(name));
        let [old, new] = [&from_place, &to_place].map(|place| store.absolute(place));
        let is_folder = matches!(look(&from.0.handle, &from.1), Ok(Some(node)) if node.is_folder());
        if !is_folder || !(rules.may_forbid_beneath(&old) || rules.may_forbid_beneath(&new)) {
            return false;
        }
        let (mut seen, mut found) = (0, None);
        let looked = walk(&store, &from_place, &mut |place, _| {
            seen += 1;
            if found.is_none() {
                let beneath = place.path.strip_prefix(&from_place.path).unwrap_or(Path::new(""));
                let is_there =
                    || rules.forbids(&old.join(beneath)).map(|rule| (place.clone(), rule));
                let would_be = || {
                    let place = to_place.join(beneath.as_os_str());
                    rules.forbids(&new.join(beneath)).map(|rule| (place, rule))
                };
                found = is_there().or_else(would_be);
            }
            if found.is_some() || seen > MOVED_MAX { Deeper::No } else { Deeper::Yes }
        });
        if found.is_none() && (looked.is_err() || seen > MOVED_MAX) {
            found = Some((from_place, String::new()));
        }
        found.map(|(place, rule)| self.note_forbidden(&place, rule)).is_some()
    }

    fn note_forbidden(&self, place: &Place, rule: String) {
        let mut recorder = self.checkpoint.lock();
        let path = recorder.store.shown(place);
        recorder.note_trouble(Trouble::Forbidden { path, rule });
    }
}
