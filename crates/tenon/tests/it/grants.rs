//! What leaves the walls is asked about by name: the answers on a terminal, what "always" writes,
//! and what is said where nobody can be asked.

use std::{
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};

use crate::{
    program::Place,
    refused::served,
    skipped::skipped,
    terminal::{Home, Terminal},
};

const ASKED: &str = "Allow it this once?";

/// A home with a file outside of the workspace.
fn home(turns: Value) -> (Home, PathBuf) {
    let home = Home::new(turns);
    let top = home.work().canonicalize().unwrap().parent().unwrap().to_path_buf();
    std::fs::write(top.join("outside.txt"), "of outside\n").unwrap();
    (home, top)
}

fn config(home: &Home) -> PathBuf {
    home.work().parent().unwrap().join(".config/tenon/config.toml")
}

fn start(home: &Home, environment: &[(&str, &str)]) -> Terminal {
    let mut terminal = Terminal::start(home, &["--plain"], 200, environment);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal
}

fn end(mut terminal: Terminal, home: &Home) -> Vec<String> {
    terminal.wait_for("The end.", 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    let contents = home.logged("tool_result", "content");
    contents.iter().map(|content| content.as_str().unwrap().to_owned()).collect()
}

fn turns(calls: &[(&str, Value)]) -> Value {
    let call = |(name, arguments): &(&str, Value)| json!({ "calls": [{ "name": name, "arguments": arguments }] });
    calls.iter().map(call).chain([json!({ "text": "The end." })]).collect()
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

/// A command that asks the proxy for `host`.
fn connect(host: &str) -> (&'static str, Value) {
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
        printf 'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3; head -1 <&3"
    );
    ("bash", json!({ "command": command }))
}

#[test]
fn always_is_shown_in_full_and_written_to_the_users_file() {
    let (home, top) = home(turns(&[read("../outside.txt"), read("../outside.txt")]));
    let file = config(&home);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "# mine\nmax_steps = 9 # enough\n").unwrap();
    let mut terminal = start(&home, &[]);
    terminal.wait_for(ASKED, 1);
    let rule = format!("read({}/outside.txt)", top.display());
    for words in [
        "The model wants to read this file outside the workspace:".to_owned(),
        format!("    {}/outside.txt", top.display()),
        "the model named it `../outside.txt`".to_owned(),
        format!("--allow '{rule}'"),
        format!("s allows this until the session ends: {rule}."),
        format!("a allows this always: it adds {rule} to allow in"),
    ] {
        let screen = terminal.screen().replace('\n', " ");
        assert!(screen.contains(&words), "{words}\n{screen}");
    }
    terminal.press("a\r");
    assert_eq!(end(terminal, &home), ["1\tof outside", "1\tof outside"]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("# mine\nmax_steps = 9 # enough\nallow = [\"{rule}\"]\n"));
    let log = home.log();
    assert!(log.iter().any(|event| event["text"] == format!("allowed always: {rule}")), "{log:?}");
    // A later session is not asked, and has nobody who could be.
    let again = std::process::Command::new(env!("CARGO_BIN_EXE_tenon"))
        .args(home.arguments(&["go"]))
        .env_clear()
        .envs(home.environment())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&again.stdout).contains("of outside"), "{again:?}");
}

