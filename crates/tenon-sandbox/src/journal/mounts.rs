//! What mount something is on, and whether that has layers.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;

/// The number of overlayfs, as the kernel's `magic.h` has it.
const OVERLAYFS: u32 = 0x794C_7630;

/// Returns what mount a path is on.
pub(crate) fn mount_of(path: &Path) -> Result<u64, Errno> {
    let found = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)?;
    // Where the kernel does not tell (before Linux 5.8), the device stands for the mount.
    let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
    let has_mount = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Ok(if has_mount { found.stx_mnt_id } else { device })
}

/// Whether a folder is on an overlayfs, as the root of a container often is. What is written to is
/// copied to the upper layer first: there it is born anew.
pub(crate) fn is_in_layers(folder: impl AsFd) -> bool {
    rustix::fs::fstatfs(folder).is_ok_and(|system| i64::from(OVERLAYFS) == system.f_type)
}
