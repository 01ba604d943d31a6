//! Folders that are closed to their owner, before a call or by it: undone, redone and listed like
//! all others, and as closed as they were when that fails.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tenon_sandbox::{Conflicts, Exit, JournalError};

use super::tree::{Tree, difference};
use super::{Scene, Walls, as_ordinary_user};
use crate::walls::printed;

/// In which order folders are looked at differs from run to run.
const RUNS: usize = 4;

/// What is there before, and what a command does.
const CASES: &[(&str, &str)] = &[
    (
        "mkdir -p s/a/b; echo 1 > s/a/b/f; chmod 0 s/a/b; chmod 0 s/a; chmod 0 s",
        "chmod 700 s; chmod 700 s/a; chmod 700 s/a/b; rm -rf s",
    ),
    ("mkdir d; echo > d/x", "mkdir d/a; echo > d/a/x; chmod 000 d"),
    ("mkdir -p d/e; echo > d/e/x", "mkdir d/a; echo > d/a/x; rm d/e/x; chmod 000 d/e d"),
    (
        "mkdir -p d/n/e d/n/m; echo > d/n/e/f; chmod 000 d/n/m d/n d",
        "chmod 700 d d/n; rm -rf d/n/e; mkdir -p d/n/q/r; chmod 500 d/n/q; chmod 000 d/n d",
    ),
    (
        "mkdir -p s/a; echo 1 > s/a/f; chmod 500 s/a; chmod 000 s",
        "chmod 700 s s/a; echo x > s/a/f; echo n > s/a/n",
    ),
    ("mkdir -p s/a/b; echo 1 > s/a/b/f; echo 2 > s/g", "chmod 644 s/a/b s/a s/g s"),
    ("echo 1 > f; echo 1 > g", "echo 2 >> f; echo 2 > g; chmod 0 f g"),
    ("echo 1 > f; chmod 0 f", "chmod 600 f; exec 3>>f; chmod 0 f; echo 2 >&3"),
    ("mkdir -p s/a t; echo 1 > t/f", "mv t s/a/; chmod 0 s/a/t s/a s"),
    ("mkdir t; echo 1 > t/f", "mkdir -p s/a; mv t s/a/; echo 2 > s/a/t/f; chmod 0 s/a/t s/a s"),
    ("mkdir keys secure; echo SECRET > keys/a", "mv keys secure/; chmod 600 secure"),
    ("mkdir keys; echo SECRET > keys/a", "mkdir secure; mv keys secure/; chmod 600 secure"),
    ("mkdir secure; echo SECRET > key", "mv key secure/; chmod 600 secure"),
    ("echo SECRET > key", "mkdir -p secure/in; mv key secure/in; chmod 0 secure/in secure"),
    (
        "mkdir d; python3 -c \"import os; os.setxattr('d', 'user.a', b'1')\"; chmod 0 d",
        "chmod 700 d; rm -r d",
    ),
    (
        "echo 1 > f; python3 -c \"import os; os.setxattr('f', 'user.a', b'1')\"; chmod 0 f",
        "chmod 600 f; python3 -c \"import os; os.setxattr('f', 'user.b', b'2')\"; chmod 0 f",
    ),
];

/// The tree with what is in closed folders, which are open for the moment.
pub(super) fn whole(scene: &Scene) -> Tree {
    let mut closed = Vec::new();
    open_all(&scene.root(), &mut closed);
    let mut tree = scene.tree();
    for (path, mode) in closed {
        std::fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777)).unwrap();
        let path = path.strip_prefix(scene.root()).unwrap();
        tree.get_mut(path).unwrap().mode = mode;
    }
    tree
}

/// Opens all folders; how they were, deeper ones first.
fn open_all(folder: &Path, closed: &mut Vec<(PathBuf, u32)>) {
    let mode = std::fs::symlink_metadata(folder).unwrap().permissions().mode();
    if mode & 0o700 != 0o700 {
        std::fs::set_permissions(folder, Permissions::from_mode(mode | 0o700)).unwrap();
        closed.insert(0, (folder.to_path_buf(), mode));
    }
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            open_all(&entry.path(), closed);
        }
    }
}

fn undo_and_redo(by_comparison: bool) {
    for (prepare, script) in CASES {
        for _ in 0..RUNS {
            let scene = Scene::at(&std::env::temp_dir(), Walls::None, |options| {
                options.by_comparison = by_comparison;
            });
            scene.prepare(prepare);
            let before = whole(&scene);
            let (output, changes) = scene.run(script);
            assert_eq!(output.exit, Exit::Code(0), "{script}: {}", printed(&output));
            let (after, id) = (whole(&scene), changes.id.unwrap());
            let mut last = id;
            for expected in [&before, &after, &before, &after] {
                last = match scene.journal.undo(&[last], "session", &Conflicts::Refuse) {
                    Ok(tenon_sandbox::Undone::Done { id, .. }) => id,
                    other => panic!("{script}: {other:?}"),
                };
                assert_eq!(difference(expected, &whole(&scene)), "", "{script}");
            }
            // From what the command itself saved, once more.
            scene.undo(id);
            assert_eq!(difference(&before, &whole(&scene)), "", "{script}");
        }
    }
}

#[test]
fn what_is_in_closed_folders_is_undone_and_redone() {
    undo_and_redo(false);
}

#[test]
fn what_is_in_closed_folders_is_undone_and_redone_for_an_ordinary_user() {
    as_ordinary_user("closed::what_is_in_closed_folders_is_undone_and_redone");
}

#[test]
fn what_is_in_closed_folders_is_undone_and_redone_where_commands_are_compared() {
    undo_and_redo(true);
}

