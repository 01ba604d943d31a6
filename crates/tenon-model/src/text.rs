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
/// characters as their pictures (`␛`), what reorders, hides or shows nothing (bidirectional controls,
/// zero-width characters, tags, fillers) as `⟨U+202E⟩`.
///
/// The joiners and variants that emoji and some scripts need (U+200C, U+200D, U+FE00 to U+FE0F, and
/// behind Mongolian letters U+180B to U+180D and U+180F) pass, one of each behind a character. They do
/// not pass behind an ASCII character, where they only make one name look like another; a keycap's
/// (`1️⃣`) does. Signs that are drawn as one with what follows (Arabic number signs and the like) pass
/// in front of a letter or digit that is not ASCII, and at the end. All else is judged alone, so pieces
/// of a stream give the same as the whole but for several of these in a row.
pub fn visible(text: &str) -> Cow<'_, str> {
    let Some((first, ..)) = judged(text).find(|(.., is_unsafe)| *is_unsafe) else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(text.split_at(first).0);
    for (_, character, is_unsafe) in judged(text).skip_while(|(at, ..)| *at < first) {
        match character {
            _ if !is_unsafe => shown.push(character),
            '\0'..='\u{1f}' => shown.push(picture(character)),
            '\u{7f}' => shown.push('␡'),
            _ => shown.push_str(&code_point(character)),
        }
    }
    Cow::Owned(shown)
}

/// Returns `text` without what [`visible`] would make visible: what another program takes from a
/// person's clipboard is then what the person saw.
///
/// ```
/// assert_eq!(tenon_model::printable("ls\u{1b}[201~\r\n\tend\u{200b}"), "ls[201~\n\tend");
/// ```
pub fn printable(text: &str) -> String {
    let seen = judged(text).filter(|(.., is_unsafe)| !is_unsafe);
    seen.map(|(_, character, _)| character).collect()
}

/// Returns `text` made [`visible`], with each blank but space, tab and line feed written out, too: to a
/// shell it is none, and what looks like words apart is one.
///
/// ```
/// assert_eq!(tenon_model::written_out("a\u{a0}# b\tc"), "a⟨U+00A0⟩# b\tc");
/// ```
pub fn written_out(text: &str) -> Cow<'_, str> {
    let is_written =
        |character: char| is_blank(character) && !matches!(character, ' ' | '\t' | '\n');
    let shown = visible(text);
    if !shown.contains(is_written) {
        return shown;
    }
    let mut written = String::with_capacity(shown.len() + 16);
    for character in shown.chars() {
        match is_written(character) {
            true => written.push_str(&code_point(character)),
            false => written.push(character),
        }
    }
    Cow::Owned(written)
}

/// Returns whether `character` takes room on a screen and shows nothing: white space, and the empty
/// pattern of braille, which is none by name.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{2800}'
}

/// Returns each character of `text` with its place and whether it must not be shown as it is.
fn judged(text: &str) -> impl Iterator<Item = (usize, char, bool)> {
    let mut sight = Sight::default();
    text.char_indices().map(move |(at, character)| {
        let next = || text.get(at..).and_then(|rest| rest.chars().nth(1));
        (at, character, sight.is_unsafe(character, next))
    })
}

/// What stands in front of a character, as far as that decides whether it may be shown.
#[derive(Default)]
struct Sight {
    /// The last that is no joiner and no variant. None at the beginning: it may be in an earlier piece
    /// of a stream.
    base: Option<char>,
    /// What followed it.
    follower: Option<Follower>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Follower {
    Variant,
    Joiner,
}

impl Sight {
    fn is_unsafe(&mut self, character: char, next: impl FnOnce() -> Option<char>) -> bool {
        let (follower, is_in_place) = match character {
            '\u{fe00}'..='\u{fe0f}' => (Follower::Variant, self.takes_variant(character)),
            '\u{180b}'..='\u{180d}' | '\u{180f}' => {
                (Follower::Variant, self.takes_mongolian_variant())
            }
            '\u{200c}' | '\u{200d}' => (Follower::Joiner, self.takes_joiner(character, next)),
            _ => {
                let hides =
                    |next: char| next.is_ascii() || !next.is_alphanumeric() || is_prepended(next);
                let is_unsafe =
                    is_unsafe(character) || is_prepended(character) && next().is_some_and(hides);
                // What stands there instead ends in a sign that nothing joins.
                *self =
                    Self { base: Some(if is_unsafe { '?' } else { character }), follower: None };
                return is_unsafe;
            }
        };
        if is_in_place {
            self.follower = Some(follower);
        }
        !is_in_place
    }

