//! Log first, screen second: the one way by which an event becomes known.

use std::sync::Arc;

use tenon_model::Message;

use super::{clock::now_ms, log::SessionLog, log_error::LogError, read::Session};
use crate::{
    event::{
        ContextEvent, Continuation, Live, ModelEvent, Record, SessionEvent, TurnEvent, Update,
    },
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
        self.write(event.into()).map(drop)
    }

    /// Does the same for an event that holds a message, and returns that as it stands in the log:
    /// what is sent must be what a session that goes on would send.
    pub(crate) fn say(
        &self,
        event: impl Into<SessionEvent>,
    ) -> Result<Option<Arc<Message>>, LogError> {
        Ok(match &self.write(event.into())?.event {
            SessionEvent::Turn(TurnEvent::UserMessage { message, .. })
            | SessionEvent::Model(ModelEvent::AssistantMessage { message, .. })
            | SessionEvent::Context(ContextEvent::Continued(Continuation { message, .. })) => {
                // A provider would not take one that is empty.
                (!message.content.is_empty()).then(|| Arc::new(message.clone()))
            }
            _ => None,
        })
    }

    fn write(&self, event: SessionEvent) -> Result<Arc<Record>, LogError> {
        let record = Record { time_ms: now_ms(), event };
        let record = Arc::new(match record.event {
            // Ids, folders and hashes, which a session that goes on must find as they are.
            SessionEvent::Session(_) => record,
            _ => self.masking.record(record),
        });
        if let Some(log) = &self.log {
            log.append(&record)?;
        }
        self.front.update(Update::Stored(Arc::clone(&record)));
        Ok(record)
    }

    /// Shows `live`, which is not kept.
    pub(crate) fn show(&self, live: Live) {
        self.front.update(Update::Live(live));
    }

    /// Reads the log as it is now; `None` if the session is not kept.
    pub(crate) fn session(&self) -> Result<Option<Session>, LogError> {
        self.log.as_ref().map(SessionLog::session).transpose()
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
