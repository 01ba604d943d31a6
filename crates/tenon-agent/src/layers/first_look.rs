//! The look at protected names before a file tool writes one of them, so that what commands wrote there meanwhile is
//! neither part of a question nor of what is written.

use super::dispatch::Dispatch;
use crate::{
    event::CallEvent,
    policy::Action,
    session::{LogError, Recorder},
    tools::put_back_first,
};

impl Dispatch {
    /// Looks before a call with `action`, and returns what is told if something was put back, or why the
    /// call cannot be.
    ///
    /// # Errors
    /// Only if the log cannot be written.
    pub(super) async fn look_first(
        &self,
        action: &Action,
        call_id: &str,
        recorder: &Recorder,
    ) -> Result<Result<Option<String>, String>, LogError> {
        let Action::Write { path, protected: true, .. } = action else { return Ok(Ok(None)) };
        // The write itself says what is wrong with the path.
        let Ok(place) = self.workspace.locate(path) else { return Ok(Ok(None)) };
        let changes = match self.sandbox.look_first(&place.absolute).await {
            Ok(changes) => changes,
            Err(error) => {
                return Ok(Err(format!("{path} is protected, and not written now: {error}")));
            }
        };
        for change in changes.iter().filter(|change| change.put_back) {
            let (call_id, path) = (call_id.to_owned(), change.path.to_string_lossy().into_owned());
            recorder.record(CallEvent::WriteRefused { call_id, path, flag: None })?;
        }
        let lines = || self.masking.mask(put_back_first(&changes, &self.workspace));
        Ok(Ok((!changes.is_empty()).then(lines)))
    }
}
