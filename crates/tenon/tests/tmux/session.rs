//! What stands on the screen, above it, and after the session.

use std::{path::Path, thread::sleep, time::Duration};

use libtest_mimic::Trial;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::{server::Tmux, terminal::Home};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        what_is_finished_stays_in_the_scrollback_after_the_session,
        a_window_of_another_size_has_one_live_part_and_keeps_what_is_finished,
        forty_columns_in_chinese_without_colours_and_the_cursor_behind_what_is_typed,
        the_colours_follow_the_background_that_the_terminal_tells,
        the_pager_has_a_screen_of_its_own_and_leaves_the_first_as_it_was,
        suspended_and_continued_it_draws_itself_again,
        stopped_from_outside_it_takes_the_terminal_again,
        a_signal_gives_the_terminal_back_and_after_a_kill_nothing_of_the_session_is_lost,
    ]
}

fn check_order(text: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let found = text[from..].find(part);
        from += found.unwrap_or_else(|| panic!("no {part:?} behind byte {from} of\n{text}"));
    }
}

fn run_of(command: &str) -> Value {
    json!([{"name": "bash", "arguments": {"command": command}}])
}

fn what_is_finished_stays_in_the_scrollback_after_the_session() {
    let words: String = (0..60).map(|n| format!("- point {n}\n")).collect();
    let home = Home::new(json!([
        {"text": "I **look**.", "calls": run_of("echo printed")},
        {"text": words},
        {"text": "第二个回答：汉字。"},
    ]));
    let tmux = Tmux::start_session(&home, (80, 20));
    tmux.type_line("look around");
    tmux.wait_for("done · 2 steps", 1);
    tmux.type_line("第二个问题");
    tmux.wait_for("done · 1 step", 1);
    tmux.press("C-d");
    tmux.check_given_back();
    let all = tmux.everything();
    check_order(
        &all,
        &[
            "> look around",
            "I look.",
            "┌─ bash echo printed",
            "│ printed",
            "• point 0",
            "• point 59",
            "done · 2 steps",
            "> 第二个问题",
            "第二个回答：汉字。",
            "done · 1 step",
        ],
    );
    for once in ["• point 7\n", "> look around", "I look.", "> 第二个问题"] {
        assert_eq!(all.matches(once).count(), 1, "{once:?} in\n{all}");
    }
    assert_eq!(home.logged("user_message", "prompt"), ["look around", "第二个问题"]);
}

fn a_window_of_another_size_has_one_live_part_and_keeps_what_is_finished() {
    let prose = "a word or two ".repeat(20);
    let home = Home::new(json!([
        {"text": prose, "calls": run_of("echo begun; sleep 3; echo ended")},
        {"text": "The end."},
    ]));
    let tmux = Tmux::start_session(&home, (100, 24));
    tmux.type_line("go");
    tmux.wait_for("│ begun", 1);
    for (columns, rows) in [(40, 24), (90, 12), (60, 30)] {
        tmux.resize(columns, rows);
        sleep(Duration::from_millis(300));
        let screen = tmux.screen();
        assert_eq!(screen.matches("Running bash").count(), 1, "{columns}:\n{screen}");
        assert_eq!(screen.matches("┌─ bash").count(), 1, "{columns}:\n{screen}");
    }
    tmux.wait_for("The end.", 1);
    tmux.press("C-d");
    tmux.check_given_back();
    // What the narrow screen broke is one line again.
    let all = tmux.everything_painted();
    let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(all.matches("a word or two").count(), 20, "{all}");
}

fn forty_columns_in_chinese_without_colours_and_the_cursor_behind_what_is_typed() {
    let home = Home::new(json!([
        {"text": "好的，先看看。", "calls": run_of("echo 汉字宽度")},
        {"text": "完成了：**全部**检查通过。"},
    ]));
    let tmux = Tmux::start(&home, (40, 30));
    tmux.start_program("LANG=C.UTF-8 LC_MESSAGES=zh_CN.UTF-8 NO_COLOR=1");
    tmux.type_text("你好");
    tmux.wait_for("> 你好", 1);
    assert_eq!(tmux.cursor(), "6 1");
    tmux.press("Left");
    tmux.wait_until("cursor", |_| tmux.cursor() == "4 1");
    tmux.press("Enter");
    tmux.wait_for("完成 · 2 步", 1);
    tmux.press("C-d");
    tmux.check_given_back();
    let painted = tmux.everything_painted();
    check_order(&painted, &["> 你好", "好的，先看看。", "│ 汉字宽度", "全部检查通过。"]);
    assert!(!painted.contains("\u{1b}["), "{painted:?}");
}

