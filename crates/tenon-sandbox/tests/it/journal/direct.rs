//! What file tools write, without any command.

use tenon_sandbox::{CheckpointId, CheckpointState, Expected, Journal};

use super::tree::difference;
use super::{Scene, Walls};

#[test]
fn written_files_and_made_folders_are_undone_and_redone() {
    let scene = Scene::new(Walls::None);
    std::fs::write(scene.root().join("old"), "old\n").unwrap();
    let before = scene.tree();
    let checkpoint = scene.begin();
    let workspace = scene.workspace.recording(&checkpoint);
    workspace.write("old", b"new\n", Expected::Any).unwrap();
    workspace.write("a/b/c", b"made\n", Expected::Absent).unwrap();
    workspace.write("old", b"newer\n", Expected::Any).unwrap();
    let changes = checkpoint.finish().unwrap();
    assert_eq!(Scene::listed(&changes), ["created a", "edited old"]);
    assert_eq!(changes.summary(), "1 file changed, 2 new under a/");
    let after = scene.tree();
    let undone = scene.undo(changes.id.unwrap());
    assert_eq!(difference(&before, &scene.tree()), "");
    let redone = scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "");
    scene.undo(redone);
    assert_eq!(difference(&before, &scene.tree()), "");
}

#[test]
fn nothing_is_kept_of_a_call_that_changes_nothing() {
    let scene = Scene::new(Walls::None);
    let checkpoint = scene.begin();
    let changes = checkpoint.finish().unwrap();
    assert!(changes.is_empty() && changes.id.is_none());
    assert_eq!(scene.journal.checkpoints().unwrap(), []);
}

#[test]
fn content_before_and_after_a_call_is_known() {
    let scene = Scene::new(Walls::None);
    let write = |text: &str| {
        let checkpoint = scene.begin();
        let workspace = scene.workspace.recording(&checkpoint);
        workspace.write("file", text.as_bytes(), Expected::Any).unwrap();
        checkpoint.finish().unwrap().id.unwrap()
    };
    let ids = ["one", "two", "three"].map(write);
    let before = |id| scene.journal.content_before(id, "file".as_ref(), 100).unwrap();
    let after = |id| scene.journal.content_after(id, "file".as_ref(), 100).unwrap();
    assert_eq!(ids.map(before), [None, Some(b"one".to_vec()), Some(b"two".to_vec())]);
    let texts = ["one", "two", "three"].map(|text| Some(text.as_bytes().to_vec()));
    assert_eq!(ids.map(after), texts);
    assert!(scene.journal.content_before(ids[1], "file".as_ref(), 2).is_err());
    // Wherever undo and redo take it.
    let check = |what: &str| {
        let expected = [None, Some(b"one".to_vec()), Some(b"two".to_vec())];
        assert_eq!(ids.map(before), expected, "{what}");
        assert_eq!(ids.map(after), texts, "{what}");
    };
    let mut step = scene.undo_all(&ids[1..]);
    for what in ["undone", "redone", "undone again", "redone again"] {
        check(what);
        step = scene.undo(step);
    }
    check("undone and redone twice");
}

#[test]
fn content_is_known_whatever_became_of_the_file() {
    let scene = Scene::new(Walls::None);
    scene
        .prepare("mkdir d; echo old > d/deep; echo old > link; echo old > edited; echo old > gone");
    let id = scene.change("rm -r d; ln link twin; echo new > link; echo new >> edited; rm gone");
    let contents = || {
        ["d/deep", "link", "edited", "gone"].map(|path| {
            let before = scene.journal.content_before(id, path.as_ref(), 100).unwrap();
            let after = scene.journal.content_after(id, path.as_ref(), 100).unwrap();
            let text = |bytes: Option<Vec<u8>>| bytes.map(|it| String::from_utf8(it).unwrap());
            (text(before), text(after))
        })
    };
    let expected = contents();
    let old = || Some("old\n".to_owned());
    assert_eq!(expected[0], (old(), None));
    assert_eq!(expected[1], (old(), Some("new\n".to_owned())));
    assert_eq!(expected[2], (old(), Some("old\nnew\n".to_owned())));
    let mut step = id;
    for what in ["undo", "redo", "undo again"] {
        step = scene.undo(step);
        let now = contents();
        assert_eq!(
            now.each_ref().map(|now| &now.0),
            expected.each_ref().map(|was| &was.0),
            "{what}"
        );
        assert_eq!(now[1..3], expected[1..3], "{what}");
    }
    // What is changed afterwards in the same file is another call's.
    scene.change("echo later >> gone; echo later > edited");
    assert_eq!(contents()[3].0, old());
    assert_eq!(contents()[2].0, old());
}

#[test]
fn an_undo_is_redone_also_when_what_it_undid_has_gone_to_make_room() {
    let above = std::env::temp_dir();
    let scene = Scene::at(&above, Walls::None, |_| {});
    scene.prepare("echo one > text; echo one > other");
    let id = scene.change("echo two > text; rm other; mkdir new");
    let after = scene.tree();
    let undone = scene.undo(id);
    let log = scene.journal.checkpoints().unwrap();
    assert!(!log[0].is_undo() && log[1].is_undo());
    let store = std::fs::read_dir(scene.journal.folders().remove(0)).unwrap().next();
    let store = store.unwrap().unwrap().path();
    let name = format!("{:0>12}", id.to_string());
    std::fs::remove_file(store.join(&name)).unwrap();
    std::fs::remove_dir_all(store.join("kept").join(name)).unwrap();
    let redone = scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "");
    let infos = scene.journal.checkpoints().unwrap();
    assert_eq!(infos.iter().map(|info| info.id).collect::<Vec<_>>(), [undone, redone]);
    assert!(infos[0].is_undo() && !infos[1].is_undo());
}

