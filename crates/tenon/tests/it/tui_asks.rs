//! What a question shows before it can be answered, of the real program.

use std::thread::sleep;

use serde_json::{Value, json};

use crate::{
    terminal::{Home, Terminal},
    tui::{PAUSE, answer_behind_draft, session_with},
};

const CTRL_D: &str = "\x04";
const CTRL_O: &str = "\x0f";

fn write(content: &str) -> Value {
    json!([{"name": "write_file", "arguments": {"path": ".envrc", "content": content}}])
}

fn many_lines() -> String {
    (0..30).map(|n| format!("export SETTING_{n}={n}\n")).collect::<String>() + "touch EVIL\n"
}

#[test]
fn a_protected_file_is_not_written_before_all_that_it_would_hold_was_shown() {
    for size in [(100, 50), (80, 12)] {
        let home = Home::new(json!([{"calls": write(&many_lines())}, {"text": "All asked."}]));
        let mut terminal = session_with(&home, size, &[]);
        terminal.press("go\r");
        terminal.wait_for("Ctrl-O shows all of it; only then it can be allowed", 1);
        assert!(!terminal.screen().contains("EVIL"), "{}", terminal.screen());
        sleep(PAUSE);
        terminal.press("y");
        sleep(PAUSE);
        assert!(home.logged("call_decided", "verdict").is_empty(), "{}", terminal.screen());
        if size.1 == 12 {
            // What the end jumps over was not seen.
            terminal.press(CTRL_O);
            terminal.wait_for("q closes", 1);
            terminal.press("G");
            terminal.wait_for("touch EVIL", 1);
            terminal.press("q");
            terminal.wait_for("Ctrl-O shows all of it", 1);
            sleep(PAUSE);
            terminal.press("y");
            sleep(PAUSE);
            assert!(home.logged("call_decided", "verdict").is_empty(), "{}", terminal.screen());
        }
        terminal.press(CTRL_O);
        terminal.page_to_the_end();
        terminal.wait_for("touch EVIL", 1);
        // A key right behind the one that closes it is no answer either.
        terminal.press("qy");
        terminal.wait_for("Esc, then a key answers", 1);
        sleep(PAUSE);
        assert!(home.logged("call_decided", "verdict").is_empty(), "{}", terminal.screen());
        answer_behind_draft(&mut terminal, "y");
        terminal.wait_for_turn("All asked.");
        terminal.press("\x03\x04");
        assert_eq!(terminal.exit_code(), 0);
        assert_eq!(std::fs::read_to_string(home.work().join(".envrc")).unwrap(), many_lines());
    }
}

#[test]
fn an_edit_of_a_protected_file_or_one_outside_is_asked_about_in_whole_lines() {
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().join("notes.sh").display().to_string();
    for path in [".envrc", &outside] {
        for arguments in [&[] as &[&str], &["--plain"]] {
            let edit = json!([{"name": "edit_file",
                "arguments": {"path": path, "old_text": "# once: ", "new_text": ""}}]);
            let home = Home::new(json!([{"calls": edit}, {"text": "All asked."}]));
            let held = "export A=1\n# once: touch EVIL\nexport B=2\n";
            std::fs::write(home.work().join(path), held).unwrap();
            let mut terminal = match arguments {
                [] => session_with(&home, (100, 40), &[]),
                _ => Terminal::start(&home, arguments, 100, &[]),
            };
            if !arguments.is_empty() {
                terminal.wait_for_prompt();
            }
            terminal.press("go\r");
            terminal.wait_for("Why it is asked", 1);
            let screen = terminal.screen();
            let lines = match arguments.is_empty() {
                true => {
                    ["│   export A=1", "│ - # once: touch EVIL", "│ + touch EVIL", "│   export B=2"]
                }
                false => {
                    ["    export A=1", "    # once: touch EVIL", "    touch EVIL", "    export B=2"]
                }
            };
            assert!(lines.iter().all(|line| screen.contains(line)), "{screen}");
            sleep(PAUSE);
            terminal.press(if arguments.is_empty() { "y" } else { "y\r" });
            terminal.wait_for_turn("All asked.");
            assert_eq!(
                std::fs::read_to_string(home.work().join(path)).unwrap(),
                "export A=1\ntouch EVIL\nexport B=2\n"
            );
            terminal.press(CTRL_D);
            assert_eq!(terminal.exit_code(), 0);
        }
    }
}

