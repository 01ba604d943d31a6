//! A unified diff as lines with their numbers, and what differs within a line. Pure.
//!
//! A line that went and the one that came in its place are compared by word. If less than half of
//! them is alike, the second is another line, and nothing in either is marked. A mark is a look
//! and never a sign in the text: without colours it is not there, and the text stays as it is.

use std::ops::Range;

use similar::DiffTag;
use tenon_agent::diff_ops;
use tenon_model::visible;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    measure,
    style::{Meaning, Piece, Style},
};

/// Words of a line beyond which it is not compared: minified code has no lines to speak of.
const WORDS_MAX: usize = 400;
/// Lines in a row, of unlike count before and after, beyond which partners are not looked for.
const PARTNERS_MAX: usize = 16;

/// Bytes of a text, in their order.
type Marks = Vec<Range<usize>>;

/// A line of a diff, safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffLine {
    pub meaning: Meaning,
    /// Its number in the file: in the new one, or in the old one if the line went.
    pub number: Option<usize>,
    /// `+`, `-` or a space; empty for a header.
    pub sign: &'static str,
    /// What stands behind the sign, tabs expanded.
    pub text: String,
    /// The bytes of the text that differ from the line before or after the change.
    pub marks: Marks,
}

/// Counts the lines of a diff: what came and stays in the new file, what went in the old.
#[derive(Debug, Default)]
struct LineNumbers {
    old: usize,
    new: usize,
}

impl DiffLine {
    /// Returns the text in pieces, those that differ with a meaning of their own.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        pieces(self.meaning, &self.text, 0, &self.marks)
    }
}

/// Reads hunks without the headers of files.
pub(crate) fn lines(hunks: &str) -> Vec<DiffLine> {
    let mut numbers = LineNumbers::default();
    let mut lines: Vec<DiffLine> = hunks.lines().map(|line| read(line, &mut numbers)).collect();
    let mut start = 0;
    while start < lines.len() {
        let (went, came, end) = change(&lines, start);
        for (old, new) in partners(&lines, &went, &came) {
            mark(&mut lines, old, new);
        }
        start = end;
    }
    lines
}

/// Paints a part of a line's text that begins at the byte `offset` of it.
pub(super) fn paint(
    style: &Style,
    meaning: Meaning,
    part: &str,
    offset: usize,
    marks: &[Range<usize>],
) -> String {
    let pieces = pieces(meaning, part, offset, marks);
    pieces.iter().map(|piece| style.paint(piece.meaning, &piece.text)).collect()
}

fn pieces(meaning: Meaning, part: &str, offset: usize, marks: &[Range<usize>]) -> Vec<Piece> {
    let marked = match meaning {
        Meaning::Done => Meaning::Came,
        Meaning::Error => Meaning::Went,
        other => other,
    };
    let mut pieces = Vec::new();
    let mut add = |meaning, range: Range<usize>| {
        if let Some(text) = part.get(range).filter(|text| !text.is_empty()) {
            pieces.push(Piece::new(meaning, text));
        }
    };
    let mut done = 0;
    let within = |place: usize| place.saturating_sub(offset).min(part.len());
    for mark in marks {
        let (start, end) = (within(mark.start), within(mark.end));
        add(meaning, done..start);
        add(marked, start..end);
        done = end;
    }
    add(meaning, done..part.len());
    pieces
}

fn read(line: &str, numbers: &mut LineNumbers) -> DiffLine {
    let number = numbers.of(line);
    let (meaning, sign) = match line.bytes().next() {
        Some(b'+') => (Meaning::Done, "+"),
        Some(b'-') => (Meaning::Error, "-"),
        Some(b'@') => (Meaning::Hint, ""),
        Some(b'\\') => (Meaning::Plain, ""),
        Some(b' ') => (Meaning::Plain, " "),
        _ => (Meaning::Plain, ""),
    };
    let body = line.strip_prefix(sign).unwrap_or(line);
    let text = measure::expanded(&visible(body));
    DiffLine { meaning, number, sign, text, marks: Vec::new() }
}

