//! The one way in which a file beneath a directory is opened: openat2 that cannot leave it.
//!
//! The kernel decides on each component while it walks, so there is no moment between a check and
//! the opening in which a name could be exchanged.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::by_names;
use super::within::within_walls;

/// How often an opening is tried again when the kernel answers EAGAIN, which it does when a
/// directory is renamed during a walk that has `..` in it. Each try is a fresh walk of a few
/// microseconds; somebody who renames without pause may make a call fail, never succeed wrongly.
const TRIES_MAX: usize = 32;

/// The kernel takes paths that are shorter than this, in bytes.
pub(crate) const PATH_BYTES_MAX: usize = 4096;

/// Opens a path as the kernel's openat2 does, also within the walls of another tenon, where there is none.
///
/// # Errors
/// What openat2 says.
pub(crate) fn openat2(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat2(&folder, path, flags, mode, resolve) {
        Err(Errno::NOSYS) if within_walls() => path.into_with_c_str(|path| {
            by_names::open(folder.as_fd(), path.to_bytes(), (flags, mode), resolve)
        }),
        outcome => outcome,
    }
}

/// Opens a path that has no symbolic link in it, for looking at it only.
pub(crate) fn open_plain(path: &Path) -> Result<OwnedFd, Errno> {
    // With NOFOLLOW the last name might be a link all the same.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Opens `path` beneath `folder`: `..`, symbolic links and magic links cannot lead out of it.
///
/// The descriptor is closed on exec, never becomes the controlling terminal and does not wait for
/// the other end of a pipe.
///
/// # Errors
/// What openat2 says; `XDEV` for a path that leaves the folder.
pub(crate) fn open_beneath(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    // openat2 refuses every other flag together with O_PATH.
    let flags = if flags.contains(OFlags::PATH) {
        flags | OFlags::CLOEXEC
    } else {
        flags | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK
    };
    again(|| {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        openat2(&folder, path, flags, mode, resolve)
    })
}

/// Opens a folder beneath another, or that one for an empty path, for looking at it only. No link is
/// followed on the way. The path may be longer than the kernel takes at a time.
///
/// # Errors
/// What openat2 says; `LOOP` for a link.
pub(crate) fn open_folder_beneath(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    if path.as_os_str().len() < PATH_BYTES_MAX {
        return open_one(folder, path);
    }
    // Part by part.
    let (mut opened, mut part) = (None, PathBuf::new());
    for name in path {
        if part.as_os_str().len() + 1 + name.len() >= PATH_BYTES_MAX {
            opened = Some(open_one(opened.as_ref().unwrap_or(folder), &part)?);
            part.clear();
        }
        part.push(name);
    }
    open_one(opened.as_ref().unwrap_or(folder), &part)
}

fn open_one(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    again(|| openat2(folder, path, flags, Mode::empty(), resolve))
}

fn again(open: impl Fn() -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    let mut outcome = Err(Errno::AGAIN);
    for _ in 0..TRIES_MAX {
        outcome = open();
        if !matches!(outcome, Err(Errno::AGAIN | Errno::INTR)) {
            break;
        }
    }
    outcome
}

/// Opens `name`, one component, in `folder` for looking at it only; a symbolic link is opened
/// itself.
pub(crate) fn look_at(folder: impl AsFd, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    open_beneath(folder, name, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())
}

/// Writes all of `bytes`.
///
/// # Errors
/// What write says; a part may be written.
pub(crate) fn write_all(file: impl AsFd, bytes: &[u8]) -> Result<(), Errno> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = rustix::io::retry_on_intr(|| rustix::io::write(&file, rest))?;
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}
