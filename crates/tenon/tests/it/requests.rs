//! What the real program sends: how much, and how little of it changes from step to step.

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Reply, Turn},
    program::{Place, Run, files_beneath},
};

/// The most bytes of the first request for "hi" with all six tools, headers included.
const FIRST_REQUEST_BYTES_MAX: usize = 6 * 1024;

fn requests(place: &Place, model: &str, server: &FakeServer) -> Vec<(usize, String)> {
    requests_within(place, model, server, "1000000")
}

/// Returns the requests of a session that may use so many tokens.
fn requests_within(
    place: &Place,
    model: &str,
    server: &FakeServer,
    tokens: &str,
) -> Vec<(usize, String)> {
    let mut command = place.tenon(&["-p", "--model", model, "--max-tokens", tokens, "hi"]);
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
    command.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", server.url());
    Run::of(command.output().unwrap()).ends_with(0);
    server
        .requests()
        .iter()
        .map(|request| {
            let head: usize =
                request.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
            (head + request.body.len(), request.text())
        })
        .collect()
}

#[test]
fn the_first_request_with_all_six_tools_is_at_most_6_kb_on_the_wire() {
    let server = FakeServer::anthropic(vec![Turn::text("hello")]);
    let (bytes, body) = requests(&Place::new(), "anthropic/claude-sonnet-4-5", &server).remove(0);
    for tool in ["bash", "read_file", "write_file", "edit_file", "grep", "glob"] {
        assert!(body.contains(&format!("\"name\":\"{tool}\"")), "{tool}: {body}");
    }
    assert!(bytes <= FIRST_REQUEST_BYTES_MAX, "{bytes} bytes: {body}");
}

#[test]
fn what_was_sent_once_is_sent_again_byte_for_byte_cache_markers_apart() {
    let turns = || {
        vec![
            Turn::of_call("bash", json!({"command": "echo 中文 '\"'"})),
            Turn::of_call("read_file", json!({"path": "missing"}))
                .call("glob", json!({"pattern": "*"})),
            Turn::of_call("write_file", json!({"path": "a", "content": "</x>\r\n"})),
            Turn::text("done"),
        ]
    };
    for (model, server) in [
        ("anthropic/claude-sonnet-4-5", FakeServer::anthropic(turns())),
        ("openai/gpt-x", FakeServer::openai(turns())),
    ] {
        let bodies: Vec<String> = requests(&Place::new(), model, &server)
            .into_iter()
            .map(|(_, body)| body.replace(r#","cache_control":{"type":"ephemeral"}"#, ""))
            .collect();
        assert_eq!(bodies.len(), 4, "{model}");
        for (before, after) in bodies.iter().zip(bodies.iter().skip(1)) {
            // The end of the last message; what stands behind the messages holds no list.
            let end = before.rfind("}]").unwrap();
            assert!(after.starts_with(&before[..=end]), "{model}:\n{before}\n{after}");
        }
    }
}

#[test]
fn how_a_request_was_sent_is_compared_in_a_replay() {
    let turns =
        || vec![Turn::of_call("bash", json!({"command": "echo '\u{1f600}'"})), Turn::text("done")];
    for (model, server) in [
        ("anthropic/claude-sonnet-4-5", FakeServer::anthropic as fn(Vec<Turn>) -> FakeServer),
        ("openai/gpt-x", FakeServer::openai),
    ] {
        let place = Place::new();
        requests_within(&place, model, &server(turns()), "8000");
        assert_eq!(place.logs().matches("\"is_limited\":true").count(), 2, "{}", place.logs());
        place.run(&["replay", "last"]).ends_with(0);
        let place = Place::new();
        requests(&place, model, &server(turns()));
        assert!(!place.logs().contains("is_limited"), "{}", place.logs());
        place.run(&["replay", "last"]).ends_with(0);
        let logs = files_beneath(&place.path("home/.local/state/tenon/sessions"));
        let is_log = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "jsonl");
        let log = logs.into_iter().find(is_log).unwrap();
        let whole = std::fs::read_to_string(&log).unwrap();
        let forms: Vec<Value> = whole
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|event| event["type"] == "request_sent")
            .map(|event| event["form"].clone())
            .collect();
        let last = &forms[1];
        let altered = |from: String, to: &str| {
            let (before, after) = whole.rsplit_once(&from).unwrap();
            std::fs::write(&log, format!("{before}{to}{after}")).unwrap();
            place.run(&["replay", "last", "--json"])
        };
        let differs = |run: Run, what: &str| {
            let report: Value = serde_json::from_str(&run.ends_with(1).out).unwrap();
            let found = &report["divergence"];
            assert_eq!((&found["step"], &found["what"]), (&json!(2), &json!(what)), "{report}");
        };
        differs(altered(last["body"].to_string(), "\"0\""), "body");
        let max = format!("\"output_tokens_max\":{}", last["output_tokens_max"]);
        differs(altered(max.clone(), "\"output_tokens_max\":1"), "reply_limit");
        // A limit of the session is not in the log, and an older log says nothing of this.
        let limited = "\"output_tokens_max\":1,\"is_limited\":true";
        altered(max, limited);
        let run = place.run(&["replay", "last"]).ends_with(1);
        assert!(run.out.starts_with("step 2: the request is sent in other bytes"), "{run:?}");
        let without = |line: &str| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            event.as_object_mut().unwrap().remove("form");
            format!("{event}\n")
        };
        std::fs::write(&log, whole.lines().map(without).collect::<String>()).unwrap();
        place.run(&["replay", "last"]).ends_with(0);
    }
}

