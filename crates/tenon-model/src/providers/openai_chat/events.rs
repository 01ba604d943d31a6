//! The event stream of Chat Completions, and the reply as one document. Pure.

use serde::Deserialize;
use serde_json::Value;

use super::{
    super::figures::{tokens, told},
    calls::{Calls, Fragment, Function},
};
use crate::{
    exchange::{Decoder, Events, Stage, has_content},
    failure::Server,
    provider::{ProviderError, ProviderErrorKind, StopReason, StreamEvent, Usage},
    sse::SseEvent,
};

/// Turns one reply's chunks into events.
pub(super) struct OpenAiDecoder<'a> {
    server: &'a Server,
    calls: Calls,
    /// Whether calls come in `tool_calls`, so that `function_call` only repeats them.
    has_tool_calls: bool,
    usage: Option<Usage>,
    stop_reason: Option<StopReason>,
    /// Whether a refusal was streamed in the field of its own.
    refused: bool,
    /// Whether an event was one of Chat Completions.
    begun: bool,
    /// Whether there is anything but figures in the reply.
    has_content: bool,
    ended: bool,
}

/// A chunk, or the whole reply: the same but for `message` in the place of `delta`.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "told")]
    usage: Option<UsageFields>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    object: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, alias = "message")]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<Value>,
    #[serde(default)]
    reasoning_details: Option<Vec<ReasoningDetail>>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Fragment>>,
    #[serde(default)]
    function_call: Option<Function>,
}

/// Prose: a string by the API; a list of parts on some servers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<TextPart>),
}

#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct ReasoningDetail {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Deserialize)]
struct UsageFields {
    #[serde(default, deserialize_with = "tokens")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "tokens")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "told")]
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for cached tokens.
    #[serde(default, deserialize_with = "tokens")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "tokens")]
    cached_tokens: Option<u64>,
}

impl<'a> OpenAiDecoder<'a> {
    pub(super) fn new(server: &'a Server) -> Self {
        Self {
            server,
            calls: Calls::default(),
            has_tool_calls: false,
            usage: None,
            stop_reason: None,
            refused: false,
            begun: false,
            has_content: false,
            ended: false,
        }
    }

    fn chunk(&mut self, text: &str, out: &mut Events) -> Result<(), ProviderError> {
        let chunk: Chunk = match serde_json::from_str(text) {
            Ok(chunk) => chunk,
            Err(error) => {
                return match serde_json::from_str::<Value>(text) {
                    Ok(value) if has_error(&value) => Err(self.server.broke_off(&value)),
                    _ => self.unread(&error),
                };
            }
        };
        let is_error = chunk.error.as_ref().is_some_and(|error| !error.is_null())
            || chunk.object.as_deref() == Some("error");
        if is_error {
            let value = serde_json::from_str(text).unwrap_or_default();
            return Err(self.server.broke_off(&value));
        }
        self.begun |= chunk.choices.is_some();
        if let Some(fields) = chunk.usage {
            self.count(fields, out);
        }
        // One choice is asked for, and only the first is read.
        let Some(choice) = chunk.choices.into_iter().flatten().next() else { return Ok(()) };
        if let Some(delta) = choice.delta {
            self.delta(delta, out);
        }
        self.has_content |= has_content(out) || !self.calls.is_empty();
        self.stop(choice.finish_reason.as_deref().unwrap_or_default())
    }

    /// Takes in an event that is none. A reply whose stop word came loses nothing by it.
    fn unread(&self, error: &serde_json::Error) -> Result<(), ProviderError> {
        if self.stop_reason.is_some() {
            return Ok(());
        }
        Err(self.server.unread(error, "Chat Completions", self.begun))
    }

