//! What a bash command line could run, as far as that can be known without running it.
//!
//! A script becomes a flat row of simple commands: those of lists, pipes, groups, loops and
//! substitutions, and those that a launcher such as `env`, `xargs` or `sh -c` would start. What
//! cannot be read is a doubt, and a doubt is asked about. This decides questions, never walls:
//! bash has more corners than any grammar, and the kernel has the last word.

pub(crate) mod arguments;
mod arrays;
mod callers;
mod commands;
mod conditions;
mod crontab;
mod evaluate;
mod expand;
mod fed;
mod files;
mod flow;
mod folders;
mod frame;
mod given;
mod hidden;
mod holds;
mod input;
pub(crate) mod launch;
mod launchers;
mod made;
mod perhaps;
mod plain;
mod queries;
mod reader;
mod reads;
mod runners;
mod settings;
pub(crate) mod shells;
mod skips;
mod starters;
mod starts;
mod state;
mod syntax;
mod terminal;
mod told;
mod toolchains;
mod unsure;
mod variables;
mod walk;
mod word;
mod words;
mod work;
mod writer;
mod writers;
mod writes;

use std::ops::Range;
use std::rc::Rc;

pub(crate) use folders::Folders;
pub(crate) use holds::OF_NUMBERS;
pub(crate) use made::{FILES as FOUND, Holds};
pub(crate) use reads::reads;
pub(crate) use terminal::NeedsTerminal;
pub(crate) use variables::chooser;
pub(crate) use word::Word;
pub(crate) use word::{Extent, Piece, Unknown};
use work::Work;
pub(crate) use writer::Reach;
pub(crate) use writes::{WriteKind, named, writes};

/// Levels of syntax and of scripts within scripts; bounds the stack, people need fewer than 20.
const NESTING_MAX: usize = 100;

/// A command line, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed {
    /// Every simple command, inner ones before what uses their output, in the order of the text.
    pub commands: Vec<SimpleCommand>,
    /// Why the reading may not be what bash does, in a few words; `None` if there is no doubt.
    pub doubt: Option<String>,
    /// The functions it defines, and the commands of their bodies.
    pub(crate) functions: Vec<(String, Range<usize>)>,
    /// Commands that run if words which are not known are options.
    pub(crate) perhaps: Vec<Vec<Word>>,
    /// Whether its text is made of plain commands alone, so that their words are all there is to it.
    pub(crate) is_plain: bool,
    /// Whether a variable that chooses programs may be set otherwise than by an assignment: by a
    /// loop, arithmetic, `read` and the like.
    pub(crate) chooses_programs: bool,
}

/// One program or builtin with its arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimpleCommand {
    /// The name and the arguments; empty for a bare assignment or redirect.
    pub words: Vec<Word>,
    /// What is set for this command, or for the shell if there are no words.
    pub assignments: Vec<(String, Word)>,
    /// The redirects written at this command, or around the group if there are no words.
    pub redirects: Vec<Redirect>,
    /// The commands whose output it reads through a pipe, as indices into [`Parsed::commands`].
    pub piped_from: Option<Range<usize>>,
    /// The file that the shell or the group around it reads, if it reads none of its own.
    pub(crate) reads_from: Option<Word>,
    /// The text that the shell or the group around it reads, if nothing else is its input.
    pub(crate) reads_text: Option<Rc<Word>>,
    /// Its standard input is a pipe, a text or a file that is no terminal.
    pub(crate) is_fed: bool,
    /// The command that starts this one (`env`, `xargs`, `sh -c`), as an index.
    pub launched_by: Option<usize>,
    /// What this command starts.
    pub launches: Launches,
    /// It runs beside what follows (`&`).
    pub background: bool,
    /// It runs because of an option or a setting of another program; a rule for that covers it.
    pub(crate) is_aside: bool,
    /// It stands in a script that the line writes before it runs it.
    pub(crate) is_written: bool,
    /// It was read where a function is defined, and all calls of functions are followed: nothing runs as it
    /// was read here.
    pub(crate) is_moot: bool,
    /// The changes of folder before it, in order, as if each of them were done; `None` if one of them
    /// is not known.
    pub(crate) folder: Option<Vec<Word>>,
    /// Where it may run, since any of them may have failed or not have run; set when it is kept.
    pub(crate) folders: Option<Folders>,
}

/// What a command starts besides itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Launches {
    /// Nothing that is known of.
    #[default]
    Nothing,
    /// Commands that stand in [`Parsed::commands`].
    Known,
    /// Something that is only known when it runs.
    Unknown,
}

/// One redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// What is done with the target.
    pub kind: RedirectKind,
    /// The file, the descriptor or the text.
    pub target: Word,
}

/// What a redirect does with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    /// `< file`
    Read,
    /// `> file`, `>> file`, `&> file`
    Write,
    /// `2>&1`, `<&-`
    Descriptor,
    /// `<<< text` or a here document
    Text,
}

impl SimpleCommand {
    /// Returns the name of the program without its folder, if it is known.
    pub(crate) fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::program)
    }

    /// Returns the arguments.
    pub(crate) fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Returns the command for people, unknown parts as `…`.
    pub(crate) fn shown(&self) -> String {
        self.words.iter().map(Word::shown).collect::<Vec<_>>().join(" ")
    }

    /// Returns how much there is to look through where it is judged, in bytes.
    fn bytes(&self) -> usize {
        let assigned = self.assignments.iter().map(|(_, value)| value);
        let redirected = self.redirects.iter().map(|redirect| &redirect.target);
        let from = self.folder.iter().flatten().chain(&self.reads_from);
        let words = self.words.iter().chain(assigned).chain(redirected).chain(from);
        work::bytes_of(words) + self.folders.as_ref().map_or(0, Folders::bytes)
    }
}

/// Reads a bash command line. Never fails and never panics; linear in its length but for the
/// bounds on nesting and number of commands, past which it doubts.
pub(crate) fn parse(command: &str) -> Parsed {
    walk::walk(command, (Some(Vec::new()), Folders::start()), (0, 0), &mut Work::default())
}

/// Says whether the command line only reads: each of its commands is on a short list and writes
/// nothing with these arguments, nothing dynamic decides what runs, and there is no doubt.
pub(crate) fn only_reads(parsed: &Parsed) -> bool {
    parsed.doubt.is_none()
        && !parsed.chooses_programs
        && parsed.functions.is_empty()
        && !parsed.commands.is_empty()
        && parsed.commands.iter().all(reads)
}

/// Returns the first command that needs a terminal, or that would never end by itself.
pub(crate) fn needs_terminal(parsed: &Parsed) -> Option<NeedsTerminal> {
    terminal::find(parsed)
}
