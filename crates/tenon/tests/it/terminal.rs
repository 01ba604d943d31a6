//! The real program on a real terminal: a pty, with a vt100 screen that reads along.

use std::{
    io::{Read, Write},
    num::NonZero,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};

/// Rows enough for a whole test, so that nothing scrolls away.
const ROWS: u16 = 120;
/// Rows that are kept above the screen.
const SCROLLBACK_ROWS: usize = 1_000;
/// A test that waits longer for a text has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A home folder with a workspace and a script for the model.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    model: Option<String>,
}

/// A program that runs on a terminal.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    seen: Arc<Mutex<Seen>>,
    reading: Option<JoinHandle<()>>,
    master: Box<dyn MasterPty + Send>,
    columns: u16,
    rows: u16,
}

struct Seen {
    raw: Vec<u8>,
    screen: vt100::Parser,
}

impl Home {
    /// Returns a home whose model says `turns`, one after another.
    pub(crate) fn new(turns: Value) -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap(), model: None };
        std::fs::create_dir(home.work()).unwrap();
        std::fs::write(home.script(), json!({ "turns": turns }).to_string()).unwrap();
        home
    }

    /// Returns a home whose model is another one.
    pub(crate) fn asking(model: &str) -> Self {
        Self { model: Some(model.to_owned()), ..Self::new(json!([])) }
    }

    /// Returns the workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes the configuration file.
    pub(crate) fn config(&self, text: &str) {
        let folder = self.folder.path().join(".config/tenon");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// Returns the arguments that choose the script and the workspace, and `more`.
    pub(crate) fn arguments(&self, more: &[&str]) -> Vec<String> {
        let scripted = || format!("scripted:{}", self.script().display());
        let model = self.model.clone().unwrap_or_else(scripted);
        let work = self.work().display().to_string();
        let more = more.iter().map(|argument| (*argument).to_owned());
        ["--model".into(), model, "--cwd".into(), work].into_iter().chain(more).collect()
    }

    /// Returns the environment of the program.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("HOME", self.folder.path().display().to_string()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
        ]
    }

    /// Returns a file beneath tenon's state folder.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.folder.path().join(".local/state/tenon").join(name)
    }

    /// Returns the events of the only session.
    pub(crate) fn log(&self) -> Vec<Value> {
        let logs: Vec<PathBuf> = std::fs::read_dir(self.state("sessions"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        assert_eq!(logs.len(), 1, "{logs:?}");
        let text = std::fs::read_to_string(&logs[0]).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns `field` of each event of `kind` in the log.
    pub(crate) fn logged(&self, kind: &str, field: &str) -> Vec<Value> {
        let log = self.log();
        log.iter().filter(|event| event["type"] == kind).map(|event| event[field].clone()).collect()
    }

    fn script(&self) -> PathBuf {
        self.folder.path().join("script.json")
    }
}

impl Terminal {
    /// Starts the program with `arguments` on a terminal of `columns`; `environment` is added.
    pub(crate) fn start(
        home: &Home,
        arguments: &[&str],
        columns: u16,
        environment: &[(&str, &str)],
    ) -> Self {
        Self::start_sized(home, arguments, (columns, ROWS), environment)
    }

    /// Starts the program on a terminal of so many columns and rows.
    pub(crate) fn start_sized(
        home: &Home,
        arguments: &[&str],
        (columns, rows): (u16, u16),
        environment: &[(&str, &str)],
    ) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pty = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(Path::new(env!("CARGO_BIN_EXE_tenon")));
        command.args(home.arguments(arguments));
        command.env_clear();
        for (name, value) in home.environment() {
            command.env(name, value);
        }
        for (name, value) in environment {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        let size = |n| NonZero::new(n).unwrap();
        let screen = vt100::Parser::new(size(rows), size(columns), SCROLLBACK_ROWS);
        let seen = Arc::new(Mutex::new(Seen { raw: Vec::new(), screen }));
        let mut output = pty.master.try_clone_reader().unwrap();
        let keyboard = pty.master.take_writer().unwrap();
        let reading = std::thread::spawn({
            let seen = Arc::clone(&seen);
            move || {
                let mut bytes = [0; 4096];
                // Linux answers with an error once the last program on the terminal is gone.
                while let Ok(read @ 1..) = output.read(&mut bytes) {
                    let mut seen = seen.lock().unwrap();
                    seen.raw.extend_from_slice(&bytes[..read]);
                    seen.screen.process(&bytes[..read]);
                }
            }
        });
        let reading = Some(reading);
        Self { child, keyboard, seen, reading, master: pty.master, columns, rows }
    }

    /// Types `keys`.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits until `text` stands on the screen `times` times.
    pub(crate) fn wait_for(&mut self, text: &str, times: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.screen().matches(text).count() < times {
            assert!(Instant::now() < deadline, "no {text:?} on\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen is as it should be.
    pub(crate) fn wait_until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_there(&self.screen()) {
            assert!(Instant::now() < deadline, "no {what} on\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the turn is over whose answer is `said` and the next prompt is waited for: a key
    /// that would leave is lost if it comes before the line editor has the terminal.
    pub(crate) fn wait_for_turn(&mut self, said: &str) {
        let has_prompt = |rest: &str| rest.lines().any(|line| line.starts_with('>'));
        let is_over = |rest: &str| rest.split_once("done · ").is_some_and(|it| has_prompt(it.1));
        self.wait_until(said, |screen| screen.split_once(said).is_some_and(|it| is_over(it.1)));
    }

    /// Goes through the pages of the screen on which everything is shown, each drawn.
    pub(crate) fn page_to_the_end(&mut self) {
        self.wait_for(" % ·", 1);
        while !self.screen().contains("100 % ·") {
            let before = self.screen();
            self.press(" ");
            self.wait_until("next page", |screen| screen != before);
        }
    }

    /// Waits until an empty prompt is the last line: what is typed before it may not be a line yet.
    pub(crate) fn wait_for_prompt(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.screen().ends_with("\n>") {
            assert!(Instant::now() < deadline, "no prompt at the end of\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the program's end and returns its exit code.
    pub(crate) fn exit_code(&mut self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "still running:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
        if let Some(reading) = self.reading.take() {
            reading.join().unwrap();
        }
        self.child.wait().unwrap().exit_code()
    }

    /// Returns what stands on the screen.
    pub(crate) fn screen(&self) -> String {
        let rows: Vec<String> =
            self.seen.lock().unwrap().screen.screen().rows(0, self.columns).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Returns what stands on the screen and above it.
    pub(crate) fn everything(&self) -> String {
        let mut seen = self.seen.lock().unwrap();
        let screen = seen.screen.screen_mut();
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback();
        let mut rows = Vec::new();
        for offset in (0..=above).rev() {
            screen.set_scrollback(offset);
            let visible: Vec<String> = screen.rows(0, self.columns).collect();
            let take = if offset == 0 { visible.len() } else { 1 };
            rows.extend(visible.into_iter().take(take));
        }
        screen.set_scrollback(0);
        rows.join("\n").trim_end().to_owned()
    }

    /// Returns the row and the column of the cursor; nothing if it is hidden.
    pub(crate) fn cursor(&self) -> Option<(u16, u16)> {
        let seen = self.seen.lock().unwrap();
        let screen = seen.screen.screen();
        (!screen.hide_cursor()).then(|| screen.cursor_position())
    }

    /// Changes the size of the terminal, which cuts its lines.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let mut seen = self.seen.lock().unwrap();
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).unwrap();
        let cells = |n| NonZero::new(n).unwrap();
        seen.screen.screen_mut().set_size(cells(rows), cells(columns));
        drop(seen);
        (self.columns, self.rows) = (columns, rows);
    }

    /// Returns the id of the program's process.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Returns whether the terminal gives whole lines and shows what is typed.
    pub(crate) fn is_cooked(&self) -> bool {
        let modes = format!("{:?}", self.master.get_termios().unwrap().local_flags);
        modes.contains("ICANON") && modes.contains("ECHO")
    }

    /// Returns every byte that the terminal got.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap().raw).into_owned()
    }

    /// Checks that every box on the screen has its right edge in the last column.
    pub(crate) fn check_straight(&self) {
        let seen = self.seen.lock().unwrap();
        let screen = seen.screen.screen();
        let cell = |row, column| {
            screen.cell(row, column).map(|cell| cell.contents().to_owned()).unwrap_or_default()
        };
        let mut rows = 0;
        for row in 0..self.rows {
            if ["┌", "│", "├", "└"].contains(&cell(row, 0).as_str()) {
                let edge = cell(row, self.columns - 1);
                assert!(["┐", "│", "┤", "┘"].contains(&edge.as_str()), "row {row}: {edge:?}");
                rows += 1;
            }
        }
        assert!(rows > 0, "no box");
    }
}

/// Returns whether a process whose command line begins with `words` is alive.
pub(crate) fn is_running(words: &str) -> bool {
    let words = words.replace(' ', "\0");
    std::fs::read_dir("/proc").unwrap().any(|entry| {
        let command = entry.unwrap().path().join("cmdline");
        std::fs::read_to_string(command).is_ok_and(|line| line.starts_with(&words))
    })
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
