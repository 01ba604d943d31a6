//! Turns what programs print into text that a model and a person can read.
//!
//! Invalid UTF-8 shows as `\xNN`, NUL and other control characters as their pictures (`␀`), of a
//! progress line that is redrawn with carriage returns the last state stays, terminal escape
//! sequences go. It is a state machine over bytes, so it does not matter where the input is cut.
//! A line is held until it ends, because what comes may redraw it.

use std::fmt::Write;

/// A longer line is given out in parts, and its given-out parts can no longer be redrawn. Holds
/// the longest lines that people read many times over, and bounds memory.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// A control string (window title, hyperlink, image) without an end is given up after so many
/// bytes, so that one stray byte cannot swallow all that follows.
const STRING_BYTES_MAX: usize = 4 * 1024;

/// The same for a control sequence (colour, cursor); real ones have a few dozen bytes.
const SEQUENCE_BYTES_MAX: usize = 128;

/// Cleans one stream.
#[derive(Debug, Default)]
pub struct Cleaner {
    state: State,
    line: String,
    /// A carriage return came: the next visible character begins the line anew.
    returned: bool,
    /// Bytes of a character that is not complete yet.
    partial: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte: one more byte.
    EscapeEnd,
    /// In a control sequence: how many bytes so far, and what its parameters mean to us.
    Sequence { length: usize, parameter: Parameter },
    /// In a control string.
    ControlString { length: usize, ends_at_newline: bool, escaped: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    None,
    One,
    Two,
    Other,
}

/// Cleans a whole text at once.
#[must_use]
pub fn clean_bytes(bytes: &[u8]) -> String {
    let mut cleaner = Cleaner::default();
    let mut text = String::with_capacity(bytes.len());
    cleaner.push(bytes, &mut |part| text.push_str(part));
    cleaner.finish(&mut |part| text.push_str(part));
    text
}

impl Cleaner {
    /// Takes the next bytes and gives out what became certain: whole lines, and parts of very long
    /// ones. The text given out depends on the bytes alone and not on how they were cut; how many
    /// lines a part has does.
    pub fn push(&mut self, bytes: &[u8], emit: &mut dyn FnMut(&str)) {
        let mut rest = bytes;
        while let Some((&first, after)) = rest.split_first() {
            let lines = if self.is_at_line_start() { plain_lines(rest) } else { "" };
            if !lines.is_empty() {
                emit(lines);
                rest = rest.get(lines.len()..).unwrap_or_default();
            } else if self.state == State::Text && self.partial.is_empty() && is_plain(first) {
                let length = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
                let (plain, after) = rest.split_at(length);
                self.plain(plain, emit);
                rest = after;
            } else {
                self.byte(first, emit);
                rest = after;
            }
        }
    }

    fn is_at_line_start(&self) -> bool {
        let is_empty = self.line.is_empty() && self.partial.is_empty();
        self.state == State::Text && is_empty && !self.returned
    }

    /// Ends the stream and gives out what is left.
    pub fn finish(&mut self, emit: &mut dyn FnMut(&str)) {
        self.give_up_partial(emit);
        self.returned = false;
        self.give_out(emit);
        self.state = State::Text;
    }

    /// Printable ASCII, the common case.
    fn plain(&mut self, bytes: &[u8], emit: &mut dyn FnMut(&str)) {
        let mut text = std::str::from_utf8(bytes).unwrap_or_default();
        self.begin_anew();
        while !text.is_empty() {
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len()).max(1);
            let (now, later) = text.split_at_checked(room).unwrap_or((text, ""));
            self.line.push_str(now);
            text = later;
            self.give_out_if_long(emit);
        }
    }

