//! What calls change is listed, undone and redone by the real program, whatever the walls and
//! whoever runs it; what a person changed since is not touched without a yes.

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    program_copy::copy_program,
    skipped::skipped,
    terminal::{Home, Terminal},
};

/// Besides tier B, which an ordinary user tries.
const WALLS: [&str; 3] = ["auto", "c", "off"];

const COMMANDS: [&str; 7] = [
    "sed -i s/two/2/ made.txt edited.txt",
    "rm -rf gone",
    "mv moved new; mkdir -p one/two",
    "ln -s edited.txt link; ln edited.txt twin",
    "chmod 751 script; touch -d 2001-02-03 script",
    "printf more >> log; : > emptied; dd if=/dev/zero of=log bs=1 count=2 conv=notrunc 2>/dev/null",
    "python3 -c 'open(b\"caf\\xe9\", \"w\").write(\"x\")'",
];

pub(crate) fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command}}]})
}

fn write(path: &str, content: &str) -> Value {
    json!({"calls": [{"name": "write_file", "arguments": {"path": path, "content": content}}]})
}

/// A workspace with something in it, and a script of a session that changes all of it.
fn place() -> (Place, String) {
    let place = Place::new();
    place.write("work/edited.txt", "one\ntwo\n");
    place.write("work/gone/deep/file", "gone\n");
    std::fs::create_dir(place.path("work/gone/empty")).unwrap();
    place.write("work/moved", "moved\n");
    place.write("work/script", "#!/bin/sh\n");
    place.write("work/log", "line\n");
    place.write("work/emptied", "full\n");
    let first = [write("made.txt", "one\ntwo\n")];
    let turns = first.into_iter().chain(COMMANDS.map(bash)).chain([json!({"text": "Done."})]);
    let script = place.script(turns.collect());
    (place, script)
}

/// Everything beneath `folder`: kind, permissions, time, content.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if metadata.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                std::fs::read(&path).unwrap()
            };
            found.push(format!(
                "{:?} {:o} {}.{:09} {:?}",
                path.strip_prefix(folder).unwrap(),
                metadata.mode(),
                metadata.mtime(),
                metadata.mtime_nsec(),
                String::from_utf8_lossy(&content)
            ));
        }
    }
    found.sort();
    found
}

/// Undoes a whole session, redoes it and undoes it again.
fn check_everything(walls: &str, tenon: impl Fn(&Place, &[&str]) -> Run) {
    let (place, script) = place();
    let work = place.path("work");
    let run = |arguments: &[&str]| tenon(&place, arguments).ends_with(0);
    let before = tree(&work);
    run(&["--print", "--model", &script, "--sandbox", walls, "--allow", "bash", "go"]);
    let after = tree(&work);
    assert_ne!(before, after, "{walls}");
    let changes = run(&["changes"]).out;
    for line in ["created  made.txt", "deleted  gone/deep/file", "renamed  new (← moved)"] {
        assert!(changes.contains(line), "{walls}: {line}\n{changes}");
    }
    run(&["undo", "20"]);
    assert_eq!(before, tree(&work), "{walls}: undo");
    let changes = run(&["changes"]).out;
    assert_eq!(changes.matches("(undone)").count(), COMMANDS.len() + 1, "{changes}");
    assert_eq!(tenon(&place, &["undo"]).status, 1);
    run(&["redo"]);
    assert_eq!(after, tree(&work), "{walls}: redo");
    for _ in 0..=COMMANDS.len() {
        run(&["undo"]);
    }
    assert_eq!(before, tree(&work), "{walls}: undo, one by one");
    for _ in 0..=COMMANDS.len() {
        run(&["redo"]);
    }
    assert_eq!(after, tree(&work), "{walls}: redo, one by one");
    assert_eq!(tenon(&place, &["redo"]).status, 1);
}

#[test]
fn a_session_is_undone_and_redone_byte_for_byte_in_every_tier() {
    for walls in WALLS {
        check_everything(walls, |place, arguments| place.run(arguments));
    }
}

