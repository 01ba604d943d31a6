//! What a person in a session asks of its past, the same for every front end: which calls are taken
//! back, what is said of it, and what the model is told with the next prompt, so that it does not
//! rely on work that is gone.

use tenon_sandbox::CheckpointId;

use super::{Call, Past, Restoring, files, line, shown};
use crate::{
    error::CliError,
    texts::{Language, Text},
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
    /// What the model is told then.
    pub(crate) news: String,
}

impl Past {
    /// Returns what is to be taken back.
    pub(crate) fn plan(&self, wish: Wish) -> Result<Plan, CliError> {
        let calls = match wish {
            Wish::Undo(count) => self.last(count)?,
            Wish::Before(step) => return Ok(plan_of(self.back_to(&step.to_string())?)),
            Wish::Redo => {
                let news = "[undo] The user took the last undo back: what it had undone is as you \
                            left it again.";
                let ids = vec![self.last_undo()?];
                return Ok(Plan { ids, done: Text::RedoDone, news: news.to_owned() });
            }
        };
        let ids = calls.iter().map(|call| call.id).collect();
        Ok(Plan { ids, done: Text::UndoDone, news: news_of_undone(&calls) })
    }

    /// Returns whether the files are others than before the step `from`, by calls or by undo; why they
    /// cannot be put back as they were then, if that is so.
    pub(crate) fn changed_since(&self, from: u32) -> Result<bool, CliError> {
        Ok(self.way_back_to(&from.to_string())?.is_some())
    }

    /// Returns what each call changed, for people.
    pub(crate) fn list(&self, language: Language) -> Result<String, CliError> {
        let (calls, mut said) = (self.calls()?, self.gone_line(language)?);
        if calls.is_empty() && said.is_empty() {
            return Ok(format!("{}\n", Text::NoChanges.template(language)));
        }
        let told = |call: &Call| line(call, language) + &files(&call.changes, language);
        said.extend(calls.iter().map(told));
        Ok(said)
    }
}

fn plan_of(restoring: Restoring) -> Plan {
    let done = restoring.done();
    let Restoring { ids, undone, redone } = restoring;
    let news = match redone.is_empty() {
        true => news_of_undone(&undone),
        false => format!(
            "[undo] The user put the files back as they were earlier. What these calls changed is \
             undone, newest first: {}. What these changed is there again: {}. Read again what you \
             rely on.",
            labels(&undone),
            labels(&redone)
        ),
    };
    Plan { ids, done, news }
}

fn news_of_undone(calls: &[Call]) -> String {
    let labels = labels(calls);
    format!(
        "[undo] The user undid what these calls changed, newest first: {labels}. The files are \
         as before them; read again what you rely on."
    )
}

fn labels(calls: &[Call]) -> String {
    if calls.is_empty() {
        return "none".to_owned();
    }
    let labels: Vec<&str> = calls.iter().map(|call| call.label.as_str()).collect();
    shown(&labels.join("; "))
}
