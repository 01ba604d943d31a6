//! The composer: keys in, text and what is to be done with it out. It knows no terminal and
//! starts nothing; what is around it acts.

pub(crate) mod complete;
pub(crate) mod files;
mod fuzzy;
pub(crate) mod history;
mod text;

use self::{
    complete::Offer,
    history::{History, Search},
    text::{DraftText, Layout, Motion},
};
use super::keyboard::{KeyCode, KeyEvent, KeyModifiers};
use crate::texts::{Language, Text};

/// What is being written.
#[derive(Default)]
pub(crate) struct Composer {
    draft: DraftText,
    history: History,
    search: Option<Search>,
    offer: Option<Offer>,
    /// The text for which nothing more is to be offered.
    dismissed: Option<String>,
    language: Language,
    /// The width that moves up and down reckon with.
    columns: usize,
}

/// What a key asks of whoever holds the composer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing more: the composer did it.
    Nothing,
    /// The text is to be sent.
    Send(String),
    /// The text is to be sent after the turn.
    SendLater(String),
    /// There is no older entry above the first row.
    Above,
    /// The key means nothing here.
    Unknown,
}

impl Composer {
    pub(crate) fn new(history: History, language: Language) -> Self {
        Self { history, language, columns: 80, ..Self::default() }
    }

    pub(crate) fn text(&self) -> &str {
        self.draft.text()
    }

    pub(crate) fn caret(&self) -> usize {
        self.draft.caret()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.draft.is_empty()
    }

    pub(crate) fn offer(&self) -> Option<&Offer> {
        self.offer.as_ref()
    }

    /// Takes in what is offered for the word at the caret. What was chosen stays chosen while it
    /// is offered.
    pub(crate) fn set_offer(&mut self, offer: Option<Offer>) {
        let chosen = self.offer.as_ref().and_then(Offer::text).map(str::to_owned);
        let dismissed = self.dismissed.as_deref() == Some(self.draft.text());
        self.offer = offer.filter(|offer| !offer.items.is_empty() && !dismissed);
        if let (Some(offer), Some(chosen)) = (&mut self.offer, chosen) {
            offer.chosen = offer.items.iter().position(|item| item.text == chosen).unwrap_or(0);
        }
    }

    /// Returns the words of the search and what it found, if one is going on.
    pub(crate) fn search(&self) -> Option<(&str, &str)> {
        let search = self.search.as_ref()?;
        let found = search.found.and_then(|place| self.history.entry(place));
        Some((&search.words, found.unwrap_or_default()))
    }

    /// Returns the rows on a screen of `columns`.
    pub(crate) fn layout(&self, columns: usize) -> Layout {
        self.draft.layout(columns)
    }

    /// Takes in the width on which it is shown.
    pub(crate) fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Puts `text` in place of the draft.
    pub(crate) fn set(&mut self, text: &str) {
        self.draft.set(text);
        self.history.leave();
        self.offer = None;
    }

    /// Returns the whole draft, folded blocks included.
    pub(crate) fn whole(&self) -> String {
        self.draft.whole()
    }

    /// Empties it; returns whether there was anything.
    pub(crate) fn clear(&mut self) -> bool {
        let was_used = !self.is_empty() || self.search.is_some();
        self.set("");
        self.search = None;
        was_used
    }

    /// Keeps what was sent.
    pub(crate) fn remember(&mut self, prompt: &str) {
        self.history.remember(prompt);
    }

    pub(crate) fn paste(&mut self, text: &str) {
        let language = self.language;
        self.search = None;
        self.draft.paste(text, |number, lines| {
            Text::PasteFolded.say(language, &[("n", &number), ("lines", &lines)])
        });
        self.history.leave();
    }

    /// Adds letters that were typed while something else was shown.
    pub(crate) fn type_in(&mut self, letters: &str) {
        if !letters.is_empty() {
            self.paste(letters);
        }
    }

