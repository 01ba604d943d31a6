//! The course where the program of then ended while jobs ran: those of here were cut somewhere else.

use std::{path::Path, sync::Arc};

use tenon_sandbox::off_thread;

use super::{Course, State, divergence};
use crate::{
    event::{CallChanges, FileChangeKind},
    replay::recording::CutJob,
};

impl Course {
    /// Has the files be as `jobs` left them that ended with their program, once those of here have ended.
    pub(in crate::replay) async fn cut(self: &Arc<Self>, jobs: Vec<CutJob>) {
        if self.takes_answers() {
            return;
        }
        let course = Arc::clone(self);
        let work = move || {
            for job in &jobs {
                course.cut_job(job, &jobs);
            }
            course.state().jobs.clear();
        };
        // A panic in there shows in what comes then.
        let _ = off_thread(work).await;
    }

    fn cut_job(&self, job: &CutJob, all: &[CutJob]) {
        let mut state = self.state();
        let (recorded, here) = (job.changes.as_ref(), state.jobs.get(&job.call_id).cloned());
        let now = here.as_ref().map(|here| self.evened(&state, here, recorded));
        let (expected, found) = divergence::of_changes(recorded, now.as_ref());
        if expected == found {
            return;
        }
        let is_known = recorded.is_some() || job.is_known;
        if !is_known || self.is_mixed(&state, job, now.as_ref(), all) {
            return state.files.lose(&job.call_id, recorded);
        }
        let everywhere = self.workspace.roots();
        state.files.cut((&job.call_id, recorded), here, self.journal.as_ref(), &everywhere);
    }

    /// Whether what a job changed, here or there, cannot be told from what others did since it began.
    fn is_mixed(
        &self,
        state: &State,
        job: &CutJob,
        now: Option<&CallChanges>,
        all: &[CutJob],
    ) -> bool {
        let requests = self.recording.requests.get(..state.next).unwrap_or_default();
        let began = requests.iter().rposition(|it| it.began_jobs.contains(&job.call_id));
        let since = requests.get(began.unwrap_or_default()..).unwrap_or_default();
        let calls = since.iter().flat_map(|request| request.changes.values());
        let jobs = all.iter().filter_map(|job| job.changes.as_ref()).chain(state.jobs.values());
        let others = calls.chain(jobs).filter(|changes| changes.call_id != job.call_id);
        let others: Vec<String> =
            others.flat_map(paths).map(|path| state.places.there(path)).collect();
        let own: Vec<&CallChanges> = job.changes.iter().chain(now).collect();
        let is_in = |path: &str| {
            let of = |other: &String| Path::new(path).starts_with(other);
            let above = |other: &String| Path::new(other).starts_with(path);
            others.iter().any(|other| of(other) || above(other))
        };
        own.iter().any(|changes| changes.files_more > 0)
            || own.into_iter().flat_map(paths).any(is_in)
    }
}

/// Returns what was changed, and from where it was renamed.
fn paths(changes: &CallChanges) -> impl Iterator<Item = &str> {
    let files = changes.files.iter().filter(|file| file.kind != FileChangeKind::Times);
    files.flat_map(|file| [Some(&*file.path), file.from.as_deref()]).flatten()
}
