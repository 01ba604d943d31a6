//! What a person changed since is not touched without a yes by name.

use std::path::PathBuf;

use tenon_sandbox::{Conflict, ConflictReason, Conflicts, JournalError, Undone};

use super::tree::difference;
use super::{Scene, Walls};

pub(super) type Case = (&'static str, &'static str, &'static [(&'static str, ConflictReason)]);

/// A command, what a person does then, and what undo finds.
pub(super) const CASES: &[Case] = &[
    ("echo c > text", "echo person > text", &[("text", ConflictReason::Changed)]),
    ("echo c > text", "rm text", &[("text", ConflictReason::Deleted)]),
    ("rm text", "echo person > text", &[("text", ConflictReason::Created)]),
    ("mkdir new; echo c > new/c", "echo p > new/p", &[("new/p", ConflictReason::Created)]),
    ("mkdir new; echo c > new/c", "echo p > new/c", &[("new/c", ConflictReason::Changed)]),
    ("mkdir new; echo c > new/c", "rm new/c", &[("new/c", ConflictReason::Deleted)]),
    ("echo c > made", "chmod 600 made", &[("made", ConflictReason::Changed)]),
    ("rm -r dir", "mkdir dir", &[("dir", ConflictReason::Created)]),
    ("mv text moved", "echo p >> moved", &[("moved", ConflictReason::Changed)]),
    // Nobody has what was in these.
    ("echo c >> text", "echo p > text", &[("text", ConflictReason::NotKept)]),
    ("echo c >> text", "rm text", &[("text", ConflictReason::NotKept)]),
    ("chmod 600 text", "rm text", &[("text", ConflictReason::NotKept)]),
    ("mv text moved", "rm moved", &[("moved", ConflictReason::NotKept)]),
    ("mv dir moved", "rm -r moved", &[("moved", ConflictReason::Deleted)]),
    // What was before the part that was added is there still, also at another place.
    ("echo c >> text", "echo p >> text", &[("text", ConflictReason::Changed)]),
    ("echo c >> text", "mv text dir/t", &[("text", ConflictReason::Deleted)]),
    // Also what is no content: an undo would take it away, and with its redo nothing would bring it back.
    (
        "python3 -c \"import os; os.setxattr('text', 'user.call', b'1')\"",
        "python3 -c \"import os; os.setxattr('text', 'user.mine', b'1')\"",
        &[("text", ConflictReason::Changed)],
    ),
    (
        "chmod 700 dir",
        "python3 -c \"import os; os.setxattr('dir', 'user.mine', b'1')\"",
        &[("dir", ConflictReason::Changed)],
    ),
    // A folder that was moved is one where it was and where it is.
    (
        "mkdir dir/n",
        "mv dir z",
        &[
            ("dir", ConflictReason::Deleted),
            ("dir/n", ConflictReason::Deleted),
            ("z", ConflictReason::Created),
            ("z/f", ConflictReason::Created),
        ],
    ),
    // Written again with the same bytes, or somewhere else, is no conflict.
    ("echo c > text", "echo c > text", &[]),
    ("echo c > text", "echo p > other; touch dir", &[]),
    ("echo c > dir/f", "mv dir elsewhere; mv elsewhere dir", &[]),
];

pub(super) fn person(scene: &Scene, script: &str) {
    let mut command = std::process::Command::new("bash");
    assert!(command.arg("-c").arg(script).current_dir(scene.root()).status().unwrap().success());
}

#[test]
fn undo_touches_nothing_that_a_person_changed_since() {
    for (script, edit, expected) in CASES {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo one > text; mkdir dir; echo f > dir/f; umask 022");
        let id = scene.change(&format!("umask 022; {script}"));
        person(&scene, &format!("umask 022; sleep 0.02; {edit}"));
        let now = scene.tree();
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap();
        match outcome {
            Undone::Conflicts(found) => {
                let expected: Vec<Conflict> = expected
                    .iter()
                    .map(|(path, reason)| Conflict { path: PathBuf::from(path), reason: *reason })
                    .collect();
                assert_eq!(found, expected, "{script}, then {edit}");
                assert_eq!(difference(&now, &scene.tree()), "", "{script}, then {edit}");
            }
            Undone::Done { .. } => assert!(expected.is_empty(), "{script}, then {edit}"),
        }
    }
}

