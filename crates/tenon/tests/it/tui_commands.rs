//! The commands of the interactive session on a real terminal.

use std::{thread::sleep, time::Duration};

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Reply, Turn},
    terminal::{Home, Terminal},
    tui::{PAUSE, answer_behind_draft, session, session_with},
};

const CTRL_D: &str = "\x04";
const DOWN: &str = "\x1b[B";
const ESC: &str = "\x1b";

fn write(path: &str, content: &str) -> Value {
    json!({"name": "write_file", "arguments": {"path": path, "content": content}})
}

fn bash(command: &str) -> Value {
    json!({"name": "bash", "arguments": {"command": command}})
}

/// Sends a prompt and waits until so many turns are done.
fn ask(terminal: &mut Terminal, prompt: &str, done: usize) {
    terminal.press(&format!("{prompt}\r"));
    terminal.wait_for("done · ", done);
}

/// Presses keys after a pause in which nothing was typed.
fn answer(terminal: &mut Terminal, keys: &str) {
    sleep(PAUSE);
    terminal.press(keys);
}

fn leave(mut terminal: Terminal) {
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0, "{}", terminal.screen());
}

fn read(home: &Home, name: &str) -> Option<String> {
    std::fs::read_to_string(home.work().join(name)).ok()
}

#[test]
fn calls_are_undone_and_redone_and_the_model_is_told() {
    let home = Home::new(json!([
        {"calls": [write("a.txt", "one\n"), bash("echo two > b.txt; mkdir sub; echo three > sub/c.txt")]},
        {"text": "All are there."},
        {"text": "I see."},
    ]));
    let mut terminal = session(&home);
    ask(&mut terminal, "make them", 1);
    terminal.press("/changes\r");
    terminal.wait_for("step 1", 2);
    terminal.press("/changes diff\r");
    terminal.wait_for("+two", 1);
    terminal.press("q");
    terminal.wait_for("Enter sends", 1);
    terminal.press("/diff\r");
    terminal.wait_for("+one", 1);
    // What is in a new folder, too.
    terminal.wait_for("+three", 1);
    terminal.press("q");
    terminal.wait_for("Enter sends", 1);
    terminal.press("/undo 3\r");
    terminal.wait_for("Only 2 calls can be undone.", 1);
    terminal.wait_for("Undone:", 1);
    assert_eq!((read(&home, "a.txt"), read(&home, "sub/c.txt")), (None, None));
    terminal.press("/diff\r");
    terminal.wait_for("Nothing was changed", 1);
    terminal.press("/redo\r");
    terminal.wait_for("Redone:", 1);
    assert_eq!(read(&home, "b.txt").as_deref(), Some("two\n"));
    terminal.press("/undo\r");
    terminal.wait_for("Undone:", 2);
    assert_eq!(read(&home, "a.txt").as_deref(), Some("one\n"));
    ask(&mut terminal, "and now?", 2);
    terminal.press("/undo 0\r");
    terminal.wait_for("There is no command /undo 0.", 1);
    leave(terminal);
    let told = home.logged("user_message", "message")[1].to_string();
    assert!(told.contains("[undo] The user undid") && told.contains("b.txt"), "{told}");
    assert!(!told.contains("write_file a.txt") && !told.contains("there again"), "{told}");
}

