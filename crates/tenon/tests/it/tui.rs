//! The interactive session on a real terminal: keys in, what stands on the screen out.

use std::{os::unix::fs::PermissionsExt, thread::sleep, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::terminal::{Home, Terminal, is_running};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_O: &str = "\x0f";
const UP: &str = "\x1b[A";
const ALT_ENTER: &str = "\x1b\r";
/// Longer than the pause that an answer needs before it.
pub(crate) const PAUSE: Duration = Duration::from_millis(1_200);

pub(crate) fn session(home: &Home) -> Terminal {
    session_with(home, (80, 60), &[])
}

pub(crate) fn session_with(
    home: &Home,
    size: (u16, u16),
    environment: &[(&str, &str)],
) -> Terminal {
    let mut terminal = Terminal::start_sized(home, &[], size, environment);
    terminal.wait_for("scripted", 2);
    terminal
}

fn reset() -> Value {
    json!([{"name": "bash", "arguments": {"command": "git reset --hard HEAD~1"}}])
}

#[test]
fn spec_36_a_turn_stays_in_the_scrollback_and_the_composer_goes() {
    let home = Home::new(json!([
        {"text": "I **look**.", "calls": [{"name": "glob", "arguments": {"pattern": "*"}}]},
        {"text": "## Found\n\n- one `thing`\n\n```rust\nlet a = 1;\n```"},
        {"text": "第二个回答。"},
    ]));
    let mut terminal = session_with(&home, (80, 20), &[]);
    terminal.press("look around\r");
    terminal.wait_for("done · 2 steps", 1);
    terminal.press("第二个问题\r");
    terminal.wait_for("done · 1 step", 1);
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let all = terminal.everything();
    let parts = [
        "> look around",
        "I look.",
        "┌─ glob *",
        "Found",
        "• one thing",
        "  let a = 1;",
        "done · 2 steps",
        "> 第二个问题",
        "第二个回答。",
        "done · 1 step",
    ];
    let mut from = 0;
    for part in parts {
        let found = all[from..].find(part);
        from += found.unwrap_or_else(|| panic!("no {part:?} after {from} in\n{all}"));
        assert_eq!(all.matches(part).count(), 1, "{part:?} is there twice in\n{all}");
    }
    assert!(!all[from..].contains("scripted"), "the status line stayed:\n{all}");
    assert!(terminal.is_cooked() && terminal.cursor().is_some());
    let raw = terminal.raw();
    assert!(!raw.contains("\x1b[?1049h") && !raw.contains("\x1b[6n"), "asks or leaves the screen");
    assert_eq!(raw.matches("\x1b[?2026h").count(), raw.matches("\x1b[?2026l").count() - 1);
    assert_eq!(home.logged("user_message", "prompt"), ["look around", "第二个问题"]);
    let mode = std::fs::metadata(home.state("history")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Ends with Esc the writing of the draft that got what was typed at a question, and answers it.
pub(crate) fn answer_behind_draft(terminal: &mut Terminal, key: &str) {
    sleep(PAUSE);
    terminal.press("\x1b");
    // Right behind it a letter would be one that is typed with Alt.
    sleep(PAUSE);
    terminal.press(key);
}

#[test]
fn nothing_that_is_typed_ahead_pasted_or_held_answers_a_question() {
    let home = Home::new(json!([
        {"calls": reset(), "delay_ms": 300},
        {"text": "Asked once."},
    ]));
    let mut terminal = session(&home);
    terminal.press("reset it\r");
    terminal.wait_for("Waiting for the model", 1);
    terminal.press("yyy");
    terminal.wait_for("Why it is asked", 1);
    assert!(terminal.screen().contains("git reset --hard HEAD~1"), "{}", terminal.screen());
    for keys in ["y", "yes\r", "\r", "\x1b[200~y\ny\n\x1b[201~", "y\ry\ry\r"] {
        sleep(PAUSE);
        for _ in 0..if keys.len() == 1 { 30 } else { 1 } {
            terminal.press(keys);
            sleep(Duration::from_millis(20));
        }
    }
    sleep(PAUSE);
    assert!(home.logged("call_decided", "verdict").is_empty(), "{}", terminal.screen());
    answer_behind_draft(&mut terminal, "y");
    terminal.wait_for("Asked once.", 1);
    assert_eq!(home.logged("call_decided", "verdict"), ["allow"]);
    // What was typed meanwhile is the draft now.
    assert!(terminal.screen().contains("> yyy"), "{}", terminal.screen());
    terminal.press(CTRL_C);
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_question_that_appears_while_keys_stream_in_is_not_answered_by_them() {
    for stream in ["y", "\r", "y\r", "\x1b[200~y\x1b[201~", "a", "s\r", "是"] {
        let home = Home::new(json!([{"calls": reset(), "delay_ms": 500}, {"text": "Asked."}]));
        let mut terminal = session(&home);
        terminal.press("reset it\r");
        terminal.wait_for("Waiting for the model", 1);
        let mut seen = 0;
        // It goes on for two seconds after the question is there.
        while seen < 80 {
            terminal.press(stream);
            sleep(Duration::from_millis(25));
            seen += usize::from(terminal.screen().contains("Why it is asked"));
        }
        sleep(PAUSE);
        let decided = home.logged("call_decided", "verdict");
        assert!(decided.is_empty(), "{stream:?}: {decided:?}\n{}", terminal.screen());
        answer_behind_draft(&mut terminal, "n");
        terminal.wait_for("Asked.", 1);
        assert_eq!(home.logged("call_decided", "verdict"), ["deny"], "{stream:?}");
    }
}

#[test]
fn a_rule_for_always_is_written_as_it_was_shown() {
    let command = "cd . && git reset --hard HEAD~1 | cat";
    let call = json!([{"name": "bash", "arguments": {"command": command}}]);
    let home = Home::new(json!([{"calls": call}, {"calls": call}, {"text": "Asked once."}]));
    let mut terminal = session_with(&home, (100, 60), &[]);
    terminal.press("go\r");
    terminal.wait_for("Why it is asked", 1);
    for part in ["cd .", "! git reset --hard HEAD~1", "cat"] {
        assert!(terminal.screen().contains(&format!("  {part}\n")), "{}", terminal.screen());
    }
    terminal.wait_for("a  yes, always: bash(git reset --hard:*) is added to allow in", 1);
    sleep(PAUSE);
    terminal.press("a");
    terminal.wait_for_turn("Asked once.");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let file = home.work().with_file_name(".config").join("tenon/config.toml");
    let written = std::fs::read_to_string(file).unwrap();
    assert_eq!(written, "allow = [\"bash(git reset --hard:*)\"]\n");
}

#[test]
fn a_question_is_answered_for_the_session_or_with_a_word_to_the_model() {
    let home = Home::new(json!([
        {"calls": reset()}, {"calls": reset()}, {"calls": reset()}, {"text": "All asked."},
    ]));
    let mut terminal = session(&home);
    terminal.press("reset it\r");
    terminal.wait_for("Why it is asked", 1);
    sleep(PAUSE);
    terminal.press("w");
    terminal.wait_for("tell the model:", 1);
    terminal.press("keep 我的 work\r");
    terminal.wait_for("refused", 1);
    terminal.wait_for("Why it is asked", 1);
    sleep(PAUSE);
    terminal.press("s");
    terminal.wait_for_turn("All asked.");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    // The third call is allowed by what the second was answered.
    assert_eq!(home.logged("call_decided", "verdict"), ["deny", "allow", "allow"]);
    let results = home.logged("tool_result", "content");
    assert!(results[0].as_str().unwrap().contains("said: keep 我的 work"), "{results:?}");
}

#[test]
fn blanks_and_empty_lines_hide_nothing_of_what_would_run() {
    for (filler, counted) in [(" ".repeat(2_500) + "; ", "␣×2500"), ("\n".repeat(36), "␊×35")]
    {
        let command = format!("git reset --hard HEAD~1{filler}git clean -fdx #");
        let calls = json!([{"name": "bash", "arguments": {"command": command}}]);
        for size in [(80, 24), (40, 14)] {
            let home = Home::new(json!([{"calls": calls}, {"text": "All asked."}]));
            let mut terminal = session_with(&home, size, &[]);
            terminal.press("go\r");
            terminal.wait_for("! git clean -fdx", 1);
            let screen = terminal.screen();
            assert!(screen.contains("! git reset --hard"), "{size:?}\n{screen}");
            let are_shown = screen.contains(counted) && screen.contains("git clean -fdx #");
            assert!(are_shown || screen.contains("Ctrl-O shows"), "{size:?}\n{screen}");
            assert!(are_shown || size.0 == 40, "{size:?}\n{screen}");
            sleep(PAUSE);
            terminal.press("n");
            terminal.wait_for_turn("All asked.");
            terminal.press(CTRL_D);
            assert_eq!(terminal.exit_code(), 0);
        }
    }
}

#[test]
fn what_is_not_on_the_screen_is_allowed_only_once_it_was_shown() {
    let command = format!("git reset --hard HEAD~1; {}git clean -fdx", "echo word; ".repeat(100));
    let calls = json!([{"name": "bash", "arguments": {"command": command}}]);
    for size in [(80, 24), (40, 14)] {
        let home = Home::new(json!([{"calls": calls}, {"text": "All asked."}]));
        let mut terminal = session_with(&home, size, &[]);
        terminal.press("go\r");
        terminal.wait_for("! git clean -fdx", 1);
        sleep(PAUSE);
        terminal.press("y");
        sleep(PAUSE);
        assert!(terminal.screen().contains("Ctrl-O shows"), "{}", terminal.screen());
        assert_eq!(home.logged("call_decided", "verdict").len(), 0);
        terminal.press(CTRL_O);
        terminal.page_to_the_end();
        terminal.wait_for("git clean -fdx", 1);
        terminal.press(CTRL_O);
        answer_behind_draft(&mut terminal, "y");
        terminal.wait_for("All asked.", 1);
        assert_eq!(home.logged("call_decided", "verdict"), ["allow"]);
    }
}

#[test]
fn a_message_waits_for_the_next_step_while_the_model_works_and_can_be_taken_back() {
    let home = Home::new(json!([
        {"text": "First answer.", "delay_ms": 1500}, {"text": "Second answer."},
        {"text": "Third answer."},
    ]));
    let mut terminal = session(&home);
    terminal.press("one\r");
    terminal.wait_for("Waiting for the model", 1);
    terminal.press("two\r");
    terminal.wait_for("next step: two", 1);
    terminal.press(UP);
    terminal.wait_for("> two", 1);
    assert!(!terminal.screen().contains("next step:"), "{}", terminal.screen());
    terminal.press(" later");
    terminal.press(ALT_ENTER);
    terminal.wait_for("after the turn: two later", 1);
    terminal.press("now 现在\r");
    terminal.wait_for("next step: now 现在", 1);
    terminal.wait_for_turn("Third answer.");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("user_message", "prompt"), ["one", "now 现在", "two later"]);
    assert_eq!(home.logged("user_message", "at_step"), [json!(null), json!(true), json!(null)]);
    assert_eq!(home.logged("turn_ended", "steps"), [2, 1]);
}

#[test]
fn ctrl_c_cancels_then_clears_then_leaves() {
    let sleeping = "sleep 300.05281";
    let home = Home::new(json!([
        {"calls": [{"name": "bash", "arguments": {"command": sleeping}}]},
    ]));
    let mut terminal = session(&home);
    terminal.press("wait\r");
    terminal.wait_for("Running bash sleep 300", 1);
    while !is_running(sleeping) {
        std::thread::yield_now();
    }
    terminal.press(CTRL_C);
    terminal.wait_for("The turn was cancelled.", 1);
    assert!(!is_running(sleeping), "the command outlived its turn");
    terminal.press("half a line");
    terminal.wait_for("> half a line", 1);
    terminal.press(CTRL_C);
    terminal.press(CTRL_C);
    terminal.wait_for("Ctrl-C again leaves", 1);
    assert!(!terminal.screen().contains("half a line"));
    terminal.press(CTRL_C);
    assert_eq!(terminal.exit_code(), 130);
    assert!(terminal.is_cooked());
}

#[test]
fn a_signal_gives_the_terminal_back_also_in_the_middle_of_a_turn() {
    for delay_ms in [0, 60_000] {
        let home = Home::new(json!([{"text": "Hello.", "delay_ms": delay_ms}]));
        let mut terminal = session(&home);
        terminal.press("go\r");
        terminal.wait_for(if delay_ms == 0 { "done · 1 step" } else { "Waiting for the" }, 1);
        assert!(!terminal.is_cooked());
        let pid = Pid::from_raw(i32::try_from(terminal.process_id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert_eq!(terminal.exit_code(), 130);
        assert!(terminal.is_cooked() && terminal.cursor().is_some());
        assert!(terminal.raw().contains("\x1b[?2004l"));
    }
}

#[test]
fn a_resize_in_the_middle_of_an_answer_leaves_one_live_part() {
    let words = "word ".repeat(40);
    let home = Home::new(json!([
        {"text": words, "calls": [{"name": "bash", "arguments": {"command": "echo begun; sleep 2"}}]},
        {"text": "The end."},
    ]));
    // This emulator cuts lines, as xterm does.
    let mut terminal = session_with(&home, (80, 24), &[("XTERM_VERSION", "XTerm(390)")]);
    terminal.press("go\r");
    terminal.wait_for("│ begun", 1);
    for (columns, rows) in [(40, 24), (100, 30), (60, 12)] {
        terminal.resize(columns, rows);
        sleep(Duration::from_millis(200));
        let screen = terminal.screen();
        assert_eq!(screen.matches("Running bash").count(), 1, "{columns}:\n{screen}");
        assert_eq!(screen.matches("┌─ bash").count(), 1, "{columns}:\n{screen}");
    }
    terminal.wait_for_turn("The end.");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn what_a_model_or_a_command_writes_cannot_move_the_cursor() {
    let hostile = "\x1b[2J\x1b]0;title\x07\x1b[31mred\u{202e}";
    let home = Home::new(json!([
        {"text": hostile, "calls": [{"name": "bash", "arguments": {"command": "printf '\\033[2J\\033]52;c;eA==\\007'; sleep 1"}}]},
        {"text": "End."},
    ]));
    let mut terminal = session(&home);
    terminal.press("go\r");
    terminal.wait_for("End.", 1);
    terminal.press(CTRL_O);
    terminal.wait_for("q closes", 1);
    terminal.press("q");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let raw = terminal.raw();
    for sequence in ["\x1b[2J", "\x1b]0;", "\x1b]52;", "\u{202e}"] {
        assert!(!raw.contains(sequence), "{sequence:?}");
    }
    assert!(raw.contains("␛[31mred⟨U+202E⟩"));
}

#[test]
fn a_narrow_terminal_without_colours_shows_everything_in_chinese() {
    let home = Home::new(json!([
        {"text": "好的。", "calls": [{"name": "bash", "arguments": {"command": "echo 汉字"}}]},
        {"text": "完成了。"},
    ]));
    let environment = [("LANG", "zh_CN.UTF-8"), ("NO_COLOR", "1")];
    let mut terminal = session_with(&home, (40, 30), &environment);
    terminal.press("你好");
    terminal.wait_for("> 你好", 1);
    assert_eq!(terminal.cursor().map(|(_, column)| column), Some(6));
    terminal.press("\r");
    terminal.wait_for("完成 · 2 步", 1);
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let raw = terminal.raw();
    for colour in ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"] {
        assert!(!raw.contains(colour), "{colour:?}");
    }
}

#[test]
fn the_whole_transcript_opens_on_a_screen_of_its_own() {
    let lines: String = (0..40).map(|n| format!("echo line {n};")).collect();
    let home = Home::new(json!([
        {"calls": [{"name": "bash", "arguments": {"command": lines}}]}, {"text": "Printed."},
    ]));
    let mut terminal = session_with(&home, (80, 24), &[]);
    terminal.press("print\r");
    terminal.wait_for("Printed.", 1);
    assert!(!terminal.everything().contains("│ line 39\n"), "{}", terminal.everything());
    terminal.press(CTRL_O);
    terminal.wait_for("100 %", 1);
    terminal.press("/line 39\r");
    terminal.wait_for("│ line 39\n", 1);
    terminal.press("q");
    terminal.wait_for("scripted", 1);
    terminal.press("/quit\r");
    assert_eq!(terminal.exit_code(), 0);
    assert!(terminal.raw().contains("\x1b[?1049l"));
}

#[test]
fn idle_is_idle() {
    let home = Home::new(json!([{"text": "Hello."}]));
    let mut terminal = session(&home);
    terminal.press("hello\r");
    terminal.wait_for("done · 1 step", 1);
    sleep(PAUSE);
    let stat = format!("/proc/{}/stat", terminal.process_id());
    let ticks = || -> u64 {
        let stat = std::fs::read_to_string(&stat).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let (written, spent) = (terminal.raw().len(), ticks());
    sleep(Duration::from_secs(3));
    assert_eq!(terminal.raw().len(), written, "something was drawn");
    assert_eq!(ticks(), spent, "the processor was used");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
}
