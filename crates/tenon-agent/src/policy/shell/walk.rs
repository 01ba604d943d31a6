//! From what is written to the row of simple commands.
//!
//! Keeps what a shell keeps while it reads on: the folder after each `cd`, variables with known
//! values, functions, what stands at the other end of a pipe. A value that depends on a branch or
//! on output is unknown. Descends at most [`NESTING_MAX`] levels and doubts beyond.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use super::folders::{self, Folders};
use super::frame::{Callers, Change, Frame, Local, Sure, Value};
use super::hidden::{self, TWICE};
use super::input::copies_input;
use super::launch;
use super::made::{self, Made, Values};
use super::perhaps::{self, Perhaps};
use super::plain;
use super::reader;
use super::syntax::{
    AndOr, Assignment, Command, Kind, Operator, Pipeline, Simple, Target, WrittenRedirect,
    WrittenWord,
};
use super::word::{self, Piece, Word};
use super::words::variable_of;
use super::work::{TOO_MANY, Work};
use super::{NESTING_MAX, Parsed, Redirect, RedirectKind, SimpleCommand};

/// Longer scripts are not read, in bytes; a command line of that size is a program of its own.
const SCRIPT_BYTES_MAX: usize = 1 << 20;
/// Scripts within scripts (`sh -c "sh -c …"`).
const SCRIPTS_MAX: usize = 8;
/// Commands kept of one command line, so that loops within loops stay small.
const COMMANDS_MAX: usize = 10_000;
/// Words of all these commands; bounds the memory of loops.
const WORDS_MAX: usize = 200_000;
/// Passes through loop bodies, one for each known value, and through functions.
pub(super) const PASSES_MAX: usize = 64;
/// Calls of functions within functions that are followed.
pub(super) const CALLS_MAX: usize = 4;
/// Builtins of POSIX that are special.
const SPECIAL: &[&str] = &[
    ".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set",
    "shift", "source", "times", "trap", "unset",
];
/// Variables that bash itself fills.
const FILLED: &[&str] = &[
    "_",
    "COMP_LINE",
    "DIRSTACK",
    "FUNCNAME",
    "HISTCMD",
    "LINENO",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "PIPESTATUS",
    "PPID",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SRANDOM",
];

/// The variable in which bash keeps where it found programs.
const HASHED: &str = "BASH_CMDS";

/// Reads a command line, or a script that so many others and levels are around, from a folder on, and
/// takes what that needs of the work.
pub(super) fn walk(
    command: &str,
    (folder, folders): (Option<Vec<Word>>, Folders),
    (scripts, nesting): (usize, usize),
    work: &mut Work,
) -> Parsed {
    let mut walker = Walker {
        state: State { folder, folders, ..State::default() },
        scripts,
        nesting,
        work: *work,
        ..Walker::default()
    };
    walker.script(command);
    walker.end_traps();
    if walker.values.may_run() {
        walker.doubt(TWICE);
    }
    walker.leave_to_calls();
    *work = walker.work;
    let (mut commands, doubt, functions) = (walker.commands, walker.doubt, walker.functions);
    if walker.moves_home || commands.iter().any(folders::sets_home) {
        commands.iter_mut().for_each(folders::forget_home);
    }
    let is_plain = plain::is_plain(command, &commands);
    let chooses_programs = walker.chooses_programs;
    let perhaps = perhaps::meant(walker.perhaps, &walker.values);
    Parsed { commands, doubt, functions, perhaps, is_plain, chooses_programs }
}

/// What a subshell gets a copy of.
#[derive(Clone, Default)]
pub(super) struct State {
    /// The changes of folder so far, as if each of them were done; `None` if one is not known.
    pub(super) folder: Option<Vec<Word>>,
    /// Where it may be. Whatever is read, what was there before stays, but behind `&&`: a loop or a
    /// function may be left in its middle.
    pub(super) folders: Folders,
    pub(super) input: Option<Range<usize>>,
    /// The file that the shell reads, or the group around (`exec < file`, `while …; done < file`).
    pub(super) reads: Option<Word>,
    /// The text that the group around reads (`while read x; do …; done <<< text`).
    pub(super) text: Option<Rc<Word>>,
    /// What it reads is a pipe, a text or a file that is no terminal.
    pub(super) is_fed: bool,
    /// The shell may read something else: `[ -t 0 ] || exec < file`.
    pub(super) may_read_other: bool,
    pub(super) launched_by: Option<usize>,
    /// The functions that can be called.
    pub(super) callees: Rc<HashMap<String, Callee>>,
    /// A name may stand for another, or any variable may have been set: none is known.
    pub(super) untold: bool,
    /// Patterns that match nothing are no words.
    pub(super) drops_patterns: bool,
    /// The shell puts what aliases stand for in the place of words.
    pub(super) expands_aliases: bool,
    /// What runs is run because of an option or a setting of another program.
    pub(super) is_aside: bool,
}

