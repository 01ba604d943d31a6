//! Which checkpoints of this process run, and which ran beside one: a background job goes on while later calls
//! have checkpoints of their own.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::CheckpointId;

/// The checkpoints that run, and for each those that ran when it began.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<BTreeMap<CheckpointId, Vec<CheckpointId>>>);

impl Running {
    pub(super) fn begin(&self, id: CheckpointId) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let others = running.keys().copied().collect();
        running.insert(id, others);
    }

    pub(super) fn end(&self, id: CheckpointId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Returns the earlier ones that ran when this one began, while it runs.
    pub(super) fn when_began(&self, id: CheckpointId) -> Option<Vec<CheckpointId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }
}