#[test]
fn a_yes_by_name_undoes_it_and_keeps_what_the_person_had() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; echo two > other");
    let before = scene.tree();
    let id = scene.change("echo c > text; echo c > other; echo c > third");
    person(&scene, "sleep 0.02; echo person > text; echo person > other");
    let yes = |names: &[&str]| Conflicts::Overwrite(names.iter().map(PathBuf::from).collect());
    let refused = scene.journal.undo(&[id], "session", &yes(&["text"])).unwrap();
    assert!(matches!(refused, Undone::Conflicts(found) if found.len() == 1));
    let mine = scene.tree();
    let done = scene.journal.undo(&[id], "session", &yes(&["text", "other"])).unwrap();
    let Undone::Done { id, .. } = done else { panic!("{done:?}") };
    assert_eq!(difference(&before, &scene.tree()), "");
    scene.undo(id);
    assert_eq!(difference(&mine, &scene.tree()), "");
}

#[test]
fn what_a_person_changed_can_be_kept_and_the_rest_undone() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; echo two > other");
    let id = scene.change("echo c > text; echo c > other; mkdir new; echo c > new/c");
    person(&scene, "sleep 0.02; echo person > text; echo p > new/p");
    let done = scene.journal.undo(&[id], "session", &Conflicts::Keep).unwrap();
    let Undone::Done { kept, .. } = done else { panic!("{done:?}") };
    let kept: Vec<_> = kept.iter().map(|conflict| conflict.path.to_str().unwrap()).collect();
    assert_eq!(kept, ["new/p", "text"]);
    let read = |name: &str| std::fs::read_to_string(scene.root().join(name)).unwrap();
    assert_eq!((&*read("text"), &*read("other"), &*read("new/p")), ("person\n", "two\n", "p\n"));
}

#[test]
fn conflicts_in_an_older_checkpoint_leave_the_newer_as_it_was() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; mkdir d; echo x > d/x");
    let older = scene.change("echo older > text; echo y > d/y");
    person(&scene, "sleep 0.02; echo person > d/y");
    let newer = scene.change("echo newer > text; rm -r d");
    let now = scene.tree();
    let outcome = scene.journal.undo(&[older, newer], "session", &Conflicts::Refuse).unwrap();
    assert!(matches!(outcome, Undone::Conflicts(_)), "{outcome:?}");
    assert_eq!(difference(&now, &scene.tree()), "");
    scene.undo(newer);
    assert_eq!(std::fs::read_to_string(scene.root().join("d/y")).unwrap(), "person\n");
}

#[test]
fn a_later_checkpoint_on_the_same_file_is_a_conflict() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text");
    let before = scene.tree();
    let first = scene.change("echo two > text");
    let second = scene.change("echo three > text");
    let outcome = scene.journal.undo(&[first], "session", &Conflicts::Refuse).unwrap();
    assert!(matches!(outcome, Undone::Conflicts(_)), "{outcome:?}");
    scene.undo(second);
    scene.undo(first);
    assert_eq!(difference(&before, &scene.tree()), "");
}

/// A command, and how a person puts the same there again.
const SAVED_AGAIN: &[(&str, &str)] = &[
    ("echo c > text", "cp -p text n; mv n text"),
    ("echo c >> text", "cp -p text n; mv n text"),
    ("chmod 600 text", "cp -p text n; mv n text"),
    ("mv text moved", "cp -p moved n; mv n moved"),
    ("echo c > dir/f; echo c > dir/g", "cp -a dir e; rm -r dir; mv e dir"),
    ("mv dir moved; echo c >> moved/f", "cp -a moved e; rm -r moved; mv e moved"),
];

fn content(scene: &Scene, name: &str) -> String {
    std::fs::read_to_string(scene.root().join(name)).unwrap_or_else(|error| error.to_string())
}

/// Names and contents.
fn contents(scene: &Scene) -> String {
    let script = "find . -mindepth 1 -printf '%P %M\n' | sort; grep -r . . | sort";
    let command =
        std::process::Command::new("bash").args(["-c", script]).current_dir(scene.root()).output();
    String::from_utf8(command.unwrap().stdout).unwrap()
}

#[test]
fn what_was_saved_again_as_another_file_is_undone_all_the_same() {
    for (script, edit) in SAVED_AGAIN {
        let scene = Scene::new(Walls::None);
        scene.prepare("umask 022; echo one > text; mkdir dir; echo f > dir/f");
        let before = contents(&scene);
        let id = scene.change(&format!("umask 022; {script}"));
        person(&scene, &format!("sleep 0.02; {edit}"));
        let after = contents(&scene);
        let undone = scene.undo(id);
        assert_eq!(contents(&scene), before, "{script}, then {edit}");
        scene.undo(undone);
        assert_eq!(contents(&scene), after, "redo of {script}, then {edit}");
    }
}

