//! A person changes things between calls: an undo leaves everything as it is or puts back what calls
//! changed, and a redo of it brings back all that was there.
//!
//! `TENON_FUZZ_PERSONS` and `TENON_FUZZ_SEED` say how many random chains there are, and from which seed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use tenon_sandbox::{
    CheckpointId, Conflict, ConflictReason, Conflicts, JournalError, JournalOptions, Undone,
};

use super::closed::whole;
use super::fuzz::{Numbers, operation, setting};
use super::tree::{Tree, difference};
use super::{Scene, Walls, as_ordinary_user};

const CALLS: usize = 3;

/// What stands in files that a person wrote, with a number.
const MINE: &str = "mine-";

/// What a person does, whose files are told by what stands in them.
fn edits(numbers: &mut Numbers, seed: u64, call: usize) -> String {
    let edit = acts(numbers, 2);
    let (one, other) = (numbers.name(), numbers.name());
    match numbers.next(6) {
        0 => format!("{edit}\nmkdir -p {one}; echo {MINE}{seed}-{call} > {one}/m; true"),
        1 => format!("{edit}\necho {MINE}{seed}-{call} > new; mv new {one}; true"),
        2 => format!("{edit}\nmv {one} {other}; echo {MINE}{seed}-{call} > {one}; true"),
        // In place, where there is such a file.
        3 => format!("{edit}\necho {MINE}{seed}-{call} > {one}; echo > {other}; true"),
        // Along with its folder.
        4 => format!("echo {MINE}{seed}-{call} > {one}/m; mv -T {one} {other}\n{edit}"),
        _ => edit,
    }
}

/// Something that a person or a call does.
fn act(numbers: &mut Numbers) -> String {
    let (one, number) = (numbers.name(), numbers.next(100));
    match numbers.next(12) {
        0 => format!("python3 -c \"import os; os.setxattr('{one}', 'user.n', b'{number}')\""),
        1 => format!("mkdir -p {one}; echo {number} > {one}/$'x\\377'"),
        2 => format!("echo {number} > new; mv new {one}"),
        _ => operation(numbers),
    }
}

pub(super) fn acts(numbers: &mut Numbers, count: usize) -> String {
    let acts: Vec<String> = (0..count).map(|_| act(numbers)).collect();
    format!("exec 2>/dev/null\n{}\ntrue", acts.join("\n"))
}

/// What there is, then calls and what a person does after each, and which of the calls are undone.
struct Story {
    prepared: String,
    calls: Vec<(String, String)>,
    undone: Vec<usize>,
}

fn story(seed: u64) -> Story {
    let mut numbers = Numbers::new(seed);
    let prepared = acts(&mut numbers, 12);
    let calls =
        (0..CALLS).map(|call| (acts(&mut numbers, 5), edits(&mut numbers, seed, call))).collect();
    let some: Vec<usize> = (0..CALLS).filter(|_| numbers.next(2) == 0).collect();
    let undone = if some.is_empty() { (0..CALLS).collect() } else { some };
    Story { prepared, calls, undone }
}

fn check(scene: &Scene, story: &Story, seed: u64) {
    let mut said = vec![story.prepared.clone()];
    scene.prepare(&story.prepared);
    let mut wanted: Vec<CheckpointId> = Vec::new();
    let (mut written, mut known) = (Written::new(), BTreeSet::new());
    for (number, (call, edit)) in story.calls.iter().enumerate() {
        let id = scene.run(call).1.id;
        wanted.extend(id.filter(|_| story.undone.contains(&number)));
        scene.prepare(edit);
        let new = written_now(scene).into_iter().filter(|(word, ..)| !known.contains(word));
        written.extend(new.collect::<Written>());
        known.extend(words(scene));
        said.extend([call.clone(), edit.clone()]);
    }
    if wanted.is_empty() {
        return;
    }
    let say = |what: &str| format!("seed {seed}, {what} {wanted:?}\n{}", said.join("\n---\n"));
    let is = |expected: &Tree, what: &str| {
        let rest = difference(expected, &whole(scene));
        assert!(rest.is_empty(), "{rest}\n{}", say(what));
    };
    let everything = Conflicts::Overwrite(vec![".".into()]);
    let some = Conflicts::Overwrite(["a", "b/c", "d", "new"].map(Into::into).to_vec());
    let named = match scene.journal.undo(&wanted, "session", &Conflicts::Refuse) {
        Ok(Undone::Conflicts(found)) => found.into_iter().map(|found| found.path).collect(),
        outcome => {
            if let Ok(Undone::Done { id, .. }) = outcome {
                scene.undo(id);
            }
            Vec::new()
        }
    };
    let named = Conflicts::Overwrite(named);
    for conflicts in [Conflicts::Refuse, some, named.clone(), Conflicts::Keep, everything] {
        let (before, theirs) = (whole(scene), theirs(scene, &written));
        match scene.journal.undo(&wanted, "session", &conflicts) {
            Ok(Undone::Done { id, .. }) => {
                if conflicts == Conflicts::Keep {
                    let lost: Vec<String> = theirs.difference(&words(scene)).cloned().collect();
                    assert!(lost.is_empty(), "{lost:?}\n{}", say("lost"));
                }
                let after = whole(scene);
                let mut last = id;
                for (expected, what) in [(&before, "redo"), (&after, "undo"), (&before, "redo")] {
                    last = match scene.journal.undo(&[last], "session", &Conflicts::Refuse) {
                        Ok(Undone::Done { id, .. }) => id,
                        other => panic!("{what} {conflicts:?} {other:?}\n{}", say(what)),
                    };
                    is(expected, &format!("{what} {conflicts:?}"));
                }
            }
            Ok(Undone::Conflicts(found)) if conflicts == named => {
                panic!("{found:?} beyond {named:?}\n{}", say("named"));
            }
            Ok(Undone::Conflicts(_)) | Err(JournalError::NotRestored { .. }) => {
                is(&before, &format!("untouched {conflicts:?}"));
            }
            Err(error) => panic!("{error:?}\n{}", say("error")),
        }
    }
    one_by_one(scene, &wanted, &written, &say);
}

