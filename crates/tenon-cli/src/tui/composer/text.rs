//! The text that is being written: a caret that moves by what a person sees as one character,
//! words, killed text, pasted blocks that are shown folded. Pure.

use tenon_model::visible;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use crate::render::measure;

/// A paste of at least so many lines is folded.
const FOLDED_LINES_MIN: usize = 10;
/// Likewise of so many characters: more than a few rows of a narrow window.
const FOLDED_CHARS_MIN: usize = 1_000;

/// Text with a caret.
#[derive(Debug, Clone, Default)]
pub(crate) struct DraftText {
    text: String,
    /// In bytes, at the edge of a grapheme.
    caret: usize,
    killed: String,
    folded: Vec<Folded>,
    /// The column that moves up and down aim at.
    goal: Option<usize>,
}

/// A pasted block and what stands for it in the text.
#[derive(Debug, Clone)]
struct Folded {
    label: String,
    whole: String,
}

/// How far a move goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
}

/// The rows of a draft on a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub rows: Vec<String>,
    /// The caret's row, and the text in front of it in that row.
    pub caret: (usize, String),
    /// Where each row begins and ends in the draft, in bytes.
    spans: Vec<(usize, usize)>,
}

impl DraftText {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn caret(&self) -> usize {
        self.caret
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text with every folded block whole.
    pub(crate) fn whole(&self) -> String {
        let mut whole = String::new();
        let mut rest = self.text.as_str();
        'text: while !rest.is_empty() {
            for folded in &self.folded {
                if let Some(after) = rest.strip_prefix(&folded.label) {
                    whole.push_str(&folded.whole);
                    rest = after;
                    continue 'text;
                }
            }
            let end = rest.chars().next().map_or(rest.len(), char::len_utf8);
            let (head, tail) = rest.split_at(end);
            whole.push_str(head);
            rest = tail;
        }
        whole
    }

    /// Puts `text` in place of everything, with the caret behind it.
    pub(crate) fn set(&mut self, text: &str) {
        self.text = clean(text);
        self.caret = self.text.len();
        self.folded.clear();
        self.goal = None;
    }

    /// Returns the text and leaves none.
    pub(crate) fn take(&mut self) -> String {
        let whole = self.whole();
        self.set("");
        whole
    }

    pub(crate) fn insert(&mut self, text: &str) {
        let text = clean(text);
        self.text.insert_str(self.caret, &text);
        self.caret += text.len();
        self.goal = None;
    }

    /// Inserts a pasted block; `label` makes what stands for a long one of its number and lines.
    pub(crate) fn paste(&mut self, text: &str, label: impl FnOnce(usize, usize) -> String) {
        let text = clean(text);
        let lines = text.lines().count();
        if lines < FOLDED_LINES_MIN && text.chars().count() < FOLDED_CHARS_MIN {
            self.insert(&text);
            return;
        }
        let label = label(self.folded.len() + 1, lines);
        self.insert(&label);
        self.folded.push(Folded { label, whole: text });
    }

    /// Replaces the bytes from `start` to the caret.
    pub(crate) fn replace_from(&mut self, start: usize, text: &str) {
        if start <= self.caret && self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.caret, "");
            self.caret = start;
            self.insert(text);
        }
    }

    pub(crate) fn go(&mut self, motion: Motion) {
        self.caret = self.target(motion);
        self.goal = None;
    }

    /// Takes away what lies between the caret and where `motion` leads.
    pub(crate) fn delete(&mut self, motion: Motion) {
        self.cut(motion);
        self.goal = None;
    }

    /// Likewise, kept for [`Self::yank`].
    pub(crate) fn kill(&mut self, motion: Motion) {
        let taken = self.cut(motion);
        if !taken.is_empty() {
            self.killed = taken;
        }
        self.goal = None;
    }

    pub(crate) fn yank(&mut self) {
        let killed = self.killed.clone();
        self.insert(&killed);
    }

    /// Moves the caret a row up or down on a screen of `columns`; says whether there was one.
    pub(crate) fn go_vertically(&mut self, up: bool, columns: usize) -> bool {
        let layout = self.layout(columns);
        let (row, before) = &layout.caret;
        let target = if up { row.checked_sub(1) } else { Some(row + 1) };
        let Some((start, end)) = target.and_then(|row| layout.spans.get(row)).copied() else {
            return false;
        };
        let goal = self.goal.unwrap_or_else(|| measure::width(before));
        let (mut column, mut place) = (0, start);
        for grapheme in self.text.get(start..end).unwrap_or_default().graphemes(true) {
            let columns = measure::width(&shown(grapheme));
            if column + columns > goal {
                break;
            }
            column += columns;
            place += grapheme.len();
        }
        self.caret = place;
        self.goal = Some(goal);
        true
    }

    /// Returns the rows on a screen of `columns`.
    pub(crate) fn layout(&self, columns: usize) -> Layout {
        let columns = columns.max(2);
        let mut layout = Layout { rows: Vec::new(), caret: (0, String::new()), spans: Vec::new() };
        let (mut row, mut start, mut used, mut place) = (String::new(), 0, 0, 0);
        let mut found = None;
        for grapheme in self.text.graphemes(true) {
            let is_end = grapheme == "\n" || grapheme == "\r\n";
            let text = shown(grapheme);
            let width = measure::widths(&text).1;
            // The caret needs a column of its own behind the last character.
            if !is_end && used + width >= columns && !row.is_empty() {
                layout.spans.push((start, place));
                layout.rows.push(std::mem::take(&mut row));
                (start, used) = (place, 0);
            }
            if place == self.caret {
                found = Some((layout.rows.len(), row.clone()));
            }
            place += grapheme.len();
            if is_end {
                layout.spans.push((start, place - grapheme.len()));
                layout.rows.push(std::mem::take(&mut row));
                (start, used) = (place, 0);
            } else {
                row.push_str(&text);
                used += width;
            }
        }
        layout.caret = found.unwrap_or_else(|| (layout.rows.len(), row.clone()));
        layout.spans.push((start, place));
        layout.rows.push(row);
        layout
    }

    fn cut(&mut self, motion: Motion) -> String {
        let target = self.target(motion);
        let (start, end) = (target.min(self.caret), target.max(self.caret));
        self.caret = start;
        self.text.drain(start..end).collect()
    }

    fn target(&self, motion: Motion) -> usize {
        let (before, after) = self.text.split_at(self.caret);
        match motion {
            Motion::Left => self.left(),
            Motion::Right => self.right(),
            Motion::LineStart => before.rfind('\n').map_or(0, |end| end + 1),
            Motion::LineEnd => after.find('\n').map_or(self.text.len(), |end| self.caret + end),
            Motion::WordLeft => {
                before.unicode_word_indices().next_back().map_or(0, |(start, _)| start)
            }
            Motion::WordRight => after
                .unicode_word_indices()
                .next()
                .map_or(self.text.len(), |(start, word)| self.caret + start + word.len()),
        }
    }

    /// A folded block is passed as one character.
    fn left(&self) -> usize {
        let before = self.text.get(..self.caret).unwrap_or_default();
        if let Some(folded) = self.folded.iter().find(|folded| before.ends_with(&folded.label)) {
            return self.caret - folded.label.len();
        }
        let mut cursor = GraphemeCursor::new(self.caret, self.text.len(), true);
        cursor.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn right(&self) -> usize {
        let after = self.text.get(self.caret..).unwrap_or_default();
        if let Some(folded) = self.folded.iter().find(|folded| after.starts_with(&folded.label)) {
            return self.caret + folded.label.len();
        }
        let mut cursor = GraphemeCursor::new(self.caret, self.text.len(), true);
        cursor.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }
}

