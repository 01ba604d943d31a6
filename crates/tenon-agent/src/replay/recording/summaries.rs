//! Which summaries the model wrote, where in a recording. Pure.

use tenon_model::{ProviderErrorKind, Usage};

use super::{Input, Reader, RecordedSummary};
use crate::{
    context::summary_in,
    event::{Compaction, CompactionCause},
};

impl Reader {
    pub(super) fn compacted(&mut self, made: &Compaction) {
        if made.cause == CompactionCause::TooLong {
            let words = format!("maximum context length is {} tokens", made.window_tokens);
            self.failed(ProviderErrorKind::ContextTooLong, words);
        }
        if made.cause == CompactionCause::Asked && self.turn.is_none() {
            self.recording.inputs.push(Input::Compact(made.focus.clone()));
        }
        let summary = made.messages.first().and_then(summary_in);
        if let Some(text) = summary {
            self.summary(Ok((text.to_owned(), made.usage)));
        }
    }

    pub(super) fn summary(&mut self, answer: Result<(String, Usage), String>) {
        let behind = self.recording.requests.len();
        self.recording.summaries.push(RecordedSummary { behind, answer });
    }
}
