//! A workspace that is the home folder: what is tenon's own, and where other programs keep secrets, gets into no
//! copy and no bundle.

use std::{os::unix::fs::symlink, process::Command};

use serde_json::{Value, json};

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

fn content(place: &Place, bundle: &str, name: &str) -> String {
    let mut tar = Command::new("tar");
    let read = tar.args(["xzOf", bundle, name]).current_dir(place.path("")).output();
    String::from_utf8(read.unwrap().stdout).unwrap()
}

/// Makes these calls in `folder` of a place, and replays them there and from a bundle in another home.
#[track_caller]
fn nothing_differs(place: &Place, folder: &str, calls: &[Value]) {
    let script = place.script(calls.iter().cloned().chain([json!({"text": "Done."})]).collect());
    let run = |arguments: &[&str]| {
        let mut tenon = place.tenon(arguments);
        Run::of(tenon.current_dir(place.path(folder)).output().unwrap())
    };
    run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let bundle = place.path("out.tar.gz").display().to_string();
    // The second time there is the folder that the first one made.
    for _ in 0..2 {
        let replayed = run(&["replay", "last"]);
        assert!(replayed.out.contains("nothing differs"), "{replayed:?}");
    }
    run(&["export", "last", "--bundle", &bundle]).ends_with(0);
    let other = Place::new();
    other.write("home/.ssh/id_rsa", "theirs\n");
    other.write("home/notes", "theirs\n");
    let replayed = other.run(&["replay", &bundle]);
    assert!(replayed.out.contains("nothing differs"), "{replayed:?}");
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

#[test]
fn a_home_that_is_the_workspace_is_home_in_the_replay() {
    let place = Place::new();
    place.write("home/notes", "mine\n");
    place.write("home/.bashrc", "rc\n");
    place.write("home/.gitconfig", "[user]\n\tname = n\n\temail = a@b\n");
    place.write("home/.ssh/id_rsa", "private\n");
    place.write("home/.netrc", "machine a login b password private-word\n");
    place.write("home/.aws/credentials", "private\n");
    let calls = [
        bash("ls -A ~; cat ~/notes; echo $HOME; cd; pwd; ls -A .ssh .aws .config .local"),
        bash("cat ~/.ssh/id_rsa ~/.netrc"),
        bash("git config --global a.b c"),
        bash("echo more >> ~/.bashrc; echo more >> ~/notes; mkdir -p ~/.cache/x"),
        call("write_file", json!({"path": ".bashrc", "content": "x"})),
        call("read_file", json!({"path": ".bashrc"})),
        call("edit_file", json!({"path": "notes", "old_text": "more", "new_text": "less"})),
        call("grep", json!({"pattern": "private|less"})),
        call("glob", json!({"pattern": "**/*"})),
        call("read_file", json!({"path": ".ssh/id_rsa"})),
        bash("git init -q ~/p; cd ~/p; cp ../notes .; git add -A; git status -s; ls -A ~ ~/.cache"),
    ];
    nothing_differs(&place, "home", &calls);
}

#[test]
fn a_workspace_that_holds_the_home_shows_it_as_it_was() {
    let place = Place::new();
    place.write("home/notes", "mine\n");
    place.write("home/.cargo/bin/tool", "#!/bin/sh\necho tool\n");
    place.write("a", "a\n");
    let calls = [
        bash("cat a; echo b >> a; ls; ls -A home; cat ~/notes"),
        bash("sh ~/.cargo/bin/tool; echo kept > ~/kept; ls -A home"),
        call("read_file", json!({"path": "home/notes"})),
    ];
    nothing_differs(&place, "", &calls);
}

/// Whoever makes a bundle says which folder was the home, and what is in it.
#[test]
fn a_bundle_that_names_a_home_shows_nothing_of_the_one_here() {
    let place = Place::new();
    let other = Place::new();
    let theirs = other.write("home/secret/file", "theirs\n");
    other.write("home/.cargo/file", "theirs\n");
    let secret = theirs.parent().unwrap();
    symlink(secret, place.path("home/.cargo")).unwrap();
    symlink(secret, place.path("home/.rustup")).unwrap();
    let file = theirs.display();
    let read = format!("cat {file} ~/.cargo/file ~/.rustup/file {file}/../../.cargo/file");
    let calls = [bash(&read), json!({"text": "Done."})];
    let script = place.script(calls.into_iter().collect());
    in_home(&place, &["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    in_home(&place, &["export", "last", "--bundle", "../out.tar.gz"]).ends_with(0);
    std::fs::rename(place.path("out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    let run = other.run(&["replay", "in.tar.gz"]);
    assert!(!run.out.contains("+theirs") && !run.error.contains("theirs"), "{run:?}");
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
    for name in ["tenon/", ".aws/", ".gnupg/", "gh/", ".netrc/", "0/.ssh/", "jsonl", "/sessions"] {
        let is_in = |line: &str| line.split_once(name).is_some_and(|(_, more)| !more.is_empty());
        assert!(!names.lines().skip(2).any(is_in), "{name}: {names}");
    }
    assert_eq!(content(&place, &bundle, "roots/0/.netrc"), "");
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
    assert!(!names.contains(".ssh/config"), "{names}");
}

#[test]
fn a_home_that_is_named_by_a_symbolic_link_has_that_name_in_the_replay() {
    for folder in ["home", "link"] {
        let place = Place::new();
        place.write("home/in/notes", "mine\n");
        symlink(place.path("home"), place.path("link")).unwrap();
        let look = "echo $HOME ~/x; cat ~/in/notes; cd ~/in && pwd && pwd -P; echo n >> ~/in/notes";
        let script = place.script(json!([bash(look), {"text": "Done."}]));
        let link = place.path("link");
        let run = |arguments: &[&str]| {
            let mut tenon = place.tenon(arguments);
            let folder = place.path(folder);
            tenon.env("HOME", &link).env("PWD", &folder).current_dir(folder);
            Run::of(tenon.output().unwrap())
        };
        run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
        let replayed = run(&["replay", "last"]);
        assert!(replayed.out.contains("nothing differs"), "{folder}: {replayed:?}");
        let bundle = place.path("out.tar.gz").display().to_string();
        run(&["export", "last", "--bundle", &bundle]).ends_with(0);
        let replayed = Place::new().run(&["replay", &bundle]);
        assert!(replayed.out.contains("nothing differs"), "{folder}: {replayed:?}");
    }
}
