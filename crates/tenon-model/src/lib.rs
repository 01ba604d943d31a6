//! What a model says and hears: messages, the providers that carry them, and the fold that turns
//! a stream of events into a message. No files, no processes, no terminal.

pub mod base64;
mod catalogue;
mod exchange;
mod failure;
mod fold;
mod http;
mod image;
mod loopback;
mod mask;
mod message;
mod provider;
pub mod providers;
mod pulse;
mod retry;
mod sse;
mod text;
mod wire_form;

pub use catalogue::{abilities, known_models};
pub use fold::{Fold, Reply, read_arguments};
pub use http::{Download, HttpClient, HttpOptions};
pub use image::{Image, ImageError};
pub use loopback::{LOOPBACK_CANDIDATES, LoopbackCandidate, LoopbackServer, loopback_servers};
pub use mask::{
    CredentialShape, KNOWN_VALUES_MAX, KnownValue, MaskStream, Masks, credential_values,
    is_name_of_secret, is_secret, variable_values,
};
pub use message::{
    CALLS_MAX, ContentBlock, Conversation, Message, Role, Thinking, ToolCall, ToolCallFault,
    ToolResult,
};
pub use provider::{
    Abilities, EventStream, Price, Provider, ProviderError, ProviderErrorKind, Request, StopReason,
    StreamEvent, ToolSpec, Usage, Written,
};
pub use providers::{
    PROVIDERS,
    anthropic::{AnthropicOptions, AnthropicProvider, AnthropicThinking, KeyHeader},
    openai_chat::{OpenAiOptions, OpenAiProvider},
    scripted::{Script, ScriptedCall, ScriptedError, ScriptedProvider, ScriptedTurn},
};
pub use pulse::Pulse;
pub use retry::RetryPolicy;
pub use sse::{EventTooLarge, SseEvent, SseParser};
pub use text::{Secret, Untrusted, decoded, printable, visible, written_out};
pub use wire_form::written_again;
