//! Keys that answer a question, kept apart from keys that were meant for something else. Pure: the
//! time is given.
//!
//! A key answers only if the question was on the screen for a while before it, nothing was typed
//! meanwhile, and nothing follows it: what was typed ahead, a paste and a held key are none of them an
//! answer. What was typed while the question stood there goes on in the draft.

use std::time::{Duration, Instant};

use super::keyboard::{KeyCode, KeyEvent, KeyModifiers};

/// How long nothing may have been typed before a key that answers: a person who types pauses less.
const QUIET_BEFORE: Duration = Duration::from_millis(300);
/// How long nothing may follow it: the keys of a paste and of a held key come closer together.
const QUIET_AFTER: Duration = Duration::from_millis(150);

/// Since when a question stands on the screen with nothing typed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QuietSince(Option<Instant>);

impl QuietSince {
    /// Takes in that it is on the screen, written out by `now`.
    pub(crate) fn shown(&mut self, now: Instant) {
        self.0.get_or_insert(now);
    }

    /// Takes in that something else has the screen.
    pub(crate) fn hidden(&mut self) {
        self.0 = None;
    }

    /// Takes in that something was typed at `now`, and returns whether it was quiet for long enough
    /// before it. What was typed before anything was shown comes here with the time when it came.
    pub(crate) fn typed(&mut self, now: Instant) -> bool {
        let Some(since) = &mut self.0 else { return false };
        let is_quiet = now.saturating_duration_since(*since) >= QUIET_BEFORE;
        *since = now.max(*since);
        is_quiet
    }
}

/// What stands between the keyboard and the answers `C` of a question.
#[derive(Debug)]
pub(crate) struct Guard<C> {
    quiet_since: QuietSince,
    pressed: Option<Pressed<C>>,
}

/// A key that answers unless another one follows.
#[derive(Debug, Clone, Copy)]
struct Pressed<C> {
    choice: C,
    letter: Option<char>,
    since: Instant,
}

impl<C: Copy> Guard<C> {
    /// Returns the guard of a question that nobody has seen.
    pub(crate) fn new() -> Self {
        Self { quiet_since: QuietSince::default(), pressed: None }
    }

    /// Takes in that the question is on the screen, written out by `now`.
    pub(crate) fn shown(&mut self, now: Instant) {
        self.quiet_since.shown(now);
    }

    /// Takes in that something else has the screen: a key that was pressed is no answer any more.
    pub(crate) fn hidden(&mut self) {
        self.quiet_since.hidden();
        self.pressed = None;
    }

    /// Takes in a key, which means `choice` if it is an answer, and returns the letters that were
    /// meant for the draft.
    pub(crate) fn press(&mut self, key: KeyEvent, choice: Option<C>, now: Instant) -> String {
        let is_quiet = self.quiet_since.typed(now);
        let plain = key.modifiers.is_empty() || key.modifiers == KeyModifiers::SHIFT;
        let letter = match key.code {
            KeyCode::Char(letter) if plain => Some(letter),
            _ => None,
        };
        let mut typed = self.take_back();
        match choice.filter(|_| is_quiet && plain && typed.is_empty()) {
            Some(choice) => self.pressed = Some(Pressed { choice, letter, since: now }),
            None => typed.extend(letter),
        }
        typed
    }

    /// Takes in a pasted block, which is no answer, and returns what goes on in the draft.
    pub(crate) fn paste(&mut self, text: &str, now: Instant) -> String {
        self.quiet_since.typed(now);
        self.take_back() + text
    }

    /// Returns when a pressed key becomes an answer.
    pub(crate) fn due(&self) -> Option<Instant> {
        Some(self.pressed.as_ref()?.since + QUIET_AFTER)
    }

    /// Returns the answer if a key was pressed and nothing followed it.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<C> {
        let is_due = self.due().is_some_and(|due| now >= due);
        self.pressed.take_if(|_| is_due).map(|pressed| pressed.choice)
    }

    fn take_back(&mut self) -> String {
        self.pressed.take().and_then(|pressed| pressed.letter).into_iter().collect()
    }
}
