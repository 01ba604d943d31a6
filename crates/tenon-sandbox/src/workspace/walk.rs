//! Walks a folder by descriptors: sorted by name, links never followed, ignored files left out.
//!
//! One descriptor is open for each level, so a folder that is moved or exchanged during a walk
//! cannot lead it out of the workspace. Names that are not UTF-8 survive.

use std::ffi::{CString, OsStr};
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::closed::lies_in;
use super::read::{changed, modified};
use super::rules::{Rules, is_ignored};
use super::{FileError, Workspace};
use crate::linux::openat::open_beneath;

/// Deeper folders are not walked into: one descriptor is held for each level, and a process often
/// has 1,024 of them.
const DEPTH_MAX: usize = 256;

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, not followed.
    Link,
    /// A pipe, socket or device.
    Other,
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// How to walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkOptions {
    /// Also what ignore files leave out. `.git` is left out in any case.
    pub include_ignored: bool,
    /// The walk ends after so many entries, and [`Walk::is_cut`] says so.
    pub entries_max: usize,
}

impl Default for WalkOptions {
    fn default() -> Self {
        // Ten times the largest tree that answers must be quick for; a bound against mounts of
        // whole machines.
        Self { include_ignored: false, entries_max: 1_000_000 }
    }
}

/// One entry of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkEntry {
    /// Relative to the first root, or absolute in another root. May not be UTF-8.
    pub path: PathBuf,
    /// What it is.
    pub kind: EntryKind,
    /// Length in bytes.
    pub len: u64,
    /// When the content changed last, as far as nobody set another time.
    pub modified: SystemTime,
    /// When anything of it changed last: content, permissions, names or times. Nobody can set it.
    pub changed: SystemTime,
    /// Its number on its file system: the same for all names of one file.
    pub inode: u64,
}

/// The entries of a folder and of all folders in it, each folder before what is in it.
#[derive(Debug)]
pub struct Walk {
    options: WalkOptions,
    /// Rules of the folders above the start, outermost first, each with the length in bytes of the
    /// path from the start's root to that folder.
    above: Vec<(Rules, usize)>,
    levels: Vec<Level>,
    /// The path beneath the root of the level that is walked now, in bytes, with a slash behind.
    beneath: Vec<u8>,
    /// What stands before `beneath` in a shown path.
    prefix: PathBuf,
    first: Option<Result<WalkEntry, FileError>>,
    wanted: Option<Wanted>,
    is_over: Option<IsOver>,
    /// What is not opened with its root, as paths beneath that.
    closed: Vec<PathBuf>,
    /// What of that the walk came across, as it is shown.
    left_out: Vec<PathBuf>,
    entries: usize,
    is_cut: bool,
}

type Filter = dyn Fn(&Path) -> bool + Send;

struct Wanted(Box<Filter>);

impl fmt::Debug for Wanted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Wanted")
    }
}

/// Whether nobody waits for a walk any more.
struct IsOver(Box<dyn Fn() -> bool + Send>);

impl fmt::Debug for IsOver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("IsOver")
    }
}

#[derive(Debug)]
struct Level {
    folder: OwnedFd,
    rules: Rules,
    /// Length of `beneath` up to this folder.
    length: usize,
    /// Sorted backwards, so that the next is the last.
    names: Vec<(CString, FileType)>,
}

impl Workspace {
    /// Walks the folder at `path`; a file is a walk of one entry.
    ///
    /// # Errors
    /// [`FileError`] when the start cannot be opened. A folder further in that cannot be opened
    /// is an item of the walk, which goes on.
    pub fn walk(&self, path: &str, options: WalkOptions) -> Result<Walk, FileError> {
        let found = self.resolve(path)?;
        self.check_in_place(found.root)?;
        let Some(node) = &found.node else {
            return Err(FileError::NotFound { path: path.to_owned() });
        };
        let prefix =
            if found.root == 0 { PathBuf::new() } else { self.absolute(found.root, Path::new("")) };
        let mut walk = Walk {
            options,
            above: Vec::new(),
            levels: Vec::new(),
            beneath: Vec::new(),
            prefix,
            first: None,
            wanted: None,
            is_over: None,
            closed: self.closed_beneath(found.root),
            left_out: Vec::new(),
            entries: 0,
            is_cut: false,
        };
        if node.file_type() != FileType::Directory {
            walk.first = Some(Ok(WalkEntry {
                path: self.shown(found.root, &found.beneath),
                kind: EntryKind::from(node.file_type()),
                len: u64::try_from(node.stat.st_size).unwrap_or(0),
                modified: modified(&node.stat),
                changed: changed(&node.stat),
                inode: node.stat.st_ino,
            }));
            return Ok(walk);
        }
        let fail = |errno| FileError::from_errno(path, errno);
        if !options.include_ignored
            && let Some(Ok(top)) = self.root_of(found.root).map(super::Root::folder)
        {
            walk.read_rules_above(&top, &found.beneath);
        }
        if !found.beneath.as_os_str().is_empty() {
            walk.beneath.extend_from_slice(found.beneath.as_os_str().as_bytes());
            walk.beneath.push(b'/');
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = open_beneath(&node.handle, ".", flags, Mode::empty()).map_err(fail)?;
        walk.go_down(folder).map_err(fail)?;
        Ok(walk)
    }
}

impl Walk {
    /// Returns whether the walk ended at its bound, with entries left.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns what the walk came across so far and left out because it is closed: places of secrets, and
    /// tenon's own.
    #[must_use]
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    /// Leaves out every entry whose shown path `wanted` refuses; folders are walked into all the
    /// same. Cheaper than leaving them out afterwards: most of a walk's time is looking at each
    /// entry's length and times. An only entry, a file, is not asked about.
    #[must_use]
    pub fn only(self, wanted: impl Fn(&Path) -> bool + Send + 'static) -> Self {
        Self { wanted: Some(Wanted(Box::new(wanted))), ..self }
    }

