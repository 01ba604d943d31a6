//! What a terminal sends, as keys and pastes: xterm's sequences, the kitty keyboard protocol's,
//! bracketed paste, and what a terminal tells of itself. Pure. What is not known is passed over.

/// The longest sequence that is waited for; real ones have a dozen bytes.
const SEQUENCE_BYTES_MAX: usize = 4_096;
/// The most of a paste that is taken: more than the largest model takes in.
const PASTE_BYTES_MAX: usize = 8 << 20;
const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
const ESC: u8 = 0x1b;

/// What came from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Key(KeyEvent),
    /// A pasted block, of which nothing is a key.
    Paste(String),
    /// The background's red, green and blue: an answer.
    Background([u8; 3]),
    /// What the terminal can do: an answer, which every terminal gives.
    Attributes,
    /// Whether the window has the focus.
    Focus(bool),
    /// There is no terminal any more.
    Gone,
}

/// A key that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyEvent {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

/// Which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyCode {
    Char(char),
    Enter,
    Tab,
    Esc,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    /// A key that means nothing here.
    Other,
}

/// What was held with it, in the bits of xterm's parameter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KeyModifiers(u8);

/// Bytes that come in pieces.
#[derive(Debug, Default)]
pub(super) struct Parser {
    buffer: Vec<u8>,
    paste: Option<Vec<u8>>,
}

/// What the buffer begins with.
enum Parsed {
    /// An event, or nothing of interest, of so many bytes.
    Whole(Option<Event>, usize),
    /// More has to come.
    Part,
}

impl KeyModifiers {
    pub(crate) const SHIFT: Self = Self(1);
    pub(crate) const ALT: Self = Self(2);
    pub(crate) const CONTROL: Self = Self(4);

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl KeyEvent {
    pub(crate) fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        Self { code, modifiers }
    }
}

impl From<KeyCode> for KeyEvent {
    fn from(code: KeyCode) -> Self {
        Self::new(code, KeyModifiers::default())
    }
}

impl Parser {
    /// Takes in bytes and returns what is whole.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        let mut start = 0;
        loop {
            if self.paste.is_some() {
                let Some((event, used)) = self.go_on_with_paste(start) else { break };
                events.push(event);
                start += used;
            }
            let rest = self.buffer.get(start..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            if rest.starts_with(PASTE_BEGIN) {
                self.paste = Some(Vec::new());
                start += PASTE_BEGIN.len();
                continue;
            }
            match parse(rest) {
                Parsed::Whole(event, used) => {
                    events.extend(event);
                    start += used;
                }
                Parsed::Part if rest.len() > SEQUENCE_BYTES_MAX => start += rest.len(),
                Parsed::Part => break,
            }
        }
        if self.paste.is_none() {
            self.buffer.drain(..start.min(self.buffer.len()));
        }
        events
    }

    /// Returns whether a sequence has begun that may be a key of its own.
    pub(super) fn is_waiting(&self) -> bool {
        self.paste.is_none() && !self.buffer.is_empty()
    }

    /// Takes in that nothing more came: Esc was a key.
    pub(super) fn give_up(&mut self) -> Vec<Event> {
        let begun = std::mem::take(&mut self.buffer);
        match begun.as_slice() {
            [ESC] => vec![Event::Key(KeyCode::Esc.into())],
            [ESC, key @ (b'[' | b'O' | b']' | b'P')] => {
                let code = KeyCode::Char(char::from(*key));
                vec![Event::Key(KeyEvent::new(code, KeyModifiers::ALT))]
            }
            _ => Vec::new(),
        }
    }

    /// Moves what belongs to the paste out of the buffer, from `start` on; returns it whole with
    /// the bytes used if its end is there.
    fn go_on_with_paste(&mut self, start: usize) -> Option<(Event, usize)> {
        let paste = self.paste.as_mut()?;
        let rest = self.buffer.get(start..).unwrap_or_default();
        let end = rest.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        // Without an end, its beginning may be what came last.
        let kept = end.unwrap_or_else(|| rest.len().saturating_sub(PASTE_END.len() - 1));
        let room = PASTE_BYTES_MAX.saturating_sub(paste.len());
        paste.extend_from_slice(rest.get(..kept.min(room)).unwrap_or_default());
        if end.is_none() {
            self.buffer.drain(..start + kept);
            return None;
        }
        let text = String::from_utf8_lossy(&self.paste.take()?).into_owned();
        Some((Event::Paste(text), kept + PASTE_END.len()))
    }
}

