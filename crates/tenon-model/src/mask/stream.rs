//! Masks a text that comes in pieces, however it is cut.

use std::sync::Arc;

use super::{
    Masks, Until,
    flat::{Flat, LineNumbers},
};

/// Text on its way out. What may become a value is held back, at most 127 bytes besides line ends.
#[derive(Debug)]
pub struct MaskStream {
    masks: Arc<Masks>,
    pending: String,
    last: Option<usize>,
}

impl MaskStream {
    /// Returns a stream that nothing came through yet.
    pub fn new(masks: Arc<Masks>) -> Self {
        Self { masks, pending: String::new(), last: None }
    }

    /// Takes the next piece and returns what became certain.
    pub fn push(&mut self, text: &str) -> String {
        self.pass(text, Until::Certain)
    }

    /// Returns what was held back.
    pub fn finish(&mut self) -> String {
        self.pass("", Until::End)
    }

    fn pass(&mut self, text: &str, until: Until) -> String {
        if self.masks.is_empty() {
            return text.to_owned();
        }
        self.pending.push_str(text);
        let mut out = String::with_capacity(self.pending.len());
        let flat = Flat::new(&self.pending, LineNumbers::Kept);
        let end = self.masks.run(&self.pending, &flat, until, &mut self.last, &mut out);
        drop(flat);
        self.pending.drain(..end);
        out
    }
}
