//! The provider: a request goes in, a stream of events comes out.
//!
//! A provider translates and transports; it never decides what happens next. Retries that are
//! safe (nothing of the answer shown yet) happen inside the provider and are visible as
//! [`StreamEvent::Retrying`].

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Conversation;

/// The events of one reply; ends after [`StreamEvent::Stopped`] or the first error.
pub type EventStream<'a> = BoxStream<'a, Result<StreamEvent, ProviderError>>;

/// A wire protocol with an endpoint, bound to one named model.
pub trait Provider: Send + Sync {
    /// Returns `PROVIDER/NAME` as it is shown and logged.
    fn model(&self) -> &str;

    /// Returns what the model can do and wants.
    fn abilities(&self) -> &Abilities;

    /// Returns how `request` is written and its body, where the body can be written again without the
    /// server: what is said to a model then can be compared later.
    fn written(&self, request: &Request) -> Option<Written> {
        let _ = request;
        None
    }

    /// Sends `request` and returns the reply as it arrives. Dropping the stream cancels it.
    fn stream(&self, request: Request) -> EventStream<'_>;
}

/// What the agent must know of a model to serve it well. Logged with a session, so that it can be
/// replayed; what is missing in a log is as in [`Abilities::default`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Abilities {
    /// How many tokens request and reply may have together.
    pub context_window_tokens: u32,
    /// The largest reply that can be asked for, in tokens.
    pub output_tokens_max: u32,
    /// Whether the model sees images, where it is known.
    pub sees_images: Option<bool>,
    /// Whether what the prompt speaks of is put in front of it (small models cannot look).
    pub wants_attached_context: bool,
    /// Whether edits and globs that are nearly right are carried out and said so.
    pub wants_forgiving_tools: bool,
    /// Price in US dollars per million tokens, where it is known. A log has it beside this.
    #[serde(skip)]
    pub price: Option<Price>,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Fresh input.
    pub input: f64,
    /// Output, thinking included.
    pub output: f64,
    /// Input read from the provider's cache.
    pub cache_read: f64,
    /// Input written to the provider's cache.
    pub cache_write: f64,
}

/// One model request. Cheap to clone: everything large is shared.
#[derive(Debug, Clone)]
pub struct Request {
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools in the order of the map.
    pub tools: Arc<[ToolSpec]>,
    /// The whole conversation; the last message is the user's.
    pub conversation: Conversation,
    /// The largest reply, in tokens.
    pub output_tokens_max: u32,
}

/// A request as it is sent.
#[derive(Debug, Clone)]
pub struct Written {
    /// All that the body is made from besides the request, for a log: the dialect, the model's name as
    /// the server knows it, and what the server wants otherwise. It holds no key and no address.
    pub form: Value,
    /// The body's bytes.
    pub body: Bytes,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name by which it is called.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// The JSON schema of the arguments.
    pub schema: Value,
}

/// One event of a reply as it arrives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// A sentence about what is waited for: loading, reading the prompt. Not part of the reply.
    Progress {
        /// The sentence, without a line end.
        text: String,
    },
    /// The attempt failed before anything of the answer was shown, and another will be made.
    /// Whatever came before this event is void, thinking included.
    Retrying {
        /// The number of the attempt that follows, from 2.
        attempt: u32,
        /// How long is waited before it, in milliseconds.
        wait_ms: u64,
        /// Why the last one failed, in one sentence.
        reason: String,
    },
    /// More prose.
    TextDelta {
        /// At least one character.
        text: String,
    },
    /// More thinking.
    ThinkingDelta {
        /// At least one character.
        text: String,
    },
    /// The signature of the thinking block that ends here.
    ThinkingSignature {
        /// The provider's signature, opaque.
        signature: String,
    },
    /// A thinking block that the provider does not show.
    RedactedThinking {
        /// Opaque data to send back.
        data: String,
    },
    /// A tool call begins. Providers number calls from 0 in the order of their first event,
    /// whatever the server's own numbers are.
    ToolCallStarted {
        /// The number of the call in this reply.
        index: usize,
        /// The id that joins call and result.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More of the argument text of call `index`: JSON once joined.
    ToolCallDelta {
        /// The number of the call in this reply.
        index: usize,
        /// A fragment of JSON text; may be empty.
        arguments: String,
    },
    /// Call `index` is complete. A call without this event was cut off and never runs.
    ToolCallEnded {
        /// The number of the call in this reply.
        index: usize,
    },
    /// Tokens used so far by this request; each one replaces the last.
    Usage(Usage),
    /// The reply is over.
    Stopped {
        /// Why.
        reason: StopReason,
    },
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model was done.
    EndOfTurn,
    /// The model waits for tool results.
    ToolCalls,
    /// The largest reply was reached.
    OutputLimit,
    /// The provider or the model refused.
    Refusal,
}

/// Tokens of one or more requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Fresh input tokens: neither read from nor written to a cache.
    #[serde(default)]
    pub input: u64,
    /// Output tokens, thinking included.
    #[serde(default)]
    pub output: u64,
    /// Input tokens read from the provider's cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// What went wrong with a request, as a sentence and a kind to act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind of failure it is.
    pub kind: ProviderErrorKind,
    /// One sentence with the server's own words where it had some. Never holds a key.
    pub message: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
    /// How long the server asked to wait.
    pub retry_after: Option<Duration>,
}

/// Kinds of failures of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderErrorKind {
    /// No or a wrong key (401).
    Unauthorized,
    /// The key may not do this (403).
    Forbidden,
    /// The endpoint or model does not exist (404).
    NotFound,
    /// The server refused the request's shape (400, 422).
    BadRequest,
    /// Conversation and reply do not fit the model's window.
    ContextTooLong,
    /// Credit or quota is used up.
    QuotaExhausted,
    /// Too many requests (429).
    RateLimited,
    /// The server is overloaded (503, 529).
    Overloaded,
    /// Another failure on the server's side (5xx, an error event).
    Server,
    /// No connection could be made.
    Connect,
    /// No first byte came in time, or the stream stalled.
    Stalled,
    /// The connection ended in the middle of a reply, or an event of it was cut or garbled.
    Dropped,
    /// What came is not the protocol.
    Protocol,
    /// The model could not be loaded or run in process.
    Local,
    /// An option is wrong: base URL, proxy, certificate authority, key.
    Configuration,
}

impl Default for Abilities {
    /// An unknown model of today: 128,000 tokens of context, 8,192 of output.
    fn default() -> Self {
        Self {
            context_window_tokens: 128_000,
            output_tokens_max: 8_192,
            sees_images: None,
            wants_attached_context: false,
            wants_forgiving_tools: false,
            price: None,
        }
    }
}

impl Usage {
    /// Returns all input tokens, cached or not.
    pub fn input_all(&self) -> u64 {
        // A server may say what it likes.
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Says whether no token was told.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what these tokens cost at `price`, in US dollars.
    pub fn cost(&self, price: &Price) -> f64 {
        let dollars = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1e6;
        dollars(self.input, price.input)
            + dollars(self.output, price.output)
            + dollars(self.cache_read, price.cache_read)
            + dollars(self.cache_write, price.cache_write)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

impl ProviderError {
    /// Returns an error of `kind` with one sentence and no hint.
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, retry_after: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns whether the same request may succeed later without anybody doing anything.
    pub fn is_transient(&self) -> bool {
        use ProviderErrorKind as Kind;
        matches!(
            self.kind,
            Kind::RateLimited
                | Kind::Overloaded
                | Kind::Server
                | Kind::Connect
                | Kind::Stalled
                | Kind::Dropped
        )
    }
}