/// Undoes calls one after the other, but for what was changed since, which stays exactly as it is.
fn one_by_one(
    scene: &Scene,
    wanted: &[CheckpointId],
    written: &Written,
    story: &dyn Fn(&str) -> String,
) {
    let mut redone: Vec<(CheckpointId, Tree)> = Vec::new();
    for id in wanted.iter().rev() {
        let (before, theirs) = (whole(scene), theirs(scene, written));
        let Ok(Undone::Done { id, kept, .. }) =
            scene.journal.undo(&[*id], "session", &Conflicts::Keep)
        else {
            continue;
        };
        let after = whole(scene);
        // What is held by it may get its content back.
        let kept = kept.iter().filter(|kept| kept.reason != ConflictReason::Held);
        for Conflict { path, reason } in kept {
            let (one, other) = (before.get(path), after.get(path));
            let say = || format!("{path:?} {reason:?} {one:?}\n   is now {other:?}");
            assert!(is_left(path, &before, &after), "{}\n{}", say(), story("left as it is"));
        }
        let lost: Vec<String> = theirs.difference(&words(scene)).cloned().collect();
        assert!(lost.is_empty(), "{lost:?}\n{}", story("lost one by one"));
        redone.push((id, before));
    }
    for (id, before) in redone.into_iter().rev() {
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
        assert!(matches!(outcome, Ok(Undone::Done { .. })), "{outcome:?}\n{}", story("redo one"));
        let rest = difference(&before, &whole(scene));
        assert!(rest.is_empty(), "{rest}\n{}", story("redo one by one"));
    }
}

/// Whether what an undo says it left as it is, is: of a folder, which the rest may come to, but for its
/// time.
pub(super) fn is_left(path: &Path, before: &Tree, after: &Tree) -> bool {
    match (before.get(path), after.get(path)) {
        (Some(one), Some(other)) => {
            let is_folder = one.mode & 0o170_000 == 0o040_000;
            one.has_same_bytes(other)
                && one.has_same_rights(other)
                && (is_folder || one.has_same_time(other))
        }
        (one, other) => one == other,
    }
}

/// What a person wrote, and the file that it was written to.
type Written = BTreeSet<(String, u64, Option<SystemTime>)>;

/// What persons wrote and is there.
fn words(scene: &Scene) -> BTreeSet<String> {
    written_now(scene).into_iter().map(|(word, ..)| word).collect()
}

/// What is there in the files that persons wrote it to: a copy that a call made goes with the call, also
/// where a person then removed what was copied.
fn theirs(scene: &Scene, written: &Written) -> BTreeSet<String> {
    written_now(scene).intersection(written).map(|(word, ..)| word.clone()).collect()
}

fn written_now(scene: &Scene) -> Written {
    let mut grep = std::process::Command::new("grep");
    grep.args(["-raoHZE", &format!("{MINE}[0-9-]+"), "."]);
    let out = grep.current_dir(scene.root()).output().unwrap().stdout;
    let found = out.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut parts = line.splitn(2, |byte| *byte == 0);
        let path = scene.root().join(OsStr::from_bytes(parts.next()?));
        let word = String::from_utf8(parts.next()?.to_vec()).ok()?;
        let file = path.symlink_metadata().ok()?;
        Some((word, file.ino(), file.created().ok()))
    });
    found.collect()
}

fn random(count: u64, seed: u64, by_comparison: bool) {
    for seed in seed..seed + count {
        let compared = |options: &mut JournalOptions| options.by_comparison = by_comparison;
        check(&Scene::at(&std::env::temp_dir(), Walls::None, compared), &story(seed), seed);
    }
}