    fn byte(&mut self, byte: u8, emit: &mut dyn FnMut(&str)) {
        match self.state {
            State::Text => self.text_byte(byte, emit),
            State::Escape => self.escape_byte(byte, emit),
            State::EscapeEnd => {
                self.state = State::Text;
                if !(b' '..=b'~').contains(&byte) {
                    self.text_byte(byte, emit);
                }
            }
            State::Sequence { length, parameter } => {
                self.sequence_byte(byte, length, parameter, emit);
            }
            State::ControlString { length, ends_at_newline, escaped } => {
                self.string_byte(byte, length, ends_at_newline, escaped, emit);
            }
        }
    }

    fn text_byte(&mut self, byte: u8, emit: &mut dyn FnMut(&str)) {
        if byte >= 0x80 {
            self.wide_byte(byte, emit);
            return;
        }
        self.give_up_partial(emit);
        match byte {
            b'\n' => {
                self.returned = false;
                self.line.push('\n');
                self.give_out(emit);
            }
            b'\r' => self.returned = true,
            0x1b => self.state = State::Escape,
            // The bell is a sound; what is struck over was not meant to be seen.
            0x07 => {}
            0x08 => {
                if !self.returned {
                    self.line.pop();
                }
            }
            b'\t' | b' '..=b'~' => self.character(char::from(byte), emit),
            0x7f => self.character('\u{2421}', emit),
            control => {
                let picture = char::from_u32(0x2400 + u32::from(control)).unwrap_or('\u{fffd}');
                self.character(picture, emit);
            }
        }
    }

    /// A byte of a character outside ASCII, or of none.
    fn wide_byte(&mut self, byte: u8, emit: &mut dyn FnMut(&str)) {
        self.partial.push(byte);
        match std::str::from_utf8(&self.partial) {
            Ok(text) => {
                let character = text.chars().next().unwrap_or('\u{fffd}');
                self.partial.clear();
                if ('\u{80}'..='\u{9f}').contains(&character) {
                    self.escaped(u8::try_from(u32::from(character)).unwrap_or(0x80), emit);
                } else {
                    self.character(character, emit);
                }
            }
            // More bytes may complete it.
            Err(error) if error.error_len().is_none() => {}
            // Not even with this byte: what came before is nothing, and this byte begins anew.
            Err(_) => {
                self.partial.pop();
                if self.partial.is_empty() {
                    self.escaped(byte, emit);
                } else {
                    self.give_up_partial(emit);
                    self.wide_byte(byte, emit);
                }
            }
        }
    }

    fn escape_byte(&mut self, byte: u8, emit: &mut dyn FnMut(&str)) {
        let string =
            |ends_at_newline| State::ControlString { length: 0, ends_at_newline, escaped: false };
        self.state = match byte {
            b'[' => State::Sequence { length: 0, parameter: Parameter::None },
            b']' => string(true),
            b'P' | b'X' | b'^' | b'_' => string(false),
            b' '..=b'/' => State::EscapeEnd,
            0x1b => State::Escape,
            _ => State::Text,
        };
        if self.state == State::Text && !(b'0'..=b'~').contains(&byte) {
            self.text_byte(byte, emit);
        }
    }

    fn sequence_byte(
        &mut self,
        byte: u8,
        length: usize,
        parameter: Parameter,
        emit: &mut dyn FnMut(&str),
    ) {
        self.state = State::Text;
        match byte {
            b' '..=b'?' if length < SEQUENCE_BYTES_MAX => {
                let parameter = match (byte, length) {
                    (b'1', 0) => Parameter::One,
                    (b'2', 0) => Parameter::Two,
                    _ => Parameter::Other,
                };
                self.state = State::Sequence { length: length + 1, parameter };
            }
            // To the first column, as a carriage return.
            b'G' if matches!(parameter, Parameter::None | Parameter::One) => self.returned = true,
            // The whole line away.
            b'K' if parameter == Parameter::Two => self.line.clear(),
            b'@'..=b'~' => {}
            0x1b => self.state = State::Escape,
            _ => self.text_byte(byte, emit),
        }
    }