#[test]
fn a_reply_that_stalls_within_an_event_goes_on_after_the_configured_time() {
    let place = Place::new();
    place.config("[network]\nidle_timeout_s = 1\n");
    let run_once = |text: &str| Turn::text(text).call("bash", json!({"command": "echo x >> ran"}));
    let whole = run_once("Half of the rest.").anthropic_sse();
    let until = |words: &str| &whole[..whole.find(words).unwrap()];
    let server = FakeServer::start(vec![
        // Nothing was shown of the first, prose of the second, prose and half a call of the third.
        Reply::sse().piece(until("message_start")).stall(),
        Reply::sse().piece(until("the ")).stall(),
        Reply::sse()
            .piece(run_once("the ").anthropic_sse().split_once("input_json").unwrap().0)
            .stall(),
        Reply::anthropic(run_once("rest.")),
        Reply::anthropic_text("Done."),
    ]);
    let requests = requests(&place, "anthropic/claude-sonnet-4-5", &server);
    assert_eq!(requests.len(), 5);
    assert_eq!(std::fs::read_to_string(place.path("work/ran")).unwrap(), "x\n");
    let last = &requests[4].1;
    for words in ["\"hi\"", "\"Half of ", "\"the ", "\"rest.\"", "\"tool_use\"", "\"tool_result\""]
    {
        assert_eq!(last.matches(words).count(), 1, "{words}: {last}");
    }
    let logs = place.logs();
    let stalled = "sent nothing for 1 s (the idle limit)";
    assert_eq!(logs.matches(stalled).count(), 2, "each with the reply that goes on: {logs}");
    assert_eq!(logs.matches("\"type\":\"continued\"").count(), 2, "{logs}");
}

#[test]
fn what_a_request_used_that_broke_off_without_a_word_is_in_the_costs() {
    let place = Place::new();
    let whole = Turn::text("x").anthropic_sse();
    let begun = whole.split_inclusive("\n\n").next().unwrap();
    let refused =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    let server = FakeServer::start(vec![
        Reply::sse().piece(begun).drop_connection(),
        Reply::anthropic_text("Hello."),
        Reply::sse().piece(begun).data(refused),
    ]);
    let tenon = |arguments: &[&str], status: i32| {
        let mut command = place.tenon(arguments);
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
        Run::of(command.output().unwrap()).ends_with(status).out
    };
    let model = "anthropic/claude-sonnet-4-5";
    tenon(&["-p", "--model", model, "hi"], 0);
    tenon(&["-p", "--model", model, "--continue", "more"], 1);
    let costs: Value = serde_json::from_str(&tenon(&["cost", "last", "--json"], 0)).unwrap();
    let told = ["/requests/0/usage/input", "/requests/1/usage/input", "/usage/input"];
    assert_eq!(
        told.map(|path| costs.pointer(path).and_then(Value::as_u64)),
        [20, 10, 30].map(Some)
    );
}

#[test]
fn a_mode_that_only_reads_is_told_with_the_prompt_once_and_its_end_too() {
    const STRICT: &str = "[mode] read-only: look and plan; whatever changes something is refused.";
    const FREE: &str = "[mode] no longer read-only: you may change files and run commands.";
    let refused = Turn::of_call("write_file", json!({ "path": "a", "content": "x" }));
    let mut turns = vec![Turn::text("hello"), refused];
    turns.extend(["no", "still no", "done", "free", "asks"].map(Turn::text));
    let (server, place) = (FakeServer::anthropic(turns), Place::new());
    let asked = |flags: &[&str]| {
        let mut command = place.tenon(&[&["-p", "--model", "anthropic/m", "hi"], flags].concat());
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
        Run::of(command.output().unwrap()).ends_with(0);
        let last = server.requests().last().unwrap().text();
        (last.matches(STRICT).count(), last.matches(FREE).count(), last)
    };
    let (_, _, plain) = asked(&[]);
    assert!(!plain.contains("[mode]"), "{plain}");
    let read_only = ["--mode", "read-only"];
    let steps: [(&[&str], _); 5] = [
        (&read_only, (1, 0)),
        (&["--continue", "--mode", "read-only"], (1, 0)),
        (&["--continue"], (1, 1)),
        (&["--continue", "--mode", "ask"], (1, 1)),
        (&["--continue", "--mode", "read-only"], (2, 1)),
    ];
    let mut before = String::new();
    for (flags, expected) in steps {
        let (strict, free, body) = asked(flags);
        assert_eq!((strict, free), expected, "{flags:?}: {body}");
        let body = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
        // What was sent before is sent again, with its notes.
        let end = before.rfind("}]").map_or(0, |end| end + 1);
        assert!(body.starts_with(&before[..end]), "{flags:?}:\n{before}\n{body}");
        before = body;
        place.run(&["replay", "last"]).ends_with(0);
    }
}
