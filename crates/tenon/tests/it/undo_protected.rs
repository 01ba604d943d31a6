//! Undo brings nothing to a name that programs take commands from which nobody judged: what a job had just
//! written there, or what came into a folder that has another name meanwhile.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    program::Place,
    undo::{bash, session_of},
};

fn git(place: &Place, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(place.path("work")).args(arguments);
    assert!(git.output().unwrap().status.success());
}

fn read(place: &Place, name: &str) -> Option<String> {
    fs::read_to_string(place.path("work").join(name)).ok()
}

fn turn(place: &Place, calls: Value) {
    let mut turns = calls.as_array().unwrap().clone();
    turns.push(json!({"text": "Over."}));
    let model = place.script(turns.into());
    place.run(&["--model", &model, "go"]).ends_with(0);
}

/// A job writes protected names; a call changes or removes them before anybody has looked.
fn job_and_call(place: &Place) {
    git(place, &["init", "-q"]);
    place.write("work/f", "1\n");
    place.write("work/sub/.envrc", "mine\n");
    let wait = |name: &str| format!("until [ -e {name} ]; do sleep 0.02; done");
    let job = format!(
        ": > begun; {}; git config core.fsmonitor evil; git config user.name ada; echo evil | tee .envrc > sub/.envrc; : > made; {}",
        wait("go"),
        wait("end")
    );
    let call = format!(
        "{}; : > go; {}; git config core.fsmonitor other; rm .envrc; echo more >> sub/.envrc; echo 2 > f; : > end",
        wait("begun"),
        wait("made")
    );
    let calls = json!([
        {"calls": [{"name": "bash", "arguments": {"command": job, "background": true}}]},
        bash(&call),
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
    ]);
    turn(place, calls);
    let config = read(place, ".git/config").unwrap();
    assert!(!config.contains("fsmonitor") && config.contains("ada"), "{config}");
    assert_eq!(
        (read(place, ".envrc"), read(place, "sub/.envrc").as_deref()),
        (None, Some("mine\n"))
    );
}

#[test]
fn what_a_job_wrote_at_a_protected_name_does_not_come_back_by_undoing_the_call_beside_it() {
    let place = Place::new();
    job_and_call(&place);
    let refused = place.run(&["undo"]).ends_with(1);
    for path in [".envrc", ".git/config", "sub/.envrc"] {
        let said = format!("  {path} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{path} {refused:?}");
    }
    assert_eq!(read(&place, "f").as_deref(), Some("2\n"));
    place.run(&["undo", "--keep-mine"]).ends_with(0);
    assert_eq!(read(&place, "f").as_deref(), Some("1\n"));
    let is_clean = || {
        let config = read(&place, ".git/config").unwrap();
        let envrc = (read(&place, ".envrc"), read(&place, "sub/.envrc"));
        !config.contains("fsmonitor") && envrc == (None, Some("mine\n".to_owned()))
    };
    assert!(is_clean());
    place.run(&["redo"]).ends_with(0);
    assert!(is_clean());
    // What is asked for by its name comes.
    place
        .run(&["undo", "--overwrite", ".envrc", "--overwrite", ".git/config", "--overwrite", "sub"])
        .ends_with(0);
    assert_eq!(read(&place, ".envrc").as_deref(), Some("evil\n"));
}

#[test]
fn what_both_changed_comes_back_as_it_was_before_both() {
    let place = Place::new();
    job_and_call(&place);
    place.run(&["undo", "9"]).ends_with(0);
    let config = read(&place, ".git/config").unwrap();
    assert!(!config.contains("fsmonitor") && !config.contains("ada"), "{config}");
    assert_eq!(read(&place, "f").as_deref(), Some("1\n"));
    assert_eq!(
        (read(&place, ".envrc"), read(&place, "sub/.envrc").as_deref()),
        (None, Some("mine\n"))
    );
}

