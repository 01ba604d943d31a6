//! Commands that the guard knows of.

use std::sync::Arc;

use super::Shared;

/// A command that the guard may know of. If its caller goes away, the guard must hear of it.
pub(super) struct Watched(Option<Arc<Shared>>);

impl Watched {
    /// The guard was told that the command begins.
    pub(super) fn begun(shared: &Arc<Shared>) -> Self {
        Self(Some(Arc::clone(shared)))
    }

    /// The guard need not know of it.
    pub(super) fn needless() -> Self {
        Self(None)
    }

    /// Returns whether the guard has to look.
    pub(super) fn ends_with_a_look(mut self) -> bool {
        self.0.take().is_some()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.lock().guard.abandon();
        }
    }
}
