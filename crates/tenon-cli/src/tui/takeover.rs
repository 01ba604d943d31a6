//! The terminal taken over and given back: raw mode, bracketed paste, keys told apart. Given back
//! when the guard is dropped, which a panic that ends the session does, too, and when a signal ends
//! the program.
//!
//! A panic that somebody catches ends nothing: what it says is kept for the session to show.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::{self, Write},
    panic::PanicHookInfo,
    sync::{Mutex, MutexGuard, Once, PoisonError},
    thread::{self, ThreadId},
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tenon_model::visible;

use crate::masked::masked;

/// Bracketed paste, and the first flag of the kitty keyboard protocol, by which Shift-Enter and
/// Esc are told apart from others. Terminals without them ignore both.
const TAKE: &str = "\u{1b}[?2004h\u{1b}[>1u";
/// The same for a terminal that has the flag on its stack already.
const TAKE_AGAIN: &str = "\u{1b}[?2004h\u{1b}[=1u";
/// The same back, no focus events, the cursor shown, rows that wrap, the end of a drawing that was cut short.
const GIVE_BACK: &str =
    "\u{1b}[?2026l\u{1b}[<1u\u{1b}[?2004l\u{1b}[?1004l\u{1b}[?7h\u{1b}[?25h\u{1b}[0m";
/// The screen that has no scrollback, for the pager.
const OTHER_SCREEN: &str = "\u{1b}[?1049h\u{1b}[H";
const MAIN_SCREEN: &str = "\u{1b}[?1049l";

/// Panics that are kept until the session shows them: each has its own result besides.
const PANICS_MAX: usize = 16;

/// What is known of the terminal. Locked over the whole of taking it and of giving it back, so that
/// neither comes into the midst of the other.
static STATE: Mutex<State> = Mutex::new(State {
    ours: None,
    shows_other: false,
    panics: Vec::new(),
    has_panicked: false,
    then: String::new(),
});

struct State {
    /// How it was before, and the thread that has it, while it is ours.
    ours: Option<(Termios, ThreadId)>,
    /// Whether the pager's screen is shown.
    shows_other: bool,
    /// What panics said that nobody was shown.
    panics: Vec<String>,
    /// Whether one of them was in the thread that has the terminal.
    has_panicked: bool,
    /// What is said behind a panic that ends the session.
    then: String,
}

/// The terminal while it is ours.
#[derive(Debug)]
pub(crate) struct Takeover(());

impl Takeover {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If it refuses raw mode.
    pub(crate) fn begin() -> io::Result<Self> {
        let mut state = state();
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        state.ours = Some((before, thread::current().id()));
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        write(TAKE)?;
        Ok(Self(()))
    }

    /// Takes the terminal over again, after the shell had it while the program was stopped.
    pub(crate) fn again(&self) -> io::Result<()> {
        let mut raw = tcgetattr(io::stdin())?;
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        write(TAKE_AGAIN)
    }

    /// Shows the screen without scrollback until [`Self::main_screen`].
    pub(crate) fn other_screen(&self) -> io::Result<()> {
        state().shows_other = true;
        write(OTHER_SCREEN)
    }

    /// Goes back to the screen of before.
    pub(crate) fn main_screen(&self) -> io::Result<()> {
        state().shows_other = false;
        write(MAIN_SCREEN)
    }
}

impl Drop for Takeover {
    fn drop(&mut self) {
        give_back();
        tell_panics();
    }
}

/// Returns whether the terminal is ours: a second panic within another may have given it back.
pub(crate) fn is_ours() -> bool {
    state().ours.is_some()
}

/// Returns what panics said since this was asked last; the session goes on, so they were caught.
pub(crate) fn take_panics() -> Vec<String> {
    let mut state = state();
    state.has_panicked = false;
    std::mem::take(&mut state.panics)
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the terminal back if it is ours.
fn give_back() {
    let mut state = state();
    let Some((before, _)) = state.ours.take() else { return };
    // A terminal that is gone needs nothing back.
    if std::mem::take(&mut state.shows_other) {
        let _ = write(MAIN_SCREEN);
    }
    let _ = write(GIVE_BACK);
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
}

/// Tells panics that nobody was shown, now that they can be read.
fn tell_panics() {
    let panics = take_panics();
    for panic in &panics {
        let _ = writeln!(io::stderr(), "\n{}", visible(&masked(panic.as_str())));
    }
    if !panics.is_empty() && thread::panicking() {
        let _ = writeln!(io::stderr(), "{}", state().then);
    }
}

/// Keeps what a panic says while the terminal is ours. One that nobody catches drops [`Takeover`],
/// which then tells it, and says `then`.
pub(crate) fn keep_panics(then: String) {
    static HOOK: Once = Once::new();
    state().then = then;
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !keep(panic) {
                previous(panic);
            }
        }));
    });
}

/// Keeps what a panic says, and returns whether the terminal is ours.
fn keep(panic: &PanicHookInfo<'_>) -> bool {
    let this = thread::current();
    let mut state = state();
    let Some((_, owner)) = &state.ours else { return false };
    let is_owners = *owner == this.id();
    let is_second = is_owners && std::mem::replace(&mut state.has_panicked, is_owners);
    if state.panics.len() < PANICS_MAX {
        let mut said = format!("thread '{}' {panic}", this.name().unwrap_or("<unnamed>"));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            said.push_str(&format!("\nstack backtrace:\n{trace}"));
        }
        state.panics.push(said);
    }
    drop(state);
    // One while another is unwinding ends the program at once, and drops nothing.
    if is_second {
        give_back();
        tell_panics();
    }
    true
}

/// Writes `text` to the terminal at once.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
