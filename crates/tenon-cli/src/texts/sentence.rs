//! A text that is kept with its values until somebody is there to read it, as an error is.

use std::fmt::Display;

use super::{Language, Text, translated};

/// What is said of commands for a shell, and in a session what can be typed there instead.
const IN_SESSION: [(Text, Text); 7] = [
    (Text::HintSessionIds, Text::HintResumeHere),
    (Text::HintNothingToUndo, Text::HintNothingToUndoHere),
    (Text::HintUndoOther, Text::HintUndoOtherHere),
    (Text::HintBackTo, Text::HintBackToHere),
    (Text::HintNotRestored, Text::HintNotRestoredHere),
    (Text::HintNotRestoredKeep, Text::HintNotRestoredKeepHere),
    (Text::GoneUndone, Text::GoneUndoneHere),
];

/// A sentence that is said later, in whichever language is then asked for.
#[derive(Debug, Clone)]
pub(crate) enum Sentence {
    /// The same words in every language.
    Words(String),
    /// What a library says, whose English is looked up.
    OfLibrary(String),
    /// A text with its values.
    OfTable(Text, Vec<(&'static str, Sentence)>),
    /// Something, a colon, and more about it.
    About(Box<(Sentence, Sentence)>),
}

impl Sentence {
    /// Returns what a library says.
    pub(crate) fn of_library(said: &(impl Display + ?Sized)) -> Self {
        Self::OfLibrary(said.to_string().trim_end().to_owned())
    }

    /// Whether it is this text, with whatever values.
    pub(crate) fn is(&self, text: Text) -> bool {
        matches!(self, Self::OfTable(own, _) if *own == text)
    }

    /// Returns it with `more` behind a colon.
    pub(crate) fn with_more(self, more: impl Into<Self>) -> Self {
        Self::About(Box::new((self, more.into())))
    }

    /// Returns it with one more value, which is a text itself.
    pub(crate) fn holding(mut self, name: &'static str, value: impl Into<Self>) -> Self {
        if let Self::OfTable(_, values) = &mut self {
            values.push((name, value.into()));
        }
        self
    }

    /// Returns it as a session says it: with the commands that can be typed there.
    pub(crate) fn in_session(&self) -> Self {
        match self {
            Self::OfTable(text, values) => {
                let here = IN_SESSION.iter().find(|(shell, _)| shell == text);
                Self::OfTable(here.map_or(*text, |(_, here)| *here), values.clone())
            }
            other => other.clone(),
        }
    }

    /// Returns it in a language.
    pub(crate) fn say(&self, language: Language) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::OfLibrary(said) => translated(said, language).into_owned(),
            Self::OfTable(text, values) => {
                let said = |(name, value): &(&'static str, Self)| (*name, value.say(language));
                let values: Vec<(&str, String)> = values.iter().map(said).collect();
                text.say_with(language, &values)
            }
            Self::About(both) => {
                let (said, more) = (both.0.say(language), both.1.say(language));
                Text::WithMore.say(language, &[("said", &said), ("more", &more)])
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
        let values = values.iter().map(|(name, value)| (*name, Sentence::Words(value.to_string())));
        Sentence::OfTable(self, values.collect())
    }
}
