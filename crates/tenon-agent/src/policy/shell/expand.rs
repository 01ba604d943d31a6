//! Expansion, as far as it can be foretold: from the parts of a word to its pieces.
//!
//! The commands within substitutions are walked on the way, because bash would run them.

use super::SimpleCommand;
use super::arguments;
use super::hidden;
use super::made::{self, Holds, Made};
use super::syntax::{Expansion, List, Part, WrittenWord};
use super::walk::{Walker, is_filled};
use super::word::{self, Extent, Piece, Unknown, Word};
use super::words::{is_name, variable_of};
use super::work;

/// The signs at which values are split; the first joins those of `"$*"`.
const IFS: &str = "IFS";

/// Whether values are split into words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Yes,
    No,
}

/// Returns how many words a parameter is of which a call tells the value.
fn told(extent: Extent) -> Extent {
    if extent == Extent::One { Extent::One } else { Extent::Told }
}

/// `{`, `,` and `}` in one word; more are not expanded.
const BRACES_MAX: usize = 256;

impl Walker {
    /// Returns the words that a written word becomes; none if it is unquoted and empty.
    pub(super) fn words(&mut self, written: &WrittenWord) -> Vec<Word> {
        let mut pieces = self.pieces(&written.parts, Quoted::No);
        if pieces.iter().filter(|piece| matches!(piece, Piece::Brace(_))).count() > BRACES_MAX {
            self.doubt("it has too many braces");
            pieces = word::unknown();
        }
        let mut words = word::finish(pieces);
        if !written.is_quoted() || written.may_be_none() {
            words.retain(|word| !word.pieces.is_empty());
        } else if words.is_empty() {
            words.push(Word::default());
        }
        words
    }

    /// Returns the one word that a written word becomes where it is not split.
    pub(super) fn unsplit(&mut self, written: &WrittenWord) -> Word {
        self.unsplit_parts(&written.parts)
    }

    /// Returns the text that parts become as if they stood in double quotes.
    pub(super) fn unsplit_parts(&mut self, parts: &[Part]) -> Word {
        word::unsplit(self.pieces(parts, Quoted::Yes))
    }

