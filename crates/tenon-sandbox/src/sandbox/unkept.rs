//! What commands make where a person would take it for their own, and where it goes with the session:
//! right in HOME, and in folders above those that the session has.
//!
//! A descriptor of each such folder is kept from its making on, so that a look costs a call where nothing
//! is new. Temporary files in /tmp and the like, and settings and caches of tools, are not told.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, fstat};

use super::toolchains::TOOLCHAINS;
use crate::linux::layout::{Part, Step};
use crate::linux::pass::LISTED_MAX;

/// Names that are read of a folder at a time. A command can make hundreds of thousands.
const NAMES_READ_MAX: usize = 4_096;

/// Names that are told in a session. Nobody reads as many.
const NAMES_TOLD_MAX: usize = 1_000;

/// Room for what one call returns of a folder's names.
const NAMES_BYTES: usize = 16 * 1024;

/// A private folder in which new names are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PrivateFolder {
    pub(super) path: PathBuf,
    /// What is put there, or is a tool's.
    known: BTreeSet<OsString>,
    /// Names with a dot in front are settings and caches there.
    is_home: bool,
}

/// Returns the private folders of a layout in which new names are told, HOME first.
pub(super) fn private_folders(steps: &[Step], home: Option<&Path>) -> Vec<PrivateFolder> {
    let toolchains: Vec<PathBuf> =
        home.into_iter().flat_map(|home| TOOLCHAINS.map(|name| home.join(name))).collect();
    let is_private = |path: &Path| {
        let above = steps.iter().filter(|step| path.starts_with(&step.path));
        let nearest = above.max_by_key(|step| step.path.as_os_str().len());
        nearest.is_some_and(|step| matches!(step.part, Part::Private { .. }))
    };
    let is_of_session = |step: &&Step| match step.part {
        Part::Kept { writable, .. } => {
            writable || !toolchains.iter().any(|toolchain| step.path.starts_with(toolchain))
        }
        Part::Link { .. } => true,
        _ => false,
    };
    let is_step = |path: &Path| steps.iter().any(|step| step.path == path);
    let above = steps.iter().filter(is_of_session).flat_map(|step| step.path.ancestors().skip(1));
    let between: BTreeSet<&Path> =
        above.filter(|above| is_private(above) && !is_step(above)).collect();
    let home = home.filter(|home| is_private(home));
    // One right in HOME is what a person installs.
    let made_by_tools = toolchains.iter().filter(|path| path.parent() != home);
    let folder = |path: &Path| PrivateFolder {
        path: path.to_path_buf(),
        known: known(path, steps.iter().map(|step| &step.path).chain(made_by_tools.clone())),
        is_home: home == Some(path),
    };
    home.into_iter().chain(between).take(LISTED_MAX).map(folder).collect()
}

/// Returns the names in `folder` that lead to one of `paths`.
fn known<'a>(folder: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> BTreeSet<OsString> {
    let first = |path: &'a PathBuf| path.strip_prefix(folder).ok()?.iter().next();
    paths.filter_map(first).map(OsStr::to_owned).collect()
}

/// Folders in which new names are told, open.
#[derive(Default)]
pub(super) struct PrivateFolders(Mutex<Vec<Opened>>);

struct Opened {
    folder: PrivateFolder,
    handle: OwnedFd,
    /// When it was last read.
    seen: Option<Stamp>,
}

/// What of a folder is different when names in it are: when it changed last, and its size, which in
/// memory follows each name, however short the time between two changes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp(i64, u64, i64);

impl PrivateFolders {
    /// Takes folders and what they are open on, as far as they are.
    pub(super) fn new(
        folders: &[PrivateFolder],
        handles: impl IntoIterator<Item = Option<OwnedFd>>,
    ) -> Self {
        let opened = folders.iter().zip(handles).filter_map(|(folder, handle)| {
            Some(Opened { folder: folder.clone(), handle: handle?, seen: None })
        });
        Self(Mutex::new(opened.collect()))
    }

