//! Sessions with several folders are replayed as they went: the copies lie to each other as the folders do,
//! what leads to a folder leads to its copy, and a bundle has them so for another machine.

use std::process::Command;

use serde_json::{Value, json};

use crate::program::Place;
use crate::undo::bash;

fn call(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

/// Runs `command` in the workspace, in which `@` is the place that all folders are in.
fn prepare(place: &Place, command: &str) {
    let command = at(place, command);
    let environment = "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=a@b \
                       GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=a@b; set -e; ";
    let output = Command::new("bash")
        .args(["-c", &(environment.to_owned() + &command)])
        .current_dir(place.path("work"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn at(place: &Place, text: &str) -> String {
    text.replace('@', place.path("").to_str().unwrap().trim_end_matches('/'))
}

/// Runs one process of a session in which these calls are made and these folders added; flags may follow.
fn process(place: &Place, calls: &[Value], folders: &[&str]) {
    let mut turns: Vec<Value> = calls
        .iter()
        .map(|call| serde_json::from_str(&at(place, &call.to_string())).unwrap())
        .collect();
    turns.push(json!({"text": "Done."}));
    let script = place.script(turns.into());
    let goes_on = place.path("home/.local/state/tenon/sessions").exists();
    let mut arguments = vec!["-p", "--model", &script, "--allow", "bash"];
    arguments.extend(goes_on.then_some("--continue"));
    let folders: Vec<String> = folders.iter().map(|folder| at(place, folder)).collect();
    let (folders, flags) = folders
        .split_at(folders.iter().position(|it| it.starts_with('-')).unwrap_or(folders.len()));
    for folder in folders {
        arguments.extend(["--add-dir", folder]);
    }
    arguments.extend(flags.iter().map(String::as_str));
    place.run(&[&arguments[..], &["go"]].concat()).ends_with(0);
}

#[track_caller]
fn nothing_differs(place: &Place) {
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert!(run.out.contains("nothing differs") && run.error.is_empty(), "{run:?}");
    let run = place.run(&["export", "last", "--bundle", "../out.tar.gz"]).ends_with(0);
    assert_eq!(run.error, "");
    let other = Place::new();
    std::fs::rename(place.path("out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    let run = other.run(&["replay", "in.tar.gz"]).ends_with(0);
    assert!(run.out.contains("nothing differs") && run.error.is_empty(), "{run:?}");
}

/// Makes files, records calls and replays them.
#[track_caller]
fn check(files: &str, calls: &[Value], folders: &[&str]) -> Place {
    let place = Place::new();
    prepare(&place, files);
    process(&place, calls, folders);
    nothing_differs(&place);
    place
}

#[test]
fn a_folder_that_was_named_by_a_link_is_come_to_by_it() {
    let read = call("read_file", json!({"path": "../llib/f"}));
    let edit = call("edit_file", json!({"path": "@/llib/f", "old_text": "one", "new_text": "two"}));
    let calls = [
        bash(
            "cat ../llib/f @/llib/f ../far/lib/f; echo more >> ../llib/f; ls ../llib; realpath ../llib/f",
        ),
        read,
        edit,
        call("glob", json!({"pattern": "../llib/*"})),
        bash("cd ../llib && pwd -P && cat f; cat @/by/way/g"),
    ];
    let files = "mkdir -p ../far/lib ../far/way ../to; echo one > ../far/lib/f; echo g > ../far/way/g; \
                 ln -s far/lib ../llib; ln -s @/far ../by";
    let place = check(files, &calls, &["../llib", "@/by/way"]);
    assert_eq!(std::fs::read_to_string(place.path("far/lib/f")).unwrap(), "two\nmore\n");
}

#[test]
fn relative_paths_lead_from_one_folder_to_another() {
    let read = call("read_file", json!({"path": "../lib/f"}));
    let edit = call("edit_file", json!({"path": "../lib/f", "old_text": "one", "new_text": "two"}));
    let calls = [
        bash("cat ../lib/f; echo more >> ../lib/f; basename $PWD"),
        read,
        edit,
        bash("cat @/lib/f; cd ../lib; pwd; cat ../work/f"),
    ];
    let place = check("mkdir ../lib; echo one > ../lib/f; echo work > f", &calls, &["@/lib"]);
    assert!(place.logs().contains("two\\nmore\\n"), "{}", place.logs());
    let far = [bash("cat ../a/b/lib/f; ls ../a; cd ../a/b/lib; cat ../../../work/f; mv f g")];
    check("mkdir -p ../a/b/lib; echo one > ../a/b/lib/f; echo work > f", &far, &["@/a/b/lib"]);
}

#[test]
fn links_to_a_folder_lead_to_its_copy_also_those_that_a_call_removed() {
    let files = "mkdir ../lib; echo one > ../lib/f; ln -s ../lib near; ln -s @/lib far; ln -s @/work/f ../lib/back; \
                 echo work > f; ln -s /etc/hostname outside";
    let calls = [
        bash("cat near/f far/f near/back; readlink near far outside; echo more >> far/f"),
        call("read_file", json!({"path": "far/f"})),
        bash("rm far; ln -s @/lib again; cat again/f again/back; mv again moved; ls -R | cat"),
        bash("rm moved near; readlink ../lib/back"),
    ];
    let place = check(files, &calls, &["@/lib"]);
    assert!(place.path("work").join("far").symlink_metadata().is_err());
    place.run(&["undo", "2"]).ends_with(0);
    nothing_differs(&place);
}

#[test]
fn a_folder_in_another_is_there_once() {
    let look = "cat sub/f; echo more >> sub/f; mkdir sub/new; echo n > sub/new/n";
    let calls = [bash(look), bash("cat @/work/sub/f; mv sub/f f; rm -r sub/new; ls -R")];
    check("mkdir sub; echo one > sub/f", &calls, &["@/work/sub"]);
    let calls =
        [bash("cat ../l/m/f; echo x >> ../l/m/f; mv ../l/m/f ../l/f; ls -R ../l; cat @/l/f")];
    for folders in [["@/l", "@/l/m"], ["@/l/m", "@/l"]] {
        check("mkdir -p ../l/m; echo one > ../l/m/f", &calls, &folders);
    }
}

#[test]
fn other_folders_in_each_process_and_another_order_are_replayed() {
    let place = Place::new();
    prepare(&place, "mkdir ../a ../b; echo a > ../a/f; echo b > ../b/f");
    process(&place, &[bash("echo 1 >> ../a/f; echo new > ../a/n")], &["@/a"]);
    process(&place, &[bash("cat ../a/f; echo 2 >> ../a/f; echo 2 >> ../b/f")], &["@/b", "@/a"]);
    process(&place, &[bash("cat ../a/f ../b/f; rm ../b/f")], &["@/a", "@/b"]);
    nothing_differs(&place);
    place.run(&["undo"]).ends_with(0);
    process(&place, &[bash("cat ../a/f ../b/f")], &["@/a", "@/b"]);
    nothing_differs(&place);
}

#[test]
fn the_repository_that_the_workspace_lies_in_is_found_where_it_is_a_folder_of_the_session() {
    let files = "mkdir sub; echo s > sub/s; echo top > top; git init -q -b main .; git add .; git commit -qm 1";
    let calls = [
        bash("git status --short; git log --format=%s; cat ../top; echo x >> s; git diff --stat"),
        bash("git add s; git status --short"),
    ];
    let place = Place::new();
    prepare(&place, files);
    process(&place, &calls, &["@/work", "--cwd", "@/work/sub"]);
    assert!(place.logs().contains("M  s"), "{}", place.logs());
    nothing_differs(&place);
}

#[test]
fn a_linked_worktree_finds_its_repository_where_that_is_a_folder_of_the_session() {
    let files = "mkdir ../r; cd ../r; git init -q -b main .; echo top > top; git add .; git commit -qm 1; \
                 rmdir ../work; git worktree add -q ../work; git worktree add -q ../r/inside";
    let calls = [
        bash(
            "git status --short; git log --format=%s; echo more >> top; git diff --stat; cat .git",
        ),
        bash("git add top; git status --short; git worktree list | cut -d ' ' -f 1"),
        bash(
            "export GIT_COMMITTER_DATE=2026-01-01T00:00:00Z; git worktree add -q ../r/other; cat ../r/other/.git ../r/.git/worktrees/*/gitdir",
        ),
        bash("cd ../r/inside; git status --short; cd ..; rm -rf inside; git worktree prune; ls"),
    ];
    let place = check(files, &calls, &["@/r"]);
    assert!(!place.logs().contains("not a git repository"), "{}", place.logs());
    let place = Place::new();
    prepare(&place, files);
    process(&place, &[bash("echo 1")], &[]);
    let run = place.run(&["replay", "last"]).ends_with(0);
    assert!(run.error.contains("/work is in no folder of the session ("), "{run:?}");
}

#[test]
fn a_file_in_which_a_path_of_the_workspace_stands_is_no_difference() {
    let read = call("read_file", json!({"path": "made"}));
    let edit = call("edit_file", json!({"path": "made", "old_text": "end", "new_text": "END"}));
    let calls = [
        bash("pwd > made; echo end >> made; pwd > ../lib/made; ln -s $PWD/made link"),
        read,
        edit,
        bash("cat made ../lib/made link; mv made moved; date +%s%N > time; rm time"),
    ];
    check("mkdir ../lib", &calls, &["@/lib"]);
    let place = Place::new();
    process(&place, &[bash("date +%s%N > made")], &[]);
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(run.out.contains("changed files otherwise"), "{run:?}");
}

/// Packs again what was unpacked.
const PACK: &str = "cd ../unpacked; find tenon-bundle.json session.jsonl roots/* -mindepth 0 ! -path 'roots/?' | \
                    tar cz --no-recursion -T - -f";

#[test]
fn a_bundle_has_paths_as_they_were_recorded_and_an_older_one_is_read() {
    let place = Place::new();
    prepare(&place, "mkdir ../lib sub; echo one > ../lib/f; ln -s @/lib far; echo s > sub/s");
    process(&place, &[bash("cat far/f @/lib/f sub/s")], &["@/lib", "@/work/sub"]);
    place.run(&["export", "last", "--bundle", "../out.tar.gz"]).ends_with(0);
    std::fs::create_dir(place.path("unpacked")).unwrap();
    prepare(&place, "tar xzf ../out.tar.gz -C ../unpacked");
    let about = |version: u32| {
        let path = place.path("unpacked/tenon-bundle.json");
        let mut about: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let found = about["version"].clone();
        about["version"] = version.into();
        std::fs::write(path, about.to_string()).unwrap();
        found
    };
    // What is in two folders is in it once.
    assert!(!place.path("unpacked/roots/2").exists());
    let link = std::fs::read_link(place.path("unpacked/roots/0/far")).unwrap();
    assert_eq!(link, place.path("lib"));
    // In older ones it is in it twice.
    assert_eq!(about(1), 3);
    prepare(&place, &format!("cp -r sub ../unpacked/roots/2; {PACK} ../old.tar.gz"));
    let run = place.run(&["replay", "../old.tar.gz"]).ends_with(0);
    assert!(run.out.contains("nothing differs"), "{run:?}");
    about(4);
    prepare(&place, &format!("{PACK} ../new.tar.gz"));
    let run = place.run(&["replay", "../new.tar.gz"]).ends_with(2);
    assert!(run.error.contains("a newer version of tenon made it"), "{run:?}");
}

#[test]
fn an_added_folder_that_is_gone_is_said_and_the_steps_before_it_are_replayed() {
    let place = Place::new();
    prepare(&place, "echo one > a; mkdir @/lib; echo l > @/lib/l");
    process(&place, &[bash("echo y >> a"), bash("echo x >> ../lib/l")], &["@/lib"]);
    std::fs::remove_dir_all(place.path("lib")).unwrap();
    let run = place.run(&["replay", "last", "--until", "1"]).ends_with(0);
    assert!(run.out.contains("nothing differs"), "{run:?}");
    assert!(run.error.contains("lib, a folder of the session, is not there any more"), "{run:?}");
    assert!(run.error.contains("what that call changed stays"), "{run:?}");
    let run = place.run(&["replay", "last"]).ends_with(1);
    assert!(run.out.contains("../lib/l"), "{run:?}");
}
