//! Lines from the terminal: rustyline's editing and history, read beside the program.

#![expect(clippy::disallowed_methods, reason = "the history file is opened outside tenon-sandbox")]

use std::{
    fs::OpenOptions,
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustyline::{
    Config, Editor, Helper,
    completion::Completer,
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::FileHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};

/// What stands in front of the line that is being typed.
const PROMPT: &str = "> ";
/// Prompts that are kept in the history file.
pub(crate) const HISTORY_LINES_MAX: usize = 1_000;

/// What came from the terminal.
pub(super) enum Line {
    Text(String),
    /// Ctrl-C: the line is thrown away.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The line editor, whose blocking read runs beside the program.
pub(super) struct Lines {
    editor: Option<Editor<Joining, FileHistory>>,
    history: Option<PathBuf>,
    /// What the next line begins with.
    draft: String,
}

/// Joins lines that end in a backslash; nothing else of rustyline's helpers is used.
struct Joining;

impl Lines {
    /// Returns the editor, and why prompts are not kept if they are not.
    pub(super) fn new(history: Option<PathBuf>) -> rustyline::Result<(Self, Option<String>)> {
        let config = Config::builder()
            .max_history_size(HISTORY_LINES_MAX)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .bracketed_paste(true)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Joining));
        let mut lines = Self { editor: None, history, draft: String::new() };
        let opened = match &lines.history {
            Some(path) => create_private(path)
                .map_err(ReadlineError::from)
                .and_then(|()| editor.load_history(path)),
            None => Ok(()),
        };
        lines.editor = Some(editor);
        let warning = opened.err().map(|error| error.to_string());
        if warning.is_some() {
            lines.history = None;
        }
        Ok((lines, warning))
    }

    /// Waits for the next line, which begins with the draft if there is one.
    pub(super) async fn next(&mut self) -> Line {
        let draft = std::mem::take(&mut self.draft);
        let line = self.read(PROMPT.to_owned(), draft).await;
        if let Line::Text(line) = &line {
            self.remember(line);
        }
        line
    }

    /// Waits for an answer to `prompt`, which is no part of the history.
    pub(super) async fn ask(&mut self, prompt: &str) -> Line {
        self.read(prompt.to_owned(), String::new()).await
    }

    /// Has the next line begin with `text`.
    pub(super) fn set_draft(&mut self, text: &str) {
        self.draft = text.to_owned();
    }

    async fn read(&mut self, prompt: String, draft: String) -> Line {
        let Some(mut editor) = self.editor.take() else { return Line::End };
        let read = tokio::task::spawn_blocking(move || {
            let line = editor.readline_with_initial(&prompt, (&draft, ""));
            (editor, line)
        })
        .await;
        let Ok((editor, line)) = read else { return Line::End };
        self.editor = Some(editor);
        match line {
            Ok(line) => Line::Text(line),
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        }
    }

    fn remember(&mut self, line: &str) {
        let Some(editor) = &mut self.editor else { return };
        // A history that cannot be written any more is no reason to stop working.
        if editor.add_history_entry(line).unwrap_or(false)
            && let Some(path) = &self.history
        {
            let _ = editor.append_history(path);
        }
    }
}

/// Makes sure that `path` exists, for its owner alone: prompts may hold anything.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
}

impl Validator for Joining {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        Ok(match context.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Completer for Joining {
    type Candidate = String;
}

impl Hinter for Joining {
    type Hint = String;
}

impl Highlighter for Joining {}

impl Helper for Joining {}
