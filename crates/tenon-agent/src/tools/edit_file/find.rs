//! Where a text stands in the bytes of a file, and what goes in its place.
//!
//! Models write and read plain line ends, so `\r\n` in the file counts as `\n`, and what is put in
//! gets the line ends of what it replaces. Nothing else is bridged. Bytes that are not replaced
//! are never decoded and encoded again.

use std::ops::Range;

use memchr::memmem;

use crate::tools::text_file::Encoding;

/// No error lists more places than this, and nobody means to replace more.
const PLACES_MAX: usize = 100_000;

/// A file that an edit makes is no longer (32 MiB): twice what can be edited. Many places of a long text
/// would use up the memory of the agent.
const RESULT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A file as the model sees it, and the way back to its bytes.
pub(super) struct FileText<'a> {
    pub bytes: &'a [u8],
    /// With plain line ends; UTF-8 if the file was UTF-16.
    pub text: Vec<u8>,
    /// Where in `text` the `\n` stand that are `\r\n` in the file.
    crlf: Vec<usize>,
    encoding: Encoding,
}

/// The places of one text, and how they were found.
pub(super) struct Places {
    /// Ranges of the file's bytes.
    pub ranges: Vec<Range<usize>>,
    /// Number of the line in which each begins.
    pub lines: Vec<usize>,
    /// What replaces each.
    pub replacements: Vec<Vec<u8>>,
    /// The line ends that were kept, if they are not what the model wrote.
    pub kept_line_ends: Option<&'static str>,
}

/// Why a file cannot be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// It says that it is UTF-16 and is not.
    NotUtf16,
    /// It is not UTF-8 and the arguments are not ASCII.
    OtherEncoding,
    /// It is not UTF-8, and the text may begin within a character (line number).
    InsideCharacter(usize),
    /// It stands in so many places, or more, and all are to be replaced.
    TooMany(usize),
    /// The file would be longer than this (bytes).
    TooLong(usize),
}

