//! A command that ran inside walls, and what it said: what those who explain its complaints go by.

use std::{cell::OnceCell, time::SystemTime};

use tenon_sandbox::{Output, Stream, Tier, runs_as_root};

use super::{ToolContext, node_errors, own_lines::own_lines};
use crate::policy::shell::{SimpleCommand, Word};

/// Redirects by which complaints come with the rest, as for a pipe that ends well.
const MERGED: [&str; 3] = ["2>&1", "&>", "|&"];

/// Redirects by which a line may throw complaints away.
const THROWN_AWAY: [&str; 3] = ["2>", "&>", ">&"];

/// What programs put around names.
const QUOTES: [char; 7] = ['\'', '"', '`', '‘', '’', '“', '”'];

/// Words of a line that are looked up on the disk.
const WORDS_MAX: usize = 40;

/// A command that ran inside walls, and what it said.
pub(super) struct Said<'a> {
    pub(super) script: &'a str,
    /// The commands of the script.
    pub(super) commands: &'a [SimpleCommand],
    pub(super) output: &'a Output,
    /// What is shown of its output.
    pub(super) text: &'a str,
    pub(super) is_error: bool,
    /// It runs, or ran, in the background: the output is what is new of it, so silence tells nothing.
    pub(super) is_job: bool,
    pub(super) context: &'a ToolContext,
    /// Whether its walls are those of tier C, which have no file tree of their own.
    pub(super) in_c: bool,
    /// Whose command it was.
    pub(super) as_root: bool,
    /// When it began, where that is known: what files said before is no complaint of its own.
    pub(super) began: Option<SystemTime>,
    /// What [`Said::own`] returns, once it was asked for.
    pub(super) own: OnceCell<String>,
}

impl<'a> Said<'a> {
    /// Returns a command that is no job.
    pub(super) fn of(
        (script, commands): (&'a str, &'a [SimpleCommand]),
        output: &'a Output,
        (text, is_error): (&'a str, bool),
        context: &'a ToolContext,
    ) -> Self {
        let in_c = context.sandbox.tier() == Some(Tier::C.name());
        let (as_root, is_job, began, own) = (runs_as_root(), false, None, OnceCell::new());
        Self {
            script,
            commands,
            output,
            text,
            is_error,
            is_job,
            context,
            in_c,
            as_root,
            began,
            own,
        }
    }

    /// Returns what was printed as far as complaints are in it that count: on standard output those of a
    /// command that failed, or that sends them there.
    pub(super) fn printed(&self) -> String {
        node_errors::in_words(&match self.is_error || self.merges() {
            true => self.own().to_owned(),
            false => self.of_stream(Stream::Error),
        })
    }

    /// Returns what was printed but for the content of files that the command shows.
    pub(super) fn own(&self) -> &str {
        self.own.get_or_init(|| {
            let out = self.of_stream(Stream::Out);
            let how = (self.merges(), self.began);
            let lines = own_lines((self.script, self.commands), &out, how, self.context);
            format!("{}\n{}", self.of_stream(Stream::Error), lines.join("\n"))
        })
    }

    /// Returns the programs that the line names, without folders, in its order. Of `python -m pip` it is
    /// `pip`.
    pub(super) fn programs(&self) -> Vec<String> {
        self.commands.iter().filter_map(program).map(str::to_owned).collect()
    }

    fn of_stream(&self, stream: Stream) -> String {
        let pieces = self.output.pieces.iter().filter(|piece| piece.stream == stream);
        pieces.map(|piece| piece.text.as_str()).collect()
    }

    /// Whether what was printed is the command's own complaint, also where the line went on (`|| true`). What
    /// only reads prints those of others on its standard output.
    pub(super) fn may_complain(&self) -> bool {
        self.is_error || !self.output.only_reads || !self.merges()
    }

    /// Whether the line may have thrown complaints away.
    pub(super) fn throws_away(&self) -> bool {
        THROWN_AWAY.iter().any(|redirect| self.script.contains(redirect))
    }

    /// Whether complaints may come on standard output.
    fn merges(&self) -> bool {
        MERGED.iter().any(|redirect| self.script.contains(redirect))
    }
}

fn program(command: &SimpleCommand) -> Option<&str> {
    let program = command.program()?;
    let mut words = command.arguments().iter().map(Word::literal);
    let module = || words.by_ref().find(|word| *word == Some("-m")).and_then(|_| words.next()?);
    Some(program.starts_with("python").then(module).flatten().unwrap_or(program))
}

/// Returns what may be names of files in a line.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || QUOTES.contains(&c);
    let words = line.split(is_between).filter(|word| !word.is_empty());
    words.map(|word| word.trim_matches([':', ',', ';', '(', ')']))
}

/// Returns the first of them.
pub(super) fn first_words(line: &str) -> impl Iterator<Item = &str> {
    words(line).take(WORDS_MAX)
}

/// Whether `word` stands in a line within quotes.
pub(super) fn is_quoted(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let behind = line.get(at + word.len()..).unwrap_or_default();
        line.get(..at).unwrap_or_default().ends_with(QUOTES) && behind.starts_with(QUOTES)
    })
}

/// Returns what stands in a line within quotes.
pub(super) fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split(QUOTES).skip(1).step_by(2)
}
