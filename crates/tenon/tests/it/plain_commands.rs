//! The commands of the session in plain lines: each of them, and what is chosen by number.

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Reply},
    terminal::{Home, Terminal},
};

const CTRL_D: &str = "\x04";

fn start(home: &Home, environment: &[(&str, &str)]) -> Terminal {
    // Rows enough for everything that all commands say.
    let mut terminal = Terminal::start_sized(home, &["--plain"], (100, 500), environment);
    terminal.wait_for_prompt();
    terminal
}

/// Types a line, waits for what it says and for the next prompt.
fn type_line(terminal: &mut Terminal, line: &str, said: &str, times: usize) {
    terminal.press(&format!("{line}\r"));
    terminal.wait_for(said, times);
    terminal.wait_for_prompt();
}

/// Answers a list that is asked from.
fn choose(terminal: &mut Terminal, number: &str, said: &str, times: usize) {
    terminal.wait_until("the question", |screen| screen.ends_with("[number, Enter for none]"));
    type_line(terminal, number, said, times);
}

fn write(path: &str, content: &str) -> Value {
    json!({"name": "write_file", "arguments": {"path": path, "content": content}})
}

fn leave(mut terminal: Terminal) {
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0, "{}", terminal.screen());
}

#[test]
fn every_command_that_help_lists_answers() {
    let home = Home::new(json!([
        {"calls": [write("a.txt", "one\n")]}, {"text": "Written."}, {"text": "AGENTS.md is there."},
    ]));
    let mut terminal = start(&home, &[]);
    type_line(&mut terminal, "write a file", "done · 2 steps", 1);
    type_line(&mut terminal, "/help", "A list is chosen from by number.", 1);
    let help = terminal.screen();
    let listed: Vec<&str> = help
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.starts_with('/'))
        .collect();
    let answers = [
        ("/help", "shows this list", 2),
        ("/model", "scripted  ", 1),
        ("/context", "tokens (", 1),
        ("/cost", "requests · ", 1),
        ("/compact", "the conversation was made shorter", 1),
        ("/diff", "+one", 1),
        ("/changes", "step 1 · ", 1),
        ("/undo", "Undone:", 1),
        ("/redo", "Redone:", 1),
        ("/restore", "before one of these steps:", 1),
        ("/rewind", "Back to before:", 1),
        ("/resume", "There is no other session", 1),
        ("/fork", "goes on after 1 turn", 1),
        ("/new", "Type what you want done.", 3),
        ("/transcript", "· scripted ·", 4),
        ("/copy", "There is no answer yet.", 1),
        ("/export", "Written: ", 1),
        ("/jobs", "No job is running", 1),
        ("/tools", "read_file ", 1),
        ("/permissions", "inside the walls", 1),
        ("/doctor", "openat2", 1),
        ("/init", "done · ", 3),
        ("/theme", "There are these: auto", 1),
        ("/quit", "", 0),
    ];
    assert_eq!(listed, answers.map(|(name, ..)| name));
    for (name, said, times) in answers {
        match name {
            "/quit" => terminal.press("/quit\r"),
            "/model" | "/rewind" => {
                terminal.press(&format!("{name}\r"));
                terminal.wait_for(said, times);
                let chosen = terminal.screen().matches("Nothing was chosen.").count();
                choose(&mut terminal, "", "Nothing was chosen.", chosen + 1);
            }
            _ => type_line(&mut terminal, name, said, times),
        }
    }
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_terminal_that_can_only_print_has_no_clipboard_and_says_so() {
    let home = Home::new(json!([{"text": "Hello."}]));
    let mut terminal = Terminal::start(&home, &[], 100, &[("TERM", "dumb")]);
    terminal.wait_for_prompt();
    type_line(&mut terminal, "/help", "A list is chosen from by number.", 1);
    assert!(!terminal.screen().contains("/copy"), "{}", terminal.screen());
    type_line(&mut terminal, "/copy", "no clipboard to copy to", 1);
    leave(terminal);
}

