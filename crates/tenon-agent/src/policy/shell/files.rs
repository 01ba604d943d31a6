//! Files that a line writes and then runs, and programs that it gives another name.
//!
//! A file is known by its name alone, and holds all that the line writes to one of that name. What
//! is not sure in such a script is no question: people write what they run.

use std::ops::Range;

use super::arguments::{Launched, join, skip_options};
use super::hidden;
use super::launch::{SHELLS, reads_program};
use super::walk::{self, Walker};
use super::word::{Piece, Word};
use super::{RedirectKind, SimpleCommand};

/// A longer file is not read, in bytes.
const FILE_BYTES_MAX: usize = 64 * 1024;
/// Files and names that are kept of one line.
const FILES_MAX: usize = 64;

/// These make a file of another one.
const COPIERS: &[&str] = &["cp", "install", "ln", "mv"];

/// Returns the name of a file without its folder.
fn name(word: &Word) -> Option<String> {
    word.program().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Returns what a command writes to its output, as a script; what is not known of it stays a variable.
fn printed(command: &SimpleCommand) -> Option<String> {
    if let Some(text) = hidden::written(command) {
        return Some(text);
    }
    let text = command.redirects.iter().find(|one| one.kind == RedirectKind::Text);
    match command.program()? {
        "cat" => text.map(|one| one.target.source()),
        "echo" => Some(join(command.arguments()).source()),
        _ => None,
    }
}

impl Walker {
    /// Takes in what a command writes, and what it copies.
    fn keep_files(&mut self, command: &SimpleCommand) {
        let operands = || skip_options(command.arguments(), &["-m", "-o", "-g"]);
        let (text, mut targets) = match command.program() {
            Some("tee") => {
                let feed = command.piped_from.clone().and_then(|from| self.commands.get(from));
                let texts: Option<Vec<_>> = feed.unwrap_or_default().iter().map(printed).collect();
                (texts.map(|texts| texts.concat()), operands().to_vec())
            }
            _ => (printed(command), Vec::new()),
        };
        let written = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
        targets.extend(written.map(|one| one.target.clone()));
        for target in targets.iter().filter_map(name) {
            if let Some(text) = &text {
                self.keep_file(target, text);
            }
        }
        if command.program().is_some_and(|name| COPIERS.contains(&name))
            && let Some((target, sources)) = operands().split_last()
            && let [.., source] = sources
            && let (Some(to), Some(from)) = (name(target), self.program_of(source))
        {
            if let Some(text) = self.written.get(&from).cloned() {
                self.keep_file(to.clone(), &text);
            }
            if !self.is_same(&from, &to) && self.renamed.len() < FILES_MAX {
                self.renamed.insert(to, from);
            }
        }
    }

    fn keep_file(&mut self, name: String, text: &str) {
        if self.written.len() >= FILES_MAX && !self.written.contains_key(&name) {
            return;
        }
        let kept = self.written.entry(name).or_default();
        if kept.len() + text.len() <= FILE_BYTES_MAX {
            kept.push_str(text);
            kept.push('\n');
        }
    }

    /// Says whether one name leads to another, by what was copied so far.
    fn is_same(&self, from: &str, to: &str) -> bool {
        let before = |name: &&String| self.renamed.get(*name);
        let from = from.to_owned();
        std::iter::successors(Some(&from), before).take(FILES_MAX).any(|name| name == to)
    }

    /// Returns the name of a program that a word names, or that `$(which name)` does.
    fn program_of(&self, word: &Word) -> Option<String> {
        let Some(unknown) = word.unknown().next() else { return name(word) };
        match self.commands.get(unknown.from.clone())? {
            [one] if matches!(one.program(), Some("which" | "command" | "type")) => {
                one.words.last()?.literal().map(str::to_owned)
            }
            _ => name(word),
        }
    }

    /// Returns what a command runs by a name that the line gave it.
    pub(super) fn under_first_name(&self, command: &SimpleCommand) -> Option<Launched> {
        let before = self.renamed.get(command.program()?)?;
        let mut words = command.words.clone();
        *words.first_mut()? = Word::text(before);
        let inner = SimpleCommand { words, ..Default::default() };
        Some(Launched::Aside(Box::new(Launched::Command(inner))))
    }

    /// Returns the files that a command reads as a script.
    fn scripts(&self, command: &SimpleCommand) -> Vec<Word> {
        let arguments = command.arguments();
        let reads = || {
            let own = command.redirects.iter().filter(|one| one.kind == RedirectKind::Read);
            let piped = command.piped_from.clone().and_then(|from| self.commands.get(from));
            let cats = piped.unwrap_or_default().iter().filter(|one| one.program() == Some("cat"));
            let files = own.map(|one| one.target.clone()).chain(command.reads_from.clone());
            files.chain(cats.flat_map(|cat| cat.arguments().to_vec())).collect()
        };
        match command.program() {
            Some("." | "source") => arguments.iter().take(1).cloned().collect(),
            Some(shell) if SHELLS.contains(&shell) => match reads_program(command) {
                true => reads(),
                false => skip_options(arguments, &["-o", "+o", "-O", "+O"])
                    .iter()
                    .take(1)
                    .cloned()
                    .collect(),
            },
            _ => {
                let first = command.words.first();
                let is_path = |word: &&Word| word.literal().is_some_and(|text| text.contains('/'));
                first.filter(is_path).into_iter().cloned().collect()
            }
        }
    }

    /// Reads the scripts that a command runs and the line has written, each once.
    pub(super) fn run_written(&mut self, index: usize) {
        let makes = |command: &&SimpleCommand| {
            let name = command.program().unwrap_or_default();
            let writes = command.redirects.iter().any(|one| one.kind == RedirectKind::Write);
            writes || name == "tee" || COPIERS.contains(&name)
        };
        let command = self.commands.get(index);
        let command = command.filter(|it| makes(it) || !self.written.is_empty());
        let Some(command) = command.cloned() else { return };
        if makes(&&command) {
            self.keep_files(&command);
        }
        for file in self.scripts(&command).iter().filter_map(name) {
            let Some(text) = self.written.remove(&file) else { continue };
            let interpreter = text.lines().next().and_then(|line| line.strip_prefix("#!"));
            if interpreter.is_some_and(|program| !program.contains("sh")) || self.rehearses {
                self.written.insert(file, text);
                continue;
            }
            let parsed = walk::walk(&text, self.scripts + 1, self.nesting);
            let by = self.commands.len();
            for inner in parsed.commands {
                self.commands.push(moved(inner, by, index, command.folder.as_deref()));
            }
            self.count(self.commands.len() - by);
        }
    }
}

/// Returns a command of a script as it stands in the row of the line that runs it.
fn moved(
    mut command: SimpleCommand,
    by: usize,
    runner: usize,
    folder: Option<&[Word]>,
) -> SimpleCommand {
    let shift = |range: &Range<usize>| range.start + by..range.end + by;
    let redirected = command.redirects.iter_mut().map(|one| &mut one.target);
    let assigned = command.assignments.iter_mut().map(|(_, value)| value);
    for piece in
        command.words.iter_mut().chain(redirected).chain(assigned).flat_map(|word| &mut word.pieces)
    {
        if let Piece::Unknown(unknown) = piece
            && !unknown.from.is_empty()
        {
            unknown.from = shift(&unknown.from);
        }
    }
    command.piped_from = command.piped_from.as_ref().map(shift);
    command.launched_by = Some(command.launched_by.map_or(runner, |launcher| launcher + by));
    command.folder = match (folder, command.folder) {
        (Some(outer), Some(inner)) => Some(outer.iter().cloned().chain(inner).collect()),
        _ => None,
    };
    (command.is_aside, command.is_written) = (true, true);
    command
}