fn parse(bytes: &[u8]) -> Parsed {
    match bytes {
        [] => Parsed::Part,
        [ESC, rest @ ..] => parse_escape(rest),
        [byte, ..] if *byte < 0x20 || *byte == 0x7f => {
            Parsed::Whole(Some(Event::Key(control(*byte))), 1)
        }
        _ => match character(bytes) {
            Some(Ok((character, used))) => {
                Parsed::Whole(Some(Event::Key(KeyCode::Char(character).into())), used)
            }
            Some(Err(())) => Parsed::Whole(None, 1),
            None => Parsed::Part,
        },
    }
}

/// Parses what follows Esc.
fn parse_escape(rest: &[u8]) -> Parsed {
    match rest {
        [] => Parsed::Part,
        [b'[', rest @ ..] => parse_csi(rest),
        [b'O'] => Parsed::Part,
        [b'O', letter, ..] => {
            let code = if *letter == b'M' { KeyCode::Enter } else { by_letter(*letter) };
            Parsed::Whole(Some(Event::Key(code.into())), 3)
        }
        // A string of the terminal's: an answer.
        [b']' | b'P' | b'_' | b'^', text @ ..] => {
            let bell = text.iter().position(|byte| *byte == 7).map(|place| place + 1);
            let end = text.windows(2).position(|pair| pair == b"\x1b\\").map(|place| place + 2);
            match [bell, end].into_iter().flatten().min() {
                Some(used) => {
                    Parsed::Whole(background(rest.get(..used).unwrap_or_default()), 2 + used)
                }
                None => Parsed::Part,
            }
        }
        [ESC, ..] => Parsed::Whole(Some(Event::Key(KeyCode::Esc.into())), 1),
        rest => match parse(rest) {
            Parsed::Whole(Some(Event::Key(key)), used) => {
                let modifiers = key.modifiers.and(KeyModifiers::ALT);
                Parsed::Whole(Some(Event::Key(KeyEvent { modifiers, ..key })), 1 + used)
            }
            Parsed::Whole(event, used) => Parsed::Whole(event, 1 + used),
            Parsed::Part => Parsed::Part,
        },
    }
}

/// Parses a control sequence (ECMA-48, 5.4) behind `ESC [`.
fn parse_csi(rest: &[u8]) -> Parsed {
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return Parsed::Part;
    };
    let used = 2 + end + 1;
    let parameters = String::from_utf8_lossy(rest.get(..end).unwrap_or_default());
    let last = rest.get(end).copied().unwrap_or_default();
    if parameters.starts_with(['?', '>', '<', '=']) {
        let is_answer = last == b'c' && parameters.starts_with('?');
        return Parsed::Whole(is_answer.then_some(Event::Attributes), used);
    }
    let number = |place: usize, part: usize| -> Option<u32> {
        parameters.split(';').nth(place)?.split(':').nth(part)?.parse().ok()
    };
    // Of the kinds of event that the kitty protocol tells, 3 is a key that was let go.
    if number(1, 1) == Some(3) {
        return Parsed::Whole(None, used);
    }
    let held = number(1, 0).unwrap_or(1).saturating_sub(1) & 7;
    let modifiers = KeyModifiers(u8::try_from(held).unwrap_or(0));
    let code = match last {
        b'u' => by_number(number(0, 0).unwrap_or(0)),
        b'~' if number(0, 0) == Some(27) => by_number(number(2, 0).unwrap_or(0)),
        b'~' => match number(0, 0) {
            Some(1 | 7) => KeyCode::Home,
            Some(4 | 8) => KeyCode::End,
            Some(3) => KeyCode::Delete,
            Some(5) => KeyCode::PageUp,
            Some(6) => KeyCode::PageDown,
            _ => KeyCode::Other,
        },
        b'Z' => KeyCode::Tab,
        b'I' => return Parsed::Whole(Some(Event::Focus(true)), used),
        b'O' => return Parsed::Whole(Some(Event::Focus(false)), used),
        letter => by_letter(letter),
    };
    let modifiers = if last == b'Z' { modifiers.and(KeyModifiers::SHIFT) } else { modifiers };
    Parsed::Whole(Some(Event::Key(KeyEvent { code, modifiers })), used)
}