#[test]
fn a_model_is_chosen_by_number_or_by_name() {
    let anthropic =
        FakeServer::start(vec![Reply::anthropic_text("Me."), Reply::anthropic_text("And me.")]);
    let url = anthropic.url();
    let environment = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", url.as_str())];
    let home = Home::new(json!([{"text": "Scripted."}]));
    let mut terminal = start(&home, &environment);
    // The one that is asked is there, though nothing configures it.
    terminal.press("/model\r");
    terminal.wait_for("  1  scripted  ", 1);
    terminal.wait_for(" · now", 1);
    choose(&mut terminal, "1", "scripted is asked already.", 1);
    terminal.press("/model\r");
    terminal.wait_for("  2  anthropic/", 2);
    choose(&mut terminal, "2", "from here on anthropic/", 1);
    type_line(&mut terminal, "who?", "Me.", 1);
    type_line(&mut terminal, "/model anthropic/claude-haiku-4-5", "from here on anthropic/", 2);
    type_line(&mut terminal, "and who?", "And me.", 1);
    // A new session goes on with what was chosen.
    terminal.press("/new\r");
    terminal.wait_for("· anthropic/claude-haiku-4-5 ·", 1);
    terminal.wait_for_prompt();
    leave(terminal);
}

#[test]
fn another_session_is_gone_on_with_and_a_prompt_comes_back_with_its_files() {
    let home = Home::new(json!([
        {"text": "One."}, {"calls": [write("a.txt", "one\n")]}, {"text": "Two."}, {"text": "Three."},
    ]));
    let mut terminal = start(&home, &[]);
    type_line(&mut terminal, "the first", "done · 1 step", 1);
    type_line(&mut terminal, "write it 写", "done · 2 steps", 1);
    terminal.press("/rewind\r");
    terminal.wait_for("  1  write it 写\n  2  the first", 1);
    terminal.press("1\r");
    terminal.wait_for("  1  files and conversation", 1);
    terminal.press("1\r");
    terminal.wait_for("went back 1 turn", 1);
    assert!(!home.work().join("a.txt").exists());
    // The prompt stands in the line again.
    terminal.wait_until("the prompt", |screen| screen.ends_with("\n> write it 写"));
    terminal.press(" please\r");
    terminal.wait_for("Three.", 1);
    terminal.wait_for_prompt();
    assert_eq!(home.logged("user_message", "prompt")[2], "write it 写 please");
    type_line(&mut terminal, "/new", "Type what you want done.", 2);
    terminal.press("/resume\r");
    terminal.wait_for("Go on with:", 1);
    choose(&mut terminal, "1", "goes on after 2 turns", 1);
    type_line(&mut terminal, "/resume nobody", "there is no session `nobody`", 1);
    leave(terminal);
}

#[test]
fn a_command_of_ones_own_runs_and_the_model_is_shown_what_it_printed() {
    let home = Home::new(json!([{"text": "I see."}]));
    let mut terminal = start(&home, &[]);
    type_line(&mut terminal, "!printf 'forty %s' two; exit 3", "\nforty two\n! printf", 1);
    terminal.press("!sleep 300.0617\r");
    while !crate::terminal::is_running("sleep 300.0617") {
        std::thread::yield_now();
    }
    terminal.press("\x03");
    terminal.wait_for("! sleep 300.0617 signal 9", 1);
    terminal.wait_for_prompt();
    type_line(&mut terminal, "why?", "I see.", 1);
    leave(terminal);
    let message = home.logged("user_message", "message").remove(0).to_string();
    assert!(message.contains("(exit 3)") && message.contains("forty two"), "{message}");
}

#[test]
fn lines_that_are_typed_before_they_are_asked_for_are_kept() {
    let answers = ["One.", "Two.", "Three.", "Four."].map(|text| json!({ "text": text }));
    let home = Home::new(json!(answers));
    let mut terminal = start(&home, &[]);
    // With the line before: all of it is read at once.
    terminal.press("/changes\rfirst prompt\rsecond prompt\r");
    terminal.wait_for("Two.", 1);
    terminal.wait_for_prompt();
    // And while something else goes on.
    terminal.press("!touch started; until [ -e go ]; do sleep 0.01; done\r");
    while !home.work().join("started").exists() {
        std::thread::yield_now();
    }
    terminal.press("third prompt\rfourth prompt\r");
    terminal.wait_for("fourth prompt", 1);
    std::fs::write(home.work().join("go"), "").unwrap();
    terminal.wait_for("Four.", 1);
    terminal.wait_for_prompt();
    let prompts = ["first prompt", "second prompt", "third prompt", "fourth prompt"];
    assert_eq!(home.logged("user_message", "prompt"), prompts);
    leave(terminal);
}
