//! The whole transcript on a screen of its own, with a search. Pure: keys in, bytes out.
//!
//! The text is kept once; rows are places in it, so that a long session costs little more than its
//! length. A line that is wider than the screen takes several rows, and is searched as one.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    keyboard::{KeyCode, KeyEvent, KeyModifiers},
    line::{self, Line},
    surface::Size,
};
use crate::{
    render::{Meaning, Style, measure},
    texts::Text,
};

/// What begins a control sequence; there are none but those of [`Style`] and of boxes.
const SEQUENCE: &str = "\u{1b}[";
const PLAIN: &str = "\u{1b}[0m";

/// Painted text that can be paged through.
pub(crate) struct Pager {
    painted: String,
    /// Where each row begins; it ends where the next one does, without its line end.
    rows: Vec<usize>,
    /// The width that the rows were made for.
    columns: usize,
    top: usize,
    /// Where the row begins that the first screen begins with.
    from: Option<usize>,
    /// Which rows were on the screen.
    seen: Vec<bool>,
    /// The words that were searched for.
    words: String,
    /// Whether they are being typed.
    typing: bool,
    /// The rows in which they begin.
    found: Vec<usize>,
    /// Which of them was gone to last.
    at: Option<usize>,
}

/// Whether the pager stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stays {
    Open,
    Closed,
}

impl Pager {
    /// Returns a pager at the end of `painted`.
    pub(crate) fn at_end(painted: String) -> Self {
        Self {
            painted: fitted(painted),
            rows: Vec::new(),
            columns: 0,
            top: usize::MAX,
            from: None,
            seen: Vec::new(),
            words: String::new(),
            typing: false,
            found: Vec::new(),
            at: None,
        }
    }

    /// Returns a pager at the beginning of `painted`.
    pub(crate) fn at_start(painted: String) -> Self {
        Self { top: 0, ..Self::at_end(painted) }
    }

    /// Returns a pager of `painted` at its end `last`.
    pub(crate) fn at_last(painted: String, last: &str) -> Self {
        let from = painted.len().checked_sub(last.len());
        Self { from, ..Self::at_end(painted) }
    }

    /// Exchanges the text: the screen has another width, or other rows.
    pub(crate) fn set(&mut self, painted: String) {
        if self.painted != painted {
            self.painted = fitted(painted);
            self.columns = 0;
        }
    }

    /// Returns whether the text ends with `last`, and each row of that was on the screen.
    pub(crate) fn has_shown(&self, last: &str) -> bool {
        let from = self.painted.strip_suffix(last).map(str::len);
        let first = from.map(|from| self.row_at(from));
        let seen = first.and_then(|first| self.seen.get(first..));
        seen.is_some_and(|seen| !seen.is_empty() && seen.iter().all(|seen| *seen))
    }

    /// Returns the row in which a place is.
    fn row_at(&self, place: usize) -> usize {
        self.rows.partition_point(|start| *start <= place).saturating_sub(1)
    }

    /// Does what `key` says on a screen of `size`.
    pub(crate) fn press(&mut self, key: KeyEvent, size: Size) -> Stays {
        self.fit(size);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if self.typing {
            match key.code {
                KeyCode::Enter => {
                    self.typing = false;
                    self.search();
                    self.go(true, true, size);
                }
                KeyCode::Char('c') if control => self.typing = false,
                KeyCode::Esc => self.typing = false,
                KeyCode::Backspace => drop(self.words.pop()),
                KeyCode::Char(letter) if !control => self.words.push(letter),
                _ => {}
            }
            return Stays::Open;
        }
        let page = size.rows.saturating_sub(2).max(1);
        match key.code {
            KeyCode::Char('c' | 'o' | 'd') if control => return Stays::Closed,
            KeyCode::Char('q') | KeyCode::Esc => return Stays::Closed,
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => self.top += 1,
            KeyCode::PageUp | KeyCode::Char('b') => self.top = self.top.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => self.top += page,
            KeyCode::Home | KeyCode::Char('g') => self.top = 0,
            KeyCode::End | KeyCode::Char('G') => self.top = usize::MAX,
            KeyCode::Char('n') => self.go(true, false, size),
            KeyCode::Char('N') => self.go(false, false, size),
            KeyCode::Char('/') => {
                self.words.clear();
                self.found.clear();
                self.typing = true;
            }
            _ => {}
        }
        self.top = self.top.min(self.top_max(size));
        Stays::Open
    }

