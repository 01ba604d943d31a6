//! What a call opened for writing and left as it was, and a name that came and went, is no change of the call:
//! an undo has no conflict over it and does not touch it.

use std::path::Path;

use tenon_sandbox::{Conflicts, Undone};

use super::tree::{Tree, difference};
use super::{Scene, Walls};

fn person(scene: &Scene, script: &str) {
    let mut command = std::process::Command::new("bash");
    let script = format!("sleep 0.02; {script}");
    assert!(command.arg("-c").arg(script).current_dir(scene.root()).status().unwrap().success());
}

/// All but what the undo changes: the new file, and the times of folders in which names came and went.
fn rest(mut tree: Tree) -> Tree {
    tree.remove(Path::new("n"));
    let folders = tree.iter_mut().filter(|(_, entry)| entry.is_folder());
    folders.for_each(|(_, entry)| *entry = entry.without_time());
    tree
}

#[test]
fn what_a_call_left_as_it_was_is_left_to_whoever_changes_it_since() {
    for (script, edit) in [
        ("exec 3<> d/f", "echo p > d/f"),
        ("exec 3<> d/f", "rm d/f"),
        ("exec 3<> d/f", "rm d/f; mkdir d/f"),
        ("exec 3<> d/f", "mv d/f g"),
        ("exec 3<> d/f", "mv d e"),
        ("exec 3<> d/f", "echo p > p; mv p d/f"),
        ("exec 3<> d/f", "chmod 600 d/f"),
        ("exec 3>> d/f", "echo p >> d/f"),
        ("exec 3>> d/f", ": > d/f"),
        ("chmod 600 d/f; chmod 644 d/f", "chmod 755 d/f; echo p > d/f"),
        ("echo 2 > d/f; echo 1 > d/f; touch -d @1000000000 d/f", "echo p > d/f"),
        ("touch d/t; rm d/t", "echo p > d/t"),
    ] {
        for by_comparison in [false, true] {
            let what = format!("{script}, then {edit}, by comparison {by_comparison}");
            let scene = Scene::at(&std::env::temp_dir(), Walls::None, |options| {
                options.by_comparison = by_comparison;
            });
            scene.prepare("umask 022; mkdir d; echo 1 > d/f; touch -d @1000000000 d/f d .");
            let id = scene.change(&format!("echo n > n; {script}"));
            let listed = Scene::listed(&scene.journal.changes(id).unwrap());
            assert_eq!(listed, ["created n"], "{what}");
            person(&scene, edit);
            let mine = scene.tree();
            let undone = scene.undo(id);
            assert!(!scene.root().join("n").exists(), "{what}");
            assert_eq!(difference(&rest(mine.clone()), &rest(scene.tree())), "", "{what}");
            scene.undo(undone);
            assert_eq!(difference(&mine, &scene.tree()), "", "redo of {what}");
        }
    }
}

/// One that was written is undone with its content, whatever its time says.
#[test]
fn what_a_call_wrote_is_a_conflict_also_where_its_time_is_as_before() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo 1 > f; touch -d @1000000000 f");
    let before = scene.tree();
    let id = scene.change("echo 2 > f; touch -d @1000000000 f");
    let undone = scene.undo(id);
    assert_eq!(difference(&before, &scene.tree()), "");
    scene.undo(undone);
    person(&scene, "echo 3 > f");
    let undone = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
    assert!(matches!(undone, Ok(Undone::Conflicts(_))), "{undone:?}");
}

#[test]
fn a_long_file_that_was_written_has_its_content_again_also_where_its_time_is_as_before() {
    let scene = Scene::new(Walls::None);
    scene.prepare("truncate -s 33M f; touch -d @1000000000 f");
    let before = scene.tree();
    let write = "echo 2 | dd of=f conv=notrunc 2>/dev/null; touch -d @1000000000 f";
    let id = scene.change(&format!("{write}; echo n > n"));
    scene.undo(id);
    assert!(difference(&rest(before), &rest(scene.tree())).is_empty());
}
