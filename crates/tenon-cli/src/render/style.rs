//! Styled text: pieces with a meaning, painted with the terminal's own palette.
//!
//! A colour means one thing: red an error, yellow a warning, green done, cyan a path or a hint
//! (in a diff green and red are what came and went, which the signs say too). Everything reads
//! the same without it.

use crate::texts::{Language, Text};

/// How a session is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Columns of the screen.
    pub width: usize,
    /// Whether colours are wanted.
    pub colour: bool,
    /// Whether there is a terminal that can erase a line and jump to a column.
    pub redraws: bool,
    /// The language of the interface.
    pub language: Language,
}

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Plain,
    Name,
    Aside,
    Error,
    Warning,
    Done,
    Hint,
    /// Emphasised prose.
    Emphasis,
    /// Prose that is struck out.
    Struck,
    /// A heading.
    Heading,
    /// A word of a programming language.
    Keyword,
    /// A string or number of a programming language.
    Literal,
    /// What is chosen of a list.
    Chosen,
}

/// A piece of text with one meaning, safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub text: String,
    pub meaning: Meaning,
}

impl Style {
    /// Returns `text` painted as `meaning`.
    pub(crate) fn paint(&self, meaning: Meaning, text: &str) -> String {
        let code = match meaning {
            Meaning::Plain => "",
            Meaning::Name => "1",
            Meaning::Aside => "2",
            Meaning::Error => "31",
            Meaning::Warning => "33",
            Meaning::Done => "32",
            Meaning::Hint => "36",
            Meaning::Emphasis => "3",
            Meaning::Struck => "9",
            Meaning::Heading => "1;4",
            Meaning::Keyword => "35",
            Meaning::Literal => "34",
            Meaning::Chosen => "7",
        };
        if !self.colour || code.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    pub(crate) fn say(&self, text: Text) -> &'static str {
        text.template(self.language)
    }
}

impl Piece {
    pub(crate) fn new(meaning: Meaning, text: impl Into<String>) -> Self {
        Self { text: text.into(), meaning }
    }
}
