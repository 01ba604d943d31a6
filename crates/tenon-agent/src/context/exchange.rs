//! One request and its reply: sent, shown as it comes, folded into a message.

use std::{sync::Arc, time::Instant};

use futures::StreamExt;
use tenon_model::{
    ContentBlock, Conversation, Fold, Message, Provider, ProviderError, Request, StopReason,
    StreamEvent, ToolSpec, Usage,
};
use tokio_util::sync::CancellationToken;

use super::tokens::Meter;
use crate::{
    event::Live,
    tools::{BASH, Sandbox},
};

/// What every request of a session has in common.
pub(crate) struct Exchange {
    pub provider: Arc<dyn Provider>,
    pub system: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
    /// Where commands will run: made ready while the call for the first one is still written.
    pub sandbox: Sandbox,
}

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Reply {
    /// What the model said, so far as it got.
    pub message: Message,
    /// Why it stopped; `None` if it did not get that far.
    pub stop: Option<StopReason>,
    pub usage: Usage,
    /// What attempts used that broke off before.
    pub retried: Usage,
    pub duration_ms: u64,
    /// What cut the reply short, if it was not the person.
    pub error: Option<ProviderError>,
}

impl Exchange {
    /// Returns what knows how many tokens a request to the model will have; `window` is what counts
    /// in the place of the model's own.
    pub(crate) fn meter(&self, window: Option<u32>) -> Meter {
        let model = self.provider.abilities();
        let window = window.unwrap_or(model.context_window_tokens);
        Meter::new(window, model.output_tokens_max, &self.system, &self.tools)
    }

    /// Returns the request that sends `conversation`, for a reply of at most so many tokens.
    pub(crate) fn request(&self, conversation: &Conversation, output_tokens_max: u32) -> Request {
        Request {
            system: Arc::clone(&self.system),
            tools: Arc::clone(&self.tools),
            conversation: conversation.clone(),
            output_tokens_max,
        }
    }

    /// Sends `request` and returns the reply; `show` gets it as it comes. A reply that was
    /// cut short, by `cancel` or a failure, keeps its text and loses its calls.
    pub(crate) async fn run(
        &self,
        request: Request,
        cancel: &CancellationToken,
        show: impl Fn(Live),
    ) -> Reply {
        let started = Instant::now();
        let conversation = request.conversation.clone();
        let mut fold = Fold::default();
        let mut stream = self.provider.stream(request);
        let error = loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled() => break None,
                event = stream.next() => event,
            };
            match event {
                Some(Ok(event)) => {
                    // One that never waits would keep the thread from what ends the turn's time.
                    tokio::task::yield_now().await;
                    if let Some(live) = live(&event) {
                        show(live);
                    }
                    if is_command(&event) {
                        self.sandbox.warm_up();
                    }
                    fold.push(event);
                }
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        let folded = fold.finish(&conversation);
        let whole = error.is_none() && !cancel.is_cancelled();
        let mut message = folded.message;
        if !whole {
            message.content.retain(|block| matches!(block, ContentBlock::Text { .. }));
        }
        Reply {
            message,
            stop: folded.stop_reason.filter(|_| whole),
            usage: folded.usage,
            retried: folded.retried,
            duration_ms: started.elapsed().as_millis() as u64,
            error,
        }
    }
}

fn is_command(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::ToolCallStarted { name, .. } if name == BASH)
}

fn live(event: &StreamEvent) -> Option<Live> {
    match event {
        StreamEvent::TextDelta { text } => Some(Live::TextDelta(text.clone())),
        StreamEvent::ThinkingDelta { text } => Some(Live::ThinkingDelta(text.clone())),
        StreamEvent::Progress { text } => Some(Live::Progress(text.clone())),
        StreamEvent::Retrying { attempt, wait_ms, reason } => {
            Some(Live::Retrying { attempt: *attempt, wait_ms: *wait_ms, reason: reason.clone() })
        }
        _ => None,
    }
}
