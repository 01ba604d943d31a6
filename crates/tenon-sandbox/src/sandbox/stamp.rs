//! Whether a folder that was looked at is as it was then.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Which folder was at a path, and with the same names in it if that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    identity: (u64, u64),
    changed: Option<(i64, i64)>,
}

/// Whether names in a folder matter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Any,
    Same,
}

impl Stamp {
    /// Returns that of a folder whose names matter.
    pub(super) fn of_names(path: &Path) -> Option<Self> {
        Self::of(path, Names::Same)
    }

    pub(super) fn of(path: &Path, names: Names) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?;
        let changed = (names == Names::Same).then(|| (found.ctime(), found.ctime_nsec()));
        Some(Self { identity: (found.dev(), found.ino()), changed })
    }

    /// Whether what is at `path` now has this stamp.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let names = if self.changed.is_some() { Names::Same } else { Names::Any };
        Self::of(path, names) == Some(*self)
    }
}
