//! From the syntax tree to the row of simple commands.
//!
//! Keeps what a shell keeps while it reads on: the folder after each `cd`, variables with known
//! values, what stands at the other end of a pipe. A value that depends on a branch or on output
//! is unknown. Descends at most [`NESTING_MAX`] levels and doubts beyond.

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::Node;

use super::launch::{self, Launched};
use super::lift::{self, Document};
use super::tree::{agrees, children_of, is_word, named_children, tree};
use super::word::{self, Piece, Unknown, Word};
use super::{Launches, Parsed, Redirect, RedirectKind, SimpleCommand};

/// Longer scripts are not read, in bytes; a command line of that size is a program of its own.
const SCRIPT_BYTES_MAX: usize = 1 << 20;
/// Levels of syntax and of scripts within scripts; bounds the stack, people need fewer than 20.
pub(super) const NESTING_MAX: usize = 100;
/// Scripts within scripts (`sh -c "sh -c …"`).
const SCRIPTS_MAX: usize = 8;
/// Commands kept of one command line, so that loops within loops stay small.
const COMMANDS_MAX: usize = 10_000;
/// Passes through loop bodies, one for each known value.
const PASSES_MAX: usize = 64;

/// Reads a command line.
pub(super) fn walk(command: &str) -> Parsed {
    let mut walker = Walker {
        state: State { folder: Some(Vec::new()), ..State::default() },
        ..Walker::default()
    };
    walker.script(command);
    Parsed { commands: walker.commands, doubt: walker.doubt, functions: walker.functions }
}

#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) script: &'a str,
    documents: &'a [Document],
}

impl<'a> Source<'a> {
    pub(super) fn text(&self, node: Node) -> &'a str {
        self.script.get(node.byte_range()).unwrap_or_default()
    }
}

/// What a subshell gets a copy of.
#[derive(Clone, Default)]
pub(super) struct State {
    folder: Option<Vec<Word>>,
    /// `None` as a value: set by this command line, but not known.
    pub(super) variables: HashMap<String, Option<Vec<Piece>>>,
    pub(super) input: Option<Range<usize>>,
    launched_by: Option<usize>,
}

#[derive(Default)]
pub(super) struct Walker {
    pub(super) commands: Vec<SimpleCommand>,
    functions: Vec<(String, Range<usize>)>,
    doubt: Option<String>,
    pub(super) state: State,
    pub(super) nesting: usize,
    scripts: usize,
    branches: usize,
    passes: usize,
    /// Commands within `>(…)`, which read what the command being built writes.
    pub(super) sinks: Vec<Range<usize>>,
}

impl Walker {
    pub(super) fn doubt(&mut self, why: &str) {
        self.doubt.get_or_insert_with(|| why.to_owned());
    }

    fn script(&mut self, text: &str) {
        if text.len() > SCRIPT_BYTES_MAX || self.scripts >= SCRIPTS_MAX {
            return self.doubt("it is too long or has too many scripts within scripts");
        }
        if text.contains('\0') {
            return self.doubt("it has a NUL character, where bash stops reading");
        }
        let Some(lifted) = lift::lift(text) else {
            return self.doubt("a here document in it has no end that is known");
        };
        let Some(tree) = tree(&lifted.script) else {
            return self.doubt("it is too tangled to read");
        };
        if tree.root_node().has_error() {
            self.doubt("the bash grammar does not know a part of it");
        } else if !agrees(&tree, &lifted.script) {
            self.doubt("bash may read a part of it in another way");
        }
        self.scripts += 1;
        self.statement(
            tree.root_node(),
            Source { script: &lifted.script, documents: &lifted.documents },
        );
        self.scripts -= 1;
    }

    /// Does something with a copy of the shell's state, as a subshell does.
    pub(super) fn isolated<T>(&mut self, act: impl FnOnce(&mut Walker) -> T) -> T {
        let state = self.state.clone();
        let sinks = std::mem::take(&mut self.sinks);
        let result = act(self);
        self.state = state;
        self.sinks = sinks;
        result
    }

    fn branched(&mut self, act: impl FnOnce(&mut Walker)) {
        self.branches += 1;
        act(self);
        self.branches -= 1;
    }

