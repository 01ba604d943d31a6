//! What the journal saved at protected names while other commands ran: a job, or another session. A call that changes what
//! one of these had just written there saves that, and undoing the call would bring it back where programs run it.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::Guard;
use super::change::ProtectedChange;
use super::copies::Copies;
use super::folder::look_at;
use super::item::Item;
use super::place::{Place, Way, is_way};
use super::recorded::{LIMITS, Tops, place_as, told};
use super::touched::Role;
use super::written;
use crate::git_config;
use crate::journal::{Came, Checkpoint, ReadLimits};
use crate::workspace::{makes_one, makes_repository};

impl Guard {
    /// Looks what changed, and has undo ask about what this command saved.
    pub(super) fn check_and_doubt(&mut self, own: Option<&Checkpoint>) -> Vec<ProtectedChange> {
        // The look forgets what is gone, which undo can bring back, and learns what the journal knows.
        let known = own.map(|own| (own, self.before.clone()));
        let changes = self.check();
        if let Some((own, mut known)) = known {
            for (place, item) in &self.before {
                known.entry(place.clone()).or_insert_with(|| item.clone());
            }
            self.doubt(own, &known);
        }
        changes
    }

    /// Has undo ask about what a command saved at a protected name that is not what should have been there, as far as that
    /// was `known`.
    pub(super) fn doubt(&self, own: &Checkpoint, known: &BTreeMap<Place, Item>) {
        if own.id().is_none() {
            return;
        }
        let tops = Tops::open(own.roots());
        let further = self.included.keys().chain(self.own.led_to());
        let further: HashMap<PathBuf, &Place> =
            further.map(|place| (place.path(), place)).collect();
        let makers = makers_before(own);
        let role = |root: &Path, beneath: &Path| {
            let Some(top) = tops.of(root) else { return Role::Other };
            Role::among(root, beneath, &|folder| was_repository((root, top), folder, &makers))
        };
        let matters = |root: &Path, beneath: &Path| {
            role(root, beneath) != Role::Other || further.contains_key(&root.join(beneath))
        };
        let touched = own.touched(&matters, LIMITS);
        let copies = Copies::of(known, &self.roots);
        let (mut doubted, mut judged) = (Vec::new(), Vec::new());
        for name in touched.names {
            let (root, beneath) = (&name.root, &name.beneath);
            let by_place = || further.get(&root.join(beneath)).copied().cloned();
            let place = by_place().or_else(|| place_as(role(root, beneath), root, beneath));
            let (Some(place), Some(before)) = (place, name.before) else { continue };
            let Some(id) = before.id else { continue };
            let should_be = known.iter().find(|(known, _)| known.path() == place.path());
            let should_be = should_be.map(|(_, item)| item);
            let saved = told(before);
            match self.may_come_back(&place, &saved, (should_be, &copies)) {
                true => judged.push((id, saved.hash())),
                false => doubted.push(id),
            }
        }
        own.doubt(doubted);
        own.seal(judged, further.into_keys());
        self.doubt_folders(own, known, &copies);
    }

    /// Whether what stood at a protected name is what should have been there, or runs nothing.
    pub(super) fn may_come_back(
        &self,
        place: &Place,
        saved: &Item,
        (should_be, copies): (Option<&Item>, &Copies<'_>),
    ) -> bool {
        if should_be.is_some_and(|should_be| should_be.has_content_of(saved)) {
            return true;
        }
        if place.is_git_config() {
            let old = should_be.and_then(Item::bytes);
            let settings = saved.bytes().and_then(|saved| {
                git_config::put_back(old, saved, |name, value| {
                    place.may_set((name, value), old, &self.roots)
                })
            });
            return settings.is_some_and(|(_, names)| names.is_empty());
        }
        place.may_appear(saved, &self.roots)
            || written::is_sound_there(place, saved)
            || copies.has(place, saved)
    }
}

/// Returns the names that make a folder a repository's own and that a command touched, and whether they were there before.
fn makers_before(own: &Checkpoint) -> HashMap<PathBuf, bool> {
    let makes = |_: &Path, beneath: &Path| beneath.file_name().is_some_and(makes_repository);
    let touched = own.touched(&makes, ReadLimits { each: 0, all: 0 });
    let names = touched.names.into_iter();
    names.map(|name| (name.root.join(name.beneath), name.came != Came::Made)).collect()
}

/// Whether a folder was a repository's own before a command; what that made one itself, undo makes none again.
fn was_repository(
    (root, top): (&Path, &OwnedFd),
    folder: &Path,
    makers: &HashMap<PathBuf, bool>,
) -> bool {
    let was_there = |name: &str| {
        let place = folder.join(name);
        let known = makers.get(&root.join(&place)).copied();
        known.unwrap_or_else(|| look_at(top, &place).is_ok())
    };
    is_way(root, folder, Way::Repository) || makes_one(was_there)
}
