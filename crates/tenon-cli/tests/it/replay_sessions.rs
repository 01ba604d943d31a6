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
