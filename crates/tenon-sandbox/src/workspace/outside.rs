//! A path outside of the workspace, looked at before a person is asked about it.
//!
//! Every link is resolved first, by descriptors from `/` on, so that what is shown is what would be
//! opened. Nothing is opened for reading here, and nothing is decided: what is closed to everybody
//! says so, the rest is for policy. [`Workspace::with_grant`] makes use of it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{PROC_SUPER_MAGIC, Stat};

use super::closed::Closed;
use super::resolve::{KERNEL_FOLDERS, Resolved};
use super::{EntryKind, FileError, Workspace};

/// What may be done with a file outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read, or a folder is searched.
    Read,
    /// It is created or changed, and read for that.
    Write,
}

/// Where a path that leaves the workspace leads to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Outside {
    pub(super) place: Arc<Place>,
}

#[derive(Debug)]
pub(super) struct Place {
    /// As the model wrote it.
    pub(super) written: String,
    /// With every link resolved.
    pub(super) absolute: PathBuf,
    /// The deepest folder on the way that exists, the target itself not counted.
    pub(super) folder: Arc<OwnedFd>,
    folder_identity: Identity,
    /// Folders that are not there yet, between `folder` and the target.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
    /// What is there, opened for looking at it only.
    pub(super) node: Option<(Arc<OwnedFd>, Identity)>,
    kind: Option<EntryKind>,
    protected: bool,
    closed: Option<&'static str>,
    within: bool,
}

/// What stays the same of a file whatever its name: device and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Identity {
    pub(super) fn of(stat: &Stat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }
}

impl Workspace {
    /// Returns where `path` leads if that is outside of every root, or in one and closed; nothing being
    /// there is not an error. `None` if it is inside.
    ///
    /// # Errors
    /// [`FileError`] when it cannot be followed to its end.
    pub fn outside(&self, path: &str) -> Result<Option<Outside>, FileError> {
        match self.resolve(path) {
            Ok(_) => return Ok(None),
            Err(FileError::Escapes { .. } | FileError::Closed { .. }) => {}
            Err(error) => return Err(error),
        }
        let everything = Self::open(Path::new("/"))?;
        let found = everything.resolve_os(self.root().join(path).as_os_str(), path)?;
        let absolute = Path::new("/").join(&found.beneath);
        let around = self.root_around(&absolute);
        let within = around.and_then(|(root, beneath)| self.closed_within(root, beneath));
        // By a link of the kernel's: the workspace's own rules hold there, under its own name.
        if within.is_none() && around.is_some() {
            let (path, place) = (path.to_owned(), absolute.to_string_lossy().into_owned());
            return Err(FileError::LeadsBack { path, place });
        }
        // A link to nothing would create a file somewhere else.
        if found.dangling {
            return Err(FileError::DanglingLink { path: path.to_owned() });
        }
        let kind = found.kind();
        let closed = match within {
            Some(Closed::Own) => Some("tenon's own sessions and records lie there"),
            Some(Closed::Secrets) => unnamed(&absolute, kind),
            None => self.closed(&absolute, kind),
        };
        let closed = closed.or_else(|| kernel_file(&found));
        let protected = everything.is_protected(&found) || self.is_protected_at(&absolute);
        let mut place = Place::new(path, absolute, found, protected, closed)?;
        place.within = within.is_some();
        Ok(Some(Outside { place: Arc::new(place) }))
    }

