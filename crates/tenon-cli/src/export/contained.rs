//! What a model wrote, as Markdown in a document that is not its own: it keeps its markup, but shows no images, has no HTML,
//! leaves no fence open, and its headings are below those of the document.
//!
//! Readers of Markdown do not agree in all. So fences are written anew, and what is between ticks is left as it is only
//! where all of them take it for code.

use std::ops::Range;

/// Levels that the document keeps for itself: its title and who speaks.
const HEADINGS_ABOVE: usize = 2;
const HEADING_MAX: usize = 6;

/// The shortest fence.
const FENCE: usize = 3;

/// Returns `markdown` as what stands between two headings of the document.
pub(super) fn contained(markdown: &str) -> String {
    let markdown = markdown.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines = markdown.lines();
    let (mut text, mut together) = (String::new(), Vec::new());
    while let Some(line) = lines.next() {
        if let Some(fence) = Fence::opened_by(line) {
            together.extend(Some(fence.marker).filter(|marker| !marker.is_empty()));
            text.push_str(&paragraphs(&together));
            let inside = lines.by_ref().take_while(|line| !fence.is_closed_by(line));
            let inside: Vec<&str> = inside.map(|line| fence.within(line)).collect();
            end_block(&mut text);
            text.push_str(&fenced(&fence.kind, &inside.join("\n")));
            end_block(&mut text);
            together.clear();
        } else if line.trim().is_empty() {
            text.push_str(&paragraphs(&together));
            end_block(&mut text);
            together.clear();
        } else {
            together.push(line);
        }
    }
    text + &paragraphs(&together)
}

/// Ends what was written with an empty line, of which one is enough.
fn end_block(text: &mut String) {
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
}

/// A fence that is open.
struct Fence<'a> {
    /// What makes the line an item of a list.
    marker: &'a str,
    indent: usize,
    sign: char,
    length: usize,
    kind: String,
}

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        let (marker, rest) = line.split_at(list_marker(line));
        let from = rest.trim_start();
        let sign = from.chars().next().filter(|sign| "`~".contains(*sign))?;
        let length = from.chars().take_while(|character| *character == sign).count();
        let named = from.get(length..)?;
        let is_one = length >= FENCE && !(sign == '`' && named.contains('`'));
        let is_plain =
            |character: &char| character.is_alphanumeric() || "+-_.#".contains(*character);
        let kind = named.trim_start().chars().take_while(is_plain).collect();
        let indent = line.len() - from.len();
        is_one.then_some(Self { marker: marker.trim_end(), indent, sign, length, kind })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|character| character == self.sign)
    }

    /// Returns a line without what it is indented by with the fence.
    fn within<'b>(&self, line: &'b str) -> &'b str {
        let blanks = line.bytes().take_while(|byte| *byte == b' ').count();
        line.get(blanks.min(self.indent)..).unwrap_or_default()
    }
}

/// Returns how many bytes at the beginning of a line make it an item of a list.
fn list_marker(line: &str) -> usize {
    let blanks = line.len() - line.trim_start().len();
    let rest = line.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let signs = if digits == 0 { "-+*" } else { ".)" };
    let sign = rest.get(digits..).and_then(|rest| rest.chars().next());
    let is_one = sign.is_some_and(|sign| signs.contains(sign))
        && rest.get(digits + 1..).is_some_and(|rest| rest.starts_with([' ', '\t']));
    if is_one { blanks + digits + 1 } else { 0 }
}

/// Returns lines that follow each other.
fn paragraphs(lines: &[&str]) -> String {
    let spans: Option<Vec<_>> = lines.iter().map(|line| code_spans(line)).collect();
    let spans = spans.filter(|_| !may_have_ticks_in_links(&lines.join("\n")));
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let known = spans.as_ref().and_then(|spans| spans.get(number));
        if number > 0 && is_underline(line) {
            text.push('\n');
        }
        text.push_str(&line_of(line, known.map(Vec::as_slice).unwrap_or_default()));
        text.push('\n');
    }
    text
}

/// Returns a line without images and HTML but in its code, and as a heading with its level below the document's.
fn line_of(line: &str, code: &[Range<usize>]) -> String {
    let mut text = String::with_capacity(line.len() + 8);
    let heading = heading(line);
    for (at, character) in line.char_indices() {
        if let Some((_, level)) = heading.filter(|(start, _)| *start == at) {
            text.push_str(&"#".repeat(HEADINGS_ABOVE.min(HEADING_MAX - level)));
        }
        let is_code = code.iter().any(|span| span.contains(&at));
        let begins_image = || line.get(at + 1..).is_some_and(|rest| rest.starts_with('['));
        match character {
            '<' if !is_code => text.push_str("&lt;"),
            // Where a backslash is before it, one there would do nothing.
            '!' if !is_code && begins_image() => text.push_str("!\\"),
            _ => text.push(character),
        }
    }
    text
}

/// Returns where the signs of a heading begin, and its level; also of one in quotations and lists.
fn heading(line: &str) -> Option<(usize, usize)> {
    let mut start = 0;
    loop {
        let rest = line.get(start..)?;
        let inner = rest.trim_start_matches(|sign: char| sign == '>' || sign.is_whitespace());
        let more = rest.len() - inner.len() + list_marker(inner);
        if more == 0 {
            let level = rest.bytes().take_while(|byte| *byte == b'#').count();
            let after = rest.get(level..)?;
            let is_one = (1..=HEADING_MAX).contains(&level)
                && (after.is_empty() || after.starts_with([' ', '\t']));
            return is_one.then_some((start, level));
        }
        start += more;
    }
}

