//! A tenon that a command of another tenon runs: tests of agents do that. It takes the walls that it
//! can get, and the outer ones hold all the same.

use std::{os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::json;

use crate::{
    program::{Place, Run},
    program_copy::copy_program,
    skipped::skipped,
};

/// What the inner tenon's command does. `KEY` is the inner tenon's own.
const INNER: &str = "echo x > made; echo x > ../beside; echo x > ../../out; \
                     grep -al key-of-the-inner /proc/[0-9]*/environ > found; echo ended >> found";

/// Runs a tenon with `flags` in a command of a tenon of this tier, both as the user of the tests or
/// as an ordinary one.
fn check(outer: &str, flags: &str, as_user: bool, judge: impl Fn(&Place, &str)) {
    let place = Place::new();
    let copy = place.path("work/tenon");
    copy_program(env!("CARGO_BIN_EXE_tenon").as_ref(), &copy);
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
    let inner = json!({ "turns": [
        { "calls": [
            { "name": "bash", "arguments": { "command": INNER } },
            { "name": "write_file", "arguments": { "path": "written", "content": "x\n" } },
        ] },
        { "text": "done" },
    ] });
    place.write("work/inner.json", &inner.to_string());
    let command = format!(
        "export HOME=$PWD/home; mkdir home sub; KEY=key-of-the-inner ./tenon -p --cwd sub {flags} \
         --model scripted:$PWD/inner.json --output-format stream-json go; echo status $?"
    );
    let script = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": command } }] },
        { "text": "done" },
    ]));
    let tenon = |arguments: &[&str]| {
        if !as_user {
            return place.run(arguments);
        }
        let copy = copy.display().to_string();
        let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", &copy];
        Run::of(place.program("setpriv", &[&user[..], arguments].concat()).output().unwrap())
    };
    if as_user {
        let given = Command::new("chown").args(["-R", "65534:65534"]).arg(place.path("")).status();
        assert!(given.unwrap().success());
    }
    let arguments = ["--output-format", "stream-json", "--sandbox", outer, "--model", &script];
    let run = tenon(&[&arguments[..], &["go"]].concat()).ends_with(0);
    judge(&place, &run.out);
    assert!(!place.path("out").exists(), "{outer}, {flags}: {}", run.out);
    tenon(&["undo"]).ends_with(0);
    assert!(!place.path("work/sub").exists(), "{outer}, {flags}");
}

/// Checks it as each user that the tests can be.
fn check_all(outer: &str, flags: &str, judge: impl Fn(&Place, &str)) {
    if outer == "b" && !Path::new("/usr/bin/bwrap").exists() {
        return skipped("bubblewrap is not installed");
    }
    check(outer, flags, false, &judge);
    if rustix::process::geteuid().is_root() {
        check(outer, flags, true, &judge);
    }
}

#[test]
fn a_tenon_in_the_walls_of_another_has_tier_c() {
    for outer in ["a", "b"] {
        check_all(outer, "", |place, said| {
            let there = ["made", "written", "found"].map(|name| place.path("work/sub").join(name));
            assert!(there.iter().all(|path| path.exists()), "{outer}: {said}");
            assert!(!place.path("work/beside").exists(), "{outer}: {said}");
            assert_eq!(std::fs::read_to_string(&there[2]).unwrap(), "ended\n", "{outer}");
        });
    }
}

#[test]
fn walls_that_cannot_be_had_within_others_are_said_with_the_way_out() {
    let never_ran = |place: &Place, words: &[&str], said: &str| {
        assert!(!place.path("work/sub/made").exists(), "{said}");
        for word in words {
            assert!(said.contains(word), "{word}: {said}");
        }
    };
    for outer in ["a", "b", "c"] {
        check_all(outer, "--sandbox a", |place, said| {
            let words = ["the walls of another tenon refuse namespaces", "status 3"];
            never_ran(place, &words, said);
        });
    }
    check_all("c", "", |place, said| {
        let words = ["let nobody list what may be read", "or the inner one `--sandbox off`"];
        never_ran(place, &words, said);
        assert!(place.path("work/sub/written").exists(), "{said}");
    });
}

#[test]
fn a_tenon_without_walls_is_held_by_those_around_it() {
    for outer in ["a", "c"] {
        check_all(outer, "--sandbox off --allow bash", |place, said| {
            assert!(place.path("work/sub/made").exists(), "{outer}: {said}");
            assert!(place.path("work/beside").exists(), "{outer}: {said}");
        });
    }
}
