//! The layer that makes calls undoable: what a call is about to change is saved in a checkpoint of
//! its own, and afterwards the result says what changed.
//!
//! The outermost layer, so that a call that panics or is dropped is ended like any other. A command
//! that goes on in the background keeps its checkpoint; what it changed is told when it has ended.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use tenon_sandbox::{ChangeKind, Changes, Checkpoint, JobId, Jobs, Journal, off_thread};

use super::{
    git_index,
    layer::{Layer, Rest},
    open_jobs::OpenJobs,
    stand_in::StandIn,
};
use crate::{
    event::{CallChanges, View},
    masking::Masking,
    policy::{ApprovedCall, Denials},
    session::shortened,
    tools::{Effect, ToolContext, ToolOutput},
};

/// Characters of a call's main argument that its checkpoint is remembered by.
const SUBJECT_CHARS_MAX: usize = 200;

/// The longest index that is read, twice after a call that wrote it: that of a million files has 100 MB.
const INDEX_BYTES_MAX: u64 = 128 << 20;

/// What commands may not change: by the denials of the session, and in a replay by those that refused
/// something to the same call.
pub(crate) struct Forbidden {
    pub(crate) denials: Denials,
    pub(crate) stand_in: Option<Arc<dyn StandIn>>,
}

impl Forbidden {
    fn of(&self, call: &ApprovedCall) -> Denials {
        let by = self.stand_in.as_ref().map(|it| it.forbidden_by(call.id())).unwrap_or_default();
        self.denials.and(&by)
    }
}

/// Saves what calls change.
pub(super) struct Checkpoints {
    journal: Journal,
    session: String,
    masking: Masking,
    open_jobs: Arc<OpenJobs>,
    forbidden: Forbidden,
}

impl Checkpoints {
    pub(super) fn new(
        journal: Journal,
        session: &str,
        masking: Masking,
        open_jobs: Arc<OpenJobs>,
        forbidden: Forbidden,
    ) -> Self {
        Self { journal, session: session.to_owned(), masking, open_jobs, forbidden }
    }

    /// Returns what the checkpoint of a call is found by: its id, its tool, its main argument.
    fn name(&self, call: &ApprovedCall, rest: Rest<'_>) -> String {
        let subject = rest.subject.split_whitespace().collect::<Vec<_>>().join(" ");
        let subject = shortened(&self.masking.mask(subject), SUBJECT_CHARS_MAX);
        format!("{}\t{}\t{subject}", call.id(), rest.tool.name())
    }

    /// Says in `output` what the call changed.
    async fn end(
        &self,
        checkpoint: Checkpoint,
        call_id: &str,
        runs: bool,
        output: &mut ToolOutput,
    ) {
        let changes = off_thread(move || checkpoint.finish()).await;
        self.journal.prune_if_due();
        let changes = match changes {
            Ok(Ok(changes)) if changes.is_empty() => return,
            Ok(Ok(changes)) => changes,
            Ok(Err(error)) => return self.say(output, &format!("not listed: {error}")),
            Err(_) => return self.say(output, "not listed: the look at them failed"),
        };
        let summary = changes.summary();
        if runs && !summary.is_empty() {
            self.say(output, &summary);
        }
        let told = CallChanges::new(call_id, &changes);
        output.changed.push(with_indexes(told, &changes, &self.journal));
    }

    /// Adds a line for the model. People see it on the edge of the box, not inside.
    fn say(&self, output: &mut ToolOutput, summary: &str) {
        if output.view.is_none() {
            output.view = Some(View::text(&output.content));
        }
        let summary = self.masking.mask(summary.to_owned());
        output.content.push_str(&format!("\n[changes] {summary}"));
    }
}

#[async_trait]
impl Layer for Checkpoints {
    async fn around(
        &self,
        call: &ApprovedCall,
        context: &ToolContext,
        rest: Rest<'_>,
    ) -> ToolOutput {
        if rest.effect == Effect::Read {
            return rest.run(call, context).await;
        }
        let runs = rest.effect == Effect::Run;
        if runs && context.sandbox.is_outside() {
            let mut output = rest.run(call, context).await;
            if context.sandbox.has_run_outside() {
                output.changed.push(CallChanges::unknown(call.id()));
            }
            return output;
        }
        let checkpoint = self.journal.begin(&self.session, &self.name(call, rest));
        if runs {
            let denials = self.forbidden.of(call);
            // Asking for none is dear where a command makes many files.
            if !denials.is_empty() {
                checkpoint.forbid(Arc::new(denials));
            }
        }
        let recorded = ToolContext {
            workspace: context.workspace.recording(&checkpoint),
            sandbox: context.sandbox.recording(&checkpoint),
            ..context.clone()
        };
        let jobs = context.sandbox.jobs();
        let last = last_job(jobs);
        let mut output = rest.run(call, &recorded).await;
        drop(recorded);
        // Calls that run something overlap no others: a new job is this call's.
        match last_job(jobs).filter(|now| Some(*now) > last) {
            Some(job) => self.open_jobs.begin(job, call.id()),
            None => self.end(checkpoint, call.id(), runs, &mut output).await,
        }
        output
    }
}

/// Adds what the indexes of repositories say that a call wrote: git writes them also where it only looked.
fn with_indexes(mut told: CallChanges, changes: &Changes, journal: &Journal) -> CallChanges {
    let Some(id) = changes.id else { return told };
    for (change, file) in changes.files.iter().zip(&mut told.files) {
        if !is_index(&change.path) {
            continue;
        }
        let said = |content: Result<Option<Vec<u8>>, _>| git_index::said(&content.ok()??);
        let now = said(journal.content_after(id, &change.path, INDEX_BYTES_MAX));
        let before = || said(journal.content_before(id, &change.path, INDEX_BYTES_MAX));
        file.refreshed = change.kind == ChangeKind::Edited && now.is_some() && now == before();
        file.index_hash = now.map(|hash| hash.to_string());
    }
    told
}

/// Whether git keeps an index under this name, also that of a submodule or a linked worktree.
fn is_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "index")
        && path.components().any(|folder| folder.as_os_str() == ".git")
}

fn last_job(jobs: &Jobs) -> Option<JobId> {
    jobs.list().last().map(|status| status.id)
}
