//! What can be typed after a slash: one table, one row a command.

use crate::texts::Text;

/// A command of the session.
#[derive(Debug)]
pub(crate) struct Command {
    pub name: &'static str,
    pub about: Text,
    pub act: Act,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Help,
    Tools,
    Context,
    Cost,
    Diff,
    Transcript,
    Compact,
    Rewind,
    Jobs,
    Copy,
    Init,
    Theme,
    New,
    Quit,
}

/// Every command, in the order in which they are offered.
pub(crate) const COMMANDS: [Command; 14] = [
    Command { name: "/help", about: Text::HelpCommand, act: Act::Help },
    Command { name: "/tools", about: Text::ToolsCommand, act: Act::Tools },
    Command { name: "/context", about: Text::ContextCommand, act: Act::Context },
    Command { name: "/cost", about: Text::CostCommand, act: Act::Cost },
    Command { name: "/diff", about: Text::DiffCommand, act: Act::Diff },
    Command { name: "/transcript", about: Text::TranscriptCommand, act: Act::Transcript },
    Command { name: "/compact", about: Text::CompactCommand, act: Act::Compact },
    Command { name: "/rewind", about: Text::RewindCommand, act: Act::Rewind },
    Command { name: "/jobs", about: Text::JobsCommand, act: Act::Jobs },
    Command { name: "/copy", about: Text::CopyCommand, act: Act::Copy },
    Command { name: "/init", about: Text::InitCommand, act: Act::Init },
    Command { name: "/theme", about: Text::ThemeCommand, act: Act::Theme },
    Command { name: "/new", about: Text::NewCommand, act: Act::New },
    Command { name: "/quit", about: Text::QuitCommand, act: Act::Quit },
];

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Nothing,
    Command(Act),
    Unknown(String),
    /// `/compact`, with what the summary keeps to.
    Compact(Option<String>),
    /// `/theme` with its name.
    Theme(String),
    /// A command line of the person's own.
    Own(String),
    Prompt(String),
}

/// Returns what `text` means. Only a lone word after a slash is a command, so that a path can
/// begin a prompt.
pub(crate) fn typed(text: &str) -> Typed {
    let word = text.trim_end();
    if word.trim().is_empty() {
        return Typed::Nothing;
    }
    if let Some(command) = word.strip_prefix('!') {
        return match command.trim() {
            "" => Typed::Nothing,
            command => Typed::Own(command.to_owned()),
        };
    }
    if word == "/compact" || word.starts_with("/compact ") {
        let focus = word.strip_prefix("/compact").unwrap_or_default().trim();
        return Typed::Compact((!focus.is_empty()).then(|| focus.to_owned()));
    }
    if let Some(name) = word.strip_prefix("/theme ") {
        return Typed::Theme(name.trim().to_owned());
    }
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
    if word.strip_prefix('/').is_some_and(is_name) {
        return match COMMANDS.iter().find(|command| command.name == word) {
            Some(command) => Typed::Command(command.act),
            None => Typed::Unknown(word.to_owned()),
        };
    }
    Typed::Prompt(text.trim().to_owned())
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
        let cases = [
            ("/help", Typed::Command(Act::Help)),
            ("/quit ", Typed::Command(Act::Quit)),
            ("/compact", Typed::Compact(None)),
            ("/compact the  API ", Typed::Compact(Some("the  API".into()))),
            ("/nope", Typed::Unknown("/nope".into())),
            (" /help", prompt("/help")),
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
        for command in &COMMANDS {
            assert_ne!(typed(command.name), Typed::Unknown(command.name.into()));
            let found = typed(command.name);
            let is_compact = command.act == Act::Compact && found == Typed::Compact(None);
            assert!(is_compact || found == Typed::Command(command.act));
        }
    }
}
