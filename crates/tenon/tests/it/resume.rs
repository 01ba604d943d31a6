//! Sessions that go on: the same bytes to the model, the same files seen, branches and locks.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Turn},
    program::{Place, Run},
    skipped::skipped,
    terminal::{Home, Terminal},
};

/// Runs the program against `server`.
fn run(place: &Place, server: &FakeServer, arguments: &[&str]) -> Run {
    let mut command = place.tenon(arguments);
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
    command.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", server.url());
    Run::of(command.output().unwrap())
}

fn bodies(server: &FakeServer) -> Vec<String> {
    let marks = r#","cache_control":{"type":"ephemeral"}"#;
    server.requests().iter().map(|request| request.text().replace(marks, "")).collect()
}

/// Returns the prompts and answers that the model is told, in one line.
fn said(place: &Place, arguments: &[&str]) -> String {
    let out = place.run(&[&["show", "last"], arguments].concat()).ends_with(0).out;
    let words = ["One", "Two", "Three", "first", "second", "third"];
    let lines = out.lines().map(|line| line.trim_start_matches("> ").trim_end_matches('.'));
    lines.filter(|line| words.contains(line)).collect::<Vec<_>>().join(" ")
}

fn id_of(place: &Place, number: usize) -> String {
    let json = place.run(&["sessions", "--json"]).ends_with(0).out;
    let sessions: Value = serde_json::from_str(&json).unwrap();
    sessions[number]["id"].as_str().unwrap().to_owned()
}

fn text(words: &str) -> Value {
    json!({ "text": words })
}