/// Returns the lines that went and came in the change at `start` or behind it, and where to go on.
fn change(lines: &[DiffLine], start: usize) -> (Vec<usize>, Vec<usize>, usize) {
    let (mut went, mut came) = (Vec::new(), Vec::new());
    let mut place = start;
    while let Some(line) = lines.get(place) {
        match line.meaning {
            Meaning::Error if came.is_empty() => went.push(place),
            Meaning::Done => came.push(place),
            // The note that a file has no line end at its end stands between the two.
            Meaning::Plain if line.sign.is_empty() && !went.is_empty() && came.is_empty() => {}
            _ if went.is_empty() && came.is_empty() => {}
            _ => break,
        }
        place += 1;
    }
    (went, came, place.max(start + 1))
}

/// Returns which of the lines that went is which of those that came.
fn partners(lines: &[DiffLine], went: &[usize], came: &[usize]) -> Vec<(usize, usize)> {
    if went.len() == came.len() {
        return went.iter().copied().zip(came.iter().copied()).collect();
    }
    if went.len().max(came.len()) > PARTNERS_MAX {
        return Vec::new();
    }
    let text = |place: usize| lines.get(place).map_or("", |line| line.text.as_str());
    let mut left = came.iter().copied();
    let mut found = Vec::new();
    for old in went {
        let mut rest = left.clone();
        if let Some(new) = rest.find(|new| differing(text(*old), text(*new)).is_some()) {
            found.push((*old, new));
            left = rest;
        }
    }
    found
}

fn mark(lines: &mut [DiffLine], old: usize, new: usize) {
    let text = |place: usize| lines.get(place).map_or("", |line| line.text.as_str());
    let Some((went, came)) = differing(text(old), text(new)) else { return };
    for (place, marks) in [(old, went), (new, came)] {
        if let Some(line) = lines.get_mut(place) {
            line.marks = marks;
        }
    }
}

/// Returns what of two lines is not in the other; nothing if less than half of them is alike.
fn differing(old: &str, new: &str) -> Option<(Marks, Marks)> {
    let (before, after) = (words(old), words(new));
    if before.len().max(after.len()) > WORDS_MAX {
        return None;
    }
    let (mut went, mut came, mut alike) = (Vec::new(), Vec::new(), 0);
    for change in diff_ops(&before, &after) {
        if change.tag() == DiffTag::Equal {
            let same = before.get(change.old_range()).unwrap_or_default();
            alike += same.iter().map(|word| word.trim().len()).sum::<usize>();
        } else {
            push(&mut went, old, &before, change.old_range());
            push(&mut came, new, &after, change.new_range());
        }
    }
    let letters = |words: &[&str]| words.iter().map(|word| word.trim().len()).sum::<usize>();
    let all = letters(&before) + letters(&after);
    (all > 0 && alike * 4 >= all).then_some((went, came))
}

/// Adds the bytes of `words`; two marks with nothing but blanks between them are one.
fn push(marks: &mut Marks, line: &str, words: &[&str], which: Range<usize>) {
    let bytes = |words: Option<&[&str]>| -> usize {
        words.unwrap_or_default().iter().map(|word| word.len()).sum()
    };
    let start = bytes(words.get(..which.start));
    let end = start + bytes(words.get(which));
    if start == end {
        return;
    }
    if let Some(last) = marks.last_mut()
        && line.get(last.end..start).is_some_and(|between| between.trim().is_empty())
    {
        last.end = end;
        return;
    }
    marks.push(start..end);
}

/// Cuts a line into words, runs of blanks, and single signs; in Chinese each character is a word.
fn words(line: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Kind {
        Blank,
        Letter,
        Sign,
    }
    let kind = |grapheme: &str| match grapheme.chars().next() {
        Some(first) if first.is_whitespace() => Kind::Blank,
        Some(first) if first.is_alphanumeric() || first == '_' => match measure::width(grapheme) {
            0 | 1 => Kind::Letter,
            _ => Kind::Sign,
        },
        _ => Kind::Sign,
    };
    let (mut words, mut start, mut last) = (Vec::new(), 0, Kind::Sign);
    for (place, grapheme) in line.grapheme_indices(true) {
        let next = kind(grapheme);
        if place > start && (next == Kind::Sign || next != last) {
            words.extend(line.get(start..place));
            start = place;
        }
        last = next;
    }
    words.extend(line.get(start..).filter(|rest| !rest.is_empty()));
    words
}