#[test]
fn an_ordinary_user_undoes_and_redoes_too() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        skipped("every other test runs as an ordinary user already");
        return;
    }
    let has_bubblewrap = Path::new("/usr/bin/bwrap").exists();
    if !has_bubblewrap {
        skipped("bubblewrap is not installed");
    }
    for walls in WALLS.into_iter().chain(has_bubblewrap.then_some("b")) {
        check_everything(walls, |place, arguments| {
            let copy = place.path("tenon");
            if !copy.exists() {
                copy_program(env!("CARGO_BIN_EXE_tenon").as_ref(), &copy);
                std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
                let all = place.path("");
                let given = Command::new("chown").args(["-R", "65534:65534"]).arg(all).status();
                assert!(given.unwrap().success());
            }
            let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
            let copy = copy.display().to_string();
            let arguments = [&user[..], &[&copy], arguments].concat();
            Run::of(place.program("setpriv", &arguments).output().unwrap())
        });
    }
}

/// A session of which a person changes two files afterwards.
fn conflicting() -> Place {
    let place = Place::new();
    place.write("work/a", "one\n");
    place.write("work/b", "one\n");
    let script =
        place.script(json!([bash("echo two > a; echo two > b; echo two > c"), {"text": "."}]));
    place.run(&["--print", "--model", &script, "go"]).ends_with(0);
    std::thread::sleep(std::time::Duration::from_millis(20));
    place.write("work/a", "mine\n");
    place.write("work/c", "mine\n");
    place
}

fn contents(place: &Place) -> [String; 3] {
    ["a", "b", "c"]
        .map(|name| std::fs::read_to_string(place.path("work").join(name)).unwrap_or_default())
}

#[test]
fn what_a_person_changed_since_is_not_touched_without_a_yes() {
    let place = conflicting();
    let refused = place.run(&["undo"]).ends_with(1);
    refused.says(&[
        "Nothing was touched",
        "  a (changed since)",
        "  c (changed since)",
        "--keep-mine",
    ]);
    assert_eq!(contents(&place), ["mine\n", "two\n", "mine\n"]);
    place.run(&["undo", "--overwrite", "a"]).ends_with(1).says(&["  c (changed since)"]);
    assert_eq!(contents(&place), ["mine\n", "two\n", "mine\n"]);
    let kept = place.run(&["undo", "--keep-mine"]).ends_with(0);
    assert!(
        kept.out.contains("Left as they are, because of what was changed since:\n  a (changed")
    );
    assert_eq!(contents(&place), ["mine\n", "one\n", "mine\n"]);
    let place = conflicting();
    let absolute = place.path("work/c").display().to_string();
    place.run(&["undo", "--overwrite", "./a", "--overwrite", &absolute]).ends_with(0);
    assert_eq!(contents(&place), ["one\n", "one\n", ""]);
    place.run(&["redo"]).ends_with(0);
    assert_eq!(contents(&place), ["mine\n", "two\n", "mine\n"]);
}

#[test]
fn commands_in_a_subfolder_mean_the_workspace_around_it() {
    let place = Place::new();
    place.write("work/a", "one\n");
    place.write("work/deep/er/b", "one\n");
    let script = place.script(json!([bash("echo two > a; echo two > deep/er/b"), {"text": "."}]));
    place.run(&["--print", "--model", &script, "go"]).ends_with(0);
    let run = |arguments: &[&str]| {
        let mut tenon = place.tenon(arguments);
        Run::of(tenon.current_dir(place.path("work/deep/er")).output().unwrap())
    };
    assert!(run(&["changes"]).ends_with(0).out.contains("deep/er/b"));
    for (subcommand, text) in [("undo", "one\n"), ("redo", "two\n")] {
        run(&[subcommand]).ends_with(0);
        assert_eq!(std::fs::read_to_string(place.path("work/a")).unwrap(), text);
        assert_eq!(std::fs::read_to_string(place.path("work/deep/er/b")).unwrap(), text);
    }
    // A session of the subfolder's own comes first.
    let script = place.script(json!([write("c", "new\n"), {"text": "."}]));
    run(&["--print", "--model", &script, "go"]).ends_with(0);
    run(&["undo"]).ends_with(0);
    assert!(!place.path("work/deep/er/c").exists());
    assert_eq!(std::fs::read_to_string(place.path("work/a")).unwrap(), "two\n");
}

