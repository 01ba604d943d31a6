//! Texts that bash expands a second time: arithmetic, subscripts and offsets, and the values that
//! variables get, which arithmetic may take for a subscript later.
//!
//! What is quoted there is no longer quoted then. Where such a text has a substitution that does not
//! show when it is read, that is a doubt.

use std::ops::Range;
use std::rc::Rc;

use super::arguments;
use super::hidden::{self, TWICE};
use super::input::{copies_input, feeds, is_input};
use super::launch;
use super::made::{self, Made, Signs};
use super::reader;
use super::shells;
use super::syntax::{Part, WrittenRedirect};
use super::variables;
use super::walk::Walker;
use super::word::{self, Piece, UNKNOWN, Word};
use super::words::is_name;
use super::work;
use super::{Redirect, RedirectKind, SimpleCommand};

/// Builtins that put what they read into variables.
const READERS: &[&str] = &["mapfile", "read", "readarray"];

fn is_of_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

/// Returns the names that a text sets if it is arithmetic.
fn assigned(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    let is_ascii = text.is_ascii();
    let names = text.split(|sign| !is_of_name(sign)).map(move |name| {
        let start = at;
        at += name.len() + 1;
        (start, name)
    });
    // Signs between names are one byte long, or the text is not followed further.
    let is_set = move |(start, name): &(usize, &str)| {
        let (Some(before), Some(behind)) = (text.get(..*start), text.get(start + name.len()..))
        else {
            return !is_ascii;
        };
        let steps = before.trim_end().ends_with(['+', '-']);
        steps || !is_ascii || sets(behind)
    };
    names.filter(|(_, name)| is_name(name)).filter(is_set).map(|(_, name)| name)
}

/// Says whether what stands behind a name in arithmetic gives it a value.
fn sets(behind: &str) -> bool {
    let behind = behind.trim_start();
    let of_steps = behind.starts_with("++") || behind.starts_with("--");
    let assigns = |text: &str| text.starts_with('=') && !text.starts_with("==");
    let operators = ["", "<<", ">>", "+", "-", "*", "/", "%", "&", "^", "|"];
    let mut left = operators.iter().filter_map(|operator| behind.strip_prefix(operator));
    of_steps || behind.starts_with('[') || left.any(assigns)
}

/// What is read, the text that is, and whether it is no terminal.
type Input = (Option<Range<usize>>, Option<Rc<Word>>, bool);

/// Programs that give what they start an empty input.
const CUTTING: &[&str] = &["parallel", "xargs"];

/// Programs that give files the names which they are told.
const MAKERS: &[&str] = &["cp", "install", "ln", "mkdir", "mv", "tee", "touch"];

impl Walker {
    /// Walks what bash runs when it takes a text for arithmetic.
    pub(super) fn evaluate(&mut self, text: &Word) {
        if !self.looks_through(work::bytes(&text.pieces)) {
            return;
        }
        self.flow_evaluated(made::ARITHMETIC, text);
        let text = text.source();
        self.note_arithmetic(&text);
        self.assign_names(&text);
        if hidden::may_run(&text) {
            self.text(&text);
        }
    }

    /// Takes in that bash expands a text once more.
    pub(super) fn flow_evaluated(&mut self, how: &str, text: &Word) {
        if how == made::MATCHED {
            return self.values.flow(how, &text.made());
        }
        let made = text.made_unknown();
        self.values.flow(how, &made);
        self.values.flow(word::UNKNOWN_NAME, &made);
        if how == made::ARITHMETIC {
            for piece in &text.pieces {
                if let Piece::Text(text) = piece {
                    self.values.flow_names(how, text);
                }
            }
        }
    }

    /// Takes in that a shell reads what is made so as a part of a script.
    pub(super) fn flow_script(&mut self, made: &Made) {
        self.values.flow(made::SCRIPT, made);
        self.values.flow(word::UNKNOWN_NAME, made);
    }

    /// Takes in that a variable may have this value.
    pub(super) fn flow_value(&mut self, name: &str, value: &Word) {
        if !self.looks_through(work::bytes(&value.pieces)) {
            return;
        }
        match value.literal() {
            Some(text) => self.values.flow_text(name, text),
            None => self.values.flow(name, &value.made()),
        }
    }

