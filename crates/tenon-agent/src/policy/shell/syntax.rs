//! What a script says, as written: plain data between the reader and the walk.
//!
//! Only what the walk needs is kept. Nothing is expanded here.

use std::cell::OnceCell;
use std::rc::Rc;

/// Commands in a row, ended by `;`, `&` or a new line.
pub(super) type List = Vec<AndOr>;

/// The words of `[[ … ]]`, and as what bash expands them once more.
pub(super) type Tests = Vec<(WrittenWord, Option<&'static str>)>;

/// Commands joined by `|`.
pub(super) type Pipeline = Vec<Command>;

/// Pipelines joined by `&&` and `||`; there is at least one.
#[derive(Debug)]
pub(super) struct AndOr {
    pub(super) pipelines: Vec<Pipeline>,
    /// How many of them, from the first on, are joined by `&&`.
    pub(super) chained: usize,
    /// One of them is turned around by `!`: what stands behind it runs where it failed.
    pub(super) inverted: bool,
    pub(super) background: bool,
    /// What follows stands on another line.
    pub(super) ends_line: bool,
}

/// A command with the redirects written at it.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) kind: Kind,
    pub(super) redirects: Vec<WrittenRedirect>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Simple(Simple),
    Group(List),
    Subshell(List),
    /// `if`, `while`, `until`, `case`, `((…))`: what is expanded, and lists of which each may run.
    Branches {
        words: Vec<WrittenWord>,
        lists: Vec<List>,
        /// They may run again and again.
        repeats: bool,
    },
    /// `for` and `select`.
    For {
        name: String,
        words: Vec<WrittenWord>,
        body: List,
    },
    /// `[[ … ]]`
    Test(Tests),
    Function {
        name: String,
        body: Rc<Command>,
    },
    Coprocess {
        name: String,
        command: Box<Command>,
    },
}

#[derive(Debug, Default)]
pub(super) struct Simple {
    /// Those before the first word.
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<WrittenWord>,
    /// The arguments of `export` and its like that are assignments.
    pub(super) declared: Vec<Assignment>,
}

/// `name=value`, `name+=value`, `name[subscript]=value`.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) subscript: Option<Vec<Part>>,
    pub(super) appends: bool,
    pub(super) value: WrittenWord,
}

#[derive(Debug)]
pub(super) struct WrittenRedirect {
    /// The variable that gets its number, and the subscript: `{name}>file`, `{name[subscript]}>file`.
    pub(super) descriptor: Option<(String, Vec<Part>)>,
    pub(super) operator: Operator,
    pub(super) target: Target,
}

/// The body of a here document, which comes later than the redirect.
pub(super) type Document = Rc<OnceCell<WrittenWord>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `<>`, `&>`, `&>>`
    Write,
    /// `>&`, which writes if its target is a file.
    WriteOrCopy,
    /// `<&`
    Copy,
    /// `<<<`, `<<`, `<<-`
    Text,
}

#[derive(Debug)]
pub(super) enum Target {
    Word(WrittenWord),
    Document(Document),
}

/// A word as written.
#[derive(Debug, Default)]
pub(super) struct WrittenWord {
    pub(super) parts: Vec<Part>,
}

#[derive(Debug)]
pub(super) enum Part {
    /// Unquoted text with its backslashes.
    Text(String),
    /// Quoted text, quotes and backslashes applied.
    Quoted(String),
    /// `"…"`
    Double(Vec<Part>),
    /// `$name`
    Variable(String),
    /// `${…}`
    Expansion(Expansion),
    /// `$(…)`, `` `…` ``
    Commands(List),
    /// `<(…)`, `>(…)`
    Process { list: List, writes: bool },
    /// A text that is not known: only what is expanded in it matters.
    Opaque(Vec<Part>),
    /// Arithmetic, a subscript, an offset: bash expands once more what comes out of it.
    Evaluated(Vec<Part>),
    /// `(…)` behind `name=`
    Array(Vec<WrittenWord>),
}

#[derive(Debug, Default)]
pub(super) struct Expansion {
    pub(super) name: String,
    /// `${name}` and no more, or `${name:-…}` and its like with this operator.
    pub(super) operator: Option<char>,
    /// `${!name}`: its value is taken for a name.
    pub(super) indirect: bool,
    /// `${#name}`: it is a number.
    pub(super) is_length: bool,
    /// It is nothing that the value of `name` or a default could be.
    pub(super) opaque: bool,
    /// It may be several words within quotes, too: `${name[@]…}`, `${@…}`.
    pub(super) many: bool,
    /// `${name[@]}` or `${name[*]}` and no more: the sign within.
    pub(super) elements: Option<char>,
    /// What is expanded before the operator is looked at: the subscript; and offsets.
    pub(super) parts: Vec<Part>,
    /// What stands behind the operator, if it is text.
    pub(super) operand: Vec<Part>,
}

/// A script, read.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) list: List,
    pub(super) doubt: Option<&'static str>,
}

impl WrittenWord {
    /// Returns the word if nothing in it is quoted or expanded.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text(text)] if !text.contains('\\') => Some(text),
            _ => None,
        }
    }

    /// Returns the elements that are written, if it is an array.
    pub(super) fn elements(&self) -> Option<&[WrittenWord]> {
        match self.parts.as_slice() {
            [Part::Array(words)] => Some(words),
            _ => None,
        }
    }

    /// Says whether bash may take it for `{name}` before a redirect.
    pub(super) fn may_name_descriptor(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Text(text)) if text.starts_with('{'))
            && matches!(self.parts.last(), Some(Part::Text(text)) if text.ends_with('}'))
    }

    /// Says whether it is no word at all if an array, or all parameters, are empty: `"$@"`.
    pub(super) fn may_be_none(&self) -> bool {
        let [Part::Double(parts)] = self.parts.as_slice() else { return false };
        !parts.is_empty()
            && parts.iter().all(|part| match part {
                Part::Variable(name) => name == "@",
                Part::Expansion(expansion) => expansion.many,
                _ => false,
            })
    }

    /// Says whether a part of it is in quotes, so that it is a word even if it is empty.
    pub(super) fn is_quoted(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Quoted(_) | Part::Double(_)))
    }
}