#[test]
fn another_folder_is_named_before_the_command_or_behind_it() {
    let place = Place::new();
    session_of(&place, &["echo a > a"]);
    let from_elsewhere = |arguments: &[&str]| {
        let mut tenon = place.tenon(arguments);
        Run::of(tenon.current_dir(place.path("")).output().unwrap())
    };
    from_elsewhere(&["undo"]).ends_with(1);
    let changes = from_elsewhere(&["changes", "--cwd", "work"]).ends_with(0);
    assert!(changes.out.contains("created  a"), "{}", changes.out);
    from_elsewhere(&["--cwd", "work", "undo"]).ends_with(0);
    assert!(!place.path("work/a").exists());
    from_elsewhere(&["redo", "--cwd", "work"]).ends_with(0);
    assert!(place.path("work/a").exists());
    from_elsewhere(&["restore", "last", "--to", "1", "--cwd", "work"]).ends_with(0);
    assert!(!place.path("work/a").exists());
    let out_of_place: [&[&str]; 3] = [
        &["--cwd", "work", "undo", "--cwd", "work"],
        &["--cwd", "work", "--mode", "ask", "undo"],
        &["--cwd", "work", "sessions"],
    ];
    for arguments in out_of_place {
        from_elsewhere(arguments).ends_with(2).says(&["what stands before this command"]);
    }
}

#[test]
fn where_commands_are_compared_the_list_says_so_and_undo_works() {
    let place = Place::new();
    place.config("undo_by_comparison = true\n");
    place.write("work/a", "one\n");
    let script = place.script(json!([bash("echo two > a; mkdir d; touch d/e"), {"text": "."}]));
    let run = place.run(&["--output-format", "stream-json", "--model", &script, "go"]).ends_with(0);
    let said = "[changes] 1 file changed, 1 new under d/, by comparison";
    assert!(run.out.contains(said), "{}", run.out);
    let doctor = place.run(&["doctor"]).out;
    assert!(doctor.contains("compared before and after each command"), "{doctor}");
    place.run(&["undo"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path("work/a")).unwrap(), "one\n");
    assert!(!place.path("work/d").exists());
}

/// Has all checkpoints be of an hour ago.
pub(crate) fn age_checkpoints(place: &Place) {
    let logs = "find home/.local/state/tenon/undo -name '0*' -exec touch -d '1 hour ago' {} +";
    let touch = place.program("sh", &["-c", logs]).current_dir(place.path("")).status();
    assert!(touch.unwrap().success());
}

/// A session that is killed (-9) in the middle of a command is gone on with and undone.
fn killed_and_undone(config: &str) {
    let place = Place::new();
    place.config(config);
    for file in ["a", "gone/deep/b", "keep", "moved", "both"] {
        place.write(&format!("work/{file}"), "one\n");
    }
    let before = tree(&place.path("work"));
    let command = "echo two > a; rm -r gone; mkdir new; echo n > new/n; chmod 600 keep; mv moved new; \
                   ln -s a link; echo two >> both; touch started; sleep 60";
    let script = place.script(json!([bash(command)]));
    place.run_and_kill(&["--print", "--model", &script, "go"], "work/started");
    let script = place.script(json!([
        bash("echo three >> both; echo three > new/n; touch more"),
        {"text": "On."},
    ]));
    place.run(&["--continue", "--print", "--model", &script, "go on"]).ends_with(0);
    let log = place.logs();
    let told = "interrupted before it ended\\n[changes] 2 files changed, ";
    assert!(log.contains(told), "{log}");
    // What came after the kill was the session's own, however late.
    age_checkpoints(&place);
    let list = place.run(&["changes"]).ends_with(0).out;
    assert!(list.contains("gone") && list.contains("more"), "{list}");
    place.run(&["undo", "2"]).ends_with(0);
    assert_eq!(before, tree(&place.path("work")));
}

#[test]
fn a_call_that_was_killed_is_told_of_and_undone_with_what_came_after() {
    killed_and_undone("");
    killed_and_undone("undo_by_comparison = true\n");
}

