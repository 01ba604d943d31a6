//! Questions as they are drawn, and the keys that answer them.

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
        programs_set: Vec::new(),
        is_masked: false,
    }
}

fn shown(question: Question, now: Instant) -> Approval {
    let mut approval = Approval::new(question, "config.toml".into(), false);
    approval.shown(now, Writing::Nothing);
    approval
}

/// Presses keys at times in milliseconds and compares the answer and what went to the draft.
fn check(keys: &[(u64, KeyCode)], answer: Option<Answer>, draft: &str) {
    check_writing(Writing::Nothing, keys, answer, draft);
}

fn check_writing(writing: Writing, keys: &[(u64, KeyCode)], answer: Option<Answer>, draft: &str) {
    let start = Instant::now();
    let has_draft = writing == Writing::Draft;
    let mut approval = Approval::new(question(), "config.toml".into(), has_draft);
    approval.shown(start, writing);
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
    check(&[(1_400, key('y'))], Some(Answer::Allow), "");
    check(&[(1_400, key('s'))], Some(Answer::AllowForSession), "");
    check(&[(1_400, key('a'))], Some(Answer::AllowAlways), "");
    check(&[(1_400, key('n'))], Some(Answer::Deny(None)), "");
    check(&[(1_400, KeyCode::Esc)], Some(Answer::Deny(None)), "");
    check(
        &[(1_400, key('w')), (1_900, key('n')), (1_950, key('o')), (1_990, KeyCode::Enter)],
        Some(Answer::Deny(Some("no".into()))),
        "",
    );
}

#[test]
fn a_burst_a_held_key_and_enter_never_answer() {
    let key = KeyCode::Char;
    check(&[(900, key('y'))], None, "y");
    check(&[(1_400, key('y')), (1_430, key('e')), (1_460, key('s'))], None, "yes");
    check(&[(900, key('m')), (1_350, key('y')), (1_900, key(' '))], None, "my ");
    check(&[(1_400, key('y')), (1_400, KeyCode::Enter)], None, "y");
    check(&[(1_400, KeyCode::Enter), (1_900, KeyCode::Enter)], None, "");
    let held: Vec<_> = (0..100).map(|n| (1_400 + n * 33, KeyCode::Enter)).collect();
    check(&held, None, "");
    let held: Vec<_> = (0..100).map(|n| (1_400 + n * 33, key('y'))).collect();
    check(&held, None, &"y".repeat(100));
}

#[test]
fn no_letter_of_a_word_answers_however_slowly_it_is_typed() {
    for gap in [250, 340, 360, 450, 700, 900] {
        for first in [0, 50, 200, 500, 900] {
            for (writing, text) in [
                (Writing::Draft, "say why: yes always"),
                (Writing::Draft, "y"),
                (Writing::Lately, "always say so, nay"),
                (Writing::Nothing, "no, wait"),
            ] {
                let at = |n: usize| first + gap * u64::try_from(n).unwrap();
                let letters = text.chars().enumerate();
                let keys: Vec<_> = letters.map(|(n, key)| (at(n), KeyCode::Char(key))).collect();
                check_writing(writing, &keys, None, text);
            }
        }
    }
    // A message that is begun behind another one, with the question before the eyes or not.
    let said = "always".chars().enumerate();
    let keys: Vec<_> = said.map(|(n, key)| (4_000 + 900 * n as u64, KeyCode::Char(key))).collect();
    check_writing(Writing::Lately, &keys, None, "always");
}

#[test]
fn behind_a_draft_a_key_answers_once_esc_ended_the_writing() {
    let key = KeyCode::Char;
    let draft = |keys: &[_], answer, typed| check_writing(Writing::Draft, keys, answer, typed);
    draft(&[(9_000, key('y')), (19_000, key('s'))], None, "ys");
    draft(&[(1_100, KeyCode::Esc), (1_300, key('y'))], Some(Answer::Allow), "");
    draft(&[(100, KeyCode::Esc), (1_300, key('a'))], Some(Answer::AllowAlways), "");
    draft(&[(9_000, KeyCode::Esc), (9_200, KeyCode::Esc)], Some(Answer::Deny(None)), "");
    draft(&[(9_000, KeyCode::Esc)], None, "");
    // Esc within a text, as where it closes what is offered.
    draft(&[(2_000, key('x')), (2_300, KeyCode::Esc), (2_600, key('y'))], None, "xy");
    draft(&[(2_300, KeyCode::Esc), (2_700, key('y')), (3_600, key('o'))], None, "yo");
    draft(&[(2_300, KeyCode::Esc), (2_700, key('x')), (9_000, key('y'))], None, "xy");
    let mut approval = Approval::new(question(), "config.toml".into(), false);
    let start = Instant::now();
    approval.press(KeyCode::Char('x').into(), start);
    approval.press(KeyCode::Esc.into(), start);
    approval.shown(start, Writing::Nothing);
    let later = |ms| start + Duration::from_millis(ms);
    approval.press(KeyCode::Char('y').into(), later(5_000));
    assert_eq!(approval.settle(later(9_000)), None, "that Esc was before the question");
}