/// Reads the answer to OSC 11, `]11;rgb:RRRR/GGGG/BBBB` with one to four digits a part (XParseColor).
fn background(answer: &[u8]) -> Option<Event> {
    let text = std::str::from_utf8(answer).ok()?;
    let colour = text.strip_prefix("]11;")?.trim_end_matches(['\u{7}', '\u{1b}', '\\']);
    let parts = colour.strip_prefix("rgb:").or_else(|| colour.strip_prefix("rgba:"))?;
    let mut parts = parts.split('/').map(|part| {
        let digits = u32::try_from(part.len()).ok().filter(|digits| (1..=4).contains(digits))?;
        let is_number = part.bytes().all(|digit| digit.is_ascii_hexdigit());
        let value = u32::from_str_radix(part, 16).ok().filter(|_| is_number)?;
        u8::try_from(value * 255 / (16_u32.pow(digits) - 1)).ok()
    });
    Some(Event::Background([parts.next()??, parts.next()??, parts.next()??]))
}

fn by_letter(letter: u8) -> KeyCode {
    match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        _ => KeyCode::Other,
    }
}

/// Returns a key by the number of its character; 57,344 and on are the kitty protocol's own.
fn by_number(number: u32) -> KeyCode {
    match number {
        9 => KeyCode::Tab,
        13 | 57_414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        8 | 127 => KeyCode::Backspace,
        57_344..=63_743 => KeyCode::Other,
        _ => match char::from_u32(number).filter(|character| !character.is_control()) {
            Some(character) => KeyCode::Char(character),
            None => KeyCode::Other,
        },
    }
}

fn control(byte: u8) -> KeyEvent {
    let code = match byte {
        b'\r' => KeyCode::Enter,
        b'\t' => KeyCode::Tab,
        0x7f => KeyCode::Backspace,
        0 => return KeyEvent::new(KeyCode::Char(' '), KeyModifiers::CONTROL),
        1..=26 => {
            let letter = char::from(b'a' + byte - 1);
            return KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        }
        _ => KeyCode::Other,
    };
    code.into()
}

