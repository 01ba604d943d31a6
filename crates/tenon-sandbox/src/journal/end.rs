//! How things were at the end of a call: the file of a checkpoint that says that the call is over.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::CheckpointId;
use super::node::{Moment, Node, look};
use super::record::{End, Record};
use super::store::{NEW, Store, name_of};
use super::whole::{read_all, write_all};
use crate::linux::openat::open_beneath;
use crate::linux::wire::{Readable, Sendable};

/// The longest end that is written at once, in bytes: what is in one page is in the file as a whole or
/// not at all, also for who reads it meanwhile.
const END_BYTES_AT_ONCE_MAX: usize = 4096;

/// Writes a file that was just made, once it was looked at: where the kernel keeps fine times for what somebody looked
/// at (Linux 6.13, multigrain timestamps), the file's change is then later than everything before it.
fn write_looked_at(file: &OwnedFd, bytes: &[u8]) -> Result<(), Errno> {
    rustix::fs::fstat(file)?;
    write_all(file, bytes)
}

impl Store {
    /// Reads how things were at the end of a call, counted in the roots of that time. `None` while
    /// it runs, and when it was cut short.
    pub(crate) fn read_end(&self, id: CheckpointId) -> Result<Option<End>, Errno> {
        let folder = self.ends()?;
        let bytes = match open_beneath(folder, &*name_of(id), OFlags::RDONLY, Mode::empty()) {
            Ok(file) => read_all(file)?,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        if bytes.is_empty() {
            return Ok(None);
        }
        match bytes.get(4..).and_then(Record::from_bytes) {
            Some(Record::End(end)) => Ok(Some(*end)),
            _ => Err(Errno::BADMSG),
        }
    }

    /// Writes how things were at the end of a call. It is there as a whole or not at all.
    pub(crate) fn write_end(&self, id: CheckpointId, mut end: End) -> Result<(), Errno> {
        let (folder, name) = (self.ends()?, name_of(id));
        end.log_bytes = self.look_at_log(id)?.bytes;
        let bytes = Record::End(Box::new(end)).to_bytes().ok_or(Errno::TOOBIG)?;
        if bytes.len() <= END_BYTES_AT_ONCE_MAX {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            match open_beneath(folder, &*name, flags, Mode::RUSR | Mode::WUSR) {
                // An empty one is none.
                Ok(file) => return write_looked_at(&file, &bytes),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let new = format!("{name}{NEW}");
        let file = open_beneath(folder, &*new, flags, Mode::RUSR | Mode::WUSR)?;
        write_looked_at(&file, &bytes)?;
        rustix::fs::renameat(folder, &*new, folder, &*name)
    }

    /// Whether a call is over and its end is known. A power loss can leave an end without content.
    pub(crate) fn has_ended(&self, id: CheckpointId) -> bool {
        let end = self.ends().and_then(|folder| look(folder, name_of(id).as_ref()));
        end.is_ok_and(|end| end.is_some_and(|end| end.bytes > 0))
    }

    /// Returns the last moment before that became known; `None` if it is not. Where the file system's clock goes by
    /// ticks and the end was made and written in one of them, that tick: the call's last changes may have it, too.
    pub(crate) fn ended(&self, id: CheckpointId) -> Result<Option<Moment>, Errno> {
        let end = look(self.ends()?, name_of(id).as_ref())?.filter(|end| end.bytes > 0);
        // What the call did is older than the file, what came since no older than what is written in it.
        let is_apart = |end: &Node| !end.id.is_unborn() && end.changed > end.id.born_at();
        Ok(end.map(|end| if is_apart(&end) { end.changed.just_before() } else { end.changed }))
    }

    /// Whether a checkpoint's log is as long as it was when the call was over.
    pub(crate) fn is_whole(&self, id: CheckpointId, end: &End) -> Result<bool, Errno> {
        Ok(self.look_at_log(id)?.bytes >= end.log_bytes)
    }
}
