//! What nobody has any more is told before somebody says that it is to be put back: that would fail.

use tenon_sandbox::{ConflictReason, Conflicts, Undone};

use super::conflicts::{CASES, person};
use super::tree::difference;
use super::{Scene, Walls};

#[test]
fn what_is_named_can_be_put_back_unless_it_is_told_that_nobody_has_it() {
    for (script, edit, _) in CASES {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo one > text; mkdir dir; echo f > dir/f; umask 022");
        let before = scene.tree();
        let id = scene.change(&format!("umask 022; {script}"));
        person(&scene, &format!("umask 022; sleep 0.02; {edit}"));
        let mine = scene.tree();
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap();
        let Undone::Conflicts(found) = outcome else { continue };
        let named = found.iter().map(|found| found.path.clone()).collect();
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Overwrite(named));
        if found.iter().any(|found| found.reason == ConflictReason::NotKept) {
            assert!(outcome.is_err(), "{script}, then {edit}: {outcome:?}");
            assert_eq!(difference(&mine, &scene.tree()), "", "{script}, then {edit}");
        } else {
            let Ok(Undone::Done { .. }) = outcome else { panic!("{script}, {edit}: {outcome:?}") };
            let now = scene.tree();
            for path in found.iter().map(|found| &found.path) {
                let (was, is) = (before.get(path), now.get(path));
                let is_alike = was.zip(is).is_some_and(|(was, is)| was.has_same_bytes(is));
                let is_alike = is_alike || was.is_none() && is.is_none();
                // The content of what a call only renamed is nobody's but theirs.
                assert!(is_alike || script.starts_with("mv"), "{script}, then {edit}: {path:?}");
            }
        }
    }
}
