//! A line of styled text, and lines broken to a width.
//!
//! Whatever is pushed is made visible first, so a line never holds a control sequence: the only
//! escapes that reach the terminal are those of [`Line::paint`] and of the surface.

use tenon_model::visible;
use unicode_segmentation::UnicodeSegmentation;

use super::{Meaning, Piece, Style, measure};

/// Closing marks that must not begin a row; in Chinese there is no space to break at.
const CLOSING: &str = "，。、；：！？）》」』】”’…,.;:!?)]}";
/// Opening marks that must not end a row.
const OPENING: &str = "（《「『【“‘([{";

/// Bytes of a line beyond which its tabs are not reckoned from its beginning, which would cost more
/// with each of them; no screen is that wide.
const TABS_BYTES_MAX: usize = 4_096;

/// One line of styled text without line ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pieces: Vec<Piece>,
    /// Of all the text.
    bytes: usize,
}

/// How a line that is too long is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// Between words: prose.
    Words,
    /// Wherever the row is full: code.
    Anywhere,
}

/// One character as a person sees it, with what it takes.
struct Cell<'a> {
    text: &'a str,
    meaning: Meaning,
    columns: usize,
}

impl Line {
    /// Returns a line of one piece.
    pub(crate) fn of(meaning: Meaning, text: &str) -> Self {
        let mut line = Self::default();
        line.push(meaning, text);
        line
    }

    /// Returns a line of plain text.
    pub(crate) fn plain(text: &str) -> Self {
        Self::of(Meaning::Plain, text)
    }

    /// Adds `text`, made visible; line ends become spaces.
    pub(crate) fn push(&mut self, meaning: Meaning, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut shown = measure::bounded(&visible(text)).into_owned();
        if shown.contains('\n') {
            shown = shown.replace('\n', " ");
        }
        if shown.contains('\t') {
            let column = if self.bytes > TABS_BYTES_MAX { 0 } else { self.width() };
            shown = expanded(&shown, column);
        }
        self.add(meaning, &shown);
    }

    /// Adds what was in a line already.
    fn add(&mut self, meaning: Meaning, shown: &str) {
        self.bytes += shown.len();
        match self.pieces.last_mut() {
            Some(last) if last.meaning == meaning => last.text.push_str(shown),
            _ => self.pieces.push(Piece { text: shown.to_owned(), meaning }),
        }
    }

    /// Returns what it is made of, safe to print.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Adds all of `other`.
    pub(crate) fn append(&mut self, other: &Self) {
        for piece in &other.pieces {
            self.add(piece.meaning, &piece.text);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the columns that it takes where emoji are drawn joined.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|piece| measure::width(&piece.text)).sum()
    }

    /// Returns the text alone.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// Returns the text with the colours of `style`.
    pub(crate) fn paint(&self, style: &Style) -> String {
        self.pieces.iter().map(|piece| style.paint(piece.meaning, &piece.text)).collect()
    }

    /// Returns the line in one row, with an ellipsis if it is wider than `columns`.
    pub(crate) fn cut(&self, columns: usize) -> Self {
        let cells = self.cells(usize::MAX, measure::widest);
        if cells.iter().map(|cell| cell.columns).sum::<usize>() <= columns {
            return self.clone();
        }
        let mut left = columns.saturating_sub(1);
        let fits = |cell: &&Cell<'_>| match left.checked_sub(cell.columns) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let mut row = Self::default();
        for cell in cells.iter().take_while(fits) {
            row.add(cell.meaning, cell.text);
        }
        row.push(Meaning::Aside, "…");
        row
    }

    /// Returns the rows of at most `columns` that it takes, the first led by `first` and each
    /// other by `rest`.
    pub(crate) fn wrapped(
        &self,
        columns: usize,
        wrap: Wrap,
        first: &Self,
        rest: &Self,
    ) -> Vec<Self> {
        self.broken(columns, wrap, [first, rest], measure::widest)
    }

    /// Returns the same in rows that no terminal cuts anything off, however wide it draws what is not
    /// ASCII: for what a person must have seen. They are shorter than they would have to be on most.
    pub(crate) fn wrapped_uncut(
        &self,
        columns: usize,
        wrap: Wrap,
        first: &Self,
        rest: &Self,
    ) -> Vec<Self> {
        self.broken(columns, wrap, [first, rest], measure::most_columns)
    }

    fn broken(
        &self,
        columns: usize,
        wrap: Wrap,
        leads: [&Self; 2],
        columns_of: fn(&str) -> usize,
    ) -> Vec<Self> {
        let room = |lead: &Self| columns.saturating_sub(columns_of(&lead.text())).max(1);
        let [first, rest] = leads.map(|lead| (lead, room(lead)));
        let cells = self.cells(first.1.min(rest.1), columns_of);
        let mut rows = Vec::new();
        let mut start = 0;
        loop {
            let (lead, room) = if rows.is_empty() { first } else { rest };
            let mut row = lead.clone();
            let end = row_end(&cells, start, room, wrap);
            for cell in cells.get(start..end).unwrap_or_default() {
                row.add(cell.meaning, cell.text);
            }
            rows.push(row);
            start = end;
            while wrap == Wrap::Words && cells.get(start).is_some_and(|cell| cell.text == " ") {
                start += 1;
            }
            if start >= cells.len() {
                return rows;
            }
        }
    }

