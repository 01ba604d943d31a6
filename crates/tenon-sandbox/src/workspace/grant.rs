//! What a call may open besides the roots, because somebody said yes to it by name.
//!
//! A file outside is opened from a handle on the folder that it was found in, by one name, without
//! following a link, and must be the file that was found. A folder outside is a further root for
//! reading. A protected name inside is one place, compared where a write has resolved to.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::outside::{Access, Identity, Outside};
use super::read::{OpenFile, check_regular};
use super::resolve::{Node, Resolved};
use super::{EntryKind, Expected, FileError, Root, Workspace};
use crate::linux::openat::{look_at, open_beneath};

/// Stands where the index of a root would: the file is in none.
pub(super) const GRANTED_FILE: usize = usize::MAX;

/// A file outside of every root.
#[derive(Debug)]
pub(super) struct GrantedFile {
    outside: Outside,
    access: Access,
    state: Mutex<State>,
}

/// What a write changes: the folder, once missing ones are made, and which file is there.
#[derive(Debug)]
struct State {
    folder: Arc<OwnedFd>,
    made: bool,
    identity: Option<Identity>,
}

/// A protected place that may be written all the same: somebody said yes to it by its name.
#[derive(Debug)]
pub(super) struct Lifted {
    place: PathBuf,
    /// What was there when the question was made.
    expected: Expected,
    written: Mutex<Option<LiftedWrite>>,
}

/// What a write with leave put at a protected place: what [`crate::Sandbox::accept`] goes by, whatever
/// is there by then.
#[derive(Debug, Clone)]
pub struct LiftedWrite {
    pub(crate) place: PathBuf,
    pub(crate) bytes: Arc<[u8]>,
    /// The permissions that the file got.
    pub(crate) mode: u32,
}

impl Workspace {
    /// Returns a workspace in which the path that `outside` was found by can be opened too: this
    /// very file, or a folder with what is in it, for reading.
    ///
    /// # Errors
    /// [`FileError::Changed`] if something else is there than was found;
    /// [`FileError::Escapes`] if the place is closed.
    pub fn with_grant(self, outside: &Outside, access: Access) -> Result<Self, FileError> {
        let place = &outside.place;
        let path = || place.written.clone();
        if outside.closed().is_some() {
            return Err(FileError::Escapes { path: path() });
        }
        outside.check_unchanged()?;
        let mut shared = Arc::unwrap_or_clone(self.shared);
        match (&place.node, outside.kind(), access) {
            (Some((handle, _)), Some(EntryKind::Directory), Access::Read) => {
                shared.roots.push(Arc::new(Root {
                    path: place.absolute.clone(),
                    alias: None,
                    links: Vec::new(),
                    folder: OnceLock::from(Arc::clone(handle)),
                    opened: None,
                    read_only: true,
                    granted: Some(place.written.clone()),
                }));
            }
            (_, Some(EntryKind::Directory), Access::Write) => {
                return Err(FileError::IsDirectory { path: path() });
            }
            (node, ..) => {
                let state = State {
                    folder: Arc::clone(&place.folder),
                    made: false,
                    identity: node.as_ref().map(|(_, identity)| *identity),
                };
                let (outside, state) = (outside.clone(), Mutex::new(state));
                shared.files.push(Arc::new(GrantedFile { outside, access, state }));
            }
        }
        Ok(Self { shared: Arc::new(shared), recording: self.recording })
    }

