//! The session in plain lines on a real terminal, with the scripted provider.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::terminal::{Home, Terminal, is_running};

const PROMPT: &str = "Ctrl-D ends.";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";

fn interactive(home: &Home) -> Terminal {
    let mut terminal = Terminal::start(home, &["--plain"], 80, &[]);
    terminal.wait_for(PROMPT, 1);
    terminal.wait_for_prompt();
    terminal
}

#[test]
fn spec_36_prompts_follow_each_other_in_one_session_with_a_history() {
    let home = Home::new(json!([{"text": "Answer one."}, {"text": "第二个回答。"}]));
    let mut terminal = interactive(&home);
    terminal.press("the first\r");
    terminal.wait_for("Answer one.", 1);
    terminal.wait_for("done · 1 step", 1);
    terminal.wait_for_prompt();
    terminal.press("第二个问题\r");
    terminal.wait_for("第二个回答。", 1);
    terminal.wait_for("done · 1 step", 2);
    terminal.wait_for_prompt();
    terminal.press(UP);
    terminal.press(UP);
    terminal.wait_for("> the first", 2);
    terminal.press("\x15");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("user_message", "prompt"), ["the first", "第二个问题"]);
    let history = home.state("history");
    let mode = std::fs::metadata(&history).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(kept.contains("the first") && kept.contains("第二个问题"), "{kept}");
}