impl<'a> FileText<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Obstacle> {
        // Without a byte order mark any bytes can be edited as they are.
        let encoding = Encoding::of(bytes).unwrap_or(Encoding::Bytes);
        let decoded = match encoding {
            Encoding::Bytes => bytes.to_vec(),
            _ => encoding.utf16_text(bytes).ok_or(Obstacle::NotUtf16)?.into_bytes(),
        };
        let mut text = Vec::with_capacity(decoded.len());
        let mut crlf = Vec::new();
        let mut rest = decoded.as_slice();
        while let Some(at) = memmem::find(rest, b"\r\n") {
            let (before, after) = rest.split_at(at);
            text.extend_from_slice(before);
            crlf.push(text.len());
            text.push(b'\n');
            rest = after.get(2..).unwrap_or_default();
        }
        text.extend_from_slice(rest);
        Ok(Self { bytes, text, crlf, encoding })
    }

    /// Finds `old` and prepares `new` for each of its places. An empty result is no place.
    pub(super) fn places(&self, old: &str, new: &str, which: Which) -> Result<Places, Obstacle> {
        let is_utf8 = self.encoding != Encoding::Bytes || std::str::from_utf8(self.bytes).is_ok();
        let is_ascii = old.is_ascii() && new.is_ascii();
        if !is_utf8 && !is_ascii {
            return Err(Obstacle::OtherEncoding);
        }
        let is_literal = self.encoding == Encoding::Bytes
            && old.contains('\r')
            && memmem::find(self.bytes, old.as_bytes()).is_some();
        let plain_old = old.replace("\r\n", "\n");
        let (hay, needle) = match is_literal {
            true => (self.bytes, old),
            false => (self.text.as_slice(), plain_old.as_str()),
        };
        let starts = starts(hay, needle.as_bytes(), which);
        if starts.len() == PLACES_MAX && which == Which::Separate {
            return Err(Obstacle::TooMany(PLACES_MAX));
        }
        if !is_utf8
            && let Some(start) = starts.iter().find(|start| is_inside_character(hay, **start))
        {
            return Err(Obstacle::InsideCharacter(line_of(hay, *start)));
        }
        if self.bytes.len().saturating_add(self.put_in(starts.len(), new)) > RESULT_BYTES_MAX {
            return Err(Obstacle::TooLong(RESULT_BYTES_MAX));
        }
        let mut places = Places {
            ranges: Vec::with_capacity(starts.len()),
            lines: lines_of(hay, &starts),
            replacements: Vec::with_capacity(starts.len()),
            kept_line_ends: None,
        };
        for start in starts {
            let range = start..start + needle.len();
            if is_literal {
                places.replacements.push(new.as_bytes().to_vec());
                places.ranges.push(range);
                continue;
            }
            let fitted = self.fitted(&range, &plain_old, new, old.contains('\r'));
            let is_crlf = fitted.contains("\r\n") || self.has_crlf(&range);
            if is_crlf && !new.contains('\r') {
                places.kept_line_ends = Some("CRLF");
            } else if old.contains('\r') && !is_crlf {
                places.kept_line_ends = Some("LF");
            }
            places.replacements.push(self.encoding.encoded(&fitted));
            places.ranges.push(self.original(range.start)..self.original(range.end));
        }
        Ok(places)
    }

    /// Returns how many bytes `new` takes in so many places, at most: each of its line ends may get
    /// another byte, and UTF-16 has two for each.
    fn put_in(&self, places: usize, new: &str) -> usize {
        let one = new.len() + memchr::memchr_iter(b'\n', new.as_bytes()).count();
        let width = if self.encoding == Encoding::Bytes { 1 } else { 2 };
        one.saturating_mul(width).saturating_mul(places)
    }

    /// Returns where the byte `at` of the text stands in the file.
    fn original(&self, at: usize) -> usize {
        let carriage_returns = self.crlf.partition_point(|place| *place < at);
        match self.encoding {
            Encoding::Bytes => at + carriage_returns,
            Encoding::Utf16Le | Encoding::Utf16Be => {
                let before = String::from_utf8_lossy(self.text.get(..at).unwrap_or(&self.text));
                2 + 2 * (before.encode_utf16().count() + carriage_returns)
            }
        }
    }

    fn is_crlf(&self, newline: usize) -> bool {
        self.crlf.binary_search(&newline).is_ok()
    }

    fn has_crlf(&self, range: &Range<usize>) -> bool {
        let next = self.crlf.partition_point(|place| *place < range.start);
        self.crlf.get(next).is_some_and(|place| *place < range.end)
    }

    /// Returns `new` with the line ends that belong there, line by line: unchanged lines at the
    /// beginning and the end keep theirs, lines between take those of what they replace, and what
    /// is left that of the nearest line.
    fn fitted(&self, range: &Range<usize>, old: &str, new: &str, old_has_cr: bool) -> String {
        if new.contains('\r') && !old_has_cr {
            return new.to_owned();
        }
        let new = new.replace("\r\n", "\n");
        if self.crlf.is_empty() || !new.contains('\n') {
            return new;
        }
        let within = self.text.get(range.clone()).unwrap_or_default();
        let ends: Vec<bool> = memchr::memchr_iter(b'\n', within)
            .map(|newline| self.is_crlf(range.start + newline))
            .collect();
        let old_lines: Vec<&str> = old.split('\n').collect();
        let new_lines: Vec<&str> = new.split('\n').collect();
        let (old_count, new_count) = (ends.len(), new_lines.len() - 1);
        let equal = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
            pairs.take_while(|(one, other)| one == other).count()
        };
        let shorter = old_count.min(new_count);
        let head = equal(&mut old_lines.iter().zip(&new_lines).take(shorter));
        let backwards = old_lines.iter().rev().skip(1).zip(new_lines.iter().rev().skip(1));
        let tail = equal(&mut backwards.take(shorter - head));
        let nearest = self.nearest_end(range);
        let mut text = String::with_capacity(new.len() + new_count);
        for (index, line) in new_lines.iter().enumerate() {
            text.push_str(line);
            if index == new_count {
                break;
            }
            let from = match index {
                _ if index < head => index,
                _ if index >= new_count - tail => old_count - (new_count - index),
                _ => index.min((old_count - tail).saturating_sub(1)),
            };
            let is_crlf = ends.get(from).copied().unwrap_or(nearest);
            text.push_str(if is_crlf { "\r\n" } else { "\n" });
        }
        text
    }

    /// Returns whether the line end behind `range`, or else the one before it, is `\r\n`.
    fn nearest_end(&self, range: &Range<usize>) -> bool {
        let behind = self.text.get(range.end..).and_then(|text| memchr::memchr(b'\n', text));
        let before = self.text.get(..range.start).and_then(|text| memchr::memrchr(b'\n', text));
        behind
            .map(|newline| range.end + newline)
            .or(before)
            .is_some_and(|newline| self.is_crlf(newline))
    }
}

