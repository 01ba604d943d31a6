//! Workspaces on layers (overlayfs), where a file that changes is copied to the upper layer first.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::node::{Node, look};
use super::walk::walk_folder_until;
use crate::file_system::{OVERLAYFS, file_system};
use crate::linux::openat::open_beneath;

/// So many entries of a workspace are looked at for one that is only in a lower layer.
const ENTRIES_MAX: usize = 1_000;

/// Set-user-ID and set-group-ID, which go when somebody sets an owner.
const SET_ID: u32 = 0o6000;

/// Whether files get another number, too, when they are copied to the upper layer. So it is with layers
/// on several file systems, unless they are mounted with `xino`; then a file of a lower layer has another
/// device than its folder (the kernel's `overlayfs.rst`, inode properties).
pub(super) fn renumbers(root: &OwnedFd) -> bool {
    if file_system(root).is_none_or(|system| system.kind != OVERLAYFS) {
        return false;
    }
    let Ok(Some(top)) = look(root, "".as_ref()) else { return false };
    let (mut seen, mut found) = (0, false);
    walk_folder_until(root, &mut |_, node| {
        seen += 1;
        found |= node.is_file() && !node.id.is_beside(top.id);
        found || seen >= ENTRIES_MAX
    });
    found
}

/// Looks at what is at a name as [`look`] does, before it changes. A file with several names in a lower
/// layer parts from the others when it is copied: that is done first, so that it stays who it is.
pub(super) fn look_parted(folder: &OwnedFd, name: &OsStr) -> Result<Option<Node>, Errno> {
    let found = look(folder, name)?;
    let Some(node) =
        found.as_ref().filter(|node| node.is_file() && node.links > 1 && node.id.is_unborn())
    else {
        return Ok(found);
    };
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    // To open it for writing is enough.
    let opened = open_beneath(folder, name, flags, Mode::empty());
    if matches!(opened, Err(Errno::ACCESS)) && node.mode & SET_ID == 0 {
        let (user, group) = (Uid::from_raw(node.user), Gid::from_raw(node.group));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        // And so it is to give a file that its owner closed to its owner; others may do neither.
        let _ = rustix::fs::chownat(folder, name, Some(user), Some(group), flags);
    }
    look(folder, name)
}
