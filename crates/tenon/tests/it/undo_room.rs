//! What is kept for undo takes as much room as it may, however the room is used up.

use std::{
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    program::Place,
    terminal::{Home, Terminal},
    undo::{bash, session_of},
};

/// Longer than the pause that an answer needs before it.
const PAUSE: Duration = Duration::from_millis(1_200);

const BYTES_MAX: u64 = 2_000_000;

/// A turn of a command that writes a file of 200,000 bytes anew.
fn fill(number: u32) -> Value {
    let command = format!("echo {number} > n; head -c 200000 /dev/urandom | dd of=z conv=notrunc");
    json!({"calls": [{"name": "bash", "arguments": {"command": format!("{command} 2>/dev/null")}}]})
}

fn session(place: &Place, turns: Vec<Value>) {
    let turns = turns.into_iter().chain([json!({"text": "."})]).collect();
    let script = place.script(turns);
    place.run(&["--print", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
}

fn all_beneath(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { all_beneath(&path) } else { vec![path] }).collect()
}

/// Fails if more is kept than may be, and returns how many checkpoints are left.
fn check(place: &Place, when: &str) -> usize {
    let files = all_beneath(&place.path("home/.local/state/tenon/undo"));
    let bytes: u64 = files.iter().map(|path| path.metadata().unwrap().blocks() * 512).sum();
    assert!(bytes <= BYTES_MAX, "{when}: {bytes}");
    files.iter().filter(|path| path.parent().unwrap().ends_with("ends")).count()
}

#[test]
fn what_is_kept_for_undo_is_bounded_in_long_sessions_in_short_ones_and_by_undo() {
    let place = Place::new();
    place.config(&format!("undo_bytes_max = {BYTES_MAX}\n"));
    place.write("work/z", &"z".repeat(200_000));
    session(&place, (0..40).map(fill).collect());
    let kept = check(&place, "one long session");
    assert!(kept > 3, "{kept}");
    // Its own version of the file is kept by each undo, too.
    let mut undone = 0;
    while place.run(&["undo"]).status == 0 {
        undone += 1;
        check(&place, "undo");
    }
    assert!(undone > 2, "{undone}");
    place.run(&["redo"]).ends_with(0);
    check(&place, "redo");
    for number in 40..60 {
        session(&place, vec![fill(number)]);
        check(&place, "a short session");
    }
    place.run(&["undo"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path("work/n")).unwrap(), "58\n");
}

#[test]
fn a_file_is_saved_up_to_the_length_that_the_config_file_says() {
    let write = || vec![bash("echo two > f")];
    for (config, saved) in [("", true), ("undo_file_bytes_max = 1000\n", false)] {
        let place = Place::new();
        place.config(config);
        place.write("work/f", &"z".repeat(5_000));
        session(&place, write());
        assert_eq!(
            !place.logs().contains("\"left_out\":[{\"path\":\"f\""),
            saved,
            "{}",
            place.logs()
        );
        let usual = place.run(&["changes", "--usage"]).ends_with(0).out;
        assert!(usual.contains("of at most 2048.0 MiB"), "{usual}");
    }
}

/// Room for two of the files that calls delete.
const TWO_FILES: &str = "undo_bytes_max = 3000000\n";

fn deletions() -> Vec<String> {
    (1..=8).map(|number| format!("rm f{number}")).collect()
}

fn write_files(folder: &Path) {
    let mut random = std::fs::File::open("/dev/urandom").unwrap();
    let mut bytes = vec![0; 900_000];
    for number in 1..=8 {
        random.read_exact(&mut bytes).unwrap();
        std::fs::write(folder.join(format!("f{number}")), &bytes).unwrap();
    }
}

#[test]
fn what_is_not_kept_any_more_is_named_and_nothing_is_restored_to_before_it() {
    let place = Place::new();
    place.config(TWO_FILES);
    write_files(&place.path("work"));
    let commands = deletions();
    let id = session_of(&place, &commands.iter().map(String::as_str).collect::<Vec<_>>());
    let listed = place.run(&["changes"]).ends_with(0).out;
    let said =
        "what steps 1-6 changed is not kept any more, to make room (undo_bytes_max)\nstep 7 ·";
    assert!(listed.contains(said), "{listed}");
    let listed = place.run(&["changes", "--json"]).ends_with(0).out;
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let of = |key: &str| listed.iter().map(|call| call[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("step"), (1..=8).map(Value::from).collect::<Vec<_>>());
    assert_eq!(of("state")[..7], [vec![json!("gone"); 6], vec![json!("done")]].concat());
    assert_eq!(
        (&listed[0]["call"], &listed[0]["files"][0]["path"]),
        (&json!("bash rm f1"), &json!("f1"))
    );
    let there = || std::fs::read_dir(place.path("work")).unwrap().count();
    for to in ["1", "6", listed[5]["call_id"].as_str().unwrap()] {
        let refused = place.run(&["restore", &id, "--to", to]).ends_with(1);
        let steps = if to == "1" { "what steps 1-6 changed" } else { "what step 6 changed" };
        refused.says(&[steps, &format!("`tenon restore {id} --to 7` goes back as far as can be")]);
        assert_eq!(there(), 0, "{to}");
    }
    place.run(&["restore", &id, "--to", "7"]).ends_with(0);
    assert_eq!(there(), 2);
    // A fork changed none of it.
    let script = place.script(json!([bash("echo x > made"), {"text": "."}]));
    place.run(&["--print", "--model", &script, "--resume", &id, "--fork", "x"]).ends_with(0);
    let listed = place.run(&["changes"]).ends_with(0).out;
    assert!(listed.contains("echo x > made") && !listed.contains("not kept"), "{listed}");
    place.run(&["restore", "last", "--to", "1"]).ends_with(0);
    assert_eq!(there(), 2);
}

#[test]
fn what_can_be_redone_is_listed_when_all_calls_are_gone() {
    let place = Place::new();
    place.config(TWO_FILES);
    let usage = place.run(&["changes", "--usage"]).ends_with(0).out;
    assert!(usage.starts_with("undo: 0 checkpoints hold 0.0 MiB"), "{usage}");
    let command = |number: u32| {
        bash(&format!("head -c 1000000 /dev/urandom > r{number}; head -c 1000000 /dev/urandom > r"))
    };
    session(&place, (1..=8).map(command).collect());
    place.run(&["undo", "20"]).ends_with(0);
    let gone = "what steps 1-8 changed is not kept any more, to make room (undo_bytes_max)\n";
    let listed = place.run(&["changes"]).ends_with(0).out;
    let stands = format!("{gone}an undo of it stands: `tenon redo` takes it back\n");
    assert!(listed.ends_with(&stands), "{listed}");
    place.run(&["undo"]).ends_with(1).says(&["nothing to undo", gone.trim_end()]);
    let usage = place.run(&["changes", "--usage"]).ends_with(0).out;
    assert!(usage.starts_with("undo: 1 checkpoint holds 2."), "{usage}");
    place.run(&["redo"]).ends_with(0);
    let listed = place.run(&["changes"]).ends_with(0).out;
    assert!(listed.ends_with(gone), "{listed}");
    place.run(&["changes", "--usage"]).ends_with(0);
    place.run(&["undo"]).ends_with(1).says(&["nothing to undo", gone.trim_end()]);
    place.run(&["redo"]).ends_with(1);
}

#[test]
fn a_rewind_to_before_what_is_not_kept_any_more_says_so_and_goes_back_in_the_conversation_alone() {
    let turns = deletions().iter().map(|command| bash(command)).collect::<Vec<_>>();
    for flags in [&["--plain"][..], &[]] {
        let home = Home::new(Value::from([turns.clone(), vec![json!({"text": "Done."})]].concat()));
        home.config(TWO_FILES);
        write_files(&home.work());
        let mut terminal =
            Terminal::start(&home, &[flags, &["--allow", "bash"]].concat(), 120, &[]);
        let wait = |terminal: &mut Terminal| match flags {
            [] => terminal.wait_for("Enter sends", 1),
            _ => terminal.wait_for_prompt(),
        };
        wait(&mut terminal);
        terminal.press("delete them\r");
        terminal.wait_for("Done.", 1);
        wait(&mut terminal);
        terminal.press("/changes\r");
        terminal.wait_for("what steps 1-6 changed is not kept", 1);
        wait(&mut terminal);
        terminal.press("/rewind\r");
        terminal.wait_for("Back to before", 1);
        sleep(PAUSE);
        terminal.press(if flags.is_empty() { "\r" } else { "1\r" });
        terminal.wait_for("cannot be put back as they were before step 1", 1);
        terminal.wait_for("`/restore 7` goes back as far as can be", 1);
        terminal.wait_for("What goes back", 1);
        assert!(!terminal.screen().contains("files and conversation"), "{}", terminal.screen());
        sleep(PAUSE);
        terminal.press(if flags.is_empty() { "\r" } else { "1\r" });
        terminal.wait_for("Files stay as they are", 1);
        terminal.wait_for("> delete them", 2);
        terminal.press("\x15\x04");
        assert_eq!(terminal.exit_code(), 0, "{}", terminal.screen());
        assert_eq!(std::fs::read_dir(home.work()).unwrap().count(), 0);
    }
}
