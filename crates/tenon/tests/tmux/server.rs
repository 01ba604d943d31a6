//! A tmux server with one window and a shell with job control in it, as at home.

use std::{
    path::PathBuf,
    process::{Command, Output},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::Pid;

use crate::terminal::Home;

/// A test that waits longer for a text has failed.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the shell says when it waits.
const SHELL: &str = "shell% ";
const SHELL_COMMAND: &str = "bash --norc --noprofile -i";

/// Returns whether there is a tmux.
pub(crate) fn is_there() -> bool {
    Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success())
}

/// A tmux server of its own with one window.
pub(crate) struct Tmux<'a> {
    home: &'a Home,
    folder: tempfile::TempDir,
}

impl<'a> Tmux<'a> {
    /// Starts a shell on a screen of so many columns and rows.
    pub(crate) fn start(home: &'a Home, (columns, rows): (u16, u16)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tmux = Self { home, folder };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        tmux.run(&["new-session", "-d", "-x", &columns, "-y", &rows, SHELL_COMMAND]);
        tmux.run(&["set-option", "-g", "history-limit", "5000"]);
        tmux.prepare_shell();
        tmux
    }

    /// The same with the program in it.
    pub(crate) fn start_session(home: &'a Home, size: (u16, u16)) -> Self {
        let tmux = Self::start(home, size);
        tmux.start_program("");
        tmux
    }

    /// Gives the screen a background that tmux tells who asks for it, and starts the shell anew.
    pub(crate) fn set_background(&self, colour: &str) {
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
    pub(crate) fn start_program(&self, before: &str) {
        let words = self.home.arguments(&[]);
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let script = self.folder.path().join("start");
        let program = env!("CARGO_BIN_EXE_tenon");
        // From a file, so that the line that is typed is short on every screen.
        std::fs::write(&script, format!("{before} '{program}' {}\n", words.join(" "))).unwrap();
        self.type_line(&format!(". {}", script.display()));
        // The status line stands alone where the welcome has scrolled away.
        self.wait_until("the status line", |screen| {
            screen.lines().last().is_some_and(|last| last.starts_with("scripted"))
        });
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
    pub(crate) fn type_text(&self, text: &str) {
        self.run(&["send-keys", "-l", "--", text]);
    }

    /// Presses a key by tmux's name for it.
    pub(crate) fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    /// Pastes text as a terminal does: marked where the program wants that.
    pub(crate) fn paste(&self, text: &str) {
        self.run(&["set-buffer", "--", text]);
        self.run(&["paste-buffer", "-p", "-d"]);
    }

    pub(crate) fn type_line(&self, text: &str) {
        self.type_text(text);
        self.press("Enter");
    }

    pub(crate) fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"]).trim_end().to_owned()
    }

    /// What stands on the screen and above it.
    pub(crate) fn everything(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-"]).trim_end().to_owned()
    }

    /// The same with lines that the screen broke joined again, and with colours.
    pub(crate) fn everything_painted(&self) -> String {
        self.run(&["capture-pane", "-p", "-e", "-J", "-S", "-"])
    }

    pub(crate) fn cursor(&self) -> String {
        let said = self.run(&["display-message", "-p", "#{cursor_x} #{cursor_flag}"]);
        said.trim_end().to_owned()
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    pub(crate) fn wait_until(&self, what: &str, is_there: impl Fn(&str) -> bool) {
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

    pub(crate) fn wait_for(&self, text: &str, times: usize) {
        self.wait_until(text, |screen| screen.matches(text).count() >= times);
    }

    /// Waits until the shell has the terminal again.
    pub(crate) fn wait_for_shell(&self) {
        self.wait_until("shell", |screen| screen.ends_with(SHELL.trim_end()));
    }

    /// Checks that the terminal is as a shell wants it: lines, an echo, a cursor, no raw keys.
    pub(crate) fn check_given_back(&self) {
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
    pub(crate) fn program(&self) -> Pid {
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
