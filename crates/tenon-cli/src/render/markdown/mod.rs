//! Prose of a model, as Markdown that comes in pieces. A block that is over is given out once and
//! never looked at again, so a piece costs the same however long the message is. Pure.
//!
//! A reader for terminals, not for CommonMark's corners: what is not understood stays as written.

mod blocks;
mod code;
mod inline;
mod table;

pub(crate) use self::{
    blocks::{Block, blocks},
    inline::inline,
};
use self::{code::Highlighter, table::Table};
use super::{
    Meaning,
    line::{Line, Wrap},
};

/// A block longer than this is given out in parts, so that the live part stays cheap to draw.
const BLOCK_BYTES_MAX: usize = 4_096;
/// Deeper items are drawn at this depth.
const DEPTH_MAX: usize = 6;
/// What stands before each row of a quote and of code.
const QUOTE_EDGE: &str = "│ ";
const CODE_EDGE: &str = "  ";
/// Columns of the line that a thematic break draws.
const RULE_COLUMNS: usize = 24;

/// A message that is being written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Markdown {
    open: Open,
    /// The last line, which is not over yet.
    pending: String,
    done: Vec<Line>,
    /// Whether something stands above.
    began: bool,
    /// Whether an empty line stands between this block and the one before it.
    gap: bool,
    /// Whether the block before was an item of a list.
    after_item: bool,
}

/// The block that more may be added to.
#[derive(Debug, Clone, Default)]
enum Open {
    #[default]
    None,
    Paragraph(String),
    Item {
        lead: String,
        text: String,
    },
    Quote(String),
    Table(Table),
    Code {
        fence: String,
        indent: usize,
        highlighter: Highlighter,
    },
}

