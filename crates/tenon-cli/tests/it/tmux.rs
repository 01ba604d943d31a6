//! The interactive session in tmux: keys typed in, what stands on the screen and above it out. A
//! shell with job control is around it, as at home, so that what is left behind shows.
//!
//! Where tmux is not there, each test says that it was skipped.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::terminal::Home;

/// A test that waits longer for a text has failed.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the shell says when it waits.
const SHELL: &str = "shell% ";
const SHELL_COMMAND: &str = "bash --norc --noprofile -i";

/// A tmux server of its own with one window.
struct Tmux<'a> {
    home: &'a Home,
    folder: tempfile::TempDir,
}

impl<'a> Tmux<'a> {
    /// Starts a shell on a screen of so many columns and rows; nothing where there is no tmux.
    fn start(home: &'a Home, (columns, rows): (u16, u16)) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            println!("skipped: there is no tmux here");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let tmux = Self { home, folder };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        tmux.run(&["new-session", "-d", "-x", &columns, "-y", &rows, SHELL_COMMAND]);
        tmux.run(&["set-option", "-g", "history-limit", "5000"]);
        tmux.prepare_shell();
        Some(tmux)
    }

    /// Gives the screen a background that tmux tells who asks for it, and starts the shell anew.
    fn set_background(&self, colour: &str) {
        self.run(&["set-option", "-g", "default-terminal", "tmux-256color"]);
        self.run(&["set-option", "-g", "window-style", &format!("bg={colour}")]);
        self.run(&["respawn-pane", "-k", SHELL_COMMAND]);
        self.prepare_shell();
    }

    fn prepare_shell(&self) {
        self.type_line(&format!("PS1='{SHELL}'; unset NO_COLOR; clear"));
        self.wait_until("a shell", |screen| screen.trim_end() == SHELL.trim_end());
    }

