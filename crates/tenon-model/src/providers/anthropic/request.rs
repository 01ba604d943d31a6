//! The request of the Messages API. Pure.
//!
//! Compact, and ordered so that everything up to the last message stays the same from request to
//! request: what can change (limit, thinking) stands behind the messages.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AnthropicThinking;
use crate::{
    image::Image,
    message::{ContentBlock, Message, Role},
    provider::Request,
    providers::body::{Parts, Wire, accepted, put, put_raw},
};

/// A mark up to which the server keeps its work. At most four may stand in a request; three are
/// used: behind system and tools, behind the last user message, and behind the one before it,
/// where the last request put its own (servers look only 20 blocks back from a mark).
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// How many user messages carry a mark.
const MARKED_MESSAGES: usize = 2;

/// Writes requests for one model.
#[derive(Serialize, Deserialize)]
#[serde(tag = "dialect", rename = "anthropic")]
pub(crate) struct AnthropicWire {
    pub(super) model: String,
    pub(super) thinking: AnthropicThinking,
}

/// What is known about the bytes up to and with a message.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Note {
    /// Whose message is open behind these bytes; `None` before the first.
    open: Option<Role>,
    /// Where a mark can be put into the last block of a user message.
    mark: Option<usize>,
    /// Whether the message goes on with the one before it.
    joins: bool,
}

impl Wire for AnthropicWire {
    type Note = Note;

