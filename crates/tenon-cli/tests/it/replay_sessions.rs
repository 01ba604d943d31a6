//! Sessions of several processes, several folders and repositories are replayed as they went.

use serde_json::{Value, json};

use crate::program::Place;

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command}}]})
}

/// Runs one process of a session with `turns`, and goes on with the last session if there is one.
fn process(place: &Place, turns: Value, more: &[&str]) {
    let script = place.script(turns);
    let goes_on = place.path("home/.local/state/tenon/sessions").exists();
    let mut arguments = vec!["-p", "--model", &script, "--allow", "bash"];
    arguments.extend(goes_on.then_some("--continue"));
    arguments.extend(more);
    place.run(&[&arguments[..], &["go"]].concat()).ends_with(0);
}

#[track_caller]
fn nothing_differs(place: &Place) {
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert!(run.out.contains("nothing differs") && run.error.is_empty(), "{run:?}");
}

#[test]
fn a_command_that_reached_its_time_limit_reaches_it_again() {
    let place = Place::new();
    let call = json!({"name": "bash", "arguments": {"command": "echo a; sleep 9", "timeout": 1}});
    process(&place, json!([{"calls": [call]}, {"text": "So."}]), &[]);
    assert!(place.logs().contains("Error: command timed out after 1 s\\na"), "{}", place.logs());
    nothing_differs(&place);
}

#[test]
fn a_session_of_several_processes_is_made_shorter_where_it_was() {
    // With 700 the summary is just not too long, with 720 it is cut.
    for words in [700, 720] {
        let place = Place::new();
        place.config("context_window = 14000\n");
        let text = "blah word ".repeat(words);
        // The later ones are not believed: the conversation has three times as many.
        let turn = json!({"text": text, "usage": {"input": 3000, "output": 1750}});
        for _ in 0..12 {
            process(&place, json!([turn, turn, turn]), &[]);
        }
        assert!(place.logs().matches("\"type\":\"compacted\"").count() > 1);
        nothing_differs(&place);
    }
}

#[test]
fn jobs_of_another_process_are_counted_anew() {
    let place = Place::new();
    let serve = json!({"calls": [{"name": "bash", "arguments":
        {"command": "echo up; sleep 60", "background": true}}]});
    let list = json!({"calls": [{"name": "jobs", "arguments": {"action": "list"}}]});
    for _ in 0..2 {
        process(&place, json!([list, serve, {"text": "Up."}]), &[]);
    }
    assert_eq!(place.logs().matches("job 1 runs in the background").count(), 2 * 2);
    nothing_differs(&place);
}
