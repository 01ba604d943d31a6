//! Copies of files, and opening them for it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::node::{NodeId, hold, kernel_path, look, set_mode};
use crate::linux::openat::open_beneath;

/// A folder with this file, and this text at its beginning, can be made again
/// (<https://bford.info/cachedir/>).
const CACHE_TAG: &str = "CACHEDIR.TAG";
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
    /// Copies; where the file system can, without moving a byte.
    pub(crate) fn run(&self) -> Result<(), Errno> {
        copy(&self.source, &self.target, self.length)
    }
}

/// Copies the first `length` bytes of one file to the beginning of another.
pub(crate) fn copy(source: &File, target: &File, length: u64) -> Result<(), Errno> {
    if rustix::fs::ioctl_ficlone(target, source).is_ok() {
        return rustix::fs::ftruncate(target, length);
    }
    let (mut from, mut to) = (0_u64, 0_u64);
    while from < length {
        let wanted = usize::try_from(length - from).unwrap_or(usize::MAX).min(1 << 30);
        let copied =
            rustix::fs::copy_file_range(source, Some(&mut from), target, Some(&mut to), wanted);
        match copied {
            Ok(0) => return Err(Errno::IO),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return copy_part(source, target, from, length, from),
        }
    }
    Ok(())
}

/// Copies the bytes from `from` up to `end` to another place in another file.
pub(crate) fn copy_part(
    source: &File,
    target: &File,
    from: u64,
    end: u64,
    to: u64,
) -> Result<(), Errno> {
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
