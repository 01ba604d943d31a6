//! What can be typed after a slash: one table, one row a command.

use clap::ValueEnum;
use tenon_model::visible;

use crate::{
    config::RuleBook,
    texts::{Language, Text},
    values::ThemeName,
};

/// A command of the session.
#[derive(Debug)]
pub(crate) struct Command {
    pub name: &'static str,
    pub about: Text,
    pub act: Act,
    takes: Takes,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Help,
    Model,
    Context,
    Cost,
    Compact,
    Diff,
    Changes,
    Undo,
    Redo,
    Restore,
    Rewind,
    Resume,
    Fork,
    New,
    Transcript,
    Copy,
    Export,
    Jobs,
    Tools,
    Permissions,
    Doctor,
    Init,
    Theme,
    Quit,
}

/// What may stand behind a command's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// A number from 1.
    Count,
    /// The name of a model.
    Model,
    /// One word without spaces.
    Word,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// Whatever is said.
    Words,
}

const fn command(name: &'static str, about: Text, act: Act) -> Command {
    Command { name, about, act, takes: Takes::Nothing }
}

impl Command {
    const fn takes(self, takes: Takes) -> Self {
        Self { takes, ..self }
    }
}

/// What `/theme` takes.
pub(crate) const THEMES: &[&str] = &["auto", "light", "dark", "terminal"];

/// Every command, in the order in which they are offered.
pub(crate) const COMMANDS: &[Command] = &[
    command("/help", Text::HelpCommand, Act::Help),
    command("/model", Text::ModelCommand, Act::Model).takes(Takes::Model),
    command("/context", Text::ContextCommand, Act::Context),
    command("/cost", Text::CostCommand, Act::Cost),
    command("/compact", Text::CompactCommand, Act::Compact).takes(Takes::Words),
    command("/diff", Text::DiffCommand, Act::Diff),
    command("/changes", Text::ChangesDiffCommand, Act::Changes).takes(Takes::OneOf(&["diff"])),
    command("/undo", Text::UndoCommand, Act::Undo).takes(Takes::Count),
    command("/redo", Text::RedoCommand, Act::Redo),
    command("/restore", Text::RestoreCommand, Act::Restore).takes(Takes::Count),
    command("/rewind", Text::RewindPickCommand, Act::Rewind),
    command("/resume", Text::ResumeCommand, Act::Resume).takes(Takes::Word),
    command("/fork", Text::ForkCommand, Act::Fork),
    command("/new", Text::NewCommand, Act::New),
    command("/transcript", Text::TranscriptCommand, Act::Transcript),
    command("/copy", Text::CopyCommand, Act::Copy),
    command("/export", Text::ExportCommand, Act::Export).takes(Takes::OneOf(&["markdown", "html"])),
    command("/jobs", Text::JobsCommand, Act::Jobs),
    command("/tools", Text::ToolsCommand, Act::Tools),
    command("/permissions", Text::PermissionsCommand, Act::Permissions),
    command("/doctor", Text::DoctorCommand, Act::Doctor),
    command("/init", Text::InitCommand, Act::Init),
    command("/theme", Text::ThemeCommand, Act::Theme).takes(Takes::OneOf(THEMES)),
    command("/quit", Text::QuitCommand, Act::Quit),
];

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Nothing,
    /// A command with what stands behind its name.
    Command(Act, String),
    Unknown(String),
    /// A word behind a command's name that is none of those which it takes.
    NoneOf(&'static [&'static str]),
    /// A command line of the person's own.
    Own(String),
    Prompt(String),
}

impl Act {
    /// Returns whether nothing else may go on meanwhile: what the turn works with is changed.
    pub(crate) fn needs_end_of_turn(self) -> bool {
        match self {
            Self::Model | Self::Compact | Self::Undo | Self::Redo | Self::Rewind => true,
            Self::Restore => true,
            Self::Resume | Self::Fork | Self::New | Self::Doctor | Self::Diff | Self::Changes => {
                true
            }
            Self::Help | Self::Context | Self::Cost | Self::Transcript => false,
            Self::Copy | Self::Export => false,
            Self::Jobs
            | Self::Tools
            | Self::Permissions
            | Self::Init
            | Self::Theme
            | Self::Quit => false,
        }
    }
}

impl Takes {
    fn fits(self, words: &str) -> bool {
        match self {
            _ if words.is_empty() => true,
            Self::Nothing => false,
            Self::Count => words.parse::<u32>().is_ok_and(|count| count > 0),
            Self::Model | Self::Word => !words.contains(char::is_whitespace),
            Self::OneOf(all) => all.contains(&words),
            Self::Words => true,
        }
    }
}

