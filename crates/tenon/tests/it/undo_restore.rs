//! Back to before a step: what came since is undone, and what was undone since is redone.

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    undo::{bash, session_of},
};

#[test]
fn restore_redoes_what_was_undone_since_the_step() {
    let place = Place::new();
    let there = || ["a", "b", "c"].map(|name| place.path(&format!("work/{name}")).exists());
    let id = session_of(&place, &["echo 1 > a", "echo 2 > b", "echo 3 > c"]);
    let restore = |to: &str| place.run(&["restore", &id, "--to", to]).ends_with(0);
    place.run(&["undo"]).ends_with(0);
    restore("1");
    assert_eq!(there(), [false; 3]);
    let both = restore("3");
    assert!(both.out.contains("redone, oldest first:\n  bash echo 1 > a"), "{both:?}");
    assert!(both.out.contains("\nRedone:\n"), "{both:?}");
    assert_eq!(there(), [true, true, false]);
    // After the last step.
    restore("5");
    assert_eq!(there(), [true; 3]);
    let done = place.run(&["restore", &id, "--to", "5"]).ends_with(1);
    assert!(done.error.contains("the files are as they were before step 5 already"), "{done:?}");
    // Undone and redone at once is one undo.
    restore("1");
    place.run(&["redo"]).ends_with(0);
    place.run(&["undo", "3"]).ends_with(0);
    place.run(&["redo"]).ends_with(0);
    restore("2");
    assert_eq!(there(), [true, false, false]);
    place.run(&["redo"]).ends_with(0);
    assert_eq!(there(), [true; 3]);
    // What was undone before a step ran was so before it.
    place.run(&["undo", "2"]).ends_with(0);
    let script = place.script(json!([bash("echo 4 > c"), {"text": "ok"}]));
    place.run(&["--model", &script, "--resume", &id, "-p", "on"]).ends_with(0);
    assert_eq!(there(), [true, false, true]);
    let steps = place.run(&["changes", &id, "--json"]).ends_with(0);
    let steps: Value = serde_json::from_str(&steps.out).unwrap();
    let last = steps.as_array().unwrap().last().unwrap()["step"].to_string();
    restore(&last);
    assert_eq!(there(), [true, false, false]);
    restore("3");
    assert_eq!(there(), [true, true, false]);
    let again = place.run(&["undo"]).ends_with(0);
    assert!(again.out.contains("echo 2 > b"), "{again:?}");
    assert_eq!(there(), [true, false, false]);
}

#[test]
fn restore_back_and_forth_has_no_conflict_where_nobody_changed_anything() {
    for last in ["echo 2 > d/a", "chmod 700 d", "touch -d @5 d", "cp -a d f", "echo 2 > d/b"] {
        let place = Place::new();
        let look = || {
            let what = "find . -printf '%y %m %T@ %p\\n' | sort; cat d/* f/* 2>&1";
            place.program("sh", &["-c", what]).output().unwrap().stdout
        };
        let id = session_of(&place, &["mkdir d", "touch d/a", last]);
        let after = look();
        for to in ["2", "1", "3", "4"] {
            let run = place.run(&["restore", &id, "--to", to]).ends_with(0);
            // Another checkpoint's store is no place for people.
            assert!(!run.out.contains(".tenon"), "{last}: {run:?}");
        }
        assert_eq!(look(), after, "{last}");
    }
}

#[test]
fn restore_asks_about_what_a_person_changed_and_undoes_and_redoes_in_one() {
    let place = Place::new();
    let read = |name: &str| std::fs::read_to_string(place.path("work").join(name)).ok();
    let id = session_of(&place, &["echo 1 > a", "echo 2 > b"]);
    place.run(&["undo", "2"]).ends_with(0);
    let script = place.script(json!([bash("echo 3 > c"), {"text": "ok"}]));
    place.run(&["--model", &script, "--resume", &id, "-p", "on"]).ends_with(0);
    place.write("work/a", "mine\n");
    let refused = place.run(&["restore", &id, "--to", "2"]).ends_with(1);
    assert!(refused.error.contains("a (made since)"), "{refused:?}");
    assert_eq!(
        (read("a").unwrap().as_str(), read("b"), read("c").is_some()),
        ("mine\n", None, true)
    );
    let kept = place.run(&["restore", &id, "--to", "2", "--keep-mine"]).ends_with(0);
    assert!(kept.out.contains("Left as they are"), "{kept:?}");
    assert_eq!((read("a").unwrap().as_str(), read("b"), read("c")), ("mine\n", None, None));
    place.run(&["redo"]).ends_with(0);
    let both = place.run(&["restore", &id, "--to", "2", "--overwrite", "a"]).ends_with(0);
    assert!(both.out.contains("Undone and redone:"), "{both:?}");
    assert_eq!((read("a").unwrap().as_str(), read("b"), read("c")), ("1\n", None, None));
    place.run(&["redo"]).ends_with(0);
    assert_eq!(
        (read("a").unwrap().as_str(), read("b"), read("c").is_some()),
        ("mine\n", None, true)
    );
    // A session that goes on is told, and its replay does the same.
    place.run(&["restore", &id, "--to", "2", "--overwrite", "a"]).ends_with(0);
    let script = place.script(json!([bash("cat a"), {"text": "ok"}]));
    place.run(&["--model", &script, "--resume", &id, "-p", "on"]).ends_with(0);
    let replayed = place.run(&["replay", &id]).ends_with(0);
    assert!(replayed.out.contains("nothing differs"), "{replayed:?}");
}

