//! What a person made of a file since is not written over, by whatever name or for whatever reason undo would
//! come to it.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tenon_sandbox::{CheckpointId, Conflict, ConflictReason, Conflicts, JournalError, Undone};

use super::tree::difference;
use super::{Scene, Walls};

fn person(scene: &Scene, script: &str) {
    let mut command = std::process::Command::new("bash");
    let script = format!("umask 022; sleep 0.02; {script}");
    assert!(command.arg("-c").arg(script).current_dir(scene.root()).status().unwrap().success());
}

fn content(scene: &Scene, name: &str) -> String {
    let text = std::fs::read_to_string(scene.root().join(name));
    text.map_or_else(|error| error.to_string(), |text| text.trim().to_owned())
}

fn done(undone: Result<Undone, JournalError>, what: &str) -> CheckpointId {
    match undone {
        Ok(Undone::Done { id, .. }) => id,
        other => panic!("{what}: {other:?}"),
    }
}

/// A file with two names, x and z, after it or before it.
const LINKED: &[(&str, &str)] = &[
    ("echo before > x", "ln x z; echo call > x"),
    ("echo before > x; ln x z", "echo call > x; rm z"),
    ("echo before > x; ln x z", "rm z; echo call > x"),
    ("echo before > x; ln x z", "echo call > x; echo new > n; mv n z"),
];

/// Every way to and from what the call did, over and over, before a person comes.
fn turned(scene: &Scene, id: CheckpointId, turns: usize) -> CheckpointId {
    (0..turns).fold(id, |id, _| scene.undo(id))
}

fn parted(linked: &(&str, &str), turns: usize, theirs: &str, saves_anew: bool) {
    let what = format!("{linked:?} {turns} {theirs} {saves_anew}");
    let scene = Scene::new(Walls::None);
    scene.prepare(linked.0);
    let id = scene.change(linked.1);
    let after = [content(&scene, "x"), content(&scene, "z")];
    let last = turned(&scene, id, turns);
    let number = |name: &str| std::fs::metadata(scene.root().join(name)).map(|found| found.ino());
    if number("x").ok() == number("z").ok() {
        // What is written by one name changes the other, which is a conflict.
        return;
    }
    let wanted = match turns % 2 {
        0 => ["before".to_owned(), content_of(linked.0)],
        _ => after,
    };
    let x = if saves_anew { "cp -p x t; mv x THEIRS; mv t x" } else { "mv x THEIRS" };
    let edit = format!("{x}; echo mine > THEIRS");
    person(&scene, &edit.replace("THEIRS", theirs));
    let now = scene.tree();
    let found = || [content(&scene, "x"), content(&scene, "z")];
    let undo = |conflicts: &Conflicts| scene.journal.undo(&[last], "session", conflicts);
    if saves_anew {
        let undone = done(undo(&Conflicts::Refuse), &what);
        assert_eq!((found(), &*content(&scene, theirs)), (wanted, "mine"), "{what}");
        scene.undo(undone);
        return assert_eq!(difference(&now, &scene.tree()), "", "{what}");
    }
    let refused = undo(&Conflicts::Refuse).unwrap();
    let gone = Conflict { path: "x".into(), reason: ConflictReason::Deleted };
    assert_eq!(refused, Undone::Conflicts(vec![gone]), "{what}");
    for (conflicts, x) in [
        (Conflicts::Keep, "No such file or directory (os error 2)"),
        (Conflicts::Overwrite(vec!["x".into()]), &wanted[0]),
    ] {
        let undone = done(undo(&conflicts), &what);
        let wanted = [x.to_owned(), wanted[1].clone()];
        assert_eq!((found(), &*content(&scene, theirs)), (wanted, "mine"), "{what} {conflicts:?}");
        scene.undo(undone);
        assert_eq!(difference(&now, &scene.tree()), "", "{what} {conflicts:?}");
    }
}

/// What z is once a script ran.
fn content_of(script: &str) -> String {
    let scene = Scene::new(Walls::None);
    scene.prepare(script);
    content(&scene, "z")
}

#[test]
fn a_file_with_two_names_that_a_person_moved_and_wrote_is_theirs() {
    for linked in LINKED {
        for turns in 0..5 {
            for theirs in ["d", "../d"] {
                parted(linked, turns, theirs, true);
                parted(linked, turns, theirs, false);
            }
        }
    }
}

/// What was there before, a call, and what a person's name of it is after the undo.
const PUT_BACK: &[(&str, &str, &str)] = &[
    ("echo a > f", "rm f", "f"),
    ("echo a > f; echo b > t", "mv t f", "f"),
    ("echo a > f", "rm f; echo > f", "f"),
    ("echo a > f", "echo b > t; mv t f", "f"),
    ("mkdir d; echo a > d/f", "rm -rf d", "d/f"),
    ("mkdir d; echo a > d/f", "rm -rf d", "d"),
];

#[test]
fn what_a_person_set_on_a_file_that_is_there_again_is_a_conflict_of_the_redo() {
    for (before, script, name) in PUT_BACK {
        let scene = Scene::new(Walls::None);
        scene.prepare(before);
        let id = scene.change(script);
        let undone = scene.undo(id);
        let set = format!("python3 -c \"import os; os.setxattr('{name}', 'user.mine', b'1')\"");
        person(&scene, &set);
        let theirs = scene.tree();
        let outcome = scene.journal.redo(undone, "session", &Conflicts::Refuse).unwrap();
        let conflict = Conflict { path: name.into(), reason: ConflictReason::Changed };
        assert_eq!(outcome, Undone::Conflicts(vec![conflict]), "{script}");
        let yes = Conflicts::Overwrite(vec![PathBuf::from(name)]);
        let redone = done(scene.journal.redo(undone, "session", &yes), script);
        scene.undo(redone);
        assert_eq!(difference(&theirs, &scene.tree()), "", "{script}");
    }
}

/// What a person does with a file of two lines of which a call appended the second, and what an undo that is
/// told to go on makes of it; `None` where nobody knows.
const APPENDED: &[(&str, Option<&str>)] = &[
    ("echo PERSONAL rewrite > f", None),
    ("echo PERSONAL rewrite > n; mv n f", None),
    ("echo x > f", None),
    ("echo more >> f", Some("original")),
    ("(cat f; echo more) > n; mv n f", Some("original")),
    ("echo original > f", Some("original")),
    ("chmod 600 f", Some("original")),
];

#[test]
fn a_file_that_was_appended_to_is_cut_only_where_its_first_part_is_in_it_still() {
    for (edit, expected) in APPENDED {
        for turns in [0, 1] {
            let scene = Scene::new(Walls::None);
            scene.prepare("umask 022; echo original > f");
            let id = scene.change("echo 2 >> f");
            let last = turned(&scene, id, turns);
            person(&scene, edit);
            let (theirs, what) = (scene.tree(), format!("{edit}, {turns}"));
            let yes = Conflicts::Overwrite(vec!["f".into()]);
            let outcome = scene.journal.undo(&[last], "session", &yes);
            let expected = match (turns, expected) {
                (0, expected) => *expected,
                (_, Some(_)) => Some("original\n2"),
                (_, None) => None,
            };
            if let Some(expected) = expected {
                let undone = done(outcome, &what);
                assert_eq!(content(&scene, "f"), expected, "{what}");
                scene.undo(undone);
            } else {
                let said = outcome.unwrap_err().to_string();
                assert!(said.ends_with("somebody wrote to it since"), "{said}");
            }
            assert_eq!(difference(&theirs, &scene.tree()), "", "{what}");
        }
    }
}
