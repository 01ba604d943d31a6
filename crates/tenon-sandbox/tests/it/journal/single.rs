//! One thing that is all that a command changed, and that other changes do not bring along.

use tenon_sandbox::{Exit, Trouble};

use super::tree::difference;
use super::{Scene, Walls};
use crate::skipped::skipped;
use crate::walls::printed;

/// Undoes and redoes what `script` changed, which is told as `listed`.
fn check(scene: &Scene, script: &str, listed: &str) {
    let before = scene.tree();
    let (output, changes) = scene.run(script);
    assert_eq!(output.exit, Exit::Code(0), "{script}: {}", printed(&output));
    assert_eq!(Scene::listed(&changes), [listed], "{script}");
    let after = scene.tree();
    let undone = scene.undo(changes.id.unwrap());
    assert_eq!(difference(&before, &scene.tree()), "", "{script}");
    scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "", "{script}");
}

#[test]
fn the_time_of_a_folder_is_undone_and_a_name_that_came_and_went_is_no_change() {
    let scene = Scene::new(Walls::None);
    scene.prepare("mkdir folder");
    check(&scene, "touch -d 2010-01-01 folder", "times folder");
    check(&scene, "touch -d 2011-01-01 .", "times .");
    let (_, changes) = scene.run("touch folder/x; rm folder/x");
    assert_eq!((Scene::listed(&changes), changes.troubles), (vec![], vec![]));
    let compared = Scene::at(&std::env::temp_dir(), Walls::None, |options| {
        options.by_comparison = true;
    });
    compared.prepare("mkdir folder");
    // What no name that came and went can have set.
    check(&compared, "touch -d 2010-01-01 folder", "times folder");
    let (_, changes) = compared.run("touch folder/x; rm folder/x");
    assert_eq!((Scene::listed(&changes), changes.troubles), (vec![], vec![Trouble::Compared]));
}

#[test]
fn a_folder_that_was_removed_and_made_again_is_told_by_what_is_in_it() {
    for (script, expected) in [
        (
            "rm -r d; mkdir d; echo x > d/x; echo z > d/z",
            &["deleted d/s", "deleted d/s/1", "times d/x", "deleted d/y", "created d/z"][..],
        ),
        (
            "rm -r d; mkdir -p d/s; echo n > d/x; echo 2 > d/s/1",
            &["edited d/s/1", "edited d/x", "deleted d/y"],
        ),
        (
            "rm -r d; mkdir -p d/n/m; echo n > d/n/m/o; mkdir -m 700 d/s",
            &["created d/n", "mode d/s", "deleted d/s/1", "deleted d/x", "deleted d/y"],
        ),
        (
            "rm -r d; mkdir d; cp text d/s; echo y > d/x",
            &["edited d/s", "deleted d/s/1", "edited d/x", "deleted d/y"],
        ),
    ] {
        let scene = Scene::new(Walls::None);
        scene.prepare(
            "umask 022; mkdir -p d/s; echo x > d/x; echo y > d/y; echo 1 > d/s/1; echo t > text",
        );
        let before = scene.tree();
        let (_, changes) = scene.run(&format!("umask 022; {script}"));
        assert_eq!(Scene::listed(&changes), expected, "{script}");
        scene.undo(changes.id.unwrap());
        assert_eq!(difference(&before, &scene.tree()), "", "{script}");
    }
}

#[test]
fn a_file_that_was_appended_to_and_then_replaced_is_told_by_its_content() {
    for (script, expected) in [
        (": >> a; sed -i s/1/2/ a", &["edited a"][..]),
        ("echo x >> a; echo 2 > n; mv n a", &["edited a"]),
        ("echo x >> a; echo 1 > n; touch -r old n; mv n a", &[]),
    ] {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo 1 > a; touch -d 2010-01-01 a; cp -p a old");
        let before = scene.tree();
        let (_, changes) = scene.run(script);
        assert_eq!(Scene::listed(&changes), expected, "{script}");
        scene.undo(changes.id.unwrap());
        assert_eq!(difference(&before, &scene.tree()), "", "{script}");
    }
}

