//! Folders that their owner, who this is, closed for himself. They are looked through all the same:
//! opened for the moment and closed again.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;

use super::node::{look, set_mode};
use super::record::Place;
use super::store::{Store, open_plain_beneath};

/// Held by who opens: else one would take what another opened for how it was.
static AT_WORK: Mutex<()> = Mutex::new(());

/// What the owner of a folder needs for everything in it.
const OPEN: u32 = 0o700;

/// Folders that are open for the moment, and their permissions.
#[derive(Default)]
struct Opened(Vec<(OwnedFd, u32)>);

impl Opened {
    /// Opens a folder, if it is closed.
    fn open(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        if let Some(mode) = closed_mode(folder) {
            let held = rustix::io::fcntl_dupfd_cloexec(folder, 0)?;
            set_mode(folder, OsStr::new(""), mode | OPEN)?;
            self.0.push((held, mode));
        }
        Ok(())
    }

    /// Opens a folder and all above it, as far as they are closed.
    fn open_way(&mut self, top: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
        let mut folder = rustix::io::fcntl_dupfd_cloexec(top, 0)?;
        self.open(&folder)?;
        for name in path {
            folder = open_plain_beneath(&folder, Path::new(name))?;
            self.open(&folder)?;
        }
        Ok(folder)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        for (folder, mode) in self.0.iter().rev() {
            // It was possible a moment ago.
            let _ = set_mode(folder, OsStr::new(""), *mode);
        }
    }
}

/// Returns the permissions of a folder if its owner may not do everything in it.
pub(super) fn closed_mode(folder: &OwnedFd) -> Option<u32> {
    let node = look(folder, OsStr::new("")).ok()??;
    (node.is_folder() && node.mode & OPEN != OPEN).then_some(node.mode)
}

/// Looks at something in an open folder. `act` may be done twice, and must not come here itself.
pub(super) fn through<T>(folder: &OwnedFd, act: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS) => {}
        outcome => return outcome,
    }
    let _at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut opened = Opened::default();
    // Another's folder stays closed, and says so again.
    let _ = opened.open(folder);
    act()
}

/// Looks at something in the folder at `path` beneath an open one, as [`through`].
pub(super) fn through_way<T>(
    top: &OwnedFd,
    path: &Path,
    act: impl Fn(&OwnedFd) -> Result<T, Errno>,
) -> Result<T, Errno> {
    match open_plain_beneath(top, path).and_then(|folder| act(&folder)) {
        Err(Errno::ACCESS) => {}
        outcome => return outcome,
    }
    let _at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut opened = Opened::default();
    let folder = opened.open_way(top, path).map_err(|errno| match errno {
        // Another's folder.
        Errno::PERM => Errno::ACCESS,
        errno => errno,
    })?;
    act(&folder)
}

/// Looks at something in a folder beneath a root, as [`through`].
pub(super) fn through_place<T>(
    store: &Store,
    folder: &Place,
    act: impl Fn(&OwnedFd) -> Result<T, Errno>,
) -> Result<T, Errno> {
    through_way(&store.root(folder.root)?.handle, &folder.path, act)
}

/// Opens a folder beneath a root for looking at it, also in closed ones.
pub(super) fn open_folder(store: &Store, place: &Place) -> Result<OwnedFd, Errno> {
    through_place(store, place, |folder| rustix::io::fcntl_dupfd_cloexec(folder, 0))
}
