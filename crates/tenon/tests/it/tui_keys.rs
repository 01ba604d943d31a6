//! The composer of the interactive session on a real terminal.

use std::time::Duration;

use serde_json::json;

use crate::{
    skipped::skipped,
    terminal::{Home, Terminal},
    tui::{session, session_with},
};

const CTRL_D: &str = "\x04";
const CTRL_G: &str = "\x07";
const CTRL_R: &str = "\x12";
const CTRL_U: &str = "\x15";
const UP: &str = "\x1b[A";

fn leave(mut terminal: Terminal) {
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn several_lines_are_one_prompt_however_they_were_typed() {
    let home = Home::new(json!([{"text": "Read."}]));
    let mut terminal = session(&home);
    // Ctrl-J, a backslash, and Shift-Enter as the kitty keyboard protocol tells it.
    terminal.press("one\ntwo\\\rthree\x1b[13;2ufour");
    terminal.wait_for("four", 1);
    terminal.press("\r");
    terminal.wait_for("Read.", 1);
    leave(terminal);
    assert_eq!(home.logged("user_message", "prompt"), ["one\ntwo\nthree\nfour"]);
}

#[test]
fn a_large_paste_is_folded_and_sent_whole() {
    let home = Home::new(json!([{"text": "Read."}]));
    let mut terminal = session(&home);
    let block: String = (0..120).map(|n| format!("line {n}\n")).collect();
    terminal.press(&format!("see \x1b[200~{block}\x1b[201~ please"));
    terminal.wait_for("> see [paste 1: 120 lines] please", 1);
    terminal.press("\r");
    terminal.wait_for("Read.", 1);
    leave(terminal);
    let prompts = home.logged("user_message", "prompt");
    assert_eq!(prompts, [format!("see {block} please")]);
}

#[test]
fn history_goes_on_in_the_next_session_and_is_searched() {
    let home = Home::new(json!([{"text": "One."}]));
    let mut terminal = session(&home);
    terminal.press("the first prompt\r");
    terminal.wait_for("One.", 1);
    leave(terminal);
    let mut terminal = session(&home);
    terminal.press(UP);
    terminal.wait_for("> the first prompt", 1);
    terminal.press("\x15");
    terminal.press(CTRL_R);
    terminal.press("FIRST");
    terminal.wait_for("(search) FIRST · the first prompt", 1);
    terminal.press("\r");
    terminal.wait_for("> the first prompt", 1);
    terminal.press("\x15");
    leave(terminal);
}

#[test]
fn files_and_commands_are_completed() {
    let home = Home::new(json!([{"text": "Read."}]));
    std::fs::create_dir_all(home.work().join("src/deep")).unwrap();
    std::fs::create_dir_all(home.work().join("target")).unwrap();
    for (path, text) in [
        ("src/deep/说明.md", ""),
        ("src/main.rs", ""),
        ("target/main.o", ""),
        (".gitignore", "target\n"),
    ] {
        std::fs::write(home.work().join(path), text).unwrap();
    }
    let mut terminal = session(&home);
    terminal.press("look at @main");
    terminal.wait_for("@src/main.rs", 1);
    assert!(!terminal.screen().contains("main.o"), "{}", terminal.screen());
    terminal.press("\tand @说");
    terminal.wait_for("@src/deep/说明.md", 1);
    terminal.press("\t\r");
    terminal.wait_for("Read.", 1);
    terminal.press("/he");
    terminal.wait_for("shows this list", 1);
    terminal.press("\r");
    terminal.wait_for("Ctrl-J, Shift-Enter", 1);
    terminal.press("/nope\r");
    terminal.wait_for("There is no command /nope.", 1);
    leave(terminal);
    assert_eq!(
        home.logged("user_message", "prompt"),
        ["look at @src/main.rs and @src/deep/说明.md"]
    );
}

#[test]
fn a_command_of_ones_own_runs_and_the_model_is_shown_what_it_printed() {
    let home = Home::new(json!([{"text": "I see."}]));
    let mut terminal = session(&home);
    terminal.press("!echo $((40 + 2)); exit 3\r");
    terminal.wait_for("exit 3", 2);
    terminal.wait_for("│ 42", 1);
    terminal.press("why?\r");
    terminal.wait_for("I see.", 1);
    assert!(terminal.screen().contains("> why?"), "{}", terminal.screen());
    leave(terminal);
    assert_eq!(home.logged("user_message", "prompt"), ["why?"]);
    let message = home.logged("user_message", "message").remove(0);
    let texts = message["content"].as_array().unwrap().iter().map(|block| &block["text"]);
    assert_eq!(
        texts.collect::<Vec<_>>(),
        ["I ran `echo $((40 + 2)); exit 3` myself (exit 3):\n```\n42\n```", "why?"]
    );
}

#[test]
fn the_editor_gets_the_terminal_and_the_draft_and_gives_both_back() {
    let home = Home::new(json!([{"text": "Read."}]));
    let editor = home.work().join("edit");
    std::fs::write(
        &editor,
        "#!/bin/sh\nstty -a | grep -q ' icanon' && printf ' cooked' >> \"$1\"\n",
    )
    .unwrap();
    let mut mode = std::fs::metadata(&editor).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&editor, mode).unwrap();
    let editor = editor.display().to_string();
    let mut terminal = session_with(&home, (80, 60), &[("EDITOR", &editor)]);
    terminal.press("a draft");
    terminal.press(CTRL_G);
    terminal.wait_for("> a draft cooked", 1);
    terminal.press("\r");
    terminal.wait_for("Read.", 1);
    leave(terminal);
    assert_eq!(home.logged("user_message", "prompt"), ["a draft cooked"]);
}

