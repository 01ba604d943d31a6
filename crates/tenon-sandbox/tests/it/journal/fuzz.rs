//! Chains of random operations, each chain undone and compared.
//!
//! `TENON_FUZZ_CHAINS` and `TENON_FUZZ_SEED` say how many and from which seed.

#![expect(clippy::indexing_slicing, reason = "numbers below the length of a list")]

use tenon_sandbox::{CheckpointId, Conflicts, JournalOptions, Trouble, Undone};

use super::tree::difference;
use super::{Scene, Walls};

const OPERATIONS: usize = 25;

/// A sequence of numbers that a seed decides (SplitMix64).
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }

    pub(super) fn name(&mut self) -> String {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let depth = 1 + self.next(3);
        let names: Vec<&str> = (0..depth).map(|_| NAMES[self.next(NAMES.len())]).collect();
        names.join("/")
    }
}

pub(super) fn operation(numbers: &mut Numbers) -> String {
    let (one, two) = (numbers.name(), numbers.name());
    let number = numbers.next(1000);
    match numbers.next(21) {
        0..3 => format!("echo {number} > {one}"),
        3..5 => format!("echo {number} >> {one}"),
        5 => format!("mkdir -p {one}"),
        6 => format!("rm -rf {one}"),
        7 => format!("rm -f {one}"),
        8 => format!("rmdir {one}"),
        9..12 => format!("mv -T {one} {two}"),
        12 => format!("mv {one} {two}"),
        13 => format!("ln {one} {two}"),
        14 => format!("ln -s {two} {one}"),
        15 => format!("chmod {} {one}", ["700", "755", "600", "750"][number % 4]),
        16 => format!("touch -d @{number} {one}"),
        17 => format!("cp -a {one} {two}"),
        18 => format!("truncate -s {} {one}", number % 5),
        19 => format!("ln -f {one} {two}"),
        _ => format!(
            "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100,b'{one}',-100,b'{two}',2)\""
        ),
    }
}

fn chains(scene: &Scene, count: usize, seed: u64) {
    for chain in 0..count {
        let seed = seed + chain as u64;
        let mut numbers = Numbers::new(seed);
        let prepared: Vec<String> = (0..12).map(|_| operation(&mut numbers)).collect();
        scene.prepare(&format!("exec 2>/dev/null\n{}\ntrue", prepared.join("\n")));
        let script: Vec<String> = (0..OPERATIONS).map(|_| operation(&mut numbers)).collect();
        // In two checkpoints, so that nodes that were made again are met again.
        let (first, second) = script.split_at(OPERATIONS / 2);
        let run = |part: &[String]| {
            let before = scene.tree();
            let (_, changes) = scene.run(&format!("exec 2>/dev/null\n{}\ntrue", part.join("\n")));
            let known = |trouble: &Trouble| *trouble == Trouble::Compared;
            assert!(changes.troubles.iter().all(known), "seed {seed}: {changes:?}");
            (before, changes.id)
        };
        let (before, one) = run(first);
        let (between, other) = run(second);
        let after = scene.tree();
        let say = |what: &str| format!("seed {seed}, {what}:\n{}", script.join("\n"));
        let compare = |expected, what: &str| {
            let rest = difference(expected, &scene.tree());
            assert!(rest.is_empty(), "{rest}\n{}", say(what));
        };
        let undo_all = |ids: &[CheckpointId], what: &str| {
            (!ids.is_empty()).then(|| match scene.journal.undo(ids, "s", &Conflicts::Refuse) {
                Ok(Undone::Done { id, .. }) => id,
                other => panic!("{other:?}\n{}", say(what)),
            })
        };
        let undo = |id: Option<CheckpointId>, what: &str| undo_all(id.as_slice(), what);
        let undone = undo(other, "undo the second");
        compare(&between, "undo the second");
        let redone = undo(undone, "redo the second");
        compare(&after, "redo the second");
        let undone = undo(redone, "undo it again");
        compare(&between, "undo it again");
        undo(undone, "redo it again");
        compare(&after, "redo it again");
        let both: Vec<CheckpointId> = other.into_iter().chain(one).collect();
        let undone = undo_all(&both, "undo both");
        compare(&before, "undo both");
        undo(undone, "redo both");
        compare(&after, "redo both");
        let undone = undo_all(&both, "undo both again");
        compare(&before, "undo both again");
        undo(undone, "redo both again");
        compare(&after, "redo both again");
        undo(other, "undo the second");
        compare(&between, "undo the second, in the end");
        undo(one, "undo the first");
        compare(&before, "undo the first");
    }
}

pub(super) fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_chains_are_undone() {
    let (count, seed) = (setting("TENON_FUZZ_CHAINS", 40), setting("TENON_FUZZ_SEED", 1));
    chains(&Scene::new(Walls::None), count as usize, seed);
    chains(&Scene::new(Walls::A), count as usize / 4, seed + 10_000);
    let compared = |options: &mut JournalOptions| options.by_comparison = true;
    let scene = Scene::at(&std::env::temp_dir(), Walls::None, compared);
    chains(&scene, count as usize / 2, seed + 20_000);
}
