//! What there was before a call, for building a folder as it was in another place. Only looks.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;

use super::copy::{copy_part, open_object};
use super::node::{Node, NodeId};
use super::record::{Image, Old};
use super::store::{Store, object_name};
use super::{CheckpointId, Journal, JournalError};
use crate::workspace::EntryKind;

/// What a checkpoint saved, by path.
#[derive(Debug)]
pub struct Past {
    store: Arc<Store>,
    id: CheckpointId,
    image: Image,
    by_path: HashMap<PathBuf, NodeId>,
}

/// Something that was there before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastEntry {
    /// What it was.
    pub kind: EntryKind,
    /// Its permissions.
    pub mode: u32,
    /// When its content was changed last.
    pub modified: SystemTime,
    /// Where it led, if it was a symbolic link.
    pub target: OsString,
    /// Which one it was: device (its major number in the upper half) and number, or those of what an
    /// undo made in its place. Names of one file have the same.
    pub inode: (u64, u64),
    /// When that was made, in nanoseconds since 1970, for numbers are used again; 0 where the file
    /// system does not tell.
    pub born: u64,
    /// What kind of file it was, and its permissions, as `st_mode` has them.
    pub raw_mode: u32,
    /// Names and values of its extended attributes; `None` where this user could not read them.
    pub attributes: Option<Vec<(OsString, OsString)>>,
}

impl Journal {
    /// Returns what a checkpoint saved.
    ///
    /// # Errors
    /// [`JournalError::Unknown`] and the like.
    pub fn past(&self, id: CheckpointId) -> Result<Past, JournalError> {
        let journal = self.reaching(&[id]);
        let (store, image) = (&journal.store, journal.whole_image(id)?);
        let path = |(node, old): (&NodeId, &Old)| (store.shown(&old.place), *node);
        let mut by_path: HashMap<PathBuf, NodeId> = image.nodes.iter().map(path).collect();
        // A file may have had more names than the one that it was first met by.
        for (folder, names) in &image.entries {
            let Some(folder) = image.nodes.get(folder) else { continue };
            for (name, before) in names.iter().filter(|(name, _)| !name.is_empty()) {
                let is_file =
                    |id: &NodeId| image.nodes.get(id).is_some_and(|old| !old.node.is_folder());
                if let Some(id) = before.filter(is_file) {
                    let path = store.shown(&folder.place.join(name));
                    by_path.entry(path).or_insert(id);
                }
            }
        }
        Ok(Past { store: Arc::clone(store), id, image, by_path })
    }
}

impl Past {
    fn old(&self, path: &Path) -> Option<&Old> {
        self.image.nodes.get(self.by_path.get(path)?)
    }

    /// Returns what was at `path` (as [`super::Change::path`]), if it was touched.
    #[must_use]
    pub fn entry(&self, path: &Path) -> Option<PastEntry> {
        let node = &self.old(path)?.node;
        Some(PastEntry {
            kind: EntryKind::from(node.kind()),
            mode: node.mode & 0o7777,
            modified: modified(node),
            target: node.target.clone(),
            inode: node.id.inode(),
            born: node.id.born(),
            raw_mode: node.mode,
            attributes: node.attributes.clone(),
        })
    }

