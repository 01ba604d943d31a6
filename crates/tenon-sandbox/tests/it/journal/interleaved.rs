//! Random steps of a job and of calls that run while it does, undone together and one by one.
//!
//! `TENON_FUZZ_BESIDE` and `TENON_FUZZ_SEED` say how many and from which seed.

#![expect(clippy::indexing_slicing, reason = "numbers below the length of a list")]

use tenon_sandbox::{Changes, Checkpoint, CheckpointId, Conflicts, JournalOptions, Undone};

use super::closed::whole;
use super::fuzz::{Numbers, setting};
use super::tree::{Entry, Tree, difference};
use super::{Scene, Walls, as_ordinary_user};

const PREPARE: &str = "umask 022; echo one > a; echo two > b; mkdir d; echo x > d/x; echo y > d/y";

/// What the steps of one course are about.
#[derive(Debug, Clone, Copy)]
enum About {
    Anything,
    /// Further names of a file.
    Links,
    /// What is in a folder, which is removed and made anew.
    Folder,
}

impl About {
    fn of(numbers: &mut Numbers) -> Self {
        [Self::Anything, Self::Links, Self::Folder][numbers.next(3)]
    }

    fn step(self, numbers: &mut Numbers) -> String {
        match self {
            Self::Anything => any_step(numbers),
            Self::Links => link_step(numbers),
            Self::Folder => folder_step(numbers),
        }
    }
}

fn any_step(numbers: &mut Numbers) -> String {
    const NAMES: [&str; 7] = ["a", "b", "n", "d", "e", "d/x", "d/n"];
    let mut name = || NAMES[numbers.next(NAMES.len())];
    let (one, two) = (name(), name());
    let number = numbers.next(1000);
    match numbers.next(16) {
        0..3 => format!("echo {number} > {one}"),
        3..5 => format!("echo {number} >> {one}"),
        5..9 => format!("mv -T {one} {two}"),
        9..11 => format!("rm -f {one}"),
        11 => format!("rm -rf {one}"),
        12 => format!("mkdir {one}"),
        13 => format!("ln {one} {two}"),
        14 => format!("ln -f {one} {two}"),
        _ => format!("chmod {} {one}", ["700", "755", "600", "640"][number % 4]),
    }
}

fn link_step(numbers: &mut Numbers) -> String {
    const NAMES: [&str; 4] = ["a", "n", "m", "d/n"];
    let mut name = || NAMES[numbers.next(NAMES.len())];
    let (one, two) = (name(), name());
    match numbers.next(8) {
        0..4 => format!("ln a {one}"),
        4..6 => format!("mv -T {one} {two}"),
        6 => format!("rm -f {one}"),
        _ => format!("echo {} >> {one}", numbers.next(1000)),
    }
}

fn folder_step(numbers: &mut Numbers) -> String {
    const NAMES: [&str; 3] = ["d/x", "d/n", "d/y"];
    let mut name = || NAMES[numbers.next(NAMES.len())];
    let (one, two) = (name(), name());
    let number = numbers.next(1000);
    match numbers.next(10) {
        0..4 => format!("echo {number} > {one}"),
        4..6 => format!("echo {number} >> {one}"),
        6 => format!("mv -T {one} {two}"),
        7 => "rm -rf d".to_owned(),
        _ => "rm -rf d; mkdir d".to_owned(),
    }
}

/// Which of them does something, and what; nothing where it ends.
type Step = (usize, Option<String>);

fn steps(numbers: &mut Numbers) -> Vec<Step> {
    let (calls, count) = (2 + numbers.next(2), 3 + numbers.next(5));
    let about = About::of(numbers);
    let mut steps: Vec<Step> = Vec::new();
    let mut ended = vec![false; calls];
    for _ in 0..count {
        let who = numbers.next(calls);
        if ended[who] {
            continue;
        }
        steps.push((who, Some(about.step(numbers))));
        if numbers.next(4) == 0 {
            ended[who] = true;
            steps.push((who, None));
        }
    }
    steps
}

