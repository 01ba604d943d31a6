//! Change lists against the trees before and after: every path that a list names is one of them,
//! everything that differs is told, and nothing is told as edited that has the same bytes.
//!
//! `TENON_FUZZ_LISTS` and `TENON_FUZZ_SEED` say how many random chains there are, and from which seed.

use std::path::Path;

use tenon_sandbox::{Change, ChangeKind, Changes, Conflicts, Undone};

use super::closed::whole;
use super::fuzz::{Numbers, operation, setting};
use super::tree::{Tree, difference};
use super::{Scene, Walls, as_ordinary_user};

const OPERATIONS: usize = 8;

/// What a list says that the trees do not, and what it does not say.
fn faults(before: &Tree, after: &Tree, changes: &Changes) -> Vec<String> {
    let mut faults = Vec::new();
    for change in &changes.files {
        if let Some(fault) = fault(before, after, change) {
            faults.push(format!("{fault}: {:?} {}", change.kind, change.path.display()));
        }
    }
    let differing = before.keys().chain(after.keys().filter(|path| !before.contains_key(*path)));
    for path in differing.filter(|path| !path.as_os_str().is_empty()) {
        if !is_told(before, after, changes, path) {
            faults.push(format!("not told: {}", path.display()));
        }
    }
    faults
}

fn fault(before: &Tree, after: &Tree, change: &Change) -> Option<&'static str> {
    let path = if change.path == Path::new(".") { Path::new("") } else { &change.path };
    let (was, now) = (before.get(path), after.get(path));
    match (&change.kind, was, now) {
        (ChangeKind::Created, _, None) => Some("not there"),
        (ChangeKind::Created, ..) => None,
        (ChangeKind::Deleted, None, _) => Some("was not there"),
        (ChangeKind::Deleted, _, Some(_)) => Some("is there"),
        (ChangeKind::Deleted, ..) => None,
        (ChangeKind::Renamed { from, is_edited }, _, now) => {
            let Some(was) = before.get(from) else { return Some("from nowhere") };
            let Some(now) = now else { return Some("not there") };
            if from == path {
                return Some("from itself");
            }
            if change.over.is_some() && !before.contains_key(path) {
                return Some("over nothing");
            }
            (was.has_same_bytes(now) == *is_edited).then_some("edited or not")
        }
        (_, None, _) | (_, _, None) => Some("was or is not there"),
        (ChangeKind::Edited, Some(was), Some(now)) => {
            was.has_same_bytes(now).then_some("has the same bytes")
        }
        (ChangeKind::Mode, Some(was), Some(now)) => {
            was.has_same_rights(now).then_some("has the same rights")
        }
        (ChangeKind::Times, ..) => None,
    }
}

fn is_told(before: &Tree, after: &Tree, changes: &Changes, path: &Path) -> bool {
    let is_same = |was: &Path, now: &Path| match (before.get(was), after.get(now)) {
        (Some(was), Some(now)) => was.has_same_bytes(now) && was.has_same_rights(now),
        (None, None) => true,
        _ => false,
    };
    let is_named = |path: &Path| changes.files.iter().any(|change| change.path == *path);
    let is_from = |path: &Path| {
        let mut files = changes.files.iter();
        files.any(|change| matches!(&change.kind, ChangeKind::Renamed { from, .. } if from == path))
    };
    if is_same(path, path) || is_named(path) || is_from(path) {
        return true;
    }
    // Another name of the same file.
    if let (Some(_), Some(now)) = (before.get(path), after.get(path))
        && after.iter().any(|(other, entry)| entry.is_same_file(now) && is_named(other))
    {
        return true;
    }
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    changes.files.iter().any(|change| match &change.kind {
        ChangeKind::Created => after.contains_key(path) && above.contains(&&*change.path),
        // A file in the place of a folder, or the other way round.
        ChangeKind::Edited => above.contains(&&*change.path),
        // An undo takes new folders away as a whole.
        ChangeKind::Deleted => !after.contains_key(path) && above.contains(&&*change.path),
        ChangeKind::Renamed { from, .. } => {
            let went = path.strip_prefix(from).map(|rest| change.path.join(rest));
            let came = path.strip_prefix(&change.path).map(|rest| from.join(rest));
            let is_gone = !after.contains_key(path);
            went.is_ok_and(|went| is_gone && (is_same(path, &went) || is_named(&went)))
                || came.is_ok_and(|came| is_same(&came, path))
        }
        _ => false,
    })
}

fn shown(changes: &Changes) -> Vec<String> {
    let line = |change: &Change| match &change.kind {
        ChangeKind::Renamed { from, is_edited } => {
            let edited = if *is_edited { " edited" } else { "" };
            let over = if change.over.is_some() { " over" } else { "" };
            format!("renamed {} (← {}){edited}{over}", change.path.display(), from.display())
        }
        kind => format!("{kind:?} {}", change.path.display()).to_lowercase(),
    };
    changes.files.iter().map(line).collect()
}

fn scene(by_comparison: bool) -> Scene {
    Scene::at(&std::env::temp_dir(), Walls::None, |options| options.by_comparison = by_comparison)
}

