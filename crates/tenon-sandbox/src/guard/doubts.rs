//! What the journal saved at protected names while other commands ran: a job, or another session. A call that changes what
//! one of these had just written there saves that, and undoing the call would bring it back where programs run it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Guard;
use super::copies::Copies;
use super::item::Item;
use super::place::Place;
use super::recorded::{LIMITS, Tops, place_of, told};
use super::written;
use crate::git_config;
use crate::journal::{Checkpoint, Touched};

impl Guard {
    /// Has undo ask about what a command saved at a protected name that is not what should have been there.
    pub(super) fn doubt(&self, own: &Checkpoint) {
        if own.id().is_none() {
            return;
        }
        let tops = Tops::open(own.roots());
        let further = self.included.keys().chain(self.own.led_to());
        let further: HashMap<PathBuf, &Place> =
            further.map(|place| (place.path(), place)).collect();
        let matters = |root: &Path, beneath: &Path| {
            tops.matters(root, beneath) || further.contains_key(&root.join(beneath))
        };
        let touched = own.touched(&matters, LIMITS);
        let copies = Copies::of(&self.before, &self.roots);
        let doubted = touched.names.into_iter().filter_map(|name| {
            let by_place = || further.get(&name.root.join(&name.beneath)).copied().cloned();
            // Whether another folder is a repository, undo finds out.
            let by_name = || place_of(&tops, &name).filter(Place::is_protected_by_name);
            let place = by_place().or_else(by_name)?;
            let Touched { before: Some(before), .. } = name else { return None };
            let id = before.id?;
            (!self.may_come_back(&place, &told(before), &copies)).then_some(id)
        });
        own.doubt(doubted.collect::<Vec<_>>());
    }

    /// Whether what stood at a protected name is what should have been there, or runs nothing.
    fn may_come_back(&self, place: &Place, saved: &Item, copies: &Copies<'_>) -> bool {
        let path = place.path();
        let known = self.before.iter().find(|(known, _)| known.path() == path);
        let known = known.map(|(_, item)| item);
        if known.is_some_and(|known| known.has_content_of(saved)) {
            return true;
        }
        if place.is_git_config() {
            let old = known.and_then(Item::bytes);
            let settings = saved.bytes().and_then(|saved| {
                git_config::put_back(old, saved, |name, text| place.may_set(name, text))
            });
            return settings.is_some_and(|(_, names)| names.is_empty());
        }
        place.may_appear(saved, &self.roots)
            || written::is_sound_there(place, saved)
            || copies.has(place, saved)
    }
}
