//! Texts that bash expands a second time: arithmetic, subscripts and offsets, and the values that
//! variables get, which arithmetic may take for a subscript later.
//!
//! What is quoted there is no longer quoted then. Where such a text has a substitution that does not
//! show when it is read, that is a doubt.

use super::hidden::{self, TWICE};
use super::reader;
use super::reads;
use super::syntax::Part;
use super::walk::Walker;
use super::word::Word;
use super::words::is_name;
use super::{RedirectKind, SimpleCommand};

/// Builtins that put what they read into variables.
const READERS: &[&str] = &["mapfile", "read", "readarray"];

/// What stands for an unknown part in [`Word::source`].
const UNKNOWN: &str = "${_}";

fn is_of_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

/// Returns the names that a text sets if it is arithmetic.
fn assigned(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    let names = text.split(|sign| !is_of_name(sign)).map(move |name| {
        let start = at;
        at += name.len() + 1;
        (start, name)
    });
    // Signs between names are one byte long, or the text is not followed further.
    let is_set = move |(start, name): &(usize, &str)| {
        let (Some(before), Some(behind)) = (text.get(..*start), text.get(start + name.len()..))
        else {
            return !text.is_ascii();
        };
        let steps = before.trim_end().ends_with(['+', '-']);
        steps || !text.is_ascii() || sets(behind)
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

impl Walker {
    /// Walks what bash runs when it takes a text for arithmetic.
    pub(super) fn evaluate(&mut self, text: &Word) {
        let text = text.source();
        self.assign_names(&text);
        if hidden::may_run(&text) {
            self.text(&text);
        }
    }

    /// Walks what bash runs when arithmetic takes a value for the name of a variable, which runs what
    /// stands in its subscript.
    pub(super) fn evaluate_value(&mut self, value: &Word) {
        self.note_value(value);
        if let Some(found) = hidden::substitutions(value) {
            self.launch(found);
        }
    }

    /// Takes in that a value sets variables if arithmetic takes it.
    pub(super) fn note_value(&mut self, value: &Word) {
        if assigned(&value.source()).any(|name| !reads::is_plain_variable(name)) {
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

    /// Takes what `read` and its like read for values, as far as the line says what that is.
    pub(super) fn evaluate_read(&mut self, command: &SimpleCommand) {
        if !command.program().is_some_and(|name| READERS.contains(&name)) {
            return;
        }
        let own = command.redirects.iter().find(|one| one.kind == RedirectKind::Text);
        let mut texts: Vec<_> = own.map(|one| one.target.clone()).into_iter().collect();
        if texts.is_empty() {
            texts.extend(self.state.text.clone());
            let feed = command.piped_from.clone().and_then(|range| self.commands.get(range));
            texts.extend(feed.into_iter().flatten().filter_map(hidden::written).map(Word::text));
        }
        for text in texts {
            self.evaluate_value(&text);
        }
    }

    /// Walks what a text runs that is expanded some time later, when variables may be others.
    pub(super) fn later_text(&mut self, text: &str) {
        let untold = std::mem::replace(&mut self.state.untold, true);
        self.text(text);
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