    /// Draws the screen. That commands have no walls is never out of sight.
    pub(crate) fn draw(&mut self, size: Size, style: &Style, is_confined: bool) -> String {
        self.fit(size);
        let mut out = "\u{1b}[?2026h\u{1b}[?25l\u{1b}[?7l\u{1b}[H".to_owned();
        for place in self.top..self.top + size.rows.saturating_sub(1) {
            out.push_str("\u{1b}[K");
            if let Some(seen) = self.seen.get_mut(place) {
                *seen = true;
                if self.found.binary_search(&place).is_ok() {
                    let plain = without_paint(self.text(place));
                    out.push_str(&Line::of(Meaning::Chosen, &plain).paint(style));
                } else {
                    self.paint(place, &mut out);
                }
            }
            out.push_str("\r\n");
        }
        out.push_str("\u{1b}[K");
        out.push_str(&self.foot(size, style, is_confined).paint(style));
        out.push_str("\u{1b}[?7h\u{1b}[?2026l");
        if self.typing {
            out.push_str("\u{1b}[?25h");
        }
        out
    }

    fn text(&self, row: usize) -> &str {
        let start = self.start(row);
        let text = self.painted.get(start..self.start(row + 1)).unwrap_or_default();
        text.strip_suffix('\n').unwrap_or(text)
    }

    fn start(&self, row: usize) -> usize {
        self.rows.get(row).copied().unwrap_or(self.painted.len())
    }

    /// Returns whether a row begins its line.
    fn is_first(&self, row: usize) -> bool {
        let above = self.start(row).checked_sub(1);
        above.is_none_or(|above| self.painted.as_bytes().get(above) == Some(&b'\n'))
    }

    fn paint(&self, row: usize, out: &mut String) {
        let text = self.text(row);
        let start = self.start(row);
        let above = self.painted.get(..start).filter(|_| !self.is_first(row)).unwrap_or_default();
        // A colour that began in the row above goes on.
        let begun = above.rfind('\n').map_or(above, |end| above.get(end..).unwrap_or_default());
        if let Some(place) = begun.rfind(SEQUENCE) {
            let sequence = begun.get(place..).unwrap_or_default();
            out.push_str(sequence.get(..sequence_bytes(sequence)).unwrap_or_default());
        }
        out.push_str(text);
        out.push_str(PLAIN);
    }

    fn foot(&self, size: Size, style: &Style, is_confined: bool) -> Line {
        let mut line = Line::default();
        if !is_confined {
            line.push(Meaning::Error, Text::StatusUnconfined.template(style.language));
            line.push(Meaning::Aside, " · ");
        }
        if self.typing {
            line.push(Meaning::Plain, &format!("/{}", self.words));
            return line.cut(size.columns);
        }
        let end = self.top + size.rows.saturating_sub(1);
        let percent = (end * 100 / self.rows.len().max(1)).min(100);
        line.push(Meaning::Name, &format!("{percent} % "));
        if !self.words.is_empty() {
            let (at, all) = (self.at.map_or(0, |at| at + 1), self.found.len());
            match all {
                0 => {
                    let values: [(&str, &dyn std::fmt::Display); 1] = [("words", &self.words)];
                    let said = Text::PagerNotFound.say(style.language, &values);
                    line.push(Meaning::Warning, &format!("· {said} "));
                }
                _ => line.push(Meaning::Hint, &format!("· /{} {at}/{all} ", self.words)),
            }
        }
        line.push(Meaning::Aside, Text::PagerKeys.template(style.language));
        line.cut(size.columns)
    }

