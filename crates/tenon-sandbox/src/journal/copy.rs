//! Copies of files, and opening them for it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::node::{Node, NodeId};
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

/// Opens a file for reading without a trace of it, where this user may.
pub(crate) fn open_quietly(path: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => rustix::fs::open(path, flags, Mode::empty()),
        file => file,
    }
}

/// Opens a file of this user's that its own permissions close, by lifting them for a moment.
pub(super) fn open_closed(path: &OsStr, node: &Node) -> Result<OwnedFd, Errno> {
    let set = |mode: u32| {
        let mode = Mode::from_raw_mode(mode & 0o7777);
        rustix::fs::chmodat(rustix::fs::CWD, path, mode, AtFlags::empty())
    };
    set(node.mode | 0o400)?;
    let file = open_quietly(path);
    set(node.mode)?;
    file
}

pub(super) fn is_cache(folder: &OwnedFd) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
    let Ok(tag) = open_beneath(folder, CACHE_TAG, flags, Mode::empty()) else { return false };
    let mut start = [0; CACHE_SIGNATURE.len()];
    matches!(rustix::io::read(tag, &mut start), Ok(length) if length == start.len())
        && start == CACHE_SIGNATURE
}
