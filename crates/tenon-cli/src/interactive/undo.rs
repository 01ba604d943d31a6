//! `/undo [N]`, `/redo` and `/changes` in plain lines.

use tenon_sandbox::Conflicts;

use super::Session;
use crate::{
    error::CliError,
    past::{self, Conflict, Outcome, Past, Wish},
    question,
    screen::Sink,
    texts::Text,
};

/// What is asked of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Take something back.
    Wish(Wish),
    /// What each call changed.
    List,
    /// The same with the changed lines.
    Lines,
}

impl Session<'_> {
    /// Does it and says so.
    pub(super) async fn past(&mut self, asked: Asked) {
        let Some(past) = &self.place.past else { return self.say(Text::UndoOff) };
        let listed = match asked {
            Asked::Wish(wish) => {
                self.take_back(wish).await;
                return;
            }
            Asked::List => past.list(self.look.language),
            Asked::Lines => past.all_diffs(&self.look.style(Sink::Output)),
        };
        match listed {
            Ok(said) if said.is_empty() => self.say(Text::NoChanges),
            Ok(said) => self.say_line(&said),
            Err(error) => self.say_error(&error),
        }
    }

    /// Takes back what was wished for and returns whether it was done.
    pub(super) async fn take_back(&mut self, wish: Wish) -> bool {
        let Some(past) = &self.place.past else {
            self.say(Text::UndoOff);
            return false;
        };
        match self.try_take_back(past, wish).await {
            Ok(is_done) => is_done,
            Err(error) => {
                self.say_error(&error);
                false
            }
        }
    }

    /// Returns whether anything was taken back.
    async fn try_take_back(&self, past: &Past, wish: Wish) -> Result<bool, CliError> {
        let plan = past.plan(wish)?;
        let (screen, language) = (&self.front.screen, self.look.language);
        let asks = self.front.asks;
        let ask = async |found: &[Conflict]| match asks {
            true => question::ask_conflicts(found, screen).await,
            false => None,
        };
        match past.take_back(&plan.ids, Conflicts::Refuse, language, ask).await? {
            Outcome::Done(done) => {
                screen.say(&plan.told(&done, language));
                Ok(true)
            }
            Outcome::Refused(found) => {
                let said = Text::UndoRefused.template(language);
                screen.say(&format!("{said}\n{}", past::listed(&found, language)));
                Ok(false)
            }
        }
    }
}
