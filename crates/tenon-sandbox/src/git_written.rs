//! What ordinary commands of git write in a repository's own directory and other programs, or git itself, go by: whether it
//! is as git writes it.

use std::io::Read;

use crate::git_index::{GitIndexFormat, conflicts_are_sound, is_sound};
use crate::git_steps::GitStep;

/// What a file is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GitWritten {
    /// A list of conflicts (`MERGE_RR`).
    Conflicts,
    Index(GitIndexFormat),
    Step(GitStep),
}

/// The longest list of conflicts: a line for each file that git could not merge.
const CONFLICTS_BYTES_MAX: u64 = 1 << 20;

/// The longest index, of some ten million files: three seconds.
const INDEX_BYTES_MAX: u64 = 1 << 30;

/// The longest step: a patch with all that it changes.
const STEP_BYTES_MAX: u64 = 64 << 20;

impl GitWritten {
    /// Whether one of this length is looked through; else it is none that git wrote.
    pub(crate) fn may_have(self, length: u64) -> bool {
        length
            <= match self {
                Self::Conflicts => CONFLICTS_BYTES_MAX,
                Self::Index(_) => INDEX_BYTES_MAX,
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
                Self::Conflicts => whole(file).is_some_and(|list| conflicts_are_sound(&list)),
                Self::Index(format) => is_sound(file, length, format),
                Self::Step(step) => whole(file).is_some_and(|bytes| step.is_sound(&bytes)),
            }
    }
}