/// Which places count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Every one, also where two overlap: what must be unique is then not.
    Overlapping,
    /// Those that can be replaced one after another.
    Separate,
}

/// Returns `bytes` with each of `places` replaced.
pub(super) fn spliced(bytes: &[u8], places: &Places) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len() + 64);
    let mut done = 0;
    for (range, replacement) in places.ranges.iter().zip(&places.replacements) {
        result.extend_from_slice(bytes.get(done..range.start).unwrap_or_default());
        result.extend_from_slice(replacement);
        done = range.end;
    }
    result.extend_from_slice(bytes.get(done..).unwrap_or_default());
    result
}

/// Returns the number of the line in which the byte `at` stands, from 1.
pub(super) fn line_of(text: &[u8], at: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', text.get(..at).unwrap_or(text)).count()
}

fn lines_of(text: &[u8], starts: &[usize]) -> Vec<usize> {
    let (mut line, mut done) = (1, 0);
    starts
        .iter()
        .map(|start| {
            let between = text.get(done..*start).unwrap_or_default();
            line += memchr::memchr_iter(b'\n', between).count();
            done = *start;
            line
        })
        .collect()
}

fn starts(hay: &[u8], needle: &[u8], which: Which) -> Vec<usize> {
    let finder = memmem::Finder::new(needle);
    let step = match which {
        Which::Overlapping => 1,
        Which::Separate => needle.len().max(1),
    };
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(at) = hay.get(from..).and_then(|rest| finder.find(rest)) {
        starts.push(from + at);
        from += at + step;
        if starts.len() == PLACES_MAX {
            break;
        }
    }
    starts
}