#[test]
fn files_are_restored_as_they_were_before_a_step_or_a_call() {
    let place = Place::new();
    let script = place.script(json!([
        write("a", "1\n"),
        bash("ls"),
        bash("echo 3 > a"),
        write("b", "4\n"),
        {"text": "."},
    ]));
    place.run(&["--print", "--model", &script, "go"]).ends_with(0);
    let read = |name: &str| std::fs::read_to_string(place.path("work").join(name)).ok();
    // Step 2 changed nothing; what came after it did.
    place.run(&["restore", "last", "--to", "2"]).ends_with(0);
    assert_eq!((read("a").as_deref(), read("b")), (Some("1\n"), None));
    place.run(&["redo"]).ends_with(0);
    assert_eq!((read("a").as_deref(), read("b").as_deref()), (Some("3\n"), Some("4\n")));
    let calls: Vec<Value> = serde_json::from_str(&place.run(&["changes", "--json"]).out).unwrap();
    let steps: Vec<u64> = calls.iter().map(|call| call["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [1, 3, 4]);
    let last = calls[2]["call_id"].as_str().unwrap();
    place.run(&["restore", "last", "--to", last]).ends_with(0);
    assert_eq!((read("a").as_deref(), read("b")), (Some("3\n"), None));
    place.run(&["restore", "last", "--to", "call_of_nobody"]).ends_with(2);
    place.run(&["restore", "nobody", "--to", "1"]).ends_with(2);
}

#[test]
fn the_model_is_told_what_a_command_changed_and_the_log_has_the_list() {
    let place = Place::new();
    place.write("work/a", "one\n");
    let script = place.script(json!([
        write("made", "x"),
        bash("cat a"),
        bash("echo two > a; mkdir d; touch d/e; exit 3"),
        {"text": "."},
    ]));
    let run = place.run(&["--output-format", "stream-json", "--model", &script, "go"]).ends_with(0);
    let events: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    let results: Vec<&str> =
        of("tool_result").iter().map(|event| event["content"].as_str().unwrap()).collect();
    assert!(results.iter().take(2).all(|result| !result.contains("[changes]")), "{results:?}");
    let expected = "exit code 3\n(no output)\n[changes] 1 file changed, 1 new under d/";
    assert_eq!(results[2], expected);
    let changed = of("call_changed");
    assert_eq!(changed.len(), 2);
    // SHA-256 of "two\n".
    let two = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a";
    assert_eq!(
        changed[1]["files"],
        json!([
            {"path": "a", "kind": "edited", "old_bytes": 4, "new_bytes": 4, "new_hash": two},
            {"path": "d", "kind": "created", "inside": 1},
        ])
    );
    let position = |kind: &str| events.iter().rposition(|event| event["type"] == kind).unwrap();
    assert!(position("call_changed") < position("tool_result"));
    for next in ["undo", "redo", "undo", "changes"] {
        let diff = place.run(&["changes", "--diff"]).ends_with(0).out;
        assert!(diff.contains("\na\n@@ -1 +1 @@\n-one\n+two\n"), "before {next}: {diff}");
        place.run(&[next]).ends_with(0);
    }
    let usage = place.run(&["changes", "--usage"]).ends_with(0).out;
    assert!(usage.starts_with("undo: 5 checkpoints hold "), "{usage}");
    let doctor = place.run(&["doctor"]).out;
    assert!(doctor.contains("undo: 5 checkpoints hold "), "{doctor}");
}

#[test]
fn what_a_job_changed_is_told_when_it_is_read_and_can_be_undone() {
    let place = Place::new();
    place.write("work/a", "one\n");
    let job = json!({"command": "sleep 0.6; echo two > a; echo over", "background": true});
    let script = place.script(json!([
        {"calls": [{"name": "bash", "arguments": job}]},
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
        {"text": "."},
    ]));
    let run = place.run(&["--output-format", "stream-json", "--model", &script, "go"]).ends_with(0);
    let events: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let result = events.iter().rfind(|event| event["type"] == "tool_result").unwrap();
    let content = result["content"].as_str().unwrap();
    assert!(content.ends_with("over\n[changes] 1 file changed"), "{content}");
    let changed = events.iter().find(|event| event["type"] == "call_changed").unwrap();
    let started = events.iter().find(|event| event["type"] == "call_started").unwrap();
    assert_eq!(changed["call_id"], started["call"]["id"]);
    place.run(&["undo"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path("work/a")).unwrap(), "one\n");
}

#[test]
fn a_session_that_goes_on_is_told_of_an_undo_and_one_that_is_deleted_is_forgotten() {
    let place = Place::new();
    let script = place.script(json!([write("a", "one\n"), {"text": "."}, {"text": "."}]));
    place.run(&["--print", "--model", &script, "go"]).ends_with(0);
    place.run(&["undo"]).ends_with(0);
    let script = place.script(json!([{"text": "."}]));
    place.run(&["--print", "--model", &script, "--continue", "go on"]).ends_with(0);
    let told = "[undo] The user undid what these calls changed, newest first: write_file a.";
    assert!(place.logs().contains(told), "{}", place.logs());
    let usage = || place.run(&["changes", "--usage"]);
    assert!(usage().out.starts_with("undo: 2 checkpoints"));
    place.run(&["sessions", "delete", "last"]).ends_with(0);
    assert!(usage().ends_with(0).out.starts_with("undo: 0 checkpoints hold 0.0 MiB"));
}

#[test]
fn changed_permissions_and_what_was_replaced_are_told_of_whatever_else_changed() {
    let place = Place::new();
    for name in ["work/a", "work/b", "work/c", "work/d", "work/e"] {
        place.write(name, "x");
    }
    let command = "echo y >> a; chmod 777 a; mv b e; chmod 755 e; chmod 1700 c; \
        rm d; mkdir d; echo q > d/q";
    for name in ["a", "b", "c"] {
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(place.path("work").join(name), mode).unwrap();
    }
    session_of(&place, &[command]);
    let list = place.run(&["changes"]).ends_with(0).out;
    for line in [
        "edited   a (1 → 3 B, mode 0644 → 0777)",
        "renamed  e (← b, replaces: file, 1 B, mode 0644 → 0755)",
        "mode     c (mode 0644 → 1700)",
        "replaced d (file → folder)",
    ] {
        assert!(list.contains(&format!("  {line}\n")), "{line}: {list}");
    }
    let json = place.run(&["changes", "--json"]).ends_with(0).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    let file = |path: &str| {
        let files = json[0]["files"].as_array().unwrap();
        files.iter().find(|file| file["path"] == path).cloned().unwrap()
    };
    let (a, d) = (file("a"), file("d"));
    assert_eq!((&a["old_mode"], &a["new_mode"]), (&json!("0644"), &json!("0777")));
    assert_eq!((&d["old_entry"], &d["new_entry"]), (&json!("file"), &json!("folder")));
    assert!(place.logs().contains(r#""old_mode":"0644","new_mode":"1700""#));
    let undone = place.run(&["undo"]).ends_with(0).out;
    assert!(undone.contains("  replaced d (folder → file)\n"), "{undone}");
}

#[test]
fn undo_can_be_switched_off() {
    let place = Place::new();
    place.config("undo = false\n");
    let script = place.script(json!([bash("echo x > a"), {"text": "."}]));
    place.run(&["--print", "--model", &script, "go"]).ends_with(0);
    assert!(!place.logs().contains("call_changed"));
    place.run(&["undo"]).ends_with(1).says(&["there is nothing to undo"]);
    place.run(&["changes"]).ends_with(1);
}

#[test]
fn no_command_sees_what_is_kept_for_undo() {
    let place = Place::new();
    place.write("work/a", "a secret of the past\n");
    let find =
        "find $HOME/.local /tmp/.tenon-undo-* /.tenon-undo-* -type f -path '*undo*' 2>/dev/null";
    let script = place.script(json!([bash("rm a"), bash(find), {"text": "."}]));
    let run = place.run(&["--output-format", "stream-json", "--model", &script, "go"]).ends_with(0);
    let last = run.out.lines().rfind(|line| line.contains("tool_result")).unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    let content = last["content"].as_str().unwrap();
    assert!(!content.contains("/log") && !content.contains("/undo/"), "{content}");
    place.run(&["undo"]).ends_with(0);
    assert!(place.path("work/a").exists());
}

#[test]
fn in_a_session_undo_and_redo_are_typed_and_the_model_is_told() {
    let home = Home::new(json!([
        write("a", "one\n"),
        {"text": "Made it."},
        {"text": "I know."},
    ]));
    let mut terminal = Terminal::start(&home, &["--plain"], 100, &[]);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for("Made it.", 1);
    terminal.wait_for_prompt();
    let file = home.work().join("a");
    terminal.press("/undo\r");
    terminal.wait_for("Undone:", 1);
    terminal.wait_for_prompt();
    assert!(!file.exists());
    terminal.press("/redo\r");
    terminal.wait_for("Redone:", 1);
    terminal.wait_for_prompt();
    // A question, and a no to it.
    std::fs::write(&file, "mine\n").unwrap();
    terminal.press("/undo 1\r");
    terminal.wait_for("o = put these back too; n = nothing]", 1);
    terminal.press("n\r");
    terminal.wait_for("Nothing was touched", 1);
    terminal.wait_for_prompt();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
    terminal.press("/undo\r");
    terminal.wait_for("o = put these back too; n = nothing]", 2);
    terminal.press("o\r");
    terminal.wait_for("Undone:", 2);
    terminal.wait_for_prompt();
    assert!(!file.exists());
    terminal.press("/changes\r");
    terminal.wait_for("write_file a (undone)", 1);
    terminal.wait_for_prompt();
    terminal.press("go on\r");
    terminal.wait_for("I know.", 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    let told = home.logged("user_message", "message");
    let told = told[1].to_string();
    assert!(
        told.contains(
            "[undo] The user undid what these calls changed, newest first: write_file a."
        )
    );
}

/// Runs a session of these commands, and returns its id.
pub(crate) fn session_of(place: &Place, commands: &[&str]) -> String {
    let turns = commands.iter().map(|command| bash(command)).chain([json!({"text": "ok"})]);
    let script = place.script(turns.collect());
    let run = place.run(&["--model", &script, "--output-format", "json", "go"]).ends_with(0);
    let result: Value = serde_json::from_str(&run.out).unwrap();
    result["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn redo_takes_the_last_undo_back_whichever_session_it_was_of() {
    let place = Place::new();
    let is_there = |name: &str| place.path(&format!("work/{name}")).exists();
    let old = session_of(&place, &["echo A > a"]);
    let new = session_of(&place, &["echo B > b"]);
    let none = place.run(&["redo"]).ends_with(1);
    assert!(none.error.contains("nothing to redo"), "{none:?}");
    assert!(!none.error.contains("undo_bytes_max"), "nothing has gone: {none:?}");
    place.run(&["undo", "--session", &old]).ends_with(0);
    let redone = place.run(&["redo"]).ends_with(0);
    assert!(redone.out.contains(&old) && is_there("a"), "{redone:?}");
    place.run(&["undo"]).ends_with(0);
    place.run(&["undo", "--session", &old]).ends_with(0);
    place.run(&["redo", "--session", &new]).ends_with(0);
    assert!(is_there("b") && !is_there("a"));
    place.run(&["undo"]).ends_with(0);
    for (session, name) in [(&new, "b"), (&old, "a")] {
        let redone = place.run(&["redo"]).ends_with(0);
        assert!(redone.out.contains(session.as_str()) && is_there(name), "{redone:?}");
    }
    place.run(&["redo"]).ends_with(1);
    // What went may have been what is looked for.
    place.run(&["sessions", "delete", &old]).ends_with(0);
    let none = place.run(&["redo"]).ends_with(1);
    assert!(none.error.contains("undo_bytes_max"), "{none:?}");
}

#[test]
fn a_list_of_no_changes_is_a_document_all_the_same() {
    let place = Place::new();
    let list = |arguments: &[&str]| {
        let arguments = [&["changes"], arguments, &["--json"]].concat();
        assert_eq!(place.run(&arguments).ends_with(0).out, "[]\n", "{arguments:?}");
    };
    list(&[]);
    let id = session_of(&place, &["true"]);
    list(&[]);
    list(&[&id]);
}

#[test]
fn where_there_is_less_to_undo_than_was_asked_for_it_is_said() {
    let place = Place::new();
    let old = session_of(&place, &["echo 0 > old"]);
    session_of(&place, &["echo 1 > a", "echo 2 > b"]);
    let undone = place.run(&["undo", "8"]).ends_with(0);
    assert!(undone.out.contains("\nOnly 2 calls can be undone.\nUndone:\n"), "{undone:?}");
    place.run(&["undo"]).ends_with(1).says(&[&format!("tenon undo --session {old}")]);
    let undone = place.run(&["undo", "1", "--session", &old]).ends_with(0);
    assert!(!undone.out.contains("Only"), "{undone:?}");
    let none = place.run(&["undo"]).ends_with(1);
    assert!(!none.error.contains("--session"), "{none:?}");
}

#[test]
fn a_name_with_a_line_end_is_one_line_above_its_changed_lines() {
    let place = Place::new();
    session_of(&place, &["printf 'x\\n' > \"$(printf 'a\\nb')\""]);
    let listed = place.run(&["changes", "--diff"]).ends_with(0).out;
    assert!(listed.contains("a␊b") && !listed.contains("a\nb"), "{listed}");
}
