//! Whether the folders of a session are still what is at their paths.
//!
//! Somebody may move or remove one meanwhile, or put another in its place. File tools would go on in the
//! folder that was opened, commands in the one that is there now, and undo in one of them: so none of
//! them does anything until it is back. What decides it is here alone.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::outside::Identity;
use super::{Root, Workspace};

/// A folder of the session that is not at its path. Nothing was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootMoved {
    /// Another folder is there.
    #[error(
        "{} is another folder now than when this session began, and nothing was done: put the first \
         one back, or start tenon anew to work in this one",
        .0.display()
    )]
    Replaced(PathBuf),
    /// Nothing is there.
    #[error(
        "{} is gone since this session began, and nothing was done: put it back, or start tenon anew",
        .0.display()
    )]
    Gone(PathBuf),
}

/// The writable roots of a workspace, as they were opened. By default there are none. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct OpenRoots(Vec<Arc<OpenRoot>>);

/// A root as it was opened.
#[derive(Debug)]
pub(super) struct OpenRoot {
    path: PathBuf,
    handle: Arc<OwnedFd>,
    identity: Identity,
}

impl Workspace {
    /// Returns the writable roots as they were opened, for [`crate::Command::roots`].
    ///
    /// ```
    /// use tenon_sandbox::{RootMoved, Workspace};
    ///
    /// # let top = tempfile::tempdir()?;
    /// let (root, away) = (top.path().join("root"), top.path().join("away"));
    /// std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// std::fs::rename(&root, &away)?;
    /// let path = workspace.root().to_path_buf();
    /// assert_eq!(workspace.open_roots().check(), Err(RootMoved::Gone(path.clone())));
    /// std::fs::create_dir(&root)?;
    /// assert_eq!(workspace.open_roots().check(), Err(RootMoved::Replaced(path)));
    /// std::fs::remove_dir(&root)?;
    /// std::fs::rename(&away, &root)?;
    /// assert_eq!(workspace.open_roots().check(), Ok(()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn open_roots(&self) -> OpenRoots {
        OpenRoots(self.shared.roots.iter().filter_map(|root| root.opened.clone()).collect())
    }

    /// Refuses to go on in a root that is not at its path. What was granted, and the spill folder, may be
    /// anywhere.
    pub(super) fn check_in_place(&self, root: usize) -> Result<(), RootMoved> {
        self.root_of(root).map_or(Ok(()), Root::check_in_place)
    }
}

impl Root {
    fn check_in_place(&self) -> Result<(), RootMoved> {
        self.opened.as_ref().map_or(Ok(()), |opened| opened.check())
    }
}

impl OpenRoots {
    /// Looks whether each of them is at its path: one call of the kernel for each.
    ///
    /// # Errors
    /// [`RootMoved`], for the first that is not.
    pub fn check(&self) -> Result<(), RootMoved> {
        self.0.iter().try_for_each(|root| root.check())
    }
}

impl PartialEq for OpenRoots {
    fn eq(&self, other: &Self) -> bool {
        let same =
            |a: &Arc<OpenRoot>, b: &Arc<OpenRoot>| (&a.path, a.identity) == (&b.path, b.identity);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| same(a, b))
    }
}

impl Eq for OpenRoots {}

impl OpenRoot {
    pub(super) fn new(path: PathBuf, handle: Arc<OwnedFd>) -> Result<Self, Errno> {
        let identity = Identity::of(&rustix::fs::fstat(&handle)?);
        Ok(Self { path, handle, identity })
    }

    fn check(&self) -> Result<(), RootMoved> {
        match identity_at(&self.path) {
            Ok(there) if there == self.identity => Ok(()),
            _ => check_in_place(&self.path, &self.handle),
        }
    }
}

/// Looks whether what is at `path` is the folder that is open as `handle`. Where that cannot be seen, it
/// is taken to be: whoever goes there is told why not.
pub(crate) fn check_in_place(path: &Path, handle: impl AsFd) -> Result<(), RootMoved> {
    match (identity_at(path), rustix::fs::fstat(handle)) {
        (Err(Errno::NOENT | Errno::NOTDIR), _) => Err(RootMoved::Gone(path.to_path_buf())),
        // Some file systems number a folder anew while it is open.
        (Ok(there), Ok(open)) if there != Identity::of(&open) => {
            Err(RootMoved::Replaced(path.to_path_buf()))
        }
        _ => Ok(()),
    }
}

fn identity_at(path: &Path) -> Result<Identity, Errno> {
    rustix::fs::stat(path).map(|found| Identity::of(&found))
}