    fn statement(&mut self, node: Node, source: Source) {
        if self.nesting >= NESTING_MAX || self.commands.len() >= COMMANDS_MAX {
            return self.doubt("it is nested too deeply or has too many commands");
        }
        self.nesting += 1;
        match node.kind() {
            "command" => self.command(node, source, Vec::new()),
            "redirected_statement" => self.redirected(node, source),
            "list" => self.list(node, source),
            "pipeline" => self.pipeline(node, source),
            "subshell" => self.isolated(|walker| walker.children(node, source)),
            "variable_assignment" => self.assignment(node, source),
            "declaration_command" | "unset_command" => self.declaration(node, source),
            "test_command" => self.test(node, source),
            "for_statement" => self.for_each(node, source),
            "function_definition" => self.function(node, source),
            "if_statement" | "while_statement" | "case_statement" | "c_style_for_statement" => {
                self.branched(|walker| walker.children(node, source));
            }
            kind if is_word(kind) => drop(self.pieces(node, source)),
            _ => self.children(node, source),
        }
        self.nesting -= 1;
    }

    pub(super) fn children(&mut self, node: Node, source: Source) {
        let children = children_of(node);
        for (index, child) in children.iter().copied().enumerate() {
            if !child.is_named() {
                continue;
            }
            let background = children.get(index + 1).is_some_and(|next| next.kind() == "&");
            if !background {
                self.statement(child, source);
                continue;
            }
            let start = self.commands.len();
            self.isolated(|walker| walker.statement(child, source));
            for command in self.commands.iter_mut().skip(start) {
                command.background = true;
            }
        }
    }

    fn list(&mut self, node: Node, source: Source) {
        // `a && b && c` leans to the left, as deep as it is long.
        let mut operands = Vec::new();
        let mut left = node;
        while left.kind() == "list" {
            let children = named_children(left);
            let Some((first, others)) = children.split_first() else { break };
            operands.extend(others.iter().rev());
            left = *first;
        }
        self.statement(left, source);
        for operand in operands.into_iter().rev() {
            self.branched(|walker| walker.statement(operand, source));
        }
    }

    fn pipeline(&mut self, node: Node, source: Source) {
        let mut input = self.state.input.clone();
        for stage in named_children(node) {
            let start = self.commands.len();
            self.isolated(|walker| {
                walker.state.input = input.take();
                walker.statement(stage, source);
            });
            input = Some(start..self.commands.len());
        }
    }

    fn redirected(&mut self, node: Node, source: Source) {
        let mut redirects = Vec::new();
        let mut more_words = Vec::new();
        let mut body = None;
        for child in named_children(node) {
            if child.kind().ends_with("_redirect") {
                self.redirect(child, source, &mut redirects, &mut more_words);
            } else {
                body = Some(child);
            }
        }
        match body {
            Some(body) if body.kind() == "command" => {
                self.command_with(body, source, redirects, more_words);
            }
            _ => {
                if let Some(body) = body {
                    self.statement(body, source);
                }
                self.finish(SimpleCommand { words: more_words, redirects, ..Default::default() });
            }
        }
    }

    pub(super) fn redirect(
        &mut self,
        node: Node,
        source: Source,
        redirects: &mut Vec<Redirect>,
        more_words: &mut Vec<Word>,
    ) {
        let mut operator = "";
        let mut targets = Vec::new();
        for child in children_of(node) {
            match child.kind() {
                "file_descriptor" => {}
                _ if child.is_named() => targets.extend(self.words(child, source)),
                _ => operator = source.text(child),
            }
        }
        let descriptor = targets.first().and_then(Word::literal).is_some_and(is_descriptor);
        let mut kind = match operator {
            "<" => RedirectKind::Read,
            "<<<" => RedirectKind::Text,
            "<&" | "<&-" | ">&-" => RedirectKind::Descriptor,
            // `>&2` names a descriptor, `>&file` a file.
            ">&" if descriptor => RedirectKind::Descriptor,
            _ => RedirectKind::Write,
        };
        let mut targets = targets.into_iter();
        let mut target = targets.next().unwrap_or_default();
        if kind == RedirectKind::Read
            && let Some(number) = target.literal().and_then(lift::document_number)
            && let Some(document) = source.documents.get(number)
        {
            kind = RedirectKind::Text;
            target = self.document(document);
        }
        redirects.push(Redirect { kind, target });
        // The grammar takes all words behind the operator; only the first is the target.
        more_words.extend(targets);
    }

    fn document(&mut self, document: &Document) -> Word {
        if !document.expands {
            return Word::text(document.body.clone());
        }
        if !document.body.contains(['$', '`']) {
            return Word::text(word::double_quoted(&document.body));
        }
        let Some(lifted) = lift::quote_document(&document.body) else {
            self.doubt("a here document in it has no end that is known");
            return Word { pieces: vec![Piece::Unknown(Unknown::default())] };
        };
        let tree = tree(&lifted.script).filter(|tree| !tree.root_node().has_error());
        let Some(tree) = tree else {
            self.doubt("the bash grammar does not know a part of a here document");
            return Word { pieces: vec![Piece::Unknown(Unknown::default())] };
        };
        let mut node = tree.root_node();
        while node.kind() != "string" {
            let Some(child) = node.named_child(0) else { return Word::default() };
            node = child;
        }
        let source = Source { script: &lifted.script, documents: &lifted.documents };
        let pieces = self.pieces(node, source);
        word::finish(pieces, true).into_iter().next().unwrap_or_default()
    }