#[test]
fn a_yes_by_name_puts_back_what_another_file_stands_for_and_what_is_gone() {
    for edit in [
        "echo person > n; mv n text",
        "rm text",
        "mv text mine; echo more >> mine",
        "mv text mine; cp mine text; echo more >> text; echo more >> mine",
    ] {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo one > text");
        let id = scene.change("echo c > text");
        person(&scene, &format!("sleep 0.02; {edit}"));
        let (persons, mine) = (contents(&scene), content(&scene, "mine"));
        let yes = Conflicts::Overwrite(vec!["text".into()]);
        let done = scene.journal.undo(&[id], "session", &yes).unwrap();
        let Undone::Done { id, .. } = done else { panic!("{edit}: {done:?}") };
        assert_eq!(content(&scene, "text"), "one\n", "{edit}");
        assert_eq!(content(&scene, "mine"), mine, "{edit}");
        scene.undo(id);
        assert_eq!(contents(&scene), persons, "redo after {edit}");
    }
}

#[test]
fn what_went_with_a_file_is_not_made_up_out_of_another() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; echo two > other");
    let id = scene.change("echo c >> text; echo c > other");
    person(&scene, "sleep 0.02; echo something else > n; mv n text");
    let persons = contents(&scene);
    let yes = Conflicts::Overwrite(vec!["text".into()]);
    let refused = scene.journal.undo(&[id], "session", &yes);
    assert!(matches!(refused, Err(JournalError::NotRestored { .. })), "{refused:?}");
    assert_eq!(contents(&scene), persons);
    let kept = scene.journal.undo(&[id], "session", &Conflicts::Keep).unwrap();
    assert!(matches!(kept, Undone::Done { .. }), "{kept:?}");
    assert_eq!(
        (&*content(&scene, "text"), &*content(&scene, "other")),
        ("something else\n", "two\n")
    );
}

#[test]
fn a_file_that_a_person_moved_and_worked_on_is_theirs() {
    for (script, edit, conflicts) in [
        ("echo c > text", "mv text mine; cp -p mine text; echo work > mine", Conflicts::Refuse),
        ("echo c >> text", "mv text mine; echo work > mine", Conflicts::Keep),
        (
            "echo c > dir/f",
            "cp -a dir e; mv dir mine; mv e dir; echo work > mine/f",
            Conflicts::Refuse,
        ),
    ] {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo one > text; mkdir dir; echo f > dir/f");
        let id = scene.change(script);
        person(&scene, &format!("sleep 0.02; {edit}"));
        let outcome = scene.journal.undo(&[id], "session", &conflicts).unwrap();
        assert!(matches!(outcome, Undone::Done { .. }), "{script}, then {edit}: {outcome:?}");
        let mine = if script.contains("dir") { "mine/f" } else { "mine" };
        assert_eq!(content(&scene, mine), "work\n", "{script}, then {edit}");
        if conflicts == Conflicts::Refuse {
            assert_eq!((&*content(&scene, "text"), &*content(&scene, "dir/f")), ("one\n", "f\n"));
        }
    }
}

#[test]
fn an_edit_by_another_name_of_a_file_that_lost_one_is_told_and_can_conflict() {
    for script in ["rm text; echo c >> hard", "echo n > n; mv n text; echo c > hard"] {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo one > text; ln text hard");
        let (_, changes) = scene.run(script);
        let paths: Vec<_> =
            changes.files.iter().map(|change| change.path.to_str().unwrap()).collect();
        assert!(paths.contains(&"hard"), "{script}: {paths:?}");
        let id = changes.id.unwrap();
        person(&scene, "sleep 0.02; cp hard keep; echo work > hard");
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap();
        assert!(matches!(outcome, Undone::Conflicts(_)), "{script}: {outcome:?}");
        assert_eq!(content(&scene, "hard"), "work\n");
        person(&scene, "cat keep > hard; rm keep");
        scene.undo(id);
        assert_eq!(content(&scene, "hard"), "one\n", "{script}");
    }
}

