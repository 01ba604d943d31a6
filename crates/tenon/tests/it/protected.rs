//! Protected names that a command wrote: a rule for `write_file` keeps them, a person is asked, and
//! without both the result says which rule would.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::program::Place;
use crate::terminal::{Home, Terminal};

const ONCE: &str = "Allow it this once?";

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
fn what_is_put_back_has_the_time_that_it_had() {
    let pager = "printf '[core]\\n\\tpager = evil\\n' >> .git/config";
    for command in [pager, "rm .git/config", "rm .git/config; ln -s ../a .git/config"] {
        let place = Place::new();
        let config = place.write("work/.git/config", "[user]\n\tname = x\n");
        let then = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5_000);
        std::fs::File::open(&config).unwrap().set_modified(then).unwrap();
        run(&place, &[], &format!("{command}; echo n > n"));
        assert!(place.logs().contains("put back as it was"), "{command}: {}", place.logs());
        assert_eq!(std::fs::read_to_string(&config).unwrap(), "[user]\n\tname = x\n");
        assert_eq!(config.symlink_metadata().unwrap().modified().unwrap(), then, "{command}");
        let listed = place.run(&["changes"]).ends_with(0).out;
        assert!(listed.contains("created  n\n") && !listed.contains("config\n"), "{listed}");
    }
}

#[test]
fn a_rule_opens_a_protected_file_at_the_top_to_commands() {
    let place = Place::new();
    let file = "work/.vscode/settings.json";
    let change = |flags: &[&str]| {
        place.write(file, "old\n");
        let command = "echo new > .vscode/settings.json; echo task > .vscode/tasks.json";
        run(&place, flags, command);
        std::fs::read_to_string(place.path(file)).unwrap()
    };
    assert_eq!(change(&[]), "old\n");
    let flag = "--allow 'write_file(.vscode/settings.json)'";
    let logs = place.logs();
    let told = format!("with the user's yes, and commands with {flag}");
    assert!(logs.contains(&told) && logs.contains("write_refused"), "{logs}");
    assert_eq!(change(&["--allow", "write_file(.vscode/settings.json)"]), "new\n");
    assert_eq!(change(&["--allow", "write(**/.vscode/settings.json)"]), "new\n");
    let logs = place.logs();
    let kept = ".vscode/settings.json was changed; kept: rule write_file(.vscode/settings.json)";
    assert!(logs.contains(kept) && logs.contains("tasks.json was made; put back"), "{logs}");
    assert!(!place.path("work/.vscode/tasks.json").exists());
    place.run(&["undo"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(place.path(file)).unwrap(), "old\n");
}

#[test]
fn a_denial_comes_before_the_rule_that_keeps() {
    let rule = ["--allow", "write(**/.envrc)"];
    let unseen = "awk 'BEGIN { print \"export A=1\" > \"pkg/.envrc\" }'";
    let check = |place: &Place, flags: &[&str]| {
        std::fs::create_dir(place.path("work/pkg")).unwrap();
        assert_eq!(run(place, &[&rule[..], flags].concat(), unseen), None);
        assert!(
            place.logs().contains("pkg/.envrc was made; put back as it was"),
            "{}",
            place.logs()
        );
    };
    // Where calls are watched for undo, it is not even written.
    let place = Place::new();
    place.config("undo = false\n");
    check(&place, &["--deny", "write(pkg/**)"]);
    let place = Place::new();
    place.config("undo = false\ndeny = [\"write_file(pkg/.envrc)\"]\n");
    check(&place, &[]);
    // A redirect is seen before it runs.
    assert_eq!(run(&place, &rule, WRITES), None);
    assert!(place.logs().contains("forbids it"), "{}", place.logs());
}

#[test]
fn without_a_rule_the_result_says_which_would_keep_it_and_what_git_shows() {
    let flag = "--allow 'write_file(pkg/.envrc)' would have kept what the command wrote";
    let git = "git shows as deleted or changed: leave that out of commits";
    check_put_back(&[], &[flag, git]);
    // A rule that names folders alone is for no protected file.
    check_put_back(&["--allow", "write(pkg/**)"], &[flag, git]);
}

/// The end of a job that ran `command` has `words`.
#[track_caller]
fn check_of_job(place: &Place, tier: &str, command: &str, words: &str) {
    let start = json!({ "command": command, "background": true });
    let script = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": start }] },
        { "calls": [{ "name": "jobs", "arguments": { "action": "wait" } }] },
        { "text": "done" },
    ]));
    let flags = ["--sandbox", tier, "--output-format", "stream-json", "--model", &script, "go"];
    let run = place.run(&flags).ends_with(0);
    assert!(run.out.contains(words), "{tier}: {command}: {}", run.out);
}

