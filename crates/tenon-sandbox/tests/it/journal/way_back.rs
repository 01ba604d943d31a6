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

/// A session, what it did, and what there was before each of its calls.
struct Walk {
    scene: Scene,
    before: Vec<(CheckpointId, Tree)>,
    said: Vec<String>,
}

impl Walk {
    fn new(scene: Scene, numbers: &mut Numbers) -> Self {
        let prepared = acts(numbers, 10);
        scene.prepare(&prepared);
        Self { scene, before: Vec::new(), said: vec![prepared] }
    }

    fn infos(&self) -> Vec<CheckpointInfo> {
        self.scene.journal.checkpoints().unwrap()
    }

    fn call(&mut self, script: &str) {
        let before = self.scene.tree();
        let id = self.scene.run(script).1.id;
        self.before.extend(id.map(|id| (id, before)));
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

    /// Goes back to before one of the calls, and there and back again.
    fn go_back(&mut self, numbers: &mut Numbers) {
        if self.before.is_empty() {
            return;
        }
        let (since, expected) = self.before[numbers.next(self.before.len())].clone();
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
        if numbers.next(4) == 0 {
            self.lose_the_end(id);
            self.scene.journal.take_back_cut_short("session").unwrap();
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
    let mut walk = Walk::new(scene, &mut numbers);
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

#[test]
fn the_files_are_as_they_were_at_any_earlier_moment() {
    let (count, seed) = (setting("TENON_FUZZ_WALKS", 24), setting("TENON_FUZZ_SEED", 1));
    for seed in seed..seed + count {
        let compared = |options: &mut JournalOptions| options.by_comparison = seed % 4 == 0;
        walk(Scene::at(&std::env::temp_dir(), Walls::None, compared), seed);
    }
}
