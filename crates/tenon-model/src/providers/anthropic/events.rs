//! The event stream of the Messages API, and the reply as one document. Pure.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::super::figures::{tokens, told};
use crate::{
    exchange::{Decoder, Events, Stage, has_content},
    failure::Server,
    provider::{ProviderError, StopReason, StreamEvent, Usage},
    sse::SseEvent,
};

/// Turns one reply's events into ours.
pub(super) struct AnthropicDecoder<'a> {
    server: &'a Server,
    /// The block that is open: the server's number, and what we make of it.
    open: Option<(u64, Open)>,
    /// Calls begun so far.
    calls: usize,
    /// A call whose block is closed. Its end is reported when the next block or the stop word
    /// shows that it was not cut off: the server closes blocks that the output limit cut.
    closed_call: Option<usize>,
    usage: Usage,
    stop_reason: Option<StopReason>,
    /// Whether an event was one of the Messages API.
    begun: bool,
    /// Whether there is anything but figures in the reply.
    has_content: bool,
    ended: bool,
}

#[derive(Debug, Clone, Copy)]
enum Open {
    Other,
    Call { index: usize },
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    content_block: Option<Block<'a>>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(default)]
    message: Option<Start>,
    #[serde(default, deserialize_with = "told")]
    usage: Option<UsageFields>,
}

/// The whole reply as one document.
#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    #[serde(borrow, default)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "told")]
    usage: Option<UsageFields>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default, deserialize_with = "told")]
    usage: Option<UsageFields>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    data: Option<String>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(borrow, default)]
    stop_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct UsageFields {
    #[serde(default, deserialize_with = "tokens")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "tokens")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "tokens")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "tokens")]
    cache_creation_input_tokens: Option<u64>,
}

impl<'a> AnthropicDecoder<'a> {
    pub(super) fn new(server: &'a Server) -> Self {
        Self {
            server,
            open: None,
            calls: 0,
            closed_call: None,
            usage: Usage::default(),
            stop_reason: None,
            begun: false,
            has_content: false,
            ended: false,
        }
    }

    fn begin(&mut self, index: u64, block: Block<'_>, out: &mut Events) {
        self.end_closed_call(out);
        let mut open = Open::Other;
        match &*block.kind {
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                open = Open::Call { index };
                let (id, name) = (block.id.unwrap_or_default(), block.name.unwrap_or_default());
                out.push_back(StreamEvent::ToolCallStarted { index, id, name });
                // Some servers give all arguments here, and no fragments.
                let given = block.input.filter(|input| match input {
                    Value::Object(fields) => !fields.is_empty(),
                    _ => false,
                });
                if let Some(input) = given {
                    let arguments = input.to_string();
                    out.push_back(StreamEvent::ToolCallDelta { index, arguments });
                }
            }
            "redacted_thinking" => {
                let data = block.data.unwrap_or_default();
                out.push_back(StreamEvent::RedactedThinking { data });
            }
            _ => prose(block.text, block.thinking, block.signature, out),
        }
        self.open = Some((index, open));
    }

    fn go_on(&mut self, delta: Delta<'_>, out: &mut Events) {
        if let (Some(arguments), Some((_, Open::Call { index }))) = (delta.partial_json, self.open)
        {
            out.push_back(StreamEvent::ToolCallDelta { index, arguments });
        }
        prose(delta.text, delta.thinking, delta.signature, out);
    }

    fn close(&mut self, index: Option<u64>) {
        if let Some((open, kind)) = self.open
            && index.is_none_or(|index| index == open)
        {
            self.open = None;
            if let Open::Call { index } = kind {
                self.closed_call = Some(index);
            }
        }
    }

    fn end_closed_call(&mut self, out: &mut Events) {
        if let Some(index) = self.closed_call.take() {
            out.push_back(StreamEvent::ToolCallEnded { index });
        }
    }

    /// Takes in an event that is none. A reply whose stop word came loses nothing by it.
    fn unread(&self, error: &serde_json::Error) -> Result<(), ProviderError> {
        if self.stop_reason.is_some() {
            return Ok(());
        }
        Err(self.server.unread(error, "the Messages API", self.begun))
    }

    fn count(&mut self, fields: UsageFields, out: &mut Events) {
        // Figures come twice and only grow; servers exist that send zeros in one of the places.
        let larger = |known: &mut u64, now: Option<u64>| *known = now.unwrap_or(0).max(*known);
        larger(&mut self.usage.input, fields.input_tokens);
        larger(&mut self.usage.output, fields.output_tokens);
        larger(&mut self.usage.cache_read, fields.cache_read_input_tokens);
        larger(&mut self.usage.cache_write, fields.cache_creation_input_tokens);
        out.push_back(StreamEvent::Usage(self.usage));
    }

    fn take_in(&mut self, event: &SseEvent, out: &mut Events) -> Result<(), ProviderError> {
        if event.data.trim().is_empty() || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            let value = serde_json::from_str(&event.data)
                .unwrap_or_else(|_| Value::String(event.data.clone()));
            return Err(self.server.broke_off(&value));
        }
        let message: Message<'_> = match serde_json::from_str(&event.data) {
            Ok(message) => message,
            Err(error) => return self.unread(&error),
        };
        self.begun |= !message.kind.is_empty();
        match &*message.kind {
            "message_start" => {
                if let Some(usage) = message.message.and_then(|start| start.usage) {
                    self.count(usage, out);
                }
            }
            "content_block_start" => {
                if let Some(block) = message.content_block {
                    self.begin(message.index.unwrap_or_default(), block, out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = message.delta {
                    self.go_on(delta, out);
                }
            }
            "content_block_stop" => self.close(message.index),
            "message_delta" => {
                if let Some(word) = message.delta.and_then(|delta| delta.stop_reason) {
                    self.stop_reason = Some(stop_reason(&word));
                }
                if let Some(usage) = message.usage {
                    self.count(usage, out);
                }
            }
            "message_stop" => self.ended = true,
            "error" => {
                let value = serde_json::from_str(&event.data).unwrap_or_default();
                return Err(self.server.broke_off(&value));
            }
            // `ping`, and what later versions of the API add.
            _ => {}
        }
        Ok(())
    }
}