#[test]
fn each_name_of_a_file_and_an_edit_of_one_that_was_renamed_are_told() {
    for (prepare, script, summary, expected) in [
        (
            "echo 1 > g; ln g h",
            "rm g; mv h q",
            "1 deleted, 1 renamed",
            &["deleted h", "renamed q"][..],
        ),
        ("echo 1 > g; ln g h", "ln g q; rm h", "1 renamed", &["renamed q"]),
        ("echo 1 > g; ln g h", "ln g q", "1 new", &["created q"]),
        ("echo 1 > g", "ln g q; echo 2 >> q", "1 file changed, 1 new", &["edited g", "created q"]),
        (
            "mkdir d; echo 1 > d/g",
            "cp -al d e; echo 2 >> e/g",
            "1 file changed, 1 new under e/",
            &["edited d/g", "created e"],
        ),
        ("touch -d 2010-01-01 g", "mv g q; touch g", "1 renamed", &["times g", "renamed q"]),
        (
            "echo 1 > g; ln g h; echo 2 > k",
            "mv -f k g; rm h",
            "1 deleted, 1 renamed, 1 of them over what was there",
            &["renamed g", "deleted h"],
        ),
        ("echo 1 > f", "mv f g; echo 2 >> g", "1 file changed, 1 renamed", &["renamed g"]),
        (
            "echo 1 > f; echo > g",
            "mv f g; echo 2 > g",
            "1 file changed, 1 renamed, 1 of them over what was there",
            &["renamed g"],
        ),
        (
            "echo 1 > f; echo > g",
            "mv f g; echo 1 > g",
            "1 renamed, 1 of them over what was there",
            &["renamed g"],
        ),
    ] {
        for by_comparison in [false, true] {
            let scene = Scene::at(&std::env::temp_dir(), Walls::None, |options| {
                options.by_comparison = by_comparison;
            });
            scene.prepare(prepare);
            let before = scene.tree();
            let (_, changes) = scene.run(script);
            assert_eq!(Scene::listed(&changes), expected, "{script}");
            let by = if by_comparison { ", by comparison" } else { "" };
            assert_eq!(changes.summary(), format!("{summary}{by}"), "{script}");
            scene.undo(changes.id.unwrap());
            assert_eq!(difference(&before, &scene.tree()), "", "{script}");
        }
    }
}

#[test]
fn attributes_of_a_link_itself_are_undone() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; ln -s text link");
    let link = scene.root().join("link");
    let flags = rustix::fs::XattrFlags::empty();
    if let Err(error) = rustix::fs::lsetxattr(&link, "trusted.tenon", b"one", flags) {
        return skipped(format_args!("links have no attributes here: {error}"));
    }
    let python = |code: &str| format!("python3 -c \"import os; {code}\"");
    let set = "os.setxattr('link', 'trusted.tenon', b'two', follow_symlinks=False)";
    check(&scene, &python(set), "mode link");
    check(&scene, "rm link", "deleted link");
}

#[test]
fn access_control_lists_are_undone() {
    // Version 2; tag, permissions and id of owner, a user, group, mask and others, as acl(5) has them.
    const LIST: &str = "struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *entry) for entry in \
        [(1, 7, -1), (2, 4, 1234), (4, 5, -1), (16, 5, -1), (32, 0, -1)])";
    let python = |code: &str| format!("python3 -c \"import os, struct; l = {LIST}; {code}\"");
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; echo one > other; mkdir folder");
    let (output, _) = scene.run(&python("os.setxattr('other', 'system.posix_acl_access', l)"));
    if output.exit != Exit::Code(0) {
        return skipped(format_args!("no lists here: {}", printed(&output)));
    }
    check(&scene, &python("os.setxattr('text', 'system.posix_acl_access', l)"), "mode text");
    check(&scene, &python("os.removexattr('other', 'system.posix_acl_access')"), "mode other");
    check(&scene, "chmod 600 other", "mode other");
    check(&scene, &python("os.setxattr('folder', 'system.posix_acl_default', l)"), "mode folder");
    scene.prepare(&python("os.setxattr('folder', 'system.posix_acl_default', l)"));
    check(&scene, "mkdir folder/more; echo new > folder/more/new", "created folder/more");
}