#[test]
fn what_a_person_changed_since_is_asked_about_and_typed_keys_are_no_answer() {
    let home = Home::new(json!([
        {"calls": [write("a.txt", "one\n"), write("b.txt", "two\n")]}, {"text": "Done."},
    ]));
    let mut terminal = session_with(&home, (40, 60), &[]);
    ask(&mut terminal, "make them", 1);
    std::fs::write(home.work().join("a.txt"), "mine\n").unwrap();
    terminal.press("/undo 2\ro");
    terminal.wait_for("This was changed since:", 1);
    terminal.wait_for("a.txt (changed since)", 1);
    assert_eq!(read(&home, "a.txt").as_deref(), Some("mine\n"));
    answer_behind_draft(&mut terminal, "n");
    terminal.wait_for("Nothing was touched.", 1);
    assert!(read(&home, "b.txt").is_some());
    terminal.press("\x15/undo 2\r");
    terminal.wait_for("This was changed since:", 1);
    answer(&mut terminal, "\r");
    answer(&mut terminal, "yes\r");
    answer_behind_draft(&mut terminal, "k");
    terminal.wait_for("Left as they are", 1);
    assert_eq!((read(&home, "a.txt").as_deref(), read(&home, "b.txt")), (Some("mine\n"), None));
    terminal.press("\x15/redo\r");
    terminal.wait_for("Redone:", 1);
    terminal.press("/undo 2\r");
    terminal.wait_for("This was changed since:", 1);
    answer(&mut terminal, "\x03");
    terminal.wait_for("Nothing was touched.", 2);
    terminal.press("/undo 2\r");
    terminal.wait_for("This was changed since:", 1);
    answer(&mut terminal, "o");
    terminal.wait_for("Undone:", 2);
    assert_eq!(read(&home, "a.txt"), None);
    terminal.press("/redo\r");
    terminal.wait_for("Redone:", 2);
    assert_eq!(read(&home, "a.txt").as_deref(), Some("mine\n"));
    leave(terminal);
}

#[test]
fn files_are_restored_as_before_a_step_within_a_turn() {
    let home = Home::new(json!([
        {"calls": [write("a.txt", "one\n")]}, {"calls": [bash("echo two > a.txt; echo b > b.txt")]},
        {"calls": [bash("rm a.txt")]}, {"text": "Done."}, {"text": "I see."},
    ]));
    let mut terminal = session_with(&home, (100, 60), &[]);
    ask(&mut terminal, "make them", 1);
    terminal.press("/restore\r");
    terminal.wait_for("before one of these steps:", 1);
    terminal.wait_for("step 3 · ", 1);
    for wrong in ["/restore last --to 2", "/restor 2", "/restore 0"] {
        terminal.press(&format!("{wrong}\r"));
        let name = wrong.strip_suffix(" 2").filter(|name| *name == "/restor").unwrap_or(wrong);
        terminal.wait_for(&format!("There is no command {name}. "), 1);
    }
    terminal.press("/restore 9\r");
    terminal.wait_for("there is no step or call `9`", 1);
    terminal.press("/restore 3\r");
    terminal.wait_for("Undone:", 1);
    assert_eq!(read(&home, "a.txt").as_deref(), Some("two\n"));
    std::fs::write(home.work().join("b.txt"), "mine\n").unwrap();
    terminal.press("/restore 2\r");
    terminal.wait_for("b.txt (changed since)", 1);
    answer(&mut terminal, "n");
    terminal.wait_for("Nothing was touched.", 1);
    terminal.press("\x15/restore 2\r");
    terminal.wait_for("This was changed since:", 1);
    answer(&mut terminal, "o");
    terminal.wait_for("Undone:", 2);
    assert_eq!((read(&home, "a.txt").as_deref(), read(&home, "b.txt")), (Some("one\n"), None));
    terminal.press("/redo\r");
    terminal.wait_for("Redone:", 1);
    assert_eq!(read(&home, "b.txt").as_deref(), Some("mine\n"));
    ask(&mut terminal, "and now?", 2);
    leave(terminal);
    let told = home.logged("user_message", "message");
    assert_eq!(told.len(), 2, "what was mistyped was not sent: {told:?}");
    assert!(told[1].to_string().contains("[undo] The user undid"), "{}", told[1]);
}

#[test]
fn a_yes_to_put_conflicts_back_holds_for_all_calls_that_are_undone() {
    let home = Home::new(json!([
        {"calls": [bash("echo g > g")]}, {"calls": [bash("mv g g3")]}, {"text": "Done."},
    ]));
    let mut terminal = session_with(&home, (40, 60), &[]);
    ask(&mut terminal, "make it", 1);
    std::fs::write(home.work().join("g3"), "g\nmine\n").unwrap();
    terminal.press("/undo 2\r");
    terminal.wait_for("g3 (changed since)", 1);
    answer(&mut terminal, "o");
    terminal.wait_for("Undone:", 1);
    assert_eq!((read(&home, "g"), read(&home, "g3")), (None, None));
    leave(terminal);
}

