//! The loop that never changes: asks the turn what comes next, and performs it.

use std::{sync::Arc, time::Instant};

use tenon_model::{Conversation, ToolCall};
use tokio_util::sync::CancellationToken;

use crate::{
    context::{Exchange, Reply, results_message, user_message},
    deadline::Deadline,
    event::{EndReason, ModelEvent, TurnEvent},
    input::Prompt,
    layers::Dispatch,
    options::{AgentOptions, Opening},
    outcome::TurnOutcome,
    session::{LogError, Recorder},
    turn::{Next, Turn, TurnLimits},
};

/// A model, its tools and a conversation in one workspace.
///
/// ```
#[doc = include_str!("../examples/conversation.rs")]
/// ```
pub struct Agent {
    exchange: Exchange,
    dispatch: Dispatch,
    recorder: Recorder,
    limits: TurnLimits,
    opening: Opening,
    conversation: Conversation,
}

impl Agent {
    /// Returns an agent that has said and heard nothing.
    ///
    /// ```
    #[doc = include_str!("../examples/kept_session.rs")]
    /// ```
    ///
    /// # Errors
    /// If the session's first line cannot be logged.
    pub fn new(options: AgentOptions) -> Result<Self, LogError> {
        let (exchange, dispatch, recorder, limits, opening) = options.into_parts()?;
        Ok(Self { exchange, dispatch, recorder, limits, opening, conversation: Vec::new() })
    }

    /// Carries out one turn: from `prompt` until the model is done, a limit is reached, or
    /// `cancel` is set. What happens on the way goes to the log and the front end.
    ///
    /// ```
    #[doc = include_str!("../examples/time_limit.rs")]
    /// ```
    ///
    /// # Errors
    /// Only if the log cannot be written; the turn is then over.
    pub async fn prompt(
        &mut self,
        prompt: impl Into<Prompt>,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, LogError> {
        let started = Instant::now();
        let mut turn = Turn::new(self.limits, self.exchange.provider.abilities());
        let time = Deadline::within(self.limits.time_max, cancel);
        let mut answer = String::new();
        self.open(&self.recorder.masked(prompt.into()))?;
        let reason = loop {
            match turn.next() {
                Next::CallModel => answer = self.call_model(&mut turn, &time.cancel).await?,
                Next::RunCalls(calls) => self.run_calls(&mut turn, &calls, &time.cancel).await?,
                Next::Stop(reason) => break time.explain(reason),
            }
        };
        let usage = turn.usage();
        let price = self.exchange.provider.abilities().price;
        let outcome = TurnOutcome {
            reason,
            answer,
            usage,
            cost: price.map(|price| usage.cost(&price)),
            steps: turn.steps(),
            duration_ms: started.elapsed().as_millis() as u64,
        };
        self.recorder.record(outcome.event())?;
        Ok(outcome)
    }

    fn open(&mut self, prompt: &Prompt) -> Result<(), LogError> {
        let opening = self.opening.take_for(prompt, &self.dispatch.workspace);
        let message = user_message(opening.before, prompt);
        self.conversation.push(Arc::new(message.clone()));
        self.recorder.record(TurnEvent::UserMessage {
            message,
            prompt: prompt.text.clone(),
            attached: opening.attached,
        })?;
        opening
            .notices
            .into_iter()
            .try_for_each(|text| self.recorder.record(TurnEvent::Notice { text }))
    }

    async fn call_model(
        &mut self,
        turn: &mut Turn,
        cancel: &CancellationToken,
    ) -> Result<String, LogError> {
        let show = |live| self.recorder.show(live);
        let Reply { message, stop, usage, duration_ms, error } =
            self.exchange.run(&self.conversation, turn.reply_tokens_max(), cancel, show).await;
        let text = self.recorder.masked_text(message.text());
        let calls = message.tool_calls().cloned().collect();
        if !message.content.is_empty() {
            self.conversation.push(Arc::new(message.clone()));
            self.recorder.record(ModelEvent::AssistantMessage {
                message,
                stop,
                usage,
                duration_ms,
            })?;
        }
        match (stop, error) {
            (Some(stop), _) => turn.on_reply(calls, stop, &usage),
            (None, Some(error)) => {
                self.recorder.record(ModelEvent::failed(error))?;
                turn.end(EndReason::ProviderFailed);
            }
            (None, None) => turn.end(EndReason::Cancelled),
        }
        Ok(text)
    }

    async fn run_calls(
        &mut self,
        turn: &mut Turn,
        calls: &[ToolCall],
        cancel: &CancellationToken,
    ) -> Result<(), LogError> {
        let results = self.dispatch.run(calls, &self.recorder, cancel).await?;
        let nudge = turn.on_results(calls, &results);
        self.conversation.push(Arc::new(results_message(results, nudge.clone())));
        if cancel.is_cancelled() {
            turn.end(EndReason::Cancelled);
        } else if let Some(text) = nudge {
            self.recorder.record(TurnEvent::Notice { text })?;
        }
        Ok(())
    }
}