/// Whether a line makes one before it a heading.
fn is_underline(line: &str) -> bool {
    let signs = line.trim_matches(|sign: char| sign == '>' || sign.is_whitespace());
    let is_all = |of: u8| signs.bytes().all(|sign| sign == of);
    !signs.is_empty() && (is_all(b'-') || is_all(b'='))
}

/// Returns what is between ticks in a line; `None` if some reader may see other pairs.
fn code_spans(line: &str) -> Option<Vec<Range<usize>>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(found) = line.get(at..)?.find('`') {
        let start = at + found;
        // An address or a backslash could take the first tick.
        let before = line.get(at..start)?;
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        if word.contains(|sign: char| sign.is_alphanumeric() || sign == '\\') {
            return None;
        }
        let ticks = run(line, start);
        let mut end = start + ticks;
        loop {
            end += line.get(end..)?.find('`')?;
            let length = run(line, end);
            end += length;
            if length == ticks {
                break;
            }
        }
        // A bar ends the cell of a table.
        if line.get(start..end)?.contains('|') {
            return None;
        }
        spans.push(start..end);
        at = end;
    }
    Some(spans)
}

fn run(line: &str, start: usize) -> usize {
    line.bytes().skip(start).take_while(|byte| *byte == b'`').count()
}

/// Whether a tick may be in the address or the name of a link.
fn may_have_ticks_in_links(text: &str) -> bool {
    let starts = ["](", "]:", "]["].iter().filter_map(|sign| text.find(sign));
    starts.min().is_some_and(|first| text.get(first..).is_some_and(|rest| rest.contains('`')))
}

/// Returns `text` between fences.
pub(super) fn fenced(kind: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

pub(super) fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::contained;
    use crate::render::markdown::{Block, blocks};

    #[test]
    fn markup_stays_but_for_what_would_be_the_documents() {
        let cases = [
            ("Plain *text*, [x](y) and `code<T>`.", "Plain *text*, [x](y) and `code&lt;T>`."),
            ("`Vec<T>`, **`!`** and ``a ` <b>``", "`Vec<T>`, **`!`** and ``a ` <b>``"),
            (
                "- a\n  - b\n1. c\n\n| a | b |\n|---|---|",
                "- a\n  - b\n1. c\n\n| a | b |\n|---|---|",
            ),
            ("## You\n\n> yes", "#### You\n\n> yes"),
            ("# A\n###### B\n####### C\n#d", "### A\n###### B\n####### C\n#d"),
            ("> - 1. ## You", "> - 1. #### You"),
            ("You\n---\nYou\n===", "You\n\n---\nYou\n\n==="),
            ("> You\n> --", "> You\n\n> --"),
            ("You\n\u{a0}\n---", "You\n\n---"),
            ("![](https://x/?d=1)", "!\\[](https://x/?d=1)"),
            ("\\![a](b) !![c][d]", "\\!\\[a](b) !!\\[c][d]"),
            ("<img src=x> \\<b>", "&lt;img src=x> \\&lt;b>"),
            ("[a](`) <img src=x> `", "[a](`) &lt;img src=x> `"),
            ("[a][`] <i> `", "[a][`] &lt;i> `"),
            ("www.a.b` <i> `", "www.a.b` &lt;i> `"),
            ("`a\n` <i> `\nb`", "`a\n` &lt;i> `\nb`"),
            ("\\` <i> `", "\\` &lt;i> `"),
            ("| `a | <i> | b` |", "| `a | &lt;i> | b` |"),
            ("a\n```rs\n![x](y) <b>\n# z\n```\nb", "a\n\n```rs\n![x](y) <b>\n# z\n```\n\nb"),
            ("```\nx", "```\nx\n```"),
            ("~~~a`b\n```\n~~~~", "````a\n```\n````"),
            ("1. ```sh\n   ls\n   ```\n2. b", "1.\n\n```sh\nls\n```\n\n2. b"),
            ("    ```\n    x\n      y\n    ```", "```\nx\n  y\n```"),
            ("``` a`b\n## You", "``` a`b\n#### You"),
            ("a\r## You", "a\n#### You"),
            ("a\n\n\n```\nx\n```\n\n\nb", "a\n\n```\nx\n```\n\nb"),
        ];
        for (markdown, expected) in cases {
            assert_eq!(contained(markdown).trim_end(), expected, "{markdown:?}");
        }
    }

    proptest! {
        #[test]
        fn no_heading_is_of_the_documents_levels_and_nothing_stays_open(
            parts in proptest::collection::vec("(# |## |You|\n|\n\n|```|~~~|`|<img>|!\\[|\\]\\(|\\\\|> |- |1\\. |    |---|===|a|\r|\t| )", 0..20)
        ) {
            let text = contained(&parts.concat());
            let document = format!("## Before\n\n{text}\n## After\n");
            let headings = |wanted: &dyn Fn(usize) -> bool| {
                let all = blocks(&document).into_iter();
                all.filter(|block| matches!(block, Block::Heading { level, .. } if wanted(*level))).count()
            };
            prop_assert_eq!(headings(&|level| level <= 2), 2, "{:?}", document);
            let is_fence = |line: &&str| line.starts_with("```");
            let fences: Vec<&str> = text.lines().filter(is_fence).collect();
            let is_outside = |line: &str| line.contains("<img>") || line.contains("![");
            if fences.is_empty() && !text.contains('`') {
                prop_assert!(!text.lines().any(is_outside), "{:?}", text);
            }
        }
    }
}
