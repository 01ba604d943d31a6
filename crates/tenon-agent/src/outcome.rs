//! How a turn ended, for whoever started it.

use tenon_model::Usage;

use crate::event::{EndReason, Receipt, TurnEvent};

/// How a turn ended.
///
/// ```
/// # use tenon_agent::{Agent, AgentOptions, EndReason};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use tenon_model::ScriptedProvider;
/// # use tenon_sandbox::Workspace;
/// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
/// # let workspace = Workspace::open(".".as_ref())?;
/// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
/// # let options = AgentOptions::new(provider, workspace, sandbox);
/// let outcome = Agent::new(options)?.prompt("Say hello.", &Default::default()).await?;
/// assert_eq!(outcome.reason, EndReason::Finished);
/// assert_eq!((outcome.answer.as_str(), outcome.steps), ("Hello.", 1));
/// assert_eq!(outcome.cost, None, "nobody knows what a script costs");
/// # Ok(())
/// # }
/// ```
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
    /// Whether what was changed was checked.
    pub receipt: Option<Receipt>,
    /// The walls that commands have, as `--sandbox` names them, once a first one ran.
    pub sandbox: Option<String>,
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
            receipt: self.receipt.clone(),
            sandbox: self.sandbox.clone(),
        }
    }
}
