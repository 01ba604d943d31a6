//! Copies of files, and opening them for it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FallocateFlags, Mode, OFlags, SeekFrom};
use rustix::io::Errno;

use super::node::{NodeId, hold, kernel_path, look, set_mode};
use crate::linux::openat::open_beneath;
use crate::room::own_copy;

/// What the kernel counts the room of a file in.
const BLOCK_BYTES: u64 = 512;

/// A folder with this file, and this text at its beginning, can be made again
/// (<https://bford.info/cachedir/>).
pub(super) const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// A copy of a file that is about to be written.
pub(crate) struct CopyJob {
    pub(super) id: NodeId,
    pub(super) length: u64,
    pub(super) object: u64,
    pub(super) source: File,
    pub(super) target: File,
}

impl CopyJob {
    /// Copies; where the file system can, without moving a byte. What does not come to its end gives its
    /// room back.
    pub(crate) fn run(&self) -> Result<(), Errno> {
        let outcome = self.copy();
        if outcome.is_err() {
            // To make a file shorter takes no room.
            let _ = rustix::fs::ftruncate(&self.target, 0);
        }
        outcome
    }

    fn copy(&self) -> Result<(), Errno> {
        if clone(&self.source, &self.target, self.length)? {
            return Ok(());
        }
        check_room(&self.source, &self.target, self.length)?;
        copy_part(&self.source, &self.target, 0, self.length, 0)
    }
}

/// Copies the first `length` bytes of one file to the beginning of another.
pub(crate) fn copy(source: &File, target: &File, length: u64) -> Result<(), Errno> {
    match clone(source, target, length)? {
        true => Ok(()),
        false => copy_part(source, target, 0, length, 0),
    }
}

/// Shares the bytes of one file with another; whether the file system can.
fn clone(source: &File, target: &File, length: u64) -> Result<bool, Errno> {
    match rustix::fs::ioctl_ficlone(target, source) {
        Ok(()) => rustix::fs::ftruncate(target, length).map(|()| true),
        Err(_) => Ok(false),
    }
}

/// Fails where there is no room for a copy, before others find the disk full.
fn check_room(source: &File, target: &File, length: u64) -> Result<(), Errno> {
    let (found, room) = (rustix::fs::fstat(source)?, rustix::fs::fstatvfs(target)?);
    let taken = u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(BLOCK_BYTES);
    // A file system without bounds says that it has no blocks.
    let is_bounded = room.f_blocks > 0;
    match is_bounded && taken.min(length) > room.f_bfree.saturating_mul(room.f_frsize) {
        true => Err(Errno::NOSPC),
        false => Ok(()),
    }
}

/// Copies the bytes from `from` up to `end` to another place in another file, which is then at least so
/// long. What is a hole in the one is one in the other.
pub(crate) fn copy_part(
    source: &File,
    target: &File,
    from: u64,
    end: u64,
    to: u64,
) -> Result<(), Errno> {
    let found = rustix::fs::fstat(source)?;
    let bytes = u64::try_from(found.st_size).unwrap_or(0);
    if bytes < end {
        return Err(Errno::IO);
    }
    let taken = u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(BLOCK_BYTES);
    if taken >= bytes {
        return copy_bytes(source, target, from, end, to);
    }
    let mut at = from;
    while at < end {
        let data = next(source, SeekFrom::Data(at), end);
        if !make_hole(target, at - from + to, data - at)? {
            copy_bytes(source, target, at, data, at - from + to)?;
        }
        let hole = next(source, SeekFrom::Hole(data), end);
        copy_bytes(source, target, data, hole, data - from + to)?;
        at = hole;
    }
    Ok(())
}

/// Returns where the next bytes or the next hole begins; where nobody can say, all are bytes.
fn next(source: &File, wanted: SeekFrom, end: u64) -> u64 {
    let (at, otherwise) = match wanted {
        SeekFrom::Data(at) => (at, at),
        SeekFrom::Hole(at) => (at, end),
        _ => return end,
    };
    match rustix::fs::seek(source, wanted) {
        Ok(found) => found.clamp(at, end),
        // No more bytes come.
        Err(Errno::NXIO) => end,
        Err(_) => otherwise,
    }
}

/// Has a file no bytes of its own in a part, up to which it grows; `false` where it cannot.
fn make_hole(target: &File, at: u64, length: u64) -> Result<bool, Errno> {
    let bytes = u64::try_from(rustix::fs::fstat(target)?.st_size).unwrap_or(0);
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if length > 0 && at < bytes && rustix::fs::fallocate(target, flags, at, length).is_err() {
        return Ok(false);
    }
    if bytes < at + length {
        rustix::fs::ftruncate(target, at + length)?;
    }
    Ok(true)
}

/// As [`copy_part`], whatever the bytes are.
fn copy_bytes(source: &File, target: &File, from: u64, end: u64, to: u64) -> Result<(), Errno> {
    own_copy(target, end.saturating_sub(from), || move_bytes(source, target, from, end, to))
}

