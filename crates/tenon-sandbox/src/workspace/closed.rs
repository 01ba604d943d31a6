//! What lies in a root and is not opened with it: where programs keep secrets, and what is tenon's own.
//!
//! A root may be the user's home, or hold it. Commands do not see these places there either. A person can be
//! asked about a place of secrets by its name ([`Workspace::outside`]); tenon's own is closed to everybody. A
//! root that is such a place, or lies in one, was named by the user, and is open.

use std::path::{Path, PathBuf};

use super::resolve::Resolved;
use super::{FileError, Workspace};
use crate::links::resolved;
use crate::mounts::Mounts;

/// Why a place in a root is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// Programs keep keys, credentials or histories there.
    Secrets,
    /// It is tenon's own.
    Own,
}

impl Closed {
    fn why(self) -> &'static str {
        match self {
            Self::Secrets => "is where programs keep secrets",
            Self::Own => "is tenon's own",
        }
    }
}

impl Workspace {
    /// Closes the places in which programs keep secrets, as far as they lie inside a root and are none, also by another
    /// path at which they are mounted ([`Mounts::elsewhere`]): nothing in them is opened, listed or written unless
    /// somebody said yes to it by its name.
    ///
    /// ```
    /// use tenon_sandbox::{FileError, Mounts, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let home = folder.path().canonicalize()?;
    /// std::fs::create_dir(home.join(".ssh"))?;
    /// let mounts = Mounts::of_this_process();
    /// let workspace = Workspace::open(&home)?.with_secrets(&[home.join(".ssh")], &mounts);
    /// assert!(matches!(workspace.locate(".ssh/id"), Err(FileError::Closed { .. })));
    /// assert!(workspace.outside(".ssh/id")?.is_some_and(|place| place.is_within()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_secrets(self, paths: &[PathBuf], mounts: &Mounts) -> Self {
        self.with_closed(paths, mounts, Closed::Secrets)
    }

    /// Closes folders of tenon's own as far as they lie inside a root and are none: nobody is asked about
    /// them. The spill folder stays open for reading.
    #[must_use]
    pub fn with_closed_folders(self, paths: &[PathBuf], mounts: &Mounts) -> Self {
        self.with_closed(paths, mounts, Closed::Own)
    }

    fn with_closed(self, paths: &[PathBuf], mounts: &Mounts, why: Closed) -> Self {
        let roots = self.roots();
        let ends = paths.iter().filter_map(|path| Some(resolved(path)?.0));
        let ends = ends.flat_map(|end| mounts.other_names(&end).into_iter().chain([end]));
        let inside = ends.filter(|end| roots.iter().any(|root| end.starts_with(root)));
        let inside: Vec<_> = inside.map(|end| (end, why)).collect();
        let mut shared = std::sync::Arc::unwrap_or_clone(self.shared);
        shared.closed.extend(inside);
        Self { shared: std::sync::Arc::new(shared), recording: self.recording }
    }

    /// Whether `path` leads to what is tenon's own and lies in a root ([`Workspace::with_closed_folders`]).
    ///
    /// ```
    /// use tenon_sandbox::{Mounts, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let root = folder.path().canonicalize()?;
    /// std::fs::create_dir(root.join("own"))?;
    /// let (own, mounts) = ([root.join("own")], Mounts::of_this_process());
    /// let workspace = Workspace::open(&root)?.with_closed_folders(&own, &mounts);
    /// assert!(workspace.is_own("own/file") && !workspace.is_own("file"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_own(&self, path: &str) -> bool {
        let own = Closed::Own.why();
        matches!(self.locate(path), Err(FileError::Closed { why, .. }) if why == own)
    }

    /// Whether anything in a root is closed.
    pub(super) fn has_closed(&self) -> bool {
        !self.shared.closed.is_empty()
    }

    /// Says why a place that a path was found to lead to is closed; `None` for most.
    pub(super) fn closed_within(&self, root: usize, beneath: &Path) -> Option<Closed> {
        if !self.has_closed() {
            return None;
        }
        let place = self.absolute(root, beneath);
        let mut found = self.closed_in(root).filter(|(path, _)| lies_in(&place, path));
        found.next().map(|(_, why)| why)
    }

    /// Refuses what is closed.
    pub(super) fn check_open(&self, found: &Resolved, shown: &str) -> Result<(), FileError> {
        match self.closed_within(found.root, &found.beneath) {
            Some(closed) => Err(FileError::Closed { path: shown.to_owned(), why: closed.why() }),
            None => Ok(()),
        }
    }

    /// Returns what a walk in a root leaves out, as paths beneath it.
    pub(super) fn closed_beneath(&self, root: usize) -> Vec<PathBuf> {
        let Some(top) = self.root_of(root) else { return Vec::new() };
        let is_root = |path: &Path| self.shared.roots.iter().any(|root| root.path == path);
        let paths = self.closed_in(root).filter(|(path, _)| !is_root(path));
        paths.filter_map(|(path, _)| path.strip_prefix(&top.path).ok().map(Into::into)).collect()
    }

    /// Returns what lies in a root and is closed; the root itself is not.
    fn closed_in(&self, root: usize) -> impl Iterator<Item = (&Path, Closed)> {
        let top = self.root_of(root).map(|root| root.path.as_path());
        let closed = self.shared.closed.iter().map(|(path, why)| (path.as_path(), *why));
        closed.filter(move |(path, _)| top.is_some_and(|top| path.starts_with(top) && *path != top))
    }
}

/// Whether a path is a folder or lies in it, without regard to case, because some file systems have none.
pub(super) fn lies_in(path: &Path, folder: &Path) -> bool {
    let mut names = path.iter();
    folder.iter().all(|known| names.next().is_some_and(|name| name.eq_ignore_ascii_case(known)))
}
