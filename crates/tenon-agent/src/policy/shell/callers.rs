//! Whether every way in which the functions of a line can run is followed.
//!
//! A body is read where it is defined, with what is known there, and again at each call with what is
//! known then. If no call is missed, the first says nothing of what runs. One is missed where the name
//! that is called is not known, where a call is not followed to its end, where bash or another shell calls
//! by itself, and where a function is defined at a time that is not known.

use super::SimpleCommand;
use super::arguments::POSITIONS;
use super::hidden;
use super::shells::SHELLS;
use super::state::has_letter;
use super::walk::Walker;
use super::word::{Extent, Piece, Word};

/// bash calls this function by itself.
const CALLED_BY_BASH: &str = "command_not_found_handle";

/// The option with which functions reach other shells.
const EXPORTS: &str = "allexport";

/// These call functions by themselves, run what is not read here, or print functions as a text that a shell
/// may read.
const CALLING: &[&str] = &[".", "bind", "compgen", "complete", "fc", "source", "type"];

impl Walker {
    /// Takes in that a function may run in a way that is not followed. Where a body is read as it is
    /// defined, that is seen at each call.
    pub(super) fn untold_call(&mut self) {
        self.callers.is_untold |= self.callers.defines == 0;
    }

    /// Reads what may run again, or at another time.
    pub(super) fn again<T>(&mut self, act: impl FnOnce(&mut Walker) -> T) -> T {
        self.callers.again += 1;
        let result = act(self);
        self.callers.again -= 1;
        result
    }

    /// Reads a body where it is defined, with parameters that only a call tells.
    pub(super) fn defined(&mut self, act: impl FnOnce(&mut Walker)) {
        let start = self.perhaps.len();
        self.callers.defines += 1;
        self.isolated(|walker| {
            for name in POSITIONS.iter().chain(&["@", "*", "#"]) {
                walker.put((*name).to_owned(), None);
            }
            act(walker);
        });
        self.callers.defines -= 1;
        self.callers.perhaps.push(start..self.perhaps.len());
    }

    /// Takes in a definition.
    pub(super) fn note_definition(&mut self, name: &str) {
        let is_redefined = self.state.callees.contains_key(name);
        let at_any_time = self.callers.again > 0 || is_redefined && !self.traps.is_empty();
        if at_any_time || name.contains('/') || name == CALLED_BY_BASH {
            self.untold_call();
        }
    }

    /// Takes in what a command may call.
    pub(super) fn note_caller(&mut self, command: &SimpleCommand) {
        if self.callers.defines > 0 {
            return;
        }
        let sets = |(name, _): &(String, Word)| hidden::calls_by_value(name);
        if command.assignments.iter().any(sets) || may_call(command) {
            self.untold_call();
        }
        if let Some(name) = command.words.first().and_then(Word::literal)
            && !self.state.callees.contains_key(name)
        {
            self.callers.names.insert(name.to_owned());
        }
    }

    /// Leaves what was read of functions to their calls, if all of those were followed to their ends.
    pub(super) fn leave_to_calls(&mut self) {
        let is_missed = |(name, _): &(String, _)| self.callers.names.contains(name);
        let is_open = self.callers.is_untold || self.has_aliases || self.is_doubtful();
        if is_open || self.functions.iter().any(is_missed) {
            return;
        }
        for (_, body) in &self.functions {
            let commands = self.commands.get_mut(body.clone()).unwrap_or_default();
            commands.iter_mut().for_each(|command| command.is_moot = true);
        }
        let perhaps = std::mem::take(&mut self.perhaps).into_iter().enumerate();
        let is_called = |at: &usize| !self.callers.perhaps.iter().any(|body| body.contains(at));
        self.perhaps = perhaps.filter(|(at, _)| is_called(at)).map(|(_, one)| one).collect();
    }
}

/// Says whether a command may call a function by a name that it does not have as its own.
fn may_call(command: &SimpleCommand) -> bool {
    let Some(first) = command.words.first() else { return false };
    let arguments = command.arguments();
    let has = |letters: &str| arguments.iter().any(|word| has_letter(word, letters));
    let is_open = |word: &Word| word.literal().is_none() && !word.is_no_option();
    let Some(name) = first.literal() else { return !is_path(first) };
    match name {
        "command" => has("V") || arguments.first().is_some_and(is_open),
        "declare" | "export" | "local" | "readonly" | "typeset" => {
            let prints = arguments.is_empty() && command.assignments.is_empty();
            prints || has("f") || arguments.iter().any(is_open)
        }
        "mapfile" | "readarray" => has("C") || arguments.iter().any(is_open),
        "set" => {
            let mut options = arguments.iter().take_while(|word| word.literal() != Some("--"));
            let exports = |word: &Word| {
                is_open(word) || has_letter(word, "a") || word.literal() == Some(EXPORTS)
            };
            arguments.is_empty() || options.any(exports)
        }
        "shopt" => has("o") || arguments.iter().any(is_open),
        name if SHELLS.contains(&first.program().unwrap_or(name)) => {
            has("a") || arguments.iter().any(|word| word.literal() == Some(EXPORTS))
        }
        name => CALLING.contains(&name),
    }
}

/// Says whether a word surely is one path with a folder, which is the name of no function here.
fn is_path(word: &Word) -> bool {
    let is_one = |piece: &Piece| match piece {
        Piece::Unknown(unknown) => unknown.extent == Extent::One,
        Piece::Glob(_) => false,
        _ => true,
    };
    let has_folder = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains('/'));
    word.pieces.iter().all(is_one) && word.pieces.iter().any(has_folder)
}
