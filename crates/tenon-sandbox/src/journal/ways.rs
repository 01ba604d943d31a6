//! The way to folders through others that their owner closed.

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

use super::record::Place;
use crate::linux::closed::through;
use crate::linux::openat::open_folder_beneath;
use crate::linux::task::path_of;

/// So many folders are known at a time, each by a descriptor. A process often has 1,024 of them.
const WAYS_MAX: usize = 256;

/// Folders that were reached through closed ones: the next look there need not open all above them
/// again, one by one.
#[derive(Debug, Default)]
pub(super) struct Ways(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    folders: HashMap<Place, Arc<OwnedFd>>,
    /// Their places, the oldest first.
    order: VecDeque<Place>,
}

impl Ways {
    /// Returns a folder that is where it was when it was reached.
    fn known(&self, top: &OwnedFd, place: &Place) -> Option<Arc<OwnedFd>> {
        let ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ways.folders.get(place).cloned()?;
        drop(ways);
        let is_there = path_of(&known).ok()? == path_of(top).ok()?.join(&place.path);
        is_there.then_some(known)
    }

    fn keep(&self, place: Place, folder: &Arc<OwnedFd>) {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ways.folders.insert(place.clone(), Arc::clone(folder)).is_none() {
            ways.order.push_back(place);
        }
        // Who goes down a way needs the last ones.
        if ways.order.len() > WAYS_MAX
            && let Some(oldest) = ways.order.pop_front()
        {
            ways.folders.remove(&oldest);
        }
    }

    /// Opens the folder at `place`, each on the way with the one above it open for that moment.
    pub(super) fn open(&self, top: &OwnedFd, place: &Place) -> Result<Arc<OwnedFd>, Errno> {
        let ways = place.path.ancestors().map(|path| Place { root: place.root, path: path.into() });
        let mut below = Vec::new();
        let mut reached = None;
        for at in ways {
            reached = self.known(top, &at);
            if reached.is_some() || at.path.as_os_str().is_empty() {
                break;
            }
            below.push(at);
        }
        let mut folder = match reached {
            Some(folder) => folder,
            None => Arc::new(rustix::io::fcntl_dupfd_cloexec(top, 0)?),
        };
        for at in below.into_iter().rev() {
            let Some(name) = at.path.file_name() else { continue };
            let open = || open_folder_beneath(&folder, Path::new(name));
            folder = Arc::new(through(&folder, open)?);
            self.keep(at, &folder);
        }
        Ok(folder)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::time::Duration;

    use rustix::process::{Gid, Uid};

    use super::*;

    const NOBODY: u32 = 65534;

    /// Whom folders are closed to: root they are not.
    fn by_an_ordinary_user(act: impl FnOnce() + Send + 'static) {
        let become_one = || {
            if rustix::process::geteuid().is_root() {
                let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                rustix::thread::set_thread_res_gid(group, group, group).unwrap();
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            act();
        };
        std::thread::spawn(become_one).join().unwrap();
    }

    #[test]
    fn a_way_through_closed_folders_is_gone_once_and_never_to_another_folder() {
        by_an_ordinary_user(|| {
            let folder = tempfile::tempdir().unwrap();
            let (a, b) = (folder.path().join("a"), folder.path().join("a/b"));
            let set = |mode| std::fs::set_permissions(&a, Permissions::from_mode(mode)).unwrap();
            std::fs::create_dir_all(&b).unwrap();
            set(0);
            let top = rustix::fs::open(
                folder.path(),
                rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
                rustix::fs::Mode::empty(),
            );
            let (ways, top) = (Ways::default(), top.unwrap());
            let place = Place { root: 0, path: "a/b".into() };
            let open =
                || ways.open(&top, &place).map(|open| rustix::fs::fstat(&open).unwrap().st_ino);
            let changed = || {
                let stat = rustix::fs::lstat(&a).unwrap();
                (stat.st_ctime, stat.st_ctime_nsec)
            };
            let first = open().unwrap();
            let closed = changed();
            // Longer than the times of files are apart.
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(open(), Ok(first));
            assert_eq!(changed(), closed, "opened once more");
            set(0o700);
            std::fs::rename(&b, folder.path().join("a/c")).unwrap();
            set(0);
            assert_eq!(open(), Err(Errno::NOENT));
            set(0o700);
            std::fs::create_dir(&b).unwrap();
            set(0);
            assert_ne!(open().unwrap(), first);
            set(0o700);
        });
    }

    #[test]
    fn who_goes_down_a_long_way_opens_no_folder_twice() {
        by_an_ordinary_user(|| {
            let folder = tempfile::tempdir().unwrap();
            let set = |path: &Path, mode| {
                std::fs::set_permissions(folder.path().join(path), Permissions::from_mode(mode))
            };
            let below = |depth: usize| PathBuf::from("a/".repeat(depth));
            let depth = WAYS_MAX + 20;
            std::fs::create_dir_all(folder.path().join(below(depth))).unwrap();
            (1..=depth).rev().for_each(|depth| set(&below(depth), 0).unwrap());
            let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
            let top = rustix::fs::open(folder.path(), flags, rustix::fs::Mode::empty()).unwrap();
            let ways = Ways::default();
            let open = |depth| ways.open(&top, &Place { root: 0, path: below(depth) }).unwrap();
            let changed = || {
                let stat = rustix::fs::lstat(folder.path().join("a")).unwrap();
                (stat.st_ctime, stat.st_ctime_nsec)
            };
            (1..10).for_each(|depth| drop(open(depth)));
            let closed = changed();
            // Longer than the times of files are apart.
            std::thread::sleep(Duration::from_millis(20));
            (10..=depth).for_each(|depth| drop(open(depth)));
            assert_eq!(changed(), closed, "opened once more");
            (1..=depth).for_each(|depth| set(&below(depth), 0o700).unwrap());
        });
    }
}
