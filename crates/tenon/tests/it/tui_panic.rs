//! A panic in the middle of a session, of the real program.

use serde_json::json;

use crate::{
    terminal::{Home, Terminal},
    tui::session_with,
};

#[test]
fn a_panic_leaves_a_readable_message_the_terminal_and_a_session_that_goes_on() {
    let home = Home::new(json!([{"text": "The first answer."}, {"panics": "it went wrong"}]));
    let mut terminal = session_with(&home, (80, 40), &[("RUST_BACKTRACE", "0")]);
    terminal.press("the first prompt\r");
    terminal.wait_for("done · 1 step", 1);
    terminal.press("the second prompt\r");
    let code = terminal.exit_code();
    let screen = terminal.screen();
    assert_eq!(code, 101, "{screen}");
    assert!(screen.contains("panicked at") && screen.contains("it went wrong"), "{screen}");
    assert!(terminal.is_cooked() && terminal.cursor().is_some(), "{screen}");
    let raw = terminal.raw();
    let last = |text: &str| raw.rfind(text).unwrap_or_else(|| panic!("no {text:?} in {raw:?}"));
    // Readable: whole rows, in the main screen, with the terminal as it was.
    assert!(last("\x1b[?2004l") < last("panicked at"));
    assert!(last("panicked at") < last("The session is kept: tenon show "), "{raw:?}");
    let id = raw.rsplit("tenon show ").next().unwrap().split_whitespace().next().unwrap();
    let mut terminal = Terminal::start_sized(&home, &["--resume", id], (80, 40), &[]);
    terminal.wait_for("goes on after 2 turns", 1);
    terminal.wait_for("the last turn was cut short", 1);
    terminal.press("and then?\r");
    terminal.wait_for("The first answer.", 1);
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(
        home.logged("user_message", "prompt"),
        ["the first prompt", "the second prompt", "and then?"]
    );
}

#[test]
fn a_panic_that_is_caught_leaves_the_session_as_it_was_and_is_told() {
    // The second one has the terminal given back, as one while another unwinds must.
    for panics in [json!(["first\u{1b}[2J"]), json!(["first", "second"])] {
        let home = Home::new(json!([
            {"panics_caught": panics, "text": "Answered all the same."},
            {"text": "And once more."},
        ]));
        let mut terminal = session_with(&home, (80, 40), &[("RUST_BACKTRACE", "0")]);
        terminal.press("the first prompt\r");
        terminal.wait_for_turn("Answered all the same.");
        assert!(!terminal.is_cooked(), "{}", terminal.screen());
        if panics.as_array().unwrap().len() == 1 {
            terminal.wait_for("Something failed inside tenon; the session goes on:", 1);
            terminal.wait_for("first␛[2J", 1);
        }
        terminal.press("the second prompt\r");
        terminal.wait_for_turn("And once more.");
        terminal.press("\x04");
        assert_eq!(terminal.exit_code(), 0);
        assert!(terminal.is_cooked() && terminal.cursor().is_some(), "{}", terminal.screen());
        assert_eq!(
            home.logged("user_message", "prompt"),
            ["the first prompt", "the second prompt"]
        );
    }
}
