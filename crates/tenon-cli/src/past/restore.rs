//! Going to an earlier moment of a session: what came since is undone, what was undone since is redone.

use tenon_sandbox::{CheckpointId, CheckpointInfo, CheckpointKind, JournalError, WayBack};

use super::{Call, Past, conflicts::running, failed, gone, named, steps::Steps};
use crate::{
    error::CliError,
    texts::{Language, Text},
};

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
                let error = CliError::failed(Text::AsBefore.with(&[("to", &to)]));
                let running = running(&self.calls()?);
                let hint = running.map(|calls| Text::HintOnceOver.with(&[("calls", &calls)]));
                Err(hint.into_iter().fold(error, CliError::with_hint))
            }
        }
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
                CliError::failed(Text::UndoneWithGone.with(&[("to", &to), ("n", &id)]))
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
        let refused = Text::NotBackTo.with(&[("to", &to)]).with_more(why);
        let hint = steps
            .first_after(&gone)
            .map(|step| Text::HintBackTo.with(&[("id", &self.session), ("step", &step)]));
        Err(hint.into_iter().fold(CliError::failed(refused), CliError::with_hint))
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
