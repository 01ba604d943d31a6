//! The whole transcript on a screen of its own, with a search. Pure: keys in, bytes out.

use super::{
    keyboard::{KeyCode, KeyEvent, KeyModifiers},
    line::Line,
    surface::Size,
};
use crate::{
    render::{Meaning, Style},
    texts::Text,
};

/// Rows of painted text that can be paged through.
pub(crate) struct Pager {
    rows: Vec<Row>,
    top: usize,
    /// The words that were searched for.
    words: String,
    /// Whether they are being typed.
    typing: bool,
}

struct Row {
    painted: String,
    plain: String,
}

/// Whether the pager stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stays {
    Open,
    Closed,
}

impl Pager {
    /// Returns a pager at the end of `painted`.
    pub(crate) fn at_end(painted: &str) -> Self {
        let mut pager =
            Self { rows: Vec::new(), top: usize::MAX, words: String::new(), typing: false };
        pager.set(painted);
        pager
    }

    /// Returns a pager at the beginning of `painted`.
    pub(crate) fn at_start(painted: &str) -> Self {
        Self { top: 0, ..Self::at_end(painted) }
    }

    /// Exchanges the rows: the screen has another width.
    pub(crate) fn set(&mut self, painted: &str) {
        self.rows = painted
            .lines()
            .map(|line| Row { painted: line.to_owned(), plain: without_paint(line) })
            .collect();
    }

    /// Does what `key` says on a screen of `size`.
    pub(crate) fn press(&mut self, key: KeyEvent, size: Size) -> Stays {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let page = size.rows.saturating_sub(2).max(1);
        self.top = self.top.min(self.top_max(size));
        if self.typing {
            match key.code {
                KeyCode::Enter => {
                    self.typing = false;
                    self.find(true, true, size);
                }
                KeyCode::Esc => self.typing = false,
                KeyCode::Backspace => drop(self.words.pop()),
                KeyCode::Char(letter) if !control => self.words.push(letter),
                _ => {}
            }
            return Stays::Open;
        }
        match key.code {
            KeyCode::Char('c' | 'o' | 'd') if control => return Stays::Closed,
            KeyCode::Char('q') | KeyCode::Esc => return Stays::Closed,
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => self.top += 1,
            KeyCode::PageUp | KeyCode::Char('b') => self.top = self.top.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => self.top += page,
            KeyCode::Home | KeyCode::Char('g') => self.top = 0,
            KeyCode::End | KeyCode::Char('G') => self.top = usize::MAX,
            KeyCode::Char('n') => self.find(true, false, size),
            KeyCode::Char('N') => self.find(false, false, size),
            KeyCode::Char('/') => {
                self.words.clear();
                self.typing = true;
            }
            _ => {}
        }
        self.top = self.top.min(self.top_max(size));
        Stays::Open
    }

    /// Draws the screen.
    pub(crate) fn draw(&mut self, size: Size, style: &Style) -> String {
        self.top = self.top.min(self.top_max(size));
        let mut out = "\u{1b}[?2026h\u{1b}[?25l\u{1b}[?7l\u{1b}[H".to_owned();
        let words = self.words.to_lowercase();
        for place in 0..size.rows.saturating_sub(1) {
            out.push_str("\u{1b}[K");
            if let Some(row) = self.rows.get(self.top + place) {
                let found =
                    !self.typing && !words.is_empty() && row.plain.to_lowercase().contains(&words);
                if found {
                    out.push_str(&Line::of(Meaning::Chosen, &row.plain).paint(style));
                } else {
                    out.push_str(&row.painted);
                }
            }
            out.push_str("\r\n");
        }
        out.push_str("\u{1b}[K");
        out.push_str(&self.foot(size, style).paint(style));
        out.push_str("\u{1b}[?7h\u{1b}[?2026l");
        if self.typing {
            out.push_str("\u{1b}[?25h");
        }
        out
    }

    fn foot(&self, size: Size, style: &Style) -> Line {
        if self.typing {
            return Line::plain(&format!("/{}", self.words)).cut(size.columns);
        }
        let end = self.top + size.rows.saturating_sub(1);
        let percent = (end * 100 / self.rows.len().max(1)).min(100);
        let mut line = Line::of(Meaning::Name, &format!("{percent} % "));
        line.push(Meaning::Aside, Text::PagerKeys.template(style.language));
        line.cut(size.columns)
    }

    fn top_max(&self, size: Size) -> usize {
        self.rows.len().saturating_sub(size.rows.saturating_sub(1))
    }

    /// Goes to the next row that holds the words, or to the one before.
    fn find(&mut self, down: bool, from_here: bool, size: Size) {
        let words = self.words.to_lowercase();
        if words.is_empty() {
            return;
        }
        let fits = |row: &Row| row.plain.to_lowercase().contains(&words);
        let start = self.top + usize::from(!from_here);
        let found = if down {
            let below = self.rows.iter().skip(start).position(fits).map(|place| start + place);
            below.or_else(|| self.rows.iter().position(fits))
        } else {
            let above = self.rows.get(..self.top).unwrap_or_default();
            above.iter().rposition(fits).or_else(|| self.rows.iter().rposition(fits))
        };
        self.top = found.unwrap_or(self.top).min(self.top_max(size));
    }
}

/// Returns painted text without its control sequences, which are only ours.
fn without_paint(painted: &str) -> String {
    let mut plain = String::with_capacity(painted.len());
    let mut rest = painted;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |end| end + 1);
        rest = after.get(end..).unwrap_or_default();
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;

    const SIZE: Size = Size { columns: 40, rows: 11 };

    fn pager() -> Pager {
        let text: String = (0..100).map(|n| format!("\u{1b}[1mrow\u{1b}[0m {n}\n")).collect();
        Pager::at_end(&text)
    }

    fn screen(pager: &mut Pager) -> Vec<String> {
        let style = Style { width: 40, colour: true, redraws: true, language: Language::English };
        let mut screen = vt100::Parser::new(11.try_into().unwrap(), 40.try_into().unwrap(), 0);
        screen.process(pager.draw(SIZE, &style).as_bytes());
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
        pager.press(KeyCode::Char('N').into(), SIZE);
        pager.press(KeyCode::Char('N').into(), SIZE);
        assert_eq!(screen(&mut pager)[0], "row 49");
    }
}
