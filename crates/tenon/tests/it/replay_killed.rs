//! Copies of a workspace go with the replay or export that made them: with the next one where it was killed.

use std::{
    path::PathBuf,
    process::{Child, Stdio},
    thread::sleep,
    time::Duration,
};

use serde_json::json;

use crate::program::{Place, files_beneath};

/// Returns the copies that there are, with whether the command of the session is at work in each.
fn copies(place: &Place) -> Vec<(PathBuf, bool)> {
    let folder = place.path("home/.cache/tenon/replay");
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let copies = entries.filter(|path| path.is_dir());
    copies.map(|copy| (copy.clone(), copy.join("roots/work/up").exists())).collect()
}

/// Begins a replay and waits until the command of the session is at work in its copy.
fn begun(place: &Place) -> (Child, PathBuf) {
    let before = copies(place);
    let mut command = place.tenon(&["replay", "last"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    loop {
        let is_new = |(copy, at_work): &(PathBuf, bool)| {
            *at_work && !before.iter().any(|(known, _)| known == copy)
        };
        if let Some((copy, _)) = copies(place).into_iter().find(is_new) {
            return (child, copy);
        }
        assert_eq!(child.try_wait().unwrap(), None, "it ended before its command began");
        sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_a_killed_replay_or_export_left_goes_with_the_next_and_not_what_another_works_in() {
    let place = Place::new();
    let command = "touch up; sleep 2; rm up";
    let call = json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let script = place.script(json!([call, {"text": "Done."}]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let (mut killed, left) = begun(&place);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(left.exists());
    let (mut living, copy) = begun(&place);
    assert!(!left.exists());
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let is_at_work = living.try_wait().unwrap().is_none();
    assert_eq!(is_at_work, copy.exists() && is_at_work);
    assert!(living.wait().unwrap().success());
    // An export is killed as soon as its copy is there.
    for n in 0..2_000 {
        place.write(&format!("work/many/{n}"), "x");
    }
    let mut export = place.tenon(&["export", "last", "--bundle", "out.tar.gz"]).spawn().unwrap();
    while copies(&place).is_empty() {
        assert_eq!(export.try_wait().unwrap(), None, "it ended before there was a copy");
    }
    export.kill().unwrap();
    export.wait().unwrap();
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let left = files_beneath(&place.path("home/.cache/tenon/replay"));
    assert!(left.is_empty() && copies(&place).is_empty(), "{left:?}");
}