    fn takes_variant(&self, variant: char) -> bool {
        let is_taken = match self.base {
            Some('0'..='9' | '#' | '*') => variant == '\u{fe0f}',
            Some(base) => !base.is_ascii() && !is_blank(base),
            None => true,
        };
        is_taken && self.follower.is_none()
    }

    fn takes_mongolian_variant(&self) -> bool {
        self.base.is_none_or(|base| matches!(base, '\u{1800}'..='\u{18af}'))
            && self.follower.is_none()
    }

    /// An emoji that is asked to look like one is joined behind that.
    fn takes_joiner(&self, joiner: char, next: impl FnOnce() -> Option<char>) -> bool {
        let is_taken = match self.base {
            Some(base) => !base.is_ascii() && !is_blank(base),
            None => !next().is_some_and(|next| next.is_ascii()),
        };
        is_taken
            && match self.follower {
                None => true,
                Some(Follower::Variant) => joiner == '\u{200d}',
                Some(Follower::Joiner) => false,
            }
    }
}

fn code_point(character: char) -> String {
    format!("⟨U+{:04X}⟩", u32::from(character))
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
        // Grapheme joiner, Khmer inherent vowels, controls of shorthand, of musical notation and of
        // hieroglyphs.
        '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{1bca0}'..='\u{1bca3}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{13430}'..='\u{13442}' => true,
        // A note head and a letter of Khitan that show nothing.
        '\u{1d159}' | '\u{16fe4}' => true,
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

/// Returns whether a terminal may put `character` and the one behind it into one cell
/// (GraphemeBreakProperty.txt, Prepend).
fn is_prepended(character: char) -> bool {
    matches!(
        character,
        '\u{600}'..='\u{605}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{d4e}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{111c2}'..='\u{111c3}'
            | '\u{113d1}'
            | '\u{1193f}'
            | '\u{11941}'
            | '\u{11a84}'..='\u{11a89}'
            | '\u{11d46}'
            | '\u{11f02}'
    )
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
    fn a_blank_that_is_none_to_a_shell_is_written_out_where_that_is_asked_for() {
        let blanks = (0..=u32::from(char::MAX)).filter_map(char::from_u32).filter(|c| is_blank(*c));
        let others: Vec<char> = blanks.filter(|c| !matches!(c, ' ' | '\t' | '\n')).collect();
        assert!(
            ['\r', '\u{a0}', '\u{2003}', '\u{3000}', '\u{2800}'].iter().all(|c| others.contains(c))
        );
        for blank in others {
            let text = format!("dev{blank}# x");
            let written = written_out(&text);
            assert!(!written.contains(blank) && written != "dev# x", "{text:?}: {written}");
        }
        assert_eq!(
            written_out("a\u{3000}b\u{2800}\n\tc \r\u{200b}"),
            "a⟨U+3000⟩b⟨U+2800⟩\n\tc ␍⟨U+200B⟩"
        );
        assert_eq!(visible("\u{3000}段落"), "\u{3000}段落");
        assert_eq!(written_out("\tls -l\n"), "\tls -l\n");
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
    fn of_joiners_and_variants_one_passes_behind_a_character_and_no_chain() {
        let cases = [
            ("😀\u{fe00}\u{fe01}\u{fe0f}x", "😀\u{fe00}⟨U+FE01⟩⟨U+FE0F⟩x"),
            ("汉\u{200c}\u{200d}\u{200c}字", "汉\u{200c}⟨U+200D⟩⟨U+200C⟩字"),
            ("é\u{fe0f}\u{200d}\u{fe0f}", "é\u{fe0f}\u{200d}⟨U+FE0F⟩"),
            ("1\u{fe0f}\u{200d}x", "1\u{fe0f}⟨U+200D⟩x"),
            ("\u{200b}\u{200d}\u{fe0f}", "⟨U+200B⟩⟨U+200D⟩⟨U+FE0F⟩"),
            ("\u{3000}\u{fe0f}\u{2800}\u{200d}", "\u{3000}⟨U+FE0F⟩\u{2800}⟨U+200D⟩"),
            ("a\u{180b}\u{180c}\u{180d}\u{180f}", "a⟨U+180B⟩⟨U+180C⟩⟨U+180D⟩⟨U+180F⟩"),
            ("x\u{1d159}\u{16fe4}\u{13430}\u{13441}", "x⟨U+1D159⟩⟨U+16FE4⟩⟨U+13430⟩⟨U+13441⟩"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn what_is_drawn_as_one_with_the_sign_behind_it_passes_only_where_it_is_written() {
        let cases = [
            ("see \u{70f}$(id)", "see ⟨U+070F⟩$(id)"),
            ("\u{600}\u{110bd}\u{d4e}; id", "⟨U+0600⟩⟨U+110BD⟩⟨U+0D4E⟩; id"),
            ("\u{600}١٢٣ \u{d4e}ക", "\u{600}١٢٣ \u{d4e}ക"),
            ("آية \u{6dd}", "آية \u{6dd}"),
            ("\u{70f}…\u{6dd}\u{200b}", "⟨U+070F⟩…⟨U+06DD⟩⟨U+200B⟩"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn scripts_and_emoji_that_need_joiners_and_variants_stay_as_they_are() {
        for text in [
            "می‌خواهم خانه‌ها نمی‌دانم",
            "क्‍ष र्‍य श्री‌राम",
            "ക്‍ രാജ്‍ ශ්‍රී",
            "👨‍👩‍👧‍👦 👩🏽‍🚀 👩‍❤️‍💋‍👨 🏳️‍🌈 🏴‍☠️ 🧔🏻‍♂️",
            "1️⃣ #️⃣ ✔︎ ✔️ ☂️",
            "ᠠ᠋ᠨ᠋",
            "葛\u{fe00}",
        ] {
            assert_eq!(visible(text), text);
            let pieces: String =
                text.chars().map(|c| visible(&c.to_string()).into_owned()).collect();
            assert_eq!(pieces, text, "in pieces");
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn no_code_point_that_is_ignored_by_default_passes_behind_a_letter() {
        // DerivedCoreProperties.txt, Default_Ignorable_Code_Point.
        let ranges = [
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x115f..=0x1160,
            0x17b4..=0x17b5,
            0x180b..=0x180f,
            0x200b..=0x200f,
            0x202a..=0x202e,
            0x2060..=0x206f,
            0x3164..=0x3164,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff0..=0xfff8,
            0x1bca0..=0x1bca3,
            0x1d173..=0x1d17a,
            0xe0000..=0xe0fff,
        ];
        for ignored in ranges.into_iter().flatten().filter_map(char::from_u32) {
            let text = format!("a{ignored}b");
            assert_eq!(visible(&text), format!("a⟨U+{:04X}⟩b", u32::from(ignored)));
            assert_eq!(printable(&text), "ab");
        }
    }

    #[test]
    fn a_secret_never_prints() {
        let key = Secret::new("sk-very-secret");
        assert_eq!(format!("{key} {key:?} {:?}", Some(&key)), "*** *** Some(***)");
        assert_eq!(key.hidden_in("bad key sk-very-secret!"), "bad key ***!");
        assert_eq!(Secret::new("a").hidden_in("banana"), "banana");
    }
}
