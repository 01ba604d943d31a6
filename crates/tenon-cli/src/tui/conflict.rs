//! The question what is done about files that a person changed since the calls that are taken back.
//! Pure: the time is given.

use std::time::Instant;

use tenon_sandbox::Conflicts;

use super::{
    approval::draft_first,
    guard::{Guard, Writing},
    keyboard::{KeyCode, KeyEvent},
    line::{Line, Wrap},
};
use crate::{
    past::{self, Conflict},
    render::Meaning,
    texts::{Language, Text},
};

/// Files that are named; more are counted.
const FILES_SHOWN_MAX: usize = 10;

/// Files that were changed since, and the keys that say what is done about them.
#[derive(Debug)]
pub(crate) struct ConflictQuestion {
    found: Vec<Conflict>,
    guard: Guard<Choice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Keep,
    Overwrite,
    Nothing,
}

impl ConflictQuestion {
    /// Returns the question as nobody has seen it.
    pub(crate) fn new(found: Vec<Conflict>, has_draft: bool) -> Self {
        Self { found, guard: Guard::new(has_draft) }
    }

    /// Takes in that it is on the screen, written out by `now`.
    pub(crate) fn shown(&mut self, now: Instant, writing: Writing) {
        self.guard.shown(now, writing);
    }

    /// Takes in that something else has the screen.
    pub(crate) fn hidden(&mut self) {
        self.guard.hidden();
    }

    /// Takes in a key, and returns the letters that were meant for the draft.
    pub(crate) fn press(&mut self, key: KeyEvent, now: Instant) -> String {
        let choice = match key.code {
            KeyCode::Char('k' | 'K') => Some(Choice::Keep),
            KeyCode::Char('o' | 'O') => {
                past::can_overwrite(&self.found).then_some(Choice::Overwrite)
            }
            KeyCode::Char('n' | 'N') | KeyCode::Esc => Some(Choice::Nothing),
            _ => None,
        };
        self.guard.press(key, choice, now)
    }

    /// Takes in a pasted block, and returns what goes on in the draft.
    pub(crate) fn paste(&mut self, text: &str, now: Instant) -> String {
        self.guard.paste(text, now)
    }

    /// Returns when a pressed key becomes an answer.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.guard.due()
    }

    /// Returns the answer if there is one: what is done, or that nothing is.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<Option<Conflicts>> {
        Some(match self.guard.settle(now)? {
            Choice::Keep => Some(Conflicts::Keep),
            Choice::Overwrite => {
                let named = self.found.iter().map(|conflict| conflict.path.clone());
                Some(Conflicts::Overwrite(named.collect()))
            }
            Choice::Nothing => None,
        })
    }

    /// Draws the question for a screen of `columns`.
    pub(crate) fn draw(&self, columns: usize, language: Language) -> Vec<Line> {
        let none = Line::default();
        let head = Line::of(Meaning::Warning, Text::ConflictHead.template(language));
        let mut rows = head.wrapped_uncut(columns, Wrap::Words, &none, &none);
        let lead = Line::of(Meaning::Warning, "  ▌ ");
        let shown = self.found.get(..FILES_SHOWN_MAX).unwrap_or(&self.found);
        for line in past::listed_asked(shown, language).lines() {
            let line = Line::of(Meaning::Name, line.trim_start());
            rows.extend(line.wrapped_uncut(columns, Wrap::Anywhere, &lead, &lead));
        }
        let more = self.found.len() - shown.len();
        if more > 0 {
            let said = Text::MoreFiles.say(language, &[("n", &more)]);
            rows.push(Line::of(Meaning::Warning, &format!("  ▌ {said}")).cut(columns));
        }
        if self.guard.is_for_draft() {
            rows.extend(draft_first(columns, language));
            return rows;
        }
        let choices =
            [("k", Text::ChoiceKeepMine), ("o", Text::ChoiceOverwrite), ("n", Text::ChoiceNothing)];
        let can_overwrite = past::can_overwrite(&self.found);
        for (key, text) in choices.into_iter().filter(|(key, _)| can_overwrite || *key != "o") {
            let mut lead = Line::plain("  ");
            lead.push(Meaning::Hint, key);
            lead.push(Meaning::Plain, "  ");
            let said = Line::plain(text.template(language));
            rows.extend(said.wrapped_uncut(columns, Wrap::Words, &lead, &Line::plain("     ")));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenon_sandbox::ConflictReason;

    use super::*;

    fn question(start: Instant) -> ConflictQuestion {
        let conflict =
            |path: &str| Conflict { path: path.into(), reason: ConflictReason::Changed, by: None };
        let found = vec![conflict("a.txt"), conflict("文档/说明.md")];
        let mut question = ConflictQuestion::new(found, false);
        question.shown(start, Writing::Nothing);
        question
    }

    /// Presses keys at times in milliseconds and returns the answer and what went to the draft.
    fn check(keys: &[(u64, KeyCode)], answer: Option<Option<Conflicts>>, draft: &str) {
        let start = Instant::now();
        let mut question = question(start);
        let (mut answered, mut typed) = (None, String::new());
        let last = keys.last().map_or(0, |(ms, _)| *ms) + 10_000;
        for (ms, key) in keys.iter().copied().chain([(last, KeyCode::Other)]) {
            let now = start + Duration::from_millis(ms);
            answered = answered.or_else(|| question.settle(now));
            typed.push_str(&question.press(key.into(), now));
        }
        assert_eq!((answered, typed.as_str()), (answer, draft), "{keys:?}");
    }

    #[test]
    fn a_key_answers_after_a_pause_and_what_is_typed_ahead_or_held_does_not() {
        let key = KeyCode::Char;
        let all = Conflicts::Overwrite(vec!["a.txt".into(), "文档/说明.md".into()]);
        check(&[(1_400, key('k'))], Some(Some(Conflicts::Keep)), "");
        check(&[(1_400, key('o'))], Some(Some(all)), "");
        check(&[(1_400, key('n'))], Some(None), "");
        check(&[(1_400, KeyCode::Esc)], Some(None), "");
        check(&[(100, key('o'))], None, "o");
        check(&[(1_400, key('o')), (1_430, key('k'))], None, "ok");
        check(&[(1_400, KeyCode::Enter), (1_900, KeyCode::Enter)], None, "");
        let held: Vec<_> = (0..50).map(|n| (1_400 + n * 33, key('o'))).collect();
        check(&held, None, &"o".repeat(50));
    }

    #[test]
    fn what_nobody_has_is_not_offered_to_be_put_back() {
        let (start, key) = (Instant::now(), KeyEvent::from(KeyCode::Char('o')));
        let mut question = question(start);
        question.found[0].reason = ConflictReason::NotKept;
        let later = start + Duration::from_secs(2);
        assert_eq!(
            (question.press(key, later).as_str(), question.settle(later + Duration::from_secs(9))),
            ("o", None)
        );
        let rows = question.draw(80, Language::English);
        assert!(!rows.iter().any(|row| row.text().contains("put these back too")));
    }

    #[test]
    fn it_names_the_files_and_fits_a_narrow_screen_in_both_languages() {
        for language in [Language::English, Language::Chinese] {
            let rows = question(Instant::now()).draw(24, language);
            assert!(rows.iter().all(|row| row.width() <= 24));
            let text: String = rows.iter().map(Line::text).collect();
            assert!(text.contains("a.txt") && text.contains("文档/说明.md"), "{text}");
        }
    }
}
