//! The names in one folder, for whoever looks again and again whether some are new.

use std::time::SystemTime;

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::read::modified;
use super::{FileError, Workspace};
use crate::linux::openat::open_beneath;

/// Names of one folder, where all of them are wanted: what is looked up before a call runs.
const ALL_NAMES_MAX: usize = 1_000;

impl Workspace {
    /// Returns when the folder at `path` changed last: when a name in it came, went or was changed.
    ///
    /// # Errors
    /// [`FileError`] when it is not there or no folder.
    pub fn folder_modified(&self, path: &str) -> Result<SystemTime, FileError> {
        let found = self.resolve(path)?;
        match &found.node {
            None => Err(FileError::NotFound { path: path.to_owned() }),
            Some(node) if node.file_type() != FileType::Directory => {
                Err(FileError::NotADirectory { path: path.to_owned() })
            }
            Some(node) => Ok(modified(&node.stat)),
        }
    }

    /// Returns all names in the folder at `path` that are UTF-8; `None` where they are more than 1,000, or the folder
    /// cannot be read.
    #[must_use]
    pub fn all_names(&self, path: &str) -> Option<Vec<String>> {
        let is_name = |name: &str| !matches!(name, "." | "..");
        // Two entries are none, and one more says that there are too many.
        let names = self.names(path, ALL_NAMES_MAX + 3, is_name).ok()?;
        (names.len() <= ALL_NAMES_MAX).then_some(names)
    }

    /// Returns the names in the folder at `path` that are `wanted`, out of its first `entries_max`
    /// entries. A name that is not UTF-8 is left out.
    ///
    /// # Errors
    /// [`FileError`] when the folder cannot be read.
    pub fn names(
        &self,
        path: &str,
        entries_max: usize,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, FileError> {
        let fail = |errno| FileError::from_errno(path, errno);
        let found = self.resolve(path)?;
        let Some(node) = &found.node else {
            return Err(FileError::NotFound { path: path.to_owned() });
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = open_beneath(&node.handle, ".", flags, Mode::empty()).map_err(fail)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder).map_err(fail)?.take(entries_max) {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_str().ok().filter(|name| wanted(name));
            names.extend(name.map(str::to_owned));
        }
        Ok(names)
    }
}