    fn command(&mut self, node: Node, source: Source, redirects: Vec<Redirect>) {
        self.command_with(node, source, redirects, Vec::new());
    }

    fn command_with(
        &mut self,
        node: Node,
        source: Source,
        redirects: Vec<Redirect>,
        more_words: Vec<Word>,
    ) {
        let mut command = SimpleCommand { redirects, ..Default::default() };
        let mut words: Vec<(Vec<Piece>, usize)> = Vec::new();
        for child in children_of(node) {
            match child.kind() {
                "variable_assignment" => {
                    command.assignments.extend(self.assigned(child, source));
                }
                "file_redirect" | "herestring_redirect" => {
                    let mut trailing = Vec::new();
                    self.redirect(child, source, &mut command.redirects, &mut trailing);
                    words.extend(trailing.into_iter().map(|word| (word.pieces, 0)));
                }
                "subshell" => self.isolated(|walker| walker.children(child, source)),
                _ => {
                    let word = child.named_child(0).filter(|_| child.kind() == "command_name");
                    let pieces = match child.is_named() {
                        true => self.pieces(word.unwrap_or(child), source),
                        false => vec![Piece::Text(source.text(child).to_owned())],
                    };
                    // The grammar takes `\d'd'\e'f'` for two words; without a blank it is one.
                    match words.last_mut() {
                        Some((before, end)) if *end == child.start_byte() => {
                            before.extend(pieces);
                            *end = child.end_byte();
                        }
                        _ => words.push((pieces, child.end_byte())),
                    }
                }
            }
        }
        command.words.extend(words.into_iter().flat_map(|(pieces, _)| word::finish(pieces, false)));
        command.words.extend(more_words);
        self.finish(command);
    }

