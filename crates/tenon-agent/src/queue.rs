//! Prompts that wait while the model works. A front end fills the queue; the agent takes what is
//! meant for it before its next request, and the front end takes the rest after the turn.
//!
//! One list in the order of typing, and each prompt leaves it once: logged by the agent and then
//! sent, or given back to the person. What still waits is in no log; a killed process loses it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::input::Prompt;

/// When a prompt that waits is delivered.
///
/// ```
/// use tenon_agent::Delivery;
///
/// fn label(delivery: Delivery) -> &'static str {
///     match delivery {
///         Delivery::NextStep => "next step:",
///         Delivery::AfterTurn => "after the turn:",
///     }
/// }
///
/// assert_eq!(label(Delivery::NextStep), "next step:");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// With the next request of the turn, behind the results of its calls. A turn that would end
    /// goes on with it.
    NextStep,
    /// As a turn of its own.
    AfterTurn,
}

/// A prompt that waits.
///
/// ```
/// use tenon_agent::{Delivery, QueuedPrompt};
///
/// let waits = QueuedPrompt { prompt: "And commit.".into(), delivery: Delivery::AfterTurn };
/// assert_eq!(waits.prompt.text, "And commit.");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPrompt {
    /// What was typed.
    pub prompt: Prompt,
    /// When it is delivered.
    pub delivery: Delivery,
}

/// Prompts that wait, the oldest first. Cheap to clone; clones are the same queue.
///
/// ```
/// # use tenon_agent::{Agent, AgentOptions};
/// # use std::sync::Arc;
/// # use tenon_model::ScriptedProvider;
/// # use tenon_sandbox::Workspace;
/// use tenon_agent::{Delivery, PromptQueue};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let script = r#"{"turns": [{"text": "Three files."}]}"#;
/// # let provider = Arc::new(ScriptedProvider::parse(script)?);
/// # let workspace = Workspace::open(".".as_ref())?;
/// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
/// # let mut options = AgentOptions::new(provider, workspace, sandbox);
///
/// let queue = PromptQueue::default();
/// options.queue = queue.clone();
/// let mut agent = Agent::new(options)?;
/// // Whoever reads the keys says something more while the turn goes on.
/// queue.push("Leave out the tests.", Delivery::NextStep).map_err(|_| "the queue is full")?;
/// agent.prompt("Count the files.", &Default::default()).await?;
/// assert!(queue.waiting().is_empty(), "the model was sent both");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct PromptQueue {
    waiting: Arc<Mutex<VecDeque<QueuedPrompt>>>,
}

impl PromptQueue {
    /// The most prompts that wait: more than anybody types, fewer than a stuck key sends.
    ///
    /// ```
    /// use tenon_agent::{Delivery, PromptQueue};
    ///
    /// let queue = PromptQueue::default();
    /// for n in 0..PromptQueue::PROMPTS_MAX {
    ///     assert!(queue.push(n.to_string(), Delivery::AfterTurn).is_ok());
    /// }
    /// assert_eq!(queue.push("more", Delivery::AfterTurn), Err("more".into()));
    /// ```
    pub const PROMPTS_MAX: usize = 100;

    /// Has `prompt` wait; gives it back if the queue is full.
    ///
    /// ```
    /// use tenon_agent::{Delivery, PromptQueue};
    ///
    /// let queue = PromptQueue::default();
    /// queue.push("and then commit", Delivery::AfterTurn)?;
    /// # Ok::<(), tenon_agent::Prompt>(())
    /// ```
    ///
    /// # Errors
    /// The prompt itself.
    pub fn push(&self, prompt: impl Into<Prompt>, delivery: Delivery) -> Result<(), Prompt> {
        let (prompt, mut waiting) = (prompt.into(), self.lock());
        if waiting.len() >= Self::PROMPTS_MAX {
            return Err(prompt);
        }
        waiting.push_back(QueuedPrompt { prompt, delivery });
        Ok(())
    }

    /// Returns what waits now, to show it.
    ///
    /// ```
    /// use tenon_agent::PromptQueue;
    ///
    /// assert!(PromptQueue::default().waiting().is_empty());
    /// ```
    pub fn waiting(&self) -> Vec<QueuedPrompt> {
        self.lock().iter().cloned().collect()
    }

    /// Takes the oldest prompt out, whatever it was meant for: the turn is over.
    ///
    /// ```
    /// use tenon_agent::{Delivery, PromptQueue};
    ///
    /// let queue = PromptQueue::default();
    /// queue.push("one", Delivery::AfterTurn)?;
    /// queue.push("two", Delivery::NextStep)?;
    /// assert_eq!(queue.take_first().map(|waits| waits.prompt.text).as_deref(), Some("one"));
    /// # Ok::<(), tenon_agent::Prompt>(())
    /// ```
    pub fn take_first(&self) -> Option<QueuedPrompt> {
        self.lock().pop_front()
    }

    /// Takes the newest prompt back; `None` if the agent was faster.
    ///
    /// ```
    /// use tenon_agent::{Delivery, PromptQueue};
    ///
    /// let queue = PromptQueue::default();
    /// queue.push("delete it", Delivery::NextStep)?;
    /// assert!(queue.take_last().is_some());
    /// assert!(queue.take_last().is_none());
    /// # Ok::<(), tenon_agent::Prompt>(())
    /// ```
    pub fn take_last(&self) -> Option<QueuedPrompt> {
        self.lock().pop_back()
    }

    /// Takes the oldest prompt that is meant for the next step.
    pub(crate) fn take_for_step(&self) -> Option<Prompt> {
        let mut waiting = self.lock();
        let place = waiting.iter().position(|waits| waits.delivery == Delivery::NextStep)?;
        waiting.remove(place).map(|waits| waits.prompt)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<QueuedPrompt>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_takes_only_what_is_meant_for_it_and_in_order() {
        let queue = PromptQueue::default();
        for (text, delivery) in [
            ("later", Delivery::AfterTurn),
            ("one", Delivery::NextStep),
            ("last", Delivery::AfterTurn),
            ("two", Delivery::NextStep),
        ] {
            queue.push(text, delivery).unwrap();
        }
        let taken: Vec<String> =
            std::iter::from_fn(|| queue.take_for_step()).map(|prompt| prompt.text).collect();
        assert_eq!(taken, ["one", "two"]);
        let left: Vec<String> =
            std::iter::from_fn(|| queue.take_first()).map(|waits| waits.prompt.text).collect();
        assert_eq!(left, ["later", "last"]);
    }
}
