//! A question and the keys that answer it. Pure: the time is given.
//!
//! What was typed ahead, a paste and a held key are none of them an answer ([`Guard`]), and Enter
//! never is a yes.

use std::time::Instant;

use tenon_agent::{Answer, Leaves, Question};

use super::{
    guard::Guard,
    keyboard::{KeyCode, KeyEvent, KeyModifiers},
    line::{Line, Wrap},
    preview,
};
use crate::{
    question::{is_offered, what},
    render::Meaning,
    texts::{Language, Text},
};

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
    /// Returns the question as it is first seen at `now`: a key counts no sooner than that allows.
    pub(crate) fn new(question: Question, file: String, now: Instant) -> Self {
        Self { question, file, guard: Guard::new(now), words: None }
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

    /// Draws the question for a screen of `columns`.
    pub(crate) fn draw(&self, columns: usize, language: Language) -> Vec<Line> {
        let question = &self.question;
        let decision = &question.decision;
        let head = what(question, language);
        let mut rows = vec![];
        let mut paragraph = |meaning, text: &str, lead: &str| {
            let lead = Line::plain(lead);
            rows.extend(Line::of(meaning, text).wrapped(columns, Wrap::Words, &lead, &lead));
        };
        paragraph(Meaning::Warning, &head, "");
        let mut subject = Vec::new();
        let lead = Line::of(Meaning::Warning, "  ▌ ");
        for line in question.subject.lines() {
            subject.extend(Line::of(Meaning::Name, line).wrapped(
                columns,
                Wrap::Anywhere,
                &lead,
                &lead,
            ));
        }
        let more = subject.len().saturating_sub(SUBJECT_ROWS_MAX);
        subject.truncate(SUBJECT_ROWS_MAX);
        let mut after = Vec::new();
        if more > 0 {
            after.push((Meaning::Warning, Text::AskMoreRows.say(language, &[("n", &more)])));
        }
        let reason = decision.reason.trim_end_matches('.');
        let values: [(&str, &dyn std::fmt::Display); 2] =
            [("reason", &reason), ("rule", &decision.rule)];
        after.push((Meaning::Plain, Text::AskWhy.say(language, &values)));
        if decision.unconfined {
            after.push((Meaning::Error, Text::AskUnconfined.template(language).to_owned()));
        }
        if let Some(flag) = &decision.flag {
            after.push((Meaning::Aside, Text::AskFlag.say(language, &[("flag", flag)])));
        }
        rows.extend(subject);
        rows.extend(preview::draw(&question.arguments, &question.subject, columns, language));
        let none = Line::default();
        for (meaning, text) in after {
            rows.extend(Line::of(meaning, &text).wrapped(columns, Wrap::Words, &none, &none));
        }
        if self.words.is_none() {
            rows.extend(self.choices(columns, language));
        }
        rows
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
            let said = Text::ChoiceSession.say(language, &[("rules", &rules)]);
            choices.push(("s", said));
        }
        if let Some(rule) = &self.question.decision.always {
            let values: [(&str, &dyn std::fmt::Display); 3] =
                [("rule", rule), ("setting", &rule.setting()), ("file", &self.file)];
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
            rows.extend(Line::plain(&said).wrapped(columns, Wrap::Words, &lead, &rest));
        }
        rows
    }

    fn choice(&self, code: KeyCode) -> Option<Choice> {
        let KeyCode::Char(letter) = code else {
            return (code == KeyCode::Esc).then_some(Choice::Deny);
        };
        let offered = |answer| is_offered(&answer, &self.question);
        match letter.to_ascii_lowercase() {
            'y' => Some(Choice::Once),
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenon_agent::{Action, Mode, Places, Rules, decide};

    use super::*;

    fn question() -> Question {
        let command = "git reset --hard HEAD~1".to_owned();
        let action = Action::Run { command: command.clone() };
        let places = Places::default();
        let decision = decide("bash", &action, &Rules::default(), Mode::Auto, &places);
        Question {
            call_id: "1".into(),
            tool: "bash".into(),
            subject: command,
            arguments: serde_json::Value::Null,
            decision,
        }
    }

    /// Presses keys at times in milliseconds and returns the answer and what went to the draft.
    fn check(keys: &[(u64, KeyCode)], answer: Option<Answer>, draft: &str) {
        let start = Instant::now();
        let mut approval = Approval::new(question(), "config.toml".into(), start);
        let (mut answered, mut typed) = (None, String::new());
        let last = keys.last().map_or(0, |(ms, _)| *ms) + 10_000;
        for (ms, key) in keys.iter().copied().chain([(last, KeyCode::Other)]) {
            let now = start + Duration::from_millis(ms);
            if let Some(answer) = approval.settle(now) {
                answered.get_or_insert(answer);
            }
            match approval.press(key.into(), now) {
                Outcome::Answered(answer) => drop(answered.get_or_insert(answer)),
                Outcome::Stands(letters) => typed.push_str(&letters),
            }
        }
        assert_eq!((answered, typed.as_str()), (answer, draft), "{keys:?}");
    }

    #[test]
    fn a_key_answers_after_a_pause_and_before_one() {
        let key = KeyCode::Char;
        check(&[(400, key('y'))], Some(Answer::Allow), "");
        check(&[(400, key('s'))], Some(Answer::AllowForSession), "");
        check(&[(400, key('a'))], Some(Answer::AllowAlways), "");
        check(&[(400, key('n'))], Some(Answer::Deny(None)), "");
        check(&[(400, KeyCode::Esc)], Some(Answer::Deny(None)), "");
        check(
            &[(400, key('w')), (900, key('n')), (950, key('o')), (990, KeyCode::Enter)],
            Some(Answer::Deny(Some("no".into()))),
            "",
        );
    }

    #[test]
    fn a_burst_a_held_key_and_enter_never_answer() {
        let key = KeyCode::Char;
        check(&[(100, key('y'))], None, "y");
        check(&[(400, key('y')), (430, key('e')), (460, key('s'))], None, "yes");
        check(&[(100, key('m')), (350, key('y')), (600, key(' '))], None, "my ");
        check(&[(400, key('y')), (400, KeyCode::Enter)], None, "y");
        check(&[(400, KeyCode::Enter), (900, KeyCode::Enter)], None, "");
        let held: Vec<_> = (0..100).map(|n| (400 + n * 33, KeyCode::Enter)).collect();
        check(&held, None, "");
        let held: Vec<_> = (0..100).map(|n| (400 + n * 33, key('y'))).collect();
        check(&held, None, &"y".repeat(100));
    }

    #[test]
    fn a_paste_is_no_answer_and_takes_back_a_key_before_it() {
        let start = Instant::now();
        let mut approval = Approval::new(question(), "config.toml".into(), start);
        let later = |ms| start + Duration::from_millis(ms);
        approval.press(KeyCode::Char('y').into(), later(400));
        assert_eq!(approval.paste("y\n", later(410)), Outcome::Stands("yy\n".into()));
        assert_eq!(approval.settle(later(5_000)), None);
    }

    #[test]
    fn the_question_says_what_why_and_which_rule_would_stop_it() {
        let approval = Approval::new(question(), "config.toml".into(), Instant::now());
        for columns in [40, 80] {
            let rows = approval.draw(columns, Language::English);
            assert!(rows.iter().all(|row| row.width() <= columns));
            let text: String = rows.iter().map(|row| row.text() + "\n").collect();
            for part in ["git reset --hard HEAD~1", "Why it is asked", "--allow", "bash(git reset"]
            {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}
