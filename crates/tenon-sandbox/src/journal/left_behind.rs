//! What guarded commands left behind whose agent ended before it could look after them.

use std::path::PathBuf;
use std::sync::Arc;

use super::history::AFTERMATH_SECONDS;
use super::record::Image;
use super::store::Store;
use super::{CheckpointId, Journal};

/// How many of the newest checkpoints are looked at: an agent that starts looks at what the ones
/// before it left.
pub(super) const LOOKED_AT_MAX: usize = 256;

/// A command that is over, and that nobody looked after.
pub(crate) struct LeftBehind {
    pub(super) id: CheckpointId,
    /// The workspace that the command ran in: its folders may be others than those of a later session.
    pub(crate) journal: Journal,
    pub(super) image: Image,
    /// What changed later, in seconds since 1970, somebody else may have changed.
    pub(crate) until: i64,
}

impl Journal {
    /// Returns what guarded commands left behind, the newest first.
    pub(crate) fn left_behind(&self) -> Vec<LeftBehind> {
        let ids = self.store.ids().unwrap_or_default();
        let newest = ids.into_iter().rev().take(LOOKED_AT_MAX);
        newest.filter_map(|id| self.left_behind_of(id)).collect()
    }

    fn left_behind_of(&self, id: CheckpointId) -> Option<LeftBehind> {
        if self.store.has_ended(id) {
            return None;
        }
        let header = self.store.read_header(id).ok().filter(|header| header.is_guarded)?;
        // Whoever runs it holds it.
        self.store.lock_log(id).ok()??;
        let journal = match header.roots.iter().all(|root| self.roots().contains(root)) {
            true => self.clone(),
            // A log that somebody else wrote could name any folders.
            false if !self.has_own_store() => return None,
            false => {
                let store = Store::open(&header.roots, self.store.options.clone()).ok()?;
                Self::of(Arc::new(store))
            }
        };
        let last = self.store.look_at_log(id).ok()?.modified;
        let image = journal.image(id).ok()?;
        Some(LeftBehind { id, journal, image, until: last.seconds + AFTERMATH_SECONDS })
    }

    /// Runs `work` while nobody else undoes or looks after what was left behind; not where that
    /// cannot be had.
    pub(crate) fn alone<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let _lock = self.lock().ok()?;
        Some(work())
    }

    /// Whether no command can have written what is kept: all of it is in the program's folder for state, and
    /// that is in no root. Where the workspace is on another mount, it lies where commands of a session
    /// further up write.
    pub(crate) fn has_own_store(&self) -> bool {
        let state = &self.store.options.state_folder;
        let is_in_root = self.roots().iter().any(|root| state.starts_with(root));
        !is_in_root && self.store.bases.iter().all(|base| base.top == state.join("undo"))
    }

    /// Returns the workspace's roots.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        self.store.roots.iter().map(|root| root.path.clone()).collect()
    }
}

impl LeftBehind {
    /// Runs `work`, which looks after the command, and takes in that this was done: what `work` changes
    /// is not the command's.
    pub(crate) fn look_after(&self, work: impl FnOnce()) {
        let end = self.journal.end_of_interrupted(self.id);
        work();
        if let Ok(Some(end)) = end {
            // Else it is done once more.
            let _ = self.journal.keep_end(self.id, end);
        }
    }

    /// The session that it was of, and what its call is called.
    pub(crate) fn call(&self) -> (&str, &str) {
        (&self.image.header.session, &self.image.header.name)
    }
}
