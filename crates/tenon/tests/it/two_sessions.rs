//! Two sessions that run commands in one workspace at the same time.

use std::{
    fs,
    process::{Child, Stdio},
};

use serde_json::json;

use crate::{program::Place, undo::bash};

const EVIL: &str = "echo evil > .envrc; echo evil > .mcp.json; echo evil > own/.envrc; \
                    git config core.fsmonitor evil; touch written";

/// Starts a session in `folder`, and waits until its command made the file `sign`.
fn start(place: &Place, tier: &str, folder: &str, script: &str, sign: &str) -> Child {
    let model = place.script(json!([bash(script), {"text": "Done."}]));
    let cwd = place.path(folder).display().to_string();
    let mut command =
        place.tenon(&["--print", "--sandbox", tier, "--model", &model, "--cwd", &cwd, "go"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !place.path("work").join(sign).exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before the command ran");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child
}

fn end(mut child: Child) {
    assert!(child.wait().unwrap().success());
}

fn place(config: &str) -> Place {
    let place = Place::new();
    place.config(config);
    place.write("work/own/.envrc", "own\n");
    let mut git = place.program("git", &["init", "-q"]);
    assert!(git.status().unwrap().success());
    place
}

#[track_caller]
fn is_as_before(place: &Place) {
    let read = |name: &str| fs::read_to_string(place.path("work").join(name)).unwrap_or_default();
    assert_eq!([".envrc", ".mcp.json", "own/.envrc"].map(read), ["", "", "own\n"]);
    assert!(!read(".git/config").contains("evil"));
}

#[test]
fn what_a_command_of_one_session_writes_no_other_session_brings_back() {
    for (tier, config) in [("a", ""), ("c", ""), ("a", "undo = false\n")] {
        // The session that wrote it ends first.
        let place = place(config);
        let waits = format!("{EVIL}; until [ -e begun ]; do sleep 0.01; done");
        let first = start(&place, tier, "work", &waits, "written");
        let waits = "touch begun; while [ -e .envrc ]; do sleep 0.01; done";
        let second = start(&place, tier, "work", waits, "begun");
        end(first);
        end(second);
        is_as_before(&place);
    }
}

#[test]
fn a_session_in_a_folder_beneath_ends_first() {
    for tier in ["a", "c"] {
        let place = place("");
        let waits = format!("{EVIL}; until [ -e own/over ]; do sleep 0.01; done");
        let first = start(&place, tier, "work", &waits, "written");
        end(start(&place, tier, "work/own", "touch begun", "own/begun"));
        place.write("work/own/over", "");
        end(first);
        is_as_before(&place);
    }
}
