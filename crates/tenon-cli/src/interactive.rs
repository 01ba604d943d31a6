//! One prompt after another in one session, in plain lines: for every terminal, also a dumb one,
//! and for screen readers.
//!
//! Line editing and history are rustyline's. A turn's Ctrl-C comes back to the prompt.

#![expect(clippy::disallowed_methods, reason = "the history file is opened outside tenon-sandbox")]

mod undo;

use std::{
    fs::OpenOptions,
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use rustyline::{
    Config, Editor, Helper,
    completion::Completer,
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::FileHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};
use tenon_agent::{Agent, AgentOptions, Answer, FrontEnd, LogError, Prompt, Question, Update};
use tenon_model::{ToolSpec, visible};

use self::undo::Asked;
use crate::{
    config::RuleBook,
    error::ExitStatus,
    headless::carry_out,
    images::Pictures,
    jobs,
    past::{Past, Wish},
    question,
    render::failure,
    resume,
    screen::{Look, Screen, Sink, print_error},
    signals::Interrupts,
    texts::{Language, Text},
};

/// What stands in front of the line that is being typed.
const PROMPT: &str = "> ";
/// Prompts that are kept in the history file.
pub(crate) const HISTORY_LINES_MAX: usize = 1_000;

/// Behind `/compact`: the last compaction is undone.
pub(crate) const UNDO_COMPACTION: &str = "undo";

/// What can be typed besides prompts.
const COMMANDS: [(&str, Command, Text); 9] = [
    ("/help", Command::Help, Text::HelpCommand),
    ("/compact", Command::Compact, Text::CompactCommand),
    ("/jobs", Command::Jobs, Text::JobsCommand),
    ("/undo", Command::Past(Asked::Wish(Wish::Undo(1))), Text::UndoCommand),
    ("/redo", Command::Past(Asked::Wish(Wish::Redo)), Text::RedoCommand),
    ("/changes", Command::Past(Asked::List), Text::ChangesCommand),
    ("/tools", Command::Tools, Text::ToolsCommand),
    ("/rewind", Command::Rewind, Text::RewindCommand),
    ("/quit", Command::Quit, Text::QuitCommand),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Help,
    Compact,
    Jobs,
    Past(Asked),
    Tools,
    Rewind,
    Quit,
}

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Nothing,
    Command(Command),
    /// `/compact` with what the summary keeps to.
    Compact(String),
    Unknown(String),
    Prompt(String),
}

