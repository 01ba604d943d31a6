//! What is typed and pasted, in every script and on low screens.

use std::{thread::sleep, time::Duration};

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::{server::Tmux, terminal::Home};

/// Longer than the pause that an answer needs before it.
const PAUSE: Duration = Duration::from_millis(1_200);
/// Texts whose width terminals do not agree about among those that they do: the left part, and
/// the last character as a person sees it.
const TYPED: [(&str, &str); 9] = [
    ("ab", "c"),
    ("你", "好"),
    ("한", "글"),
    ("cafe\u{301}", "e\u{301}"),
    ("x👍🏽", "👍🏽"),
    ("家👨\u{200d}👩\u{200d}👧", "👨\u{200d}👩\u{200d}👧"),
    ("🇨🇳", "🇩🇪"),
    ("❤\u{fe0f}", "❤\u{fe0f}"),
    ("नि", "स्"),
];

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        the_cursor_stands_where_this_terminal_has_the_text_end,
        a_paste_is_folded_and_answers_nothing,
        five_rows_show_what_is_asked_and_take_the_answer,
    ]
}

fn reset() -> Value {
    json!([{"name": "bash", "arguments": {"command": "git reset --hard HEAD~1"}}])
}

/// Returns the column in which the terminal has each text end behind a prompt of two columns.
fn columns_of(tmux: &Tmux<'_>, texts: &[String]) -> Vec<String> {
    let columns = texts.iter().map(|text| {
        tmux.type_line(&format!("clear; printf '> %s' '{text}'; read -rs"));
        tmux.wait_until("the text", |screen| {
            screen.starts_with("> ") && !screen.contains("read") && !screen.contains("shell%")
        });
        let column = tmux.cursor();
        tmux.press("Enter");
        tmux.wait_for_shell();
        column
    });
    columns.collect()
}

fn the_cursor_stands_where_this_terminal_has_the_text_end() {
    for size in [(80, 24), (40, 5)] {
        let home = Home::new(json!([]));
        let tmux = Tmux::start(&home, size);
        let whole: Vec<String> = TYPED.iter().map(|(left, last)| format!("{left}{last}")).collect();
        let left: Vec<String> = TYPED.iter().map(|(left, _)| (*left).to_owned()).collect();
        let (ends, lefts) = (columns_of(&tmux, &whole), columns_of(&tmux, &left));
        tmux.type_line("clear");
        tmux.start_program("NO_COLOR=1");
        for (place, text) in whole.iter().enumerate() {
            tmux.type_text(text);
            tmux.wait_until(text, |_| tmux.cursor() == ends[place]);
            tmux.press("Left");
            tmux.wait_until("the character to the left", |_| tmux.cursor() == lefts[place]);
            tmux.press("Right");
            tmux.wait_until("the end again", |_| tmux.cursor() == ends[place]);
            tmux.press("BSpace");
            tmux.wait_until("the text without its end", |_| tmux.cursor() == lefts[place]);
            tmux.press("C-u");
            tmux.wait_until("an empty draft", |_| tmux.cursor() == "2 1");
        }
        tmux.press("C-d");
        tmux.check_given_back();
    }
}

fn a_paste_is_folded_and_answers_nothing() {
    let home = Home::new(json!([{"calls": reset()}, {"text": "Asked."}]));
    let tmux = Tmux::start_session(&home, (80, 40));
    let block: String = (0..30).map(|n| format!("第 {n} 行\n")).collect();
    tmux.paste(&block);
    tmux.wait_for("> [paste 1: 30 lines]", 1);
    tmux.press("Enter");
    tmux.wait_for("Why it is asked", 1);
    sleep(PAUSE);
    tmux.paste("y\n");
    sleep(PAUSE);
    tmux.paste("y");
    sleep(PAUSE);
    assert!(home.logged("call_decided", "verdict").is_empty(), "{}", tmux.screen());
    tmux.press("Escape");
    sleep(PAUSE);
    tmux.type_text("n");
    tmux.wait_for("Asked.", 1);
    tmux.press("C-c");
    tmux.press("C-d");
    tmux.check_given_back();
    assert_eq!(home.logged("call_decided", "verdict"), ["deny"]);
    assert_eq!(home.logged("user_message", "prompt"), [block.trim_end()]);
}

fn five_rows_show_what_is_asked_and_take_the_answer() {
    let home = Home::new(json!([{"calls": reset()}, {"text": "Asked."}]));
    let tmux = Tmux::start_session(&home, (40, 5));
    tmux.type_line("go");
    tmux.wait_until("the question", |screen| {
        screen.contains("▌ git reset --hard HEAD~1") && screen.contains("y yes, n no")
    });
    sleep(PAUSE);
    // The rule that it would write is not on the screen.
    tmux.type_text("a");
    sleep(PAUSE);
    assert!(home.logged("call_decided", "verdict").is_empty(), "{}", tmux.screen());
    tmux.wait_for("Esc, then a key answers", 1);
    tmux.press("Escape");
    sleep(PAUSE);
    tmux.type_text("y");
    tmux.wait_for("done · 2 steps", 1);
    tmux.press("C-u");
    tmux.press("C-d");
    tmux.check_given_back();
    assert_eq!(home.logged("call_decided", "verdict"), ["allow"]);
}
