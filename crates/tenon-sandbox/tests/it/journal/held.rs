//! What an undo that leaves a person's things says of what else it leaves: everything that is not as it was
//! before the calls is named, or in something that is.
//!
//! `TENON_FUZZ_HELD` and `TENON_FUZZ_SEED` say how many random chains there are, and from which seed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tenon_sandbox::{
    Change, ChangeKind, CheckpointId, Conflict, ConflictReason, Conflicts, JournalError,
    JournalOptions, Undone,
};

use super::closed::whole;
use super::fuzz::{Numbers, setting};
use super::person::{acts, is_left};
use super::tree::{Tree, difference};
use super::{Scene, Walls, as_ordinary_user};

/// What there is, a call, what a person does then, and what an undo says stays so, because of what it keeps.
const HELD: &[(&str, &str, &str, &[&str])] = &[
    // The folder that the call renamed, with all in it.
    ("mkdir d; echo 1 > d/1; echo 2 > d/2", "mv d n; mv n/1 n/1r", "echo mine > n/1r", &["d", "n"]),
    ("mkdir d; echo 1 > d/1", "mv d n; echo 2 > n/2", "echo mine > n/2", &["d", "n"]),
    // What has another thing in its place.
    ("echo 1 > t", "mv t t2; ln -s t2 t", "rm t; echo mine > t", &["t2"]),
    ("echo 1 > t; echo 2 > u", "mv u v; mv t u", "echo mine > t", &["u", "v"]),
    ("mkdir d; echo 1 > d/x", "mkdir n; mv d n", "echo mine > d", &["n/d"]),
    // What is the same file.
    ("echo 1 > x", "ln x z; rm x", "echo mine > z", &["x"]),
    // Empty folders of the call's own.
    ("", "mkdir -p n/m; echo 1 > n/m/f", "rm n/m/f", &["n"]),
    ("", "mkdir -p n/m; echo 1 > n/m/f", "rm n/m/f; echo mine > n/x", &["n/m"]),
    // On the way to what is kept.
    ("", "mkdir -p n/m/e; echo 1 > n/m/f", "echo mine > n/m/x", &[]),
    // What the call removed from a folder that the person moved, or removed.
    ("mkdir s; echo 1 > s/f; echo 2 > s/g", "rm s/g", "mv s n", &["s/g"]),
    ("mkdir s; echo 1 > s/f; echo 2 > s/g", "rm s/g", "rm -r s", &["s/g"]),
    ("mkdir s; echo 1 > s/f; echo 2 > s/g", "rm s/g", "mv s n; mkdir s; echo mine > s/x", &["s/g"]),
    ("mkdir s; echo 1 > s/f; echo 2 > s/g", "rm s/g; echo c > s/f", "mv s n", &["s/g"]),
    ("mkdir -p s/a; echo 1 > s/a/f; echo 2 > s/a/g", "rm s/a/g", "mv s n", &["s/a/g"]),
    ("mkdir -p s/a; echo 1 > s/a/f", "rm -r s/a", "mv s n", &["s/a"]),
    ("mkdir -p s/a; echo 1 > s/a/f", "rm -r s/a", "rm -r s", &["s/a"]),
    ("mkdir -p s/a; echo 1 > s/a/f", "rm s/a/f", "mv s n; mkdir s; mv n/a s/a", &[]),
    ("mkdir s; echo 1 > s/f; echo 2 > s/g", "mv s/g h", "mv s n", &["h"]),
];

fn person(scene: &Scene, script: &str) {
    let mut command = std::process::Command::new("bash");
    let script = format!("umask 022; sleep 0.02\n{script}");
    assert!(command.arg("-c").arg(script).current_dir(scene.root()).status().unwrap().success());
}

fn keep(scene: &Scene, ids: &[CheckpointId]) -> Result<Undone, JournalError> {
    scene.journal.undo(ids, "session", &Conflicts::Keep)
}

#[test]
fn what_is_held_by_what_is_kept_is_named() {
    for (before, script, edit, expected) in HELD {
        let scene = Scene::new(Walls::None);
        scene.prepare(&format!("umask 022; {before}"));
        let id = scene.change(&format!("umask 022; {script}"));
        person(&scene, edit);
        let outcome = keep(&scene, &[id]).unwrap();
        let Undone::Done { id, kept, .. } = outcome else { panic!("{script}: {outcome:?}") };
        let held = kept.iter().filter(|kept| kept.reason == ConflictReason::Held);
        let held: Vec<&str> = held.map(|held| held.path.to_str().unwrap()).collect();
        assert_eq!(held, *expected, "{script}, then {edit}: {kept:?}");
        let told: BTreeSet<PathBuf> = kept.into_iter().map(|kept| kept.path).collect();
        let known: BTreeSet<PathBuf> = scene.journal.kept_by(id).unwrap().into_iter().collect();
        assert_eq!(known, told, "{script}, then {edit}");
    }
}