/// Returns what `text` means. A line that begins with a name of a command, or with what could be one,
/// is never a prompt: what was mistyped would be asked of the model, which costs. A path can begin one.
pub(crate) fn typed(text: &str) -> Typed {
    let line = text.trim_end();
    if line.trim().is_empty() {
        return Typed::Nothing;
    }
    if let Some(command) = line.strip_prefix('!') {
        return match command.trim() {
            "" => Typed::Nothing,
            command => Typed::Own(command.to_owned()),
        };
    }
    let (name, words) = line.split_once(' ').unwrap_or((line, ""));
    let words = words.trim();
    let command = COMMANDS.iter().find(|command| command.name == name);
    match command {
        Some(command) if command.takes.fits(words) => Typed::Command(command.act, words.to_owned()),
        // Of several lines the first is a title, or a path.
        _ if line.contains('\n') => Typed::Prompt(text.trim().to_owned()),
        Some(Command { takes: Takes::OneOf(all), .. }) => Typed::NoneOf(all),
        Some(_) => Typed::Unknown(line.to_owned()),
        None if is_name(name) => Typed::Unknown(name.to_owned()),
        None => Typed::Prompt(text.trim().to_owned()),
    }
}

/// Returns what can be completed behind the name of a command, of which `models` there are.
pub(crate) fn arguments<'a>(name: &str, models: &'a [String]) -> Vec<&'a str> {
    match COMMANDS.iter().find(|command| command.name == name).map(|command| command.takes) {
        Some(Takes::OneOf(all)) => all.to_vec(),
        Some(Takes::Model) => models.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Writes a theme that was chosen down for later sessions, and says what became of that.
pub(crate) fn keep_theme(book: &RuleBook, theme: ThemeName, language: Language) -> String {
    let name = theme.to_possible_value().map(|value| value.get_name().to_owned());
    let name = name.unwrap_or_default();
    let file = book.file().display().to_string();
    match book.keep_theme(theme) {
        Ok(()) => Text::ThemeIs.say(language, &[("theme", &name), ("file", &visible(&file))]),
        Err(error) => {
            let error = visible(&error.say(language)).replace('\n', " ");
            Text::ThemeNotKept.say(language, &[("theme", &name), ("error", &error)])
        }
    }
}

fn is_name(word: &str) -> bool {
    let name = word.strip_prefix('/').unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic())
}

/// What `/init` asks the model for.
pub(crate) const INIT_PROMPT: &str = "Look at this project: what it is, how it is built, tested and checked, how its files are laid \
     out, and which conventions its code follows. Then write AGENTS.md at its root, or improve the \
     one that is there: what somebody who works on it for the first time must know and cannot see \
     at a glance. Name exact commands, and run the cheap ones to see that they work. At most 60 \
     lines, plain sentences, nothing that any project could say.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_a_command_of_ones_own_or_a_prompt() {
        let prompt = |text: &str| Typed::Prompt(text.to_owned());
        let command = |act, words: &str| Typed::Command(act, words.to_owned());
        let cases = [
            ("/help", command(Act::Help, "")),
            ("/help me", Typed::Unknown("/help me".into())),
            ("/quit ", command(Act::Quit, "")),
            ("/compact", command(Act::Compact, "")),
            ("/compact the  API ", command(Act::Compact, "the  API")),
            ("/undo 3", command(Act::Undo, "3")),
            ("/undo 0", Typed::Unknown("/undo 0".into())),
            ("/changes diff", command(Act::Changes, "diff")),
            ("/changes all", Typed::NoneOf(&["diff"])),
            ("/changes of today", Typed::NoneOf(&["diff"])),
            ("/undo it all", Typed::Unknown("/undo it all".into())),
            ("/restore", command(Act::Restore, "")),
            ("/restore 2", command(Act::Restore, "2")),
            ("/restore last --to 2", Typed::Unknown("/restore last --to 2".into())),
            ("/model openai/gpt-x", command(Act::Model, "openai/gpt-x")),
            ("/model the world", Typed::Unknown("/model the world".into())),
            ("/nope", Typed::Unknown("/nope".into())),
            ("/nope at all", Typed::Unknown("/nope".into())),
            ("/nope at\nall", prompt("/nope at\nall")),
            ("/help\nis long", prompt("/help\nis long")),
            (" /help", prompt("/help")),
            (" /nope at all", prompt("/nope at all")),
            ("/etc/passwd says what?", prompt("/etc/passwd says what?")),
            ("  \t", Typed::Nothing),
            ("!git status", Typed::Own("git status".into())),
            ("!", Typed::Nothing),
            (" !important", prompt("!important")),
            ("检查 Go 版本", prompt("检查 Go 版本")),
        ];
        for (line, expected) in cases {
            assert_eq!(typed(line), expected, "{line:?}");
        }
    }

    #[test]
    fn names_are_words_that_can_be_typed_and_completed() {
        for command in COMMANDS {
            assert!(is_name(command.name), "{}", command.name);
            assert_eq!(typed(command.name), Typed::Command(command.act, String::new()));
        }
        assert_eq!(arguments("/changes", &[]), ["diff"]);
        assert_eq!(arguments("/model", &["a/b".to_owned()]), ["a/b"]);
        assert!(arguments("/help", &["a/b".to_owned()]).is_empty());
    }
}