#[test]
fn what_came_into_a_folder_under_another_name_does_not_come_along_to_a_protected_one() {
    let place = Place::new();
    place.write("work/.claude/commands/a.md", "a\n");
    place.write("work/f", "1\n");
    let moved = session_of(&place, &["mv .claude c2; echo 2 > f"]);
    session_of(&place, &["echo evil > c2/settings.json; echo fine > c2/commands/b.md"]);
    let refused = place.run(&["undo", "--session", &moved]).ends_with(1);
    assert!(refused.error.contains("  c2/settings.json (programs take commands"), "{refused:?}");
    assert!(!refused.error.contains("b.md"), "{refused:?}");
    place.run(&["undo", "--session", &moved, "--keep-mine"]).ends_with(0);
    assert_eq!(
        (read(&place, "f").as_deref(), read(&place, ".claude/settings.json")),
        (Some("1\n"), None)
    );
    assert_eq!(read(&place, "c2/settings.json").as_deref(), Some("evil\n"));
}

#[test]
fn an_older_folder_that_came_into_a_moved_one_does_not_come_along_to_a_protected_name() {
    let make = "mkdir -p w/d; echo evil > w/d/pre-commit; sleep 0.1";
    let cases = [
        ("mv pkg/.vscode pkg/v", "undo", "pkg/v/d/pre-commit"),
        ("mv .bare/hooks h", "undo", "h/d/pre-commit"),
        ("mv sub/.git/HEAD H; mv sub/.git sub/g", "undo", "sub/g/hooks/pre-commit"),
        ("mv sub/.git/HEAD H; mv sub/.git sub/g", "undo", "sub/g/modules/a/hooks/pre-commit"),
        ("mv g sub/.git; mv H sub/.git/HEAD", "redo", "g/hooks/pre-commit"),
    ];
    for (call, way, path) in cases {
        let place = Place::new();
        folders_of_names(&place);
        fs::remove_dir_all(place.path("work/sub/.git/hooks")).unwrap();
        if way == "redo" {
            session_of(&place, &["mv sub/.git/HEAD H; mv sub/.git g"]);
        }
        let moved = session_of(&place, &[make, &format!("{call}; echo 2 > f")]);
        if way == "redo" {
            place.run(&["undo", "--session", &moved]).ends_with(0);
        }
        let folder = path.strip_suffix("/pre-commit").unwrap();
        session_of(&place, &[&format!("mkdir -p $(dirname {folder}); mv w/d {folder}")]);
        let refused = place.run(&[way, "--session", &moved]).ends_with(1);
        let said = format!("  {path} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{path}: {refused:?}");
        place.run(&[way, "--session", &moved, "--keep-mine"]).ends_with(0);
        assert_eq!(read(&place, path).as_deref(), Some("evil\n"), "{path}");
    }
}

#[test]
fn a_folder_is_no_repository_again_without_a_question_where_programs_were_set_meanwhile() {
    let place = Place::new();
    git(&place, &["init", "-q", "--bare", "b.git"]);
    let taken = session_of(&place, &["mv b.git/HEAD h"]);
    session_of(&place, &["echo evil > b.git/hooks/post-update; chmod +x b.git/hooks/post-update"]);
    let refused = place.run(&["undo", "--session", &taken]).ends_with(1);
    assert!(refused.error.contains("  b.git/HEAD (programs take commands"), "{refused:?}");
    assert_eq!(read(&place, "b.git/HEAD"), None);
    fs::remove_file(place.path("work/b.git/hooks/post-update")).unwrap();
    // As git makes them.
    for (name, text) in [
        ("worktrees/w/commondir", "../..\n"),
        ("worktrees/w/gitdir", "/nowhere/.git\n"),
        ("info/exclude", "a\n"),
        ("hooks/pre-push.sample", "a\n"),
        ("rebase-merge/msgnum", "2\n"),
    ] {
        place.write(&format!("work/b.git/{name}"), text);
    }
    place.run(&["undo", "--session", &taken]).ends_with(0);
    assert!(read(&place, "b.git/HEAD").is_some());
}