    fn delta(&mut self, delta: Delta, out: &mut Events) {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let reasoning = delta
            .reasoning_content
            .and_then(some)
            .or_else(|| match delta.reasoning {
                Some(Value::String(text)) => some(text),
                _ => None,
            })
            .or_else(|| {
                let details = delta.reasoning_details.into_iter().flatten();
                some(details.filter_map(|detail| detail.text.or(detail.summary)).collect())
            });
        out.extend(reasoning.map(|text| StreamEvent::ThinkingDelta { text }));
        let content = match delta.content {
            Some(Content::Text(text)) => some(text),
            Some(Content::Parts(parts)) => {
                some(parts.into_iter().filter_map(|part| part.text).collect())
            }
            None => None,
        };
        out.extend(content.map(|text| StreamEvent::TextDelta { text }));
        if let Some(text) = delta.refusal.and_then(some) {
            out.push_back(StreamEvent::TextDelta { text });
            self.refused = true;
        }
        for fragment in delta.tool_calls.into_iter().flatten() {
            self.has_tool_calls = true;
            self.calls.push(fragment, out);
        }
        // llama-cpp-python sends each call in both fields.
        if let Some(function) = delta.function_call.filter(|_| !self.has_tool_calls) {
            self.calls.push(Fragment::of(function), out);
        }
    }

    fn stop(&mut self, word: &str) -> Result<(), ProviderError> {
        let reason = match word {
            "" | "null" => return Ok(()),
            "length" | "max_tokens" | "model_length" => StopReason::OutputLimit,
            "content_filter" | "refusal" => StopReason::Refusal,
            "error" => return Err(self.server.ended_early()),
            "insufficient_system_resource" => {
                let words =
                    format!("{} ran out of resources in the middle of the reply", self.server.host);
                return Err(ProviderError::new(ProviderErrorKind::Overloaded, words));
            }
            _ if self.refused => StopReason::Refusal,
            // `stop`, `tool_calls`, `function_call`, `eos` …: whether there are calls decides.
            _ => StopReason::EndOfTurn,
        };
        self.stop_reason = self.stop_reason.or(Some(reason));
        Ok(())
    }

    fn count(&mut self, fields: UsageFields, out: &mut Events) {
        let prompt = fields.prompt_tokens.unwrap_or(0);
        let cached = fields
            .prompt_tokens_details
            .and_then(|details| details.cached_tokens)
            .or(fields.prompt_cache_hit_tokens)
            .unwrap_or(0)
            .min(prompt);
        let usage = Usage {
            input: prompt - cached,
            output: fields.completion_tokens.unwrap_or(0),
            cache_read: cached,
            cache_write: 0,
        };
        // Some servers repeat the figures in every chunk, and some end with zeros.
        if self.usage != Some(usage) && usage != Usage::default() {
            self.usage = Some(usage);
            out.push_back(StreamEvent::Usage(usage));
        }
    }
}

impl Decoder for OpenAiDecoder<'_> {
    fn event(&mut self, event: &SseEvent, out: &mut Events) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if event.name == "error" {
            let value =
                serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned()));
            return Err(self.server.broke_off(&value));
        }
        match data {
            "" => Ok(()),
            "[DONE]" => {
                self.ended = true;
                Ok(())
            }
            _ => self.chunk(data, out),
        }
    }

    fn whole(&mut self, body: &[u8], out: &mut Events) -> Result<(), ProviderError> {
        let text = String::from_utf8_lossy(body);
        self.chunk(&text, out).map_err(|error| match error.kind {
            // A document that does not end was cut off on its way.
            ProviderErrorKind::Dropped => self.server.ended_early(),
            ProviderErrorKind::Protocol if !text.trim_end().ends_with('}') => {
                self.server.ended_early()
            }
            _ => error,
        })?;
        self.ended = text.contains("\"choices\"");
        match self.ended {
            true => Ok(()),
            false => Err(self.server.not_understood("a document that is no reply")),
        }
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
            // An end mark alone comes from servers and gateways in whose middle something broke.
            None if !self.ended || !self.has_content => return Err(self.server.ended_early()),
            None | Some(StopReason::EndOfTurn) if !self.calls.is_empty() => StopReason::ToolCalls,
            None => StopReason::EndOfTurn,
            Some(reason) => reason,
        };
        self.calls.finish(reason == StopReason::OutputLimit, out);
        out.push_back(StreamEvent::Stopped { reason });
        Ok(())
    }
}

fn has_error(value: &Value) -> bool {
    value.get("error").is_some_and(|error| !error.is_null()) || value.get("detail").is_some()
}
