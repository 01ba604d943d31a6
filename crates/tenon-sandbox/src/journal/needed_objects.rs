//! Objects of git repositories that stay when a call is undone, because somebody changed branches or the
//! index of the repository since: whatever those name by now may need them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};

use super::conflicts::{ConflictReason, Found, Left, Theirs};
use super::find::node_at;
use super::git_objects::{names_objects, repository_of};
use super::node::NodeId;
use super::record::{Image, Place};
use super::since::Undoing;
use super::store::Store;
use super::{Journal, JournalError};

/// A name in a folder that was there before.
type Name = (NodeId, OsString, Place);

impl Journal {
    /// Takes out of the log the objects that are needed, and what of `found` speaks of them. Returns the
    /// repositories.
    pub(super) fn leave_needed_objects(
        &self,
        image: &mut Image,
        found: &mut Found,
        undoing: &Undoing<'_>,
    ) -> Result<Vec<Place>, JournalError> {
        let mut needed = Vec::new();
        for (repository, made) in made_objects(image) {
            if !is_repository(&self.store, &repository) {
                continue;
            }
            let is_known = undoing.known.contains(&repository);
            if !is_known && !self.is_changed(&repository, image, undoing)? {
                continue;
            }
            let mut places = HashSet::new();
            for (folder, name, place) in made {
                image.entries.get_mut(&folder).map(|names| names.remove(&name));
                places.insert(place);
            }
            found.retain(|place, _| !is_in(&places, place));
            needed.push(repository);
        }
        Ok(needed)
    }

    /// Whether somebody changed since what names objects of a repository, and this undo does not put it back.
    fn is_changed(
        &self,
        repository: &Place,
        image: &Image,
        undoing: &Undoing<'_>,
    ) -> Result<bool, JournalError> {
        let is_own = |left: &Left| is_of(repository, &left.place) || left.is_around(repository);
        if undoing.left.iter().any(is_own) {
            return Ok(true);
        }
        let theirs =
            self.theirs_beneath(repository, image, undoing, |place| is_of(repository, place));
        Ok(theirs?.is_none_or(|theirs| !theirs.is_empty()))
    }
}

/// Returns the names that a call made beneath `objects` of repositories that were there before.
fn made_objects(image: &Image) -> BTreeMap<Place, Vec<Name>> {
    let mut made: BTreeMap<Place, Vec<Name>> = BTreeMap::new();
    for (folder, names) in &image.entries {
        let Some(old) = image.nodes.get(folder) else { continue };
        let Some(repository) = repository_of(&old.place.path) else { continue };
        let repository = Place { root: old.place.root, path: repository.to_path_buf() };
        let new = names.iter().filter(|(_, before)| before.is_none());
        let new = new.map(|(name, _)| (*folder, name.clone(), old.place.join(name)));
        made.entry(repository).or_default().extend(new);
    }
    made.retain(|_, names| !names.is_empty());
    made
}

/// Returns the repository's own folder around `place` that is in `folder`, which a call made, or is that.
pub(super) fn repository_around(store: &Store, place: &Place, folder: &Place) -> Option<Place> {
    let above = place.path.ancestors().skip(1).filter(|path| path.starts_with(&folder.path));
    let mut above = above.map(|path| Place { root: place.root, path: path.to_path_buf() });
    above.find(|above| is_repository(store, above))
}

fn is_repository(store: &Store, place: &Place) -> bool {
    let is_there =
        |name: &str| matches!(node_at(store, &place.join(OsStr::new(name))), Ok(Some(_)));
    ["HEAD", "refs", "objects"].into_iter().all(is_there)
}

/// Whether a place names objects of a repository.
fn is_of(repository: &Place, place: &Place) -> bool {
    let path = place.path.strip_prefix(&repository.path);
    place.root == repository.root && path.is_ok_and(names_objects)
}

fn is_in(places: &HashSet<Place>, place: &Place) -> bool {
    let mut ways = place.path.ancestors();
    ways.any(|path| places.contains(&Place { root: place.root, path: path.to_path_buf() }))
}

/// A git repository that the call made, and that somebody worked in, is left with everything in it.
pub(super) fn left_whole_repositories(store: &Store, image: &Image, found: &mut Found) {
    let folders: Vec<&Place> = image.end.iter().flat_map(|end| &end.new_folders).collect();
    let around = |place: &Place| {
        let mut made = folders
            .iter()
            .filter(|folder| folder.root == place.root && place.path.starts_with(&folder.path));
        made.find_map(|folder| repository_around(store, place, folder))
    };
    let whole: BTreeSet<Place> = found.keys().filter_map(around).collect();
    for repository in whole {
        let theirs = Theirs { reason: ConflictReason::Changed, is_whole: true };
        found.insert(repository, theirs);
    }
}
