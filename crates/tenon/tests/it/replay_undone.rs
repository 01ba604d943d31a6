//! What another terminal undid while the agent worked is undone in a replay where it was.

use std::{path::Path, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::{Place, Run, files_beneath};
use crate::undo::bash;

/// How long the model takes over the reply at which something is undone.
const THINKING_MS: u64 = 1_000;

fn events(place: &Place, kind: &str) -> usize {
    let logs = files_beneath(&place.path("home/.local/state/tenon/sessions"));
    let logs = logs.iter().filter(|path| path.extension() == Some("jsonl".as_ref()));
    let named = format!("\"type\":\"{kind}\"");
    logs.map(|path| std::fs::read_to_string(path).unwrap().matches(&named).count()).sum()
}

/// Runs a session with `turns`, and `meanwhile` once the log has `count` events of this kind. While the model
/// thinks, the session stands still, so that it takes no longer than that.
fn beside(place: &Place, turns: &Value, (kind, count): (&str, usize), meanwhile: &dyn Fn()) {
    let script = place.script(turns.clone());
    let mut command = place.tenon(&["-p", "--model", &script, "--allow", "bash", "go"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while events(place, kind) < count {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before there were {count} {kind}");
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = Pid::from_child(&child);
    let thinks = kind == "request_sent";
    if thinks {
        kill_process(pid, Signal::STOP).unwrap();
    }
    meanwhile();
    if thinks {
        kill_process(pid, Signal::CONT).unwrap();
    }
    assert!(child.wait().unwrap().success());
}

fn go_on(place: &Place) {
    let script = place.script(json!([bash("cat a b"), {"text": "So."}]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "--continue", "on"]).ends_with(0);
}

fn report(place: &Place) -> (Run, Value) {
    let run = place.run(&["replay", "last", "--json"]);
    let report = serde_json::from_str(&run.out).unwrap();
    (run, report)
}

#[track_caller]
fn nothing_differs(place: &Place) {
    let (run, report) = report(place);
    assert_eq!(
        (&report["divergence"], &report["ended_early"]),
        (&Value::Null, &Value::Null),
        "{run:?}"
    );
    assert_eq!(run.status, 0);
}

fn place() -> Place {
    let place = Place::new();
    place.write("work/a", "one\n");
    place.write("work/b", "two\n");
    place
}

#[test]
fn what_was_undone_while_the_model_thought_is_undone_there() {
    let thinks = |mut turn: Value| {
        turn["text"] = json!("Hm.");
        turn["delay_ms"] = THINKING_MS.into();
        turn
    };
    for step in ["undo", "redo"] {
        let place = place();
        let turns = json!([
            bash("echo A >> a"),
            thinks(bash("cat a b")),
            bash("echo B >> b; cat a b"),
            {"text": "Done."},
        ]);
        beside(&place, &turns, ("request_sent", 2), &|| {
            place.run(&["undo"]).ends_with(0);
            if step == "redo" {
                place.run(&["redo"]).ends_with(0);
            }
        });
        assert_eq!(events(&place, "files_undone"), if step == "redo" { 2 } else { 1 });
        nothing_differs(&place);
        go_on(&place);
        nothing_differs(&place);
        let told =
            place.logs().matches("{\"type\":\"text\",\"text\":\"[undo] The user undid").count();
        assert_eq!(told, usize::from(step == "undo"), "{}", place.logs());
        place.run(&["export", "last", "--bundle", "../out.tar.gz"]).ends_with(0);
        place.run(&["replay", "../out.tar.gz"]).ends_with(0);
    }
}

/// Ends once `a` was undone, and at once in the copy of a replay.
const WAIT: &str =
    "case $PWD in */replay/*) ;; *) while grep -q A a; do sleep 0.01; done;; esac; cat a";

#[test]
fn what_was_undone_while_a_command_ran_ends_the_replay_where_it_matters() {
    let waits = |wait: &str| {
        let place = place();
        let turns = json!([bash("echo A >> a"), bash(wait), bash("cat a b"), {"text": "Done."}]);
        beside(&place, &turns, ("call_started", 2), &|| drop(place.run(&["undo"]).ends_with(0)));
        place
    };
    // It looked before and behind.
    let place = waits(WAIT);
    let (run, report) = report(&place);
    assert_eq!(report["divergence"], Value::Null, "{run:?}");
    let why = report["ended_early"].as_str().unwrap();
    assert!(why.contains("something was undone from elsewhere in the middle of a turn"), "{why}");
    assert_eq!((run.status, &report["steps"]), (1, &json!(2)));
    // What follows is known to come behind it.
    let place = waits(&format!("({WAIT}) > /dev/null"));
    nothing_differs(&place);
    go_on(&place);
    nothing_differs(&place);
}

#[test]
fn an_older_log_that_has_it_behind_the_turn_differs_nowhere_it_may_not_say() {
    let place = place();
    let thinks = json!({"text": "Hm.", "delay_ms": THINKING_MS, "calls": bash("cat a")["calls"]});
    let turns = json!([bash("echo A >> a"), thinks, bash("echo B >> b"), {"text": "Done."}]);
    beside(&place, &turns, ("request_sent", 2), &|| drop(place.run(&["undo"]).ends_with(0)));
    go_on(&place);
    nothing_differs(&place);
    // There it stands in front of the next prompt.
    let log = files_beneath(&place.path("home/.local/state/tenon/sessions"));
    let is_log = |path: &&std::path::PathBuf| Path::new(path).extension() == Some("jsonl".as_ref());
    let path = log.iter().find(is_log).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains("\"files_undone\"")).unwrap();
    let undone = lines.remove(at);
    let resumed = lines.iter().position(|line| line.contains("\"session_resumed\"")).unwrap();
    lines.insert(resumed + 1, undone);
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
    let (run, report) = report(&place);
    assert_eq!(report["divergence"], Value::Null, "{run:?}");
    assert_eq!(report["steps"], 2, "{run:?}");
    place.run(&["replay", "last", "--until", "1"]).ends_with(0);
}