#[test]
fn while_a_draft_gets_the_keys_that_is_said_in_their_place() {
    let start = Instant::now();
    for rows_max in 2..40 {
        let mut approval = Approval::new(question(), "config.toml".into(), true);
        approval.shown(start, Writing::Nothing);
        let text = drawn(&approval, 40, rows_max);
        assert!(text.contains("▌ git reset --hard"), "{rows_max}: {text}");
        assert!(text.contains("Esc, then a key answers"), "{rows_max}: {text}");
        assert!(!text.contains("yes, always") && !text.contains("y yes"), "{rows_max}: {text}");
        approval.press(KeyCode::Esc.into(), start);
        // Its rule was not on the screen yet.
        let later = |ms| start + Duration::from_millis(ms);
        approval.press(KeyCode::Char('a').into(), later(2_000));
        assert_eq!(approval.settle(later(9_000)), None, "{rows_max}");
        approval.press(KeyCode::Esc.into(), later(9_000));
        assert!(!drawn(&approval, 40, rows_max).contains("Esc, then"), "{rows_max}");
    }
}

#[test]
fn no_key_answers_before_the_question_was_on_the_screen_nor_right_behind_that() {
    let start = Instant::now();
    let later = |ms| start + Duration::from_millis(ms);
    let mut approval = Approval::new(question(), "config.toml".into(), false);
    let press = |approval: &mut Approval, ms| {
        approval.press(KeyCode::Esc.into(), later(ms));
        let typed = approval.press(KeyCode::Char('y').into(), later(ms));
        (typed, approval.settle(later(ms + 1_000)))
    };
    let none = (Outcome::Stands("y".into()), None);
    assert_eq!(press(&mut approval, 1_000), none, "it is not drawn");
    approval.shown(later(3_000), Writing::Nothing);
    // A key that came while it was being drawn is read behind that.
    assert_eq!(press(&mut approval, 2_000), none);
    assert_eq!(press(&mut approval, 3_900), none);
    approval.hidden();
    assert_eq!(press(&mut approval, 9_000), none, "the pager had the screen");
    approval.shown(later(9_500), Writing::Nothing);
    approval.shown(later(9_900), Writing::Nothing);
    assert_eq!(press(&mut approval, 9_700), none);
    assert_eq!(press(&mut approval, 10_700), (Outcome::Stands(String::new()), Some(Answer::Allow)));
}

#[test]
fn a_paste_is_no_answer_and_takes_back_a_key_before_it() {
    let start = Instant::now();
    let mut approval = shown(question(), start);
    let later = |ms| start + Duration::from_millis(ms);
    approval.press(KeyCode::Char('y').into(), later(1_400));
    assert_eq!(approval.paste("y\n", later(1_410)), Outcome::Stands("yy\n".into()));
    assert_eq!(approval.settle(later(5_000)), None);
}

#[test]
fn the_question_says_what_why_and_which_rule_would_stop_it() {
    let approval = shown(question(), Instant::now());
    for columns in [40, 80] {
        let rows = approval.draw(columns, 60, Language::English);
        assert!(rows.iter().all(|row| row.width() <= columns));
        let text: String = rows.iter().map(|row| row.text() + "\n").collect();
        for part in ["git reset --hard HEAD~1", "Why it is asked", "--allow", "bash(git reset"] {
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
        approval.press(KeyCode::Char('a').into(), later(1_400));
        let always = shows_rules.then_some(Answer::AllowAlways);
        assert_eq!(approval.settle(later(3_000)), always, "{rows_max}");
    }
}

#[test]
fn a_row_that_goes_on_looks_like_no_line_of_its_own() {
    let start = Instant::now();
    let comment = format!("sudo id # {}", "a".repeat(25));
    for (behind, expected) in [("rm -rf b", "  ┆ rm -rf b"), ("\nrm -rf b", "  ▌ rm -rf b")] {
        let approval = shown(question_about(&format!("{comment}{behind}")), start);
        let text = drawn(&approval, 40, 30);
        assert!(text.lines().any(|row| row.trim_end() == expected), "{behind:?}: {text}");
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
            approval.press(KeyCode::Char(key).into(), later(1_400));
            assert_eq!(approval.settle(later(3_000)), None, "{rows_max} {key}");
        }
        let mut approval = shown(question_about(&command), start);
        drawn(&approval, 40, rows_max);
        approval.show();
        assert!(drawn(&approval, 40, rows_max).contains('y'));
        approval.press(KeyCode::Char('y').into(), later(1_400));
        assert_eq!(approval.settle(later(3_000)), Some(Answer::Allow), "{rows_max}");
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
        programs_set: Vec::new(),
        is_masked: false,
    }
}

#[test]
fn what_a_protected_file_would_hold_is_seen_whole_before_a_yes() {
    let start = Instant::now();
    let later = |ms| start + Duration::from_millis(ms);
    let press_yes = |approval: &mut Approval| {
        approval.press(KeyCode::Char('y').into(), later(1_400));
        approval.settle(later(3_000))
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

#[test]
fn a_blank_that_is_none_to_a_shell_is_written_out_wherever_it_stands_in_a_question() {
    for (blank, written) in
        [('\u{a0}', "⟨U+00A0⟩"), ('\u{2800}', "⟨U+2800⟩"), ('\u{3000}', "⟨U+3000⟩")]
    {
        let content = format!("export A=dev{blank}# not prod; touch EVIL\n{blank}\nexport B=2\n");
        let approval = shown(question_of_write(&content, true), Instant::now());
        let text = drawn(&approval, 80, 60);
        assert!(text.contains(&format!("+ export A=dev{written}# not prod")), "{text}");
        assert!(text.contains(&format!("+ {written}\n")) && !text.contains(blank), "{text}");
        let command = format!("sudo echo a{blank}# b; sudo id{blank}x");
        let approval = shown(question_about(&command), Instant::now());
        let text = drawn(&approval, 80, 60);
        for part in ["▌ sudo echo a", "! sudo echo 'a", "! sudo 'id"] {
            assert!(text.contains(&format!("{part}{written}")), "{part}: {text}");
        }
        assert!(!text.contains(blank), "{text}");
    }
}
