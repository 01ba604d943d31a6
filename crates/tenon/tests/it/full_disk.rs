//! A disk without room: nothing half-written, what was there stays, a plain message.
//!
//! The disk is a small tmpfs in a mount namespace of the test's own, and is looked at from within,
//! since it goes with the namespace.

use serde_json::{Value, json};

use crate::program::{Place, Run, files_beneath};
use crate::skipped::skipped;

/// Makes what is at `$1` a disk of 256 KiB and leaves 16 KiB of it, runs `$2…` and copies what is
/// there then to `$AFTER`.
const SMALL_DISK: &str = "\
set -e
disk=$1; shift
mount -t tmpfs -o size=256k none \"$disk\"
printf 'old\\n' > \"$disk/old\"
head -c 200000 /dev/zero > \"$disk/filling\"
while head -c 4096 /dev/zero >> \"$disk/filling\" 2>&-; do :; done
truncate -s -16384 \"$disk/filling\"
cd \"$WORK\"
status=0; \"$@\" || status=$?
rm \"$disk/filling\"
cp -a \"$disk/.\" \"$AFTER\"
exit $status";

/// Runs the program with a small disk at `disk`; nothing if there can be none here.
fn run_on_small_disk(place: &Place, disk: &str, turns: &Value, flags: &[&str]) -> Option<Run> {
    let model = place.script(turns.clone());
    on_small_disk(place, disk, &[&["--model", &model], flags, &["go"]].concat())
}

fn on_small_disk(place: &Place, disk: &str, arguments: &[&str]) -> Option<Run> {
    let as_root = ["-m"].as_slice();
    let as_user = ["-Urm"].as_slice();
    let flags_of_unshare = if rustix::process::geteuid().is_root() { as_root } else { as_user };
    let probe = [flags_of_unshare, &["sh", "-c", "mount -t tmpfs none /mnt"]].concat();
    let can_mount = place.program("unshare", &probe).output().is_ok_and(|run| run.status.success());
    if !can_mount {
        skipped("no mount namespace can be had here");
        return None;
    }
    let disk = place.path(disk).display().to_string();
    for folder in [place.path("after"), disk.clone().into()] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let program = env!("CARGO_BIN_EXE_tenon");
    let shell = ["sh", "-c", SMALL_DISK, "sh", &disk, program];
    let arguments = [flags_of_unshare, &shell, arguments].concat();
    let mut command = place.program("unshare", &arguments);
    command.env("AFTER", place.path("after")).env("WORK", place.path("work"));
    Some(Run::of(command.output().unwrap()))
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({ "text": "", "calls": [{ "name": name, "arguments": arguments }] })
}

