//! The further name that a file has in the store because a call was about to take its name away, also where
//! the kernel then refused that.

use std::collections::HashSet;
use std::sync::Arc;

use rustix::fs::AtFlags;

use super::CheckpointId;
use super::checkpoint::Checkpoint;
use super::left_behind::{LeftBehind, Part};
use super::record::Image;
use super::store::{Store, object_name};

/// A name in the store.
#[derive(Clone)]
pub(crate) struct KeptName {
    store: Arc<Store>,
    id: CheckpointId,
    root: usize,
    object: u64,
}

impl KeptName {
    /// Returns device and number of the file that has it now.
    pub(crate) fn file(&self) -> Option<(u64, u64)> {
        let folder = self.store.open_kept(self.id, self.root).ok()?;
        let name = object_name(self.object);
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some((stat.st_dev, stat.st_ino))
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.id, self.root, self.object) == (other.id, other.root, other.object)
    }
}

impl Checkpoint {
    /// Returns the names of files with these numbers.
    pub(crate) fn kept_names(&self, numbers: &HashSet<u64>) -> Vec<KeptName> {
        let recorder = self.lock();
        let names = |id| kept_names(&recorder.store, id, &recorder.image, numbers);
        recorder.id().map(names).unwrap_or_default()
    }
}

impl LeftBehind {
    /// Does what [`Checkpoint::kept_names`] does.
    pub(crate) fn kept_names(&self, numbers: &HashSet<u64>) -> Vec<KeptName> {
        let names = |part: &Part| kept_names(&self.journal.store, part.id, &part.image, numbers);
        self.parts.iter().flat_map(names).collect()
    }
}

fn kept_names(
    store: &Arc<Store>,
    id: CheckpointId,
    image: &Image,
    numbers: &HashSet<u64>,
) -> Vec<KeptName> {
    let files = image.nodes.values().filter(|old| numbers.contains(&old.node.id.inode().1));
    let names = files.filter_map(|old| {
        let (store, root) = (Arc::clone(store), old.place.root);
        Some(KeptName { store, id, root, object: old.kept? })
    });
    names.collect()
}
