//! What the commands do that need more than the screen.

use tenon_agent::{read_session, request_costs};
use tenon_model::visible;
use tokio::task::spawn_blocking;

use super::{Another, Ended, Session};
use crate::{
    commands::{self, doctor, permissions},
    jobs,
    past::Wish,
    render::{Style, grouped},
    resume,
    texts::{Text, translated},
    tui::{charts, commands::Act, front::Said, line::Line, surroundings::size},
};

impl Session<'_> {
    /// Does what a command says, with the words behind its name.
    pub(super) fn command(&mut self, act: Act, words: String) {
        match act {
            Act::Model if words.is_empty() => self.pick_model(),
            Act::Model => self.change_model(words),
            Act::Context => self.say_context(),
            Act::Cost => self.say_costs(),
            Act::Compact => self.compact((!words.is_empty()).then_some(words)),
            Act::Diff => self.show_whole_diff(),
            Act::Changes => self.show_changes(!words.is_empty()),
            Act::Undo => self.take_back(Wish::Undo(words.parse().unwrap_or(1)), None),
            Act::Redo => self.take_back(Wish::Redo, None),
            Act::Restore => self.restore(&words),
            Act::Rewind => self.pick_prompt(),
            Act::Resume if words.is_empty() => self.pick_session(),
            Act::Resume => self.resume(&words),
            Act::Fork => self.fork(),
            Act::New => self.leave_for(Another::New),
            Act::Jobs => {
                let said = jobs::list(&self.sandbox.jobs().running(), self.app.language);
                self.app.say(&said);
            }
            Act::Permissions => self.say_permissions(),
            Act::Doctor => self.say_doctor(),
            Act::Export => self.export(&words),
            // The screen does these by itself.
            Act::Help | Act::Transcript | Act::Copy | Act::Tools => {}
            Act::Init | Act::Theme | Act::Quit => {}
        }
    }

    /// Ends this session for another one, if that can be had.
    pub(super) fn leave_for(&mut self, another: Another) {
        if let Err(error) = resume::check_can_leave(&self.workspace, &self.session_id) {
            return self.say_error(&error);
        }
        self.ending = Some(Ended::For(another, std::mem::take(&mut self.choices)));
    }

    fn say_context(&mut self) {
        let (columns, language) = (size().columns, self.app.language);
        let rows = match &self.agent {
            Some(agent) => charts::window(&agent.window_use(), columns, language),
            // A turn goes on: what the last request had is all that is known.
            None => {
                let facts = &self.app.transcript.facts;
                let (used, percent) = (grouped(facts.context_tokens), facts.context_percent());
                let window = grouped(facts.window_tokens.into());
                let values: [(&str, &dyn std::fmt::Display); 3] =
                    [("used", &used), ("window", &window), ("n", &percent)];
                vec![Line::plain(&Text::ContextHead.say(language, &values))]
            }
        };
        self.app.transcript.say(&rows);
    }

    fn say_costs(&mut self) {
        let (folder, id) = (self.place.sessions.clone(), self.session_id.clone());
        let (columns, language) = (size().columns, self.app.language);
        let sender = self.sender.clone();
        // A long log takes a moment, and a turn may be going on.
        spawn_blocking(move || {
            let rows = match read_session(&folder, &id) {
                Ok(session) => charts::costs(&request_costs(&session), columns, language),
                Err(error) => vec![Line::plain(&translated(&error.to_string(), language))],
            };
            // The loop ends with the session.
            let _ = sender.send(Said::Drawn(rows));
        });
    }

    fn say_permissions(&mut self) {
        let listed = permissions::list(self.place.config, self.place.args);
        match listed {
            Ok(listed) => {
                let listed = listed.lines().map(str::to_owned);
                let lines: Vec<String> = self.app.allowed.iter().cloned().chain(listed).collect();
                self.app.say_asked(&lines.join("\n"));
            }
            Err(error) => self.say_error(&error),
        }
    }

    fn say_doctor(&mut self) {
        let (config, args) = (self.place.config, self.place.args);
        self.go_for(Text::BusyDoctor, async move {
            let report = doctor::report(config, args).await;
            Box::new(move |session: &mut Self| session.app.say(&report)) as _
        });
    }

    /// Writes the session as a document into the folder that it works in.
    fn export(&mut self, words: &str) {
        let (language, root) = (self.app.language, self.workspace.root());
        let (sessions, id) = (&self.place.sessions, &self.session_id);
        let written = commands::export::beside_work(sessions, id, root, words, language);
        match written {
            Ok(path) => {
                let file = visible(&path.to_string_lossy()).into_owned();
                self.app.say(&Text::Exported.say(language, &[("file", &file)]));
            }
            Err(error) => self.say_error(&error),
        }
    }

    /// Returns how to paint for the pager.
    pub(super) fn page_style(&self) -> Style {
        Style { width: size().columns, ..*self.app.transcript.style() }
    }
}
