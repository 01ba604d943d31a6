//! How a conversation is made shorter: old results left out, or a summary asked for and put in the
//! place of what it sums up.
//!
//! The request for a summary is the conversation as it stands with a message behind it, so that the
//! provider's cache holds for it. Nothing is replaced before the event that says so is logged.

use std::sync::Arc;

use tenon_model::{Conversation, ProviderError, ProviderErrorKind, Usage};
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::{
    context::{NOT_SHORTER, Reply, Shortening, summary_request},
    event::{Compaction, CompactionCause, ContextEvent, EndReason, Live, ModelEvent, TurnEvent},
    session::LogError,
    tools::{AnyTool, RecallTool},
    turn::Turn,
};

/// What came of the request for a summary.
enum Summary {
    Text(String, Usage),
    /// The model wrote none.
    None(Usage),
    /// Even this is too long.
    TooLong,
    Failed(ProviderError),
    Cancelled,
}

impl Agent {
    /// Makes the conversation shorter because the turn needs it.
    pub(super) async fn shorten(
        &mut self,
        turn: &mut Turn,
        cause: CompactionCause,
        cancel: &CancellationToken,
    ) -> Result<(), LogError> {
        if let (CompactionCause::TooLong, Some(error)) = (cause, turn.too_long()) {
            self.meter.learn(&self.conversation, error.context_window_tokens());
        }
        let compaction = match self.shortening(cause, None).without_results().filter(is_worth_it) {
            Some(compaction) => Ok(Some(compaction)),
            None => self.summed_up(cause, None, cancel).await,
        };
        match compaction {
            Ok(Some(compaction)) => {
                let usage = compaction.usage;
                self.replace(compaction)?;
                turn.compacted(&self.meter.space(&self.conversation), &usage);
            }
            Ok(None) => {
                let told = turn.not_compacted();
                told.map_or(Ok(()), |error| self.recorder.record(ModelEvent::failed(error)))?;
            }
            // What is near the window may still fit, and the provider says so if it does not.
            Err(Some(error)) if cause == CompactionCause::Window => {
                let text = format!("{NOT_SHORTER}{error}");
                self.recorder.record(TurnEvent::Notice { text })?;
                turn.not_compacted();
            }
            Err(Some(error)) => {
                self.recorder.record(ModelEvent::failed(error))?;
                turn.end(EndReason::ProviderFailed);
            }
            Err(None) => turn.end(EndReason::Cancelled),
        }
        Ok(())
    }

