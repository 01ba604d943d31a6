//! What is left out of undo: caches, which can be made again, and what lies outside of the workspace.
//!
//! That nobody can undo it does not make it harmless: names in caches that programs may take commands
//! from are noted, in memory only, for whoever looks after them.

use std::ffi::OsStr;
use std::path::PathBuf;

use rustix::io::Errno;

use super::changes::{LeftOut, LeftOutReason};
use super::copy::is_cache;
use super::node::look;
use super::record::{Place, Record};
use super::recorder::{Folder, Recorder, Step};
use crate::workspace::can_matter;

/// How many names are noted: about 25 MB.
const ASIDE_MAX: usize = 100_000;

impl Recorder {
    /// Before something in a folder that is left out changes.
    pub(super) fn note_left_out(&mut self, folder: &Folder, name: &OsStr) -> Result<(), Errno> {
        let root = Place { root: folder.place.root, path: PathBuf::new() };
        if can_matter(&self.store.absolute(&root), &folder.place.join(name).path) {
            self.note_aside(folder, name)?;
        }
        // The outermost that says so stands for all in it.
        let mut top = folder.place.clone();
        let mut above = folder.place.path.as_path();
        while let Some(next) = above.parent().filter(|next| !next.as_os_str().is_empty()) {
            let place = Place { root: folder.place.root, path: next.to_path_buf() };
            if self.folder(&place).is_ok_and(|folder| is_cache(&folder.handle)) {
                top = place;
            }
            above = next;
        }
        let path = self.store.shown(&top);
        let left_out = LeftOut { path, reason: LeftOutReason::Cache };
        if self.image.left_out.contains(&left_out) {
            return Ok(());
        }
        self.write(Record::LeftOut(left_out))
    }

    /// A file tool was let out of the workspace, where nothing is recorded.
    pub(crate) fn note_outside(&mut self, path: PathBuf) -> Result<Step, Errno> {
        let left_out = LeftOut { path, reason: LeftOutReason::Outside };
        if !self.image.left_out.contains(&left_out) {
            self.write(Record::LeftOut(left_out))?;
        }
        Ok(Step::Done)
    }

    /// Notes what is at a name, the first time.
    pub(super) fn note_aside(&mut self, folder: &Folder, name: &OsStr) -> Result<(), Errno> {
        let place = folder.place.join(name);
        if !self.aside_is_full() && !self.aside.contains_key(&place) {
            let before = look(&folder.handle, name)?;
            self.aside.insert(place, before);
        }
        Ok(())
    }

    /// Whether there may be more than was noted.
    pub(super) fn aside_is_full(&self) -> bool {
        self.aside.len() >= ASIDE_MAX
    }
}
