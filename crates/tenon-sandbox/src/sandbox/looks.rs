//! Looks after protected names that belong to no command's end, and what is written there with leave.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::repositories::repositories;
use super::state::State;
use super::{Sandbox, Shared};
use crate::guard::ProtectedChange;
use crate::off_thread::off_thread;
use crate::workspace::LiftedWrite;

impl Sandbox {
    /// Looks whether commands that run now changed protected names, puts them back and tells.
    /// Every look is also for what ran before it.
    pub async fn look(&self) -> Vec<ProtectedChange> {
        let shared = Arc::clone(&self.shared);
        let task = move || shared.lock().guard.look();
        off_thread(task).await.unwrap_or_default()
    }

    /// Looks before somebody with leave writes the protected file at `path`, absolute and without links, where commands
    /// run, also those of another session: what they wrote at protected names until then is put back and told.
    ///
    /// # Errors
    /// [`io::Error`] if it cannot be known what was there before commands of other sessions, or if what a command wrote is
    /// there all the same.
    pub async fn look_first(&self, path: &Path) -> io::Result<Vec<ProtectedChange>> {
        let (shared, path) = (Arc::clone(&self.shared), path.to_path_buf());
        let task = move || {
            let mut state = shared.lock();
            let roots = shared.watched_roots(&mut state);
            state.guard.look_first(&path, &roots)
        };
        off_thread(task).await.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Whether commands run in folders of this session, above or beneath them, also those of another session. What they
    /// wrote at protected names until now is put back, and told with the next look. Where it cannot be known, they may run.
    /// Waits for other sessions that look at their folders, 5 s at most.
    #[must_use]
    pub fn runs_beside(&self) -> bool {
        let mut state = self.shared.lock();
        let roots = self.shared.watched_roots(&mut state);
        state.guard.runs_beside(&roots)
    }

    /// Takes in what was written with leave at a protected place: looks after commands that run now put that
    /// back, and only that.
    pub fn accept(&self, written: &LiftedWrite) {
        self.shared.lock().guard.accept(written, self.checkpoint.as_ref());
    }
}

impl Shared {
    /// Where the guard looks for protected names.
    pub(super) fn watched_roots(&self, state: &mut State) -> Vec<PathBuf> {
        let repositories = state.repositories.get_or_insert_with(|| repositories(&self.settings));
        [&self.settings.roots, &*repositories].into_iter().flatten().cloned().collect()
    }
}
