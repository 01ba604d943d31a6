//! A workspace that a command renames, or a folder above it: without walls nothing holds it.

use tenon_sandbox::{Exit, Trouble};

use super::tree::difference;
use super::{Scene, Walls};
use crate::walls::printed;

const SETTING: &str = "mkdir -p sub/deep; echo 1 > sub/f; echo 1 > sub/deep/f; echo 1 > f";

/// `$PWD` is what it was.
const WRITES: &str = "echo 2 > f; echo 2 > sub/f; rm sub/deep/f; rmdir sub/deep";

/// What stands in the place meanwhile is not the workspace.
const AWAY: &[&str] = &[
    "mv ../work ../away",
    "mv ../work ../away; mkdir -p ../work/sub; echo free > ../work/sub/f",
    "mv ../work ../away; mkdir ../work ../work/sub; cd ../away/sub/..",
    "python3 -c 'import os; os.rename(\"../work\", \"../away\")'; cd ../away",
];

#[test]
fn what_a_command_does_in_a_workspace_that_it_moved_is_undone_once_that_is_back() {
    for away in AWAY {
        let scene = Scene::new(Walls::None);
        scene.prepare(SETTING);
        let (before, top) = (scene.tree(), scene.top.path().canonicalize().unwrap());
        let (output, changes) = scene.run(&format!("{away}; {WRITES}"));
        assert_eq!(output.exit, Exit::Code(0), "{away}: {}", printed(&output));
        assert_eq!(changes.troubles, [Trouble::Moved(scene.root())], "{away}");
        let said = format!("{} was moved: nothing of it is undone", scene.root().display());
        assert!(changes.summary().contains(&said), "{}", changes.summary());
        let _ = std::fs::remove_dir_all(top.join("work"));
        std::fs::rename(top.join("away"), top.join("work")).unwrap();
        scene.undo(changes.id.unwrap());
        assert_eq!(difference(&before, &scene.tree()), "", "{away}");
    }
}

#[test]
fn a_workspace_that_was_moved_and_is_back_when_the_command_ends_is_no_trouble() {
    let scene = Scene::new(Walls::None);
    scene.prepare(SETTING);
    let before = scene.tree();
    let script =
        format!("mv ../work ../away; {WRITES}; echo 2 > ../away/sub/n; mv ../away ../work");
    let (output, changes) = scene.run(&script);
    assert_eq!(output.exit, Exit::Code(0), "{}", printed(&output));
    assert_eq!(changes.troubles, []);
    scene.undo(changes.id.unwrap());
    assert_eq!(difference(&before, &scene.tree()), "");
}
