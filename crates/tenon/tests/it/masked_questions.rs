//! A question shows what would be done: the model cannot have a part of it masked by writing that part
//! into a `.env` file. What it cannot have written stays masked, and the question says so.

use std::{fs, thread::sleep};

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    terminal::{Home, Terminal},
    tui::PAUSE,
};

const PLAIN: &[&str] = &["--plain"];
const REDRAWN: &[&str] = &[];
const NOTICE: &str = "A part of this is not shown";
const VARIABLE: &str = "env-Ud3hF7kRm5WaT1oJy8QcX6";
const HOST: &str = "k29fj3mzq81lwx7.example.org";

fn call(tool: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": tool, "arguments": arguments}]})
}

/// A home whose model writes `value` into a `.env` file and goes on with `last`.
fn home(value: &str, last: &Value) -> Home {
    let content = format!("A_TOKEN='{value}'\n");
    let write = call("write_file", json!({"path": ".env", "content": content}));
    let look = call("read_file", json!({"path": ".env"}));
    Home::new(json!([write, look, last, {"text": "All done."}]))
}

/// Starts a session, which is asked to go on with everything.
fn start(home: &Home, arguments: &[&str], environment: &[(&str, &str)]) -> Terminal {
    let mut terminal = Terminal::start_sized(home, arguments, (200, 60), environment);
    match arguments.contains(&"--plain") {
        true => terminal.wait_for_prompt(),
        false => terminal.wait_for("scripted", 2),
    }
    terminal.press("go\r");
    terminal
}

/// Waits for a question that begins with `head` and returns it.
fn question(terminal: &mut Terminal, head: &str) -> String {
    terminal.wait_until(head, |screen| {
        screen.split_once(head).is_some_and(|it| it.1.contains("n = no") || it.1.contains("  n  "))
    });
    let screen = terminal.screen();
    screen.split_once(head).unwrap().1.to_owned()
}

fn answer(terminal: &mut Terminal, arguments: &[&str], key: &str) {
    sleep(PAUSE);
    terminal.press(key);
    if arguments.contains(&"--plain") {
        terminal.press("\r");
    }
}

fn leave(mut terminal: Terminal) {
    terminal.wait_for_turn("All done.");
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
}

/// The call is asked about with `shown`, of which the model wrote `value` into a `.env` file before.
#[track_caller]
fn check(value: &str, last: &Value, head: &str, shown: &[&str]) {
    for arguments in [PLAIN, REDRAWN] {
        let home = home(value, last);
        let mut terminal = start(&home, arguments, &[]);
        let asked = question(&mut terminal, head);
        for part in shown {
            assert!(asked.contains(part), "{part}: {asked}");
        }
        assert!(!asked.contains("masked") && !asked.contains(NOTICE), "{asked}");
        answer(&mut terminal, arguments, "n");
        leave(terminal);
        let log: Vec<String> = home.log().iter().map(Value::to_string).collect();
        let log = log.join("\n");
        assert!(log.contains("[masked: value of A_TOKEN from .env]"), "{log}");
    }
}

#[test]
fn a_command_outside_the_walls_is_shown_as_it_would_run() {
    check(
        "touch /home/ada/x",
        &call("bash", json!({"command": "sudo touch /home/ada/x"})),
        "The model wants to run this:",
        &["! sudo touch /home/ada/x", "--allow 'bash(sudo touch /home/ada/x:*)'"],
    );
}

#[test]
fn what_goes_into_a_protected_file_is_shown_as_it_is() {
    let value = "k3Jd92;touch x;Lq81Zw";
    check(
        value,
        &call("write_file", json!({"path": ".envrc", "content": format!("export A={value}\n")})),
        "from which other programs take commands:",
        &[&format!("export A={value}")],
    );
    check(
        value,
        &call("bash", json!({"command": format!("echo 'export A={value}' > .envrc")})),
        "A command wrote this file",
        &[&format!("export A={value}")],
    );
}

#[test]
fn a_path_outside_is_shown_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("out-k29fJ3mZq81LwX7");
    fs::write(&path, "mine\n").unwrap();
    let path = path.to_str().unwrap();
    check(
        path,
        &call("read_file", json!({"path": path})),
        "The model wants to read this file outside the workspace:",
        &[path, &format!("--allow 'read({path})'"), &format!("read({path})")],
    );
}

