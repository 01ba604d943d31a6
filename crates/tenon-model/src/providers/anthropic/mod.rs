//! The Messages API of Anthropic and of servers that speak it.
//!
//! Streams with tools; thinking blocks are kept with their signatures and sent back; the prefix
//! of a conversation is marked for the server's cache. Does not choose limits and does not retry
//! what was shown.

mod events;
mod request;

use futures::StreamExt;
use reqwest::{
    Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};

use self::events::AnthropicDecoder;
pub(crate) use self::request::AnthropicWire;
use super::body::{BodyCache, Wire};
use serde::{Deserialize, Serialize};

use crate::{
    catalogue,
    exchange::Exchange,
    failure::Server,
    http::{HttpClient, HttpOptions, configuration, display_host, endpoint, is_loopback},
    provider::{Abilities, EventStream, Provider, ProviderError, Request, Written},
    retry::{RetryPolicy, Schedule, with_retries},
    text::Secret,
};

/// The name in `anthropic/MODEL`.
pub const PROVIDER_NAME: &str = "anthropic";

/// Where requests go unless a base URL says otherwise.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the API, the only one since 2023.
const API_VERSION: &str = "2023-06-01";

/// How an [`AnthropicProvider`] is set up.
#[derive(Debug, Clone)]
pub struct AnthropicOptions {
    /// The model's name as the server knows it.
    pub model: String,
    /// The server, with or without `/v1`; [`BASE_URL`] if none.
    pub base_url: Option<String>,
    /// The key, if the server wants one.
    pub key: Option<Secret>,
    /// The header that carries the key.
    pub key_header: KeyHeader,
    /// Whether the model thinks before it answers.
    pub thinking: AnthropicThinking,
    /// How the network is reached.
    pub http: HttpOptions,
}

/// The header that carries a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyHeader {
    /// `x-api-key`, for the provider's own keys.
    #[default]
    ApiKey,
    /// `authorization: Bearer`, for gateways.
    Bearer,
}

/// Whether a model thinks before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnthropicThinking {
    /// As the model does by itself. Of models that think by themselves the text is asked for: they
    /// put what they say between calls into thinking blocks, which come empty otherwise.
    #[default]
    Auto,
    /// The model decides how long (models that support it).
    Adaptive,
    /// At most this many tokens, at least 1,024, fewer than the reply's (models before Claude 5).
    Budget(u32),
}

/// What the names of models begin with that think without being asked to.
const THINK_BY_THEMSELVES: [&str; 5] =
    ["claude-fable-5", "claude-mythos-5", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5"];

/// A model behind the Messages API.
pub struct AnthropicProvider {
    model: String,
    abilities: Abilities,
    server: Server,
    url: Url,
    key: Option<Secret>,
    headers: HeaderMap,
    wire: AnthropicWire,
    bodies: BodyCache<<AnthropicWire as Wire>::Note>,
    retry: RetryPolicy,
    http: HttpClient,
}

impl AnthropicOptions {
    /// Returns options for `model` on Anthropic's own server with no key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: None,
            key: None,
            key_header: KeyHeader::default(),
            thinking: AnthropicThinking::default(),
            http: HttpOptions::default(),
        }
    }
}

impl AnthropicThinking {
    /// Returns what [`AnthropicThinking::Auto`] stands for at `model`.
    fn of(self, model: &str) -> Self {
        let by_itself = THINK_BY_THEMSELVES.iter().any(|prefix| model.starts_with(prefix));
        if self == Self::Auto && by_itself { Self::Adaptive } else { self }
    }
}

impl AnthropicProvider {
    /// Sets a provider up without touching the network. Fails if the base URL is none, or the key
    /// cannot stand in a header.
    pub fn new(options: AnthropicOptions) -> Result<Self, ProviderError> {
        let url = endpoint(options.base_url.as_deref().unwrap_or(BASE_URL), "messages")?;
        let server = Server { host: display_host(&url), key_variable: "ANTHROPIC_API_KEY" };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert("anthropic-version", HeaderValue::from_static(API_VERSION));
        if let Some(key) = &options.key {
            let (name, value) = match options.key_header {
                KeyHeader::ApiKey => {
                    (HeaderName::from_static("x-api-key"), key.expose().to_owned())
                }
                KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {}", key.expose())),
            };
            headers.insert(name, key_value(&value)?);
        }
        Ok(Self {
            model: format!("{PROVIDER_NAME}/{}", options.model),
            abilities: catalogue::abilities(&options.model, &server.host),
            wire: AnthropicWire { thinking: options.thinking, model: options.model },
            key: options.key,
            server,
            url,
            headers,
            bodies: BodyCache::new(),
            retry: options.http.retry,
            http: HttpClient::new(options.http),
        })
    }

    /// Returns how many messages were serialised so far: each is, once, while a conversation only
    /// grows.
    pub fn messages_written(&self) -> u64 {
        self.bodies.messages_written()
    }
}

impl Provider for AnthropicProvider {
    fn model(&self) -> &str {
        &self.model
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn written(&self, request: &Request) -> Option<Written> {
        let form = serde_json::to_value(&self.wire).ok()?;
        Some(Written { form, body: self.bodies.body(&self.wire, request) })
    }

    fn stream(&self, request: Request) -> EventStream<'_> {
        let exchange = Exchange {
            http: &self.http,
            server: &self.server,
            url: &self.url,
            key: self.key.as_ref(),
            headers: self.headers.clone(),
            body: self.bodies.body(&self.wire, &request),
        };
        let schedule = Schedule { policy: self.retry, is_local: is_loopback(&self.url) };
        let attempt = move || exchange.clone().attempt(AnthropicDecoder::new(exchange.server));
        with_retries(schedule, attempt).boxed()
    }
}

/// Returns a header value that does not print.
pub(super) fn key_value(value: &str) -> Result<HeaderValue, ProviderError> {
    let mut value = HeaderValue::from_str(value.trim())
        .map_err(|_| configuration("The key holds characters that no key has"))?;
    value.set_sensitive(true);
    Ok(value)
}
