//! What the terminal tells the interactive session, and what it is told: background, focus,
//! notifications.

use std::{thread::sleep, time::Duration};

use serde_json::json;

use crate::{
    terminal::{Home, Terminal},
    tui::{PAUSE, session_with},
};

const CTRL_D: &str = "\x04";
const QUESTION: &str = "\x1b]11;?\x1b\\\x1b[c";
const ATTRIBUTES: &str = "\x1b[?62;22c";
const FOCUS_LOST: &str = "\x1b[O";

fn configured(home: &Home, text: &str) {
    let folder = home.work().with_file_name(".config").join("tenon");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn wait_for_bytes(terminal: &Terminal, bytes: &str, times: usize) {
    for _ in 0..3_000 {
        if terminal.raw().matches(bytes).count() >= times {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("no {bytes:?} in {:?}", terminal.raw());
}

fn leave(mut terminal: Terminal) -> String {
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    terminal.raw()
}

#[test]
fn the_background_is_asked_for_after_the_first_frame_and_the_colours_follow_it() {
    for (background, colour) in
        [("1111/1111/1111", "\x1b[38;5;114m"), ("fd/f6/e3", "\x1b[38;5;22m")]
    {
        let home = Home::new(json!([{"text": "Hello."}]));
        let mut terminal = session_with(&home, (80, 30), &[]);
        wait_for_bytes(&terminal, QUESTION, 1);
        let raw = terminal.raw();
        assert!(raw.find("\x1b[?2026l") < raw.find(QUESTION), "the first frame waits: {raw:?}");
        // It comes late and in pieces.
        terminal.press(&format!("\x1b]11;rgb:{background}"));
        terminal.press(&format!("\x1b\\{ATTRIBUTES}hello\r"));
        terminal.wait_for("done · 1 step", 1);
        let raw = leave(terminal);
        assert!(raw.contains(&format!("{colour}done")), "{raw:?}");
        assert_eq!(raw.matches(QUESTION).count(), 1);
        assert_eq!(home.logged("user_message", "prompt"), ["hello"]);
    }
}

#[test]
fn without_an_answer_or_with_a_choice_the_colours_are_what_was_chosen() {
    let cases = [
        ("", "xterm-256color", true, "\x1b[32mdone"),
        ("", "linux", false, "\x1b[32mdone"),
        ("theme = 'dark'", "xterm-256color", false, "\x1b[38;5;114mdone"),
        ("theme = 'terminal'", "xterm-256color", false, "\x1b[32mdone"),
        ("theme = 'light'", "xterm", false, "\x1b[32mdone"),
    ];
    for (config, term, is_asked, done) in cases {
        let home = Home::new(json!([{"text": "Hello."}]));
        configured(&home, config);
        let mut terminal = session_with(&home, (80, 30), &[("TERM", term)]);
        terminal.press("hello\r");
        terminal.wait_for("done · 1 step", 1);
        let raw = leave(terminal);
        assert_eq!(raw.contains(QUESTION), is_asked, "{config} {term}");
        assert!(raw.contains(done), "{config} {term}: {raw:?}");
    }
}

#[test]
fn another_theme_is_chosen_by_name_and_stays_for_later_sessions() {
    let home = Home::new(json!([{"text": "Hello."}, {"text": "Again."}, {"text": "And again."}]));
    configured(&home, "# mine\ntheme = 'dark' # at night\n");
    let mut terminal = session_with(&home, (80, 60), &[]);
    terminal.press("/theme light\r");
    terminal.wait_for("The colours are now: light. That stands in", 1);
    terminal.press("/theme pink\r");
    terminal.wait_for("There are these: auto, light, dark, terminal.", 1);
    terminal.press("hello\r");
    terminal.wait_for("done · 1 step", 1);
    terminal.press("/new\r");
    terminal.wait_for("Enter sends", 2);
    terminal.press("again\r");
    terminal.wait_for("done · 1 step", 2);
    assert_eq!(leave(terminal).matches("\x1b[38;5;22mdone").count(), 2);
    let config = home.work().with_file_name(".config").join("tenon/config.toml");
    let written = std::fs::read_to_string(&config).unwrap();
    assert_eq!(written, "# mine\ntheme = \"light\" # at night\n");
    let mut terminal = session_with(&home, (80, 60), &[]);
    terminal.press("later\r");
    terminal.wait_for("done · 1 step", 1);
    // What cannot be read is not touched, and the colours change all the same.
    std::fs::write(&config, "theme = [\n").unwrap();
    terminal.press("/theme dark\r");
    terminal.wait_for("for this session alone", 1);
    assert!(leave(terminal).contains("\x1b[38;5;22mdone"));
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "theme = [\n");
}

#[test]
fn who_looks_elsewhere_is_told_and_who_is_there_is_not() {
    let home = Home::new(json!([
        {"text": "One."}, {"text": "Two."},
        {"calls": [{"name": "bash", "arguments": {"command": "git reset --hard HEAD~1"}}]},
        {"text": "Asked."},
    ]));
    configured(&home, "notify = 'desktop'");
    let mut terminal = session_with(&home, (80, 40), &[]);
    assert!(terminal.raw().contains("\x1b[?1004h"));
    terminal.press("one\r");
    terminal.wait_for("done · 1 step", 1);
    terminal.press(&format!("two\r{FOCUS_LOST}"));
    terminal.wait_for("done · 1 step", 2);
    wait_for_bytes(&terminal, "\x1b]9;tenon · work: the turn has ended\x1b\\", 1);
    terminal.press(&format!("reset\r{FOCUS_LOST}"));
    terminal.wait_for("Why it is asked", 1);
    wait_for_bytes(&terminal, "\x1b]9;tenon · work: a question waits for you\x1b\\", 1);
    // Coming back is no key: the question waits for one.
    terminal.press("\x1b[I");
    sleep(PAUSE);
    terminal.press("n");
    terminal.wait_for("Asked.", 1);
    let raw = leave(terminal);
    assert_eq!(raw.matches("\x1b]9;").count(), 2, "{raw:?}");
    assert!(raw.contains("\x1b[?1004l"));
}

#[test]
fn the_bell_rings_once_and_only_if_it_is_wanted() {
    for (config, bells) in [("notify = 'bell'", 1), ("", 0)] {
        let home = Home::new(json!([{"text": "One."}]));
        configured(&home, config);
        let mut terminal = session_with(&home, (80, 30), &[("TERM", "xterm")]);
        terminal.press(&format!("one\r{FOCUS_LOST}"));
        terminal.wait_for("done · 1 step", 1);
        assert_eq!(leave(terminal).matches('\x07').count(), bells, "{config}");
    }
}

#[test]
fn an_answer_that_comes_when_the_person_leaves_is_not_left_to_the_shell() {
    let home = Home::new(json!([]));
    let mut terminal = session_with(&home, (80, 30), &[]);
    wait_for_bytes(&terminal, QUESTION, 1);
    terminal.press(CTRL_D);
    sleep(Duration::from_millis(30));
    terminal.press(&format!("\x1b]11;rgb:0/0/0\x1b\\{ATTRIBUTES}"));
    assert_eq!(terminal.exit_code(), 0);
    assert!(terminal.is_cooked());
    // What nobody read would be shown by the terminal's echo.
    let screen = terminal.screen();
    assert!(!screen.contains("rgb:") && !screen.contains("62;22c"), "{screen}");
}
