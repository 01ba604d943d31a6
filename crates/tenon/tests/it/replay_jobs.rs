//! A replay of a session that was killed while jobs ran: they run again, and once the session goes on, the files
//! have what the jobs of then had changed by the kill.

use serde_json::{Value, json};

use crate::{program::Place, undo::bash};

/// Does this in a replay alone, or in the recording alone.
fn only(here: &str, command: &str) -> String {
    let (in_replay, elsewhere) = match here {
        "replay" => (command, ":"),
        _ => (":", command),
    };
    format!("case $PWD in */replay/*) {in_replay};; *) {elsewhere};; esac")
}

/// A session with a job of which a part is done `here` alone, killed once the job has come so far and `then` is run;
/// what is undone before it goes on is told by `undo`.
fn killed(here: &str, then: &str, undo: &[&str]) -> Place {
    let place = Place::new();
    place.write("work/a", "one\n");
    place.write("work/gone", "one\n");
    let part = only(here, "echo two >> a; rm gone; mkdir made; echo m > made/m");
    let command = format!("echo j > always; {part}; touch up; exec sleep 300.05191");
    let job =
        json!({"calls": [{"name": "bash", "arguments": {"command": command, "background": true}}]});
    let script = place.script(json!([
        job,
        bash("until [ -e up ]; do sleep 0.01; done"),
        bash(then),
        bash("touch started; sleep 60"),
    ]));
    place.run_and_kill(&["-p", "--model", &script, "--allow", "bash", "go"], "work/started");
    if !undo.is_empty() {
        place.run(undo).ends_with(0);
    }
    let look = "cat a always; ls -AR";
    let script = place.script(json!([bash(look), bash("echo on >> a; ls"), {"text": "Seen."}]));
    let arguments = ["-p", "--model", &script, "--allow", "bash", "--continue", "go on"];
    place.run(&arguments).ends_with(0);
    place
}

fn report(place: &Place, what: &str) -> Value {
    let run = place.run(&["replay", what, "--json"]);
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

#[test]
fn where_the_job_of_a_replay_was_not_cut_where_that_of_then_was_files_are_as_then() {
    for here in ["replay", "recording"] {
        for undo in [&[][..], &["undo"], &["undo", "3"]] {
            let place = killed(here, "touch other", undo);
            let replayed = |place: &Place, what: &str| {
                let report = report(place, what);
                let came =
                    ["divergence", "ended_early", "steps"].map(|field| report[field].clone());
                assert_eq!(came, [Value::Null, Value::Null, json!(7)], "{here} {undo:?}: {report}");
            };
            replayed(&place, "last");
            place.run(&["export", "last", "--bundle", "../out.tar.gz"]).ends_with(0);
            replayed(&place, "../out.tar.gz");
        }
    }
}

#[test]
fn where_another_call_changed_the_same_file_the_replay_ends_without_a_difference() {
    for here in ["replay", "recording"] {
        let place = killed(here, "echo three > a", &[]);
        let report = report(&place, "last");
        assert_eq!(report["divergence"], Value::Null, "{here}: {report}");
        let why = report["ended_early"].as_str().unwrap();
        assert!(why.contains("what a call had changed that was cut short: "), "{here}: {why}");
    }
}
