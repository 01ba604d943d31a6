//! A text that is kept with its values until somebody is there to read it, as an error is.

use std::fmt::Display;

use super::{Language, Text};

/// A sentence that is said later, in whichever language is then asked for.
#[derive(Debug)]
pub(crate) enum Sentence {
    /// The same words in every language.
    Words(String),
    /// A text with its values.
    OfTable(Text, Vec<(&'static str, String)>),
}

impl Sentence {
    /// Returns it in a language.
    pub(crate) fn say(&self, language: Language) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::OfTable(text, values) => {
                let values: Vec<(&str, &dyn Display)> =
                    values.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
                text.say(language, &values)
            }
        }
    }
}

impl From<String> for Sentence {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<&str> for Sentence {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}

impl From<Text> for Sentence {
    fn from(text: Text) -> Self {
        Self::OfTable(text, Vec::new())
    }
}

impl Text {
    /// Returns the text as a sentence that keeps these values.
    pub(crate) fn with(self, values: &[(&'static str, &dyn Display)]) -> Sentence {
        let values = values.iter().map(|(name, value)| (*name, value.to_string()));
        Sentence::OfTable(self, values.collect())
    }
}