/// What may run under the name of a function.
#[derive(Clone, Default)]
pub(super) struct Callee {
    pub(super) bodies: Vec<Rc<Command>>,
    /// Whether it is surely defined; then there is one body.
    pub(super) is_sure: bool,
}

/// What a trap runs later.
pub(super) struct Trap {
    pub(super) text: String,
    pub(super) at_exit: bool,
    pub(super) launched_by: Option<usize>,
    pub(super) folder: Option<Vec<Word>>,
    pub(super) folders: Folders,
    /// What was read when it was set.
    pub(super) seen: Range<usize>,
    /// The names that it called when they were no functions.
    pub(super) names: HashSet<String>,
    /// The variables that were set since, with the only value of those that had none before.
    pub(super) changed: HashMap<String, Value>,
}

#[derive(Default)]
pub(super) struct Walker {
    pub(super) commands: Vec<SimpleCommand>,
    pub(super) functions: Vec<(String, Range<usize>)>,
    doubt: Option<String>,
    pub(super) state: State,
    pub(super) variables: HashMap<String, Value>,
    /// What variables may be made of, known or not.
    pub(super) values: Values,
    /// What variables were before each change, so that a subshell need not copy all of them.
    pub(super) changes: Vec<Change>,
    /// Variables that do not keep what is assigned to them: numbers, capitals, readonly.
    pub(super) unsteady: HashSet<String>,
    /// The variables that are local to the functions being called, one row each.
    pub(super) locals: Vec<Vec<Local>>,
    pub(super) frame: Frame,
    pub(super) sure: Sure,
    pub(super) traps: Vec<Trap>,
    pub(super) callers: Callers,
    /// What `~`, `~+` and `cd` alone stand for is set.
    moves_home: bool,
    /// Where the shell is if the `cd` just read went well.
    pub(super) arrived: Option<Folders>,
    pub(super) has_aliases: bool,
    /// The elements of an array are known, or were.
    pub(super) has_arrays: bool,
    /// A loop is read to see what it sets, not for its commands.
    pub(super) rehearses: bool,
    pub(super) nesting: usize,
    pub(super) scripts: usize,
    pub(super) branches: usize,
    pub(super) passes: usize,
    pub(super) calls: usize,
    words: usize,
    pub(super) work: Work,
    /// Commands within `>(…)`, which read what the command being built writes.
    pub(super) sinks: Vec<Range<usize>>,
    pub(super) chooses_programs: bool,
    /// What may run besides, by words that are not known.
    pub(super) perhaps: Vec<Perhaps>,
    /// Files that the line has written, and programs that it has given another name.
    pub(super) written: HashMap<String, String>,
    /// Those of which the line gives the text, but for what a program made of it.
    pub(super) changed: HashSet<String>,
    pub(super) renamed: HashMap<String, String>,
}

impl Walker {
    pub(super) fn doubt(&mut self, why: &str) {
        self.doubt.get_or_insert_with(|| why.to_owned());
    }

    pub(super) fn is_doubtful(&self) -> bool {
        self.doubt.is_some()
    }

    pub(super) fn count(&mut self, steps: usize) {
        let left = self.work.take_steps(steps);
        left.unwrap_or_else(|why| self.doubt(why));
    }

    /// Counts bytes before they are looked through, and says whether they may be.
    pub(super) fn looks_through(&mut self, bytes: usize) -> bool {
        let left = self.work.take_bytes(bytes);
        left.unwrap_or_else(|why| self.doubt(why));
        !self.is_tired()
    }

    pub(super) fn is_tired(&self) -> bool {
        self.work.is_over()
    }

    pub(super) fn script(&mut self, text: &str) {
        if !self.enters_script(text) {
            return;
        }
        let script = reader::read(text, self.nesting);
        if let Some(doubt) = script.doubt {
            self.doubt(doubt);
        }
        self.lines(&script.list);
        self.leave_script();
    }

