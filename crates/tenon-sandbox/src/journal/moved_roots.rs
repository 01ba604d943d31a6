//! Roots that are not where they were: without walls a command can rename the workspace, or a folder above it.
//! It is recorded and undone by the handle, whatever its name; but what is to be undone is found by its path.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::node::which;
use super::record::Place;
use super::recorder::Recorder;
use super::store::{Root, Store};
use super::trouble::Trouble;
use crate::linux::task::path_of;

impl Store {
    /// Returns the place of something that is open and has this absolute path now.
    pub(super) fn place_of_open(&self, path: &Path) -> Option<Place> {
        let known = self.place_of(path);
        let mut roots = self.roots.iter();
        if roots.all(|root| path_of(&root.handle).is_ok_and(|now| now == root.path)) {
            return known;
        }
        let found = self.roots.iter().enumerate().filter_map(|(number, root)| {
            let path = path.strip_prefix(root.path_now()).ok()?.to_path_buf();
            Some(Place { root: number, path })
        });
        found.min_by_key(|place| place.path.as_os_str().len())
    }
}

impl Root {
    /// Where it is by now.
    fn path_now(&self) -> PathBuf {
        let now = path_of(&self.handle).ok().filter(|now| now.is_absolute() && self.is_at(now));
        now.filter(|_| !self.is_at(&self.path)).unwrap_or_else(|| self.path.clone())
    }

    fn is_at(&self, path: &Path) -> bool {
        let there = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let there = there.and_then(|there| which(there.as_fd()));
        there.is_ok_and(|there| which(&self.handle) == Ok(there))
    }
}

impl Recorder {
    /// Notes which roots are elsewhere by now.
    pub(super) fn note_moved_roots(&mut self) {
        let moved = self.store.roots.iter().filter(|root| !root.is_at(&root.path));
        let moved: Vec<PathBuf> = moved.map(|root| root.path.clone()).collect();
        moved.into_iter().for_each(|path| self.note_trouble(Trouble::Moved(path)));
    }
}
