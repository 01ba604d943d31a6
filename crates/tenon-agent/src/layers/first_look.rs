//! The look at protected names before a file tool writes one of them, so that what commands wrote there meanwhile is
//! neither part of a question nor of what is written, and before a command runs outside of the walls.

use tenon_sandbox::ProtectedChange;

use super::dispatch::Dispatch;
use crate::{
    event::CallEvent,
    policy::{Action, ApprovedCall},
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
        self.put_back_before(&changes, call_id, recorder).map(Ok)
    }

    /// Looks before a call that runs outside of the walls, so that it finds nothing that commands wrote at protected names
    /// until then, and returns what is told if something was put back.
    ///
    /// # Errors
    /// Only if the log cannot be written.
    pub(super) async fn look_before_outside(
        &self,
        call: &ApprovedCall,
        recorder: &Recorder,
    ) -> Result<Option<String>, LogError> {
        if !call.is_unconfined() {
            return Ok(None);
        }
        // Also of other sessions, which the look then tells.
        let _ = self.sandbox.runs_beside();
        let changes = self.sandbox.look().await;
        self.put_back_before(&changes, call.id(), recorder)
    }

    fn put_back_before(
        &self,
        changes: &[ProtectedChange],
        call_id: &str,
        recorder: &Recorder,
    ) -> Result<Option<String>, LogError> {
        for change in changes.iter().filter(|change| change.put_back) {
            let (call_id, path) = (call_id.to_owned(), change.path.to_string_lossy().into_owned());
            recorder.record(CallEvent::WriteRefused { call_id, path, flag: None })?;
        }
        let lines = || self.masking.mask(put_back_first(changes, &self.workspace));
        Ok((!changes.is_empty()).then(lines))
    }
}