    fn top_max(&self, size: Size) -> usize {
        self.rows.len().saturating_sub(size.rows.saturating_sub(1))
    }

    /// Breaks the lines for the width of the screen, if it is another one.
    fn fit(&mut self, size: Size) {
        if self.columns != size.columns.max(1) {
            self.columns = size.columns.max(1);
            self.rows.clear();
            let mut start = 0;
            for line in self.painted.split_inclusive('\n') {
                let text = line.trim_end_matches('\n');
                self.rows.extend(parts(text, self.columns).iter().map(|part| start + part.start));
                start += line.len();
            }
            self.rows.shrink_to_fit();
            self.seen = vec![false; self.rows.len()];
            if let Some(from) = self.from.take() {
                self.top = self.row_at(from);
            }
            self.search();
        }
        self.top = self.top.min(self.top_max(size));
    }

    /// Finds the rows in which the words begin.
    fn search(&mut self) {
        (self.found, self.at) = (Vec::new(), None);
        let words = self.words.to_lowercase();
        if words.is_empty() || self.typing {
            return;
        }
        let lower = |row: usize| without_paint(self.text(row)).to_lowercase();
        let mut found_in = Vec::new();
        let mut rows = (0..self.rows.len()).peekable();
        while let Some(place) = rows.next() {
            let mut line = lower(place);
            let mut starts = vec![0];
            while let Some(row) = rows.next_if(|row| !self.is_first(*row)) {
                starts.push(line.len());
                line.push_str(&lower(row));
            }
            for (found, _) in line.match_indices(&words) {
                let within = starts.partition_point(|start| *start <= found).saturating_sub(1);
                if found_in.last() != Some(&(place + within)) {
                    found_in.push(place + within);
                }
            }
        }
        self.found = found_in;
    }

    /// Goes to the next row that was found, or to the one before; from the screen if `is_first`.
    fn go(&mut self, down: bool, is_first: bool, size: Size) {
        let all = self.found.len();
        if all == 0 {
            return;
        }
        let next = match self.at.filter(|_| !is_first) {
            Some(at) if down => (at + 1) % all,
            Some(at) => (at + all - 1) % all,
            None => self.found.partition_point(|row| *row < self.top) % all,
        };
        self.at = Some(next);
        self.top = self.found.get(next).copied().unwrap_or(self.top).min(self.top_max(size));
    }
}

/// Returns `painted` without the room that it grew into: there may be megabytes of it.
fn fitted(mut painted: String) -> String {
    painted.shrink_to_fit();
    painted
}

/// Returns the parts of a painted line that fit into `columns` each, however wide emoji are drawn, broken
/// between words where there are some.
fn parts(line: &str, columns: usize) -> Vec<Range<usize>> {
    if line.len() <= columns {
        return std::iter::once(0..line.len()).collect();
    }
    let mut parts = Vec::new();
    let (mut start, mut place, mut column, mut last_break) = (0, 0, 0, None);
    let mut before = "";
    while let Some(rest) = line.get(place..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(SEQUENCE) {
            let used = sequence_bytes(rest);
            // The edge of a box jumps to its column, which is the last.
            if rest.get(..used).is_some_and(|jump| jump.ends_with('G')) {
                column = columns.saturating_sub(1);
            }
            place += used;
            continue;
        }
        let grapheme = rest.graphemes(true).next().unwrap_or(rest);
        let width = measure::widest(grapheme);
        if place > start && line::breaks_between(before, grapheme) {
            last_break = Some(place);
        }
        if column + width > columns && grapheme != " " && place > start {
            let end = last_break.filter(|end| *end > start).unwrap_or(place);
            parts.push(start..end);
            (start, last_break) = (end, None);
            column = measure::widest(&without_paint(line.get(start..place).unwrap_or_default()));
            // What was carried over may be too wide with it, too.
            continue;
        }
        column += width;
        place += grapheme.len();
        before = grapheme;
    }
    parts.push(start..line.len());
    parts
}

