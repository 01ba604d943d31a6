//! The prompts that must work (SPEC 41 to 50), with a scripted model and the real program, files
//! and processes. The built-in model does 41 to 46 in `evals/local`.

use std::{path::Path, process::Command};

use serde_json::{Value, json};

/// A prompt, the script of the model, and what must come of it.
struct Case {
    prompt: &'static str,
    files: &'static [(&'static str, &'static str)],
    turns: Value,
    /// Words that the tool results must hold, all together.
    results: &'static [&'static str],
    /// Words that the screen must hold.
    screen: &'static [&'static str],
    /// Files as they must be in the end.
    after: &'static [(&'static str, &'static str)],
}

const NOTHING: Case =
    Case { prompt: "", files: &[], turns: Value::Null, results: &[], screen: &[], after: &[] };

fn check(case: Case) {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    std::fs::create_dir(&work).unwrap();
    for (name, text) in case.files {
        std::fs::write(work.join(name), text).unwrap();
    }
    let script = home.path().join("script.json");
    std::fs::write(&script, json!({"turns": case.turns}).to_string()).unwrap();
    let run = |format: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tenon"))
            .args(["run", "--output-format", format, "--cwd"])
            .arg(&work)
            .arg("--model")
            .arg(format!("scripted:{}", script.display()))
            .arg(case.prompt)
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8")])
            .env("HOME", home.path())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {error}", case.prompt);
        String::from_utf8(output.stdout).unwrap()
    };
    let screen = run("text");
    for words in case.screen {
        assert!(screen.contains(words), "{}: no {words:?} in\n{screen}", case.prompt);
    }
    for (name, text) in case.after {
        let now = std::fs::read_to_string(Path::new(&work).join(name)).unwrap();
        assert_eq!(&now, text, "{}: {name}", case.prompt);
    }
    for (name, text) in case.files {
        std::fs::write(work.join(name), text).unwrap();
    }
    let results: String = run("stream-json")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["type"] == "tool_result")
        .map(|event| event["content"].as_str().unwrap().to_owned() + "\n")
        .collect();
    for words in case.results {
        assert!(results.contains(words), "{}: no {words:?} in\n{results}", case.prompt);
    }
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

fn bash(command: &str) -> Value {
    call("bash", json!({"command": command}))
}

fn text(words: &str) -> Value {
    json!({"text": words})
}

const GREET: &str = "def greet(name):\n    print(f\"Hello, {name}!\")\n";
const GREET_DOCUMENTED: &str =
    "def greet(name):\n    \"\"\"Say hello.\"\"\"\n    print(f\"Hello, {name}!\")\n";

#[test]
fn spec_41_read_the_file_requirements() {
    check(Case {
        prompt: "Read the file requirements.txt",
        files: &[("requirements.txt", "flask==3.0\nrich\n")],
        turns: json!([call("read_file", json!({"path": "requirements.txt"})), text("Two lines.")]),
        results: &["flask==3.0", "rich"],
        screen: &["read_file", "requirements.txt", "flask==3.0", "Two lines."],
        ..NOTHING
    });
}

#[test]
fn spec_42_create_greet() {
    let arguments = json!({"path": "new/greet.py", "content": GREET});
    check(Case {
        prompt: "Create a file called greet.py with a greet(name) function",
        turns: json!([call("write_file", arguments), text("Done.")]),
        screen: &["write_file", "new/greet.py", "Done."],
        results: &["Wrote 46 bytes to new/greet.py"],
        after: &[("new/greet.py", GREET)],
        ..NOTHING
    });
}

#[test]
fn spec_43_edit_greet_to_add_a_docstring() {
    let edit = json!({"path": "greet.py", "old_text": "def greet(name):\n",
        "new_text": "def greet(name):\n    \"\"\"Say hello.\"\"\"\n"});
    check(Case {
        prompt: "Edit greet.py to add a docstring to the function",
        files: &[("greet.py", GREET)],
        turns: json!([
            call("read_file", json!({"path": "greet.py"})),
            call("edit_file", edit),
            text("Added a docstring.")
        ]),
        screen: &["edit_file", "+    \"\"\"Say hello.\"\"\"", "Added a docstring."],
        results: &["Edited greet.py"],
        after: &[("greet.py", GREET_DOCUMENTED)],
    });
}

