//! A workspace that somebody moves away, and puts another in the place of, while a session goes on.

use std::{fs, process::Stdio};

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    terminal::{Home, Terminal, is_running},
    undo::{bash, session_of},
};

const WAITS: &str = "echo first > made; touch ready; until [ -e stop ]; do sleep 0.01; done";

fn call(name: &str, arguments: Value) -> Value {
    json!({ "calls": [{ "name": name, "arguments": arguments }] })
}

/// Returns the results of a session's calls, whose workspace is exchanged while the first runs.
fn results(place: &Place, tier: &str) -> Vec<(String, bool)> {
    let work = place.path("work");
    let model = place.script(json!([
        bash(WAITS),
        call("write_file", json!({ "path": "tool", "content": "1" })),
        call("read_file", json!({ "path": "README" })),
        call("glob", json!({ "pattern": "*" })),
        bash("echo 1 > command; cat README"),
        {"text": "Done."},
    ]));
    let flags = ["--print", "--output-format", "stream-json", "--sandbox", tier];
    let mut command = place.tenon(&[&flags[..], &["--model", &model, "go"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !work.join("ready").exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before the command ran");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    fs::rename(&work, place.path("away")).unwrap();
    fs::create_dir(&work).unwrap();
    place.write("work/README", "theirs\n");
    place.write("away/stop", "");
    let run = Run::of(child.wait_with_output().unwrap()).ends_with(0);
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = events.filter(|event| event["type"] == "tool_result");
    let result = |event: Value| {
        (event["content"].as_str().unwrap().to_owned(), event["is_error"] == json!(true))
    };
    results.map(result).collect()
}

fn names(place: &Place, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(folder)).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_call_says_that_the_workspace_is_another_one_and_does_nothing() {
    for tier in ["a", "c", "off"] {
        let place = Place::new();
        place.write("work/README", "ours\n");
        let results = results(&place, tier);
        let work = place.path("work").canonicalize().unwrap().display().to_string();
        let ([(first, false), refused @ ..], 5) = (&*results, results.len()) else {
            panic!("{tier}: {results:?}")
        };
        assert!(first.contains(&format!("{work} was moved: nothing of it is undone")), "{first}");
        for (said, is_error) in refused {
            let expected = format!("{work} is another folder now than when this session began");
            assert!(*is_error && said.contains(&expected), "{tier}: {said}");
            assert!(!said.contains("[changes]") && !said.contains("theirs"), "{tier}: {said}");
        }
        assert_eq!(names(&place, "work"), ["README"], "{tier}");
        assert_eq!(names(&place, "away"), ["README", "made", "ready", "stop"], "{tier}");
        // What is done about it.
        let model = place.script(json!([bash("cat README > again"), {"text": "Done."}]));
        place.run(&["--print", "--continue", "--model", &model, "go on"]).ends_with(0);
        assert_eq!(fs::read_to_string(place.path("work/again")).unwrap(), "theirs\n");
    }
}

#[test]
fn a_session_whose_folder_is_gone_is_not_left_for_another_that_cannot_begin() {
    for (flags, sleep) in [(&["--plain"][..], "sleep 300.06181"), (&[], "sleep 300.06182")] {
        let job = json!({ "command": format!("exec {sleep}"), "background": true });
        let home = Home::new(json!([call("bash", job), {"text": "It runs."}]));
        let mut terminal = Terminal::start(&home, flags, 200, &[]);
        terminal.wait_for("Ctrl-D ends", 1);
        terminal.press("go\r");
        terminal.wait_for("It runs.", 1);
        terminal.wait_for("1 job is running in the background", 1);
        terminal.wait_until("the job", |_| is_running(sleep));
        let away = home.work().with_file_name("away");
        fs::rename(home.work(), &away).unwrap();
        for (command, times) in [("/fork\r", 1), ("/new\r", 2)] {
            terminal.press(command);
            terminal.wait_for("is gone since this session began", times);
            terminal.wait_for("in another terminal goes on in another folder", times);
        }
        assert!(is_running(sleep), "{flags:?}");
        terminal.press("\x04");
        assert_eq!(terminal.exit_code(), 0, "{flags:?}");
        let said = terminal.everything();
        let hint = "is gone: tenon --cwd FOLDER --resume ";
        assert!(said.contains(hint) && !said.contains("goes on with this session"), "{said}");
    }
}

#[test]
fn what_is_said_of_a_session_whose_folder_is_gone_works() {
    let place = Place::new();
    let id = session_of(&place, &["echo 1 > a"]);
    let away = place.path("away");
    fs::rename(place.path("work"), &away).unwrap();
    let run = |arguments: &[&str]| {
        let mut tenon = place.tenon(arguments);
        Run::of(tenon.current_dir(&away).output().unwrap())
    };
    let refused = run(&["export", &id, "--bundle", "out.tar.gz"]).ends_with(1);
    let refused = refused.says(&["without --bundle the session is exported as a document"]);
    assert!(!refused.error.contains("--with-tools-from"), "{refused:?}");
    run(&["replay", &id]).ends_with(1).says(&["--with-tools-from LOG replays"]);
    run(&["replay", &id, "--with-tools-from", &id]).ends_with(0);
    run(&["export", &id, "-o", "out.md"]).ends_with(0);
    let model = place.script(json!([bash("cat a"), {"text": "Done."}]));
    let folder = away.to_str().unwrap();
    run(&["-p", "--model", &model, "--cwd", folder, "--resume", &id, "go on"]).ends_with(0);
}
