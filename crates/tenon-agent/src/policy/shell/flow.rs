//! What runs perhaps, again, elsewhere or later: branches, loops, subshells, functions, traps.
//!
//! A variable is known only where every way that leads there gives it the same value. What a loop sets
//! is unknown in it, because its condition and its beginning come again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::SimpleCommand;
use super::arguments::{POSITIONS, positions, unplaced};
use super::folders::Folders;
use super::frame::{Change, Value};
use super::made::{Holds, Made};
use super::state;
use super::syntax::{AndOr, Command, Kind, List, Pipeline, WrittenWord};
use super::variables;
use super::walk::{CALLS_MAX, Callee, PASSES_MAX, Trap, Walker};
use super::word::{self, Extent, Piece, Word};
use super::work;

/// Traps of one shell that are followed; people set one or two.
const TRAPS_MAX: usize = 16;

/// The builtin that ends a shell.
const EXIT: &str = "exit";

/// What a part of a line sets.
#[derive(Default)]
pub(super) struct Set {
    names: BTreeSet<String>,
    /// Any variable may be among them.
    untold: bool,
    /// It may leave the shell in a folder where it was not before.
    moves: bool,
}

impl Walker {
    /// Does something with a copy of the shell's state, as a subshell does.
    pub(super) fn isolated<T>(&mut self, act: impl FnOnce(&mut Walker) -> T) -> T {
        self.isolated_with_names(act).0
    }

    /// The same, and returns what it set.
    fn isolated_with_names<T>(&mut self, act: impl FnOnce(&mut Walker) -> T) -> (T, Set) {
        self.looks_through(work::bytes_of(
            self.state.folder.iter().flatten().chain(&self.state.reads),
        ));
        let state = self.state.clone();
        let changes = self.changes.len();
        let sinks = std::mem::take(&mut self.sinks);
        let traps = std::mem::take(&mut self.traps);
        let skips = self.sure.skips.take();
        let (frame, branches, locals) = (self.frame, self.branches, self.locals.clone());
        let result = act(self);
        (self.frame, self.branches, self.locals) = (frame, branches, locals);
        self.sure.skips = skips;
        self.end_traps();
        self.count(self.changes.len().saturating_sub(changes));
        let mut names = BTreeSet::new();
        for (name, before) in self.changes.split_off(changes).into_iter().rev() {
            self.replace(&name, before);
            names.insert(name);
        }
        let moves = self.state.folders != state.folders;
        let untold = std::mem::replace(&mut self.state, state).untold;
        self.sinks = sinks;
        self.traps = traps;
        (result, Set { names, untold, moves })
    }

    /// Does something that may not happen.
    fn branched(&mut self, act: impl FnOnce(&mut Walker)) {
        let start = self.changes.len();
        self.branches += 1;
        act(self);
        self.branches -= 1;
        self.forget_since(start);
    }

    /// Forgets the variables that do not have the value which they had at that change.
    pub(super) fn forget_since(&mut self, start: usize) {
        self.count(self.changes.len().saturating_sub(start));
        if self.is_tired() {
            // It is doubtful whatever comes.
            return;
        }
        let mut before = BTreeMap::new();
        for (name, value) in self.changes.get(start..).unwrap_or_default() {
            before.entry(name.clone()).or_insert_with(|| value.clone());
        }
        for (name, value) in before {
            if self.variables.get(&name) != value.as_ref() {
                self.put(name, Some(None));
            }
        }
    }

    pub(super) fn and_or(&mut self, item: &AndOr) {
        let goes_on = self.goes_on_only_if_all_went_well(item);
        let mut pipelines = item.pipelines.iter().enumerate();
        let mut folders = self.state.folders.clone();
        if let Some((_, first)) = pipelines.next() {
            self.link(first, item, &mut folders);
        }
        let start = self.changes.len();
        self.branches += 1;
        let mut well = self.state.folders.clone();
        for (index, pipeline) in pipelines {
            // Behind `||` it is not known how many of those before ran.
            if index >= item.chained {
                self.forget_since(start);
                self.state.folders = folders.clone();
            }
            self.link(pipeline, item, &mut folders);
            if index < item.chained {
                well = self.state.folders.clone();
            }
        }
        self.branches -= 1;
        self.forget_since(start);
        self.state.folders = if goes_on { well } else { folders };
    }