#[test]
fn what_is_in_closed_folders_is_undone_for_an_ordinary_user_where_commands_are_compared() {
    as_ordinary_user(
        "closed::what_is_in_closed_folders_is_undone_and_redone_where_commands_are_compared",
    );
}

#[test]
fn several_calls_that_close_folders_are_undone_as_one() {
    for _ in 0..RUNS {
        let scene = Scene::new(Walls::None);
        scene.prepare("mkdir -p d/e; echo > d/e/f");
        let before = whole(&scene);
        let calls = [
            "mkdir -p d/n/m; mv d/e d/n; chmod 000 d/n/m d/n d",
            "chmod 700 d d/n; rm -rf d/n/e; mkdir -p d/n/q/r; chmod 500 d/n/q; chmod 000 d/n d",
        ];
        let ids = calls.map(|script| scene.change(script));
        let after = whole(&scene);
        let undone = scene.undo_all(&ids);
        assert_eq!(difference(&before, &whole(&scene)), "");
        let redone = scene.undo(undone);
        assert_eq!(difference(&after, &whole(&scene)), "");
        scene.undo(redone);
        assert_eq!(difference(&before, &whole(&scene)), "");
    }
}

#[test]
fn several_calls_that_close_folders_are_undone_as_one_for_an_ordinary_user() {
    as_ordinary_user("closed::several_calls_that_close_folders_are_undone_as_one");
}

#[test]
fn an_undo_that_fails_leaves_folders_as_closed_as_they_were() {
    for _ in 0..RUNS {
        let scene = Scene::new(Walls::None);
        scene.prepare("mkdir -p d/e/g o/p; echo 1 > d/e/g/f; echo 2 > o/p/text");
        let id = scene.change("echo c > o/p/text; rm d/e/g/f; chmod 0 d/e/g d/e d o/p o");
        super::crash::empty_object(&scene, "o1");
        let after = whole(&scene);
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
        assert!(matches!(outcome, Err(JournalError::NotRestored { .. })), "{outcome:?}");
        assert_eq!(difference(&after, &whole(&scene)), "");
    }
}

#[test]
fn an_undo_that_fails_leaves_folders_as_closed_as_they_were_for_an_ordinary_user() {
    as_ordinary_user("closed::an_undo_that_fails_leaves_folders_as_closed_as_they_were");
}

#[test]
fn what_was_moved_into_a_folder_that_was_closed_is_listed_as_moved() {
    let scene = Scene::new(Walls::None);
    scene.prepare("mkdir keys secure; echo SECRET > keys/a; echo one > text");
    let (_, changes) = scene.run("mv keys secure/; echo two > secure/new; chmod 600 secure");
    let expected = ["mode secure", "renamed secure/keys", "created secure/new"];
    let mut listed = Scene::listed(&changes);
    listed.sort_unstable_by_key(|line| expected.iter().position(|known| known == line));
    assert_eq!(listed, expected);
}

#[test]
fn what_was_moved_into_a_folder_that_was_closed_is_listed_as_moved_for_an_ordinary_user() {
    as_ordinary_user("closed::what_was_moved_into_a_folder_that_was_closed_is_listed_as_moved");
}

#[test]
fn what_a_person_changed_in_a_closed_folder_is_a_conflict() {
    let scene = Scene::new(Walls::None);
    scene.prepare("mkdir d; echo one > d/text");
    let id = scene.change("echo two > d/text; chmod 0 d");
    scene.prepare("chmod 700 d; echo person > d/text; chmod 0 d");
    let now = whole(&scene);
    let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap();
    assert!(matches!(outcome, tenon_sandbox::Undone::Conflicts(_)), "{outcome:?}");
    assert_eq!(difference(&now, &whole(&scene)), "");
}

#[test]
fn what_a_person_changed_in_a_closed_folder_is_a_conflict_for_an_ordinary_user() {
    as_ordinary_user("closed::what_a_person_changed_in_a_closed_folder_is_a_conflict");
}

/// Root may do all of it.
#[test]
fn what_a_closed_file_or_folder_refuses_is_refused_by_the_kernel_and_no_change() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo 1 > text; mkdir folder; chmod 0 text folder");
    let (output, changes) = scene.run(
        "echo 2 > text; mkdir folder/new; rm folder/old; ls text; \
         echo 3 > link; ln link folder/; mv -T link folder/moved",
    );
    let said = printed(&output);
    if rustix::process::geteuid().is_root() {
        assert_eq!(
            Scene::listed(&changes),
            ["created folder/link", "created folder/moved", "created folder/new", "edited text"]
        );
        assert!(said.contains("'folder/old': No such file"), "{said}");
    } else {
        assert_eq!(Scene::listed(&changes), ["created link"]);
        assert_eq!(changes.troubles, []);
        assert_eq!(said.matches("Permission denied").count(), 5, "{said}");
    }
}

#[test]
fn what_a_closed_file_or_folder_refuses_is_refused_by_the_kernel_for_an_ordinary_user() {
    as_ordinary_user(
        "closed::what_a_closed_file_or_folder_refuses_is_refused_by_the_kernel_and_no_change",
    );
}

#[test]
fn what_was_in_a_closed_file_that_is_gone_can_be_read_for_a_replay() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo 1 > text; chmod 0 text");
    let id = scene.change("rm -f text");
    let past = scene.journal.past(id).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(past.write_content(Path::new("text"), file.as_file(), false).unwrap());
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "1\n");
    let before = scene.journal.content_before(id, Path::new("text"), 100).unwrap();
    assert_eq!(before.as_deref(), Some(&b"1\n"[..]));
}

#[test]
fn what_was_in_a_closed_file_that_is_gone_can_be_read_for_an_ordinary_user() {
    as_ordinary_user("closed::what_was_in_a_closed_file_that_is_gone_can_be_read_for_a_replay");
}
