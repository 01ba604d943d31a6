//! Whether git would run something by what is in a folder that becomes a repository's own again: while it was none, nobody
//! looked at what came there. Worktrees and submodules that it has count as well.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::content::read_place;
use super::record::Place;
use super::store::Store;
use super::walk::{Deeper, walk};
use crate::git_config;
use crate::git_index::GitIndexFormat;
use crate::git_steps::{GitStep, has_steps};
use crate::git_written::{GitMerge, GitWritten};
use crate::workspace::{has_others, is_index_of_git, is_setting_of_git};

/// The longest settings of git that are read, in bytes.
pub(super) const SETTINGS_BYTES_MAX: u64 = 1 << 20;

/// What git writes and is longer is asked about, in bytes: here it is read whole.
const WRITTEN_BYTES_MAX: u64 = 64 << 20;

/// Where git says that a worktree's repository is.
const COMMON_OF_WORKTREE: &[u8] = b"../..\n";

/// Whether git would run something by what is in its folder, or write by names that it does not add.
pub(super) fn runs_programs(store: &Store, folder: &Place) -> bool {
    let mut does_run = false;
    let _ = walk(store, folder, &mut |place, node| {
        let Ok(rest) = place.path.strip_prefix(&folder.path) else { return Deeper::No };
        if does_run {
            return Deeper::No;
        }
        if node.is_folder() {
            return if may_run_what_is_in(rest) { Deeper::Yes } else { Deeper::No };
        }
        let read = |bytes_max| read_place(store, place, bytes_max);
        does_run = GitFile { store, repository: folder, read: &read, settings: None }.runs(rest);
        Deeper::No
    });
    does_run
}

/// Whether a folder in a repository's own directory has what git runs, or other such directories.
fn may_run_what_is_in(rest: &Path) -> bool {
    rest.iter()
        .next()
        .is_some_and(|first| is_setting_of_git(first) || has_steps(first) || has_others(first))
}

/// A file that is in a repository's own directory, or will be.
pub(super) struct GitFile<'a> {
    pub(super) store: &'a Store,
    pub(super) repository: &'a Place,
    /// Returns so much of what is in it; `None` if it is no file, or cannot be read.
    pub(super) read: &'a dyn Fn(u64) -> Option<Vec<u8>>,
    /// The settings that are there now, if they do not count.
    pub(super) settings: Option<&'a [u8]>,
}

impl GitFile<'_> {
    /// Whether git would run something by a file that is at `rest` in a repository's own directory.
    pub(super) fn runs(&self, rest: &Path) -> bool {
        let Some(name) = rest.file_name() else { return false };
        let is_among_others = rest.iter().next().is_some_and(has_others);
        let is_in = |folder: &str| {
            let names = rest.parent().into_iter().flatten();
            names.take(if is_among_others { usize::MAX } else { 1 }).any(|above| above == folder)
        };
        let is_beside = is_among_others || rest.iter().count() == 1;
        if is_in("hooks") {
            return !name.as_bytes().ends_with(b".sample");
        }
        if is_in("info") {
            return name == "attributes";
        }
        if is_beside && name.as_bytes().starts_with(b"config") {
            return !self.is(SETTINGS_BYTES_MAX, &|text| {
                git_config::put_back(self.settings, text, |_, _| false)
                    .is_some_and(|(_, names)| names.is_empty())
            });
        }
        if is_beside && name == "commondir" {
            let above = rest.parent().and_then(Path::parent);
            let is_worktree = above.is_some_and(|above| above.ends_with("worktrees"));
            return !self.is(SETTINGS_BYTES_MAX, &|text| is_worktree && text == COMMON_OF_WORKTREE);
        }
        if is_beside && GitMerge::beside(name).is_some() {
            return !self.is_as_git_writes(GitWritten::Merge);
        }
        let beside = || GitStep::beside(name).filter(|_| is_beside);
        if let Some(step) = GitStep::at_end_of(rest).or_else(beside) {
            return !self.is_as_git_writes(GitWritten::Step(step));
        }
        if is_beside && is_index_of_git(name) {
            return !self.is_as_git_writes(GitWritten::Index(self.format()));
        }
        rest.iter().any(is_setting_of_git)
    }

    /// Whether it can be read, is no longer than this, and is as it may be.
    fn is(&self, bytes_max: u64, may_be: &dyn Fn(&[u8]) -> bool) -> bool {
        let bytes = (self.read)(bytes_max + 1);
        bytes.is_some_and(|bytes| bytes.len() as u64 <= bytes_max && may_be(&bytes))
    }

    fn is_as_git_writes(&self, written: GitWritten) -> bool {
        self.is(WRITTEN_BYTES_MAX, &|bytes| written.is_sound(&mut &*bytes, bytes.len() as u64))
    }

    /// Returns how the repository names objects.
    fn format(&self) -> GitIndexFormat {
        let config = self.repository.join(OsStr::new("config"));
        let text = read_place(self.store, &config, SETTINGS_BYTES_MAX).unwrap_or_default();
        let said = git_config::last(&String::from_utf8_lossy(&text), "extensions", "objectformat");
        GitIndexFormat::named(said.as_deref())
    }
}