#[test]
fn a_rewind_takes_files_conversation_or_both_back_and_gives_the_prompt_back() {
    let home = Home::new(json!([
        {"text": "Hello."},
        {"calls": [write("a.txt", "one\n")]}, {"text": "Written."},
        {"calls": [bash("echo two >> a.txt")]}, {"text": "More."},
        {"text": "Again."},
    ]));
    let mut terminal = session_with(&home, (40, 60), &[]);
    ask(&mut terminal, "你好", 1);
    ask(&mut terminal, "write a file", 2);
    ask(&mut terminal, "write more", 3);
    // Files alone.
    terminal.press("/rewind\r");
    terminal.wait_for("Back to before 3/3", 1);
    answer(&mut terminal, "\r");
    terminal.wait_for("What goes back 3/3", 1);
    terminal.press(DOWN);
    terminal.press(DOWN);
    answer(&mut terminal, "\r");
    terminal.wait_for("Undone:", 1);
    assert_eq!(read(&home, "a.txt").as_deref(), Some("one\n"));
    terminal.press("/redo\r");
    terminal.wait_for("Redone:", 1);
    // Esc leaves.
    terminal.press("/rewind\r");
    terminal.wait_for("Back to before 3/3", 1);
    terminal.press(ESC);
    sleep(PAUSE);
    // Both, before the second prompt.
    terminal.press("/rewind\r");
    terminal.wait_for("Back to before 3/3", 1);
    terminal.press("a file");
    terminal.wait_for("Back to before 1/3", 1);
    answer(&mut terminal, "\r");
    terminal.wait_for("What goes back 3/3", 1);
    answer(&mut terminal, "\r");
    terminal.wait_for("went back 2 turns", 1);
    terminal.wait_for("> write a file", 2);
    assert_eq!(read(&home, "a.txt"), None);
    terminal.press("\x15");
    // What is left is only talk.
    terminal.press("/rewind\r");
    terminal.wait_for("Back to before 1/1", 1);
    answer(&mut terminal, "\r");
    terminal.wait_for("went back 1 turn", 1);
    terminal.wait_for("> 你好", 2);
    terminal.press("\x15/rewind\r");
    terminal.wait_for("There is no turn to go back", 1);
    leave(terminal);
}

#[test]
fn after_a_rewind_the_model_is_told_of_what_differs_from_what_it_then_knows() {
    for (down, is_there, told) in
        [(0, true, None), (1, false, Some("what these calls changed since"))]
    {
        let home = Home::new(
            json!([{"calls": [bash("rm f.txt")]}, {"text": "Gone."}, {"text": "Again."}]),
        );
        std::fs::write(home.work().join("f.txt"), "one\n").unwrap();
        let mut terminal = session_with(&home, (40, 60), &[]);
        ask(&mut terminal, "delete it", 1);
        for (command, done) in [("/undo\r", "Undone:"), ("/redo\r", "Redone:")] {
            terminal.press(command);
            terminal.wait_for(done, 1);
        }
        terminal.press("/rewind\r");
        terminal.wait_for("Back to before 1/1", 1);
        answer(&mut terminal, "\r");
        terminal.wait_for("What goes back 3/3", 1);
        terminal.press(&DOWN.repeat(down));
        answer(&mut terminal, "\r");
        terminal.wait_for("went back 1 turn", 1);
        assert_eq!(read(&home, "f.txt").is_some(), is_there);
        terminal.press("\x15");
        ask(&mut terminal, "and now?", 2);
        leave(terminal);
        let message = home.logged("user_message", "message")[1].to_string();
        match told {
            None => assert!(!message.contains("[undo]"), "{message}"),
            Some(told) => {
                assert!(message.contains(told) && message.contains("rm f.txt"), "{message}")
            }
        }
    }
}

#[test]
fn a_held_enter_goes_back_nowhere() {
    let home = Home::new(json!([{"calls": [write("a.txt", "one\n")]}, {"text": "Written."}]));
    let mut terminal = session(&home);
    ask(&mut terminal, "write", 1);
    terminal.press("/rewind\r");
    for _ in 0..40 {
        terminal.press("\r");
        sleep(Duration::from_millis(20));
    }
    terminal.wait_for("Back to before 1/1", 1);
    terminal.press(ESC);
    // Until then Esc may be the beginning of another key.
    sleep(PAUSE);
    leave(terminal);
    assert!(home.logged("rewound", "turns").is_empty());
}