/// What a line begins.
enum Begins<'a> {
    Nothing,
    Heading { level: usize, text: &'a str },
    Rule,
    Fence { fence: &'a str, language: &'a str },
    Item { marker: String, text: &'a str },
    Quote(&'a str),
    Table,
    Text,
}

impl Markdown {
    /// Adds a piece; `columns` is the width for blocks that are over with it.
    pub(crate) fn push(&mut self, text: &str, columns: usize) {
        self.pending.push_str(text);
        while let Some(end) = self.pending.find('\n') {
            let rest = self.pending.split_off(end + 1);
            let line = std::mem::replace(&mut self.pending, rest);
            self.feed(line.trim_end_matches(['\n', '\r']), columns);
        }
        if self.pending.len() > BLOCK_BYTES_MAX {
            self.split_pending(columns);
        }
    }

    /// Returns the rows that are finished since the last call.
    pub(crate) fn take(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.done)
    }

    /// Ends the message and returns its last rows. The next one begins anew.
    pub(crate) fn finish(&mut self, columns: usize) -> Vec<Line> {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            self.feed(&pending, columns);
        }
        self.close(columns);
        std::mem::take(self).done
    }

    /// Returns whether there is nothing that is not given out.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.done.is_empty() && matches!(self.open, Open::None)
    }

    /// Returns the rows of the block that is being written.
    pub(crate) fn live(&self, columns: usize) -> Vec<Line> {
        let mut copy = Self { done: Vec::new(), ..self.clone() };
        let pending = std::mem::take(&mut copy.pending);
        let is_code = matches!(copy.open, Open::Code { .. });
        // A sign alone may become anything; it is not shown as what it is not.
        let is_sign = pending.chars().all(|c| "#*-+_`~|>=0123456789. ".contains(c));
        if is_code || !is_sign {
            copy.feed(&pending, columns);
        }
        copy.close(columns);
        if is_code {
            let none = Line::default();
            return copy
                .done
                .iter()
                .flat_map(|line| line.wrapped(columns, Wrap::Anywhere, &none, &none))
                .collect();
        }
        copy.done
    }

    /// Gives out the part of a long line that stands before its last space.
    fn split_pending(&mut self, columns: usize) {
        if matches!(self.open, Open::Code { .. }) {
            let line = std::mem::take(&mut self.pending);
            self.feed(&line, columns);
            return;
        }
        let end = self.pending.rfind(' ').map_or(self.pending.len(), |space| space + 1);
        let rest = self.pending.split_off(end);
        let line = std::mem::replace(&mut self.pending, rest);
        self.feed(&line, columns);
        self.close(columns);
        self.gap = false;
        // What follows goes on in the same paragraph.
        self.after_item = true;
        self.open = Open::Item { lead: String::new(), text: String::new() };
    }

    /// Takes in a whole line.
    fn feed(&mut self, line: &str, columns: usize) {
        if self.feed_code(line) {
            return;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let begins = begins(line.trim_start());
        match begins {
            Begins::Nothing => {
                self.close(columns);
                self.gap = true;
            }
            Begins::Heading { text, .. } => {
                self.close(columns);
                self.gap = true;
                self.emit(wrap_all(&inline(text, Meaning::Heading), columns));
                self.gap = true;
            }
            Begins::Rule => {
                self.close(columns);
                self.emit(vec![Line::of(Meaning::Aside, &"─".repeat(RULE_COLUMNS.min(columns)))]);
            }
            Begins::Fence { fence, language } => {
                self.close(columns);
                self.gap |= !self.after_item;
                let (fence, highlighter) = (fence.to_owned(), Highlighter::new(language));
                self.apart();
                self.open = Open::Code { fence, indent, highlighter };
            }
            Begins::Item { marker, text } => {
                self.close(columns);
                let depth = (indent / 2).min(DEPTH_MAX);
                let lead = format!("{}{marker} ", "  ".repeat(depth));
                self.open = Open::Item { lead, text: text.to_owned() };
            }
            Begins::Quote(text) => match &mut self.open {
                Open::Quote(quote) => quote.push_str(&format!("\n{text}")),
                _ => {
                    self.close(columns);
                    self.open = Open::Quote(text.to_owned());
                }
            },
            Begins::Table => match &mut self.open {
                Open::Table(table) => table.push(line),
                _ => {
                    self.close(columns);
                    self.gap = true;
                    let mut table = Table::default();
                    table.push(line);
                    self.open = Open::Table(table);
                }
            },
            Begins::Text => self.feed_text(line, columns),
        }
        if self.open_bytes() > BLOCK_BYTES_MAX {
            if let Open::Table(table) = &mut self.open {
                let rows = table.draw(columns);
                self.emit(rows);
                return;
            }
            self.close(columns);
            self.gap = false;
        }
    }

    /// Goes on with the open block or begins a paragraph.
    fn feed_text(&mut self, line: &str, columns: usize) {
        let text = line.trim_start();
        match &mut self.open {
            Open::Paragraph(open) | Open::Item { text: open, .. } | Open::Quote(open) => {
                join(open, text);
            }
            _ => {
                self.close(columns);
                self.open = Open::Paragraph(text.to_owned());
            }
        }
    }

    /// Takes in a line of code; says whether it was one.
    fn feed_code(&mut self, line: &str) -> bool {
        let Open::Code { fence, indent, highlighter } = &mut self.open else { return false };
        if ends_fence(line, fence) {
            self.open = Open::None;
            self.gap = true;
            self.after_item = false;
            return true;
        }
        let leading = line.len() - line.trim_start_matches(' ').len();
        let mut row = Line::plain(CODE_EDGE);
        row.append(&highlighter.line(line.get(leading.min(*indent)..).unwrap_or_default()));
        self.done.push(row);
        self.began = true;
        true
    }

    fn open_bytes(&self) -> usize {
        match &self.open {
            Open::Paragraph(text) | Open::Item { text, .. } | Open::Quote(text) => text.len(),
            Open::Table(table) => table.bytes(),
            Open::None | Open::Code { .. } => 0,
        }
    }

    /// Ends the open block.
    fn close(&mut self, columns: usize) {
        match std::mem::take(&mut self.open) {
            Open::None => {}
            code @ Open::Code { .. } => self.open = code,
            Open::Paragraph(text) => {
                self.gap |= self.after_item;
                self.emit(wrap_all(&inline(&text, Meaning::Plain), columns));
            }
            Open::Item { lead, text } => {
                self.gap |= !self.after_item && !lead.is_empty();
                if text.is_empty() && lead.is_empty() {
                    return;
                }
                let first = Line::plain(&lead);
                let rest = Line::plain(&" ".repeat(first.width()));
                let mut rows = Vec::new();
                for line in inline(&text, Meaning::Plain) {
                    let first = if rows.is_empty() { &first } else { &rest };
                    rows.extend(line.wrapped(columns, Wrap::Words, first, &rest));
                }
                self.emit(rows);
                self.after_item = true;
            }
            Open::Quote(text) => {
                let edge = Line::of(Meaning::Aside, QUOTE_EDGE);
                let rows = inline(&text, Meaning::Emphasis);
                self.gap = true;
                self.emit(
                    rows.iter()
                        .flat_map(|line| line.wrapped(columns, Wrap::Words, &edge, &edge))
                        .collect(),
                );
            }
            Open::Table(mut table) => {
                self.emit(table.draw(columns));
                self.gap = true;
            }
        }
    }

    fn emit(&mut self, rows: Vec<Line>) {
        self.apart();
        self.done.extend(rows);
        self.began = true;
        self.after_item = false;
    }

    /// Leaves an empty row to the block before, if one is due.
    fn apart(&mut self) {
        if std::mem::take(&mut self.gap) && self.began {
            self.done.push(Line::default());
        }
    }
}

