//! What jobs changed that end with their run, in order or by a kill: it is in the log, and a session that
//! goes on tells the model, once.

use serde_json::{Value, json};

use crate::{
    program::{Place, Run, files_beneath},
    terminal::{Home, Terminal},
    undo::bash,
};

const CTRL_D: &str = "\x04";

/// How the model is told.
const ENDED: &str =
    "[jobs] These ended with the run that began them; what they had changed by then: ";

fn job(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command, "background": true}}]})
}

/// Returns what waits until there is a file.
fn until(file: &str) -> Value {
    bash(&format!("until [ -e {file} ]; do sleep 0.1; done"))
}

fn go_on(place: &Place, turns: Value, more: &[&str]) -> Run {
    let script = place.script(turns);
    let arguments = ["-p", "--model", &script, "--allow", "bash", "--continue"];
    place.run(&[&arguments, more, &["go"]].concat()).ends_with(0)
}

/// Returns the events of the session that was begun last.
fn log(place: &Place) -> Vec<Value> {
    let mut logs = files_beneath(&place.path("home/.local/state/tenon/sessions"));
    logs.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let begun = |path: &std::path::PathBuf| path.metadata().unwrap().modified().unwrap();
    logs.sort_by_key(begun);
    let text = std::fs::read_to_string(logs.last().unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns what the model was told with each prompt, in front of it too.
fn prompts(log: &[Value]) -> Vec<String> {
    let prompts = log.iter().filter(|event| event["type"] == "user_message");
    prompts.map(|event| event["message"].to_string()).collect()
}

#[track_caller]
fn nothing_differs(place: &Place) {
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert!(run.out.contains("nothing differs"), "{run:?}");
}

#[test]
fn what_a_job_changed_that_ends_with_its_run_is_logged_and_told_once_when_the_session_goes_on() {
    let place = Place::new();
    place.write("work/a", "one\n");
    place.write("work/old", "");
    let command = "echo two > a; rm old; touch new; exec sleep 300.05181";
    let read = json!({"calls": [{"name": "read_file", "arguments": {"path": "a"}}]});
    let script = place.script(json!([read, job(command), until("new"), {"text": "Up."}]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let events = log(&place);
    let [.., changed, ended] = events.as_slice() else { panic!("{events:?}") };
    let summary = "1 file changed, 1 deleted, 1 new";
    assert_eq!((&changed["type"], &changed["summary"]), (&json!("call_changed"), &json!(summary)));
    assert_eq!(ended["type"], "turn_ended");
    let edit = json!({"path": "a", "old_text": "one", "new_text": "three"});
    let edit = json!({"calls": [{"name": "edit_file", "arguments": edit}]});
    go_on(&place, json!([edit, {"text": "So."}]), &[]);
    assert!(place.logs().contains("changed on disk since it was last read"), "{}", place.logs());
    let told = format!("{ENDED}bash {command} ({summary}). Read again what you rely on.");
    assert!(prompts(&log(&place))[1].contains(&told), "{:?}", prompts(&log(&place)));
    place.run(&["undo"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path("work/a")).unwrap(), "one\n");
    go_on(&place, json!([bash("cat a; ls"), {"text": "Seen."}]), &[]);
    let undone =
        format!("[undo] The user undid what these calls changed, newest first: bash {command}.");
    let prompts = prompts(&log(&place));
    assert!(prompts[2].contains(&undone) && !prompts[2].contains("[jobs]"), "{prompts:?}");
    nothing_differs(&place);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let other = Place::new();
    std::fs::rename(place.path("work/out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    let run = other.run(&["replay", "in.tar.gz"]).ends_with(0);
    assert!(run.out.contains("nothing differs"), "{run:?}");
}

#[test]
fn a_field_of_the_log_says_that_a_result_is_of_a_job_and_that_a_job_changed_something() {
    let place = Place::new();
    let words = "echo 'job 7 runs in the background'; touch a";
    let turns = json!([job("touch b; sleep 300.05185"), until("b"), bash(words), {"text": "Up."}]);
    let script = place.script(turns);
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let events = log(&place);
    let values = |kind: &str, field: &str| {
        let of_kind = events.iter().filter(|event| event["type"] == kind);
        of_kind.map(|event| event[field].clone()).collect::<Vec<_>>()
    };
    assert_eq!(values("tool_result", "job"), [json!(1), Value::Null, Value::Null]);
    assert_eq!(values("call_changed", "by_job"), [Value::Null, json!(true)]);
}

#[test]
fn what_a_job_had_changed_is_found_after_a_kill_also_in_a_fork_and_when_it_was_undone() {
    for (more, is_undone) in [(&[][..], false), (&["--fork"], false), (&[], true)] {
        let place = Place::new();
        place.write("work/a", "one\n");
        let command = "echo two > a; touch new; exec sleep 300.05182";
        let cut = bash("touch started; sleep 60");
        let script = place.script(json!([job(command), until("new"), cut]));
        place.run_and_kill(&["-p", "--model", &script, "--allow", "bash", "go"], "work/started");
        if is_undone {
            place.run(&["undo", "2"]).ends_with(0);
        }
        let script = place.script(json!([bash("cat a; ls"), {"text": "Seen."}]));
        let cut = ", the list may be incomplete";
        let arguments = ["--model", &script, "--allow", "bash", "--continue"];
        let run = place.run(&[&arguments, more, &["go"]].concat()).ends_with(0);
        for said in [
            format!("a call that was cut short changed: 1 new{cut}"),
            format!("a job changed: 1 file changed, 1 new{cut}"),
        ] {
            assert!((run.out.clone() + &run.error).contains(&said), "{said}: {run:?}");
        }
        let events = log(&place);
        let changed = events.iter().filter(|event| event["type"] == "call_changed");
        let changed: Vec<&Value> = changed.map(|event| &event["summary"]).collect();
        assert_eq!(
            changed,
            ["1 new", "1 file changed, 1 new"]
                .map(|known| json!(format!("{known}{cut}")))
                .each_ref(),
            "{more:?}"
        );
        let told = format!("{ENDED}bash {command} (1 file changed, 1 new{cut}). Read again");
        let last = prompts(&events).pop().unwrap();
        assert!(last.contains(&told), "{more:?}: {last}");
        let undone = format!("newest first: bash touch started; sleep 60; bash {command}. The");
        assert_eq!(last.contains(&undone), is_undone, "{last}");
        go_on(&place, json!([{"text": "Once."}]), &[]);
        let last = prompts(&log(&place)).pop().unwrap();
        assert!(!last.contains("[jobs]") && !last.contains("[undo]"), "{last}");
        nothing_differs(&place);
    }
}

#[test]
fn what_jobs_of_an_interactive_session_changed_is_logged_when_they_are_told_or_it_ends() {
    let ends = "while [ ! -e go ]; do sleep 0.1; done; touch made";
    for (arguments, names) in [(&["--plain"][..], 1), (&[], 2)] {
        let home = Home::new(json!([
            job(ends),
            {"text": "First."},
            job("touch new; exec sleep 300.05183"),
            until("new"),
            {"text": "Second."},
        ]));
        let mut terminal = Terminal::start(&home, arguments, 100, &[]);
        terminal.wait_for("scripted", names);
        terminal.press("begin\r");
        terminal.wait_for("First.", 1);
        terminal.wait_for("1 job is running", 1);
        std::fs::write(home.work().join("go"), "").unwrap();
        for _ in 0..100 {
            terminal.press("/jobs\r");
            std::thread::sleep(std::time::Duration::from_millis(200));
            if terminal.everything().contains("No job is running") {
                break;
            }
        }
        terminal.press("and now\r");
        terminal.wait_for("Second.", 1);
        terminal.wait_for("1 job is running", 2);
        // Where keys are not read one by one.
        if arguments.contains(&"--plain") {
            terminal.wait_for_prompt();
        }
        terminal.press(CTRL_D);
        assert_eq!(terminal.exit_code(), 0);
        let said = terminal.everything();
        assert_eq!(said.matches("2: 1 new").count(), 1, "{said}");
        assert!(!said.contains("a job changed"), "{said}");
        let kinds = home.log().into_iter().filter_map(|event| {
            let kind = event["type"].as_str()?.to_owned();
            ["user_message", "call_changed", "turn_ended"].contains(&&*kind).then_some(kind)
        });
        let expected = [
            "user_message",
            "turn_ended",
            "call_changed",
            "user_message",
            "turn_ended",
            "call_changed",
        ];
        assert_eq!(kinds.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_a_job_changes_at_the_end_of_its_run_makes_a_check_before_it_prove_nothing() {
    let place = Place::new();
    place.config("verify = [\"sh check.sh\"]\n");
    place.write("work/check.sh", "exit 0\n");
    let late = "trap 'echo late > late; exit' TERM; touch up; sleep 300.05184 & wait";
    for (command, state) in [(late, "unverified"), ("touch up; exec sleep 300.05184", "verified")] {
        let turns = json!([job(command), until("up"), bash("sh check.sh"), {"text": "Done."}]);
        let script = place.script(turns);
        let stream =
            ["--output-format", "stream-json", "--model", &script, "--allow", "bash", "go"];
        let run = place.run(&stream).ends_with(0);
        let last: Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&last["type"], &last["receipt"]["state"]),
            (&json!("turn_ended"), &json!(state))
        );
        assert_eq!(place.path("work/late").exists(), state == "unverified");
        place.run(&["undo"]).ends_with(0);
    }
}
