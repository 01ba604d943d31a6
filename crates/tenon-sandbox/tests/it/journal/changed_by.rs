//! Which call a conflict of an undo is of.

use tenon_sandbox::{CheckpointId, Conflicts, Undone};

use super::{Scene, Walls};

#[test]
fn a_conflict_names_the_call_that_made_it_and_nobody_where_a_person_did() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo f > f; mkdir d; echo x > d/x");
    let conflicts = |ids: &[CheckpointId]| {
        let found = match scene.journal.undo(ids, "session", &Conflicts::Refuse).unwrap() {
            Undone::Conflicts(found) => found,
            Undone::Done { .. } => panic!("{ids:?} was undone"),
        };
        let by = scene.journal.changed_by(&found, ids);
        let paths = found.iter().map(|conflict| conflict.path.display().to_string());
        paths.zip(by).collect::<Vec<_>>()
    };
    let said = |path: &str, by: Option<CheckpointId>| vec![(path.to_owned(), by)];
    let first = scene.change("echo 1 > f; echo 1 > d/x");
    let second = scene.change("echo 2 > f");
    assert_eq!(conflicts(&[first]), said("f", Some(second)));
    let third = scene.change("rm f");
    assert_eq!(conflicts(&[first]), said("f", Some(third)));
    assert_eq!(conflicts(&[first, second]), said("f", Some(third)));
    scene.undo(third);
    assert_eq!(conflicts(&[first]), said("f", Some(second)));
    let job = scene.begin();
    drop(scene.start("echo 3 >> d/x", &scene.sandbox.recording(&job)));
    let mut both = said("d/x", job.id());
    both.extend(said("f", Some(second)));
    assert_eq!(conflicts(&[first]), both);
    scene.prepare("echo mine >> f");
    both[1].1 = None;
    assert_eq!(conflicts(&[first]), both);
    let job = job.finish().unwrap().id;
    assert_eq!(conflicts(&[first]), [("d/x".to_owned(), job), ("f".to_owned(), None)]);
}
