//! Undo brings nothing to a name that programs take commands from which nobody judged: what a job had just
//! written there, or what came into a folder that has another name meanwhile.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    program::Place,
    undo::{bash, session_of},
};

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

#[test]
fn what_came_into_a_folder_under_another_name_does_not_come_along_to_a_protected_one() {
    let place = Place::new();
    place.write("work/.claude/commands/a.md", "a\n");
    place.write("work/f", "1\n");
    let moved = session_of(&place, &["mv .claude c2; echo 2 > f"]);
    session_of(&place, &["echo evil > c2/settings.json; echo fine > c2/commands/b.md"]);
    let refused = place.run(&["undo", "--session", &moved]).ends_with(1);
    assert!(refused.error.contains("  c2/settings.json (programs take commands"), "{refused:?}");
    assert!(!refused.error.contains("b.md"), "{refused:?}");
    place.run(&["undo", "--session", &moved, "--keep-mine"]).ends_with(0);
    assert_eq!(
        (read(&place, "f").as_deref(), read(&place, ".claude/settings.json")),
        (Some("1\n"), None)
    );
    assert_eq!(read(&place, "c2/settings.json").as_deref(), Some("evil\n"));
}

#[test]
fn a_folder_is_no_repository_again_without_a_question_where_programs_were_set_meanwhile() {
    let place = Place::new();
    git(&place, &["init", "-q", "--bare", "b.git"]);
    let taken = session_of(&place, &["mv b.git/HEAD h"]);
    session_of(&place, &["echo evil > b.git/hooks/post-update; chmod +x b.git/hooks/post-update"]);
    let refused = place.run(&["undo", "--session", &taken]).ends_with(1);
    assert!(refused.error.contains("  b.git/HEAD (programs take commands"), "{refused:?}");
    assert_eq!(read(&place, "b.git/HEAD"), None);
    fs::remove_file(place.path("work/b.git/hooks/post-update")).unwrap();
    place.run(&["undo", "--session", &taken]).ends_with(0);
    assert!(read(&place, "b.git/HEAD").is_some());
}
