//! What a model says and hears: messages, the providers that carry them, and the fold that turns
//! a stream of events into a message. No files, no processes, no terminal.

mod fold;
mod message;
mod provider;
mod sse;
mod text;

pub use fold::{Fold, Reply, read_arguments};
pub use message::{
    ContentBlock, Conversation, Image, Message, Role, Thinking, ToolCall, ToolCallFault, ToolResult,
};
pub use provider::{
    Abilities, EventStream, Price, Provider, ProviderError, ProviderErrorKind, Request, StopReason,
    StreamEvent, ToolSpec, Usage,
};
pub use sse::{EventTooLarge, SseEvent, SseParser};
pub use text::{Secret, Untrusted, visible};
