//! The loop that never changes: asks the turn what comes next, and performs it.

mod compact;
mod model;
mod rewind;
mod steps;
mod undone;

use std::{sync::Arc, time::Instant};

use tenon_model::Conversation;
use tokio_util::sync::CancellationToken;

use self::{steps::Said, undone::UndoneSince};
use crate::{
    context::{Exchange, Meter},
    deadline::Deadline,
    event::EndReason,
    input::Prompt,
    layers::Dispatch,
    options::{AgentOptions, Opening},
    outcome::TurnOutcome,
    queue::PromptQueue,
    session::{LogError, PrefixHasher, Recorder},
    tools::Recall,
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
    prefix: PrefixHasher,
    meter: Meter,
    /// The window that was set, whatever the model's own is.
    window: Option<u32>,
    /// What the person says while a turn goes on.
    queue: PromptQueue,
    /// Where results are that were left out.
    recall: Option<Arc<dyn Recall>>,
    /// Whether the model has the tool that gives them back.
    offers_recall: bool,
    /// What the log is to be told of the journal.
    undone: Option<UndoneSince>,
}

impl Agent {
    /// Returns an agent that has said and heard nothing, or goes on with a session.
    ///
    /// ```
    #[doc = include_str!("../examples/kept_session.rs")]
    /// ```
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn new(options: AgentOptions) -> Result<Self, LogError> {
        let (recall, queue) = (options.recall.clone(), options.queue.clone());
        let (window, undone) = (options.context_window_tokens, UndoneSince::of(&options));
        let (exchange, dispatch, recorder, limits, opening, restored) = options.into_parts()?;
        let meter = exchange.meter(window);
        let prefix = PrefixHasher::default();
        let mut agent = Self {
            exchange,
            dispatch,
            recorder,
            limits,
            opening,
            conversation: Conversation::new(),
            prefix,
            meter,
            window,
            queue,
            recall,
            offers_recall: false,
            undone,
        };
        agent.take_up(restored);
        Ok(agent)
    }

    /// Carries out one turn: from `prompt` until the model is done, a limit is reached, or
    /// `cancel` is set. What happens on the way goes to the log and the front end.
    ///
    /// ```
    #[doc = include_str!("../examples/time_limit.rs")]
    /// ```
    ///
    /// # Errors
    /// Only if the log cannot be written; the turn is then over, and the error has its outcome.
    pub async fn prompt(
        &mut self,
        prompt: impl Into<Prompt>,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, LogError> {
        let started = Instant::now();
        let mut turn = Turn::new(self.limits, self.exchange.provider.abilities());
        let ended = self.carry_out(&mut turn, prompt.into(), cancel).await;
        let (ended, receipt) = self.close(&turn, ended).await;
        let usage = turn.usage();
        let price = self.exchange.provider.abilities().price;
        let outcome = TurnOutcome {
            reason: *ended.as_ref().unwrap_or(&EndReason::LogFailed),
            answer: self.recorder.masked_text(turn.answer()),
            usage,
            cost: price.map(|price| usage.cost(&price)),
            steps: turn.steps(),
            duration_ms: started.elapsed().as_millis() as u64,
            receipt,
            sandbox: self.dispatch.sandbox.tier().map(str::to_owned),
        };
        match ended.and_then(|_| self.recorder.record(outcome.event())) {
            Ok(()) => Ok(outcome),
            Err(error) => Err(error.with_outcome(outcome)),
        }
    }

    /// Goes through the steps of `turn` and returns why it ended.
    async fn carry_out(
        &mut self,
        turn: &mut Turn,
        prompt: Prompt,
        cancel: &CancellationToken,
    ) -> Result<EndReason, LogError> {
        let time = Deadline::within(self.limits.time_max, cancel);
        self.dispatch.receipts.begin();
        self.open(prompt, Said::First)?;
        loop {
            self.listen(turn, &time.cancel)?;
            match turn.next(&self.meter.space(&self.conversation)) {
                Next::CallModel => self.call_model(turn, &time.cancel).await?,
                Next::RunCalls(calls) => self.run_calls(turn, &calls, &time.cancel).await?,
                Next::Continue(continuation) => self.go_on(turn, continuation, &time.cancel)?,
                Next::TakeStock => self.take_stock(turn).await,
                Next::Compact(cause) => self.shorten(turn, cause, &time.cancel).await?,
                Next::Stop(reason) => return self.stop(turn, time.explain(reason)),
            }
        }
    }
}
