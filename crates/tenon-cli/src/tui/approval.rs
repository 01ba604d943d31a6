//! A question and the keys that answer it. Pure: the time is given.
//!
//! What was typed ahead, a paste and a held key are none of them an answer ([`Guard`]), and Enter
//! never is a yes.

use std::{
    cell::{Cell, RefCell},
    time::Instant,
};

use tenon_agent::{Answer, Leaves, Question};
use tenon_model::written_out;

use super::{
    guard::{Guard, Writing},
    keyboard::{KeyCode, KeyEvent, KeyModifiers},
    line::{Line, Wrap},
    preview::Preview,
    sections::Sections,
};
use crate::{
    question::{folded, is_offered, parts, reason, what},
    render::Meaning,
    texts::{Language, Text},
    would_write::must_be_seen,
};

/// Rows that what is asked keeps beside the keys and their rules.
const KEPT_ROWS: usize = 4;
/// Rows of what would be run; the pager shows all of it.
const SUBJECT_ROWS_MAX: usize = 12;

/// A question that waits.
#[derive(Debug)]
pub(crate) struct Approval {
    pub question: Question,
    /// The file that an answer "always" is written to.
    file: String,
    guard: Guard<Choice>,
    /// What is being written to the model along with a no.
    words: Option<String>,
    /// Whether the rules that a yes for longer would make were on the screen when it was drawn last.
    shows_rules: Cell<bool>,
    /// Whether all that would be done was on the screen when it was drawn last, or all was shown.
    shows_all: Cell<bool>,
    was_shown: bool,
    preview: Preview,
    /// Whether nothing is allowed while rows of that are missing.
    needs_preview: bool,
    /// What was drawn last, and the width that it was drawn for.
    drawn: RefCell<Option<(usize, Sections)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Once,
    Session,
    Always,
    Deny,
    DenyWithWords,
}

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The question still stands; these letters were meant for the draft.
    Stands(String),
    /// It is answered.
    Answered(Answer),
}

impl Approval {
    /// Returns the question as nobody has seen it.
    pub(crate) fn new(question: Question, file: String, has_draft: bool) -> Self {
        let (preview, needs_preview) = (Preview::of(&question), must_be_seen(&question));
        Self {
            question,
            file,
            guard: Guard::new(has_draft),
            words: None,
            shows_rules: Cell::new(true),
            shows_all: Cell::new(true),
            was_shown: false,
            preview,
            needs_preview,
            drawn: RefCell::new(None),
        }
    }

    /// Takes in that it is on the screen, written out by `now`: a key counts no sooner than that allows.
    pub(crate) fn shown(&mut self, now: Instant, writing: Writing) {
        self.guard.shown(now, writing);
    }

    /// Takes in that something else has the screen.
    pub(crate) fn hidden(&mut self) {
        self.guard.hidden();
    }

    /// Takes in that all of it was shown elsewhere.
    pub(crate) fn show(&mut self) {
        self.was_shown = true;
    }

    /// Returns all of what is asked about, for the screen on which everything is shown.
    pub(crate) fn whole(&self, columns: usize, language: Language) -> Vec<Line> {
        self.sections(columns, usize::MAX, language).within(usize::MAX, columns, language).0
    }

    /// Takes in a key.
    pub(crate) fn press(&mut self, key: KeyEvent, now: Instant) -> Outcome {
        if self.words.is_some() {
            return self.press_in_words(key);
        }
        let choice = self.choice(key.code);
        Outcome::Stands(self.guard.press(key, choice, now))
    }

    /// Takes in a pasted block, which is no answer.
    pub(crate) fn paste(&mut self, text: &str, now: Instant) -> Outcome {
        if let Some(words) = &mut self.words {
            words.push_str(&text.replace(['\n', '\r'], " "));
            return Outcome::Stands(String::new());
        }
        Outcome::Stands(self.guard.paste(text, now))
    }

