//! Sessions are replayed by the real program: with no model, in a copy of the workspace as it was,
//! what differs first is shown.

use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Place, Run};
use crate::undo::bash;

/// A session that reads, writes, edits, deletes, renames and prints paths.
pub(crate) fn recorded(more: &[Value]) -> Place {
    let place = Place::new();
    place.write("work/edited.txt", "one\ntwo\n");
    place.write("work/gone/deep/file", "gone\n");
    place.write("work/log", "line\n");
    std::os::unix::fs::symlink("edited.txt", place.path("work/link")).unwrap();
    let mut turns = vec![
        json!({"calls": [{"name": "read_file", "arguments": {"path": "edited.txt"}},
            {"name": "glob", "arguments": {"pattern": "**/*"}}]}),
        json!({"calls": [{"name": "edit_file", "arguments":
            {"path": "edited.txt", "old_text": "two", "new_text": "zwei"}}]}),
        bash("pwd; ls -R; cat log edited.txt; printf more >> log"),
        bash("rm -rf gone; mkdir -p new/deep; mv log new/log; sed -i s/one/eins/ edited.txt"),
        bash("rm link; chmod 751 edited.txt; printf x > new/log; stat -c '%a %n' *; cat new/log"),
        bash("seq 1 20000"),
    ];
    turns.extend_from_slice(more);
    turns.push(json!({"text": "Done."}));
    let script = place.script(turns.into());
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    place
}

fn log_of(place: &Place) -> std::path::PathBuf {
    let folder = place.path("home/.local/state/tenon/sessions");
    let mut logs = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    logs.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap()
}

