//! Styled text: pieces with a meaning, painted with the terminal's own palette, or with fixed
//! colours that are readable on the background that the terminal told.
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
    /// Which colours.
    pub theme: Theme,
}

/// Which colours are painted with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// The terminal's own palette.
    #[default]
    Terminal,
    /// Fixed colours for a dark background.
    Dark,
    /// Fixed colours for a light one.
    Light,
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
    /// What is new within a line that was changed.
    Came,
    /// What is gone from it.
    Went,
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
        let code = match self.theme {
            Theme::Terminal => own(meaning),
            Theme::Dark => dark(meaning),
            Theme::Light => light(meaning),
        };
        if !self.colour || code.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    pub(crate) fn say(&self, text: Text) -> &'static str {
        text.template(self.language)
    }

    /// What most tests of colours are drawn with.
    #[cfg(test)]
    pub(super) const IN_COLOUR: Self = Self {
        width: 80,
        colour: true,
        redraws: true,
        language: Language::English,
        theme: Theme::Terminal,
    };
}

/// Select Graphic Rendition (ECMA-48, 8.3.117) with colours of the terminal's palette.
fn own(meaning: Meaning) -> &'static str {
    match meaning {
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
        Meaning::Came => "32;7",
        Meaning::Went => "31;7",
    }
}

/// The same with colours of xterm's cube, which no palette changes.
fn dark(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::Aside => "38;5;246",
        Meaning::Error => "38;5;210",
        Meaning::Warning => "38;5;221",
        Meaning::Done => "38;5;114",
        Meaning::Hint => "38;5;80",
        Meaning::Keyword => "38;5;176",
        Meaning::Literal => "38;5;111",
        Meaning::Came => "38;5;120;48;5;22",
        Meaning::Went => "38;5;217;48;5;52",
        other => own(other),
    }
}

fn light(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::Aside => "38;5;240",
        Meaning::Error => "38;5;124",
        Meaning::Warning => "38;5;94",
        Meaning::Done => "38;5;22",
        Meaning::Hint => "38;5;24",
        Meaning::Keyword => "38;5;90",
        Meaning::Literal => "38;5;19",
        Meaning::Came => "38;5;22;48;5;157",
        Meaning::Went => "38;5;88;48;5;217",
        other => own(other),
    }
}

impl Piece {
    pub(crate) fn new(meaning: Meaning, text: impl Into<String>) -> Self {
        Self { text: text.into(), meaning }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Paints = fn(Meaning) -> &'static str;

    /// The least contrast of text that is easy to read (WCAG 2.2, 1.4.3).
    const CONTRAST_MIN: f64 = 4.5;

    /// The lightness of a colour of xterm's cube or its greys.
    fn lightness(colour: u32) -> f64 {
        const STEPS: [u32; 6] = [0, 95, 135, 175, 215, 255];
        let parts = match colour {
            232..=255 => [8 + (colour - 232) * 10; 3],
            _ => [36, 6, 1].map(|unit| STEPS[((colour - 16) / unit % 6) as usize]),
        };
        luminance(parts)
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(parts: [u32; 3]) -> f64 {
        let linear = |part: u32| match f64::from(part) / 255.0 {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        };
        let [red, green, blue] = parts.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn every_colour_is_readable_on_its_background() {
        use Meaning::{Aside, Came, Done, Error, Hint, Keyword, Literal, Warning, Went};
        let coloured = [Aside, Error, Warning, Done, Hint, Keyword, Literal, Came, Went];
        let themes: [(Paints, [u32; 3]); 4] =
            [(dark, [0; 3]), (dark, [40, 42, 54]), (light, [255; 3]), (light, [238, 232, 213])];
        for (theme, background) in themes {
            for meaning in coloured {
                let codes: Vec<u32> =
                    theme(meaning).split(';').map(|code| code.parse().unwrap()).collect();
                let behind = match codes.as_slice() {
                    [_, _, _, 48, 5, behind] => lightness(*behind),
                    _ => luminance(background),
                };
                let text = lightness(codes[2]);
                let contrast = (text.max(behind) + 0.05) / (text.min(behind) + 0.05);
                assert!(contrast >= CONTRAST_MIN, "{meaning:?} on {background:?}: {contrast:.1}");
            }
        }
    }
}