#[test]
fn always_makes_a_private_file_where_there_is_none_and_leaves_a_broken_one() {
    let long = format!("one\ntwo \x1b[2J\n{}last", "more\n".repeat(498));
    let protected = ("write_file", json!({ "path": ".envrc", "content": long }));
    let command = ("bash", json!({ "command": "sudo -n true" }));
    let (home, top) = home(turns(&[protected, read("../outside.txt"), command]));
    let mut terminal = start(&home, &[]);
    terminal.wait_for(ASKED, 1);
    let screen = terminal.everything();
    assert!(screen.contains("from which other programs take commands"), "{screen}");
    assert!(screen.contains("  content:\n    one\n    two ␛[2J"), "{screen}");
    // All that a yes would write is there.
    assert!(screen.contains("    last"), "{screen}");
    terminal.press("a\r");
    terminal.wait_for(ASKED, 2);
    let file = config(&home);
    let rule = format!("allow = [\"write({}/work/.envrc)\"]\n", top.display());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), rule);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, "allow = [").unwrap();
    terminal.press("a\r");
    terminal.wait_for("Nothing was written and nothing is allowed yet", 1);
    terminal.press("n\r");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "allow = [");
    std::fs::write(&file, "").unwrap();
    terminal.wait_for("It would run outside the walls", 1);
    terminal.wait_for("a allows this always: it adds bash(sudo -n true) to allow", 1);
    terminal.wait_for(ASKED, 3);
    terminal.press("a\r");
    let results = end(terminal, &home);
    assert!(results[0].starts_with("Wrote 2507 bytes to .envrc"), "{}", results[0]);
    assert!(results[1].starts_with("Error: Path escapes workspace: ../outside.txt\n"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "allow = [\"bash(sudo -n true)\"]\n");
}

#[test]
fn a_protected_file_and_a_command_are_allowed_for_the_session_under_their_own_name() {
    let write = |path: &str| ("write_file", json!({ "path": path, "content": path }));
    let run = |command: &str| ("bash", json!({ "command": command }));
    let calls = [
        write(".envrc"),
        write(".envrc"),
        write(".mcp.json"),
        run("sudo -n true"),
        run("sudo -n true"),
        run("sudo -n true; true"),
    ];
    let (home, _) = home(turns(&calls));
    let mut terminal = start(&home, &[]);
    for (asked, answer) in [(1, "s\r"), (2, "n keep off\r"), (3, "s\r"), (4, "n\r")] {
        terminal.wait_for(ASKED, asked);
        terminal.press(answer);
    }
    let results = end(terminal, &home);
    assert_eq!(results[..2], ["Wrote 6 bytes to .envrc"; 2]);
    assert!(results[2].contains("the user refused this call and said: keep off"), "{results:?}");
    assert_eq!(results[3], results[4]);
    assert!(!results[3].contains("nothing was run"), "{results:?}");
    assert!(results[5].contains("the user refused this call"), "{results:?}");
    assert!(!config(&home).exists());
}

#[test]
fn a_yes_to_a_protected_file_or_a_command_outside_holds_for_once() {
    let write = || ("write_file", json!({ "path": ".envrc", "content": "mine" }));
    let run = || ("bash", json!({ "command": "sudo -n true" }));
    let (home, _) = home(turns(&[write(), write(), run(), run()]));
    let mut terminal = start(&home, &[]);
    for (asked, answer) in [(1, "y\r"), (2, "n\r"), (3, "y\r"), (4, "n\r")] {
        terminal.wait_for(ASKED, asked);
        terminal.press(answer);
    }
    let results = end(terminal, &home);
    assert!(results[0].starts_with("Wrote 4 bytes to .envrc"), "{results:?}");
    assert!(!results[2].contains("the user refused this call"), "{results:?}");
    for again in [1, 3] {
        assert!(results[again].contains("the user refused this call"), "{results:?}");
    }
    assert_eq!(home.logged("call_decided", "verdict"), ["allow", "deny", "allow", "deny"]);
    assert!(!config(&home).exists());
}