fn report(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

fn tree(folder: &Path) -> Vec<String> {
    let find =
        "find . -printf '%p %y %m %T@ %l\\n' | sort; find . -type f -exec sha256sum {} + | sort";
    let output = std::process::Command::new("sh").arg("-c").arg(find).current_dir(folder).output();
    String::from_utf8(output.unwrap().stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_session_is_replayed_without_a_difference_and_without_touching_anything() {
    let place = recorded(&[]);
    let before = tree(&place.path("work"));
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert_eq!(run.out, "replayed 7 steps and 7 calls: nothing differs from the recording\n");
    assert_eq!(run.error, "");
    assert_eq!(before, tree(&place.path("work")));
    let sessions = place.run(&["sessions", "--json"]).out;
    assert_eq!(serde_json::from_str::<Value>(&sessions).unwrap().as_array().unwrap().len(), 1);
    let copies = std::fs::read_dir(place.path("home/.cache/tenon/replay")).unwrap();
    assert_eq!(copies.count(), 0, "copies go");
    let until = place.run(&["replay", "last", "--until", "3", "--json"]).ends_with(0);
    let expected = json!({"steps": 3, "calls": 4, "divergence": null, "ended_early": null});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&report(&until)[name], value, "{until:?}");
    }
    let far = place.run(&["replay", "last", "--until", "8"]).ends_with(2);
    assert!(far.error.contains("there is no step 8: the session has 7"), "{far:?}");
    place.write("work/b.tar.gz", "no archive");
    let unread = place.run(&["replay", "b.tar.gz"]).ends_with(2);
    assert!(unread.error.contains("b.tar.gz is no bundle that can be replayed"), "{unread:?}");
    std::fs::remove_file(place.path("work/b.tar.gz")).unwrap();
    // Undone and redone files come from other checkpoints.
    place.run(&["undo", "2"]).ends_with(0);
    place.run(&["replay", "last"]).ends_with(0);
    place.run(&["redo"]).ends_with(0);
    place.run(&["replay", "last"]).ends_with(0);
}

/// Replays the last session elsewhere, from a bundle of which `left_out` is said.
fn from_bundle(place: &Place, left_out: &str) -> Run {
    let run = place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    assert!(run.error.contains(left_out) && run.error.is_empty() == left_out.is_empty(), "{run:?}");
    let other = Place::new();
    std::fs::rename(place.path("work/out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    other.run(&["replay", "in.tar.gz"])
}

/// Goes on with the last session.
fn go_on(place: &Place, turns: Value) {
    let script = place.script(turns);
    place.run(&["-p", "--model", &script, "--allow", "bash", "--continue", "go on"]).ends_with(0);
}

#[test]
fn what_was_undone_and_redone_in_between_is_so_again() {
    let place = recorded(&[]);
    let look = || json!([bash("ls -R; cat edited.txt log new/log 2>&1; true"), {"text": "Seen."}]);
    place.run(&["undo", "2"]).ends_with(0);
    go_on(&place, look());
    place.run(&["undo"]).ends_with(0);
    place.run(&["redo"]).ends_with(0);
    go_on(&place, look());
    place.run(&["redo"]).ends_with(0);
    go_on(&place, look());
    let log = std::fs::read_to_string(log_of(&place)).unwrap();
    assert_eq!(log.matches("\"type\":\"files_undone\"").count(), 4);
    let expected = "replayed 13 steps and 10 calls: nothing differs from the recording\n";
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert_eq!((run.out.as_str(), run.error.as_str()), (expected, ""));
    assert_eq!(from_bundle(&place, "").ends_with(0).out, expected);
    // A log that does not say what was undone is followed up to there.
    let named = |line: &&str| !line.contains("\"type\":\"files_undone\"");
    let old: String = log.lines().filter(named).map(|line| format!("{line}\n")).collect();
    std::fs::write(log_of(&place), old).unwrap();
    let run = place.run(&["replay", "last"]).ends_with(1);
    run.says(&["calls were undone in between, and the log does not say"]);
    let run = place.run(&["replay", "last", "--until", "7"]).ends_with(0);
    assert_eq!(run.error, "", "no more was asked for");
}

/// A session that is killed in a command, and gone on with.
fn killed(place: &Place, change: &str, then: Value) {
    let command = format!("{change}; touch started; sleep 60");
    let script = place.script(json!([
        {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
        {"text": "Now.", "calls": [
            {"name": "glob", "arguments": {"pattern": "*"}},
            {"name": "bash", "arguments": {"command": command}},
            {"name": "bash", "arguments": {"command": "touch never"}},
        ]},
    ]));
    place.run_and_kill(&["-p", "--model", &script, "--allow", "bash", "go"], "work/started");
    go_on(place, then);
}

#[test]
fn a_session_that_was_killed_in_a_call_is_replayed_to_its_end() {
    let place = Place::new();
    for file in ["a.txt", "gone/deep/f", "keep", "moved"] {
        place.write(&format!("work/{file}"), "one\n");
    }
    let look = "cat a.txt; ls -AR; stat -c '%a %n' *; cat new/n 2> /dev/null";
    killed(
        &place,
        "echo two >> a.txt; rm -r gone; mkdir new; echo n > new/n; chmod 600 keep; mv moved new; ln -s a.txt link",
        json!([bash(look), bash("rm -r new; echo three > a.txt"), bash(look), {"text": "Seen."}]),
    );
    let log = std::fs::read_to_string(log_of(&place)).unwrap();
    let told = "interrupted before it ended\\n[changes] 1 file changed, ";
    assert!(log.contains(told), "{log}");
    let whole = "replayed 6 steps and 7 calls: nothing differs from the recording\n";
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert_eq!(run.out, whole, "{run:?}");
    assert!(run.error.contains("or was cut short, and answered as recorded"), "{run:?}");
    assert_eq!(run.error.lines().count(), 1, "{run:?}");
    // A log of before does not say what was cut short or what it changed.
    let is_told = |line: &&str| {
        line.contains("call_changed") && line.contains("a.txt") && line.contains("gone")
    };
    assert_eq!(log.lines().filter(is_told).count(), 1, "{log}");
    let old: String = log
        .lines()
        .filter(|line| !is_told(line))
        .map(|line| line.replace(",\"cut_short\":true", "") + "\n")
        .collect();
    std::fs::write(log_of(&place), old).unwrap();
    assert_eq!(place.run(&["replay", "last"]).ends_with(0).out, whole);
    std::fs::write(log_of(&place), log).unwrap();
    let run = from_bundle(&place, "").ends_with(0);
    assert_eq!(run.out, whole, "{run:?}");
}

#[test]
fn a_replay_from_a_bundle_ends_where_a_part_matters_of_what_was_cut_short_that_it_does_not_have() {
    let place = Place::new();
    place.write("work/a.txt", "one\n");
    let look = json!([bash("cat a.txt"), {"text": "Seen."}]);
    killed(&place, "echo two >> a.txt; mkdir new; echo A=b > new/.env", look);
    place.run(&["replay", "last"]).ends_with(0);
    let left_out = "left out: new/.env (it holds secrets)\nnote: left out: what ";
    let run = from_bundle(&place, left_out).ends_with(1);
    run.says(&["ends behind step 3", "what a call had changed that was cut short: 1 file changed"]);
}

#[test]
fn what_was_cut_short_by_a_kill_and_undone_is_undone_in_a_replay() {
    let place = Place::new();
    place.write("work/a.txt", "one\n");
    let look = || json!([bash("cat a.txt; ls -A"), {"text": "Seen."}]);
    let script = place.script(json!([bash("echo two > a.txt; touch started; sleep 60")]));
    place.run_and_kill(&["-p", "--model", &script, "--allow", "bash", "go"], "work/started");
    place.run(&["undo"]).ends_with(0);
    go_on(&place, look());
    assert!(std::fs::read_to_string(log_of(&place)).unwrap().contains("files_undone"));
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert_eq!(run.out, "replayed 3 steps and 2 calls: nothing differs from the recording\n");
    assert!(!run.error.contains("ends behind"), "{run:?}");
}

#[test]
fn what_was_cut_short_and_undone_after_others_had_run_is_undone_in_a_replay() {
    let place = Place::new();
    for file in ["a.txt", "gone/deep/f", "moved", "keep"] {
        place.write(&format!("work/{file}"), "one\n");
    }
    let before = tree(&place.path("work"));
    let look = || {
        let look = "cat a.txt moved new/* 2> /dev/null; ls -AR; stat -c '%a %n' *";
        json!([bash(look), {"text": "Seen."}])
    };
    killed(
        &place,
        "echo two > a.txt; rm -r gone; mkdir new; echo n > new/n; mv moved new; chmod 600 keep; ln -s a.txt link",
        json!([
            bash("echo three >> a.txt; rm new/n link; mkdir gone; echo g > gone/g; chmod 644 keep"),
            {"text": "Changed."},
        ]),
    );
    let after = tree(&place.path("work"));
    // At once, and back; then one by one, and back.
    for (undo, redone) in [(vec![vec!["undo", "2"]], 1), (vec![vec!["undo"], vec!["undo"]], 2)] {
        undo.iter().for_each(|undo| drop(place.run(undo).ends_with(0)));
        assert_eq!(before, tree(&place.path("work")));
        go_on(&place, look());
        (0..redone).for_each(|_| drop(place.run(&["redo"]).ends_with(0)));
        assert_eq!(after, tree(&place.path("work")));
        go_on(&place, look());
    }
    place.run(&["undo", "2"]).ends_with(0);
    go_on(&place, look());
    let run = place.run(&["replay", "last"]).ends_with(0);
    let whole = "replayed 14 steps and 10 calls: nothing differs from the recording\n";
    assert_eq!(run.out, whole);
    assert!(!run.error.contains("ends behind"), "{run:?}");
    assert_eq!(from_bundle(&place, "").ends_with(0).out, whole);
}

#[test]
fn a_session_that_was_killed_before_it_asked_for_a_check_is_replayed_to_its_end() {
    let place = Place::new();
    place.config("verify = [\"sh check.sh\"]\n");
    place.write("work/check.sh", "exit 0\n");
    let turns = json!([
        bash("echo two > a"), {"thinking": "Good.", "text": "Done."},
        bash("sh check.sh"), {"text": "Checked."},
    ]);
    let script = place.script(turns);
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    // As if it had been killed behind the first answer.
    let log = std::fs::read_to_string(log_of(&place)).unwrap();
    let kept = log.find("\"type\":\"continued\"").unwrap();
    let kept = log[..kept].rfind('\n').unwrap();
    std::fs::write(log_of(&place), &log[..=kept]).unwrap();
    go_on(&place, json!([bash("cat a; sh check.sh"), {"text": "Seen."}]));
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert_eq!(run.out, "replayed 4 steps and 2 calls: nothing differs from the recording\n");
    assert_eq!(run.error, "");
}

#[test]
fn checks_that_the_settings_named_are_asked_for_also_where_they_name_none() {
    let place = Place::new();
    place.config("verify = [\"sh check.sh\"]\n");
    place.write("work/check.sh", "grep -q two a\n");
    let script = place.script(json!([
        bash("echo two > a"), {"text": "Done."}, bash("sh check.sh"), {"text": "Checked."},
    ]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let expected = "replayed 4 steps and 2 calls: nothing differs from the recording\n";
    for config in ["", "receipts = false\n", "verify = [\"make test\"]\n"] {
        place.config(config);
        assert_eq!(place.run(&["replay", "last"]).ends_with(0).out, expected, "{config}");
    }
    let script = place.script(json!([bash("echo three > a"), {"text": "Not checked."}]));
    place.config("receipts = false\nverify = [\"sh check.sh\"]\n");
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    place.config("verify = [\"sh check.sh\"]\n");
    place.run(&["replay", "last"]).ends_with(0);
}

#[test]
fn whether_and_how_changes_were_recorded_is_as_it_was_whatever_the_settings_say() {
    let place = Place::new();
    let settings = ["", "undo = false\n", "undo_by_comparison = true\n"];
    let script =
        place.script(json!([bash("echo two > a"), bash("echo > b; ls"), {"text": "Done."}]));
    for then in settings {
        place.config(then);
        place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
        for now in settings {
            place.config(now);
            let run = place.run(&["replay", "last"]).ends_with(0);
            assert!(
                run.out.ends_with(": nothing differs from the recording\n"),
                "{then}{now}{run:?}"
            );
        }
    }
}

#[test]
fn a_fork_is_replayed_from_where_the_session_began_that_it_left() {
    let place = Place::new();
    let script = place.script(json!([bash("echo one > a"), {"text": "Made."}]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let script = place.script(json!([bash("cat a; echo two > a"), {"text": "Done."}]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "-c", "--fork", "on"]).ends_with(0);
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert_eq!(run.out, "replayed 4 steps and 2 calls: nothing differs from the recording\n");
}

#[test]
fn what_differs_is_shown_with_its_step() {
    let place = recorded(&[bash("date +%s%N; cat /proc/sys/kernel/random/uuid")]);
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(run.out.starts_with("step 7: the result of `bash date"), "{run:?}");
    assert!(run.out.contains("\n- recorded, + replayed\n@@"), "{run:?}");
    place.run(&["replay", "last", "--until", "6"]).ends_with(0);
    // Results from the log do not differ from it, and need no workspace.
    std::fs::remove_dir_all(place.path("work")).unwrap();
    std::fs::create_dir(place.path("work")).unwrap();
    place.run(&["replay", "last", "--with-tools-from", "last"]).ends_with(0);
    let log = log_of(&place);
    let text = std::fs::read_to_string(&log).unwrap();
    let check = |old: &str, new: &str, step: u64, what: &str| {
        assert!(text.contains(old), "{old}");
        let path = place.write("work/other.jsonl", &text.replacen(old, new, 1));
        let path = path.to_str().unwrap();
        let log = log.to_str().unwrap();
        let run = place.run(&["replay", path, "--with-tools-from", log, "--json"]).ends_with(1);
        let found = &report(&run)["divergence"];
        assert_eq!((&found["step"], &found["what"]), (&json!(step), &json!(what)), "{run:?}");
    };
    check("\\n19999\\n", "\\n19998\\n", 6, "result");
    check("\"system\":\"", "\"system\":\"0", 1, "system");
    check("\"text\":\"go\"", "\"text\":\"come\"", 1, "messages");
    check("\"new_text\":\"zwei\"", "\"new_text\":\"drei\"", 3, "messages");
}

#[test]
fn results_are_taken_from_a_bundle() {
    let place = recorded(&[bash("date +%s%N")]);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    place.run(&["replay", "out.tar.gz"]).ends_with(1);
    for session in ["last", "out.tar.gz"] {
        place.run(&["replay", session, "--with-tools-from", "out.tar.gz"]).ends_with(0);
    }
    let path = place.path("work/out.tar.gz");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    for session in ["last", "out.tar.gz"] {
        place.run(&["replay", session, "--with-tools-from", "out.tar.gz"]).ends_with(2);
    }
}

#[test]
fn what_a_call_did_to_the_files_is_compared() {
    let place = recorded(&[]);
    let text = std::fs::read_to_string(log_of(&place)).unwrap();
    let at = text.find("\"new_hash\":\"").unwrap() + 12;
    let (old, rest) = (&text[..at], &text[at + 1..]);
    let other = if &text[at..=at] == "0" { "1" } else { "0" };
    std::fs::write(log_of(&place), format!("{old}{other}{rest}")).unwrap();
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(
        run.out.starts_with("step 2: `edit_file edited.txt` changed files otherwise"),
        "{run:?}"
    );
}

#[test]
fn how_changes_were_recorded_is_no_difference() {
    for (then, now) in [("true", "false"), ("false", "true")] {
        let place = Place::new();
        place.config(&format!("undo_by_comparison = {then}\n"));
        place.write("work/d/a", "one\n");
        place.write("work/b", "one\n");
        let script = place.script(json!([
            bash("echo two > b; ln b c; mkdir new; mv d new/; echo x >> new/d/a"),
            bash("mv new/d d; rm c; chmod 600 b; touch n; ls -R"),
            {"text": "Done."},
        ]));
        place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
        place.config(&format!("undo_by_comparison = {now}\n"));
        let run = place.run(&["replay", "last"]).ends_with(0);
        assert!(run.out.contains("nothing differs"), "{run:?}");
    }
}

#[test]
fn nothing_of_a_recording_leaves_the_walls() {
    let place = Place::new();
    let target = place.path("target");
    let script = place.script(json!([
        bash(&format!("echo x > {}; true", target.display())),
        bash("grep '^Seccomp:' /proc/self/status"),
        {"text": "Done."},
    ]));
    place
        .run(&["-p", "--model", &script, "--sandbox", "off", "--allow", "bash", "go"])
        .ends_with(0);
    std::fs::remove_file(&target).unwrap();
    place.config("sandbox = \"off\"\nallow = [\"bash\"]\n");
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(run.out.contains(": the result of `bash "), "{run:?}");
    assert!(!target.exists());
}

#[test]
fn what_was_refused_outside_of_the_workspace_is_so_again() {
    let place = Place::new();
    let call = |tool: &str, path: &str| {
        let arguments = json!({"path": path, "content": "x"});
        json!({"calls": [{"name": tool, "arguments": arguments}]})
    };
    let script = place.script(json!([
        call("write_file", "../out"),
        call("write_file", "../../out"),
        call("write_file", "../../../out"),
        {"text": "No."},
    ]));
    place.run(&["-p", "--model", &script, "go"]).ends_with(0);
    let log = std::fs::read_to_string(log_of(&place)).unwrap();
    assert!(log.contains("lies outside the workspace; the model named it `../out`"), "{log}");
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert_eq!(run.out, "replayed 4 steps and 3 calls: nothing differs from the recording\n");
}

#[test]
fn what_a_flag_denied_is_denied_again() {
    let place = Place::new();
    let script = place.script(json!([bash("echo a >> f"), {"text": "No."}]));
    place.run(&["-p", "--model", &script, "--deny", "bash(echo:*)", "go"]).ends_with(0);
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert_eq!(run.out, "replayed 2 steps and 1 call: nothing differs from the recording\n");
}
