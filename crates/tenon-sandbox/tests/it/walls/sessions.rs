//! Commands of two sessions that run in one workspace at the same time.

use std::path::Path;
use std::thread;
use std::time::Duration;

use tenon_sandbox::{Exit, ProtectedChange, Sandbox, Tier, Wanted};
use tokio_util::sync::CancellationToken;

use super::{Place, tier};
use crate::support::runtime;

const EVIL: &str = "echo evil > .envrc; echo evil > .mcp.json; echo evil > own/.envrc; \
                    git config core.fsmonitor evil; touch written";

/// Runs `first`, and beside it `second` of another session as soon as there is a file `written`.
fn check(tier: Tier, first: &str, second: &str) {
    let place = Place::with(|settings| {
        settings.wanted = Wanted::Exactly(tier);
        let root = settings.roots.first().unwrap();
        let setup = "git init -q; mkdir own; echo own > own/.envrc";
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", setup]).current_dir(root).env("HOME", "/nonexistent");
        assert!(shell.status().unwrap().success());
        let state = root.with_file_name("state");
        std::fs::create_dir(&state).unwrap();
        settings.state = Some(state);
    });
    let run = |sandbox: &Sandbox, script: &str| -> Vec<ProtectedChange> {
        let (command, cancel) = (place.command(script), CancellationToken::new());
        let output = runtime().block_on(sandbox.run(command, &cancel, &mut |_, _| {})).unwrap();
        assert_eq!(output.exit, Exit::Code(0), "{script}: {}", super::printed(&output));
        output.protected
    };
    let other = Sandbox::new(place.sandbox.settings().clone());
    thread::scope(|scope| {
        let first = scope.spawn(|| run(&place.sandbox, &format!("{EVIL}; {first}")));
        while !place.root().join("written").exists() {
            assert!(!first.is_finished(), "{tier}: {:?}", first.join());
            thread::sleep(Duration::from_millis(1));
        }
        run(&other, second);
        std::fs::write(place.root().join("over"), "").unwrap();
        first.join().unwrap();
    });
    let read = |name: &str| std::fs::read_to_string(place.root().join(name)).unwrap_or_default();
    let is_there = |name: &str| Path::exists(&place.root().join(name));
    assert_eq!([".envrc", ".mcp.json"].map(is_there), [false; 2], "{tier}");
    assert_eq!(read("own/.envrc"), "own\n", "{tier}");
    assert!(!read(".git/config").contains("evil"), "{tier}");
}

fn check_both(tier: Tier) {
    // The first one ends first.
    check(
        tier,
        "until [ -e begun ]; do sleep 0.01; done",
        "touch begun; while [ -e .envrc ]; do sleep 0.01; done",
    );
    check(tier, "until [ -e over ]; do sleep 0.01; done", "true");
}

#[test]
fn what_one_session_writes_another_does_not_bring_back() {
    check_both(tier());
}

#[test]
fn what_one_session_writes_another_does_not_bring_back_without_namespaces() {
    check_both(Tier::C);
}
