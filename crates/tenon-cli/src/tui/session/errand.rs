//! What takes a while besides turns: prompts that are sent meanwhile wait for its end.

use std::{pin::Pin, time::Instant};

use super::Session;
use crate::{error::CliError, texts::Text};

/// What is done when an errand is over.
pub(super) type Done<'a> = Box<dyn FnOnce(&mut Session<'a>) + 'a>;
/// An errand that goes on.
pub(super) type Errand<'a> = Pin<Box<dyn Future<Output = Done<'a>> + 'a>>;

impl<'a> Session<'a> {
    /// Begins `errand`; `said` stands on the screen meanwhile.
    pub(super) fn go_for(&mut self, said: Text, errand: impl Future<Output = Done<'a>> + 'a) {
        self.app.begin_turn();
        let said = said.template(self.app.language);
        self.app.transcript.busy(said, Instant::now());
        self.errand = Some(Box::pin(errand));
    }

    /// Begins work that blocks, and does `then` with what comes of it.
    pub(super) fn work_for<T: Send + 'static>(
        &mut self,
        said: Text,
        work: impl FnOnce() -> Result<T, CliError> + Send + 'static,
        then: impl FnOnce(&mut Self, T) + 'a,
    ) {
        let working = tokio::task::spawn_blocking(work);
        self.go_for(said, async move {
            let found = working.await;
            let done: Done<'a> = Box::new(move |session| match found {
                Ok(Ok(found)) => then(session, found),
                Ok(Err(error)) => session.say_error(&error),
                // It panicked, and that was told.
                Err(error) => session.app.say(&error.to_string()),
            });
            done
        });
    }

    /// Takes in that the errand is over.
    pub(super) fn came_back(&mut self, done: Done<'a>) {
        self.errand = None;
        done(self);
        self.be_free();
    }

    /// Ends the errand if it changes nothing, and otherwise lets it come to its end, without waiting for others.
    pub(super) fn give_up_errand(&mut self) {
        if !self.changes_files {
            self.errand = None;
            self.be_free();
        } else if let Some(past) = &self.past {
            past.patience.end();
        }
    }

    /// Goes on with what waits, unless something is still to be answered or done.
    pub(super) fn be_free(&mut self) {
        if self.app.conflict.is_some() || self.errand.is_some() {
            return;
        }
        self.changes_files = false;
        let now = Instant::now();
        self.app.transcript.end(now);
        if let Some(prompt) = self.app.end_turn(false) {
            self.begin_turn(prompt);
        }
    }

    /// Says why something could not be done.
    pub(super) fn say_error(&mut self, error: &CliError) {
        self.app.say(error.text_in_session(self.app.language).trim_end());
    }
}

/// Waits for the end of the errand.
pub(super) async fn back<'a>(errand: Option<&mut Errand<'a>>) -> Done<'a> {
    match errand {
        Some(errand) => errand.await,
        None => std::future::pending().await,
    }
}