/// Returns the results that the model was sent.
fn results(run: &Run) -> Vec<String> {
    let events = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.path("after")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn file_tools_write_the_whole_or_nothing() {
    let place = Place::new();
    // The undo store lies on the same disk: with it not even a small file is written.
    place.config("undo = false\n");
    let long = "a line of text\n".repeat(4_000);
    let turns = json!([
        call("write_file", &json!({ "path": "new", "content": long })),
        call("read_file", &json!({ "path": "old" })),
        call("write_file", &json!({ "path": "old", "content": long })),
        call("edit_file", &json!({ "path": "old", "old_text": "old", "new_text": long })),
        call("write_file", &json!({ "path": "folder/new", "content": long })),
        call("write_file", &json!({ "path": "small", "content": "fits\n" })),
        { "text": "done" },
    ]);
    let flags = ["--sandbox", "off", "--output-format", "stream-json"];
    let Some(run) = run_on_small_disk(&place, "work", &turns, &flags) else { return };
    assert_eq!(run.status, 0, "{run:?}");
    let results = results(&run);
    for index in [0, 2, 3, 4] {
        assert!(results[index].contains("No space left on device"), "{index}: {results:?}");
    }
    assert_eq!(results[5], "Wrote 5 bytes to small");
    assert_eq!(std::fs::read_to_string(place.path("after/old")).unwrap(), "old\n");
    assert_eq!(std::fs::read_to_string(place.path("after/small")).unwrap(), "fits\n");
    let left = names(&place);
    assert!(left == ["old", "small"] || left == ["folder", "old", "small"], "{left:?}");
}

#[test]
fn a_command_says_what_it_could_not_write() {
    let place = Place::new();
    place.config("undo = false\n");
    let turns = json!([
        call("bash", &json!({ "command": "head -c 100000 /dev/zero > big; seq 100000 > lines; wc -c < old" })),
        call("bash", &json!({ "command": "rm -f big lines; seq 5000; echo fits > small" })),
        { "text": "done" },
    ]);
    let flags = ["--output-format", "stream-json"];
    let Some(run) = run_on_small_disk(&place, "work", &turns, &flags) else { return };
    let results = results(&run);
    assert!(results[0].contains("No space left on device"), "{results:?}");
    assert!(results[1].contains("left out; all of it is in "), "{results:?}");
    assert_eq!(names(&place), ["old", "small"]);
}

#[test]
fn what_cannot_be_saved_for_undo_is_not_changed() {
    let place = Place::new();
    let turns = json!([
        call("bash", &json!({ "command": "head -c 100000 /dev/zero > big" })),
        call("bash", &json!({ "command": "rm old" })),
        { "text": "done" },
    ]);
    let flags = ["--output-format", "stream-json"];
    let Some(run) = run_on_small_disk(&place, "work", &turns, &flags) else { return };
    let results = results(&run);
    assert!(results[0].contains("No space left on device"), "{results:?}");
    let told = "[changes] a change of old was refused: there is no room to save it for undo";
    assert!(results[1].contains(told), "{results:?}");
    assert_eq!(std::fs::read_to_string(place.path("after/old")).unwrap(), "old\n", "{results:?}");
}

#[test]
fn a_log_that_cannot_be_written_ends_the_turn_with_its_reason() {
    let place = Place::new();
    let long = "a line of text\n".repeat(2_000);
    let turns = json!([
        call("bash", &json!({ "command": "echo one" })),
        { "text": long, "calls": [{ "name": "bash", "arguments": { "command": "touch ran" } }] },
        { "text": "done" },
    ]);
    let Some(run) = run_on_small_disk(&place, "home/.local/state", &turns, &[]) else { return };
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.error.contains("No space left on device"), "{}", run.error);
    // What is not in the log did not happen.
    assert!(!place.path("work/ran").exists());
    let folder = place.path("after/tenon/sessions");
    let log = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let log = std::fs::read_to_string(log).unwrap();
    let whole = log.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    // The line for which there was no room may be there in part, and is left out by readers.
    assert!(whole >= 4 && log.lines().count() - whole <= 1, "{log}");
    assert!(log.contains("\"content\":\"one\""), "{log}");
}

#[test]
fn json_ends_with_its_result_where_the_log_cannot_be_written() {
    let place = Place::new();
    let long = "a line of text\n".repeat(2_000);
    let turns = json!([
        { "text": "One.", "usage": { "input": 7, "output": 2 },
          "calls": [{ "name": "bash", "arguments": { "command": "echo one" } }] },
        { "text": long, "calls": [{ "name": "bash", "arguments": { "command": "touch ran" } }] },
        { "text": "done" },
    ]);
    let (disk, flags) = ("home/.local/state", ["--output-format", "json"]);
    let Some(run) = run_on_small_disk(&place, disk, &turns, &flags) else { return };
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.error.contains("No space left on device"), "{}", run.error);
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&object["stop_reason"], &object["steps"]), (&json!("log_failed"), &json!(1)));
    assert_eq!((&object["usage"]["input"], &object["error"]["kind"]), (&json!(7), &json!("log")));
    let id = object["session_id"].as_str().unwrap();
    let hint = object["error"]["hint"].as_str().unwrap();
    assert!(!id.is_empty() && hint.contains(id), "{object}");
    let said = object["error"]["message"].as_str().unwrap();
    assert!(said.contains("No space left on device"), "{object}");

    let flags = ["--output-format", "stream-json"];
    let Some(run) = run_on_small_disk(&place, disk, &turns, &flags) else { return };
    assert_eq!(run.status, 1, "{run:?}");
    let last: Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["reason"]), (&json!("turn_ended"), &json!("log_failed")));
}

