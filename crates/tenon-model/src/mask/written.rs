//! A masked text that is being written, and where in it the pieces end that the text came in.

use std::ops::Range;

/// What was written of a text.
#[derive(Debug)]
pub(super) struct Written<'a> {
    text: &'a str,
    /// Where pieces of the text end, in order.
    ends: &'a [usize],
    /// What was written.
    pub(super) masked: String,
    /// Where those pieces end in it that are written as a whole.
    pub(super) cuts: Vec<usize>,
}

impl<'a> Written<'a> {
    pub(super) fn new(text: &'a str, ends: &'a [usize]) -> Self {
        Self { text, ends, masked: String::with_capacity(text.len()), cuts: Vec::new() }
    }

    /// Writes a range of the text as it is.
    pub(super) fn copy(&mut self, range: Range<usize>) {
        self.cut(range.start);
        while let Some(end) = self.next_end().filter(|end| *end <= range.end) {
            self.cuts.push(self.masked.len() + (end - range.start));
        }
        self.masked.push_str(self.text.get(range).unwrap_or_default());
    }

    /// Writes the rest of the text as it is, and returns how long the text is.
    pub(super) fn copy_to_end(&mut self, start: usize) -> usize {
        let end = self.text.len();
        self.copy(start..end);
        end
    }

    /// Writes `label` for something that begins at `start` in the text. It counts for the piece that
    /// this begins in.
    pub(super) fn put(&mut self, start: usize, label: &str) {
        self.cut(start);
        self.masked.push_str(label);
    }

    /// Ends the pieces that end up to `start` in the text.
    fn cut(&mut self, start: usize) {
        while self.next_end().is_some_and(|end| end <= start) {
            self.cuts.push(self.masked.len());
        }
    }

    fn next_end(&self) -> Option<usize> {
        self.ends.get(self.cuts.len()).copied()
    }
}