    /// Follows a pipeline of several that are joined, which may be in any of the `folders`: it stays
    /// where a `cd` leads, since what `&&` joins to it runs only there.
    fn link(&mut self, pipeline: &Pipeline, item: &AndOr, folders: &mut Folders) {
        self.arrived = None;
        self.pipeline(pipeline);
        folders.join(&self.state.folders);
        let arrived = self.arrived.take().filter(|_| !item.inverted && is_cd(pipeline));
        self.state.folders = arrived.unwrap_or_else(|| self.state.folders.clone());
    }

    /// Says whether the line ends where one of the joined fails: `cd x && make || exit`. Within a loop
    /// or a function it would not be known what ran before it is left.
    fn goes_on_only_if_all_went_well(&self, item: &AndOr) -> bool {
        let is_straight =
            self.branches == 0 && self.calls == 0 && self.scripts == 1 && self.sure.skips.is_none();
        let ends = match item.pipelines.last().map(Vec::as_slice) {
            Some([last]) if item.pipelines.len() == item.chained + 1 => always_exits(last),
            _ => false,
        };
        is_straight && ends && !item.inverted && !self.state.callees.contains_key(EXIT)
    }

    pub(super) fn branches(&mut self, words: &[WrittenWord], lists: &[List], repeats: bool) {
        let act = |walker: &mut Walker| {
            for word in words {
                walker.words(word);
            }
            for list in lists {
                walker.branched(|walker| walker.list(list));
            }
        };
        if repeats {
            let start = self.changes.len();
            let set = self.again(|walker| walker.rehearsed(act));
            self.forget(&set);
            self.may_move_again(&set);
            self.again(act);
            self.forget_since(start);
        } else {
            act(self);
        }
    }

    pub(super) fn forget(&mut self, set: &Set) {
        self.count(set.names.len());
        for name in &set.names {
            self.put(name.clone(), Some(None));
        }
        self.state.untold |= set.untold;
    }

    /// Takes in that what moves the shell happens any number of times.
    fn may_move_again(&mut self, set: &Set) {
        if set.moves {
            self.state.folders.join(&Folders::open());
        }
    }

    /// Returns what something sets, and forgets all else about it.
    pub(super) fn rehearsed(&mut self, act: impl FnOnce(&mut Walker)) -> Set {
        if self.rehearses {
            return Set::default();
        }
        let (commands, functions, passes) =
            (self.commands.len(), self.functions.len(), self.passes);
        self.rehearses = true;
        let ((), set) = self.isolated_with_names(act);
        self.rehearses = false;
        self.commands.truncate(commands);
        self.functions.truncate(functions);
        self.passes = passes;
        set
    }

    pub(super) fn for_each(&mut self, name: &str, words: &[WrittenWord], body: &List) {
        let mut values = Vec::new();
        for word in words {
            values.extend(self.words(word));
        }
        if words.is_empty() {
            // Without `in` it goes through the parameters.
            let pieces = self.variables.get("@").cloned().flatten();
            let pieces = pieces.unwrap_or_else(|| word::made_of(Made::variable("@")));
            self.flow_value(name, &Word { pieces });
        }
        for value in &values {
            self.evaluate_value(value);
            self.flow_value(name, value);
        }
        let known = values.iter().all(|value| value.unknown().next().is_none());
        let holds = Holds::of_each(&values);
        if !known || values.is_empty() || self.passes + values.len() > PASSES_MAX {
            let one = word::holding(word::made_of(Made::variable(name)), holds);
            values = vec![Word { pieces: one }];
        }
        // What is not known may be no word at all.
        let single = matches!(values.as_slice(), [one] if one.unknown().next().is_none());
        self.given(name);
        let start = self.changes.len();
        let breaks = self.sure.breaks;
        let set = self.again(|walker| walker.rehearsed(|walker| walker.list(body)));
        self.passes += values.len();
        if values.iter().any(|value| value.literal().is_none()) {
            self.may_move_again(&set);
        }
        for value in values {
            if self.is_tired() {
                break;
            }
            self.forget(&set);
            self.put(name.to_owned(), Some(state::kept(name, value)));
            self.branches += 1;
            self.again(|walker| walker.list(body));
            self.branches -= 1;
        }
        let last = self.variables.get(name).cloned().flatten().filter(|_| single);
        self.forget_since(start);
        if self.sure.breaks > breaks || self.sure.is_left_anywhere {
            self.forget(&set);
        }
        if !set.names.contains(name) {
            self.put(name.to_owned(), Some(last));
        }
    }