/// Runs `script`, undoes it and redoes it; checks the three lists; returns the first.
fn run(scene: &Scene, script: &str, say: &str) -> Vec<String> {
    let before = whole(scene);
    let (_, changes) = scene.run(script);
    let after = whole(scene);
    let check = |before: &Tree, after: &Tree, changes: &Changes, what: &str| {
        let faults = faults(before, after, changes);
        assert_eq!(faults, [""; 0], "{what}: {:#?}\n{say}", shown(changes));
    };
    check(&before, &after, &changes, "call");
    let Some(id) = changes.id else { return Vec::new() };
    let undo = |id, what: &str| match scene.journal.undo(&[id], "session", &Conflicts::Refuse) {
        Ok(Undone::Done { id, changes, .. }) => (id, changes),
        other => panic!("{what}: {other:?}\n{say}"),
    };
    let (undone, list) = undo(id, "undo");
    assert_eq!(difference(&before, &whole(scene)), "", "undo\n{say}");
    check(&after, &before, &list, "undo");
    let (_, list) = undo(undone, "redo");
    assert_eq!(difference(&after, &whole(scene)), "", "redo\n{say}");
    check(&before, &after, &list, "redo");
    shown(&changes)
}

#[test]
fn what_went_along_with_folders_is_told_by_where_it_was() {
    for (prepare, script, expected) in [
        ("mkdir c; echo 1 > c/x", "mv c b; mkdir c; mv b c/", &["renamed c/b (← c)"][..]),
        (
            "mkdir c; echo 1 > c/x",
            "mv c b; mkdir c; mv b c/; echo 2 > c/b/x; echo n > c/n",
            &["renamed c/b (← c)", "renamed c/b/x (← c/x) edited", "created c/n"],
        ),
        (
            "mkdir d; echo 1 > f",
            "mkdir new; mv f new/f; mv new/f new/f2; mv new/f2 d/",
            &["renamed d/f2 (← f)", "created new"],
        ),
        (
            "mkdir d; echo 1 > d/f; echo 2 > d/g",
            "mkdir new; mv d new/; mv new/d/f f2; rm new/d/g",
            &["deleted d/g", "renamed f2 (← d/f)", "created new", "renamed new/d (← d)"],
        ),
        ("echo 1 > f", "mkdir new; mv f new/", &["created new", "renamed new/f (← f)"]),
        (
            "mkdir d; echo 1 > d/x; echo 2 > d/y; echo 3 > d/z",
            "mv d e; echo n > e/x; chmod 751 e/y; rm e/z",
            &[
                "deleted d/z",
                "renamed e (← d)",
                "renamed e/x (← d/x) edited",
                "renamed e/y (← d/y)",
            ],
        ),
        (
            "mkdir d e; echo 1 > d/x; echo 2 > e/x",
            "mv d t; mv e d; mv t e; rm e/x",
            &["renamed d (← e)", "edited d/x", "renamed e (← d)"],
        ),
        ("echo 1 > q", "cp -a q p; mv p a; rm q; ln a q", &["created a"]),
        ("echo 1 > q; echo 1 > a", "cp -a q p; mv p a; rm q; ln a q", &[]),
        ("echo 1 > q; echo 2 > a", "mv q b; cp -p b q; mv b c", &["renamed c (← q)"]),
        ("echo 1 > a", "mv a b; cp b a", &["times a", "renamed b (← a)"]),
        ("echo 1 > a; echo 2 > b", "mv a b", &["renamed b (← a) over"]),
        ("echo 1 > a; ln -s x b", "rm b; mv a b; echo 2 > b", &["renamed b (← a) edited over"]),
        ("mkdir a b; echo 1 > a/x", "mv -T a b", &["renamed b (← a) over"]),
        ("echo 1 > a; echo 2 > b", "mv b c; mv a b", &["renamed b (← a)", "renamed c (← b)"]),
        (
            "echo 1 > a; echo 2 > b",
            "mv a t; mv b a; mv t b",
            &["renamed a (← b)", "renamed b (← a)"],
        ),
    ] {
        for by_comparison in [false, true] {
            let scene = scene(by_comparison);
            scene.prepare(&format!("umask 022\n{prepare}\ntouch -d 2010-01-01 $(find . -type f)"));
            let told = run(&scene, &format!("umask 022\n{script}"), script);
            assert_eq!(told, expected, "{script} {by_comparison}");
        }
    }
}

#[test]
fn random_lists_tell_what_differs_and_nothing_else() {
    let count = setting("TENON_FUZZ_LISTS", 60) as usize;
    let seed = setting("TENON_FUZZ_SEED", 1);
    for (by_comparison, count) in [(false, count), (true, count / 3)] {
        for chain in 0..count {
            let scene = scene(by_comparison);
            let seed = seed + chain as u64 + if by_comparison { 1_000_000 } else { 0 };
            let mut numbers = Numbers::new(seed);
            let prepared: Vec<String> = (0..10).map(|_| operation(&mut numbers)).collect();
            scene.prepare(&format!("exec 2>/dev/null\n{}\ntrue", prepared.join("\n")));
            let script: Vec<String> = (0..OPERATIONS).map(|_| operation(&mut numbers)).collect();
            let (prepared, script) = (prepared.join("\n"), script.join("\n"));
            let say = format!("seed {seed}, compared: {by_comparison}\n{prepared}\n---\n{script}");
            run(&scene, &format!("exec 2>/dev/null\n{script}\ntrue"), &say);
        }
    }
}

#[test]
fn random_lists_tell_what_differs_for_an_ordinary_user() {
    as_ordinary_user("lists::random_lists_tell_what_differs_and_nothing_else");
}
