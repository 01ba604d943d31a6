//! Back to any earlier moment, after calls, undos, redos and ways back in any order.
//!
//! `TENON_FUZZ_WALKS` and `TENON_FUZZ_SEED` say how many random walks there are, and from which seed.

#![expect(clippy::indexing_slicing, reason = "numbers below the length of a list")]

use tenon_sandbox::{
    CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Conflicts, JournalOptions,
    Undone, WayBack,
};

use super::fuzz::{Numbers, operation, setting};
use super::person::acts;
use super::tree::{Tree, difference};
use super::{Scene, Walls};

const STEPS: usize = 12;

/// A session, what it did, and what there was before and after each of its calls.
struct Walk {
    scene: Scene,
    /// By the checkpoint from which on everything is taken back.
    moments: Vec<(CheckpointId, Tree)>,
    /// Whether some ways back are cut short, which takes back what was done in time only.
    has_cuts: bool,
    said: Vec<String>,
}

impl Walk {
    fn new(scene: Scene, prepared: String) -> Self {
        scene.prepare(&prepared);
        Self { scene, moments: Vec::new(), has_cuts: false, said: vec![prepared] }
    }

    fn infos(&self) -> Vec<CheckpointInfo> {
        self.scene.journal.checkpoints().unwrap()
    }

    fn call(&mut self, script: &str) {
        let before = self.scene.tree();
        let id = self.scene.run(script).1.id;
        if let Some(id) = id {
            self.moments.push((id, before));
            self.moments.push((CheckpointId::new(id.number() + 1), self.scene.tree()));
        }
        self.said.push(format!("call {id:?}: {script}"));
    }

    /// Undoes these if there are any; an undo of calls that others rely on is refused.
    fn undo(&mut self, ids: &[CheckpointId]) -> Option<CheckpointId> {
        if ids.is_empty() {
            return None;
        }
        match self.scene.journal.undo(ids, "session", &Conflicts::Refuse) {
            Ok(Undone::Done { id, .. }) => {
                self.said.push(format!("{id}: undo of {ids:?}"));
                Some(id)
            }
            Ok(Undone::Conflicts(_)) => None,
            Err(error) => panic!("{error:?} {ids:?}\n{}", self.said.join("\n")),
        }
    }

    fn undo_some(&mut self, numbers: &mut Numbers) {
        let stand = |info: &CheckpointInfo| {
            info.kind == CheckpointKind::Call && info.state == CheckpointState::Done
        };
        let mut calls: Vec<CheckpointId> =
            self.infos().into_iter().filter(stand).map(|info| info.id).collect();
        calls.reverse();
        match numbers.next(3) {
            // Any one, if nothing later is in its way.
            0 if !calls.is_empty() => calls = vec![calls[numbers.next(calls.len())]],
            _ => calls.truncate(1 + numbers.next(3)),
        }
        self.undo(&calls);
    }

    fn redo(&mut self) {
        let undo = |info: &&CheckpointInfo| info.state == CheckpointState::Done && info.is_undo();
        let undo = self.infos().iter().rfind(undo).map(|info| info.id);
        self.undo(undo.as_slice());
    }

    /// Goes back to before or after one of the calls, and there and back again.
    fn go_back(&mut self, numbers: &mut Numbers) {
        if self.moments.is_empty() {
            return;
        }
        self.go_to(numbers.next(self.moments.len()), numbers);
    }

    fn go_to(&mut self, moment: usize, numbers: &mut Numbers) {
        let (since, expected) = self.moments[moment].clone();
        let now = self.scene.tree();
        let way = WayBack::find(&self.infos(), "session", |id| id >= since).unwrap();
        let what = format!("back to before {since} by {way:?}");
        self.said.push(what.clone());
        if way.ids.is_empty() {
            return self.is(&expected, &what);
        }
        let Some(id) = self.undo(&way.ids) else { panic!("{}", self.said.join("\n")) };
        self.is(&expected, &what);
        self.is_as_said(&way);
        if self.has_cuts && numbers.next(4) == 0 {
            self.lose_the_end(id);
            self.scene.journal.take_back_cut_short().unwrap();
            self.is(&now, "cut short");
            return;
        }
        if numbers.next(2) == 0 {
            let again = self.undo(&[id]);
            self.is(&now, "there again");
            self.undo(again.as_slice());
            self.is(&expected, "back again");
        }
    }

