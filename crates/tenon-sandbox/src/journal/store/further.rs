//! A store with further roots open than those of this run: a log may count from others.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::{Base, Root, Store, hash_of_path};
use crate::journal::record::Place;

/// A root that a checkpoint counts from, and all of that checkpoint, on which it depends where its things are
/// kept.
#[derive(Debug, Clone)]
pub(crate) struct Further {
    pub(crate) root: PathBuf,
    pub(crate) beside: Vec<PathBuf>,
}

impl Store {
    /// Returns the same checkpoints with these roots open as well, but for those that cannot be.
    pub(crate) fn with_further(&self, further: &[Further]) -> Result<Self, Errno> {
        let key = self.roots.first().map(|root| key_of(&root.path)).ok_or(Errno::NOENT)?;
        let mut store = Self {
            roots: self.roots.iter().map(Root::same).collect::<Result<_, _>>()?,
            bases: self.bases.iter().map(Base::same).collect::<Result<_, _>>()?,
            is_unwatchable: AtomicBool::new(self.is_unwatchable.load(Ordering::Relaxed)),
            ..Self::empty(self.options.clone())
        };
        for Further { root, beside } in further {
            // What was changed in it is not undone, and what only concerns the others is.
            let _ = store.add_root(root, beside, &key);
        }
        store.find_inside();
        Ok(store)
    }

    /// Finds out whether what is kept lies in a root.
    pub(super) fn find_inside(&mut self) {
        let is_in_root =
            |base: &Base| self.roots.iter().any(|root| base.top.starts_with(&root.path));
        self.is_inside = self.bases.iter().any(is_in_root);
    }

    /// Returns where a root of a log is: one that is open, or in one. `None` for any other.
    pub(in crate::journal) fn place_of_root(&self, root: &Path) -> Option<Place> {
        let around = self.roots.iter().enumerate().filter_map(|(number, known)| {
            let path = root.strip_prefix(&known.path).ok()?;
            Some(Place { root: number, path: path.to_path_buf() })
        });
        around.min_by_key(|place| place.path.as_os_str().len())
    }
}

impl Root {
    fn same(&self) -> Result<Self, Errno> {
        let handle = rustix::io::fcntl_dupfd_cloexec(&self.handle, 0)?;
        Ok(Self { path: self.path.clone(), handle, base: self.base })
    }
}

impl Base {
    fn same(&self) -> Result<Self, Errno> {
        let handle = rustix::io::fcntl_dupfd_cloexec(&self.handle, 0)?;
        let ends = rustix::io::fcntl_dupfd_cloexec(&self.ends, 0)?;
        Ok(Self { top: self.top.clone(), path: self.path.clone(), handle, ends })
    }
}

/// Returns what the folder is called that the checkpoints of a workspace with this first root are in.
pub(super) fn key_of(first: &Path) -> String {
    hash_of_path(first).chars().take(16).collect()
}