    /// Makes the conversation shorter now: all but what the person said gives way to a summary,
    /// which keeps to `focus` if there is one. What happens on the way goes to the log and the
    /// front end; without a summary the conversation stays as it is.
    ///
    /// ```
    /// # use tenon_agent::{Agent, AgentOptions};
    /// # use std::sync::Arc;
    /// # use tenon_model::ScriptedProvider;
    /// # use tenon_sandbox::Workspace;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let script = r#"{"turns": [{"text": "Hello."}, {"text": "They greeted each other."}]}"#;
    /// # let provider = Arc::new(ScriptedProvider::parse(script)?);
    /// # let workspace = Workspace::open(".".as_ref())?;
    /// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
    /// # let options = AgentOptions::new(provider, workspace, sandbox);
    /// let mut agent = Agent::new(options)?;
    /// agent.prompt("Say hello.", &Default::default()).await?;
    /// agent.compact(Some("the words that were used"), &Default::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Only if the log cannot be written.
    pub async fn compact(
        &mut self,
        focus: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<(), LogError> {
        match self.summed_up(CompactionCause::Asked, focus, cancel).await {
            Ok(Some(compaction)) => self.replace(compaction),
            Ok(None) => {
                let text = "there is nothing to make shorter yet".into();
                self.recorder.record(TurnEvent::Notice { text })
            }
            Err(Some(error)) => self.recorder.record(ModelEvent::failed(error)),
            Err(None) => Ok(()),
        }
    }

    fn shortening<'a>(&'a self, cause: CompactionCause, focus: Option<&'a str>) -> Shortening<'a> {
        Shortening { conversation: &self.conversation, meter: &self.meter, cause, focus }
    }

    /// Returns how a summary takes the place of what it sums up, `None` if there is nothing to sum
    /// up; fails if the provider does, or with nothing if the person cancelled.
    async fn summed_up(
        &self,
        cause: CompactionCause,
        focus: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Option<Compaction>, Option<ProviderError>> {
        let plan = self.shortening(cause, focus);
        let Some(listed) = plan.summed_up(None, Usage::default()).filter(is_worth_it) else {
            return Ok(plan.without_any_results().filter(is_worth_it));
        };
        let mut summary = Summary::TooLong;
        for conversation in plan.to_sum_up() {
            summary = self.ask_for_summary(&conversation, focus, cancel).await;
            if !matches!(summary, Summary::TooLong) {
                break;
            }
        }
        match summary {
            Summary::Text(text, usage) => {
                let made = plan.summed_up(Some(&text), usage).filter(is_worth_it);
                Ok(Some(made.unwrap_or(Compaction { usage, ..listed })))
            }
            Summary::None(usage) => Ok(Some(Compaction { usage, ..listed })),
            Summary::TooLong => Ok(Some(listed)),
            Summary::Failed(error) => Err(Some(error)),
            Summary::Cancelled => Err(None),
        }
    }

    async fn ask_for_summary(
        &self,
        conversation: &Conversation,
        focus: Option<&str>,
        cancel: &CancellationToken,
    ) -> Summary {
        let (request, tokens_max) = summary_request(&self.meter.space(conversation), focus);
        let mut conversation = conversation.clone();
        conversation.push(Arc::new(request));
        let show = |live| match live {
            // The summary is no answer.
            Live::TextDelta(_) | Live::ThinkingDelta(_) => {}
            other => self.recorder.show(other),
        };
        self.recorder.show(Live::Progress("Summing up the conversation …".into()));
        let request = self.exchange.request(&conversation, tokens_max);
        let mut reply = self.exchange.run(request.clone(), cancel, show).await;
        let mut before = reply.retried;
        // The provider makes a request again only while none of its reply was shown; of a summary
        // none is, so it is asked for once more.
        if reply.error.as_ref().is_some_and(ProviderError::is_transient) {
            before += reply.usage;
            reply = self.exchange.run(request, cancel, show).await;
            before += reply.retried;
        }
        let Reply { message, stop, mut usage, error, .. } = reply;
        usage += before;
        let text = message.text();
        match (stop, error) {
            (None, None) => Summary::Cancelled,
            (None, Some(error)) if error.kind == ProviderErrorKind::ContextTooLong => {
                Summary::TooLong
            }
            (None, Some(error)) => Summary::Failed(error),
            (Some(_), _) if text.trim().is_empty() => Summary::None(usage),
            (Some(_), _) => Summary::Text(text, usage),
        }
    }

    fn replace(&mut self, compaction: Compaction) -> Result<(), LogError> {
        let shorter = compaction.applied_to(&self.conversation);
        self.recorder.record(ContextEvent::Compacted(compaction))?;
        self.conversation = shorter;
        self.offer_recall(true);
        self.meter.rewritten(&self.exchange.system, &self.exchange.tools);
        Ok(())
    }

    /// Adds the tool that gives back what is left out, or takes it away where nothing is any more. Now
    /// and at no other time: the list of tools stands in front of the conversation, and what is cached
    /// begins anew in any case, or goes on as it was before.
    pub(super) fn offer_recall(&mut self, is_wanted: bool) {
        let Some(source) = self.recall.clone().filter(|_| self.offers_recall != is_wanted) else {
            return;
        };
        let (tools, recall) = (std::mem::take(&mut self.dispatch.tools), RecallTool::new(source));
        self.dispatch.tools = match is_wanted {
            true => tools.with(recall),
            false => tools.without(AnyTool::name(&recall)),
        };
        self.exchange.tools = self.dispatch.tools.specs().into();
        self.offers_recall = is_wanted;
    }
}

/// Says whether a compaction gains anything. What was asked for is tried in any case; of a conversation that is near the
/// window, or was refused as too long, the longest part may be the newest one, which stays, or what the person said.
fn is_worth_it(compaction: &Compaction) -> bool {
    compaction.cause == CompactionCause::Asked || compaction.tokens_after < compaction.tokens_before
}