#[test]
fn a_session_is_forked_and_another_is_found_looked_at_and_gone_on_with() {
    let home = Home::new(json!([{"text": "One."}, {"text": "Two."}, {"text": "Three."}]));
    let mut terminal = session_with(&home, (80, 60), &[]);
    terminal.press("/fork\r");
    terminal.wait_for("Nothing was said yet", 1);
    terminal.press("/resume\r");
    terminal.wait_for("There is no other session", 1);
    ask(&mut terminal, "sort the needles 汉字", 1);
    terminal.press("/fork\r");
    terminal.wait_for("goes on after 1 turn", 1);
    ask(&mut terminal, "only in the fork", 3);
    terminal.press("/new\r");
    terminal.wait_for("Enter sends", 3);
    ask(&mut terminal, "something else", 4);
    terminal.press("/resume\r");
    terminal.wait_for("Go on with 2/2", 1);
    // The prompts of what is chosen are shown.
    terminal.wait_for("prompts (2), the newest first:", 1);
    terminal.wait_for("│ > only in the fork", 1);
    answer(&mut terminal, DOWN);
    terminal.wait_for("prompts (1), the newest first:", 1);
    answer(&mut terminal, "\r");
    terminal.wait_for("goes on after 1 turn", 2);
    terminal.press("/resume nobody\r");
    terminal.wait_for("there is no session `nobody`", 1);
    leave(terminal);
}

/// Starts the program with both providers configured.
fn between(anthropic: &FakeServer, openai: &FakeServer, home: &Home, columns: u16) -> Terminal {
    let (first, second) = (anthropic.url(), openai.url());
    let environment = [
        ("ANTHROPIC_API_KEY", "k"),
        ("ANTHROPIC_BASE_URL", first.as_str()),
        ("OPENAI_API_KEY", "k"),
        ("OPENAI_BASE_URL", second.as_str()),
    ];
    session_with(home, (columns, 80), &environment)
}

#[test]
fn another_model_goes_on_with_a_valid_conversation_and_the_ledger_says_so() {
    let anthropic = FakeServer::start(vec![
        Reply::anthropic(
            Turn::text("I see.").thinking("deep").call("glob", json!({"pattern": "*"})),
        ),
        Reply::anthropic_text("Looked."),
        Reply::anthropic_text("Back again."),
    ]);
    let openai = FakeServer::start(vec![Reply::openai_text("Me too.")]);
    let home = Home::new(json!([{"text": "Scripted."}]));
    let mut terminal = between(&anthropic, &openai, &home, 80);
    ask(&mut terminal, "hi", 1);
    terminal.press("/model anthropic/claude-sonnet-4-5\r");
    terminal.wait_for("from here on anthropic/claude-sonnet-4-5", 1);
    ask(&mut terminal, "look", 2);
    terminal.press("/model openai/gpt-x\r");
    terminal.wait_for("from here on openai/gpt-x", 1);
    ask(&mut terminal, "and you?", 3);
    terminal.press("/model anthropic/claude-sonnet-4-5\r");
    terminal.wait_for("from here on anthropic/claude-sonnet-4-5", 2);
    ask(&mut terminal, "and again?", 4);
    terminal.press("/cost\r");
    terminal.wait_for("the model changed from", 3);
    terminal.press("/model nobody/x\r");
    terminal.wait_for("there is no model `nobody/x`", 1);
    leave(terminal);
    let other = openai.requests()[0].json();
    let roles: Vec<&str> = other["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "user", "assistant", "tool", "assistant", "user"]
    );
    let text = openai.requests()[0].text();
    assert!(!text.contains("deep") && !text.contains("sig-1"), "{text}");
    // Whoever signed it gets it back.
    let again = anthropic.requests()[2].text();
    assert!(again.contains("sig-1") && again.contains("Me too."), "{again}");
    assert_eq!(
        home.logged("model_changed", "model"),
        ["anthropic/claude-sonnet-4-5", "openai/gpt-x", "anthropic/claude-sonnet-4-5"]
    );
}

