//! The terminal taken over and given back: raw mode, bracketed paste, keys told apart. Given back
//! when the guard is dropped, when a signal ends the program, and when it panics.

use std::{
    io::{self, Write},
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

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

/// How the terminal was before, while it is ours: the panic hook gives it back.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
/// Whether the pager's screen is shown.
static OTHER: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours.
#[derive(Debug)]
pub(crate) struct Takeover(());

impl Takeover {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If it refuses raw mode.
    pub(crate) fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
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
        OTHER.store(true, Ordering::SeqCst);
        write(OTHER_SCREEN)
    }

    /// Goes back to the screen of before.
    pub(crate) fn main_screen(&self) -> io::Result<()> {
        OTHER.store(false, Ordering::SeqCst);
        write(MAIN_SCREEN)
    }
}

impl Drop for Takeover {
    fn drop(&mut self) {
        give_back();
    }
}

/// Returns whether the terminal is ours: a panic that somebody caught has given it back.
pub(crate) fn is_ours() -> bool {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Gives the terminal back if it is ours, and returns whether it was.
fn give_back() -> bool {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(before) = before else { return false };
    // A terminal that is gone needs nothing back.
    if OTHER.swap(false, Ordering::SeqCst) {
        let _ = write(MAIN_SCREEN);
    }
    let _ = write(GIVE_BACK);
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    true
}

/// Makes a panic give the terminal back before it is told, and say `then` after it.
pub(crate) fn give_back_on_panic(then: String) {
    static THEN: Mutex<String> = Mutex::new(String::new());
    static HOOK: Once = Once::new();
    *THEN.lock().unwrap_or_else(PoisonError::into_inner) = then;
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let ours = give_back();
            previous(panic);
            if ours {
                let then = THEN.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = writeln!(io::stderr(), "{then}");
            }
        }));
    });
}

/// Writes `text` to the terminal at once.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
