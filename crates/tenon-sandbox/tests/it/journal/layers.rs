//! Workspaces on overlayfs, as in a container: files of a lower layer are copied to the upper one
//! when they are written to.

use std::path::{Path, PathBuf};

use tenon_sandbox::{Conflicts, Coverage, JournalError, JournalOptions, runs_as_root};

use super::commands::{BEFORE, COMMANDS, check_as, lacks_program};
use super::protected::looked_after;
use super::tree::{Tree, difference, parted};
use super::{Scene, Walls};
use crate::skipped::skipped;

/// What is undone, in a lower layer with `f`, `g`, `h`, `d/e/f`, a link and a name of two files.
const CHANGES: &[&str] = &[
    "echo new > n; echo more >> f; sed -i s/a/b/ g; rm h",
    "mv d m; echo new > m/e/n; chmod 600 m/e/f",
    "truncate -s 1 f; ln f x; ln -sf g link; mkdir -p y/z; touch -d 2020-01-01 g",
    "rm -rf d; mkdir d; echo other > d/e; mv g h",
    "printf X | dd of=f conv=notrunc status=none; echo second > second",
];

/// A scene that is two layers. What holds them goes first.
struct Layers {
    _mounts: Mounts,
    _above: tempfile::TempDir,
    scene: Scene,
}

/// What is mounted, the last on top.
pub(crate) struct Mounts(pub(crate) Vec<PathBuf>);

impl Layers {
    /// The upper layer is on a file system of its own unless that is `same`.
    fn over(lower: &Path, walls: Walls, same: bool, options: &str) -> Self {
        let top = tempfile::Builder::new().prefix("layers").tempdir().unwrap();
        let (path, folder) = (top.path().canonicalize().unwrap(), tempfile::tempdir().unwrap());
        let above = folder.path().canonicalize().unwrap();
        let mut mounts = Mounts(Vec::new());
        if !same {
            mount(&["-t", "tmpfs", "tmpfs"], &above);
            mounts.0.push(above.clone());
        }
        let [upper, scratch] = ["upper", "scratch"].map(|name| above.join(name));
        for folder in [&upper, &scratch] {
            std::fs::create_dir(folder).unwrap();
        }
        let [lower, upper, scratch] =
            [lower, &upper, &scratch].map(|path| path.display().to_string());
        let options = format!("lowerdir={lower},upperdir={upper},workdir={scratch}{options}");
        mount(&["-t", "overlay", "-o", &options, "overlay"], &path);
        mounts.0.push(path.clone());
        for name in ["home", "state"] {
            std::fs::create_dir_all(path.join(name)).unwrap();
        }
        Self { _mounts: mounts, _above: folder, scene: Scene::with(top, walls, |_| {}) }
    }
}

/// What is there; names of one file part by themselves on layers.
fn seen(scene: &Scene) -> Tree {
    parted(scene.tree())
}

/// Returns a folder with a workspace that has what [`CHANGES`] change.
fn lower() -> tempfile::TempDir {
    let lower = tempfile::tempdir().unwrap();
    let at = |name: &str| lower.path().join("work").join(name);
    std::fs::create_dir_all(at("d/e")).unwrap();
    for name in ["f", "g", "h", "d/e/f", "first"] {
        std::fs::write(at(name), format!("a {name}\n")).unwrap();
    }
    std::fs::hard_link(at("first"), at("second")).unwrap();
    std::os::unix::fs::symlink("f", at("link")).unwrap();
    lower
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for mount in self.0.iter().rev() {
            let status = std::process::Command::new("umount").arg("-l").arg(mount).status();
            assert!(status.is_ok_and(|status| status.success()));
        }
    }
}

pub(crate) fn mount(arguments: &[&str], at: &Path) {
    let status = std::process::Command::new("mount").args(arguments).arg(at).status();
    assert!(status.unwrap().success(), "{arguments:?}");
}

#[track_caller]
fn check(same: bool, options: &str, coverage: Coverage) {
    if !runs_as_root() {
        skipped("only root mounts layers");
        return;
    }
    for walls in [Walls::A, Walls::C] {
        for script in CHANGES {
            let lower = lower();
            let layers = Layers::over(lower.path(), walls, same, options);
            let scene = &layers.scene;
            assert_eq!(scene.journal.coverage(), coverage);
            let before = seen(scene);
            let id = scene.change(script);
            let after = seen(scene);
            let back = scene.undo(id);
            let difference = difference(&before, &seen(scene));
            assert_eq!(difference, "", "{script}, undone");
            if coverage == Coverage::Commands {
                scene.undo(back);
                let difference = super::tree::difference(&after, &seen(scene));
                assert_eq!(difference, "", "{script}, redone");
            }
        }
    }
}

