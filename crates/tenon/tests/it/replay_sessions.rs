//! Sessions of several processes, several folders and repositories are replayed as they went.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::program::{Place, files_beneath};
use crate::undo::bash;

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

/// What the receipts of the longest log say, and how often a check was asked for.
fn receipts(place: &Place) -> (Vec<String>, usize) {
    let logs = files_beneath(&place.path("home/.local/state/tenon/sessions"));
    let logs = logs.iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
    let logs = logs.map(|file| std::fs::read_to_string(file).unwrap());
    let log = logs.max_by_key(String::len).unwrap();
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let asked = records.iter().filter(|record| record["cause"] == "not_checked").count();
    let states = records.iter().filter_map(|record| record["receipt"]["state"].as_str());
    (states.map(str::to_owned).collect(), asked)
}

#[test]
fn a_session_that_goes_on_asks_for_the_check_that_ran_last_in_it() {
    let (check, done) = (|| bash("cd sub && make check"), || json!({"text": "Done."}));
    let edits = |file: &str| bash(&format!("echo x > {file}"));
    for (first, asked) in [
        (json!([check(), done()]), 0),
        (json!([check(), edits("n"), done(), json!({"text": "Not now."})]), 1),
    ] {
        for more in [&[][..], &["--fork"]] {
            let place = Place::new();
            place.write("work/sub/Makefile", "check:\n\t@true\n");
            process(&place, first.clone(), &[]);
            assert_eq!(receipts(&place).1, asked, "{first}");
            process(&place, json!([edits("m"), done(), check(), done()]), more);
            let (states, times) = receipts(&place);
            let last = states.last().map(String::as_str);
            assert_eq!((last, times), (Some("verified"), asked + 1), "{first} {more:?}");
            nothing_differs(&place);
        }
    }
}

#[test]
fn a_command_that_reached_its_time_limit_reaches_it_again() {
    let place = Place::new();
    let call = json!({"name": "bash", "arguments": {"command": "echo a; sleep 9", "timeout": 1}});
    process(&place, json!([{"calls": [call]}, {"text": "So."}]), &[]);
    assert!(place.logs().contains("Error: command timed out after 1 s\\na"), "{}", place.logs());
    nothing_differs(&place);
}

#[test]
fn a_fork_is_told_of_an_undo_in_the_session_that_it_left_and_replayed_with_it() {
    let told = "[undo] The user undid what these calls changed, newest first: bash echo 1 >> f.";
    for is_forked_first in [false, true] {
        let place = Place::new();
        place.write("work/f", "0\n");
        let end = json!({"text": "."});
        process(&place, json!([bash("echo 1 >> f"), end]), &[]);
        let log = files_beneath(&place.path("home/.local/state/tenon/sessions")).remove(0);
        let left = log.file_stem().unwrap().to_str().unwrap();
        if is_forked_first {
            process(&place, json!([end]), &["--fork"]);
        }
        place.run(&["undo", "--session", left]).ends_with(0);
        let more: &[&str] = if is_forked_first { &[] } else { &["--fork"] };
        process(&place, json!([bash("cat f"), end]), more);
        let logs = place.logs();
        let prompts = logs.lines().filter(|line| line.contains("\"type\":\"user_message\""));
        assert_eq!(prompts.filter(|line| line.contains(told)).count(), 1, "{logs}");
        nothing_differs(&place);
        // Once is enough.
        process(&place, json!([end]), &[]);
        assert_eq!(place.logs().matches("\"type\":\"files_undone\"").count(), 1);
        nothing_differs(&place);
    }
}

#[test]
fn times_of_folders_that_a_restore_put_back_are_put_back_in_a_replay() {
    let (idle, look) = (bash("touch d/t; rm d/t"), bash("stat -c %Y d"));
    for (calls, to) in [
        (vec![idle.clone()], "1"),
        (vec![bash("echo 1 > f"), idle.clone(), idle.clone()], "2"),
        (vec![idle.clone(), bash("echo 1 > d/f"), idle], "1"),
    ] {
        let place = Place::new();
        std::fs::create_dir(place.path("work/d")).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        std::fs::File::open(place.path("work/d")).unwrap().set_modified(then).unwrap();
        let turns: Vec<Value> = calls.into_iter().chain([json!({"text": "."})]).collect();
        process(&place, turns.into(), &[]);
        place.run(&["restore", "last", "--to", to]).ends_with(0);
        process(&place, json!([look, {"text": "."}]), &[]);
        assert!(place.logs().contains("\"content\":\"1000000000"), "{}", place.logs());
        nothing_differs(&place);
        place.run(&["redo"]).ends_with(0);
        process(&place, json!([bash("test $(stat -c %Y d) -gt 1000000000"), {"text": "."}]), &[]);
        nothing_differs(&place);
    }
}