#[test]
fn several_checkpoints_are_undone_at_once_and_listed_as_such() {
    let scene = Scene::new(Walls::None);
    let before = scene.tree();
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        let checkpoint = scene.begin();
        let workspace = scene.workspace.recording(&checkpoint);
        workspace.write("file", text.as_bytes(), Expected::Any).unwrap();
        ids.push(checkpoint.finish().unwrap().id.unwrap());
    }
    let by = scene.undo_all(&ids);
    assert_eq!(difference(&before, &scene.tree()), "");
    let infos = scene.journal.checkpoints().unwrap();
    let states: Vec<_> = infos.iter().map(|info| info.state).collect();
    let undone = CheckpointState::Undone { by };
    assert_eq!(states, [undone, undone, undone, CheckpointState::Done]);
    assert!(scene.journal.undo(&ids[..1], "session", &tenon_sandbox::Conflicts::Refuse).is_err());
    scene.undo(by);
    assert_eq!(std::fs::read_to_string(scene.root().join("file")).unwrap(), "three");
}

#[test]
fn the_oldest_sessions_go_when_there_is_too_much() {
    let scene =
        Scene::at(&std::env::temp_dir(), Walls::None, |options| options.bytes_max = 500_000);
    for session in ["one", "two", "three"] {
        let checkpoint = scene.journal.begin(session, "call");
        let workspace = scene.workspace.recording(&checkpoint);
        workspace.write("file", &[session.len() as u8; 200_000], Expected::Any).unwrap();
        workspace.write("file", &[0; 200_000], Expected::Any).unwrap();
        checkpoint.finish().unwrap();
        let checkpoint = scene.journal.begin(session, "call");
        let workspace = scene.workspace.recording(&checkpoint);
        workspace.write("file", &[1; 200_000], Expected::Any).unwrap();
        checkpoint.finish().unwrap();
    }
    assert!(scene.journal.usage().unwrap().bytes > 900_000);
    let pruned = scene.journal.prune().unwrap();
    assert_eq!((pruned.sessions, pruned.checkpoints), (vec!["one".into(), "two".into()], 4));
    assert!(scene.journal.usage().unwrap().bytes <= 500_000);
    assert_eq!(scene.journal.forget_session("three").unwrap().checkpoints, 2);
    assert_eq!(scene.journal.checkpoints().unwrap(), []);
}

#[test]
fn what_one_session_keeps_is_bounded_while_it_runs_and_the_last_call_stays() {
    let bytes_max = 500_000;
    let scene = Scene::at(&std::env::temp_dir(), Walls::None, |it| it.bytes_max = bytes_max);
    let write = |journal: &Journal, bytes: usize, fill: u8| {
        let checkpoint = journal.begin("session", "call");
        let workspace = scene.workspace.recording(&checkpoint);
        workspace.write("file", &vec![fill; bytes], Expected::Any).unwrap();
        let id = checkpoint.finish().unwrap().id.unwrap();
        journal.prune_if_due();
        id
    };
    let journal = scene.opened_with(|it| it.bytes_max = bytes_max);
    let ids: Vec<CheckpointId> = (0..30).map(|fill| write(&journal, 100_000, fill)).collect();
    // Whoever drops it last waits.
    drop(journal);
    let usage = scene.journal.usage().unwrap();
    assert!(usage.bytes <= bytes_max && usage.checkpoints > 1, "{usage:?}");
    let infos = scene.journal.checkpoints().unwrap();
    assert_eq!(infos.iter().map(|info| info.id).collect::<Vec<_>>(), ids[30 - infos.len()..]);
    // One that alone takes more than all may stays until another comes.
    write(&scene.journal, 2_000_000, 1);
    let large = write(&scene.journal, 1, 1);
    scene.journal.prune().unwrap();
    let infos = scene.journal.checkpoints().unwrap();
    assert_eq!(infos.iter().map(|info| info.id).collect::<Vec<_>>(), [large]);
    scene.undo(large);
    scene.journal.prune().unwrap();
    assert_eq!(std::fs::metadata(scene.root().join("file")).unwrap().len(), 2_000_000);
}

#[test]
fn the_store_is_private_and_near_the_workspace() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new(Walls::None);
    let folders = scene.journal.folders();
    assert_eq!(folders, [scene.top.path().canonicalize().unwrap().join("state/undo")]);
    let mode = std::fs::metadata(&folders[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn what_an_undo_put_back_is_told_with_where_it_was_in_the_tree() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo a > a; ln a hard");
    let before = scene.tree();
    let moved = scene.change("mkdir -p x/y; mv hard x/y");
    let removed = scene.change("rm -r x");
    let after = scene.tree();
    let undone = scene.undo_all(&[moved, removed]);
    assert_eq!(difference(&before, &scene.tree()), "");
    let changes = scene.journal.changes(undone).unwrap();
    assert_eq!(Scene::listed(&changes), ["created hard"]);
    scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "");
}