fn move_bytes(source: &File, target: &File, from: u64, end: u64, to: u64) -> Result<(), Errno> {
    let (mut at, mut place) = (from, to);
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(1 << 30);
        let copied =
            rustix::fs::copy_file_range(source, Some(&mut at), target, Some(&mut place), wanted);
        match copied {
            Ok(0) => return Err(Errno::IO),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return read_and_write(source, target, at, end, place),
        }
    }
    Ok(())
}

fn read_and_write(source: &File, target: &File, from: u64, end: u64, to: u64) -> Result<(), Errno> {
    let mut buffer = vec![0; 1 << 16];
    let mut at = from;
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
        let part = buffer.get_mut(..wanted).unwrap_or_default();
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(source, &mut *part, at))?;
        if read == 0 {
            return Err(Errno::IO);
        }
        let mut rest = part.get(..read).unwrap_or_default();
        while !rest.is_empty() {
            let place = at - from + to;
            let written = rustix::io::retry_on_intr(|| rustix::io::pwrite(target, rest, place))?;
            at += written as u64;
            rest = rest.get(written..).unwrap_or_default();
        }
    }
    Ok(())
}

/// Opens the file at `name` in `folder`, or what is open for an empty name, for reading without a
/// trace of it, where this user may. A link is not followed: somebody may put one there meanwhile.
pub(crate) fn open_quietly(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // The kernel's name for what is open is a link itself.
    flags.set(OFlags::NOFOLLOW, !name.is_empty());
    let path = kernel_path(folder, name);
    match rustix::fs::open(&path, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => rustix::fs::open(&path, flags, Mode::empty()),
        file => file,
    }
}

/// Opens a file of this user's that its own permissions close, by lifting them for a moment.
///
/// # Errors
/// `AGAIN` if it is not `id` that is there.
pub(super) fn open_closed(folder: impl AsFd, name: &OsStr, id: NodeId) -> Result<OwnedFd, Errno> {
    let (held, empty) = (hold(folder, name)?, OsStr::new(""));
    let now = look(&held, empty)?.filter(|now| now.id == id).ok_or(Errno::AGAIN)?;
    set_mode(&held, empty, now.mode | 0o400)?;
    let file = open_quietly(&held, empty);
    set_mode(&held, empty, now.mode)?;
    file
}

/// Opens a file as [`open_quietly`], and if its permissions close it, as [`open_closed`].
pub(super) fn open_any(folder: impl AsFd, name: &OsStr, id: NodeId) -> Result<OwnedFd, Errno> {
    match open_quietly(&folder, name) {
        Err(Errno::ACCESS) => open_closed(folder, name, id),
        file => file,
    }
}

/// Opens a file in the store as [`open_any`], whichever it is.
pub(super) fn open_object(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    match open_quietly(&folder, name) {
        Err(Errno::ACCESS) => {
            let found = look(&folder, name)?.ok_or(Errno::NOENT)?;
            open_closed(folder, name, found.id)
        }
        file => file,
    }
}

pub(super) fn is_cache(folder: &OwnedFd) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
    let Ok(tag) = open_beneath(folder, CACHE_TAG, flags, Mode::empty()) else { return false };
    let mut start = [0; CACHE_SIGNATURE.len()];
    matches!(rustix::io::read(tag, &mut start), Ok(length) if length == start.len())
        && start == CACHE_SIGNATURE
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make what is opened")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A command may exchange a name for a link between two calls of ours.
    #[test]
    fn a_link_that_came_to_the_name_leads_nowhere() {
        let outside = tempfile::NamedTempFile::new().unwrap();
        let mode = || outside.as_file().metadata().unwrap().permissions().mode() & 0o7777;
        let (before, place) = (mode(), tempfile::tempdir().unwrap());
        let (path, name) = (place.path().join("file"), OsStr::new("file"));
        std::fs::write(&path, "x").unwrap();
        let folder = File::open(place.path()).unwrap();
        let mut node = look(&folder, name).unwrap().unwrap();
        node.complete(&folder, name).unwrap();
        set_mode(&folder, name, 0o640).unwrap();
        assert_eq!(look(&folder, name).unwrap().unwrap().mode & 0o7777, 0o640);
        node.mode |= 0o4777;
        node.modified.seconds = 0;
        std::fs::remove_file(&path).unwrap();
        symlink(outside.path(), &path).unwrap();
        assert_eq!(open_quietly(&folder, name).err(), Some(Errno::LOOP));
        assert_eq!(open_closed(&folder, name, node.id).err(), Some(Errno::AGAIN));
        // Of a link kernels change the permissions or do not; what it leads to stays.
        let _ = set_mode(&folder, name, node.mode);
        let _ = node.apply(&folder, name);
        assert_eq!(mode(), before);
        let file = rustix::fs::fstat(outside.as_file()).unwrap();
        assert_ne!(file.st_mtime, 0);
    }
}