#[test]
fn whatever_a_repository_has_programs_from_is_asked_about_where_undo_makes_it_one_again() {
    let own = |name: &str| (name.to_owned(), "[core]\n\tfsmonitor = evil\n");
    let cases = [
        ("objects", own("b.git/config.worktree")),
        ("objects", own("b.git/worktrees/v/config.worktree")),
        ("refs", own("b.git/modules/a/b/config")),
        ("objects", ("b.git/worktrees/v/lazygit.yml".to_owned(), "evil\n")),
        ("objects", ("b.git/info/attributes".to_owned(), "* filter=evil\n")),
        ("objects", ("b.git/modules/a/hooks/post-update".to_owned(), "evil\n")),
        ("objects", ("b.git/rebase-merge/msgnum".to_owned(), "$(evil)\n")),
    ];
    for (gone, (file, content)) in cases {
        let place = Place::new();
        git(&place, &["init", "-q", "s"]);
        let commit =
            ["-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "a"];
        git(&place, &[&["-C", "s"], &commit[..]].concat());
        git(&place, &["clone", "-q", "--bare", "s", "b.git"]);
        git(&place, &["-C", "b.git", "worktree", "add", "-q", "../w"]);
        let taken = session_of(&place, &[&format!("mv b.git/{gone} h")]);
        let folder = file.rsplit_once('/').unwrap().0;
        let write = format!("mkdir -p {folder}; printf '{content}' > {file}");
        session_of(&place, &[&write]);
        assert!(read(&place, &file).is_some_and(|text| text.contains("evil")), "{file}");
        let refused = place.run(&["undo", "--session", &taken]).ends_with(1);
        let said = format!("  b.git/{gone} (programs take commands");
        assert!(refused.error.contains(&said), "{file}: {refused:?}");
        assert!(!place.path("work/b.git").join(gone).exists(), "{file}");
    }
}

/// A job does something while a call beside it removes what is at a protected name since.
fn job_beside(place: &Place, before: &str, job: &str, call: &str) {
    let wait = |name: &str| format!("until [ -e {name} ]; do sleep 0.02; done");
    let job = format!(": > begun; {}; {job}; : > made; {}", wait("go"), wait("end"));
    let call = format!("{}; : > go; {}; {call}; echo 2 > f; : > end", wait("begun"), wait("made"));
    let calls = json!([
        bash(before),
        {"calls": [{"name": "bash", "arguments": {"command": job, "background": true}}]},
        bash(&call),
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
    ]);
    turn(place, calls);
}

#[test]
fn older_files_do_not_come_back_where_a_job_made_their_names_protected_ones() {
    let cases = [
        (
            "mkdir c; echo evil > c/settings.json; sleep 0.1",
            "mv c .claude",
            "rm .claude/settings.json",
            ".claude/settings.json",
        ),
        (
            "mkdir -p x/hooks x/objects x/refs; echo evil > x/hooks/post-update; chmod +x x/hooks/post-update; sleep 0.1",
            "echo 'ref: refs/heads/main' > x/HEAD",
            "rm x/hooks/post-update",
            "x/hooks/post-update",
        ),
    ];
    for (before, job, call, path) in cases {
        let place = Place::new();
        place.write("work/f", "1\n");
        job_beside(&place, before, job, call);
        let refused = place.run(&["undo"]).ends_with(1);
        let said = format!("  {path} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{refused:?}");
        assert_eq!(read(&place, path), None);
        place.run(&["undo", "--keep-mine"]).ends_with(0);
        assert_eq!((read(&place, path), read(&place, "f").as_deref()), (None, Some("1\n")));
    }
}

/// A repository that is not called `.git`, with its worktree around it.
fn unnamed_repository(place: &Place) {
    git(place, &["init", "-q", "--separate-git-dir=.bare", "."]);
    let commit =
        ["-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "a"];
    git(place, &commit);
    place.write("work/f", "1\n");
}

#[test]
fn what_a_job_wrote_in_a_repository_by_another_name_does_not_come_back() {
    let cases = [
        (
            "mkdir rebase-merge; echo '$(evil)' > rebase-merge/msgnum",
            "rm -r rebase-merge",
            "rebase-merge/msgnum",
        ),
        (
            "mkdir rebase-apply; echo 'From -x' > rebase-apply/0001",
            "rm -r rebase-apply",
            "rebase-apply/0001",
        ),
        ("echo --output=x > ORIG_HEAD", "rm ORIG_HEAD", "ORIG_HEAD"),
        ("echo evil > MERGE_RR", "echo > MERGE_RR", "MERGE_RR"),
        ("echo evil > index", "rm index", "index"),
        (
            "mkdir -p modules/s; git config -f modules/s/config core.fsmonitor evil",
            "rm -r modules",
            "modules/s/config",
        ),
        ("echo evil > hooks/post-commit", "rm -r ../.bare", "hooks/post-commit"),
        ("mkdir sequencer; echo 'pick -x' > sequencer/todo", "rm -r ../.bare", "sequencer/todo"),
    ];
    for (job, call, path) in cases {
        let place = Place::new();
        unnamed_repository(&place);
        let within = |script: &str| format!("(cd .bare; {script})");
        job_beside(&place, ":", &within(job), &within(call));
        let path = format!(".bare/{path}");
        let is_there = || place.path("work").join(&path).exists();
        assert!(!is_there() || path.ends_with("MERGE_RR"), "{path}");
        let refused = place.run(&["undo"]).ends_with(1);
        let said = format!("  {path} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{path}: {refused:?}");
        place.run(&["undo", "--keep-mine"]).ends_with(0);
        assert_eq!(read(&place, "f").as_deref(), Some("1\n"), "{path}");
        let now = read(&place, &path).unwrap_or_default();
        assert!(!["evil", "-x", "--output"].iter().any(|evil| now.contains(evil)), "{path}: {now}");
    }
}

#[test]
fn what_git_and_a_person_wrote_in_a_repository_comes_back_without_a_question() {
    let rebase = "git config user.name a; git config user.email a; echo 1 > a; git add a; git commit -qm one; \
                  git checkout -qb side HEAD~; echo 2 > a; git add a; git commit -qm two; git rebase - || true";
    let cases = [
        ("", "echo 1 > a; git add a; git commit -qm one"),
        ("", rebase),
        (rebase, "echo 3 > a; git add a; GIT_EDITOR=true git rebase --continue"),
        (rebase, "git rebase --abort"),
        (rebase, "rm -rf .bare .git"),
        ("", "mkdir n; mv .bare/hooks n; mv n/hooks .bare"),
    ];
    for (before, call) in cases {
        let place = Place::new();
        unnamed_repository(&place);
        place.write("work/.bare/hooks/post-commit", "own\n");
        if !before.is_empty() {
            session_of(&place, &[before]);
        }
        session_of(&place, &[call]);
        place.run(&["undo"]).ends_with(0);
        place.run(&["redo"]).ends_with(0);
        place.run(&["undo"]).ends_with(0);
        assert_eq!(read(&place, ".bare/hooks/post-commit").as_deref(), Some("own\n"), "{call}");
    }
}

#[test]
fn a_repository_that_was_removed_comes_back_with_the_hooks_that_it_had() {
    let place = Place::new();
    git(&place, &["init", "-q", "sub"]);
    place.write("work/sub/.git/hooks/post-commit", "own\n");
    session_of(&place, &["rm -r sub"]);
    place.run(&["undo"]).ends_with(0);
    assert_eq!(read(&place, "sub/.git/hooks/post-commit").as_deref(), Some("own\n"));
}

#[test]
fn a_redo_brings_no_steps_and_settings_into_what_is_a_repository_by_now() {
    let cases = [
        ("rebase-merge/msgnum", "$(evil)"),
        ("MERGE_RR", "evil"),
        ("index", "evil"),
        ("hooks/post-update", "evil"),
        ("modules/s/config", "[core]\n\tfsmonitor = evil"),
    ];
    for (name, text) in cases {
        let place = Place::new();
        place.write("work/x/notes", "n\n");
        session_of(&place, &[&format!("cd x; mkdir -p $(dirname {name}); echo '{text}' > {name}")]);
        place.run(&["undo"]).ends_with(0);
        session_of(&place, &["cd x; mkdir objects refs; echo 'ref: refs/heads/main' > HEAD"]);
        let refused = place.run(&["redo"]).ends_with(1);
        let said = "programs take commands from this name";
        assert!(refused.error.contains(said), "{name}: {refused:?}");
        assert!(read(&place, &format!("x/{name}")).is_none(), "{name}");
    }
}

#[test]
fn a_redo_brings_no_hooks_into_what_is_a_repository_by_now() {
    let place = Place::new();
    place.write("work/x/notes", "n\n");
    session_of(
        &place,
        &["mkdir x/hooks; echo evil > x/hooks/post-update; ln -s /tmp x/packed-refs"],
    );
    place.run(&["undo"]).ends_with(0);
    session_of(&place, &["cd x; mkdir objects refs; echo 'ref: refs/heads/main' > HEAD"]);
    let refused = place.run(&["redo"]).ends_with(1);
    assert!(refused.error.contains("programs take commands from this name"), "{refused:?}");
    assert!(
        read(&place, "x/hooks/post-update").is_none()
            && !place.path("work/x/packed-refs").is_symlink()
    );
}

#[test]
fn settings_of_a_bare_repository_that_run_nothing_come_back_without_a_question() {
    let place = Place::new();
    git(&place, &["init", "-q", "--bare", "b.git"]);
    session_of(&place, &["git -C b.git remote add there https://h.invalid/a"]);
    place.run(&["undo"]).ends_with(0);
    assert!(!read(&place, "b.git/config").unwrap().contains("there"));
}

#[test]
fn what_stays_at_a_protected_name_gets_no_files_back_that_were_harmless_at_its_old_one() {
    let place = Place::new();
    place.write("work/c2/settings.json", "evil\n");
    place.write("work/c2/commands/a.md", "a\n");
    place.write("work/f", "1\n");
    let calls = ["echo 2 > f; rm c2/settings.json c2/commands/a.md", "mv c2 .claude"].map(bash);
    turn(&place, json!(calls));
    place.write("work/c2", "mine\n");
    let kept = place.run(&["undo", "9", "--keep-mine"]).ends_with(0);
    assert_eq!(read(&place, ".claude/settings.json"), None, "{kept:?}");
    assert_eq!(read(&place, "f").as_deref(), Some("1\n"));
    assert_eq!(read(&place, ".claude/commands/a.md").as_deref(), Some("a\n"));
    assert!(kept.out.contains(".claude/settings.json (programs take"), "{kept:?}");
}

/// Folders with protected names in them, of a person's and a repository of hers.
fn folders_of_names(place: &Place) {
    place.write("work/f", "1\n");
    place.write("work/pkg/.vscode/tasks.json", "mine\n");
    place.write("work/sub/.git/HEAD", "ref: refs/heads/main\n");
    place.write("work/sub/.git/config", "[core]\n\tbare = false\n");
    place.write("work/sub/.git/objects/a", "");
    place.write("work/sub/.git/refs/heads/a", "");
    place.write("work/sub/.git/hooks/pre-commit", "mine\n");
    place.write("work/src/a/.vscode/tasks.json", "mine\n");
    place.write("work/src/a/HEAD", "a\n");
    unnamed_repository(place);
    place.write("work/.bare/hooks/pre-push", "mine\n");
    place.write("work/conf/team.cfg", "[user]\n\tname = a\n");
    git(place, &["config", "include.path", "../conf/team.cfg"]);
}

#[test]
fn what_a_job_wrote_does_not_come_back_with_the_folder_that_a_call_moved() {
    let cases = [
        ("mkdir .vscode; echo evil > .vscode/tasks.json", "mv .vscode v", ".vscode"),
        (
            "mkdir -p .claude/hooks; echo evil > .claude/hooks/a",
            "mv .claude/hooks h",
            ".claude/hooks",
        ),
        ("mkdir .claude; echo evil > .claude/settings.json", "mv .claude c", ".claude"),
        ("echo evil > pkg/.vscode/tasks.json", "mv pkg/.vscode pkg/v", "pkg/.vscode"),
        ("echo evil > pkg/.vscode/tasks.json", "mv pkg p; mv p/.vscode p/v", "pkg/.vscode"),
        ("echo evil > pkg/.vscode/tasks.json", "mv pkg/.vscode pkg/v; mv pkg p", "pkg/.vscode"),
        (
            "git config -f sub/.git/config core.fsmonitor evil",
            "mv sub/.git/HEAD H; mv sub/.git sub/g",
            "sub/.git",
        ),
        ("echo evil > sub/.git/hooks/a", "mv sub/.git/hooks sub/h", "sub/.git/hooks"),
        (
            "mkdir sub/.git/rebase-merge; echo evil > sub/.git/rebase-merge/msgnum",
            "mv sub/.git/rebase-merge sub/r",
            "sub/.git/rebase-merge",
        ),
        (
            "mkdir .bare/rebase-merge; echo evil > .bare/rebase-merge/msgnum",
            "mv .bare/rebase-merge r",
            ".bare/rebase-merge",
        ),
        ("git config core.fsmonitor evil", "mv .bare/HEAD H; mv .bare b", ".bare"),
        ("echo '[core] fsmonitor = evil' > conf/team.cfg", "mv conf c", "conf"),
    ];
    for (job, call, path) in cases {
        let place = Place::new();
        folders_of_names(&place);
        job_beside(&place, ":", job, call);
        let refused = place.run(&["undo"]).ends_with(1);
        let said = format!("  {path} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{path}: {refused:?}");
        place.run(&["undo", "--keep-mine"]).ends_with(0);
        assert_eq!(read(&place, "f").as_deref(), Some("1\n"), "{path}");
        let mut found = Command::new("grep");
        let found =
            found.args(["-rl", "evil", path]).current_dir(place.path("work")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{path}");
    }
}

#[test]
fn folders_that_a_call_moved_beside_a_job_come_back_as_they_were_without_a_question() {
    let calls = [
        "mv src/a src/b",
        "mv pkg/.vscode pkg/v",
        "mv sub/.git/hooks sub/h",
        "mv .bare/hooks h",
        "mv conf c",
        "echo more >> pkg/.vscode/a; mkdir pkg/.vscode/b; mv pkg/.vscode pkg/v",
    ];
    for call in calls {
        let place = Place::new();
        folders_of_names(&place);
        job_beside(&place, ":", "echo 1 > log; echo 2 > src/a/made", call);
        place.run(&["undo"]).ends_with(0);
        assert_eq!(read(&place, "f").as_deref(), Some("1\n"), "{call}");
        for (path, text) in [
            ("pkg/.vscode/tasks.json", "mine\n"),
            ("src/a/.vscode/tasks.json", "mine\n"),
            ("src/a/made", "2\n"),
            ("sub/.git/hooks/pre-commit", "mine\n"),
            (".bare/hooks/pre-push", "mine\n"),
            ("conf/team.cfg", "[user]\n\tname = a\n"),
        ] {
            assert_eq!(read(&place, path).as_deref(), Some(text), "{call}: {path}");
        }
    }
}

#[test]
fn what_came_into_a_moved_folder_does_not_come_along_to_where_any_name_is_protected() {
    let evil = "printf '[core]\\n\\tfsmonitor = evil\\n'";
    let settings = format!("{evil} > c/team.cfg");
    let hook = "echo evil > b/hooks/post-update; chmod +x b/hooks/post-update";
    for (call, later, said) in [
        ("mv conf c; echo 2 > f", settings.as_str(), "c/team.cfg"),
        ("mv .bare/HEAD H; mv .bare b; echo 2 > f", hook, ".bare/HEAD"),
    ] {
        let place = Place::new();
        folders_of_names(&place);
        fs::remove_file(place.path("work/.bare/hooks/pre-push")).unwrap();
        let moved = session_of(&place, &[call]);
        session_of(&place, &[later]);
        let refused = place.run(&["undo", "--session", &moved]).ends_with(1);
        let said = format!("  {said} (programs take commands from this name");
        assert!(refused.error.contains(&said), "{call}: {refused:?}");
        place.run(&["undo", "--session", &moved, "--keep-mine"]).ends_with(0);
        assert_eq!(read(&place, "f").as_deref(), Some("1\n"), "{call}");
        let found = ["conf/team.cfg", ".bare/hooks/post-update"].map(|path| read(&place, path));
        assert!(!found.into_iter().flatten().any(|text| text.contains("evil")), "{call}");
    }
    let place = Place::new();
    folders_of_names(&place);
    let moved = session_of(&place, &["mv conf c"]);
    session_of(&place, &["echo 2 > f"]);
    place.run(&["undo", "--session", &moved]).ends_with(0);
    assert_eq!(read(&place, "conf/team.cfg").as_deref(), Some("[user]\n\tname = a\n"));
}