    /// Ends the walk, as at its bound, before the first entry for which `is_over` is true, one that is left out included:
    /// ignore files can have so much in them that each entry takes long.
    ///
    /// ```
    /// use tenon_sandbox::{WalkOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// std::fs::write(folder.path().join("a"), "")?;
    /// let workspace = Workspace::open(folder.path())?;
    /// let mut walk = workspace.walk(".", WalkOptions::default())?.until(|| true);
    /// assert!(walk.next().is_none() && walk.is_cut());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn until(self, is_over: impl Fn() -> bool + Send + 'static) -> Self {
        Self { is_over: Some(IsOver(Box::new(is_over))), ..self }
    }

    fn read_rules_above(&mut self, top: &OwnedFd, start: &Path) {
        let mut above: Vec<&Path> = start.ancestors().skip(1).collect();
        above.reverse();
        for place in above {
            let length = place.as_os_str().len();
            let shown = if length == 0 { Path::new(".") } else { place };
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            if let Ok(folder) = open_beneath(top, shown, flags, Mode::empty()) {
                let length = if length == 0 { 0 } else { length + 1 };
                self.above.push((Rules::above(&folder), length));
            }
        }
    }

    fn go_down(&mut self, folder: OwnedFd) -> Result<(), Errno> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push((name.to_owned(), entry.file_type()));
            }
        }
        let rules = if self.options.include_ignored {
            Rules::default()
        } else {
            Rules::of(&folder, names.iter().map(|(name, _)| name.to_bytes()))
        };
        names.retain(|(name, _)| name.to_bytes() != b".git");
        names.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
        self.levels.push(Level { folder, rules, length: self.beneath.len(), names });
        Ok(())
    }

    fn is_ignored(&self, is_folder: bool) -> bool {
        let bytes = &*self.beneath;
        let inner = self.levels.iter().rev().map(|level| (&level.rules, level.length));
        let outer = self.above.iter().rev().map(|(rules, length)| (rules, *length));
        let levels = inner.chain(outer).map(|(rules, length)| {
            (rules, Path::new(OsStr::from_bytes(bytes.get(length..).unwrap_or_default())))
        });
        is_ignored(levels, is_folder)
    }

    /// Looks at the next entry; `None` when it is left out.
    fn look(&mut self, name: &CString, kind: FileType) -> Option<Result<WalkEntry, FileError>> {
        let level = self.levels.last()?;
        self.beneath.truncate(level.length);
        self.beneath.extend_from_slice(name.to_bytes());
        let stat = || rustix::fs::statat(&level.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        // Some file systems do not say the kind with the name.
        let kind = match kind {
            FileType::Unknown => FileType::from_raw_mode(stat()?.st_mode),
            known => known,
        };
        let is_folder = kind == FileType::Directory;
        if !self.options.include_ignored && self.is_ignored(is_folder) {
            return None;
        }
        let path = self.prefix.join(OsStr::from_bytes(&self.beneath));
        let beneath = Path::new(OsStr::from_bytes(&self.beneath));
        if kind != FileType::Symlink && self.closed.iter().any(|closed| lies_in(beneath, closed)) {
            self.left_out.push(path);
            return None;
        }
        let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.0(&path));
        // Gone meanwhile: as if it had never been there.
        let stat = if is_wanted { stat() } else { None };
        if is_folder
            && self.levels.len() < DEPTH_MAX
            && let Err(errno) = self.go_into(name)
        {
            return Some(Err(FileError::from_errno(&path.to_string_lossy(), errno)));
        }
        let stat = stat?;
        Some(Ok(WalkEntry {
            path,
            kind: EntryKind::from(kind),
            len: u64::try_from(stat.st_size).unwrap_or(0),
            modified: modified(&stat),
            changed: changed(&stat),
            inode: stat.st_ino,
        }))
    }

    fn go_into(&mut self, name: &CString) -> Result<(), Errno> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let folder = match open_beneath(&level.folder, name, flags, Mode::empty()) {
            // Gone, or something else meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            other => other?,
        };
        self.beneath.push(b'/');
        self.go_down(folder)
    }
}

impl Iterator for Walk {
    type Item = Result<WalkEntry, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        while let Some(level) = self.levels.last_mut() {
            let Some((name, kind)) = level.names.pop() else {
                self.levels.pop();
                continue;
            };
            let is_over = self.is_over.as_ref().is_some_and(|is_over| is_over.0());
            if self.entries == self.options.entries_max || is_over {
                self.is_cut = true;
                self.levels.clear();
                return None;
            }
            if let Some(entry) = self.look(&name, kind) {
                self.entries += 1;
                return Some(entry);
            }
        }
        None
    }
}
