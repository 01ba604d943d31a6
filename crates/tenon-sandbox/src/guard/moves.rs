//! Files that went elsewhere with the folder that their protected names are in: a person's own hooks in a
//! repository that was renamed.
//!
//! Without that folder a file may come as deep as it was, or deeper, like a copy: what a dependency has
//! for itself does nothing where it lies, and would at the top.
//!
//! What leads somewhere by where it is leads elsewhere from another place, and counts as new there.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Guard;
use super::alternates;
use super::item::Item;
use super::place::Place;
use super::submodule::way_of;
use crate::file_system::{Identity, identity_of_folder};
use crate::git_blanks::trimmed_end;
use crate::git_config;
use crate::links::plain;

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

    /// Returns what counts as having been at a place where `after` is now: what went there from elsewhere as far as it means the
    /// same, and what was there if it mattered.
    pub(super) fn counted_before(
        &self,
        place: &Place,
        after: &Item,
        moved: &BTreeMap<Place, Place>,
    ) -> Option<Cow<'_, Item>> {
        if let Some(old) = moved.get(place) {
            return carried((old, self.before.get(old)?), (place, after)).map(Cow::Owned);
        }
        let (known, item) = self.before.get_key_value(place)?;
        let is_named = self.included.contains_key(known);
        known.counts_as(place, is_named).then_some(Cow::Borrowed(item))
    }
}

/// Returns what still counts of a file that went to where `after` is now: nothing of one that leads elsewhere from there, and
/// of settings and lists what does not.
fn carried((from, item): (&Place, &Item), (to, after): (&Place, &Item)) -> Option<Item> {
    let (from_path, to_path) = (from.path(), to.path());
    let (old, new) = (from_path.parent()?, to_path.parent()?);
    let Some(bytes) = item.bytes() else { return Some(item.clone()) };
    if to.is_alternates() {
        let (old, new) = (old.parent()?, new.parent()?);
        let rest = alternates::only(bytes, |way| is_same_way(old, new, way));
        return Some(item.with(item.mode, rest));
    }
    if to.is_git_config() {
        let leads_as_before = |name: &str, way: &str| match name {
            "core.worktree" => is_same_way(old, new, Path::new(way)),
            _ => is_same_way(top_of(old), top_of(new), Path::new(way)),
        };
        let rest = git_config::without_relative(bytes, leads_as_before)?;
        return Some(item.with(item.mode, rest));
    }
    let way = match to.beneath().file_name()?.to_str() {
        Some(".git") => way_of(bytes),
        Some("commondir") => Some(Path::new(OsStr::from_bytes(trimmed_end(bytes)))),
        _ => None,
    };
    // Another way is judged beside this one.
    let is_another = after.bytes() != Some(bytes);
    (is_another || way.is_none_or(|way| is_same_way(old, new, way))).then(|| item.clone())
}

/// Returns the folder from which git counts addresses, if a repository has no other for its files.
fn top_of(repository: &Path) -> &Path {
    let is_named = repository.file_name() == Some(OsStr::new(".git"));
    repository.parent().filter(|_| is_named).unwrap_or(repository)
}

/// Whether a way leads to the same place from both folders, by its names.
fn is_same_way(old: &Path, new: &Path, way: &Path) -> bool {
    plain(&old.join(way)) == plain(&new.join(way))
}