/// Returns how a grapheme is shown.
fn shown(grapheme: &str) -> String {
    if grapheme == "\t" {
        "    ".to_owned()
    } else {
        measure::bounded(&visible(grapheme)).into_owned()
    }
}

/// Returns `text` with the line ends of this system and without control characters, which nobody
/// means to send.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn label(number: usize, lines: usize) -> String {
        format!("[paste {number}: {lines} lines]")
    }

    fn draft(text: &str) -> DraftText {
        let mut draft = DraftText::default();
        draft.set(text);
        draft
    }

    #[test]
    fn the_caret_moves_by_what_a_person_sees() {
        let mut text = draft("a汉e\u{301}👨‍👩‍👧b");
        let mut places = vec![text.caret()];
        while text.caret() > 0 {
            text.go(Motion::Left);
            places.push(text.caret());
        }
        assert_eq!(places, [26, 25, 7, 4, 1, 0]);
        text.go(Motion::Right);
        text.delete(Motion::Right);
        assert_eq!(text.text(), "ae\u{301}👨‍👩‍👧b");
    }

    #[test]
    fn words_are_moved_over_killed_and_put_back() {
        let mut text = draft("cargo test --lib");
        text.kill(Motion::WordLeft);
        assert_eq!(text.text(), "cargo test --");
        text.kill(Motion::LineStart);
        assert_eq!(text.text(), "");
        text.yank();
        assert_eq!(text.text(), "cargo test --");
        text.go(Motion::LineStart);
        text.go(Motion::WordRight);
        assert_eq!(text.caret(), 5);
    }

    #[test]
    fn a_large_paste_is_folded_moved_over_as_one_and_sent_whole() {
        let block = "line\r\n".repeat(120);
        let mut text = draft("see ");
        text.paste(&block, label);
        text.insert(" please");
        assert_eq!(text.text(), "see [paste 1: 120 lines] please");
        assert_eq!(text.whole(), format!("see {} please", "line\n".repeat(120)));
        (0..7).for_each(|_| text.go(Motion::Left));
        text.delete(Motion::Left);
        assert_eq!(text.text(), "see  please");
        let mut small = draft("");
        small.paste("a\u{1b}[31m\nb", label);
        assert_eq!(small.text(), "a[31m\nb");
    }

    #[test]
    fn rows_leave_a_column_for_the_caret_and_it_moves_between_them() {
        let mut text = draft("汉字汉字\nabc");
        let layout = text.layout(6);
        assert_eq!(layout.rows, ["汉字", "汉字", "abc"]);
        assert_eq!(layout.caret, (2, "abc".into()));
        assert!(text.go_vertically(true, 6));
        assert_eq!(text.layout(6).caret, (1, "汉".into()));
        assert!(text.go_vertically(true, 6) && !text.go_vertically(true, 6));
        assert!(text.go_vertically(false, 6) && text.go_vertically(false, 6));
        assert_eq!(text.layout(6).caret, (2, "abc".into()));
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_the_screen_and_the_caret_is_always_in_one(
            text in r"[a汉👍🏽e\u{301}\n\t ]{0,40}",
            columns in 16_usize..24,
            moves in 0_usize..40,
        ) {
            let mut text = draft(&text);
            for _ in 0..moves {
                text.go(Motion::Left);
            }
            let layout = text.layout(columns);
            prop_assert!(layout.rows.iter().all(|row| measure::width(row) < columns));
            let (row, before) = &layout.caret;
            prop_assert!(layout.rows[*row].starts_with(before.as_str()));
        }
    }
}
