//! A small terminal of our own: what is finished goes into the terminal's own scrollback, and
//! beneath it a live part is kept that is redrawn row by row. Pure: text in, bytes out.
//!
//! Nothing is asked of the terminal: where the live part begins follows from what was drawn. It
//! never scrolls by itself, because it is lower than the screen and its rows do not wrap. All of
//! one drawing stands within a synchronized update, so that no half of it is ever seen.

use crate::render::Style;

use super::line::Line;

/// Synchronized update (DEC private mode 2026): terminals without it ignore the mode.
const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?2026l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";
/// Auto wrap off and on: a row of the live part is cut where a terminal finds it wider than we do.
const NO_WRAP: &str = "\u{1b}[?7l";
const WRAP: &str = "\u{1b}[?7h";
/// Erase in Display, from the cursor on; Erase in Line, likewise.
const ERASE_BELOW: &str = "\u{1b}[J";
const ERASE_ROW: &str = "\u{1b}[K";

/// The size of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// What stands beneath the scrollback now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub rows: Vec<Line>,
    /// Where the cursor stands; hidden if nowhere.
    pub caret: Option<Caret>,
}

/// A place in the live part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Caret {
    pub row: usize,
    /// What stands before it in its row. Printed again if terminals may disagree about its width,
    /// so that the cursor stands where this terminal has the text end.
    pub before: Line,
}

/// What the terminal shows of the live part.
#[derive(Debug, Default)]
pub(crate) struct Surface {
    /// Whether the terminal breaks lines anew when it gets narrower, as nearly all do.
    reflows: bool,
    rows: Vec<Drawn>,
    /// The row and column where the cursor stands.
    at: (usize, usize),
    columns: usize,
    shows_cursor: Option<bool>,
}

#[derive(Debug, PartialEq, Eq)]
struct Drawn {
    painted: String,
    columns: usize,
}

impl Surface {
    pub(crate) fn new(reflows: bool) -> Self {
        Self { reflows, ..Self::default() }
    }

    /// Returns what makes the terminal show `finished` above and `frame` below. `finished` is
    /// painted text in whole lines.
    pub(crate) fn draw(
        &mut self,
        size: Size,
        finished: &str,
        frame: &Frame,
        style: &Style,
    ) -> String {
        let mut out = String::new();
        if size.columns != self.columns {
            self.go_to_start_after_resize(size.columns, &mut out);
        }
        if !finished.is_empty() {
            self.go_to(0, &mut out);
            out.push_str(ERASE_BELOW);
            for line in finished.lines() {
                out.push_str(line);
                out.push_str("\r\n");
            }
            self.forget();
        }
        let rows: Vec<Drawn> = frame
            .rows
            .iter()
            .map(|row| Drawn { painted: row.paint(style), columns: row.width() })
            .collect();
        self.replace_rows(rows, &mut out);
        let moved = self.place_caret(frame.caret.as_ref(), style, &mut out);
        if out.is_empty() && !moved {
            return out;
        }
        let cursor = if frame.caret.is_some() { SHOW_CURSOR } else { "" };
        format!("{BEGIN}{out}{cursor}{END}")
    }

    /// Returns what takes the live part away, with the cursor where it began.
    pub(crate) fn clear(&mut self) -> String {
        let mut out = String::new();
        self.go_to(0, &mut out);
        out.push_str(ERASE_BELOW);
        out.push_str(SHOW_CURSOR);
        self.forget();
        out
    }

    /// Takes in that the cursor stands at the start of an empty row.
    pub(crate) fn forget(&mut self) {
        self.rows.clear();
        self.at = (0, 0);
        self.shows_cursor = None;
    }

    /// Takes in that somebody else hid the cursor.
    pub(crate) fn cursor_was_hidden(&mut self) {
        self.shows_cursor = None;
    }

