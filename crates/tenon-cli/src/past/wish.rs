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
    /// Says that fewer calls are undone than was asked for.
    pub(crate) fewer: Option<Sentence>,
}

impl Plan {
    /// Returns what is said when it is done, for people.
    pub(crate) fn told(&self, done: &Done, language: Language) -> String {
        let fewer = self.fewer.iter().map(|fewer| format!("{}\n", fewer.say(language)));
        fewer.chain([told(self.done, done, language)]).collect()
    }
}

impl Past {
    /// Returns what is to be taken back.
    pub(crate) fn plan(&self, wish: Wish) -> Result<Plan, CliError> {
        let (calls, fewer) = match wish {
            Wish::Undo(count) => {
                let calls = self.last(count)?;
                let fewer = super::fewer(&calls, count);
                (calls, fewer)
            }
            Wish::Before(step) => {
                let restoring = self.back_to(&step.to_string())?;
                let done = restoring.done();
                return Ok(Plan { ids: restoring.ids, done, fewer: None });
            }
            Wish::Redo => {
                let ids = vec![self.last_undo()?];
                return Ok(Plan { ids, done: Text::RedoDone, fewer: None });
            }
        };
        let ids = calls.iter().map(|call| call.id).collect();
        Ok(Plan { ids, done: Text::UndoDone, fewer })
    }

    /// Returns whether the files are others than before the step `from`, by calls or by undo; why they
    /// cannot be put back as they were then, if that is so.
    pub(crate) fn changed_since(&self, from: u32) -> Result<bool, CliError> {
        Ok(self.way_back_to(&from.to_string())?.is_some_and(|way| !way.is_idle))
    }

    /// Returns what each call changed, for people.
    pub(crate) fn list(&self, language: Language) -> Result<String, CliError> {
        let (calls, mut said) = (self.calls()?, self.notes(language)?);
        if calls.is_empty() && said.is_empty() {
            return Ok(format!("{}\n", Text::NoChanges.template(language)));
        }
        let listed = |call: &Call| line(call, language) + &files(&call.changes, language);
        said.extend(calls.iter().map(listed));
        Ok(said)
    }
}
