//! From what is written to the row of simple commands.
//!
//! Keeps what a shell keeps while it reads on: the folder after each `cd`, variables with known
//! values, functions, what stands at the other end of a pipe. A value that depends on a branch or
//! on output is unknown. Descends at most [`NESTING_MAX`] levels and doubts beyond.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::arguments::Launched;
use super::launch;
use super::plain;
use super::reader;
use super::syntax::{
    AndOr, Assignment, Command, Kind, List, Operator, Pipeline, Simple, Target, WrittenRedirect,
    WrittenWord,
};
use super::word::{self, Piece, Word};
use super::{Launches, NESTING_MAX, Parsed, Redirect, RedirectKind, SimpleCommand};

/// Bytes of known values put into words, so that `x=$x$x` cannot grow without end.
const VALUE_BYTES_MAX: usize = 1 << 20;
/// Longer scripts are not read, in bytes; a command line of that size is a program of its own.
const SCRIPT_BYTES_MAX: usize = 1 << 20;
/// Scripts within scripts (`sh -c "sh -c …"`).
const SCRIPTS_MAX: usize = 8;
/// Commands kept of one command line, so that loops within loops stay small.
const COMMANDS_MAX: usize = 10_000;
/// Words of all these commands; bounds the memory of loops.
const WORDS_MAX: usize = 200_000;
/// Passes through loop bodies, one for each known value, and through functions.
const PASSES_MAX: usize = 64;
/// Calls of functions within functions that are followed.
const CALLS_MAX: usize = 4;
/// Arguments of a function that have a name of their own here.
pub(super) const POSITIONS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// The variable in which bash keeps where it found programs.
const HASHED: &str = "BASH_CMDS";

/// Reads a command line.
pub(super) fn walk(command: &str) -> Parsed {
    let mut walker = Walker {
        state: State { folder: Some(Vec::new()), ..State::default() },
        value_bytes_left: VALUE_BYTES_MAX,
        ..Walker::default()
    };
    walker.script(command);
    let (commands, doubt, functions) = (walker.commands, walker.doubt, walker.functions);
    let (is_plain, chooses_programs) = (plain::is_plain(command), walker.chooses_programs);
    Parsed { commands, doubt, functions, is_plain, chooses_programs }
}

/// What a subshell gets a copy of.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) folder: Option<Vec<Word>>,
    pub(super) input: Option<Range<usize>>,
    /// The text that the group around reads (`while read x; do …; done <<< text`).
    pub(super) text: Option<Word>,
    launched_by: Option<usize>,
}

/// The value of a variable; `None`: set by this command line, but not known.
type Value = Option<Vec<Piece>>;
/// A variable and what it was before.
type Change = (String, Option<Value>);

#[derive(Default)]
pub(super) struct Walker {
    pub(super) commands: Vec<SimpleCommand>,
    functions: Vec<(String, Range<usize>)>,
    bodies: HashMap<String, Rc<Command>>,
    doubt: Option<String>,
    pub(super) state: State,
    pub(super) variables: HashMap<String, Value>,
    /// What variables were before each change, so that a subshell need not copy all of them.
    changes: Vec<Change>,
    pub(super) nesting: usize,
    scripts: usize,
    branches: usize,
    passes: usize,
    calls: usize,
    words: usize,
    pub(super) value_bytes_left: usize,
    /// Commands within `>(…)`, which read what the command being built writes.
    pub(super) sinks: Vec<Range<usize>>,
    pub(super) chooses_programs: bool,
}

impl Walker {
    pub(super) fn doubt(&mut self, why: &str) {
        self.doubt.get_or_insert_with(|| why.to_owned());
    }

    fn script(&mut self, text: &str) {
        if !self.enters_script(text) {
            return;
        }
        let script = reader::read(text, self.nesting);
        if let Some(doubt) = script.doubt {
            self.doubt(doubt);
        }
        self.list(&script.list);
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
        self.scripts += 1;
        true
    }

    pub(super) fn leave_script(&mut self) {
        self.scripts -= 1;
    }

    /// Does something with a copy of the shell's state, as a subshell does.
    pub(super) fn isolated<T>(&mut self, act: impl FnOnce(&mut Walker) -> T) -> T {
        let state = self.state.clone();
        let changes = self.changes.len();
        let sinks = std::mem::take(&mut self.sinks);
        let result = act(self);
        for (name, before) in self.changes.split_off(changes).into_iter().rev() {
            self.put(name, before);
            self.changes.pop();
        }
        self.state = state;
        self.sinks = sinks;
        result
    }

    fn branched(&mut self, act: impl FnOnce(&mut Walker)) {
        self.branches += 1;
        act(self);
        self.branches -= 1;
    }