    /// Starts the program from the shell, with `before` in front of it.
    fn start_program(&self, before: &str) {
        let words = self.home.arguments(&[]);
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let script = self.folder.path().join("start");
        let program = env!("CARGO_BIN_EXE_tenon");
        // From a file, so that the line that is typed is short on every screen.
        std::fs::write(&script, format!("{before} '{program}' {}\n", words.join(" "))).unwrap();
        self.type_line(&format!(". {}", script.display()));
        self.wait_for("scripted", 2);
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn run(&self, arguments: &[&str]) -> String {
        let home = self.home.environment();
        let output: Output = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(self.socket())
            .args(arguments)
            .env_clear()
            .envs(home.into_iter().filter(|(name, _)| *name != "TERM"))
            .output()
            .unwrap();
        let failed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {failed}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Types text as it is.
    fn type_text(&self, text: &str) {
        self.run(&["send-keys", "-l", "--", text]);
    }

    /// Presses a key by tmux's name for it.
    fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    fn type_line(&self, text: &str) {
        self.type_text(text);
        self.press("Enter");
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"]).trim_end().to_owned()
    }

    /// What stands on the screen and above it.
    fn everything(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-"]).trim_end().to_owned()
    }

    /// The same with lines that the screen broke joined again, and with colours.
    fn everything_painted(&self) -> String {
        self.run(&["capture-pane", "-p", "-e", "-J", "-S", "-"])
    }

    fn cursor(&self) -> String {
        let said = self.run(&["display-message", "-p", "#{cursor_x} #{cursor_flag}"]);
        said.trim_end().to_owned()
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    fn wait_until(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return;
            }
            assert!(Instant::now() < deadline, "no {what} on\n{screen}");
            sleep(Duration::from_millis(20));
        }
    }

    fn wait_for(&self, text: &str, times: usize) {
        self.wait_until(text, |screen| screen.matches(text).count() >= times);
    }

    /// Waits until the shell has the terminal again.
    fn wait_for_shell(&self) {
        self.wait_until("shell", |screen| screen.ends_with(SHELL.trim_end()));
    }

    /// Checks that the terminal is as a shell wants it: lines, an echo, a cursor, no raw keys.
    fn check_given_back(&self) {
        self.wait_for_shell();
        let out = self.folder.path().join("stty");
        let before = self.screen().matches("of-the-shell").count();
        self.type_line(&format!("stty -a > {}; echo of-the-shell", out.display()));
        self.wait_for("of-the-shell", before + 2);
        let modes = std::fs::read_to_string(out).unwrap();
        for mode in ["icanon", "echo", "isig", "opost", "icrnl"] {
            assert!(modes.split_whitespace().any(|word| word == mode), "no {mode} in {modes}");
        }
        assert!(self.cursor().ends_with(" 1"), "the cursor is hidden");
        let flags = self.run(&["display-message", "-p", "#{alternate_on}"]);
        assert_eq!(flags.trim_end(), "0", "the other screen is shown");
    }

    /// The process of the program.
    fn program(&self) -> Pid {
        let shell = self.run(&["display-message", "-p", "#{pane_pid}"]);
        let children = format!("/proc/{0}/task/{0}/children", shell.trim_end());
        let children = std::fs::read_to_string(children).unwrap();
        let child = children.split_whitespace().next().unwrap();
        Pid::from_raw(child.parse().unwrap()).unwrap()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let mut end = Command::new("tmux");
        let _ = end.arg("-S").arg(self.socket()).arg("kill-server").output();
    }
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

#[test]
fn what_is_finished_stays_in_the_scrollback_after_the_session() {
    let words: String = (0..60).map(|n| format!("- point {n}\n")).collect();
    let home = Home::new(json!([
        {"text": "I **look**.", "calls": run_of("echo printed")},
        {"text": words},
        {"text": "第二个回答：汉字。"},
    ]));
    let Some(tmux) = Tmux::start(&home, (80, 20)) else { return };
    tmux.start_program("");
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

#[test]
fn a_window_of_another_size_has_one_live_part_and_keeps_what_is_finished() {
    let prose = "a word or two ".repeat(20);
    let home = Home::new(json!([
        {"text": prose, "calls": run_of("echo begun; sleep 3; echo ended")},
        {"text": "The end."},
    ]));
    let Some(tmux) = Tmux::start(&home, (100, 24)) else { return };
    tmux.start_program("");
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

#[test]
fn forty_columns_in_chinese_without_colours_and_the_cursor_behind_what_is_typed() {
    let home = Home::new(json!([
        {"text": "好的，先看看。", "calls": run_of("echo 汉字宽度")},
        {"text": "完成了：**全部**检查通过。"},
    ]));
    let Some(tmux) = Tmux::start(&home, (40, 30)) else { return };
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

#[test]
fn the_colours_follow_the_background_that_the_terminal_tells() {
    let home = Home::new(json!([{"text": "First."}]));
    for (background, done) in
        [("#ffffff", "38;5;22m"), ("#101418", "38;5;114m"), ("default", "32m")]
    {
        let Some(tmux) = Tmux::start(&home, (80, 30)) else { return };
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

#[test]
fn the_pager_has_a_screen_of_its_own_and_leaves_the_first_as_it_was() {
    let prose = format!("{}needle-in-the-hay {}", "straw ".repeat(30), "straw ".repeat(300));
    let home = Home::new(json!([{"thinking": "hidden-thought", "text": prose}]));
    let Some(tmux) = Tmux::start(&home, (80, 20)) else { return };
    tmux.start_program("");
    tmux.type_line("search");
    tmux.wait_for("done · 1 step", 1);
    assert!(tmux.everything().contains("thought for "), "{}", tmux.everything());
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

#[test]
fn suspended_and_continued_it_draws_itself_again() {
    let home = Home::new(json!([{"text": "First."}, {"text": "Second."}]));
    let Some(tmux) = Tmux::start(&home, (80, 30)) else { return };
    tmux.start_program("");
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

#[test]
fn stopped_from_outside_it_takes_the_terminal_again() {
    let home = Home::new(json!([{"text": "First."}]));
    let Some(tmux) = Tmux::start(&home, (80, 30)) else { return };
    tmux.start_program("");
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

#[test]
fn a_signal_gives_the_terminal_back_and_after_a_kill_nothing_of_the_session_is_lost() {
    let home = Home::new(json!([{"text": "Half", "calls": run_of("echo begun; sleep 30")}]));
    let Some(tmux) = Tmux::start(&home, (80, 30)) else { return };
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
