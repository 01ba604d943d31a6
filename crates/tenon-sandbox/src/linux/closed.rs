//! Folders that their owner, who this is, closed for himself. They are looked into all the same:
//! opened for the moment and closed again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;

use super::openat::{look_at, open_folder_beneath, open_plain, openat2};
use crate::file_system::device_of;

/// What is open for the moment: permissions, and for how many. Else one would take what another
/// opened for how it was.
static OPENED: Mutex<BTreeMap<(u64, u64), (u32, usize)>> = Mutex::new(BTreeMap::new());

/// Returns the permissions of a folder if its owner may not do everything in it.
pub(crate) fn closed_mode(folder: &OwnedFd) -> Option<u32> {
    let stat = rustix::fs::fstat(folder).ok()?;
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
    (is_folder && !mode.contains(Mode::RWXU)).then_some(mode.as_raw_mode())
}

/// Returns the permissions that a folder or file has but for this moment, if it is open for the moment.
/// `id` is its device, as [`device_of`], and its number.
pub(crate) fn lasting_mode(id: (u64, u64)) -> Option<u32> {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.get(&id).map(|(mode, _)| *mode)
}

/// Returns the permissions that a folder which is held has but for this moment, if it is open for the moment.
pub(crate) fn lasting_mode_of(folder: &OwnedFd) -> Option<u32> {
    lasting_mode(identity(folder)?)
}

/// Returns the device, as [`device_of`], and the number of what is held.
fn identity(handle: &OwnedFd) -> Option<(u64, u64)> {
    let found = rustix::fs::statx(handle, "", AtFlags::EMPTY_PATH, StatxFlags::INO).ok()?;
    Some((device_of(&found), found.stx_ino))
}

/// Returns the permissions of a file if its owner may not read it.
fn unreadable_mode(file: &OwnedFd) -> Option<u32> {
    let stat = rustix::fs::fstat(file).ok()?;
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
    (is_file && !mode.contains(Mode::RUSR)).then_some(mode.as_raw_mode())
}

/// Does something in an open folder that may be closed to its owner, or with a file that is held and
/// may be. `act` may be done twice.
pub(crate) fn through<T>(
    folder: &OwnedFd,
    mut act: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS) => {}
        outcome => return outcome,
    }
    // Another's folder stays closed, and says so again.
    let _opened = Opened::new(folder);
    act()
}

/// A folder or file that is open until this is dropped.
struct Opened<'a>(&'a OwnedFd, (u64, u64));

impl<'a> Opened<'a> {
    fn new(folder: &'a OwnedFd) -> Option<Self> {
        let id = identity(folder)?;
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        match opened.get_mut(&id) {
            Some((_, users)) => *users += 1,
            None => {
                let (mode, open) = match closed_mode(folder) {
                    Some(mode) => (mode, Mode::RWXU),
                    None => (unreadable_mode(folder)?, Mode::RUSR),
                };
                set(folder, mode | open.as_raw_mode()).ok()?;
                opened.insert(id, (mode, 1));
            }
        }
        Some(Self(folder, id))
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((mode, users)) = opened.get_mut(&self.1) else { return };
        *users -= 1;
        if *users == 0 {
            // It was possible a moment ago.
            let _ = set(self.0, *mode);
            opened.remove(&self.1);
        }
    }
}

/// Opens the folder at `path` beneath an open one for looking at it only, each on the way as
/// [`through`] the one above it.
pub(crate) fn open_through(top: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut folder = rustix::io::fcntl_dupfd_cloexec(top, 0)?;
    for name in path {
        folder = through(&folder, || open_folder_beneath(&folder, Path::new(name)))?;
    }
    Ok(folder)
}

/// Opens what is beneath an open folder as [`look_at`] does, also in folders that are closed.
pub(crate) fn look_through(top: &OwnedFd, beneath: &Path) -> Result<OwnedFd, Errno> {
    match (look_at(top, beneath), beneath.parent(), beneath.file_name()) {
        (Err(Errno::ACCESS), Some(above), Some(name)) => {
            let folder = open_through(top, above)?;
            through(&folder, || look_at(&folder, Path::new(name)))
        }
        (outcome, ..) => outcome,
    }
}

/// Opens what is at an absolute path for looking at it only, also in folders that are closed. No link is followed.
pub(crate) fn open_closed(path: &Path) -> Result<OwnedFd, Errno> {
    match (open_plain(path), path.parent(), path.file_name()) {
        (Err(Errno::ACCESS), Some(above), Some(name)) => {
            let top = open_plain(Path::new("/"))?;
            let folder = open_through(&top, above.strip_prefix("/").unwrap_or(above))?;
            through(&folder, || open_name_in(&folder, name))
        }
        (outcome, ..) => outcome,
    }
}

fn open_name_in(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(folder, Path::new(name), flags, Mode::empty(), resolve)
}

/// Sets the permissions of what is held, also for looking at it only.
pub(crate) fn set(folder: &OwnedFd, mode: u32) -> Result<(), Errno> {
    // The kernel's name for a descriptor works for one that is for looking only.
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    rustix::fs::chmod(path, Mode::from_raw_mode(mode))
}
