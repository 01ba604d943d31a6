//! Files that a line writes and then runs, and programs that it gives another name.
//!
//! A file is known by its name alone, and holds all that the line writes to one of that name. What
//! is not sure in such a script is no question: people write what they run.

use std::ops::Range;

use super::arguments::{self, Launched, join, skip_options, valued};
use super::folders::Folders;
use super::hidden;
use super::made::Signs;
use super::settings;
use super::shells;
use super::shells::SHELLS;
use super::walk::{self, Walker};
use super::word::{Piece, Word};
use super::{RedirectKind, SimpleCommand};

/// A longer file is not read, in bytes.
pub(super) const FILE_BYTES_MAX: usize = 64 * 1024;
/// Files and names that are kept of one line.
const FILES_MAX: usize = 64;

/// Commands that are looked at for what one of them writes.
pub(super) const FEED_MAX: usize = 256;

/// These make a file of another one.
const COPIERS: &[&str] = &["cp", "install", "ln", "mv"];

/// These write what they read, or lines of it.
pub(super) const PASSERS: &[&str] = &[
    "cat", "cp", "csplit", "dd", "egrep", "fgrep", "grep", "head", "install", "pv", "sort",
    "split", "sponge", "tail", "tee", "uniq",
];

/// These write to files that their arguments name.
const WRITERS: &[&str] = &[
    "awk", "csplit", "dd", "find", "gawk", "mawk", "nawk", "sed", "sort", "split", "sponge", "tee",
];

/// How the first names end that these give the parts of what they read.
const PARTS_OF_SPLIT: &[&str] = &["aa", "ab", "00", "01"];
const PARTS_OF_CSPLIT: &[&str] = &["00", "01"];

/// What is read from these the line may write later.
const PIPES: &[&str] = &["mkfifo", "mknod"];

/// What the line says of what a command writes.
pub(super) enum Content {
    /// A script; what is not known of it stays a variable.
    Text(String),
    /// Something that a program makes of a text in the line.
    Changed,
}

impl Content {
    fn of(texts: Vec<Content>) -> Option<Content> {
        let mut whole = String::new();
        for text in &texts {
            match text {
                Content::Text(text) => whole.push_str(text),
                Content::Changed => return Some(Content::Changed),
            }
        }
        (!texts.is_empty()).then_some(Content::Text(whole))
    }
}