fn run(scene: &Scene, steps: &[Step]) -> Vec<CheckpointId> {
    let calls = 1 + steps.iter().map(|(who, _)| *who).max().unwrap_or_default();
    let mut running: Vec<Option<Checkpoint>> = (0..calls).map(|_| Some(scene.begin())).collect();
    let mut ended: Vec<Changes> = Vec::new();
    for (who, does) in steps {
        match (does, &running[*who]) {
            (Some(does), Some(call)) => {
                let sandbox = scene.sandbox.recording(call);
                drop(scene.start(&format!("umask 022; exec 2>/dev/null; {does}"), &sandbox));
            }
            _ => ended.extend(running[*who].take().map(|call| call.finish().unwrap())),
        }
    }
    ended.extend(running.into_iter().flatten().map(|call| call.finish().unwrap()));
    let mut ids: Vec<CheckpointId> = ended.iter().filter_map(|changes| changes.id).collect();
    ids.sort();
    ids
}

/// What was undone or redone once; nothing may be touched where it is refused.
struct Course {
    scene: Scene,
    before: Tree,
    after: Tree,
    ids: Vec<CheckpointId>,
    /// Those of which a list speaks.
    listed: Vec<CheckpointId>,
    /// Out of the order in which the calls began, times of folders may be others.
    is_ordered: bool,
}

impl Course {
    fn new(steps: &[Step], by_comparison: bool) -> Self {
        let change = |options: &mut JournalOptions| options.by_comparison = by_comparison;
        let scene = Scene::at(&std::env::temp_dir(), Walls::None, change);
        scene.prepare(PREPARE);
        let before = whole(&scene);
        let ids = run(&scene, steps);
        let is_idle = |id: &&CheckpointId| scene.journal.is_idle(**id);
        let listed = ids.iter().filter(|id| !is_idle(id)).copied().collect();
        let after = whole(&scene);
        Self { scene, before, after, ids, listed, is_ordered: true }
    }

    fn is(&self, expected: &Tree, what: &str) -> Result<(), String> {
        let times = |tree: &Tree| match self.is_ordered {
            true => tree.clone(),
            false => without_times_of_folders(tree),
        };
        match difference(&times(expected), &times(&whole(&self.scene))) {
            rest if rest.is_empty() => Ok(()),
            rest => Err(format!("{what}: {rest}")),
        }
    }

    fn undo(&self, ids: &[CheckpointId]) -> Result<Result<CheckpointId, String>, String> {
        let now = whole(&self.scene);
        let why = match self.scene.journal.undo(ids, "session", &Conflicts::Refuse) {
            Ok(Undone::Done { id, .. }) => return Ok(Ok(id)),
            Ok(other) => format!("{other:?}"),
            Err(error) => error.to_string(),
        };
        self.is(&now, "refused, and touched").map(|()| Err(why))
    }

    fn must(
        &self,
        ids: &[CheckpointId],
        expected: &Tree,
        what: &str,
    ) -> Result<CheckpointId, String> {
        let id = self.undo(ids)?.map_err(|why| format!("{what}: {why}"))?;
        self.is(expected, what).map(|()| id)
    }

    fn together(&self) -> Result<(), String> {
        let mut undone = self.must(&self.ids, &self.before, "undo")?;
        undone = self.must(&[undone], &self.after, "redo")?;
        undone = self.must(&[undone], &self.before, "undo again")?;
        self.must(&[undone], &self.after, "redo again")?;
        self.must(&self.ids, &self.before, "undo in the end").map(drop)
    }

    /// All that lists speak of at once, which is all but times of folders.
    fn listed(mut self) -> Result<(), String> {
        if self.listed.is_empty() {
            self.is_ordered = false;
            return self.is(&self.before, "nothing listed");
        }
        self.is_ordered = self.listed == self.ids;
        let undone = self.must(&self.listed, &self.before, "undo of what is listed")?;
        self.must(&[undone], &self.after, "redo of what is listed").map(drop)
    }