/// What there is, two calls, and what a person does then: what stays there for the second stays for the first.
const TWICE: &[(&str, [&str; 2], &str, &[&str])] = &[
    ("mkdir d; echo 1 > d/1", ["mv d n", "mv n m"], "chmod 700 m", &["d", "m"]),
    ("echo 1 > a", ["mv a y", "mv y z"], "echo mine > z", &["a", "z"]),
    // Nothing of the first is named as somebody's that is as the call left it.
    (
        "mkdir d; echo 1 > d/1; echo 2 > d/2",
        ["echo c > d/2", "mv d n; mv n/1 n/1r"],
        "echo mine > n/1r",
        &["d", "n", "n/1r"],
    ),
    // The later call renamed the folder around a file that both gave another name.
    (
        "mkdir e; echo 1 > e/f; echo 2 > e/t",
        ["mv e/f e/l", "mv e z; mv z/t z/l"],
        "echo mine >> z/l",
        &["e", "z", "z/l"],
    ),
    (
        "mkdir e; echo 1 > e/f",
        ["mv e/f e/l", "mv e z; mv z/l z/m"],
        "echo mine > .new; mv .new z/m",
        &["e", "z", "z/f", "z/l", "z/m"],
    ),
    // What a later call took away has its place, though it was also where somebody's file is.
    ("echo 1 > f; echo 2 > t", ["mv f l", "mv t l"], "echo mine >> l", &["l", "t"]),
];

#[test]
fn what_stays_for_a_later_call_stays_for_an_earlier_one() {
    for (before, calls, edit, expected) in TWICE {
        let scene = Scene::new(Walls::None);
        scene.prepare(&format!("umask 022; {before}"));
        let ids: Vec<CheckpointId> = calls.iter().map(|call| scene.change(call)).collect();
        person(&scene, edit);
        let theirs = whole(&scene);
        let outcome = keep(&scene, &ids).unwrap();
        let Undone::Done { id, kept, .. } = outcome else { panic!("{calls:?}: {outcome:?}") };
        let told: BTreeSet<&str> = kept.iter().map(|kept| kept.path.to_str().unwrap()).collect();
        assert_eq!(told, expected.iter().copied().collect(), "{calls:?}, then {edit}: {kept:?}");
        scene.undo(id);
        assert_eq!(difference(&theirs, &whole(&scene)), "", "{calls:?}, then {edit}");
    }
}

/// What there is before, calls that move it on and on, what a person makes where it was in between, and the
/// files after an undo that keeps that.
const MOVED_BACK: &[(&str, &[&str], &str, &[&str])] = &[
    (
        "mkdir util lib; echo mine > util/a",
        &["mv util lib", "mv lib src"],
        "mkdir lib; echo b > lib/b",
        &["lib/b", "util/a"],
    ),
    (
        "mkdir -p D/F E/G; echo mine > D/F/keep",
        &["mv D/F E/G", "mv E/G D"],
        "mkdir -p E/G; echo b > E/G/x",
        &["D/F/keep", "E/G/x"],
    ),
    (
        "mkdir -p D/F E/G; echo mine > D/F/keep",
        &["echo c > D/F/c", "mv D/F E/G", "mv E/G D"],
        "mkdir -p E/G; echo b > E/G/x",
        &["D/F/keep", "E/G/x"],
    ),
    (
        "mkdir util; echo mine > util/a",
        &["mv util u2", "mv u2 u3"],
        "mkdir u2; echo b > u2/b",
        &["u2/b", "util/a"],
    ),
];

#[test]
fn what_calls_moved_on_is_back_though_a_person_made_something_where_it_was_in_between() {
    for (before, calls, edit, expected) in MOVED_BACK {
        let scene = Scene::new(Walls::None);
        scene.prepare(before);
        let ids: Vec<_> = calls.iter().map(|call| scene.change(call)).collect();
        person(&scene, edit);
        let (theirs, what) = (scene.tree(), format!("{calls:?}, then {edit}"));
        let outcome = keep(&scene, &ids).unwrap();
        let Undone::Done { id, .. } = outcome else { panic!("{what}: {outcome:?}") };
        let mut files: Vec<PathBuf> = scene.tree().into_keys().collect();
        files.retain(|path| scene.root().join(path).is_file());
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(files, expected, "{what}");
        scene.undo(id);
        assert_eq!(difference(&theirs, &scene.tree()), "", "redo of {what}");
    }
}