impl LineNumbers {
    /// Returns the number of the diff's next line; none for a header.
    fn of(&mut self, line: &str) -> Option<usize> {
        let number = match line.bytes().next() {
            Some(b'@') => {
                let mut starts = line
                    .split([' ', ','])
                    .filter_map(|word| word.strip_prefix(['-', '+'])?.parse().ok());
                self.old = starts.next().unwrap_or_default();
                self.new = starts.next().unwrap_or_default();
                return None;
            }
            Some(b'-') => &mut self.old,
            Some(b'+') => &mut self.new,
            Some(b'\\') => return None,
            _ => {
                self.old += 1;
                &mut self.new
            }
        };
        *number += 1;
        Some(*number - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_a_diff_have_the_numbers_of_their_file() {
        let diff = "@@ -3,3 +10,4 @@ fn\n a\n-b\n+c\n+d\n e\n\\ No newline\n@@ -30 +40 @@\n-x\n+y";
        let found: Vec<_> = lines(diff).into_iter().map(|line| line.number).collect();
        let expected = [0, 10, 4, 11, 12, 13, 0, 0, 30, 40];
        assert_eq!(found, expected.map(|number| (number > 0).then_some(number)));
    }

    /// Draws what is marked in brackets.
    fn marked(hunks: &str) -> Vec<String> {
        let bracketed = |piece: Piece| match piece.meaning {
            Meaning::Came | Meaning::Went => format!("[{}]", piece.text),
            _ => piece.text,
        };
        let line = |line: &DiffLine| {
            let text: String = line.pieces().into_iter().map(bracketed).collect();
            format!("{}{text}", line.sign)
        };
        lines(hunks).iter().map(line).collect()
    }

    #[test]
    fn what_differs_within_a_line_is_marked_by_word() {
        let cases: [(&str, &[&str]); 9] = [
            ("-let a = 1;\n+let a = 2;", &["-let a = [1];", "+let a = [2];"]),
            ("-say(name)\n+say(name, loud)", &["-say(name)", "+say(name[, loud])"]),
            ("-one two three\n+one 2 3 three", &["-one [two] three", "+one [2 3] three"]),
            ("-整数求和\n+整数相加求和", &["-整数求和", "+整数[相加]求和"]),
            ("-first\n+second thing", &["-first", "+second thing"]),
            ("-  a\n+    a", &["-[  ]a", "+[    ]a"]),
            ("-let a = 1;\n+// why\n+let a = 2;", &["-let a = [1];", "+// why", "+let a = [2];"]),
            (
                "-let a = 1;\n\\ No newline\n+let a = 2;",
                &["-let a = [1];", "\\ No newline", "+let a = [2];"],
            ),
            ("-a\n b\n+a c", &["-a", " b", "+a c"]),
        ];
        for (hunks, expected) in cases {
            assert_eq!(marked(hunks), expected, "{hunks}");
        }
    }

    #[test]
    fn a_part_of_a_line_keeps_its_marks() {
        let style = Style::IN_COLOUR;
        let marks = [2..4, 6..8];
        let painted = paint(&style, Meaning::Done, "cdefgh", 3, &marks);
        let seen = painted.replace("\u{1b}", "^");
        assert_eq!(seen, "^[32;7mc^[0m^[32mde^[0m^[32;7mfg^[0m^[32mh^[0m");
        let plain = Style { colour: false, ..style };
        assert_eq!(paint(&plain, Meaning::Done, "cdefgh", 3, &marks), "cdefgh");
    }

    proptest! {
        #[test]
        fn pieces_are_the_text(old in r"[a-c 汉👍().\t]{0,30}", new in r"[a-c 汉👍().\t]{0,30}") {
            for line in lines(&format!("-{old}\n+{new}")) {
                let joined: String = line.pieces().iter().map(|piece| piece.text.as_str()).collect();
                prop_assert_eq!(joined, line.text);
            }
        }
    }
}
