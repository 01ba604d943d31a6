//! What is written and may not happen: what stands behind `return`, a command whose redirect fails, a
//! declaration that sets nothing. Then both values are possible, the old one and the new one.

use std::collections::BTreeSet;

use super::Word;
use super::frame::{Change, Frame, Local, Value};
use super::state::has_letter;
use super::syntax::{Operator, Target, WrittenRedirect, WrittenWord};
use super::walk::Walker;
use super::word::Piece;

/// Builtins that make variables of a function's own.
const LOCAL: &[&str] = &["declare", "local", "typeset"];

/// Options with which a declaration sets what stands behind them, by the manual of bash 5.2.
const DECLARING: &str = "AacgIilnrtux";
/// The same, of `export`, and of `readonly`.
const OF_EXPORT: &str = "n";
const OF_READONLY: &str = "aA";

impl Walker {
    /// Does what `return` may end; says whether it may have.
    pub(super) fn framed(&mut self, is_function: bool, act: impl FnOnce(&mut Walker)) -> bool {
        let branches = self.branches;
        let is_function = is_function || self.frame.is_function;
        let within = Frame { ends: true, is_function, branches, left: None };
        let around = std::mem::replace(&mut self.frame, within);
        if self.sure.is_left_anywhere {
            self.leave();
        }
        act(self);
        let left = self.frame.left;
        (self.frame, self.branches) = (around, branches);
        if let Some(left) = left {
            self.forget_changed(left);
        }
        left.is_some()
    }

    /// Reads a script that this shell runs: that of `eval`, which a `return` leaves with the function
    /// around it, or of `source`.
    pub(super) fn script_within(&mut self, text: &str) {
        let start = self.changes.len();
        if self.framed(false, |walker| walker.script(text)) {
            self.leave_at(start);
        }
    }

    /// Begins as another shell, which is in no function.
    pub(super) fn enter_shell(&mut self) {
        self.frame = Frame { branches: self.branches, ..Frame::default() };
        self.locals.clear();
    }

    /// Takes in that what follows may not run, up to the end of the function or script.
    pub(super) fn leave(&mut self) {
        self.leave_at(self.changes.len());
    }

    fn leave_at(&mut self, at: usize) {
        if !self.frame.ends {
            return;
        }
        if self.frame.left.is_none() {
            self.branches += 1;
            self.frame.branches += 1;
        }
        self.frame.left = Some(self.frame.left.unwrap_or(at).min(at));
    }

    /// Forgets the variables that had more than one value since that change.
    fn forget_changed(&mut self, start: usize) {
        let changes = self.changes.get(start..).unwrap_or_default();
        let steps = changes.len();
        let is_other = |(name, value): &&Change| self.variables.get(name) != value.as_ref();
        let names: BTreeSet<_> =
            changes.iter().filter(is_other).map(|(name, _)| name.clone()).collect();
        self.count(steps);
        for name in names {
            self.put(name, Some(None));
        }
    }

    /// Does something that may not happen if `fails`.
    pub(super) fn perhaps_done(&mut self, fails: bool, act: impl FnOnce(&mut Walker)) {
        let start = self.changes.len();
        self.branches += usize::from(fails);
        act(self);
        self.branches -= usize::from(fails);
        if fails {
            self.forget_since(start);
        }
    }

    /// Says whether one of these redirects may fail, so that the command does not run.
    pub(super) fn may_fail(&mut self, redirects: &[WrittenRedirect]) -> bool {
        redirects.iter().for_each(|redirect| self.note_closed(redirect));
        redirects.iter().any(|redirect| {
            let target = target(redirect);
            let fails = match redirect.operator {
                Operator::Text => false,
                Operator::Read | Operator::Write => target != Some("/dev/null"),
                Operator::Copy | Operator::WriteOrCopy => {
                    !matches!(target, Some("0" | "1" | "2" | "-" | "/dev/null"))
                }
            };
            fails || !self.sure.opens
        })
    }

    /// Takes in that a descriptor is closed, or may be.
    pub(super) fn note_closed(&mut self, redirect: &WrittenRedirect) {
        let copies = matches!(redirect.operator, Operator::Copy | Operator::WriteOrCopy);
        let closes = target(redirect).is_none_or(|target| target.ends_with('-'));
        self.sure.opens &= !(copies && closes);
    }

    /// Sets a variable by a declaration, which may set nothing.
    pub(super) fn declared(
        &mut self,
        words: &[Word],
        (name, value): &(String, Word),
        elements: Option<Vec<Piece>>,
    ) {
        let is_own = self.localize(words, name) == Some(true);
        let is_set = self.declares(words) && (is_own || self.keeps_kind(words, name));
        let start = self.changes.len();
        self.set(name, value.clone());
        self.keep_elements(name, elements);
        if !is_set {
            self.forget_since(start);
        }
    }