/// How things were, from before the calls to after their undo.
struct Trees {
    before: Tree,
    called: Tree,
    changed: Tree,
    undone: Tree,
}

/// What an undo told of what it did not put back.
struct Told {
    kept: Vec<PathBuf>,
    moved: Vec<PathBuf>,
    /// Where calls had moved things from, and to.
    renamed: Vec<(PathBuf, PathBuf)>,
}

impl Trees {
    /// What is other than it was before, and nobody is told.
    fn untold(&self, told: &Told) -> Vec<PathBuf> {
        let theirs = self.theirs(told);
        let paths: BTreeSet<&PathBuf> = self.before.keys().chain(self.undone.keys()).collect();
        let paths = paths.into_iter().filter(|path| !path.as_os_str().is_empty());
        let untold = paths.filter(|path| {
            !is_same(&self.before, &self.undone, path)
                && !self.is_told(told, path)
                && !theirs.contains(*path)
        });
        untold.cloned().collect()
    }

    fn is_told(&self, told: &Told, path: &Path) -> bool {
        let is_named = |path: &Path| {
            path.ancestors().any(|above| told.kept.iter().chain(&told.moved).any(|at| at == above))
        };
        // On the way to something that is named, or another name of it.
        let is_way = || {
            let mut named = told.kept.iter().chain(&told.moved);
            named.any(|at| at.starts_with(path) && self.undone.contains_key(at))
        };
        let is_other_name = |now| {
            self.undone.iter().any(|(other, entry)| entry.is_same_file(now) && is_named(other))
        };
        is_named(path)
            || is_way() && self.undone.contains_key(path)
            || self.undone.get(path).is_some_and(is_other_name)
    }

    /// What the person did, also by where it was before a call moved it.
    fn theirs(&self, told: &Told) -> BTreeSet<PathBuf> {
        let paths = self.called.keys().chain(self.changed.keys());
        let mut theirs: BTreeSet<PathBuf> =
            paths.filter(|path| !is_same(&self.called, &self.changed, path)).cloned().collect();
        for (from, to) in &told.renamed {
            let back = theirs.iter().filter_map(|path| {
                let rest = path.strip_prefix(to).ok()?;
                Some(if rest.as_os_str().is_empty() { from.clone() } else { from.join(rest) })
            });
            let back: Vec<PathBuf> = back.collect();
            theirs.extend(back);
        }
        theirs
    }
}

