//! Takes away what may not be at a protected name, and makes again what was.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;

use super::Guard;
use super::folder::{MakeFolders, look_at, names, open_folder_at, open_parent};
use super::item::{Content, Item};
use super::place::Place;
use crate::linux::closed::through;
use crate::linux::openat::write_all;
use crate::workspace::{Recording, random_name};

/// How deep folders are that make way for a file.
const DEPTH_MAX: usize = 64;

impl Guard {
    /// Makes a place as it should be. What is there is saved for undo first: it need not be the
    /// command's own.
    pub(super) fn put(&self, place: &Place, should_be: Option<&Item>) -> bool {
        let path = place.path();
        if let Some(checkpoint) = self.checkpoints.last() {
            // Of folders that are made, the highest. What cannot be saved must go all the same.
            path.ancestors().find(|path| {
                let names = path.parent().zip(path.file_name());
                names.is_none_or(|(folder, name)| checkpoint.before_temporary(folder, name).is_ok())
            });
        }
        let Some(item) = should_be else { return remove(place).is_ok() };
        let Ok(temporary) = random_name() else {
            let _ = remove(place);
            return false;
        };
        if let (Some(checkpoint), Some(folder)) = (self.checkpoints.last(), path.parent()) {
            // Where the program is killed, the next takes it away.
            let _ = checkpoint.before_temporary(folder, &temporary);
        }
        write(place, item, &temporary).is_ok()
    }
}

/// Takes a file away.
fn remove(place: &Place) -> Result<(), Errno> {
    let top = open_folder_at(place.root())?;
    let (folder, name) = open_parent(&top, place.beneath(), MakeFolders::No)?;
    through(&folder, || rustix::fs::unlinkat(&folder, name, AtFlags::empty()))
}

/// Makes a file in the place of what is there, under the name `temporary` first: a command of another session that opens
/// it meanwhile must not take it for one that it makes.
fn write(place: &Place, item: &Item, temporary: &OsStr) -> Result<(), Errno> {
    let top = open_folder_at(place.root())?;
    let (folder, name) = open_parent(&top, place.beneath(), MakeFolders::Yes)?;
    through(&folder, || {
        remove_folders(&folder, name, DEPTH_MAX);
        let is_in_place = make(&folder, temporary, item)
            .and_then(|()| rustix::fs::renameat(&folder, temporary, &folder, name));
        is_in_place.or_else(|errno| {
            if errno == Errno::ACCESS {
                return Err(errno);
            }
            // On a full disk, what is taken away makes room.
            let _ = rustix::fs::unlinkat(&folder, temporary, AtFlags::empty());
            let _ = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
            make(&folder, name, item)
        })
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

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes its files itself")]

    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::scan::look;
    use super::*;

    #[test]
    fn a_name_is_there_all_the_time_while_it_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let file = root.join(".envrc");
        std::fs::write(&file, "own").unwrap();
        let place = Place::new(&root, Path::new(".envrc"), 0);
        let (own, is_over) = (look(&place, None).unwrap(), AtomicBool::new(false));
        std::thread::scope(|threads| {
            let looks = threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    if std::fs::symlink_metadata(&file).is_err() {
                        return false;
                    }
                }
                true
            });
            let put_back = |_| {
                std::fs::write(&file, "evil").unwrap();
                Guard::default().put(&place, Some(&own))
            };
            assert!((0..500).all(put_back));
            is_over.store(true, Ordering::Relaxed);
            assert!(looks.join().unwrap(), "for a moment it was not there");
        });
        assert!(look(&place, None).unwrap().is_same(&own));
        assert_eq!(std::fs::read_dir(root).unwrap().count(), 1);
    }

    #[test]
    fn a_file_comes_in_the_place_of_empty_folders_and_of_a_link_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let file = root.join(".envrc");
        std::fs::write(&file, "own").unwrap();
        let place = Place::new(&root, Path::new(".envrc"), 0);
        let own = look(&place, None).unwrap();
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir_all(file.join("in/it")).unwrap();
        assert!(Guard::default().put(&place, Some(&own)));
        std::fs::remove_file(&file).unwrap();
        std::fs::write(root.join("other"), "as it was").unwrap();
        std::os::unix::fs::symlink("other", &file).unwrap();
        assert!(Guard::default().put(&place, Some(&own)));
        assert!(look(&place, None).unwrap().is_same(&own));
        assert_eq!(std::fs::read_to_string(root.join("other")).unwrap(), "as it was");
        assert_eq!(std::fs::read_dir(root).unwrap().count(), 2);
    }
}