    pub(super) fn function(&mut self, name: &str, body: &Rc<Command>) {
        let start = self.commands.len();
        self.note_definition(name);
        self.defined(|walker| {
            walker.framed(true, |walker| walker.branched(|walker| walker.command(body)));
        });
        self.functions.push((name.to_owned(), start..self.commands.len()));
        let callees = Rc::make_mut(&mut self.state.callees);
        let callee = callees.entry(name.to_owned()).or_default();
        callee.is_sure = self.branches == 0 && self.sure.skips.is_none();
        if callee.is_sure {
            callee.bodies.clear();
        }
        if callee.bodies.len() <= CALLS_MAX {
            callee.bodies.push(Rc::clone(body));
        } else {
            self.untold_call();
            self.state.untold = true;
        }
    }

    /// Sets variables until [`Walker::unshadow`].
    pub(super) fn shadow(
        &mut self,
        values: impl Iterator<Item = (String, Vec<Piece>)>,
    ) -> Vec<Change> {
        values
            .map(|(name, value)| {
                let before = self.variables.get(&name).cloned();
                self.put(name.clone(), Some(Some(value)));
                (name, before)
            })
            .collect()
    }

    pub(super) fn unshadow(&mut self, shadowed: Vec<Change>) {
        for (name, before) in shadowed.into_iter().rev() {
            self.put(name, before);
        }
    }

    /// Follows a call of a function of this command line, with its arguments.
    pub(super) fn call(&mut self, index: usize) {
        let Some(command) = self.commands.get(index) else { return };
        let name = command.words.first().and_then(Word::literal);
        let Some(callee) = name.and_then(|name| self.state.callees.get(name)).cloned() else {
            return;
        };
        if self.calls >= CALLS_MAX || self.passes >= PASSES_MAX {
            self.state.untold = true;
            let words = command.arguments().to_vec();
            self.state.folders.join(&Folders::open());
            self.untold_call();
            return self.flow_positions(&words);
        }
        let command = command.clone();
        if let Some(values) = unplaced(command.arguments(), self.state.drops_patterns) {
            self.isolated(|walker| walker.enter(&callee, &command, values));
        }
        self.enter(&callee, &command, positions(command.arguments()));
    }

    /// Reads the body of a function with these parameters.
    fn enter(
        &mut self,
        callee: &Callee,
        command: &SimpleCommand,
        mut values: Vec<(String, Vec<Piece>)>,
    ) {
        let given = command.assignments.iter();
        values.extend(given.map(|(name, value)| (name.clone(), value.pieces.clone())));
        self.passes += 1;
        self.calls += 1;
        let start = self.changes.len();
        let shadowed = self.shadow(values.into_iter());
        self.locals.push(Vec::new());
        let reads = self.enter_file(&command.redirects);
        self.framed(true, |walker| match callee.bodies.as_slice() {
            [body] if callee.is_sure => walker.command(body),
            bodies => {
                for body in bodies {
                    walker.branched(|walker| walker.command(body));
                }
            }
        });
        if let Some(reads) = reads {
            self.state.reads = reads;
        }
        let mut names = self.end_locals();
        names.extend(shadowed.iter().map(|(name, _)| name.clone()));
        self.unshadow(shadowed);
        self.settle(start, &names);
        self.calls -= 1;
    }

    /// Takes in that parameters may have any of these values.
    pub(super) fn flow_positions(&mut self, words: &[Word]) {
        for name in POSITIONS.iter().chain(&["@", "*"]) {
            words.iter().for_each(|word| self.flow_value(name, word));
        }
    }

    /// Reads what runs at a signal: now, and at the end once more if what it depends on changed.
    pub(super) fn trap(&mut self, text: String, at_exit: bool) {
        if self.traps.len() >= TRAPS_MAX {
            return self.doubt("it has too many traps");
        }
        let (start, folder) = (self.commands.len(), self.state.folder.clone());
        let folders = self.state.folders.clone();
        let breaks = self.sure.breaks;
        let names = std::mem::take(&mut self.callers.names);
        let ((moved, is_left), set) = self.isolated_with_names(|walker| {
            let is_left = walker.framed(true, |walker| walker.again(|walker| walker.script(&text)));
            (walker.state.folder != folder, is_left)
        });
        let names = std::mem::replace(&mut self.callers.names, names);
        let (seen, launched_by) = (start..self.commands.len(), self.state.launched_by);
        if !at_exit {
            if is_left || self.sure.breaks > breaks {
                self.sure.is_left_anywhere = true;
                self.leave();
            }
            self.forget(&set);
            self.may_move_again(&set);
            self.unsteady.extend(set.names);
            if moved {
                self.state.folder = None;
            }
        }
        let changed = HashMap::new();
        self.traps.push(Trap { text, at_exit, launched_by, folder, folders, seen, names, changed });
    }

