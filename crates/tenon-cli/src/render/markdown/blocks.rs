//! A whole text as blocks, for what is no terminal: read like a message that is being written, but
//! neither broken into rows nor given out in parts. Pure.

use super::{
    super::line::Line,
    Begins, DEPTH_MAX, begins,
    code::Highlighter,
    ends_fence, join,
    table::{is_divider, split},
};

/// A piece of prose. Its texts hold what [`super::inline()`] reads, cells of a table too.
#[derive(Debug, PartialEq)]
pub(crate) enum Block {
    Heading {
        /// From 1, the highest, to 6.
        level: usize,
        text: String,
    },
    Paragraph(String),
    Item {
        /// How many lists it stands in besides its own, if those around it go on.
        depth: usize,
        /// What stands before it: a bullet, a box or a number with a full stop.
        marker: String,
        text: String,
    },
    Quote(String),
    Table {
        has_head: bool,
        rows: Vec<Vec<String>>,
    },
    Code {
        /// Whether it belongs to the item before it.
        is_in_item: bool,
        lines: Vec<Line>,
    },
    Rule,
}

/// Code whose end is not reached.
struct OpenCode<'a> {
    fence: &'a str,
    indent: usize,
    highlighter: Highlighter,
    lines: Vec<Line>,
}

/// Returns the blocks of `text`.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut code: Option<OpenCode<'_>> = None;
    // Whether the last block may go on.
    let mut open = false;
    for line in text.lines() {
        if let Some(within) = &mut code {
            if ends_fence(line, within.fence) {
                blocks.extend(code.take().map(OpenCode::block));
            } else {
                within.line(line);
            }
            continue;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let begun = begins(line.trim_start());
        if let Begins::Fence { fence, language } = begun {
            let highlighter = Highlighter::new(language);
            code = Some(OpenCode { fence, indent, highlighter, lines: Vec::new() });
            open = false;
        } else {
            open = feed(line, indent, begun, open, &mut blocks);
        }
    }
    blocks.extend(code.map(OpenCode::block));
    blocks
}

/// Takes in a line that is no code and returns whether its block may go on.
fn feed(
    line: &str,
    indent: usize,
    begins: Begins<'_>,
    open: bool,
    blocks: &mut Vec<Block>,
) -> bool {
    let last = blocks.last_mut().filter(|_| open);
    match (begins, last) {
        (Begins::Nothing | Begins::Fence { .. }, _) => return false,
        (Begins::Heading { level, text }, _) => {
            blocks.push(Block::Heading { level, text: text.to_owned() });
            return false;
        }
        (Begins::Rule, _) => {
            blocks.push(Block::Rule);
            return false;
        }
        (Begins::Item { marker, text }, _) => {
            let depth = (indent / 2).min(DEPTH_MAX);
            blocks.push(Block::Item { depth, marker, text: text.to_owned() });
        }
        (Begins::Quote(text), Some(Block::Quote(quote))) => quote.push_str(&format!("\n{text}")),
        (Begins::Quote(text), _) => blocks.push(Block::Quote(text.to_owned())),
        (Begins::Table, Some(Block::Table { has_head, rows })) => match is_divider(line) {
            true => *has_head |= rows.len() == 1,
            false => rows.push(split(line)),
        },
        (Begins::Table, _) => {
            blocks.push(Block::Table { has_head: false, rows: vec![split(line)] })
        }
        (
            Begins::Text,
            Some(Block::Paragraph(text) | Block::Item { text, .. } | Block::Quote(text)),
        ) => join(text, line.trim_start()),
        (Begins::Text, _) => {
            let mut text = String::new();
            join(&mut text, line.trim_start());
            blocks.push(Block::Paragraph(text));
        }
    }
    true
}

impl OpenCode<'_> {
    fn line(&mut self, line: &str) {
        let leading = line.len() - line.trim_start_matches(' ').len();
        let line = line.get(leading.min(self.indent)..).unwrap_or_default();
        self.lines.push(self.highlighter.line(line));
    }

    fn block(self) -> Block {
        Block::Code { is_in_item: self.indent > 0, lines: self.lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_only_so_deep() {
        let text: String = (0..2_000).map(|depth| format!("{}- a\n", " ".repeat(depth))).collect();
        let too_deep = |block: &Block| !matches!(block, Block::Item { depth: 0..=DEPTH_MAX, .. });
        assert!(!blocks(&text).iter().any(too_deep));
    }

    #[test]
    fn a_text_is_its_blocks() {
        let text = "## Ti tle ##\nFirst\nsecond  \nthird\n\n1. one\n   - two\n     goes on\n\
                    ---\n> a\n> b\n\n|x|y|\n|-|-|\n|1|`a\\|b`|\nText\n  ```rust\n  let\n    x\n  ```\n~~~\nno end";
        let text_of = |text: &str| text.to_owned();
        let expected = [
            Block::Heading { level: 2, text: text_of("Ti tle") },
            Block::Paragraph(text_of("First second\nthird")),
            Block::Item { depth: 0, marker: text_of("1."), text: text_of("one") },
            Block::Item { depth: 1, marker: text_of("•"), text: text_of("two goes on") },
            Block::Rule,
            Block::Quote(text_of("a\nb")),
            Block::Table {
                has_head: true,
                rows: vec![vec![text_of("x"), text_of("y")], vec![text_of("1"), text_of("`a|b`")]],
            },
            Block::Paragraph(text_of("Text")),
        ];
        let found = blocks(text);
        assert_eq!(found[..expected.len()], expected);
        let code = |block: &Block| match block {
            Block::Code { is_in_item, lines } => {
                (*is_in_item, lines.iter().map(Line::text).collect::<Vec<_>>())
            }
            other => panic!("{other:?}"),
        };
        let code: Vec<_> = found[expected.len()..].iter().map(code).collect();
        assert_eq!(code[0], (true, vec![text_of("let"), text_of("  x")]));
        assert_eq!(code[1], (false, vec![text_of("no end")]));
        assert_eq!(code.len(), 2);
    }
}
