//! How wide text is on a screen, by grapheme: what a person sees as one character.
//!
//! Terminals disagree about joined emoji: some draw a family as one picture of two columns, some
//! as its members. Where they may disagree the larger width is reckoned with, and the box asks
//! the terminal to jump to its edge.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns from one tab stop to the next inside a box.
const TAB_COLUMNS: usize = 4;

/// Marks on one character beyond which it is drawn without them: stacks of marks spill over the
/// lines above and below.
const MARKS_MAX: usize = 8;

/// Text cut to a width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub text: String,
    /// Columns that the text takes where emoji are drawn joined.
    pub width: usize,
    /// Whether terminals may disagree about the width.
    pub doubtful: bool,
}

/// Returns the columns that `text` takes; it has no tabs and no line ends.
pub(crate) fn width(text: &str) -> usize {
    text.graphemes(true).map(|grapheme| grapheme.width()).sum()
}

/// Returns the most columns that a terminal may give to `text`.
pub(crate) fn widest(text: &str) -> usize {
    text.graphemes(true).map(|grapheme| widths(grapheme).1).sum()
}

/// Returns `line` in rows of at most `columns` columns, tabs expanded; one empty row for an empty
/// line. Rows after the `rows_max`th are left out.
pub(crate) fn rows(line: &str, columns: usize, rows_max: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut row, mut column, mut widest) = (Row::default(), 0, 0);
    for grapheme in line.graphemes(true) {
        let spaces;
        let grapheme = match grapheme {
            "\t" => {
                spaces = " ".repeat(TAB_COLUMNS - column % TAB_COLUMNS);
                spaces.as_str()
            }
            other => bounded(other),
        };
        let (narrow, wide) = widths(grapheme);
        if widest + wide > columns && !row.text.is_empty() {
            rows.push(std::mem::take(&mut row));
            widest = 0;
            if rows.len() == rows_max {
                return rows;
            }
        }
        row.text.push_str(grapheme);
        row.width += narrow;
        row.doubtful |= is_doubtful(grapheme);
        widest += wide;
        column += narrow;
    }
    rows.push(row);
    rows
}

/// Returns `line` with its tabs as spaces and stacks of marks bounded: the rows of it are its parts.
pub(crate) fn expanded(line: &str) -> String {
    rows(line, usize::MAX, 1).pop().unwrap_or_default().text
}

/// Returns the first row of `text` with an ellipsis if anything was left out.
pub(crate) fn cut(text: &str, columns: usize) -> Row {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let more_lines = lines.next().is_some();
    let mut whole = rows(first, columns, 2);
    if whole.len() < 2 && !more_lines {
        return whole.pop().unwrap_or_default();
    }
    let kept = rows(first, columns.saturating_sub(1), 1);
    // A grapheme that is wider than the room is left out, too.
    let fits = |row: &Row| row.width < columns;
    let mut row = kept.into_iter().next().filter(fits).unwrap_or_default();
    row.text.push('…');
    row.width += 1;
    row
}

/// Returns the smallest and the largest width that a terminal may give to `grapheme`.
pub(crate) fn widths(grapheme: &str) -> (usize, usize) {
    let joined = grapheme.width();
    let apart: usize = grapheme.chars().map(|character| character.width().unwrap_or(0)).sum();
    (joined, joined.max(apart))
}

/// Returns whether terminals may disagree about the width of `grapheme`: whether they join emoji, and
/// whether they widen a sign that is asked to look like one (variation selector 16).
pub(crate) fn is_doubtful(grapheme: &str) -> bool {
    let (narrow, wide) = widths(grapheme);
    narrow != wide || grapheme.contains('\u{fe0f}')
}

pub(crate) fn bounded(grapheme: &str) -> &str {
    match grapheme.char_indices().nth(1 + MARKS_MAX) {
        // Joined emoji are longer than any letter with its marks and take no room above it.
        Some((end, _)) if !grapheme.contains('\u{200d}') => grapheme.get(..end).unwrap_or(grapheme),
        _ => grapheme,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn width_is_what_a_person_sees() {
        let cases = [
            ("abc", 3),
            ("汉字", 4),
            ("e\u{301}", 1),
            ("👍🏽", 2),
            ("👨‍👩‍👧", 2),
            ("🇨🇳", 2),
            ("ﾊﾝｶｸ", 4),
            ("全角", 4),
            ("", 0),
        ];
        for (text, expected) in cases {
            assert_eq!(width(text), expected, "{text}");
        }
    }

    #[test]
    fn a_wide_character_is_never_split_over_the_edge() {
        let texts: Vec<String> = rows("a汉字b", 2, 9).into_iter().map(|row| row.text).collect();
        assert_eq!(texts, ["a", "汉", "字", "b"]);
    }

    #[test]
    fn tabs_reach_the_next_stop() {
        let row = |line| rows(line, 80, 1).remove(0).text;
        assert_eq!(row("\ta\tb"), "    a   b");
        assert_eq!(row("汉\tb"), "汉  b");
    }

    #[test]
    fn what_is_left_out_is_marked() {
        assert_eq!(cut("汉字汉字", 5).text, "汉字…");
        assert_eq!(cut("one\ntwo", 20).text, "one…");
        assert_eq!(cut("exact", 5).text, "exact");
    }

    #[test]
    fn terminals_disagree_about_joined_emoji_and_signs_that_look_like_them() {
        for (text, expected) in
            [("❤\u{fe0f}", true), ("👍🏽", true), ("❤", false), ("字", false), ("e\u{301}", false)]
        {
            assert_eq!(rows(text, 10, 1).remove(0).doubtful, expected, "{text}");
        }
    }

    #[test]
    fn a_stack_of_marks_is_bounded() {
        let stack = format!("a{}", "\u{301}".repeat(500));
        assert!(rows(&stack, 10, 1).remove(0).text.chars().count() <= 1 + MARKS_MAX);
    }

    #[test]
    fn of_a_grapheme_wider_than_the_room_the_ellipsis_is_left() {
        // Two marks that take a column each.
        for (line, columns) in [("0\u{b40}\u{1923}A", 2), ("汉字", 2), ("ab", 1)] {
            assert_eq!(cut(line, columns).text, "…", "{line}");
        }
        assert_eq!(cut("汉字字", 5).text, "汉字…");
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_asked(line in r"\PC{0,60}", columns in 2_usize..30) {
            let all = rows(&line, columns, usize::MAX);
            for row in &all {
                // A single character may be wider than the room there is.
                let one = row.text.graphemes(true).count() <= 1;
                prop_assert!(one || row.width <= columns, "{row:?}");
            }
            prop_assert!(cut(&line, columns).width <= columns.max(3));
        }
    }
}