#[test]
fn what_changes_on_layers_of_one_file_system_is_undone() {
    check(true, "", Coverage::Commands);
}

#[test]
fn what_changes_on_layers_of_two_file_systems_is_undone() {
    check(false, ",xino=off", Coverage::ByComparison);
    check(false, ",xino=on", Coverage::Commands);
}

#[test]
fn every_command_is_undone_on_layers() {
    if !runs_as_root() {
        skipped("only root mounts layers");
        return;
    }
    let lower = Scene::new(Walls::None);
    lower.prepare(BEFORE);
    let undone = |(name, script): &(&str, &str)| {
        let layers = Layers::over(lower.top.path(), Walls::A, true, "");
        let outcome = check_as(&layers.scene, &seen, script, &[]);
        outcome.err().map(|what| format!("{name}: {what}\n"))
    };
    // Names cannot be exchanged there, and git would remove the store, which is in the workspace.
    let not_there = ["exchange rename", "git clean"];
    let there = COMMANDS
        .iter()
        .filter(|(name, _)| !not_there.contains(name) && !lacks_program(&lower, name));
    let failed: String = there.filter_map(undone).collect();
    assert!(failed.is_empty(), "{failed}");
}

/// Where the workspace is a mount of its own, the store is in it.
#[test]
fn a_store_in_the_workspace_stays_and_serves() {
    if !runs_as_root() {
        skipped("only root mounts file systems");
        return;
    }
    for by_comparison in [false, true] {
        let top = tempfile::Builder::new().prefix("inside").tempdir().unwrap();
        let path = top.path().canonicalize().unwrap();
        let [work, home, state] = ["work", "home", "state"].map(|name| path.join(name));
        for folder in [&work, &home, &state] {
            std::fs::create_dir(folder).unwrap();
        }
        mount(&["-t", "tmpfs", "tmpfs"], &work);
        let _mounted = Mounts(vec![work.clone()]);
        for name in ["f", "g", "h"] {
            std::fs::write(work.join(name), format!("a {name}\n")).unwrap();
        }
        let change = |options: &mut JournalOptions| options.by_comparison = by_comparison;
        let scene = Scene::with(top, Walls::A, change);
        assert!(work.join(".tenon/undo").exists());
        let before = scene.tree();
        let script = "mv .tenon t; rm -rf .tenon/undo/*; echo > .tenon/undo/evil; \
                      echo new > n; echo more >> f; sed -i s/a/b/ g; rm h";
        let (output, changes) = scene.run(script);
        assert_eq!(output.protected, [], "{by_comparison}");
        let is_there = |name: &str| work.join(name).exists();
        assert!(
            !is_there("t") && !is_there(".tenon/undo/evil"),
            "{by_comparison} {:?}",
            output.pieces
        );
        scene.undo(changes.id.unwrap());
        assert_eq!(difference(&before, &scene.tree()), "");
        if !by_comparison {
            // A command of a session further up could have written its records.
            let found = looked_after(&scene, "echo evil > .envrc; touch src");
            assert_eq!((found.changes.len(), found.unsure), (0, vec![work.join(".envrc")]));
            assert!(is_there(".envrc"));
        }
    }
}

/// What must be moved between the store and another mount cannot be.
#[test]
fn an_undo_on_a_mount_in_the_workspace_is_done_or_touches_nothing() {
    if !runs_as_root() {
        skipped("only root mounts file systems");
        return;
    }
    let scene = Scene::new(Walls::None);
    let place = scene.root().join("m");
    std::fs::create_dir(&place).unwrap();
    mount(&["-t", "tmpfs", "tmpfs"], &place);
    let _mounted = Mounts(vec![place]);
    scene
        .prepare("echo one > m/a; ln m/a m/b; echo x > m/x; mkdir m/d; echo y > m/d/y; echo t > t");
    for (script, is_done) in [
        ("echo two > m/x; echo t >> t", true),
        ("rm m/b; chmod 600 m/x", true),
        ("rm m/b m/x; echo t >> t", false),
        ("mv m/d m/e; echo t >> t", false),
        ("echo n > m/n; rm t", false),
        ("rm -r m/e; mkdir n", false),
    ] {
        let before = scene.tree();
        let id = scene.change(script);
        let after = scene.tree();
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
        let Err(JournalError::NotRestored { code, .. }) = outcome else {
            assert!(is_done, "{script}: {outcome:?}");
            assert_eq!(difference(&before, &scene.tree()), "", "{script}");
            continue;
        };
        assert_eq!((is_done, code), (false, libc::EXDEV), "{script}");
        assert_eq!(difference(&after, &scene.tree()), "", "{script}");
    }
}
