//! Protected names that a command wrote: a rule for `write_file` keeps them, and without one the
//! result says which would.

use serde_json::json;

use crate::program::Place;

const WRITES: &str = "mkdir -p pkg && echo 'export A=1' > pkg/.envrc";

/// Runs the command with `flags` in a work tree and returns what is in the file then.
fn run(place: &Place, flags: &[&str], command: &str) -> Option<String> {
    place.write("work/.git/HEAD", "ref: refs/heads/main\n");
    let call = json!({ "name": "bash", "arguments": { "command": command } });
    let script = place.script(json!([{ "calls": [call] }, { "text": "done" }]));
    place.run(&[&["--print", "--model", &script], flags, &["go"]].concat()).ends_with(0);
    std::fs::read_to_string(place.path("work/pkg/.envrc")).ok()
}

/// With `flags` nothing is kept, and the result has each of `told`.
#[track_caller]
fn check_put_back(flags: &[&str], told: &[&str]) {
    let place = Place::new();
    assert_eq!(run(&place, flags, WRITES), None, "{flags:?}");
    let logs = place.logs();
    for words in [&["pkg/.envrc was made; put back as it was"], told].concat() {
        assert!(logs.contains(words), "{words}: {logs}");
    }
    assert!(!logs.contains("kept: rule"), "{logs}");
}

#[test]
fn a_rule_keeps_what_a_command_made_and_changed_and_undo_takes_it_back() {
    let place = Place::new();
    let rule = ["--allow", "write(**/.envrc)"];
    assert_eq!(run(&place, &rule, WRITES).as_deref(), Some("export A=1\n"));
    let logs = place.logs();
    assert!(logs.contains("pkg/.envrc was made; kept: rule write(**/.envrc)"), "{logs}");
    assert!(!logs.contains("put back"), "{logs}");
    let read = || std::fs::read_to_string(place.path("work/pkg/.envrc")).ok();
    place.run(&["undo"]).ends_with(0);
    assert_eq!(read(), None);
    place.run(&["redo"]).ends_with(0);
    assert_eq!(read().as_deref(), Some("export A=1\n"));
    // As it is, it can be closed to commands.
    let changes = "mv pkg old && mkdir pkg && echo 'export A=2' > pkg/.envrc";
    assert_eq!(run(&place, &rule, changes).as_deref(), Some("export A=2\n"));
    assert!(place.logs().contains("pkg/.envrc was changed; kept: rule"), "{}", place.logs());
    place.run(&["undo"]).ends_with(0);
    assert_eq!(read().as_deref(), Some("export A=1\n"));
}

#[test]
fn a_denial_comes_before_the_rule_that_keeps() {
    let rule = ["--allow", "write(**/.envrc)"];
    check_put_back(&[&rule[..], &["--deny", "write(pkg/**)"]].concat(), &[]);
    let place = Place::new();
    place.config("deny = [\"write_file(pkg/.envrc)\"]\n");
    assert_eq!(run(&place, &rule, WRITES), None, "{}", place.logs());
}

#[test]
fn without_a_rule_the_result_says_which_would_keep_it_and_what_git_shows() {
    let flag = "--allow 'write_file(pkg/.envrc)' would have kept what the command wrote";
    let git = "git shows as deleted or changed: leave that out of commits";
    check_put_back(&[], &[flag, git]);
    // A rule that names folders alone is for no protected file.
    check_put_back(&["--allow", "write(pkg/**)"], &[flag, git]);
}

#[test]
fn no_rule_keeps_settings_of_git_and_of_tenon_or_links() {
    let place = Place::new();
    let rules = ["hooks/post-checkout", ".tenon/config.toml", "pkg/.envrc"];
    let rules: Vec<String> = rules.iter().map(|name| format!("write(**/{name})")).collect();
    let flags: Vec<&str> = rules.iter().flat_map(|rule| ["--allow", rule.as_str()]).collect();
    let command = "mkdir -p .git/hooks .tenon pkg; echo x > .git/hooks/post-checkout
        echo x > .tenon/config.toml; ln -s ../a pkg/.envrc; true";
    assert_eq!(run(&place, &flags, command), None);
    assert!(!place.path("work/.git/hooks/post-checkout").exists());
    assert!(!place.path("work/.tenon/config.toml").exists());
    assert!(place.path("work/pkg/.envrc").symlink_metadata().is_err());
    assert!(!place.logs().contains("kept: rule"), "{}", place.logs());
}