#[test]
fn no_list_of_processes_shows_secrets_and_the_editor_has_them() {
    const KEY: &str = "k-0a1b2c3d4e5f6g7h";
    let home = Home::new(json!([]));
    let editor = home.work().join("edit");
    let script = format!("#!/bin/sh\n[ \"$MY_API_KEY\" = {KEY} ] && printf ' has it' >> \"$1\"\n");
    std::fs::write(&editor, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&editor, mode).unwrap();
    let editor = editor.display().to_string();
    let environment = [("A_NAME", "a"), ("MY_API_KEY", KEY), ("Z_NAME", "z"), ("EDITOR", &editor)];
    let mut terminal = session_with(&home, (80, 60), &environment);
    match std::fs::read(format!("/proc/{}/environ", terminal.process_id())) {
        Ok(shown) => {
            let shown = String::from_utf8(shown).unwrap();
            assert!(!shown.contains(KEY), "{shown:?}");
            let others = ["MY_API_KEY=\0", "A_NAME=a\0", "Z_NAME=z\0"];
            assert!(others.iter().all(|other| shown.contains(other)), "{shown:?}");
        }
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
            skipped("only root looks into a program that holds keys");
        }
    }
    terminal.press("draft");
    terminal.press(CTRL_G);
    terminal.wait_for("> draft has it", 1);
    terminal.press(CTRL_U);
    leave(terminal);
}

#[test]
fn an_editor_that_a_folder_of_the_session_has_is_not_started_and_its_path_is_told() {
    let home = Home::new(json!([{"text": "Read."}]));
    let editor = home.work().join("my-editor");
    std::fs::write(&editor, "#!/bin/sh\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&editor, executable).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.work().display());
    let environment = [("EDITOR", "my-editor -w"), ("PATH", &path)];
    let mut terminal = session_with(&home, (240, 60), &environment);
    terminal.press("a draft");
    terminal.press(CTRL_G);
    terminal.wait_for("my-editor is on PATH in a folder of the session", 1);
    terminal.wait_for(&format!("named as {} it would start", editor.display()), 1);
    terminal.wait_for("> a draft", 1);
    terminal.press("\r");
    terminal.wait_for("Read.", 1);
    leave(terminal);
}

#[test]
fn a_new_session_begins_on_the_same_screen() {
    let home = Home::new(json!([{"text": "One."}]));
    let mut terminal = session(&home);
    terminal.press("one\r");
    terminal.wait_for("One.", 1);
    terminal.press("/new\r");
    terminal.wait_for("Enter sends", 2);
    std::thread::sleep(Duration::from_millis(50));
    leave(terminal);
}

#[test]
fn what_is_typed_behind_the_command_that_ends_a_session_is_for_the_next() {
    let home = Home::new(json!([{"text": "One."}, {"text": "Two."}]));
    let mut terminal = session_with(&home, (80, 150), &[]);
    terminal.press("one\r");
    terminal.wait_for("done · 1 step", 1);
    // At once, and in the middle of the change of sessions.
    for (number, pause) in [0, 1, 3, 10, 20, 40, 80].into_iter().enumerate() {
        let said = format!("word {number}\r");
        if pause == 0 {
            terminal.press(&format!("/new\r{said}"));
        } else {
            terminal.press("/new\r");
            std::thread::sleep(Duration::from_millis(pause));
            terminal.press(&said);
        }
        terminal.wait_for("done · 1 step", number + 2);
    }
    terminal.press("/new\r/new\r/resume last\rlast\r");
    terminal.wait_until("answer to the last", |screen| {
        screen.split_once("> last\n").is_some_and(|(_, rest)| rest.contains("done · 1 step"))
    });
    leave(terminal);
    let logs = std::fs::read_dir(home.state("sessions")).unwrap();
    let logs = logs.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default());
    let logs: String = logs.collect();
    let words = (0..7).map(|number| format!("word {number}"));
    for prompt in words.chain(["one".to_owned(), "last".to_owned()]) {
        assert_eq!(logs.matches(&format!("\"prompt\":\"{prompt}\"")).count(), 1, "{prompt}");
    }
}

#[test]
fn that_there_are_no_walls_is_red_at_the_prompt_and_on_the_transcripts_screen() {
    const RED: &str = "\x1b[31mno walls\x1b";
    let home = Home::new(json!([{"text": "Done."}]));
    let mut terminal = Terminal::start_sized(&home, &["--sandbox", "off"], (80, 20), &[]);
    terminal.wait_for("no walls · scripted", 1);
    assert!(terminal.raw().contains(RED), "{:?}", terminal.raw());
    terminal.press("\x0f");
    terminal.wait_for("q closes", 1);
    let raw = terminal.raw();
    let (_, of_screen) = raw.split_once("\x1b[?1049h").unwrap();
    assert!(of_screen.contains(RED), "{of_screen:?}");
    terminal.press("q\x04");
    assert_eq!(terminal.exit_code(), 0);
}