/// The call renames a file and appends to it; a person works on it where it went, or takes it
/// elsewhere.
#[test]
fn what_was_renamed_and_is_kept_is_left_to_the_person_with_all_its_names() {
    let at_work = [
        "mv AT new; echo work >> new",
        "mv AT new; mv other AT; echo work >> new",
        "mv AT t; mv other AT; mv t other; echo work >> other",
        "echo work >> AT",
        "cp AT new; echo work >> new; mv new AT",
        "rm AT; mv other AT",
    ];
    for (script, is_redo) in at_work.iter().flat_map(|script| [(script, false), (script, true)]) {
        for call in ["mv q d; echo 90 >> d", "mv q d", "mv q d; echo 9 > d"] {
            let scene = Scene::new(Walls::None);
            scene.prepare("echo 53 > q; echo o > other");
            let mut id = scene.change(call);
            if is_redo {
                id = scene.undo(id);
            }
            person(
                &scene,
                &format!("sleep 0.02; {}", script.replace("AT", if is_redo { "q" } else { "d" })),
            );
            let files = || {
                let mut tree = scene.tree();
                tree.retain(|path, _| !path.as_os_str().is_empty());
                tree
            };
            let theirs = files();
            let done = scene.journal.undo(&[id], "session", &Conflicts::Keep).unwrap();
            assert!(matches!(done, Undone::Done { .. }), "{script} {call} {done:?}");
            assert_eq!(difference(&theirs, &files()), "", "{script}; {call}; {is_redo}");
        }
    }
}

#[test]
fn what_stands_in_the_place_of_an_edited_file_and_is_no_file_makes_way_and_comes_back_with_a_redo()
{
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text");
    let id = scene.change("echo two > text");
    person(&scene, "sleep 0.02; rm text; mkdir text; echo k > text/k");
    let theirs = contents(&scene);
    let yes = Conflicts::Overwrite(vec!["text".into()]);
    let done = scene.journal.undo(&[id], "session", &yes).unwrap();
    let Undone::Done { id, .. } = done else { panic!("{done:?}") };
    assert_eq!(content(&scene, "text"), "one\n");
    scene.undo(id);
    assert_eq!(contents(&scene), theirs);
}

type Taken = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

/// What is there before, a command, what a person does then, what an undo that keeps that leaves: each path
/// with its content.
const TAKEN: &[Taken] = &[
    ("echo mine > a", "mv a z", "echo new > a", &[("a", "new"), ("z", "mine")]),
    (
        "mkdir d; echo mine > d/x; echo y > d/y",
        "mv d/x x; rm -rf d",
        "mkdir d; echo new > d/new",
        &[("d/new", "new"), ("d/x", "mine"), ("d/y", "y")],
    ),
    // What was written there is undone there.
    (
        "echo mine > a",
        "mv a z; echo call > z; echo > made",
        "echo new > a",
        &[("a", "new"), ("z", "mine")],
    ),
    ("mkdir d; echo mine > d/x", "mv d z; echo call > z/x", "mkdir d", &[("z/x", "mine")]),
    // One that stays keeps another from its place.
    (
        "echo mine > a; echo other > b",
        "mv b c; mv a b",
        "echo new > a",
        &[("a", "new"), ("b", "mine"), ("c", "other")],
    ),
    // In a folder that the call made.
    (
        "echo mine > a",
        "mkdir n m; mv a n/a; touch m/x",
        "echo new > a",
        &[("a", "new"), ("n/a", "mine")],
    ),
    (
        "mkdir d; echo mine > d/x",
        "mkdir n; mv d n",
        "echo new > d",
        &[("d", "new"), ("n/d/x", "mine")],
    ),
    // It had a name that the call did not touch.
    ("echo mine > a", "ln a z", "echo new > n; mv n a", &[("a", "new"), ("z", "mine")]),
    ("echo mine > a", "mkdir n; ln a n/z", "rm a", &[("n/z", "mine")]),
    // What has its place is put back all the same.
    (
        "echo mine > a; echo other > b",
        "mv a z; mv b y",
        "echo new > a",
        &[("a", "new"), ("b", "other"), ("z", "mine")],
    ),
];

/// Folders that a person moved, with something of theirs in them.
const CARRIED: &[Taken] = &[
    // Back to where it was before the call.
    ("mkdir d", "mkdir d/b; mv d z", "echo mine > z/b/m; mv z d", &[("d/b/m", "mine")]),
    (
        "mkdir d; echo f > d/f",
        "echo c > d/f; mv d z",
        "echo mine > z/f; mv z d",
        &[("d/f", "mine")],
    ),
    (
        "mkdir d; echo f > d/f",
        "echo c >> d/f; mv d z",
        "mkdir d; echo mine > z/f; mv z/f d",
        &[("d/f", "mine")],
    ),
    // To where the call had made something else.
    ("mkdir d", "echo c > e; mkdir d/b", "echo mine > d/b/m; rm e; mv d e", &[("e/b/m", "mine")]),
    // Along with what the call had put in it.
    ("mkdir a d", "mkdir d/b; mv d a/d", "mv a q; echo mine > q/d/b/m", &[("q/d/b/m", "mine")]),
];

