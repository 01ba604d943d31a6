//! Log first, screen second: the one way by which an event becomes known.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use super::log::{LogError, SessionLog};
use crate::{
    event::{Live, Record, SessionEvent, Update},
    input::{FrontEnd, Prompt},
    masking::{MaskedFront, Masking},
};

/// Where events go.
pub(crate) struct Recorder {
    log: Option<SessionLog>,
    front: Arc<dyn FrontEnd>,
    masking: Masking,
}

impl Recorder {
    /// Neither the log nor `front` gets what `masking` knows.
    pub(crate) fn new(log: Option<SessionLog>, front: Arc<dyn FrontEnd>, masking: Masking) -> Self {
        let front = Arc::new(MaskedFront::new(front, masking.clone()));
        Self { log, front, masking }
    }

    /// Returns `prompt` as it is sent, logged and shown.
    pub(crate) fn masked(&self, prompt: Prompt) -> Prompt {
        self.masking.prompt(prompt)
    }

    /// Returns `text` as it is logged and shown.
    pub(crate) fn masked_text(&self, text: String) -> String {
        self.masking.mask(text)
    }

    /// Writes `event` to the log and then shows it.
    pub(crate) fn record(&self, event: impl Into<SessionEvent>) -> Result<(), LogError> {
        let record = self.masking.record(Record { time_ms: now_ms(), event: event.into() });
        if let Some(log) = &self.log {
            log.append(&record)?;
        }
        self.front.update(Update::Stored(Arc::new(record)));
        Ok(())
    }

    /// Shows `live`, which is not kept.
    pub(crate) fn show(&self, live: Live) {
        self.front.update(Update::Live(live));
    }

    /// Returns the id of the session; empty if it is not kept.
    pub(crate) fn session_id(&self) -> &str {
        self.log.as_ref().map_or("", SessionLog::id)
    }

    pub(crate) fn front(&self) -> &dyn FrontEnd {
        &*self.front
    }

    pub(crate) fn front_shared(&self) -> Arc<dyn FrontEnd> {
        Arc::clone(&self.front)
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}