    /// Says whether a declaration surely is one that sets variables.
    fn declares(&self, words: &[Word]) -> bool {
        let Some((first, rest)) = words.split_first() else { return false };
        let Some(builtin) = first.literal() else { return false };
        let letters = match builtin {
            "export" => OF_EXPORT,
            "readonly" => OF_READONLY,
            _ => DECLARING,
        };
        let is_in_place = builtin != "local" || self.frame.is_function;
        is_in_place
            && !self.state.callees.contains_key(builtin)
            && rest.iter().all(|word| is_option_of(word, letters).unwrap_or_default())
    }

    /// Takes in that a declaration may make arrays whose keys are texts.
    pub(super) fn note_keys(&mut self, words: &[Word]) {
        let is_known = words.iter().all(|word| word.literal().is_some() || word.is_no_option());
        self.sure.has_keys |= !is_known || words.iter().any(|word| has_letter(word, "A"));
    }

    /// Says whether an array stays one of the same kind.
    fn keeps_kind(&self, words: &[Word], name: &str) -> bool {
        let has = |letter| words.iter().any(|word| has_letter(word, letter));
        let is_new = !self.variables.contains_key(name);
        is_new || !(has("A") || has("a") && self.sure.has_keys)
    }

    /// Notes what a variable was that these words make one of the function being called, or may; if so,
    /// says whether they surely make a new one.
    pub(super) fn localize(&mut self, words: &[Word], name: &str) -> Option<bool> {
        let first = words.first().and_then(Word::literal);
        let declares = first.is_some_and(|name| LOCAL.contains(&name));
        let fails = |word: &Word| is_option_of(word, DECLARING) == Some(false);
        if !declares || words.iter().any(|word| has_letter(word, "g") || fails(word)) {
            return None;
        }
        let is_sure = self.declares(words)
            && self.branches == self.frame.branches
            && self.sure.skips.is_none();
        let before = self.value_before(name);
        let row = self.locals.last_mut()?;
        if row.iter().any(|local| local.change.0 == name) {
            return Some(false);
        }
        row.push(Local { change: (name.to_owned(), before), is_sure });
        Some(is_sure)
    }

    /// Returns the value of a variable for where the function may have been left, too.
    fn value_before(&self, name: &str) -> Option<Value> {
        let value = self.variables.get(name);
        let since = self.frame.left.and_then(|left| self.changes.get(left..)).unwrap_or_default();
        let is_other =
            since.iter().any(|(other, before)| other == name && value != before.as_ref());
        if is_other { Some(None) } else { value.cloned() }
    }

    /// Takes in that `unset` may take away a variable of a function's own, so that the one around it is
    /// set from then on.
    pub(super) fn may_end_local(&mut self, name: &str) {
        let of_name = |local: &&mut Local| local.change.0 == name;
        self.locals.iter_mut().flatten().filter(of_name).for_each(|local| local.is_sure = false);
    }

    /// Gives the variables of a function that ends their values from before; returns their names.
    pub(super) fn end_locals(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        for local in self.locals.pop().unwrap_or_default().into_iter().rev() {
            let (name, before) = local.change;
            let is_known = local.is_sure || self.variables.get(&name) == before.as_ref();
            names.push(name.clone());
            self.put(name, if is_known { before } else { Some(None) });
        }
        names
    }

    /// Takes in that a call gave these variables back the values from before.
    pub(super) fn settle(&mut self, start: usize, names: &[String]) {
        let of_call = self.changes.split_off(start.min(self.changes.len()));
        let is_settled = |name: &String| {
            let first = of_call.iter().find(|(other, _)| other == name);
            first.is_some_and(|(_, before)| self.variables.get(name) == before.as_ref())
        };
        let settled: Vec<_> = names.iter().filter(|name| is_settled(name)).collect();
        self.sure.skips = self.sure.skips.map(|at| at.min(start));
        let stays = |(name, _): &Change| !settled.contains(&name);
        let stay: Vec<_> = of_call.iter().filter(|change| stays(change)).cloned().collect();
        self.changes.extend(stay);
    }
}

/// Says whether a word is no option, or one of these letters; `None` if that is not known.
fn is_option_of(word: &Word, letters: &str) -> Option<bool> {
    match word.literal() {
        Some("--") => Some(true),
        Some(text) => match text.strip_prefix(['-', '+']) {
            Some(given) => Some(given.chars().all(|letter| letters.contains(letter))),
            None => Some(true),
        },
        None => word.is_no_option().then_some(true),
    }
}

/// Returns the file or the descriptor of a redirect if it is written plainly.
fn target(redirect: &WrittenRedirect) -> Option<&str> {
    match &redirect.target {
        Target::Word(word) => WrittenWord::plain(word),
        Target::Document(_) => None,
    }
}