    /// Does what `key` says.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Asked {
        if self.search.is_some() {
            return self.press_in_search(key);
        }
        if self.offer.is_some()
            && let Some(asked) = self.press_in_offer(key)
        {
            return asked;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter if key.modifiers.contains(KeyModifiers::SHIFT) => self.insert("\n"),
            KeyCode::Enter => return self.enter(alt),
            KeyCode::Up => return self.vertically(true),
            KeyCode::Down => return self.vertically(false),
            KeyCode::Char(letter) if control => return self.control(letter),
            KeyCode::Char(letter) if alt => return self.alt(letter),
            KeyCode::Char(letter) => self.insert(letter.encode_utf8(&mut [0; 4])),
            KeyCode::Left if control || alt => self.draft.go(Motion::WordLeft),
            KeyCode::Right if control || alt => self.draft.go(Motion::WordRight),
            KeyCode::Left => self.draft.go(Motion::Left),
            KeyCode::Right => self.draft.go(Motion::Right),
            KeyCode::Home => self.draft.go(Motion::LineStart),
            KeyCode::End => self.draft.go(Motion::LineEnd),
            KeyCode::Backspace if control || alt => self.kill(Motion::WordLeft),
            KeyCode::Backspace => self.delete(Motion::Left),
            KeyCode::Delete if control || alt => self.kill(Motion::WordRight),
            KeyCode::Delete => self.delete(Motion::Right),
            _ => return Asked::Unknown,
        }
        Asked::Nothing
    }

    fn control(&mut self, letter: char) -> Asked {
        match letter.to_ascii_lowercase() {
            'a' => self.draft.go(Motion::LineStart),
            'e' => self.draft.go(Motion::LineEnd),
            'b' => self.draft.go(Motion::Left),
            'f' => self.draft.go(Motion::Right),
            'h' => self.delete(Motion::Left),
            'd' if !self.is_empty() => self.delete(Motion::Right),
            'j' => self.insert("\n"),
            'k' => self.kill(Motion::LineEnd),
            'u' => self.kill(Motion::LineStart),
            'w' => self.kill(Motion::WordLeft),
            'y' => self.draft.yank(),
            'p' => return self.vertically(true),
            'n' => return self.vertically(false),
            'r' => self.search = Some(Search::default()),
            _ => return Asked::Unknown,
        }
        Asked::Nothing
    }

    fn alt(&mut self, letter: char) -> Asked {
        match letter.to_ascii_lowercase() {
            'b' => self.draft.go(Motion::WordLeft),
            'f' => self.draft.go(Motion::WordRight),
            'd' => self.kill(Motion::WordRight),
            _ => return Asked::Unknown,
        }
        Asked::Nothing
    }

    /// A backslash before the caret goes on in the next line; otherwise the text is sent.
    fn enter(&mut self, later: bool) -> Asked {
        let before = self.draft.text().get(..self.draft.caret()).unwrap_or_default();
        if before.ends_with('\\') {
            self.draft.delete(Motion::Left);
            self.insert("\n");
            return Asked::Nothing;
        }
        if self.draft.text().trim().is_empty() {
            return Asked::Nothing;
        }
        self.offer = None;
        self.history.leave();
        let text = self.draft.take();
        if later { Asked::SendLater(text) } else { Asked::Send(text) }
    }

    fn vertically(&mut self, up: bool) -> Asked {
        if self.draft.go_vertically(up, self.columns) {
            return Asked::Nothing;
        }
        if up && self.is_empty() && !self.history.is_shown() {
            return Asked::Above;
        }
        self.older(up);
        Asked::Nothing
    }

    /// Shows the next older or newer entry of the history.
    pub(crate) fn older(&mut self, older: bool) {
        if let Some(entry) = self.history.step(older, self.draft.text()) {
            self.draft.set(&entry);
        }
    }

    fn press_in_offer(&mut self, key: KeyEvent) -> Option<Asked> {
        let offer = self.offer.as_mut()?;
        match key.code {
            KeyCode::Up => offer.step(false),
            KeyCode::Down => offer.step(true),
            KeyCode::Esc => {
                self.offer = None;
                self.dismissed = Some(self.draft.text().to_owned());
            }
            KeyCode::Tab => self.take_offer(),
            KeyCode::Enter if key.modifiers.is_empty() => {
                let word = self.draft.text().get(offer.start..self.draft.caret());
                let sends = offer.sends;
                if word == offer.text() {
                    return None;
                }
                self.take_offer();
                if sends {
                    self.offer = None;
                    return Some(self.enter(false));
                }
            }
            _ => return None,
        }
        Some(Asked::Nothing)
    }

    fn take_offer(&mut self) {
        let Some(offer) = self.offer.take() else { return };
        if let Some(text) = offer.text() {
            // A folder is gone into; anything else is done with.
            let space = if text.ends_with('/') { "" } else { " " };
            self.draft.replace_from(offer.start, &format!("{text}{space}"));
        }
    }

    fn press_in_search(&mut self, key: KeyEvent) -> Asked {
        let Some(search) = &mut self.search else { return Asked::Nothing };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('r') if control => self.history.find(search, true),
            KeyCode::Char('g' | 'c') if control => self.search = None,
            KeyCode::Esc => self.search = None,
            KeyCode::Char(letter) if !control => {
                search.words.push(letter);
                self.history.find(search, false);
            }
            KeyCode::Backspace => {
                search.words.pop();
                search.found = None;
                self.history.find(search, false);
            }
            _ => {
                let found = search.found.and_then(|place| self.history.entry(place));
                if let Some(found) = found {
                    self.draft.set(found);
                }
                self.search = None;
            }
        }
        Asked::Nothing
    }

    fn insert(&mut self, text: &str) {
        self.draft.insert(text);
        self.history.leave();
    }

    fn delete(&mut self, motion: Motion) {
        self.draft.delete(motion);
        self.history.leave();
    }

    fn kill(&mut self, motion: Motion) {
        self.draft.kill(motion);
        self.history.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(composer: &mut Composer, keys: &str) -> Asked {
        let press = |key: char| match key {
            '\r' => KeyEvent::from(KeyCode::Enter),
            '\t' => KeyEvent::from(KeyCode::Tab),
            '\u{8}' => KeyEvent::from(KeyCode::Backspace),
            '↑' => KeyEvent::from(KeyCode::Up),
            c @ '\u{1}'..='\u{1a}' => {
                let letter = char::from(b'a' - 1 + c as u8);
                KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
            }
            c => KeyEvent::from(KeyCode::Char(c)),
        };
        keys.chars().map(|key| composer.press(press(key))).last().unwrap_or(Asked::Nothing)
    }

    #[test]
    fn enter_sends_and_a_backslash_or_ctrl_j_goes_on() {
        let mut composer = Composer::new(History::default(), Language::English);
        assert_eq!(typed(&mut composer, "  \r"), Asked::Nothing);
        composer.clear();
        assert_eq!(
            typed(&mut composer, "one\\\rtwo\nthree\r"),
            Asked::Send("one\ntwo\nthree".into())
        );
        typed(&mut composer, "later");
        let alt_enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
        assert_eq!(composer.press(alt_enter), Asked::SendLater("later".into()));
        typed(&mut composer, "a");
        let shift_enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::SHIFT);
        assert_eq!(composer.press(shift_enter), Asked::Nothing);
        assert_eq!(composer.text(), "a\n");
    }

    #[test]
    fn ctrl_r_finds_and_enter_takes_it_without_sending() {
        let mut composer = Composer::new(History::default(), Language::English);
        composer.remember("cargo test");
        composer.remember("git log");
        typed(&mut composer, "\u{12}car");
        assert_eq!(composer.search(), Some(("car", "cargo test")));
        assert_eq!(typed(&mut composer, "\r"), Asked::Nothing);
        assert_eq!(composer.text(), "cargo test");
    }

    #[test]
    fn what_is_offered_is_taken_by_tab_and_a_command_by_enter() {
        let mut composer = Composer::new(History::default(), Language::English);
        let item = |text: &str| complete::Item { text: text.into(), about: "" };
        typed(&mut composer, "see @ma");
        composer.set_offer(Some(Offer {
            items: vec![item("@src/main.rs")],
            chosen: 0,
            start: 4,
            sends: false,
        }));
        typed(&mut composer, "\t");
        assert_eq!(composer.text(), "see @src/main.rs ");
        composer.clear();
        typed(&mut composer, "/qu");
        composer.set_offer(Some(Offer {
            items: vec![item("/quit")],
            chosen: 0,
            start: 0,
            sends: true,
        }));
        assert_eq!(typed(&mut composer, "\r"), Asked::Send("/quit ".into()));
    }

    #[test]
    fn up_on_an_empty_draft_asks_for_what_is_above_and_then_for_older_prompts() {
        let mut composer = Composer::new(History::default(), Language::English);
        composer.remember("old");
        assert_eq!(typed(&mut composer, "↑"), Asked::Above);
        composer.older(true);
        assert_eq!(composer.text(), "old");
        typed(&mut composer, "\u{15}new↑");
        assert_eq!(composer.text(), "old", "the draft is kept while older prompts are shown");
        composer.older(false);
        assert_eq!(composer.text(), "new");
    }
}