#[test]
fn a_rule_that_allowed_a_call_is_logged_and_what_the_mode_allowed_is_not() {
    let place = Place::new();
    place.config("allow = ['write(notes/**)']");
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "x" }));
    let run = |command: &str| ("bash", json!({ "command": command }));
    let git = "git init -q . && git reset -q --hard";
    let calls = [write("other"), write("notes/a"), read("notes/a"), run("echo hi"), run(git)];
    let script = place.script(turns(&calls));
    let model = ["--model", &script, "--allow", "bash(git reset:*)"];
    let decided = |more: &[&str]| -> Vec<Value> {
        let arguments = [&model[..], &["--output-format", "stream-json"], more, &["go"]].concat();
        let out = place.run(&arguments).ends_with(0).out;
        let events = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let decided = events.filter(|event| event["type"] == "call_decided");
        let said = ["verdict", "rule", "asked", "flag"];
        decided.map(|event| said.iter().map(|name| event[name].clone()).collect()).collect()
    };
    let by = |rule: &str| json!(["allow", rule, null, null]);
    let expected = [by("write(notes/**)"), by("bash(git reset:*)")];
    assert_eq!(decided(&[]), expected);
    assert_eq!(decided(&["--mode", "ask", "--allow", "bash", "--allow", "write_file"]).len(), 4);
    for more in [&["--continue"][..], &["--continue", "--fork"]] {
        assert_eq!(decided(more), expected, "{more:?}");
        place.run(&["replay", "last"]).ends_with(0);
        place.run(&["export", "last"]).ends_with(0);
    }
}

#[test]
fn a_command_that_was_let_out_of_the_walls_and_not_started_changed_nothing() {
    let place = Place::new();
    let outside = |command: &str| {
        let script = place.script(turns(&[("bash", json!({ "command": command }))]));
        let allow = ["--allow", "bash(sudo vim:*)", "--allow", "bash(sudo -n true:*)"];
        let arguments = [&["--model", &script, "--output-format", "stream-json", "go"], &allow[..]];
        let run = place.run(&arguments.concat());
        assert!(run.out.contains("\"tool_result\""), "{run:?}");
        run.out.contains("it ran outside the walls")
    };
    assert!(outside("sudo -n true"));
    assert!(!outside("sudo vim notes.md"));
}

#[test]
fn what_is_pasted_approves_nothing() {
    let (home, _) = home(turns(&[read("../outside.txt")]));
    let mut terminal = start(&home, &[]);
    terminal.wait_for(ASKED, 1);
    terminal.press("\x1b[200~y\ra\r\x1b[201~\r");
    terminal.wait_for("What is pasted is no answer.", 1);
    terminal.press("\r");
    terminal.wait_for("Please answer y or n.", 2);
    terminal.press("n\r");
    let results = end(terminal, &home);
    assert!(results[0].contains("the user refused this call"), "{results:?}");
}

#[test]
fn several_lines_at_once_approve_nothing_on_a_plain_terminal() {
    let (home, _) = home(turns(&[read("../outside.txt")]));
    let mut terminal = start(&home, &[("TERM", "dumb")]);
    terminal.wait_for(ASKED, 1);
    terminal.press("y\ry\r");
    terminal.wait_for("Please answer y or n.", 1);
    terminal.press("n\r");
    let raw = terminal.raw();
    let results = end(terminal, &home);
    assert!(results[0].contains("the user refused this call"), "{results:?}");
    assert!(!raw.contains('\x1b'), "{raw:?}");
}

#[test]
fn the_question_speaks_chinese() {
    let (home, _) = home(turns(&[("grep", json!({ "pattern": "x", "path": "../folder" }))]));
    std::fs::create_dir(home.work().parent().unwrap().join("folder")).unwrap();
    let mut terminal = start(&home, &[("LANG", "zh_CN.UTF-8")]);
    terminal.wait_for("模型想要搜索工作区之外的文件夹及其全部内容", 1);
    terminal.wait_for("a 始终允许", 1);
    terminal.press("是\r");
    assert_eq!(end(terminal, &home), ["(no matches)"]);
}

