//! A session works in one folder: who goes on with it in another does so in a new session, and what calls
//! changed is undone where they ran and nowhere else.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    undo::bash,
};

/// A place with a second folder to work in.
fn place() -> Place {
    let place = Place::new();
    place.write("work/a", "one\n");
    place.write("other/b", "b\n");
    place
}

/// Runs a turn of these calls with further arguments in the folder `cwd`.
fn turn(place: &Place, cwd: &str, calls: &[Value], arguments: &[&str]) -> Run {
    let turns = calls.iter().cloned().chain([json!({"text": "Done."})]).collect();
    let model = place.script(turns);
    let flags = ["--print", "--output-format", "stream-json", "--model", &model];
    run_in(place, cwd, &[&flags, arguments, &["go"]].concat())
}

fn run_in(place: &Place, cwd: &str, arguments: &[&str]) -> Run {
    let mut tenon = place.tenon(arguments);
    Run::of(tenon.current_dir(place.path(cwd)).output().unwrap())
}

fn path(place: &Place, folder: &str) -> String {
    place.path(folder).canonicalize().unwrap().display().to_string()
}

fn read(place: &Place, file: &str) -> String {
    fs::read_to_string(place.path(file)).unwrap()
}

/// The ids of all sessions, the oldest first.
fn ids(place: &Place) -> Vec<String> {
    let folder = fs::read_dir(place.path("home/.local/state/tenon/sessions")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let logs = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let mut ids: Vec<(String, std::time::SystemTime)> = logs
        .map(|log| {
            let id = log.file_stem().unwrap().to_str().unwrap().to_owned();
            (id, log.metadata().unwrap().created().unwrap())
        })
        .collect();
    ids.sort_by_key(|(_, created)| *created);
    ids.into_iter().map(|(id, _)| id).collect()
}

fn log(place: &Place, id: &str) -> String {
    read(place, &format!("home/.local/state/tenon/sessions/{id}.jsonl"))
}

/// How many checkpoints are kept, of all folders.
fn checkpoints(place: &Place) -> usize {
    let folders = fs::read_dir(place.path("home/.local/state/tenon/undo")).unwrap();
    let ends = folders.map(|folder| folder.unwrap().path().join("ends"));
    ends.filter(|ends| ends.is_dir()).map(|ends| fs::read_dir(ends).unwrap().count()).sum()
}

#[test]
fn who_goes_on_in_another_folder_does_so_in_a_new_session() {
    let place = place();
    turn(&place, "work", &[bash("echo x >> a; cat a")], &["--name", "mine"]).ends_with(0);
    let (work, other) = (path(&place, "work"), path(&place, "other"));
    let old = ids(&place).remove(0);
    let before = log(&place, &old);
    let moved = turn(&place, "work", &[bash("echo y >> b")], &["-r", "mine", "--cwd", &other]);
    let [_, new] = &*ids(&place) else { panic!("{moved:?}") };
    let said = format!("session {old} works in {work}; this is a new session, {new}, in {other}");
    assert!(moved.ends_with(0).out.contains(&said), "{said}");
    assert_eq!(log(&place, &old), before, "it stays as it is");
    let prompts = log(&place, new);
    let mut prompts = prompts.lines().filter(|line| line.contains("\"type\":\"user_message\""));
    assert!(prompts.next_back().unwrap().contains(&said), "the model is told");
    // Each goes on, lists and undoes where it works.
    for (folder, id, file, first) in [("work", &old, "a", "one\n"), ("other", new, "b", "b\n")] {
        let changes = run_in(&place, folder, &["changes"]).ends_with(0).out;
        assert!(changes.contains(id) && changes.contains(&format!("edited   {file}")), "{changes}");
        let undone = run_in(&place, folder, &["undo", "9"]).ends_with(0).out;
        assert!(undone.contains("Only 1 call"), "{undone}");
        assert_eq!(read(&place, &format!("{folder}/{file}")), first);
        run_in(&place, folder, &["redo"]).ends_with(0);
        turn(&place, folder, &[], &["-c"]).ends_with(0);
        assert_eq!(ids(&place).len(), 2, "{folder}");
        run_in(&place, folder, &["restore", id, "--to", "1"]).ends_with(0);
        assert_eq!(read(&place, &format!("{folder}/{file}")), first);
    }
    assert_eq!((&*read(&place, "work/a"), &*read(&place, "other/b")), ("one\n", "b\n"));
}

#[test]
fn its_own_folder_named_is_no_other_one_and_a_fork_or_a_rewind_may_go_elsewhere() {
    let place = place();
    turn(&place, "work", &[bash("echo x >> a")], &["--name", "mine"]).ends_with(0);
    let (work, other) = (path(&place, "work"), path(&place, "other"));
    turn(&place, "other", &[], &["-r", "mine", "--cwd", &work]).ends_with(0);
    turn(&place, "other", &[], &["-c", "--cwd", "../work"]).ends_with(0);
    assert_eq!(ids(&place).len(), 1);
    turn(&place, "work", &[], &["-c", "--cwd", &other]).ends_with(2).says(&["no session in"]);
    for (count, flag) in [(2, &["--fork"][..]), (3, &["--rewind", "1"])] {
        let arguments = [&["-r", "mine", "--cwd", &*other], flag].concat();
        let run = turn(&place, "work", &[], &arguments).ends_with(0);
        assert!(run.out.contains("works in") && ids(&place).len() == count, "{run:?}");
        let fork = turn(&place, "other", &[bash("echo y >> b")], &["-c", "--fork"]).ends_with(0);
        assert!(!fork.out.contains("works in"), "{fork:?}");
        run_in(&place, "other", &["undo"]).ends_with(0);
        run_in(&place, "other", &["sessions", "delete", &ids(&place)[count]]).ends_with(0);
    }
    assert_eq!(read(&place, "other/b"), "b\n");
}

#[test]
fn what_is_asked_of_a_session_in_a_folder_that_is_not_its_own_names_that() {
    let place = place();
    turn(&place, "work", &[bash("echo x >> a")], &[]).ends_with(0);
    turn(&place, "other", &[bash("echo y >> b")], &[]).ends_with(0);
    let (id, work) = (ids(&place).remove(0), path(&place, "work"));
    let refused = |cwd: &str, arguments: &[&str]| {
        let run = run_in(&place, cwd, arguments).ends_with(2);
        let said = format!("the session {id} works in {work}");
        run.says(&[&said, &format!("--cwd {work}")]);
    };
    let other = path(&place, "other");
    fs::create_dir(place.path("work/deep")).unwrap();
    for arguments in [
        &["undo", "--session", &*id][..],
        &["redo", "--session", &id],
        &["changes", &id],
        &["restore", &id, "--to", "1"],
    ] {
        refused("other", arguments);
        let (first, rest) = arguments.split_first().unwrap();
        let here = [&["--cwd", &*other, *first], rest].concat();
        refused("work", &here);
        refused("other", &[&here[..2], &[*first], rest].concat());
    }
    run_in(&place, "work/deep", &["changes", &id]).ends_with(0);
    run_in(&place, "other", &["--cwd", &work, "undo", "--session", &id]).ends_with(0);
    assert_eq!((&*read(&place, "work/a"), &*read(&place, "other/b")), ("one\n", "b\ny\n"));
}

#[test]
fn a_file_by_the_same_name_in_the_other_folder_was_not_seen() {
    let place = place();
    place.write("other/a", "one\n");
    let read_a = json!({"calls": [{"name": "read_file", "arguments": {"path": "a"}}]});
    let write =
        json!({"calls": [{"name": "write_file", "arguments": {"path": "a", "content": "new\n"}}]});
    turn(&place, "work", &[read_a], &[]).ends_with(0);
    let other = path(&place, "other");
    turn(&place, "work", std::slice::from_ref(&write), &["-r", "last", "--cwd", &other])
        .ends_with(0);
    assert_eq!(read(&place, "other/a"), "one\n", "it must be read first");
    // Nor once that session goes on.
    turn(&place, "other", &[write], &["-c"]).ends_with(0);
    assert_eq!(read(&place, "other/a"), "one\n");
}

#[test]
fn a_session_whose_folder_was_renamed_goes_on_in_a_new_one_and_is_removed_whole() {
    let place = place();
    turn(&place, "work", &[bash("echo x >> a")], &[]).ends_with(0);
    let work = path(&place, "work");
    fs::rename(place.path("work"), place.path("renamed")).unwrap();
    let renamed = path(&place, "renamed");
    let old = ids(&place).remove(0);
    let run = run_in(&place, "renamed", &["undo", "--session", &old]).ends_with(2);
    run.says(&[&format!("works in {work}"), "not there any more"]);
    let resumed = turn(&place, "renamed", &[], &["-r", "last"]).ends_with(2);
    let resumed =
        resumed.says(&[&format!("works in {work}"), "not there any more", "goes on here"]);
    assert!(!resumed.error.contains("tenon --cwd"), "{resumed:?}");
    turn(&place, "renamed", &[bash("echo y >> a")], &["-r", "last", "--cwd", "."]).ends_with(0);
    assert_eq!(ids(&place).len(), 2);
    let changes = run_in(&place, "renamed", &["changes"]).ends_with(0).out;
    assert!(changes.contains(&renamed) && changes.contains("echo y"), "{changes}");
    assert_eq!(checkpoints(&place), 2);
    run_in(&place, "renamed", &["sessions", "delete", &old]).ends_with(0);
    assert_eq!(checkpoints(&place), 1);
    run_in(&place, "renamed", &["undo"]).ends_with(0);
    assert_eq!(read(&place, "renamed/a"), "one\nx\n");
}

#[test]
fn what_a_session_did_in_its_second_folder_is_replayed_from_what_it_was_told_in_the_first() {
    let place = place();
    turn(&place, "work", &[bash("echo x >> a; cat a"), bash("ls")], &[]).ends_with(0);
    let other = path(&place, "other");
    let more = [bash("echo y >> b; cat b; ls"), bash("echo z > c; cat c")];
    turn(&place, "work", &more, &["-r", "last", "--cwd", &other]).ends_with(0);
    turn(&place, "other", &[bash("cat b c")], &["-c"]).ends_with(0);
    let note = "steps 1 to 3 were made in another folder and are not run again";
    let run = run_in(&place, "other", &["replay", "last"]).ends_with(0);
    assert!(run.out.contains("replayed 5 steps and 3 calls: nothing differs"), "{run:?}");
    assert!(run.error.contains(note), "{run:?}");
    for (until, said) in [("4", "replayed 1 step and 1 call: "), ("2", "replayed 0 steps ")] {
        let run = run_in(&place, "other", &["replay", "last", "--until", until]).ends_with(0);
        assert!(run.out.contains(said) && run.error.contains(note), "{run:?}");
    }
    let bundle = path(&place, "home") + "/fork.tar.gz";
    run_in(&place, "other", &["export", "last", "--bundle", &bundle]).ends_with(0);
    fs::remove_dir_all(place.path("work")).unwrap();
    let run = run_in(&place, "other", &["replay", &bundle]).ends_with(0);
    assert!(run.out.contains("replayed 5 steps and 3 calls: nothing differs"), "{run:?}");
}

/// Makes of a session in `work` and one that went on with it in `other` one log, as older versions of tenon
/// wrote it where a session moved; its checkpoints are those of both.
fn moved_by_an_older_version(place: &Place) -> String {
    turn(place, "work", &[bash("echo x >> a"), bash("echo x2 >> a")], &["--name", "mv"])
        .ends_with(0);
    let other = path(place, "other");
    turn(place, "work", &[bash("echo y >> b")], &["-r", "mv", "--cwd", &other]).ends_with(0);
    let [old, new] = &*ids(place) else { panic!() };
    let (first, rest) = (log(place, old), log(place, new));
    let behind: Vec<&str> = rest.lines().skip(first.lines().count()).collect();
    let whole = format!("{first}{}\n", behind.join("\n"));
    let sessions = place.path("home/.local/state/tenon/sessions");
    let of = |id: &str| format!("\"session\":\"{id}\"");
    fs::write(sessions.join(format!("{new}.jsonl")), whole.replace(&of(old), &of(new))).unwrap();
    rename_in_checkpoints(&place.path("home/.local/state/tenon/undo"), old, new);
    fs::remove_file(sessions.join(format!("{old}.jsonl"))).unwrap();
    new.clone()
}

fn rename_in_checkpoints(undo: &Path, old: &str, new: &str) {
    for folder in fs::read_dir(undo).unwrap() {
        for log in fs::read_dir(folder.unwrap().path()).unwrap() {
            let log = log.unwrap().path();
            let Ok(bytes) = fs::read(&log) else { continue };
            let Some(at) = bytes.windows(old.len()).position(|part| part == old.as_bytes()) else {
                continue;
            };
            assert_eq!(old.len(), new.len());
            let mut bytes = bytes;
            bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
            fs::write(&log, bytes).unwrap();
        }
    }
}

#[test]
fn of_a_session_that_an_older_version_moved_each_folder_has_its_own_calls() {
    let place = place();
    let id = moved_by_an_older_version(&place);
    let check = |folder: &str, file: &str, steps: &[&str], first: &str| {
        for arguments in [&["changes"][..], &["changes", &id]] {
            let changes = run_in(&place, folder, arguments).ends_with(0).out;
            assert!(changes.contains(&path(&place, folder)), "{changes}");
            let of_steps = changes.lines().filter(|line| line.contains("step "));
            assert_eq!(of_steps.count(), steps.len(), "{changes}");
            assert!(steps.iter().all(|step| changes.contains(step)), "{changes}");
        }
        run_in(&place, folder, &["restore", &id, "--to", "1"]).ends_with(0);
        assert_eq!(read(&place, &format!("{folder}/{file}")), first);
        run_in(&place, folder, &["redo"]).ends_with(0);
        run_in(&place, folder, &["undo", "9", "--session", &id]).ends_with(0);
        assert_eq!(read(&place, &format!("{folder}/{file}")), first);
    };
    check("work", "a", &["step 1 ", "step 2 "], "one\n");
    check("other", "b", &["step 4 "], "b\n");
    // It goes on where it worked last.
    turn(&place, "work", &[], &["-c"]).ends_with(2);
    turn(&place, "work", &[], &["-r", &id]).ends_with(2).says(&["works in"]);
    turn(&place, "other", &[], &["-r", &id]).ends_with(0);
    assert_eq!(ids(&place).len(), 1);
    run_in(&place, "other", &["replay", &id]).ends_with(0);
    run_in(&place, "home", &["sessions", "delete", &id]).ends_with(0);
    assert_eq!(checkpoints(&place), 0);
}

#[test]
fn of_an_undo_in_the_other_folder_the_model_is_told_the_calls_of_that_folder() {
    let place = place();
    turn(&place, "work", &[bash("echo x >> a")], &["--name", "mine"]).ends_with(0);
    let calls = [bash("echo two >> b"), bash("echo three >> b")];
    let other = path(&place, "other");
    turn(&place, "work", &calls, &["-r", "mine", "--cwd", &other]).ends_with(0);
    run_in(&place, "other", &["undo", "2"]).ends_with(0);
    assert_eq!(read(&place, "other/b"), "b\n");
    turn(&place, "other", &[], &["-c"]).ends_with(0);
    let log = log(&place, ids(&place).last().unwrap());
    let told = log.lines().rfind(|line| line.contains("[undo]")).unwrap();
    assert!(told.contains("echo three") && told.contains("echo two"), "{told}");
    assert!(!told.contains("echo x"), "{told}");
}

#[test]
fn a_folder_is_not_added_through_a_link_that_a_session_may_have_made() {
    let place = place();
    place.write("keys/id", "secret\n");
    symlink("../keys", place.path("other/mine")).unwrap();
    // File systems may be a tick behind the clock.
    std::thread::sleep(Duration::from_millis(50));
    turn(&place, "other", &[bash("ln -s ../keys lib; mkdir sub; ln -s ../lib sub/deep")], &[])
        .ends_with(0);
    let read = json!({"name": "read_file", "arguments": {"path": path(&place, "keys") + "/id"}});
    let read = json!({"calls": [read]});
    for named in ["../other/lib", "../other/sub/deep"] {
        let run = turn(&place, "work", std::slice::from_ref(&read), &["--add-dir", named]);
        run.ends_with(2)
            .says(&["leads through the symbolic link", "name the folder that it leads to"]);
    }
    let run = turn(&place, "work", std::slice::from_ref(&read), &["--cwd", "../other/lib"]);
    run.ends_with(2).says(&["leads through the symbolic link"]);
    // The person's own link, the folder by its name, and a link that leads nowhere else.
    symlink("sub", place.path("other/within")).unwrap();
    turn(&place, "work", &[], &["--add-dir", "../other/within"]).ends_with(0);
    for named in ["../other/mine", "../keys"] {
        let run = turn(&place, "work", std::slice::from_ref(&read), &["--add-dir", named]);
        assert!(run.ends_with(0).out.contains("secret"), "{named}");
    }
    let config = path(&place, "other") + "/lib";
    place.write("home/.config/tenon/config.toml", &format!("add_dir = ['{config}']\n"));
    turn(&place, "work", &[], &[]).ends_with(2).says(&["leads through the symbolic link"]);
}