    /// Adds a command with what it changes in the shell and what it starts.
    pub(super) fn finish(&mut self, mut command: SimpleCommand) {
        if self.commands.len() >= COMMANDS_MAX {
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
        let by = self.state.launched_by;
        self.state.launched_by = Some(index);
        for one in launched {
            self.launch(one);
        }
        self.state.launched_by = by;
    }

    fn launch(&mut self, launched: Launched) {
        match launched {
            Launched::Unknown => {}
            Launched::Command(command) if self.nesting < NESTING_MAX => {
                self.nesting += 1;
                self.finish(command);
                self.nesting -= 1;
            }
            Launched::Command(_) => self.doubt("it is nested too deeply"),
            Launched::Script { text, same_shell: true } => self.script(&text),
            Launched::Script { text, same_shell: false } => {
                self.isolated(|walker| walker.script(&text));
            }
        }
    }

    /// Follows `cd` and what sets variables.
    fn change_shell(&mut self, index: usize) {
        let Some(command) = self.commands.get(index) else { return };
        let arguments = command.arguments();
        let mut places = arguments
            .iter()
            .filter(|word| !word.prefix().starts_with('-') || word.literal() == Some("-"));
        match command.words.first().and_then(Word::literal) {
            Some("cd" | "pushd") => {
                let home = Word { pieces: vec![Piece::Home(String::new())] };
                let target = places.next().cloned().unwrap_or(home);
                self.change_folder(target);
            }
            Some("popd") => self.state.folder = None,
            Some("read" | "mapfile" | "readarray" | "getopts" | "printf") => {
                let names: Vec<_> = places.filter_map(Word::literal).map(str::to_owned).collect();
                for name in names {
                    if self.state.variables.contains_key(&name) || is_name(&name) {
                        self.state.variables.insert(name, None);
                    }
                }
            }
            _ => {}
        }
    }

    fn change_folder(&mut self, target: Word) {
        match target.pieces.first() {
            Some(Piece::Text(text)) if text.starts_with('/') => {
                self.state.folder = Some(vec![target]);
            }
            Some(Piece::Home(_)) => self.state.folder = Some(vec![target]),
            Some(Piece::Unknown(_)) => self.state.folder = None,
            _ if target.literal() == Some("-") => self.state.folder = None,
            _ => {
                if let Some(folder) = &mut self.state.folder {
                    folder.push(target);
                }
            }
        }
    }

    fn assigned(&mut self, node: Node, source: Source) -> Option<(String, Word)> {
        let name = node.child_by_field_name("name")?;
        self.statement(name, source);
        if !is_name(source.text(name).split('[').next().unwrap_or_default()) {
            self.doubt("bash takes a part of it for a command and not for an assignment");
        }
        let appended = children_of(node).iter().any(|child| child.kind() == "+=");
        let value = match node.child_by_field_name("value") {
            Some(value) if value.kind() == "array" => {
                self.children(value, source);
                Word { pieces: vec![Piece::Unknown(Unknown::default())] }
            }
            Some(value) => {
                let pieces = self.pieces(value, source);
                let pieces = pieces.into_iter().filter(|piece| *piece != Piece::Break);
                let mut words = word::finish(pieces.collect(), true);
                if words.len() == 1 { words.remove(0) } else { Word::default() }
            }
            None => Word::default(),
        };
        let value = if appended {
            Word { pieces: vec![Piece::Unknown(Unknown::default())] }
        } else {
            value
        };
        Some((source.text(name).to_owned(), value))
    }

    fn assignment(&mut self, node: Node, source: Source) {
        let start = self.commands.len();
        let Some((name, value)) = self.assigned(node, source) else { return };
        self.set(&name, value.clone());
        let bare = self.commands.len() == start;
        if bare || self.branches == 0 {
            let assignments = vec![(name, value)];
            self.finish(SimpleCommand { assignments, ..Default::default() });
        }
    }

    fn set(&mut self, name: &str, value: Word) {
        let known = !value.pieces.iter().any(|piece| matches!(piece, Piece::Unknown(_)))
            || value.prefix().starts_with('/');
        let value = known.then_some(value.pieces);
        // Which branch ran is not known, so two values are none.
        let value = match self.state.variables.get(name) {
            Some(before) if self.branches > 0 && *before != value => None,
            _ => value,
        };
        self.state.variables.insert(name.to_owned(), value);
    }

    fn declaration(&mut self, node: Node, source: Source) {
        let mut command = SimpleCommand::default();
        for child in children_of(node) {
            match child.kind() {
                "variable_assignment" => {
                    if let Some((name, value)) = self.assigned(child, source) {
                        self.set(&name, value.clone());
                        command.assignments.push((name, value));
                    }
                }
                _ if child.is_named() => command.words.extend(self.words(child, source)),
                _ => command.words.push(Word::text(source.text(child))),
            }
        }
        if command.words.first().and_then(Word::literal) == Some("unset") {
            for name in command.arguments().iter().filter_map(Word::literal) {
                self.state.variables.insert(name.to_owned(), None);
            }
        }
        self.finish(command);
    }

    fn test(&mut self, node: Node, source: Source) {
        let single = node.child(0).is_some_and(|child| child.kind() == "[");
        let compares =
            |node: Node| children_of(node).iter().any(|child| matches!(child.kind(), "<" | ">"));
        if single && named_children(node).into_iter().any(compares) {
            self.doubt("`<` and `>` within `[ ]` are redirects");
        }
        self.children(node, source);
        self.finish(SimpleCommand { words: vec![Word::text("[")], ..Default::default() });
    }

    fn for_each(&mut self, node: Node, source: Source) {
        let name = node.child_by_field_name("variable").map_or("", |name| source.text(name));
        let mut values = Vec::new();
        let mut body = None;
        for child in named_children(node) {
            match child.kind() {
                "do_group" => body = Some(child),
                "variable_name" => {}
                _ => values.extend(self.words(child, source)),
            }
        }
        let Some(body) = body else { return };
        let known = values.iter().all(|value| value.unknown().next().is_none());
        if !known || values.is_empty() || self.passes + values.len() > PASSES_MAX {
            values = vec![Word { pieces: vec![Piece::Unknown(Unknown::default())] }];
        }
        self.passes += values.len();
        for value in values {
            let known = value.unknown().next().is_none();
            self.state.variables.insert(name.to_owned(), known.then_some(value.pieces));
            self.branched(|walker| walker.statement(body, source));
        }
    }

    fn function(&mut self, node: Node, source: Source) {
        let name = node.child_by_field_name("name").map_or("", |name| source.text(name)).to_owned();
        let start = self.commands.len();
        self.isolated(|walker| {
            walker.branched(|walker| {
                for child in named_children(node).into_iter().skip(1) {
                    walker.statement(child, source);
                }
            });
        });
        self.functions.push((name, start..self.commands.len()));
    }
}

fn is_descriptor(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-')
}

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
