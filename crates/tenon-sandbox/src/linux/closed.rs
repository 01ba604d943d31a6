//! Folders that their owner, who this is, closed for himself. They are looked into all the same:
//! opened for the moment and closed again.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;

use super::openat::open_folder_beneath;

/// Held by who opens: else one would take what another opened for how it was.
static AT_WORK: Mutex<()> = Mutex::new(());

/// Returns the permissions of a folder if its owner may not do everything in it.
pub(crate) fn closed_mode(folder: &OwnedFd) -> Option<u32> {
    let stat = rustix::fs::fstat(folder).ok()?;
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
    (is_folder && !mode.contains(Mode::RWXU)).then_some(mode.as_raw_mode())
}

/// Does something in an open folder that may be closed to its owner. `act` may be done twice, and
/// must not come here itself.
pub(crate) fn through<T>(
    folder: &OwnedFd,
    mut act: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS) => {}
        outcome => return outcome,
    }
    let _at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mode) = closed_mode(folder) else { return act() };
    // Another's folder stays closed, and says so again.
    let is_open = set(folder, mode | Mode::RWXU.as_raw_mode()).is_ok();
    let outcome = act();
    if is_open {
        // It was possible a moment ago.
        let _ = set(folder, mode);
    }
    outcome
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

fn set(folder: &OwnedFd, mode: u32) -> Result<(), Errno> {
    // The kernel's name for a descriptor works for one that is for looking only.
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    rustix::fs::chmod(path, Mode::from_raw_mode(mode))
}
