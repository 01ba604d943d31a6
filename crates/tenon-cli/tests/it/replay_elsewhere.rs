//! What is otherwise around a replay, and not by the agent, is no difference, or is said: places that
//! commands do not see, walls of another tier, and events that cannot be read.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::program::{Place, files_beneath};

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

#[test]
fn a_log_that_does_not_have_what_a_call_changed_any_more_ends_the_replay_early() {
    let place = recorded(&[], &["echo 1", "echo 2 > made", "echo 3 > made"]);
    let log = std::fs::read_to_string(log_of(&place)).unwrap();
    let of_first = log.lines().find(|line| line.contains("\"type\":\"call_changed\"")).unwrap();
    std::fs::write(log_of(&place), log.replace(of_first, &of_first[..of_first.len() / 2])).unwrap();
    let run = place.run(&["replay", "last", "--json"]).ends_with(1);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["divergence"], Value::Null, "{run:?}");
    assert_eq!(report["ended_early"], "what a call changed cannot be read in the log");
    assert_eq!(report["steps"], 2);
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(run.error.contains("what a call changed cannot be read in the log"), "{run:?}");
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
    run.says(&[
        "what happened before the next request cannot be read in the log",
        "1 events are left out",
    ]);
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
