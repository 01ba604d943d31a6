//! Replays a script of replies, so that the whole program can be shown and tested without a model.
//!
//! The script is text that somebody else has read; this crate opens no files. Its format is
//! described in docs/providers.md and by [`Script`].

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures::{FutureExt, StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;

use crate::provider::{
    Abilities, EventStream, Provider, ProviderError, ProviderErrorKind, Request, StopReason,
    StreamEvent, Usage,
};

/// The name in `scripted:FILE`.
pub const PROVIDER_NAME: &str = "scripted";

/// A provider that replays [`Script::turns`], one for each request, in order.
#[derive(Debug)]
pub struct ScriptedProvider {
    turns: Vec<Arc<ScriptedTurn>>,
    served: AtomicUsize,
    abilities: Abilities,
}

/// A whole script: `{"turns": [...]}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The replies in the order of the requests.
    pub turns: Vec<ScriptedTurn>,
}

/// One reply. Everything may be left out; what is there is sent in the order of the fields.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedTurn {
    /// How long the reply waits before its first event.
    pub delay_ms: u64,
    /// Panics with these words instead of a reply, to show what a program does then.
    pub panics: Option<String>,
    /// Panics with each of these words and catches that before it replies, as is done where a tool
    /// fails inside.
    pub panics_caught: Vec<String>,
    /// Thinking before the prose.
    pub thinking: Option<String>,
    /// The prose.
    pub text: Option<String>,
    /// Into how many pieces thinking and prose are cut; 1 if not given.
    pub deltas: Option<usize>,
    /// So many pieces of one word each behind the prose, to measure streaming.
    pub words: usize,
    /// The calls.
    pub calls: Vec<ScriptedCall>,
    /// Ends the reply as the output limit does: its last call stays without an end.
    pub cut_off: bool,
    /// Ends the reply with an error instead of a stop reason.
    pub error: Option<ScriptedError>,
    /// The tokens of the request.
    pub usage: Option<Usage>,
    /// Why the reply ended; if not given, whether there are calls decides.
    pub stop: Option<StopReason>,
}

/// One call of a [`ScriptedTurn`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The tool's name.
    pub name: String,
    /// The call's id; made up if not given.
    #[serde(default)]
    pub id: String,
    /// The arguments; none if not given.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// The arguments as text that need not be JSON, in the place of `arguments`.
    #[serde(default)]
    pub raw_arguments: Option<String>,
}

/// The error that ends a [`ScriptedTurn`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    /// Its kind, as `rate_limited`.
    pub kind: ProviderErrorKind,
    /// Its sentence.
    pub message: String,
}

impl ScriptedProvider {
    /// Reads a script. Fails with the place of the first mistake.
    pub fn parse(json: &str) -> Result<Self, ProviderError> {
        let script: Script = serde_json::from_str(json).map_err(|error| {
            crate::http::configuration(format!("The script cannot be read: {error}"))
                .with_hint("docs/providers.md describes the format")
        })?;
        Ok(Self::new(script.turns))
    }

    /// Returns a provider that replays `turns`.
    pub fn new(turns: Vec<ScriptedTurn>) -> Self {
        let turns = turns.into_iter().map(Arc::new).collect();
        Self { turns, served: AtomicUsize::new(0), abilities: Abilities::default() }
    }

    /// Replaces what the model is said to be able to do.
    #[must_use]
    pub fn with_abilities(mut self, abilities: Abilities) -> Self {
        self.abilities = abilities;
        self
    }
}

impl Provider for ScriptedProvider {
    fn model(&self) -> &str {
        PROVIDER_NAME
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn stream(&self, _request: Request) -> EventStream<'_> {
        let number = self.served.fetch_add(1, Ordering::Relaxed);
        match self.turns.get(number) {
            Some(turn) => turn.stream(number),
            None => {
                let turns = match self.turns.len() {
                    1 => "1 turn".to_owned(),
                    many => format!("{many} turns"),
                };
                let words = format!("The script has {turns}, and another reply was asked for");
                let error = ProviderError::new(ProviderErrorKind::Local, words);
                stream::iter([Err(error)]).boxed()
            }
        }
    }
}

