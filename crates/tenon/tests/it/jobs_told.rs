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

/// Asks the proxy for a host that no rule allows.
fn connect(host: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
        printf 'CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n' >&3; head -1 <&3"
    )
}

#[test]
fn a_blocked_host_is_told_once_and_never_of_a_job_that_had_ended_before() {
    let bash = |command: &str| ("bash", json!({ "command": command }));
    let job = |command: &str| ("bash", json!({ "command": command, "background": true }));
    let jobs = |action: &str, job: u32| ("jobs", json!({ "action": action, "job": job }));
    // Each with the host that its result tells.
    let rows = [
        (job("sleep 600"), ""),
        (job("true"), ""),
        (jobs("wait", 2), ""),
        (job(&connect("a.example")), "a.example"),
        (jobs("wait", 3), "a.example"),
        (jobs("read", 2), ""),
        (jobs("read", 1), ""),
        (bash(&connect("b.example")), "b.example"),
        (jobs("read", 1), ""),
        (bash(&connect("a.example")), "a.example"),
        (jobs("stop", 1), ""),
        // Either of the two could have tried it, and the one whose result comes first tells it.
        (
            job(&format!(
                "until [ -e go ]; do sleep 0.02; done; {}; touch tried",
                connect("c.example")
            )),
            "",
        ),
        (bash("touch go; until [ -e tried ]; do sleep 0.02; done"), "c.example"),
        (jobs("wait", 4), ""),
    ];
    let place = Place::new();
    for tier in ["a", "b"] {
        for name in ["work/go", "work/tried"] {
            let _ = std::fs::remove_file(place.path(name));
        }
        let calls = rows
            .iter()
            .map(|((name, it), _)| json!({ "calls": [{ "name": name, "arguments": it }] }));
        let script = place.script(calls.chain([json!({ "text": "done" })]).collect());
        let flags = ["--sandbox", tier, "--output-format", "stream-json", "--model", &script, "go"];
        let run = place.run(&flags);
        if run.status == 3 {
            skipped(format!("this machine gives no tier {tier}"));
            continue;
        }
        let run = run.ends_with(0);
        let events: Vec<Value> =
            run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let results: Vec<&Value> =
            events.iter().filter(|event| event["type"] == "tool_result").collect();
        assert_eq!(results.len(), rows.len(), "{}", run.out);
        let told: Vec<String> = results
            .iter()
            .map(|result| {
                let lines = result["content"].as_str().unwrap().lines();
                let hosts = lines.filter_map(|line| line.strip_prefix("[walls] blocked: "));
                let hosts = hosts.map(|rest| rest.split(':').next().unwrap());
                let refused = events.iter().filter(|event| {
                    event["type"] == "host_refused" && event["call_id"] == result["call_id"]
                });
                let listed: Vec<&str> = refused.map(|it| it["host"].as_str().unwrap()).collect();
                let hosts: Vec<&str> = hosts.collect();
                assert_eq!(hosts, listed, "{tier}: {result}");
                hosts.join(" ")
            })
            .collect();
        // What a job tries at once is told where it starts, or where it is waited for.
        assert_eq!(format!("{}{}", told[3], told[4]), "a.example", "{tier}: {told:?}");
        let but_3_and_4 = |all: &[String]| -> Vec<String> {
            let rest = all.iter().enumerate().filter(|(row, _)| ![3, 4].contains(row));
            rest.map(|(_, told)| told.clone()).collect()
        };
        let expected: Vec<String> = rows.iter().map(|(_, hosts)| (*hosts).to_owned()).collect();
        assert_eq!(but_3_and_4(&told), but_3_and_4(&expected), "{tier}: {told:?}");
    }
}
