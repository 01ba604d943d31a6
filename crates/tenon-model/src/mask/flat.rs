//! A text without its line ends, and the way back: encoders break values over lines.

use std::{borrow::Cow, ops::Range};

/// Whether numbers of lines, as `read_file` writes them, are taken out with the line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineNumbers {
    Kept,
    Skipped,
}

/// The most digits of a line's number.
const NUMBER_DIGITS_MAX: usize = 7;

/// A text without line ends.
#[derive(Debug)]
pub(super) struct Flat<'a> {
    bytes: Cow<'a, [u8]>,
    breaks: Vec<Break>,
}

/// A piece that was taken out.
#[derive(Debug, Clone, Copy)]
struct Break {
    /// The place in the flat text before which it stood.
    at: usize,
    start: usize,
    end: usize,
}

impl<'a> Flat<'a> {
    pub(super) fn new(text: &'a str, numbers: LineNumbers) -> Self {
        let whole = text.as_bytes();
        let mut line_ends = memchr::memchr2_iter(b'\n', b'\r', whole).peekable();
        if line_ends.peek().is_none() {
            return Self { bytes: Cow::Borrowed(whole), breaks: Vec::new() };
        }
        let mut bytes = Vec::with_capacity(whole.len());
        let mut breaks: Vec<Break> = Vec::new();
        let mut from = 0;
        for start in line_ends {
            let kept = whole.get(from..start).unwrap_or_default();
            bytes.extend_from_slice(kept);
            let after = whole.get(start + 1..).unwrap_or_default();
            let is_numbered = numbers == LineNumbers::Skipped && whole.get(start) == Some(&b'\n');
            let end = start + 1 + if is_numbered { number_length(after) } else { 0 };
            match breaks.last_mut() {
                Some(last) if kept.is_empty() && last.at == bytes.len() => last.end = end,
                _ => breaks.push(Break { at: bytes.len(), start, end }),
            }
            from = end;
        }
        bytes.extend_from_slice(whole.get(from..).unwrap_or_default());
        Self { bytes: Cow::Owned(bytes), breaks }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the place in the text of a place in the flat one, behind breaks that stand there.
    pub(super) fn position(&self, flat: usize) -> usize {
        let behind = self.breaks.partition_point(|gap| gap.at <= flat);
        match behind.checked_sub(1).and_then(|last| self.breaks.get(last)) {
            Some(gap) => gap.end + (flat - gap.at),
            None => flat,
        }
    }

    /// Returns the range in the text of a range in the flat one that is not empty.
    pub(super) fn range(&self, start: usize, end: usize) -> Range<usize> {
        self.position(start)..self.position(end.saturating_sub(1)) + 1
    }

    /// Calls `each` with the pieces that stood between the bytes of a range.
    pub(super) fn breaks_within(
        &self,
        start: usize,
        end: usize,
        mut each: impl FnMut(Range<usize>),
    ) {
        let first = self.breaks.partition_point(|gap| gap.at <= start);
        let rest = self.breaks.get(first..).unwrap_or_default();
        for gap in rest.iter().take_while(|gap| gap.at < end) {
            each(gap.start..gap.end);
        }
    }
}

/// Returns the length of `12<TAB>` at the beginning of a line, 0 if there is no such thing.
fn number_length(line: &[u8]) -> usize {
    let digits =
        line.iter().take(NUMBER_DIGITS_MAX).take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 && line.get(digits) == Some(&b'\t') { digits + 1 } else { 0 }
}