    /// One by one in this order. Where one is refused, because another changed the same since, all that are left
    /// are undone at once; or all at once, where what was undone before an earlier one was not beside it.
    fn one_by_one(&self, order: &[CheckpointId]) -> Result<(), String> {
        let mut undone = Vec::new();
        for (at, id) in order.iter().enumerate() {
            let now = whole(&self.scene);
            if let Ok(id) = self.undo(&[*id])? {
                undone.push((id, now));
                continue;
            }
            let rest = &order[at..];
            match self.undo(rest)? {
                Ok(id) => undone.push((id, now)),
                Err(why) if self.is_ordered => return Err(format!("{rest:?} after {at}: {why}")),
                Err(_) => {
                    for (id, was) in undone.drain(..).rev() {
                        self.must(&[id], &was, &format!("redo of {id}"))?;
                    }
                    undone.push((self.must(&self.ids, &self.before, "all")?, self.after.clone()));
                }
            }
            break;
        }
        self.is(&self.before, "one by one")?;
        for (id, was) in undone.iter().rev() {
            self.must(&[*id], was, &format!("redo of {id}"))?;
        }
        self.is(&self.after, "redo one by one")
    }
}

fn without_times_of_folders(tree: &Tree) -> Tree {
    let without = |entry: &Entry| match entry.is_folder() {
        true => entry.without_time(),
        false => entry.clone(),
    };
    tree.iter().map(|(path, entry)| (path.clone(), without(entry))).collect()
}

fn check(steps: &[Step], numbers: &mut Numbers, by_comparison: bool) -> Result<(), String> {
    let course = Course::new(steps, by_comparison);
    if course.ids.is_empty() {
        return Ok(());
    }
    course.together()?;
    if course.listed != course.ids {
        Course::new(steps, by_comparison).listed()?;
    }
    let course = Course::new(steps, by_comparison);
    let newest_first: Vec<CheckpointId> = course.ids.iter().rev().copied().collect();
    course.one_by_one(&newest_first)?;
    let mut course = Course::new(steps, by_comparison);
    let mut order = course.ids.clone();
    for at in 0..order.len() {
        let other = numbers.next(order.len());
        order.swap(at, other);
    }
    course.is_ordered = false;
    course.one_by_one(&order).map_err(|why| format!("{order:?}: {why}"))
}

