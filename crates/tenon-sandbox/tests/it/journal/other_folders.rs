//! Undo of calls by a session that works in other folders by now than when they ran.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tenon_sandbox::{
    CheckpointId, Conflicts, Exit, Journal, JournalError, JournalOptions, Undone, Workspace,
};

use super::tree::{Tree, difference, tree};
use super::{Scene, Walls};
use crate::walls::printed;

/// A workspace beside a folder `lib` that calls may work in as well.
struct Two {
    scene: Scene,
    top: PathBuf,
    /// In which the journal is kept.
    state: PathBuf,
}

impl Two {
    fn new() -> Self {
        Self::with_state("state")
    }

    fn with_state(state: &str) -> Self {
        let scene = Scene::new(Walls::None);
        let top = scene.top.path().canonicalize().unwrap();
        scene.prepare("echo one > a; mkdir ../lib; echo l > ../lib/l; mkdir sub; echo s > sub/s");
        let state = top.join(state);
        Self { scene, top, state }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    /// The journal of a session in the workspace and these folders beside it.
    fn journal(&self, folders: &[&str]) -> Journal {
        let mut workspace = Workspace::open(&self.path("work")).unwrap();
        for folder in folders {
            workspace = workspace.with_root(&self.path(folder)).unwrap();
        }
        Journal::open(&workspace, JournalOptions::new(&self.state)).unwrap()
    }

    /// Runs a script as a call of a session in these folders.
    fn change(&self, folders: &[&str], script: &str) -> CheckpointId {
        let checkpoint = self.journal(folders).begin("session", "call");
        let output = self.scene.start(script, &self.scene.sandbox.recording(&checkpoint));
        assert_eq!(output.exit, Exit::Code(0), "{script}: {}", printed(&output));
        checkpoint.finish().unwrap().id.unwrap()
    }

    fn trees(&self) -> [Tree; 2] {
        ["work", "lib"].map(|name| tree(&self.path(name)))
    }

    /// Undoes calls without the folders that they ran in, and takes that back.
    #[track_caller]
    fn is_undone_and_redone(&self, ids: &[CheckpointId], before: &[Tree; 2]) {
        let (after, journal) = (self.trees(), self.journal(&[]));
        let undone = undo(&journal, ids);
        self.is_as(before);
        undo(&journal, &[undone]);
        self.is_as(&after);
    }

    #[track_caller]
    fn is_as(&self, expected: &[Tree; 2]) {
        for (expected, now) in expected.iter().zip(&self.trees()) {
            assert_eq!(difference(expected, now), "");
        }
    }
}

#[track_caller]
fn undo(journal: &Journal, ids: &[CheckpointId]) -> CheckpointId {
    match journal.undo(ids, "session", &Conflicts::Refuse) {
        Ok(Undone::Done { id, .. }) => id,
        other => panic!("{other:?}"),
    }
}

/// That an undo is refused because a folder cannot be opened, which its error names.
#[track_caller]
fn refuses(journal: &Journal, ids: &[CheckpointId], folder: &Path) {
    let error = journal.undo(ids, "session", &Conflicts::Refuse).unwrap_err();
    assert!(matches!(error, JournalError::Unopened { .. }), "{error:?}");
    assert!(error.to_string().contains(&*folder.to_string_lossy()), "{error}");
    assert!(!journal.is_half_undone());
}

#[test]
fn what_calls_did_in_a_folder_that_is_none_of_the_session_by_now_is_undone_and_redone() {
    let two = Two::new();
    let before = two.trees();
    let first = two.change(&["lib"], "echo x >> a; echo x >> ../lib/l; mv a ../lib/a");
    let second = two.change(&[], "echo z > b");
    two.is_undone_and_redone(&[first, second], &before);
    undo(&two.journal(&["home"]), &[second]);
    undo(&two.journal(&["home"]), &[first]);
    two.is_as(&before);
}

#[test]
fn lines_of_a_file_in_a_folder_that_is_none_of_the_session_by_now_are_known() {
    let two = Two::new();
    let id = two.change(&["lib"], "echo x >> ../lib/l; rm a");
    let (journal, path) = (two.journal(&[]), two.path("lib/l"));
    let content = |found: Result<Option<Vec<u8>>, JournalError>| found.unwrap().unwrap();
    assert_eq!(content(journal.content_before(id, &path, 100)), b"l\n");
    assert_eq!(content(journal.content_after(id, &path, 100)), b"l\nx\n");
    assert_eq!(content(journal.content_before(id, Path::new("a"), 100)), b"one\n");
    assert!(journal.past(id).unwrap().entry(&path).is_some());
}

#[test]
fn a_call_that_was_cut_short_is_listed_and_undone_by_a_session_without_its_folder() {
    let two = Two::new();
    let before = two.trees();
    let checkpoint = two.journal(&["lib"]).begin("session", "call");
    two.scene.start("echo x >> a; echo x >> ../lib/l", &two.scene.sandbox.recording(&checkpoint));
    let id = checkpoint.id().unwrap();
    drop(checkpoint);
    let journal = two.journal(&[]);
    let listed = Scene::listed(&journal.changes(id).unwrap());
    assert_eq!(listed, [format!("edited {}", two.path("lib/l").display()), "edited a".to_owned()]);
    undo(&journal, &[id]);
    two.is_as(&before);
}

#[test]
fn a_folder_that_is_gone_holds_up_only_what_was_changed_in_it() {
    let two = Two::new();
    let start = two.trees();
    let first = two.change(&["lib"], "echo x >> a");
    let between = two.trees();
    let in_lib = two.change(&["lib"], "echo y >> a; echo y >> ../lib/l");
    let last = two.change(&["lib"], "echo z >> a");
    fs::rename(two.path("lib"), two.path("away")).unwrap();
    let (journal, before) = (two.journal(&[]), tree(&two.path("work")));
    let is_as = |expected: &Tree| {
        assert_eq!(difference(expected, &tree(&two.path("work"))), "");
    };
    assert_eq!(journal.changes(in_lib).unwrap().files.len(), 2);
    refuses(&journal, &[last, in_lib], &two.path("lib"));
    refuses(&journal, &[last, in_lib, first], &two.path("lib"));
    is_as(&before);
    let unopened = journal.unopened_folders("session").unwrap();
    assert!(matches!(&unopened[..], [(path, _)] if *path == two.path("lib")), "{unopened:?}");
    undo(&journal, &[last]);
    refuses(&journal, &[in_lib], &two.path("lib"));
    fs::rename(two.path("away"), two.path("lib")).unwrap();
    assert!(journal.unopened_folders("session").unwrap().is_empty());
    undo(&journal, &[in_lib]);
    two.is_as(&between);
    fs::rename(two.path("lib"), two.path("away")).unwrap();
    undo(&two.journal(&[]), &[first]);
    is_as(&start[0]);
}

#[test]
fn no_folder_is_opened_through_a_link_that_stands_in_its_place() {
    let two = Two::new();
    let id = two.change(&["lib"], "echo x >> a; echo x >> ../lib/l");
    fs::rename(two.path("lib"), two.path("away")).unwrap();
    symlink(two.path("away"), two.path("lib")).unwrap();
    let after = two.trees();
    refuses(&two.journal(&[]), &[id], &two.path("lib"));
    two.is_as(&after);
}

#[test]
fn where_others_may_write_logs_only_folders_that_the_session_had_are_opened() {
    let two = Two::with_state("work/state");
    let id = two.change(&["lib"], "echo x >> a; echo x >> ../lib/l");
    let after = fs::read(two.path("work/a")).unwrap();
    let journal = two.journal(&[]);
    refuses(&journal, &[id], &two.path("lib"));
    refuses(&journal.knowing(&[two.path("home")]), &[id], &two.path("lib"));
    assert_eq!(fs::read(two.path("work/a")).unwrap(), after);
    undo(&two.journal(&[]).knowing(&[two.path("lib")]), &[id]);
    assert_eq!(fs::read(two.path("work/a")).unwrap(), b"one\n");
    assert_eq!(fs::read(two.path("lib/l")).unwrap(), b"l\n");
}

#[test]
fn a_folder_in_the_workspace_that_a_later_call_removed_is_there_again_in_time() {
    let two = Two::new();
    let before = two.trees();
    let first = two.change(&["work/sub"], "echo x >> sub/s; echo n > sub/n");
    let second = two.change(&[], "rm -r sub");
    two.is_undone_and_redone(&[first, second], &before);
}
