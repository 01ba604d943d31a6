//! Looks after protected names that belong to no command's end, and what is written there with leave.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::Sandbox;
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

    /// Takes in what was written with leave at a protected place: looks after commands that run now put that
    /// back, and only that.
    pub fn accept(&self, written: &LiftedWrite) {
        self.shared.lock().guard.accept(written, self.checkpoint.as_ref());
    }
}
