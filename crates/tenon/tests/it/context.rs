//! Replies that are cut and conversations that get long, in the real program.

use std::{
    process::Command,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Turn},
    program::{Place, Run},
    skipped::skipped,
    terminal::{Home, Terminal},
};

#[test]
fn spec_3_a_reply_that_was_cut_is_one_answer_and_the_log_says_that_it_went_on() {
    let place = Place::new();
    let model = place.script(json!([
        {"text": "从一到", "stop": "output_limit"},
        {"text": "十。"},
    ]));
    let run = place.run(&["-p", "--model", &model, "--output-format", "json", "count"]);
    let result: Value = serde_json::from_str(&run.ends_with(0).out).unwrap();
    assert_eq!(
        (result["result"].as_str(), result["steps"].as_u64()),
        (Some("从一到十。"), Some(2))
    );
    let logs = place.logs();
    assert!(logs.contains(r#""type":"continued","cause":"output_limit""#), "{logs}");
    let shown = place.run(&["show", "last"]).ends_with(0).out;
    assert!(shown.contains("goes on by itself (1 of 5)"), "{shown}");
}

fn log(place: &Place) -> Vec<Value> {
    place.logs().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A session whose results do not fit a window of 8,000 tokens, and what comes behind them.
fn long_session(then: Value) -> Place {
    let place = Place::new();
    place.config("context_window = 8000");
    let print = |n: u32| json!({"calls": [{"name": "bash", "arguments": {"command": format!("seq {n} 700")}}]});
    let mut turns: Vec<Value> = (1..=9).map(print).collect();
    turns.extend(then.as_array().unwrap().clone());
    let model = place.script(turns.into());
    place.run(&["-p", "--model", &model, "--sandbox", "off", "look"]).ends_with(0);
    place
}

/// Checks that `tenon show` says `words`, wherever its lines break.
fn assert_shown(place: &Place, words: &str) {
    let shown = place.run(&["show", "last"]).ends_with(0).out;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(words), "{words}: {shown}");
}

fn thousands(tokens: &Value) -> String {
    let tokens = tokens.as_u64().unwrap();
    match tokens / 1_000 {
        0 => tokens.to_string(),
        thousands => format!("{thousands},{:03}", tokens % 1_000),
    }
}

#[test]
fn a_result_that_was_left_out_comes_back_from_the_log() {
    let place = long_session(json!([{"text": "done"}]));
    let first = log(&place);
    let compacted = first.iter().find(|event| event["type"] == "compacted").unwrap();
    assert_eq!((&compacted["cause"], &compacted["replaced"]), (&json!("window"), &json!(0)));
    let said = format!(
        "old results left out: {}, {} → {} tokens (about)",
        compacted["results"].as_array().unwrap().len(),
        thousands(&compacted["tokens_before"]),
        thousands(&compacted["tokens_after"]),
    );
    assert_shown(&place, &said);
    let handle = &compacted["results"][0]["handle"];
    // The same calls with the same results have the same handles.
    let recall = json!({"calls": [{"name": "recall", "arguments": {"handle": handle}}]});
    let second = log(&long_session(json!([recall, {"text": "done"}])));
    let results: Vec<&str> = second
        .iter()
        .filter(|event| event["type"] == "tool_result")
        .map(|event| event["content"].as_str().unwrap())
        .collect();
    assert!(results[0].contains("\n699\n700"), "{}", results[0]);
    assert_eq!(results.last(), results.first(), "whole");
}

#[test]
fn a_person_makes_the_conversation_shorter() {
    let home = Home::new(json!([
        {"text": "Answer one."},
        {"text": "The summary."},
        {"text": "Answer two."},
        {"thinking": "No words for it."},
    ]));
    let mut terminal = Terminal::start(&home, &["--plain"], 200, &[]);
    terminal.wait_for("Ctrl-D ends.", 1);
    terminal.wait_for_prompt();
    terminal.press("/compact\r");
    terminal.wait_for("there is nothing to make shorter yet", 1);
    terminal.wait_for_prompt();
    terminal.press("the first\r");
    terminal.wait_for("Answer one.", 1);
    terminal.wait_for_prompt();
    terminal.press("/compact the API\r");
    terminal.wait_for("a summary stands for 2 of its messages, 1 of yours kept word for word", 1);
    terminal.wait_for_prompt();
    terminal.press("go on\r");
    terminal.wait_for("Answer two.", 1);
    terminal.wait_for_prompt();
    terminal.press("/compact\r");
    let listed = "no summary could be had: a list of its calls stands for 3 of its messages";
    terminal.wait_for(listed, 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("compacted", "focus"), [json!("the API"), json!(null)]);
    let [before, after] =
        ["tokens_before", "tokens_after"].map(|name| home.logged("compacted", name));
    for (before, after) in before.iter().zip(&after) {
        let said = format!("{} → {} tokens (about)", thousands(before), thousands(after));
        terminal.wait_for(&said, 1);
    }
    let summary = &home.logged("compacted", "messages")[0][0]["content"];
    let texts = summary.to_string();
    assert!(texts.contains("the first") && texts.contains("The summary."), "{texts}");
}

#[test]
fn a_prompt_that_is_cut_is_not_said_to_be_kept_word_for_word() {
    let place = Place::new();
    place.config("context_window = 6000");
    let print = Turn::of_call("bash", json!({"command": "seq 1 1500"}));
    let turns = [print].into_iter().chain((0..12).map(|_| Turn::text("Summary.")));
    let server = FakeServer::anthropic(turns.collect());
    let prompt = "Words that have no room. ".repeat(700);
    let model = ["-p", "--model", "anthropic/m"];
    for words in [&[prompt.as_str()][..], &["--continue", "go on"], &["--continue", "go on"]] {
        let mut command = place.tenon(&[&model[..], words].concat());
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
        Run::of(command.output().unwrap()).ends_with(0);
    }
    let log = log(&place);
    let compacted = log.iter().find(|event| event["replaced"].as_u64() > Some(0)).unwrap();
    assert_eq!(compacted["prompts_cut"], 1);
    let shown = place.run(&["show", "last"]).ends_with(0).out;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "of yours kept word for word and 1 with the middle left out";
    assert!(shown.contains(said), "{shown}");
}

fn a_compaction_is_undone_by_typing(arguments: &[&str]) {
    let home = Home::new(json!([
        {"text": "Answer one."},
        {"text": "The summary."},
        {"text": "Answer two."},
    ]));
    let mut terminal = Terminal::start(&home, arguments, 160, &[]);
    terminal.wait_for("scripted", if arguments.is_empty() { 2 } else { 1 });
    let mut type_line = |line: &str, said: &str, times| {
        terminal.press(&format!("{line}\r"));
        terminal.wait_for(said, times);
        if !arguments.is_empty() {
            terminal.wait_for_prompt();
        }
    };
    type_line("/compact undo", "There is no compaction to undo.", 1);
    type_line("the first", "Answer one.", 1);
    type_line("/compact", "a summary stands for 2 of its messages", 1);
    type_line("/compact undo", "The last compaction is undone", 1);
    type_line("/compact undo", "There is no compaction to undo.", 2);
    type_line("go on", "Answer two.", 1);
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    // The first prompt, its answer and the second prompt, and no summary.
    assert_eq!(home.logged("request_sent", "messages"), [1, 3]);
    assert_eq!(home.logged("compaction_undone", "line").len(), 1);
}

#[test]
fn a_compaction_is_undone_in_plain_lines() {
    a_compaction_is_undone_by_typing(&["--plain"]);
}

#[test]
fn a_compaction_is_undone_on_a_terminal_that_is_drawn_on() {
    a_compaction_is_undone_by_typing(&[]);
}

#[test]
fn a_turn_that_changed_something_ends_with_its_receipt() {
    let place = Place::new();
    place.write("work/Makefile", "check:\n\ttest -f a.txt\n");
    let call =
        |name: &str, arguments: Value| json!({"calls": [{"name": name, "arguments": arguments}]});
    let model = place.script(json!([
        call("write_file", json!({"path": "a.txt", "content": "a"})),
        {"text": "Made."},
        call("bash", json!({"command": "make check"})),
        {"text": "It passes."},
    ]));
    let arguments = ["--sandbox", "off", "--model", &model, "make it"];
    let run =
        place.run(&[&["-p", "--output-format", "json"], &arguments[..]].concat()).ends_with(0);
    let result: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(result["result"], "Made.\n\nIt passes.");
    assert_eq!(result["receipt"]["state"], "verified");
    assert_eq!(result["receipt"]["checks"][0]["command"], "make check");
    let shown = place.run(&["show", "last"]).ends_with(0).out;
    assert!(shown.contains("the model is asked to run make check"), "{shown}");
    assert!(shown.contains("verified · make check: exit code 0"), "{shown}");
    place.config("receipts = false");
    let shown = place.run(&arguments);
    assert!(!shown.out.contains("verified") && shown.out.contains("Made."), "{shown:?}");
}

#[test]
fn each_stamp_of_a_turn_is_on_the_screen_in_the_json_and_in_the_log() {
    let stamps = [
        ("true", "make check", "verified", "verified"),
        ("false", "make check", "failed", "check failed"),
        ("true", "ls", "unverified", "unverified"),
    ];
    for (check, command, stamp, words) in stamps {
        let place = Place::new();
        place.write("work/Makefile", &format!("check:\n\t{check}\n"));
        let model = place.script(json!([
            {"calls": [{"name": "bash", "arguments": {"command": "echo a > a.txt"}}]},
            {"text": "Made."},
            {"calls": [{"name": "bash", "arguments": {"command": command}}]},
            {"text": "All tests pass, verified!"},
        ]));
        let arguments = ["-p", "--sandbox", "off", "--model", &model, "--output-format", "json"];
        let run = place.run(&[&arguments[..], &["make it"]].concat()).ends_with(0);
        let result: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(result["receipt"]["state"], stamp, "{run:?}");
        assert!(place.logs().contains(&format!("\"state\":\"{stamp}\"")), "{stamp}");
        let shown = place.run(&["show", "last"]).ends_with(0).out;
        let is_stamp = |line: &str| line.trim_start().starts_with(words);
        assert_eq!(shown.lines().filter(|line| is_stamp(line)).count(), 1, "{shown}");
    }
}

#[test]
fn a_change_where_no_check_is_known_is_unverified_and_says_how_one_is_named() {
    let place = Place::new();
    let model = place.script(json!([
        {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "a"}}]},
        {"text": "Made."},
    ]));
    let arguments = ["-p", "--model", &model, "--output-format", "json", "make it"];
    let run = place.run(&arguments).ends_with(0);
    let result: Value = serde_json::from_str(&run.out).unwrap();
    let (state, reason) = (&result["receipt"]["state"], &result["receipt"]["reason"]["kind"]);
    assert_eq!((state, reason), (&json!("unverified"), &json!("no_check_known")), "{run:?}");
    let shown = place.run(&["show", "last"]).ends_with(0).out;
    let told = "unverified · no check is known here; `verify` in config.toml names one";
    assert!(shown.contains(told), "{shown}");
}

