//! The folder that copies of a workspace are in, which goes with what works in it. One whose process was killed
//! goes with the next: a lock beside it, which the kernel gives up with the process, says whether anybody is at
//! work there.

#![expect(clippy::disallowed_methods, reason = "makes and removes folders of tenon's own")]

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::fs::OFlags;
use tenon_sandbox::Source;

use super::{Root, layout};
use crate::{config::Config, error::CliError, texts::Text};

/// In tenon's cache.
const REPLAY: &str = "replay";

/// The ending of a lock's name; before it stands the name of the folder.
const LOCK: &str = "lock";

/// How often another process may take a new lock for one that was left.
const TRIES_MAX: usize = 10;

/// A folder of tenon's own that is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    /// Held as long as this is there.
    _lock: File,
}

impl Scratch {
    /// Makes a folder that only this user can look into, and takes away those of processes that were killed.
    pub(crate) fn new(config: &Config) -> Result<Self, CliError> {
        let parent = own_folder(&config.folders.cache)?;
        Self::within(&parent).map_err(|error| not_made(&parent, error))
    }

    fn within(parent: &Path) -> io::Result<Self> {
        remove_left_over(parent);
        for _ in 0..TRIES_MAX {
            if let Some(scratch) = Self::try_within(parent)? {
                return Ok(scratch);
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Makes a folder; `None` if another process took its lock first.
    fn try_within(parent: &Path) -> io::Result<Option<Self>> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let path = parent.join(format!("{}-{}", std::process::id(), since.as_nanos()));
        let lock_path = path.with_extension(LOCK);
        let mut options = OpenOptions::new();
        let lock = options.write(true).create_new(true).mode(0o600).open(&lock_path)?;
        // Where there are no locks, nobody takes anything away.
        let is_taken = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
        if is_taken || !is_at(&lock, &lock_path) {
            return Ok(None);
        }
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Some(Self { path, _lock: lock }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folders with where their copies are, which lie to each other as the folders do, and to the
    /// `ways` by which they were named; and where those are.
    pub(super) fn roots(
        &self,
        folders: Vec<PathBuf>,
        ways: &[(PathBuf, PathBuf)],
    ) -> (Vec<Root>, Vec<Root>) {
        let count = folders.len();
        let all: Vec<PathBuf> =
            folders.into_iter().chain(ways.iter().map(|(way, _)| way.clone())).collect();
        let places = layout::beneath(&all);
        let mut roots = self.roots_at(all, &places);
        let ways = roots.split_off(count);
        (roots, ways)
    }

    /// The same for places beneath the folder that all copies are in.
    pub(super) fn roots_at(&self, folders: Vec<PathBuf>, places: &[PathBuf]) -> Vec<Root> {
        let root = |(recorded, place)| Root { recorded, copy: self.path.join("roots").join(place) };
        folders.into_iter().zip(places).map(root).collect()
    }

    /// Returns where a replay keeps its own things.
    pub(crate) fn state(&self) -> PathBuf {
        self.path.join("state")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        take_away(&self.path);
    }
}

/// Makes the folder in tenon's `cache` that all of these are in, and returns its path without links. The folder
/// around `cache` may be one, as a person has it; `cache` itself and what is in it is tenon's own, and where the
/// workspace is the home, commands write there: a link of theirs leads nowhere.
fn own_folder(cache: &Path) -> Result<PathBuf, CliError> {
    let (around, name) = (cache.parent().unwrap_or(cache), cache.file_name().unwrap_or_default());
    let made = DirBuilder::new().recursive(true).mode(0o700).create(around);
    let mut folder =
        made.and_then(|()| around.canonicalize()).map_err(|error| not_made(around, error))?;
    for name in [name, OsStr::new(REPLAY)] {
        folder.push(name);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        if folder.is_symlink() {
            return Err(CliError::failed(Text::CacheIsLink.with(&[("path", &folder.display())]))
                .with_hint(Text::HintCacheIsLink));
        }
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(not_made(&folder, error));
            }
            _ => {}
        }
    }
    Ok(folder)
}

fn not_made(folder: &Path, error: io::Error) -> CliError {
    CliError::failed(Text::FolderNotMade.with(&[("path", &folder.display())])).with_source(error)
}

/// Takes away the folders that nobody is at work in. Where the workspace is the home, commands write there:
/// what has no name of those that are made here stays, whatever it is.
fn remove_left_over(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let lock_path = entry.path();
        if !is_lock(&entry.file_name()) {
            continue;
        }
        // A named pipe would wait for a writer for ever.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let lock = File::options().read(true).custom_flags(flags).open(&lock_path);
        let Some(lock) = lock.ok().filter(|lock| lock.metadata().is_ok_and(|it| it.is_file()))
        else {
            continue;
        };
        if lock.try_lock().is_ok() && is_at(&lock, &lock_path) {
            take_away(&lock_path.with_extension(""));
        }
    }
}

/// Whether it is the name of a lock that is made here.
fn is_lock(name: &OsStr) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.to_str().and_then(|name| name.strip_suffix(".lock")?.split_once('-'));
    numbers.is_some_and(|(process, stamp)| is_number(process) && is_number(stamp))
}