    /// Takes in for the traps that a variable gets a value.
    pub(super) fn note_trapped(&mut self, name: &str, value: Option<&Value>) {
        let is_first = !self.variables.contains_key(name) && !self.state.untold;
        for trap in &mut self.traps {
            let only = trap.changed.get(name).map_or(is_first, |only| Some(only) == value);
            let value = value.filter(|_| only).cloned().flatten();
            trap.changed.insert(name.to_owned(), value);
        }
    }

    /// Reads the traps of a shell that ends as they are then.
    pub(super) fn end_traps(&mut self) {
        for trap in std::mem::take(&mut self.traps) {
            let moved = trap.folder != self.state.folder || trap.folders != self.state.folders;
            let (defined, missed): (Vec<_>, Vec<_>) =
                trap.names.iter().partition(|name| self.state.callees.contains_key(*name));
            let is_told = defined.is_empty() && !self.state.untold && !self.callers.is_untold;
            self.callers.names.extend(missed.into_iter().cloned());
            if trap.changed.is_empty() && !moved && defined.is_empty() {
                continue;
            }
            if is_told {
                self.without_unset(&trap);
            }
            let (start, functions) = (self.commands.len(), self.functions.len());
            let traps = std::mem::take(&mut self.traps);
            self.isolated(|walker| {
                for (name, value) in trap.changed {
                    walker.put(name, Some(value.filter(|_| is_told)));
                }
                if moved && !trap.at_exit {
                    walker.state.folder = None;
                }
                if moved {
                    // `exit` may have been anywhere.
                    walker.state.folders.join(&Folders::open());
                }
                walker.state.launched_by = trap.launched_by;
                walker.again(|walker| walker.script(&trap.text));
            });
            self.traps = traps;
            let (seen, again) = (self.commands.get(trap.seen), self.commands.get(start..));
            let shown = |commands: Option<&[SimpleCommand]>| -> Vec<_> {
                let said = |one: &SimpleCommand| {
                    (
                        one.words.clone(),
                        one.folder.clone(),
                        one.folders.clone(),
                        one.redirects.clone(),
                    )
                };
                commands.unwrap_or_default().iter().map(said).collect()
            };
            if shown(seen) == shown(again) {
                self.commands.truncate(start);
                self.functions.truncate(functions);
            }
        }
    }

    /// Takes from what was read as a trap was set the words that are a variable which the line sets only
    /// later: until then it is not set.
    fn without_unset(&mut self, trap: &Trap) {
        let is_unset = |name: &str| {
            variables::is_plain_variable(name) && matches!(trap.changed.get(name), Some(Some(_)))
        };
        for command in self.commands.get_mut(trap.seen.clone()).unwrap_or_default() {
            let Some((program, arguments)) = command.words.split_first() else { continue };
            let set = arguments.iter().filter_map(|word| match inherited(word) {
                Some((name, Extent::One)) if is_unset(name) => Some(Word::default()),
                Some((name, _)) if is_unset(name) => None,
                _ => Some(word.clone()),
            });
            command.words = std::iter::once(program.clone()).chain(set).collect();
        }
    }
}

/// Returns the variable that a word is, if it is nothing else and the line did not set it.
fn inherited(word: &Word) -> Option<(&str, Extent)> {
    match word.pieces.as_slice() {
        [Piece::Unknown(unknown)] => Some((unknown.inherited.as_deref()?, unknown.extent)),
        _ => None,
    }
}

/// Says whether a pipeline is one `cd`, which says by its exit code whether it got there.
fn is_cd(pipeline: &Pipeline) -> bool {
    matches!(pipeline.as_slice(), [one] if matches!(name(one), Some("cd" | "pushd")))
}

/// Says whether nothing comes after a command.
fn always_exits(command: &Command) -> bool {
    match &command.kind {
        Kind::Group(list) => list.last().is_some_and(|last| match last.pipelines.as_slice() {
            [pipeline] if !last.background => {
                pipeline.len() == 1 && pipeline.iter().all(always_exits)
            }
            _ => false,
        }),
        _ => name(command) == Some(EXIT),
    }
}

/// Returns the name of a command as it is written, if it is a simple one.
fn name(command: &Command) -> Option<&str> {
    match &command.kind {
        Kind::Simple(simple) => simple.words.first().and_then(WrittenWord::plain),
        _ => None,
    }
}
