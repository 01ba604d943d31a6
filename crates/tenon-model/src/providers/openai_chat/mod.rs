//! Chat Completions, as OpenAI and the many compatible servers speak it: Ollama, llama.cpp, vLLM,
//! LM Studio, DeepSeek, Qwen, GLM, OpenRouter and others, told apart by base URL alone.
//!
//! What the servers do differently is written down in `calls.rs` and `events.rs` (replies) and in
//! `Habits` (requests).

mod calls;
mod events;
mod request;

use std::borrow::Cow;

use futures::StreamExt;
use reqwest::{
    Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde::{Deserialize, Serialize};

use self::events::OpenAiDecoder;
pub(crate) use self::request::OpenAiWire;
use super::{
    anthropic::key_value,
    body::{BodyCache, Wire},
};
use crate::{
    catalogue,
    exchange::Exchange,
    failure::Server,
    http::{HttpClient, HttpOptions, display_host, endpoint, is_loopback},
    provider::{Abilities, EventStream, Provider, ProviderError, Request, Written},
    retry::{RetryPolicy, Schedule, with_retries},
    text::Secret,
};

/// The name in `openai/MODEL`.
pub const PROVIDER_NAME: &str = "openai";

/// Where requests go unless a base URL says otherwise.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// How an [`OpenAiProvider`] is set up.
#[derive(Debug, Clone)]
pub struct OpenAiOptions {
    /// The model's name as the server knows it.
    pub model: String,
    /// The server, with or without `/v1`; [`BASE_URL`] if none.
    pub base_url: Option<String>,
    /// The key, if the server wants one.
    pub key: Option<Secret>,
    /// How the network is reached.
    pub http: HttpOptions,
}

/// A model behind Chat Completions.
pub struct OpenAiProvider {
    model: String,
    abilities: Abilities,
    server: Server,
    url: Url,
    key: Option<Secret>,
    headers: HeaderMap,
    wire: OpenAiWire,
    bodies: BodyCache<<OpenAiWire as Wire>::Note>,
    retry: RetryPolicy,
    http: HttpClient,
}

/// What servers want differently in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Habits {
    /// The field of the largest reply.
    output_limit_field: Cow<'static, str>,
    /// The field in which the model's reasoning is sent back, where the server wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning_field: Option<Cow<'static, str>>,
}

impl OpenAiOptions {
    /// Returns options for `model` on OpenAI's own server with no key.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), base_url: None, key: None, http: HttpOptions::default() }
    }
}

impl OpenAiProvider {
    /// Sets a provider up without touching the network. Fails if the base URL is none, or the key
    /// cannot stand in a header.
    pub fn new(options: OpenAiOptions) -> Result<Self, ProviderError> {
        let url = endpoint(options.base_url.as_deref().unwrap_or(BASE_URL), "chat/completions")?;
        let server = Server { host: display_host(&url), key_variable: "OPENAI_API_KEY" };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &options.key {
            headers.insert(AUTHORIZATION, key_value(&format!("Bearer {}", key.expose()))?);
        }
        Ok(Self {
            model: format!("{PROVIDER_NAME}/{}", options.model),
            abilities: catalogue::abilities(&options.model, &server.host),
            wire: OpenAiWire { habits: habits(&server.host), model: options.model },
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

impl Provider for OpenAiProvider {
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
        let attempt = move || exchange.clone().attempt(OpenAiDecoder::new(exchange.server));
        with_retries(schedule, attempt).boxed()
    }
}

/// Returns the habits of the server at `host`.
fn habits(host: &str) -> Habits {
    let of = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    // OpenAI's reasoning models refuse `max_tokens`; others do not know the newer field.
    let newer = of("api.openai.com") || of("openai.azure.com");
    // DeepSeek and Moonshot refuse a step whose calls come back without the reasoning that led to
    // them; Z.ai and OpenRouter think better with it. Elsewhere it would be unknown or paid for.
    const REASON_IN_CONTENT: [&str; 5] =
        ["deepseek.com", "moonshot.ai", "moonshot.cn", "z.ai", "bigmodel.cn"];
    let reasoning_field = if REASON_IN_CONTENT.into_iter().any(of) {
        Some("reasoning_content")
    } else {
        of("openrouter.ai").then_some("reasoning")
    };
    let output_limit_field = if newer { "max_completion_tokens" } else { "max_tokens" };
    let reasoning_field = reasoning_field.map(Cow::Borrowed);
    Habits { output_limit_field: output_limit_field.into(), reasoning_field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_get_the_fields_that_they_know() {
        let cases = [
            ("api.openai.com", "max_completion_tokens", None),
            ("x.openai.azure.com", "max_completion_tokens", None),
            ("127.0.0.1:11434", "max_tokens", None),
            ("api.deepseek.com", "max_tokens", Some("reasoning_content")),
            ("notdeepseek.com", "max_tokens", None),
            ("open.bigmodel.cn", "max_tokens", Some("reasoning_content")),
            ("openrouter.ai", "max_tokens", Some("reasoning")),
        ];
        for (host, output_limit_field, reasoning_field) in cases {
            let found = habits(host);
            assert_eq!(found.output_limit_field, output_limit_field, "{host}");
            assert_eq!(found.reasoning_field.as_deref(), reasoning_field, "{host}");
        }
    }
}
