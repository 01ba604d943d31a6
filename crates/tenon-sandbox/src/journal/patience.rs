//! Waiting for another process that undoes or makes room, which a person may end.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rustix::io::Errno;

use super::{Journal, JournalError};

/// So often it is looked whether the other process is done, or the waiting is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Whether somebody still waits. Cheap to clone; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Patience(Arc<AtomicBool>);

impl Patience {
    /// Ends the waiting that goes on, and what would wait after it. What has begun goes on.
    pub fn end(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Begins anew.
    pub fn renew(&self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Journal {
    /// Returns this journal, whose undo, redo and making room wait for other processes only as long as
    /// `patience` lasts; then they are [`JournalError::GivenUp`].
    ///
    /// ```
    /// use tenon_sandbox::{Journal, JournalError, JournalOptions, Patience, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let patience = Patience::default();
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?.waiting(&patience);
    /// // Nobody is waited for.
    /// patience.end();
    /// journal.take_back_cut_short()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn waiting(self, patience: &Patience) -> Self {
        Self { patience: Some(patience.clone()), ..self }
    }

    /// Has the store for itself: one process at a time undoes, or takes checkpoints away.
    pub(super) fn lock(&self) -> Result<OwnedFd, JournalError> {
        let failed = |errno| JournalError::io(errno, "the undo store");
        let Some(Patience(is_over)) = &self.patience else {
            return self.store.lock().map_err(failed);
        };
        loop {
            match self.store.try_lock() {
                Err(Errno::WOULDBLOCK) if is_over.load(Ordering::SeqCst) => {
                    return Err(JournalError::GivenUp);
                }
                Err(Errno::WOULDBLOCK) => sleep(LOOK_EVERY),
                locked => return locked.map_err(failed),
            }
        }
    }
}
