//! A folder of the session that somebody else moves, removes or replaces while the session goes on.

use std::path::{Path, PathBuf};

use tenon_sandbox::{
    CheckpointId, CommandError, Conflicts, Exit, Expected, FileError, JournalError, Output,
    Profile, ProtectedChangeKind, RootMoved, Sandbox, Settings, Tier, Trouble, WalkOptions, Wanted,
    Workspace,
};
use tokio_util::sync::CancellationToken;

use super::tree::{Tree, difference, tree};
use super::{Scene, Walls, as_ordinary_user};
use crate::skipped::skipped;
use crate::support::runtime;
use crate::walls::printed;

/// What was put in place of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instead {
    Nothing,
    Copy,
    Empty,
}

const INSTEAD: [Instead; 3] = [Instead::Nothing, Instead::Copy, Instead::Empty];

/// Moves `folder` away, and puts something in its place.
fn replace(folder: &Path, instead: Instead) -> PathBuf {
    let away = folder.with_extension("away");
    std::fs::rename(folder, &away).unwrap();
    match instead {
        Instead::Nothing => {}
        Instead::Copy => {
            let status = std::process::Command::new("cp").arg("-a").args([&away, folder]).status();
            assert!(status.unwrap().success());
        }
        Instead::Empty => std::fs::create_dir(folder).unwrap(),
    }
    away
}

fn put_back(folder: &Path, away: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::rename(away, folder).unwrap();
}

fn error(folder: &Path, instead: Instead) -> RootMoved {
    match instead {
        Instead::Nothing => RootMoved::Gone(folder.to_path_buf()),
        Instead::Copy | Instead::Empty => RootMoved::Replaced(folder.to_path_buf()),
    }
}

fn trees(folder: &Path, away: &Path) -> [Option<Tree>; 2] {
    [folder, away].map(|path| path.exists().then(|| tree(path)))
}

fn try_run(scene: &Scene, sandbox: &Sandbox, script: &str) -> Result<Output, CommandError> {
    let (command, cancel) = (scene.command(script), CancellationToken::new());
    runtime().block_on(sandbox.run(command, &cancel, &mut |_, _| {}))
}

