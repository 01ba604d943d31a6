//! What a person did with git since a call keeps the objects that it needs, and nothing else stays.

use std::path::Path;

use tenon_sandbox::{CheckpointId, Conflict, ConflictReason, Conflicts, Undone};

use super::tree::difference;
use super::{Scene, Walls};

const REPOSITORY: &str = "git init -q -b main; echo 1 > f; git add f; git commit -qm one; \
                          git branch other";

const COMMIT: &str = "echo 2 > f; git commit -qam two";

fn scene() -> Scene {
    let scene = Scene::new(Walls::None);
    scene.prepare(REPOSITORY);
    scene
}

/// Does it as a person, after the call.
fn person(scene: &Scene, script: &str) {
    scene.prepare(&format!("set -e; sleep 0.02; {script}"));
}

fn said(scene: &Scene, script: &str) -> String {
    let output = scene.start(script, &scene.sandbox);
    crate::walls::printed(&output).trim().to_owned()
}

/// No branch, tag, stash or index names what is not there.
fn is_whole(scene: &Scene, what: &str) {
    for folder in [".", "w", "bare.git", "new", "s"] {
        let script = format!(
            "cd {folder} 2>/dev/null || exit 0; git rev-parse --git-dir >/dev/null 2>&1 || exit 0; \
             git fsck --no-dangling 2>&1 | grep -v '^notice' || true; git log --oneline --all >/dev/null"
        );
        assert_eq!(said(scene, &script), "", "{what}: {folder}");
    }
}

fn undo(
    scene: &Scene,
    ids: &[CheckpointId],
    conflicts: &Conflicts,
) -> (CheckpointId, Vec<Conflict>) {
    match scene.journal.undo(ids, "session", conflicts) {
        Ok(Undone::Done { id, kept, .. }) => (id, kept),
        other => panic!("{other:?}"),
    }
}

fn needed(kept: &[Conflict]) -> Vec<&Path> {
    let needed = kept.iter().filter(|conflict| conflict.reason == ConflictReason::Needed);
    needed.map(|conflict| conflict.path.as_path()).collect()
}

/// A call, what a person does then, and where objects then stay; they keep what they changed where that is
/// told.
const STAY: &[(&str, &str, &str, bool)] = &[
    (COMMIT, "git branch backup", ".git/objects", false),
    (COMMIT, "git tag v1", ".git/objects", false),
    (COMMIT, "git tag -a -m v1 v1", ".git/objects", false),
    (COMMIT, "git branch backup; git pack-refs --all", ".git/objects", true),
    (COMMIT, "git checkout -q other; git merge -q --no-ff -m m main", ".git/objects", true),
    (COMMIT, "echo 3 > f; git stash -q", ".git/objects", true),
    (COMMIT, "echo 3 > f; git commit -qam three", ".git/objects", true),
    (COMMIT, "git worktree add -q w", ".git/objects", false),
    (
        COMMIT,
        "git reflog expire --expire=now --all; git branch b; git gc -q --prune=now",
        ".git/objects",
        true,
    ),
    ("echo 2 > g; git add g", "git commit -qm mine", ".git/objects", true),
    ("echo 2 > g; git add g", "git stash -q; git tag g stash@{0}", ".git/objects", true),
    ("git clone -q --bare . bare.git", "git -C bare.git tag v1", "", true),
    (
        "git init -q new; cd new; echo 1 > f; git add f; git commit -qm one",
        "git -C new branch b",
        "",
        true,
    ),
    (
        "git init -q new; cd new; echo 1 > f; git add f; git commit -qm one",
        "cd new; echo 2 > g; git add g; git commit -qm two",
        "",
        true,
    ),
];

#[test]
fn objects_that_a_persons_branches_need_stay_where_a_call_is_undone() {
    for (call, edit, objects, keeps) in STAY {
        let scene = scene();
        let (what, id) = (format!("{call}; then {edit}"), scene.change(call));
        person(&scene, edit);
        is_whole(&scene, &what);
        let now = scene.tree();
        let conflicts = if *keeps { Conflicts::Keep } else { Conflicts::Refuse };
        let (undone, kept) = undo(&scene, &[id], &conflicts);
        is_whole(&scene, &what);
        if !objects.is_empty() {
            assert_eq!(needed(&kept), [Path::new(objects)], "{what}");
        }
        scene.undo(undone);
        assert_eq!(difference(&now, &scene.tree()), "", "redo after {what}");
        is_whole(&scene, &what);
    }
}

#[test]
fn the_rest_of_the_call_is_undone_where_objects_stay() {
    let scene = scene();
    let before = said(&scene, "git log --format=%H; cat f; git status --short");
    let id = scene.change(COMMIT);
    person(&scene, "git branch backup");
    undo(&scene, &[id], &Conflicts::Refuse);
    assert_eq!(said(&scene, "git log --format=%H; cat f; git status --short"), before);
    assert_eq!(said(&scene, "git show backup:f"), "2");
}

#[test]
fn objects_stay_for_a_branch_that_another_sessions_call_made() {
    let scene = scene();
    let id = scene.change(COMMIT);
    scene.change("git branch backup");
    let (_, kept) = undo(&scene, &[id], &Conflicts::Refuse);
    assert_eq!(needed(&kept), [Path::new(".git/objects")]);
    is_whole(&scene, "a later call");
}

/// The redo would take away what the undo of `git gc --prune` brought back.
#[test]
fn objects_that_an_undo_brought_back_stay_where_it_is_redone() {
    let scene = scene();
    scene.prepare(COMMIT);
    let id = scene.change(
        "git reset -q --hard HEAD~1; git reflog expire --expire=now --all; git gc -q --prune=now",
    );
    let (undone, _) = undo(&scene, &[id], &Conflicts::Refuse);
    person(&scene, "git branch backup");
    let (_, kept) = undo(&scene, &[undone], &Conflicts::Refuse);
    assert_eq!(needed(&kept), [Path::new(".git/objects")]);
    is_whole(&scene, "gc");
}

#[test]
fn where_nobody_came_between_objects_go_with_their_calls() {
    for calls in [
        &[COMMIT, "echo 3 > f; git commit -qam three; git branch b"][..],
        &[COMMIT, "git tag v1", "git checkout -q other; git merge -q --no-ff -m m main"],
        &["echo 2 > g; git add g", "git commit -qm g", "git gc -q", "echo 3 > g; git stash -q"],
    ] {
        let scene = scene();
        let before = scene.tree();
        let ids: Vec<CheckpointId> = calls.iter().map(|call| scene.change(call)).collect();
        let after = scene.tree();
        // At once, and one after the other.
        let all = scene.undo_all(&ids);
        assert_eq!(difference(&before, &scene.tree()), "", "{calls:?}");
        let again = scene.undo(all);
        assert_eq!(difference(&after, &scene.tree()), "", "{calls:?}");
        scene.undo(again);
        assert_eq!(difference(&before, &scene.tree()), "", "{calls:?}");
        let one = scene.journal.checkpoints().unwrap().last().unwrap().id;
        scene.undo(one);
        let undone: Vec<CheckpointId> = ids.iter().rev().map(|id| scene.undo(*id)).collect();
        assert_eq!(difference(&before, &scene.tree()), "", "{calls:?}");
        for id in undone.into_iter().rev() {
            scene.undo(id);
        }
        assert_eq!(difference(&after, &scene.tree()), "", "{calls:?}");
    }
}
