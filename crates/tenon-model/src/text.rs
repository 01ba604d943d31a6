//! Text that must not be printed as it is: keys, and whatever files, commands, servers or models
//! produced.
//!
//! [`Secret`] prints `***`. [`Untrusted`] has no `Display`: the only way to a screen is
//! [`visible`], which turns everything a terminal would obey or hide into something a person sees.

use std::{borrow::Cow, fmt, sync::Arc};

/// Keys shorter than this are not searched for in other text: hiding every `a` helps nobody.
const HIDDEN_BYTES_MIN: usize = 4;

/// Returns the text of a file: UTF-16 if it begins with such a byte order mark, else UTF-8. What is neither
/// is replaced; the mark is not in the text.
///
/// ```
/// assert_eq!(tenon_model::decoded(b"\xFF\xFEa\0"), "a");
/// assert_eq!(tenon_model::decoded(b"\xEF\xBB\xBFa\xFF"), "a\u{fffd}");
/// ```
pub fn decoded(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
        char::decode_utf16(units).map(|sign| sign.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        bytes => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A key or token. Prints as `***`, clones without copying, is not serialisable.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

/// Text from outside that may hold terminal control sequences or invisible characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Untrusted(String);

impl Secret {
    /// Wraps a key.
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(key.into())
    }

    /// Returns the key itself, for the one header or comparison that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `text` with each occurrence of the key replaced by `***`.
    pub fn hidden_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.0.len() < HIDDEN_BYTES_MIN || !text.contains(&*self.0) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace(&*self.0, "***"))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Untrusted {
    /// Wraps text from outside.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text made visible; see [`visible`].
    pub fn visible(&self) -> Cow<'_, str> {
        visible(&self.0)
    }

    /// Returns the text as it came, for anything but a screen.
    pub fn raw(&self) -> &str {
        &self.0
    }
}

impl From<String> for Untrusted {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Returns `text` with everything but newline, tab and printable characters made visible: control
/// characters as their pictures (`␛`), what reorders or hides text (bidirectional controls,
/// zero-width characters, tags) as `⟨U+202E⟩`.
///
/// The joiners and variants that emoji and some scripts need (U+200C, U+200D, U+FE00 to U+FE0F) pass,
/// but not behind an ASCII character, where they only make one name look like another; a keycap's
/// (`1️⃣`) does. All else is judged alone, so pieces of a stream give the same as the whole.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_unsafe = |(at, character): (usize, char)| match character {
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => is_out_of_place(text, at, character),
        _ => is_unsafe(character),
    };
    let Some((first, _)) = text.char_indices().find(|found| is_unsafe(*found)) else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(text.split_at(first).0);
    for (at, character) in text.char_indices().skip_while(|(at, _)| *at < first) {
        match character {
            _ if !is_unsafe((at, character)) => shown.push(character),
            '\0'..='\u{1f}' => shown.push(picture(character)),
            '\u{7f}' => shown.push('␡'),
            _ => shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(character))),
        }
    }
    Cow::Owned(shown)
}

/// Whether a joiner or variant changes how nothing before it looks. At the beginning it may belong to an
/// earlier piece of a stream.
fn is_out_of_place(text: &str, at: usize, character: char) -> bool {
    let (before, rest) = text.split_at(at);
    match before.chars().next_back() {
        Some('0'..='9' | '#' | '*') if character == '\u{fe0f}' => false,
        Some(before) => before.is_ascii(),
        None => character < '\u{fe00}' && rest.chars().nth(1).is_some_and(|next| next.is_ascii()),
    }
}

/// Returns the sign of the block Control Pictures, which lists C0 in its own order.
fn picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn is_unsafe(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        _ if character.is_control() => true,
        // Soft hyphen, Arabic letter mark, Hangul fillers, Mongolian vowel separator.
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{180e}' => {
            true
        }
        // Grapheme joiner, Khmer inherent vowels, controls of shorthand and of musical notation.
        '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{1bca0}'..='\u{1bca3}' => true,
        '\u{1d173}'..='\u{1d17a}' => true,
        // Zero-width space, direction marks, line and paragraph separators, embeddings, overrides.
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        // Word joiner, invisible operators, isolates, deprecated format characters.
        '\u{2060}'..='\u{206f}' => true,
        // Byte order mark, what is ignored where it is unknown, interlinear annotations.
        '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        // Tags and the variation selectors with which text can be smuggled.
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_person_sees_passes() {
        let cases = [
            ("plain\n\ttext", "plain\n\ttext"),
            ("汉字 é 👨‍👩‍👧 ❤️", "汉字 é 👨‍👩‍👧 ❤️"),
            ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
            ("50%\r100%\r\n", "50%␍100%␍\n"),
            ("\x1b]0;title\x07\0\x7f", "␛]0;title␇␀␡"),
            ("\u{9b}31m", "⟨U+009B⟩31m"),
            ("a\u{202e}b\u{2066}c", "a⟨U+202E⟩b⟨U+2066⟩c"),
            ("x\u{e0041}\u{200b}\u{feff}", "x⟨U+E0041⟩⟨U+200B⟩⟨U+FEFF⟩"),
            ("x\u{34f}\u{17b4}\u{1d173}", "x⟨U+034F⟩⟨U+17B4⟩⟨U+1D173⟩"),
            ("1️⃣ می‌خواهم", "1️⃣ می‌خواهم"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected);
            let pieces: String =
                text.chars().map(|c| visible(&c.to_string()).into_owned()).collect();
            assert_eq!(pieces, expected, "in pieces");
        }
    }

    #[test]
    fn what_joins_nothing_is_shown() {
        assert_eq!(visible("/etc/ho\u{200d}sts"), "/etc/ho⟨U+200D⟩sts");
        assert_eq!(visible("\u{200d}/etc/hosts\u{200c}"), "⟨U+200D⟩/etc/hosts⟨U+200C⟩");
        assert_eq!(visible("sudo\u{fe0f} a/\u{fe01}b"), "sudo⟨U+FE0F⟩ a/⟨U+FE01⟩b");
        assert_eq!(visible("👨\u{200d}"), "👨\u{200d}");
        assert_eq!(visible("\u{fe0f} love"), "\u{fe0f} love", "of the heart before");
    }

    #[test]
    fn a_secret_never_prints() {
        let key = Secret::new("sk-very-secret");
        assert_eq!(format!("{key} {key:?} {:?}", Some(&key)), "*** *** Some(***)");
        assert_eq!(key.hidden_in("bad key sk-very-secret!"), "bad key ***!");
        assert_eq!(Secret::new("a").hidden_in("banana"), "banana");
    }
}
