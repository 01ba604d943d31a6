//! Which checkpoints of this process run, and which ran beside one: a background job goes on while later calls
//! have checkpoints of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{CheckpointId, CheckpointState, Journal, JournalError};

/// The time at which a log was made is by a clock that goes by steps of up to 10 ms.
const CLOCK_STEP_NANOSECONDS: u64 = 10_000_000;

/// What runs, and whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Turns>);

#[derive(Debug, Default)]
struct Turns {
    /// The checkpoints that run, and for each those that ran when it began.
    running: BTreeMap<CheckpointId, Vec<CheckpointId>>,
    /// Those beside which another ran.
    beside: BTreeSet<CheckpointId>,
    /// Who recorded last.
    last: Option<CheckpointId>,
    /// When the last turn began, in nanoseconds since 1970.
    at: u64,
}

impl Running {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, id: CheckpointId) {
        let mut turns = self.turns();
        let others: Vec<CheckpointId> = turns.running.keys().copied().collect();
        turns.beside.extend(others.iter().copied().chain([id]).filter(|_| !others.is_empty()));
        if others.is_empty() && turns.at.saturating_add(CLOCK_STEP_NANOSECONDS) < now() {
            // It is its turn from the beginning of its log on.
            turns.last = Some(id);
        }
        turns.running.insert(id, others);
    }

    pub(super) fn end(&self, id: CheckpointId) {
        let mut turns = self.turns();
        turns.running.remove(&id);
        turns.beside.remove(&id);
    }

    /// Whether another ran while this one does.
    pub(super) fn is_beside(&self, id: CheckpointId) -> bool {
        self.turns().beside.contains(&id)
    }

    /// Takes in that another process made a checkpoint: whatever runs does so beside it, and records in turns.
    pub(super) fn note_others(&self) {
        let mut turns = self.turns();
        let running: Vec<CheckpointId> = turns.running.keys().copied().collect();
        turns.beside.extend(running);
        turns.last = None;
    }

    /// Returns a moment, for what is looked at now and recorded later.
    pub(super) fn now(&self) -> u64 {
        let mut turns = self.turns();
        turns.at = now().max(turns.at.saturating_add(1));
        turns.at
    }

    /// Whoever records next begins a turn.
    pub(super) fn end_turn(&self) {
        self.turns().last = None;
    }

    /// Takes in that a checkpoint is about to record something; returns when its turn began, if another had
    /// recorded before. No two turns begin at the same time. What was looked at earlier is of that time.
    pub(super) fn turn(&self, id: CheckpointId, looked_at: Option<u64>) -> Option<u64> {
        let mut turns = self.turns();
        if turns.last.replace(id) == Some(id) {
            return None;
        }
        if looked_at.is_some() {
            return looked_at;
        }
        turns.at = now().max(turns.at.saturating_add(1));
        Some(turns.at)
    }

    /// Returns the earlier ones that ran when this one began, while it runs.
    pub(super) fn when_began(&self, id: CheckpointId) -> Option<Vec<CheckpointId>> {
        self.turns().running.get(&id).cloned()
    }
}

impl Journal {
    /// Looks whether the store is where commands write, and one runs. A folder that undo moves to the store takes who stands in
    /// it along, and from there the way up leads through all that is above the store, beneath what covers it.
    ///
    /// # Errors
    /// [`JournalError::Running`] with the first that runs, here or in another process.
    pub(super) fn check_nothing_runs_around_store(&self) -> Result<(), JournalError> {
        let stores = self.store.folders();
        let is_around = |root: &Path| stores.iter().any(|store| store.starts_with(root));
        if !self.store.roots.iter().any(|root| is_around(&root.path)) {
            return Ok(());
        }
        let mut infos = self.checkpoints()?.into_iter();
        let running = infos.find(|info| info.state == CheckpointState::Running);
        running.map_or(Ok(()), |info| Err(JournalError::Running { id: info.id }))
    }
}

/// Returns nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
