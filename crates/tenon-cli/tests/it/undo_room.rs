//! What is kept for undo takes as much room as it may, however the room is used up.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::program::Place;

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
