//! Undo, redo, going back and what was changed, in the session that goes on.

use std::{sync::Arc, time::Instant};

use tenon_sandbox::Conflicts;

use super::Session;
use crate::{
    past::{Done, Outcome, Past, Plan, Wish},
    texts::Text,
    tui::{conflict::ConflictQuestion, front::Said, pager::Pager, picker::Earlier},
};

/// What is being taken back while a person is asked about it.
pub(super) struct TakingBack {
    plan: Plan,
    /// What was answered so far.
    conflicts: Conflicts,
    /// The prompt before which the conversation goes back, too.
    then: Option<Earlier>,
}

/// What is to be taken back.
enum Planned {
    Wish(Wish),
    Plan(Plan),
}

impl Session<'_> {
    /// Takes back what was wished for; the conversation then goes back before the prompt `then`.
    pub(super) fn take_back(&mut self, wish: Wish, then: Option<Earlier>) {
        self.attempt(Planned::Wish(wish), Conflicts::Refuse, then);
    }

    /// Puts the files back as they were before a step; lists the steps if none is named.
    pub(super) fn restore(&mut self, step: &str) {
        match step.parse() {
            Ok(step) => self.take_back(Wish::Before(step), None),
            Err(_) => {
                self.app.say(Text::RestoreWhich.template(self.app.language));
                self.show_changes(false);
            }
        }
    }

    /// Goes on as a person answered.
    pub(super) fn answered(&mut self, answer: Option<Conflicts>) {
        let Some(TakingBack { plan, conflicts, then }) = self.taking_back.take() else { return };
        match answer {
            Some(answer) => self.attempt(Planned::Plan(plan), conflicts.and(answer), then),
            None => {
                self.app.say(Text::NothingTouched.template(self.app.language));
                self.be_free();
            }
        }
    }

    fn attempt(&mut self, planned: Planned, conflicts: Conflicts, then: Option<Earlier>) {
        let Some(past) = self.recorded() else { return };
        past.patience.renew();
        let sender = self.sender.clone();
        let work = move || {
            let attempt = || {
                let plan = match planned {
                    Planned::Wish(wish) => past.plan(wish)?,
                    Planned::Plan(plan) => plan,
                };
                let outcome = past.attempt(&plan.ids, &conflicts)?;
                Ok((plan, conflicts, outcome))
            };
            past.telling(|process| drop(sender.send(Said::Waits(process))), attempt)
        };
        self.changes_files = true;
        self.work_for(
            Text::BusyUndo,
            work,
            move |session, (plan, conflicts, outcome)| match outcome {
                Outcome::Done(done) => session.taken_back(&plan, &done, then),
                Outcome::Refused(found) => {
                    let has_draft = session.app.has_draft();
                    session.app.conflict = Some(ConflictQuestion::new(found, has_draft));
                    session.taking_back = Some(TakingBack { plan, conflicts, then });
                }
            },
        );
    }

    /// Takes in that what is done waits for another process.
    pub(super) fn waits(&mut self, process: u32) {
        if self.errand.is_some() {
            self.app.waits_for_other = true;
            let process: [(&str, &dyn std::fmt::Display); 1] = [("process", &process)];
            self.app.say(&Text::UndoWaitsHere.say(self.app.language, &process));
            let said = Text::BusyWaiting.say(self.app.language, &process);
            self.app.transcript.busy(&said, Instant::now());
        }
    }

    fn taken_back(&mut self, plan: &Plan, done: &Done, then: Option<Earlier>) {
        self.app.say(plan.told(done, self.app.language).trim_end());
        if let Some(earlier) = then {
            self.rewind(&earlier);
        }
    }

    /// Goes back in the conversation, and puts the prompt into the draft.
    pub(super) fn rewind(&mut self, earlier: &Earlier) {
        let Some(agent) = &mut self.agent else { return };
        match agent.rewind(earlier.turns) {
            Ok(0) => self.app.say(Text::NothingToRewind.template(self.app.language)),
            Ok(_) => {
                self.app.transcript.facts.context_tokens = agent.window_use().used();
                self.app.composer.set(&earlier.text);
            }
            Err(error) => self.failed = Some(error),
        }
        // What it says of itself stands before what is said of it.
        while let Ok(said) = self.said.try_recv() {
            self.take_in_one(said);
        }
    }

    /// Shows how the files differ from before the session.
    pub(super) fn show_whole_diff(&mut self) {
        if self.past.is_none() {
            return self.show_diffs_of_calls();
        }
        let Some(past) = self.recorded() else { return };
        let (workspace, style) = (self.workspace.clone(), self.page_style());
        let work = move || past.whole_diff(&workspace, &style);
        self.work_for(Text::BusyDiff, work, |session, diff| session.page(diff));
    }

    /// Lists what each call changed, with the changed lines if that is wanted.
    pub(super) fn show_changes(&mut self, with_lines: bool) {
        let Some(past) = self.recorded() else { return };
        let (style, language) = (self.page_style(), self.app.language);
        let work = move || match with_lines {
            true => past.all_diffs(&style),
            false => past.list(language),
        };
        self.work_for(Text::BusyDiff, work, move |session, said| match with_lines {
            true => session.page(said),
            false => session.app.say(said.trim_end()),
        });
    }

    /// Returns the past; says that there is none if nothing is recorded.
    fn recorded(&mut self) -> Option<Arc<Past>> {
        let past = self.past.clone();
        if past.is_none() {
            self.app.say(Text::UndoOff.template(self.app.language));
        }
        past
    }

    fn page(&mut self, painted: String) {
        if painted.is_empty() {
            self.app.say(Text::NoChanges.template(self.app.language));
        } else {
            self.open_pager(Pager::at_start(painted));
        }
    }
}