/// Git goes on where a file of its own is put back, or could not be removed, and the next commit would undo it.
#[test]
fn of_what_git_tracks_it_is_told_also_at_the_top_and_of_a_start_file_what_git_shows() {
    const BRANCHES: &str = "git init -q -b main && git config user.name a && git config user.email a@b
        mkdir -p zsh deep && for f in zsh/.zshrc .envrc deep/.envrc; do echo 1 > $f; done
        git add -A && git commit -qm one
        for f in zsh/.zshrc .envrc deep/.envrc; do
            git checkout -q -b of-$(echo $f | tr -d /.) main && echo 2 > $f && git commit -qam two || exit 1
        done
        git checkout -q main";
    let git = ": leave that out of commits";
    for tier in ["a", "c"] {
        let place = Place::new();
        let outside = |script: &str| {
            let ended = place.program("sh", &["-c", script]).status().unwrap();
            assert!(ended.success(), "{script}");
        };
        let check = |command: &str, is_told: bool| {
            let results = place.results_of([command].into_iter(), &["--sandbox", tier], |it| it);
            let results = results.unwrap();
            let result = &results[0];
            assert!(result.contains("[walls]"), "{tier}: {command}: {result}");
            assert_eq!(result.contains(git), is_told, "{tier}: {command}: {result}");
        };
        outside(BRANCHES);
        std::os::unix::fs::symlink("../work/zsh/.zshrc", place.path("home/.zshrc")).unwrap();
        for branch in ["of-zshzshrc", "of-envrc", "of-deepenvrc"] {
            check(&format!("git checkout -q {branch}"), true);
            outside("git checkout -qf main");
        }
        check("git config core.pager x", false);
        check_of_job(&place, tier, "git merge -q of-deepenvrc", git);
        outside("mv .git git");
        check("echo 3 > zsh/.zshrc", false);
    }
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

/// A home with a session in which each of `commands` ran, and each question got its answer.
fn answered(commands: &[&str], answers: &[&str]) -> Home {
    let call = |command| json!({ "name": "bash", "arguments": { "command": command } });
    let calls: Vec<Value> = commands.iter().map(call).collect();
    let home = Home::new(json!([{ "calls": calls }, { "text": "All done." }]));
    let mut terminal = Terminal::start(&home, &["--plain"], 80, &[]);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    for (number, answer) in answers.iter().enumerate() {
        terminal.wait_for("A command wrote this file", number + 1);
        terminal.wait_for(ONCE, number + 1);
        terminal.press(answer);
    }
    terminal.wait_for("All done.", 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    home
}

#[test]
fn a_person_is_asked_whether_what_a_command_wrote_stays() {
    let write = |value: &str, folder: &str| {
        format!("mkdir -p {folder}; echo {value} > {folder}/.envrc; cat {folder}/.envrc")
    };
    let commands = [("A", "yes"), ("B", "no"), ("C", "no"), ("D", "all"), ("E", "all")];
    let commands = commands.map(|(value, folder)| write(value, folder));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    // What was refused, or allowed for the session, is not asked about again.
    let home = answered(&commands, &["y\r", "n not there\r", "s\r"]);
    let read = |folder| std::fs::read_to_string(home.work().join(folder).join(".envrc")).ok();
    assert_eq!(read("yes").as_deref(), Some("A\n"));
    assert_eq!(read("no"), None);
    assert_eq!(read("all").as_deref(), Some("E\n"));
    let results = home.logged("tool_result", "content");
    let told = |number: usize, words: &str| {
        let result = results[number].as_str().unwrap();
        assert!(result.contains(words), "{words}: {result}");
    };
    told(0, "yes/.envrc was made; kept: the user's yes");
    told(1, "no/.envrc was made; put back");
    told(1, "no/.envrc out and said: not there");
    told(2, "no/.envrc was made; put back");
    let rule =
        format!("write({})", home.work().canonicalize().unwrap().join("all/.envrc").display());
    told(3, &format!("all/.envrc was made; kept: rule {rule}"));
    told(4, &format!("all/.envrc was changed; kept: rule {rule}"));
    assert_eq!(home.logged("notice", "text"), [format!("allowed for this session: {rule}")]);
    // A replay gives the same answers, and an undo takes back what was kept.
    let tenon = |arguments: &[&str]| {
        let mut tenon = Command::new(env!("CARGO_BIN_EXE_tenon"));
        tenon.args(arguments).current_dir(home.work()).env_clear().envs(home.environment());
        let output = tenon.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    tenon(&["replay", "last"]);
    tenon(&["undo", "5"]);
    assert_eq!([read("yes"), read("all")], [None, None]);
}

#[test]
fn a_file_that_changed_while_a_person_was_asked_is_left_as_it_is() {
    let home = Home::new(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": WRITES } }] },
        { "text": "All done." },
    ]));
    let mut terminal = Terminal::start(&home, &["--plain"], 80, &[]);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for(ONCE, 1);
    std::fs::create_dir_all(home.work().join("pkg")).unwrap();
    std::fs::write(home.work().join("pkg/.envrc"), "mine\n").unwrap();
    terminal.press("y\r");
    terminal.wait_for("All done.", 1);
    assert_eq!(std::fs::read(home.work().join("pkg/.envrc")).unwrap(), b"mine\n");
}

/// A session in which a job runs `command` as soon as there is a file `go`, and then makes `gone`. Its calls come while
/// it waits.
fn beside_a_job(command: &str, calls: &[Value]) -> (Home, Terminal) {
    let job = format!("while ! test -e go; do sleep 0.02; done; {command}; touch gone; sleep 100");
    let job = json!({ "name": "bash", "arguments": { "command": job, "background": true } });
    let calls: Vec<Value> = [&[job], calls].concat();
    let home = Home::new(json!([{ "calls": calls }, { "text": "All done." }]));
    std::fs::create_dir(home.work().join("pkg")).unwrap();
    std::fs::write(home.work().join("pkg/.envrc"), "export A=1\n").unwrap();
    let mut terminal = Terminal::start(&home, &["--plain"], 80, &[]);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for(ONCE, 1);
    (home, terminal)
}

fn lets_the_job_go(home: &Home) {
    std::fs::write(home.work().join("go"), "").unwrap();
    while !home.work().join("gone").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the session, and with it the job; returns the results of the calls, and what is in the file then.
fn ended(home: &Home, terminal: &mut Terminal) -> (Vec<String>, String) {
    terminal.wait_for("All done.", 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    let results = home.logged("tool_result", "content");
    let results = results.iter().map(|result| result.as_str().unwrap().to_owned()).collect();
    (results, std::fs::read_to_string(home.work().join("pkg/.envrc")).unwrap())
}

fn edits(path: &str) -> Value {
    let arguments = json!({ "path": path, "old_text": "A=1", "new_text": "A=2" });
    json!({ "name": "edit_file", "arguments": arguments })
}

const EVIL: &str = "echo evil >> pkg/.envrc";

#[test]
fn a_yes_to_an_edit_is_none_to_what_a_job_wrote_while_the_question_stood() {
    let (home, mut terminal) = beside_a_job(EVIL, &[edits("pkg/.envrc")]);
    lets_the_job_go(&home);
    terminal.press("y\r");
    let (results, file) = ended(&home, &mut terminal);
    assert!(results[1].starts_with("Error: pkg/.envrc changed on disk"), "{results:?}");
    assert_eq!(file, "export A=1\n");
}

#[test]
fn what_a_job_wrote_is_put_back_before_a_question_about_the_file() {
    let other = json!({ "path": ".envrc", "content": "other\n" });
    let other = json!({ "name": "write_file", "arguments": other });
    let (home, mut terminal) = beside_a_job(EVIL, &[other, edits("pkg/.envrc")]);
    lets_the_job_go(&home);
    terminal.press("n\r");
    terminal.wait_for(ONCE, 2);
    let read = || std::fs::read_to_string(home.work().join("pkg/.envrc")).unwrap();
    assert_eq!(read(), "export A=1\n");
    terminal.press("y\r");
    let (results, file) = ended(&home, &mut terminal);
    assert!(results[2].contains("pkg/.envrc was changed; put back as it was"), "{results:?}");
    assert_eq!(file, "export A=2\n");
    // Nor does an undo bring it.
    let mut tenon = Command::new(env!("CARGO_BIN_EXE_tenon"));
    tenon.arg("undo").current_dir(home.work()).env_clear().envs(home.environment());
    assert!(tenon.output().unwrap().status.success());
    assert_eq!(read(), "export A=1\n");
}

#[test]
fn nobody_is_asked_about_a_protected_folder_where_a_file_should_go() {
    let place = Place::new();
    std::fs::create_dir(place.path("work/.vscode")).unwrap();
    let arguments = json!({ "path": ".vscode", "content": "x" });
    let call = json!({ "name": "write_file", "arguments": arguments });
    let script = place.script(json!([{ "calls": [call] }, { "text": "done" }]));
    place.run(&["--print", "--model", &script, "go"]).ends_with(0);
    let logs = place.logs();
    assert!(logs.contains("Is a directory: .vscode") && !logs.contains("yes"), "{logs}");
}

#[test]
fn what_nobody_could_be_asked_about_is_in_the_list_of_what_was_refused() {
    let place = Place::new();
    let call = json!({ "name": "bash", "arguments": { "command": WRITES } });
    let script = place.script(json!([{ "calls": [call] }, { "text": "done" }]));
    let run = place.run(&["--model", &script, "--output-format", "json", "go"]).ends_with(0);
    let object: Value = serde_json::from_str(&run.out).unwrap();
    let [entry] = object["refused"].as_array().unwrap().as_slice() else { panic!("{object}") };
    assert_eq!(entry["tool"], "protected file");
    assert!(entry["subject"].as_str().unwrap().ends_with("work/pkg/.envrc"), "{entry}");
    assert_eq!(entry["rule"], "built-in: protected file");
    assert_eq!(entry["flag"], "--allow 'write_file(pkg/.envrc)'");
}

/// Nobody is asked about these: no rule opens them to commands.
#[test]
fn what_was_put_back_or_could_not_be_written_without_a_question_is_in_the_list() {
    for tier in ["a", "c"] {
        let place = Place::new();
        place.write("work/.vscode/tasks.json", "{}\n");
        let job = "git config core.editor x";
        let calls = json!([
            { "command": "git init -q && git config core.pager x" },
            { "command": "echo x > .git/hooks/pre-commit" },
            { "command": "rm -rf .vscode" },
            { "command": job, "background": true },
        ]);
        let calls = calls.as_array().unwrap().iter();
        let call = |it: &Value| json!({ "calls": [{ "name": "bash", "arguments": it }] });
        let wait = json!({ "calls": [{ "name": "jobs", "arguments": { "action": "wait" } }] });
        let turns = calls.map(call).chain([wait, json!({ "text": "done" })]);
        let script = place.script(turns.collect());
        let flags = ["--model", &script, "--sandbox", tier, "--output-format", "json", "go"];
        let run = place.run(&flags).ends_with(0);
        let object: Value = serde_json::from_str(&run.out).unwrap();
        let refused: Vec<&Value> = object["refused"].as_array().unwrap().iter().collect();
        for file in [".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json"] {
            let of_file =
                |entry: &&&Value| entry["subject"].as_str().is_some_and(|it| it.ends_with(file));
            let found: Vec<_> = refused.iter().filter(of_file).collect();
            assert!(!found.is_empty(), "{tier}: {file} is not in {refused:?}");
            assert!(found.iter().all(|it| it["tool"] == "protected file"), "{found:?}");
            // The one of the job, and the one of the first call.
            assert_eq!(found.len(), if file == ".git/config" { 2 } else { 1 }, "{refused:?}");
        }
    }
}

#[test]
fn a_protected_file_that_is_named_by_the_users_link_has_the_flag_that_lets_it() {
    let place = Place::new();
    place.write("work/.vscode/settings.json", "{}\n");
    let way = place.path("home/by");
    std::os::unix::fs::symlink(place.path("work"), &way).unwrap();
    let way = way.display().to_string();
    let command = format!("echo x > {way}/.vscode/settings.json");
    let call = json!({ "calls": [{ "name": "bash", "arguments": { "command": command } }] });
    let script = place.script(json!([call, { "text": "done" }]));
    let flags = ["--cwd", &way, "--model", &script, "--output-format", "json", "go"];
    let run = place.run(&flags).ends_with(0);
    let object: Value = serde_json::from_str(&run.out).unwrap();
    let flag = "--allow 'write_file(.vscode/settings.json)'";
    assert_eq!(object["refused"][0]["flag"], flag, "{object}");
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

/// The kernel refuses it, and all that came of it is what undo had kept before: a further name.
#[test]
fn a_protected_file_that_no_command_could_remove_is_no_change_also_after_a_kill() {
    let place = Place::new();
    let envrc = place.write("work/.envrc", "a\n");
    let before = inode(&envrc);
    let tenon = |turns: Value| {
        let script = place.script(turns);
        place.run(&["--print", "--model", &script, "--sandbox", "a", "go"]).ends_with(0)
    };
    let call = |command: &str, background: bool| {
        let arguments = json!({ "command": command, "background": background });
        json!({ "calls": [{ "name": "bash", "arguments": arguments }] })
    };
    // While a job runs, each look goes by the one before.
    let removes = call("rm .envrc; echo b > b; mv b .envrc; true", false);
    tenon(json!([call("sleep 60", true), removes, call("true", false), { "text": "done" }]));
    let script = place.script(json!([call("rm .envrc; touch sign; sleep 60", false)]));
    place.run_and_kill(&["--model", &script, "--sandbox", "a", "go"], "work/sign");
    let run = tenon(json!([{ "text": "done" }]));
    let logs = place.logs() + &run.out + &run.error;
    assert!(!logs.contains("put back") && !logs.contains(".envrc was"), "{logs}");
    assert_eq!(inode(&envrc), before, "it was made anew");
}

#[test]
fn a_further_name_that_a_command_gave_such_a_file_is_found_all_the_same() {
    for tier in ["a", "c"] {
        let place = Place::new();
        let envrc = place.write("work/pkg/.envrc", "a\n");
        let command = "chmod 555 pkg; rm pkg/.envrc; chmod 755 pkg; ln pkg/.envrc z; true";
        run(&place, &["--sandbox", tier], command);
        let logs = place.logs();
        assert!(logs.contains("pkg/.envrc was changed; put back as it was"), "{tier}: {logs}");
        assert_ne!(inode(&envrc), inode(&place.path("work/z")), "{tier}");
    }
}