    fn string_byte(
        &mut self,
        byte: u8,
        length: usize,
        ends_at_newline: bool,
        escaped: bool,
        emit: &mut dyn FnMut(&str),
    ) {
        self.state = State::Text;
        match byte {
            _ if escaped && byte == b'\\' => {}
            _ if escaped => self.escape_byte(byte, emit),
            // Bell, cancel, substitute: the ends there are, with ESC \.
            0x07 | 0x18 | 0x1a => {}
            b'\n' if ends_at_newline => self.text_byte(byte, emit),
            _ if length >= STRING_BYTES_MAX => self.text_byte(byte, emit),
            _ => {
                let escaped = byte == 0x1b;
                self.state = State::ControlString { length: length + 1, ends_at_newline, escaped };
            }
        }
    }

    fn character(&mut self, character: char, emit: &mut dyn FnMut(&str)) {
        self.begin_anew();
        if self.line.len() + character.len_utf8() > LINE_BYTES_MAX {
            self.give_out(emit);
        }
        self.line.push(character);
        self.give_out_if_long(emit);
    }

    fn escaped(&mut self, byte: u8, emit: &mut dyn FnMut(&str)) {
        self.begin_anew();
        if self.line.len() + 4 > LINE_BYTES_MAX {
            self.give_out(emit);
        }
        // Writing to a String cannot fail.
        let _ = write!(self.line, "\\x{byte:02X}");
        self.give_out_if_long(emit);
    }

    fn give_up_partial(&mut self, emit: &mut dyn FnMut(&str)) {
        for byte in std::mem::take(&mut self.partial) {
            self.escaped(byte, emit);
        }
    }

    fn begin_anew(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.line.clear();
        }
    }

    fn give_out_if_long(&mut self, emit: &mut dyn FnMut(&str)) {
        if self.line.len() >= LINE_BYTES_MAX {
            self.give_out(emit);
        }
    }

    fn give_out(&mut self, emit: &mut dyn FnMut(&str)) {
        if !self.line.is_empty() {
            emit(&self.line);
            self.line.clear();
        }
    }
}

/// Returns the whole lines of printable ASCII that `bytes` begins with: most of what programs
/// print in bulk. They pass as they are, without being held.
fn plain_lines(bytes: &[u8]) -> &str {
    let is_lines = |part: &&[u8]| match <[u8; 8]>::try_from(*part) {
        Ok(eight) => are_plain_lines(eight),
        Err(_) => part.iter().all(|byte| is_plain(*byte) || *byte == b'\n'),
    };
    let length = bytes.chunks(8).take_while(is_lines).map(<[u8]>::len).sum();
    let plain = bytes.get(..length).unwrap_or_default();
    let end = plain.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    std::str::from_utf8(plain.get(..end).unwrap_or_default()).unwrap_or_default()
}

/// Returns whether all of `bytes` are plain or ends of lines. They are looked at together, as one
/// number: of a byte below 0x80, the highest bit says after an addition whether it is as large as
/// asked.
fn are_plain_lines(bytes: [u8; 8]) -> bool {
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    let bytes = u64::from_ne_bytes(bytes);
    let at_least = |least: u8| bytes.wrapping_add(u64::from_ne_bytes([0x80 - least; 8]));
    let printable = at_least(b' ') & !at_least(0x7f);
    let tab_or_newline = at_least(b'\t') & !at_least(b'\n' + 1);
    bytes & HIGHEST == 0 && (printable | tab_or_newline) & HIGHEST == HIGHEST
}