    /// Says whether a text within the line is read; if so, [`Walker::leave_script`] has to follow.
    pub(super) fn enters_script(&mut self, text: &str) -> bool {
        if text.len() > SCRIPT_BYTES_MAX || self.scripts >= SCRIPTS_MAX {
            self.doubt("it is too long or has too many scripts within scripts");
            return false;
        }
        if text.contains('\0') {
            self.doubt("it has a NUL character, where bash stops reading");
            return false;
        }
        if !self.looks_through(text.len()) {
            return false;
        }
        self.scripts += 1;
        true
    }

    pub(super) fn leave_script(&mut self) {
        self.scripts -= 1;
    }

    pub(super) fn list(&mut self, list: &[AndOr]) {
        for item in list {
            if self.is_tired() {
                return;
            }
            if !item.background {
                self.and_or(item);
                continue;
            }
            let start = self.commands.len();
            self.isolated(|walker| walker.and_or(item));
            for command in self.commands.iter_mut().skip(start) {
                command.background = true;
            }
        }
    }

    pub(super) fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [one] = pipeline.as_slice() {
            return self.command(one);
        }
        let mut input = self.state.input.clone();
        for (at, stage) in pipeline.iter().enumerate() {
            if self.is_tired() {
                return;
            }
            let start = self.commands.len();
            self.isolated(|walker| {
                walker.state.input = input.take();
                if at > 0 {
                    (walker.state.reads, walker.state.is_fed) = (None, true);
                }
                walker.command(stage);
            });
            input = Some(start..self.commands.len());
        }
    }

    pub(super) fn command(&mut self, command: &Command) {
        self.count(1);
        if self.nesting >= NESTING_MAX || self.commands.len() >= COMMANDS_MAX || self.is_tired() {
            return self.doubt(TOO_MANY);
        }
        self.nesting += 1;
        match &command.kind {
            Kind::Simple(simple) => {
                // Where such a redirect fails, the shell ends.
                let is_exec =
                    matches!(simple.words.as_slice(), [one] if one.plain() == Some("exec"));
                let fails = self.may_fail(&command.redirects) && !is_exec;
                self.perhaps_done(fails, |walker| walker.simple(simple, &command.redirects));
            }
            kind => {
                let redirects = self.redirects(&command.redirects);
                let sinks = std::mem::take(&mut self.sinks);
                let start = self.commands.len();
                let input = self.state.input.clone();
                let (folder, folders) = (self.state.folder.clone(), self.state.folders.clone());
                // `{ sh; } < <(…)` reads what the commands write.
                let read = redirects.iter().filter(|one| one.kind == RedirectKind::Read);
                if let Some(source) = read.flat_map(|one| one.target.unknown()).next() {
                    self.state.input = Some(source.from.clone());
                }
                let text = redirects.iter().rfind(|one| one.kind == RedirectKind::Text);
                let text =
                    text.map(|one| Rc::new(one.target.clone())).or_else(|| self.state.text.clone());
                let text = std::mem::replace(&mut self.state.text, text);
                let reads = self.enter_file(&redirects);
                let is_fed = self.enter_feed(&redirects, &command.redirects);
                let fails = self.may_fail(&command.redirects);
                self.perhaps_done(fails, |walker| walker.compound(kind));
                (self.state.text, self.state.is_fed) = (text, is_fed);
                if let Some(reads) = reads {
                    self.state.reads = reads;
                }
                // What they write is written where the group around them writes.
                if redirects.iter().any(|one| one.kind == RedirectKind::Write) {
                    self.state.input = Some(start..self.commands.len());
                }
                self.sinks = sinks;
                if !redirects.is_empty() {
                    // They are opened before anything within runs.
                    let folders = Some(folders);
                    self.finish(SimpleCommand { redirects, folder, folders, ..Default::default() });
                }
                self.state.input = input;
            }
        }
        self.nesting -= 1;
    }

    fn compound(&mut self, kind: &Kind) {
        match kind {
            Kind::Simple(simple) => self.simple(simple, &[]),
            Kind::Group(list) => self.list(list),
            Kind::Subshell(list) => self.isolated(|walker| walker.list(list)),
            Kind::Branches { words, lists, repeats } => self.branches(words, lists, *repeats),
            Kind::For { name, words, body } => self.for_each(name, words, body),
            Kind::Test(words) => {
                for (word, how) in words {
                    for word in self.words(word) {
                        if let Some(how) = how {
                            self.flow_evaluated(how, &word);
                        }
                        // Arithmetic in a test runs what stands in a subscript.
                        self.evaluate_value(&word);
                    }
                }
                self.finish(SimpleCommand { words: vec![Word::text("[")], ..Default::default() });
            }
            Kind::Function { name, body } => self.function(name, body),
            Kind::Coprocess { name, command } => {
                self.given(name);
                let start = self.commands.len();
                self.isolated(|walker| {
                    let state = &mut walker.state;
                    (state.input, state.reads, state.text) = (None, None, None);
                    state.is_fed = true;
                    walker.command(command);
                });
                self.reads_descriptor(start);
                let made = self.output(start..self.commands.len());
                self.values.flow(made::DESCRIPTOR, &made);
                for command in self.commands.iter_mut().skip(start) {
                    command.background = true;
                }
            }
        }
    }

    fn simple(&mut self, simple: &Simple, redirects: &[WrittenRedirect]) {
        let mut command = SimpleCommand::default();
        for assignment in &simple.assignments {
            let (assigned, elements) = self.assigned(assignment);
            if simple.words.is_empty() {
                self.note_readonly(&assigned.0);
                self.set(&assigned.0, assigned.1.clone());
                self.keep_elements(&assigned.0, elements);
            }
            command.assignments.push(assigned);
        }
        for word in &simple.words {
            command.words.extend(self.words(word));
        }
        for assignment in &simple.declared {
            let (assigned, elements) = self.assigned(assignment);
            self.declared(&command.words, &assigned, elements);
            command.assignments.push(assigned);
        }
        command.redirects = self.redirects(redirects);
        command.is_fed = copies_input(redirects);
        if let Some(last) = command.words.last() {
            self.values.flow("_", &last.made());
        }
        self.finish(command);
        // There a POSIX shell keeps what stands in front.
        let name = simple.words.first().and_then(WrittenWord::plain);
        if name.is_some_and(|name| SPECIAL.contains(&name)) {
            simple.assignments.iter().for_each(|one| self.given(&one.name));
        }
    }

    fn redirects(&mut self, written: &[WrittenRedirect]) -> Vec<Redirect> {
        let mut redirects = Vec::new();
        for redirect in written {
            if let Some((name, subscript)) = &redirect.descriptor {
                self.given(name);
                self.evaluated(subscript);
            }
            self.note_closed(redirect);
            let targets = match &redirect.target {
                Target::Word(word) if redirect.operator == Operator::Text => {
                    vec![self.unsplit(word)]
                }
                Target::Word(word) => self.words(word),
                Target::Document(document) => {
                    vec![document.get().map(|word| self.unsplit(word)).unwrap_or_default()]
                }
            };
            redirects.extend(targets.into_iter().map(|target| {
                let kind = match redirect.operator {
                    Operator::Read => RedirectKind::Read,
                    Operator::Write => RedirectKind::Write,
                    Operator::Text => RedirectKind::Text,
                    Operator::Copy => RedirectKind::Descriptor,
                    // `>&2` names a descriptor, `>&file` a file.
                    Operator::WriteOrCopy if target.literal().is_some_and(is_descriptor) => {
                        RedirectKind::Descriptor
                    }
                    Operator::WriteOrCopy => RedirectKind::Write,
                };
                Redirect { kind, target }
            }));
        }
        redirects
    }

    /// Adds a command with what it changes in the shell and what it starts.
    pub(super) fn finish(&mut self, mut command: SimpleCommand) {
        self.words += 1 + command.words.len();
        if self.commands.len() >= COMMANDS_MAX || self.words > WORDS_MAX {
            return self.doubt("it has too many commands");
        }
        if command.folders.is_none() {
            command.folder = self.state.folder.clone();
            command.folders = Some(self.state.folders.clone());
        }
        command.reads_from = self.reads_from(&command);
        if !self.looks_through(command.bytes()) {
            return;
        }
        command.piped_from = self.state.input.clone();
        command.launched_by = self.state.launched_by;
        command.is_fed = self.is_fed(&command);
        command.reads_text = self.reads_text(&command);
        command.is_aside = self.state.is_aside;
        self.may_mean(perhaps::perhaps(&command));
        let index = self.commands.len();
        let sinks = std::mem::take(&mut self.sinks);
        for sink in &sinks {
            for reader in self.commands.get_mut(sink.clone()).into_iter().flatten() {
                reader.piped_from.get_or_insert(index..index + 1);
                (reader.is_fed, reader.reads_text) = (true, None);
            }
        }
        self.flow_files(&command);
        let read = self.evaluate_read(&command);
        let feed = command.piped_from.clone().and_then(|range| self.commands.get(range));
        let reading = self.with_text(&command);
        let reading = reading.as_ref().unwrap_or(&command);
        let mut launched = launch::launched(reading, feed.unwrap_or_default(), &read);
        if self.state.drops_patterns {
            launched.extend(launch::without_patterns(&command));
        }
        launched.extend(self.under_first_name(&command));
        self.note_caller(&command);
        self.commands.push(command);
        self.starts(index, &launched);
        if self.state.may_read_other {
            self.reads_descriptor(index);
        }
        self.run_written(index);
        self.run_fed(index);
        self.change_shell(index, &read);
        let input = self.enter_input(index);
        self.call(index);
        self.launch_all(index, launched);
        self.keep_output(index);
        if !self.keeps_input(index) {
            (self.state.input, self.state.text, self.state.is_fed) = input;
        }
        for reader in sinks.into_iter().flatten() {
            self.launch_fed(reader, index);
            self.run_fed(reader);
        }
    }

    /// Gives a variable a value, or takes it away.
    pub(super) fn put(&mut self, name: String, value: Option<Value>) {
        self.moves_home |= folders::is_home(&name);
        match name.as_str() {
            HASHED => self.doubt("it says where programs are found"),
            "BASH_ALIASES" => self.has_aliases(),
            "BASHOPTS" | "POSIXLY_CORRECT" | "SHELLOPTS" => self.expands_aliases(),
            _ => {}
        }
        if hidden::calls_by_value(&name) {
            self.untold_call();
        }
        self.forget_elements(&name);
        let of = variable_of(&name);
        let is_unsteady = is_filled(of) || self.unsteady.contains(of);
        // Where the shell is now, it may not be when the value is used.
        let value = value.map(|value| value.and_then(|value| self.state.folders.kept(value)));
        let value = value.map(|value| value.filter(|_| !is_unsteady));
        self.note_trapped(&name, value.as_ref());
        let before = self.replace(&name, value);
        self.changes.push((name, before));
    }

    /// Puts a value in its place and returns what was there.
    pub(super) fn replace(&mut self, name: &str, value: Option<Value>) -> Option<Value> {
        match value {
            Some(value) => self.variables.insert(name.to_owned(), value),
            None => self.variables.remove(name),
        }
    }

    /// Returns the variable with its value, and the elements if it is an array.
    fn assigned(&mut self, assignment: &Assignment) -> ((String, Word), Option<Vec<Piece>>) {
        if let Some(subscript) = &assignment.subscript {
            self.evaluated(subscript);
        }
        let (value, elements) = match assignment.value.elements() {
            Some(words) => {
                let before = self.elements_before(assignment);
                let array = self.array(words, before);
                (array.value, array.elements)
            }
            None => (self.unsplit(&assignment.value), None),
        };
        let known = !assignment.appends && assignment.subscript.is_none();
        let value = if known {
            self.note_value(&value);
            value
        } else {
            let before = self.variables.get(&assignment.name).cloned().flatten();
            let before = Word { pieces: before.unwrap_or_default() };
            self.evaluate_value(&before.joined(&value));
            self.flow_value(&assignment.name, &before);
            self.values.flow(&assignment.name, &value.made());
            Word { pieces: word::made_of(Made::variable(&assignment.name)) }
        };
        if hidden::is_prompt(&assignment.name) || hidden::is_startup(&assignment.name) {
            self.flow_evaluated(made::NAME, &value);
        }
        // An array, or more than what it was.
        if hidden::is_prompt(&assignment.name) && is_unknown(&value) {
            self.doubt(TWICE);
        }
        ((assignment.name.clone(), value), elements)
    }
}

/// Says whether bash gives a variable its values.
pub(super) fn is_filled(name: &str) -> bool {
    FILLED.contains(&name)
        || name.starts_with("BASH_") && !hidden::is_startup(name)
        || name.starts_with("EPOCH")
        || name == word::UNKNOWN_NAME
        || name == word::BEGIN_NAME
}

/// Says whether nothing of a value is known.
fn is_unknown(value: &Word) -> bool {
    matches!(value.pieces.as_slice(), [Piece::Unknown(unknown)] if unknown.inherited.is_none())
}

fn is_descriptor(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-')
}