#[test]
fn a_host_is_reached_once_by_the_next_command_alone() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = server.local_addr().unwrap().to_string();
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
        printf 'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3; head -1 <&3"
    );
    let call = ("bash", json!({ "command": command }));
    let (home, _) = home(turns(&[call.clone(), call.clone(), call.clone(), call]));
    let mut terminal = start(&home, &[]);
    terminal.wait_for("Let the next command reach it?", 1);
    terminal.press("y\r");
    terminal.wait_for("Let the next command reach it?", 2);
    assert!(
        terminal.screen().contains(&format!("it adds {host} to net in")),
        "{}",
        terminal.screen()
    );
    terminal.press("a\r");
    let results = end(terminal, &home);
    let codes: Vec<&str> = results.iter().map(|result| &result[..12]).collect();
    assert_eq!(codes, ["HTTP/1.1 403", "HTTP/1.1 200", "HTTP/1.1 403", "HTTP/1.1 200"]);
    assert!(results[0].ends_with(
        "allows {host} for the next command; run it again".replace("{host}", &host).as_str()
    ));
    let kept = std::fs::read_to_string(config(&home)).unwrap();
    assert_eq!(kept, format!("net = [\"{host}\"]\n"));
}

#[test]
fn without_a_person_each_of_the_four_is_refused_with_the_flag_that_allows_it() {
    let place = Place::new();
    place.write("outside.txt", "of outside\n");
    let outside = place.path("outside.txt").display().to_string();
    let host = "127.0.0.1:9";
    let connect = format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
        printf 'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3; head -1 <&3"
    );
    let script = place.script(turns(&[
        read(&outside),
        ("write_file", json!({ "path": ".envrc", "content": "x" })),
        ("bash", json!({ "command": "sudo -n true" })),
        ("bash", json!({ "command": connect })),
    ]));
    let flags = [
        format!("--allow 'read({outside})'"),
        "--allow 'write_file(.envrc)'".to_owned(),
        "--allow 'bash(sudo -n true:*)'".to_owned(),
        format!("--net {host}"),
    ];
    let run = place.run(&["--model", &script, "--output-format", "json", "go"]);
    let result: Value = serde_json::from_str(&run.out).unwrap();
    let refused = result["refused"].as_array().unwrap();
    let given: Vec<&str> = refused.iter().map(|one| one["flag"].as_str().unwrap()).collect();
    assert_eq!(given, flags);
    let tools: Vec<&str> = refused.iter().map(|one| one["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["read_file", "write_file", "bash", "host"]);
    let run = place.run(&["--model", &script, "--output-format", "stream-json", "go"]);
    for flag in [&flags[0], &flags[1], &flags[2], &format!("--net {host}")] {
        let told = run.out.lines().filter(|line| line.contains("\"tool_result\""));
        assert!(told.clone().any(|line| line.contains(flag.as_str())), "{flag}: {}", run.out);
    }
    assert!(!place.path("work/.envrc").exists());
    // The flags do what they say; a flag that denies counts more.
    let allow = flags[0].trim_start_matches("--allow '").trim_end_matches('\'');
    let run =
        place.run(&["--model", &script, "--allow", allow, "--output-format", "stream-json", "go"]);
    assert!(run.out.contains("1\\tof outside"), "{}", run.out);
    let run = place.run(&["--model", &script, "--allow", allow, "--deny", "read_file", "go"]);
    assert!(!run.out.contains("of outside\n"), "{}", run.out);
    let above = place.path("").display().to_string();
    let run = place.run(&[
        "--model",
        &script,
        "--add-dir",
        &above,
        "--output-format",
        "stream-json",
        "go",
    ]);
    assert!(run.out.contains("1\\tof outside"), "{}", run.out);
}

#[test]
fn folders_of_the_users_file_are_read_and_written_by_tools_and_commands() {
    let place = Place::new();
    place.write("home/data/a", "of data\n");
    place.write("home/shared/a", "of shared\n");
    place.config("read_dir = ['~/data']\nadd_dir = ['~/shared']");
    let home = place.path("home").display().to_string();
    let script = place.script(turns(&[
        read(&format!("{home}/data/a")),
        ("write_file", json!({ "path": format!("{home}/data/b"), "content": "x" })),
        ("write_file", json!({ "path": format!("{home}/shared/b"), "content": "x" })),
        ("bash", json!({ "command": format!("cat {home}/data/a; echo x > {home}/shared/c; echo x > {home}/data/c") })),
    ]));
    let run = place.run(&["--model", &script, "--output-format", "stream-json", "go"]);
    assert!(run.out.matches("of data").count() > 2, "{}", run.out);
    assert!(place.path("home/shared/b").exists() && place.path("home/shared/c").exists());
    assert!(!place.path("home/data/b").exists() && !place.path("home/data/c").exists());
    place.config("add_dir = ['shared']");
    place.run(&["--model", &script, "go"]).ends_with(2).says(&["begins neither with / nor ~/"]);
    place.config("read_dir = ['~/none']");
    place.run(&["--model", &script, "go"]).ends_with(2).says(&["a folder of read_dir"]);
}

#[test]
fn permissions_explain_paths_and_what_always_would_write() {
    let place = Place::new();
    place.write("outside.txt", "x");
    let outside = place.path("outside.txt").display().to_string();
    let file = place.path("home/.config/tenon/config.toml").display().to_string();
    let rule = format!("read({outside})");
    let check = |arguments: &[&str], status, parts: &[&str]| {
        let run = place.run(&[&["permissions", "check"], arguments].concat()).ends_with(status);
        for part in parts {
            assert!(run.out.contains(part), "{arguments:?}, {part}: {run:?}");
        }
    };
    let kept = format!("hint: so would \"{rule}\" in `allow` of {file}");
    let hint = format!("hint: --allow '{rule}' would allow it");
    check(&["--tool", "read_file", "../outside.txt"], 1, &["ask: ", &hint, &kept]);
    check(&["--tool", "read_file", "inside.txt"], 0, &["allow: "]);
    check(&["--tool", "read_file", "/proc/self/environ"], 1, &["deny: ", "built-in: closed place"]);
    check(&["--tool", "write_file", ".envrc"], 1, &["ask: ", "built-in: protected file"]);
    check(&["--tool", "grep", ".."], 1, &["deny: ", "built-in: closed place"]);
    check(&["sudo -n true"], 1, &["outside the walls", "hint: so would \"bash(sudo -n true)\""]);
    check(&["sudo ls \"a b\""], 1, &["hint: so would 'bash(sudo ls \"a b\")' in `allow`"]);
    place.run(&["permissions", "check", "--tool", "nonsense", "x"]).ends_with(2);
    place.config(&format!("allow = ['{rule}']\nnet = ['example.com']\nread_dir = ['~/']"));
    check(&["--tool", "read_file", "../outside.txt"], 0, &["allow: ", &rule]);
    check(&["--tool", "write_file", "../outside.txt"], 1, &["ask: "]);
    let list = place.run(&["permissions", "list"]).ends_with(0).out;
    for line in [
        format!("allow  {rule} ({file})"),
        format!("allow  host example.com ({file})"),
        format!("allow  to read ~/ ({file})"),
    ] {
        assert!(list.lines().any(|one| one == line), "{line}\n{list}");
    }
}

#[test]
fn one_answer_opens_all_hosts_that_a_toolchain_is_configured_with() {
    let servers = [0, 1].map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let hosts = servers.each_ref().map(|server| server.local_addr().unwrap().to_string());
    let calls = [connect(&hosts[0]), connect(&hosts[0]), connect(&hosts[1])];
    let (home, top) = home(turns(&calls));
    let registries = format!(
        "[registries.a]\nindex = \"sparse+http://{}/\"\n[registries.b]\nindex = \"sparse+http://{}/\"\n",
        hosts[0], hosts[1]
    );
    // Read before, so that Cargo is not asked where files are.
    let index = top.join(".cargo/registry/index/read");
    std::fs::create_dir_all(&index).unwrap();
    std::fs::write(index.join("config.json"), r#"{"dl":""}"#).unwrap();
    std::fs::write(top.join(".cargo/config.toml"), registries).unwrap();
    let mut terminal = start(&home, &[]);
    terminal.wait_for("Let the next command reach it?", 1);
    let screen = terminal.screen();
    let asked = format!("    cargo ({}, {})\n", hosts[0], hosts[1]);
    assert!(screen.contains(&asked) && screen.contains("it adds cargo to net in"), "{screen}");
    terminal.press("s\r");
    let results = end(terminal, &home);
    let codes: Vec<&str> = results.iter().map(|result| &result[..12]).collect();
    assert_eq!(codes, ["HTTP/1.1 403", "HTTP/1.1 200", "HTTP/1.1 200"]);
    assert!(results[0].contains("the user allows cargo from now on"), "{}", results[0]);
}

#[test]
fn an_index_is_asked_where_its_files_are_only_after_the_yes() {
    let mut pip = std::process::Command::new("/usr/bin/python3");
    let pip = pip.args(["-m", "pip", "--version"]).output();
    if !pip.is_ok_and(|output| output.status.success()) {
        return skipped("pip is not installed");
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let index = served(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        "<a href=\"http://files.example:8088/pip-1.0.tar.gz\">pip-1.0.tar.gz</a>".to_owned()
    });
    let settings = format!("[global]\nindex-url = http://{index}/simple\n");
    let calls = [connect(&index.to_string())];
    let place = Place::new();
    place.write("home/.config/pip/pip.conf", &settings);
    let script = place.script(turns(&calls));
    let run = place.run(&["--model", &script, "--output-format", "stream-json", "go"]);
    assert!(run.out.contains(&format!("--net pip would open pip ({index})")), "{run:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let (home, top) = home(turns(&calls));
    std::fs::create_dir_all(top.join(".config/pip")).unwrap();
    std::fs::write(top.join(".config/pip/pip.conf"), &settings).unwrap();
    let mut terminal = start(&home, &[]);
    terminal.wait_for("Let the next command reach it?", 1);
    assert!(terminal.screen().contains(&format!("    pip ({index})\n")), "{}", terminal.screen());
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    terminal.press("s\r");
    let results = end(terminal, &home);
    let told = format!("the user allows pip ({index}, files.example:8088) from now on");
    assert!(results[0].contains(&told), "{}", results[0]);
}

#[test]
fn always_is_not_offered_where_the_file_that_it_would_be_written_to_lies_in_the_workspace() {
    let write = ("write_file", json!({"path": "../.bashrc", "content": "x\n"}));
    let (home, top) = home(turns(&[write]));
    let top = top.display().to_string();
    for flags in [&["--plain", "--add-dir", &top][..], &["--add-dir", &top]] {
        let is_plain = flags.contains(&"--plain");
        let mut terminal = Terminal::start(&home, flags, 200, &[]);
        terminal.wait_for("Ctrl-D ends.", 1);
        terminal.press("go\r");
        terminal.wait_for(if is_plain { ASKED } else { "  n  no" }, 1);
        let screen = terminal.screen();
        assert!(screen.contains(".bashrc") && !screen.contains("lways"), "{screen}");
        terminal.press("\x03");
        drop(terminal);
    }
    let check = |folder: &str| {
        let mut tenon = std::process::Command::new(env!("CARGO_BIN_EXE_tenon"));
        let words = ["permissions", "check", "--tool", "write_file", "--cwd", folder];
        tenon.args(words).arg(format!("{top}/.bashrc")).env_clear().envs(home.environment());
        String::from_utf8(tenon.output().unwrap().stdout).unwrap()
    };
    assert!(check(&home.work().display().to_string()).contains("the answer \"always\" writes"));
    assert!(!check(&top).contains("always"), "{}", check(&top));
}