    /// Returns the folders that were touched, by path, and when each was changed last before the call.
    pub fn folders(&self) -> impl Iterator<Item = (PathBuf, SystemTime)> + '_ {
        let folders = self.image.nodes.values().filter(|old| old.node.is_folder());
        folders.map(|old| (self.store.shown(&old.place), modified(&old.node)))
    }

    /// Whether the call touched what was at `path` before, or that name in a folder that was there.
    #[must_use]
    pub fn touched(&self, path: &Path) -> bool {
        let names = || {
            let folder = self.by_path.get(path.parent()?)?;
            self.image.entries.get(folder)?.get(path.file_name()?)
        };
        self.by_path.contains_key(path) || names().is_some()
    }

    /// Returns where everything was that was touched, folders before what is in them.
    #[must_use]
    pub fn places(&self) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> =
            self.image.nodes.values().map(|old| self.store.shown(&old.place)).collect();
        places.sort();
        places
    }

    /// Returns where the call moved what was at `path`, if it did.
    #[must_use]
    pub fn moved_to(&self, path: &Path) -> Option<PathBuf> {
        let old = self.old(path)?;
        let is_left = old.kept.is_none() && !old.gone;
        old.moved.last().filter(|_| is_left).map(|place| self.store.shown(place))
    }

    /// Returns what is where it was before, because the call moved it away and back; the list says
    /// nothing of it, also where the folder that it was in is elsewhere.
    pub fn came_back(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let is_back =
            |old: &&Old| old.kept.is_none() && !old.gone && old.moved.last() == Some(&old.place);
        self.image.nodes.values().filter(is_back).map(|old| self.store.shown(&old.place))
    }

    /// Returns the further names that what was at `path` had, or is known by, in order.
    #[must_use]
    pub fn names(&self, path: &Path) -> Vec<PathBuf> {
        let id = self.by_path.get(path);
        let is_it = |(name, other): &(&PathBuf, &NodeId)| Some(*other) == id && *name != path;
        let mut names: Vec<PathBuf> =
            self.by_path.iter().filter(is_it).map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    /// Returns where what is at `path` was before the call, which moved it there; `None` if that is
    /// not known.
    #[must_use]
    pub fn came_from(&self, path: &Path) -> Option<PathBuf> {
        let is_here =
            |old: &&Old| old.moved.last().is_some_and(|place| self.store.shown(place) == path);
        let mut moved = self.image.nodes.values().filter(is_here);
        // Only one can be there.
        moved.next().filter(|_| moved.next().is_none()).map(|old| self.store.shown(&old.place))
    }

    /// Gives `file` the content of before the call; `holds_after` says that it has the content of
    /// after it, else it is empty. Returns whether all of it is known: what was moved by an undo may
    /// not be.
    ///
    /// # Errors
    /// What cannot be read or written.
    pub fn write_content(
        &self,
        path: &Path,
        file: &File,
        holds_after: bool,
    ) -> Result<bool, JournalError> {
        let Some(old) = self.old(path) else { return Ok(false) };
        self.write(old, file, holds_after).map_err(|errno| JournalError::io(errno, path))
    }

    fn write(&self, old: &Old, file: &File, holds_after: bool) -> Result<bool, Errno> {
        let kept = self.object(old, old.kept)?;
        if let Some(kept) = &kept
            && rustix::fs::fstat(kept)?.st_nlink > 1
        {
            // By a name that it still has it may have been written since.
            return Ok(false);
        }
        // What was kept and is not there any more was moved by an undo: at its path is another file.
        let holds_after = holds_after && old.kept.is_none();
        let Some(content) = old.content else {
            return match kept {
                Some(kept) => copy_whole(&kept, file).map(|()| true),
                // Nobody wrote into it.
                None => Ok(holds_after || old.node.bytes == 0),
            };
        };
        if content.from > 0 {
            match kept {
                Some(kept) => copy_part(&kept, file, 0, content.from, 0)?,
                None if !holds_after => return Ok(false),
                None => {}
            }
        }
        let saved = match content.object {
            0 => None,
            object => self.object(old, Some(object))?,
        };
        if saved.is_none() && content.object > 0 {
            return Ok(false);
        }
        if let Some(saved) = saved {
            let bytes = content.length.saturating_sub(content.from);
            copy_part(&saved, file, 0, bytes, content.from)?;
        }
        rustix::fs::ftruncate(file, content.length)?;
        Ok(true)
    }

    fn object(&self, old: &Old, object: Option<u64>) -> Result<Option<File>, Errno> {
        let Some(object) = object else { return Ok(None) };
        let folder = self.store.open_kept(self.id, old.place.root)?;
        match open_object(&folder, object_name(object).as_ref()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

fn modified(node: &Node) -> SystemTime {
    let seconds = Duration::from_secs(node.modified.seconds.unsigned_abs());
    let modified = match node.modified.seconds {
        0.. => UNIX_EPOCH.checked_add(seconds),
        _ => UNIX_EPOCH.checked_sub(seconds),
    };
    modified.unwrap_or(UNIX_EPOCH) + Duration::from_nanos(node.modified.nanoseconds.into())
}

fn copy_whole(source: &File, target: &File) -> Result<(), Errno> {
    let length = rustix::fs::fstat(source)?.st_size;
    let length = u64::try_from(length).unwrap_or_default();
    copy_part(source, target, 0, length, 0)?;
    rustix::fs::ftruncate(target, length)
}