#[test]
fn restore_leaves_what_a_later_session_changed_and_asks_where_both_did() {
    let place = Place::new();
    let read = |name: &str| std::fs::read_to_string(place.path("work").join(name)).ok();
    let old = session_of(&place, &["echo 1 > a", "echo 2 > b"]);
    place.run(&["undo"]).ends_with(0);
    session_of(&place, &["echo 3 > c"]);
    place.run(&["restore", &old, "--to", "3"]).ends_with(0);
    assert_eq!(["a", "b", "c"].map(|name| read(name).is_some()), [true; 3]);
    session_of(&place, &["echo 4 > a"]);
    let refused = place.run(&["restore", &old, "--to", "1"]).ends_with(1);
    assert!(refused.error.contains("a (changed by session "), "{refused:?}");
    assert_eq!((read("a").unwrap().as_str(), read("b").is_some()), ("4\n", true));
}

#[test]
fn restore_puts_back_the_times_of_folders_of_calls_since_the_step_that_no_list_names() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    place.write("work/d/f", "1\n");
    place.write("work/e/f", "1\n");
    let time = |name: &str| {
        let found = std::fs::metadata(place.path("work").join(name)).unwrap();
        (found.mtime(), found.mtime_nsec())
    };
    let both = || ["d", "e"].map(time);
    let first = both();
    let id = session_of(&place, &["touch d/t; rm d/t", "echo 1 > a", "touch d/t e/t; rm d/t e/t"]);
    let last = both();
    // The first call lies before the step.
    place.run(&["restore", &id, "--to", "2"]).ends_with(0);
    let second = both();
    assert!(second[0] != first[0] && second[0] != last[0] && second[1] == first[1]);
    place.run(&["redo"]).ends_with(0);
    assert_eq!(both(), last);
    let alone = place.run(&["restore", &id, "--to", "3"]).ends_with(0);
    assert!(alone.out.contains("times    e"), "{alone:?}");
    assert_eq!(both(), second);
    place.run(&["restore", &id, "--to", "1"]).ends_with(0);
    assert_eq!(both(), first);
    place.run(&["restore", &id, "--to", "4"]).ends_with(0);
    assert_eq!(both(), last);
    // A call that no list names is a place to go back to like any other.
    for (to, was) in [("call_3_1", second), ("call_1_1", first)] {
        place.run(&["restore", &id, "--to", to]).ends_with(0);
        assert_eq!((both(), place.path("work/a").exists()), (was, to == "call_3_1"));
        place.run(&["redo"]).ends_with(0);
        assert_eq!(both(), last);
    }
    // Of a folder that a person changed nothing is touched, and nobody is asked.
    place.write("work/e/mine", "1\n");
    let mine = time("e");
    place.run(&["restore", &id, "--to", "3"]).ends_with(0);
    assert_eq!(both(), [second[0], mine]);
    // The list of calls is as before, and so is a replay.
    let changes = place.run(&["changes", &id]).ends_with(0);
    assert!(!changes.out.contains("touch d/t"), "{changes:?}");
    let script = place.script(json!([bash("cat a"), {"text": "ok"}]));
    place.run(&["--model", &script, "--resume", &id, "-p", "on"]).ends_with(0);
    let replayed = place.run(&["replay", &id]).ends_with(0);
    assert!(replayed.out.contains("nothing differs"), "{replayed:?}");
}

#[test]
fn nothing_of_undo_needs_git() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    let tenon = |arguments: &[&str]| {
        let mut command = place.tenon(arguments);
        Run::of(command.env("PATH", place.path("empty")).output().unwrap()).ends_with(0)
    };
    let now = || std::fs::read_to_string(place.path("work/a")).ok();
    let script = place.script(json!([
        bash("! command -v git && echo 1 > a"),
        bash("! command -v git && echo 2 > a"),
        {"text": "ok"},
    ]));
    tenon(&["-p", "--allow", "bash", "--model", &script, "go"]);
    assert_eq!(now().as_deref(), Some("2\n"));
    let listed = tenon(&["changes", "last", "--diff"]).out;
    assert!(listed.contains("-1\n+2\n"), "{listed}");
    tenon(&["undo"]);
    assert_eq!(now().as_deref(), Some("1\n"));
    tenon(&["redo"]);
    assert_eq!(now().as_deref(), Some("2\n"));
    tenon(&["restore", "last", "--to", "1"]);
    assert_eq!(now(), None);
}