    /// Returns when a pressed key becomes an answer.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.guard.due()
    }

    /// Returns the answer if a key was pressed and nothing followed it.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<Answer> {
        match self.guard.settle(now)? {
            Choice::Once => Some(Answer::Allow),
            Choice::Session => Some(Answer::AllowForSession),
            Choice::Always => Some(Answer::AllowAlways),
            Choice::Deny => Some(Answer::Deny(None)),
            Choice::DenyWithWords => {
                self.words = Some(String::new());
                None
            }
        }
    }

    /// Returns the words that are being written along with a no.
    pub(crate) fn words(&self) -> Option<&str> {
        self.words.as_deref()
    }

    /// Draws the question for a screen of `columns`, in at most `rows_max` rows: what would be done
    /// and the keys stay longest. A rule that is not shown cannot be chosen, and while what would be
    /// done is not shown, nothing is allowed. While a draft gets what is typed, that is said in the place
    /// of the keys.
    pub(crate) fn draw(&self, columns: usize, rows_max: usize, language: Language) -> Vec<Line> {
        let sections = self.drawn_sections(columns, language);
        let is_for_draft = self.words.is_none() && self.guard.is_for_draft();
        let keys = match self.words {
            Some(_) => Vec::new(),
            None if is_for_draft => draft_first(columns, language),
            None => self.choices(columns, language),
        };
        let asked = sections.rows();
        let are_whole = keys.len() + KEPT_ROWS <= rows_max || asked + keys.len() <= rows_max;
        self.shows_rules.set(are_whole && !is_for_draft);
        let short =
            |text: Text| vec![Line::of(Meaning::Hint, text.template(language)).cut(columns)];
        let keys = match are_whole || self.words.is_some() {
            true => keys,
            false if is_for_draft => short(Text::ChoicesWriting),
            false => short(Text::ChoicesShort),
        };
        let room = rows_max.saturating_sub(keys.len());
        let (rows, shows_all) = sections.clone().within(room, columns, language);
        self.shows_all.set((shows_all || self.was_shown) && !self.is_too_long());
        if self.shows_all.get() || self.words.is_some() {
            return [rows, keys].concat();
        }
        let said = if self.is_too_long() { Text::ChoicesTooLong } else { Text::ChoicesUnseen };
        let said = Line::of(Meaning::Hint, said.template(language));
        let none = Line::default();
        let mut keys = if is_for_draft { keys } else { Vec::new() };
        keys.extend(said.wrapped_uncut(columns, Wrap::Words, &none, &none));
        keys.truncate(rows_max.saturating_sub(KEPT_ROWS).max(1));
        let (rows, _) = sections.within(rows_max.saturating_sub(keys.len()), columns, language);
        [rows, keys].concat()
    }

    /// Whether it cannot be allowed, because not even the pager shows all that must be seen.
    fn is_too_long(&self) -> bool {
        self.needs_preview && self.preview.is_too_long()
    }

    /// Returns what is drawn, made anew only for another width: it is drawn with every key.
    fn drawn_sections(&self, columns: usize, language: Language) -> Sections {
        let mut drawn = self.drawn.borrow_mut();
        match &*drawn {
            Some((width, sections)) if *width == columns => sections.clone(),
            _ => {
                let sections = self.sections(columns, SUBJECT_ROWS_MAX, language);
                *drawn = Some((columns, sections.clone()));
                sections
            }
        }
    }

    fn sections(&self, columns: usize, rows_max: usize, language: Language) -> Sections {
        let question = &self.question;
        let none = Line::default();
        let paragraph = |meaning, text: &str| {
            Line::of(meaning, text).wrapped_uncut(columns, Wrap::Words, &none, &none)
        };
        let lead = Line::of(Meaning::Warning, "  ▌ ");
        // A comment that seems to go on in the next row may end there.
        let goes_on = Line::of(Meaning::Warning, "  ┆ ");
        let subject = folded(&question.subject);
        let lines = subject.lines().map(|line| Line::of(Meaning::Name, line));
        let mut subject: Vec<Line> = lines
            .flat_map(|line| line.wrapped_uncut(columns, Wrap::Anywhere, &lead, &goes_on))
            .collect();
        let more = subject.len().saturating_sub(rows_max);
        subject.truncate(rows_max);
        if more > 0 {
            let said = Text::AskMoreRows.say(language, &[("n", &more)]);
            subject.extend(paragraph(Meaning::Warning, &said));
        }
        let mut head = paragraph(Meaning::Warning, &what(question, language));
        if question.is_masked {
            head.extend(paragraph(Meaning::Error, Text::AskMasked.template(language)));
        }
        let (preview, is_preview_whole) = match rows_max {
            usize::MAX => (self.preview.all_rows(columns, language), !self.preview.is_too_long()),
            _ => self.preview.first_rows(columns, language),
        };
        Sections {
            head,
            subject,
            is_cut: more > 0,
            parts: self.parts(columns, language),
            preview,
            is_preview_cut: !is_preview_whole,
            needs_preview: self.needs_preview,
            why: self.why(columns, language),
        }
    }

    fn parts(&self, columns: usize, language: Language) -> Vec<(bool, Vec<Line>)> {
        let wrapped = |(is_asked_about, part): (bool, String)| {
            let meaning = if is_asked_about { Meaning::Warning } else { Meaning::Plain };
            let (lead, rest) = (Line::plain("  "), Line::plain("      "));
            let line = Line::of(meaning, &part);
            (is_asked_about, line.wrapped_uncut(columns, Wrap::Anywhere, &lead, &rest))
        };
        let parts = parts(&self.question, language);
        let said = Line::of(Meaning::Aside, Text::AskParts.template(language));
        let none = Line::default();
        // It says what the mark means, and stays with what is marked.
        let head = (!parts.is_empty())
            .then(|| (true, said.wrapped_uncut(columns, Wrap::Words, &none, &none)));
        head.into_iter().chain(parts.into_iter().map(wrapped)).collect()
    }

    fn why(&self, columns: usize, language: Language) -> Vec<Line> {
        let decision = &self.question.decision;
        let reason = reason(&self.question, language);
        let (reason, rule) = (written_out(&reason), written_out(&decision.rule));
        let values: [(&str, &dyn std::fmt::Display); 2] = [("reason", &reason), ("rule", &rule)];
        let mut said = vec![(Meaning::Plain, Text::AskWhy.say(language, &values))];
        if decision.unconfined {
            said.push((Meaning::Error, Text::AskUnconfined.template(language).to_owned()));
        }
        if let Some(flag) = &decision.flag {
            said.push((
                Meaning::Aside,
                Text::AskFlag.say(language, &[("flag", &written_out(flag))]),
            ));
        }
        let none = Line::default();
        let wrapped = |(meaning, text): &(Meaning, String)| {
            Line::of(*meaning, text).wrapped_uncut(columns, Wrap::Words, &none, &none)
        };
        said.iter().flat_map(wrapped).collect()
    }

    fn choices(&self, columns: usize, language: Language) -> Vec<Line> {
        let rules: Vec<_> =
            self.question.decision.lifted_by.iter().map(ToString::to_string).collect();
        let once = match self.question.decision.leaves {
            Some(Leaves::Host) => Text::ChoiceReach,
            _ if self.question.tool == "time" => Text::ChoiceKeep,
            _ => Text::ChoiceOnce,
        };
        let rules = if rules.is_empty() { self.question.subject.clone() } else { rules.join(", ") };
        let mut choices = vec![("y", once.template(language).to_owned())];
        if is_offered(&Answer::AllowForSession, &self.question) {
            let said = Text::ChoiceSession.say(language, &[("rules", &written_out(&rules))]);
            choices.push(("s", said));
        }
        if let Some(rule) = &self.question.decision.always {
            let rule_text = rule.to_string();
            let text = written_out(&rule_text);
            let values: [(&str, &dyn std::fmt::Display); 3] =
                [("rule", &text), ("setting", &rule.setting()), ("file", &self.file)];
            choices.push(("a", Text::ChoiceAlways.say(language, &values)));
        }
        choices.push(("n", Text::ChoiceDeny.template(language).to_owned()));
        choices.push(("w", Text::ChoiceWords.template(language).to_owned()));
        let rest = Line::plain("     ");
        let mut rows = Vec::new();
        for (key, said) in choices {
            let mut lead = Line::plain("  ");
            lead.push(Meaning::Hint, key);
            lead.push(Meaning::Plain, "  ");
            rows.extend(Line::plain(&said).wrapped_uncut(columns, Wrap::Words, &lead, &rest));
        }
        rows
    }

    fn choice(&self, code: KeyCode) -> Option<Choice> {
        let KeyCode::Char(letter) = code else {
            return (code == KeyCode::Esc).then_some(Choice::Deny);
        };
        let may_allow = (self.shows_all.get() || self.was_shown) && !self.is_too_long();
        let offered =
            |answer| may_allow && self.shows_rules.get() && is_offered(&answer, &self.question);
        match letter.to_ascii_lowercase() {
            'y' if may_allow => Some(Choice::Once),
            's' if offered(Answer::AllowForSession) => Some(Choice::Session),
            'a' if offered(Answer::AllowAlways) => Some(Choice::Always),
            'n' => Some(Choice::Deny),
            'w' => Some(Choice::DenyWithWords),
            _ => None,
        }
    }

    fn press_in_words(&mut self, key: KeyEvent) -> Outcome {
        let Some(words) = &mut self.words else { return Outcome::Stands(String::new()) };
        match key.code {
            KeyCode::Enter => {
                let words = words.trim().to_owned();
                return Outcome::Answered(Answer::Deny((!words.is_empty()).then_some(words)));
            }
            KeyCode::Esc => self.words = None,
            KeyCode::Backspace => drop(words.pop()),
            KeyCode::Char(letter) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
                words.push(letter);
            }
            _ => {}
        }
        Outcome::Stands(String::new())
    }
}

/// Says that the keys are for the draft until Esc.
pub(super) fn draft_first(columns: usize, language: Language) -> Vec<Line> {
    let none = Line::default();
    let said = Line::of(Meaning::Hint, Text::ChoicesWriting.template(language));
    said.wrapped(columns, Wrap::Words, &none, &none)
}

#[cfg(test)]
mod tests;
