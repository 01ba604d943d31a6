//! What is beside the conversation: the person's own command and editor, the program stopped for a
//! while, and what is paged through on a screen of its own.

use std::ffi::OsString;

use rustix::process::{Signal, kill_current_process_group};
use tenon_agent::read_session;
use tenon_model::visible;
use tenon_sandbox::OutsideRoots;

use super::{Ended, Session};
use crate::{
    error::ExitStatus,
    jobs,
    masked::{self, masked},
    render::{self, Style, whole_transcript},
    texts::{Text, translated},
    tui::{
        editor::{self, Editor},
        own_command::{OwnCommand, Step},
        pager::Pager,
        surroundings::size,
        transcript::Tail,
    },
};

impl Session<'_> {
    pub(super) fn run_own(&mut self, command: &str) {
        if let Some(said) = jobs::beside(&self.sandbox, self.app.language) {
            self.app.say(&said);
        }
        let started = OwnCommand::start(command, self.workspace.root(), &self.place.environment);
        match started {
            Ok(own) => {
                self.app.own = Some((own.command().to_owned(), Tail::default()));
                self.own = Some(own);
            }
            Err(error) => self.app.say(&format!("bash: {error}")),
        }
    }

    pub(super) fn own_went_on(&mut self, step: Step) {
        match step {
            Step::Printed(text) => {
                if let Some((_, tail)) = &mut self.app.own {
                    tail.push(&masked(text));
                }
            }
            Step::Ended(ended) => {
                self.own = None;
                self.app.own_ended(&ended);
            }
        }
    }

    pub(super) fn edit(&mut self) {
        if let Some(said) = jobs::beside(&self.sandbox, self.app.language) {
            self.app.say(&said);
        }
        let text = self.app.composer.whole();
        self.give_terminal_back();
        // What commands inside the walls write is no editor.
        let outside = OutsideRoots::of(self.workspace.roots());
        let around = (&outside, &*self.place.config.variables());
        if let Some(why) = self.editor_inside(around) {
            return self.edited(Err(why));
        }
        match Editor::start(&self.place.editor, &text, &self.place.drafts, around) {
            Ok(editor) => self.editor = Some(editor),
            Err(error) => self.edited(Err(error.to_string())),
        }
    }

    /// Says why the editor is not started, if it is in a folder of the session and named without that.
    fn editor_inside(&self, place: (&OutsideRoots, &[(OsString, OsString)])) -> Option<String> {
        let (name, path) = editor::inside(&self.place.editor, place)?;
        let path = path.display();
        let values: [(&str, &dyn std::fmt::Display); 2] = [("name", &name), ("path", &path)];
        Some(Text::EditorInside.say(self.app.language, &values))
    }

    pub(super) fn edited(&mut self, text: Result<String, String>) {
        self.editor = None;
        self.take_terminal();
        match text {
            Ok(text) => self.app.composer.set(&text),
            Err(error) => {
                let editor = &self.place.editor;
                let values: [(&str, &dyn std::fmt::Display); 2] =
                    [("editor", editor), ("error", &error)];
                let said = Text::EditorFailed.say(self.app.language, &values);
                self.app.say(&said);
            }
        }
    }

    pub(super) fn suspend(&mut self) {
        self.give_terminal_back();
        self.was_suspended = true;
        // The shell continues us; until then this does not return.
        let _ = kill_current_process_group(Signal::TSTP);
        self.take_terminal();
    }

    pub(super) fn show_transcript(&mut self) {
        let style = Style { width: size().columns, ..*self.app.transcript.style() };
        let read = read_session(&self.place.sessions, &self.session_id);
        let mut painted = match read {
            Ok(session) => whole_transcript(&masked::records(session.branch()), &style),
            Err(error) => visible(&translated(&error.to_string(), self.app.language)).into_owned(),
        };
        let question = self.whole_question();
        painted.push_str(&question);
        match &mut self.pager {
            Some(pager) => pager.set(painted),
            None => self.open_pager(Pager::at_last(painted, &question)),
        }
    }

    /// Returns all of what is asked, painted, and nothing if there is no question.
    fn whole_question(&self) -> String {
        let style = Style { width: size().columns, ..*self.app.transcript.style() };
        let rows = self
            .app
            .approval
            .as_ref()
            .map(|(approval, _)| approval.whole(style.width, self.app.language));
        rows.unwrap_or_default().iter().map(|row| row.paint(&style) + "\n").collect()
    }

    /// Shows what file tools changed, where nothing else is recorded.
    pub(super) fn show_diffs_of_calls(&mut self) {
        if self.app.transcript.diffs().is_empty() {
            return self.app.say(Text::NoChanges.template(self.app.language));
        }
        let style = *self.app.transcript.style();
        let mut painted = String::new();
        for (path, diff) in self.app.transcript.diffs() {
            painted.push_str(&render::diff(path, diff, &style));
            painted.push_str(&masked::perhaps_commands(diff, &style));
            painted.push('\n');
        }
        self.open_pager(Pager::at_start(painted));
    }

    pub(super) fn open_pager(&mut self, pager: Pager) {
        if self.takeover.as_ref().is_some_and(|terminal| terminal.other_screen().is_ok()) {
            self.pager = Some(pager);
            self.app.hidden();
        }
    }

    pub(super) fn close_pager(&mut self) {
        let question = self.whole_question();
        if let Some(pager) = self.pager.take()
            && pager.has_shown(&question)
            && let Some((approval, _)) = &mut self.app.approval
        {
            approval.show();
        }
        self.surface.cursor_was_hidden();
        if let Some(terminal) = &self.takeover
            && terminal.main_screen().is_err()
        {
            self.ending = Some(Ended::With(ExitStatus::Failed));
        }
    }
}
