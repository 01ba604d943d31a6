//! What stands between a conversation that is replayed and its tools: some calls get the answer that
//! they got before, and places are called here as they are called now.

use std::borrow::Cow;

use tenon_model::ToolCall;

use crate::{event::CallChanges, tools::ToolOutput};

/// Whoever replays a conversation.
pub(crate) trait StandIn: Send + Sync {
    /// Returns the answer that `call` gets without being judged or run.
    fn answer(&self, call: &ToolCall) -> Option<ToolOutput>;

    /// Returns the answer that `call` gets because it would leave the walls, for which nobody can be
    /// asked any more.
    fn answer_outside(&self, call: &ToolCall) -> Option<ToolOutput>;

    /// Returns by which rules changes of this call were refused there.
    fn forbidden_by(&self, call_id: &str) -> Vec<String>;

    /// Returns whether the model was asked there to run a check, once it was done.
    fn asked_for_a_check(&self) -> bool;

    /// Returns `call` with the places as they are called here.
    fn here(&self, call: &ToolCall) -> ToolCall;

    /// Returns what the model reads of a result with the places as they were called there; the call
    /// `changed` this.
    fn there(&self, call: &ToolCall, content: String, changed: &[CallChanges]) -> String;
}

/// Returns `call` as it is run.
pub(super) fn here<'a>(stand_in: Option<&dyn StandIn>, call: &'a ToolCall) -> Cow<'a, ToolCall> {
    stand_in.map_or(Cow::Borrowed(call), |stand_in| Cow::Owned(stand_in.here(call)))
}

/// Returns what came of `call` as it is told.
pub(super) fn there(
    stand_in: Option<&dyn StandIn>,
    call: &ToolCall,
    output: ToolOutput,
) -> ToolOutput {
    let Some(stand_in) = stand_in else { return output };
    ToolOutput { content: stand_in.there(call, output.content, &output.changed), ..output }
}