#[test]
fn spec_44_read_greet_to_verify_the_edit() {
    check(Case {
        prompt: "Read greet.py to verify the edit worked",
        files: &[("greet.py", GREET_DOCUMENTED)],
        turns: json!([call("read_file", json!({"path": "greet.py"})), text("It did.")]),
        results: &["Say hello."],
        screen: &["It did."],
        ..NOTHING
    });
}

#[test]
fn spec_45_run_the_greet_function() {
    check(Case {
        prompt: "Run the greet function with bash: python3 -c \"from greet import greet; greet('World')\"",
        files: &[("greet.py", GREET)],
        turns: json!([
            bash("python3 -c \"from greet import greet; greet('World')\""),
            text("It greets.")
        ]),
        results: &["Hello, World!"],
        screen: &["bash", "Hello, World!", "It greets."],
        ..NOTHING
    });
}

#[test]
fn spec_46_chinese_prompt_edit_and_answer() {
    let edit = json!({"path": "README.md", "old_text": "v1", "new_text": "v2"});
    check(Case {
        prompt: "把 README.md 中的 v1 改成 v2",
        files: &[("README.md", "# 版本 v1\n")],
        turns: json!([
            call("read_file", json!({"path": "README.md"})),
            call("edit_file", edit),
            text("已将 README.md 中的 v1 改成 v2。")
        ]),
        screen: &["已将 README.md 中的 v1 改成 v2。", "# 版本 v2"],
        after: &[("README.md", "# 版本 v2\n")],
        ..NOTHING
    });
}

#[test]
fn spec_47_a_missing_program_is_said_plainly_and_the_listing_still_comes() {
    check(Case {
        prompt: "检查 Go 版本,然后列出当前目录文件",
        files: &[("a.txt", "x")],
        turns: json!([
            {"calls": [
                {"name": "bash", "arguments": {"command": "no-such-go version"}},
                {"name": "bash", "arguments": {"command": "ls"}}
            ]},
            text("没有安装 Go;目录里有 a.txt。")
        ]),
        results: &["no-such-go: command not found", "127", "a.txt"],
        screen: &["没有安装 Go"],
        ..NOTHING
    });
    check(Case {
        prompt: "检查 git 状态,然后列出当前目录的文件",
        turns: json!([bash("git init -q . && git status --short && ls -a"), text("完成。")]),
        results: &[".git"],
        ..NOTHING
    });
}

#[test]
fn spec_48_exit_code_127_reaches_the_model() {
    check(Case {
        prompt: "运行不存在的命令 foobar",
        turns: json!([bash("foobar"), text("没有这个命令。")]),
        results: &["foobar: command not found", "127"],
        ..NOTHING
    });
}

#[test]
fn spec_49_one_pipe_counts_lines() {
    check(Case {
        prompt: "统计当前目录 Go 代码的行数",
        files: &[("a.go", "1\n2\n"), ("b.go", "3\n")],
        turns: json!([bash("find . -name '*.go' -print0 | xargs -0 cat | wc -l"), text("3 行。")]),
        results: &["3"],
        screen: &["3 行。"],
        ..NOTHING
    });
}

#[test]
fn spec_50_a_long_sleep_ends_a_failing_test_is_whole_and_find_over_everything_works() {
    check(Case {
        prompt: "sleep 300",
        turns: json!([
            call("bash", json!({"command": "echo before; sleep 300", "timeout": 1})),
            bash("for i in $(seq 200); do echo \"test $i failed\"; done; exit 1"),
            bash("find / -maxdepth 2 -name '*.go' -not -path '/proc/*' | head -5; true"),
            text("Done.")
        ]),
        results: &["command timed out after 1 s", "before", "test 1 failed", "test 200 failed"],
        ..NOTHING
    });
}
