//! Workspaces on layers (overlayfs) that do not say of a file which one it is.

use std::os::fd::OwnedFd;

use super::find::walk_folder_until;
use super::node::look;
use crate::file_system::{OVERLAYFS, file_system};

/// So many entries of a workspace are looked at for one that is only in a lower layer.
const ENTRIES_MAX: usize = 1_000;

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
