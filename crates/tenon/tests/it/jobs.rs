//! Background jobs through the real program: on a terminal, and where nobody can be asked.

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Turn},
    program::{Place, Run},
    terminal::{Home, Terminal, is_running},
    tui::{PAUSE, session},
};

const CTRL_D: &str = "\x04";

fn bash(arguments: Value) -> Value {
    json!({"calls": [{"name": "bash", "arguments": arguments}]})
}

fn jobs(arguments: Value) -> Value {
    json!({"calls": [{"name": "jobs", "arguments": arguments}]})
}

fn interactive(home: &Home) -> Terminal {
    let mut terminal = Terminal::start(home, &["--plain"], 100, &[]);
    terminal.wait_for("Ctrl-D ends.", 1);
    terminal.wait_for_prompt();
    terminal
}

fn wait_until(happened: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if happened() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it did not happen within ten seconds");
}

#[test]
fn a_protected_file_that_a_job_wrote_is_listed_once_and_told_once() {
    let place = Place::new();
    let command = "until [ -e go ]; do sleep 0.05; done; echo a > .envrc";
    let script = place.script(json!([
        bash(json!({"command": command, "background": true})),
        // The news of its end comes with this one.
        bash(json!({"command": "touch go; sleep 1"})),
        jobs(json!({"action": "wait"})),
        jobs(json!({"action": "read"})),
        {"text": "done"},
    ]));
    let run =
        |format| place.run(&["--output-format", format, "--model", &script, "go"]).ends_with(0).out;
    let object: Value = serde_json::from_str(&run("json")).unwrap();
    let refused = object["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 1, "{object}");
    std::fs::remove_file(place.path("work/go")).unwrap();
    let events = run("stream-json");
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = events.filter(|event| event["type"] == "tool_result");
    let told: String = results.map(|event| event["content"].to_string()).collect();
    for words in [".envrc was made; put back as it was", "[walls] what was in "] {
        assert_eq!(told.matches(words).count(), 1, "{words}: {told}");
    }
}

#[test]
fn a_job_outlives_its_turn_is_listed_and_ends_with_the_session() {
    let sleep = "sleep 300.05171";
    let command = format!("echo up; exec {sleep}");
    let home = Home::new(json!([
        bash(json!({"command": command, "background": true})),
        {"text": "It runs."},
    ]));
    let mut terminal = interactive(&home);
    terminal.press("start it\r");
    terminal.wait_for("It runs.", 1);
    terminal.wait_for("1 job is running in the background: 1 echo up; exec sleep", 1);
    terminal.wait_for_prompt();
    wait_until(|| is_running(sleep));
    terminal.press("/jobs\r");
    terminal.wait_for(&format!("1 {command} ("), 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let said = terminal.screen();
    assert!(said.contains("1 job was still running and was ended: 1 echo up"), "{said}");
    assert!(!is_running(sleep));
}

#[test]
fn a_turn_that_is_cancelled_leaves_jobs_and_a_terminal_that_goes_does_not() {
    let (job, wait) = ("sleep 300.05172", "sleep 300.05173");
    let home = Home::new(json!([
        bash(json!({"command": format!("exec {job}"), "background": true})),
        bash(json!({"command": wait})),
    ]));
    let mut terminal = interactive(&home);
    terminal.press("go\r");
    wait_until(|| is_running(wait));
    terminal.press("\x03");
    terminal.wait_for("The turn was cancelled.", 1);
    terminal.wait_for_prompt();
    assert!(is_running(job) && !is_running(wait));
    // The terminal is gone, and the program with it.
    drop(terminal);
    wait_until(|| !is_running(job));
}

#[test]
fn at_its_time_limit_a_command_is_offered_to_the_background_and_goes_on_meanwhile() {
    let sleep = "sleep 300.05174";
    let script =
        format!("for n in 1 2 3 4; do echo line $n; sleep 0.4; done; touch over; exec {sleep}");
    let home = Home::new(json!([
        bash(json!({"command": script, "timeout": 1})),
        jobs(json!({"action": "stop", "job": 1})),
        {"text": "Stopped."},
    ]));
    let mut terminal = interactive(&home);
    terminal.press("go\r");
    terminal.wait_for("Keep it running in the background?", 1);
    assert!(terminal.screen().contains("it did not end within 1 s"), "{}", terminal.screen());
    // It is not held up by the question.
    wait_until(|| home.work().join("over").exists());
    terminal.press("y\r");
    terminal.wait_for("Stopped.", 1);
    terminal.wait_for_prompt();
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let results = home.logged("tool_result", "content");
    let first = results[0].as_str().unwrap();
    assert!(first.starts_with("not done after 1 s; the user let it go on as job 1"), "{first}");
    assert!(first.ends_with("line 1\nline 2\nline 3\nline 4\n[changes] 1 new"), "{first}");
    assert_eq!(results[1], "job 1 has ended: stopped\n(no new output)");
    assert!(!is_running(sleep));
}

#[test]
fn the_drawn_screen_offers_a_command_at_its_time_limit_to_the_background() {
    let sleep = "sleep 300.05177";
    let home = Home::new(json!([
        bash(json!({"command": format!("echo begun; exec {sleep}"), "timeout": 1})),
        jobs(json!({"action": "stop", "job": 1})),
        {"text": "Stopped."},
    ]));
    let mut terminal = session(&home);
    terminal.press("go\r");
    terminal.wait_for("yes, it goes on in the background", 1);
    let screen = terminal.screen();
    assert!(screen.contains("it did not end within 1 s"), "{screen}");
    // What was typed before it could be read is no answer.
    std::thread::sleep(PAUSE);
    terminal.press("y");
    terminal.wait_for_turn("Stopped.");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let results = home.logged("tool_result", "content");
    let first = results[0].as_str().unwrap();
    assert!(first.starts_with("not done after 1 s; the user let it go on as job 1"), "{first}");
    assert_eq!(results[1], "job 1 has ended: stopped\n(no new output)");
    assert!(!is_running(sleep));
}

#[test]
fn a_command_that_may_not_go_on_or_ends_by_itself_during_the_question_is_told_as_always() {
    let home = Home::new(json!([
        bash(json!({"command": "echo begun; exec sleep 300.05175", "timeout": 1})),
        bash(json!({"command": "sleep 2; echo after all", "timeout": 1})),
        {"text": "Both over."},
    ]));
    let mut terminal = interactive(&home);
    terminal.press("go\r");
    terminal.wait_for("Keep it running in the background?", 1);
    terminal.press("n too slow\r");
    terminal.wait_for("Keep it running in the background?", 2);
    terminal.wait_for("Both over.", 1);
    terminal.wait_for_prompt();
    terminal.press("/quit\r");
    assert_eq!(terminal.exit_code(), 0);
    terminal.check_straight();
    let results = home.logged("tool_result", "content");
    let ended = "Error: command timed out after 1 s\nbegun\nthe user ended it and said: too slow";
    assert_eq!(results, [ended, "after all"]);
}

#[test]
fn where_nobody_can_be_asked_the_limit_ends_a_command_and_the_end_ends_jobs() {
    let sleep = "sleep 300.05176";
    let turns = json!([
        bash(json!({"command": "echo begun; sleep 60", "timeout": 1})),
        bash(json!({"command": format!("rm old; touch new; exec {sleep}"), "background": true})),
        bash(json!({"command": "until [ -e new ]; do sleep 0.1; done"})),
        {"text": "Done."},
    ]);
    for format in [&[][..], &["-p"], &["--output-format", "json"]] {
        let place = Place::new();
        place.write("work/old", "");
        let script = place.script(turns.clone());
        let run = place.run(&[&["--model", &script, "go"], format].concat()).ends_with(0);
        let job = format!("1 rm old; touch new; exec {sleep}");
        let said = format!("1 job was still running and was ended: {job}\n1: 1 deleted, 1 new\n");
        let shown = if format.is_empty() { &run.out } else { &run.error };
        assert!(shown.ends_with(&said), "{format:?}: {run:?}");
        assert!(place.logs().contains("command timed out after 1 s\\nbegun"), "{}", place.logs());
        assert!(!is_running(sleep));
    }
}

#[test]
fn a_server_started_as_a_job_is_reached_by_the_next_call() {
    let place = Place::new();
    place.write("work/page.txt", "hello from the job");
    let script = place.script(json!([
        bash(json!({
            "command": "exec python3 -u -m http.server 18476 --bind 127.0.0.1",
            "background": true
        })),
        bash(json!({"command": "for n in $(seq 100); do
            python3 -c 'import urllib.request as r; r.install_opener(r.build_opener(\
            r.ProxyHandler({}))); print(r.urlopen(\"http://127.0.0.1:18476/page.txt\").read())' \
            2>/dev/null && break; sleep 0.1; done"})),
        jobs(json!({"action": "read"})),
        {"text": "Done."},
    ]));
    place.run(&["--model", &script, "--sandbox", "a", "go"]).ends_with(0);
    let logs = place.logs();
    assert!(logs.contains("b'hello from the job'"), "{logs}");
    assert!(logs.contains("GET /page.txt"), "{logs}");
}

#[test]
fn what_was_written_with_leave_while_a_job_runs_stays_and_what_a_job_writes_does_not() {
    let place = Place::new();
    let script = place.script(json!([
        bash(json!({
            "command": "while ! test -e .envrc; do sleep 0.02; done; mkdir .vscode; \
                echo evil > .vscode/tasks.json; echo wrote; exec sleep 300",
            "background": true
        })),
        {"calls": [{"name": "write_file", "arguments": {"path": ".envrc", "content": "good\n"}}]},
        bash(json!({"command": "while ! test -s .vscode/tasks.json; do sleep 0.02; done"})),
        {"text": "Done."},
    ]));
    let allow = "write_file(.envrc)";
    let arguments = ["--model", &script, "--sandbox", "a", "--allow", allow, "go"];
    place.run(&arguments).ends_with(0);
    let logs = place.logs();
    assert_eq!(std::fs::read_to_string(place.path("work/.envrc")).unwrap(), "good\n");
    assert!(!place.path("work/.vscode/tasks.json").exists());
    assert!(logs.contains(".vscode/tasks.json was made; put back as it was"), "{logs}");
    let (_, kept) = logs.split_once(".vscode/tasks.json is in ").expect(&logs);
    // Another line of the result may stand behind it.
    let kept = std::fs::read_to_string(kept.split(['"', '\\']).next().unwrap()).unwrap();
    assert_eq!(kept, "evil\n");
}

#[test]
fn small_models_get_no_jobs_and_others_tools_that_stay_the_same() {
    let offered = |model: &str, command: &str| {
        let server = FakeServer::openai(vec![
            Turn::of_call("bash", json!({"command": command, "background": true})),
            Turn::of_call("glob", json!({"pattern": "*"})),
            Turn::text("done"),
        ]);
        let place = Place::new();
        let mut command = place.tenon(&["-p", "--model", model, "go"]);
        command.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", server.url());
        Run::of(command.output().unwrap()).ends_with(0);
        let tools =
            |text: String| serde_json::from_str::<Value>(&text).unwrap()["tools"].to_string();
        let tools: Vec<String> =
            server.requests().iter().map(|request| tools(request.text())).collect();
        assert_eq!(tools.len(), 3, "{tools:?}");
        assert!(tools.iter().all(|it| *it == tools[0]), "{tools:?}");
        tools[0].contains("\"name\":\"jobs\"") && tools[0].contains("\"background\"")
    };
    assert!(offered("openai/gpt-4.1", "exec sleep 300"));
    assert!(!offered("openai/qwen3-4b", "true"));
}

#[test]
fn what_a_job_wrote_to_a_file_that_a_call_removed_or_moved_is_listed_and_undone() {
    let job = "while :; do echo tick; sleep 0.05; done >> app.log";
    for call in ["rm app.log", "mv app.log old.log", "sed -i s/tick/tock/ app.log", ": > app.log"] {
        let place = Place::new();
        place.write("work/app.log", "line1\n");
        let call = format!("until grep -q tick app.log; do sleep 0.05; done; {call}; sleep 0.2");
        let script = place.script(json!([
            bash(json!({"command": job, "background": true})),
            bash(json!({"command": call})),
            {"text": "Done."},
        ]));
        place.run(&["--model", &script, "go"]).ends_with(0);
        let changes = place.run(&["changes"]).ends_with(0);
        assert!(changes.out.contains("while :; do echo tick"), "{changes:?}");
        place.run(&["undo", "9"]).ends_with(0);
        let left = std::fs::read_to_string(place.path("work/app.log")).unwrap();
        assert_eq!(left, "line1\n", "{call}");
        assert!(!place.path("work/old.log").exists());
    }
}
