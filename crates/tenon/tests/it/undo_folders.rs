//! Undo of a session that was gone on with in other folders than those that its calls ran in.

use std::path::Path;

use serde_json::json;

use crate::{
    program::{Place, Run},
    terminal::{Home, Terminal},
    undo::bash,
};

/// A workspace and a folder beside it, in both of which one session changed something; it went on without the
/// folder and changed the workspace once more.
fn place() -> Place {
    let place = Place::new();
    place.write("work/a", "one\n");
    place.write("lib/l", "l\n");
    let first = place.script(json!([bash("echo x >> a; echo x >> ../lib/l"), {"text": "ok"}]));
    let lib = place.path("lib").display().to_string();
    let first = ["--model", &first, "--add-dir", &lib, "--name", "s", "-p", "go"];
    place.run(&first).ends_with(0);
    let then = place.script(json!([bash("echo z >> a"), {"text": "ok"}]));
    place.run(&["--model", &then, "--resume", "s", "-p", "on"]).ends_with(0);
    place
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap()
}

/// What is in the file of the workspace and in that of the folder.
#[track_caller]
fn check(place: &Place, work: &str, lib: &str) {
    let found = ["work/a", "lib/l"].map(|name| read(place, name).replace('\n', " "));
    assert_eq!(found.each_ref().map(|text| text.trim_end()), [work, lib]);
}

/// Refuses because the folder cannot be opened, and left nothing half done.
fn refuses(place: &Place, run: Run, lib: &Path) {
    let error = run.ends_with(1).error;
    let said = format!(
        "error: undo cannot do this: checkpoint 1 changed something in a folder that cannot be opened: \
         No such file or directory: {}\nhint: everything is as it was before",
        lib.display()
    );
    assert!(error.contains(&said), "{error}");
    assert_eq!(read(place, "work/a"), "one\nx\nz\n");
    let changes = place.run(&["changes"]).ends_with(0);
    assert!(!changes.error.contains("killed"), "{changes:?}");
}

#[test]
fn what_was_changed_in_a_folder_of_an_earlier_run_is_shown_undone_redone_and_restored() {
    let place = place();
    let run = |arguments: &[&str]| place.run(arguments).ends_with(0);
    let lines = run(&["changes", "--diff"]);
    assert!(lines.out.contains("/lib/l\n@@ -1 +1,2 @@\n l\n+x\n"), "{lines:?}");
    run(&["undo", "2"]);
    check(&place, "one", "l");
    run(&["redo"]);
    check(&place, "one x z", "l x");
    run(&["undo"]);
    check(&place, "one x", "l x");
    run(&["undo"]);
    check(&place, "one", "l");
    run(&["redo"]);
    run(&["redo"]);
    run(&["restore", "s", "--to", "1"]);
    check(&place, "one", "l");
}

#[test]
fn the_same_in_a_session() {
    let home = Home::new(json!([bash("echo x >> a; echo x >> ../lib/l"), {"text": "Written."}]));
    let (work, lib) = (home.work(), home.work().with_file_name("lib"));
    std::fs::create_dir(&lib).unwrap();
    std::fs::write(work.join("a"), "one\n").unwrap();
    std::fs::write(lib.join("l"), "l\n").unwrap();
    let read =
        || [work.join("a"), lib.join("l")].map(|path| std::fs::read_to_string(path).unwrap());
    let start = |more: &[&str]| {
        let mut terminal =
            Terminal::start_sized(&home, &[&["--plain"], more].concat(), (100, 200), &[]);
        terminal.wait_for_prompt();
        terminal
    };
    let say = |terminal: &mut Terminal, line: &str, said: &str| {
        terminal.press(&format!("{line}\r"));
        terminal.wait_for(said, 1);
        terminal.wait_for_prompt();
    };
    let leave = |mut terminal: Terminal| {
        terminal.press("\x04");
        assert_eq!(terminal.exit_code(), 0, "{}", terminal.screen());
    };
    let mut terminal = start(&["--add-dir", &lib.display().to_string()]);
    say(&mut terminal, "go", "done · 2 steps");
    leave(terminal);
    let mut terminal = start(&["--continue"]);
    // The folder is none of this run: the command cannot write there.
    say(&mut terminal, "on", "../lib/l: ");
    assert_eq!(read(), ["one\nx\nx\n", "l\nx\n"]);
    say(&mut terminal, "/diff", "+x\n+x");
    assert!(terminal.screen().contains("/lib/l\n@@ -1 +1,2 @@\n l\n+x\n"), "{}", terminal.screen());
    say(&mut terminal, "/undo 2", "Undone:");
    assert_eq!(read(), ["one\n", "l\n"]);
    say(&mut terminal, "/redo", "Redone:");
    assert_eq!(read(), ["one\nx\nx\n", "l\nx\n"]);
    std::fs::rename(&lib, lib.with_file_name("away")).unwrap();
    say(&mut terminal, "/changes", "nor shown line by line");
    say(&mut terminal, "/undo 2", "a folder that cannot be opened:");
    assert_eq!(std::fs::read_to_string(work.join("a")).unwrap(), "one\nx\nx\n");
    leave(terminal);
}