    /// Returns a workspace in which the protected place `absolute`, as [`super::Location`] has it,
    /// can be written, as long as `expected` is there: what somebody said yes to was made from that.
    #[must_use]
    pub fn with_lifted(self, absolute: &Path, expected: Expected) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        let (place, written) = (absolute.to_path_buf(), Mutex::default());
        shared.lifted.push(Arc::new(Lifted { place, expected, written }));
        Self { shared: Arc::new(shared), recording: self.recording }
    }

    /// Returns what was written last at a place of [`Workspace::with_lifted`]; none where nothing was.
    ///
    /// ```
    /// use tenon_sandbox::{Expected, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let workspace = Workspace::open(folder.path())?;
    /// let place = workspace.locate(".envrc")?.absolute;
    /// let workspace = workspace.with_lifted(&place, Expected::Absent);
    /// assert!(workspace.lifted_write().is_none());
    /// workspace.write(".envrc", b"export A=1\n", Expected::Absent)?;
    /// assert!(workspace.lifted_write().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lifted_write(&self) -> Option<LiftedWrite> {
        self.shared.lifted.iter().rev().find_map(|lifted| lifted.lock().clone())
    }

    pub(super) fn granted_file(&self, path: &OsStr) -> Option<&Arc<GrantedFile>> {
        self.shared.files.iter().find(|file| {
            let place = &file.outside.place;
            OsStr::new(&place.written) == path || place.absolute.as_os_str() == path
        })
    }

    /// Splits a path that begins as a granted folder was named into that root and the rest.
    pub(super) fn granted_folder<'a>(&self, path: &'a OsStr) -> Option<(usize, &'a [u8])> {
        self.shared.roots.iter().enumerate().find_map(|(index, root)| {
            let written = root.granted.as_ref()?.trim_end_matches('/').as_bytes();
            let rest = path.as_bytes().strip_prefix(written)?;
            (rest.is_empty() || rest.starts_with(b"/")).then_some((index, rest))
        })
    }

    pub(super) fn is_read_only(&self, found: &Resolved, path: &str) -> bool {
        match found.root {
            GRANTED_FILE => {
                let granted = self.granted_file(OsStr::new(path));
                granted.is_none_or(|file| file.access == Access::Read)
            }
            root => self.root_of(root).is_none_or(|root| root.read_only),
        }
    }

    /// Whether somebody said yes to writing this very place.
    pub(super) fn is_lifted(&self, found: &Resolved) -> bool {
        found.root == GRANTED_FILE || self.lifted(found).is_some()
    }

    /// Returns this very place, if it is a protected one that somebody said yes to.
    pub(super) fn lifted(&self, found: &Resolved) -> Option<&Lifted> {
        let absolute = self.absolute(found.root, &found.beneath);
        let mut lifted = self.shared.lifted.iter().map(|lifted| &**lifted);
        lifted.find(|lifted| lifted.place == absolute)
    }
}

impl Lifted {
    fn lock(&self) -> MutexGuard<'_, Option<LiftedWrite>> {
        // Nothing that can panic runs under the lock.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what must be there for a write that wants `expected` there.
    pub(super) fn expected(&self, expected: Expected, shown: &str) -> Result<Expected, FileError> {
        match (self.expected, expected) {
            (Expected::Any, expected) | (expected, Expected::Any) => Ok(expected),
            (shown_then, expected) if shown_then == expected => Ok(expected),
            _ => Err(FileError::Changed { path: shown.to_owned() }),
        }
    }

    /// Notes what was written there.
    pub(super) fn written(&self, bytes: &[u8], mode: u32) {
        let place = self.place.clone();
        *self.lock() = Some(LiftedWrite { place, bytes: bytes.into(), mode });
    }
}

impl GrantedFile {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the file that was found for reading.
    pub(super) fn open(&self, shown: &str) -> Result<OpenFile, FileError> {
        let found = self.resolved(shown)?;
        if found.node.is_none() {
            return Err(FileError::from_errno(shown, Errno::NOENT));
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        let handle = open_beneath(&found.folder, &*found.name, flags, Mode::empty())
            .map_err(|errno| FileError::from_errno(shown, errno))?;
        let path = self.outside.absolute().to_string_lossy().into_owned();
        let file = check_regular(handle, path, shown)?;
        match self.lock().identity == Some(Identity::of(file.stat())) {
            true => Ok(file),
            false => Err(FileError::Changed { path: shown.to_owned() }),
        }
    }

    /// Returns the place, if what is there now is what was found.
    pub(super) fn resolved(&self, shown: &str) -> Result<Resolved, FileError> {
        let place = &self.outside.place;
        let state = self.lock();
        let missing = if state.made { Vec::new() } else { place.missing.clone() };
        let node = match look_at(&state.folder, missing.first().unwrap_or(&place.name).as_os_str())
        {
            Ok(handle) => {
                let stat = rustix::fs::fstat(&handle)
                    .map_err(|errno| FileError::from_errno(shown, errno))?;
                Some(Node { handle: Arc::new(handle), stat })
            }
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(FileError::from_errno(shown, errno)),
        };
        if node.as_ref().map(|node| Identity::of(&node.stat)) != state.identity {
            return Err(FileError::Changed { path: shown.to_owned() });
        }
        Ok(Resolved {
            root: GRANTED_FILE,
            beneath: place.absolute.strip_prefix("/").map_or_else(|_| PathBuf::new(), Into::into),
            folder: Arc::clone(&state.folder),
            missing,
            name: place.name.clone(),
            node,
            dangling: false,
            ways: Vec::new(),
        })
    }

    /// Notes that the file was written in `folder`: a rename has put another one in its place.
    pub(super) fn written(&self, folder: &Arc<OwnedFd>) {
        let mut state = self.lock();
        let now =
            look_at(folder, &*self.outside.place.name).and_then(|file| rustix::fs::fstat(&file));
        state.folder = Arc::clone(folder);
        state.made = true;
        state.identity = now.ok().map(|stat| Identity::of(&stat));
    }
}