/// Removes a folder, and its lock once it is gone: what is left is taken away the next time.
fn take_away(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        if let Ok(folder) = Source::open(folder) {
            open_up(&folder);
        }
        let _ = fs::remove_dir_all(folder);
    }
    if folder.symlink_metadata().is_err() {
        let _ = fs::remove_file(folder.with_extension(LOCK));
    }
}

/// Whether `file` is what is at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(open), Ok(there)) => id(open) == id(there),
        _ => false,
    }
}

/// Lets this user into folders that a command closed, which may still exchange them: through no link.
fn open_up(folder: &Source) {
    if !folder.metadata().is_ok_and(|found| found.is_dir()) {
        return;
    }
    let _ = folder.set_mode(0o700);
    for name in folder.names().unwrap_or_default() {
        if let Ok(child) = folder.child(&name) {
            open_up(&child);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs::Permissions,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use rustix::fs::{CWD, FileType, Mode};

    use super::*;

    #[test]
    fn a_folder_goes_once_nobody_holds_its_lock() {
        let place = tempfile::tempdir().unwrap();
        let parent = own_folder(place.path()).unwrap();
        let living = Scratch::within(&parent).unwrap();
        fs::write(living.path().join("file"), "").unwrap();
        for (name, has_lock) in [("1-1", true), ("1-2", false)] {
            fs::create_dir(parent.join(name)).unwrap();
            fs::write(parent.join(name).join("file"), "").unwrap();
            if has_lock {
                fs::write(parent.join(name).with_extension(LOCK), "").unwrap();
            }
        }
        let closed = parent.join("1-1/closed");
        fs::create_dir_all(closed.join("deep")).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
        let other = Scratch::within(&parent).unwrap();
        assert!(living.path().join("file").exists() && other.path().exists());
        assert!(!parent.join("1-1").exists() && !parent.join("1-1.lock").exists());
        // Who made it is not known.
        assert!(parent.join("1-2/file").exists());
        drop((living, other));
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_the_cache_is_not_followed_and_one_around_it_is() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let [outside, cache, other] = ["outside", "cache", "other"].map(|name| top.join(name));
        fs::create_dir(&outside).unwrap();
        symlink(&outside, &cache).unwrap();
        let made = own_folder(&cache.join("tenon")).unwrap();
        assert_eq!(made, outside.join("tenon/replay"));
        let check = |cache: &Path| {
            let refused = own_folder(cache).unwrap_err().to_string();
            assert!(refused.contains(" is a symbolic link, "), "{refused}");
        };
        fs::create_dir_all(other.join("tenon")).unwrap();
        symlink(&outside, other.join("tenon/replay")).unwrap();
        check(&other.join("tenon"));
        symlink(&outside, other.join("linked")).unwrap();
        check(&other.join("linked"));
        fs::remove_dir_all(outside.join("tenon")).unwrap();
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    /// Where the workspace is the home, commands write there.
    #[test]
    fn what_others_put_there_takes_nothing_away() {
        let place = tempfile::tempdir().unwrap();
        let parent = own_folder(place.path()).unwrap();
        let outside = place.path().join("outside");
        for folder in [&parent.join("a"), &parent.join("1-x"), &outside] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("file"), "").unwrap();
        }
        for name in ["..lock", "...lock", "a.lock", "Cargo.lock", "1-x.lock", "-1.lock", "1-3.lock"]
        {
            fs::write(parent.join(name), "").unwrap();
        }
        fs::write(outside.join("1-2.lock"), "").unwrap();
        symlink(outside.join("1-2.lock"), parent.join("1-2.lock")).unwrap();
        symlink(&outside, parent.join("1-3")).unwrap();
        // It would be waited for.
        let pipe = parent.join("1-4.lock");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let names = || {
            let entries = fs::read_dir(&parent).unwrap().flatten();
            entries.map(|entry| entry.file_name()).collect::<BTreeSet<_>>()
        };
        let mut before = names();
        drop(Scratch::within(&parent).unwrap());
        // A link that stands where a folder was goes, and not what it leads to.
        assert!(before.remove(OsStr::new("1-3")) && before.remove(OsStr::new("1-3.lock")));
        assert_eq!(names(), before);
        assert!(parent.join("a/file").exists() && parent.join("1-x/file").exists());
        assert!(outside.join("file").exists() && outside.join("1-2.lock").exists());
    }
}