/// Folders that a person made where the call had removed some.
const MADE_AGAIN: &[Taken] = &[
    (
        "mkdir -p d/e d/k; echo x > d/x; echo y > d/e/y",
        "rm -rf d",
        "mkdir d; echo mine > d/m",
        &[("d/e/y", "y"), ("d/m", "mine"), ("d/x", "x")],
    ),
    (
        "mkdir -p d/e; echo x > d/x; echo y > d/e/y",
        "rm -rf d",
        "mkdir -p d/e; echo mine > d/x; echo mine > d/e/m",
        &[("d/e/m", "mine"), ("d/e/y", "y"), ("d/x", "mine")],
    ),
    // A file where a folder was, and a folder where a file was.
    (
        "mkdir -p d/e; echo x > d/x; echo y > d/e/y",
        "rm -rf d",
        "mkdir -p d/x; echo mine > d/e; echo mine > d/x/m",
        &[("d/e", "mine"), ("d/x/m", "mine")],
    ),
];

#[test]
fn what_a_call_removed_comes_back_beside_what_a_person_put_there() {
    files_after_keep(MADE_AGAIN);
}

/// Folders of the call's own in which a person put something, or changed it.
const SHARED: &[Taken] = &[
    ("", "mkdir d; echo q > d/q; mkdir d/s; echo t > d/s/t", "echo mine > d/m", &[("d/m", "mine")]),
    (
        "",
        "mkdir -p d/s/u d/v; echo q > d/q; echo t > d/s/t; echo v > d/v/v; ln -s q d/l",
        "echo mine > d/s/m",
        &[("d/s/m", "mine")],
    ),
    ("", "mkdir -p d/s; echo q > d/q; echo t > d/s/t", "echo mine > d/s/t", &[("d/s/t", "mine")]),
    (
        "",
        "mkdir d; echo q > d/q",
        "mkdir -p d/own/deep; echo mine > d/own/deep/m",
        &[("d/own/deep/m", "mine")],
    ),
    // What the call put there goes back.
    (
        "echo a > a; mkdir b; echo b > b/b",
        "mkdir d; mv a b d; echo q > d/q; echo q > d/b/q",
        "echo mine > d/m",
        &[("a", "a"), ("b/b", "b"), ("d/m", "mine")],
    ),
];

#[test]
fn what_a_call_made_goes_from_around_what_a_person_put_there() {
    files_after_keep(SHARED);
}

#[test]
fn what_was_there_before_stays_in_the_workspace_when_its_place_is_kept() {
    files_after_keep(TAKEN);
}

#[test]
fn a_folder_that_a_person_moved_stays_with_everything_in_it() {
    files_after_keep(CARRIED);
}

/// Undoes the call but for what the person changed, and finds these files.
fn files_after_keep(cases: &[Taken]) {
    for (before, script, edit, expected) in cases {
        let scene = Scene::new(Walls::None);
        scene.prepare(before);
        let id = scene.change(script);
        person(&scene, &format!("sleep 0.02; {edit}"));
        let now = scene.tree();
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Keep).unwrap();
        let Undone::Done { id, .. } = outcome else { panic!("{script}: {outcome:?}") };
        let files: Vec<PathBuf> =
            scene.tree().into_keys().filter(|at| scene.root().join(at).is_file()).collect();
        let found: Vec<(PathBuf, String)> = files
            .into_iter()
            .map(|at| (at.clone(), content(&scene, at.to_str().unwrap()).trim().to_owned()))
            .collect();
        let expected: Vec<(PathBuf, String)> =
            expected.iter().map(|(at, text)| (at.into(), (*text).to_owned())).collect();
        assert_eq!(found, expected, "{script}, then {edit}");
        let undone = scene.tree();
        let redone = scene.undo(id);
        assert_eq!(difference(&now, &scene.tree()), "", "{script}, then {edit}");
        scene.undo(redone);
        assert_eq!(difference(&undone, &scene.tree()), "", "{script}, then {edit}");
    }
}

