//! What a command did to protected names whose tenon was killed (-9), and protected names in folders that
//! commands rename.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::{
    program::{Place, files_beneath},
    undo::{age_checkpoints, bash},
};

/// What a command had done to protected names when its session was killed (-9) is put back by the next
/// one, or told where somebody changed it since.
fn killed_beside_protected_names(walls: &str, config: &str) {
    let place = Place::new();
    place.config(config);
    let git = |arguments: &[&str]| {
        let run = place.program("git", arguments).output().unwrap();
        String::from_utf8(run.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    let command = "echo echo >> .envrc; mkdir -p sub; echo x > sub/.envrc; echo mine > mine; \
                   python3 -c 'print(\"[core]\\nfsmonitor = ./mine\\n[user]\\nname = Ada\", \
                   file=open(\".git/config\", \"a\"))'; touch started; sleep 60";
    let killed = place.script(json!([bash(command)]));
    let read = |name: &str| std::fs::read_to_string(place.path("work").join(name)).ok();
    place.run_and_kill(&["--print", "--sandbox", walls, "--model", &killed, "go"], "work/started");
    let next = place.script(json!([bash("ls -a"), {"text": "Done."}]));
    let log = files_beneath(&place.path("home/.local/state/tenon/sessions")).remove(0);
    let session = log.file_stem().unwrap().to_str().unwrap();
    let run = place.run(&["--print", "--sandbox", walls, "--model", &next, "go"]).ends_with(0);
    let run =
        run.says(&["tenon was killed while a command ran", "/work/.envrc was made; put back"]);
    let run = run.says(&["sub/.envrc was made; put back", "(core.fsmonitor); put back"]);
    assert!(!run.error.contains("changed since"), "{run:?}");
    assert_eq!(
        (read(".envrc"), read("sub/.envrc"), read("mine")),
        (None, None, Some("mine\n".into()))
    );
    assert_eq!(git(&["config", "core.fsmonitor"]) + &git(&["config", "user.name"]), "Ada\n");
    let again = place.run(&["--print", "--sandbox", walls, "--model", &next, "go"]).ends_with(0);
    assert!(!again.error.contains("killed"), "{again:?}");
    let list = place.run(&["changes", session]).ends_with(0).out;
    assert!(list.contains("put back after a kill") && !list.contains("step ?"), "{list}");
    // The call is taken back with what was put back after it; both come again.
    place.run(&["undo", "--session", session]).ends_with(0);
    assert_eq!((read(".envrc"), read("mine")), (None, None));
    place.run(&["redo", "--session", session]).ends_with(0);
    assert_eq!((read(".envrc"), read("mine")), (None, Some("mine\n".into())));
}

#[test]
fn what_a_killed_session_left_at_protected_names_is_put_back() {
    killed_beside_protected_names("auto", "");
    killed_beside_protected_names("auto", "undo_by_comparison = true\n");
    killed_beside_protected_names("c", "");
}

#[test]
fn undo_right_after_a_kill_takes_the_killed_call_back() {
    let place = Place::new();
    place.write("work/.envrc", "mine\n");
    let script = place.script(json!([bash("echo evil > .envrc; touch started; sleep 60")]));
    place.run_and_kill(&["--print", "--sandbox", "c", "--model", &script, "go"], "work/started");
    place.run(&["undo"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path("work/.envrc")).unwrap(), "mine\n");
    assert!(!place.path("work/started").exists());
}

/// Some providers count their calls anew, and what was summed up has no ids any more.
#[test]
fn a_killed_call_is_answered_by_its_own_changes_and_not_by_those_of_an_older_call_with_its_id() {
    let place = Place::new();
    place.write("work/f", "0\n");
    let call = |command: &str| {
        let arguments = json!({"command": command});
        json!({"calls": [{"id": "X1", "name": "bash", "arguments": arguments}]})
    };
    let end = json!({"text": "."});
    let go = ["--print", "--allow", "bash", "--model"];
    place.config("context_window = 14000\n");
    let long = json!({"text": "blah word ".repeat(700), "usage": {"input": 3000, "output": 1750}});
    let script = place.script(json!([call("echo 1 >> f"), long]));
    place.run(&[&go[..], &[&script, "go"]].concat()).ends_with(0);
    let script = place.script(json!([long, long, long]));
    while !place.logs().contains("\"type\":\"compacted\"") {
        place.run(&[&go[..], &[&script, "--continue", "on"]].concat()).ends_with(0);
    }
    let killed_and_told = |command: &str, calls: usize| {
        let script = place.script(json!([call(command)]));
        let arguments = [&go[..], &[&script, "--continue", "on"]].concat();
        let mut child = place.tenon(&arguments).stdout(Stdio::null()).spawn().unwrap();
        let has_begun = || place.logs().matches("\"type\":\"call_started\"").count() == calls;
        while !has_begun() || (command.contains("made") && !place.path("work/made").exists()) {
            assert_eq!(child.try_wait().unwrap(), None, "it ended before it began");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let script = place.script(json!([end]));
        place.run(&[&go[..], &[&script, "--continue", "on"]].concat()).ends_with(0);
        let logs = place.logs();
        let mut results = logs.lines().filter(|line| line.contains("\"type\":\"tool_result\""));
        let changes = logs.matches("\"type\":\"call_changed\"").count();
        (results.next_back().unwrap().to_owned(), changes)
    };
    let (result, changes) = killed_and_told("sleep 60", 2);
    assert!(result.contains("\"call_id\":\"X1\""), "{result}");
    assert!(result.contains("interrupted before it ended") && changes == 1, "{result} {changes}");
    assert!(!result.contains("changes"), "{result}");
    let (result, changes) = killed_and_told("echo k > made; sleep 60", 3);
    assert!(result.contains("[changes] 1 new") && changes == 2, "{result} {changes}");
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert!(run.out.contains("nothing differs"), "{run:?}");
}

#[test]
fn a_session_with_other_folders_puts_back_what_was_left_too() {
    let place = Place::new();
    place.write("more/a", "a\n");
    let command = "echo evil > .envrc; echo evil > ../more/.envrc; touch started; sleep 60";
    let script = place.script(json!([bash(command)]));
    let more = place.path("more").display().to_string();
    let arguments = ["--print", "--add-dir", &more, "--model", &script, "go"];
    place.run_and_kill(&arguments, "work/started");
    let next = place.script(json!([{"text": "Done."}]));
    let run = place.run(&["--print", "--model", &next, "go"]).ends_with(0);
    run.says(&["work/.envrc was made; put back", "more/.envrc was made; put back"]);
    assert!(!place.path("work/.envrc").exists() && !place.path("more/.envrc").exists());
}

/// A repository and a folder with a person's own protected files, and a command that renames both.
fn renamed(place: &Place) -> Value {
    let own = "git init -q r; printf '#!/bin/sh\n' > r/.git/hooks/pre-push; chmod +x r/.git/hooks/pre-push; \
               mkdir -p f/.vscode; echo own > f/.envrc; echo own > f/.vscode/tasks.json; \
               echo own > f/file";
    assert!(place.program("sh", &["-c", own]).status().unwrap().success());
    bash("mv r r2; mv f g; echo evil > g/.mcp.json; touch started; test -e go || sleep 60")
}

/// What is not as the command of [`renamed`] should leave it.
fn not_as_renamed(place: &Place) -> Vec<&'static str> {
    let there = ["r2/.git/hooks/pre-push", "g/.envrc", "g/.vscode/tasks.json", "g/file"];
    let is_there = |name: &&str| place.path("work").join(name).exists();
    let gone = ["r", "f", "g/.mcp.json"];
    there
        .into_iter()
        .filter(|name| !is_there(name))
        .chain(gone.into_iter().filter(is_there))
        .collect()
}

#[test]
fn what_a_person_has_at_protected_names_goes_with_a_folder_that_is_renamed() {
    for walls in ["auto", "c"] {
        for config in ["", "undo = false\n", "undo_by_comparison = true\n"] {
            let place = Place::new();
            place.config(config);
            let command = renamed(&place);
            place.write("work/go", "");
            let script = place.script(json!([command, {"text": "Done."}]));
            place.run(&["--print", "--sandbox", walls, "--model", &script, "go"]).ends_with(0);
            assert_eq!(not_as_renamed(&place), [""; 0], "{walls} {config}");
        }
        let place = Place::new();
        let script = place.script(json!([renamed(&place)]));
        place.run_and_kill(
            &["--print", "--sandbox", walls, "--model", &script, "go"],
            "work/started",
        );
        let next = place.script(json!([{"text": "Done."}]));
        place
            .run(&["--print", "--model", &next, "go"])
            .ends_with(0)
            .says(&["g/.mcp.json was made"]);
        assert_eq!(not_as_renamed(&place), [""; 0], "{walls}, killed");
    }
}

#[test]
fn what_a_person_changed_after_a_kill_is_left_and_told() {
    let place = Place::new();
    let command = "echo echo > .envrc; echo x > .mcp.json; touch started; sleep 60";
    let script = place.script(json!([bash(command)]));
    place.run_and_kill(&["--print", "--model", &script, "go"], "work/started");
    age_checkpoints(&place);
    place.write("work/.envrc", "my own\n");
    let next = place.script(json!([{"text": "Done."}]));
    let run = place.run(&["--print", "--model", &next, "go"]).ends_with(0);
    run.says(&[
        "/work/.envrc, which was changed since",
        "/work/.mcp.json, which was changed since",
    ]);
    let read = |name: &str| std::fs::read_to_string(place.path("work").join(name)).unwrap();
    assert_eq!((read(".envrc").as_str(), read(".mcp.json").as_str()), ("my own\n", "x\n"));
    let again = place.run(&["--print", "--model", &next, "go"]).ends_with(0);
    assert!(!again.error.contains("killed"), "{again:?}");
}

#[test]
fn an_undo_that_was_killed_is_told_and_what_a_person_wrote_since_is_asked_about() {
    let place = Place::new();
    (1_000..2_500).for_each(|number| drop(place.write(&format!("work/f{number}"), "one\n")));
    let script = place.script(json!([bash("rm f*"), {"text": "Done."}]));
    place.run(&["--model", &script, "go"]).ends_with(0);
    let count = || std::fs::read_dir(place.path("work")).unwrap().count();
    for _ in 0..10 {
        place.run_and_kill(&["undo"], "work/f1100");
        if count() < 1_500 {
            break;
        }
        place.run(&["redo"]).ends_with(0);
    }
    assert!((1..1_500).contains(&count()), "{} of 1,500 are back", count());
    let said = "tenon was killed while it undid or redid something";
    place.run(&["changes"]).says(&[said]);
    // Longer than a step of an undo takes.
    std::thread::sleep(std::time::Duration::from_millis(200));
    place.write("work/f1100", "mine\n");
    let mine = || std::fs::read_to_string(place.path("work/f1100")).unwrap();
    place.run(&["undo"]).ends_with(1).says(&[said, "f1100"]);
    assert_eq!((count(), mine()), (1, "mine\n".into()));
    let kept = place.run(&["undo", "--keep-mine"]).ends_with(0);
    assert!(!kept.error.contains(said), "{kept:?}");
    assert_eq!((count(), mine()), (1_500, "mine\n".into()));
}

#[test]
fn the_next_session_takes_back_an_undo_that_was_killed_and_the_model_is_told_nothing_of_it() {
    let place = Place::new();
    (1_000..2_500).for_each(|number| drop(place.write(&format!("work/f{number}"), "one\n")));
    let script = place.script(json!([bash("echo x > a"), bash("rm f*"), {"text": "Done."}]));
    place.run(&["--model", &script, "go"]).ends_with(0);
    let count = || std::fs::read_dir(place.path("work")).unwrap().count();
    for _ in 0..10 {
        place.run_and_kill(&["undo", "2"], "work/f1100");
        if count() < 1_500 {
            break;
        }
        place.run(&["redo"]).ends_with(0);
    }
    assert!((2..1_500).contains(&count()), "{} of 1,500 are back", count());
    let next = place.script(json!([{"text": "Yes."}]));
    let run = place.run(&["--continue", "--model", &next, "go on"]).ends_with(0);
    run.says(&["undid or redid something: that was taken back"]);
    assert_eq!(count(), 1);
    assert!(!place.logs().contains("[undo]"), "{}", place.logs());
    let run = place.run(&["--continue", "--model", &next, "go on"]).ends_with(0);
    assert!(!run.error.contains("taken back"), "{run:?}");
    place.run(&["undo", "2"]).ends_with(0);
    assert_eq!(count(), 1_500);
}

#[test]
fn a_redo_that_was_killed_is_taken_back_before_it_is_said_what_there_is_to_undo() {
    let place = Place::new();
    (1_000..2_500).for_each(|number| drop(place.write(&format!("work/f{number}"), "one\n")));
    let script = place.script(json!([bash("rm f*"), {"text": "Done."}]));
    place.run(&["--model", &script, "go"]).ends_with(0);
    let files = || std::fs::read_dir(place.path("work")).unwrap().count();
    for _ in 0..10 {
        place.run(&["undo"]).ends_with(0);
        let mut redo = place.tenon(&["redo"]).stdout(Stdio::null()).spawn().unwrap();
        while files() == 1_500 {
            assert_eq!(redo.try_wait().unwrap(), None, "it ended before a file was gone");
        }
        redo.kill().unwrap();
        redo.wait().unwrap();
        if files() > 0 {
            break;
        }
    }
    assert!((1..1_500).contains(&files()), "{} of 1,500 are left", files());
    place.run(&["undo"]).ends_with(1).says(&["there is nothing to undo"]);
    assert_eq!(files(), 1_500);
    place.run(&["redo"]).ends_with(0);
    assert_eq!(files(), 0);
}
