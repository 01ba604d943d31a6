//! What mount something is on, what kind of file system that has, and which folder is at a path.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags};
use rustix::io::Errno;

/// Numbers of kinds, as the kernel's `magic.h` has them.
pub(crate) const OVERLAYFS: u64 = 0x794C_7630;

/// Mounts that are remembered; then it begins anew.
const MOUNTS_MAX: usize = 256;

/// STATX_MNT_ID_UNIQUE (Linux 6.8): a number of the mount that no other one gets.
const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// A mount, with its device: kernels that have no unique number may give one again, and on one mount each subvolume of
/// Btrfs has a device of its own, to which nothing can be renamed from another.
pub(crate) type Mount = (u64, u64);

static KNOWN: Mutex<BTreeMap<Mount, u64>> = Mutex::new(BTreeMap::new());

/// The file system that something is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileSystem {
    pub(crate) device: u64,
    /// The number of its kind.
    pub(crate) kind: u64,
}

/// Returns the file system that a folder is on. Asked once for each mount: on a network it takes long.
pub(crate) fn file_system(folder: impl AsFd) -> Option<FileSystem> {
    let flags = AtFlags::EMPTY_PATH;
    let found = rustix::fs::statx(&folder, "", flags, StatxFlags::MNT_ID | UNIQUE_MOUNT).ok()?;
    let device = device_of(&found);
    let mount = (found.stx_mnt_id, device);
    if let Some(kind) = known().get(&mount) {
        return Some(FileSystem { device, kind: *kind });
    }
    let kind = u64::try_from(rustix::fs::fstatfs(&folder).ok()?.f_type).ok()?;
    let mut known = known();
    if known.len() >= MOUNTS_MAX {
        known.clear();
    }
    known.insert(mount, kind);
    Some(FileSystem { device, kind })
}

fn known() -> MutexGuard<'static, BTreeMap<Mount, u64>> {
    // Each change is one step.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the device of what was found as one number.
pub(crate) fn device_of(found: &Statx) -> u64 {
    u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor)
}

/// Returns what mount the folder at a path is on.
pub(crate) fn mount_of(path: &Path) -> Result<Mount, Errno> {
    rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).map(|found| mount(&found))
}

/// Returns what mount an open folder is on.
pub(crate) fn mount_of_folder(folder: impl AsFd) -> Result<Mount, Errno> {
    let found = rustix::fs::statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
    found.map(|found| mount(&found))
}

fn mount(found: &Statx) -> Mount {
    // Where the kernel does not tell (before Linux 5.8), the device stands for the mount.
    let has_mount = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    (if has_mount { found.stx_mnt_id } else { 0 }, device_of(found))
}

/// Device and inode.
pub(crate) type Identity = (u64, u64);

/// Returns which folder is at `path`, if one is and no link.
pub(crate) fn identity_of_folder(path: &Path) -> Option<Identity> {
    let stat = rustix::fs::lstat(path).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_dir().then_some((stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn each_folder_has_the_kind_of_its_own_file_system() {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let kind = |path: &str| {
            let folder = rustix::fs::open(path, flags, Mode::empty()).unwrap();
            file_system(folder).unwrap().kind
        };
        for _ in 0..2 {
            assert_ne!(kind("/"), 0x9FA0);
            assert_eq!(kind("/proc"), 0x9FA0);
            assert_eq!(kind("/proc/self/task"), 0x9FA0);
        }
    }
}