    fn replace_rows(&mut self, rows: Vec<Drawn>, out: &mut String) {
        let mut written = false;
        for (place, row) in rows.iter().enumerate() {
            match self.rows.get(place) {
                Some(old) if old == row => continue,
                Some(_) => self.go_to(place, out),
                None if place > 0 => {
                    self.go_to(place - 1, out);
                    out.push_str("\r\n");
                    self.at = (place, 0);
                }
                None => out.push('\r'),
            }
            if !std::mem::replace(&mut written, true) {
                out.push_str(NO_WRAP);
            }
            // Erased first: at the edge of the screen an erasure would take the last character.
            out.push_str(ERASE_ROW);
            out.push_str(&row.painted);
            self.at = (place, row.columns);
        }
        if written {
            out.push_str(WRAP);
        }
        if self.rows.len() > rows.len() {
            self.go_to(rows.len(), out);
            out.push_str(ERASE_BELOW);
        }
        self.rows = rows;
    }

    /// Puts the cursor where it belongs and returns whether its look or place changes.
    fn place_caret(&mut self, caret: Option<&Caret>, style: &Style, out: &mut String) -> bool {
        let changed = self.shows_cursor.replace(caret.is_some()) != Some(caret.is_some());
        let Some(caret) = caret else { return changed };
        let column = caret.before.width();
        if out.is_empty() && !changed && self.at == (caret.row, column) {
            return false;
        }
        self.go_to(caret.row, out);
        if caret.before.is_doubtful() {
            out.push_str(&caret.before.paint(style));
        } else if column > 0 {
            out.push_str(&format!("\u{1b}[{column}C"));
        }
        self.at = (caret.row, column);
        true
    }

    /// Goes to the first column of a row of the live part.
    fn go_to(&mut self, row: usize, out: &mut String) {
        out.push('\r');
        let (at, _) = self.at;
        if row < at {
            out.push_str(&format!("\u{1b}[{}A", at - row));
        } else if row > at {
            out.push_str(&format!("\u{1b}[{}B", row - at));
        }
        self.at = (row, 0);
    }

