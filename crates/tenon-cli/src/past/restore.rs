//! Going to an earlier moment of a session: what came since is undone, what was undone since is redone.

use tenon_sandbox::{CheckpointId, JournalError, WayBack};

use super::{Call, Past, failed, named, nothing};
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
}

impl Past {
    /// Returns what leads back to before the step or call `to`.
    pub(crate) fn back_to(&self, to: &str) -> Result<Restoring, CliError> {
        self.take_back_cut_short()?;
        let (calls, steps) = (self.calls()?, self.steps());
        let first = calls.iter().find(|call| call.is_from(to)).map(|call| call.id);
        let since = steps.first_since(to);
        if first.is_none() && since.is_none() && to.parse::<u32>().is_err() {
            return Err(CliError::usage(Text::NoSuchStep.with(&[("from", &to)]))
                .with_hint(Text::HintChanges.with(&[("id", &self.session)])));
        }
        let Some(since) = first.into_iter().chain(since).min() else {
            return Err(nothing(&self.root));
        };
        let known = |id| calls.iter().find(|call| call.id == id);
        // A call that goes on in the background may have begun before.
        let is_since = |id| match known(id) {
            Some(_) => first.is_some_and(|first| id >= first),
            None => id >= since,
        };
        let infos = self.journal.checkpoints().map_err(failed)?;
        let way = WayBack::find(&infos, &self.session, is_since).map_err(|error| match error {
            JournalError::Unknown { id } => {
                CliError::failed(Text::UndoneWithGone.with(&[("to", &to), ("n", &id)]))
                    .with_hint(Text::HintNothingToRedo)
            }
            error => failed(error),
        })?;
        let is_call = |id: &CheckpointId| {
            let info = infos.iter().find(|info| info.id == *id);
            info.is_some_and(|info| info.kind == tenon_sandbox::CheckpointKind::Call)
        };
        let of = |ids: &[CheckpointId]| ids.iter().filter_map(|id| known(*id)).cloned().collect();
        let (undone, redone) = (of(&way.undone), of(&way.redone));
        // A call that changed nothing needs no undo.
        let ids: Vec<CheckpointId> =
            way.ids.into_iter().filter(|id| known(*id).is_some() || !is_call(id)).collect();
        match ids.is_empty() {
            true => Err(nothing(&self.root)),
            false => Ok(Restoring { ids, undone, redone }),
        }
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
