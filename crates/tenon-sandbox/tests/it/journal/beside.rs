//! A background job and calls that run while it does: each has a checkpoint of its own, and all of them together
//! are undone.

use tenon_sandbox::{Changes, CheckpointId, ConflictReason, Conflicts, Expected, Undone};

use super::tree::{Tree, difference};
use super::{Scene, Walls};
use crate::skipped::skipped;

const PREPARE: &str = "printf 'line1\\n' > f; mkdir d; echo x > d/x; echo y > d/y";

/// What a job and a call beside it did.
struct Beside {
    scene: Scene,
    before: Tree,
    after: Tree,
    job: Changes,
    call: Changes,
}

/// A step of the job or of the call: which does it, and what.
#[derive(Clone, Copy)]
enum Does {
    Job(&'static str),
    Call(&'static str),
    /// The call is over before the job is.
    CallEnds,
    /// The job is over before the call is.
    JobEnds,
}

use Does::{Call, CallEnds, Job, JobEnds};

impl Beside {
    /// Has both go on in these steps. The job's shell has `f` open for appending from its first step on.
    fn new(steps: &[Does]) -> Self {
        let scene = Scene::new(Walls::None);
        scene.prepare(PREPARE);
        let before = scene.tree();
        let (job, call) = (scene.begin(), scene.begin());
        // One shell goes on, as a job does; each of its steps is let go by the other side.
        let go = scene.top.path().join("go");
        std::fs::create_dir(&go).unwrap();
        let wait = |at: usize| {
            let (go, done) = (go.join(format!("{at}")), go.join(format!("{at}.done")));
            (go, done)
        };
        let mut script = String::from("exec 5>>f\n");
        for (at, step) in steps.iter().enumerate() {
            if let Job(does) = step {
                let (go, done) = wait(at);
                let (go, done) = (go.display(), done.display());
                script +=
                    &format!("while ! [ -e {go} ]; do sleep 0.02; done\n{does}\n: > {done}\n");
            }
        }
        let (mut ended_job, mut ended_call) = (None, None);
        let sandbox = scene.sandbox.recording(&job);
        std::thread::scope(|threads| {
            let running = threads.spawn(|| scene.start(&script, &sandbox));
            for (at, step) in steps.iter().enumerate() {
                match step {
                    Job(_) => {
                        let (go, done) = wait(at);
                        std::fs::write(go, "").unwrap();
                        while !done.exists() && !running.is_finished() {
                            std::thread::sleep(std::time::Duration::from_millis(5));
                        }
                    }
                    Call(does) => drop(scene.start(does, &scene.sandbox.recording(&call))),
                    CallEnds => ended_call = Some(call.finish().unwrap()),
                    JobEnds => ended_job = Some(job.finish().unwrap()),
                }
            }
        });
        let call = ended_call.unwrap_or_else(|| call.finish().unwrap());
        let job = ended_job.unwrap_or_else(|| job.finish().unwrap());
        let after = scene.tree();
        Self { scene, before, after, job, call }
    }

    fn ids(&self) -> [CheckpointId; 2] {
        [self.job.id.unwrap(), self.call.id.unwrap()]
    }

    fn is(&self, expected: &Tree, what: &str) {
        assert_eq!(difference(expected, &self.scene.tree()), "", "{what}");
    }

    /// Undoes all at once, redoes it, and undoes it again.
    fn check_together(&self, what: &str) {
        let undo = |ids: &[CheckpointId]| match self.scene.journal.undo(
            ids,
            "session",
            &Conflicts::Refuse,
        ) {
            Ok(Undone::Done { id, .. }) => id,
            other => panic!("{what}: {other:?}"),
        };
        let undone = undo(&self.ids());
        self.is(&self.before, &format!("{what}: undo of both"));
        undo(&[undone]);
        self.is(&self.after, &format!("{what}: redo of both"));
        undo(&self.ids());
        self.is(&self.before, &format!("{what}: undo after the redo"));
    }

    /// Undoes both one by one, the newest first.
    fn check_one_by_one(&self) {
        let [job, call] = self.ids();
        self.scene.undo(call);
        self.scene.undo(job);
        self.is(&self.before, "undo one by one");
    }
}

/// What stands of both is listed; both are undone at once.
fn check_lists(steps: &[Does], job: &[&str], call: &[&str]) {
    let beside = Beside::new(steps);
    assert_eq!(Scene::listed(&beside.job), job);
    assert_eq!(Scene::listed(&beside.call), call);
    beside.check_together("");
}

/// As [`check_lists`], and one by one, too.
fn check(steps: &[Does], job: &[&str], call: &[&str]) {
    check_lists(steps, job, call);
    Beside::new(steps).check_one_by_one();
}

#[test]
fn what_a_job_wrote_to_a_file_that_a_call_takes_away_is_listed_and_undone() {
    let wrote = [Job("echo tick >&5"), Call("rm f"), Job("echo tick >&5")];
    check(&wrote, &["edited f"], &["deleted f"]);
    let ends = [&wrote[..], &[CallEnds, Job("echo tick >&5")]].concat();
    check(&ends, &["edited f"], &["deleted f"]);
    let ends = [&wrote[..], &[JobEnds]].concat();
    check(&ends, &["edited f"], &["deleted f"]);
    let replaced = [Job("echo tick >&5"), Call("sed -i s/tick/tock/ f"), Job("echo tick >&5")];
    check(&replaced, &["edited f"], &["edited f"]);
    let in_folder = [Job("echo tick >> d/x; chmod 600 d/y; chmod 700 d"), Call("rm -r d")];
    check(
        &in_folder,
        &["mode d", "edited d/x", "mode d/y"],
        &["deleted d", "deleted d/x", "deleted d/y"],
    );
}

#[test]
fn what_a_job_made_and_a_call_takes_away_is_listed_and_undone() {
    let file = [Job("exec 6>>new; echo tick >&6"), Call("rm new"), Job("echo tick >&6")];
    check(&file, &["created new"], &["deleted new"]);
    let written = [Job("echo tick > new"), Call("rm new; echo fresh > new")];
    check(&written, &["created new"], &["edited new"]);
    let folder = [Job("mkdir q; echo made > q/n"), Call("rm -r q")];
    check(&folder, &["created q"], &["deleted q", "deleted q/n"]);
    let in_folder = [Job("echo made > d/n"), Call("rm -r d")];
    check(
        &in_folder,
        &["created d/n"],
        &["deleted d", "deleted d/n", "deleted d/x", "deleted d/y"],
    );
    let moved = [Job("echo made > new"), Call("mv new d/n"), CallEnds];
    check(&moved, &["created new"], &["renamed d/n"]);
    let around = [Job("mkdir q; echo made > q/n"), Call("mv q d/q"), CallEnds];
    check(&around, &["created q"], &["renamed d/q"]);
}

#[test]
fn a_further_name_that_a_job_gave_a_file_and_a_call_takes_away_is_listed_and_undone() {
    check(&[Job("ln f m"), Call("mv m k")], &["created m"], &["renamed k"]);
    check(&[Job("ln f m"), Call("mv m k"), CallEnds], &["created m"], &["renamed k"]);
    check(&[Job("ln f m"), Call("rm m"), CallEnds], &["created m"], &["deleted m"]);
    let written = [Job("ln d/x m"), Call("echo 2 >> d/x; mv m k"), CallEnds];
    check(&written, &["edited d/x", "created m"], &["edited d/x", "renamed k"]);
    let moved = [Job("mv d/x m"), Call("mv m k"), CallEnds];
    check_lists(&moved, &["deleted d/x"], &["renamed k"]);
    let removed = [Job("ln d/x m"), Call("rm m d/x"), CallEnds];
    check_lists(&removed, &["created m"], &["deleted d/x", "deleted m"]);
}

#[test]
fn what_a_call_made_and_a_job_takes_away_is_listed_and_undone() {
    // The first to change something is the older one.
    let first = Job("echo tick >&5");
    let file = [first, Call("echo made > new"), Job("rm new"), CallEnds];
    check_lists(&file, &["edited f", "deleted new"], &["created new"]);
    let moved = [first, Call("echo made > new"), Job("mv new d/n"), CallEnds];
    check_lists(&moved, &["renamed d/n", "edited f"], &["created new"]);
}

#[test]
fn what_a_job_and_a_call_did_to_the_same_files_is_no_conflict() {
    let checks: &[&[Does]] = &[
        &[Call("mv f g"), Job("echo tick >&5")],
        &[Call("mv f g"), CallEnds, Job("echo tick >&5")],
        &[Job("exec 6>>d/new"), Call("mv d e"), CallEnds, Job("echo tick >&6; echo z >> e/x")],
        &[Job("cd d; echo q >> x"), Call("mv d e"), Job("echo made > n; rm y"), CallEnds],
        &[
            Job("echo 1 >&5"),
            Call("echo call >> f"),
            Job("echo 2 >&5"),
            CallEnds,
            Job("echo 3 >&5"),
        ],
        &[Job("echo 1 >&5"), Call(": > f"), CallEnds, Job("echo 2 >&5")],
        &[Job("echo 1 >> f"), Call("rm f"), Job("echo 2 >> f"), CallEnds, Job("echo 3 >> f")],
        &[Job("exec 6<>f; echo 1 >&6"), Call("echo first > f"), CallEnds, Job("echo job >&6")],
        &[Job("echo 1 > n"), Call("mv n d/n"), Job("echo 2 > n"), CallEnds],
        &[Job("chmod 600 d/x"), Call("ln d/x n"), CallEnds, Job("chmod 700 d/x")],
    ];
    for (number, steps) in checks.iter().enumerate() {
        let steps = [&[Job("echo first >&5")][..], *steps].concat();
        Beside::new(&steps).check_together(&format!("{number}"));
    }
}

#[test]
fn what_a_job_made_a_call_moved_and_the_job_changed_again_is_undone() {
    let moved = Call("mv n m");
    let checks: &[&[Does]] = &[
        &[Job("echo 1 > n"), moved, CallEnds, Job("rm m")],
        &[Job("echo 1 > n"), moved, CallEnds, Job("echo 2 > m; echo 3 > n")],
        &[Job("echo 1 > n"), moved, CallEnds, Job("mv m n")],
        &[Job("mkdir n; echo 1 > n/x"), moved, CallEnds, Job("echo 2 > m/x; rm -r m")],
        &[Job("mkdir n; echo 1 > n/x"), Call("ln n/x m"), CallEnds, Job("rm -r n; echo 2 >> m")],
        &[Job("echo 1 > n"), Call("mv f m"), CallEnds, Job("mv n m")],
        // What was there before comes to a name that the job had made.
        &[Job("echo 1 > n"), Call("mv f n"), CallEnds, Job("rm n")],
        &[Job("echo 1 > n"), Call("ln -f f n"), CallEnds, Job("echo 2 > n")],
        &[Job("mkdir n; rmdir n"), Call("mv d n"), CallEnds, Job("rm n/x; echo 2 > n/y")],
    ];
    for (number, steps) in checks.iter().enumerate() {
        Beside::new(steps).check_together(&format!("{number}"));
    }
}

#[test]
fn what_a_person_changed_since_is_a_conflict_of_a_job_and_a_call_beside_it() {
    for theirs in ["echo mine >> g", "rm g", "echo mine > f"] {
        let beside = Beside::new(&[Job("echo 1 >&5"), Call("mv f g"), CallEnds, Job("echo 2 >&5")]);
        beside.scene.prepare(theirs);
        let after = beside.scene.tree();
        let refused = beside.scene.journal.undo(&beside.ids(), "session", &Conflicts::Refuse);
        assert!(matches!(refused, Ok(Undone::Conflicts(_))), "{theirs}: {refused:?}");
        beside.is(&after, theirs);
    }
    let moved = [Job("mkdir q; echo 1 > q/n"), Call("mv q d/q"), CallEnds];
    for theirs in
        ["echo mine > d/q/mine", "echo mine >> d/q/n", "echo mine > d/mine; mv d/mine d/q/n"]
    {
        let beside = Beside::new(&moved);
        beside.scene.prepare(theirs);
        let after = beside.scene.tree();
        let refused = beside.scene.journal.undo(&beside.ids(), "session", &Conflicts::Refuse);
        assert!(matches!(refused, Ok(Undone::Conflicts(_))), "{theirs}: {refused:?}");
        beside.is(&after, theirs);
    }
    // Between the undo of the call and that of the job.
    let beside = Beside::new(&[Job("echo 1 >&5"), Call("mv f g"), Job("echo 2 >&5")]);
    let [job, call] = beside.ids();
    beside.scene.undo(call);
    beside.scene.prepare("echo mine >> f");
    let refused = beside.scene.journal.undo(&[job], "session", &Conflicts::Refuse);
    assert!(matches!(refused, Ok(Undone::Conflicts(_))), "{refused:?}");
}

#[test]
fn what_a_person_changes_in_the_moment_in_which_a_call_ends_is_theirs() {
    use std::io::Write;
    // The same versions and a little older.
    if !tenon_sandbox::probe().pid_max_in_namespace {
        return skipped("the times of this kernel's files go by ticks");
    }
    // Within a tick of the kernel's clock, mostly.
    for _ in 0..8 {
        let scene = Scene::new(Walls::None);
        scene.prepare(PREPARE);
        let (job, call) = (scene.begin(), scene.begin());
        let n = scene.root().join("d/q/n");
        scene.start("mkdir q; echo 1 > q/n", &scene.sandbox.recording(&job));
        scene.start("mv q d/q", &scene.sandbox.recording(&call));
        let mut file = std::fs::File::options().append(true).open(n).unwrap();
        let ids = [&call, &job].map(|one| one.finish().unwrap().id.unwrap());
        file.write_all(b"mine\n").unwrap();
        let refused = scene.journal.undo(&ids, "session", &Conflicts::Refuse);
        assert!(matches!(refused, Ok(Undone::Conflicts(_))), "{refused:?}");
    }
}

#[test]
fn what_a_command_wrote_does_not_come_back_by_undoing_a_write_with_leave_over_it() {
    let scene = Scene::new(Walls::C);
    std::fs::write(scene.root().join(".envrc"), "own\n").unwrap();
    let script = "echo evil > .envrc; : > made; until [ -e over ]; do sleep 0.02; done";
    let call = scene.begin();
    std::thread::scope(|threads| {
        let running = threads.spawn(|| scene.start(script, &scene.sandbox));
        while !scene.root().join("made").exists() {
            assert!(!running.is_finished());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let place = scene.root().join(".envrc");
        let lifted = scene.workspace.clone().with_lifted(&place, Expected::Any);
        let lifted = lifted.recording(&call);
        lifted.write(".envrc", b"allowed\n", Expected::Any).unwrap();
        scene.sandbox.recording(&call).accept(&lifted.lifted_write().unwrap());
        std::fs::write(scene.root().join("over"), "").unwrap();
    });
    let read = || std::fs::read_to_string(scene.root().join(".envrc")).unwrap();
    assert_eq!(read(), "allowed\n");
    let id = call.finish().unwrap().id.unwrap();
    let Undone::Conflicts(found) =
        scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap()
    else {
        panic!("it came back: {}", read());
    };
    assert_eq!(found[0].reason, ConflictReason::Protected);
    assert_eq!(read(), "allowed\n");
}