fn wrap_all(lines: &[Line], columns: usize) -> Vec<Line> {
    let none = Line::default();
    lines.iter().flat_map(|line| line.wrapped(columns, Wrap::Words, &none, &none)).collect()
}

/// Joins a line to the one before it. Chinese has no space there.
fn join(open: &mut String, text: &str) {
    if open.ends_with("  ") || open.ends_with('\\') {
        let end = open.trim_end_matches(['\\', ' ']).len();
        open.truncate(end);
        open.push('\n');
    } else if !open.is_empty() {
        let is_wide = |c: Option<char>| c.is_some_and(|c| c >= '\u{2e80}');
        if !is_wide(open.chars().next_back()) || !is_wide(text.chars().next()) {
            open.push(' ');
        }
    }
    open.push_str(text);
}

fn ends_fence(line: &str, fence: &str) -> bool {
    let line = line.trim();
    let sign = fence.chars().next().unwrap_or('`');
    line.starts_with(fence) && line.trim_start_matches(sign).is_empty()
}

fn begins(line: &str) -> Begins<'_> {
    if line.trim().is_empty() {
        return Begins::Nothing;
    }
    for sign in ['`', '~'] {
        let count = line.chars().take_while(|c| *c == sign).count();
        let (fence, language) = line.split_at(count);
        if count >= 3 && !language.contains(sign) {
            return Begins::Fence { fence, language: language.trim() };
        }
    }
    let level = line.chars().take_while(|c| *c == '#').count();
    if let Some(text) = line.get(level..).and_then(|rest| rest.strip_prefix(' '))
        && (1..=6).contains(&level)
    {
        let text = text.trim().trim_end_matches('#').trim_end();
        return Begins::Heading { level, text };
    }
    for sign in ['-', '*', '_'] {
        let without = line.replace(' ', "");
        if without.len() >= 3 && without.chars().all(|c| c == sign) {
            return Begins::Rule;
        }
    }
    if let Some(text) = line.strip_prefix('>') {
        return Begins::Quote(text.strip_prefix(' ').unwrap_or(text));
    }
    if line.starts_with('|') {
        return Begins::Table;
    }
    item(line).unwrap_or(Begins::Text)
}

