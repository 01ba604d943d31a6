//! A question and the keys that answer it. Pure: the time is given.
//!
//! What was typed ahead, a paste and a held key are none of them an answer ([`Guard`]), and Enter
//! never is a yes.

use std::{
    cell::{Cell, RefCell},
    time::Instant,
};

use tenon_agent::{Answer, Leaves, Question};

use super::{
    guard::Guard,
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
    pub(crate) fn new(question: Question, file: String) -> Self {
        let (preview, needs_preview) = (Preview::of(&question), must_be_seen(&question));
        Self {
            question,
            file,
            guard: Guard::new(),
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
    pub(crate) fn shown(&mut self, now: Instant) {
        self.guard.shown(now);
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
    /// done is not shown, nothing is allowed.
    pub(crate) fn draw(&self, columns: usize, rows_max: usize, language: Language) -> Vec<Line> {
        let sections = self.drawn_sections(columns, language);
        let keys = match self.words {
            Some(_) => Vec::new(),
            None => self.choices(columns, language),
        };
        let asked = sections.rows();
        let are_whole = keys.len() + KEPT_ROWS <= rows_max || asked + keys.len() <= rows_max;
        self.shows_rules.set(are_whole);
        let short =
            |text: Text| vec![Line::of(Meaning::Hint, text.template(language)).cut(columns)];
        let keys = if are_whole || self.words.is_some() { keys } else { short(Text::ChoicesShort) };
        let room = rows_max.saturating_sub(keys.len());
        let (rows, shows_all) = sections.clone().within(room, columns, language);
        self.shows_all.set((shows_all || self.was_shown) && !self.is_too_long());
        if self.shows_all.get() || self.words.is_some() {
            return [rows, keys].concat();
        }
        let said = if self.is_too_long() { Text::ChoicesTooLong } else { Text::ChoicesUnseen };
        let said = Line::of(Meaning::Hint, said.template(language));
        let none = Line::default();
        let mut keys = said.wrapped_uncut(columns, Wrap::Words, &none, &none);
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
        let subject = folded(&question.subject);
        let lines = subject.lines().map(|line| Line::of(Meaning::Name, line));
        let mut subject: Vec<Line> = lines
            .flat_map(|line| line.wrapped_uncut(columns, Wrap::Anywhere, &lead, &lead))
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
        let values: [(&str, &dyn std::fmt::Display); 2] =
            [("reason", &reason), ("rule", &decision.rule)];
        let mut said = vec![(Meaning::Plain, Text::AskWhy.say(language, &values))];
        if decision.unconfined {
            said.push((Meaning::Error, Text::AskUnconfined.template(language).to_owned()));
        }
        if let Some(flag) = &decision.flag {
            said.push((Meaning::Aside, Text::AskFlag.say(language, &[("flag", flag)])));
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
            let said = Text::ChoiceSession.say(language, &[("rules", &rules)]);
            choices.push(("s", said));
        }
        if let Some(rule) = &self.question.decision.always {
            let text = rule.to_string();
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenon_agent::{Action, Mode, Places, Rules, decide};

    use super::*;

    fn question() -> Question {
        question_about("git reset --hard HEAD~1")
    }

    fn question_about(command: &str) -> Question {
        let command = command.to_owned();
        let action = Action::Run { command: command.clone() };
        let places = Places::default();
        let decision = decide("bash", &action, &Rules::default(), Mode::Auto, &places);
        Question {
            call_id: "1".into(),
            tool: "bash".into(),
            subject: command,
            arguments: serde_json::Value::Null,
            decision,
            is_masked: false,
        }
    }

    fn shown(question: Question, now: Instant) -> Approval {
        let mut approval = Approval::new(question, "config.toml".into());
        approval.shown(now);
        approval
    }

    /// Presses keys at times in milliseconds and returns the answer and what went to the draft.
    fn check(keys: &[(u64, KeyCode)], answer: Option<Answer>, draft: &str) {
        let start = Instant::now();
        let mut approval = shown(question(), start);
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
    fn no_key_answers_before_the_question_was_on_the_screen_nor_right_behind_that() {
        let start = Instant::now();
        let later = |ms| start + Duration::from_millis(ms);
        let mut approval = Approval::new(question(), "config.toml".into());
        let press = |approval: &mut Approval, ms| {
            let typed = approval.press(KeyCode::Char('y').into(), later(ms));
            (typed, approval.settle(later(ms + 200)))
        };
        let none = (Outcome::Stands("y".into()), None);
        assert_eq!(press(&mut approval, 1_000), none, "it is not drawn");
        approval.shown(later(3_000));
        // A key that came while it was being drawn is read behind that.
        assert_eq!(press(&mut approval, 2_000), none);
        assert_eq!(press(&mut approval, 3_200), none);
        approval.hidden();
        assert_eq!(press(&mut approval, 9_000), none, "the pager had the screen");
        approval.shown(later(9_500));
        approval.shown(later(9_900));
        assert_eq!(press(&mut approval, 9_700), none);
        assert_eq!(
            press(&mut approval, 10_000),
            (Outcome::Stands(String::new()), Some(Answer::Allow))
        );
    }

    #[test]
    fn a_paste_is_no_answer_and_takes_back_a_key_before_it() {
        let start = Instant::now();
        let mut approval = shown(question(), start);
        let later = |ms| start + Duration::from_millis(ms);
        approval.press(KeyCode::Char('y').into(), later(400));
        assert_eq!(approval.paste("y\n", later(410)), Outcome::Stands("yy\n".into()));
        assert_eq!(approval.settle(later(5_000)), None);
    }

    #[test]
    fn the_question_says_what_why_and_which_rule_would_stop_it() {
        let approval = shown(question(), Instant::now());
        for columns in [40, 80] {
            let rows = approval.draw(columns, 60, Language::English);
            assert!(rows.iter().all(|row| row.width() <= columns));
            let text: String = rows.iter().map(|row| row.text() + "\n").collect();
            for part in ["git reset --hard HEAD~1", "Why it is asked", "--allow", "bash(git reset"]
            {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }

    fn drawn(approval: &Approval, columns: usize, rows_max: usize) -> String {
        let rows = approval.draw(columns, rows_max, Language::English);
        assert!(rows.len() <= rows_max && rows.iter().all(|row| row.width() <= columns));
        rows.iter().map(|row| row.text().trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn a_command_line_is_shown_in_parts() {
        let command = "cd 'my app' && git reset --hard | tee log; sh -c 'make all'";
        let approval = shown(question_about(command), Instant::now());
        let text = drawn(&approval, 80, 60);
        let parts = "    cd 'my app'\n  ! git reset --hard\n    tee log\n    sh -c 'make all'\n      make all\n";
        assert!(text.contains(parts), "{text}");
        let one = shown(question(), Instant::now());
        assert!(!drawn(&one, 80, 60).contains("In parts"));
    }

    #[test]
    fn on_a_low_screen_what_would_be_done_stays_and_no_rule_is_taken_unseen() {
        let start = Instant::now();
        for rows_max in 2..40 {
            let mut approval = shown(question(), start);
            let text = drawn(&approval, 40, rows_max);
            assert!(text.contains("▌ git reset --hard"), "{rows_max}: {text}");
            let shows_rules = text.contains("  a  yes, always");
            assert!(shows_rules || text.contains("y yes, n no"), "{rows_max}: {text}");
            let later = |ms| start + Duration::from_millis(ms);
            approval.press(KeyCode::Char('a').into(), later(400));
            let always = shows_rules.then_some(Answer::AllowAlways);
            assert_eq!(approval.settle(later(2_000)), always, "{rows_max}");
        }
    }

    #[test]
    fn what_is_not_shown_is_not_allowed() {
        let start = Instant::now();
        let later = |ms| start + Duration::from_millis(ms);
        let command = format!("sudo echo a; {} sudo id", "echo words; ".repeat(40));
        for rows_max in 2..40 {
            for key in ['y', 's', 'a'] {
                let mut approval = shown(question_about(&command), start);
                let text = drawn(&approval, 40, rows_max);
                assert!(text.contains("▌ sudo echo a"), "{rows_max}: {text}");
                assert!(text.contains("Ctrl-O shows"), "{rows_max}: {text}");
                assert!(!text.contains("y yes") && !text.contains("  y  "), "{rows_max}: {text}");
                assert!(rows_max < 10 || text.contains("! sudo id"), "{rows_max}: {text}");
                approval.press(KeyCode::Char(key).into(), later(400));
                assert_eq!(approval.settle(later(2_000)), None, "{rows_max} {key}");
            }
            let mut approval = shown(question_about(&command), start);
            drawn(&approval, 40, rows_max);
            approval.show();
            assert!(drawn(&approval, 40, rows_max).contains('y'));
            approval.press(KeyCode::Char('y').into(), later(400));
            assert_eq!(approval.settle(later(2_000)), Some(Answer::Allow), "{rows_max}");
        }
    }

    fn question_of_write(content: &str, protected: bool) -> Question {
        let action = Action::Write { path: ".envrc".into(), written: None, protected };
        let (rules, places) = (Rules::default(), Places::default());
        Question {
            call_id: "1".into(),
            tool: "write_file".into(),
            subject: ".envrc".into(),
            arguments: serde_json::json!({"path": ".envrc", "content": content}),
            decision: decide("write_file", &action, &rules, Mode::Ask, &places),
            is_masked: false,
        }
    }

    #[test]
    fn what_a_protected_file_would_hold_is_seen_whole_before_a_yes() {
        let start = Instant::now();
        let later = |ms| start + Duration::from_millis(ms);
        let press_yes = |approval: &mut Approval| {
            approval.press(KeyCode::Char('y').into(), later(400));
            approval.settle(later(2_000))
        };
        let content: String = (0..9).map(|n| format!("export N={n}\n")).collect();
        for rows_max in 2..60 {
            for (content, may_fit) in [(content.clone(), true), (content.repeat(9), false)] {
                let content = content + "touch EVIL\n";
                let mut approval = shown(question_of_write(&content, true), start);
                let text = drawn(&approval, 40, rows_max);
                let is_open = !text.contains("Ctrl-O shows");
                assert!(!is_open || text.contains("touch EVIL"), "{rows_max}: {text}");
                assert!(!is_open || may_fit, "{rows_max}: {text}");
                assert!(is_open || !may_fit || rows_max < 30, "{rows_max}: {text}");
                let yes = is_open.then_some(Answer::Allow);
                assert_eq!(press_yes(&mut approval), yes, "{rows_max}: {text}");
                let mut approval = shown(question_of_write(&content, true), start);
                let whole: String =
                    approval.whole(40, Language::English).iter().map(Line::text).collect();
                assert!(whole.contains("touch EVIL") && !whole.contains("Ctrl-O"), "{whole}");
                approval.show();
                drawn(&approval, 40, rows_max);
                assert_eq!(press_yes(&mut approval), Some(Answer::Allow), "{rows_max}");
            }
        }
        // What stays within the workspace's walls can be undone; that rows are missing is said.
        let mut approval = shown(question_of_write(&content.repeat(9), false), start);
        assert!(drawn(&approval, 60, 60).contains("more lines of it (Ctrl-O shows everything)"));
        assert_eq!(press_yes(&mut approval), Some(Answer::Allow));
        let long = "x".repeat(crate::would_write::SHOWN_BYTES_MAX + 1);
        let mut approval = shown(question_of_write(&long, true), start);
        approval.show();
        assert!(drawn(&approval, 60, 60).contains("too long to be shown cannot be allowed"));
        assert_eq!(press_yes(&mut approval), None);
    }

    #[test]
    fn blanks_push_nothing_off_the_screen() {
        for filler in [" ".repeat(2_500), "\n".repeat(35)] {
            let end = if filler.contains('\n') { "" } else { "; " };
            let command = format!("sudo ls{filler}{end}sudo id #");
            let approval = shown(question_about(&command), Instant::now());
            let text = drawn(&approval, 80, 23);
            for part in ["▌ sudo ls", "×", "sudo id #", "! sudo ls", "! sudo id"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}
