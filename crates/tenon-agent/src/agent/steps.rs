//! How the loop's steps are performed: a prompt taken in, a request made, calls run.

use std::sync::Arc;

use tenon_model::{ToolCall, Usage};
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::{
    context::{Reply, mode_note, user_message},
    event::{ContextEvent, Continuation, EndReason, ModelEvent, Receipt, TurnEvent},
    input::Prompt,
    session::{LogError, PrefixHasher, results_message},
    turn::{Turn, receipt},
};

/// When a person says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// A turn begins with it.
    First,
    /// A turn goes on with it.
    AtStep,
}

impl Agent {
    /// Has the model told something with the next prompt, in a line in front of it: what happened
    /// meanwhile that it cannot know, such as an undo.
    ///
    /// ```
    /// # use tenon_agent::{Agent, AgentOptions};
    /// # use std::sync::Arc;
    /// # use tenon_model::ScriptedProvider;
    /// # use tenon_sandbox::Workspace;
    /// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
    /// # let workspace = Workspace::open(".".as_ref())?;
    /// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
    /// # let options = AgentOptions::new(provider, workspace, sandbox);
    /// let mut agent = Agent::new(options)?;
    /// agent.tell("[undo] the last call was undone: a.txt is as before");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tell(&mut self, news: impl Into<String>) {
        self.opening.tell(news.into());
    }

    /// Takes in what the person said meanwhile, if a request can come next: behind the results that
    /// the model waits for, and logged before it is sent. What comes with a cancellation stays where
    /// it waits.
    pub(super) fn listen(
        &mut self,
        turn: &mut Turn,
        cancel: &CancellationToken,
    ) -> Result<(), LogError> {
        while !cancel.is_cancelled()
            && turn.hears(&self.meter.space(&self.conversation))
            && let Some(prompt) = self.queue.take_for_step()
        {
            self.open(prompt, Said::AtStep)?;
            turn.heard();
        }
        Ok(())
    }

    /// Takes in a prompt.
    pub(super) fn open(&mut self, prompt: Prompt, said: Said) -> Result<(), LogError> {
        if said == Said::First {
            self.tell_of_undone()?;
        }
        let prompt = self.recorder.masked(prompt);
        let mut opening = self.opening.take_for(&prompt, &self.dispatch.workspace);
        // In a replay it stands in the recorded prompt.
        if said == Said::First && self.dispatch.stand_in.is_none() {
            let conversation = self.conversation.iter().map(AsRef::as_ref);
            opening.before.extend(mode_note(self.dispatch.mode, conversation).map(str::to_owned));
        }
        self.dispatch.note_told_jobs(&self.recorder)?;
        let message = user_message(opening.before, &prompt);
        let mut attached = opening.attached;
        attached.extend(prompt.images.iter().map(|image| format!("image: {}", image.in_words())));
        let (prompt, at_step) = (prompt.text, said == Said::AtStep);
        let said = TurnEvent::UserMessage { message, prompt, attached, at_step };
        self.conversation.extend(self.recorder.say(said)?);
        self.dispatch.note_seen(&self.recorder)?;
        opening
            .notices
            .into_iter()
            .try_for_each(|text| self.recorder.record(TurnEvent::Notice { text }))
    }

    /// Has the log told what was undone since, and the model what it then does not know of the files.
    fn tell_of_undone(&mut self) -> Result<(), LogError> {
        let Some(undone) = &mut self.undone else { return Ok(()) };
        let notes = undone.take(|| self.recorder.session())?;
        let is_due = undone.is_news_due(!notes.is_empty());
        notes.into_iter().try_for_each(|note| self.recorder.record(note))?;
        if is_due && let Some(session) = self.recorder.session()? {
            session.undo_news().into_iter().for_each(|news| self.opening.tell(news));
        }
        Ok(())
    }

    /// Has the log told what was undone from elsewhere in the middle of a turn, where it happened.
    fn note_undone(&mut self) -> Result<(), LogError> {
        let Some(undone) = &mut self.undone else { return Ok(()) };
        let notes = undone.take(|| self.recorder.session())?;
        if !notes.is_empty() {
            undone.set_untold();
        }
        notes.into_iter().try_for_each(|note| self.recorder.record(note))
    }

    pub(super) async fn call_model(
        &mut self,
        turn: &mut Turn,
        cancel: &CancellationToken,
    ) -> Result<(), LogError> {
        self.note_undone()?;
        let space = self.meter.space(&self.conversation);
        let request = self.exchange.request(&self.conversation, turn.reply_tokens_max(&space));
        let is_limited = turn.has_limited_reply(&space);
        let form = PrefixHasher::form(&*self.exchange.provider, &request, is_limited);
        self.recorder.record(self.prefix.request(&request, Some(form)))?;
        let show = |live| self.recorder.show(live);
        let Reply { message, stop, usage, retried, duration_ms, error } =
            self.exchange.run(request, cancel, show).await;
        let (calls, text) = (message.tool_calls().cloned().collect(), message.text());
        let is_empty = message.content.is_empty();
        if !is_empty {
            self.meter.count(&self.conversation, &usage, true);
        }
        // One that is over is told of in the log, also if nothing was said: it has its price.
        let has_a_price = !(usage.is_zero() && retried.is_zero());
        if !is_empty || stop.is_some() || has_a_price {
            let said = ModelEvent::AssistantMessage { message, stop, usage, retried, duration_ms };
            self.conversation.extend(self.recorder.say(said)?);
        }
        turn.retried(&retried);
        match (stop, error) {
            (Some(stop), _) => turn.on_reply(calls, &text, stop, &usage),
            (None, Some(error)) => {
                let told = turn.on_failure(error, &text, &usage);
                told.map_or(Ok(()), |error| self.recorder.record(ModelEvent::failed(error)))?;
            }
            (None, None) => turn.cancelled(&text, &usage),
        }
        let output = self.meter.space(&self.conversation).used.saturating_sub(space.used);
        turn.estimated(Usage { input: space.used, output, ..Usage::default() });
        Ok(())
    }

    pub(super) fn go_on(
        &mut self,
        turn: &mut Turn,
        continuation: Continuation,
        cancel: &CancellationToken,
    ) -> Result<(), LogError> {
        if cancel.is_cancelled() {
            turn.end(EndReason::Cancelled);
            return Ok(());
        }
        let said = self.recorder.say(ContextEvent::Continued(continuation))?;
        self.conversation.extend(said);
        turn.continued();
        Ok(())
    }

    pub(super) async fn take_stock(&self, turn: &mut Turn) {
        let mut stock = self.dispatch.receipts.stock(&self.dispatch.workspace).await;
        if let Some(stock) = &mut stock {
            let front = self.recorder.front();
            stock.known.retain(|check| self.dispatch.may_check(check, front));
        }
        turn.on_stock(stock.as_ref());
    }

    /// Returns `reason`, by which the turn is over; a model that said nothing is told of.
    pub(super) fn stop(&self, turn: &Turn, reason: EndReason) -> Result<EndReason, LogError> {
        if reason == EndReason::Finished && turn.answer().trim().is_empty() {
            let text = "the model ended its turn without a word".into();
            self.recorder.record(TurnEvent::Notice { text })?;
        }
        Ok(reason)
    }

    /// Ends the jobs that end with a turn, and returns how that ended and its receipt. Jobs may have changed
    /// something since a receipt was made.
    pub(super) async fn close(
        &self,
        turn: &Turn,
        ended: Result<EndReason, LogError>,
    ) -> (Result<EndReason, LogError>, Option<Receipt>) {
        let jobs = match self.dispatch.jobs_end_with_turn {
            true => self.dispatch.end_jobs(&self.recorder).await,
            false => Ok(false),
        };
        let made = turn.receipt().filter(|_| !matches!(jobs, Ok(true)));
        let receipt = match made {
            Some(receipt) => Some(receipt.clone()),
            None => {
                let stock = self.dispatch.receipts.stock(&self.dispatch.workspace).await;
                stock.as_ref().and_then(receipt)
            }
        };
        (ended.and_then(|reason| jobs.map(|_| reason)), receipt)
    }

    /// Ends what runs in the background, as the end of a session does, and has the log say what it changed.
    /// The model is told of that with the next prompt of a session that goes on.
    ///
    /// ```
    /// # use tenon_agent::{Agent, AgentOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use tenon_model::ScriptedProvider;
    /// # use tenon_sandbox::Workspace;
    /// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
    /// # let workspace = Workspace::open(".".as_ref())?;
    /// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
    /// # let options = AgentOptions::new(provider, workspace, sandbox.clone());
    /// let mut agent = Agent::new(options)?;
    /// agent.prompt("Say hello.", &Default::default()).await?;
    /// agent.end_jobs().await?;
    /// assert!(sandbox.jobs().running().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the log cannot be written. Nothing runs any more then, either.
    pub async fn end_jobs(&mut self) -> Result<(), LogError> {
        self.dispatch.end_jobs(&self.recorder).await.map(drop)
    }

    pub(super) async fn run_calls(
        &mut self,
        turn: &mut Turn,
        calls: &[ToolCall],
        cancel: &CancellationToken,
    ) -> Result<(), LogError> {
        self.note_undone()?;
        let results = self.dispatch.run(calls, &self.recorder, cancel).await?;
        let nudge = turn.on_results(calls, &results);
        if let Some(text) = nudge.clone() {
            self.recorder.record(TurnEvent::NoteToModel { text })?;
        }
        self.conversation.push(Arc::new(results_message(results, nudge.into_iter().collect())));
        if cancel.is_cancelled() {
            turn.end(EndReason::Cancelled);
        }
        Ok(())
    }
}
