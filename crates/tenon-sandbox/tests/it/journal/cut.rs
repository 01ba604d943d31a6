//! A file that somebody cut below what undo has to leave of it: what was cut off is gone, and nothing
//! is made up in its place.

use std::path::PathBuf;

use tenon_sandbox::{ConflictReason, Conflicts, JournalError, Undone};

use super::tree::difference;
use super::{Scene, Walls};

/// How somebody cut the file while the command ran, which appends to it, or later.
fn cut(scene: &Scene) {
    std::fs::File::options()
        .write(true)
        .open(scene.root().join("log"))
        .unwrap()
        .set_len(4)
        .unwrap();
}

/// Refuses, leaves it as it is, or fails; and adds no bytes.
fn check(scene: &Scene, id: tenon_sandbox::CheckpointId) {
    let now = scene.tree();
    let undo = |conflicts: &Conflicts| scene.journal.undo(&[id], "session", conflicts);
    match undo(&Conflicts::Refuse).unwrap() {
        Undone::Conflicts(found) => {
            let found: Vec<_> = found.iter().map(|found| (&*found.path, found.reason)).collect();
            assert_eq!(found, [(std::path::Path::new("log"), ConflictReason::NotKept)]);
        }
        done => panic!("{done:?}"),
    }
    assert_eq!(difference(&now, &scene.tree()), "");
    let yes = Conflicts::Overwrite(vec![PathBuf::from("log")]);
    match undo(&yes) {
        Err(JournalError::NotRestored { path, code, .. }) => {
            assert_eq!((path, code), (PathBuf::from("log"), libc::ENODATA));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(difference(&now, &scene.tree()), "");
    let kept = undo(&Conflicts::Keep).unwrap();
    assert!(matches!(&kept, Undone::Done { kept, .. } if kept.len() == 1), "{kept:?}");
    assert_eq!(std::fs::read(scene.root().join("log")).unwrap().len(), 4);
    assert!(!scene.root().join("new").exists());
}

#[test]
fn what_was_cut_off_while_a_command_appended_is_not_made_up() {
    let scene = Scene::new(Walls::None);
    scene.prepare("seq 100 > log");
    let checkpoint = scene.begin();
    let script =
        "exec 5>>log; echo start >&5; touch new started; while test -e started; do :; done";
    let root = scene.root();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !root.join("started").exists() {
                std::thread::yield_now();
            }
            cut(&scene);
            std::fs::remove_file(root.join("started")).unwrap();
        });
        scene.start(script, &scene.sandbox.recording(&checkpoint));
    });
    check(&scene, checkpoint.finish().unwrap().id.unwrap());
}

#[test]
fn what_was_cut_off_after_a_command_appended_is_not_made_up() {
    let scene = Scene::new(Walls::None);
    scene.prepare("seq 100 > log");
    let id = scene.change("echo more >> log; touch new");
    cut(&scene);
    check(&scene, id);
}

#[test]
fn what_was_cut_off_after_an_undo_is_not_made_up_by_a_redo() {
    let scene = Scene::new(Walls::None);
    scene.prepare("seq 100 > log; touch new");
    let undone = scene.undo(scene.change("echo more >> log; rm new"));
    cut(&scene);
    check(&scene, undone);
}