#[test]
fn a_session_that_goes_on_sends_what_was_sent_byte_for_byte() {
    let turns = || {
        vec![
            Turn::of_call("bash", json!({"command": "echo 中文 '\"'", "timeout_s": 7.1})),
            Turn::of_call("read_file", json!({"path": "missing"}))
                .call("glob", json!({"pattern": "*"})),
            // Three times the same earns a nudge, which the model sees behind the results.
            Turn::of_call("glob", json!({"pattern": "x"})),
            Turn::of_call("glob", json!({"pattern": "x"})),
            Turn::of_call("glob", json!({"pattern": "x"})),
            Turn::text("done"),
            Turn::text("again"),
            Turn::text("and again"),
        ]
    };
    for (model, server) in [
        ("anthropic/claude-sonnet-4-5", FakeServer::anthropic(turns())),
        ("openai/gpt-x", FakeServer::openai(turns())),
    ] {
        let place = Place::new();
        place.write("work/AGENTS.md", "Be kind.\n");
        run(&place, &server, &["-p", "--model", model, "hi"]).ends_with(0);
        // The session's model goes on without being named.
        run(&place, &server, &["--continue", "-p", "go on"]).ends_with(0);
        run(&place, &server, &["-p", "--resume", &id_of(&place, 0), "and on"]).ends_with(0);
        let bodies = bodies(&server);
        assert_eq!(bodies.len(), 8, "{model}");
        assert!(bodies[5].contains("several times in a row"), "{model}: {}", bodies[5]);
        for (before, after) in bodies.iter().zip(bodies.iter().skip(1)) {
            let end = before.rfind("}]").unwrap();
            assert!(after.starts_with(&before[..=end]), "{model}:\n{before}\n{after}");
        }
        assert_eq!(bodies[7].matches("Be kind.").count(), 1, "{model}");
        let cost = place.run(&["cost", "last", "--json"]).ends_with(0).out;
        let ledger: Value = serde_json::from_str(&cost).unwrap();
        let prefixes: Vec<&str> = ledger["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|request| request["prefix"].as_str().unwrap())
            .collect();
        assert_eq!(prefixes, [&["first"][..], &["kept"; 7]].concat(), "{cost}");
    }
}

#[test]
fn another_model_goes_on_and_the_ledger_names_what_broke_the_prefix() {
    let place = Place::new();
    let first = FakeServer::anthropic(vec![
        Turn::text("I see.").thinking("signed by one"),
        Turn::text("later"),
    ]);
    run(&place, &first, &["-p", "--model", "anthropic/claude-sonnet-4-5", "hi"]).ends_with(0);
    let second = FakeServer::openai(vec![Turn::text("me too")]);
    run(&place, &second, &["-c", "-p", "--model", "openai/gpt-x", "and you?"]).ends_with(0);
    let body = &bodies(&second)[0];
    assert!(body.contains("I see.") && !body.contains("signed by one"), "{body}");
    let cost = place.run(&["cost", "last"]).ends_with(0).out;
    let by = "the model changed from anthropic/claude-sonnet-4-5 to openai/gpt-x";
    assert!(cost.contains(by), "{cost}");
    run(&place, &first, &["-c", "-p", "--model", "anthropic/claude-sonnet-4-5", "?"]).ends_with(0);
    // Who signed it gets it back.
    assert!(bodies(&first)[1].contains("signed by one"));
}

#[test]
fn spec_32_what_was_seen_of_files_survives_and_what_was_allowed_does_not() {
    let place = Place::new();
    place.write("work/a.txt", "one\n");
    let read = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    let script = place.script(json!([{ "calls": [read] }, text("Read.")]));
    place.run(&["--model", &script, "read it"]).ends_with(0);
    let write = |content: &str| json!({"name": "write_file", "arguments": {"path": "a.txt", "content": content}});
    // As it was seen it can be written without being read again.
    let script = place.script(json!([{ "calls": [write("two\n")] }, text("Written.")]));
    place.run(&["-c", "--model", &script, "write it"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path("work/a.txt")).unwrap(), "two\n");
    place.write("work/a.txt", "by a person\n");
    let script = place.script(json!([{ "calls": [write("three\n")] }, text("Not written.")]));
    place.run(&["-c", "--model", &script, "write it again"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path("work/a.txt")).unwrap(), "by a person\n");
    assert!(place.logs().contains("changed on disk since it was last read"));
}

#[test]
fn a_rewind_leaves_turns_and_keeps_them_in_the_log_and_a_fork_leaves_the_old_session() {
    let place = Place::new();
    let go = |flags: &[&str], prompt: &str, answer: &str| {
        let script = place.script(json!([text(answer)]));
        place.run(&[&["--model", &script][..], flags, &[prompt]].concat()).ends_with(0);
    };
    go(&[], "first", "One.");
    go(&["--continue"], "second", "Two.");
    go(&["--continue", "--rewind", "1"], "third", "Three.");
    assert_eq!(said(&place, &[]), "first One third Three");
    assert_eq!(said(&place, &["--all"]), "first One second Two third Three");
    let old = id_of(&place, 0);
    let before = place.logs();
    let far = place.script(json!([text("never")]));
    for fork in [&[][..], &["--fork"]] {
        let flags = [&["-c", "--rewind", "3", "--model", &far], fork, &["x"]].concat();
        place.run(&flags).ends_with(2).says(&["cannot go back before its last 3 turns: it has 2"]);
    }
    assert_eq!(place.logs(), before);
    go(&["--continue", "--fork", "--rewind", "1", "--name", "other way"], "second", "Two.");
    let new = id_of(&place, 0);
    assert_ne!(new, old);
    assert_eq!(said(&place, &[]), "first One second Two");
    assert!(place.logs().contains(&before), "the old log is as it was");
    go(&["--resume", "other way"], "third", "Three.");
    assert_eq!(id_of(&place, 0), new);
    assert_eq!(said(&place, &[]), "first One second Two third Three");
}

#[test]
fn one_process_works_on_a_session_at_a_time_and_another_can_fork_it() {
    let place = Place::new();
    place.run(&["--model", &place.script(json!([text("One.")])), "first"]).ends_with(0);
    let call = json!({"name": "bash", "arguments": {"command": "touch started; sleep 60"}});
    let slow = place.script(json!([{ "calls": [call] }]));
    let mut command = place.tenon(&["-c", "--model", &slow, "second"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !place.path("work/started").exists() {
        std::thread::yield_now();
    }
    let id = id_of(&place, 0);
    let quick = format!(
        "scripted:{}",
        place.write("quick.json", r#"{"turns":[{"text":"Two."}]}"#).display()
    );
    place
        .run(&["-c", "--model", &quick, "third"])
        .ends_with(2)
        .says(&["another tenon is at work on this session", "--fork"]);
    place.run(&["sessions", "delete", &id]).ends_with(1).says(&["is not removed"]);
    place.run(&["-c", "--fork", "-p", "--model", &quick, "third"]).ends_with(0);
    // What is killed holds no lock.
    child.kill().unwrap();
    child.wait().unwrap();
    let run = place.run(&["--resume", &id, "--model", &quick, "third"]).ends_with(0);
    assert!(run.out.contains("the last turn was cut short"), "{run:?}");
    assert!(place.logs().contains("interrupted before it ended"));
}

#[test]
fn which_session_goes_on_is_said_plainly_or_refused() {
    let place = Place::new();
    let script = place.script(json!([text("One.")]));
    let model = ["--model", script.as_str()];
    let refused = |arguments: &[&str], words: &[&str]| {
        place.run(&[&model, arguments].concat()).ends_with(2).says(words);
    };
    refused(&["-c", "x"], &["there is no session in", "yet"]);
    place.run(&[&model[..], &["first"]].concat()).ends_with(0);
    refused(&["x", "--resume"], &["there is no terminal to choose on", "--continue"]);
    refused(&["--resume", "fix it", "x"], &["there is no session `fix it`", "stands before it"]);
    refused(&["--fork", "x"], &["need a session to go on with"]);
    refused(&["-c", "-r", "last", "x"], &["name two sessions"]);
    refused(&["--name", "a\nb", "x"], &["the session cannot be named"]);
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let elsewhere = place.path("elsewhere").display().to_string();
    let work = place.path("work").display().to_string();
    let mut command = place.tenon(&[&model[..], &["-r", "last", "x"]].concat());
    Run::of(command.current_dir(&elsewhere).output().unwrap())
        .ends_with(2)
        .says(&["works in", &format!("--cwd {work}")]);
    place.run(&[&model[..], &["--cwd", &elsewhere, "-r", "last", "x"]].concat()).ends_with(0);
}

#[test]
fn a_damaged_log_goes_on_with_what_is_left_and_says_so() {
    let place = Place::new();
    place.run(&["--model", &place.script(json!([text("One.")])), "first"]).ends_with(0);
    let log =
        place.path("home/.local/state/tenon/sessions").join(format!("{}.jsonl", id_of(&place, 0)));
    let whole = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let damaged =
        format!("{}\n\0\0garbage\n{}\n{{\"time_ms\":1,\"ty", lines[0], lines[2..].join("\n"));
    std::fs::write(&log, damaged).unwrap();
    let script = place.script(json!([text("Two.")]));
    let run = place.run(&["-c", "--model", &script, "second"]).ends_with(0);
    assert!(run.out.contains("1 line of the log is left out"), "{run:?}");
    assert!(std::fs::read_to_string(&log).unwrap().contains("garbage\n"));
}

#[test]
fn sessions_are_named_searched_and_removed_and_what_goes_is_said_first() {
    let place = Place::new();
    for words in ["Sort the Needle", "other"] {
        let script = place.script(json!([text("Done.")]));
        place.run(&["--model", &script, words]).ends_with(0);
    }
    let (other, id) = (id_of(&place, 0), id_of(&place, 1));
    place.run(&["sessions", "name", &id, "hay"]).ends_with(0);
    let list = place.run(&["sessions"]).ends_with(0).out;
    assert!(list.contains("[hay]  Sort the Needle"), "{list}");
    let found = place.run(&["sessions", "--search", "needle", "SORT"]).ends_with(0).out;
    assert!(found.contains("prompt: Sort the Needle") && !found.contains(&other), "{found}");
    let json = place.run(&["sessions", "--search", "needle", "--json"]).ends_with(0).out;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()[0]["session"], id.as_str());
    let prune = place.run(&["sessions", "prune", "--to-size", "0"]).ends_with(0);
    assert!(prune.out.contains("2 sessions"), "{prune:?}");
    prune.says(&["nothing is removed without --yes"]);
    place.run(&["sessions", "prune", "--older-than", "1h", "--yes"]).ends_with(0);
    assert_eq!(place.run(&["sessions"]).out.lines().count(), 2);
    let gone = place.run(&["sessions", "delete", "hay"]).ends_with(0).out;
    assert!(gone.contains("Sort the Needle"), "{gone}");
    place.run(&["sessions", "prune", "--to-size", "0", "--yes"]).ends_with(0);
    assert_eq!(place.run(&["sessions"]).out, "");
    place.run(&["sessions", "delete", &other]).ends_with(2);
}

#[test]
fn sessions_that_another_process_removes_meanwhile_are_no_failure() {
    let place = Place::new();
    let message = json!({"role": "user", "content": []});
    let said = json!({"time_ms": 1, "type": "user_message", "prompt": "p", "message": message});
    for n in 0..40 {
        let log = format!("home/.local/state/tenon/sessions/20260101-120000-{n:04x}.jsonl");
        place.write(&log, &format!("{said}\n"));
    }
    let prune = |_| {
        let mut tenon = place.tenon(&["sessions", "prune", "--to-size", "0", "--yes"]);
        tenon.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let at_once: Vec<_> = (0..3).map(prune).collect();
    for one in at_once {
        Run::of(one.wait_with_output().unwrap()).ends_with(0);
    }
    assert_eq!(place.run(&["sessions"]).ends_with(0).out, "");
}

#[test]
fn a_session_goes_on_at_the_prompt_and_can_go_back_there() {
    let home = Home::new(json!([text("One."), text("Two."), text("Three.")]));
    let mut terminal = Terminal::start(&home, &["--plain"], 80, &[]);
    terminal.wait_for_prompt();
    terminal.press("first\r");
    terminal.wait_for("One.", 1);
    terminal.wait_for_prompt();
    terminal.press("/rewind\r");
    terminal.wait_for("Which one?", 1);
    terminal.press("1\r");
    terminal.wait_for("went back 1 turn", 1);
    // The prompt that it went back to stands there again.
    terminal.wait_for("> first", 2);
    terminal.press("\x15/rewind\r");
    terminal.wait_for("There is no turn to go back behind.", 1);
    terminal.wait_for_prompt();
    terminal.press("second\r");
    terminal.wait_for("Two.", 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    terminal.wait_for("goes on with this session.", 1);
    assert_eq!(terminal.exit_code(), 0);
    let mut terminal = Terminal::start(&home, &["--resume", "--plain"], 80, &[]);
    terminal.wait_for("Which one?", 1);
    terminal.press("1\r");
    terminal.wait_for("goes on after 1 turn", 1);
    terminal.wait_for("> second", 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_program_learns_which_session_goes_on_and_what_a_fork_left() {
    let place = Place::new();
    let script = place.script(json!([text("One.")]));
    let first = |flags: &[&str]| {
        let run = place.run(&[flags, &["--model", &script, "x"]].concat()).ends_with(0);
        serde_json::from_str::<Value>(run.out.lines().next().unwrap()).unwrap()
    };
    let id = first(&["--output-format", "json"])["session_id"].clone();
    let wanted = id.as_str().unwrap();
    let stream = |flags: &[&str]| {
        let event = first(&[flags, &["--output-format", "stream-json"]].concat());
        assert_eq!(event["type"], "session_resumed");
        (event["session"].clone(), event["forked_from"].clone())
    };
    assert_eq!(stream(&["--resume", wanted]), (id.clone(), Value::Null));
    let (fork, left) = stream(&["--resume", wanted, "--fork"]);
    assert_eq!(left, id);
    assert!(fork != id && place.run(&["show", fork.as_str().unwrap()]).status == 0, "{fork}");
    let object = first(&["--resume", wanted, "--fork", "--output-format", "json"]);
    assert_eq!(object["forked_from"], id);
}

/// Returns whether a file system in memory can be mounted here.
fn can_mount() -> bool {
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", "mount -t tmpfs none /mnt"]);
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk_ends_the_turn_and_the_session_goes_on_when_there_is_room() {
    let place = Place::new();
    let calls: Vec<Value> = (0..60)
        .map(|n| json!({"calls": [{"name": "bash", "arguments": {"command": format!("echo {n} {}", "x".repeat(400))}}]}))
        .collect();
    let long = place.script(json!(calls));
    let short = format!(
        "scripted:{}",
        place.write("short.json", r#"{"turns":[{"text":"Room again."}]}"#).display()
    );
    let check = |script: String, program: &str, flags: &[&str], words: &str| {
        let mut command = place.program(program, &[flags, &["sh", "-c", &script]].concat());
        let run = Run::of(command.output().unwrap()).ends_with(0);
        assert!(run.out.contains("status 1") && run.out.contains("Room again."), "{run:?}");
        assert!(run.out.contains("torn 0"), "{run:?}");
        run.says(&["the session cannot be kept, so the turn ends", words, "tenon --resume"]);
    };
    let tenon = env!("CARGO_BIN_EXE_tenon");
    let turns = |prefix: &str, room: &str| {
        format!(
            "({prefix} exec {tenon} -p --sandbox off --model {long} go); echo status $?
            for log in $HOME/.local/state/tenon/sessions/*.jsonl; do tail -c1 $log | tr -d '\\n' | wc -c | sed 's/^/torn /'; done
            {room}
            {tenon} -c -p --sandbox off --model {short} 'go on'"
        )
    };
    // A limit on the length of files, which gives EFBIG behind a part of the line.
    check(turns("ulimit -f 16;", ""), "env", &[], "File too large");
    if !can_mount() {
        skipped("no file system can be mounted here");
        return;
    }
    let state = place.path("home/.local/state").display().to_string();
    let mount = format!(
        "mount -t tmpfs -o size=64k none {state} && mkdir {state}/tenon && head -c 36k /dev/zero > {state}/filler &&"
    );
    let script = format!("{mount} {}", turns("", &format!("rm {state}/filler")));
    check(script, "unshare", &["-rm"], "No space left on device");
}
