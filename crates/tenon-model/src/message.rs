//! Messages: a role and its content blocks, as pure data.
//!
//! The shape is our own and no provider's: it is what the log stores and what every provider
//! translates from. Blocks keep the order in which the model produced them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::image::Image;

/// A conversation, oldest message first.
///
/// Messages are shared, so that a request can hold the whole conversation without copying it and
/// a provider can see by pointer which part it has serialised already.
pub type Conversation = Vec<Arc<Message>>;

/// Who speaks in a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, or tenon on the person's side: prompts and tool results.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<ContentBlock>,
}

/// One block of a message's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Prose.
    Text {
        /// The prose itself, in Markdown where the model writes it so.
        text: String,
    },
    /// What the model thought before it spoke; sent back unchanged.
    Thinking(Thinking),
    /// A picture that the person sent.
    Image(Image),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// Our answer to a [`ToolCall`] of the message before.
    ToolResult(ToolResult),
}

/// A thinking block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// The readable text; empty where the provider keeps it to itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The provider's signature over the block, sent back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Opaque data that stands for a block which the provider does not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
}

/// The model's request to run one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that joins call and result; unique within a conversation.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments; an empty object where [`ToolCall::fault`] is set.
    pub arguments: Value,
    /// Why the call cannot run as it came, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ToolCallFault>,
}

/// Why a call cannot run as it came. The model gets it as an error result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolCallFault {
    /// The arguments are not a JSON object.
    Malformed {
        /// What came, cut to at most 2,000 characters.
        raw: String,
        /// What the JSON parser said.
        error: String,
    },
    /// The reply ended in the middle of the call.
    CutOff,
    /// The reply had more calls than [`CALLS_MAX`]: this is the first beyond, and stands for all behind it.
    TooMany,
}

/// How many calls of one reply are taken. Models ask for some dozens at most; each call is logged,
/// answered and sent again with every request.
pub const CALLS_MAX: usize = 1_000;

/// Our answer to a [`ToolCall`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call that this answers.
    pub call_id: String,
    /// What the model reads.
    pub content: String,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Pictures that the model sees with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl Message {
    /// Returns a user message of one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: vec![ContentBlock::Text { text: text.into() }] }
    }

    /// Returns the calls of this message in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the text blocks joined by blank lines; empty if there are none.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::Text { text } if !text.is_empty() => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n\n")
    }
}