#[test]
fn blanks_push_nothing_of_a_protected_file_out_of_sight() {
    let content = format!("export A=1{}; touch EVIL\n", " ".repeat(2_000));
    let home = Home::new(json!([{"calls": write(&content)}, {"text": "All asked."}]));
    let mut terminal = session_with(&home, (100, 50), &[]);
    terminal.press("go\r");
    terminal.wait_for("+ export A=1 ␣×2000 ; touch EVIL", 1);
    sleep(PAUSE);
    terminal.press("n");
    terminal.wait_for_turn("All asked.");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn in_plain_lines_all_of_it_is_printed_or_only_a_no_is_taken() {
    let home = Home::new(json!([{"calls": write(&many_lines())}, {"text": "All asked."}]));
    let mut terminal = Terminal::start(&home, &["--plain"], 100, &[]);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for("Allow it this once?", 1);
    assert!(terminal.screen().contains("touch EVIL"), "{}", terminal.screen());
    terminal.press("y\r");
    terminal.wait_for_turn("All asked.");
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let home =
        Home::new(json!([{"calls": write(&many_lines().repeat(600))}, {"text": "All asked."}]));
    let mut terminal = Terminal::start(&home, &["--plain"], 100, &[]);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for("too long to be shown", 1);
    terminal.wait_for("It cannot be allowed here.", 1);
    terminal.press("y\r");
    terminal.wait_for("Please answer y or n.", 1);
    terminal.press("n\r");
    terminal.wait_for_turn("All asked.");
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    assert!(!home.work().join(".envrc").exists());
}

#[test]
fn an_edit_that_is_large_is_asked_about_at_once_and_typing_ahead_answers_nothing() {
    let lines = |step: usize| -> String {
        (0..40_000).map(|n| format!("# line {}\n", n * step % 40_000)).collect()
    };
    let (old, new) = (lines(7919), lines(17_471) + "touch EVIL\n");
    let edit = json!([{"name": "edit_file",
        "arguments": {"path": ".envrc", "old_text": old, "new_text": new}}]);
    let home = Home::new(json!([{"calls": edit}, {"text": "All asked."}]));
    std::fs::write(home.work().join(".envrc"), lines(7919)).unwrap();
    let mut terminal = session_with(&home, (100, 40), &[]);
    terminal.press("go\r");
    while !terminal.screen().contains("cannot be allowed here") {
        terminal.press("y");
        sleep(PAUSE / 20);
    }
    sleep(PAUSE);
    terminal.press("y");
    sleep(PAUSE);
    assert!(home.logged("call_decided", "verdict").is_empty(), "{}", terminal.screen());
    answer_behind_draft(&mut terminal, "n");
    terminal.wait_for_turn("All asked.");
    terminal.press("\x03\x04");
    assert_eq!(terminal.exit_code(), 0);
    assert!(!std::fs::read_to_string(home.work().join(".envrc")).unwrap().contains("EVIL"));
}

#[test]
fn what_is_copied_has_no_controls_and_nothing_hidden() {
    let answer = "run this:\n\n\tls\u{1b}[201~\rtouch X\r\u{202e}\u{200b} end 👨‍👩‍👧";
    let home = Home::new(json!([{"text": answer}]));
    let mut terminal = session_with(&home, (100, 40), &[]);
    terminal.press("go\r");
    terminal.wait_for("done · 1 step", 1);
    terminal.press("/copy\r");
    terminal.wait_for("given to the terminal's clipboard", 1);
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    // run this:, an empty line, a tab and `ls[201~touch X end 👨‍👩‍👧`.
    let expected = "cnVuIHRoaXM6CgoJbHNbMjAxfnRvdWNoIFggZW5kIPCfkajigI3wn5Gp4oCN8J+Rpw==";
    let raw = terminal.raw();
    assert!(raw.contains(&format!("\x1b]52;c;{expected}\x07")), "{raw:?}");
}
