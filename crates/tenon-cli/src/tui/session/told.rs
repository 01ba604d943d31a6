//! What the terminal tells of itself, and what the person is told who looks elsewhere.

use std::time::{Duration, Instant};

use super::Session;
use crate::{
    texts::Text,
    tui::{keyboard::Event, outside::Told},
    values::ThemeName,
};

/// How long whoever leaves waits for an answer that the shell would read as typed: once in a session
/// that ends before its terminal has answered.
const ANSWER_WITHIN: Duration = Duration::from_millis(150);

impl Session<'_> {
    /// Takes in what the terminal tells of itself, and returns any other event.
    pub(super) fn told(&mut self, event: Event) -> Option<Event> {
        match self.place.outside.take_in(event, Instant::now()) {
            Told::No(event) => return Some(event),
            Told::Yes => {}
            Told::Theme(theme) => self.app.transcript.set_theme(theme),
        }
        None
    }

    /// Asks the terminal what is not known of it.
    pub(super) fn ask_terminal(&mut self) {
        if self.takeover.is_some() {
            let question = self.place.outside.question();
            self.write(question);
        }
    }

    /// Leaves no answer to whoever has the terminal next.
    pub(super) fn take_answer(&mut self) {
        if !self.place.outside.is_pending() {
            return;
        }
        self.place.outside.give_up();
        if let Some(keyboard) = &mut self.keyboard {
            keyboard.drain(ANSWER_WITHIN);
        }
    }

    /// Tells the person that something waits.
    pub(super) fn notify(&mut self, said: Text) {
        let said = said.template(self.app.language);
        let notice = self.place.outside.notice(said, Instant::now());
        if self.takeover.is_some() {
            self.write(&notice);
        }
    }

    /// Takes the terminal again after somebody else had stopped the program: what is on the screen now
    /// is the shell's.
    pub(super) fn continued(&mut self) {
        if std::mem::take(&mut self.was_suspended) {
            return;
        }
        let Some(takeover) = &self.takeover else { return };
        if takeover.again().is_ok() {
            self.surface.forget();
            self.write(self.place.outside.modes());
        }
    }

    /// Chooses other colours.
    pub(super) fn choose_theme(&mut self, theme: ThemeName) {
        self.choices.theme = Some(theme);
        let chosen = self.place.outside.choose(theme);
        self.app.transcript.set_theme(chosen);
        self.ask_terminal();
    }
}
