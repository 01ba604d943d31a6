//! Roots that are not where they were: without walls a command can rename the workspace, or a folder above it.
//! It is recorded by the handle, whatever its name; but what is to be undone is found by its path, and
//! nothing is undone while another folder is there.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::node::which;
use super::record::Place;
use super::recorder::Recorder;
use super::store::{Root, Store};
use super::trouble::Trouble;
use crate::linux::task::path_of;
use crate::workspace::{RootMoved, check_in_place};

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
    fn check_in_place(&self) -> Result<(), RootMoved> {
        check_in_place(&self.path, &self.handle)
    }

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

impl Store {
    /// Refuses to go on while a root is not at its path.
    pub(super) fn check_in_place(&self) -> Result<(), RootMoved> {
        self.roots.iter().try_for_each(Root::check_in_place)
    }

    /// Returns the paths at which roots are no more.
    pub(super) fn moved_roots(&self) -> Vec<PathBuf> {
        let moved = self.roots.iter().filter(|root| root.check_in_place().is_err());
        moved.map(|root| root.path.clone()).collect()
    }
}

impl Recorder {
    /// Notes which roots are elsewhere by now. One that was when the call began, the call was refused for.
    pub(super) fn note_moved_roots(&mut self) {
        let mut moved = self.store.moved_roots();
        moved.retain(|path| !self.moved_before.contains(path));
        moved.into_iter().for_each(|path| self.note_trouble(Trouble::Moved(path)));
    }
}