    /// Opens a home that was just made for the session.
    pub(super) fn of_home(path: &Path) -> Self {
        let home =
            PrivateFolder { path: path.to_path_buf(), known: BTreeSet::new(), is_home: true };
        let folders = Self::new(&[home], [open(path)]);
        for opened in &mut *folders.lock() {
            opened.folder.known = names(&opened.handle).into_iter().collect();
        }
        folders
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Opened>> {
        // What is there is right after each step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a folder to list it.
pub(super) fn open(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

/// Names that were told in a session.
#[derive(Default)]
pub(super) struct Told(BTreeSet<PathBuf>);

impl Told {
    /// Returns what is in the folders that was never told, in order.
    pub(super) fn look(&mut self, folders: &PrivateFolders) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = folders.lock().iter_mut().flat_map(Opened::found).collect();
        found.sort();
        found.retain(|path| self.0.len() < NAMES_TOLD_MAX && self.0.insert(path.clone()));
        found
    }
}

impl Opened {
    /// Returns what is in it that a person may take for their own, if something changed.
    fn found(&mut self) -> Vec<PathBuf> {
        let stamp = fstat(&self.handle);
        let stamp = stamp.map(|found| Stamp(found.st_ctime, found.st_ctime_nsec, found.st_size));
        // Before it is read: what changes meanwhile is seen the next time.
        if stamp.is_err() || stamp.ok() == std::mem::replace(&mut self.seen, stamp.ok()) {
            return Vec::new();
        }
        let PrivateFolder { path, known, is_home } = &self.folder;
        let is_setting = |name: &OsStr| *is_home && name.as_bytes().starts_with(b".");
        let names = names(&self.handle).into_iter();
        let names = names.filter(|name| !known.contains(name) && !is_setting(name));
        names.map(|name| path.join(name)).collect()
    }
}

/// Reads the names in a folder through the descriptor that is there: to open it anew, a command can
/// have forbidden.
fn names(folder: &OwnedFd) -> Vec<OsString> {
    if rustix::fs::seek(folder, SeekFrom::Start(0)).is_err() {
        return Vec::new();
    }
    let (mut names, mut read) = (Vec::new(), Vec::with_capacity(NAMES_BYTES));
    let mut entries = RawDir::new(folder, read.spare_capacity_mut());
    while let Some(Ok(entry)) = entries.next() {
        match entry.file_name().to_bytes() {
            b"." | b".." => {}
            _ if names.len() == NAMES_READ_MAX => break,
            name => names.push(OsStr::from_bytes(name).to_owned()),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(parts: &[(&str, Part)]) -> Vec<Step> {
        let step = |(path, part): &(&str, Part)| Step { path: path.into(), part: part.clone() };
        parts.iter().map(step).collect()
    }

    fn kept(writable: bool) -> Part {
        Part::Kept { source: "/x".into(), writable }
    }

    #[track_caller]
    fn check(home: &str, parts: &[(&str, Part)], expected: &[(&str, &[&str])]) {
        let folders = private_folders(&steps(parts), Some(Path::new(home)));
        let found: Vec<_> = folders
            .iter()
            .map(|folder| {
                let known = folder.known.iter().filter_map(|name| name.to_str());
                let known = known.filter(|name| !folder.is_home || !name.starts_with('.'));
                (folder.path.to_str().unwrap(), known.collect::<Vec<_>>())
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(path, known)| (*path, known.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn new_names_are_told_in_home_and_above_the_folders_of_the_session() {
        let private = || Part::Private { mode: 0o700 };
        check(
            "/home/u",
            &[
                ("/home", Part::Cover),
                ("/home/u", private()),
                ("/home/u/.cargo", kept(false)),
                ("/home/u/.local/bin", kept(false)),
                ("/home/u/.gitconfig", Part::File { bytes: Vec::new() }),
                ("/home/u/go/src/x/y", kept(true)),
                ("/home/u/work", kept(true)),
                ("/home/u/work/inner/deep", kept(true)),
                ("/home/u/papers/read", kept(false)),
                ("/tmp", private()),
                ("/tmp/a/b", kept(true)),
                ("/tmp/l/b", Part::Link { target: "/srv/b".into() }),
            ],
            &[
                ("/home/u", &["go", "papers", "work"]),
                ("/home/u/go", &["bin", "pkg", "src"]),
                ("/home/u/go/src", &["x"]),
                ("/home/u/go/src/x", &["y"]),
                ("/home/u/papers", &["read"]),
                ("/tmp/a", &["b"]),
                ("/tmp/l", &["b"]),
            ],
        );
        // A home that is the workspace is no private one.
        check("/home/u", &[("/home", Part::Cover), ("/home/u", kept(true))], &[]);
        check("/srv/u", &[("/tmp", private()), ("/tmp/a", kept(true))], &[]);
    }
}