#[test]
fn a_folder_that_is_gone_is_named_and_the_rest_is_listed_and_undone() {
    let place = place();
    let (lib, away) = (place.path("lib"), place.path("away"));
    std::fs::rename(&lib, &away).unwrap();
    let said = format!("nor shown line by line: No such file or directory: {}\n", lib.display());
    for diff in [&["changes"][..], &["changes", "--diff"]] {
        let changes = place.run(diff).ends_with(0);
        assert_eq!(changes.out.matches(&said).count(), 1, "{changes:?}");
        assert!(changes.out.contains("/lib/l (2 → 4 B)\n  edited   a (4 → 6 B)"), "{changes:?}");
    }
    let json = place.run(&["changes", "--json"]).ends_with(0);
    assert!(json.out.starts_with("[\n") && json.error.contains(&said), "{json:?}");
    refuses(&place, place.run(&["undo", "2"]), &lib);
    refuses(&place, place.run(&["restore", "s", "--to", "1"]), &lib);
    place.run(&["undo"]).ends_with(0);
    assert_eq!(read(&place, "work/a"), "one\nx\n");
    std::fs::rename(&away, &lib).unwrap();
    place.run(&["undo"]).ends_with(0);
    check(&place, "one", "l");
}

#[test]
fn a_call_that_was_killed_in_a_folder_of_its_run_is_told_and_undone_without_it() {
    for config in ["", "undo_by_comparison = true\n"] {
        let place = Place::new();
        place.config(config);
        place.write("work/a", "one\n");
        place.write("lib/l", "l\n");
        let lib = place.path("lib").display().to_string();
        let script = "echo x >> a; echo x >> ../lib/l; touch started; sleep 60";
        let killed = place.script(json!([bash(script)]));
        let killed = ["--model", &killed, "--add-dir", &lib, "--name", "s", "-p", "go"];
        place.run_and_kill(&killed, "work/started");
        let then = place.script(json!([{"text": "ok"}]));
        place.run(&["--model", &then, "--continue", "-p", "on"]).ends_with(0);
        assert!(place.logs().contains("2 files changed, 1 new"), "{config}{}", place.logs());
        std::fs::rename(place.path("lib"), place.path("away")).unwrap();
        place.run(&["undo"]).ends_with(1);
        assert_eq!(read(&place, "work/a"), "one\nx\n");
        std::fs::rename(place.path("away"), place.path("lib")).unwrap();
        place.run(&["undo"]).ends_with(0);
        check(&place, "one", "l");
    }
}

#[test]
fn a_call_that_was_killed_in_a_folder_that_is_gone_is_listed_all_the_same() {
    let place = Place::new();
    place.write("work/a", "one\n");
    place.write("lib/l", "l\n");
    let lib = place.path("lib").display().to_string();
    let script = "echo x >> a; echo x >> ../lib/l; touch started; sleep 60";
    let killed = place.script(json!([bash("echo w >> a"), bash(script)]));
    let killed = ["--model", &killed, "--add-dir", &lib, "--name", "s", "-p", "go"];
    place.run_and_kill(&killed, "work/started");
    std::fs::rename(place.path("lib"), place.path("away")).unwrap();
    let changes = place.run(&["changes"]).ends_with(0);
    for said in ["No such file or directory", "bash echo w >> a", "sleep 60 (interrupted)\n"] {
        assert!(changes.out.contains(said), "{changes:?}");
    }
    // The one before it is not undone in its place.
    place.run(&["undo"]).ends_with(1).says(&["a folder that cannot be opened"]);
    assert_eq!(read(&place, "work/a"), "one\nw\nx\n");
    std::fs::rename(place.path("away"), place.path("lib")).unwrap();
    let changes = place.run(&["changes"]).ends_with(0);
    assert!(changes.out.contains("/lib/l (2 → 4 B)"), "{changes:?}");
    place.run(&["undo", "2"]).ends_with(0);
    check(&place, "one", "l");
}

#[test]
fn the_repository_of_a_linked_worktree_is_told_as_not_recorded_until_it_is_added() {
    let place = Place::new();
    let git = |folder: &str, arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let out = git.current_dir(place.path(folder)).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    place.write("main/a", "one\n");
    for arguments in [&["init", "-q"][..], &["add", "a"], &["commit", "-qm", "one"]] {
        git("main", arguments);
    }
    let work = place.path("work").display().to_string();
    git("main", &["worktree", "add", "-q", &work]);
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two";
    let script = place.script(json!([bash(commit), {"text": "ok"}]));
    let main = place.path("main").display().to_string();
    let told = format!("what git writes to {main}/.git is in no list of changes");
    let run = place.run(&["--model", &script, "-p", "go"]).ends_with(0);
    run.says(&[&told, &format!("--add-dir {main} would record it")]);
    place.run(&["undo"]).ends_with(1);
    assert_eq!(git("work", &["log", "--format=%s"]), "two\none\n");
    let run = place.run(&["--model", &script, "--add-dir", &main, "-p", "go"]).ends_with(0);
    assert!(!run.error.contains(&told), "{run:?}");
    assert_eq!(git("work", &["log", "--format=%s"]), "two\ntwo\none\n");
    place.run(&["undo"]).ends_with(0);
    assert_eq!(git("work", &["log", "--format=%s"]), "two\none\n");
}
