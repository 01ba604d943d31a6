//! The request of Chat Completions. Pure.
//!
//! Compact, and ordered so that everything up to the last message stays the same from request to
//! request, because servers that cache do so by prefix.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Habits;
use crate::{
    image::Image,
    message::{ContentBlock, Message, Role, ToolCall},
    provider::Request,
    providers::body::{Parts, Wire, accepted, put, put_raw},
};

/// Writes requests for one model.
#[derive(Serialize, Deserialize)]
#[serde(tag = "dialect", rename = "openai_chat")]
pub(crate) struct OpenAiWire {
    pub(super) model: String,
    #[serde(flatten)]
    pub(super) habits: Habits,
}

/// Whether a user message is still open: what the user says next goes into it, because servers exist
/// that refuse two messages of a role in a row. Only images behind text that was sent cannot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Open {
    #[default]
    No,
    /// Its text, with more to come before the last quote.
    Text,
    /// Its list of parts.
    Parts,
}

/// One part of what a person says.
enum Part<'a> {
    Text(&'a str),
    Image(&'a Image),
}

impl Wire for OpenAiWire {
    type Note = Open;

    fn head(&self, request: &Request, out: &mut Vec<u8>) {
        put_raw(out, r#"{"model":"#);
        put(out, &self.model);
        if !request.tools.is_empty() {
            put_raw(out, r#","tools":["#);
            for (index, tool) in request.tools.iter().enumerate() {
                put_raw(out, if index == 0 { "" } else { "," });
                put_raw(out, r#"{"type":"function","function":{"name":"#);
                put(out, &tool.name);
                put_raw(out, r#","description":"#);
                put(out, &tool.description);
                put_raw(out, r#","parameters":"#);
                put(out, &tool.schema);
                put_raw(out, "}}");
            }
            put_raw(out, "]");
        }
        put_raw(out, r#","messages":["#);
        if !request.system.is_empty() {
            put_raw(out, r#"{"role":"system","content":"#);
            put(out, &*request.system);
            put_raw(out, "}");
        }
    }

    fn message(&self, message: &Message, open: &Open, out: &mut Vec<u8>) -> Open {
        match message.role {
            Role::User => put_user(message, *open, out),
            Role::Assistant => self.put_assistant(message, *open, out),
        }
    }

    fn join(&self, parts: &Parts<'_, Open>, request: &Request) -> Vec<u8> {
        let mut body = Vec::with_capacity(parts.head.len() + parts.messages.len() + 128);
        body.extend_from_slice(parts.head);
        let open = parts.notes.last().copied().unwrap_or_default();
        // Each message ends in a comma, so that none has to know whether it is the first.
        let messages = match parts.messages.strip_suffix(b",") {
            Some(closed) if open == Open::No => closed,
            _ => parts.messages,
        };
        if !messages.is_empty() && !request.system.is_empty() {
            put_raw(&mut body, ",");
        }
        body.extend_from_slice(messages);
        put_raw(&mut body, open.end());
        put_raw(&mut body, r#"],""#);
        put_raw(&mut body, &self.habits.output_limit_field);
        put_raw(&mut body, r#"":"#);
        put(&mut body, &request.output_tokens_max);
        put_raw(&mut body, r#","stream":true,"stream_options":{"include_usage":true}}"#);
        body
    }
}

impl OpenAiWire {
    fn put_assistant(&self, message: &Message, mut open: Open, out: &mut Vec<u8>) -> Open {
        let text = message.text();
        let calls: Vec<&ToolCall> = message.tool_calls().collect();
        if text.trim().is_empty() && calls.is_empty() {
            return open;
        }
        close(&mut open, out);
        put_raw(out, r#"{"role":"assistant","content":"#);
        // Null beside calls is what the API itself sends; some servers refuse an empty string.
        match text.trim().is_empty() {
            true => put_raw(out, "null"),
            false => put(out, &text),
        }
        if let Some(field) = &self.habits.reasoning_field {
            let reasoning: String = message.content.iter().filter_map(thought).collect();
            // Beside calls the field must not be missing, even if nothing was thought.
            if !reasoning.is_empty() || !calls.is_empty() {
                put_raw(out, ",");
                put(out, field);
                put_raw(out, ":");
                put(out, &reasoning);
            }
        }
        if !calls.is_empty() {
            put_raw(out, r#","tool_calls":["#);
            for (index, call) in calls.into_iter().enumerate() {
                put_raw(out, if index == 0 { "" } else { "," });
                put_call(call, out);
            }
            put_raw(out, "]");
        }
        put_raw(out, "},");
        open
    }
}

impl Open {
    /// Returns what ends the message.
    fn end(self) -> &'static str {
        match self {
            Self::No => "",
            Self::Text => r#""}"#,
            Self::Parts => "]}",
        }
    }
}

/// Ends a user message that is still open.
fn close(open: &mut Open, out: &mut Vec<u8>) {
    let open = std::mem::take(open);
    if open != Open::No {
        put_raw(out, open.end());
        put_raw(out, ",");
    }
}

fn thought(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Thinking(thinking) => Some(&thinking.text),
        _ => None,
    }
}

fn put_call(call: &ToolCall, out: &mut Vec<u8>) {
    put_raw(out, r#"{"id":"#);
    put(out, &call.id);
    put_raw(out, r#","type":"function","function":{"name":"#);
    put(out, &accepted(&call.name));
    put_raw(out, r#","arguments":"#);
    match &call.arguments {
        Value::Object(_) if call.fault.is_none() => put(out, &call.arguments.to_string()),
        _ => put(out, "{}"),
    }
    put_raw(out, "}}");
}

/// Appends the results, each a message of its own, and then what the person says, which stays open.
/// A tool message holds text alone, so images of results go along with what the person says.
fn put_user(message: &Message, mut open: Open, out: &mut Vec<u8>) -> Open {
    for block in &message.content {
        if let ContentBlock::ToolResult(result) = block {
            close(&mut open, out);
            put_raw(out, r#"{"role":"tool","tool_call_id":"#);
            put(out, &result.call_id);
            put_raw(out, r#","content":"#);
            put(out, &result.content);
            put_raw(out, "},");
        }
    }
    let parts: Vec<Part<'_>> = message.content.iter().flat_map(parts).collect();
    if open != Open::Parts && !parts.iter().any(|part| matches!(part, Part::Image(_))) {
        return put_text(&message.text(), open, out);
    }
    for part in parts {
        if open == Open::Parts {
            put_raw(out, ",");
        } else {
            close(&mut open, out);
            put_raw(out, r#"{"role":"user","content":["#);
            open = Open::Parts;
        }
        match part {
            Part::Text(text) => {
                put_raw(out, r#"{"type":"text","text":"#);
                put(out, text);
                put_raw(out, "}");
            }
            Part::Image(image) => {
                put_raw(out, r#"{"type":"image_url","image_url":{"url":"#);
                put(out, &format!("data:{};base64,{}", image.media_type, image.data));
                put_raw(out, "}}");
            }
        }
    }
    open
}

/// Returns what of `block` the person says.
fn parts(block: &ContentBlock) -> Vec<Part<'_>> {
    match block {
        ContentBlock::Text { text } if !text.trim().is_empty() => vec![Part::Text(text)],
        ContentBlock::Image(image) => vec![Part::Image(image)],
        ContentBlock::ToolResult(result) => result.images.iter().map(Part::Image).collect(),
        _ => Vec::new(),
    }
}

/// Appends a message of text alone, or adds to the one that is open.
fn put_text(text: &str, open: Open, out: &mut Vec<u8>) -> Open {
    if text.trim().is_empty() {
        return open;
    }
    let is_open = open == Open::Text;
    put_raw(out, if is_open { "\\n\\n" } else { r#"{"role":"user","content":"# });
    let start = out.len();
    put(out, text);
    // The quotes: the last one comes when the message is closed, the first one is there if the
    // message was open.
    out.pop();
    if is_open {
        out.remove(start);
    }
    Open::Text
}
