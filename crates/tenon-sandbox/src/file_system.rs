//! What mount something is on, what kind of file system that has, which folder is at a path, and whether it has changed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, Stat, Statx, StatxFlags};
use rustix::io::Errno;

/// Numbers of kinds, as the kernel's `magic.h` has them.
pub(crate) const OVERLAYFS: u64 = 0x794C_7630;

/// Mounts that are remembered; then it begins anew.
const MOUNTS_MAX: usize = 256;

/// STATX_MNT_ID_UNIQUE (Linux 6.8): a number of the mount that no other one gets.
const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// File systems of this machine that keep change times of folders, by the numbers that `statfs(2)` and
/// the kernel's `magic.h` give them: ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, bcachefs and ZFS. On
/// others, such as those of a network, another machine may have changed a folder, or nobody keeps
/// its times.
const KEEP_TIMES: [u64; 8] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0x0102_1994,
    OVERLAYFS,
    0xF2F5_2010,
    0xCA45_1A4E,
    0x2FC1_2FC1,
];

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

/// Changes with every change of a file or folder, whatever a program does to its times; but for what is
/// written through a mapping that was written through before: the kernel sets the time once for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) length: i64,
    pub(crate) changed: (i64, u64),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            length: stat.st_size,
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// Whether what `stat` speaks of changed so short a time ago that the next change may have the same
/// time: kernels before 6.13 count file times in ticks of up to 10 ms, some file systems in seconds.
pub(crate) fn is_recent(stat: &Stat) -> bool {
    const TICK_S: i64 = 2;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    i64::try_from(now).is_ok_and(|now| now - stat.st_ctime <= TICK_S)
}

/// Whether the time of a folder's last change says that it is as it was.
pub(crate) fn keeps_times(folder: impl AsFd) -> bool {
    file_system(folder).is_some_and(|system| KEEP_TIMES.contains(&system.kind))
}

/// Returns what kind an entry is; some file systems do not say it with the name.
pub(crate) fn kind(folder: impl AsFd, name: &OsStr, told: FileType) -> FileType {
    if told != FileType::Unknown {
        return told;
    }
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(told, |stat| FileType::from_raw_mode(stat.st_mode))
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
