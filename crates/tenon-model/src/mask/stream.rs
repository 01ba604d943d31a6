//! Masks a text that comes in pieces, however it is cut.

use std::sync::Arc;

use super::{
    Masks, Until,
    flat::{Flat, LineNumbers},
    written::Written,
};

/// The most bytes that are held back. Only line ends without end are so many, and what has so many
/// between its bytes is no value that anybody broke over lines.
const HELD_BYTES_MAX: usize = 64 * 1024;

/// Text on its way out. What may become a value is held back, at most 127 bytes besides line ends.
#[derive(Debug)]
pub struct MaskStream {
    masks: Arc<Masks>,
    pending: String,
    /// Where in `pending` the pieces end that it is of.
    ends: Vec<usize>,
    last: Option<usize>,
}

impl MaskStream {
    /// Returns a stream that nothing came through yet.
    pub fn new(masks: Arc<Masks>) -> Self {
        Self { masks, pending: String::new(), ends: Vec::new(), last: None }
    }

    /// Takes the next piece and returns what became certain.
    pub fn push(&mut self, text: &str) -> String {
        self.push_piece(text).concat()
    }

    /// Returns what was held back.
    pub fn finish(&mut self) -> String {
        self.finish_pieces().concat()
    }

    /// Takes the next piece and returns what became certain of each that was not certain as a whole,
    /// the oldest first, this one last; fewer if of the newest nothing did. A label stands where its
    /// value begins. An empty text is no piece.
    pub fn push_piece(&mut self, text: &str) -> Vec<String> {
        if self.masks.is_empty() {
            return vec![text.to_owned()];
        }
        if !text.is_empty() {
            self.pending.push_str(text);
            self.ends.push(self.pending.len());
        }
        let mut parts = self.pass(Until::Certain);
        if self.pending.len() > HELD_BYTES_MAX {
            // The last part and the first one are of the same piece.
            let mut rest = self.pass(Until::End).into_iter();
            if let (Some(last), Some(first)) = (parts.last_mut(), rest.next()) {
                last.push_str(&first);
            }
            parts.extend(rest);
        }
        parts
    }

    /// Returns what was held back of each piece, the oldest first.
    pub fn finish_pieces(&mut self) -> Vec<String> {
        self.pass(Until::End)
    }

    /// Returns what is held back of each piece, unmasked, the oldest first.
    pub fn held_pieces(&self) -> Vec<&str> {
        let mut start = 0;
        let pieces = self.ends.iter().map(|end| {
            let piece = self.pending.get(start..*end).unwrap_or_default();
            start = *end;
            piece
        });
        pieces.collect()
    }

    fn pass(&mut self, until: Until) -> Vec<String> {
        let flat = Flat::new(&self.pending, LineNumbers::Kept);
        let mut written = Written::new(&self.pending, &self.ends);
        let end = self.masks.run(&flat, until, &mut self.last, &mut written);
        let Written { mut masked, cuts, .. } = written;
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        // From behind, so that the usual single piece is not copied.
        for cut in cuts.iter().rev() {
            parts.push(masked.split_off(*cut));
        }
        parts.push(masked);
        parts.reverse();
        drop(flat);
        self.ends.drain(..cuts.len());
        if self.ends.is_empty() {
            // Nothing is behind the last piece.
            parts.pop();
        }
        self.pending.drain(..end);
        self.ends.iter_mut().for_each(|place| *place -= end);
        parts
    }
}
