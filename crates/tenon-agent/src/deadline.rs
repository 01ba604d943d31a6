//! The time of a turn: cancels what runs when it is over, and knows that it was the time.

use std::time::Duration;

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::event::EndReason;

/// A turn's time. Dropping it ends the wait.
pub(crate) struct Deadline {
    /// Set when the time is over or the person cancels.
    pub cancel: CancellationToken,
    person: CancellationToken,
    timer: Option<AbortHandle>,
}

impl Deadline {
    /// Begins a turn that has `time`, or no limit, and that `person` can cancel.
    pub(crate) fn within(time: Option<Duration>, person: &CancellationToken) -> Self {
        let cancel = person.child_token();
        let timer = time.map(|time| {
            let cancel = cancel.clone();
            let timer = async move {
                tokio::time::sleep(time).await;
                cancel.cancel();
            };
            tokio::spawn(timer).abort_handle()
        });
        Self { cancel, person: person.clone(), timer }
    }

    /// Returns why the turn ended, given what it looked like from within.
    pub(crate) fn explain(&self, reason: EndReason) -> EndReason {
        match reason {
            EndReason::Cancelled if !self.person.is_cancelled() => EndReason::TimeLimit,
            reason => reason,
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}
