//! Folders that commands wrote in, and that are to go.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::linux::openat::open_folder_beneath;

/// Removes a folder and all in it, also where a command took permissions of its folders away. No link is
/// followed.
///
/// # Errors
/// What is left and why, where it cannot be removed.
#[expect(clippy::disallowed_methods, reason = "removes what commands left behind")]
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    if std::fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    open_up(path)?;
    std::fs::remove_dir_all(path)
}

/// Empties a folder that is held open, and takes the name `path` from it. Of what stands there in its place nothing
/// is removed but an empty folder.
///
/// # Errors
/// As [`remove_tree`].
pub(crate) fn remove_held(folder: &OwnedFd, path: &Path) -> io::Result<()> {
    let held = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    rustix::fs::chmod(&held, Mode::RWXU)?;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => remove_tree(&held.join(OsStr::from_bytes(name.to_bytes())))?,
            outcome => outcome?,
        }
    }
    Ok(rustix::fs::rmdir(path)?)
}

/// Gives the owner of a folder, and of those beneath, all permissions. What stays closed cannot be removed.
fn open_up(path: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let top = openat(CWD, path, flags, Mode::empty())?;
    let mut left = vec![PathBuf::new()];
    while let Some(beneath) = left.pop() {
        let Ok(folder) = open_folder_beneath(&top, &beneath) else { continue };
        let _ = rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU);
        for entry in Dir::read_from(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if entry.file_type().is_dir() && name != c"." && name != c".." {
                left.push(beneath.join(OsStr::from_bytes(name.to_bytes())));
            }
        }
    }
    Ok(())
}