    /// The terminal has broken the rows anew, so that more of them may stand above the cursor.
    fn go_to_start_after_resize(&mut self, columns: usize, out: &mut String) {
        let (row, column) = self.at;
        let narrower = columns < self.columns && self.reflows;
        let taken = |drawn: &Drawn| match drawn.columns.div_ceil(columns.max(1)) {
            rows if narrower => rows.max(1),
            _ => 1,
        };
        let above: usize = self.rows.iter().take(row).map(taken).sum();
        let beside = if narrower { column / columns.max(1) } else { 0 };
        self.at = (above + beside, 0);
        if self.columns > 0 {
            self.go_to(0, out);
            out.push_str(ERASE_BELOW);
        }
        self.forget();
        self.columns = columns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{render::Meaning, texts::Language};

    const STYLE: Style = Style {
        width: 20,
        colour: true,
        redraws: true,
        language: Language::English,
        theme: crate::render::Theme::Terminal,
    };

    struct Screen {
        surface: Surface,
        parser: vt100::Parser,
        size: Size,
    }

    impl Screen {
        fn new(columns: usize, rows: usize) -> Self {
            let size = |n: usize| u16::try_from(n).unwrap().try_into().unwrap();
            let parser = vt100::Parser::new(size(rows), size(columns), 100);
            Self { surface: Surface::new(false), parser, size: Size { columns, rows } }
        }

        fn draw(&mut self, finished: &str, rows: &[&str], caret: Option<(usize, &str)>) -> String {
            let caret = caret.map(|(row, before)| Caret { row, before: Line::plain(before) });
            let rows = rows.iter().map(|row| Line::plain(row)).collect();
            let text = self.surface.draw(self.size, finished, &Frame { rows, caret }, &STYLE);
            self.parser.process(text.as_bytes());
            text
        }

        /// Returns the rows from the top of the scrollback to the last that is not empty.
        fn all(&mut self) -> Vec<String> {
            let screen = self.parser.screen_mut();
            screen.set_scrollback(usize::MAX);
            let above = screen.scrollback();
            let columns = u16::try_from(self.size.columns).unwrap();
            let mut rows = Vec::new();
            for offset in (0..=above).rev() {
                screen.set_scrollback(offset);
                let visible: Vec<String> = screen.rows(0, columns).collect();
                let take = if offset == 0 { visible.len() } else { 1 };
                rows.extend(visible.into_iter().take(take));
            }
            screen.set_scrollback(0);
            while rows.last().is_some_and(|row| row.trim().is_empty()) {
                rows.pop();
            }
            rows
        }
    }

    #[test]
    fn finished_lines_go_above_the_live_part_and_none_is_lost() {
        let mut screen = Screen::new(20, 6);
        screen.draw("one\n", &["live", "> ", "status"], Some((1, "> ")));
        assert_eq!(screen.parser.screen().cursor_position(), (2, 2));
        for n in 0..20 {
            screen.draw(&format!("line {n}\n"), &["live", "> ", "status"], Some((1, "> ")));
        }
        let mut expected = vec!["one".to_owned()];
        expected.extend((0..20).map(|n| format!("line {n}")));
        expected.extend(["live", "> ", "status"].map(|row| row.trim_end().to_owned()));
        let all: Vec<String> = screen.all().iter().map(|row| row.trim_end().to_owned()).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn only_rows_that_differ_are_written_and_nothing_for_nothing() {
        let mut screen = Screen::new(20, 6);
        screen.draw("", &["live", "> a", "status"], Some((1, "> a")));
        assert_eq!(screen.draw("", &["live", "> a", "status"], Some((1, "> a"))), "");
        let text = screen.draw("", &["live", "> ab", "status"], Some((1, "> ab")));
        assert!(text.contains("> ab") && !text.contains("live") && !text.contains("status"));
        screen.draw("", &["more", "live", "> ab", "status"], Some((2, "> ab")));
        assert_eq!(screen.all(), ["more", "live", "> ab", "status"]);
        screen.draw("", &["> ", "status"], Some((0, "> ")));
        assert_eq!(screen.all(), ["> ", "status"]);
    }

    #[test]
    fn a_row_of_the_whole_width_keeps_its_last_character_and_does_not_wrap() {
        let mut screen = Screen::new(10, 5);
        screen.draw("", &["0123456789", "> "], Some((1, "> ")));
        screen.draw("", &["012345678X", "> "], Some((1, "> ")));
        screen.draw("", &["012345678X and more", "> "], Some((1, "> ")));
        assert_eq!(screen.all().len(), 2);
        assert!(screen.all()[0].starts_with("012345678"));
    }

    #[test]
    fn a_finished_line_may_be_wider_than_the_screen() {
        let mut screen = Screen::new(10, 8);
        screen.draw("", &["> "], Some((0, "> ")));
        screen.draw("0123456789abcdef\nend\n", &["> "], Some((0, "> ")));
        assert_eq!(screen.all(), ["0123456789", "abcdef", "end", "> "]);
    }

    #[test]
    fn a_terminal_that_breaks_lines_anew_is_cleared_from_where_the_live_part_then_begins() {
        let mut surface = Surface::new(true);
        let rows = vec![Line::plain("x".repeat(20).as_str()), Line::plain("> "), Line::plain("s")];
        let frame = Frame { rows, caret: Some(Caret { row: 1, before: Line::plain("> ") }) };
        surface.draw(Size { columns: 20, rows: 9 }, "", &frame, &STYLE);
        let narrower = Size { columns: 10, rows: 9 };
        let text = surface.draw(narrower, "", &frame, &STYLE);
        // The first row takes two now, so the cursor's row is the third.
        assert!(text.starts_with("\u{1b}[?2026h\u{1b}[?25l\r\u{1b}[2A\u{1b}[J"), "{text:?}");
        let wider = surface.draw(Size { columns: 30, rows: 9 }, "", &frame, &STYLE);
        assert!(wider.starts_with("\u{1b}[?2026h\u{1b}[?25l\r\u{1b}[1A\u{1b}[J"), "{wider:?}");
    }

    #[test]
    fn every_drawing_is_one_synchronized_update() {
        let mut surface = Surface::new(true);
        let frame = Frame { rows: vec![Line::of(Meaning::Error, "no")], caret: None };
        let text = surface.draw(Size { columns: 20, rows: 9 }, "done\n", &frame, &STYLE);
        assert!(text.starts_with(BEGIN) && text.ends_with(END), "{text:?}");
        assert!(!text.contains(SHOW_CURSOR));
    }
}