#[test]
fn a_disk_that_fails_in_mid_turn_ends_the_turn_and_the_session_goes_on_later() {
    if !std::path::Path::new("/usr/bin/strace").exists() {
        return skipped("there is no strace");
    }
    let place = Place::new();
    let begin = place.script(json!([{ "text": "Hi." }]));
    place.run(&["-p", "--model", &begin, "begin"]).ends_with(0);
    let folder = place.path("home/.local/state/tenon/sessions");
    let is_log = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let log = files_beneath(&folder).into_iter().find(is_log).unwrap();
    let script = place.script(json!([
        call("bash", &json!({ "command": "echo one" })),
        call("bash", &json!({ "command": "touch ran" })),
        { "text": "done" },
    ]));
    // What is said and asked for is in the log; what came of the first call is not.
    let fails = ["-P", log.to_str().unwrap(), "-e", "inject=write:error=EIO:when=6+"];
    let strace = [&["-f", "-qq", "-o", "/dev/null", "-e", "trace=write"], &fails[..]].concat();
    let arguments = ["-c", "-p", "--sandbox", "off", "--output-format", "json", "--model", &script];
    let run =
        place.tenon_by("strace", &strace, &[&arguments[..], &["go"]].concat()).output().unwrap();
    let run = Run::of(run).ends_with(1);
    assert!(run.error.contains("Input/output error"), "{run:?}");
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(object["stop_reason"], "log_failed", "{object}");
    assert!(!place.path("work/ran").exists());
    let on = place.script(json!([{ "text": "Room again." }]));
    let run = place.run(&["-c", "-p", "--model", &on, "go on"]).ends_with(0);
    assert_eq!(run.out, "Room again.\n");
    let whole = std::fs::read_to_string(&log).unwrap();
    assert!(whole.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{whole}");
}

/// While a call runs nothing more is written, so a sync of the log that comes then comes by itself.
#[test]
fn what_is_in_the_log_is_brought_to_the_disk_while_a_call_still_runs() {
    if !std::path::Path::new("/usr/bin/strace").exists() {
        return skipped("there is no strace");
    }
    let place = Place::new();
    let begin = place.script(json!([{ "text": "Hi." }]));
    place.run(&["-p", "--model", &begin, "begin"]).ends_with(0);
    let folder = place.path("home/.local/state/tenon/sessions");
    let is_log = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let log = files_beneath(&folder).into_iter().find(is_log).unwrap();
    let script = place.script(json!([
        call("bash", &json!({ "command": "read line < gate; echo $line" })),
        { "text": "done" },
    ]));
    assert!(place.program("mkfifo", &["gate"]).status().unwrap().success());
    let trace = place.path("trace");
    let (log_name, trace_name) = (log.to_str().unwrap(), trace.to_str().unwrap());
    let filter = ["-P", log_name, "-e", "trace=write,fdatasync"];
    let strace = [&["-f", "-qq", "-s", "100000", "-o", trace_name], &filter[..]].concat();
    let arguments = ["-c", "-p", "--sandbox", "off", "--model", &script, "go"];
    let mut running = place.tenon_by("strace", &strace, &arguments).spawn().unwrap();
    let traced = || std::fs::read_to_string(&trace).unwrap_or_default();
    let is_synced = |traced: &str| {
        let call = traced.rfind("read line < gate");
        call.is_some_and(|call| traced[call..].contains("fdatasync("))
    };
    while !is_synced(&traced()) {
        assert!(running.try_wait().unwrap().is_none(), "ended without a sync: {}", traced());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::fs::write(place.path("work/gate"), "opened\n").unwrap();
    assert!(running.wait().unwrap().success());
    let traced = traced();
    let last = |what| traced.rfind(what).unwrap();
    assert!(last("fdatasync(") > last("write("), "the last is synced, too: {traced}");
}

#[test]
fn json_ends_with_its_result_where_no_session_can_begin() {
    let place = Place::new();
    let model = place.script(json!([{ "text": "never" }]));
    // In the folder's place is a file, which fails for root as well.
    let state = place.write("home/.local/state/tenon/sessions", "");
    let run = place.run(&["--model", &model, "--output-format", "json", "go"]).ends_with(1);
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&object["stop_reason"], &object["session_id"]), (&json!("log_failed"), &json!("")));
    let run = place.run(&["--model", &model, "--output-format", "stream-json", "go"]).ends_with(1);
    let last: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(last["reason"], "log_failed");
    assert_eq!(place.run(&["-p", "--model", &model, "go"]).ends_with(1).out, "");
    assert!(state.exists());
}

