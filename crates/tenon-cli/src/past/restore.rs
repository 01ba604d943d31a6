//! Going to an earlier moment of a session: what came since is undone, what was undone since is redone.

use std::{collections::BTreeSet, path::PathBuf};

use tenon_sandbox::{
    CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, JournalError, WayBack,
};

use super::{Call, Past, conflicts::running, failed, gone, named, shown, steps::Steps};
use crate::{
    error::CliError,
    texts::{Language, Sentence, Text},
};

/// Files that are named of those which what still runs changed: more do not fit a line.
const NAMED_MAX: usize = 3;

/// What is taken back so that the files are as they were.
#[derive(Debug)]
pub(crate) struct Restoring {
    /// For one undo.
    pub(crate) ids: Vec<CheckpointId>,
    /// The calls that are undone, the newest first.
    pub(super) undone: Vec<Call>,
    /// The calls that are redone, the oldest first.
    pub(super) redone: Vec<Call>,
    /// Whether no list speaks of any of it: only times of folders are put back.
    pub(super) is_idle: bool,
}

impl Past {
    /// Returns what leads back to before the step or call `to`; an error if nothing has to.
    pub(crate) fn back_to(&self, to: &str) -> Result<Restoring, CliError> {
        match self.way_back_to(to)? {
            Some(way) => Ok(way),
            None => {
                let calls = self.calls()?;
                let error = CliError::failed(self.nothing_back_to(to, &calls));
                let hint =
                    running(&calls).map(|calls| Text::HintOnceOver.with(&[("calls", &calls)]));
                Err(hint.into_iter().fold(error, CliError::with_hint))
            }
        }
    }

    /// Says why nothing is put back: nothing changed, or nothing but what still runs changed something.
    fn nothing_back_to(&self, to: &str, calls: &[Call]) -> Sentence {
        let running = calls.iter().filter(|call| call.state == CheckpointState::Running);
        if running.clone().next().is_none() {
            return Text::AsBefore.with(&[]).holding("to", before(to));
        }
        let not_yet = Text::NotYetBefore.with(&[]).holding("to", before(to));
        // What cannot be read now, or is found by comparing, is known once it is over.
        let changes = running.filter_map(|call| self.journal.changes_so_far(call.id).ok());
        let files: BTreeSet<PathBuf> =
            changes.flat_map(|changes| changes.files).map(|file| file.path).collect();
        if files.is_empty() {
            return not_yet;
        }
        let named = files.iter().take(NAMED_MAX).map(|path| shown(&path.to_string_lossy()));
        let more = (files.len() > NAMED_MAX).then(|| "…".to_owned());
        let named: Vec<String> = named.chain(more).collect();
        not_yet.with_more(Text::RunningChanged.with(&[("files", &named.join(", "))]))
    }

    /// Returns what leads back to before the step or call `to`; nothing if the files are as then.
    pub(super) fn way_back_to(&self, to: &str) -> Result<Option<Restoring>, CliError> {
        self.take_back_cut_short()?;
        let (calls, steps) = (self.all_calls()?, self.steps());
        let (idle, calls): (Vec<Call>, Vec<Call>) = calls.into_iter().partition(Call::is_idle);
        steps.refuse_unknown(to)?;
        let first = calls.iter().find(|call| call.is_from(to));
        // A call that no list names has none of these, but those after it are since.
        let after = || calls.iter().find(|call| steps.has_begun_since(&call.call_id, to));
        let first = first.or_else(after).map(|call| call.id);
        let since = steps.first_since(to);
        if first.is_none() && since.is_none() && to.parse::<u32>().is_err() {
            return Err(CliError::usage(Text::NoSuchStep.with(&[("from", &to)]))
                .with_hint(Text::HintChanges.with(&[("id", &self.session)])));
        }
        let infos = self.journal.checkpoints().map_err(failed)?;
        self.refuse_gone(to, &infos, &steps)?;
        let Some(since) = first.into_iter().chain(since).min() else {
            return Ok(None);
        };
        let known = |id| calls.iter().find(|call| call.id == id && call.can_be_undone());
        let idle = |id| idle.iter().find(|call| call.id == id);
        // A call that goes on in the background may have begun before.
        let is_since = |id| match (known(id), idle(id)) {
            (Some(_), _) => first.is_some_and(|first| id >= first),
            // The log has no checkpoint of it.
            (None, Some(call)) => id >= since && steps.has_begun_since(&call.call_id, to),
            (None, None) => id >= since,
        };
        let way = WayBack::find(&infos, &self.session, is_since).map_err(|error| match error {
            JournalError::Unknown { id } => {
                CliError::failed(Text::UndoneWithGone.with(&[("n", &id)]).holding("to", before(to)))
                    .with_hint(Text::HintNothingToRedo)
            }
            error => failed(error),
        })?;
        let is_call = |id: &CheckpointId| {
            let info = infos.iter().find(|info| info.id == *id);
            info.is_some_and(|info| info.kind == CheckpointKind::Call)
        };
        let of = |ids: &[CheckpointId]| ids.iter().filter_map(|id| known(*id)).cloned().collect();
        let (undone, redone) = (of(&way.undone), of(&way.redone));
        // A call of which nothing was saved has no undo.
        let is_saved = |id: &CheckpointId| known(*id).is_some() || idle(*id).is_some();
        let ids: Vec<CheckpointId> =
            way.ids.into_iter().filter(|id| !is_call(id) || is_saved(id)).collect();
        let is_idle = ids.iter().all(|id| idle(*id).is_some());
        Ok((!ids.is_empty()).then_some(Restoring { ids, undone, redone, is_idle }))
    }

    /// Refuses to go back behind calls that stand and whose changes are not kept any more: files would be
    /// neither as they were then nor as they are.
    fn refuse_gone(
        &self,
        to: &str,
        infos: &[CheckpointInfo],
        steps: &Steps,
    ) -> Result<(), CliError> {
        let mut gone = gone::not_in(infos, steps.told_since(to));
        gone.retain(|call| !call.is_undone(infos));
        let Some(why) = gone::said_of(&gone) else { return Ok(()) };
        let refused = Text::NotBackTo.with(&[]).holding("to", before(to)).with_more(why);
        let hint = steps
            .first_after(&gone)
            .map(|step| Text::HintBackTo.with(&[("id", &self.session), ("step", &step)]));
        Err(hint.into_iter().fold(CliError::failed(refused), CliError::with_hint))
    }
}

/// Returns what a step or a call is called where something is said of the time before it.
fn before(to: &str) -> Sentence {
    match to.parse::<u32>() {
        Ok(step) => Text::WhoStep.with(&[("step", &step)]),
        Err(_) => Text::WhichCall.with(&[("id", &shown(to))]),
    }
}

impl Restoring {
    /// Returns what is about to be done, for people.
    pub(crate) fn plan(&self, session: &str, language: Language) -> String {
        let mut said = String::new();
        let parts = [(Text::UndoOf, &self.undone), (Text::RestoreRedoes, &self.redone)];
        for (title, calls) in parts.into_iter().filter(|(_, calls)| !calls.is_empty()) {
            let title = title.say(language, &[("session", &session)]);
            said.push_str(&format!("{title}\n{}", named(calls, language)));
        }
        said
    }

    /// Returns what is said when it is done.
    pub(crate) fn done(&self) -> Text {
        match (self.undone.is_empty(), self.redone.is_empty()) {
            (_, true) => Text::UndoDone,
            (true, false) => Text::RedoDone,
            (false, false) => Text::RestoreDone,
        }
    }
}