    /// Takes in which files a command may make.
    pub(super) fn flow_files(&mut self, command: &SimpleCommand) {
        let written = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
        let named = command.program().filter(|name| MAKERS.contains(name));
        let named = named.map(|_| command.arguments()).unwrap_or_default();
        for word in written.map(|one| &one.target).chain(named) {
            let mut made = word.made();
            // A name without signs is none that matters.
            made.signs = if made.signs == Signs::Letters { Signs::None } else { made.signs };
            self.values.flow(made::FILES, &made);
        }
    }

    /// Lets what a command starts read what the command reads; returns what was read before.
    pub(super) fn enter_input(&mut self, index: usize) -> Input {
        let before = (self.state.input.clone(), self.state.text.clone(), self.state.is_fed);
        let Some(command) = self.commands.get(index) else { return before };
        self.state.is_fed = command.is_fed;
        let last = |kind| command.redirects.iter().rfind(|one| one.kind == kind);
        let text = last(RedirectKind::Text).map(|one| Rc::new(one.target.clone()));
        let read = last(RedirectKind::Read).and_then(|one| one.target.unknown().next());
        let read = read.map(|unknown| unknown.from.clone()).filter(|from| !from.is_empty());
        if text.is_some() {
            self.state.text = text;
        }
        if read.is_some() {
            self.state.input = read;
        }
        before
    }

    /// Lets commands read the file that a group around them reads; returns what was read before, if
    /// that changes.
    pub(super) fn enter_file(&mut self, redirects: &[Redirect]) -> Option<Option<Word>> {
        let read = redirects.iter().rfind(|one| is_input(one))?;
        let file = (read.kind == RedirectKind::Read).then(|| read.target.clone());
        Some(std::mem::replace(&mut self.state.reads, file))
    }

    /// The same with whether what they read is a pipe, a text or a file.
    pub(super) fn enter_feed(
        &mut self,
        redirects: &[Redirect],
        written: &[WrittenRedirect],
    ) -> bool {
        let before = self.state.is_fed;
        self.state.is_fed = feeds(redirects).unwrap_or(before || copies_input(written));
        before
    }

    /// Says whether the standard input of a command is a pipe, a text or a file that is no terminal; it is
    /// marked already if it takes another descriptor for it.
    pub(super) fn is_fed(&self, command: &SimpleCommand) -> bool {
        feeds(&command.redirects)
            .unwrap_or(command.is_fed || self.state.is_fed && !self.is_cut_off())
    }

    /// Says whether what is read now starts with an empty input.
    fn is_cut_off(&self) -> bool {
        let launcher = self.state.launched_by.and_then(|index| self.commands.get(index));
        let launcher = launcher.and_then(SimpleCommand::program);
        launcher.is_some_and(|name| CUTTING.contains(&name))
    }

    /// Returns the text that a command is left to read.
    pub(super) fn reads_text(&self, command: &SimpleCommand) -> Option<Rc<Word>> {
        let has_own = command.piped_from.is_some() || command.redirects.iter().any(is_input);
        let has_own = has_own || command.words.is_empty() || self.is_cut_off();
        self.state.text.clone().filter(|_| !has_own)
    }

    /// Returns the file that a command is left to read. `exec` without a command makes its own the
    /// shell's.
    pub(super) fn reads_from(&mut self, command: &SimpleCommand) -> Option<Word> {
        if matches!(command.words.as_slice(), [one] if one.literal() == Some("exec")) {
            self.enter_file(&command.redirects);
            if command.redirects.iter().any(is_input) {
                self.state.may_read_other = self.branches > 0;
            }
        }
        let has_own = command.redirects.iter().any(is_input);
        self.state.reads.clone().filter(|_| !has_own)
    }

    /// Returns a shell with the text that it is left to read, if it has no input of its own.
    pub(super) fn with_text(&self, command: &SimpleCommand) -> Option<SimpleCommand> {
        let target = self.state.text.as_deref()?;
        let reads = match command.program()? {
            "." | "source" => true,
            name => shells::SHELLS.contains(&name) && shells::reads_program(command),
        };
        if !reads || command.piped_from.is_some() || command.redirects.iter().any(is_input) {
            return None;
        }
        let mut command = command.clone();
        let target = target.clone();
        command.redirects.push(Redirect { kind: RedirectKind::Text, target });
        Some(command)
    }

    /// Says whether the shell itself goes on with what a command reads (`exec < file`).
    pub(super) fn keeps_input(&self, index: usize) -> bool {
        let words = self.commands.get(index).map(|command| command.words.as_slice());
        words.is_some_and(|words| matches!(words, [one] if one.literal() == Some("exec")))
    }