    /// As if the agent had been killed at the last moment of an undo.
    fn lose_the_end(&self, id: CheckpointId) {
        let mut folders = self.scene.journal.folders();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with(format!("ends/{:012}", id.number())) {
                    return std::fs::remove_file(path).unwrap();
                }
                folders.extend(path.is_dir().then_some(path));
            }
        }
        panic!("{id} has no end");
    }

    fn is(&self, expected: &Tree, what: &str) {
        let rest = difference(expected, &self.scene.tree());
        assert!(rest.is_empty(), "{what}: {rest}\n{}", self.said.join("\n"));
    }

    /// Whether what was to stand and not to stand does so.
    fn is_as_said(&self, way: &WayBack) {
        for info in self.infos().iter().filter(|info| info.kind == CheckpointKind::Call) {
            let stands = info.state == CheckpointState::Done;
            let is_wrong = if stands { &way.undone } else { &way.redone };
            assert!(!is_wrong.contains(&info.id), "{info:?}\n{}", self.said.join("\n"));
        }
    }
}

fn walk(scene: Scene, seed: u64) {
    let mut numbers = Numbers::new(seed);
    let mut walk = Walk::new(scene, acts(&mut numbers, 10));
    walk.has_cuts = true;
    walk.said.push(format!("seed {seed}"));
    for _ in 0..STEPS {
        match numbers.next(8) {
            0..4 => {
                let operations: Vec<String> = (0..4).map(|_| operation(&mut numbers)).collect();
                walk.call(&format!("exec 2>/dev/null\n{}\ntrue", operations.join("\n")));
            }
            4 | 5 => walk.undo_some(&mut numbers),
            6 => walk.redo(),
            _ => walk.go_back(&mut numbers),
        }
    }
    for _ in 0..3 {
        walk.go_back(&mut numbers);
    }
}

/// Something done in one folder and around it, where calls often meet.
fn close_operation(numbers: &mut Numbers) -> String {
    let number = numbers.next(1000);
    let mut name = || ["d", "d/a", "d/b", "d/e", "d/e/a", "f", "g", "g/a"][numbers.next(8)];
    let (one, two) = (name(), name());
    match numbers.next(14) {
        0 => format!("echo {number} > {one}"),
        1 => format!("echo {number} >> {one}"),
        2 | 3 => format!("mkdir -p {one}"),
        4 => format!("rm -rf {one}"),
        5 => format!("rmdir {one}"),
        6 => format!("mv -T {one} {two}"),
        7 => format!("ln -P {one} {two}"),
        8 => format!("ln -s {number} {one}"),
        9 => format!("chmod {} {one}", ["700", "755", "600", "750"][number % 4]),
        10 => format!("touch -d @{number} {one}"),
        11 => format!("cp -a {one} {two}"),
        12 => format!("cp -al {one} {two}"),
        _ => format!("touch {one}"),
    }
}

/// Small calls, and then only ways back, between which each thing goes to the store and returns again.
fn close_walk(scene: Scene, seed: u64) {
    let mut numbers = Numbers::new(seed);
    let prepared = format!("exec 2>/dev/null\n{}\ntrue", close_operation(&mut numbers));
    let mut walk = Walk::new(scene, prepared);
    walk.said.push(format!("close walk, seed {seed}"));
    for _ in 0..3 {
        for _ in 0..1 + numbers.next(3) {
            let operations: Vec<String> =
                (0..1 + numbers.next(2)).map(|_| close_operation(&mut numbers)).collect();
            walk.call(&format!("exec 2>/dev/null\n{}\ntrue", operations.join("\n")));
        }
        for _ in 0..numbers.next(6) {
            walk.go_back(&mut numbers);
        }
    }
    for _ in 0..5 {
        walk.go_back(&mut numbers);
    }
}

