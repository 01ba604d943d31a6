//! Calls that changed no more than the times of folders: an undo that is told of one puts those back, and
//! nothing of it is a conflict.

use tenon_sandbox::{ChangeKind, CheckpointId, Conflicts, JournalOptions, Undone};

use super::tree::difference;
use super::{Scene, Walls};

fn person(scene: &Scene, script: &str) {
    let mut command = std::process::Command::new("bash");
    let script = format!("sleep 0.02; {script}");
    assert!(command.arg("-c").arg(script).current_dir(scene.root()).status().unwrap().success());
}

/// Runs a script that changes nothing that is listed.
fn idle(scene: &Scene, script: &str) -> CheckpointId {
    let (_, changes) = scene.run(script);
    let id = changes.id.unwrap();
    assert!(changes.files.is_empty() && scene.journal.is_idle(id), "{script}: {changes:?}");
    id
}

fn scene(by_comparison: bool) -> Scene {
    let change = |options: &mut JournalOptions| options.by_comparison = by_comparison;
    let scene = Scene::at(&std::env::temp_dir(), Walls::None, change);
    scene.prepare("mkdir d e; echo 1 > d/f; touch -d @1000000000 d/f d e .");
    scene
}

#[test]
fn the_times_of_folders_are_as_before_a_call_in_which_names_came_and_went() {
    for script in [
        "touch d/t; rm d/t",
        "mkdir e/n; rmdir e/n",
        "rmdir e; mkdir e",
        "mv d/f d/g; mv d/g d/f",
        "cp -p d/f d/t; mv d/t d/f",
    ] {
        for by_comparison in [false, true] {
            let scene = scene(by_comparison);
            let before = scene.tree();
            let id = idle(&scene, script);
            let after = scene.tree();
            let undone = scene.undo(id);
            assert_eq!(difference(&before, &scene.tree()), "", "{script}");
            scene.undo(undone);
            assert_eq!(difference(&after, &scene.tree()), "", "redo of {script}");
        }
    }
}

#[test]
fn what_a_person_changed_since_is_no_conflict_of_such_a_call_and_stays() {
    for (script, edit, theirs) in [
        ("touch d/t e/t; rm d/t e/t", "echo p > d/p", &["d", "d/p"][..]),
        ("touch d/t e/t; rm d/t e/t", "touch d", &["d"]),
        ("touch d/t e/t; rm d/t e/t", "chmod 700 d", &["d"]),
        ("touch d/t e/t; rm d/t e/t", "echo p > d/t", &["d", "d/t"]),
        ("touch d/t e/t; rm d/t e/t", "mv d n; mkdir d", &["", "d", "d/f", "n", "n/f"]),
        ("touch d/t e/t; rm d/t e/t", "rm -r d", &["", "d", "d/f"]),
        ("exec 5<> d/f; touch e/t; rm e/t", "echo p > d/f", &["d/f"]),
    ] {
        let scene = scene(false);
        let before = scene.tree();
        let id = idle(&scene, script);
        person(&scene, edit);
        let (mine, mut wanted) = (scene.tree(), before);
        for path in theirs.iter().map(std::path::PathBuf::from) {
            match mine.get(&path) {
                Some(entry) => wanted.insert(path, entry.clone()),
                None => wanted.remove(&path),
            };
        }
        let undone = scene.undo(id);
        assert_eq!(difference(&wanted, &scene.tree()), "", "{script}, then {edit}");
        scene.undo(undone);
        assert_eq!(difference(&mine, &scene.tree()), "", "redo of {script}, then {edit}");
    }
}

#[test]
fn such_calls_are_undone_in_order_with_the_others() {
    let scene = scene(false);
    let before = scene.tree();
    let first = idle(&scene, "touch d/t; rm d/t");
    let second = scene.change("echo 2 > d/n; echo 2 >> d/f");
    let third = idle(&scene, "mv d/n d/m; mv d/m d/n");
    let after = scene.tree();
    let all = [third, second, first];
    let Ok(Undone::Done { id, changes, .. }) =
        scene.journal.undo(&all, "session", &Conflicts::Refuse)
    else {
        panic!("{all:?}")
    };
    assert!(changes.files.iter().any(|file| file.kind == ChangeKind::Deleted), "{changes:?}");
    assert_eq!(difference(&before, &scene.tree()), "");
    scene.undo(id);
    assert_eq!(difference(&after, &scene.tree()), "");
}