    /// Returns whether terminals may disagree about its width.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.cells(usize::MAX, measure::widest).iter().any(|cell| measure::is_doubtful(cell.text))
    }

    /// Returns its graphemes, those of more than `columns_max` in single characters.
    fn cells(&self, columns_max: usize, columns_of: fn(&str) -> usize) -> Vec<Cell<'_>> {
        let mut cells = Vec::new();
        for piece in &self.pieces {
            let cell = |text| Cell { text, meaning: piece.meaning, columns: columns_of(text) };
            for grapheme in piece.text.graphemes(true).map(cell) {
                if grapheme.columns <= columns_max {
                    cells.push(grapheme);
                } else {
                    cells.extend(grapheme.text.split_inclusive(|_| true).map(cell));
                }
            }
        }
        cells
    }
}

/// Returns where the row that begins at `start` ends.
fn row_end(cells: &[Cell<'_>], start: usize, room: usize, wrap: Wrap) -> usize {
    let (mut used, mut place, mut last_break) = (0, start, None);
    while let Some(cell) = cells.get(place) {
        if used + cell.columns > room {
            break;
        }
        used += cell.columns;
        place += 1;
        let next = place.checked_sub(1).and_then(|b| cells.get(b)).zip(cells.get(place));
        let may_end = next.is_some_and(|(before, after)| breaks_between(before.text, after.text));
        if wrap == Wrap::Words && may_end {
            last_break = Some(place);
        }
    }
    let full = place.max(start + 1);
    match cells.get(place) {
        None => cells.len().max(start),
        Some(cell) if wrap == Wrap::Anywhere || cell.text == " " => full,
        Some(_) => last_break.filter(|place| *place > start).unwrap_or(full),
    }
}

/// Returns whether a row may end between two graphemes: at a space, and beside a wide one.
pub(crate) fn breaks_between(before: &str, after: &str) -> bool {
    let is_wide = |grapheme| measure::widths(grapheme).1 > 1;
    if before == " " || after == " " {
        return true;
    }
    (is_wide(before) || is_wide(after)) && !CLOSING.contains(after) && !OPENING.contains(before)
}

/// Returns `text` with tabs as spaces up to the next stop; `column` stands before it.
fn expanded(text: &str, column: usize) -> String {
    const STOP: usize = 4;
    let mut column = column;
    let mut shown = String::with_capacity(text.len() + STOP);
    for grapheme in text.graphemes(true) {
        if grapheme == "\t" {
            let spaces = STOP - column % STOP;
            shown.extend(std::iter::repeat_n(' ', spaces));
            column += spaces;
        } else {
            shown.push_str(grapheme);
            column += measure::width(grapheme);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str, columns: usize, wrap: Wrap) -> Vec<String> {
        let none = Line::default();
        Line::plain(text)
            .wrapped(columns, wrap, &none, &none)
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn prose_breaks_between_words_and_chinese_anywhere_but_before_a_mark() {
        let cases: [(&str, usize, &[&str]); 7] = [
            ("one two three", 8, &["one two", "three"]),
            ("one two", 7, &["one two"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("汉字汉字", 6, &["汉字汉", "字"]),
            ("汉字，汉", 4, &["汉", "字，", "汉"]),
            ("a  b", 2, &["a", "b"]),
            ("", 5, &[""]),
        ];
        for (text, columns, expected) in cases {
            assert_eq!(rows(text, columns, Wrap::Words), expected, "{text}");
        }
    }

    #[test]
    fn code_keeps_its_spaces() {
        assert_eq!(rows("if  x:", 4, Wrap::Anywhere), ["if  ".trim_end(), "x:"]);
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_gets_into_a_line() {
        let line = Line::plain("a\u{1b}[31mb\r\nc\u{202e}d\te");
        assert_eq!(line.text(), "a␛[31mb␍ c⟨U+202E⟩d e");
        let style = Style::IN_COLOUR;
        assert_eq!(Line::of(Meaning::Error, "x").paint(&style), "\u{1b}[31mx\u{1b}[0m");
    }

    #[test]
    fn a_cut_line_says_so_and_fits() {
        assert_eq!(Line::plain("汉字汉字").cut(6).text(), "汉字…");
        assert_eq!(Line::plain("whole").cut(5).text(), "whole");
        assert_eq!(Line::plain("x").cut(0).text(), "…");
    }

    proptest! {
        #[test]
        fn rows_fit_and_lose_nothing_but_spaces(text in r"[a-z 汉字，👍]{0,60}", columns in 4_usize..30) {
            for wrap in [Wrap::Words, Wrap::Anywhere] {
                let none = Line::default();
                let all = Line::plain(&text).wrapped(columns, wrap, &none, &none);
                prop_assert!(all.iter().all(|row| row.width() <= columns));
                let joined: String = all.iter().map(Line::text).collect();
                prop_assert_eq!(joined.replace(' ', ""), text.replace(' ', ""));
            }
        }

        #[test]
        fn of_uncut_rows_no_terminal_cuts_anything_off(
            text in r"([ -~]|\PC|[\u{300}\u{302e}\u{600}\u{70f}\u{d4e}\u{9be}\u{200d}㉈👩]{1,12}){0,30}",
            columns in 8_usize..30,
        ) {
            let line = Line::plain(&text);
            let (lead, rest) = (Line::plain("▌ "), Line::plain("      "));
            for wrap in [Wrap::Words, Wrap::Anywhere] {
                let rows = line.wrapped_uncut(columns, wrap, &lead, &rest);
                let texts: Vec<String> = rows.iter().map(Line::text).collect();
                prop_assert!(texts.iter().all(|row| measure::most_columns(row) <= columns), "{texts:?}");
                let joined: String = texts.concat();
                prop_assert_eq!(joined.replace([' ', '▌'], ""), line.text().replace([' ', '▌'], ""));
            }
        }
    }
}
