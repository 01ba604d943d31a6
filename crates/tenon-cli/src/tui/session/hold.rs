//! The terminal taken for the session, and given to whoever has it next: another session, which gets what
//! was typed meanwhile, an editor, the shell.

use super::{Ended, Session};
use crate::{
    error::ExitStatus,
    tui::{keyboard::Keyboard, surroundings::size, takeover::Takeover},
};

impl Session<'_> {
    pub(super) fn take_terminal(&mut self) {
        // What was taken before would give back what is taken now, and both would listen.
        self.takeover = None;
        self.typed.extend(self.keyboard.take().into_iter().flat_map(Keyboard::leave));
        let typed = std::mem::take(&mut self.typed);
        match Takeover::begin().and_then(|takeover| Ok((takeover, Keyboard::listen(typed)?))) {
            Ok((takeover, keyboard)) => {
                (self.takeover, self.keyboard) = (Some(takeover), Some(keyboard));
                self.write(self.place.outside.modes());
            }
            Err(_) => self.ending = Some(Ended::With(ExitStatus::Failed)),
        }
    }

    /// Takes the live part away, so that whoever has the terminal next finds an empty row.
    pub(super) fn give_terminal_back(&mut self) {
        self.app.hidden();
        self.take_answer();
        for event in self.keyboard.take().map(Keyboard::leave).unwrap_or_default() {
            let typed = self.told(event);
            self.typed.extend(typed);
        }
        if self.pager.is_some() {
            self.close_pager();
        }
        if self.takeover.is_some() {
            let finished = self.app.transcript.take_finished();
            let style = *self.app.transcript.style();
            let mut text = self.surface.draw(size(), &finished, &Default::default(), &style);
            text.push_str(&self.surface.clear());
            self.write(&text);
        }
        self.takeover = None;
    }
}
