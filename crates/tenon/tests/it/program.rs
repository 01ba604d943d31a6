//! The real program in a home and a workspace of its own.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

/// A home folder and a workspace beneath one temporary folder.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) error: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(place.path("home")).unwrap();
        std::fs::create_dir_all(place.path("work")).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn config(&self, text: &str) {
        self.write("home/.config/tenon/config.toml", text);
    }

    /// Writes a script of turns and returns what `--model` takes for it.
    pub(crate) fn script(&self, turns: Value) -> String {
        let path = self.write("script.json", &json!({ "turns": turns }).to_string());
        format!("scripted:{}", path.display())
    }

    /// Returns the program in the workspace, with nothing in its environment but home and path.
    pub(crate) fn tenon(&self, arguments: &[&str]) -> Command {
        self.program(env!("CARGO_BIN_EXE_tenon"), arguments)
    }

    /// Returns tenon, started by another program with `flags` of its own.
    pub(crate) fn tenon_by(&self, program: &str, flags: &[&str], arguments: &[&str]) -> Command {
        self.program(program, &[flags, &[env!("CARGO_BIN_EXE_tenon")], arguments].concat())
    }

    /// Returns a program as it is started here, in the workspace.
    pub(crate) fn program(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path("work"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.tenon(arguments).output().unwrap())
    }

    /// Runs the program, and kills it (SIGKILL) once there is a file `sign`.
    pub(crate) fn run_and_kill(&self, arguments: &[&str], sign: &str) {
        let mut command = self.tenon(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !self.path(sign).exists() {
            assert_eq!(child.try_wait().unwrap(), None, "it ended before there was {sign}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Runs the program with `input` on its standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.tenon(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that refuses its arguments does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Run::of(child.wait_with_output().unwrap())
    }

    /// Has a model run these commands one by one, in a program with these arguments and changed by `with`, and
    /// returns their results; `None` where it ends with 3, for the tier cannot be had.
    pub(crate) fn results_of<'a>(
        &self,
        commands: impl Iterator<Item = &'a str>,
        arguments: &[&str],
        with: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Option<Vec<String>> {
        let mut turns: Vec<Value> = commands
            .map(|command| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]}))
            .collect();
        let count = turns.len();
        turns.push(json!({"text": "done"}));
        let script = self.script(turns.into());
        let output = ["--output-format", "stream-json", "--model", &script, "go"];
        let run = with(&mut self.tenon(&[arguments, &output].concat())).output().unwrap();
        let run = Run::of(run);
        if run.status == 3 {
            return None;
        }
        let run = run.ends_with(0);
        let events = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let results = events.filter(|event| event["type"] == "tool_result");
        let results: Vec<String> =
            results.map(|event| event["content"].as_str().unwrap().to_owned()).collect();
        assert_eq!(results.len(), count, "{results:?}");
        Some(results)
    }

    /// Returns the text of every session's log.
    pub(crate) fn logs(&self) -> String {
        files_beneath(&self.path("home/.local/state/tenon/sessions"))
            .iter()
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect()
    }
}

/// Checks that a result tells one wall, with these words, or none.
#[track_caller]
pub(crate) fn check_only_wall(what: &str, result: &str, words: Option<&str>) {
    let walls: Vec<&str> = result.lines().filter(|line| line.starts_with("[walls]")).collect();
    match (words, walls.as_slice()) {
        (Some(words), [only]) => assert!(only.contains(words), "{what}: {result}"),
        (words, walls) => assert!(words.is_none() && walls.is_empty(), "{what}: {result}"),
    }
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            error: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn ends_with(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Checks that standard error speaks of each of `words`.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.error.contains(word), "{word}: {self:?}");
        }
        self
    }
}

pub(crate) fn files_beneath(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect()
}
