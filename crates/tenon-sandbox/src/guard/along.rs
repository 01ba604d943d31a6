//! What lies at a protected name because of the folder that it is in, where a command moved that folder away: another command
//! may have written it there, no look came to it, and undoing the call would bring it back with the folder.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::Guard;
use super::copies::Copies;
use super::item::Item;
use super::place::{Place, Way, is_way};
use super::recorded::{LIMITS, place_as, told};
use super::repository::is_in_git;
use super::touched::Role;
use crate::git_steps::has_steps;
use crate::journal::{Along, Checkpoint, NodeId};

/// Whether a folder held all that a repository's own does.
type Held<'a> = &'a dyn Fn(&Path) -> bool;

impl Guard {
    /// Has undo ask about folders that a command moved in which something was at a protected name that is not what should have
    /// been there, as far as that was `known`, or too much to look at; and about what comes into those that are of what is
    /// protected by where it is.
    pub(super) fn doubt_folders(
        &self,
        own: &Checkpoint,
        known: &BTreeMap<Place, Item>,
        copies: &Copies<'_>,
    ) {
        let further = Further::of(self);
        let folders = |root: &Path, beneath: &Path, held: Held<'_>| {
            let is_repository = |folder: &Path| is_repository(root, folder, held);
            let has_steps = || {
                let above = beneath.parent().filter(|_| beneath.file_name().is_some_and(has_steps));
                above.is_some_and(is_repository)
            };
            further.is_around(&root.join(beneath))
                || is_in_git(beneath)
                || Role::among(root, beneath, &is_repository) != Role::Other
                || is_repository(beneath)
                || has_steps()
        };
        let files = |root: &Path, beneath: &Path, held: Held<'_>| {
            further.place(root, beneath, held).is_some()
        };
        let all = own.along(&folders, &files, LIMITS);
        let special = all.folders.iter().filter(|(_, path)| further.is_around(path));
        own.note_special(special.map(|(folder, _)| *folder));
        let known: HashMap<PathBuf, &Item> =
            known.iter().map(|(place, item)| (place.path(), item)).collect();
        let is_doubted = |along: Along| {
            let (root, beneath) = (&along.root, &along.beneath);
            let held = |folder: &Path| all.repositories.contains(&root.join(folder));
            let place = further.place(root, beneath, &held)?;
            let should_be = known.get(&root.join(beneath)).copied();
            let inode = along.now.id.map(|id| id.inode().1);
            let is_as_known =
                should_be.is_some_and(|known| known.is_still(inode, along.now.changed));
            let may =
                is_as_known || self.may_come_back(&place, &told(along.now), (should_be, copies));
            (!may).then_some(along.folder)
        };
        let mut doubted: Vec<NodeId> = all.files.into_iter().filter_map(is_doubted).collect();
        doubted.extend(&all.unseen);
        doubted.sort_unstable();
        doubted.dedup();
        own.doubt(doubted);
    }
}

/// What is protected by where it is.
struct Further<'a> {
    included: HashMap<PathBuf, &'a Place>,
    own: Vec<PathBuf>,
}

impl<'a> Further<'a> {
    fn of(guard: &'a Guard) -> Self {
        let included = guard.included.keys().map(|place| (place.path(), place)).collect();
        Self { included, own: guard.own.led_to().iter().map(Place::path).collect() }
    }

    /// Whether some of it is at a path, beneath it, or around it.
    fn is_around(&self, path: &Path) -> bool {
        let mut all = self.included.keys().chain(&self.own);
        all.any(|place| place.starts_with(path) || path.starts_with(place))
    }

    /// Returns as what a file is protected.
    fn place(&self, root: &Path, beneath: &Path, held: Held<'_>) -> Option<Place> {
        let path = root.join(beneath);
        if let Some(included) = self.included.get(&path) {
            return Some((*included).clone());
        }
        if self.own.iter().any(|own| path.starts_with(own)) {
            return Some(Place::new(root, beneath, 0).into_own());
        }
        let role = Role::among(root, beneath, &|folder| is_repository(root, folder, held));
        place_as(role, root, beneath)
    }
}

fn is_repository(root: &Path, folder: &Path, held: Held<'_>) -> bool {
    is_way(root, folder, Way::Repository) || held(folder)
}
