//! A request's body written again from what a log has of it, without a server.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    provider::Request,
    providers::{anthropic::AnthropicWire, body::BodyCache, openai_chat::OpenAiWire},
};

/// What [`Written::form`](crate::Written::form) can be.
#[derive(Deserialize)]
#[serde(tag = "dialect", rename_all = "snake_case")]
enum Dialect {
    Anthropic(AnthropicWire),
    OpenaiChat(OpenAiWire),
}

/// Returns the body of `request` in the form that [`Written`](crate::Written) had; `None` for one that this version does not
/// know.
pub fn written_again(form: &Value, request: &Request) -> Option<Bytes> {
    Some(match Dialect::deserialize(form).ok()? {
        Dialect::Anthropic(wire) => BodyCache::new().body(&wire, request),
        Dialect::OpenaiChat(wire) => BodyCache::new().body(&wire, request),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        Message, Provider, Written,
        providers::{
            anthropic::{AnthropicOptions, AnthropicProvider, AnthropicThinking},
            openai_chat::{OpenAiOptions, OpenAiProvider},
        },
    };

    #[test]
    fn a_body_is_written_again_from_what_a_log_has() {
        let anthropic = |model: &str, thinking| {
            let options = AnthropicOptions { thinking, ..AnthropicOptions::new(model) };
            Arc::new(AnthropicProvider::new(options).unwrap()) as Arc<dyn Provider>
        };
        let openai = |url: &str| {
            let base_url = Some(url.to_owned());
            let options = OpenAiOptions { base_url, ..OpenAiOptions::new("x") };
            Arc::new(OpenAiProvider::new(options).unwrap()) as Arc<dyn Provider>
        };
        let cases = [
            (anthropic("claude-sonnet-4-5", AnthropicThinking::Auto), "auto"),
            (anthropic("claude-opus-5", AnthropicThinking::Auto), r#""thinking":{"type":"ada"#),
            (anthropic("a", AnthropicThinking::Budget(1_024)), r#""budget_tokens":1024"#),
            (openai("https://api.openai.com"), r#""max_completion_tokens":7"#),
            (openai("https://api.deepseek.com"), r#""max_tokens":7"#),
        ];
        for (provider, says) in cases {
            let request = Request {
                system: "Be brief.".into(),
                tools: Arc::new([]),
                conversation: vec![Arc::new(Message::user("hi \u{1f600}"))],
                output_tokens_max: 7,
            };
            let Written { form, body } = provider.written(&request).unwrap();
            let logged = form.to_string();
            let form: Value = serde_json::from_str(&logged).unwrap();
            assert_eq!(written_again(&form, &request).unwrap(), body, "{logged}");
            let text = format!("{}{logged}", String::from_utf8_lossy(&body));
            assert!(text.contains(says), "{text}");
            let more = Request { output_tokens_max: 8, ..request.clone() };
            assert_ne!(written_again(&form, &more).unwrap(), body);
            assert_eq!(written_again(&serde_json::json!({"dialect": "later"}), &request), None);
        }
    }
}
