//! The screen of a session that is printed line by line: a renderer and the stream it goes to.
//!
//! Written after each update, so that prose appears as it comes. A reader that went away ends
//! the turn quietly; any other failure of standard output ends it with a sentence.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::termios::{self, QueueSelector, tcflush};
use tenon_agent::Update;
use tokio_util::sync::CancellationToken;

use crate::{
    error::CliError,
    masked::{asked, masked},
    render::{Drawn, Renderer, Style, Theme, unconfined},
    texts::{Language, Text},
};

/// Columns where there is no terminal to ask.
const COLUMNS: usize = 80;
/// Wider screens are not filled: a line of this length is hard enough to follow.
const COLUMNS_MAX: usize = 500;

/// How the user wants sessions to look; decided by config.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether colours are wanted on a terminal: NO_COLOR is not set.
    pub colour: bool,
    /// Whether the terminal can only print: TERM is `dumb` or not set.
    pub plain: bool,
    /// Whether nothing that was printed may be drawn again, for a screen reader.
    pub still: bool,
    /// Columns where there is no terminal to ask.
    pub columns: Option<usize>,
    /// The language of the interface.
    pub language: Language,
    /// The colours, as far as they are known without asking the terminal.
    pub theme: Theme,
}

/// A standard stream that is printed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    /// Data.
    Output,
    /// Everything else.
    Error,
}

/// Where a session is printed.
pub(crate) struct Screen {
    sink: Sink,
    look: Look,
    renderer: Mutex<Renderer>,
    /// The colours, which may be chosen anew.
    theme: Mutex<Theme>,
    reader_gone: AtomicBool,
    /// Standard output could not be written, for another reason than that nobody reads.
    output_failed: AtomicBool,
    /// Cancels the turn that is shown.
    turn: Mutex<CancellationToken>,
}

impl Look {
    /// Returns how to draw on `sink` as it is now.
    pub(crate) fn style(&self, sink: Sink) -> Style {
        let terminal = sink.is_terminal();
        Style {
            width: sink.columns().or(self.columns).unwrap_or(COLUMNS).min(COLUMNS_MAX),
            colour: terminal && self.colour && !self.plain,
            redraws: terminal && !self.plain && !self.still,
            language: self.language,
            theme: self.theme,
        }
    }
}

impl Sink {
    /// Returns whether a person reads along.
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        }
    }

    /// Writes `text` at once.
    pub(crate) fn print(self, text: &str) -> io::Result<()> {
        fn all(mut stream: impl Write, text: &str) -> io::Result<()> {
            stream.write_all(text.as_bytes())?;
            stream.flush()
        }
        match self {
            _ if text.is_empty() => Ok(()),
            Self::Output => all(io::stdout().lock(), text),
            Self::Error => all(io::stderr().lock(), text),
        }
    }

    fn columns(self) -> Option<usize> {
        let size = match self {
            Self::Output => termios::tcgetwinsize(io::stdout()),
            Self::Error => termios::tcgetwinsize(io::stderr()),
        };
        size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }
}

impl Screen {
    /// Returns a screen on `sink`.
    pub(crate) fn new(sink: Sink, look: Look) -> Self {
        let renderer = Mutex::new(Renderer::new(look.style(sink)));
        let theme = Mutex::new(look.theme);
        let (reader_gone, output_failed) = Default::default();
        let turn = Mutex::default();
        Self { sink, look, renderer, theme, reader_gone, output_failed, turn }
    }

    /// Takes in the turn that is shown from now on.
    pub(crate) fn begin_turn(&self, cancel: CancellationToken) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = cancel;
    }

    /// Ends the turn, because standard output takes nothing more; says once why, unless nobody reads
    /// it any more.
    pub(crate) fn output_ended(&self, error: io::Error) {
        let is_known = self.reader_gone.swap(true, Ordering::Relaxed);
        if !is_known && error.kind() != io::ErrorKind::BrokenPipe {
            self.output_failed.store(true, Ordering::Relaxed);
            print_error(&CliError::from(error).text(self.look.language));
        }
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }

    /// Returns whether standard output could not be written, for another reason than that nobody
    /// reads it.
    pub(crate) fn output_failed(&self) -> bool {
        self.output_failed.load(Ordering::Relaxed)
    }

    /// Returns whether nobody reads standard output any more.
    pub(crate) fn reader_gone(&self) -> bool {
        self.reader_gone.load(Ordering::Relaxed)
    }

    /// Leaves the model's prose out, because it is printed elsewhere.
    pub(crate) fn without_prose(self) -> Self {
        self.with(|renderer| renderer.without_prose = true);
        self
    }

    /// Chooses other colours.
    pub(crate) fn set_theme(&self, theme: Theme) {
        *self.theme.lock().unwrap_or_else(PoisonError::into_inner) = theme;
    }

    /// Returns how to draw as the window is now.
    fn style(&self) -> Style {
        let theme = *self.theme.lock().unwrap_or_else(PoisonError::into_inner);
        Style { theme, ..self.look.style(self.sink) }
    }

    pub(crate) fn sink(&self) -> Sink {
        self.sink
    }

    /// Returns whether it can mark what is pasted.
    pub(crate) fn marks_pastes(&self) -> bool {
        self.sink.is_terminal() && !self.look.plain
    }

    pub(crate) fn language(&self) -> Language {
        self.look.language
    }

    /// Prints `update`, and why something went wrong on standard error.
    pub(crate) fn show(&self, update: &Update) {
        self.with(|renderer| {
            if matches!(update, Update::Stored(_)) {
                // The window may have got another size.
                renderer.style = self.style();
            }
            let Drawn { shown, errors } = renderer.update(update);
            self.print(&shown);
            print_error(&errors);
        });
    }

    /// Prints only why something went wrong.
    pub(crate) fn show_errors(&self, update: &Update) {
        if matches!(update, Update::Stored(_)) {
            self.with(|renderer| print_error(&renderer.update(update).errors));
        }
    }

    /// Prints lines that are no part of the session, apart from what is being drawn; known secrets
    /// by name.
    pub(crate) fn say(&self, text: &str) {
        self.say_as_it_is(&masked(text));
    }

    /// Prints lines of a question, or of what it allowed.
    pub(crate) fn say_asked(&self, text: &str) {
        self.say_as_it_is(&asked(text));
    }

    fn say_as_it_is(&self, text: &str) {
        self.with(|renderer| {
            let cleared = renderer.clear();
            self.print(&format!("{}{text}", cleared.shown));
            renderer.others_printed();
        });
    }

    /// Says that commands are not confined, in a word also from now on; to be said again with each turn.
    pub(crate) fn say_unconfined(&self) {
        self.with(|renderer| renderer.without_walls = true);
        self.say(&unconfined(&self.style()));
    }

    /// Says that the turn is being stopped and how to leave at once.
    pub(crate) fn say_stopping(&self) {
        if self.sink.is_terminal() && !self.reader_gone() {
            self.say(&format!("{}\n", Text::Stopping.template(self.look.language)));
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Renderer) -> T) -> T {
        act(&mut self.renderer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn print(&self, text: &str) {
        match (self.sink.print(text), self.sink) {
            (Ok(()), _) => {}
            (Err(error), Sink::Output) => self.output_ended(error),
            // There is no other place to say it.
            (Err(_), Sink::Error) => self.output_ended(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Prints on standard error; there is no other place to say that it failed.
pub(crate) fn print_error(text: &str) {
    let _ = Sink::Error.print(text);
}

/// Throws away what was typed before a question stood there: it is no answer to it.
pub(crate) fn forget_typed() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}
