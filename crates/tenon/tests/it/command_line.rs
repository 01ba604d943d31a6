//! Exit codes, standard input, and what the command line refuses.

use serde_json::{Value, json};

use crate::program::Place;

/// Returns the prompt that the log of the only session holds.
fn logged_prompt(place: &Place) -> String {
    let logs = place.logs();
    let events = logs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut prompts = events.filter(|event| event["type"] == "user_message");
    prompts.next().unwrap()["prompt"].as_str().unwrap().to_owned()
}

#[test]
fn a_finished_turn_is_0_and_prints_the_answer() {
    let place = Place::new();
    let script = place.script(json!([{ "text": "All done." }]));
    let run = place.run(&["--model", &script, "-p", "do it"]).ends_with(0);
    assert_eq!(run.out, "All done.\n");
    assert_eq!(logged_prompt(&place), "do it");
}

#[test]
fn a_turn_that_ends_otherwise_is_1() {
    let place = Place::new();
    let call = json!({ "name": "bash", "arguments": { "command": "true" } });
    let script = place.script(json!([{ "calls": [call] }, { "text": "never" }]));
    place.run(&["--model", &script, "--max-steps", "1", "go on"]).ends_with(1);
    let script = place.script(json!([{ "error": { "kind": "overloaded", "message": "busy" } }]));
    place.run(&["--model", &script, "go on"]).ends_with(1).says(&["busy"]);
}

#[test]
fn wrong_usage_is_2() {
    let place = Place::new();
    let cases: [&[&str]; 12] = [
        &["--nonsense"],
        &["one", "two"],
        &["--max-steps", "0", "x"],
        &["--output-format", "xml", "x"],
        &["--model", "local", "sessions"],
        &["-p", "tools"],
        &["prompt", "doctor"],
        &["first", "run", "second"],
        &["show", "nothing"],
        &["--cwd", "missing", "--model", "scripted:x", "x"],
        &["--model", "scripted:missing.json", "x"],
        &["--allow", "not a rule", "--model", "local", "x"],
    ];
    for arguments in cases {
        let run = place.run(arguments).ends_with(2);
        assert!(run.error.starts_with("error: ") && run.out.is_empty(), "{arguments:?}: {run:?}");
    }
}

#[test]
fn a_mode_without_walls_is_told_what_gives_that() {
    let place = Place::new();
    let tip = "tip: --sandbox off runs commands without walls";
    for arguments in [&["--mode", "unconfined", "x"][..], &["run", "--mode=unconfined", "x"]] {
        place.run(arguments).ends_with(2).says(&["'unconfined' for '--mode <MODE>'", "auto", tip]);
    }
    let said =
        ["--sandbox off runs commands without walls", "`sandbox = \"off\"` in the user's own file"];
    for file in ["home/.config/tenon/config.toml", "work/.tenon/config.toml"] {
        place.write(file, "mode = 'unconfined'");
        place.run(&["--model", "local", "x"]).ends_with(2).says(&[file]).says(&said);
        place.write(file, "");
    }
    for arguments in [["--mode", "none"], ["--sandbox", "unconfined"]] {
        assert!(!place.run(&arguments).ends_with(2).error.contains("tip: --sandbox off"));
    }
}

#[test]
fn a_prompt_comes_from_standard_input_too() {
    let place = Place::new();
    let script = place.script(json!([{ "text": "ok" }]));
    place.run_with_input(&["--model", &script], "piped").ends_with(0);
    assert_eq!(logged_prompt(&place), "piped");

    let place = Place::new();
    let script = place.script(json!([{ "text": "ok" }]));
    place.run_with_input(&["run", "--model", &script, "review this"], "+a\n-b\n").ends_with(0);
    assert_eq!(logged_prompt(&place), "review this\n\n+a\n-b\n");
}

#[test]
fn standard_input_has_a_bound_and_may_be_empty() {
    let place = Place::new();
    let script = place.script(json!([{ "text": "ok" }]));
    let long = "x".repeat((1 << 20) + 1);
    place.run_with_input(&["--model", &script, "a"], &long).ends_with(2).says(&["1024 KiB"]);
    place.run_with_input(&["--model", &script], " \n").ends_with(2).says(&["there is no prompt"]);
    place.run_with_input(&["--model", &script, "a"], "").ends_with(0);
    assert_eq!(logged_prompt(&place), "a");
}

