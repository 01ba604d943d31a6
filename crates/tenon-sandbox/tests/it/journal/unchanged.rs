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

/// What is there before.
const SETTING: &str = "umask 022; mkdir -p d e/g; echo 1 > d/f; echo 2 > k; ln k d/k; ln -s f d/l; echo 3 > e/g/f; \
                       touch -d @1000000000 d/f d e/g e .";

const SWAP: &str = "mv d/f swap; mv k d/f; mv swap k; mv k swap; mv d/f k; mv swap d/f";

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
        ("mv d/f d/z; mv d/z d/f", "echo p > d/f; echo p > d/z"),
        ("mv d/f z; mv z d/f", "rm d/f"),
        ("mkdir t; mv d/f t/f; mv t/f d/f; rmdir t", "mv d/f g; mkdir t"),
        ("mv d/f z; exec 3<> z; mv z d/f", "chmod 600 d/f"),
        ("ln d/f d/h; rm d/h", "echo p > d/f; echo p > d/h"),
        ("ln d/f h; mv h d/f; rm -f h", "echo p > p; mv p d/f"),
        ("mv d/l z; mv z d/l; ln -P d/l h; rm h", "ln -sf p d/l"),
        ("mv k z; mv z k; mv d/k z; mv z d/k", "echo p > k"),
        ("mv e z; mv z e; touch e/t; rm e/t", "echo p > e/g/f"),
        (
            "mv e z; mv z/g/f z/g/y; mv z/g/y z/g/f; mv z e; chmod 700 e; chmod 755 e",
            "echo p > e/g/f",
        ),
        ("mv e z; mv z e; chmod 700 e; chmod 755 e", "rm -r e"),
        (SWAP, "echo p > d/f; rm k; echo p > swap"),
    ] {
        for by_comparison in [false, true] {
            let what = format!("{script}, then {edit}, by comparison {by_comparison}");
            let scene = Scene::at(&std::env::temp_dir(), Walls::None, |options| {
                options.by_comparison = by_comparison;
            });
            scene.prepare(SETTING);
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

#[test]
fn what_has_another_name_or_content_than_before_is_a_conflict_also_where_it_was_renamed_there_and_back()
 {
    for (script, edit) in [
        ("mv f z; mv z f; ln f h", "echo p > f"),
        ("mv f z; mv z f; echo 2 > f", "echo p > f"),
        ("mv f z; cp -p z f; rm z; echo 2 > f", "echo p > f"),
        ("mv d z; echo 2 > z/f; mv z d", "mv d e"),
    ] {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo 1 > f; mkdir d; echo 1 > d/f; touch -d @1000000000 f d/f d");
        let before = scene.tree();
        let id = scene.change(script);
        let undone = scene.undo(id);
        assert_eq!(difference(&before, &scene.tree()), "", "{script}");
        scene.undo(undone);
        person(&scene, edit);
        let undone = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
        assert!(matches!(undone, Ok(Undone::Conflicts(_))), "{script}: {undone:?}");
    }
}