fn the_colours_follow_the_background_that_the_terminal_tells() {
    let home = Home::new(json!([{"text": "First."}]));
    for (background, done) in
        [("#ffffff", "38;5;22m"), ("#101418", "38;5;114m"), ("default", "32m")]
    {
        let tmux = Tmux::start(&home, (80, 30));
        tmux.set_background(background);
        tmux.start_program("");
        // The status line gets its colours when the answer comes.
        let theme = done.starts_with("38").then_some("38;5;");
        tmux.wait_until("colours", |_| {
            theme.is_none_or(|colour| tmux.everything_painted().contains(colour))
        });
        tmux.type_line("one");
        tmux.wait_for("done · 1 step", 1);
        tmux.press("C-d");
        tmux.check_given_back();
        let painted = tmux.everything_painted();
        assert!(painted.contains(&format!("{done}done")), "{background}: {painted:?}");
    }
}

fn the_pager_has_a_screen_of_its_own_and_leaves_the_first_as_it_was() {
    let prose = format!("{}needle-in-the-hay {}", "straw ".repeat(30), "straw ".repeat(300));
    let home = Home::new(json!([{"thinking": "hidden-thought", "text": prose}]));
    let tmux = Tmux::start_session(&home, (80, 20));
    tmux.type_line("search");
    tmux.wait_for("done · 1 step", 1);
    assert!(tmux.everything().contains("thought"), "{}", tmux.everything());
    assert!(!tmux.everything().contains("hidden-thought"));
    let before = tmux.screen();
    tmux.press("C-o");
    tmux.wait_for("100 %", 1);
    tmux.type_text("g");
    tmux.wait_for("hidden-thought", 1);
    tmux.type_line("/needle-in-the-HAY");
    tmux.wait_until("the line that was found", |screen| {
        screen.lines().next().is_some_and(|first| first.contains("needle-in-the-hay"))
    });
    tmux.type_line("/nowhere");
    tmux.wait_for("nowhere", 1);
    tmux.type_text("q");
    tmux.wait_until("the screen of before", |screen| screen == before);
    tmux.press("C-d");
    tmux.check_given_back();
}

fn suspended_and_continued_it_draws_itself_again() {
    let home = Home::new(json!([{"text": "First."}, {"text": "Second."}]));
    let tmux = Tmux::start_session(&home, (80, 30));
    tmux.type_line("one");
    tmux.wait_for("done · 1 step", 1);
    tmux.type_text("a draft");
    tmux.wait_for("> a draft", 1);
    tmux.press("C-z");
    tmux.wait_for("Stopped", 1);
    tmux.check_given_back();
    tmux.type_line("fg");
    tmux.wait_until("the draft", |screen| screen.contains("> a draft"));
    tmux.type_line(" goes on");
    tmux.wait_for("Second.", 1);
    tmux.press("C-d");
    tmux.check_given_back();
    assert_eq!(home.logged("user_message", "prompt"), ["one", "a draft goes on"]);
}

fn stopped_from_outside_it_takes_the_terminal_again() {
    let home = Home::new(json!([{"text": "First."}]));
    let tmux = Tmux::start_session(&home, (80, 30));
    kill_process(tmux.program(), Signal::STOP).unwrap();
    tmux.wait_for("Stopped", 1);
    tmux.type_line("stty sane; fg");
    sleep(Duration::from_millis(300));
    tmux.type_text("typed\n");
    tmux.type_line("again");
    tmux.wait_for("First.", 1);
    tmux.press("C-d");
    tmux.check_given_back();
    assert_eq!(home.logged("user_message", "prompt"), ["typed\nagain"]);
}

fn a_signal_gives_the_terminal_back_and_after_a_kill_nothing_of_the_session_is_lost() {
    let home = Home::new(json!([{"text": "Half", "calls": run_of("echo begun; sleep 30")}]));
    let tmux = Tmux::start(&home, (80, 30));
    for signal in [Signal::TERM, Signal::HUP, Signal::KILL] {
        tmux.type_line("clear");
        tmux.start_program("");
        tmux.type_line("go");
        tmux.wait_for("│ begun", 1);
        kill_process(tmux.program(), signal).unwrap();
        if signal == Signal::KILL {
            // Nothing can be done by who is not there any more; the shell's own word puts it right.
            tmux.wait_for("Killed", 1);
            tmux.type_line("stty sane; printf '\\033[?25h\\033[?2004l\\033[<u'");
        }
        tmux.check_given_back();
    }
    let sessions = std::fs::read_dir(home.state("sessions")).unwrap().filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "jsonl")
    });
    let logs: Vec<String> = sessions.map(|entry| read(&entry.unwrap().path())).collect();
    assert_eq!(logs.len(), 3);
    assert!(logs.iter().all(|log| log.contains("\"go\"") && log.contains("echo begun")));
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
