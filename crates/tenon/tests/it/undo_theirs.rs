//! What stays as it was when calls are undone is told, to the person and to the model, and what is put back
//! although somebody changed it, too.

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    terminal::{Home, Terminal},
    undo::{bash, session_of},
};

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path("work").join(name)).unwrap_or_default()
}

/// Writes it as a person, after the call.
fn person(place: &Place, name: &str, content: &str) {
    std::thread::sleep(std::time::Duration::from_millis(20));
    place.write(&format!("work/{name}"), content);
}

/// Goes on with the session and returns what the model is told of an undo.
fn told(place: &Place) -> String {
    let script = place.script(json!([{"text": "."}]));
    let go_on = ["--continue", "--output-format", "stream-json", "--model", &script, "go on"];
    let run = place.run(&go_on).ends_with(0);
    let (_, said) = run.out.split_once("[undo] ").unwrap_or_default();
    said.split('"').next().unwrap_or_default().to_owned()
}

#[test]
fn a_yes_to_put_conflicts_back_holds_for_all_calls_that_are_undone() {
    let home = Home::new(json!([bash("echo g > g"), bash("mv g g3"), {"text": "Made it."}]));
    let mut terminal = Terminal::start(&home, &["--plain"], 100, &[]);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for("Made it.", 1);
    terminal.wait_for_prompt();
    std::fs::write(home.work().join("g3"), "g\nmine\n").unwrap();
    terminal.press("/undo 2\r");
    terminal.wait_for("o = put these back too; n = nothing]", 1);
    terminal.press("o\r");
    terminal.wait_for("Undone:", 1);
    terminal.wait_for_prompt();
    assert!(!home.work().join("g").exists() && !home.work().join("g3").exists());
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_call_of_which_nothing_was_saved_is_not_the_one_to_undo() {
    let place = Place::new();
    place.write("work/a", "1\n");
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
    place.write("work/target/CACHEDIR.TAG", tag);
    let build = "echo built > target/out";
    let id = session_of(&place, &["echo 2 > b", build, "echo bad >> a", build, build]);
    let undone = place.run(&["undo"]).ends_with(0);
    assert!(undone.out.contains("echo bad >> a") && !undone.out.contains(build), "{undone:?}");
    assert_eq!(read(&place, "a"), "1\n");
    place.run(&["redo"]).ends_with(0);
    let undone = place.run(&["undo", "3"]).ends_with(0);
    assert!(undone.out.contains("\nOnly 2 calls can be undone.\n"), "{undone:?}");
    assert!(!place.path("work/b").exists());
    place.run(&["undo"]).ends_with(1).says(&["there is nothing to undo"]);
    let listed = place.run(&["changes"]).ends_with(0).out;
    assert_eq!(listed.matches("(undone)").count(), 2, "{listed}");
    assert_eq!(listed.matches("target").count(), 6, "{listed}");
    place.run(&["redo"]).ends_with(0);
    let restored = place.run(&["restore", &id, "--to", "2"]).ends_with(0);
    assert!(!restored.out.contains("built"), "{restored:?}");
    assert!(place.path("work/b").exists() && read(&place, "a") == "1\n");
    assert!(told(&place).ends_with("The files are as before them; read again what you rely on."));
}

#[test]
fn a_long_command_ends_with_dots_in_the_list_of_changes() {
    let place = Place::new();
    let short = format!("echo {} > a", "文".repeat(191));
    session_of(&place, &[&short, &format!("echo {} > b", "🎉".repeat(192))]);
    let listed = place.run(&["changes"]).ends_with(0).out;
    let listed: String = listed.split_whitespace().collect();
    let dotted = format!("echo{}>…", "🎉".repeat(192));
    assert!(listed.contains(&dotted) && listed.matches('…').count() == 1, "{listed}");
}

#[test]
fn what_stayed_as_it_was_is_told_to_the_model_and_in_the_list() {
    let place = Place::new();
    place.write("work/a", "1\n");
    place.write("work/b", "1\n");
    session_of(&place, &["echo two >> a; echo two >> b", "echo c > c"]);
    person(&place, "a", "mine\n");
    place.run(&["undo", "2", "--keep-mine"]).ends_with(0);
    assert_eq!((&*read(&place, "a"), &*read(&place, "b")), ("mine\n", "1\n"));
    let listed = place.run(&["changes"]).ends_with(0).out;
    assert!(listed.contains("two >> b (undone in part)"), "{listed}");
    assert!(listed.contains("echo c > c (undone)"), "{listed}");
    let said = told(&place);
    assert!(
        said.ends_with("The files are as before them, but for what stayed as it was: a; read again what you rely on."),
        "{said}"
    );
    let kept = place.logs().lines().find_map(|line| {
        let record: Value = serde_json::from_str(line).ok()?;
        (record["type"] == "files_undone").then(|| record["kept"].clone())
    });
    assert_eq!(kept, Some(json!(["a"])));
}

#[test]
fn what_a_call_deleted_from_a_folder_that_a_person_renamed_is_named() {
    for (language, listed) in [
        ("en", "src/g (not as before, because of what is kept)"),
        ("zh_CN.UTF-8", "src/g (因所保留的内容而未恢复原状)"),
    ] {
        let place = Place::new();
        place.write("work/src/f", "one\n");
        place.write("work/src/g", "two\n");
        session_of(&place, &["rm src/g"]);
        std::fs::rename(place.path("work/src"), place.path("work/lib")).unwrap();
        let mut undo = place.tenon(&["undo", "--keep-mine"]);
        let undone = Run::of(undo.env("LANG", language).output().unwrap()).ends_with(0);
        assert!(undone.out.contains(&format!("\n  {listed}\n")), "{undone:?}");
        assert!(!place.path("work/src").exists() && !place.path("work/lib/g").exists());
    }
    let home = Home::new(json!([bash("rm src/g"), {"text": "Made it."}]));
    std::fs::create_dir(home.work().join("src")).unwrap();
    std::fs::write(home.work().join("src/f"), "one\n").unwrap();
    std::fs::write(home.work().join("src/g"), "two\n").unwrap();
    let mut terminal = Terminal::start(&home, &["--plain"], 100, &[]);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for("Made it.", 1);
    terminal.wait_for_prompt();
    std::fs::rename(home.work().join("src"), home.work().join("lib")).unwrap();
    terminal.press("/undo\r");
    terminal.wait_for("n = nothing]", 1);
    terminal.press("k\r");
    terminal.wait_for("src/g (not as before, because of what is kept)", 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn what_was_never_saved_is_told_to_the_model_and_in_the_list() {
    let place = Place::new();
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
    place.write("work/target/CACHEDIR.TAG", tag);
    session_of(&place, &["echo a > a; echo built > target/out"]);
    place.run(&["undo"]).ends_with(0);
    let listed = place.run(&["changes"]).ends_with(0).out;
    assert!(listed.contains("target/out (undone in part)"), "{listed}");
    let said = told(&place);
    assert!(said.contains("but for what stayed as it was: target; read again"), "{said}");
}

#[test]
fn what_is_put_back_although_it_was_changed_since_is_listed() {
    let place = Place::new();
    place.write("work/d/x", "x\n");
    session_of(&place, &["rm -rf d"]);
    person(&place, "d/p", "mine\n");
    let undone = place.run(&["undo", "--overwrite", "d"]).ends_with(0);
    let listed = "Put back although it was changed since (redo brings your version back):\n  \
                  d (made since)\n  d/p (made since)\n";
    assert!(undone.out.contains(listed), "{undone:?}");
    assert_eq!((&*read(&place, "d/x"), &*read(&place, "d/p")), ("x\n", ""));
    place.run(&["redo"]).ends_with(0);
    assert_eq!(read(&place, "d/p"), "mine\n");
}

#[test]
fn what_goes_along_with_a_folder_that_is_moved_back_is_listed() {
    let place = Place::new();
    place.write("work/old/x", "x\n");
    place.write("work/old/y", "y\n");
    session_of(&place, &["mv old new; echo y >> new/y"]);
    person(&place, "new/notes.md", "mine\n");
    for (subcommand, at) in [("undo", "old"), ("redo", "new")] {
        let done = place.run(&[subcommand]).ends_with(0);
        let listed = "Made or changed since, and moved along with their folder:\n";
        let expected = (subcommand == "undo").then(|| format!("{listed}  {at}/notes.md\n"));
        let (_, said) = done.out.split_once(listed).unwrap_or_default();
        assert_eq!(expected.is_some(), done.out.contains(listed), "{done:?}");
        assert!(expected.is_none() || said == format!("  {at}/notes.md\n"), "{done:?}");
        assert_eq!(read(&place, &format!("{at}/notes.md")), "mine\n");
    }
    place.run(&["undo"]).ends_with(0);
    person(&place, "old/more.md", "mine\n");
    let redone = place.run(&["redo"]).ends_with(0);
    assert!(redone.out.contains("with their folder:\n  new/more.md\n"), "{redone:?}");
}

#[test]
fn an_older_folder_that_goes_along_is_listed_by_its_files() {
    let place = Place::new();
    for (path, text) in [("old/x", "x\n"), ("old/sub/y", "y\n"), ("d/deep/z", "z\n")] {
        person(&place, path, text);
    }
    session_of(&place, &["mv old new"]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::rename(place.path("work/d"), place.path("work/new/d")).unwrap();
    let undone = place.run(&["undo"]).ends_with(0);
    let listed = "Made or changed since, and moved along with their folder:\n  old/d/deep/z\n";
    assert!(undone.out.ends_with(listed), "{undone:?}");
}

#[test]
fn what_goes_along_with_a_folder_is_told_to_the_model_too() {
    let place = Place::new();
    place.write("work/d/g", "g\n");
    session_of(&place, &["echo w > d/f0; mv d z", "rm z/f0"]);
    person(&place, "z/g", "mine\n");
    let undone = place.run(&["undo", "2"]).ends_with(0);
    let listed = "Made or changed since, and moved along with their folder:\n  d/g\n";
    assert!(undone.out.contains(listed), "{undone:?}");
    assert_eq!(read(&place, "d/g"), "mine\n");
    told(&place);
    let along = "[undo] What the user had made or changed moved along with its folder, and is now: d/g. \
                 Read again what you rely on.";
    assert!(place.logs().contains(along), "{}", place.logs());
}

#[test]
fn everything_that_a_yes_puts_back_is_listed_before_it() {
    let place = Place::new();
    std::fs::create_dir(place.path("work/a")).unwrap();
    session_of(&place, &["echo t > t; mv t a/f", "chmod 750 a"]);
    std::fs::remove_dir_all(place.path("work/a")).unwrap();
    let refused = place.run(&["undo", "2"]).ends_with(1);
    refused.says(&["  a (gone since)\n  a/f (gone since)\n"]);
    let folder = Place::new();
    session_of(&folder, &["echo d > d"]);
    std::fs::remove_file(folder.path("work/d")).unwrap();
    person(&folder, "d/p", "mine\n");
    let refused = folder.run(&["undo"]).ends_with(1);
    refused.says(&["  d (changed since)\n  d/p (made since)\n"]);
}

#[test]
fn a_branch_that_a_person_made_at_the_calls_commit_keeps_its_objects() {
    let place = Place::new();
    let git = |arguments: &[&str]| {
        let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let mut git = place.program("git", &[&author, arguments].concat());
        let output = git.current_dir(place.path("work")).output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    place.write("work/f", "1\n");
    git(&["init", "-q"]);
    git(&["add", "f"]);
    git(&["commit", "-qm", "one"]);
    let commit = "echo 2 > f; git -c user.name=a -c user.email=a@b commit -qam two";
    session_of(&place, &[commit]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    git(&["branch", "backup"]);
    let undone = place.run(&["undo"]).ends_with(0);
    let stays = "  .git/objects (what was made there stays: branches or the index of this repository \
                 were changed since)\n";
    assert!(undone.out.contains(stays), "{undone:?}");
    assert_eq!((read(&place, "f"), git(&["show", "backup:f"])), ("1\n".into(), "2\n".into()));
    git(&["fsck"]);
}

#[test]
fn a_step_that_there_is_not_is_no_place_to_go_back_to() {
    let place = Place::new();
    let id = session_of(&place, &["echo 1 > a", "true", "echo 3 > c"]);
    for step in ["0", "6", "99"] {
        let refused = place.run(&["restore", &id, "--to", step]).ends_with(2);
        let said = format!("there is no step or call `{step}`");
        refused.says(&[&said, "the session has 4 steps; 5 is how it left the files"]);
    }
    place
        .run(&["restore", &id, "--to", "5"])
        .ends_with(1)
        .says(&["the files are as they were before"]);
    place
        .run(&["restore", &id, "--to", "4"])
        .ends_with(1)
        .says(&["the files are as they were before"]);
    place.run(&["restore", &id, "--to", "3"]).ends_with(0);
    assert!(place.path("work/a").exists() && !place.path("work/c").exists());
}

#[test]
fn a_cache_that_may_be_newer_than_what_was_put_back_is_told_of() {
    let place = Place::new();
    place.write("work/src/a.c", "1\n");
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
    place.write("work/target/CACHEDIR.TAG", tag);
    let build = "echo built > target/out";
    let id = session_of(&place, &["echo 2 > src/a.c", build, "echo new > new"]);
    let (to_person, to_model) = ("Left out, and perhaps newer", "These caches were left out");
    let undone = place.run(&["undo"]).ends_with(0);
    assert!(!undone.out.contains(to_person), "{undone:?}");
    let undone = place.run(&["undo"]).ends_with(0);
    let (_, named) = undone.out.split_once(to_person).unwrap();
    assert!(named.ends_with(":\n  target\n"), "{undone:?}");
    told(&place);
    let logs = place.logs();
    assert!(logs.contains(to_model) && logs.contains("old times: target. A build"), "{logs}");
    assert!(logs.contains(r#""stale":["target"]"#), "{logs}");
    let redone = place.run(&["redo"]).ends_with(0);
    assert!(redone.out.contains(to_person), "{redone:?}");
    let restored = place.run(&["restore", &id, "--to", "1"]).ends_with(0);
    assert!(restored.out.contains(to_person), "{restored:?}");
}

#[test]
fn what_nobody_has_any_more_is_not_offered_to_be_put_back() {
    let place = Place::new();
    place.write("work/a", "1\n");
    session_of(&place, &["echo 2 >> a; echo 2 > b"]);
    person(&place, "a", "mine\n");
    let refused = place.run(&["undo"]).ends_with(1);
    let said = "a (changed or gone since, and what was in it is not kept)";
    assert!(refused.error.contains(said), "{refused:?}");
    assert!(refused.error.contains("--keep-mine") && !refused.error.contains("--overwrite"));
    std::fs::remove_file(place.path("work/a")).unwrap();
    let failed = place.run(&["undo", "--overwrite", "a"]).ends_with(1);
    let said = "a could not be put back: it is gone, and what was in it is not kept";
    assert!(failed.error.contains(said), "{failed:?}");
    // What was before is in it still.
    person(&place, "a", "1\n2\nmine\n");
    let refused = place.run(&["undo"]).ends_with(1);
    assert!(refused.error.contains("--overwrite"), "{refused:?}");
    place.run(&["undo", "--overwrite", "a"]).ends_with(0);
    assert_eq!(read(&place, "a"), "1\n");
}

#[test]
fn who_moved_what_was_changed_is_named_also_where_nobody_has_what_was_in_it() {
    let place = Place::new();
    place.write("work/a", "a\n");
    place.write("work/d/f", "f\n");
    let first = session_of(&place, &["echo 1 >> a; echo 1 >> d/f"]);
    let second = session_of(&place, &["mv a b; mv d e; echo 2 >> e/f"]);
    let refused = place.run(&["undo", "--session", &first]).ends_with(1);
    let said = [
        format!("  a (moved to b by session {second} since)\n"),
        format!(
            "  d/f (changed, moved or deleted by session {second} since, and what was in it is not kept)\n"
        ),
    ];
    assert!(said.iter().all(|said| refused.error.contains(said)), "{refused:?}");
}

#[test]
fn a_conflict_names_where_something_is_after_all_moves_and_no_place_where_it_is_not() {
    let place = Place::new();
    place.write("work/a/f", "1\n");
    place.write("work/b", "1\n");
    let first = session_of(&place, &["echo 2 >> a/f; echo 2 >> b"]);
    let second = session_of(&place, &["mv a/f a/g; mv b c", "mv a A; mv c d"]);
    std::fs::rename(place.path("work/d"), place.path("work/mine")).unwrap();
    let refused = place.run(&["undo", "--session", &first]).ends_with(1);
    let by = format!("by session {second} since)\n");
    for said in ["a/f (moved to A/g ", "b (moved away "] {
        assert!(refused.error.contains(&format!("  {said}{by}")), "{said}: {refused:?}");
    }
}