fn item(line: &str) -> Option<Begins<'_>> {
    if let Some(text) = ["- ", "* ", "+ "].iter().find_map(|sign| line.strip_prefix(sign)) {
        let boxes = [("[ ] ", "☐"), ("[x] ", "☑"), ("[X] ", "☑")];
        let checked = boxes.iter().find_map(|(sign, mark)| Some((mark, text.strip_prefix(sign)?)));
        return Some(match checked {
            Some((mark, text)) => Begins::Item { marker: (*mark).to_owned(), text },
            None => Begins::Item { marker: "•".into(), text },
        });
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = line.split_at(digits);
    let text = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
    (1..=9).contains(&digits).then(|| Begins::Item { marker: format!("{number}."), text })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::render::Style;

    fn whole(text: &str, columns: usize) -> String {
        let mut markdown = Markdown::default();
        markdown.push(text, columns);
        let mut rows = markdown.take();
        rows.extend(markdown.finish(columns));
        rows.iter().map(|row| row.text().trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn blocks_are_drawn_as_people_expect_them() {
        let text = "# Title\nFirst *line*\nof a paragraph.\n\n- one\n- two **bold**\n  goes on\n\n\
                    1. first\n2. second\n\n> quoted\n\n```rust\nlet x = 1;\n\n```\nAfter.\n\n---\nEnd";
        let expected = "Title\n\nFirst line of a paragraph.\n\n• one\n• two bold goes on\n\n\
                        1. first\n2. second\n\n│ quoted\n\n  let x = 1;\n\n\nAfter.\n\n\
                        ────────────────────────\nEnd\n";
        assert_eq!(whole(text, 60), expected);
    }

    #[test]
    fn rows_of_items_and_chinese_are_broken_where_they_may() {
        assert_eq!(whole("- one two three", 9), "• one two\n  three\n");
        assert_eq!(whole("汉字\n汉字，好", 40), "汉字汉字，好\n");
        assert_eq!(whole("  - deep\n", 40), "  • deep\n");
    }

    #[test]
    fn code_is_given_out_line_by_line_and_never_broken() {
        let mut markdown = Markdown::default();
        markdown.push("```\nfirst line of code\nsec", 10);
        let rows = markdown.take();
        assert_eq!(rows.iter().map(Line::text).collect::<Vec<_>>(), ["  first line of code"]);
        assert_eq!(markdown.live(10).iter().map(Line::text).collect::<String>(), "  sec");
    }

    #[test]
    fn code_is_coloured_while_it_is_written_and_when_it_is_done() {
        let style = Style::IN_COLOUR;
        let mut markdown = Markdown::default();
        markdown.push("```rust\nlet a;\nlet b", 80);
        for rows in [markdown.take(), markdown.live(80)] {
            let painted: Vec<String> = rows.iter().map(|row| row.paint(&style)).collect();
            assert_eq!(painted.len(), 1);
            assert!(painted[0].starts_with("  \u{1b}[35mlet\u{1b}[0m "), "{painted:?}");
        }
    }

    #[test]
    fn a_block_is_live_until_it_is_over() {
        let mut markdown = Markdown::default();
        markdown.push("Hello **wor", 40);
        assert!(markdown.take().is_empty());
        assert_eq!(markdown.live(40)[0].text(), "Hello **wor");
        markdown.push("ld**\n\nNext", 40);
        assert_eq!(markdown.take()[0].text(), "Hello world");
        assert_eq!(markdown.live(40).iter().map(Line::text).collect::<Vec<_>>(), ["", "Next"]);
    }

    #[test]
    fn an_endless_paragraph_is_given_out_in_parts() {
        let mut markdown = Markdown::default();
        let mut given = 0;
        for _ in 0..5_000 {
            markdown.push("word ", 80);
            given += markdown.take().len();
            assert!(markdown.pending.len() + markdown.open_bytes() <= BLOCK_BYTES_MAX + 5);
        }
        assert!(given > 200, "{given}");
    }

    #[test]
    fn a_long_table_is_given_out_in_parts_that_are_one_table() {
        let mut text = "Rows:\n| number | what |\n|---|---|\n".to_owned();
        (0..500).for_each(|n| text.push_str(&format!("| {n} | row 汉字 {n} |\n")));
        let mut markdown = Markdown::default();
        markdown.push(&text, 40);
        assert!(markdown.take().len() > 300);
        let drawn = whole(&(text + "\nEnd"), 40);
        let rows: Vec<&str> = drawn.lines().collect();
        assert_eq!(rows[..4], ["Rows:", "", "number │ what", "───────┼─────────────"]);
        assert_eq!(rows[503..], ["499    │ row 汉字 499", "", "End"]);
        assert!(rows[4..504].iter().all(|row| row.chars().nth(7) == Some('│')), "{drawn}");
    }

    /// What is kept of a message, which is all that a further piece of it can cost.
    #[test]
    fn a_piece_costs_the_same_however_long_the_message_is() {
        let kinds = [
            "word ",
            "no_space",
            "汉字",
            "- item\n",
            "> quote\n",
            "| a | b |\n",
            "1. a\n\n",
            "line\n",
            "# heading\n",
            "*a _b ",
            "`",
            "[x](",
            "---\n",
            "\t",
            "```rs\nlet a;\n```\n",
            "a  \n",
        ];
        for begun in ["", "- ", "> ", "| ", "```\n", "# "] {
            for kind in kinds {
                let mut markdown = Markdown::default();
                markdown.push(begun, 80);
                for _ in 0..10_000 {
                    markdown.push(kind, 80);
                    markdown.take();
                    let kept = markdown.pending.len() + markdown.open_bytes();
                    assert!(kept <= BLOCK_BYTES_MAX + kind.len(), "{begun:?} {kind:?}: {kept}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_give_the_same_as_the_whole(
            text in r"[a-c汉*_`#>|\-+1-3. \n~\[\]()!\\]{0,200}",
            cuts in proptest::collection::vec(0_usize..200, 0..6),
        ) {
            let mut markdown = Markdown::default();
            let mut rows = Vec::new();
            let mut start = 0;
            let mut cuts = cuts.clone();
            cuts.sort_unstable();
            for cut in cuts {
                if cut >= start && text.is_char_boundary(cut) && cut <= text.len() {
                    markdown.push(&text[start..cut], 30);
                    markdown.live(30);
                    rows.extend(markdown.take());
                    start = cut;
                }
            }
            markdown.push(&text[start..], 30);
            rows.extend(markdown.take());
            rows.extend(markdown.finish(30));
            let shown: String = rows.iter().map(|row| row.text().trim_end().to_owned() + "\n").collect();
            prop_assert_eq!(shown, whole(&text, 30));
        }
    }
}
