//! How wide text is on a screen, by grapheme: what a person sees as one character.
//!
//! Terminals disagree about joined emoji: some draw a family as one picture of two columns, some
//! as its members. Where they may disagree the larger width is reckoned with, and the box asks
//! the terminal to jump to its edge.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns from one tab stop to the next inside a box.
const TAB_COLUMNS: usize = 4;

/// Marks on one character beyond which they are written out (`⟨U+0301⟩`): stacks of marks spill over
/// the lines above and below.
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

/// Returns the columns that `text` takes where emoji are drawn apart.
pub(crate) fn widest(text: &str) -> usize {
    text.graphemes(true).map(|grapheme| widths(grapheme).1).sum()
}

/// Returns a number of columns that no terminal exceeds with `text`, whichever its tables and fonts
/// are, and whether or not it draws what is of ambiguous width (EastAsianWidth.txt) wide.
pub(crate) fn most_columns(text: &str) -> usize {
    let most = |character: char| match character {
        '\0'..='~' => 1,
        // Latin, Greek and Cyrillic have letters of ambiguous width; symbols, emoji, East Asian text
        // and what is not assigned are further on.
        '\u{a1}'..='\u{2ff}' | '\u{370}'..='\u{45f}' | '\u{2000}'.. => 2,
        // Some terminals give a mark a column of its own.
        _ => character.width().unwrap_or(0).max(1),
    };
    text.chars().map(most).sum()
}

/// Returns `line` in rows of at most `columns` columns, tabs expanded; one empty row for an empty
/// line. Rows after the `rows_max`th are left out.
pub(crate) fn rows(line: &str, columns: usize, rows_max: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut row, mut column, mut widest) = (Row::default(), 0, 0);
    for grapheme in bounded(line).graphemes(true) {
        let spaces;
        let grapheme = match grapheme {
            "\t" => {
                spaces = " ".repeat(TAB_COLUMNS - column % TAB_COLUMNS);
                spaces.as_str()
            }
            other => other,
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

/// Returns `line` with its tabs as spaces and stacks of marks [`bounded`]: the rows of it are its parts.
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

/// Returns `text` with the marks of a stack that are too many written out. Nothing is left out.
pub(crate) fn bounded(text: &str) -> Cow<'_, str> {
    let judged = || {
        text.chars().scan(0, |marks, character| {
            *marks = if character.width() == Some(0) { *marks + 1 } else { 0 };
            Some((character, *marks > MARKS_MAX))
        })
    };
    if !judged().any(|(_, is_too_many)| is_too_many) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for (character, is_too_many) in judged() {
        if is_too_many {
            shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(character)));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
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
    fn marks_beyond_the_eighth_of_a_stack_are_written_out_and_nothing_else() {
        let stack = |marks| format!("a{}", "\u{301}".repeat(marks));
        assert_eq!(bounded(&(stack(10) + "b")), stack(8) + "⟨U+0301⟩⟨U+0301⟩b");
        assert_eq!(rows(&stack(500), 80, 1).remove(0).text.matches('\u{301}').count(), MARKS_MAX);
        for text in [
            "क्ष्म्य हिन्दी ที่นี่ tiếng Việt",
            "👩🏽‍❤️‍💋‍👨🏽👨‍👩‍👧‍👦👨‍👩‍👧‍👦",
            &"स्त्".repeat(12),
            &"\u{1112}\u{1161}\u{11ab}".repeat(9),
        ] {
            assert_eq!(bounded(text), text);
        }
    }

    #[test]
    fn no_terminal_gives_a_text_more_columns_than_the_most() {
        // What is wide below U+2000, and samples of what is where a person chose so.
        let wide = ('\u{1100}'..='\u{115f}').chain("¡§°±·×ßàéüˇδЖяё".chars());
        for character in wide.chain('\u{2000}'..=char::MAX) {
            assert_eq!(most_columns(character.encode_utf8(&mut [0; 4])), 2, "{character:?}");
        }
        assert_eq!(most_columns("ls -l"), 5);
        assert_eq!(most_columns("ไทย हि"), 6);
        for character in '\u{a0}'..='\u{1ffff}' {
            let text = format!("{character} 1{character} ❤{character}");
            assert!(width(&text) <= widest(&text) && widest(&text) <= most_columns(&text));
        }
    }

    #[test]
    fn of_what_is_made_visible_no_character_takes_a_sign_behind_it_into_its_grapheme() {
        for (character, sign) in ('\u{80}'..='\u{1ffff}').flat_map(|c| [(c, "$"), (c, "…")]) {
            let text = format!("{character}{sign}");
            let shown = tenon_model::visible(&text);
            assert_eq!(shown.graphemes(true).next_back(), Some(sign), "{character:?}");
        }
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

        #[test]
        fn every_sign_of_ascii_is_in_the_rows(
            line in r"([!-~]|\PC|[\u{300}\u{302e}\u{600}\u{70f}\u{d4e}\u{9be}\u{200d}]{1,12}){0,30}",
            columns in 2_usize..30,
        ) {
            let shown = tenon_model::visible(&line);
            for text in [&*line, &*shown] {
                let all: String =
                    rows(text, columns, usize::MAX).into_iter().map(|row| row.text).collect();
                let mut left = all.chars();
                let mut signs = text.chars().filter(char::is_ascii);
                prop_assert!(signs.all(|sign| left.any(|shown| shown == sign)), "{all}");
            }
        }
    }
}