#[test]
fn a_host_is_shown_as_it_is() {
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
        printf 'CONNECT {HOST}:443 HTTP/1.1\\r\\nHost: {HOST}\\r\\n\\r\\n' >&3; head -1 <&3"
    );
    check(
        HOST,
        &call("bash", json!({"command": command})),
        "A command wanted to reach this host:",
        &[HOST, &format!("--net {HOST}")],
    );
}

#[test]
fn a_command_that_only_the_mode_asks_about_is_shown_as_it_is() {
    for arguments in [&["--plain", "--mode", "ask"][..], &["--mode", "ask"]] {
        let last = call("bash", json!({"command": "rm -rf src tests"}));
        let home = home("rm -rf src tests", &last);
        let mut terminal = start(&home, arguments, &[]);
        question(&mut terminal, "The model wants to use write_file");
        answer(&mut terminal, arguments, "y");
        let asked = question(&mut terminal, "The model wants to run this:");
        assert!(asked.contains("rm -rf src tests") && !asked.contains("masked"), "{asked}");
        answer(&mut terminal, arguments, "n");
        leave(terminal);
    }
}

#[test]
fn the_rule_of_an_always_is_shown_and_written_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("out-k29fJ3mZq81LwX7");
    fs::write(&path, "mine\n").unwrap();
    let rule = format!("read({})", path.display());
    for arguments in [PLAIN, REDRAWN] {
        let last = call("read_file", json!({"path": path}));
        let home = home(path.to_str().unwrap(), &last);
        let mut terminal = start(&home, arguments, &[]);
        question(&mut terminal, "The model wants to read this file outside the workspace:");
        answer(&mut terminal, arguments, "a");
        terminal.wait_for(&format!("{rule} stands in "), 1);
        leave(terminal);
        let file = home.work().with_file_name(".config/tenon/config.toml");
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(&rule), "{text}");
    }
}

#[test]
fn what_the_model_cannot_have_written_stays_masked_and_the_question_says_so() {
    for arguments in [PLAIN, REDRAWN] {
        let last = call("read_file", json!({"path": format!("/opt/{VARIABLE}")}));
        let home = home("rm -rf src tests", &last);
        let mut terminal = start(&home, arguments, &[("MY_TOKEN", VARIABLE)]);
        let asked =
            question(&mut terminal, "The model wants to read this file outside the workspace:");
        assert!(asked.contains("/opt/[masked: value of MY_TOKEN from the environment]"), "{asked}");
        assert!(terminal.screen().contains(NOTICE), "{}", terminal.screen());
        for rule in ["read(/opt", "--allow", "always:", "until the session ends:"] {
            assert!(!asked.contains(rule), "{rule}: {asked}");
        }
        if arguments == PLAIN {
            answer(&mut terminal, arguments, "a");
            terminal.wait_for("Please answer", 1);
        }
        answer(&mut terminal, arguments, "n");
        leave(terminal);
        assert!(!home.work().with_file_name(".config/tenon/config.toml").exists());
    }
}

#[test]
fn where_nobody_is_asked_a_terminal_is_told_the_flag_as_it_is_and_a_program_masked() {
    let last = call("bash", json!({"command": "sudo touch /home/ada/x"}));
    let home = home("touch /home/ada/x", &last);
    let arguments = ["--output-format", "json", "go"];
    let mut terminal = Terminal::start_sized(&home, &arguments, (200, 60), &[]);
    terminal.wait_for("\"refused\":", 1);
    assert_eq!(terminal.exit_code(), 0);
    let screen = terminal.everything().replace('\n', "");
    let flag = |text: &str| format!("--allow 'bash(sudo {text}:*)'");
    let said = format!("{} allows it without a question.", flag("touch /home/ada/x"));
    let masked = flag("[masked: value of A_TOKEN from .env]");
    assert!(screen.contains(&said), "{screen}");
    assert!(screen.contains(&format!("\"flag\":\"{masked}\"")), "{screen}");
}

#[test]
fn a_check_of_permissions_shows_what_was_asked_about() {
    let place = Place::new();
    place.write("work/.env", "A_TOKEN='touch /home/ada/x'\n");
    let arguments = ["permissions", "check", &format!("sudo touch /home/ada/x {VARIABLE}")];
    let mut command = place.tenon(&arguments);
    let out = Run::of(command.env("MY_TOKEN", VARIABLE).output().unwrap()).out;
    assert!(out.contains("bash(sudo touch /home/ada/x "), "{out}");
    assert!(!out.contains(VARIABLE), "{out}");
}