#[test]
fn a_prompt_that_is_a_commands_name_needs_run() {
    let place = Place::new();
    let script = place.script(json!([{ "text": "ok" }]));
    place.run(&["--model", &script, "run", "sessions"]).ends_with(0);
    assert_eq!(logged_prompt(&place), "sessions");
}

#[test]
fn spec_14_the_workspace_is_fixed_by_cwd_and_add_dir() {
    let place = Place::new();
    place.write("work/inside.txt", "inside text");
    place.write("more/further.txt", "further text");
    place.write("outside.txt", "outside text");
    let read = |path: &str| json!({ "name": "read_file", "arguments": { "path": path } });
    let further = place.path("more/further.txt").display().to_string();
    let calls = json!([read("inside.txt"), read(&further), read("../outside.txt")]);
    let script = place.script(json!([{ "calls": calls }, { "text": "ok" }]));
    let work = place.path("work").display().to_string();
    let arguments =
        ["--model", &script, "--cwd", &work, "--add-dir", "more", "--output-format", "stream-json"];
    let mut command = place.tenon(&arguments);
    let output = command.arg("read").current_dir(place.path("")).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("inside text") && out.contains("further text"), "{out}");
    assert!(out.contains("Path escapes workspace: ../outside.txt"), "{out}");
    assert!(!out.contains("outside text"), "{out}");
}

#[test]
fn mode_allow_and_deny_decide_what_runs() {
    let made = |flags: &[&str]| {
        let place = Place::new();
        // Asked about in any mode but with a rule that names it.
        let command = "git push --force nowhere main; touch made";
        let call = json!({ "name": "bash", "arguments": { "command": command } });
        let script = place.script(json!([{ "calls": [call] }, { "text": "ok" }]));
        place.run(&[&["--model", &script, "go"], flags].concat()).ends_with(0);
        place.path("work/made").exists()
    };
    assert!(!made(&[]));
    assert!(made(&["--allow", "bash(git push:*)"]));
    assert!(!made(&["--allow", "bash(git push:*)", "--deny", "bash(touch:*)"]));
    assert!(!made(&["--allow", "bash(git push:*)", "--mode", "read-only"]));
    assert!(!made(&["--allow", "bash(git push:*)", "--mode", "ask"]));
}

#[test]
fn help_is_short_and_names_every_flag() {
    let place = Place::new();
    for arguments in [&["--help"][..], &["run", "--help"], &["models", "pull", "--help"]] {
        let run = place.run(arguments).ends_with(0);
        assert!(run.out.lines().count() < 60 && run.out.contains("Usage: tenon"), "{}", run.out);
    }
    let help = place.run(&["--help"]).out;
    let flags = [
        "--print",
        "--cwd",
        "--add-dir",
        "--model",
        "--model-file",
        "--max-steps",
        "--max-tokens",
        "--max-cost",
        "--max-time",
        "--sandbox",
        "--net",
        "--output-format",
        "--allow",
        "--deny",
        "--mode",
        "--no-project-instructions",
    ];
    for flag in flags {
        assert!(
            help.contains(&format!("{flag} ")) || help.contains(&format!("{flag}\n")),
            "{flag}"
        );
    }
    assert!(help.starts_with("A coding agent for the terminal"), "{help}");
}

#[test]
fn completions_are_scripts_for_each_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let run = place.run(&["completions", shell]).ends_with(0);
        assert!(run.out.contains("tenon") && run.out.contains("add-dir"), "{shell}");
    }
    place.run(&["completions", "nonsense"]).ends_with(2);
}

#[test]
fn tools_are_listed_with_schemas() {
    let place = Place::new();
    let run = place.run(&["tools", "--json"]).ends_with(0);
    let tools: Value = serde_json::from_str(&run.out).unwrap();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["bash", "read_file", "write_file", "edit_file", "grep", "glob"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["schema"]["type"] == "object"));
    assert!(place.run(&["tools"]).out.contains("read_file\n    "));
}
