//! What changes the text of commands on its way out, before any of it is cut, kept or shown.

use std::fmt;
use std::sync::Arc;

/// Changes texts that come in pieces.
pub trait TextFilter: Send + Sync + fmt::Debug {
    /// Begins a text.
    fn begin(&self) -> Box<dyn FilteredText>;
}

/// A text that is being changed. What is returned of it says to which of its pieces it belongs,
/// because another text may stand between two of them.
pub trait FilteredText: Send {
    /// Takes the next piece and returns what became certain of each that was not certain as a whole,
    /// the oldest first, this one last; fewer if of the newest nothing did.
    fn push(&mut self, text: &str) -> Vec<String>;

    /// Returns what was held back of each piece, the oldest first.
    fn finish(&mut self) -> Vec<String>;

    /// Returns what is held back of each piece, unchanged, the oldest first; of none it is empty.
    fn held(&self) -> Vec<&str>;
}

/// A filter that is shared; equal only to itself.
#[derive(Debug, Clone)]
pub(crate) struct SharedFilter(Arc<dyn TextFilter>);

impl SharedFilter {
    pub(crate) fn new(filter: Arc<dyn TextFilter>) -> Self {
        Self(filter)
    }

    pub(crate) fn begin(&self) -> Box<dyn FilteredText> {
        self.0.begin()
    }

    /// Changes a whole text.
    pub(crate) fn whole(&self, text: &str) -> String {
        let mut filtered = self.0.begin();
        filtered.push(text).concat() + &filtered.finish().concat()
    }
}

impl PartialEq for SharedFilter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedFilter {}