/// What came from the terminal.
enum Line {
    Text(String),
    /// Ctrl-C: the line is thrown away.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// Shows the session and asks its questions.
struct Terminal {
    screen: Screen,
    asks: bool,
    book: RuleBook,
}

/// Joins lines that end in a backslash; nothing else of rustyline's helpers is used.
struct Joining;

/// The line editor, whose blocking read runs beside the program.
struct Lines {
    editor: Option<Editor<Joining, FileHistory>>,
    history: Option<PathBuf>,
}

/// Runs a session until the person ends it. Prompts are kept in the file `history`, rules in
/// `book`; `past` is what can be undone.
///
/// # Errors
/// If the log cannot be written.
pub(crate) async fn run(
    mut options: AgentOptions,
    look: Look,
    (history, book): (Option<PathBuf>, RuleBook),
    past: Option<Past>,
    interrupts: &Interrupts,
) -> Result<ExitStatus, LogError> {
    let screen = Screen::new(Sink::Output, look);
    let front = Arc::new(Terminal { asks: question::can_ask(&screen), screen, book });
    options.front = Arc::clone(&front) as Arc<dyn FrontEnd>;
    let language = look.language;
    front.screen.say(&welcome(&options, language));
    if let Some(session) = &options.resumed {
        front.screen.say(&resume::told(session, &look));
    }
    let lines = match Lines::new(history) {
        Ok((lines, None)) => lines,
        Ok((lines, Some(error))) => {
            let said = Text::HistoryFailed.say(language, &[("error", &error)]);
            front.screen.say(&format!("{said}\n"));
            lines
        }
        Err(error) => {
            print_error(&failure(&error.to_string(), None, &look.style(Sink::Error)));
            return Ok(ExitStatus::Failed);
        }
    };
    let running = options.sandbox.jobs().clone();
    let status = converse(options, &front, (lines, past), interrupts).await;
    if let Some(said) = jobs::ended(&running.stop_all().await, language) {
        front.screen.say(&said);
    }
    status
}

/// Carries out what is typed, line by line, until the person ends it.
async fn converse(
    options: AgentOptions,
    front: &Terminal,
    (mut lines, past): (Lines, Option<Past>),
    interrupts: &Interrupts,
) -> Result<ExitStatus, LogError> {
    let language = front.screen.language();
    let (tools, running) = (options.tools.specs(), options.sandbox.jobs().clone());
    let pictures = Pictures::of(&options, language);
    let is_confined = options.sandbox.is_confined();
    let mut agent = Agent::new(options)?;
    let mut interrupted = false;
    while !interrupts.leaving() {
        let line = match lines.next().await {
            Line::End => return Ok(ExitStatus::Finished),
            Line::Interrupted if interrupted => return Ok(ExitStatus::Interrupted),
            Line::Interrupted => {
                interrupted = true;
                front.screen.say(&format!("{}\n", Text::LeaveHint.template(language)));
                continue;
            }
            Line::Text(line) => line,
        };
        interrupted = false;
        match typed(&line) {
            Typed::Nothing => {}
            Typed::Command(Command::Quit) => return Ok(ExitStatus::Finished),
            Typed::Command(Command::Help) => front.screen.say(&help(language)),
            Typed::Command(Command::Compact) => {
                compact(&mut agent, None, &front.screen, interrupts).await?;
            }
            Typed::Compact(focus) => {
                compact(&mut agent, Some(&focus), &front.screen, interrupts).await?;
            }
            Typed::Command(Command::Jobs) => {
                front.screen.say(&jobs::list(&running.running(), language));
            }
            Typed::Command(Command::Past(asked)) => {
                undo::carry_out(asked, past.as_ref(), &mut agent, &front.screen).await;
            }
            Typed::Command(Command::Tools) => front.screen.say(&tool_list(&tools)),
            Typed::Command(Command::Rewind) => {
                if agent.rewind(1)? == 0 {
                    front.screen.say(&format!("{}\n", Text::NothingToRewind.template(language)));
                }
            }
            Typed::Unknown(name) => {
                let said = Text::UnknownCommand.say(language, &[("name", &visible(&name))]);
                front.screen.say(&format!("{said}\n"));
            }
            Typed::Prompt(prompt) => {
                let Some(prompt) = with_images(prompt, &pictures, &front.screen) else { continue };
                if is_confined {
                    front.screen.say("");
                } else {
                    front.screen.say_unconfined();
                }
                carry_out(&mut agent, prompt, &front.screen, interrupts).await?;
                if let Some(said) = jobs::running(&running.running(), language) {
                    front.screen.say(&said);
                }
            }
        }
        if front.screen.reader_gone() {
            return Ok(ExitStatus::Failed);
        }
    }
    Ok(ExitStatus::Interrupted)
}

/// Returns a prompt with the images that it names, or says why they cannot be sent.
fn with_images(text: String, pictures: &Pictures, screen: &Screen) -> Option<Prompt> {
    match pictures.named_in(&text) {
        Ok(images) => Some(Prompt { images, ..Prompt::from(text) }),
        Err(said) => {
            screen.say(&format!("{said}\n"));
            None
        }
    }
}

/// Makes the conversation shorter, or as it was before that; Ctrl-C leaves it as it is.
async fn compact(
    agent: &mut Agent,
    focus: Option<&str>,
    screen: &Screen,
    interrupts: &Interrupts,
) -> Result<(), LogError> {
    if focus == Some(UNDO_COMPACTION) {
        if !agent.undo_compaction()? {
            screen.say(&format!("{}\n", Text::NoCompaction.template(screen.language())));
        }
        return Ok(());
    }
    let guard = interrupts.turn();
    agent.compact(focus, &guard.cancel).await?;
    screen.say("");
    Ok(())
}

fn welcome(options: &AgentOptions, language: Language) -> String {
    let model = visible(options.provider.model()).into_owned();
    let folder = options.workspace.root().to_string_lossy();
    let folder = visible(&folder);
    let version = env!("CARGO_PKG_VERSION");
    let values: [(&str, &dyn std::fmt::Display); 3] =
        [("version", &version), ("model", &model), ("folder", &folder)];
    let first = Text::Welcome.say(language, &values);
    format!("{first}\n{}\n", Text::WelcomeHelp.template(language))
}

fn help(language: Language) -> String {
    let mut said = String::new();
    for (name, _, text) in COMMANDS {
        said.push_str(&format!("{name:<10}{}\n", text.template(language)));
    }
    said + Text::HelpKeys.template(language) + "\n"
}

fn tool_list(tools: &[ToolSpec]) -> String {
    let mut said = String::new();
    for tool in tools {
        let first = tool.description.lines().next().unwrap_or_default();
        let sentence = first.split_inclusive(". ").next().unwrap_or_default();
        said.push_str(&format!("{:<12}{}\n", visible(&tool.name), visible(sentence.trim_end())));
    }
    said
}

/// Returns what `line` means. Only a lone word after a slash is a command, so that a path can
/// begin a prompt; `/compact` alone takes words, and `/undo` a number.
fn typed(line: &str) -> Typed {
    let prompt = line.replace("\\\n", "\n");
    let word = prompt.trim_end();
    if word.trim().is_empty() {
        return Typed::Nothing;
    }
    if let Some(focus) = word.strip_prefix("/compact ") {
        return Typed::Compact(focus.trim().to_owned());
    }
    if let Some(count) = word.strip_prefix("/undo ").and_then(|count| count.trim().parse().ok()) {
        return match count {
            0 => Typed::Unknown(word.to_owned()),
            count => Typed::Command(Command::Past(Asked::Wish(Wish::Undo(count)))),
        };
    }
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
    if word.strip_prefix('/').is_some_and(is_name) {
        return match COMMANDS.iter().find(|(name, ..)| *name == word) {
            Some((_, command, _)) => Typed::Command(*command),
            None => Typed::Unknown(word.to_owned()),
        };
    }
    Typed::Prompt(prompt.trim().to_owned())
}

impl Lines {
    /// Returns the editor, and why prompts are not kept if they are not.
    fn new(history: Option<PathBuf>) -> rustyline::Result<(Self, Option<String>)> {
        let config = Config::builder()
            .max_history_size(HISTORY_LINES_MAX)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .bracketed_paste(true)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Joining));
        let mut lines = Self { editor: None, history };
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