fn check_random(by_comparison: bool, count: u64) {
    let seed = setting("TENON_FUZZ_SEED", 1);
    let mut failed = Vec::new();
    for seed in seed..seed + count {
        let mut numbers = Numbers::new(seed);
        let steps = steps(&mut numbers);
        if let Err(why) = check(&steps, &mut numbers, by_comparison) {
            let line = |(who, does): &Step| format!("{who}: {}", does.as_deref().unwrap_or("ends"));
            let steps: Vec<String> = steps.iter().map(line).collect();
            failed.push(format!("seed {seed}: {why}\n   {}", steps.join("\n   ")));
        }
    }
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

/// In either order; who does nothing is over.
fn check_fixed(steps: &[(usize, &str)]) {
    let does = |does: &str| (!does.is_empty()).then(|| does.to_owned());
    let steps: Vec<Step> = steps.iter().map(|(who, what)| (*who, does(what))).collect();
    let one_by_one = |is_newest_first: bool| {
        let mut course = Course::new(&steps, false);
        course.is_ordered = is_newest_first;
        let mut order = course.ids.clone();
        if is_newest_first {
            order.reverse();
        }
        course.one_by_one(&order)
    };
    assert_eq!(Course::new(&steps, false).together(), Ok(()), "{steps:?}");
    assert_eq!(Course::new(&steps, false).listed(), Ok(()), "{steps:?} listed");
    assert_eq!(one_by_one(true), Ok(()), "{steps:?} newest first");
    assert_eq!(one_by_one(false), Ok(()), "{steps:?} oldest first");
}

#[test]
fn a_folder_that_a_call_could_not_remove_and_a_job_moved_is_the_same_after_an_undo_of_the_call() {
    for fails in ["mv -T a d", "mkdir e; mv -T e d", "rmdir d", "unlink d"] {
        check_fixed(&[(0, "rm b"), (1, fails), (0, "mv -T d b")]);
    }
}

#[test]
fn a_folder_that_the_kernel_lets_nobody_remove_and_a_job_moved_is_the_same_after_an_undo() {
    let into_itself = "mkdir d/q; python3 -c 'import os; os.rename(\"d\", \"d/q\")'";
    check_fixed(&[(0, "rm b"), (1, into_itself), (0, "mv d/q e; echo 1 > e/n")]);
    as_ordinary_user(
        "interleaved::a_folder_that_the_kernel_lets_nobody_remove_and_a_job_moved_is_the_same_after_an_undo",
    );
    if rustix::process::geteuid().is_root() {
        return;
    }
    for fails in ["rmdir d/q/e", "mkdir e; mv -T e d/q/e", "mv -T d/q/o d/q/e", "mv -T d/q/e d/q/o"]
    {
        let prepared = "mkdir -p d/q/e d/q/o; chmod 555 d/q";
        check_fixed(&[
            (0, "rm b"),
            (2, prepared),
            (1, fails),
            (0, "chmod 755 d/q; mv d/q/e e; mv d/q/o o"),
        ]);
    }
}

#[test]
fn a_folder_that_a_job_could_not_replace_and_a_call_moved_comes_back_with_either_undo() {
    check_fixed(&[(0, "mv -T b d"), (1, "mv -T d e; echo 1 > n; echo 2 > a")]);
}

#[test]
fn a_further_name_that_a_job_gave_a_file_and_a_call_moved_or_removed_is_undone_in_any_order() {
    for later in [
        "mv m m2",
        "rm m",
        "mkdir e; mv m e/m",
        "mv b m",
        "echo 1 >> a; mv m m2",
        "mv a a2; mv m m2",
    ] {
        check_fixed(&[(0, "ln a m"), (1, later)]);
        check_fixed(&[(1, "chmod 700 d"), (0, "ln a m"), (1, later)]);
        check_fixed(&[(0, "ln a m"), (1, later), (0, "echo 2 >> a")]);
    }
    check_fixed(&[(0, "mkdir e; ln a e/m"), (1, "mv e/m m")]);
    check_fixed(&[(0, "mkdir e; ln a e/m"), (1, "mv e e2")]);
    check_fixed(&[(0, "mkdir e; ln a e/m"), (1, "rm -r e")]);
    check_fixed(&[(0, "ln a m; ln a m2"), (1, "mkdir e; mv m m2 e"), (2, "rm e/m")]);
    check_fixed(&[(0, "ln a m"), (1, "mv m m2"), (0, "ln a m"), (2, "rm m m2")]);
}

#[test]
fn a_file_of_several_whose_folder_one_removed_and_made_anew_is_undone_with_all_of_them() {
    let anew = "rm -r d; mkdir d";
    for (first, second) in [
        ("echo 1 > d/x", "echo 2 > d/x"),
        ("echo 1 >> d/x", "echo 2 >> d/x"),
        ("echo 1 > d/n", "echo 2 > d/n"),
        ("echo 1 > d/x", "echo 2 > d/n"),
        ("chmod 600 d/x", "echo 2 > d/x"),
        ("echo 1 > d/x", "mkdir d/q; echo 2 > d/q/n"),
        ("echo 1 > d/x", "mv d/x d/n"),
    ] {
        for end in
            [anew, "mv d/x e; rm -r d; mkdir d", "echo 3 >> d/x; rm -r d; mkdir d; echo 4 > d/y"]
        {
            check_fixed(&[(0, first), (1, second), (1, ""), (2, end)]);
            check_fixed(&[(0, first), (1, second), (1, ""), (0, end)]);
            check_fixed(&[(2, "echo 0 > b"), (0, first), (1, second), (1, ""), (2, end)]);
        }
    }
    check_fixed(&[(0, anew), (1, "echo 1 > d/n"), (1, ""), (0, "mv d/n d/y")]);
    check_fixed(&[(2, anew), (1, "echo 1 >> d/n"), (2, "echo 2 > d/y"), (2, ""), (1, anew)]);
}

#[test]
fn random_steps_of_a_job_and_of_calls_are_undone() {
    check_random(false, setting("TENON_FUZZ_BESIDE", 24));
}

#[test]
fn random_steps_of_a_job_and_of_calls_that_are_compared_are_undone() {
    check_random(true, setting("TENON_FUZZ_BESIDE", 24) / 3);
}