#[test]
fn a_fork_that_there_is_no_room_for_leaves_nothing_and_json_says_so() {
    let place = Place::new();
    let model = place.script(json!([{ "text": "a word ".repeat(10_000) }]));
    place.run(&["-p", "--model", &model, "go"]).ends_with(0);
    // No file longer than some KiB, which fails like a full disk.
    let bounded = ["-c", "ulimit -f 16; exec \"$@\"", "sh"];
    let tenon = [env!("CARGO_BIN_EXE_tenon"), "--model", &model, "-c", "--fork"];
    let json = ["--output-format", "json", "on"];
    let mut command = place.program("sh", &[&bounded[..], &tenon, &json].concat());
    let run = Run::of(command.output().unwrap()).ends_with(1);
    assert!(run.error.starts_with("error: the session cannot be kept: "), "{}", run.error);
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&object["stop_reason"], &object["session_id"]), (&json!("log_failed"), &json!("")));
    assert_eq!(place.run(&["sessions"]).out.lines().count(), 1);
}

/// Goes on with the last session of a state folder that can only be read.
const ON_READ_ONLY_DISK: &str = "\
mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && echo mounted
shift; exec \"$@\"";

#[test]
fn a_session_that_can_only_be_read_is_not_gone_on_with_and_json_says_so() {
    let place = Place::new();
    let model = place.script(json!([{ "text": "Hello." }]));
    place.run(&["-p", "--model", &model, "go"]).ends_with(0);
    let state = place.path("home/.local/state/tenon").display().to_string();
    let namespace = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let tenon = [env!("CARGO_BIN_EXE_tenon"), "-c", "--output-format", "json", "on"];
    let arguments =
        [&[namespace, "sh", "-c", ON_READ_ONLY_DISK, "sh", &state], &tenon[..]].concat();
    let run = Run::of(place.program("unshare", &arguments).output().unwrap());
    let Some(out) = run.out.strip_prefix("mounted\n") else {
        return skipped(format_args!("no mount namespace can be had here: {run:?}"));
    };
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.error.starts_with("error: the session cannot be kept: "), "{}", run.error);
    let object: Value = serde_json::from_str(out).unwrap();
    assert_eq!(object["stop_reason"], "log_failed");
}

#[test]
fn a_long_result_without_room_for_the_whole_says_so() {
    let place = Place::new();
    let turns = json!([
        call("bash", &json!({ "command": "seq 20000" })),
        call("bash", &json!({ "command": "echo again" })),
        { "text": "done" },
    ]);
    let flags = ["--output-format", "stream-json"];
    let disk = "home/.local/state/tenon/results";
    let Some(run) = run_on_small_disk(&place, disk, &turns, &flags) else { return };
    let results = results(&run);
    assert!(results[0].contains("left out; the rest could not be kept"), "{results:?}");
    assert_eq!(results[1], "again");
}

