//! The jobs of which the log does not say yet what they changed. It does when their end is told, in front of the
//! result or the prompt that tells it, and at the end of the session.

use std::sync::{Mutex, PoisonError};

use tenon_sandbox::{Changes, JobId, JobStatus, Jobs, Journal};

use crate::event::CallChanges;

/// Jobs that were recorded, with the calls that began them.
pub(crate) struct OpenJobs {
    journal: Option<Journal>,
    jobs: Mutex<Vec<(JobId, String)>>,
}

impl OpenJobs {
    pub(crate) fn new(journal: Option<Journal>) -> Self {
        Self { journal, jobs: Mutex::default() }
    }

    /// Takes in that a call began a job.
    pub(super) fn begin(&self, job: JobId, call_id: &str) {
        let mut open = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        open.push((job, call_id.to_owned()));
    }

    /// Returns what those changed that ended and of whose end somebody was told, each once.
    pub(crate) fn take_told(&self, jobs: &Jobs) -> Vec<CallChanges> {
        self.take(|| jobs.told_ends())
    }

    /// Returns what those changed that ended, each once.
    pub(crate) fn take_ended(&self, jobs: &Jobs) -> Vec<CallChanges> {
        self.take(|| jobs.list())
    }

    fn take(&self, jobs: impl FnOnce() -> Vec<JobStatus>) -> Vec<CallChanges> {
        let mut open = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_empty() {
            return Vec::new();
        }
        let (known, mut changed) = (jobs(), Vec::new());
        open.retain(|(id, call_id)| {
            let status = known.iter().find(|status| status.id == *id);
            let Some(end) = status.and_then(|status| status.end.as_ref()) else { return true };
            let changes = end.changes.as_ref().filter(|changes| !Changes::is_empty(changes));
            changed.extend(changes.map(|changes| CallChanges::new(call_id, changes).of_job()));
            false
        });
        if let Some(journal) = &self.journal {
            journal.prune_if_due();
        }
        changed
    }
}