    fn pieces(&mut self, parts: &[Part], quoted: Quoted) -> Vec<Piece> {
        let mut out = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if self.is_tired() {
                break;
            }
            match part {
                Part::Text(text) => out.extend(word::unquoted(text, index == 0)),
                Part::Quoted(text) => out.push(Piece::Text(text.clone())),
                Part::Double(parts) => out.extend(self.pieces(parts, Quoted::Yes)),
                Part::Variable(name) => out.extend(self.variable(name, quoted)),
                Part::Expansion(expansion) => out.extend(self.expansion(expansion, quoted)),
                Part::Commands(list) => {
                    let output = self.substitution(list);
                    out.extend(if quoted == Quoted::Yes { output } else { self.split(&output) });
                }
                Part::Process { list, writes } => out.push(self.process(list, *writes)),
                Part::Opaque(parts) => {
                    let inner = word::unsplit(self.pieces(parts, Quoted::Yes));
                    out.extend(word::made_of(inner.made()));
                }
                Part::Evaluated(parts) => {
                    let text = self.pieces(parts, Quoted::Yes);
                    self.evaluate(&word::unsplit(text));
                    out.extend(word::holding(word::unknown(), self.number()));
                }
                Part::Array(words) => out.extend(self.array(words, None).value.pieces),
            }
        }
        out
    }

    fn split(&self, value: &[Piece]) -> Vec<Piece> {
        // Another IFS splits elsewhere.
        match self.may_split_elsewhere() {
            true => {
                word::spread(word::made_of(Word { pieces: value.to_vec() }.made()), Extent::Several)
            }
            false => word::split_value(value),
        }
    }

    fn may_split_elsewhere(&self) -> bool {
        self.state.untold || self.variables.contains_key(IFS)
    }

    /// Says whether `"$*"` and `"${x[*]}"` have a blank between their words: the first sign of IFS.
    fn joins_by_blank(&self) -> bool {
        let begins = |pieces: &Vec<Piece>| matches!(pieces.first(), Some(Piece::Text(text)) if text.starts_with(' '));
        let is_known = |value: &Option<Vec<Piece>>| value.as_ref().is_some_and(begins);
        !self.state.untold && self.variables.get(IFS).is_none_or(is_known)
    }

    fn variable(&mut self, name: &str, quoted: Quoted) -> Vec<Piece> {
        let bare = quoted == Quoted::No;
        let extent = if bare || name == "@" { Extent::Several } else { Extent::One };
        let unknown = || word::spread(word::made_of(Made::variable(name)), extent);
        if self.state.untold && is_name(name) {
            return unknown();
        }
        if !self.looks_through(self.value_bytes(name)) {
            return unknown();
        }
        match self.variables.get(name).cloned() {
            Some(Some(value)) => {
                // Of `"$@"` each word is as it was given.
                let keeps = name == "@" || variable_of(name) != name;
                return match quoted {
                    Quoted::Yes if name == "*" && !self.joins_by_blank() => {
                        word::made_of(Word { pieces: value }.made())
                    }
                    Quoted::Yes if keeps => value,
                    Quoted::Yes => word::spread(value, Extent::One),
                    Quoted::No => self.split(&value),
                };
            }
            Some(None) => return unknown(),
            None => {}
        }
        match name {
            "HOME" => vec![Piece::Home(String::new())],
            "PWD" => self.state.folders.here().unwrap_or_else(|| vec![Piece::Folder]),
            word::BEGIN_NAME => vec![Piece::Begin],
            "TMPDIR" => vec![Piece::Text("/tmp".to_owned())],
            "BASH" | "SHELL" => vec![Piece::Text("/bin/bash".to_owned())],
            IFS if quoted == Quoted::No => vec![Piece::Break],
            _ if is_filled(name) => word::holding(unknown(), self.held(name)),
            _ => {
                // A parameter that the line does not set is empty, or told by a call.
                let (is_named, made) = (is_name(name), Made::variable(name));
                let inherited = is_named.then(|| name.to_owned());
                let extent = if is_named { extent } else { told(extent) };
                let holds = self.held(name);
                vec![Piece::Unknown(Unknown { from: 0..0, inherited, made, extent, holds })]
            }
        }
    }

    /// Returns how many bytes the known value of a variable has.
    fn value_bytes(&self, name: &str) -> usize {
        self.variables.get(name).and_then(Option::as_deref).map_or(0, work::bytes)
    }

    /// Returns what a variable holds that the line does not set. In a script another shell may read it.
    fn held(&self, name: &str) -> Holds {
        let is_number = self.scripts == 1 && Holds::of_variable(name) == Holds::Number;
        if is_number { self.number() } else { Holds::Anything }
    }

    /// Returns what is known of a number: with another IFS it may be split.
    fn number(&self) -> Holds {
        if self.may_split_elsewhere() { Holds::Anything } else { Holds::Number }
    }

    fn expansion(&mut self, expansion: &Expansion, quoted: Quoted) -> Vec<Piece> {
        if let Some(sign) = expansion.elements
            && let Some(elements) = self.known_elements(&expansion.name)
        {
            return match (sign, quoted) {
                ('*', Quoted::Yes) => self.joined(&elements),
                _ => self.variable(&elements, quoted),
            };
        }
        if !self.looks_through(self.value_bytes(&expansion.name)) {
            return word::unknown();
        }
        let start = self.commands.len();
        self.pieces(&expansion.parts, quoted);
        let operand = word::unsplit(self.pieces(&expansion.operand, quoted));
        self.evaluate_value(&operand);
        let name = expansion.name.as_str();
        if expansion.indirect {
            self.may_skip();
            let pieces = self.variable(name, Quoted::Yes);
            let named = word::unsplit(pieces);
            self.flow_evaluated(made::NAME, &named);
            self.evaluate_value(&named);
        }
        let made = self.made(expansion, &operand);
        let filled = !(self.state.untold && is_name(name))
            && match self.variables.get(name) {
                Some(value) => value.iter().flatten().any(is_some),
                None => matches!(name, "HOME" | "PWD"),
            };
        match expansion.operator {
            None if !expansion.opaque => return self.variable(name, quoted),
            Some('-' | '?' | '=') if filled && !expansion.opaque => {
                return self.variable(name, quoted);
            }
            Some('=') => {
                self.given(name);
                self.flow_value(name, &operand);
            }
            _ => {}
        }
        let from = start..self.commands.len();
        let is_set = is_name(name) || self.variables.contains_key(name);
        let is_many = quoted == Quoted::No || expansion.many;
        let extent = if is_many { Extent::Several } else { Extent::One };
        let extent = if is_set { extent } else { told(extent) };
        let holds = self.cut(expansion);
        vec![Piece::Unknown(Unknown { from, inherited: None, made, extent, holds })]
    }

    /// Returns what is known of the length of a value, or of a part of it.
    fn cut(&self, expansion: &Expansion) -> Holds {
        if expansion.is_length {
            return self.number();
        }
        let value = self.variables.get(&expansion.name).and_then(Option::as_deref);
        match expansion.operand.first() {
            Some(Part::Text(text) | Part::Quoted(text)) if !expansion.indirect => {
                let is_whole = expansion.operand.len() == 1;
                Holds::of_cut(value, if is_whole || text != "##*/" { text } else { "#" })
            }
            _ => Holds::Anything,
        }
    }

    /// Returns all elements of an array as one word.
    fn joined(&mut self, elements: &str) -> Vec<Piece> {
        let value = self.variable(elements, Quoted::Yes);
        if !self.joins_by_blank() {
            return word::made_of(Word { pieces: value }.made());
        }
        let parts = value.split(|piece| *piece == Piece::Break);
        let words: Vec<Word> = parts.map(|part| Word { pieces: part.to_vec() }).collect();
        word::spread(arguments::join(&words).pieces, Extent::One)
    }

    /// Returns what the value of an expansion is made of.
    fn made(&self, expansion: &Expansion, operand: &Word) -> Made {
        if expansion.is_length {
            return Made::default();
        }
        let mut made = match self.variables.get(&expansion.name) {
            Some(Some(value)) => Word { pieces: value.clone() }.made(),
            _ => Made::variable(&expansion.name),
        };
        if expansion.indirect {
            made.join(&Made::variable(made::ANY));
        }
        made.join(&operand.made());
        made
    }

    fn substitution(&mut self, list: &List) -> Vec<Piece> {
        let start = self.commands.len();
        self.isolated(|walker| walker.list(list));
        let from = start..self.commands.len();
        let made = self.output(from.clone());
        if let [one] = self.commands.get(from.clone()).unwrap_or_default()
            && let Some(pieces) = known_output(one)
        {
            let here = || self.state.folders.here();
            return here().filter(|_| pieces == [Piece::Folder]).unwrap_or(pieces);
        }
        let holds = Holds::of_output(self.commands.get(from.clone()).unwrap_or_default());
        vec![Piece::Unknown(Unknown { from, inherited: None, made, extent: Extent::One, holds })]
    }

    fn process(&mut self, list: &List, writes: bool) -> Piece {
        let start = self.commands.len();
        self.isolated(|walker| {
            walker.state.input = None;
            walker.list(list);
        });
        let from = start..self.commands.len();
        if writes {
            self.sinks.push(from);
            return Piece::Text("/dev/fd/63".to_owned());
        }
        let made = self.output(from.clone());
        Piece::Unknown(Unknown { from, made, ..Unknown::default() })
    }
}

/// Says whether a piece surely is not empty.
fn is_some(piece: &Piece) -> bool {
    match piece {
        Piece::Unknown(_) => false,
        piece => piece.bytes() > 0,
    }
}

/// Returns what a command prints, for the few where that is plain.
fn known_output(command: &SimpleCommand) -> Option<Vec<Piece>> {
    let name = command.words.first()?.literal()?;
    if matches!(name, "cat" | "echo" | "printf") {
        let text = hidden::written(command)?;
        return Some(vec![Piece::Text(text.trim_end_matches('\n').to_owned())]);
    }
    if !command.redirects.is_empty() {
        return None;
    }
    match name {
        "pwd" => Some(vec![Piece::Folder]),
        "mktemp"
            if command.arguments().iter().all(|word| {
                word.literal().is_some_and(|text| text.starts_with('-') && !text.contains("-p"))
            }) =>
        {
            let inside = Piece::Unknown(Unknown::default());
            Some(vec![Piece::Text("/tmp/".to_owned()), inside])
        }
        _ => None,
    }
}
