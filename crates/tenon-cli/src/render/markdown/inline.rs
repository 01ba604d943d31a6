//! Emphasis, code and links within a block. Each sign is looked at once: where no end is found for
//! one of a kind, none is looked for again.

use unicode_segmentation::UnicodeSegmentation;

use super::super::{Meaning, line::Line};

/// Emphasis within emphasis beyond this is plain.
const DEPTH_MAX: usize = 6;
/// What surrounds emphasised text, longer signs first.
const SIGNS: [(&str, Meaning); 5] = [
    ("**", Meaning::Name),
    ("__", Meaning::Name),
    ("~~", Meaning::Struck),
    ("*", Meaning::Emphasis),
    ("_", Meaning::Emphasis),
];

/// Returns the lines of `text` (it has several where a break was asked for), plain words in
/// `meaning`.
pub(crate) fn inline(text: &str, meaning: Meaning) -> Vec<Line> {
    text.split('\n')
        .map(|line| {
            let mut drawn = Line::default();
            Reader { rest: line, before: None, without_end: [false; 5] }
                .read(meaning, DEPTH_MAX, &mut drawn);
            drawn
        })
        .collect()
}

struct Reader<'a> {
    rest: &'a str,
    /// The character before `rest`.
    before: Option<char>,
    /// The signs that have no end in the rest of the text.
    without_end: [bool; 5],
}