#[test]
fn a_session_of_several_processes_is_made_shorter_where_it_was() {
    // With 700 the summary is just not too long, with 720 it is cut.
    for words in [700, 720] {
        let place = Place::new();
        place.config("context_window = 14000\n");
        let text = "blah word ".repeat(words);
        // The later ones are not believed: the conversation has three times as many.
        let turn = json!({"text": text, "usage": {"input": 3000, "output": 1750}});
        for _ in 0..12 {
            process(&place, json!([turn, turn, turn]), &[]);
        }
        assert!(place.logs().matches("\"type\":\"compacted\"").count() > 1);
        nothing_differs(&place);
    }
}

#[test]
fn jobs_of_another_process_are_counted_anew() {
    let place = Place::new();
    let serve = json!({"calls": [{"name": "bash", "arguments":
        {"command": "echo up; sleep 60", "background": true}}]});
    let list = json!({"calls": [{"name": "jobs", "arguments": {"action": "list"}}]});
    for _ in 0..2 {
        process(&place, json!([list, serve, {"text": "Up."}]), &[]);
    }
    assert_eq!(place.logs().matches("job 1 runs in the background").count(), 2 * 2);
    nothing_differs(&place);
}

#[test]
fn what_a_job_changed_that_ended_beside_another_call_of_its_step_is_no_difference() {
    let place = Place::new();
    let job = json!({"command": "sleep 0.6; touch made", "background": true});
    let calls = json!([
        {"name": "bash", "arguments": job},
        {"name": "jobs", "arguments": {"action": "wait"}},
    ]);
    process(&place, json!([{"calls": calls}, {"text": "Made."}]), &[]);
    assert_eq!(place.logs().matches("\"type\":\"call_changed\"").count(), 1);
    nothing_differs(&place);
}

#[test]
fn a_conversation_that_went_back_over_changed_files_is_replayed_to_its_end() {
    let place = Place::new();
    place.write("work/f", "0\n");
    process(&place, json!([bash("echo 1 >> f"), {"text": "Done."}]), &[]);
    let look = || json!([bash("cat f; echo 2 >> f"), {"text": "Seen."}]);
    process(&place, look(), &["--rewind", "1"]);
    process(&place, look(), &[]);
    let went_back = "what these calls changed since is there still";
    assert!(place.logs().contains(went_back), "{}", place.logs());
    let run = place.run(&["replay", "last"]).ends_with(0);
    let whole = "replayed 6 steps and 3 calls: nothing differs from the recording\n";
    assert_eq!((run.out.as_str(), run.error.as_str()), (whole, ""));
}

#[test]
fn edits_that_were_refused_and_rewinds_between_undos_are_replayed() {
    let place = Place::new();
    place.write("work/e", "one\ntwo\n");
    let edit = |path: &str, old: &str| {
        json!({"calls": [{"name": "edit_file",
            "arguments": {"path": path, "old_text": old, "new_text": "zwei"}}]})
    };
    let read = json!({"calls": [{"name": "read_file", "arguments": {"path": "e"}}]});
    let refused = [edit("e", "nine"), edit("/etc/passwd", "root"), edit("../e", "two")];
    let [lost, outside, above] = refused;
    let changed = [bash("echo 3 >> e"), edit("e", "two"), json!({"text": "Refused."})];
    let [append, stale, end] = changed;
    process(&place, json!([read, lost, outside, above, append, stale, end]), &[]);
    assert!(place.logs().contains("changed on disk since it was last read"), "{}", place.logs());
    let look = || json!([bash("cat e; echo 4 >> e"), {"text": "Seen."}]);
    process(&place, look(), &[]);
    process(&place, look(), &["--rewind", "1"]);
    place.run(&["undo"]).ends_with(0);
    process(&place, json!([bash("cat e"), {"text": "Seen."}]), &["--rewind", "2"]);
    place.run(&["redo"]).ends_with(0);
    process(&place, look(), &[]);
    nothing_differs(&place);
}

