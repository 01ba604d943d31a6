//! In which steps the calls of a session ran, what they changed, and what there was before each, as its log
//! has it.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use tenon_agent::{CallChanges, CallEvent, ModelEvent, Record, SessionEvent, SessionNote};
use tenon_sandbox::CheckpointId;

use super::gone::Gone;
use crate::{error::CliError, texts::Text};

/// In which steps calls ran.
#[derive(Debug, Default)]
pub(super) struct Steps {
    of_checkpoints: HashMap<u64, u32>,
    of_calls: HashMap<String, u32>,
    /// In which step calls began, and as which of all; `None` where several have one id.
    begun: HashMap<String, Option<(u32, usize)>>,
    /// The newest checkpoint that the log had before each step, from the first on, and after the last.
    before_steps: Vec<u64>,
    before_calls: HashMap<String, u64>,
    /// The calls that changed something, by checkpoint: of the session itself.
    told: BTreeMap<u64, Gone>,
}

/// What is known of the place in a log that is read.
#[derive(Debug, Default)]
struct Reading {
    step: u32,
    newest: u64,
    /// What was undone since the last step is not of it.
    after_step: u64,
    /// Whether the session works in the folder whose checkpoints are meant: in others they are counted anew.
    is_here: bool,
    /// What is older is of the session that a fork left.
    own_from_ms: u64,
    /// When calls began, and their labels.
    labels: HashMap<String, (u64, String)>,
}

impl Steps {
    /// Reads what a log says of the folder `root`.
    pub(super) fn read(records: &[Record], root: &Path) -> Self {
        // What is lost at the beginning said where that was.
        let reading = Reading { is_here: true, ..Reading::default() };
        let (mut steps, mut reading) = (Self::default(), reading);
        for record in records {
            steps.take_in(record, root, &mut reading);
        }
        steps.before_steps.push(reading.after_step);
        steps
    }

    fn take_in(&mut self, record: &Record, root: &Path, reading: &mut Reading) {
        match &record.event {
            SessionEvent::Model(ModelEvent::AssistantMessage { .. }) => {
                reading.step += 1;
                self.before_steps.push(reading.newest);
                reading.after_step = reading.newest;
            }
            SessionEvent::Call(CallEvent::CallStarted { call, subject }) => {
                let label = format!("{} {subject}", call.name).trim_end().to_owned();
                reading.labels.insert(call.id.clone(), (record.time_ms, label));
                self.of_calls.insert(call.id.clone(), reading.step);
                let begun = (reading.step, self.begun.len());
                let known = self.begun.entry(call.id.clone());
                known.and_modify(|begun| *begun = None).or_insert(Some(begun));
                self.before_calls.insert(call.id.clone(), reading.newest);
            }
            SessionEvent::Call(CallEvent::CallChanged(changes)) if reading.is_here => {
                let ran = self.of_calls.get(&changes.call_id).copied().unwrap_or(reading.step);
                if let Some(checkpoint) = changes.checkpoint {
                    self.of_checkpoints.entry(checkpoint).or_insert(ran);
                    reading.newest = reading.newest.max(checkpoint);
                    reading.after_step = reading.newest;
                    if record.time_ms >= reading.own_from_ms {
                        let told = reading.told(checkpoint, ran, changes);
                        self.told.entry(checkpoint).or_insert(told);
                    }
                }
            }
            SessionEvent::Session(SessionNote::FilesUndone { by, .. }) if reading.is_here => {
                reading.newest = reading.newest.max(*by);
            }
            SessionEvent::Session(SessionNote::SessionStarted {
                workspace, forked_from, ..
            }) => {
                reading.is_here = workspace.first().is_some_and(|first| first == root);
                reading.own_from_ms = forked_from.as_ref().map_or(0, |_| record.time_ms);
            }
            SessionEvent::Session(SessionNote::SessionResumed { workspace, .. }) => {
                reading.is_here = workspace.first().is_some_and(|first| first == root);
            }
            _ => {}
        }
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

    /// Whether a call began in the step `from`, with the call of that id, or later; not where nobody knows.
    pub(super) fn has_begun_since(&self, call_id: &str, from: &str) -> bool {
        let begun = |id: &str| self.begun.get(id).copied().flatten();
        begun(call_id).is_some_and(|(step, place)| match from.parse::<u32>() {
            Ok(from) => step >= from,
            Err(_) => begun(from).is_some_and(|(_, from)| place >= from),
        })
    }

    /// Refuses the number of a step that the session does not have.
    pub(super) fn refuse_unknown(&self, to: &str) -> Result<(), CliError> {
        let (Ok(step), after) = (to.parse::<usize>(), self.before_steps.len()) else {
            return Ok(());
        };
        // Where the log is gone nobody knows.
        if after == 0 || (1..=after).contains(&step) {
            return Ok(());
        }
        let steps = after - 1;
        Err(CliError::usage(Text::NoSuchStep.with(&[("from", &to)]))
            .with_hint(Text::HintSteps.with(&[("n", &steps), ("after", &after)])))
    }

    /// Returns the first step after all of these calls, the number after the last one included.
    pub(super) fn first_after(&self, calls: &[Gone]) -> Option<usize> {
        let newest = calls.iter().map(|call| call.checkpoint).max()?;
        self.before_steps.iter().position(|before| *before >= newest).map(|place| place + 1)
    }

    /// Returns the calls that changed something, the oldest first.
    pub(super) fn into_told(self) -> Vec<Gone> {
        self.told.into_values().collect()
    }

    /// Returns the calls that changed something in the step `from` or later, or from the call of that id
    /// on, the oldest first.
    pub(super) fn told_since(&self, from: &str) -> Vec<Gone> {
        let first = self.first_since(from).map(CheckpointId::number);
        let is_since = |call: &&Gone| match from.parse::<u32>() {
            Ok(step) => call.step >= step,
            Err(_) => first.is_some_and(|first| call.checkpoint >= first),
        };
        self.told.values().filter(is_since).cloned().collect()
    }
}

impl Reading {
    fn told(&self, checkpoint: u64, step: u32, changes: &CallChanges) -> Gone {
        let (started_ms, label) = self.labels.get(&changes.call_id).cloned().unwrap_or_default();
        Gone { step, started_ms, label, checkpoint, changes: changes.clone() }
    }
}