fn is_same(one: &Tree, other: &Tree, path: &Path) -> bool {
    match (one.get(path), other.get(path)) {
        (Some(one), Some(other)) => one.has_same_bytes(other) && one.has_same_rights(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Whether an undo may be refused, and leave everything as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Right,
    Wrong,
}

/// Calls, then what a person does: all calls are undone but for that.
fn check(
    scene: &Scene,
    (prepared, calls, edit): (&str, &[String], &str),
    seed: u64,
    refusal: Refusal,
) {
    let say = || format!("seed {seed}\n{prepared}\n---\n{}\n=== {edit}", calls.join("\n---\n"));
    scene.prepare(prepared);
    let before = whole(scene);
    let (mut ids, mut renamed) = (Vec::new(), Vec::new());
    for call in calls {
        let changes = scene.run(call).1;
        ids.extend(changes.id);
        renamed.extend(changes.files.into_iter().rev().filter_map(came));
    }
    renamed.reverse();
    if ids.is_empty() {
        return;
    }
    let called = whole(scene);
    person(scene, edit);
    let changed = whole(scene);
    let (id, kept, moved) = match keep(scene, &ids) {
        Ok(Undone::Done { id, kept, moved, .. }) => (id, kept, moved),
        Err(JournalError::NotRestored { .. }) if refusal == Refusal::Right => {
            return assert_eq!(difference(&changed, &whole(scene)), "", "{}", say());
        }
        other => panic!("{other:?}\n{}", say()),
    };
    let trees = Trees { before, called, changed, undone: whole(scene) };
    let paths = kept.iter().map(|kept| kept.path.clone()).collect();
    let untold = trees.untold(&Told { kept: paths, moved, renamed });
    assert!(untold.is_empty(), "{untold:?} not in {kept:#?}\n{}", say());
    for Conflict { path, reason } in &kept {
        // What went along with a folder was elsewhere.
        let is_kept =
            !trees.changed.contains_key(path) || is_left(path, &trees.changed, &trees.undone);
        assert!(*reason == ConflictReason::Held || is_kept, "{path:?} in {kept:#?}\n{}", say());
        let is_back = *reason == ConflictReason::Held && is_as_it_was(&trees, path);
        assert!(!is_back, "{path:?} is as it was\n{kept:#?}\n{}", say());
    }
    scene.undo(id);
    assert_eq!(difference(&trees.changed, &whole(scene)), "", "{}", say());
}

/// Whether a path, and all in it, is as before.
fn is_as_it_was(trees: &Trees, path: &Path) -> bool {
    let paths = trees.before.keys().chain(trees.undone.keys());
    let mut inside = paths.filter(|at| at.starts_with(path));
    inside.all(|at| trees.before.get(at) == trees.undone.get(at))
}

fn came(change: Change) -> Option<(PathBuf, PathBuf)> {
    match change.kind {
        ChangeKind::Renamed { from, .. } => Some((from, change.path)),
        _ => None,
    }
}

fn random(count: u64, seed: u64, by_comparison: bool) {
    for seed in seed..seed + count {
        let compared = |options: &mut JournalOptions| options.by_comparison = by_comparison;
        let scene = Scene::at(&std::env::temp_dir(), Walls::None, compared);
        let mut numbers = Numbers::new(seed);
        let prepared = acts(&mut numbers, 14);
        let count = 1 + numbers.next(2);
        let calls: Vec<String> = (0..count).map(|_| acts(&mut numbers, 4)).collect();
        let count = 1 + numbers.next(3);
        check(&scene, (&prepared, &calls, &acts(&mut numbers, count)), seed, Refusal::Right);
    }
}

#[test]
fn what_is_not_as_before_is_named_when_a_persons_things_are_kept() {
    let (count, seed) = (setting("TENON_FUZZ_HELD", 60), setting("TENON_FUZZ_SEED", 1));
    random(count * 3 / 4, seed, false);
    random(count / 4, seed + 30_000, true);
}

#[test]
fn what_is_not_as_before_is_named_for_an_ordinary_user() {
    as_ordinary_user("held::what_is_not_as_before_is_named_when_a_persons_things_are_kept");
}

/// What a call does to files that others had given names, in folders that it may have moved as well.
fn rename(numbers: &mut Numbers) -> String {
    const FOLDERS: [&str; 3] = ["d", "e", "z"];
    const NAMES: [&str; 3] = ["f", "g", "h"];
    let mut one = |names: [&'static str; 3]| {
        names.get(numbers.next(names.len())).copied().unwrap_or_default()
    };
    let (from, to, name, other) = (one(FOLDERS), one(FOLDERS), one(NAMES), one(NAMES));
    match numbers.next(6) {
        0 | 1 => format!("[[ -e {to} ]] || mv -T {from} {to}"),
        2 | 3 => format!("mv -T {from}/{name} {from}/{other}"),
        4 => format!("mv -T {from}/{name} {to}/{other}"),
        _ => format!("echo more >> {from}/{name}"),
    }
}

/// What a person does to some file that is there.
fn edit(numbers: &mut Numbers) -> String {
    let which = numbers.next(6);
    let file = format!("files=(*/*); file=${{files[{which} % ${{#files[@]}}]}}");
    let act = match numbers.next(6) {
        0 | 1 => "echo mine >> $file",
        2 => "echo mine > $file",
        3 | 4 => "echo mine > .new; mv .new $file",
        _ => "rm $file",
    };
    format!("{file}; {act}")
}

#[test]
fn what_is_kept_forbids_nothing_where_calls_renamed_files_and_the_folders_around_them() {
    let (count, seed) = (setting("TENON_FUZZ_RENAMED", 40), setting("TENON_FUZZ_SEED", 1));
    for seed in seed..seed + count {
        let by_comparison = seed.is_multiple_of(4);
        let compared = |options: &mut JournalOptions| options.by_comparison = by_comparison;
        let scene = Scene::at(&std::env::temp_dir(), Walls::None, compared);
        let mut numbers = Numbers::new(seed);
        let prepared = "mkdir d e; for f in f g h; do echo d$f > d/$f; echo e$f > e/$f; done";
        let calls = [2, 3].map(|count| {
            let acts: Vec<String> = (0..count).map(|_| rename(&mut numbers)).collect();
            format!("exec 2>/dev/null\n{}\ntrue", acts.join("\n"))
        });
        let edits = format!("{}\n{}", edit(&mut numbers), edit(&mut numbers));
        check(&scene, (prepared, &calls, &edits), seed, Refusal::Wrong);
    }
}