#[test]
fn the_files_are_as_they_were_after_many_ways_back() {
    let (count, seed) = (setting("TENON_FUZZ_WALKS", 24), setting("TENON_FUZZ_SEED", 1));
    for seed in seed..seed + count {
        let compared = |options: &mut JournalOptions| options.by_comparison = seed % 4 == 0;
        close_walk(Scene::at(&std::env::temp_dir(), Walls::None, compared), seed);
    }
}

/// What there is, the calls, and to which moments a session goes: each call has one before and one after it.
const WALKS: &[(&str, &[&str], &[usize])] = &[
    // A folder that was in the store comes back, and what came into it there does not stay.
    ("", &["mkdir d", "touch d/a", "chmod 700 d"], &[2, 0, 4, 5]),
    ("", &["mkdir d", "touch d/a", "touch -d @5 d"], &[2, 0, 4, 5]),
    ("", &["mkdir d", "touch d/a", "echo 2 > d/a"], &[2, 0, 4, 5]),
    ("", &["mkdir d", "touch d/a", "echo 2 > d/b"], &[2, 0, 4, 5]),
    ("", &["mkdir d", "touch d/a", "cp -a d f"], &[2, 0, 4, 5]),
    ("", &["mkdir -p d/e", "chmod 700 d/e; echo 1 > d/e/f", "echo 2 >> d/e/f"], &[2, 0, 4, 5]),
    ("", &["mkdir d; echo 1 > d/a", "echo 2 >> d/a; chmod 600 d/a", "rm d/a"], &[2, 0, 4, 5]),
    ("", &["mkdir d; echo 1 > d/a", "mv d/a b", "mv b d/c", "mv d e"], &[2, 0, 4, 2, 7, 0, 6]),
];

#[test]
fn what_returns_from_the_store_is_there_as_it_was_at_each_moment() {
    for (prepared, calls, moments) in WALKS {
        let mut walk = Walk::new(Scene::new(Walls::None), prepared.to_string());
        calls.iter().for_each(|call| walk.call(call));
        // Each seed takes other turns on the way.
        for seed in 1..3 {
            moments.iter().for_each(|moment| walk.go_to(*moment, &mut Numbers::new(seed)));
        }
    }
}

#[test]
fn the_files_are_as_they_were_at_any_earlier_moment() {
    let (count, seed) = (setting("TENON_FUZZ_WALKS", 24), setting("TENON_FUZZ_SEED", 1));
    for seed in seed..seed + count {
        let compared = |options: &mut JournalOptions| options.by_comparison = seed % 4 == 0;
        walk(Scene::at(&std::env::temp_dir(), Walls::None, compared), seed);
    }
}

#[test]
fn what_several_redone_calls_made_goes_though_something_of_a_person_stays() {
    let scene = Scene::new(Walls::None);
    let before = scene.tree();
    let calls = ["echo 1 > a; ln a c", "echo 2 > b"].map(|call| scene.change(call));
    let undone: Vec<CheckpointId> = calls.into_iter().rev().map(|id| scene.undo(id)).collect();
    let redone = scene.undo_all(&undone);
    std::fs::write(scene.root().join("b"), "mine\n").unwrap();
    match scene.journal.undo(&[redone], "session", &Conflicts::Keep) {
        Ok(Undone::Done { kept, .. }) => assert_eq!(kept.len(), 1, "{kept:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_to_string(scene.root().join("b")).unwrap(), "mine\n");
    std::fs::remove_file(scene.root().join("b")).unwrap();
    let left: Vec<_> = scene.tree().into_keys().filter(|path| !before.contains_key(path)).collect();
    assert!(left.is_empty(), "{left:?}");
}
