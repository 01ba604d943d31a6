//! Takes away what may not be at a protected name, and makes again what was.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;

use super::folder::{MakeFolders, look_at, names, open_folder_at, open_parent};
use super::item::{Content, Item};
use super::place::Place;
use crate::linux::closed::through;
use crate::linux::openat::write_all;

/// How deep folders are that make way for a file.
const DEPTH_MAX: usize = 64;

/// Takes a file away.
pub(super) fn remove(place: &Place) -> Result<(), Errno> {
    let top = open_folder_at(place.root())?;
    let (folder, name) = open_parent(&top, place.beneath(), MakeFolders::No)?;
    through(&folder, || rustix::fs::unlinkat(&folder, name, AtFlags::empty()))
}

/// Makes a file that is not there.
pub(super) fn write(place: &Place, item: &Item) -> Result<(), Errno> {
    let top = open_folder_at(place.root())?;
    let (folder, name) = open_parent(&top, place.beneath(), MakeFolders::Yes)?;
    through(&folder, || {
        remove_folders(&folder, name, DEPTH_MAX);
        make(&folder, name, item)
    })
}

/// Makes a file or link in an open folder, with the time that it had.
pub(super) fn make(folder: &OwnedFd, name: &OsStr, item: &Item) -> Result<(), Errno> {
    let times = item.modified.map(|modified| Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: modified.into(),
    });
    match &item.content {
        Content::Link(target) => {
            rustix::fs::symlinkat(&**target, folder, name)?;
            if let Some(times) = times {
                // It leads where it led; its time is a nicety.
                let _ = rustix::fs::utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW);
            }
            Ok(())
        }
        Content::File(Some(bytes)) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
            if rustix::process::geteuid().is_root() {
                let (user, group) = item.owner;
                let owner = (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
                rustix::fs::fchown(&file, owner.0, owner.1)?;
            }
            rustix::fs::fchmod(&file, Mode::from_raw_mode(item.mode))?;
            write_all(&file, bytes)?;
            if let Some(times) = times {
                // What is in it is as before; its time is a nicety.
                let _ = rustix::fs::futimens(&file, &times);
            }
            Ok(())
        }
        Content::File(None) | Content::Folder | Content::Other => Err(Errno::NOTSUP),
    }
}

/// Takes away a folder with nothing but folders in it: what stood there in the place of a file.
fn remove_folders(folder: &OwnedFd, name: &OsStr, deeper: usize) {
    let Ok(inner) = look_at(folder, Path::new(name)) else { return };
    for (name, kind) in names(folder, Path::new(name)) {
        if kind.is_dir() && deeper > 0 {
            remove_folders(&inner, &name, deeper - 1);
        }
    }
    // Where a file is left in it, making the new one says so.
    let _ = through(folder, || rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR));
}
