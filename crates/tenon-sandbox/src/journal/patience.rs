//! Waiting for another process that undoes or makes room, which a person may end. It ends by itself, too: in tier C a
//! command can hold a store that lies in the workspace, for as long as it runs.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::lock_wait::{WAIT_MAX, lock_within};
use super::{Journal, JournalError};

/// For what can as well be done the next time.
pub(super) const WAIT_TO_MAKE_ROOM: Duration = Duration::from_secs(3);

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
    /// `patience` lasts; then they are [`JournalError::GivenUp`]. None waits longer than 15 s: then it is
    /// [`JournalError::Held`].
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
        self.lock_within(WAIT_MAX)
    }

    /// The same, and waits only so long for it.
    pub(super) fn lock_within(&self, wait_max: Duration) -> Result<OwnedFd, JournalError> {
        let is_over =
            || self.patience.as_ref().is_some_and(|Patience(over)| over.load(Ordering::SeqCst));
        let locked = self.store.lock_file().and_then(|file| {
            lock_within(&file, FlockOperation::NonBlockingLockExclusive, wait_max, is_over)?;
            Ok(file)
        });
        locked.map_err(|errno| match errno {
            Errno::WOULDBLOCK if is_over() => JournalError::GivenUp,
            Errno::WOULDBLOCK => JournalError::Held { process: self.held_by_another() },
            errno => JournalError::io(errno, "the undo store"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JournalOptions, Workspace};

    #[test]
    fn what_another_process_holds_for_good_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (folder.path().join("work"), folder.path().join("state"));
        std::fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let open = || Journal::open(&workspace, JournalOptions::new(state.clone())).unwrap();
        // The kernel takes two openings of one file for two who want it.
        let held = open().lock().unwrap();
        let short = Duration::from_millis(1);
        assert!(matches!(open().lock_within(short), Err(JournalError::Held { process: None })));
        let patience = Patience::default();
        patience.end();
        assert!(matches!(open().waiting(&patience).lock(), Err(JournalError::GivenUp)));
        drop(held);
        open().lock_within(short).unwrap();
    }
}
