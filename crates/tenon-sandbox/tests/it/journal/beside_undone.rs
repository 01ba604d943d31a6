//! Undo and redo of calls while a background job goes on, and undo of all of them once it has ended.

use tenon_sandbox::{
    Checkpoint, CheckpointId, CheckpointKind, CheckpointState, Conflicts, Journal, Undone,
};

use super::closed::whole;
use super::tree::{Tree, difference};
use super::{Scene, Walls};

const PREPARE: &str = "umask 022; echo f > f; mkdir d; echo x > d/x";

/// What happens one after the other.
#[derive(Debug, Clone, Copy)]
enum Does {
    Job(&'static str),
    /// A call that is over at once.
    Call(&'static str),
    /// Takes the newest call back that stands, or touches nothing.
    Undo,
    /// Takes the newest undo back that stands, or touches nothing.
    Redo,
}

use Does::{Call, Job, Redo, Undo};

struct Course {
    scene: Scene,
    /// Who undoes and redoes while the job runs: the journal of the scene, or that of another process.
    undoer: Journal,
    before: Tree,
    job: Option<Checkpoint>,
}

impl Course {
    fn new(by_another: bool) -> Self {
        let scene = Scene::new(Walls::None);
        let undoer = if by_another { scene.opened_again() } else { scene.journal.clone() };
        scene.prepare(PREPARE);
        let before = whole(&scene);
        let job = Some(scene.begin());
        Self { scene, undoer, before, job }
    }

    fn go(&self, does: Does) -> Result<(), String> {
        match does {
            Job(script) => {
                let job = self.job.as_ref().unwrap();
                drop(self.scene.start(script, &self.scene.sandbox.recording(job)));
            }
            Call(script) => drop(self.scene.run(script)),
            Undo => self.take_back(self.standing(|kind| *kind == CheckpointKind::Call).last())?,
            Redo => self.take_back(self.standing(|kind| *kind != CheckpointKind::Call).last())?,
        }
        Ok(())
    }

    fn standing(&self, is_wanted: impl Fn(&CheckpointKind) -> bool) -> Vec<CheckpointId> {
        let infos = self.scene.journal.checkpoints().unwrap().into_iter();
        let stands = infos.filter(|info| info.state == CheckpointState::Done);
        stands.filter(|info| is_wanted(&info.kind)).map(|info| info.id).collect()
    }

    fn take_back(&self, id: Option<&CheckpointId>) -> Result<(), String> {
        let Some(id) = id else { return Ok(()) };
        let now = whole(&self.scene);
        match self.undoer.undo(&[*id], "session", &Conflicts::Refuse) {
            Ok(Undone::Done { .. }) => Ok(()),
            Ok(Undone::Conflicts(_)) => self.is(&now, "refused"),
            Err(error) => Err(format!("undo of {id}: {error}")),
        }
    }

    fn is(&self, expected: &Tree, what: &str) -> Result<(), String> {
        match difference(expected, &whole(&self.scene)) {
            rest if rest.is_empty() => Ok(()),
            rest => Err(format!("{what}: {rest}")),
        }
    }

    fn all(
        &self,
        ids: &[CheckpointId],
        expected: &Tree,
        what: &str,
    ) -> Result<CheckpointId, String> {
        match self.scene.journal.undo(ids, "session", &Conflicts::Refuse) {
            Ok(Undone::Done { id, .. }) => self.is(expected, what).map(|()| id),
            other => Err(format!("{what} of {ids:?}: {other:?}")),
        }
    }

    /// Once the job is over, all that stands is undone at once, and redone.
    fn end(mut self) -> Result<(), String> {
        drop(self.job.take().map(|job| job.finish().unwrap()));
        let after = whole(&self.scene);
        let ids = self.standing(|kind| *kind == CheckpointKind::Call);
        if ids.is_empty() {
            return self.is(&self.before, "nothing stands");
        }
        let undone = self.all(&ids, &self.before, "undo")?;
        self.all(&[undone], &after, "redo").map(drop)
    }
}

fn check(steps: &[Does], by_another: bool) {
    let course = Course::new(by_another);
    let done = steps.iter().try_for_each(|does| course.go(*does)).and_then(|()| course.end());
    assert_eq!(done, Ok(()), "{steps:?} {by_another}");
}

#[test]
fn a_chain_of_a_job_and_a_call_is_undone_also_where_something_was_undone_while_the_job_ran() {
    let made: [&[Does]; 4] = [
        &[Job("echo 1 > n"), Call("mv n m")],
        &[Job("mkdir n; echo 1 > n/x"), Call("mv n m")],
        &[Job("echo 1 > n"), Call("mv f n")],
        &[Job("echo 1 >> f"), Call("mv f m")],
    ];
    let other = Call("echo o > o");
    let rest: [&[Does]; 9] = [
        &[other, Undo, Job("echo 2 >> m")],
        &[other, Undo, Redo, Job("rm -rf m")],
        &[Job("rm -rf m"), other, Undo],
        &[Undo, Job("echo 3 > n")],
        &[Undo, Redo, Job("mv m n")],
        &[Undo, Redo, Job("rm -rf m")],
        &[Job("rm -rf m"), Undo],
        &[Undo, Redo, Undo, Job("echo 4 > m; rm -rf n"), Undo, Job("echo 5 >> m")],
        &[Undo, Redo, Job("echo 4 > m; rm -rf n"), Undo, Job("echo 5 >> m")],
    ];
    for made in made {
        for rest in rest {
            for by_another in [false, true] {
                check(&[made, rest].concat(), by_another);
            }
        }
    }
}

#[test]
fn what_was_undone_after_another_that_gave_its_folder_other_rights_is_undone_with_it() {
    let scene = Scene::new(Walls::None);
    scene.prepare(PREPARE);
    let before = whole(&scene);
    let calls = [scene.begin(), scene.begin(), scene.begin()];
    let run = |call: usize, script: &str| {
        drop(scene.start(script, &scene.sandbox.recording(&calls[call])));
    };
    run(0, "echo 1 > e");
    run(1, "chmod 700 d");
    run(2, "mv d/x e");
    run(0, "echo 2 >> f");
    for call in calls {
        call.finish().unwrap();
    }
    for id in [3, 2, 1] {
        scene.undo(CheckpointId::new(id));
    }
    assert_eq!(difference(&before, &whole(&scene)), "");
}