/// What is there before, calls, what a person does then: files that an undo must not take out of the
/// workspace, though nobody can say where they belong.
const MOVED_ON: &[(&str, &[&str], &str)] = &[
    ("mkdir util lib; echo mine > util/a", &["mv util lib"], "mv lib src"),
    ("mkdir util lib; echo mine > util/a", &["mv util lib"], "mv lib src; echo work >> src/util/a"),
    (
        "mkdir util lib; echo mine > util/a",
        &["mv util lib"],
        "mv lib src; mkdir lib util; echo b > lib/b",
    ),
    ("mkdir lib; echo mine > notes", &["mv notes lib"], "mv lib src; echo work >> src/notes"),
    // What the person made is not taken for what the call had left there.
    ("mkdir util; echo mine > util/a", &["mv util u2"], "mv u2 u3; mkdir u2; echo b > u2/b"),
];

#[test]
fn what_was_moved_on_since_stays_in_the_workspace() {
    for (before, calls, edit) in MOVED_ON {
        let scene = Scene::new(Walls::None);
        scene.prepare(before);
        let ids: Vec<_> = calls.iter().map(|call| scene.change(call)).collect();
        person(&scene, &format!("sleep 0.02; {edit}"));
        let (now, what) = (scene.tree(), format!("{before}; {calls:?}, then {edit}"));
        let refused = scene.journal.undo(&ids, "session", &Conflicts::Refuse).unwrap();
        assert!(matches!(refused, Undone::Conflicts(_)), "{what}: {refused:?}");
        assert_eq!(difference(&now, &scene.tree()), "", "{what}");
        let files = || {
            let files = scene.tree().into_keys().map(|at| (scene.root().join(&at), at));
            let files = files.filter(|(path, _)| path.is_file());
            let read = |(path, at)| (at, std::fs::read_to_string(path).unwrap());
            let mut found: Vec<(PathBuf, String)> = files.map(read).collect();
            found.retain(|(_, text)| text != "c\n");
            found
        };
        let theirs = files();
        let done = scene.journal.undo(&ids, "session", &Conflicts::Keep).unwrap();
        let Undone::Done { id, .. } = done else { panic!("{what}: {done:?}") };
        assert_eq!(files(), theirs, "{what}");
        scene.undo(id);
        assert_eq!(difference(&now, &scene.tree()), "", "redo of {what}");
    }
}

/// Else other calls would mean the new one when they speak of the folder.
#[test]
fn a_folder_that_stays_where_a_person_took_it_is_not_made_again() {
    let scene = Scene::new(Walls::None);
    scene.prepare("mkdir a d");
    let id = scene.change("mkdir d/b; mv d a/d");
    person(&scene, "sleep 0.02; mv a q");
    let theirs = scene.tree();
    let names = || scene.tree().into_keys().collect::<Vec<PathBuf>>();
    let outcome = scene.journal.undo(&[id], "session", &Conflicts::Keep).unwrap();
    let Undone::Done { id: undone, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(names(), ["", "q", "q/d", "q/d/b"].map(PathBuf::from));
    scene.undo(undone);
    let everything = Conflicts::Overwrite(vec![".".into()]);
    let outcome = scene.journal.undo(&[id], "session", &everything).unwrap();
    let Undone::Done { id: undone, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(names(), ["", "a", "d"].map(PathBuf::from));
    scene.undo(undone);
    assert_eq!(difference(&theirs, &scene.tree()), "");
}

/// A person's attribute after an undo, which the redo would take away for good.
#[test]
fn a_redo_does_not_take_away_what_a_person_set_since() {
    for name in ["f", "d"] {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo 1 > f; mkdir d");
        let set =
            |what: &str| format!("python3 -c \"import os; os.setxattr('{name}', '{what}', b'1')\"");
        let id = scene.change(&set("user.call"));
        let after = scene.tree();
        let undone = scene.undo(id);
        person(&scene, &format!("sleep 0.02; {}", set("user.mine")));
        let theirs = scene.tree();
        let outcome = scene.journal.redo(undone, "session", &Conflicts::Refuse).unwrap();
        let Undone::Conflicts(found) = outcome else { panic!("{outcome:?}") };
        let expected = Conflict { path: name.into(), reason: ConflictReason::Changed };
        assert_eq!(found, [expected]);
        assert_eq!(difference(&theirs, &scene.tree()), "");
        let outcome = scene.journal.redo(undone, "session", &Conflicts::Keep).unwrap();
        assert!(matches!(outcome, Undone::Done { .. }), "{outcome:?}");
        assert_eq!(difference(&theirs, &scene.tree()), "");
        assert_ne!(difference(&after, &scene.tree()), "");
    }
}
