//! The hosts that commands tried, in the session's log and in `stream-json`.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::program::Place;

/// Asks the proxy for `host` so many times, one after the other.
fn connect(host: &str, times: u32) -> String {
    format!(
        "for n in $(seq {times}); do exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
        printf 'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3; head -1 <&3; exec 3>&-; done\n"
    )
}

fn bash(id: &str, command: &str, background: bool) -> Value {
    let arguments = json!({ "command": command, "background": background });
    json!({ "calls": [{ "id": id, "name": "bash", "arguments": arguments }] })
}

fn events(text: &str) -> Vec<Value> {
    let event = |line: &str| serde_json::from_str(line).unwrap();
    text.lines().filter(|line| line.starts_with('{')).map(event).collect()
}

/// Returns the events of hosts, without their times.
fn tried(events: &[Value]) -> Vec<Value> {
    let mut tried: Vec<Value> =
        events.iter().filter(|event| event["type"] == "host_tried").cloned().collect();
    for event in &mut tried {
        event.as_object_mut().unwrap().remove("time_ms");
    }
    tried
}

fn place_of(events: &[Value], kind: &str, call_id: &str) -> usize {
    let is_it = |event: &Value| event["type"] == kind && event["call_id"] == call_id;
    events.iter().position(is_it).unwrap_or_else(|| panic!("no {kind} of {call_id}: {events:#?}"))
}

#[test]
fn each_host_that_a_call_tried_is_logged_once_with_how_often_and_how_that_ended() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = server.local_addr().unwrap();
    let place = Place::new();
    let first =
        [connect(&open.to_string(), 20), connect("127.0.0.1:9", 2), connect("a.example:443", 3)];
    let script = place.script(json!([
        bash("one", &first.concat(), false),
        bash("two", &connect(&open.to_string(), 1), false),
        bash("three", "echo of no host", false),
        { "text": "Done." },
    ]));
    let net = ["--net", &open.to_string(), "--net", "127.0.0.1:9", "--sandbox", "a"];
    let stream = ["--output-format", "stream-json", "--model", &script, "go"];
    let run = place.run(&[&net[..], &stream].concat()).ends_with(0);
    let port = open.port();
    let no_rule = "no rule allows it";
    let expected = [
        json!({"type": "host_tried", "call_id": "one", "host": "127.0.0.1", "port": port, "reached": 20}),
        json!({"type": "host_tried", "call_id": "one", "host": "127.0.0.1", "port": 9, "failed": 2,
            "reason": "cannot be reached at 127.0.0.1: Connection refused (os error 111)"}),
        json!({"type": "host_tried", "call_id": "one", "host": "a.example", "port": 443, "blocked": 3,
            "reason": no_rule}),
        json!({"type": "host_tried", "call_id": "two", "host": "127.0.0.1", "port": port, "reached": 1}),
    ];
    for said in [run.out, place.logs()] {
        let events = events(&said);
        assert_eq!(tried(&events), expected, "{said}");
        let (host, result) =
            (place_of(&events, "host_tried", "two"), place_of(&events, "tool_result", "two"));
        assert!(host < result && place_of(&events, "tool_result", "one") < host, "{said}");
    }
}

#[test]
fn what_a_job_tried_is_logged_with_the_call_that_began_it() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = server.local_addr().unwrap().to_string();
    let place = Place::new();
    let job = format!(
        "until [ -e go ]; do sleep 0.05; done; {}touch over; exec sleep 300",
        connect(&open, 5)
    );
    let wait = json!({ "calls": [{ "name": "glob", "arguments": { "pattern": "*" } }] });
    let script = place.script(json!([
        bash("job", &job, true),
        bash("at once", &format!("touch go; until [ -e over ]; do sleep 0.05; done; {}", connect(&open, 2)), false),
        wait,
        { "text": "Done." },
    ]));
    let arguments = [
        "--net",
        &open,
        "--sandbox",
        "a",
        "--output-format",
        "stream-json",
        "--model",
        &script,
        "go",
    ];
    let run = place.run(&arguments).ends_with(0);
    let events = events(&run.out);
    let tried = tried(&events);
    // Two commands ran when it was tried: which one did is not known.
    let total: u64 = tried.iter().map(|event| event["reached"].as_u64().unwrap()).sum();
    assert!(total == 7 && tried.iter().all(|event| event["call_id"] == Value::Null), "{}", run.out);
    let script = place.script(json!([
        bash("job", &format!("{}touch alone; exec sleep 300", connect(&open, 5)), true),
        { "calls": [{ "id": "look", "name": "jobs", "arguments": { "action": "wait", "job": 1, "timeout": 1 } }] },
        { "text": "Done." },
    ]));
    let arguments = [
        "--net",
        &open,
        "--sandbox",
        "a",
        "--output-format",
        "stream-json",
        "--model",
        &script,
        "go",
    ];
    let run = place.run(&arguments).ends_with(0);
    let tried = self::tried(&self::events(&run.out));
    assert!(tried.iter().all(|event| event["call_id"] == "job"), "{}", run.out);
    assert_eq!(
        tried.iter().map(|event| event["reached"].as_u64().unwrap()).sum::<u64>(),
        5,
        "{}",
        run.out
    );
}

#[test]
fn a_replay_does_not_compare_how_often_hosts_were_tried() {
    let place = Place::new();
    let command = connect("a.example:443", 2);
    let script = place.script(json!([bash("one", &command, false), { "text": "Done." }]));
    place.run(&["--model", &script, "go"]).ends_with(0);
    let folder = place.path("home/.local/state/tenon/sessions");
    let mut entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let log = entries.find(|path| path.extension().is_some_and(|it| it == "jsonl")).unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let other = text.replace("\"blocked\":2", "\"blocked\":9");
    assert_ne!(text, other);
    std::fs::write(&log, other).unwrap();
    place.run(&["replay", "last"]).ends_with(0);
}
