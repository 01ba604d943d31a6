//! Denials of writing hold for whatever program a command runs: in a call, in a job, in a replay.

use serde_json::{Value, json};

use crate::program::{Place, Run};

fn bash(command: &str) -> Value {
    json!({"name": "bash", "arguments": {"command": command}})
}

/// A script that the policy cannot read: what it writes only shows when it does.
const WRITES: &str = "import pathlib; pathlib.Path('src/a').write_text('x')";

fn place() -> Place {
    let place = Place::new();
    place.write("work/src/a", "a\n");
    place.write("work/free", "free\n");
    place.write("work/writes.py", WRITES);
    place
}

/// Runs a session of these calls and returns its log, when the file is as it was.
#[track_caller]
fn run(place: &Place, flags: &[&str], calls: &[Value]) -> String {
    let mut turns: Vec<Value> = calls.iter().map(|call| json!({ "calls": [call] })).collect();
    turns.push(json!({"text": "done"}));
    let script = place.script(turns.into());
    place.run(&[&["--print", "--model", &script], flags, &["go"]].concat()).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path("work/src/a")).unwrap(), "a\n");
    place.logs()
}

#[test]
fn a_denial_of_writing_holds_for_what_a_program_does_by_itself_and_is_told() {
    let deny = ["--deny", "write(src/**)"];
    let place = place();
    let calls = [
        bash(
            "python3 writes.py; python3 -c \"import shutil; shutil.rmtree('src')\"; echo x >> free",
        ),
        bash("python3 writes.py 2>&1 | tail -n 1"),
    ];
    let log = run(&place, &deny, &calls);
    let told = "a change of src/a was refused: the rule write(src/**) forbids it";
    assert!(log.contains(&format!("[changes] {told}, 1 file changed")), "{log}");
    assert!(log.contains(&format!("Permission denied: 'src/a'\\n[changes] {told}")), "{log}");
    assert!(log.contains(r#""forbidden":[{"path":"src/a","rule":"write(src/**)"}]"#), "{log}");
    assert!(!log.contains("[walls]"), "no wall refused it: {log}");
    assert_eq!(std::fs::read_to_string(place.path("work/free")).unwrap(), "free\nx\n");

    let script = place.script(json!([{"calls": [calls[1]]}, {"text": "done"}]));
    let flags =
        [&["-p", "--output-format", "json", "--model", &script], &deny[..], &["go"]].concat();
    let result: Value = serde_json::from_str(&place.run(&flags).ends_with(0).out).unwrap();
    let refused = json!({"call_id": "call_1_1", "tool": "file", "subject": "src/a",
        "rule": "write(src/**)", "flag": null});
    assert_eq!(result["refused"], json!([refused]));

    // The log does not have the flag, only what it did.
    let replayed = place.run(&["replay", "last"]).ends_with(0);
    let same = "replayed 2 steps and 1 call: nothing differs from the recording\n";
    assert_eq!(replayed.out, same);
}

#[test]
fn a_denial_of_the_config_file_that_names_the_whole_path_holds_too_and_in_the_copy_of_a_replay() {
    let place = place();
    let path = place.path("work/src").display().to_string();
    place.config(&format!("deny = [\"write({path}/**)\"]"));
    let log = run(&place, &[], &[bash("python3 writes.py; true")]);
    let told = format!("a change of src/a was refused: the rule write({path}/**) forbids it");
    assert!(log.contains(&told), "{log}");
    place.config("");
    let replayed = place.run(&["replay", "last"]).ends_with(0);
    assert!(replayed.out.contains("nothing differs from the recording"), "{replayed:?}");
}

#[test]
fn a_denial_of_writing_holds_for_a_job_and_its_end_tells_of_it() {
    let place = place();
    let job = json!({"name": "bash", "arguments":
        {"command": "python3 writes.py; echo written", "background": true}});
    let wait = json!({"name": "jobs", "arguments": {"action": "wait", "id": 1}});
    let log = run(&place, &["--deny", "write(src/a)"], &[job, wait]);
    let told = "[changes] a change of src/a was refused: the rule write(src/a) forbids it";
    assert!(log.contains(told), "{log}");
}

#[test]
fn a_denial_beneath_the_home_holds_where_that_is_a_link() {
    let place = Place::new();
    let file = place.write("home/ws/src/a", "a\n");
    let link = place.path("link");
    std::os::unix::fs::symlink(place.path("home"), &link).unwrap();
    let write = json!({"name": "write_file", "arguments": {"path": "src/a", "content": "x"}});
    let turns = json!([
        {"calls": [bash("echo x > src/a")]}, {"calls": [write]},
        {"calls": [bash("sh -c 'eval \"$(echo echo x \\> src/a)\"'; true")]}, {"text": "done"},
    ]);
    let script = place.script(turns);
    let flags = ["-p", "--model", &script, "--deny", "write(~/ws/src/a)", "--allow", "bash", "go"];
    let mut command = place.tenon(&flags);
    command.env("HOME", &link).current_dir(place.path("home/ws"));
    Run::of(command.output().unwrap()).ends_with(0);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "a\n");
}

#[test]
fn a_denial_holds_that_names_the_workspace_by_a_link() {
    let place = place();
    let link = place.path("link");
    std::os::unix::fs::symlink(place.path("work"), &link).unwrap();
    let write = json!({"name": "write_file", "arguments": {"path": "src/a", "content": "x"}});
    for rule in ["src/a", "src/**", "**/a", "s*c/a"] {
        let deny = format!("write({}/{rule})", link.display());
        let calls = [bash("echo x > src/a"), bash("python3 writes.py; true"), write.clone()];
        let log = run(&place, &["--cwd", &link.display().to_string(), "--deny", &deny], &calls);
        assert!(log.contains("forbids it"), "{rule}: {log}");
    }
}