impl ScriptedTurn {
    fn stream(self: &Arc<Self>, number: usize) -> EventStream<'static> {
        let turn = Arc::clone(self);
        let delay = Duration::from_millis(turn.delay_ms);
        let wait = async move {
            if delay.is_zero() {
                // Nothing here ever waits: whoever draws beside the agent comes first once a reply.
                let mut others_first = true;
                poll_fn(|context| match std::mem::take(&mut others_first) {
                    true => {
                        context.waker().wake_by_ref();
                        Poll::Pending
                    }
                    false => Poll::Ready(()),
                })
                .await;
            } else {
                tokio::time::sleep(delay).await;
            }
        };
        let words = (0..self.words).map(|_| Ok(StreamEvent::TextDelta { text: "word ".into() }));
        let events = stream::iter(self.prose()).chain(stream::iter(words));
        let events = events.chain(stream::iter(self.end(number)));
        #[expect(clippy::panic, reason = "the script asks for it")]
        let begin = move |()| {
            for words in &turn.panics_caught {
                drop(std::panic::catch_unwind(|| panic!("{words}")));
            }
            match &turn.panics {
                Some(words) => panic!("{words}"),
                None => events,
            }
        };
        wait.map(begin).flatten_stream().boxed()
    }

    fn prose(&self) -> Vec<Result<StreamEvent, ProviderError>> {
        let thinking = self.pieces(self.thinking.as_deref());
        let text = self.pieces(self.text.as_deref());
        let thinking = thinking.into_iter().map(|text| StreamEvent::ThinkingDelta { text });
        let text = text.into_iter().map(|text| StreamEvent::TextDelta { text });
        thinking.chain(text).map(Ok).collect()
    }

    /// Cuts text into [`ScriptedTurn::deltas`] pieces of about the same length, or fewer.
    fn pieces(&self, text: Option<&str>) -> Vec<String> {
        let characters: Vec<char> = text.unwrap_or_default().chars().collect();
        let size = characters.len().div_ceil(self.deltas.unwrap_or(1).max(1)).max(1);
        characters.chunks(size).map(|piece| piece.iter().collect()).collect()
    }

    fn end(&self, number: usize) -> Vec<Result<StreamEvent, ProviderError>> {
        let mut events = Vec::new();
        for (index, call) in self.calls.iter().enumerate() {
            let id = match call.id.as_str() {
                "" => format!("call_{}_{}", number + 1, index + 1),
                id => id.to_owned(),
            };
            let arguments = match (&call.raw_arguments, &call.arguments) {
                (Some(raw), _) => raw.clone(),
                (None, Some(arguments)) => arguments.to_string(),
                (None, None) => String::new(),
            };
            events.push(Ok(StreamEvent::ToolCallStarted { index, id, name: call.name.clone() }));
            events.push(Ok(StreamEvent::ToolCallDelta { index, arguments }));
            if !(self.cut_off && index + 1 == self.calls.len()) {
                events.push(Ok(StreamEvent::ToolCallEnded { index }));
            }
        }
        events.extend(self.usage.map(|usage| Ok(StreamEvent::Usage(usage))));
        events.push(match &self.error {
            Some(error) => Err(ProviderError::new(error.kind, &*error.message)),
            None => Ok(StreamEvent::Stopped { reason: self.stop_reason() }),
        });
        events
    }

    fn stop_reason(&self) -> StopReason {
        match self.stop {
            Some(reason) => reason,
            None if self.cut_off => StopReason::OutputLimit,
            None if self.calls.is_empty() => StopReason::EndOfTurn,
            None => StopReason::ToolCalls,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Fold, Reply, ToolCallFault};

    fn request() -> Request {
        Request {
            system: "".into(),
            tools: [].into(),
            conversation: Vec::new(),
            output_tokens_max: 1,
        }
    }

    async fn reply(provider: &ScriptedProvider) -> Result<(Reply, usize), ProviderError> {
        let mut stream = provider.stream(request());
        let (mut fold, mut deltas) = (Fold::default(), 0);
        while let Some(event) = stream.next().await {
            let event = event?;
            deltas += usize::from(matches!(event, StreamEvent::TextDelta { .. }));
            fold.push(event);
        }
        Ok((fold.finish(&[]), deltas))
    }

    #[tokio::test(start_paused = true)]
    async fn turns_come_in_order_and_then_an_error() {
        let script = json!({"turns": [
            {"thinking": "hm", "text": "Let me look.", "deltas": 4, "delay_ms": 50,
             "calls": [{"name": "bash", "arguments": {"command": "ls"}}, {"name": "x", "raw_arguments": "{bad"}],
             "usage": {"input": 7, "output": 3}},
            {"words": 20_000},
            {"calls": [{"name": "bash"}], "cut_off": true},
            {"text": "half", "error": {"kind": "dropped", "message": "gone"}},
        ]});
        let provider = ScriptedProvider::parse(&script.to_string()).unwrap();
        let (first, deltas) = reply(&provider).await.unwrap();
        assert_eq!((deltas, first.stop_reason), (4, Some(StopReason::ToolCalls)));
        assert_eq!(first.usage, Usage { input: 7, output: 3, ..Usage::default() });
        let content = serde_json::to_value(&first.message.content).unwrap();
        assert_eq!(
            content[2],
            json!({"type": "tool_call", "id": "call_1_1", "name": "bash", "arguments": {"command": "ls"}})
        );
        assert_eq!(content[3]["fault"]["raw"], "{bad");
        let (second, deltas) = reply(&provider).await.unwrap();
        assert_eq!((deltas, second.message.text().len()), (20_000, 100_000));
        let (third, _) = reply(&provider).await.unwrap();
        assert_eq!(third.stop_reason, Some(StopReason::OutputLimit));
        assert_eq!(third.message.tool_calls().next().unwrap().fault, Some(ToolCallFault::CutOff));
        assert_eq!(reply(&provider).await.unwrap_err().message, "gone");
        let beyond = reply(&provider).await.unwrap_err();
        assert_eq!(beyond.message, "The script has 4 turns, and another reply was asked for");
    }

    #[test]
    fn a_mistake_in_a_script_is_named_with_its_place() {
        let error = ScriptedProvider::parse("{\"turns\": [\n{\"txet\": \"hi\"}]}").unwrap_err();
        assert!(error.message.contains("unknown field `txet`"), "{error}");
        assert!(error.message.contains("line 2"), "{error}");
    }
}