    fn head(&self, request: &Request, out: &mut Vec<u8>) {
        put_raw(out, r#"{"model":"#);
        put(out, &self.model);
        let system = !request.system.is_empty();
        if !request.tools.is_empty() {
            put_raw(out, r#","tools":["#);
            for (index, tool) in request.tools.iter().enumerate() {
                put_raw(out, if index == 0 { r#"{"name":"# } else { r#",{"name":"# });
                put(out, &tool.name);
                put_raw(out, r#","description":"#);
                put(out, &tool.description);
                put_raw(out, r#","input_schema":"#);
                put(out, &tool.schema);
                if !system && index + 1 == request.tools.len() {
                    put_raw(out, CACHE_MARK);
                }
                put_raw(out, "}");
            }
            put_raw(out, "]");
        }
        if system {
            put_raw(out, r#","system":[{"type":"text","text":"#);
            put(out, &*request.system);
            put_raw(out, CACHE_MARK);
            put_raw(out, "}]");
        }
    }

    fn message(&self, message: &Message, before: &Note, out: &mut Vec<u8>) -> Note {
        // Messages of the same role follow each other after a turn that failed; servers other
        // than Anthropic's own refuse that, so they become one.
        let mut note = *before;
        (note.mark, note.joins) = (None, false);
        let mut is_begun = false;
        let mut blocks: Vec<&ContentBlock> = message.content.iter().collect();
        // The API wants the results in front of whatever else the person says.
        blocks.sort_by_key(|block| !matches!(block, ContentBlock::ToolResult(_)));
        for block in blocks {
            let start = out.len();
            match note.open {
                Some(role) if role == message.role => {
                    note.joins |= !is_begun;
                    put_raw(out, ",");
                }
                open => {
                    put_raw(out, if open.is_some() { "]},{\"role\":\"" } else { "{\"role\":\"" });
                    put_raw(out, role_name(message.role));
                    put_raw(out, r#"","content":["#);
                }
            }
            if put_block(block, out) {
                is_begun = true;
                note.open = Some(message.role);
                note.mark = (message.role == Role::User).then(|| out.len() - 1);
            } else {
                out.truncate(start);
            }
        }
        note
    }

    fn join(&self, parts: &Parts<'_, Note>, request: &Request) -> Vec<u8> {
        // Of messages that are one for the server the last is marked, so that the other mark stands
        // where the last request had its own.
        let mut goes_on = false;
        let last_of_its_role = |note: &Note| {
            let mark = note.mark?;
            (!std::mem::replace(&mut goes_on, note.joins)).then_some(mark)
        };
        let marks = parts.notes.iter().rev().filter_map(last_of_its_role);
        let mut marks: Vec<usize> = marks.take(MARKED_MESSAGES).collect();
        marks.reverse();
        let room = (CACHE_MARK.len() * MARKED_MESSAGES) + 160;
        let mut body = Vec::with_capacity(parts.head.len() + parts.messages.len() + room);
        body.extend_from_slice(parts.head);
        put_raw(&mut body, r#","messages":["#);
        let mut rest = parts.messages;
        let mut done = 0;
        for mark in marks {
            let (before, after) = rest.split_at_checked(mark - done).unwrap_or((rest, &[]));
            body.extend_from_slice(before);
            put_raw(&mut body, CACHE_MARK);
            rest = after;
            done = mark;
        }
        body.extend_from_slice(rest);
        put_raw(&mut body, if parts.messages.is_empty() { "]" } else { "]}]" });
        match self.thinking.of(&self.model) {
            AnthropicThinking::Auto => {}
            AnthropicThinking::Adaptive => {
                put_raw(&mut body, r#","thinking":{"type":"adaptive","display":"summarized"}"#);
            }
            AnthropicThinking::Budget(tokens) => {
                put_raw(&mut body, r#","thinking":{"type":"enabled","budget_tokens":"#);
                put(&mut body, &tokens);
                put_raw(&mut body, "}");
            }
        }
        put_raw(&mut body, r#","max_tokens":"#);
        put(&mut body, &request.output_tokens_max);
        put_raw(&mut body, r#","stream":true}"#);
        body
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Appends an image but for its last bracket.
fn put_image(image: &Image, out: &mut Vec<u8>) {
    put_raw(out, r#"{"type":"image","source":{"type":"base64","media_type":"#);
    put(out, &image.media_type);
    put_raw(out, r#","data":"#);
    put(out, &*image.data);
    put_raw(out, "}");
}

/// Appends a block; returns whether there was anything to send.
fn put_block(block: &ContentBlock, out: &mut Vec<u8>) -> bool {
    match block {
        // The API refuses text without a visible character.
        ContentBlock::Text { text } if text.trim().is_empty() => return false,
        ContentBlock::Text { text } => {
            put_raw(out, r#"{"type":"text","text":"#);
            put(out, text);
        }
        ContentBlock::Thinking(thinking) => {
            if let Some(data) = &thinking.redacted {
                put_raw(out, r#"{"type":"redacted_thinking","data":"#);
                put(out, data);
            } else if let Some(signature) = &thinking.signature {
                put_raw(out, r#"{"type":"thinking","thinking":"#);
                put(out, &thinking.text);
                put_raw(out, r#","signature":"#);
                put(out, signature);
            } else {
                // Without a signature it came from another provider, and would be refused.
                return false;
            }
        }
        ContentBlock::Image(image) => put_image(image, out),
        ContentBlock::ToolCall(call) => {
            put_raw(out, r#"{"type":"tool_use","id":"#);
            put(out, &accepted(&call.id));
            put_raw(out, r#","name":"#);
            put(out, &accepted(&call.name));
            put_raw(out, r#","input":"#);
            match &call.arguments {
                Value::Object(arguments) if call.fault.is_none() => put(out, arguments),
                _ => put_raw(out, "{}"),
            }
        }
        ContentBlock::ToolResult(result) => {
            put_raw(out, r#"{"type":"tool_result","tool_use_id":"#);
            put(out, &accepted(&result.call_id));
            put_raw(out, r#","content":"#);
            if result.images.is_empty() {
                put(out, &result.content);
            } else {
                put_raw(out, r#"[{"type":"text","text":"#);
                put(out, &result.content);
                for image in &result.images {
                    put_raw(out, "},");
                    put_image(image, out);
                }
                put_raw(out, "}]");
            }
            if result.is_error {
                put_raw(out, r#","is_error":true"#);
            }
        }
    }
    put_raw(out, "}");
    true
}