/// Returns painted text without its control sequences, which are only ours.
fn without_paint(painted: &str) -> String {
    let mut plain = String::with_capacity(painted.len());
    let mut rest = painted;
    while let Some(place) = rest.find(SEQUENCE) {
        let (before, sequence) = rest.split_at(place);
        plain.push_str(before);
        rest = sequence.get(sequence_bytes(sequence)..).unwrap_or_default();
    }
    plain + rest
}

/// Returns how long the control sequence is that `text` begins with.
fn sequence_bytes(text: &str) -> usize {
    let end = text
        .get(SEQUENCE.len()..)
        .and_then(|rest| rest.find(|letter: char| letter.is_ascii_alphabetic()));
    end.map_or(text.len(), |end| SEQUENCE.len() + end + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::texts::Language;

    const SIZE: Size = Size { columns: 40, rows: 11 };

    fn pager() -> Pager {
        let text: String = (0..100).map(|n| format!("\u{1b}[1mrow\u{1b}[0m {n}\n")).collect();
        Pager::at_end(text)
    }

    const STYLE: Style = Style {
        width: 40,
        colour: true,
        redraws: true,
        language: Language::English,
        theme: crate::render::Theme::Terminal,
    };

    fn screen(pager: &mut Pager) -> Vec<String> {
        let mut screen = vt100::Parser::new(11.try_into().unwrap(), 40.try_into().unwrap(), 0);
        screen.process(pager.draw(SIZE, &STYLE, true).as_bytes());
        screen.screen().rows(0, 40).map(|row| row.trim_end().to_owned()).collect()
    }

    #[test]
    fn it_begins_at_the_end_and_goes_where_it_is_told() {
        let mut pager = pager();
        assert_eq!(screen(&mut pager)[..1], ["row 90"]);
        pager.press(KeyCode::Char('g').into(), SIZE);
        assert_eq!(screen(&mut pager)[..2], ["row 0", "row 1"]);
        pager.press(KeyCode::Char(' ').into(), SIZE);
        assert_eq!(screen(&mut pager)[0], "row 9");
        assert_eq!(pager.press(KeyCode::Char('q').into(), SIZE), Stays::Closed);
    }

    #[test]
    fn the_end_of_a_text_was_shown_once_each_of_its_rows_was_on_the_screen() {
        let question: String = (0..23).map(|n| format!("row {n}\n")).collect();
        let check = |keys: &str, expected: bool| {
            let mut pager = Pager::at_last("before\n".repeat(30) + &question, &question);
            assert_eq!(screen(&mut pager)[0], "row 0");
            for key in keys.chars() {
                pager.press(KeyCode::Char(key).into(), SIZE);
                screen(&mut pager);
            }
            assert_eq!(pager.has_shown(&question), expected, "{keys:?}");
            assert!(!pager.has_shown("another question\n"));
        };
        check("", false);
        check("G", false);
        check(" ", false);
        check("  ", true);
        check("gG", false);
        check("G ", false);
        check("Gbb", true);
        check(&"j".repeat(12), false);
        check(&"j".repeat(13), true);
        let mut pager = Pager::at_last("before\n".to_owned() + &question, &question);
        let size = Size { rows: 60, ..SIZE };
        assert!(!pager.has_shown(&question));
        pager.draw(size, &STYLE, true);
        assert!(pager.has_shown(&question));
        // At another width it begins anew.
        pager.draw(Size { columns: 30, ..SIZE }, &STYLE, true);
        assert!(!pager.has_shown(&question));
    }

    #[test]
    fn that_there_are_no_walls_is_said_in_red_whatever_is_done() {
        let red = "\u{1b}[K\u{1b}[31mno walls\u{1b}";
        for keys in ["", "/row", "/row 4\r", "g"] {
            let mut pager = pager();
            for key in keys.chars() {
                let code = if key == '\r' { KeyCode::Enter } else { KeyCode::Char(key) };
                pager.press(code.into(), SIZE);
            }
            for columns in [12, 40] {
                let size = Size { columns, ..SIZE };
                let drawn = pager.draw(size, &STYLE, false);
                assert!(drawn.contains(red), "{keys:?}: {drawn:?}");
                assert!(!pager.draw(size, &STYLE, true).contains("no walls"), "{keys:?}");
            }
        }
    }

    #[test]
    fn a_search_goes_from_match_to_match_and_round() {
        let mut pager = pager();
        pager.press(KeyCode::Char('g').into(), SIZE);
        for key in "/ROW 4".chars() {
            pager.press(KeyCode::Char(key).into(), SIZE);
        }
        assert_eq!(screen(&mut pager)[10], "/ROW 4");
        pager.press(KeyCode::Enter.into(), SIZE);
        assert_eq!(screen(&mut pager)[0], "row 4");
        pager.press(KeyCode::Char('n').into(), SIZE);
        assert_eq!(screen(&mut pager)[0], "row 40");
        assert!(screen(&mut pager)[10].contains("/ROW 4 2/11"), "{:?}", screen(&mut pager));
        pager.press(KeyCode::Char('N').into(), SIZE);
        pager.press(KeyCode::Char('N').into(), SIZE);
        assert_eq!(screen(&mut pager)[0], "row 49");
        for key in "/nowhere\r".chars() {
            let code = if key == '\r' { KeyCode::Enter } else { KeyCode::Char(key) };
            pager.press(code.into(), SIZE);
        }
        assert!(screen(&mut pager)[10].contains("nowhere"), "{:?}", screen(&mut pager));
    }

    #[test]
    fn a_long_line_takes_several_rows_keeps_its_colour_and_is_searched_as_one() {
        let words = "word ".repeat(20);
        let painted = format!("\u{1b}[31m{words}end of it\u{1b}[0m\n{}\nlast\n", "汉字".repeat(30));
        let mut pager = Pager::at_start(painted);
        let rows = screen(&mut pager);
        assert_eq!(rows[0], "word ".repeat(8).trim_end());
        assert_eq!(rows[2], "word word word word end of it");
        assert_eq!(rows[3], "汉字".repeat(10));
        let drawn = pager.draw(SIZE, &STYLE, true);
        assert!(drawn.contains("\u{1b}[K\u{1b}[31mword word word word end"), "{drawn:?}");
        for key in "/word word word word word word end\r".chars() {
            let code = if key == '\r' { KeyCode::Enter } else { KeyCode::Char(key) };
            pager.press(code.into(), SIZE);
        }
        // It begins in the second row and ends in the third.
        assert_eq!(pager.found, [1]);
        let narrow = Size { columns: 20, rows: 11 };
        pager.draw(narrow, &STYLE, true);
        assert_eq!(pager.found, [3]);
    }

    #[test]
    fn a_row_has_room_for_joined_emoji_drawn_apart_and_ends_between_chinese_words_too() {
        let check = |line: &str, columns: usize, expected: &[&str]| {
            let found: Vec<&str> =
                parts(line, columns).into_iter().map(|part| &line[part]).collect();
            assert_eq!(found, expected);
        };
        check("a 👩\u{200d}👩\u{200d}👧家庭", 10, &["a 👩\u{200d}👩\u{200d}👧家", "庭"]);
        check("  created  文件名很长.rs", 16, &["  created  文件", "名很长.rs"]);
        check("word，文（字） and", 10, &["word，文", "（字） and"]);
    }

    proptest! {
        #[test]
        fn rows_lose_nothing_and_fit(line in r"(\x1b\[3[12]m|\x1b\[0m|[a-c ]|汉|👍){0,60}", columns in 2_usize..20) {
            let parts = parts(&line, columns);
            let joined: String = parts.iter().map(|part| &line[part.clone()]).collect();
            for part in &parts {
                let text = without_paint(&line[part.clone()]);
                prop_assert!(measure::width(text.trim_end()) <= columns, "{text:?}");
            }
            prop_assert_eq!(joined, line);
        }
    }
}
