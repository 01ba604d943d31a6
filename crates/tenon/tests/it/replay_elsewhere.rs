//! What is otherwise around a replay, and not by the agent, is no difference, or is said: places that
//! commands do not see, walls of another tier, and events that cannot be read.

use std::{
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    program::{Place, Run, files_beneath},
    program_copy::copy_program,
    skipped::skipped,
};

/// Records a session of these commands.
fn recorded(flags: &[&str], commands: &[&str]) -> Place {
    let place = Place::new();
    record(&place, flags, commands);
    place
}

fn record(place: &Place, flags: &[&str], commands: &[&str]) {
    let call = |command: &&str| json!({"name": "bash", "arguments": {"command": command}});
    let mut turns: Vec<Value> =
        commands.iter().map(|command| json!({"calls": [call(command)]})).collect();
    turns.push(json!({"text": "Done."}));
    let script = place.script(turns.into());
    let arguments = ["-p", "--model", &script, "--allow", "bash"];
    place.run(&[&arguments[..], flags, &["go"]].concat()).ends_with(0);
}

fn log_of(place: &Place) -> PathBuf {
    let mut logs = files_beneath(&place.path("home/.local/state/tenon/sessions")).into_iter();
    logs.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap()
}

#[test]
fn what_is_said_of_hidden_places_is_no_difference_wherever_the_copy_lies() {
    let looked = [
        "cat ../nothing",
        "cat ~/nothing 2> /dev/null",
        "ls ~/.ssh/nothing 2> /dev/null",
        "cat /mnt/nothing",
        "cat ../../nothing; true",
    ];
    let place = recorded(&[], &looked);
    let expected = "replayed 6 steps and 5 calls: nothing differs from the recording\n";
    assert_eq!(place.run(&["replay", "last"]).ends_with(0).out, expected);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let other = Place::new();
    std::fs::rename(place.path("work/out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    assert_eq!(other.run(&["replay", "in.tar.gz"]).ends_with(0).out, expected);
}

#[test]
fn a_bundle_has_long_paths_of_a_second_folder() {
    let place = Place::new();
    let (deep, name) =
        (format!("other/{}file", format!("{}/", "d".repeat(60)).repeat(5)), "n".repeat(200));
    place.write(&deep, "deep\n");
    place.write(&format!("other/{name}"), "name\n");
    symlink(&name, place.path("other/link")).unwrap();
    let other = place.path("other").display().to_string();
    let [deep, link] =
        [place.path(&deep), place.path("other/link")].map(|it| it.display().to_string());
    record(&place, &["--add-dir", &other], &[&format!("cat {deep} {link}; echo more >> {deep}")]);
    let expected = "replayed 2 steps and 1 call: nothing differs from the recording\n";
    assert_eq!(place.run(&["replay", "last"]).ends_with(0).out, expected);
    let exported = place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    assert!(!exported.error.contains("left out"), "{exported:?}");
    let elsewhere = Place::new();
    std::fs::rename(place.path("work/out.tar.gz"), elsewhere.path("work/in.tar.gz")).unwrap();
    assert_eq!(elsewhere.run(&["replay", "in.tar.gz"]).ends_with(0).out, expected);
}

#[test]
fn a_bundle_is_replayed_by_another_user() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root starts programs as another user");
    }
    let calls = ["echo two >> a; cat a", "mkdir new; echo n > new/n; rm a; ls -R; stat -c %a new"];
    let place = Place::new();
    place.write("work/a", "one\n");
    record(&place, &[], &calls);
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let other = Place::new();
    std::fs::copy(place.path("work/out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    let copy = other.path("tenon");
    copy_program(env!("CARGO_BIN_EXE_tenon").as_ref(), &copy);
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
    let given = Command::new("chown").args(["-R", "65534:65534"]).arg(other.path("")).status();
    assert!(given.unwrap().success());
    let copy = copy.display().to_string();
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", &copy];
    let arguments = [&user[..], &["replay", "in.tar.gz"]].concat();
    let run = Run::of(other.program("setpriv", &arguments).output().unwrap()).ends_with(0);
    assert_eq!(run.out, "replayed 3 steps and 2 calls: nothing differs from the recording\n");
}

#[test]
fn what_a_program_prints_of_hidden_places_is_compared() {
    let place = Place::new();
    let said = |what: &str| format!("[walls] files: {what} looks as if it were not there\n1\n");
    place.write("work/said", &said("it"));
    record(&place, &[], &["cat said"]);
    place.write("work/said", &said("that"));
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(run.out.contains("-[walls] files: it looks"), "{run:?}");
    assert!(run.out.contains("+[walls] files: that looks"), "{run:?}");
}

#[test]
fn walls_of_another_tier_are_said_once_before_what_differs() {
    let place =
        recorded(&["--sandbox", "off"], &["echo 1", "ls /proc/$PPID | head -n 1; date +%N"]);
    let run = place.run(&["replay", "last"]).ends_with(1);
    let said = "commands ran with --sandbox off when this was recorded, and run with --sandbox ";
    assert_eq!(run.error.matches(said).count(), 1, "{run:?}");
    let json = place.run(&["replay", "last", "--json"]).ends_with(1);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    let notes: Vec<&str> =
        report["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    assert_eq!(notes.iter().filter(|note| note.starts_with(said)).count(), 1, "{json:?}");
    // Where no command runs there are no walls.
    let log = log_of(&place).display().to_string();
    let run = place.run(&["replay", &log, "--with-tools-from", &log]).ends_with(0);
    assert_eq!(run.error, "");
}

const DAMAGED: &str =
    "what comes next is otherwise, and a part before it cannot be read in the log";

#[test]
fn a_log_that_does_not_have_what_a_call_changed_any_more_ends_the_replay_early() {
    let place = recorded(&[], &["echo 1", "echo 2 > made", "echo 3 > made"]);
    let log = std::fs::read_to_string(log_of(&place)).unwrap();
    let of_first = log.lines().find(|line| line.contains("\"type\":\"call_changed\"")).unwrap();
    std::fs::write(log_of(&place), log.replace(of_first, &of_first[..of_first.len() / 2])).unwrap();
    let run = place.run(&["replay", "last", "--json"]).ends_with(1);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["divergence"], Value::Null, "{run:?}");
    assert_eq!(report["ended_early"], DAMAGED);
    assert_eq!(report["steps"], 2);
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(run.error.contains(DAMAGED), "{run:?}");
    place.run(&["replay", "last", "--until", "1"]).ends_with(0);
}

#[test]
fn a_log_that_does_not_have_what_happened_before_a_request_ends_the_replay_early() {
    let place = recorded(&[], &["echo 1"]);
    let script = place.script(json!([{"text": "Again."}]));
    place.run(&["-p", "--model", &script, "--continue", "--rewind", "1", "go"]).ends_with(0);
    place.run(&["replay", "last"]).ends_with(0);
    let log = std::fs::read_to_string(log_of(&place)).unwrap();
    let rewound = log.lines().find(|line| line.contains("\"type\":\"rewound\"")).unwrap();
    std::fs::write(log_of(&place), log.replace(rewound, "damaged")).unwrap();
    let run = place.run(&["replay", "last"]).ends_with(1);
    run.says(&[DAMAGED, "1 event is left out"]);
}

#[test]
fn a_removal_that_was_refused_is_refused_again_whatever_lies_above_the_copy() {
    let place = recorded(&[], &["rm -rf ../..", "rm -rf ../../..", "rm -rf ~", "rm -rf /"]);
    assert_eq!(
        place.logs().matches("refused by the rule built-in").count() / 2,
        4,
        "{}",
        place.logs()
    );
    place.run(&["replay", "last"]).ends_with(0);
}

#[test]
fn a_reply_in_which_nothing_is_said_has_its_price_and_is_replayed() {
    let place = Place::new();
    let call = json!({"name": "bash", "arguments": {"command": "echo hi"}});
    let script = place.script(json!([
        {"text": "a", "calls": [call], "usage": {"input": 1000, "output": 50}},
        {"text": "", "usage": {"input": 2000, "output": 70}},
    ]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let more = place.script(json!([{"text": "b", "usage": {"input": 3000, "output": 1}}]));
    place.run(&["-p", "--model", &more, "--continue", "on"]).ends_with(0);
    let run = place.run(&["cost", "last", "--json"]).ends_with(0);
    let costs: Value = serde_json::from_str(&run.out).unwrap();
    let inputs: Vec<_> =
        costs["requests"].as_array().unwrap().iter().map(|it| &it["usage"]["input"]).collect();
    assert_eq!(inputs, [1000, 2000, 3000], "{run:?}");
    place.run(&["replay", "last"]).ends_with(0);
}

#[test]
fn no_line_of_a_log_is_damaged_and_its_replay_differs() {
    let place = recorded(&[], &["echo 1 > a", "cat a"]);
    let script = place.script(json!([{"text": "Again."}]));
    place.run(&["-p", "--model", &script, "--continue", "go"]).ends_with(0);
    place.run(&["replay", "last"]).ends_with(0);
    let log = std::fs::read_to_string(log_of(&place)).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    for (first, many) in (0..lines.len()).flat_map(|first| [(first, 1), (first, 2)]) {
        let damaged = |at: usize| (first..first + many).contains(&at);
        let with_damage = lines.iter().enumerate().map(|(at, line)| match damaged(at) {
            true => "damaged\n".to_owned(),
            false => format!("{line}\n"),
        });
        std::fs::write(log_of(&place), with_damage.collect::<String>()).unwrap();
        let run = place.run(&["replay", "last", "--json"]);
        let report: Value = serde_json::from_str(&run.out).unwrap_or_default();
        assert_eq!(report["divergence"], Value::Null, "{first} {many}: {run:?}");
    }
}
