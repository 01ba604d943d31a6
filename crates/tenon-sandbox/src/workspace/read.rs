//! Reading: one opening by the kernel, then a look at what was opened.
//!
//! What is no regular file is refused after the opening, on the descriptor, so that nothing can be
//! exchanged in between; the opening itself never waits (a pipe without a writer) and never takes
//! a terminal.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{FileError, WalkEntry, Workspace, check_text, kind_in_words};
use crate::linux::openat::open_beneath;

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: String,
    stat: Stat,
}

impl OpenFile {
    /// Returns the path for showing: relative in the first root, absolute elsewhere.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the length in bytes at the time of opening.
    #[must_use]
    pub fn len(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// Returns whether the file had no bytes at the time of opening.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what is open, whatever its name.
    pub(super) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Returns when the content changed last.
    #[must_use]
    pub fn modified(&self) -> SystemTime {
        modified(&self.stat)
    }

    /// Returns when content, permissions, names or times changed last, which nobody can set.
    #[must_use]
    pub fn changed(&self) -> SystemTime {
        changed(&self.stat)
    }
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

impl Workspace {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// [`FileError`]; a directory, pipe, socket or device is refused at once.
    pub fn open_file(&self, path: &str) -> Result<OpenFile, FileError> {
        self.open_os(OsStr::new(path), path)
    }

    /// Opens what a walk came across, also where its name is not UTF-8.
    ///
    /// # Errors
    /// [`FileError`], as [`Workspace::open_file`].
    pub fn open_entry(&self, entry: &WalkEntry) -> Result<OpenFile, FileError> {
        self.open_os(entry.path.as_os_str(), &entry.path.to_string_lossy())
    }

    /// Reads a whole file of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`FileError`]; [`FileError::TooLarge`] also for a file that grows past the limit.
    pub fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, FileError> {
        let file = self.open_file(path)?;
        let too_large = |bytes| FileError::TooLarge { path: path.to_owned(), bytes, bytes_max };
        let length = file.len();
        if length > bytes_max {
            return Err(too_large(length));
        }
        // One more byte than expected, so that the end is seen without growing the buffer.
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0).saturating_add(1));
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| FileError::Io { path: path.to_owned(), source })?;
        match bytes.len() as u64 {
            read if read > bytes_max => Err(too_large(read)),
            _ => Ok(bytes),
        }
    }

    fn open_os(&self, path: &OsStr, shown: &str) -> Result<OpenFile, FileError> {
        check_text(path)?;
        if let Some(granted) = self.granted_file(path) {
            return granted.open(shown);
        }
        let flags = OFlags::RDONLY;
        // What is closed is known by the place that a path leads to.
        if self.has_closed() {
            return self.open_resolved(path, shown, flags);
        }
        let (root, beneath) = self.split(Path::new(path));
        root.map_or(Ok(()), |root| self.check_in_place(root))?;
        let direct = match root.and_then(|root| self.root_of(root)).map(super::Root::folder) {
            Some(Ok(folder)) => open_beneath(&folder, beneath, flags, Mode::empty()),
            Some(Err(errno)) => Err(errno),
            None => Err(Errno::XDEV),
        };
        match direct {
            Ok(handle) => {
                let place = self.shown(root.unwrap_or(0), beneath);
                check_regular(handle, place.to_string_lossy().into_owned(), shown)
            }
            // An absolute link that points inside, a way through another root, or an escape.
            Err(Errno::XDEV | Errno::LOOP) => self.open_resolved(path, shown, flags),
            // Something is missing on a way that may lead out after it, which matters more.
            Err(Errno::NOENT) if beneath.components().any(|part| part == Component::ParentDir) => {
                self.open_resolved(path, shown, flags)
            }
            Err(errno) => Err(FileError::from_errno(shown, errno)),
        }
    }

    fn open_resolved(
        &self,
        path: &OsStr,
        shown: &str,
        flags: OFlags,
    ) -> Result<OpenFile, FileError> {
        let found = self.resolve_os(path, shown)?;
        self.check_in_place(found.root)?;
        let place = self.shown(found.root, &found.beneath).to_string_lossy().into_owned();
        if found.node.is_none() {
            return Err(FileError::from_errno(shown, Errno::NOENT));
        }
        if found.name.is_empty() {
            return Err(FileError::from_errno(shown, Errno::ISDIR));
        }
        // A link here was put in place after the walk: refused rather than followed.
        let handle =
            open_beneath(&found.folder, &*found.name, flags | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|errno| match errno {
                    Errno::LOOP => FileError::Changed { path: shown.to_owned() },
                    other => FileError::from_errno(shown, other),
                })?;
        check_regular(handle, place, shown)
    }

    /// Splits a path into the root it begins with and the rest; a relative path is in the first.
    fn split<'a>(&self, path: &'a Path) -> (Option<usize>, &'a Path) {
        if path.is_relative() {
            return (Some(0), path);
        }
        let mut best: Option<(usize, &Path)> = None;
        for (index, root) in self.shared.roots.iter().enumerate() {
            for start in [Some(&root.path), root.alias.as_ref()].into_iter().flatten() {
                let Ok(rest) = path.strip_prefix(start) else { continue };
                if best.is_none_or(|(_, known)| rest.as_os_str().len() < known.as_os_str().len()) {
                    best = Some((index, rest));
                }
            }
        }
        match best {
            Some((root, rest)) if rest.as_os_str().is_empty() => (Some(root), Path::new(".")),
            Some((root, rest)) => (Some(root), rest),
            None => (None, path),
        }
    }
}

pub(super) fn check_regular(
    handle: OwnedFd,
    path: String,
    shown: &str,
) -> Result<OpenFile, FileError> {
    let stat = rustix::fs::fstat(&handle).map_err(|errno| FileError::from_errno(shown, errno))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(OpenFile { file: File::from(handle), path, stat }),
        FileType::Directory => Err(FileError::IsDirectory { path: shown.to_owned() }),
        other => Err(FileError::NotRegular { path: shown.to_owned(), kind: kind_in_words(other) }),
    }
}

pub(super) fn modified(stat: &Stat) -> SystemTime {
    time(stat.st_mtime, stat.st_mtime_nsec)
}

/// Returns when content, permissions, names or times were last changed, which nobody can set.
pub(super) fn changed(stat: &Stat) -> SystemTime {
    time(stat.st_ctime, stat.st_ctime_nsec)
}

fn time(seconds: i64, nanos: u64) -> SystemTime {
    let nanos = Duration::from_nanos(nanos);
    match u64::try_from(seconds) {
        Ok(seconds) => UNIX_EPOCH + Duration::from_secs(seconds) + nanos,
        Err(_) => UNIX_EPOCH - Duration::from_secs(seconds.unsigned_abs()) + nanos,
    }
}
