//! Budgets of a turn: reserved before a request, named when they end it, and the session goes on
//! with more.

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Reply, Turn},
    program::{Place, Run},
};

fn bash(command: &str, input: u64, output: u64) -> Value {
    json!({
        "calls": [{ "name": "bash", "arguments": { "command": command } }],
        "usage": { "input": input, "output": output },
    })
}

fn object(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap()
}

/// Ends a turn of two steps by `flags` after its first, and goes on with `more`.
#[track_caller]
fn check(flags: [&str; 2], more: [&str; 2], reason: &str, command: &str) {
    let place = Place::new();
    let last = json!({ "text": "done", "usage": { "input": 2100, "output": 20 } });
    let first = place.script(json!([bash(command, 2000, 50), last]));
    let json = ["--output-format", "json"];
    let run = place.run(&[&["--model", &first], &flags[..], &json, &["go"]].concat()).ends_with(1);
    assert_eq!(object(&run)["stop_reason"], reason, "{flags:?}");
    let session = object(&run)["session_id"].clone();
    let _ = run.says(&[flags[0], "tenon --continue"]);
    let rest = place.script(json!([last]));
    let more = [&["--model", &rest, "--continue"], &more[..], &json, &["go on"]].concat();
    let run = place.run(&more).ends_with(0);
    let object = object(&run);
    assert_eq!((&object["stop_reason"], &object["result"]), (&json!("finished"), &json!("done")));
    assert_eq!(object["session_id"], session, "{flags:?}");
}

#[test]
fn a_turn_that_a_budget_ended_goes_on_with_more() {
    check(["--max-steps", "1"], ["--max-steps", "5"], "step_limit", "true");
    check(["--max-tokens", "4000"], ["--max-tokens", "50000"], "token_limit", "true");
    check(["--max-time", "1s"], ["--max-time", "100s"], "time_limit", "sleep 20");
}

/// Some servers tell nothing of what a request used, or zeros.
#[test]
fn what_a_server_does_not_tell_is_counted_by_estimate() {
    let place = Place::new();
    let turns = (0..40).map(|n| bash(&format!("echo {n}"), 0, 0)).collect::<Vec<_>>();
    let script = place.script(json!(turns));
    let flags = ["--max-tokens", "10000", "--output-format", "json", "go"];
    let run = place.run(&[&["--model", &script], &flags[..]].concat()).ends_with(1);
    let object = object(&run);
    assert_eq!(object["stop_reason"], "token_limit");
    assert_eq!((&object["usage"]["input"], &object["usage"]["output"]), (&json!(0), &json!(0)));
}

#[test]
fn a_request_that_would_be_too_much_is_not_made() {
    let server = FakeServer::anthropic(vec![Turn::text("hello")]);
    let place = Place::new();
    let arguments =
        ["--model", "anthropic/claude-sonnet-4-5", "--max-tokens", "100", "-p", "hello there"];
    let mut command = place.tenon(&arguments);
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
    let run = Run::of(command.output().unwrap()).ends_with(1);
    let _ = run.says(&["The limit of tokens was reached."]);
    assert!(server.requests().is_empty());
}

/// Runs tenon on a model that has a price. It holds on the vendor's own server only, which is reached
/// through a proxy here.
fn run_for_money(place: &Place, server: &FakeServer, flags: &[&str], prompt: &str) -> Run {
    let arguments = ["--model", "anthropic/claude-sonnet-4-5", "--output-format", "json"];
    let mut command = place.tenon(&[&arguments[..], flags, &[prompt]].concat());
    command.env("ANTHROPIC_API_KEY", "k");
    command.env("ANTHROPIC_BASE_URL", "http://api.anthropic.com");
    command.env("http_proxy", server.url());
    Run::of(command.output().unwrap())
}

#[test]
fn money_ends_a_turn_before_the_request_that_would_cost_too_much() {
    let turns = || {
        vec![
            Turn::of_call("bash", json!({ "command": "true" })),
            Turn::of_call("bash", json!({ "command": "echo" })),
            Turn::text("done"),
        ]
    };
    for (dollars, requests) in [("0.00001", 0), ("5", 3)] {
        let server = FakeServer::anthropic(turns());
        let object = object(&run_for_money(&Place::new(), &server, &["--max-cost", dollars], "go"));
        let reason = if requests == 0 { "cost_limit" } else { "finished" };
        assert_eq!(object["stop_reason"], reason, "{object}");
        assert_eq!(server.requests().len(), requests, "{dollars}");
        assert!(object["cost"].is_number(), "{object}");
    }
}

#[test]
fn money_ends_a_turn_in_its_middle_and_the_session_goes_on_with_more() {
    let dear = |turn: Turn| {
        let told = turn.anthropic_sse();
        let dear = told.replace("\"input_tokens\":10,", "\"input_tokens\":100000,");
        assert_ne!(dear, told);
        Reply::sse().piece(dear)
    };
    let command = json!({ "command": "echo made > made" });
    let server = FakeServer::start(vec![dear(Turn::of_call("bash", command))]);
    let place = Place::new();
    let run = run_for_money(&place, &server, &["--max-cost", "0.5"], "go").ends_with(1);
    let ended = object(&run);
    assert_eq!((&ended["stop_reason"], server.requests().len()), (&json!("cost_limit"), 1));
    // 100,000 tokens in and 5 out.
    assert!((ended["cost"].as_f64().unwrap() - 0.300_075).abs() < 1e-6, "{ended}");
    assert!(place.path("work/made").exists());
    let _ = run.says(&["--max-cost", "tenon --continue"]);
    server.push(dear(Turn::text("done")));
    let flags = ["--continue", "--max-cost", "5"];
    let rest = object(&run_for_money(&place, &server, &flags, "go on").ends_with(0));
    assert_eq!((&rest["stop_reason"], &rest["result"]), (&json!("finished"), &json!("done")));
    assert_eq!((&rest["session_id"], server.requests().len()), (&ended["session_id"], 2));
    assert!(server.requests()[1].text().contains("echo made"), "the call is still told of");
}