#[test]
fn what_a_person_changed_between_calls_is_never_lost() {
    let (count, seed) = (setting("TENON_FUZZ_PERSONS", 40), setting("TENON_FUZZ_SEED", 1));
    random(count * 3 / 4, seed, false);
    random(count / 4, seed + 20_000, true);
}

#[test]
fn what_a_person_changed_between_calls_is_never_lost_for_an_ordinary_user() {
    as_ordinary_user("person::what_a_person_changed_between_calls_is_never_lost");
}

/// What there is, then each call and what a person does after it; all calls are undone.
const STORIES: &[(&str, &[(&str, &str)])] = &[
    ("", &[("mkdir -p b/d", ""), ("echo 7 > new; echo 5 > b/c", ""), ("rm -r b", "echo 84 > new")]),
    (
        "echo 5 > new",
        &[("mkdir c; echo 25 > new; mv new c/c", "echo 67 > new"), ("rm -r c; mkdir b", "")],
    ),
    ("mkdir d; echo 76 > d/x", &[("echo 18 > d/x", ""), ("rm -r d", "mkdir d; echo 88 > d/x")]),
    // A folder that is not empty is not removed.
    ("mkdir -p d/d/a", &[("rmdir d; echo 7 > a; rm a", "mv -T d a; mkdir a/c")]),
    ("echo 24 > new", &[("echo 41 > new", "echo 1 > new; mv new e"), ("echo 691 > e", "")]),
    // A folder takes what a person put in it to where a call had made something else.
    (
        "mkdir d",
        &[("echo 1 > e; mkdir -p d/b/e", "echo mine-1 > d/b/b"), ("rm -rf e", "mv -T d e")],
    ),
    // What cannot go back to its place is somebody's own where it is.
    ("echo 1 > a", &[("mv a z; echo 2 >> z", "echo mine-3 > z; echo 4 > a")]),
    ("echo 1 > a", &[("mv a z", "echo mine-3 > z; chmod 600 z; echo 4 > a")]),
    // It is by another name that the call takes away.
    (
        "mkdir d e; echo 1 > d/a; ln d/a e/b",
        &[("echo 2 > d/a; rm d/a; cp e/b d/a", "echo mine-3 > e/b")],
    ),
    (
        "mkdir c; echo 1 > c/a; ln c/a c/x; echo 2 > y",
        &[
            ("mv c/a z; rm c/x; rmdir c; mv y e; echo 3 >> e", ""),
            ("echo 4 >> z; mv e z; echo 5 >> z", "echo mine-6 > z; mkdir c; echo 7 > y"),
        ],
    ),
];

#[test]
fn what_a_person_moved_or_wrote_anew_between_calls_comes_back_with_a_redo() {
    for (number, (prepared, calls)) in STORIES.iter().enumerate() {
        let calls = calls.iter().map(|(call, edit)| (call.to_string(), edit.to_string()));
        let calls: Vec<(String, String)> = calls.collect();
        let undone = (0..calls.len()).collect();
        let story = Story { prepared: prepared.to_string(), calls, undone };
        check(&Scene::new(Walls::None), &story, number as u64);
    }
}

/// Undoes all of `ids` with what a person made since, at once or one after the other, and redoes it.
fn overwrite(at_once: bool) {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo 34 > new");
    let first = scene.change("echo 32 > new");
    let second = scene.change("echo x > c; rm c");
    scene.prepare("echo 37 > new; mv new c");
    let before = scene.tree();
    let calls: &[&[CheckpointId]] =
        if at_once { &[&[first, second]] } else { &[&[second], &[first]] };
    let undo = |ids: &[CheckpointId]| match scene.journal.undo(
        ids,
        "session",
        &Conflicts::Overwrite(vec![".".into()]),
    ) {
        Ok(Undone::Done { id, .. }) => id,
        other => panic!("{other:?}"),
    };
    let undone: Vec<CheckpointId> = calls.iter().map(|ids| undo(ids)).collect();
    for id in undone.into_iter().rev() {
        scene.undo(id);
    }
    assert_eq!(difference(&before, &scene.tree()), "", "{at_once}");
}

#[test]
fn what_a_person_wrote_and_an_undo_took_away_is_not_written_over_by_the_rest_of_it() {
    overwrite(true);
    overwrite(false);
}

#[test]
fn what_a_later_call_took_away_comes_back_as_it_was_after_any_number_of_redos() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo 1 > new");
    let first = scene.change("mkdir c; echo 25 > new; mv new c/c");
    let between = scene.tree();
    let second = scene.change("rm -r c; mkdir b");
    let both = scene.undo_all(&[first, second]);
    let redone = scene.undo(both);
    let undone = scene.undo(redone);
    scene.undo(undone);
    scene.undo(second);
    assert_eq!(difference(&between, &scene.tree()), "");
}
