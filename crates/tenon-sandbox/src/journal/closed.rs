//! Looks into folders that their owner, who this is, closed for himself.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;

use super::record::Place;
use super::store::Store;
use crate::linux::closed::{open_through, through};
use crate::linux::openat::open_folder_beneath;

/// Looks at something in a folder beneath a root, as [`through`].
pub(super) fn through_place<T>(
    store: &Store,
    folder: &Place,
    mut act: impl FnMut(&OwnedFd) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let top = &store.root(folder.root)?.handle;
    match open_folder_beneath(top, &folder.path).and_then(|folder| act(&folder)) {
        Err(Errno::ACCESS) => {}
        outcome => return outcome,
    }
    let handle = store.ways.open(top, folder)?;
    through(&handle, || act(&handle))
}

/// Opens the folder at `path` beneath an open one for looking at it, also in closed ones.
pub(super) fn open_way(top: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    match open_folder_beneath(top, path) {
        Err(Errno::ACCESS) => open_through(top, path),
        outcome => outcome,
    }
}

/// Opens a folder beneath a root for looking at it, also in closed ones.
pub(super) fn open_folder(store: &Store, place: &Place) -> Result<OwnedFd, Errno> {
    through_place(store, place, |folder| rustix::io::fcntl_dupfd_cloexec(folder, 0))
}
