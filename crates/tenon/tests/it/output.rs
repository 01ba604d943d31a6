//! One prompt: what goes to which stream in which format, and what a terminal gets to see.

use std::{
    io::Read,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::terminal::{Home, Terminal, is_running};

fn program(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    command.env_clear().envs(home.environment()).stdin(Stdio::null());
    command
}

fn command(home: &Home, arguments: &[&str]) -> Command {
    let mut command = program(home);
    command.args(home.arguments(arguments));
    command
}

fn run(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(home, arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

fn reading() -> Home {
    let home = Home::new(json!([
        {
            "text": "I look first.",
            "calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}],
            "usage": {"input": 10, "output": 2},
        },
        {"text": "It says 你好.", "usage": {"input": 5, "output": 3, "cache_read": 12}},
    ]));
    std::fs::write(home.work().join("a.txt"), "你好\n").unwrap();
    home
}

#[test]
fn spec_37_text_shows_prose_boxes_and_usage_on_standard_output() {
    let home = reading();
    let (code, out, error) = run(&home, &["What does a.txt say?"]);
    assert_eq!((code, error.as_str()), (0, ""));
    let ending = out.find("It says 你好.").unwrap();
    assert!(out.find("I look first.").unwrap() < out.find("┌─ read_file a.txt").unwrap(), "{out}");
    assert!(out.find("└─").unwrap() < ending && !out.contains('\x1b'), "{out}");
    assert!(out.contains("done · 2 steps · 27 tokens in (12 cached), 5 out"), "{out}");
    let shown = program(&home).args(["show", "last"]).output().unwrap().stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("> What does a.txt say?") && shown.ends_with(&out), "{shown}\n{out}");
}

#[test]
fn print_gives_the_answer_and_nothing_else() {
    let (code, out, error) = run(&reading(), &["-p", "What does a.txt say?"]);
    assert_eq!((code, out.as_str(), error.as_str()), (0, "It says 你好.\n", ""));
}

#[test]
fn json_is_one_object() {
    let home = reading();
    let (code, out, error) = run(&home, &["--output-format", "json", "What does a.txt say?"]);
    assert_eq!((code, error.as_str()), (0, ""));
    let mut object: Value = serde_json::from_str(&out).unwrap();
    let duration = object.as_object_mut().unwrap().remove("duration_ms").unwrap();
    assert!(duration.is_u64());
    let session = home.logged("session_started", "session").remove(0);
    assert_eq!(
        object,
        json!({
            "type": "result",
            "result": "It says 你好.",
            "stop_reason": "finished",
            "usage": {"input": 15, "output": 5, "cache_read": 12, "cache_write": 0},
            "cost": null,
            "steps": 2,
            "session_id": session,
            "forked_from": null,
            "refused": [],
            "receipt": null,
            "error": null,
            "sandbox": null,
        })
    );
}

#[test]
fn stream_json_is_the_log_line_by_line() {
    let home = reading();
    let (code, out, error) = run(&home, &["--output-format", "stream-json", "Read a.txt"]);
    assert_eq!((code, error.as_str()), (0, ""));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, home.log());
    assert_eq!(lines.last().unwrap()["type"], "turn_ended");
}

#[test]
fn a_failure_is_a_sentence_on_standard_error_and_exit_code_1() {
    let failing = json!([{"error": {"kind": "unauthorized", "message": "The key is wrong."}}]);
    for format in ["text", "json", "stream-json"] {
        let home = Home::new(failing.clone());
        let (code, out, error) = run(&home, &["--output-format", format, "hi"]);
        assert_eq!(code, 1);
        assert!(error.starts_with("error: The key is wrong."), "{format}: {error}");
        if format == "json" {
            let object: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(object["stop_reason"], "provider_failed");
            assert_eq!(object["error"]["kind"], "unauthorized");
        }
    }
}

#[test]
fn a_limit_ends_with_exit_code_1_and_a_hint() {
    let (code, out, error) = run(&reading(), &["--max-steps", "1", "Read a.txt"]);
    assert_eq!(code, 1);
    assert!(out.contains("stopped · 1 step"), "{out}");
    let told = "warning: The limit of steps was reached.\nhint: a further prompt goes on (tenon \
                --continue \"go on\"); --max-steps N sets the limit\n";
    assert_eq!(error, told);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let home = Home::new(json!([{"text": "word ", "words": 200_000}]));
    let mut child =
        command(&home, &["hi"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    drop(out);
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!((status.code(), stderr.as_slice()), (Some(1), &b""[..]));
    assert_eq!(home.logged("turn_ended", "reason"), ["cancelled"]);
}

#[test]
fn without_a_person_a_question_is_a_refusal_that_names_the_flag() {
    let home = Home::new(json!([
        {"calls": [{"name": "bash", "arguments": {"command": "git push --force"}}]},
        {"text": "I may not."},
    ]));
    let (code, out, _) = run(&home, &["push"]);
    assert_eq!(code, 0);
    assert!(out.contains("refused"), "{out}");
    let result = home.logged("tool_result", "content").remove(0);
    assert!(result.as_str().unwrap().contains("--allow"), "{result}");
}

#[test]
fn boxes_are_straight_at_40_80_and_200_columns_on_a_terminal() {
    for columns in [40, 80, 200] {
        let home = Home::new(json!([
            {"calls": [
                {"name": "read_file", "arguments": {"path": "wide.txt"}},
                {"name": "grep", "arguments": {"pattern": "汉|👨"}},
            ]},
            {"text": "完成 👍🏽"},
        ]));
        let wide =
            "汉字\t表\n👨‍👩‍👧‍👦 family ❤️ 🇨🇳 e\u{301}\nﾊﾝｶｸ 全角\n".to_owned() + &"很长".repeat(300);
        std::fs::write(home.work().join("wide.txt"), wide).unwrap();
        let mut terminal = Terminal::start(&home, &["look"], columns, &[]);
        assert_eq!(terminal.exit_code(), 0);
        assert!(terminal.screen().contains("完成"), "{}", terminal.screen());
        terminal.check_straight();
    }
}

#[test]
fn what_a_file_or_a_command_or_the_model_writes_never_reaches_the_terminal_raw() {
    let evil = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u{9b}31mX\u{202e}";
    let home = Home::new(json!([
        {"text": evil, "deltas": 9, "calls": [
            {"name": "read_file", "arguments": {"path": "evil.txt"}},
            {"name": "bash", "arguments": {"command": "cat evil.txt; printf '\\033]0;title\\007'"}},
            {"name": evil, "arguments": {}},
        ]},
        {"text": evil},
    ]));
    std::fs::write(home.work().join("evil.txt"), evil).unwrap();
    for arguments in [["--output-format", "text"], ["--output-format", "stream-json"]] {
        let mut terminal = Terminal::start(&home, &[arguments[0], arguments[1], "go"], 80, &[]);
        assert_eq!(terminal.exit_code(), 0);
        let raw = terminal.raw();
        for sequence in ["\x1b]", "\x1b[2J", "\u{9b}", "\u{202e}", "\x07"] {
            assert!(!raw.contains(sequence), "{sequence:?} in {raw:?}");
        }
    }
}

#[test]
fn colour_is_for_terminals_without_no_color() {
    for (variable, coloured) in [(("NO_COLOR", "1"), false), (("NO_COLOR", ""), true)] {
        let home = reading();
        let mut terminal = Terminal::start(&home, &["Read a.txt"], 80, &[variable]);
        assert_eq!(terminal.exit_code(), 0);
        assert_eq!(terminal.raw().contains("\x1b[36m"), coloured, "{:?}", terminal.raw());
    }
}

#[test]
fn that_there_are_no_walls_is_red_for_as_long_as_a_run_on_a_terminal_lasts() {
    let command = "until [ -e go ]; do sleep 0.01; done";
    for (columns, variable, mark) in [
        (20, ("LANG", "C.UTF-8"), "\x1b[31mno walls\x1b"),
        (40, ("LANG", "zh_CN.UTF-8"), "\x1b[31m无沙箱\x1b"),
        (80, ("NO_COLOR", "1"), "bash until [ -e go ]; do sleep 0.01; done … · no walls"),
    ] {
        let home = Home::new(json!([
            {"calls": [{"name": "bash", "arguments": {"command": command}}]},
            {"text": "Done."},
        ]));
        let flags = ["--sandbox", "off", "--allow", "bash", "wait"];
        let mut terminal = Terminal::start(&home, &flags, columns, &[variable]);
        terminal.wait_until("call", |screen| {
            let last = screen.lines().last().unwrap_or_default();
            let of_call = last.starts_with("Running") || last.starts_with("正在运行");
            of_call && (last.ends_with(" · no walls") || last.ends_with(" · 无沙箱"))
        });
        assert!(terminal.raw().trim_end_matches("[0m").ends_with(mark), "{:?}", terminal.raw());
        std::fs::write(home.work().join("go"), "").unwrap();
        assert_eq!(terminal.exit_code(), 0);
        let screen = terminal.screen();
        assert!(screen.ends_with("no walls") || screen.ends_with("无沙箱"), "{screen}");
    }
}

#[test]
fn ctrl_c_ends_a_run_with_130_and_a_whole_log() {
    let home = Home::new(json!([{"delay_ms": 600_000, "text": "never"}]));
    let mut terminal = Terminal::start(&home, &["hi"], 80, &[]);
    terminal.wait_for("Waiting for the model", 1);
    terminal.press("\x03");
    assert_eq!(terminal.exit_code(), 130);
    assert_eq!(home.logged("turn_ended", "reason"), ["cancelled"]);
}

#[test]
fn ctrl_c_twice_leaves_a_command_that_does_not_want_to_end() {
    let command = "trap '' TERM; sleep 300.07713; sleep 300.07713";
    let home = Home::new(json!([{"calls": [{"name": "bash", "arguments": {"command": command}}]}]));
    let mut terminal = Terminal::start(&home, &["hi"], 80, &[]);
    while !is_running("sleep 300.07713") {
        std::thread::yield_now();
    }
    terminal.press("\x03");
    terminal.wait_for("Ctrl-C again leaves at once.", 1);
    terminal.press("\x03");
    assert_eq!(terminal.exit_code(), 130);
    while is_running("sleep 300.07713") {
        std::thread::yield_now();
    }
}

#[test]
fn output_that_cannot_be_written_is_a_sentence_and_exit_code_1() {
    let formats: [&[&str]; 5] = [
        &["hi"],
        &["-p", "hi"],
        &["--output-format", "json", "hi"],
        &["--output-format", "stream-json", "hi"],
        &["--plain", "hi"],
    ];
    for arguments in formats {
        let home = Home::new(json!([{"text": "The answer."}]));
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let Output { status, stderr, .. } =
            command(&home, arguments).stdout(full).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(1), "{arguments:?}: {said}");
        let sentence = "error: cannot write to standard output: No space left on device";
        assert_eq!(said.matches(sentence).count(), 1, "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    }
}

#[test]
fn a_reader_that_went_away_is_told_nothing() {
    for arguments in [&["hi"][..], &["-p", "hi"], &["--output-format", "json", "hi"]] {
        let home = Home::new(json!([{"text": "The answer."}]));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let Output { stderr, .. } = command(&home, arguments).stdout(writer).output().unwrap();
        assert_eq!(String::from_utf8(stderr).unwrap(), "", "{arguments:?}");
    }
}
