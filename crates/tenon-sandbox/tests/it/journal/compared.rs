//! Where the kernel cannot say what a command is about to change: the bounds of comparing, what is
//! said of them, and that it begins by itself.

use tenon_sandbox::{Coverage, Exit, LeftOut, LeftOutReason, Trouble};

use super::tree::difference;
use super::{Scene, Walls};
use crate::walls::printed;

/// Set for the test that runs in a command which is watched.
const INSIDE: &str = "TENON_TEST_INSIDE";

fn scene() -> Scene {
    Scene::at(&std::env::temp_dir(), Walls::None, |options| {
        options.by_comparison = true;
        options.file_bytes_max = 1000;
    })
}

#[test]
fn what_was_found_by_comparison_says_so() {
    let scene = scene();
    assert_eq!(scene.journal.coverage(), Coverage::ByComparison);
    scene.prepare("echo a > a");
    let (_, changes) = scene.run("echo b > a; echo c > c");
    assert_eq!(changes.summary(), "1 file changed, 1 new, by comparison");
    let (_, changes) = scene.run("cat a");
    assert!(changes.is_empty(), "{changes:?}");
}

#[test]
fn a_file_that_was_not_copied_is_left_out_and_the_rest_is_undone() {
    let scene = scene();
    scene.prepare(
        "mkdir d; for n in d/gone moved edited same; do head -c 5000 /dev/zero > $n; done; echo a > d/a",
    );
    let before = scene.tree();
    let (_, changes) = scene.run("rm -r d; mv moved away; echo x > edited; chmod 600 same");
    let reason = LeftOutReason::TooLarge { bytes: 5000 };
    let left_out = ["d/gone", "edited"].map(|path| LeftOut { path: path.into(), reason });
    assert_eq!(changes.left_out, left_out);
    scene.undo(changes.id.unwrap());
    let (after, mut expected) = (scene.tree(), before.clone());
    let gone = |tree: &mut super::Tree, path: &str| tree.remove(std::path::Path::new(path));
    gone(&mut expected, "d/gone");
    let mut rest = after.clone();
    for tree in [&mut rest, &mut expected] {
        gone(tree, "edited");
    }
    assert_eq!(difference(&expected, &rest), "");
    assert_eq!(std::fs::read_to_string(scene.root().join("edited")).unwrap(), "x\n");
}

#[test]
fn a_cache_is_told_of_only_when_something_in_it_changed() {
    let scene = scene();
    let tag = "Signature: 8a477f597d28d172789f06886806bc55";
    scene.prepare(&format!(
        "mkdir -p target/d; echo '{tag}' > target/CACHEDIR.TAG; echo > target/d/x"
    ));
    let (_, changes) = scene.run("cat target/d/x; echo a > a");
    assert_eq!(changes.left_out, []);
    let (_, changes) = scene.run("echo y > target/d/x");
    let left_out = LeftOut { path: "target".into(), reason: LeftOutReason::Cache };
    assert_eq!(changes.left_out, [left_out]);
    assert_eq!(changes.summary(), "target/ not recorded (a cache), by comparison");
}

#[test]
fn two_commands_of_one_call_are_undone_as_one() {
    let scene = scene();
    scene.prepare("echo a > a; mkdir d; echo b > d/b");
    let before = scene.tree();
    let checkpoint = scene.begin();
    let sandbox = scene.sandbox.recording(&checkpoint);
    for script in
        ["echo x > a; mkdir new; mv d/b new/; echo n > new/n", "rm a new/n; echo y > new/b"]
    {
        assert_eq!(scene.start(script, &sandbox).exit, Exit::Code(0));
    }
    let after = scene.tree();
    let undone = scene.undo(checkpoint.finish().unwrap().id.unwrap());
    assert_eq!(difference(&before, &scene.tree()), "");
    scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "");
}

#[test]
fn copies_that_no_file_needs_go() {
    let scene = scene();
    let copies = || {
        let store = std::fs::read_dir(scene.journal.folders().remove(0)).unwrap().next();
        let copies = store.unwrap().unwrap().path().join("copies");
        std::fs::read_dir(copies).unwrap().count()
    };
    scene.prepare("for i in $(seq 20); do echo $i > f$i; done; touch -d 2001-01-01 f*");
    scene.run("true");
    assert_eq!(copies(), 20);
    scene.prepare("rm f1*");
    scene.run("true");
    assert_eq!(copies(), 9);
}

#[test]
fn a_command_in_a_command_that_is_watched_is_compared() {
    let exe = std::env::current_exe().unwrap();
    let scene = Scene::new(Walls::None);
    let test = "journal::compared::changes_are_undone_inside_a_watched_command";
    let script = format!("{INSIDE}=1 '{}' --exact {test} --nocapture", exe.display());
    let output = scene.start(&script, &scene.sandbox.recording(&scene.begin()));
    assert_eq!(output.exit, Exit::Code(0), "{}", printed(&output));
    assert!(printed(&output).contains("compared inside"), "{}", printed(&output));
}

#[test]
fn changes_are_undone_inside_a_watched_command() {
    if std::env::var_os(INSIDE).is_none() {
        return println!("skipped: runs inside of the test above");
    }
    let scene = Scene::new(Walls::None);
    scene.prepare("echo a > a");
    let before = scene.tree();
    let (output, changes) = scene.run("echo once; echo b > a; mkdir d");
    assert_eq!(printed(&output).matches("once").count(), 1);
    assert_eq!(changes.troubles, [Trouble::Compared]);
    assert_eq!(scene.journal.coverage(), Coverage::ByComparison);
    scene.undo(changes.id.unwrap());
    assert_eq!(difference(&before, &scene.tree()), "");
    println!("compared inside");
}

#[test]
fn what_lies_deeper_than_paths_lead_is_named() {
    let scene = scene();
    scene.prepare(&format!("mkdir top; {}", super::depth::wrap(1500)));
    let (_, changes) = scene.run("echo a > a");
    let [LeftOut { path, reason: LeftOutReason::TooLong }] = &changes.left_out[..] else {
        panic!("{changes:?}");
    };
    assert!(path.starts_with("top/top") && path.as_os_str().len() <= 200, "{path:?}");
    assert!(changes.summary().ends_with("/ not compared where paths are too long, by comparison"));
    scene.undo(changes.id.unwrap());
    assert!(!scene.root().join("a").exists());
    // What the test leaves is deeper than who cleans up goes.
    let mut command = std::process::Command::new("rm");
    assert!(command.arg("-rf").arg(scene.top.path()).status().unwrap().success());
}

#[test]
fn a_device_that_is_gone_is_left_out_and_the_rest_is_undone() {
    let scene = scene();
    scene.prepare(
        "mkfifo pipe; echo a > a; mknod null c 1 3 2>/dev/null; mknod zero c 1 5 2>/dev/null; true",
    );
    if !scene.root().join("zero").exists() {
        println!("skipped: devices cannot be made here");
        return;
    }
    let mut expected = scene.tree();
    let (_, changes) = scene.run("rm null pipe; echo b > a; chmod 600 zero; echo x > zero");
    let left_out = LeftOut { path: "null".into(), reason: LeftOutReason::NotCopied };
    assert_eq!(changes.left_out, [left_out]);
    scene.undo(changes.id.unwrap());
    expected.remove(std::path::Path::new("null"));
    assert_eq!(difference(&expected, &scene.tree()), "");
}
