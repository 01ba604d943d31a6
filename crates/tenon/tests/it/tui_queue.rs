//! What is typed while the model works, on a real terminal.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Turn},
    terminal::{Home, Terminal},
    tui::{session, session_with},
};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const ALT_ENTER: &str = "\x1b\r";

#[test]
fn ctrl_c_gives_back_what_waits_with_either_key() {
    let home = Home::new(json!([{"text": "Never.", "delay_ms": 60_000}]));
    let mut terminal = session(&home);
    terminal.press("one\r");
    terminal.wait_for("Waiting for the model", 1);
    terminal.press("two\r");
    terminal.press("three");
    terminal.press(ALT_ENTER);
    terminal.wait_for("after the turn: three", 1);
    terminal.press("half a line");
    terminal.press(CTRL_C);
    terminal.wait_for("The turn was cancelled.", 1);
    terminal.wait_for("> two\n  three\n  half a line", 1);
    terminal.press(CTRL_C);
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("user_message", "prompt"), ["one"]);
}

#[test]
fn what_is_typed_at_any_moment_is_said_once_and_in_order() {
    let step = |n: u32| {
        let sleep = format!("sleep 0.0{}; echo {n}", n % 5);
        json!({"calls": [{"name": "bash", "arguments": {"command": sleep}}], "delay_ms": n % 4 * 9})
    };
    let turns: Vec<Value> =
        (0..120).map(|n| if n % 7 == 6 { json!({"text": "Next."}) } else { step(n) }).collect();
    let home = Home::new(json!(turns));
    let mut terminal = session_with(&home, (80, 60), &[]);
    terminal.press("word 0\r");
    // Pauses that are no multiple of anything else.
    for (number, pause) in [3_u64, 41, 0, 17, 160, 5, 88, 0, 29, 230, 11, 64].iter().enumerate() {
        sleep(Duration::from_millis(*pause));
        terminal.press(&format!("word {}\r", number + 1));
    }
    let words: Vec<String> = (0..=12).map(|n| format!("word {n}")).collect();
    let deadline = Instant::now() + Duration::from_secs(30);
    while home.logged("user_message", "prompt").len() < words.len() {
        assert!(Instant::now() < deadline, "{}", terminal.screen());
        sleep(Duration::from_millis(20));
    }
    assert_eq!(home.logged("user_message", "prompt"), words);
    terminal.wait_for("Next.", 1);
    // The turn may have ended at the same moment.
    terminal.press(CTRL_C);
    let is_idle = ["The turn was cancelled.", "Ctrl-C again leaves"];
    terminal.wait_until("idle", |screen| is_idle.iter().any(|said| screen.contains(said)));
    terminal.press(CTRL_D);
    terminal.exit_code();
}

/// Types two messages while a command runs, and returns the two requests of the turn.
fn typed_while_a_command_runs(model: &str, server: &FakeServer) -> Vec<(String, Value)> {
    let home = Home::asking(model);
    let url = server.url();
    let environment = [
        ("ANTHROPIC_API_KEY", "k"),
        ("ANTHROPIC_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", "k"),
        ("OPENAI_BASE_URL", url.as_str()),
    ];
    let mut terminal = Terminal::start_sized(&home, &["--sandbox", "off"], (80, 60), &environment);
    terminal.wait_for("mock", 1);
    terminal.press("go\r");
    terminal.wait_for("Running bash", 1);
    terminal.press("not in tests/\r也别动 docs/\r");
    terminal.wait_for("next step: 也别动 docs/", 1);
    std::fs::write(home.work().join("go-on"), "").unwrap();
    terminal.wait_for_turn("All done.");
    terminal.press(CTRL_D);
    terminal.exit_code();
    let sent = server.requests().into_iter();
    sent.map(|sent| (sent.text(), sent.json()["messages"].clone())).collect()
}

fn turns() -> Vec<Turn> {
    let wait = "until [ -e go-on ]; do sleep 0.02; done; echo waited";
    vec![Turn::text("I wait.").call("bash", json!({"command": wait})), Turn::text("All done.")]
}

#[test]
fn both_dialects_get_what_was_typed_behind_the_results_of_that_step() {
    let server = FakeServer::anthropic(turns());
    let sent = typed_while_a_command_runs("anthropic/mock-model", &server);
    let messages = sent[1].1.as_array().unwrap();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    let kinds: Vec<&Value> =
        messages[2]["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_result", "text", "text"]);
    assert_eq!(messages[2]["content"][2]["text"], "也别动 docs/");
    check_prefix(&sent);

    let server = FakeServer::openai(turns());
    let sent = typed_while_a_command_runs("openai/mock-model", &server);
    let messages = sent[1].1.as_array().unwrap();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
    assert_eq!(messages[4]["content"], "not in tests/\n\n也别动 docs/");
    check_prefix(&sent);
}

/// Checks that the second request begins with the messages of the first, cache marks apart.
fn check_prefix(sent: &[(String, Value)]) {
    assert_eq!(sent.len(), 2);
    let bodies: Vec<String> = sent
        .iter()
        .map(|(body, _)| body.replace(r#","cache_control":{"type":"ephemeral"}"#, ""))
        .collect();
    let end = bodies[0].rfind("}]").unwrap();
    assert!(bodies[1].starts_with(&bodies[0][..end]), "{}\n{}", bodies[0], bodies[1]);
}