/// In GBK, Big5 and Shift JIS the second byte of a character can look like an ASCII letter. Read
/// from the beginning of the line, two bytes a character, `at` must not fall between the two.
fn is_inside_character(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or(text);
    let line = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let mut bytes = before.get(line..).unwrap_or_default().iter();
    while let Some(byte) = bytes.next() {
        if *byte > 0x80 && bytes.next().is_none() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Replaces the only place of `old`.
    fn check(bytes: &[u8], old: &str, new: &str, expected: &[u8], kept: Option<&str>) {
        let file = FileText::new(bytes).unwrap();
        let places = file.places(old, new, Which::Overlapping).unwrap();
        assert_eq!(places.ranges.len(), 1, "{old:?}");
        let result = spliced(bytes, &places);
        assert_eq!(
            (String::from_utf8_lossy(&result), places.kept_line_ends),
            (String::from_utf8_lossy(expected), kept)
        );
    }

    #[test]
    fn spec_31_line_ends_of_the_file_are_kept_line_by_line() {
        check(b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n", Some("CRLF"));
        check(b"a\r\nb\r\n", "b", "c", b"a\r\nc\r\n", None);
        check(b"a\r\nb\r\n", "b", "c\nd", b"a\r\nc\r\nd\r\n", Some("CRLF"));
        check(b"a\nb\n", "a\r\nb", "a\r\nc", b"a\nc\n", Some("LF"));
        check(b"a\nb\n", "a", "a\r\nx", b"a\r\nx\nb\n", None);
        check(b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n", None);
        check(b"a\r\nb\r\n", "a\n", "", b"b\r\n", Some("CRLF"));
        // Mixed: the unchanged lines around a change keep what they have.
        check(
            b"a\r\nb\nc\r\nd\n",
            "a\nb\nc\n",
            "a\nX\nY\nc\n",
            b"a\r\nX\nY\nc\r\nd\n",
            Some("CRLF"),
        );
        check(b"a\nb\r\nc\n", "a\nb\nc\n", "a\nc\n", b"a\nc\n", Some("CRLF"));
        check(b"a\r\nb", "b", "b\nc\n", b"a\r\nb\r\nc\r\n", Some("CRLF"));
        check(b"a\rb\n", "a\rb", "c", b"c\n", None);
    }

    #[test]
    fn spec_31_utf16_is_edited_in_its_own_encoding() {
        for (encoding, mark) in
            [(Encoding::Utf16Le, &b"\xff\xfe"[..]), (Encoding::Utf16Be, b"\xfe\xff")]
        {
            let file = |text: &str| [mark, &encoding.encoded(text)].concat();
            let bytes = file("😀a\r\n汉\r\n");
            let text = FileText::new(&bytes).unwrap();
            let places = text.places("a\n汉", "b\n字\n😀", Which::Overlapping).unwrap();
            assert_eq!(spliced(&bytes, &places), file("😀b\r\n字\r\n😀\r\n"));
        }
        assert_eq!(FileText::new(b"\xff\xfea").err(), Some(Obstacle::NotUtf16));
    }

    #[test]
    fn spec_31_other_encodings_are_edited_in_ascii_or_refused() {
        let outcome = |bytes: &[u8], old: &str, new: &str| {
            let file = FileText::new(bytes).unwrap();
            file.places(old, new, Which::Overlapping).map(|places| spliced(bytes, &places))
        };
        assert_eq!(outcome(b"caf\xe9 = 1\n", "= 1", "= 2"), Ok(b"caf\xe9 = 2\n".to_vec()));
        assert_eq!(outcome(b"caf\xe9\n", "caf", "é"), Err(Obstacle::OtherEncoding));
        // GBK: 0x81 0x61 is one character whose second byte looks like `a`.
        assert_eq!(outcome(b"x\n\x81\x61\n", "a", "b"), Err(Obstacle::InsideCharacter(2)));
        assert_eq!(outcome(b"\x81\x61a\n", "a\n", "b\n"), Ok(b"\x81\x61b\n".to_vec()));
    }

    #[test]
    fn more_places_than_are_looked_for_are_not_said_to_be_all() {
        let many = "a\n".repeat(PLACES_MAX);
        let places = |text: &str| {
            let file = FileText::new(text.as_bytes()).unwrap();
            file.places("a", "b", Which::Separate).map(|places| places.ranges.len())
        };
        assert_eq!(places(&many), Err(Obstacle::TooMany(PLACES_MAX)));
        assert_eq!(places(many.strip_prefix('a').unwrap()), Ok(PLACES_MAX - 1));
    }

    #[test]
    fn places_that_overlap_are_not_unique() {
        let file = FileText::new(b"aaa").unwrap();
        assert_eq!(file.places("aa", "b", Which::Overlapping).unwrap().ranges, [0..2, 1..3]);
        assert_eq!(file.places("aa", "b", Which::Separate).unwrap().ranges.len(), 1);
    }

    proptest! {
        #[test]
        fn spec_31_bytes_outside_the_match_never_change(
            before in proptest::collection::vec(any::<u8>(), 0..60),
            old in "[a-c\n]{1,6}",
            after in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), any::<u8>()], 0..60),
            crlf in any::<bool>(),
            new in "[a-c$&\\\\\n]{0,6}",
            which in prop_oneof![Just(Which::Overlapping), Just(Which::Separate)],
        ) {
            let middle = if crlf { old.replace('\n', "\r\n") } else { old.clone() };
            let bytes = [&before[..], middle.as_bytes(), &after].concat();
            let Ok(file) = FileText::new(&bytes) else { return Ok(()) };
            let Ok(places) = file.places(&old, &new, which) else { return Ok(()) };
            if file.encoding != Encoding::Bytes {
                return Ok(());
            }
            prop_assert!(!places.ranges.is_empty());
            if which == Which::Overlapping && places.ranges.len() > 1 {
                return Ok(());
            }
            let result = spliced(&bytes, &places);
            let (mut left, mut rest) = (0, &result[..]);
            for (range, replacement) in places.ranges.iter().zip(&places.replacements) {
                let replaced = String::from_utf8_lossy(&bytes[range.clone()]).replace("\r\n", "\n");
                prop_assert_eq!(&replaced, &old);
                prop_assert_eq!(String::from_utf8_lossy(replacement).replace("\r\n", "\n"), new.clone());
                let outside = &bytes[left..range.start];
                prop_assert!(rest.starts_with(outside));
                rest = &rest[outside.len() + replacement.len()..];
                left = range.end;
            }
            prop_assert_eq!(rest, &bytes[left..]);
        }
    }
}
