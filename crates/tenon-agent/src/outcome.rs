//! How a turn ended, for whoever started it.

use tenon_model::Usage;

use crate::event::{EndReason, TurnEvent};

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    /// Why.
    pub reason: EndReason,
    /// The last text of the model: the answer.
    pub answer: String,
    /// Tokens of the whole turn.
    pub usage: Usage,
    /// US dollars, where the model's price is known.
    pub cost: Option<f64>,
    /// Model requests that were answered.
    pub steps: u32,
    /// From prompt to end, in milliseconds.
    pub duration_ms: u64,
}

impl TurnOutcome {
    /// Returns the event that says the same.
    pub(crate) fn event(&self) -> TurnEvent {
        TurnEvent::TurnEnded {
            reason: self.reason,
            answer: self.answer.clone(),
            usage: self.usage,
            cost: self.cost,
            steps: self.steps,
            duration_ms: self.duration_ms,
        }
    }
}