    /// Waits for the next line.
    async fn next(&mut self) -> Line {
        let Some(mut editor) = self.editor.take() else { return Line::End };
        let read = tokio::task::spawn_blocking(move || {
            let line = editor.readline(PROMPT);
            (editor, line)
        })
        .await;
        let Ok((mut editor, line)) = read else { return Line::End };
        let line = match line {
            Ok(line) => {
                self.remember(&mut editor, &line);
                Line::Text(line)
            }
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        };
        self.editor = Some(editor);
        line
    }

    fn remember(&self, editor: &mut Editor<Joining, FileHistory>, line: &str) {
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

#[async_trait]
impl FrontEnd for Terminal {
    fn update(&self, update: Update) {
        self.screen.show(&update);
    }

    async fn ask(&self, question: Question) -> Answer {
        if !self.asks {
            return Answer::Nobody;
        }
        question::ask(&question, &self.screen, &self.book).await
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_or_a_prompt() {
        let prompt = |text: &str| Typed::Prompt(text.to_owned());
        let cases = [
            ("/help", Typed::Command(Command::Help)),
            ("/quit ", Typed::Command(Command::Quit)),
            ("/compact", Typed::Command(Command::Compact)),
            ("/compact the  API ", Typed::Compact("the  API".into())),
            ("/undo", Typed::Command(Command::Past(Asked::Wish(Wish::Undo(1))))),
            ("/undo 3 ", Typed::Command(Command::Past(Asked::Wish(Wish::Undo(3))))),
            ("/undo 0", Typed::Unknown("/undo 0".into())),
            ("/undo it all", prompt("/undo it all")),
            ("/nope", Typed::Unknown("/nope".into())),
            (" /help", prompt("/help")),
            ("/etc/passwd says what?", prompt("/etc/passwd says what?")),
            ("  \t", Typed::Nothing),
            ("one\\\ntwo", prompt("one\ntwo")),
            ("检查 Go 版本", prompt("检查 Go 版本")),
        ];
        for (line, expected) in cases {
            assert_eq!(typed(line), expected, "{line:?}");
        }
    }

    #[test]
    fn every_command_is_named_once_in_the_help() {
        for language in [Language::English, Language::Chinese] {
            let help = help(language);
            for (name, ..) in COMMANDS {
                assert_eq!(help.lines().filter(|line| line.starts_with(name)).count(), 1);
            }
        }
    }
}
