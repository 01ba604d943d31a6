//! Calls that are undone at once, redone, and then undone one by one.

use std::path::PathBuf;

use tenon_sandbox::{Conflicts, JournalError, Undone};

use super::crash::empty_object;
use super::tree::{Tree, difference};
use super::{Scene, Walls};

fn check(first: &str, second: &str) {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; ln text hard; mkdir -p folder/deep; echo one > folder/deep/f");
    let before = scene.tree();
    let one = scene.change(first);
    let between = scene.tree();
    let other = scene.change(second);
    let after = scene.tree();
    let is = |expected, what: &str| {
        assert_eq!(difference(expected, &scene.tree()), "", "{first}\n{second}\n{what}");
    };
    let undone = scene.undo_all(&[one, other]);
    is(&before, "undo");
    scene.undo(undone);
    is(&after, "redo");
    scene.undo(other);
    is(&between, "undo of the second");
    scene.undo(one);
    is(&before, "undo of the first");
}

#[test]
fn what_lies_between_is_there_again_after_a_redo() {
    check("echo two > text", "rm text");
    check("echo two > text", "rm text hard");
    check("echo two > folder/deep/f", "rm -r folder");
    check("echo two >> folder/deep/f; chmod 600 folder/deep/f", "mv folder/deep/f f; rm -r folder");
}

#[test]
fn what_an_earlier_call_removed_does_not_come_back_with_its_folder() {
    check("rm folder/deep/f", "rm -r folder");
    check("echo x > folder/deep/g; rm folder/deep/f", "rm -r folder/deep");
    check("mv folder/deep/f folder/f", "rm -r folder; echo x > folder");
    check("rm -r folder/deep", "rmdir folder; mkdir folder; echo x > folder/y");
}

#[test]
fn further_names_of_a_file_are_as_they_were_after_a_redo() {
    check("touch -d @0 text", "echo new > new; mv new text");
    check("chmod 600 text", "ln -sf x text");
    check("echo more >> hard", "rm text; echo other > text");
    check("ln text third; chmod 751 third", "echo new > new; mv new third; rm hard");
}

#[test]
fn a_name_in_a_folder_that_was_exchanged_is_there_after_several_redos() {
    let scene = Scene::new(Walls::None);
    scene.prepare("mkdir -p b e/b e/d; echo 1 > d; ln d e/b/b; echo 2 > e/c; echo 3 > c");
    let before = scene.tree();
    let exchange =
        "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100,b'e',-100,b'b',2)\"";
    let one = scene.journal.begin("session", "call");
    scene.start("touch c", &scene.sandbox.recording(&one));
    let one = one.finish().unwrap().id;
    let between = scene.tree();
    let other = scene.change(&format!("{exchange}; cp -a b/c d; ln d e; mv -T c e/a"));
    let after = scene.tree();
    let mut last = other;
    for (expected, what) in [(&between, 1), (&after, 2), (&between, 3), (&after, 4)] {
        last = scene.undo(last);
        assert_eq!(difference(expected, &scene.tree()), "", "{what}");
    }
    let ids: Vec<_> = one.into_iter().chain([other]).collect();
    let undone = scene.undo_all(&ids);
    assert_eq!(difference(&before, &scene.tree()), "", "both");
    scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "", "redo both");
}

#[test]
fn a_file_that_a_redo_put_back_into_a_folder_of_the_store_is_found_there() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > a");
    let before = scene.tree();
    let first = scene.change("mkdir b; mv a b/a");
    let second = scene.change("rm -r b");
    let after = scene.tree();
    let is = |expected, what: &str| {
        assert_eq!(difference(expected, &scene.tree()), "", "{what}");
    };
    // From now on the folder is in the store, and the file in it.
    let undone = scene.undo(second);
    scene.undo(undone);
    let undone = scene.undo_all(&[first, second]);
    is(&before, "undo");
    let redone = scene.undo(undone);
    is(&after, "redo");
    // As if it had been killed at its end: it is taken back, and done again.
    empty_object(&scene, &format!("ends/{:012}", redone.number()));
    let mut last = scene.undo(undone);
    is(&after, "redo once more");
    for (expected, what) in [(&before, "undo"), (&after, "redo"), (&before, "undo again")] {
        last = scene.undo(last);
        is(expected, what);
    }
}

