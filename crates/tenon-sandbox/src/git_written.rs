//! What ordinary commands of git write in a repository's own directory and other programs, or git itself, go by: whether it
//! is as git writes it.

use std::ffi::OsStr;
use std::io::Read;

use crate::git_index::{GitIndexFormat, is_sound};
use crate::git_steps::GitStep;

/// What a file is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GitWritten {
    Index(GitIndexFormat),
    /// What a merge leaves: git itself writes nothing there that a command could not, so only an empty one is known to do
    /// nothing.
    Merge,
    Step(GitStep),
}

/// The longest index, of some ten million files: three seconds.
const INDEX_BYTES_MAX: u64 = 1 << 30;

/// The longest step: a patch with all that it changes.
const STEP_BYTES_MAX: u64 = 64 << 20;

/// What a merge leaves for a later commit to go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitMerge {
    /// The stash that it applies.
    Autostash,
    /// The files whose conflicts it records as solved, or solves.
    Conflicts,
}

impl GitMerge {
    /// Returns what a file of this very name is in a repository's own directory.
    pub(crate) fn beside(name: &OsStr) -> Option<Self> {
        match name.to_str()? {
            "MERGE_AUTOSTASH" => Some(Self::Autostash),
            "MERGE_RR" => Some(Self::Conflicts),
            _ => None,
        }
    }
}

impl GitWritten {
    /// Whether one of this length is looked through; else it is none that git wrote.
    pub(crate) fn may_have(self, length: u64) -> bool {
        length
            <= match self {
                Self::Index(_) => INDEX_BYTES_MAX,
                Self::Merge => 0,
                Self::Step(_) => STEP_BYTES_MAX,
            }
    }

    /// Whether a file of this length is as git writes it.
    pub(crate) fn is_sound(self, file: &mut dyn Read, length: u64) -> bool {
        let whole = |file: &mut dyn Read| {
            let mut bytes = Vec::new();
            file.take(length).read_to_end(&mut bytes).ok()?;
            (bytes.len() as u64 == length).then_some(bytes)
        };
        self.may_have(length)
            && match self {
                Self::Index(format) => is_sound(file, length, format),
                Self::Merge => whole(file).is_some(),
                Self::Step(step) => whole(file).is_some_and(|bytes| step.is_sound(&bytes)),
            }
    }
}
