//! A workspace that is the home folder: what is tenon's own, and where other programs keep secrets, gets into no
//! copy and no bundle.

use std::{os::unix::fs::symlink, process::Command};

use serde_json::json;

use crate::{
    program::{Place, Run},
    undo::bash,
};

fn in_home(place: &Place, arguments: &[&str]) -> Run {
    let mut tenon = place.tenon(arguments);
    Run::of(tenon.current_dir(place.path("home")).output().unwrap())
}

/// Returns the names in a bundle.
fn names(place: &Place, bundle: &str) -> String {
    let listed = Command::new("tar").args(["tzf", bundle]).current_dir(place.path("")).output();
    String::from_utf8(listed.unwrap().stdout).unwrap()
}

#[test]
fn a_bundle_of_a_home_folder_has_nothing_of_tenon_and_no_secrets_of_programs() {
    let place = Place::new();
    let secrets = [".ssh/id_rsa", ".aws/credentials", ".gnupg/key", ".config/gh/hosts.yml"];
    for file in secrets.into_iter().chain([".config/tenon/note", "kept/.ssh/config"]) {
        place.write(&format!("home/{file}"), "private\n");
    }
    place.write("elsewhere/netrc", "private\n");
    symlink(place.path("elsewhere/netrc"), place.path("home/.netrc")).unwrap();
    // Another session, whose log is nobody's business.
    let other = place.script(json!([bash("echo 1 > other"), {"text": "Other."}]));
    in_home(&place, &["-p", "--model", &other, "--allow", "bash", "go"]).ends_with(0);
    let turns = json!([bash("echo a > a; cat a"), {"text": "Done."}]);
    in_home(&place, &["-p", "--model", &place.script(turns), "--allow", "bash", "go"]).ends_with(0);
    let run = in_home(&place, &["replay", "last"]).ends_with(0);
    let home = place.path("home").canonicalize().unwrap().display().to_string();
    let said = |name: &str, why: &str| format!("{home}/{name} was left out ({why})");
    let own = [".local/state/tenon", ".config/tenon"].map(|name| said(name, "it is tenon's own"));
    let closed = [".ssh", ".aws", ".gnupg", ".config/gh", ".netrc"];
    let closed = closed.map(|name| said(name, "it holds secrets"));
    let all: Vec<&str> = own.iter().chain(&closed).map(String::as_str).collect();
    run.says(&all);
    let bundle = place.path("home.tar.gz").display().to_string();
    in_home(&place, &["export", "last", "--bundle", &bundle]).ends_with(0).says(&all);
    let names = names(&place, &bundle);
    assert!(names.contains("roots/0/other\n"), "{names}");
    assert!(names.contains("roots/0/kept/.ssh/config\n"), "it is no home folder: {names}");
    for name in ["tenon/", ".aws", ".gnupg", "gh/", ".netrc", "0/.ssh", "jsonl.", "/sessions"] {
        assert!(!names.contains(name), "{name}: {names}");
    }
    in_home(&place, &["replay", &bundle]).ends_with(0);
}

#[test]
fn what_a_call_changed_in_a_place_of_secrets_is_not_put_back_into_the_copy() {
    let place = Place::new();
    place.write("home/.ssh/config", "private\n");
    let turns = json!([bash("echo more >> ~/.ssh/config; echo a > a"), {"text": "Done."}]);
    let script = place.script(turns);
    let flags = ["-p", "--sandbox", "off", "--allow", "bash", "--model", &script, "go"];
    in_home(&place, &flags).ends_with(0);
    assert!(in_home(&place, &["changes", "last"]).ends_with(0).out.contains(".ssh/config"));
    let bundle = place.path("home.tar.gz").display().to_string();
    in_home(&place, &["export", "last", "--bundle", &bundle]).ends_with(0);
    let names = names(&place, &bundle);
    assert!(!names.contains(".ssh"), "{names}");
}
