//! What undo keeps can still be written by a job that had it open, or stands in its folder: undo and redo bring nothing of
//! that to a name that programs take commands from without a question.

use std::{
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::json;

use crate::{
    program::{Place, Run},
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

const HOOK: &str = "#!/bin/sh\ntrue\n";

fn workspace() -> Place {
    let place = Place::new();
    git(&place, &["init", "-q"]);
    git(&place, &["init", "-q", "rep"]);
    git(&place, &["init", "-q", "--separate-git-dir=.bare", "wt"]);
    git(&place, &["config", "include.path", "../team.cfg"]);
    git(&place, &["config", "--add", "include.path", "../x/d/team.cfg"]);
    for (path, text) in [
        ("f", "1\n"),
        ("sub/.envrc", "mine\n"),
        ("team.cfg", "[user]\n\tname = a\n"),
        ("rep/.git/hooks/pre-commit", HOOK),
        (".bare/hooks/pre-push", HOOK),
        (".bare/info/attributes", "a text\n"),
    ] {
        place.write(&format!("work/{path}"), text);
    }
    place
}

/// A job opens a file and, if `writes`, writes to it once a call beside it is over that removes or replaces it.
fn job_with_open_file(place: &Place, path: &str, call: &str, writes: bool) {
    let wait = |name: &str| format!("until [ -e {name} ]; do sleep 0.02; done");
    let write = if writes { "echo evil >&3" } else { ":" };
    let job =
        format!("exec 3>>{path}; : > begun; {}; {write}; : > made; {}", wait("go"), wait("end"));
    let script = place.script(json!([
        {"calls": [{"name": "bash", "arguments": {"command": job, "background": true}}]},
        bash(&format!("{}; {call}; echo 2 > f", wait("begun"))),
        bash(&format!(": > go; {}; : > end", wait("made"))),
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
        {"text": "Over."},
    ]));
    place.run(&["--model", &script, "go"]).ends_with(0);
}

#[test]
fn what_a_job_wrote_by_an_open_descriptor_to_what_is_kept_does_not_come_back() {
    let cases = [
        ("sub/.envrc", "rm sub/.envrc"),
        ("sub/.envrc", "echo new > n; mv n sub/.envrc"),
        ("sub/.envrc", "rm -r sub"),
        ("rep/.git/config", "git -C rep config user.name ada"),
        ("rep/.git/hooks/pre-commit", "rm -rf rep"),
        (".bare/hooks/pre-push", "rm -rf .bare"),
        (".bare/info/attributes", "rm -rf .bare"),
        ("team.cfg", "rm team.cfg"),
    ];
    for (path, call) in cases {
        let place = workspace();
        let before = read(&place, path);
        job_with_open_file(&place, path, call, true);
        let refused = place.run(&["undo", "2"]).ends_with(1);
        let said = format!("  {path} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{path}, {call}: {refused:?}");
        assert_eq!(read(&place, "f").as_deref(), Some("2\n"), "{path}, {call}");
        place.run(&["undo", "2", "--keep-mine"]).ends_with(0);
        let now = read(&place, path).unwrap_or_default();
        assert!(!now.contains("evil"), "{path}, {call}: {now}");
        assert_eq!(read(&place, "f").as_deref(), Some("1\n"), "{path}, {call}");

        let place = workspace();
        job_with_open_file(&place, path, call, false);
        for way in ["undo", "redo", "undo"] {
            let steps: &[&str] = if way == "undo" { &["2"] } else { &[] };
            place.run(&[&[way], steps].concat()).ends_with(0);
        }
        assert_eq!((read(&place, path), read(&place, "f")), (before, Some("1\n".into())));
    }
}

fn wait_for(place: &Place, name: &str) {
    for _ in 0..3000 {
        if place.path("work").join(name).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{name} does not come");
}

/// A call makes folders with a repository, a job goes into one and does something there once an undo from another
/// terminal took them away.
fn job_in_taken_folder(place: &Place, does: &str) {
    let wait = |name: &str| format!("until [ -e {name} ]; do sleep 0.02; done");
    let job = format!(
        "w=$PWD; cd x; : > $w/begun; while [ -e $w/x ]; do sleep 0.02; done; {does}; : > $w/made; {}",
        wait("$w/end")
    );
    let make = "mkdir -p x/d; git init -q x/r; git init -q --bare x/b; echo hi > x/d/pre-commit; echo hi > x/d/a";
    let script = place.script(json!([
        bash(make),
        {"calls": [{"name": "bash", "arguments": {"command": job, "background": true}}]},
        bash(&wait("end")),
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
        {"text": "Over."},
    ]));
    let mut session = place.tenon(&["--model", &script, "go"]);
    session.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let session = session.spawn().unwrap();
    wait_for(place, "begun");
    place.run(&["undo"]).ends_with(0);
    assert!(!place.path("work/x").exists());
    wait_for(place, "made");
    place.write("work/end", "");
    Run::of(session.wait_with_output().unwrap()).ends_with(0);
}

#[test]
fn what_a_job_wrote_in_a_folder_that_undo_took_away_does_not_come_by_redo() {
    let cases = [
        ("echo evil > .envrc", "x/.envrc"),
        ("mkdir .vscode; echo evil > .vscode/tasks.json", "x/.vscode/tasks.json"),
        ("ln -s d/a .envrc", "x/.envrc"),
        ("mkdir -p n/.git; mv d n/.git/hooks", "x/n/.git/hooks/pre-commit"),
        ("mkdir -p r/.git/modules/m; mv d r/.git/modules/m/hooks", "x/r/.git/modules/m/hooks/a"),
        ("printf '[core]\\nfsmonitor = evil\\n' >> r/.git/config", "x/r/.git/config"),
        ("mv d/pre-commit b/hooks", "x/b/hooks/pre-commit"),
        ("printf '[core]\\nfsmonitor = evil\\n' >> b/config", "x/b/config"),
        ("cp d/a d/team.cfg", "x/d/team.cfg"),
    ];
    for (does, path) in cases {
        let place = workspace();
        job_in_taken_folder(&place, does);
        let refused = place.run(&["redo"]).ends_with(1);
        let said = format!("  {path} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{does}: {refused:?}");
        place.run(&["redo", "--keep-mine"]).ends_with(0);
        assert_eq!(read(&place, path), None, "{does}");
    }
}

#[test]
fn a_folder_with_repositories_comes_by_redo_without_a_question() {
    let place = workspace();
    job_in_taken_folder(&place, "echo 1 > d/b");
    place.run(&["redo"]).ends_with(0);
    let commit = "git -c user.name=a -c user.email=a commit -q --allow-empty -m a";
    let makes =
        format!("git init -q x/s; cd x/s; {commit}; git worktree add -q ../w; git clone -q . ../c");
    session_of(&place, &[&makes, "rm -rf x/c"]);
    for way in ["undo", "undo", "redo", "redo", "undo", "undo"] {
        place.run(&[way]).ends_with(0);
    }
    session_of(&place, &["rm -rf x"]);
    for way in ["undo", "redo", "undo"] {
        place.run(&[way]).ends_with(0);
    }
}

#[test]
fn no_undo_moves_folders_to_a_store_in_the_workspace_while_a_command_runs() {
    let place = Place::new();
    let at_home = |arguments: &[&str]| {
        let mut tenon = place.tenon(arguments);
        tenon.env("HOME", place.path("work"));
        tenon.stdout(Stdio::piped()).stderr(Stdio::piped());
        tenon
    };
    let job = "cd x; : > ../begun; until [ -e ../end ]; do sleep 0.02; done";
    let script = place.script(json!([
        bash("mkdir x; echo 1 > x/f"),
        {"calls": [{"name": "bash", "arguments": {"command": job, "background": true}}]},
        bash("until [ -e end ]; do sleep 0.02; done"),
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
        {"text": "Over."},
    ]));
    let session = at_home(&["--model", &script, "go"]).spawn().unwrap();
    wait_for(&place, "begun");
    let refused = Run::of(at_home(&["undo"]).output().unwrap()).ends_with(1);
    assert!(refused.error.contains("belongs to a call that is still running"), "{refused:?}");
    assert_eq!(read(&place, "x/f").as_deref(), Some("1\n"));
    place.write("work/end", "");
    Run::of(session.wait_with_output().unwrap()).ends_with(0);
    Run::of(at_home(&["undo", "--session", "last"]).output().unwrap()).ends_with(0);
}
