//! Log first, screen second: the one way by which an event becomes known.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use super::log::{LogError, SessionLog};
use crate::{
    event::{Live, Record, SessionEvent, Update},
    input::FrontEnd,
};

/// Where events go.
pub(crate) struct Recorder {
    log: Option<SessionLog>,
    front: Arc<dyn FrontEnd>,
}

impl Recorder {
    pub(crate) fn new(log: Option<SessionLog>, front: Arc<dyn FrontEnd>) -> Self {
        Self { log, front }
    }

    /// Writes `event` to the log and then shows it.
    pub(crate) fn record(&self, event: impl Into<SessionEvent>) -> Result<(), LogError> {
        let record = Record { time_ms: now_ms(), event: event.into() };
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