#[test]
fn a_model_is_chosen_from_a_list_with_its_window_and_the_one_that_is_asked_is_in_it() {
    let (anthropic, openai) = (
        FakeServer::start(vec![Reply::anthropic_text("Sonnet here.")]),
        FakeServer::start(Vec::new()),
    );
    for columns in [40, 100] {
        let home = Home::new(json!([{"text": "Scripted."}]));
        anthropic.push(Reply::anthropic_text("Sonnet here."));
        let mut terminal = between(&anthropic, &openai, &home, columns);
        terminal.press("/model\r");
        terminal.wait_for("Model 3/3", 1);
        // Nothing configures the script that is asked.
        terminal.wait_for("› scripted", 1);
        terminal.wait_for("window: 128,000 tokens", 1);
        answer(&mut terminal, "\r");
        terminal.wait_for("scripted is asked already.", 1);
        terminal.press("/model\r");
        terminal.wait_for("Model 3/3", 1);
        terminal.press("sonnet");
        terminal.wait_for("Model 1/3", 1);
        terminal.wait_for("window: 1,000,000 tokens", 1);
        answer(&mut terminal, "\r");
        terminal.wait_for("from here on", 1);
        ask(&mut terminal, "who?", 1);
        terminal.wait_for("Sonnet here.", 1);
        leave(terminal);
    }
}

#[test]
fn rewinding_before_a_change_of_model_keeps_the_model_and_its_thoughts_apart() {
    let anthropic = FakeServer::start(vec![
        Reply::anthropic(Turn::text("One.").thinking("deep")),
        Reply::anthropic_text("Two."),
    ]);
    let openai = FakeServer::start(Vec::new());
    let home = Home::new(json!([{"text": "Scripted."}]));
    let mut terminal = between(&anthropic, &openai, &home, 80);
    ask(&mut terminal, "first", 1);
    terminal.press("/model anthropic/claude-sonnet-4-5\r");
    terminal.wait_for("from here on", 1);
    terminal.press("/rewind\r");
    terminal.wait_for("Back to before 1/1", 1);
    answer(&mut terminal, "\r");
    terminal.wait_for("went back 1 turn", 1);
    terminal.press("\x15");
    ask(&mut terminal, "second", 2);
    ask(&mut terminal, "third", 3);
    leave(terminal);
    assert_eq!(home.logged("model_changed", "model").len(), 2);
    assert!(anthropic.requests()[1].text().contains("sig-1"));
}

#[test]
fn what_the_session_is_made_of_is_told_in_both_languages_and_on_narrow_screens() {
    for (columns, language, used, rule, rest) in [
        (40, "C.UTF-8", "tokens (", "(this", "inside the walls"),
        (80, "zh_CN.UTF-8", "个词元中的", "（本会话）", "其他一切，在沙箱之内"),
    ] {
        let home = Home::new(json!([
            {"calls": [bash("git reset --hard HEAD~1")]}, {"text": "好的。"},
        ]));
        let mut terminal = session_with(&home, (columns, 100), &[("LANG", language)]);
        terminal.press("go\r");
        terminal.wait_for("bash(git reset", 1);
        answer(&mut terminal, "s");
        terminal.wait_for("好的。", 1);
        terminal.press("/context\r");
        terminal.wait_for(used, 1);
        terminal.wait_for("█", 1);
        terminal.press("/permissions\r");
        terminal.wait_for(rule, 1);
        terminal.wait_for(rest, 1);
        terminal.press("/doctor\r");
        terminal.wait_for("openat2", 1);
        leave(terminal);
    }
}

#[test]
fn a_command_that_needs_the_end_of_the_turn_comes_back_into_the_draft() {
    let home = Home::new(json!([{"text": "Slow.", "delay_ms": 1500}]));
    let mut terminal = session(&home);
    terminal.press("go\r");
    terminal.wait_for("Waiting for the model", 1);
    terminal.press("/model\r");
    terminal.wait_for("This needs the end of the turn", 1);
    terminal.wait_for("> /model", 1);
    terminal.press("\x15/context\r");
    terminal.wait_for("tokens (", 1);
    terminal.wait_for("Slow.", 1);
    leave(terminal);
}

