//! What changes the text of commands on its way out, before any of it is cut, kept or shown.

use std::fmt;
use std::sync::Arc;

/// Changes texts that come in pieces.
pub trait TextFilter: Send + Sync + fmt::Debug {
    /// Begins a text.
    fn begin(&self) -> Box<dyn FilteredText>;
}

/// A text that is being changed.
pub trait FilteredText: Send {
    /// Takes the next piece and returns what became certain.
    fn push(&mut self, text: &str) -> String;

    /// Returns what was held back.
    fn finish(&mut self) -> String;
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
        let mut whole = filtered.push(text);
        whole.push_str(&filtered.finish());
        whole
    }
}

impl PartialEq for SharedFilter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedFilter {}
