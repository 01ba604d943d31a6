//! Caches that an undo left out and that may be newer than what it put back. A build that compares times
//! takes what is in them for fresh, though it was made of other files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{Dir, Mode, OFlags};

use super::changes::{Change, ChangeKind};
use super::copy::{CACHE_TAG, is_cache};
use super::find::node_at;
use super::record::{Place, State};
use super::walk::walk_folder_until;
use super::{CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Journal};
use crate::linux::openat::open_beneath;

/// Tools whose caches say of which content or time each entry was made: another than that, also an older
/// one, is not in them.
const CACHES_OF_CONTENT: [&str; 3] = [".pytest_cache", ".mypy_cache", ".ruff_cache"];

/// A cache that an undo left out, and that may be newer than what the undo put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleCache {
    /// The cache, as [`Change::path`].
    pub folder: PathBuf,
    /// One of the files that were put back, which still has the time that it was given.
    pub file: PathBuf,
    /// The undo or redo.
    pub by: CheckpointId,
}

impl Journal {
    /// Returns the caches (folders with a `CACHEDIR.TAG`) that undos and redos left out and that may be
    /// newer than the files which those put back with their times: each beside such a file or beside a
    /// folder that it is in. A file whose time moved since counts no more, nor does a cache that was made
    /// since. Each cache is named once for each undo, the oldest undo first.
    ///
    /// ```
    /// use tenon_sandbox::{Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// assert!(journal.stale_caches().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stale_caches(&self) -> Vec<StaleCache> {
        if !self.store.options.leave_out_caches {
            return Vec::new();
        }
        let infos = self.checkpoints().unwrap_or_default();
        let stands = |info: &&CheckpointInfo| {
            info.state == CheckpointState::Done && matches!(info.kind, CheckpointKind::Undo { .. })
        };
        infos.iter().filter(stands).flat_map(|info| self.stale_since(info)).collect()
    }

    fn stale_since(&self, info: &CheckpointInfo) -> Vec<StaleCache> {
        let Ok(Some(end)) = self.store.read_end(info.id) else { return Vec::new() };
        let began = info.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let began = i64::try_from(began).unwrap_or(i64::MAX);
        let given: BTreeMap<Place, State> = end.after.into_iter().collect();
        let (mut looked_at, mut found) = (BTreeSet::new(), BTreeMap::new());
        for change in end.changes.files.iter().filter(|change| has_other_content(change)) {
            let Some(place) = self.store.place_of(&change.path) else { continue };
            let is_new = |above: &Place| !looked_at.contains(above);
            let above: Vec<Place> = folders_above(&place).filter(is_new).collect();
            if above.is_empty() {
                continue;
            }
            let Some(file) = self.still_as_given(&place, given.get(&place), began) else {
                continue;
            };
            for above in above {
                for cache in self.caches_in(&above, began) {
                    found.entry(self.store.shown(&cache)).or_insert_with(|| file.clone());
                }
                looked_at.insert(above);
            }
        }
        let each = found.into_iter();
        each.map(|(folder, file)| StaleCache { folder, file, by: info.id }).collect()
    }

    /// Returns the file at a place, or the first in the folder there, that has the time still that an undo
    /// gave it which began then.
    fn still_as_given(&self, place: &Place, given: Option<&State>, began: i64) -> Option<PathBuf> {
        let now = node_at(&self.store, place).ok()??;
        if !now.is_folder() {
            let is_same = match given {
                Some(State::Present { modified, .. }) => *modified == now.modified,
                _ => now.modified.seconds < began,
            };
            return is_same.then(|| self.store.shown(place));
        }
        let (folder, mut file) = (self.store.open_folder(place).ok()?, None);
        walk_folder_until(&folder, &mut |path, node| {
            if node.is_file() && node.modified.seconds < began {
                file = Some(self.store.shown(place).join(path));
            }
            file.is_some()
        });
        file
    }

    /// Returns the caches in a folder that were there when an undo began.
    fn caches_in(&self, above: &Place, began: i64) -> Vec<Place> {
        let Ok(folder) = self.store.open_folder(above) else { return Vec::new() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let open = |name: &OsStr| open_beneath(&folder, name, flags, Mode::empty()).ok();
        let Some(names) = open(OsStr::new(".")).and_then(|open| Dir::read_from(open).ok()) else {
            return Vec::new();
        };
        let names = names.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
        let caches = names.filter_map(|name| {
            let name = OsStr::from_bytes(&name);
            let is_other =
                name == "." || name == ".." || CACHES_OF_CONTENT.iter().any(|it| name == *it);
            if is_other || !is_cache(&open(name)?) {
                return None;
            }
            let cache = above.join(name);
            let tag = node_at(&self.store, &cache.join(OsStr::new(CACHE_TAG))).ok()??;
            (tag.modified.seconds <= began).then_some(cache)
        });
        caches.collect()
    }
}

/// Whether an undo put another content there. Nothing is built of what git keeps for itself.
fn has_other_content(change: &Change) -> bool {
    let is_other = matches!(
        change.kind,
        ChangeKind::Created | ChangeKind::Edited | ChangeKind::Renamed { .. }
    );
    is_other && change.path.iter().all(|part| part != ".git")
}

fn folders_above(place: &Place) -> impl Iterator<Item = Place> {
    let above = place.path.ancestors().skip(1).map(Path::to_path_buf);
    above.map(|path| Place { root: place.root, path })
}
