//! Which jobs of a recording ended with their program, and what they had changed by then. Pure.

use std::mem;

use super::{Input, Reader};
use crate::event::{CallChanges, CallEvent};

/// A job of whose end nothing was told while its program ran.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::replay) struct CutJob {
    pub call_id: String,
    /// What was found when the session went on.
    pub changes: Option<CallChanges>,
    /// Nothing is found of one that changed nothing: changes were saved then.
    pub is_known: bool,
}

/// The jobs of a program that may still run.
#[derive(Debug, Default)]
pub(super) struct JobsOfProgram {
    jobs: Vec<String>,
    /// The program saved what calls changed.
    saved: bool,
}

impl JobsOfProgram {
    /// Takes in that their program ended, and returns those that were open.
    pub(super) fn end(&mut self) -> Vec<CutJob> {
        let Self { jobs, saved: is_known } = mem::take(self);
        jobs.into_iter().map(|call_id| CutJob { call_id, changes: None, is_known }).collect()
    }
}

impl Reader {
    /// Takes in where a job began, and what one changed: while its program ran once it had ended, else when the
    /// session went on.
    pub(super) fn job(&mut self, event: &CallEvent) {
        match event {
            CallEvent::ToolResult { call_id, job: Some(_), .. } => {
                self.jobs.jobs.push(call_id.clone());
            }
            CallEvent::CallChanged(changes) => {
                let is_cut = |job: &&mut CutJob| job.call_id == changes.call_id;
                let mut inputs = self.recording.inputs.iter_mut().rev();
                let last = inputs.find_map(|input| match input {
                    Input::Resume(jobs) => Some(jobs),
                    _ => None,
                });
                if let Some(job) = last.and_then(|jobs| jobs.iter_mut().find(is_cut)) {
                    job.changes = Some(changes.clone());
                } else {
                    self.jobs.jobs.retain(|call_id| *call_id != changes.call_id);
                    self.jobs.saved |= changes.checkpoint.is_some();
                }
            }
            _ => {}
        }
    }
}
