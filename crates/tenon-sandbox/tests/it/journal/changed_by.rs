//! Which call a conflict of an undo is of.

use tenon_sandbox::{CheckpointId, Conflicts, Undone};

use super::{Scene, Walls};

type Said = Vec<(String, Option<CheckpointId>)>;

/// What an undo of these conflicts with, and which call made it.
fn conflicts(scene: &Scene, ids: &[CheckpointId]) -> Said {
    let found = match scene.journal.undo(ids, "session", &Conflicts::Refuse).unwrap() {
        Undone::Conflicts(found) => found,
        Undone::Done { .. } => panic!("{ids:?} was undone"),
    };
    let by = scene.journal.changed_by(&found, ids);
    let paths = found.iter().map(|conflict| conflict.path.display().to_string());
    paths.zip(by).collect()
}

#[test]
fn a_conflict_names_the_call_that_made_it_and_nobody_where_a_person_did() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo f > f; mkdir d; echo x > d/x");
    let conflicts = |ids: &[CheckpointId]| conflicts(&scene, ids);
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

#[test]
fn a_conflict_names_the_call_that_moved_what_was_changed_also_where_nobody_has_what_was_in_it() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo f > f; echo g > g; mkdir d; echo x > d/x");
    let first = scene.change("echo 1 >> f; echo 1 >> g; echo 1 >> d/x");
    let second = scene.change("mv f f2; mv g g2; mv d e; echo 2 >> f2; echo 2 >> e/x");
    let said = ["d/x", "f", "g"].map(|path| (path.to_owned(), Some(second)));
    assert_eq!(conflicts(&scene, &[first]), said);
    // What a third call changes there is still where the second took it.
    scene.change("echo 3 >> g2; echo 3 >> e/x");
    assert_eq!(conflicts(&scene, &[first]), said);
}

#[test]
fn a_conflict_names_the_job_that_changed_it_also_where_a_later_call_is_undone() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > a; echo two > b");
    let job = scene.begin();
    let runs = |script: &str| drop(scene.start(script, &scene.sandbox.recording(&job)));
    runs("echo 1 >> a; sed -i s/two/2/ b");
    let call = scene.change("sed -i s/one/ONE/ a; mv b c; cp c b");
    runs("echo 2 >> a; sed -i s/2/3/ b");
    let later = scene.change("rm a; mkdir a; ln -sf a b");
    runs("sed -i s/3/4/ b");
    let job = job.finish().unwrap().id;
    scene.undo(later);
    let said = ["a", "b"].map(|path| (path.to_owned(), job));
    assert_eq!(conflicts(&scene, &[call]), said);
    scene.prepare("echo mine >> a");
    assert_eq!(conflicts(&scene, &[call]), [("a".to_owned(), None), said[1].clone()]);
}