/// Undoes with `$1` on a disk of 8 MiB at `$WORK`, of which so many KiB are free each time, and says
/// how its files are then.
const UNDO_ON_SMALL_DISK: &str = "\
set -e
mount -t tmpfs -o size=8m none \"$WORK\"; cd \"$WORK\"
head -c 200000 /dev/urandom > a; head -c 100000 /dev/urandom > b; mkdir d; echo deep > d/f
look() { find a b d new -type f 2>&- | xargs sha256sum | sha256sum; }
before=$(look)
\"$1\" -p --sandbox off --allow bash --model \"$2\" go > \"$AFTER\"
after=$(look)
for room in 0 64 260 300 350 400 450 500 600 2000; do
    dd if=/dev/zero of=fill bs=4k 2> /dev/null || :
    truncate -s -\"$room\"k fill 2>&- || rm fill
    \"$1\" undo 2 >> \"$AFTER\" 2>&1 && echo undone $room || echo refused $room
    case $(look) in \"$before\") echo before;; \"$after\") echo after;; *) echo half; ls -la;; esac
    rm -f fill
    if test \"$(look)\" = \"$before\"; then \"$1\" redo >> \"$AFTER\" 2>&1; fi
done";

#[test]
fn an_undo_without_room_is_done_as_a_whole_or_not_at_all() {
    let place = Place::new();
    let command = |command: &str| call("bash", &json!({ "command": command }));
    let model = place.script(json!([
        command("head -c 200000 /dev/zero > a; rm -r d"),
        command("echo new > new; head -c 100000 /dev/zero > b; truncate -s 10 a"),
        { "text": "done" },
    ]));
    let program = env!("CARGO_BIN_EXE_tenon");
    let namespace = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let arguments = [namespace, "sh", "-c", UNDO_ON_SMALL_DISK, "sh", program, &model];
    let mut unshare = place.program("unshare", &arguments);
    unshare.env("AFTER", place.path("said")).env("WORK", place.path("work"));
    let run = Run::of(unshare.output().unwrap());
    let said = std::fs::read_to_string(place.path("said")).unwrap_or_default();
    if said.is_empty() {
        return skipped(format_args!("no mount namespace can be had here: {run:?}"));
    }
    assert!(!run.out.contains("half"), "{run:?}\n{said}");
    assert!(run.out.contains("refused 0\nafter\n"), "{run:?}\n{said}");
    assert!(run.out.contains("refused 300\nafter\n"), "{run:?}\n{said}");
    assert!(run.out.ends_with("undone 2000\nbefore\n"), "{run:?}\n{said}");
}

#[test]
fn a_copy_of_the_workspace_that_there_is_no_room_for_is_neither_replayed_nor_bundled() {
    let export = ["export", "last", "--bundle", "out.tar.gz"];
    let replay = ["replay", "last"];
    let own_log = "the replay cannot go on, for its own log cannot be kept";
    for (file, prompt, arguments, said) in [
        (100_000, 1, &replay[..], "f cannot be copied"),
        (100_000, 1, &export, "f cannot be copied"),
        (1, 60_000, &replay, own_log),
    ] {
        let place = Place::new();
        place.write("work/f", &"x".repeat(file));
        let model = place.script(json!([{"text": "Done."}]));
        place.run(&["-p", "--model", &model, &"y".repeat(prompt)]).ends_with(0);
        let Some(run) = on_small_disk(&place, "home/.cache", arguments) else { return };
        let run = run.ends_with(1).says(&[said, "No space left"]);
        assert!(!run.error.contains("--resume"), "{run:?}");
        assert!(!place.path("work/out.tar.gz").exists());
    }
}