#[test]
fn a_file_that_somebody_changes_while_a_check_runs_leaves_the_turn_unverified() {
    let place = Place::new();
    let (begun, going) = (place.path("begun"), place.path("going"));
    let at = (begun.display(), going.display());
    place.write("work/code.c", "ok\n");
    let check = format!("check:\n\t@echo > {}; read x < {}; echo 1 > made\n", at.0, at.1);
    place.write("work/Makefile", &check);
    let pipes = Command::new("mkfifo").args([&begun, &going]).status();
    assert!(pipes.unwrap().success());
    let call =
        |command: &str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let replies = [call("echo 1 > a.c"), call("make check"), json!({"text": "Done."})];
    let model = place.script(replies.into_iter().chain([json!({"text": "No."})]).collect());
    let code = place.path("work/code.c");
    let person = std::thread::spawn(move || {
        std::fs::read(&begun).unwrap();
        std::fs::write(&code, "bug\n").unwrap();
        std::fs::write(&going, "go\n").unwrap();
    });
    place.run(&["-p", "--sandbox", "off", "--model", &model, "make it"]).ends_with(0);
    person.join().unwrap();
    let shown = place.run(&["show", "last"]).ends_with(0).out;
    if place.run(&["changes"]).ends_with(0).out.contains("by comparison") {
        return skipped("the kernel does not say here what a command writes");
    }
    assert!(shown.contains("the model is asked to run make check"), "{shown}");
    assert!(shown.contains("code.c changed while the check ran, and not by it"), "{shown}");
    assert!(place.logs().contains(r#""reason":{"kind":"changed_meanwhile","file":"code.c"}"#));
}

/// Returns the stamp of a turn that runs `commands`, a call each.
fn stamp_of(commands: &[&str]) -> Value {
    let place = Place::new();
    place.write("work/Makefile", "test:\n\t@grep -q ok code.c && test ! -e bad\n");
    place.write("work/code.c", "ok\n");
    place.write("work/sub/Makefile", "test:\n\t@true\n");
    place.write("work/p.diff", "--- a/code.c\n+++ b/code.c\n@@ -1 +1 @@\n-ok\n+bug\n");
    let call =
        |command: &&str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let turns = commands.iter().map(call);
    let model = place.script(turns.chain([json!({"text": "."}), json!({"text": "."})]).collect());
    let arguments = ["-p", "--sandbox", "off", "--model", &model, "--output-format", "json", "go"];
    let run = place.run(&arguments);
    let result: Value = serde_json::from_str(&run.out).unwrap();
    result["receipt"]["state"].clone()
}

#[test]
fn a_check_says_nothing_of_what_its_own_line_changed_behind_it() {
    let stamps: [(&[&str], &str); 12] = [
        (&["make test && sed -i s/ok/bug/ code.c"], "unverified"),
        (&["make test && rm code.c"], "unverified"),
        (&["make test && git init -q . && git apply p.diff"], "unverified"),
        (&["make test && touch made && rm made"], "verified"),
        (&["sed -i s/ok/okay/ code.c && make test"], "verified"),
        (&["echo x > y", "make test && git init -q ."], "verified"),
        (&["echo x > y && make test && git init -q ."], "unverified"),
        (&["echo x > y", "make test 2>&1 | tail"], "unverified"),
        (&["echo x > y && cd sub && make test"], "verified"),
        (&["echo x > y && make test && echo it passes"], "verified"),
        (&["touch bad && make test && git init -q ."], "failed"),
        // The check saw other files than there are at the end, though they are as they were.
        (&["touch bad", "make test", "rm bad"], "unverified"),
    ];
    for (commands, stamp) in stamps {
        assert_eq!(stamp_of(commands), stamp, "{commands:?}");
    }
}

#[test]
fn a_check_that_takes_old_output_for_fresh_after_an_undo_verifies_nothing() {
    let place = Place::new();
    let makefile =
        "test: target/out\n\tgrep -q good target/out\ntarget/out: code.c\n\tcp code.c $@\n";
    place.write("work/Makefile", makefile);
    place.write("work/target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    place.write("work/code.c", "bad\n");
    let code = std::fs::File::options().append(true).open(place.path("work/code.c")).unwrap();
    code.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let turn = |command: &str| {
        let call = json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
        let check = json!({"calls": [{"name": "bash", "arguments": {"command": "make test"}}]});
        let model = place.script(json!([call, check, {"text": "Done."}, {"text": "Done."}]));
        let arguments = ["-p", "--sandbox", "off", "--model", &model, "--output-format", "json"];
        let run = place.run(&[&arguments[..], &["go"]].concat()).ends_with(0);
        serde_json::from_str::<Value>(&run.out).unwrap()["receipt"].clone()
    };
    assert_eq!(turn("echo good > code.c")["state"], "verified");
    place.run(&["undo"]).ends_with(0);
    let receipt = turn("echo x > README");
    let reason = json!({"kind": "stale_cache", "folder": "target", "file": "code.c"});
    assert_eq!((&receipt["state"], &receipt["reason"]), (&json!("unverified"), &reason));
    // It took the output of what was undone for fresh.
    assert_eq!(receipt["checks"][0]["exit_code"], 0);
    let said = "target/ may be newer than code.c, which an undo or redo put back with its old time";
    let shown = place.run(&["show", "last"]).ends_with(0).out;
    assert!(
        shown.contains("unverified · make test: exit code 0") && shown.contains(said),
        "{shown}"
    );
    let chinese = place.tenon(&["show", "last"]).env("LANG", "zh_CN.UTF-8").output().unwrap();
    let shown = String::from_utf8(chinese.stdout).unwrap();
    assert!(shown.contains("target/ 可能比 code.c 新"), "{shown}");
    assert_eq!(turn("touch code.c")["state"], "failed");
    assert_eq!(turn("echo good > code.c")["state"], "verified");
}
