//! What the model says in one scripted reply, and how each dialect streams it: prose in words,
//! arguments in fragments of a few bytes, usage of 10 tokens in and 5 out.

use serde_json::{Value, json};

/// Bytes of each fragment of a call's arguments: small enough that every call comes in several.
const FRAGMENT_BYTES: usize = 7;

/// One reply of the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    thinking: Option<String>,
    text: String,
    calls: Vec<(String, String, String)>,
    stop: Option<String>,
}

impl Turn {
    /// Returns a turn of prose; may be empty.
    pub(crate) fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Returns a turn of one call.
    pub(crate) fn of_call(name: &str, arguments: Value) -> Self {
        Self::default().call(name, arguments)
    }

    /// Adds thinking in front (Anthropic: signed `sig-1`).
    pub(crate) fn thinking(mut self, text: &str) -> Self {
        self.thinking = Some(text.to_owned());
        self
    }

    /// Adds a call with the id `call_N`, N counted from 1 within the turn.
    pub(crate) fn call(self, name: &str, arguments: Value) -> Self {
        let id = format!("call_{}", self.calls.len() + 1);
        self.call_with_id(&id, name, &arguments.to_string())
    }

    /// Adds a call with an id and argument text of its own, valid JSON or not.
    pub(crate) fn call_with_id(mut self, id: &str, name: &str, arguments: &str) -> Self {
        self.calls.push((id.to_owned(), name.to_owned(), arguments.to_owned()));
        self
    }

    /// Sets the stop word in the dialect's own language; by default the usual one.
    pub(crate) fn stop(mut self, word: &str) -> Self {
        self.stop = Some(word.to_owned());
        self
    }

    /// Returns the turn as the Messages API streams it.
    pub(crate) fn anthropic_sse(&self) -> String {
        let mut events = vec![json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 1}}})];
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>| {
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            );
            for delta in deltas {
                events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            events.push(json!({"type": "content_block_stop", "index": index}));
            index += 1;
        };
        if let Some(thinking) = &self.thinking {
            let mut deltas: Vec<Value> = words(thinking)
                .map(|word| json!({"type": "thinking_delta", "thinking": word}))
                .collect();
            deltas.push(json!({"type": "signature_delta", "signature": "sig-1"}));
            block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
        }
        if !self.text.is_empty() {
            let deltas =
                words(&self.text).map(|word| json!({"type": "text_delta", "text": word})).collect();
            block(json!({"type": "text", "text": ""}), deltas);
        }
        for (id, name, arguments) in &self.calls {
            let deltas = fragments(arguments)
                .map(|part| json!({"type": "input_json_delta", "partial_json": part}))
                .collect();
            block(json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas);
        }
        let usual = if self.calls.is_empty() { "end_turn" } else { "tool_use" };
        events.push(json!({"type": "message_delta",
            "delta": {"stop_reason": self.stop.as_deref().unwrap_or(usual), "stop_sequence": null},
            "usage": {"output_tokens": 5}}));
        events.push(json!({"type": "message_stop"}));
        let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
    }

    /// Returns the turn as Chat Completions streams it.
    pub(crate) fn openai_sse(&self) -> String {
        let chunk = |delta: Value, finish: Value| {
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        };
        let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
        for word in words(self.thinking.as_deref().unwrap_or_default()) {
            chunks.push(chunk(json!({"reasoning_content": word}), Value::Null));
        }
        for word in words(&self.text) {
            chunks.push(chunk(json!({"content": word}), Value::Null));
        }
        for (index, (id, name, arguments)) in self.calls.iter().enumerate() {
            let first = json!({"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": ""}});
            chunks.push(chunk(json!({"tool_calls": [first]}), Value::Null));
            for part in fragments(arguments) {
                let next = json!({"index": index, "function": {"arguments": part}});
                chunks.push(chunk(json!({"tool_calls": [next]}), Value::Null));
            }
        }
        let usual = if self.calls.is_empty() { "stop" } else { "tool_calls" };
        chunks.push(chunk(json!({}), json!(self.stop.as_deref().unwrap_or(usual))));
        chunks.push(json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "fake", "choices": [],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}));
        let mut sse: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        sse.push_str("data: [DONE]\n\n");
        sse
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ').filter(|word| !word.is_empty())
}

fn fragments(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = FRAGMENT_BYTES.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}
