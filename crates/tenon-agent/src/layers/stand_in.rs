//! What stands between a conversation that is replayed and its tools: some calls get the answer that
//! they got before, and places are called here as they are called now.

use std::borrow::Cow;

use tenon_model::ToolCall;

use super::dispatch::Dispatch;
use crate::tools::ToolOutput;

/// Whoever replays a conversation.
pub(crate) trait StandIn: Send + Sync {
    /// Returns the answer that `call` gets without being judged or run.
    fn answer(&self, call: &ToolCall) -> Option<ToolOutput>;

    /// Returns the answer that `call` gets because it would leave the walls, for which nobody can be
    /// asked any more.
    fn answer_outside(&self, call: &ToolCall) -> Option<ToolOutput>;

    /// Returns `call` with the places as they are called here.
    fn here(&self, call: &ToolCall) -> ToolCall;

    /// Returns what the model reads of a result with the places as they were called there.
    fn there(&self, call: &ToolCall, content: String) -> String;
}

impl Dispatch {
    /// Returns `call` as it is run.
    pub(super) fn here<'a>(&self, call: &'a ToolCall) -> Cow<'a, ToolCall> {
        match &self.stand_in {
            Some(stand_in) => Cow::Owned(stand_in.here(call)),
            None => Cow::Borrowed(call),
        }
    }

    /// Returns what came of `call` as it is told.
    pub(super) fn there(&self, call: &ToolCall, output: ToolOutput) -> ToolOutput {
        match &self.stand_in {
            Some(stand_in) => {
                let content = stand_in.there(call, output.content);
                ToolOutput { content, ..output }
            }
            None => output,
        }
    }
}
