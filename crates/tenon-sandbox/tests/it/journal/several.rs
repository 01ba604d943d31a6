//! Calls that are undone at once, redone, and then undone one by one.

use super::tree::difference;
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