/// Returns the name of a file without its folder.
pub(super) fn name(word: &Word) -> Option<String> {
    word.program().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Returns what an `echo`, a `printf` or a `cat` of a text writes.
pub(super) fn printed(command: &SimpleCommand) -> Option<Content> {
    if let Some(text) = hidden::written(command) {
        return Some(Content::Text(text));
    }
    let text = command.redirects.iter().find(|one| one.kind == RedirectKind::Text);
    let escapes = || arguments::made_printed(command.arguments()).signs == Signs::Substitution;
    let is_escaped = |word: &Word| word.prefix().starts_with('-') && word.prefix().contains('e');
    match command.program()? {
        "cat" => text.map(|one| Content::Text(one.target.source())),
        "echo" if command.arguments().first().is_some_and(is_escaped) && escapes() => {
            Some(Content::Changed)
        }
        "echo" => Some(Content::Text(join(command.arguments()).source())),
        "printf" if escapes() => Some(Content::Changed),
        _ => None,
    }
}

/// Returns the files that a command writes to because its arguments name them.
fn named(command: &SimpleCommand) -> Vec<Word> {
    let arguments = command.arguments();
    match command.program() {
        Some("awk" | "gawk" | "mawk" | "nawk") => arguments.iter().flat_map(of_awk).collect(),
        Some("csplit") => {
            let begins = valued(arguments, &["-f", "--prefix"]).unwrap_or(Word::text("xx"));
            PARTS_OF_CSPLIT.iter().map(|end| begins.joined(&Word::text(*end))).collect()
        }
        Some("find") => {
            let behind = arguments.iter().zip(arguments.iter().skip(1));
            let written = behind.filter(|(option, _)| option.literal() == Some("-fprintf"));
            written.map(|(_, file)| file.clone()).collect()
        }
        Some("split") => {
            let named = skip_options(arguments, &["-a", "-b", "-C", "-l", "-n", "-t"]);
            // `-` counts as an option there.
            let reads = arguments.iter().any(|word| word.literal() == Some("-"));
            let begins = named.get(usize::from(!reads)).cloned().unwrap_or(Word::text("x"));
            PARTS_OF_SPLIT.iter().map(|end| begins.joined(&Word::text(*end))).collect()
        }
        Some("dd") => arguments.iter().filter_map(|word| word.strip_prefix("of=")).collect(),
        Some("sed") => arguments.iter().flat_map(of_sed).collect(),
        Some("sort") => {
            let written = valued(arguments, &["-o"]).into_iter();
            written.chain(valued(arguments, &["--output"])).collect()
        }
        Some("sponge" | "tee") => skip_options(arguments, &[]).to_vec(),
        Some("cp" | "install") => match operands(command) {
            [.., source, target] if hidden::is_descriptor(source) => vec![target.clone()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns what may be the file of a `w` in a script of `sed`.
fn of_sed(script: &Word) -> Vec<Word> {
    let text = script.prefix();
    let behind = text.match_indices('w').filter_map(|(at, _)| text.get(at + 1..));
    let file = |rest: &str| Word::text(rest.lines().next().unwrap_or_default().trim());
    behind.take(FILES_MAX).map(file).collect()
}

/// Returns the files to which a program of `awk` prints by their names.
fn of_awk(program: &Word) -> Vec<Word> {
    let text = program.source();
    let behind = text.match_indices('>').filter_map(|(at, _)| text.get(at + 1..));
    let file = |rest: &str| {
        let (name, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        Some(Word::text(name))
    };
    behind.take(FILES_MAX).filter_map(file).collect()
}

/// Returns what a command makes another file of, and that one.
fn copied(command: &SimpleCommand) -> Option<(Word, Word)> {
    let program = command.program()?;
    let arguments = command.arguments();
    let (source, target) = if COPIERS.contains(&program) {
        let (target, sources) = operands(command).split_last()?;
        (sources.last()?, target)
    } else if program == "cat" {
        let redirected = |kind| command.redirects.iter().find(move |one| one.kind == kind);
        let read = || redirected(RedirectKind::Read).map(|one| &one.target);
        let target = redirected(RedirectKind::Write)?;
        (operands(command).last().or_else(read)?, &target.target)
    } else if program == "dd" {
        let value = |name| arguments.iter().find_map(|word| word.strip_prefix(name));
        return Some((value("if=")?, value("of=")?));
    } else {
        return None;
    };
    Some((source.clone(), target.clone()))
}

/// Says whether the shell itself goes on with the redirects of a command (`exec 3> file`).
fn is_permanent(command: &SimpleCommand) -> bool {
    const THROUGH: &[&str] = &["builtin", "command", "exec"];
    let is_through =
        |word: &Word| word.prefix().starts_with('-') || word.literal().is_some_and(is_in(THROUGH));
    command.words.iter().all(is_through)
        && command.words.iter().any(|word| word.literal() == Some("exec"))
}

fn is_in(names: &'static [&'static str]) -> impl Fn(&str) -> bool {
    move |name| names.contains(&name)
}

fn operands(command: &SimpleCommand) -> &[Word] {
    skip_options(command.arguments(), &["-m", "-o", "-g"])
}

impl Walker {
    /// Returns what a command writes to its output and its files; looks at so many others at most.
    fn content(&self, command: &SimpleCommand, left: &mut usize) -> Option<Content> {
        let program = command.program()?;
        let text = command.redirects.iter().find(|one| one.kind == RedirectKind::Text);
        if let Some(content) = printed(command) {
            return Some(content);
        }
        let read = match text {
            Some(text) => Some(Content::Text(text.target.source())),
            None => self.fed(command, left),
        };
        match program {
            name if PASSERS.contains(&name) => read,
            "find" => {
                let prints = |word: &Word| matches!(word.literal(), Some("-fprintf" | "-printf"));
                command.arguments().iter().any(prints).then_some(Content::Changed)
            }
            "sed" if command.arguments().iter().any(|word| word.prefix().starts_with('w')) => read,
            name if hidden::CHANGERS.contains(&name) => read.map(|_| Content::Changed),
            _ => None,
        }
    }

    /// Returns what a command reads from others.
    fn fed(&self, command: &SimpleCommand, left: &mut usize) -> Option<Content> {
        let mut texts = Vec::new();
        for one in self.commands.get(command.piped_from.clone()?)? {
            let Some(rest) = left.checked_sub(1) else { return Some(Content::Changed) };
            *left = rest;
            texts.extend(self.content(one, left));
        }
        Content::of(texts)
    }

    /// Takes in what a command writes, and what it copies.
    fn keep_files(&mut self, command: &SimpleCommand) {
        let mut left = FEED_MAX;
        let content = match command.words.is_empty() {
            // Around a group.
            true => self.fed(command, &mut left),
            false => self.content(command, &mut left),
        };
        let content = content.or_else(|| self.known(command, &mut left).map(Content::Text));
        let written = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
        let written = written.map(|one| one.target.clone()).chain(named(command));
        for target in written.collect::<Vec<_>>().iter().filter_map(name) {
            match &content {
                Some(Content::Text(text)) => self.keep_file(target, text),
                Some(Content::Changed) => self.keep_changed(target),
                None => {}
            }
        }
        if is_permanent(command) {
            // What is written there later is not looked for.
            let opened = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
            opened.filter_map(|one| name(&one.target)).for_each(|file| self.keep_changed(file));
        }
        if command.program().is_some_and(|name| PIPES.contains(&name)) {
            let made = command.arguments().iter().filter(|word| word.is_no_option());
            made.filter_map(name).for_each(|made| self.keep_changed(made));
        }
        if let Some((source, target)) = copied(command)
            && let (Some(to), Some(from)) = (name(&target), self.program_of(&source))
        {
            if let Some(text) = self.written.get(&from).cloned() {
                self.keep_file(to.clone(), &text);
            }
            if self.changed.contains(&from) {
                self.keep_changed(to.clone());
            }
            if !self.is_same(&from, &to) && self.renamed.len() < FILES_MAX {
                self.renamed.insert(to, from);
            }
        }
    }

    /// Takes in what the commands that a command started, or a function, write to its files.
    pub(super) fn keep_output(&mut self, index: usize) {
        let Some(command) = self.commands.get(index) else { return };
        let written = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
        let files: Vec<_> = written.filter_map(|one| name(&one.target)).collect();
        let mut left = FEED_MAX;
        if files.is_empty() || self.content(command, &mut left).is_some() {
            return;
        }
        let mut texts = Vec::new();
        for one in self.commands.get(index + 1..).unwrap_or_default() {
            let Some(rest) = left.checked_sub(1) else { break };
            left = rest;
            let content = self.content(one, &mut left);
            texts.extend(content.or_else(|| self.known(one, &mut left).map(Content::Text)));
        }
        let content = if left == 0 { Some(Content::Changed) } else { Content::of(texts) };
        for file in files {
            match &content {
                Some(Content::Text(text)) => self.keep_file(file, text),
                Some(Content::Changed) => self.keep_changed(file),
                None => {}
            }
        }
    }

    fn keep_changed(&mut self, name: String) {
        if self.changed.len() < FILES_MAX {
            self.changed.insert(name);
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
        let reads = || -> Vec<Word> {
            let own = command.redirects.iter().filter(|one| one.kind == RedirectKind::Read);
            let piped = command.piped_from.clone().and_then(|from| self.commands.get(from));
            let cats = piped.unwrap_or_default().iter().filter(|one| one.program() == Some("cat"));
            let files = own.map(|one| one.target.clone()).chain(command.reads_from.clone());
            files.chain(cats.flat_map(|cat| cat.arguments().to_vec())).collect()
        };
        let startup = command.assignments.iter().filter(|(name, _)| hidden::is_startup(name));
        let mut files: Vec<_> = startup.map(|(_, file)| file.clone()).collect();
        match command.program() {
            Some("." | "source") => files.extend(shells::sourced(command).first().cloned()),
            Some(_) if shells::only_checks(command) => {}
            Some(shell) if SHELLS.contains(&shell) => {
                files.extend(shells::startup(command));
                let set = self.variables.iter().filter(|(name, _)| hidden::is_startup(name));
                let set = set.filter_map(|(_, value)| value.clone());
                files.extend(set.map(|pieces| Word { pieces }));
                match shells::reads_program(command) {
                    true => files.extend(reads()),
                    false => files.extend(shells::operands(command).first().cloned()),
                }
            }
            _ => {
                let is_path = |word: &&Word| word.literal().is_some_and(|text| text.contains('/'));
                files.extend(command.words.first().filter(is_path).cloned());
            }
        }
        files
    }

    /// Forgets the variables that a script sets which the line has written and this shell runs.
    fn forget_sourced(&mut self, file: &str) {
        let Some(text) = self.written.get(file).cloned() else { return };
        let set = self.rehearsed(|walker| walker.script_within(&text));
        self.forget(&set);
    }

    /// Returns the files of settings that a command names to git.
    fn settings(&self, command: &SimpleCommand) -> Vec<Word> {
        if command.program() != Some("git") {
            return Vec::new();
        }
        let own = command.assignments.iter().filter(|(name, _)| settings::is_file(name));
        let shells = self.variables.iter().filter(|(name, _)| settings::is_file(name));
        let shells = shells.filter_map(|(_, value)| value.clone()).map(|pieces| Word { pieces });
        let included = settings::included(command.arguments());
        own.map(|(_, file)| file.clone()).chain(shells).chain(included).collect()
    }

    /// Reads the settings that git is told to take from a file which the line has written.
    fn take_settings(&mut self, index: usize, command: &SimpleCommand) {
        for file in self.settings(command).iter().filter_map(name) {
            let mut launched = self.written.get(&file).map(|text| settings::of_file(text));
            if self.changed.contains(&file) {
                launched.get_or_insert_default().push(Launched::Unknown);
            }
            let launched = launched.unwrap_or_default();
            self.starts(index, &launched);
            self.launch_all(index, launched);
        }
    }

    /// Reads the scripts that a command runs and the line has written, each once.
    pub(super) fn run_written(&mut self, index: usize) {
        let makes = |command: &&SimpleCommand| {
            let name = command.program().unwrap_or_default();
            let writes = command.redirects.iter().any(|one| one.kind == RedirectKind::Write);
            writes || [WRITERS, COPIERS, PIPES].iter().any(|names| names.contains(&name))
        };
        let command = self.commands.get(index);
        let keeps = !self.written.is_empty() || !self.changed.is_empty();
        let command = command.filter(|it| makes(it) || keeps);
        let Some(command) = command.cloned() else { return };
        if makes(&&command) {
            self.keep_files(&command);
        }
        let is_untold =
            |(name, value): (&String, &Option<_>)| hidden::is_startup(name) && value.is_none();
        let is_shell = command.program().is_some_and(|name| SHELLS.contains(&name));
        if is_shell && self.variables.iter().any(is_untold) {
            self.starts(index, &[Launched::Unknown]);
        }
        self.take_settings(index, &command);
        for file in self.scripts(&command).iter().filter_map(name) {
            if self.changed.contains(&file) {
                self.starts(index, &[Launched::Unknown]);
            }
            if matches!(command.program(), Some("." | "source")) {
                self.forget_sourced(&file);
            }
            let Some(text) = self.written.remove(&file) else { continue };
            let interpreter = text.lines().next().and_then(|line| line.strip_prefix("#!"));
            if interpreter.is_some_and(|program| !program.contains("sh")) || self.rehearses {
                self.written.insert(file, text);
                continue;
            }
            self.run_text(index, &text);
            if self.is_tired() {
                return;
            }
            if self.callers.defines > 0 {
                // A call runs it again.
                self.written.insert(file, text);
            }
        }
    }

    /// Reads a script that a command runs as one that the line has written.
    pub(super) fn run_text(&mut self, index: usize, text: &str) {
        let Some(command) = self.commands.get(index) else { return };
        let folders = command.folders.clone().unwrap_or_else(Folders::open);
        let at = (command.folder.clone(), folders);
        let parsed = walk::walk(text, at, (self.scripts + 1, self.nesting), &mut self.work);
        self.count(1);
        let by = self.commands.len();
        for inner in parsed.commands {
            self.count(inner.folders.as_ref().map_or(1, Folders::words));
            if self.is_tired() {
                return;
            }
            self.commands.push(moved(inner, by, index));
        }
    }
}

/// Returns a command of a script as it stands in the row of the line that runs it.
fn moved(mut command: SimpleCommand, by: usize, runner: usize) -> SimpleCommand {
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
    (command.is_aside, command.is_written, command.is_moot) = (true, true, false);
    command
}