    /// Returns the innermost root that holds a place, and its path beneath that.
    fn root_around<'a>(&self, absolute: &'a Path) -> Option<(usize, &'a Path)> {
        let roots = self.shared.roots.iter().enumerate();
        let around = roots
            .filter_map(|(index, root)| Some((index, absolute.strip_prefix(&root.path).ok()?)));
        around.min_by_key(|(_, beneath)| beneath.as_os_str().len())
    }

    /// Says why nobody is asked about a place.
    fn closed(&self, absolute: &Path, kind: Option<EntryKind>) -> Option<&'static str> {
        let is_folder = kind == Some(EntryKind::Directory);
        let meets = |folder: &Path| {
            absolute.starts_with(folder) || is_folder && folder.starts_with(absolute)
        };
        if KERNEL_FOLDERS.iter().any(|folder| meets(Path::new(folder))) {
            return Some("it is the kernel's");
        }
        if self.shared.own_folders.iter().any(|own| meets(own)) {
            return Some("tenon's own settings and sessions lie there");
        }
        if is_folder && self.shared.roots.iter().any(|root| root.path.starts_with(absolute)) {
            return Some("the workspace lies in it; name a folder beside the workspace");
        }
        unnamed(absolute, kind)
    }
}

/// Says why nobody can be asked about what is there, whatever place it is.
fn unnamed(absolute: &Path, kind: Option<EntryKind>) -> Option<&'static str> {
    if kind == Some(EntryKind::Other) {
        return Some("it is no regular file");
    }
    // Nobody could see what the name is.
    absolute.to_str().is_none().then_some("its name is not UTF-8")
}

impl Outside {
    /// Returns the path as it was asked for.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.place.written
    }

    /// Returns the absolute path with every link resolved.
    #[must_use]
    pub fn absolute(&self) -> &Path {
        &self.place.absolute
    }

    /// Returns what is there; `None` when nothing is.
    #[must_use]
    pub fn kind(&self) -> Option<EntryKind> {
        self.place.kind
    }

    /// Returns whether other programs take commands from it.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.place.protected
    }

    /// Returns whether it lies in a root, and is not opened with it: a place of secrets, or tenon's own.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.place.within
    }

    /// Returns why it is closed whatever anybody says, as the end of a sentence; `None` for most.
    #[must_use]
    pub fn closed(&self) -> Option<&'static str> {
        self.place.closed
    }

    /// Follows the resolved path once more and compares what is there with what was found.
    pub(super) fn check_unchanged(&self) -> Result<(), FileError> {
        let place = &self.place;
        let changed = || FileError::Changed { path: place.written.clone() };
        let found = Workspace::open(Path::new("/"))?
            .resolve_os(place.absolute.as_os_str(), &place.written)
            .map_err(|_| changed())?;
        let same_place = Path::new("/").join(&found.beneath) == place.absolute
            && found.missing == place.missing
            && identity_of(&found.folder, &place.written)? == place.folder_identity;
        let now = found.node.as_ref().map(|node| Identity::of(&node.stat));
        let before = place.node.as_ref().map(|(_, identity)| *identity);
        if same_place && now == before { Ok(()) } else { Err(changed()) }
    }
}

impl Place {
    fn new(
        written: &str,
        absolute: PathBuf,
        found: Resolved,
        protected: bool,
        closed: Option<&'static str>,
    ) -> Result<Self, FileError> {
        let kind = found.kind();
        Ok(Self {
            written: written.to_owned(),
            absolute,
            folder_identity: identity_of(&found.folder, written)?,
            folder: found.folder,
            missing: found.missing,
            name: found.name,
            node: found.node.map(|node| (Arc::clone(&node.handle), Identity::of(&node.stat))),
            kind,
            protected,
            closed,
            within: false,
        })
    }
}

/// The kernel's processes may be shown in other places, too.
fn kernel_file(found: &Resolved) -> Option<&'static str> {
    let handle = found.node.as_ref().map_or(&found.folder, |node| &node.handle);
    let is_its = rustix::fs::fstatfs(handle).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC);
    is_its.then_some("it is the kernel's")
}

fn identity_of(handle: &OwnedFd, shown: &str) -> Result<Identity, FileError> {
    let stat = rustix::fs::fstat(handle).map_err(|errno| FileError::from_errno(shown, errno))?;
    Ok(Identity::of(&stat))
}