fn is_plain(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(cases: &[(&[u8], &str)]) {
        for (bytes, expected) in cases {
            assert_eq!(&clean_bytes(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn eight_bytes_are_as_plain_as_each_of_them() {
        for byte in 0..=u8::MAX {
            let expected = is_plain(byte) || byte == b'\n';
            for others in [b' ', b'~', b'\t', b'\n'] {
                for place in 0..8 {
                    let mut bytes = [others; 8];
                    bytes[place] = byte;
                    assert_eq!(are_plain_lines(bytes), expected, "{bytes:?}");
                }
            }
        }
        assert!(!are_plain_lines([0xff; 8]));
    }

    #[test]
    fn text_stays_as_it_is() {
        check(&[
            (b"", ""),
            (b"one\n\ttwo", "one\n\ttwo"),
            ("wörld 世界 🎉\n".as_bytes(), "wörld 世界 🎉\n"),
        ]);
    }

    #[test]
    fn bytes_that_are_no_text_become_visible() {
        check(&[
            (b"caf\xe9!", "caf\\xE9!"),
            (b"\xff\xfe", "\\xFF\\xFE"),
            (b"a\xe4\xb8", "a\\xE4\\xB8"),
            (b"\xe4\xb8x", "\\xE4\\xB8x"),
            (b"\xe4\xe4\xb8\x96", "\\xE4世"),
            (b"\xed\xa0\x80", "\\xED\\xA0\\x80"),
            (b"a\0b\x01\x7f", "a␀b␁␡"),
            (b"\xc2\x9b31m", "\\x9B31m"),
        ]);
    }

    #[test]
    fn of_a_redrawn_line_the_last_state_stays() {
        check(&[
            (b"10%\r50%\r100%\ndone\n", "100%\ndone\n"),
            (b"one\r\ntwo\r\n", "one\ntwo\n"),
            (b"one\r\r\n", "one\n"),
            (b"kept\r", "kept"),
            (b"10%\x1b[2K\x1b[1G20%\n", "20%\n"),
            (b"10%\x1b[G20%\n", "20%\n"),
            (b"a\x08b\n", "b\n"),
            (b"\x08\x08x", "x"),
        ]);
    }

    #[test]
    fn escape_sequences_go() {
        check(&[
            (b"\x1b[1;31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07text", "text"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1bPsixel\ndata\x1b\\after", "after"),
            (b"\x1b(Btext", "text"),
            (b"\x1b=text\x1b>", "text"),
            (b"\x1b[31\nnext", "\nnext"),
            (b"\x1b]never ended\nnext", "\nnext"),
            (b"end\x1b[", "end"),
            (b"\x1b\x1b[1mx", "x"),
            (b"\x1b[31\xe4\xb8\x96", "世"),
        ]);
    }

    #[test]
    fn an_endless_control_string_is_given_up() {
        let mut bytes = b"\x1bP".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', STRING_BYTES_MAX + 10));
        assert_eq!(clean_bytes(&bytes).len(), 10);
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            "[ -~]{0,8}".prop_map(String::into_bytes),
            prop_oneof![
                Just("\r\n"),
                Just("\r"),
                Just("\n"),
                Just("世"),
                Just("\x1b["),
                Just("\x1b[2K"),
                Just("\x1b]0;"),
                Just("\x1b\\"),
                Just("\x1bP"),
            ]
            .prop_map(|text| text.as_bytes().to_vec()),
        ];
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_text(bytes in bytes(), cuts in proptest::collection::vec(0..400_usize, 0..8)) {
            let whole = text_of(&bytes, &[]);
            prop_assert_eq!(text_of(&bytes, &cuts), whole);
        }

        #[test]
        fn nothing_that_moves_a_cursor_comes_out(bytes in bytes()) {
            let text = clean_bytes(&bytes);
            prop_assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{:?}", text);
        }
    }

    fn text_of(bytes: &[u8], cuts: &[usize]) -> String {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(bytes.len());
        let (mut cleaner, mut text, mut start) = (Cleaner::default(), String::new(), 0);
        for cut in cuts {
            cleaner.push(&bytes[start..cut], &mut |part| text.push_str(part));
            start = cut;
        }
        cleaner.finish(&mut |part| text.push_str(part));
        text
    }
}