    /// Walks what bash runs when arithmetic takes a value for the name of a variable, which runs what
    /// stands in its subscript.
    pub(super) fn evaluate_value(&mut self, value: &Word) {
        self.note_value(value);
        if self.is_tired() {
            return;
        }
        if let Some(found) = hidden::substitutions(value) {
            self.launch(found);
        }
    }

    /// Takes in that a value sets variables if arithmetic takes it.
    pub(super) fn note_value(&mut self, value: &Word) {
        if !self.looks_through(work::bytes(&value.pieces)) {
            return;
        }
        if assigned(&value.source()).any(|name| !variables::is_plain_variable(name)) {
            self.chooses_programs = true;
        }
    }

    /// Takes in that arithmetic may set the variables that it names.
    fn assign_names(&mut self, text: &str) {
        for name in assigned(text) {
            self.given(name);
        }
        // `$name = 1`: which one is not known.
        let unknown =
            text.split(UNKNOWN).skip(1).any(|behind| sets(behind.trim_start_matches(is_of_name)));
        if unknown {
            self.chooses_programs = true;
        }
    }

    /// Walks what stands in parts that are arithmetic.
    pub(super) fn evaluated(&mut self, parts: &[Part]) {
        let text = self.unsplit_parts(parts);
        self.evaluate(&text);
    }

    /// Takes what `read` and its like read for values, as far as the line says what that is; returns
    /// what it is made of.
    pub(super) fn evaluate_read(&mut self, command: &SimpleCommand) -> Made {
        let mut made = Made::default();
        let Some(name) = command
            .program()
            .filter(|name| READERS.contains(name) || launch::READERS.contains(name))
        else {
            return made;
        };
        let is_builtin = READERS.contains(&name);
        let of = |kind| command.redirects.iter().filter(move |one| one.kind == kind);
        let mut texts: Vec<_> = of(RedirectKind::Text).map(|one| one.target.clone()).collect();
        let sources: Vec<_> = of(RedirectKind::Read).map(|one| one.target.made_unknown()).collect();
        if texts.is_empty() && sources.is_empty() {
            texts.extend(self.state.text.as_deref().cloned());
            let feed = command.piped_from.clone();
            made.join(&self.output(feed.clone().unwrap_or_default()));
            made.join(&Made::variable(made::DESCRIPTOR));
            let feed = feed.and_then(|range| self.commands.get(range));
            texts.extend(feed.into_iter().flatten().filter_map(hidden::written).map(Word::text));
        }
        sources.iter().for_each(|source| made.join(source));
        for text in texts {
            made.join(&text.made());
            if is_builtin {
                self.evaluate_value(&text);
            }
        }
        made
    }

    /// Returns what the output of these commands is made of: what they are told to print.
    pub(super) fn output(&mut self, from: Range<usize>) -> Made {
        let mut made = Made::default();
        let commands = self.commands.get(from.clone()).unwrap_or_default();
        let bytes = commands.iter().map(|command| 1 + work::bytes_of(&command.words)).sum();
        if !self.looks_through(bytes) {
            return made;
        }
        let commands = self.commands.get(from).unwrap_or_default();
        for command in commands {
            made.join(&arguments::made_output(command));
        }
        if !commands.is_empty() {
            made.join(&Made::variable(made::FILES));
        }
        made
    }

    /// Walks what a text runs that is expanded some time later, when variables may be others.
    pub(super) fn later_text(&mut self, text: &str) {
        let untold = std::mem::replace(&mut self.state.untold, true);
        self.again(|walker| walker.text(text));
        self.untold_call();
        self.state.untold = untold;
    }

    /// Walks what a text runs that bash expands as if it stood in double quotes, and again what that
    /// becomes.
    pub(super) fn text(&mut self, text: &str) {
        if !self.enters_script(text) {
            return;
        }
        let (parts, doubt) = reader::read_text(text, self.nesting);
        if let Some(doubt) = doubt {
            self.doubt(doubt);
        }
        let start = self.commands.len();
        let expanded = self.unsplit_parts(&parts);
        let found = self.commands.len() > start;
        let again = expanded.source();
        if hidden::may_run(&again) && again != text {
            self.text(&again);
        } else if !found {
            self.doubt(TWICE);
        }
        self.leave_script();
    }
}
