//! Files that went elsewhere with the folder that their protected names are in: a person's own hooks in a
//! repository that was renamed.
//!
//! Without that folder a file may come as deep as it was, or deeper, like a copy: what a dependency has
//! for itself does nothing where it lies, and would at the top.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use super::Guard;
use super::item::Item;
use super::place::Place;
use crate::file_system::{Identity, identity_of_folder};

/// Stands in settings of git that read others.
const INCLUDE: &[u8] = b"include";

impl Guard {
    /// Notes which folders protected names are in.
    pub(super) fn note_folders(&mut self) {
        let folders = self.before.keys().filter_map(Place::folder_that_may_go);
        let folders: BTreeSet<PathBuf> = folders.collect();
        let noted = folders.into_iter().filter_map(|folder| {
            let identity = identity_of_folder(&folder)?;
            Some((folder, identity))
        });
        self.folders_of_names = noted.collect();
    }

    /// Returns the places of files that went elsewhere so, each with where it was.
    pub(super) fn moved(&self, after: &BTreeMap<Place, Item>) -> BTreeMap<Place, Place> {
        let gone = self.before.iter().filter(|(place, _)| !after.contains_key(place));
        let gone = gone.filter(|(place, _)| place.has_no_owner());
        let gone: HashMap<Identity, &Place> =
            gone.filter_map(|(place, item)| Some((item.identity()?, place))).collect();
        let rest = |place: &Place| place.owner().map(|(_, rest)| rest.to_path_buf());
        let new = after.iter().filter(|(place, _)| !self.before.contains_key(place));
        // Elsewhere a relative way leads elsewhere.
        let includes = |item: &Item| {
            let bytes = item.bytes().unwrap_or_default().to_ascii_lowercase();
            bytes.windows(INCLUDE.len()).any(|part| part == INCLUDE)
        };
        let new = new.filter(|(place, item)| !(place.is_git_config() && includes(item)));
        let moved = new.filter_map(|(place, item)| {
            let old = *gone.get(&item.identity()?)?;
            let is_same_folder = || {
                let known = self.folders_of_names.get(&old.folder_that_may_go()?)?;
                Some(identity_of_folder(&place.folder_that_may_go()?)? == *known)
            };
            let may_be = place.folders_above(&self.roots) >= old.folders_above(&self.roots)
                || is_same_folder() == Some(true);
            (may_be && rest(old)? == rest(place)?).then(|| (place.clone(), old.clone()))
        });
        moved.collect()
    }
}
