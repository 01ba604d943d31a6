//! What a look at a job that still runs tells of what it was refused until then: what the watcher knows, as at its end.

use serde_json::{Value, json};

use crate::{program::Place, skipped::skipped};

/// Runs each program as a job that goes on, looks at it when it has done its part, then ends it; checks what each look
/// tells, and which flags the list for programs has of it.
fn check(place: &Place, tier: &str, rows: &[(&str, Option<&str>, &[&str])]) {
    let mut calls = Vec::new();
    for (row, (program, ..)) in rows.iter().enumerate() {
        let job = row + 1;
        let script = format!("{program}; touch done{job}; exec sleep 60");
        let reached = format!("until [ -e done{job} ]; do sleep 0.02; done");
        // The wait is for what is in the pipe.
        calls.extend([
            ("bash", json!({"command": script, "background": true})),
            ("bash", json!({"command": reached})),
            ("jobs", json!({"action": "wait", "job": job, "timeout": 1})),
            ("jobs", json!({"action": "stop", "job": job})),
        ]);
    }
    let calls = calls.into_iter();
    let calls = calls.map(|(name, it)| json!({ "calls": [{ "name": name, "arguments": it }] }));
    let script = place.script(calls.chain([json!({ "text": "done" })]).collect());
    let flags = ["--sandbox", tier, "--output-format", "stream-json", "--model", &script, "go"];
    let run = place.run(&flags);
    if run.status == 3 {
        return skipped(format!("this machine gives no tier {tier}"));
    }
    let run = run.ends_with(0);
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events: Vec<Value> = events.collect();
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    let results: Vec<&Value> = of("tool_result").collect();
    assert_eq!(results.len(), rows.len() * 4, "{}", run.out);
    for ((program, expected, flags), results) in rows.iter().zip(results.chunks(4)) {
        let told: Vec<&str> =
            results.iter().map(|event| event["content"].as_str().unwrap()).collect();
        assert!(told[2].starts_with("job ") && told[2].contains(" is running ("), "{}", told[2]);
        let walls =
            told.iter().flat_map(|told| told.lines().filter(|it| it.starts_with("[walls]")));
        let walls: Vec<&str> = walls.collect();
        match (expected, walls.as_slice()) {
            (Some(words), [only]) => assert!(only.contains(words), "{tier} {program}: {told:?}"),
            (words, _) => {
                assert!(words.is_none() && walls.is_empty(), "{tier} {program}: {told:?}")
            }
        }
        let is_its = |event: &&Value| results.iter().any(|it| it["call_id"] == event["call_id"]);
        let listed = of("walls_refused").filter(is_its).map(|event| &event["flag"]);
        let listed: Vec<&str> = listed.filter_map(Value::as_str).collect();
        assert_eq!(&listed, flags, "{tier} {program}: {told:?}");
    }
}

fn place() -> Place {
    let place = Place::new();
    for name in ["work/.envrc", "work/.git/objects/a", "work/a", "home/.cargo/registry/index"] {
        place.write(name, "");
    }
    place
}

/// Has perl do this, say that it failed without a path, and go on.
fn fails(call: &str) -> String {
    format!("perl -e '{call} or warn \"cannot write log: $! (os error 30)\\n\"'")
}

const ADD: &[&str] = &["--add-dir FOLDER"];
const OFF: &[&str] = &["--sandbox off"];

#[test]
fn a_look_at_a_running_job_tells_the_path_that_was_refused_and_its_own_wall() {
    let [outside, toolchain, protected, link, quiet] = [
        "mkdir \"/usr/xy\"",
        "mkdir \"$ENV{HOME}/.cargo/registry/xy\"",
        "open(F, \">\", \".en\" . \"vrc\")",
        "link(\"a\", \".git/b\")",
        "mkdir \"/usr/xy\"; 1",
    ]
    .map(fails);
    let vsock = "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'";
    let place = place();
    for tier in ["a", "b"] {
        let mut rows = vec![
            (outside.as_str(), Some("private temporary folders (refused: /usr/xy)"), ADD),
            (&protected, Some("files: protected names in the workspace"), &[]),
            (&link, Some("make no hard link (refused: "), OFF),
            (&quiet, None, &[]),
            (vsock, Some("the walls refuse sockets of other families"), OFF),
        ];
        if tier == "b" {
            let held = "the user's toolchains are read-only to commands here (refused: ";
            rows.push((&toolchain, Some(held), &[]));
        }
        check(&place, tier, &rows);
    }
    let held = "files: outside of the workspace commands in tier C write only in private temporary folders (refused: /usr/xy)";
    check(&place, "c", &[(&outside, Some(held), ADD)]);
}

#[test]
fn of_a_job_that_nobody_watches_no_protected_name_is_guessed() {
    let place = place();
    place.config("undo = false\n");
    let outside = fails("mkdir \"/usr/xy\"");
    let elsewhere = Some("files: outside of the workspace commands");
    check(&place, "a", &[(&outside, elsewhere, ADD)]);
}