/// Returns the character that `bytes` begins with, an error if it is none, nothing if it is not
/// whole yet.
fn character(bytes: &[u8]) -> Option<Result<(char, usize), ()>> {
    let near = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let text = match std::str::from_utf8(near) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(near.get(..error.valid_up_to())?).ok()?
        }
        Err(error) if error.error_len().is_none() => return None,
        Err(_) => return Some(Err(())),
    };
    text.chars().next().map(|character| Ok((character, character.len_utf8())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(code: KeyCode, modifiers: &[KeyModifiers]) -> Event {
        let modifiers = modifiers.iter().fold(KeyModifiers::default(), |all, one| all.and(*one));
        Event::Key(KeyEvent { code, modifiers })
    }

    #[test]
    fn keys_of_all_kinds_of_terminals() {
        let (shift, alt, control) = (KeyModifiers::SHIFT, KeyModifiers::ALT, KeyModifiers::CONTROL);
        let letter = KeyCode::Char;
        let cases: [(&str, Event); 26] = [
            ("a", key(letter('a'), &[])),
            ("中", key(letter('中'), &[])),
            ("👍", key(letter('👍'), &[])),
            ("\r", key(KeyCode::Enter, &[])),
            ("\n", key(letter('j'), &[control])),
            ("\x03", key(letter('c'), &[control])),
            ("\x7f", key(KeyCode::Backspace, &[])),
            ("\x1b\r", key(KeyCode::Enter, &[alt])),
            ("\x1b\x7f", key(KeyCode::Backspace, &[alt])),
            ("\x1bb", key(letter('b'), &[alt])),
            ("\x1b[A", key(KeyCode::Up, &[])),
            ("\x1bOA", key(KeyCode::Up, &[])),
            ("\x1bOM", key(KeyCode::Enter, &[])),
            ("\x1b[1;5C", key(KeyCode::Right, &[control])),
            ("\x1b[1;3D", key(KeyCode::Left, &[alt])),
            ("\x1b[3~", key(KeyCode::Delete, &[])),
            ("\x1b[3;5~", key(KeyCode::Delete, &[control])),
            ("\x1b[7~", key(KeyCode::Home, &[])),
            ("\x1b[Z", key(KeyCode::Tab, &[shift])),
            ("\x1b[13;2u", key(KeyCode::Enter, &[shift])),
            ("\x1b[27;2;13~", key(KeyCode::Enter, &[shift])),
            ("\x1b[27u", key(KeyCode::Esc, &[])),
            ("\x1b[99;5u", key(letter('c'), &[control])),
            ("\x1b[97:65;2:1u", key(letter('a'), &[shift])),
            ("\x1b[57414u", key(KeyCode::Enter, &[])),
            ("\x1b[200~a\r\x1b[A中\x1b[201~", Event::Paste("a\r\x1b[A中".into())),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Parser::default().push(bytes.as_bytes()), [expected], "{bytes:?}");
        }
    }

    #[test]
    fn answers_and_what_is_let_go_are_no_keys() {
        let bytes = b"\x1b[?1u\x1b]10;rgb:00/00/00\x07\x1bP1$r\x1b\\\x1b[97;1:3u\x1b[>0c\xff\x80x";
        assert_eq!(Parser::default().push(bytes), [key(KeyCode::Char('x'), &[])]);
    }

    #[test]
    fn a_terminal_tells_its_background_that_it_is_there_and_its_focus() {
        let cases: [(&str, Option<Event>); 9] = [
            ("\x1b]11;rgb:ffff/8080/0000\x07", Some(Event::Background([255, 128, 0]))),
            ("\x1b]11;rgb:1e/1e/2e\x1b\\", Some(Event::Background([30, 30, 46]))),
            ("\x1b]11;rgba:f/0/f/f\x1b\\", Some(Event::Background([255, 0, 255]))),
            ("\x1b]11;rgb:fffff/0/0\x07", None),
            ("\x1b]11;rgb:+f/0/0\x07", None),
            ("\x1b]11;?\x07", None),
            ("\x1b[?62;4c", Some(Event::Attributes)),
            ("\x1b[I", Some(Event::Focus(true))),
            ("\x1b[O", Some(Event::Focus(false))),
        ];
        for (bytes, expected) in cases {
            let found = Parser::default().push(bytes.as_bytes());
            assert_eq!(found, Vec::from_iter(expected), "{bytes:?}");
        }
    }

    #[test]
    fn esc_is_a_key_once_nothing_follows_and_a_torn_sequence_is_put_together() {
        let mut parser = Parser::default();
        assert!(parser.push(b"\x1b").is_empty() && parser.is_waiting());
        assert_eq!(parser.give_up(), [key(KeyCode::Esc, &[])]);
        assert!(parser.push(b"\x1b[1").is_empty());
        assert_eq!(parser.push(b";5C"), [key(KeyCode::Right, &[KeyModifiers::CONTROL])]);
        assert!(!parser.is_waiting());
        assert!(parser.push(b"\x1b[200~half").is_empty() && !parser.is_waiting());
    }

    proptest! {
        #[test]
        fn pieces_give_the_same_as_the_whole(
            text in r"(a|中|\x1b\[A|\x1b\[200~|\x1b\[201~|\x1b|\[|\r|;|5|~|👍){0,40}",
            cut in 0_usize..80,
        ) {
            let bytes = text.as_bytes();
            let (one, other) = bytes.split_at(cut.min(bytes.len()));
            let mut whole = Parser::default();
            let mut parts = Parser::default();
            let expected = whole.push(bytes);
            let mut found = parts.push(one);
            found.extend(parts.push(other));
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn no_bytes_make_it_wait_for_ever(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut parser = Parser::default();
            parser.push(&bytes);
            if parser.is_waiting() {
                parser.give_up();
                prop_assert!(!parser.is_waiting());
            }
        }
    }
}