/// What there is, calls, what a person does then, and what is told of it, by its paths of then.
const CONFLICTS: &[(&str, &[&str], &str, &[&str])] = &[
    (
        "echo 1 > a; echo 2 > b",
        &["echo c > a", "echo c > b"],
        "echo mine > a; echo mine > b",
        &["a", "b"],
    ),
    ("echo 1 > a", &["echo c > a", "mv a z"], "echo mine > z", &["z"]),
    (
        "mkdir g; echo 1 > g/f",
        &["echo c > g/f", "mv g g2"],
        "mv g2 g3; echo mine > g3/f",
        &["g2", "g3", "g3/f"],
    ),
    (
        "mkdir d; echo 1 > d/1; echo 2 > d/2",
        &["echo c > d/2", "mv d n; mv n/1 n/1r"],
        "echo mine > n/1r; echo mine > n/2",
        &["n/1r", "n/2"],
    ),
    (
        "mkdir d; echo 1 > d/1; echo 2 > e",
        &["echo c > d/1", "mv d n", "echo c > e; mv n m"],
        "echo mine > m/1; echo mine > e; chmod 700 m",
        &["e", "m", "m/1"],
    ),
];

#[test]
fn all_conflicts_of_several_calls_are_told_at_once_and_can_be_overwritten_at_once() {
    for (before, calls, edit, expected) in CONFLICTS {
        let scene = Scene::new(Walls::None);
        scene.prepare(&format!("umask 022; {before}"));
        let first = scene.tree();
        let ids: Vec<_> = calls.iter().map(|call| scene.change(call)).collect();
        scene.prepare(&format!("umask 022; sleep 0.02; {edit}"));
        let (theirs, what) = (scene.tree(), format!("{before}; {calls:?}, then {edit}"));
        let refused = scene.journal.undo(&ids, "session", &Conflicts::Refuse).unwrap();
        let Undone::Conflicts(found) = refused else { panic!("{what}: {refused:?}") };
        assert_eq!(difference(&theirs, &scene.tree()), "", "{what}");
        let named: Vec<PathBuf> = found.into_iter().map(|found| found.path).collect();
        assert_eq!(named, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{what}");
        let done = scene.journal.undo(&ids, "session", &Conflicts::Overwrite(named)).unwrap();
        let Undone::Done { id, overwritten, .. } = done else { panic!("{what}: {done:?}") };
        let mut told: Vec<_> = overwritten.iter().map(|conflict| &conflict.path).collect();
        told.dedup();
        assert_eq!(told.len(), overwritten.len(), "{what}: {overwritten:?}");
        let names = |tree: Tree| tree.into_keys().collect::<Vec<PathBuf>>();
        assert_eq!(names(scene.tree()), names(first), "{what}");
        scene.undo(id);
        assert_eq!(difference(&theirs, &scene.tree()), "", "{what}");
    }
}

#[test]
fn a_file_that_a_refused_undo_took_to_the_store_is_not_what_stands_at_its_other_name() {
    for first in ["rm f1; ln d/f1 f1", "ln d/f1 z; mv f1 .x; mv z f1; mv .x z"] {
        let scene = Scene::new(Walls::None);
        scene.prepare("umask 022; mkdir d; echo 0 > d/f0; echo 1 > d/f1; echo f1 > f1");
        let before = scene.tree();
        let ids = [first, "rm -rf d"].map(|call| scene.change(call));
        scene.prepare("umask 022; sleep 0.02; echo mine > t; mv t f1");
        let theirs = scene.tree();
        let refused = scene.journal.undo(&ids, "session", &Conflicts::Refuse).unwrap();
        assert!(matches!(refused, Undone::Conflicts(_)), "{first}: {refused:?}");
        for _ in 0..2 {
            let named = Conflicts::Overwrite(["d", "f1", "z"].map(PathBuf::from).into());
            let done = scene.journal.undo(&ids, "session", &named).unwrap();
            let Undone::Done { id, .. } = done else { panic!("{first}: {done:?}") };
            assert_eq!(difference(&before, &scene.tree()), "", "{first}");
            scene.undo(id);
            assert_eq!(difference(&theirs, &scene.tree()), "", "{first}");
        }
    }
}

#[test]
fn an_undo_of_several_of_which_one_cannot_be_read_touches_nothing() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > a");
    let (first, second) = (scene.change("echo x >> a"), scene.change("echo y >> a"));
    let after = scene.tree();
    let folders = std::fs::read_dir(scene.top.path().join("state/undo")).unwrap();
    let folder = folders.map(|entry| entry.unwrap().path()).next().unwrap();
    let log = folder.join(format!("{:012}", first.number()));
    let bytes = std::fs::read(&log).unwrap();
    std::fs::write(&log, bytes.get(..bytes.len() - 10).unwrap()).unwrap();
    let error = scene.journal.undo(&[first, second], "session", &Conflicts::Refuse).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { id } if id == first), "{error:?}");
    assert_eq!(difference(&after, &scene.tree()), "");
    assert!(!scene.journal.is_half_undone());
    assert_eq!(scene.journal.newest().unwrap(), Some(second));
}
