//! What a person in a session asks of its past, the same for every front end: which calls are taken
//! back, and what is said of it. The agent tells the model with the next prompt.

use tenon_sandbox::CheckpointId;

use super::{Call, Done, Past, files, line, told};
use crate::{
    error::CliError,
    texts::{Language, Sentence, Text},
};

/// What is asked of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Put back what the last calls changed, so many.
    Undo(usize),
    /// Take the last undo back.
    Redo,
    /// Put the files back as they were before this step.
    Before(u32),
}

/// What is to be taken back for a [`Wish`].
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) ids: Vec<CheckpointId>,
    /// What is said when it is done.
    pub(crate) done: Text,
    /// Says what is not undone of what was asked for.
    pub(crate) notes: Vec<Sentence>,
}

impl Plan {
    /// Returns what is said when it is done, for people.
    pub(crate) fn told(&self, done: &Done, language: Language) -> String {
        let notes = self.notes.iter().map(|note| format!("{}\n", note.say(language)));
        notes.chain([told(self.done, done, language)]).collect()
    }
}

impl Past {
    /// Returns what is to be taken back.
    pub(crate) fn plan(&self, wish: Wish) -> Result<Plan, CliError> {
        let (calls, notes) = match wish {
            Wish::Undo(count) => {
                let calls = self.last(count)?;
                let notes = super::notes_on(&calls, count, self);
                (calls, notes)
            }
            Wish::Before(step) => {
                let restoring = self.back_to(&step.to_string())?;
                let done = restoring.done();
                let notes = self.still_running().into_iter().collect();
                return Ok(Plan { ids: restoring.ids, done, notes });
            }
            Wish::Redo => {
                let ids = vec![self.last_undo()?];
                return Ok(Plan { ids, done: Text::RedoDone, notes: Vec::new() });
            }
        };
        let ids = calls.iter().map(|call| call.id).collect();
        Ok(Plan { ids, done: Text::UndoDone, notes })
    }

    /// Returns whether the files are others than before the step `from`, by calls or by undo; why they
    /// cannot be put back as they were then, if that is so.
    pub(crate) fn changed_since(&self, from: u32) -> Result<bool, CliError> {
        Ok(self.way_back_to(&from.to_string())?.is_some_and(|way| !way.is_idle))
    }

    /// Returns what stands above a list of calls in a session.
    pub(super) fn notes_here(&self, language: Language) -> Result<String, CliError> {
        let notes = self.notes()?;
        Ok(notes.iter().map(|note| format!("{}\n", note.in_session().say(language))).collect())
    }

    /// Returns what each call changed, for people.
    pub(crate) fn list(&self, language: Language) -> Result<String, CliError> {
        let (calls, mut said) = (self.calls()?, self.notes_here(language)?);
        if calls.is_empty() && said.is_empty() {
            return Ok(format!("{}\n", Text::NoChanges.template(language)));
        }
        let listed = |call: &Call| line(call, language) + &files(&call.changes, language);
        said.extend(calls.iter().map(listed));
        Ok(said)
    }
}
