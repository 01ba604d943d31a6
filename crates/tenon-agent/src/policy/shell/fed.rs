//! Texts that the line says and that come to who runs them by others: through a group or a function, a program that
//! passes them on, a file that the line writes.
//!
//! Such a text is judged like a script that the line writes: a rule speaks of what is in it, and what is
//! not sure there is no question. What the line does not say is not looked for.

use std::ops::Range;

use super::arguments::is_output;
use super::files::{Content, FEED_MAX, FILE_BYTES_MAX, PASSERS, name, printed};
use super::hidden;
use super::input::is_input;
use super::shells::{self, SHELLS};
use super::told;
use super::walk::Walker;
use super::word::Word;
use super::work;
use super::{Launches, RedirectKind, SimpleCommand};

/// These give what they read to a shell where they are given no command.
const STARTING_SHELLS: &[&str] = &[
    "at", "batch", "chroot", "fakeroot", "i386", "linux32", "linux64", "newgrp", "nsenter",
    "script", "setarch", "sg", "unshare", "x86_64",
];

/// These print what they read in a form that runs as it did.
const SHAPERS: &[&str] = &[
    "column", "expand", "fmt", "iconv", "nl", "paste", "pr", "strings", "tac", "unexpand", "xargs",
];

/// Of those that pass on what they read, these take it from a file that they name.
const FILTERS: &[&str] = &["cat", "egrep", "fgrep", "grep", "head", "pv", "sort", "tail", "uniq"];

impl Walker {
    /// Reads the texts that a command runs and that come to it by others.
    pub(super) fn run_fed(&mut self, index: usize) {
        let Some(command) = self.commands.get(index) else { return };
        let Some(program) = command.program() else { return };
        let reads_script = match program {
            name if SHELLS.contains(&name) => {
                shells::reads_program(command) || self.runs_link_to_input(command)
            }
            name => STARTING_SHELLS.contains(&name),
        };
        // What it is known to read itself is judged as that.
        let reads_script = reads_script && command.launches == Launches::Nothing;
        if self.rehearses || !reads_script && !told::is_told(program) {
            return;
        }
        let (command, program) = (command.clone(), program.to_owned());
        let mut left = FEED_MAX;
        let read = self.known_input(&command, &mut left);
        if reads_script {
            let read = read.filter(|text| self.work.takes_fed(text.len()));
            return read.into_iter().for_each(|text| self.run_text(index, &text));
        }
        let mut texts: Vec<_> = read.into_iter().chain(told::arguments(&command)).collect();
        let included = texts.iter().flat_map(|text| told::included(text));
        let files: Vec<_> = told::files(&command).into_iter().chain(included).collect();
        texts.extend(files.iter().filter_map(|file| self.known_file(file, &mut left)));
        for text in texts.iter().filter(|text| self.work.takes_fed(text.len())).collect::<Vec<_>>()
        {
            for script in told::commands(&program, text) {
                if self.work.takes_fed(script.len()) {
                    self.run_text(index, script);
                }
            }
        }
    }

    /// Says whether the script of a shell is a name that the line gave its input (`ln -s /dev/stdin f`).
    fn runs_link_to_input(&self, command: &SimpleCommand) -> bool {
        let script = shells::operands(command).first().and_then(name);
        let leads_to = script.and_then(|script| self.renamed.get(&script));
        leads_to.is_some_and(|name| matches!(name.as_str(), "stdin" | "0"))
    }

    /// Returns the text that a command prints, or passes on; looks at so many commands at most.
    pub(super) fn known(&self, command: &SimpleCommand, left: &mut usize) -> Option<String> {
        *left = left.checked_sub(1)?;
        if command.words.is_empty() {
            return self.known_output(command.piped_from.clone()?, left);
        }
        if let Some(Content::Text(text)) = printed(command) {
            return Some(text);
        }
        let is_one = |name: &str| PASSERS.contains(&name) || SHAPERS.contains(&name);
        command.program().filter(|name| is_one(name)).and_then(|_| self.known_input(command, left))
    }

    fn known_output(&self, range: Range<usize>, left: &mut usize) -> Option<String> {
        let commands = self.commands.get(range)?.iter();
        let texts: Vec<_> = commands.filter_map(|command| self.known(command, left)).collect();
        (!texts.is_empty()).then(|| texts.concat())
    }

    /// Returns the text that a command reads, of its own or of what is around it.
    fn known_input(&self, command: &SimpleCommand, left: &mut usize) -> Option<String> {
        let is_one = |name: &str| FILTERS.contains(&name) || SHAPERS.contains(&name);
        if command.program().is_some_and(is_one) {
            let named = command.arguments().iter().filter_map(|file| self.known_file(file, left));
            let named: Vec<_> = named.collect();
            if !named.is_empty() || names_file(command) {
                return (!named.is_empty()).then(|| named.concat());
            }
        }
        let own = command.redirects.iter().rfind(|one| is_input(one));
        match own {
            Some(one) if one.kind == RedirectKind::Text => short(&one.target),
            Some(one) if !hidden::is_descriptor(&one.target) => self.known_file(&one.target, left),
            _ if command.piped_from.is_some() => {
                self.known_output(command.piped_from.clone()?, left)
            }
            _ => match (&command.reads_text, &command.reads_from) {
                (Some(text), _) => short(text),
                (None, file) => self.known_file(file.as_ref()?, left),
            },
        }
    }

    /// Returns what is in a file that the line has written, or that commands of the line print.
    fn known_file(&self, file: &Word, left: &mut usize) -> Option<String> {
        match file.unknown().next() {
            Some(unknown) if is_output(file) => self.known_output(unknown.from.clone(), left),
            _ => self.written.get(&name(file)?).cloned(),
        }
    }
}

/// Returns a text, if it is not too long to be followed.
fn short(text: &Word) -> Option<String> {
    (work::bytes(&text.pieces) <= FILE_BYTES_MAX).then(|| text.source())
}

/// Says whether a command reads a file that it names, and not its input.
fn names_file(command: &SimpleCommand) -> bool {
    let is_path = |word: &Word| {
        let text = word.prefix();
        word.is_no_option() && (text.contains(['.', '/']) || command.program() == Some("cat"))
    };
    command.arguments().last().is_some_and(|last| is_path(last) && !hidden::is_descriptor(last))
}
