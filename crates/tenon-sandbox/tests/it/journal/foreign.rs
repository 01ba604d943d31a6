//! Folders of another owner, which an ordinary user may rename in a folder of their own, and not move.

use std::os::unix::fs::{PermissionsExt, chown};

use super::tree::difference;
use super::{Scene, Walls};
use crate::skipped::skipped;
use crate::walls::{ordinary_user, rustix_is_root};

/// Names the folder of a scene to the process of the ordinary user.
const FOLDER: &str = "TENON_TEST_FOREIGN";

/// Folders of root, each with a file.
const FOREIGN: [&str; 3] = ["a", "b", "c"];

const EXCHANGE: &str =
    "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100,b'a',-100,b'b',2)\"";

const SCRIPTS: [&str; 7] = [
    "mv a n",
    "mv a n; mkdir a; echo 1 > a/x",
    "mv a n; mv b a; mv n b",
    "mv a n; mv b a; mv c b; mv n c",
    "mkdir o; echo 1 > o/x; mv a n; mv o a",
    // A file of one's own is to come where one of two is that took each other's names.
    "mkdir o; mv a0 o; mv b a0; mv c b",
    EXCHANGE,
];

/// The part of the ordinary user; does nothing in an ordinary run.
#[test]
fn foreign_folders_are_renamed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let scene = Scene::in_folder(folder.as_ref(), Walls::None, |_| {});
    for script in SCRIPTS {
        let before = scene.tree();
        let id = scene.change(script);
        let after = scene.tree();
        assert_ne!(difference(&before, &after), "", "{script}");
        let undone = scene.undo(id);
        assert_eq!(difference(&before, &scene.tree()), "", "{script}");
        let redone = scene.undo(undone);
        assert_eq!(difference(&after, &scene.tree()), "", "redo of {script}");
        scene.undo(redone);
        assert_eq!(difference(&before, &scene.tree()), "", "{script} again");
    }
}

#[test]
fn folders_of_another_owner_that_a_command_renamed_get_their_names_back() {
    if !rustix_is_root() {
        return skipped("there are no folders of another owner for an ordinary user");
    }
    let top = tempfile::Builder::new().prefix("journal").tempdir().unwrap();
    for name in ["work", "home", "state"] {
        std::fs::create_dir(top.path().join(name)).unwrap();
        chown(top.path().join(name), Some(65534), Some(65534)).unwrap();
    }
    std::fs::write(top.path().join("work/a0"), "own").unwrap();
    chown(top.path().join("work/a0"), Some(65534), Some(65534)).unwrap();
    std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in FOREIGN {
        let folder = top.path().join("work").join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(folder.join("f"), name).unwrap();
    }
    let test = "journal::foreign::foreign_folders_are_renamed";
    let folder = top.path().to_str().unwrap();
    match ordinary_user(&["--exact", test, "--nocapture"], &[(FOLDER, folder)]) {
        Ok(said) => assert!(said.contains("1 passed"), "{said}"),
        Err(reason) => skipped(format_args!("{reason}")),
    }
}
