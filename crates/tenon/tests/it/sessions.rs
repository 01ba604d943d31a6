//! `tenon sessions` and `tenon show`, signals, and readers that go away.

use std::{
    ffi::OsStr,
    io::Read,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::program::{Place, Run};
use crate::skipped::skipped;

fn place_with_a_session() -> Place {
    let place = Place::new();
    let script = place.script(json!([
        { "text": "I look.", "calls": [{ "name": "bash", "arguments": { "command": "echo seen" } }] },
        { "text": "It is there." },
    ]));
    place.run(&["--model", &script, "look  at\nit"]).ends_with(0);
    place
}

#[test]
fn sessions_are_listed_and_shown_by_a_beginning_of_their_id() {
    let place = place_with_a_session();
    let list = place.run(&["sessions"]).ends_with(0).out;
    assert!(list.trim_end().ends_with("look at it") && list.lines().count() == 1, "{list}");
    let json = place.run(&["sessions", "--json"]).ends_with(0).out;
    let sessions: Value = serde_json::from_str(&json).unwrap();
    let id = sessions[0]["id"].as_str().unwrap();
    assert_eq!(sessions[0]["prompt"], "look  at\nit");
    assert_eq!(sessions[0]["workspace"], place.path("work").display().to_string());
    for wanted in [id, &id[..13], "last"] {
        let shown = place.run(&["show", wanted]).ends_with(0).out;
        for words in ["I look.", "echo seen", "It is there."] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
    place.run(&["show", "1999"]).ends_with(2).says(&["there is no session `1999`"]);
}

#[test]
fn sessions_that_cannot_be_read_are_counted() {
    let place = place_with_a_session();
    for id in ["20200101-000000-aaaa", "20200101-000000-bbbb"] {
        let log = place.path(&format!("home/.local/state/tenon/sessions/{id}.jsonl"));
        std::os::unix::fs::symlink(&log, &log).unwrap();
    }
    let said = ["note: 2 sessions could not be read: Too many levels of symbolic links"];
    for search in [&[][..], &["--search", "seen"]] {
        let list = place.run(&[&["sessions"], search].concat()).ends_with(0).says(&said).out;
        assert!(list.contains("look at it") && !list.contains("20200101"), "{list}");
        let json = place.run(&[&["sessions", "--json"], search].concat()).ends_with(0).says(&said);
        let rows: Value = serde_json::from_str(&json.out).unwrap();
        let last = rows.as_array().unwrap().last().unwrap();
        let id = if search.is_empty() { "id" } else { "session" };
        assert_eq!(last[id], "20200101-000000-aaaa", "{rows}");
        assert!(last["unread"].as_str().unwrap().starts_with("Too many levels"), "{rows}");
    }
}

#[test]
fn a_folder_whose_name_is_no_text_keeps_its_sessions() {
    let place = Place::new();
    let folder = place.path("work").join(OsStr::from_bytes(b"ws-\xff"));
    std::fs::create_dir(&folder).unwrap();
    let in_folder =
        |arguments: &[&str]| Run::of(place.tenon(arguments).current_dir(&folder).output().unwrap());
    let write = json!({ "name": "write_file", "arguments": { "path": "a", "content": "new" } });
    let model = place.script(json!([{ "calls": [write] }, { "text": "First." }]));
    in_folder(&["-p", "--model", &model, "begin"]).ends_with(0);
    let model = place.script(json!([{ "text": "Second." }]));
    for going_on in [&["--continue"][..], &["--resume", "last"], &["--continue", "--fork"]] {
        let run = in_folder(&[&["-p", "--model", &model, "go on"], going_on].concat());
        assert_eq!(run.ends_with(0).out, "Second.\n");
    }
    let elsewhere = place.run(&["-p", "--model", &model, "x", "--resume", "last"]).ends_with(2);
    elsewhere.says(&["ws-\u{fffd}"]);
    for arguments in [&["sessions", "--json"][..], &["sessions"]] {
        let list = place.run(arguments).ends_with(0).out;
        assert_eq!(list.matches("ws-\u{fffd}").count(), 2, "{list}");
    }
    let original = place.run(&["sessions", "--search", "new"]).ends_with(0).out;
    let original = original.split_whitespace().next().unwrap();
    let bundle = place.path("bundle.tar.gz").display().to_string();
    in_folder(&["export", original, "--bundle", &bundle]).ends_with(0);
    for recorded in [original, &bundle] {
        in_folder(&["replay", recorded]).ends_with(0);
    }
    assert!(folder.join("a").exists());
    in_folder(&["undo"]).ends_with(0);
    assert!(!folder.join("a").exists());
}

#[test]
fn a_session_that_cannot_begin_leaves_no_log() {
    let place = place_with_a_session();
    let folder = place.path("home/.local/state/tenon/sessions");
    let logs = || std::fs::read_dir(&folder).unwrap().count();
    let before = logs();
    let model = place.script(json!([{ "text": "never" }]));
    place.run(&["-p", "--model", &model, "--image", "missing.png", "x"]).ends_with(2);
    assert_eq!(logs(), before);
}

#[test]
fn logs_are_private() {
    let place = place_with_a_session();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = place.path("home/.local/state/tenon/sessions");
    assert_eq!(mode(folder.clone()), 0o700);
    for entry in std::fs::read_dir(folder).unwrap() {
        assert_eq!(mode(entry.unwrap().path()), 0o600);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let place = place_with_a_session();
    for arguments in [&["sessions"][..], &["show", "last"], &["tools"], &["completions", "bash"]] {
        let mut command = place.tenon(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let run = Run::of(output).ends_with(0);
        assert_eq!(run.error, "", "{arguments:?}");
    }
}

#[test]
fn what_a_person_should_know_stands_on_standard_error_where_the_answer_goes_to_a_program() {
    let place = place_with_a_session();
    let folder = place.path("home/.local/state/tenon/sessions");
    let mut logs = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let log = logs.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(2, "damaged");
    std::fs::write(&log, lines.join("\n") + "\n").unwrap();
    let script = place.script(json!([{ "text": "Done." }]));
    let unconfined = "Commands run without walls (--sandbox off).\n";
    for format in [&["-p"][..], &["--output-format", "json"]] {
        let flags = ["--model", &script, "-c", "--sandbox", "off", "go on"];
        let run = place.run(&[format, &flags].concat()).ends_with(0);
        assert!(run.error.contains(unconfined), "{format:?}: {run:?}");
        assert!(run.error.contains("note: 1 line of the log is left out: damaged"), "{run:?}");
    }
    place.config("sandbox = \"off\"\n");
    let doctor = place.run(&["doctor"]).out;
    assert!(doctor.contains("sandbox = \"off\" in ") && doctor.contains(", line 1"), "{doctor}");
}

/// Starts a turn with a command that runs for a minute, and waits until it runs.
fn started(place: &Place, trap: &str) -> std::process::Child {
    let command = format!("{trap} echo running > started; sleep 60; touch slept");
    let script = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": command } }] },
        { "text": "never" },
    ]));
    let mut command = place.tenon(&["--model", &script, "--output-format", "json", "wait"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !place.path("work/started").exists() {
        std::thread::yield_now();
    }
    child
}

fn send(signal: &str, child: &std::process::Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Whether this process, and so what it starts, ignores SIGHUP.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(ignored, 16).unwrap() & 1 == 1
}

#[test]
fn one_signal_ends_the_turn_with_everything_answered() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        if signal == "-HUP" && ignores_hangup() {
            skipped("the tests were started by nohup, so the program goes on at SIGHUP");
            continue;
        }
        let place = Place::new();
        let mut child = started(&place, "");
        send(signal, &child);
        let mut out = String::new();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let object: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(object["stop_reason"], "cancelled");
        let logs = place.logs();
        assert!(logs.contains("tool_result") && logs.contains("turn_ended"), "{logs}");
        assert!(!place.path("work/slept").exists());
    }
}

#[test]
fn what_nohup_started_goes_on_when_the_terminal_goes() {
    let place = Place::new();
    let command = "echo running > started; while ! [ -e go ]; do sleep 0.01; done";
    let script = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": command } }] },
        { "text": "went on" },
    ]));
    let mut command = place.tenon_by("nohup", &[], &["--print", "--model", &script, "wait"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !place.path("work/started").exists() {
        std::thread::yield_now();
    }
    send("-HUP", &child);
    std::fs::write(place.path("work/go"), "").unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(out.trim(), "went on");
}

#[test]
fn a_second_signal_leaves_at_once() {
    let place = Place::new();
    // The command takes its time to end, so that the turn is still open.
    let mut child = started(&place, "trap '' TERM;");
    // Two signals that are pending at the same time are one, so more are sent until it is gone.
    let status = loop {
        send("-INT", &child);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(130));
    assert!(!place.logs().contains("turn_ended"));
}

#[test]
fn no_session_is_named_by_the_word_for_the_newest() {
    let place = place_with_a_session();
    let logs =
        || std::fs::read_dir(place.path("home/.local/state/tenon/sessions")).unwrap().count();
    let before = logs();
    let model = place.script(json!([{ "text": "never" }]));
    for name in ["last", " last "] {
        let said = "error: the session cannot be named `last`: that word means the newest session";
        place.run(&["sessions", "name", "last", name]).ends_with(2).says(&[said]);
        place.run(&["-p", "--model", &model, "--name", name, "x"]).ends_with(2).says(&[said]);
    }
    assert_eq!(logs(), before);
    place.run(&["sessions", "name", "last", "at last"]).ends_with(0);
}

#[test]
fn a_name_is_one_session_s_and_what_is_none_is_said() {
    let place = place_with_a_session();
    let model = place.script(json!([{ "text": "One." }]));
    place.run(&["sessions", "name", "last", "docs"]).ends_with(0);
    place.run(&["sessions", "name", "docs", " docs "]).ends_with(0);
    let named = ["-p", "--model", &model, "--name", "docs", "x"];
    place.run(&named).ends_with(2).says(&["cannot be named `docs`: session 2"]);
    place.run(&["-p", "--model", &model, "x"]).ends_with(0);
    place.run(&["sessions", "name", "last", "docs"]).ends_with(2).says(&["cannot be named `docs`"]);
    place.run(&["-p", "--model", &model, "--resume", "docs", "--name", "docs", "x"]).ends_with(0);
    let long = "x".repeat(41);
    let run = place.run(&["sessions", "name", "docs", &long]).ends_with(2);
    let said = "the session cannot be named: a name is one line of at most 40 characters";
    assert!(run.error.contains(said) && !run.error.contains("/names"), "{}", run.error);
}

#[test]
fn words_in_the_cut_middle_of_a_long_result_are_found() {
    let place = Place::new();
    let command = "seq 1 30000; echo 'the needle k-0123456789abcdef is here'; seq 1 30000";
    let call = json!({"name": "bash", "arguments": {"command": command.replace("the needle", "the nee''dle")}});
    let script = place.script(json!([{"calls": [call]}, {"text": "Done."}]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    // Known by now, and no secret when it was printed.
    place.write("work/.env", "A_KEY=k-0123456789abcdef\n");
    let log = place.logs();
    assert!(!log.contains("the needle") && log.contains("left out; all of it is in "), "{log}");
    let found = place.run(&["sessions", "--search", "needle", "here"]).ends_with(0);
    assert!(found.out.contains("result: "), "{found:?}");
    assert!(
        found.out.contains("the needle [masked: value of A_KEY from .env] is here"),
        "{found:?}"
    );
    // A word of the log and one of the middle.
    assert!(place.run(&["sessions", "--search", "needle", "done"]).out.contains("needle"));
    assert!(place.run(&["sessions", "--search", "needle", "nowhere"]).out.is_empty());
    std::fs::remove_dir_all(place.path("home/.local/state/tenon/results")).unwrap();
    let gone = place.run(&["sessions", "--search", "needle", "here"]).ends_with(0);
    assert!(gone.out.is_empty() && gone.error.is_empty(), "{gone:?}");
}