#[test]
fn a_session_with_images_that_went_on_is_replayed_also_without_their_files() {
    let place = Place::new();
    crate::images::png(&place.path("work/a.png"));
    process(&place, json!([bash("ls"), {"text": "Seen."}]), &["--image", "a.png"]);
    process(&place, json!([{"text": "More."}]), &[]);
    process(&place, json!([{"text": "Forked."}]), &["--fork"]);
    assert!(place.logs().contains("image/png"));
    nothing_differs(&place);
    place.run(&["replay", "last", "--with-tools-from", "last"]).ends_with(0);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let other = Place::new();
    std::fs::rename(place.path("work/out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    other.run(&["replay", "in.tar.gz"]).ends_with(0);
    other.run(&["replay", "in.tar.gz", "--with-tools-from", "in.tar.gz"]).ends_with(0);
}

/// Makes a repository with a commit, whose index knows the times of its files.
fn repository(place: &Place) {
    let prepare = "printf '[user]\\n name = n\\n email = a@b\\n' > ../home/.gitconfig; git init -q; \
                   echo 1 > f; echo 2 > g; touch -d 2020-01-01 f g; git add .; git commit -qm one; git status";
    let output = place.program("sh", &["-ec", prepare]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn what_git_keeps_of_the_times_of_files_is_no_difference() {
    let place = Place::new();
    repository(&place);
    let dates =
        "export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z";
    process(
        &place,
        json!([
            bash("git status --short; git diff"),
            bash("echo 3 >> f; git status --short"),
            bash("git add f; git status --short"),
            bash(&format!("{dates}; git commit -qm two; git log --oneline")),
            bash(&format!("{dates}; git reset -q --hard HEAD~; git status --short; git checkout -q -b b")),
            {"text": "Done."},
        ]),
        &[],
    );
    nothing_differs(&place);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let other = Place::new();
    std::fs::rename(place.path("home/.gitconfig"), other.path("home/.gitconfig")).unwrap();
    std::fs::rename(place.path("work/out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    let run = other.run(&["replay", "in.tar.gz"]).ends_with(0);
    assert!(run.out.contains("nothing differs"), "{run:?}");
}

#[test]
fn what_is_staged_otherwise_is_a_difference() {
    let place = Place::new();
    repository(&place);
    process(&place, json!([bash("echo 3 > f; git add f"), {"text": "Done."}]), &[]);
    let log = files_beneath(&place.path("home/.local/state/tenon/sessions"))
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .unwrap();
    let mut text = std::fs::read_to_string(&log).unwrap();
    let at = text.find("\"index_hash\":\"").unwrap() + 14;
    text.replace_range(at..at + 4, "beef");
    std::fs::write(&log, text).unwrap();
    let run = place.run(&["replay", "last"]).ends_with(1);
    for line in ["-edited .git/index says sha256:beef", "+edited .git/index says sha256:"] {
        assert!(run.out.contains(line), "{run:?}");
    }
}

#[test]
fn a_folder_that_only_some_processes_had_is_in_the_copy() {
    let place = Place::new();
    place.write("extra/a", "one\n");
    place.write("work/b", "two\n");
    let extra = place.path("extra");
    let extra = extra.to_str().unwrap();
    let change = format!("cat {extra}/a; echo more >> {extra}/a; mkdir {extra}/new; cat b");
    let read =
        json!({"calls": [{"name": "read_file", "arguments": {"path": format!("{extra}/a")}}]});
    let look = json!([bash(&change), read, {"text": "Seen."}]);
    process(&place, look, &["--add-dir", extra]);
    nothing_differs(&place);
    process(&place, json!([bash("echo three > b"), {"text": "Done."}]), &[]);
    nothing_differs(&place);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let other = Place::new();
    std::fs::rename(place.path("work/out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    let run = other.run(&["replay", "in.tar.gz"]).ends_with(0);
    assert!(run.out.contains("nothing differs") && run.error.is_empty(), "{run:?}");
}

#[test]
fn times_of_a_large_file_that_a_call_wrote_are_no_difference_also_in_an_older_log() {
    let place = Place::new();
    let large = "zine\n".to_owned() + &"line\n".repeat(700_000);
    place.write("work/large", &large);
    let read = |path: &str| {
        let arguments = json!({"path": path, "limit": 1});
        json!({"calls": [{"name": "read_file", "arguments": arguments}]})
    };
    let edit = |old: &str, new: &str| {
        let arguments = json!({"path": "large", "old_text": old, "new_text": new});
        json!({"calls": [{"name": "edit_file", "arguments": arguments}]})
    };
    let end = json!({"text": "Done."});
    let turns = json!([bash("seq 500000 > made"), read("made"), edit("zine", "one"), end]);
    process(&place, turns, &[]);
    process(&place, json!([edit("one", "three"), end]), &[]);
    nothing_differs(&place);
    let log = files_beneath(&place.path("home/.local/state/tenon/sessions")).remove(0);
    let text = std::fs::read_to_string(&log).unwrap();
    let bytes = large.len();
    let lengths = [
        ",\"bytes\":{\"made\":3388895}".to_owned(),
        format!(",\"bytes\":{{\"large\":{}}}", bytes - 1),
        format!(",\"bytes\":{{\"large\":{}}}", bytes + 1),
    ];
    let older = lengths.iter().fold(text.clone(), |text, length| {
        assert!(text.contains(length), "{length}: {text}");
        text.replace(length, "")
    });
    std::fs::write(&log, older).unwrap();
    nothing_differs(&place);
    // Another length is a difference.
    std::fs::write(&log, text.replace("{\"made\":3388895}", "{\"made\":3388894}")).unwrap();
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(run.out.contains("-made 3388894 bytes\n+made 3388895 bytes"), "{run:?}");
}

#[test]
fn another_process_knows_earlier_edits_and_not_what_commands_left_in_private_folders() {
    let edit = |old: &str, new: &str| {
        let arguments = json!({"path": "f", "old_text": old, "new_text": new});
        json!({"calls": [{"name": "edit_file", "arguments": arguments}]})
    };
    let end = json!({"text": "Done."});
    let leave = bash("echo 1 > ${TMPDIR:-/tmp}/left; echo 2 > ~/.left");
    let look = bash("cat ${TMPDIR:-/tmp}/left ~/.left 2> /dev/null; echo seen");
    for walls in ["auto", "c"] {
        let place = Place::new();
        place.config(&format!("sandbox = \"{walls}\"\n"));
        place.write("work/f", "first\none\n");
        process(&place, json!([edit("one", "two"), leave, look, end]), &[]);
        process(&place, json!([edit("one", "three"), look, end]), &[]);
        let logs = place.logs();
        let told = "Your edit at line 2 earlier in this session replaced it.";
        assert_eq!(
            logs.matches(&format!("\"content\":\"Error: Text not found in f. {told}")).count(),
            1,
            "{logs}"
        );
        assert!(logs.contains("\"content\":\"1\\n2\\nseen"), "{logs}");
        assert!(logs.contains("\"content\":\"seen"), "{logs}");
        nothing_differs(&place);
    }
}

#[test]
fn earlier_edits_are_known_after_a_kill_and_in_a_fork_and_not_without_undo() {
    let edit = |old: &str, new: &str| {
        let arguments = json!({"path": "f", "old_text": old, "new_text": new});
        json!({"calls": [{"name": "edit_file", "arguments": arguments}]})
    };
    let (end, told) = (json!({"text": "Done."}), "Your edit at line 1 earlier");
    for (flags, undo) in [(&[][..], "true"), (&["--fork"], "true"), (&[], "false")] {
        let place = Place::new();
        place.config(&format!("undo = {undo}\n"));
        place.write("work/f", "eins\n");
        let sleep = bash("touch started; sleep 60");
        let script = place.script(json!([edit("eins", "zwei"), edit("zwei", "drei"), sleep]));
        place.run_and_kill(&["-p", "--model", &script, "--allow", "bash", "go"], "work/started");
        let again = json!([edit("zwei", "x"), edit("eins", "y"), edit("vier", "z"), end]);
        process(&place, again, flags);
        let count = if undo == "true" { 2 } else { 0 };
        let told = format!("\"content\":\"Error: Text not found in f. {told}");
        assert_eq!(place.logs().matches(&told).count(), count, "{flags:?} {}", place.logs());
        // Without undo the files are not as they were.
        if undo == "true" {
            place.run(&["replay", "last"]).ends_with(0);
        }
    }
}

#[test]
fn a_session_is_meant_by_its_name_whatever_a_command_called_a_file() {
    let place = Place::new();
    let run = |command: &str| {
        let script = place.script(json!([bash(command), {"text": "Done."}]));
        place.run(&["-p", "--allow", "bash", "--model", &script, "go"]).ends_with(0);
    };
    run("echo one");
    place.run(&["export", "last", "--bundle", "../other.tgz"]).ends_with(0);
    let other = place.path("work/first");
    std::fs::copy(place.path("other.tgz"), &other).unwrap();
    let report = |name: &str| -> Value {
        let run = place.run(&["replay", name, "--json"]).ends_with(0);
        serde_json::from_str(&run.out).unwrap()
    };
    let id = |name: &str| report(name)["session"].as_str().unwrap().to_owned();
    let taken = id("first");
    let notes = report("first")["notes"].to_string();
    assert!(notes.contains("no session is called first: the file of that name is taken"));
    run("cp first last");
    let newest = id("last");
    assert_ne!(newest, taken);
    std::fs::copy(&other, place.path("work").join(&newest)).unwrap();
    assert_eq!((id(&newest), id("./last")), (newest, taken));
}

#[test]
fn a_pipe_that_a_command_made_is_no_bundle_and_nobody_waits_for_it() {
    let place = Place::new();
    let script = place.script(json!([bash("mkfifo last pipe log.jsonl b.tgz"), {"text": "Done."}]));
    place.run(&["-p", "--allow", "bash", "--model", &script, "go"]).ends_with(0);
    for name in ["pipe", "log.jsonl", "b.tgz"] {
        for args in [&["replay", name][..], &["replay", "last", "--with-tools-from", name]] {
            place.run(args).ends_with(2).says(&["it is not a regular file"]);
        }
    }
    for to in ["-o", "--bundle"] {
        place.run(&["export", "last", to, "pipe"]).ends_with(1).says(&["it is not a regular file"]);
    }
    place.run(&["replay", "last", "--with-tools-from", "last"]).ends_with(0);
}
