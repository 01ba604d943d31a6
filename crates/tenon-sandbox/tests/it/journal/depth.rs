//! What was there before is found however deep a call moved it.

use std::path::PathBuf;

use tenon_sandbox::{Conflicts, Undone};

use super::commands::check_as;
use super::tree::difference;
use super::{Scene, Walls, as_ordinary_user};

/// A call that puts a folder into as many new ones, then into that and so on.
pub(super) fn wrap(levels: usize) -> String {
    format!(
        "python3 -c \"
import os
for _ in range({levels}):
    os.mkdir('t'); os.rename('top', 't/top'); os.rename('t', 'top')
\""
    )
}

/// Names of everything that is there, which may be too deep for a path.
fn listing(scene: &Scene) -> String {
    let mut command = std::process::Command::new("bash");
    let script = "find . -path ./.tenon -prune -o -type d -print -o -print | sort | sha256sum";
    let output = command.args(["-c", script]).current_dir(scene.root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn check(script: &str) {
    let scene = Scene::new(Walls::None);
    scene.prepare("mkdir top top/in; echo precious > top/x; echo two > top/in/y");
    let before = scene.tree();
    let id = scene.change(script);
    let after = listing(&scene);
    let undone = scene.undo(id);
    assert_eq!(difference(&before, &scene.tree()), "", "{script}");
    let redone = scene.undo(undone);
    assert_eq!(listing(&scene), after, "{script}");
    scene.undo(redone);
    assert_eq!(difference(&before, &scene.tree()), "", "{script}");
    // What the test leaves is deeper than who cleans up goes.
    let mut command = std::process::Command::new("rm");
    assert!(command.arg("-rf").arg(scene.top.path()).status().unwrap().success());
}

#[test]
fn a_folder_that_was_moved_300_levels_deep_comes_back() {
    check(&wrap(300));
    let nested = PathBuf::from("d/".repeat(300));
    let nested = nested.display();
    check(&format!("mkdir -p n/{nested}; mv top n/{nested}top; mv n m"));
    // Others beside it on the way.
    check(&format!(
        "mkdir -p n/{nested}; mv top n/{nested}top; mv n m; cd m; for i in $(seq 250); do mkdir a z; cd d; done"
    ));
}

#[test]
fn a_folder_that_is_deeper_than_any_path_leads_comes_back() {
    check(&wrap(3000));
}

#[test]
fn a_tree_of_200_levels_that_was_removed_comes_back() {
    let scene = Scene::new(Walls::None);
    scene.prepare(
        "mkdir -p top/$(printf 'd/%.0s' $(seq 200)); p=top; \
         for i in $(seq 200); do p=$p/d; [ $((i % 10)) != 0 ] || echo $i > $p/f; done",
    );
    assert_eq!(check_as(&scene, &Scene::tree, "rm -rf top", &[]), Ok(()));
}

#[test]
fn a_tree_of_200_levels_that_was_removed_comes_back_for_an_ordinary_user() {
    as_ordinary_user("depth::a_tree_of_200_levels_that_was_removed_comes_back");
}

#[test]
fn what_a_person_puts_deep_into_a_new_folder_is_a_conflict() {
    let scene = Scene::new(Walls::None);
    let nested = "d/".repeat(300);
    let id = scene.change(&format!("mkdir -p n/{nested}"));
    let path = format!("n/{nested}mine");
    std::fs::write(scene.root().join(&path), "mine").unwrap();
    let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap();
    let Undone::Conflicts(found) = outcome else { panic!("{outcome:?}") };
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, PathBuf::from(path));
}