#[test]
fn that_there_are_no_walls_is_red_at_every_prompt() {
    const SAID: &str = "Commands run without walls (--sandbox off).";
    let home = Home::new(json!([{"text": "Answer one."}]));
    let mut terminal = Terminal::start(&home, &["--plain", "--sandbox", "off"], 80, &[]);
    terminal.wait_for(PROMPT, 1);
    terminal.wait_for_prompt();
    terminal.press("the first\r");
    terminal.wait_for("done · 1 step", 1);
    terminal.wait_for_prompt();
    terminal.press("/jobs\r");
    terminal.wait_for(SAID, 3);
    terminal.wait_for_prompt();
    assert!(terminal.screen().ends_with(&format!("{SAID}\n>")), "{}", terminal.screen());
    assert_eq!(terminal.raw().matches(&format!("\x1b[31m{SAID}")).count(), 3);
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn pasted_lines_and_lines_that_end_in_a_backslash_are_one_prompt() {
    let home = Home::new(json!([{"text": "Pasted."}, {"text": "Joined."}]));
    let mut terminal = interactive(&home);
    terminal.press("\x1b[200~line one\nline two\x1b[201~");
    terminal.wait_for("line two", 1);
    terminal.press("\r");
    terminal.wait_for("Pasted.", 1);
    terminal.wait_for("done", 1);
    terminal.wait_for_prompt();
    terminal.press("one\\\r");
    terminal.press("two\r");
    terminal.wait_for("Joined.", 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("user_message", "prompt"), ["line one\nline two", "one\ntwo"]);
}

#[test]
fn ctrl_c_ends_a_turn_with_its_commands_and_comes_back_to_the_prompt() {
    let sleep = "sleep 300.04171";
    let home = Home::new(json!([
        {"calls": [{"name": "bash", "arguments": {"command": sleep}}]},
        {"text": "Still here."},
    ]));
    let mut terminal = interactive(&home);
    terminal.press("wait\r");
    while !is_running(sleep) {
        std::thread::yield_now();
    }
    terminal.press(CTRL_C);
    terminal.wait_for("The turn was cancelled.", 1);
    assert!(!is_running(sleep), "the command outlived its turn");
    terminal.wait_for_prompt();
    terminal.press("go on\r");
    terminal.wait_for("Still here.", 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("turn_ended", "reason"), ["cancelled", "finished"]);
    assert_eq!(home.logged("tool_result", "is_error"), [true]);
}

#[test]
fn ctrl_c_at_the_prompt_clears_the_line_and_leaves_the_second_time() {
    let home = Home::new(json!([]));
    let mut terminal = interactive(&home);
    terminal.press("half a line");
    terminal.wait_for("half a line", 1);
    terminal.press(CTRL_C);
    terminal.wait_for("Ctrl-C again leaves", 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_C);
    assert_eq!(terminal.exit_code(), 130);
    assert!(home.logged("user_message", "prompt").is_empty());
}

#[test]
fn a_question_takes_n_y_and_s_and_nothing_that_was_typed_before_it() {
    let call = json!([{"name": "bash", "arguments": {"command": "git reset --hard HEAD~1"}}]);
    let home = Home::new(json!([
        {"calls": call, "delay_ms": 300},
        {"calls": call},
        {"calls": call},
        {"calls": call},
        {"text": "All asked."},
    ]));
    let mut terminal = interactive(&home);
    terminal.press("reset it\r");
    terminal.press("y\r");
    terminal.wait_for("Allow it this once?", 1);
    assert!(terminal.screen().contains("    git reset --hard HEAD~1"), "{}", terminal.screen());
    terminal.press("\r");
    terminal.wait_for("Please answer y or n.", 1);
    terminal.press("n keep my work\r");
    terminal.wait_for("Allow it this once?", 2);
    terminal.press("y\r");
    terminal.wait_for("s allows this until the session ends: bash(git reset --hard:*).", 3);
    terminal.wait_for("Allow it this once?", 3);
    // The fourth call is not asked about.
    terminal.press("s\r");
    terminal.wait_for("All asked.", 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("call_decided", "verdict"), ["deny", "allow", "allow", "allow"]);
    let noted = home.logged("notice", "text");
    assert_eq!(noted[0], "allowed for this session: bash(git reset --hard:*)");
    let results = home.logged("tool_result", "content");
    let first = results[0].as_str().unwrap();
    assert!(first.contains("the user refused this call and said: keep my work"), "{first}");
    let second = results[1].as_str().unwrap();
    assert!(second.contains("not a git repository"), "{second}");
}

#[test]
fn ctrl_c_takes_a_question_back_and_the_next_line_is_a_prompt() {
    let home = Home::new(json!([
        {"calls": [{"name": "bash", "arguments": {"command": "git clean -fd"}}]},
        {"text": "Next."},
    ]));
    let mut terminal = interactive(&home);
    terminal.press("clean\r");
    terminal.wait_for("Allow it this once?", 1);
    terminal.press(CTRL_C);
    terminal.wait_for("The turn was cancelled.", 1);
    terminal.wait_for_prompt();
    terminal.press("y\r");
    terminal.wait_for("Next.", 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("user_message", "prompt"), ["clean", "y"]);
}

#[test]
fn commands_answer_without_a_model() {
    let home = Home::new(json!([]));
    let mut terminal = interactive(&home);
    terminal.press("/help\r");
    terminal.wait_for("/quit", 1);
    terminal.wait_for_prompt();
    terminal.press("/tools\r");
    terminal.wait_for("read_file", 1);
    terminal.wait_for_prompt();
    terminal.press("/nope\r");
    terminal.wait_for("There is no command /nope.", 1);
    terminal.wait_for_prompt();
    terminal.press("/quit\r");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_dumb_terminal_gets_plain_lines_without_a_single_escape_sequence() {
    let home = Home::new(json!([
        {"text": "Looking.", "calls": [{"name": "glob", "arguments": {"pattern": "*"}}]},
        {"text": "Done."},
    ]));
    let mut terminal = Terminal::start(&home, &[], 80, &[("TERM", "dumb")]);
    terminal.wait_for(PROMPT, 1);
    terminal.wait_for_prompt();
    terminal.press("look\r");
    terminal.wait_for("Done.", 1);
    terminal.wait_for_prompt();
    terminal.press("/quit\r");
    assert_eq!(terminal.exit_code(), 0);
    assert!(!terminal.raw().contains('\x1b'), "{:?}", terminal.raw());
    terminal.check_straight();
}

#[test]
fn the_interface_speaks_the_language_of_the_locale() {
    let home = Home::new(json!([{"text": "你好。"}]));
    let mut terminal = Terminal::start(&home, &["--plain"], 80, &[("LANG", "zh_CN.UTF-8")]);
    terminal.wait_for("输入你要做的事", 1);
    terminal.wait_for_prompt();
    terminal.press("你好\r");
    terminal.wait_for("完成 · 1 步", 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_host_that_was_out_of_reach_is_asked_about_and_then_reached() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = server.local_addr().unwrap().to_string();
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
        printf 'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3; head -1 <&3"
    );
    let call = json!([{"name": "bash", "arguments": {"command": command}}]);
    let home = Home::new(json!([{"calls": call}, {"calls": call}, {"text": "Reached."}]));
    let mut terminal = interactive(&home);
    terminal.press("go\r");
    terminal.wait_for("Let the next command reach it?", 1);
    assert!(terminal.screen().contains(&format!("    {host}")), "{}", terminal.screen());
    terminal.press("s\r");
    terminal.wait_for("Reached.", 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let results = home.logged("tool_result", "content");
    let (first, second) = (results[0].as_str().unwrap(), results[1].as_str().unwrap());
    let told = format!("[walls] the user allows {host} from now on; run the command again");
    assert!(first.starts_with("HTTP/1.1 403") && first.ends_with(&told), "{first}");
    assert!(second.starts_with("HTTP/1.1 200"), "{second}");
    assert_eq!(home.logged("notice", "text"), [format!("allowed for this session: --net {host}")]);
}
