//! In which steps the calls of a session ran, and what there was before each, as its log has it.

use std::collections::HashMap;

use tenon_agent::{CallEvent, ModelEvent, Record, SessionEvent, SessionNote};
use tenon_sandbox::CheckpointId;

/// In which steps calls ran.
#[derive(Debug, Default)]
pub(super) struct Steps {
    of_checkpoints: HashMap<u64, u32>,
    of_calls: HashMap<String, u32>,
    /// The newest checkpoint that the log had before each step, from the first on, and after the last.
    before_steps: Vec<u64>,
    before_calls: HashMap<String, u64>,
}

impl Steps {
    pub(super) fn read(records: &[Record]) -> Self {
        let mut steps = Self::default();
        let (mut step, mut newest) = (0, 0);
        // What was undone since the last step is not of it.
        let mut after_step = 0;
        for record in records {
            match &record.event {
                SessionEvent::Model(ModelEvent::AssistantMessage { .. }) => {
                    step += 1;
                    steps.before_steps.push(newest);
                    after_step = newest;
                }
                SessionEvent::Call(CallEvent::CallStarted { call, .. }) => {
                    steps.of_calls.insert(call.id.clone(), step);
                    steps.before_calls.insert(call.id.clone(), newest);
                }
                SessionEvent::Call(CallEvent::CallChanged(changes)) => {
                    let ran = steps.of_calls.get(&changes.call_id).copied().unwrap_or(step);
                    if let Some(checkpoint) = changes.checkpoint {
                        steps.of_checkpoints.entry(checkpoint).or_insert(ran);
                        newest = newest.max(checkpoint);
                        after_step = newest;
                    }
                }
                SessionEvent::Session(SessionNote::FilesUndone { by, .. }) => {
                    newest = newest.max(*by);
                }
                _ => {}
            }
        }
        steps.before_steps.push(after_step);
        steps
    }

    pub(super) fn of(&self, id: CheckpointId, call_id: &str) -> Option<u32> {
        let known = self.of_checkpoints.get(&id.number());
        known.or_else(|| self.of_calls.get(call_id)).copied()
    }

    /// Returns the first checkpoint that can be of a step or a call, or later; `None` if there is no such
    /// step or call. That of after the last step is what was undone since.
    pub(super) fn first_since(&self, from: &str) -> Option<CheckpointId> {
        let newest = match from.parse::<usize>() {
            Ok(step) => self.before_steps.get(step.saturating_sub(1)),
            Err(_) => self.before_calls.get(from),
        };
        newest.map(|newest| CheckpointId::new(newest + 1))
    }
}