impl Decoder for AnthropicDecoder<'_> {
    fn event(&mut self, event: &SseEvent, out: &mut Events) -> Result<(), ProviderError> {
        let taken_in = self.take_in(event, out);
        self.has_content |= has_content(out);
        taken_in
    }

    fn whole(&mut self, body: &[u8], out: &mut Events) -> Result<(), ProviderError> {
        let whole: Whole<'_> = match serde_json::from_slice(body) {
            Ok(whole) => whole,
            Err(error) => {
                return Err(match serde_json::from_slice::<Value>(body) {
                    Ok(value) if value.get("error").is_some() => self.server.broke_off(&value),
                    // A document that does not end was cut off on its way.
                    _ if error.is_eof() => self.server.ended_early(),
                    _ => self.server.not_understood("a document that is no reply"),
                });
            }
        };
        for (index, block) in (0..).zip(whole.content) {
            self.begin(index, block, out);
            self.close(Some(index));
        }
        if let Some(usage) = whole.usage {
            self.count(usage, out);
        }
        self.stop_reason = whole.stop_reason.as_deref().map(stop_reason);
        self.has_content = has_content(out);
        self.ended = true;
        Ok(())
    }

    fn stage(&self) -> Stage {
        match (self.ended, self.stop_reason) {
            (true, _) => Stage::Ended,
            (false, Some(_)) => Stage::Stopped,
            (false, None) => Stage::Open,
        }
    }

    fn finish(&mut self, out: &mut Events) -> Result<(), ProviderError> {
        let reason = match self.stop_reason {
            Some(reason) => reason,
            // An end mark alone comes from servers and gateways in whose middle something broke.
            None if !self.ended || !self.has_content => return Err(self.server.ended_early()),
            None if self.calls > 0 => StopReason::ToolCalls,
            None => StopReason::EndOfTurn,
        };
        if reason != StopReason::OutputLimit {
            self.end_closed_call(out);
        }
        out.push_back(StreamEvent::Stopped { reason });
        Ok(())
    }
}

fn prose(
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    out: &mut Events,
) {
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    out.extend(some(text).map(|text| StreamEvent::TextDelta { text }));
    out.extend(some(thinking).map(|text| StreamEvent::ThinkingDelta { text }));
    out.extend(some(signature).map(|signature| StreamEvent::ThinkingSignature { signature }));
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::OutputLimit,
        "refusal" => StopReason::Refusal,
        // `end_turn`, `stop_sequence`, `pause_turn` (only server tools pause, and none are sent).
        _ => StopReason::EndOfTurn,
    }
}
