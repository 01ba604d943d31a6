//! Undo brings nothing to a name that programs take commands from which nobody judged: what a job had just
//! written there, or what came into a folder that has another name meanwhile.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{program::Place, undo::bash};

fn git(place: &Place, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(place.path("work")).args(arguments);
    assert!(git.output().unwrap().status.success());
}

fn read(place: &Place, name: &str) -> Option<String> {
    fs::read_to_string(place.path("work").join(name)).ok()
}

fn turn(place: &Place, calls: Value) {
    let mut turns = calls.as_array().unwrap().clone();
    turns.push(json!({"text": "Over."}));
    let model = place.script(turns.into());
    place.run(&["--model", &model, "go"]).ends_with(0);
}

/// A job writes protected names; a call changes or removes them before anybody has looked.
fn job_and_call(place: &Place) {
    git(place, &["init", "-q"]);
    place.write("work/f", "1\n");
    place.write("work/sub/.envrc", "mine\n");
    let wait = |name: &str| format!("until [ -e {name} ]; do sleep 0.02; done");
    let job = format!(
        ": > begun; {}; git config core.fsmonitor evil; git config user.name ada; echo evil | tee .envrc > sub/.envrc; : > made; {}",
        wait("go"),
        wait("end")
    );
    let call = format!(
        "{}; : > go; {}; git config core.fsmonitor other; rm .envrc; echo more >> sub/.envrc; echo 2 > f; : > end",
        wait("begun"),
        wait("made")
    );
    let calls = json!([
        {"calls": [{"name": "bash", "arguments": {"command": job, "background": true}}]},
        bash(&call),
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
    ]);
    turn(place, calls);
    let config = read(place, ".git/config").unwrap();
    assert!(!config.contains("fsmonitor") && config.contains("ada"), "{config}");
    assert_eq!(
        (read(place, ".envrc"), read(place, "sub/.envrc").as_deref()),
        (None, Some("mine\n"))
    );
}

#[test]
fn what_a_job_wrote_at_a_protected_name_does_not_come_back_by_undoing_the_call_beside_it() {
    let place = Place::new();
    job_and_call(&place);
    let refused = place.run(&["undo"]).ends_with(1);
    for path in [".envrc", ".git/config", "sub/.envrc"] {
        let said = format!("  {path} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{path} {refused:?}");
    }
    assert_eq!(read(&place, "f").as_deref(), Some("2\n"));
    place.run(&["undo", "--keep-mine"]).ends_with(0);
    assert_eq!(read(&place, "f").as_deref(), Some("1\n"));
    let is_clean = || {
        let config = read(&place, ".git/config").unwrap();
        let envrc = (read(&place, ".envrc"), read(&place, "sub/.envrc"));
        !config.contains("fsmonitor") && envrc == (None, Some("mine\n".to_owned()))
    };
    assert!(is_clean());
    place.run(&["redo"]).ends_with(0);
    assert!(is_clean());
    // What is asked for by its name comes.
    place
        .run(&["undo", "--overwrite", ".envrc", "--overwrite", ".git/config", "--overwrite", "sub"])
        .ends_with(0);
    assert_eq!(read(&place, ".envrc").as_deref(), Some("evil\n"));
}

#[test]
fn what_both_changed_comes_back_as_it_was_before_both() {
    let place = Place::new();
    job_and_call(&place);
    place.run(&["undo", "9"]).ends_with(0);
    let config = read(&place, ".git/config").unwrap();
    assert!(!config.contains("fsmonitor") && !config.contains("ada"), "{config}");
    assert_eq!(read(&place, "f").as_deref(), Some("1\n"));
    assert_eq!(
        (read(&place, ".envrc"), read(&place, "sub/.envrc").as_deref()),
        (None, Some("mine\n"))
    );
}
