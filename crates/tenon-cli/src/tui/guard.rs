//! Keys that answer a question, kept apart from keys that were meant for something else. Pure: the
//! time is given.
//!
//! A key answers only if the question was on the screen for a while before it, nothing was typed
//! meanwhile, and nothing follows it: what was typed ahead, a paste and a held key are none of them an
//! answer. What was typed while the question stood there goes on in the draft, and while there is a
//! draft, everything does: no letter of a word answers before Esc said that the writing is over.

use std::time::{Duration, Instant};

use super::keyboard::{KeyCode, KeyEvent, KeyModifiers};

/// How long nothing may have been typed before an Enter that takes something out of a list: a held key
/// repeats sooner.
const QUIET_BEFORE_ENTER: Duration = Duration::from_millis(300);
/// How long nothing may have been typed before a key that answers: who begins to write as the question
/// comes up has seen it by then.
const QUIET_BEFORE: Duration = Duration::from_secs(1);
/// How long nothing may follow it: the keys of a paste and of a held key come closer together.
const QUIET_AFTER: Duration = Duration::from_millis(150);
/// How long nothing may follow it if the person was writing: the next letter of a word comes sooner.
const QUIET_AFTER_WRITING: Duration = Duration::from_secs(1);
/// How long after a key for the draft a person is taken to be writing, also if the draft is empty: the
/// next message may follow one that was sent.
const WRITES_ON: Duration = Duration::from_secs(5);

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

    fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Takes in an Enter at `now`, and returns whether it was quiet for long enough before it to take
    /// something out of a list.
    pub(crate) fn entered(&mut self, now: Instant) -> bool {
        self.typed(now, QUIET_BEFORE_ENTER)
    }

    /// Takes in that something was typed at `now`, and returns whether it was quiet for so long before
    /// it. What was typed before anything was shown comes here with the time when it came.
    fn typed(&mut self, now: Instant, quiet: Duration) -> bool {
        let Some(since) = &mut self.0 else { return false };
        let is_quiet = now.saturating_duration_since(*since) >= quiet;
        *since = now.max(*since);
        is_quiet
    }
}

/// What a person is writing while a question comes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    /// Nothing.
    Nothing,
    /// There is no draft, but a key was for it a moment ago.
    Lately,
    /// There is a draft: it gets what is typed until Esc.
    Draft,
}

impl Writing {
    /// Returns what is written at `now` without a draft, if the last key for one came at `wrote`.
    pub(crate) fn at(now: Instant, wrote: Option<Instant>) -> Self {
        match wrote {
            Some(wrote) if now.saturating_duration_since(wrote) < WRITES_ON => Self::Lately,
            _ => Self::Nothing,
        }
    }
}

/// What stands between the keyboard and the answers `C` of a question.
#[derive(Debug)]
pub(crate) struct Guard<C> {
    quiet_since: QuietSince,
    /// `None` while nobody has seen the question and there is no draft.
    writing: Option<Writing>,
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
    /// Returns the guard of a question that nobody has seen, and that may come up behind a draft.
    pub(crate) fn new(has_draft: bool) -> Self {
        let writing = has_draft.then_some(Writing::Draft);
        Self { quiet_since: QuietSince::default(), writing, pressed: None }
    }

    /// Takes in that the question is on the screen, written out by `now`, and what was being written
    /// when it came there if there was no draft.
    pub(crate) fn shown(&mut self, now: Instant, writing: Writing) {
        self.quiet_since.shown(now);
        self.writing.get_or_insert(writing);
    }

    /// Returns whether letters go on in the draft, and Esc makes keys answers.
    pub(crate) fn is_for_draft(&self) -> bool {
        self.writing == Some(Writing::Draft)
    }

    /// Takes in that something else has the screen: a key that was pressed is no answer any more.
    pub(crate) fn hidden(&mut self) {
        self.quiet_since.hidden();
        self.pressed = None;
    }

    /// Takes in a key, which means `choice` if it is an answer, and returns the letters that were
    /// meant for the draft.
    pub(crate) fn press(&mut self, key: KeyEvent, choice: Option<C>, now: Instant) -> String {
        if self.is_for_draft() && key.code == KeyCode::Esc {
            if self.quiet_since.is_shown() {
                self.writing = Some(Writing::Lately);
            }
            return String::new();
        }
        let is_quiet = self.quiet_since.typed(now, QUIET_BEFORE) && !self.is_for_draft();
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
        self.goes_on(typed)
    }

    /// Takes in a pasted block, which is no answer, and returns what goes on in the draft.
    pub(crate) fn paste(&mut self, text: &str, now: Instant) -> String {
        self.quiet_since.typed(now, QUIET_BEFORE);
        let text = self.take_back() + text;
        self.goes_on(text)
    }

    /// Returns when a pressed key becomes an answer.
    pub(crate) fn due(&self) -> Option<Instant> {
        let quiet = match self.writing {
            None | Some(Writing::Nothing) => QUIET_AFTER,
            Some(Writing::Lately | Writing::Draft) => QUIET_AFTER_WRITING,
        };
        Some(self.pressed.as_ref()?.since + quiet)
    }

    /// Returns the answer if a key was pressed and nothing followed it.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<C> {
        let is_due = self.due().is_some_and(|due| now >= due);
        self.pressed.take_if(|_| is_due).map(|pressed| pressed.choice)
    }

    /// Returns what goes on in the draft, and takes in that there is one then.
    fn goes_on(&mut self, typed: String) -> String {
        if !typed.is_empty() {
            self.writing = Some(Writing::Draft);
        }
        typed
    }

    fn take_back(&mut self) -> String {
        self.pressed.take().and_then(|pressed| pressed.letter).into_iter().collect()
    }
}