#[test]
fn names_behind_a_command_are_completed_and_help_names_every_command() {
    let home = Home::new(json!([{"text": "Done."}]));
    let environment = [("ANTHROPIC_API_KEY", "k")];
    let mut terminal = session_with(&home, (40, 120), &environment);
    terminal.press("/model opus48");
    terminal.wait_for("anthropic/claude-opus-4-8", 1);
    terminal.press("\x15/changes d\r");
    terminal.wait_for("Nothing was changed", 1);
    terminal.press("/help\r");
    terminal.wait_for("/quit", 1);
    let screen = terminal.screen();
    for name in [
        "/model",
        "/context",
        "/cost",
        "/compact",
        "/diff",
        "/changes",
        "/undo",
        "/redo",
        "/restore",
        "/rewind",
        "/resume",
        "/fork",
        "/new",
        "/copy",
        "/permissions",
        "/doctor",
        "/init",
    ] {
        assert!(screen.contains(&format!("\n{name} ")), "{name}:\n{screen}");
    }
    leave(terminal);
}

#[test]
fn a_session_is_exported_into_the_folder_that_it_works_in() {
    let home = Home::new(json!([{"text": "It is done, 完成."}]));
    let mut terminal = session_with(&home, (24, 100), &[]);
    ask(&mut terminal, "<do> it", 1);
    terminal.press("/export\r");
    terminal.wait_for("Written: ", 1);
    terminal.press("/export html\r");
    terminal.wait_for("Written: ", 2);
    leave(terminal);
    let written = |ending: &str| {
        let names = std::fs::read_dir(home.work()).unwrap().map(|entry| entry.unwrap().path());
        let path = names.into_iter().find(|path| path.extension().is_some_and(|end| end == ending));
        std::fs::read_to_string(path.unwrap()).unwrap()
    };
    assert!(written("md").contains("It is done, 完成."));
    assert!(written("html").contains("&lt;do&gt; it"));
}

/// Has another process hold the undo store of a home, stopped.
fn holder(home: &Home) -> std::process::Child {
    let stores = std::fs::read_dir(home.state("undo")).unwrap();
    let mut locks = stores.map(|store| store.unwrap().path().join("lock"));
    let lock = locks.find(|lock| lock.exists()).unwrap();
    let mut holds = std::process::Command::new("flock");
    let holder = holds.arg("--no-fork").arg(&lock).args(["sleep", "infinity"]).spawn().unwrap();
    let held = format!("WRITE {} ", holder.id());
    while !std::fs::read_to_string("/proc/locks").unwrap().contains(&held) {
        std::thread::yield_now();
    }
    holder
}

#[test]
fn an_undo_that_waits_for_another_process_says_so_and_escape_ends_the_waiting() {
    let home = Home::new(json!([{"calls": [write("a.txt", "one\n")]}, {"text": "There."}]));
    let mut terminal = session(&home);
    ask(&mut terminal, "make it", 1);
    // Once, so that there is what another process holds.
    terminal.press("/undo\r");
    terminal.wait_for("Undone:", 1);
    terminal.press("/redo\r");
    terminal.wait_for("Redone:", 1);
    for key in [ESC, "\x03"] {
        let mut holder = holder(&home);
        let waits = format!("Waiting for process {}, which", holder.id());
        terminal.press("/undo\r");
        terminal.wait_for(&waits, 1);
        terminal.wait_for(&format!("Waiting for process {} …", holder.id()), 1);
        terminal.press(key);
        terminal.wait_until("the end of the waiting", |screen| {
            screen
                .rsplit(&waits)
                .next()
                .is_some_and(|rest| rest.contains("the waiting was ended, and nothing was touched"))
        });
        assert_eq!(read(&home, "a.txt").as_deref(), Some("one\n"));
        holder.kill().unwrap();
        holder.wait().unwrap();
    }
    let mut holder = holder(&home);
    terminal.press("/undo\r");
    terminal.wait_for(&format!("Waiting for process {} …", holder.id()), 1);
    holder.kill().unwrap();
    holder.wait().unwrap();
    terminal.wait_for("Undone:", 2);
    assert_eq!(read(&home, "a.txt"), None);
    leave(terminal);
}
