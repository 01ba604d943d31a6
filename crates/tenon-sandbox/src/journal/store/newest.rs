//! The newest checkpoint: the log of the next one, and whether another process made one.

use std::ffi::OsStr;
use std::fs::File;
use std::sync::PoisonError;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{Log, Store, name_of};
use crate::journal::CheckpointId;
use crate::journal::node::{Moment, look};
use crate::linux::openat::open_beneath;

/// How often another process may take a checkpoint's number before us.
const NUMBER_TRIES_MAX: u64 = 1000;

/// The last checkpoint that this process made, and when the names in the folder of all were last
/// changed then: as long as that is so, there is no newer one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    number: u64,
    changed: Moment,
}

impl Store {
    /// Makes the log of a new checkpoint.
    pub(crate) fn new_log(&self) -> Result<Log, Errno> {
        let base = self.base(0)?;
        let last = self.newest()?;
        for number in last + 1..last + NUMBER_TRIES_MAX {
            let id = CheckpointId(number);
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND;
            let mode = Mode::RUSR | Mode::WUSR;
            let file = match open_beneath(&base.handle, &*name_of(id), flags, mode) {
                Ok(file) => file,
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno),
            };
            if self.newest_number().is_some_and(|known| known + 1 < number) {
                self.running.note_others();
            }
            self.note_newest(number)?;
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            let folders = self.bases.iter().map(|_| None).collect();
            self.running.begin(id);
            return Ok(Log { id, file: File::from(file), folders, objects: 0 });
        }
        Err(Errno::EXIST)
    }

    /// Returns the newest checkpoint's number, without going through all of them if nobody else made
    /// or removed one.
    pub(in crate::journal) fn newest(&self) -> Result<u64, Errno> {
        let known = self.known_newest()?;
        known.map_or_else(|| Ok(self.ids()?.last().map_or(0, |id| id.0)), Ok)
    }

    pub(super) fn known_newest(&self) -> Result<Option<u64>, Errno> {
        let changed = self.names_changed()?;
        let known = *self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(known.filter(|known| known.changed == changed).map(|known| known.number))
    }

    /// Whether another process made a checkpoint since this was asked, or since this one made its last: one look
    /// at the name that is next.
    pub(in crate::journal) fn has_others(&self) -> bool {
        let Some(number) = self.newest_number() else { return false };
        let next = name_of(CheckpointId(number + 1));
        let is_there = self.base(0).and_then(|base| look(&base.handle, next.as_ref()));
        if !matches!(is_there, Ok(Some(_))) {
            return false;
        }
        let newest = self.ids().ok().and_then(|ids| ids.last().copied());
        // A log that cannot be listed is seen again.
        newest.is_some_and(|newest| self.note_newest(newest.0).is_ok())
    }

    fn newest_number(&self) -> Option<u64> {
        let newest = *self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.map(|newest| newest.number)
    }

    /// Takes in that the names in the folder of all are as they should be with this one as the last.
    pub(super) fn note_newest(&self, number: u64) -> Result<(), Errno> {
        let changed = self.names_changed()?;
        let newest = Some(Newest { number, changed });
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = newest;
        Ok(())
    }

    fn names_changed(&self) -> Result<Moment, Errno> {
        let base = look(&self.base(0)?.handle, OsStr::new(""))?.ok_or(Errno::NOENT)?;
        Ok(base.changed)
    }
}