impl<'a> Reader<'a> {
    fn read(&mut self, meaning: Meaning, depth: usize, line: &mut Line) {
        while !self.rest.is_empty() {
            let end = self.rest.find(['\\', '`', '*', '_', '~', '[', '!', '<']);
            let (plain, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            line.push(meaning, plain);
            self.before = plain.chars().next_back().or(self.before);
            self.rest = rest;
            if rest.is_empty() {
                return;
            }
            if self.escape(meaning, line)
                || self.code(line)
                || self.link(meaning, line)
                || self.emphasis(depth, line)
            {
                continue;
            }
            // A sign that means nothing; a run of them is passed at once.
            let sign = rest.graphemes(true).next().unwrap_or(rest);
            let run = rest.len() - rest.trim_start_matches(sign).len();
            self.pass(run.max(sign.len()), meaning, line);
        }
    }

    fn pass(&mut self, bytes: usize, meaning: Meaning, line: &mut Line) {
        let (text, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        line.push(meaning, text);
        self.before = text.chars().next_back();
        self.rest = rest;
    }

    fn escape(&mut self, meaning: Meaning, line: &mut Line) -> bool {
        let Some(after) = self.rest.strip_prefix('\\') else { return false };
        if !after.starts_with(|c: char| c.is_ascii_punctuation()) {
            return false;
        }
        self.rest = after;
        self.pass(1, meaning, line);
        true
    }

    fn code(&mut self, line: &mut Line) -> bool {
        let count = self.rest.len() - self.rest.trim_start_matches('`').len();
        let (sign, after) = self.rest.split_at(count);
        if count == 0 {
            return false;
        }
        let mut from = 0;
        while let Some(found) = after.get(from..).and_then(|rest| rest.find(sign)) {
            let start = from + found;
            let tail = after.get(start..).unwrap_or_default();
            let run = tail.len() - tail.trim_start_matches('`').len();
            if run == count {
                let code = after.get(..start).unwrap_or_default();
                let trimmed = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
                line.push(Meaning::Hint, trimmed.filter(|code| !code.is_empty()).unwrap_or(code));
                self.before = Some('`');
                self.rest = tail.get(count..).unwrap_or_default();
                return true;
            }
            from = start + run;
        }
        false
    }

    /// `[words](address)` as its words and, if it is another text, the address.
    fn link(&mut self, meaning: Meaning, line: &mut Line) -> bool {
        const BYTES_MAX: usize = 2_000;
        let text = self.rest.strip_prefix('!').unwrap_or(self.rest);
        let Some(inside) = text.strip_prefix('[') else { return false };
        let near = inside.get(..BYTES_MAX).unwrap_or(inside);
        let Some((words, after)) = near.split_once("](") else { return false };
        let Some((address, _)) = after.split_once(')') else { return false };
        if words.contains('[') || address.contains(char::is_whitespace) {
            return false;
        }
        line.push(meaning, words);
        if address != words {
            line.push(Meaning::Hint, &format!(" ({address})"));
        }
        let passed = words.len() + "](".len() + address.len() + 1;
        self.rest = inside.get(passed..).unwrap_or_default();
        self.before = Some(')');
        true
    }

    fn emphasis(&mut self, depth: usize, line: &mut Line) -> bool {
        for ((sign, meaning), place) in SIGNS.into_iter().zip(0..) {
            let Some(after) = self.rest.strip_prefix(sign) else { continue };
            let known = self.without_end.get(place).copied().unwrap_or(true);
            let in_word = sign.starts_with('_') && self.before.is_some_and(char::is_alphanumeric);
            if known || depth == 0 || in_word || after.starts_with([' ', '\t']) {
                continue;
            }
            let Some(end) = end_of(after, sign) else {
                if let Some(without) = self.without_end.get_mut(place) {
                    *without = true;
                }
                continue;
            };
            let (inside, rest) = after.split_at(end);
            Reader { rest: inside, before: None, without_end: [false; 5] }.read(
                meaning,
                depth - 1,
                line,
            );
            self.before = sign.chars().next();
            self.rest = rest.get(sign.len()..).unwrap_or_default();
            return true;
        }
        false
    }
}

/// Returns where the text that began with `sign` ends.
fn end_of(text: &str, sign: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find(sign) {
        let start = from + found;
        let (inside, tail) = text.split_at(start);
        let run = tail.len() - tail.trim_start_matches(sign.chars().next()?).len();
        let after = tail.get(run..)?.chars().next();
        let in_word = sign.starts_with('_') && after.is_some_and(char::is_alphanumeric);
        let fits = run == sign.len() || run == sign.len() + 1 || run == 3;
        if !inside.is_empty() && !inside.ends_with([' ', '\t']) && fits && !in_word {
            // Of three signs the inner text keeps what is its own.
            return Some(start + if run > sign.len() { run - sign.len() } else { 0 });
        }
        from = start + run.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Style;

    fn painted(text: &str) -> String {
        let style = Style::IN_COLOUR;
        inline(text, Meaning::Plain)
            .iter()
            .map(|line| line.paint(&style).replace('\u{1b}', ""))
            .collect::<Vec<_>>()
            .join("/")
    }

    #[test]
    fn signs_become_styles_and_the_rest_stays_as_written() {
        let cases = [
            ("a **b** c", "a [1mb[0m c"),
            ("*a* _b_ ~~c~~", "[3ma[0m [3mb[0m [9mc[0m"),
            ("***both***", "[3mboth[0m"),
            ("`a*b*` ``c`d``", "[36ma*b*[0m [36mc`d[0m"),
            ("snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"),
            (r"\*not\* **open", "*not* **open"),
            ("[docs](https://x.y)", "docs[36m (https://x.y)[0m"),
            ("**重要**的事", "[1m重要[0m的事"),
            ("中**「引」**文", "中[1m「引」[0m文"),
            ("a\nb", "a/b"),
            ("[ ] `", "[ ] `"),
        ];
        for (text, expected) in cases {
            assert_eq!(painted(text), expected, "{text}");
        }
    }

    #[test]
    fn signs_without_an_end_cost_no_more_than_their_length() {
        // What is quadratic here takes minutes.
        for sign in ["*a ", "**a ", "_a ", "`a ", "[a ", "[a](", "~~a ", "*a _b **c "] {
            assert!(!inline(&sign.repeat(20_000), Meaning::Plain).is_empty());
        }
    }
}