    pub(super) fn list(&mut self, list: &List) {
        for item in list {
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

    fn and_or(&mut self, item: &AndOr) {
        for (index, pipeline) in item.pipelines.iter().enumerate() {
            match index {
                0 => self.pipeline(pipeline),
                _ => self.branched(|walker| walker.pipeline(pipeline)),
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [one] = pipeline.as_slice() {
            return self.command(one);
        }
        let mut input = self.state.input.clone();
        for stage in pipeline {
            let start = self.commands.len();
            self.isolated(|walker| {
                walker.state.input = input.take();
                walker.command(stage);
            });
            input = Some(start..self.commands.len());
        }
    }

    fn command(&mut self, command: &Command) {
        if self.nesting >= NESTING_MAX || self.commands.len() >= COMMANDS_MAX {
            return self.doubt("it is nested too deeply or has too many commands");
        }
        self.nesting += 1;
        match &command.kind {
            Kind::Simple(simple) => self.simple(simple, &command.redirects),
            kind => {
                let redirects = self.redirects(&command.redirects);
                let input = self.state.input.clone();
                // `{ sh; } < <(…)` reads what the commands write.
                let read = redirects.iter().filter(|one| one.kind == RedirectKind::Read);
                if let Some(source) = read.flat_map(|one| one.target.unknown()).next() {
                    self.state.input = Some(source.from.clone());
                }
                let text = redirects.iter().rfind(|one| one.kind == RedirectKind::Text);
                let text = text.map(|one| one.target.clone()).or_else(|| self.state.text.clone());
                let text = std::mem::replace(&mut self.state.text, text);
                self.compound(kind);
                self.state.text = text;
                self.state.input = input;
                if !redirects.is_empty() {
                    self.finish(SimpleCommand { redirects, ..Default::default() });
                }
            }
        }
        self.nesting -= 1;
    }

    fn compound(&mut self, kind: &Kind) {
        match kind {
            Kind::Simple(simple) => self.simple(simple, &[]),
            Kind::Group(list) => self.list(list),
            Kind::Subshell(list) => self.isolated(|walker| walker.list(list)),
            Kind::Branches { words, lists } => self.branched(|walker| {
                for word in words {
                    walker.words(word);
                }
                for list in lists {
                    walker.list(list);
                }
            }),
            Kind::For { name, words, body } => self.for_each(name, words, body),
            Kind::Test(words) => {
                for word in words {
                    for word in self.words(word) {
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
                self.isolated(|walker| walker.command(command));
                for command in self.commands.iter_mut().skip(start) {
                    command.background = true;
                }
            }
        }
    }

    fn simple(&mut self, simple: &Simple, redirects: &[WrittenRedirect]) {
        let mut command = SimpleCommand::default();
        for assignment in &simple.assignments {
            let assigned = self.assigned(assignment);
            if simple.words.is_empty() {
                self.set(&assigned.0, assigned.1.clone());
            }
            command.assignments.push(assigned);
        }
        for word in &simple.words {
            command.words.extend(self.words(word));
        }
        for assignment in &simple.declared {
            let assigned = self.assigned(assignment);
            self.set(&assigned.0, assigned.1.clone());
            command.assignments.push(assigned);
        }
        command.redirects = self.redirects(redirects);
        self.finish(command);
    }

    fn redirects(&mut self, written: &[WrittenRedirect]) -> Vec<Redirect> {
        let mut redirects = Vec::new();
        for redirect in written {
            if let Some(name) = &redirect.descriptor {
                self.given(name);
            }
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
        self.words += command.words.len();
        if self.commands.len() >= COMMANDS_MAX || self.words > WORDS_MAX {
            return self.doubt("it has too many commands");
        }
        command.folder = command.folder.or_else(|| self.state.folder.clone());
        command.piped_from = self.state.input.clone();
        command.launched_by = self.state.launched_by;
        let index = self.commands.len();
        for sink in std::mem::take(&mut self.sinks) {
            for reader in self.commands.get_mut(sink).into_iter().flatten() {
                reader.piped_from.get_or_insert(index..index + 1);
            }
        }
        self.evaluate_read(&command);
        let feed = command.piped_from.clone().and_then(|range| self.commands.get(range));
        let launched = launch::launched(&command, feed.unwrap_or_default());
        self.commands.push(command);
        if !launched.is_empty()
            && let Some(command) = self.commands.get_mut(index)
        {
            let unknown = launched.iter().any(|one| matches!(one, Launched::Unknown));
            command.launches = if unknown { Launches::Unknown } else { Launches::Known };
        }
        self.change_shell(index);
        self.call(index);
        if launched.is_empty() {
            return;
        }
        let by = self.state.launched_by.replace(index);
        let assignments = self.commands.get(index).map(|one| one.assignments.clone());
        let shadowed = self
            .shadow(assignments.into_iter().flatten().map(|(name, value)| (name, value.pieces)));
        for one in launched {
            self.launch(one);
        }
        self.unshadow(shadowed);
        self.state.launched_by = by;
    }

    /// Gives a variable a value, or takes it away.
    pub(super) fn put(&mut self, name: String, value: Option<Value>) {
        if name == HASHED {
            self.doubt("it says where programs are found");
        }
        let before = match value {
            Some(value) => self.variables.insert(name.clone(), value),
            None => self.variables.remove(&name),
        };
        self.changes.push((name, before));
    }

    /// Sets variables until [`Walker::unshadow`].
    fn shadow(&mut self, values: impl Iterator<Item = (String, Vec<Piece>)>) -> Vec<Change> {
        values
            .map(|(name, value)| {
                let before = self.variables.get(&name).cloned();
                self.put(name.clone(), Some(Some(value)));
                (name, before)
            })
            .collect()
    }

    fn unshadow(&mut self, shadowed: Vec<Change>) {
        for (name, before) in shadowed.into_iter().rev() {
            self.put(name, before);
        }
    }

    /// Follows a call of a function of this command line, with its arguments.
    fn call(&mut self, index: usize) {
        let Some(command) = self.commands.get(index) else { return };
        let Some(body) =
            command.words.first().and_then(Word::literal).and_then(|name| self.bodies.get(name))
        else {
            return;
        };
        if self.calls >= CALLS_MAX || self.passes >= PASSES_MAX {
            return;
        }
        let body = Rc::clone(body);
        let arguments = command.arguments();
        let joined = |between: Piece| {
            arguments.iter().enumerate().flat_map(move |(index, word)| {
                let between = (index > 0).then(|| between.clone());
                between.into_iter().chain(word.pieces.iter().cloned())
            })
        };
        let mut values = vec![
            ("@".to_owned(), joined(Piece::Break).collect()),
            ("*".to_owned(), joined(Piece::Text(" ".to_owned())).collect()),
            ("#".to_owned(), vec![Piece::Text(arguments.len().to_string())]),
        ];
        values.extend(POSITIONS.iter().enumerate().map(|(index, name)| {
            let value = arguments.get(index).map(|word| word.pieces.clone());
            ((*name).to_owned(), value.unwrap_or_default())
        }));
        values.extend(
            command.assignments.iter().map(|(name, value)| (name.clone(), value.pieces.clone())),
        );
        self.passes += 1;
        self.calls += 1;
        let shadowed = self.shadow(values.into_iter());
        self.command(&body);
        self.unshadow(shadowed);
        self.calls -= 1;
    }

    pub(super) fn launch(&mut self, launched: Launched) {
        match launched {
            Launched::Unknown => {}
            Launched::Command(command) if self.nesting < NESTING_MAX => {
                self.nesting += 1;
                self.finish(command);
                self.nesting -= 1;
            }
            Launched::Command(_) => self.doubt("it is nested too deeply"),
            Launched::Text(text) => self.text(&text),
            Launched::Script { text, same_shell: true } => self.script(&text),
            Launched::Script { text, same_shell: false } => {
                self.isolated(|walker| walker.script(&text));
            }
        }
    }

    fn assigned(&mut self, assignment: &Assignment) -> (String, Word) {
        if let Some(subscript) = &assignment.subscript {
            self.evaluated(subscript);
        }
        let value = self.unsplit(&assignment.value);
        let known = !assignment.appends && assignment.subscript.is_none();
        let value = if known {
            self.note_value(&value);
            value
        } else {
            let before = self.variables.get(&assignment.name).cloned().flatten();
            let before = Word { pieces: before.unwrap_or_default() };
            self.evaluate_value(&before.joined(&value));
            Word { pieces: word::unknown() }
        };
        (assignment.name.clone(), value)
    }

    fn set(&mut self, name: &str, value: Word) {
        let known = !value.pieces.iter().any(|piece| matches!(piece, Piece::Unknown(_)))
            || value.prefix().starts_with('/');
        let value = known.then_some(value.pieces);
        // Which branch ran is not known, so two values are none.
        let value = match self.variables.get(name) {
            Some(before) if self.branches > 0 && *before != value => None,
            _ => value,
        };
        self.put(name.to_owned(), Some(value));
    }

    fn for_each(&mut self, name: &str, words: &[WrittenWord], body: &List) {
        let mut values = Vec::new();
        for word in words {
            values.extend(self.words(word));
        }
        for value in &values {
            self.evaluate_value(value);
        }
        let known = values.iter().all(|value| value.unknown().next().is_none());
        if !known || values.is_empty() || self.passes + values.len() > PASSES_MAX {
            values = vec![Word { pieces: word::unknown() }];
        }
        self.passes += values.len();
        self.given(name);
        for value in values {
            let known = value.unknown().next().is_none();
            self.put(name.to_owned(), Some(known.then_some(value.pieces)));
            self.branched(|walker| walker.list(body));
        }
    }

    fn function(&mut self, name: &str, body: &Rc<Command>) {
        let start = self.commands.len();
        self.isolated(|walker| walker.branched(|walker| walker.command(body)));
        self.functions.push((name.to_owned(), start..self.commands.len()));
        self.bodies.insert(name.to_owned(), Rc::clone(body));
    }
}

fn is_descriptor(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-')
}