fn moved_file<T: std::fmt::Debug>(outcome: Result<T, FileError>) -> RootMoved {
    match outcome {
        Err(FileError::RootMoved(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn moved_command(outcome: Result<Output, CommandError>) -> RootMoved {
    match outcome {
        Err(CommandError::RootMoved(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Every way of doing something in the workspace is refused, and changes neither folder.
fn check_refused(scene: &Scene, away: &Path, expected: &RootMoved, id: CheckpointId) {
    let before = trees(&scene.root(), away);
    let checkpoint = scene.begin();
    let workspace = scene.workspace.recording(&checkpoint);
    assert_eq!(&moved_file(workspace.write("tool", b"new", Expected::Any)), expected);
    assert_eq!(&moved_file(workspace.write("f", b"new", Expected::Any)), expected);
    let absolute = scene.root().join("f").display().to_string();
    for path in ["f", "sub/../f", "sub/link", "none", &absolute] {
        assert_eq!(&moved_file(workspace.read(path, 100)), expected, "{path}");
    }
    assert_eq!(&moved_file(workspace.walk(".", WalkOptions::default())), expected);
    assert_eq!(checkpoint.finish().unwrap().troubles, []);
    let checkpoint = scene.begin();
    let script = "echo new > f; echo new > command";
    let sandbox = scene.sandbox.recording(&checkpoint);
    assert_eq!(&moved_command(try_run(scene, &sandbox, script)), expected);
    let changes = checkpoint.finish().unwrap();
    assert!(changes.is_empty() && changes.troubles.is_empty(), "{changes:?}");
    assert_eq!(&moved_command(try_run(scene, &scene.sandbox, script)), expected);
    match scene.journal.undo(&[id], "session", &Conflicts::Refuse) {
        Err(JournalError::RootMoved(error)) => assert_eq!(&error, expected),
        other => panic!("{other:?}"),
    }
    assert!(before == trees(&scene.root(), away), "{expected:?}");
}

fn check_all(walls: Walls) {
    for instead in INSTEAD {
        let scene = Scene::new(walls);
        scene.prepare("mkdir sub; ln -s ../f sub/link; echo 1 > f");
        let first = scene.tree();
        let id = scene.change("echo 2 > f; echo 2 > made");
        let away = replace(&scene.root(), instead);
        check_refused(&scene, &away, &error(&scene.root(), instead), id);
        put_back(&scene.root(), &away);
        // A command right away, in the walls that were there.
        let (output, changes) = scene.run("cat f; echo 3 > f; echo 3 > more");
        assert_eq!((output.exit, printed(&output).as_str()), (Exit::Code(0), "2\n"));
        assert_eq!(changes.troubles, [], "{walls:?}");
        scene.workspace.write("tool", b"new", Expected::Absent).unwrap();
        std::fs::remove_file(scene.root().join("tool")).unwrap();
        scene.undo_all(&[id, changes.id.unwrap()]);
        assert_eq!(difference(&first, &scene.tree()), "", "{walls:?} {instead:?}");
    }
}

#[test]
fn nothing_is_done_while_the_workspace_is_another_one_or_gone() {
    for walls in [Walls::A, Walls::C, Walls::None] {
        check_all(walls);
    }
}

#[test]
fn nothing_is_done_while_the_workspace_is_another_one_or_gone_with_bubblewrap() {
    if !Path::new("/usr/bin/bwrap").exists() {
        return skipped("bubblewrap is not installed");
    }
    check_all(Walls::B);
}

#[test]
fn the_same_for_an_ordinary_user() {
    as_ordinary_user("replaced_roots::nothing_is_done_while_the_workspace_is_another_one_or_gone");
}

#[test]
fn a_further_folder_is_looked_at_before_commands_and_before_what_is_done_in_it() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().canonicalize().unwrap();
    let (root, further) = (path.join("root"), path.join("further"));
    for folder in [&root, &further] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("f"), "1").unwrap();
    }
    let workspace = Workspace::open(&root).unwrap().with_root(&further).unwrap();
    let inside = further.join("f").display().to_string();
    for (tier, instead) in
        [Tier::A, Tier::C].into_iter().flat_map(|tier| INSTEAD.map(|i| (tier, i)))
    {
        let scene = Scene::new(Walls::A);
        let wanted = Wanted::Exactly(tier);
        let settings =
            Settings { roots: workspace.roots(), wanted, ..scene.sandbox.settings().clone() };
        let sandbox = Sandbox::new(settings);
        let run = |script: &str| {
            let mut command = scene.command(script);
            (command.folder, command.roots) = (root.clone(), workspace.open_roots());
            command.profile = Profile::workspace(&workspace);
            runtime().block_on(sandbox.run(command, &CancellationToken::new(), &mut |_, _| {}))
        };
        assert_eq!(run("echo 2 > ../further/f").unwrap().exit, Exit::Code(0));
        let (away, expected) = (replace(&further, instead), error(&further, instead));
        let before = trees(&further, &away);
        assert_eq!(moved_command(run("echo 3 > ../further/f")), expected);
        assert_eq!(moved_file(workspace.write(&inside, b"3", Expected::Any)), expected);
        assert_eq!(moved_file(workspace.read(&inside, 10)), expected);
        assert!(before == trees(&further, &away));
        // Nothing there is meant.
        workspace.write("f", b"3", Expected::Any).unwrap();
        assert_eq!(workspace.read("f", 10).unwrap(), b"3");
        put_back(&further, &away);
        assert_eq!(run("echo 3 > ../further/f").unwrap().exit, Exit::Code(0));
        assert_eq!(workspace.read(&inside, 10).unwrap(), b"3\n");
    }
}

#[test]
fn of_a_workspace_that_was_named_by_a_link_the_folder_counts() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().canonicalize().unwrap();
    let (root, link) = (path.join("root"), path.join("link"));
    std::fs::create_dir(&root).unwrap();
    std::os::unix::fs::symlink(&root, &link).unwrap();
    let workspace = Workspace::open(&link).unwrap();
    // Another link changes nothing about what the session works in.
    std::fs::remove_file(&link).unwrap();
    workspace.write("f", b"1", Expected::Any).unwrap();
    std::os::unix::fs::symlink(&root, &link).unwrap();
    let away = replace(&root, Instead::Copy);
    let expected = RootMoved::Replaced(root.clone());
    for inside in ["f".to_owned(), link.join("f").display().to_string()] {
        assert_eq!(moved_file(workspace.read(&inside, 10)), expected, "{inside}");
    }
    // A session that begins there now works in what is there.
    let again = Workspace::open(&link).unwrap();
    again.write("f", b"2", Expected::Any).unwrap();
    assert_eq!(std::fs::read(away.join("f")).unwrap(), b"1");
}

#[test]
fn a_workspace_that_a_command_moved_is_refused_to_the_next() {
    let scene = Scene::new(Walls::None);
    let (output, changes) = scene.run("mv ../work ../other; mkdir ../work; echo 1 > f");
    assert_eq!(output.exit, Exit::Code(0), "{}", printed(&output));
    assert_eq!(changes.troubles, [Trouble::Moved(scene.root())]);
    let expected = RootMoved::Replaced(scene.root());
    assert_eq!(moved_command(try_run(&scene, &scene.sandbox, "echo 2 > f")), expected);
    put_back(&scene.root(), &scene.top.path().join("other"));
    scene.change("echo 2 > f");
}

/// What somebody puts there while a command runs is nobody's command's.
#[test]
fn protected_names_in_a_folder_that_came_meanwhile_stay() {
    for walls in [Walls::A, Walls::C] {
        let scene = Scene::new(walls);
        scene.prepare("mkdir -p .git/hooks .vscode; touch .git/HEAD; echo old > .git/config");
        let (root, away) = (scene.root(), scene.root().with_extension("away"));
        std::fs::write(root.join(".vscode/settings.json"), "old").unwrap();
        let exchange = std::thread::spawn({
            let (root, away) = (root.clone(), away.clone());
            move || {
                while !root.join("ready").exists() {
                    std::thread::yield_now();
                }
                std::fs::rename(&root, &away).unwrap();
                for folder in [".git/hooks", ".idea"] {
                    std::fs::create_dir_all(root.join(folder)).unwrap();
                }
                for (name, text) in OTHER {
                    std::fs::write(root.join(name), text).unwrap();
                }
                let there = tree(&root);
                std::fs::write(away.join("stop"), "").unwrap();
                there
            }
        });
        let script = "touch ready; until [ -e stop ]; do sleep 0.01; done; echo end > .envrc";
        let (output, changes) = scene.run(script);
        let there = exchange.join().unwrap();
        assert_eq!(difference(&there, &tree(&root)), "", "{walls:?}");
        assert_eq!(changes.troubles, [Trouble::Moved(root.clone())]);
        let told: Vec<_> = output.protected.into_iter().map(|change| change.kind).collect();
        assert_eq!(told, [ProtectedChangeKind::Unlooked]);
        let expected = RootMoved::Replaced(root.clone());
        assert_eq!(moved_command(try_run(&scene, &scene.sandbox, "true")), expected);
        put_back(&root, &away);
        let output = scene.start("true", &scene.sandbox);
        let told: Vec<_> = output.protected.iter().map(ToString::to_string).collect();
        let envrc = root.join(".envrc");
        let was_made = format!("protected: {} was made; put back as it was", envrc.display());
        assert_eq!((told, envrc.exists()), (vec![was_made], false), "{walls:?}");
    }
}

const OTHER: [(&str, &str); 4] = [
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\tfsmonitor = theirs\n"),
    (".git/hooks/pre-commit", "theirs\n"),
    (".idea/workspace.xml", "theirs\n"),
];
