//! What the tests share: providers on a fake server, requests, and one way to run them.

use std::sync::Arc;

use futures::StreamExt;
use tenon_model::{
    AnthropicOptions, AnthropicProvider, ContentBlock, Conversation, Fold, HttpOptions, Message,
    OpenAiOptions, OpenAiProvider, Provider, ProviderError, Reply, Request, Role, Secret,
    StreamEvent, ToolResult, ToolSpec,
};

/// The key of all tests; must never show in an error.
pub(crate) const KEY: &str = "sk-test-0123456789";

pub(crate) fn anthropic(base_url: &str) -> AnthropicProvider {
    anthropic_with(base_url, HttpOptions::default())
}

pub(crate) fn anthropic_with(base_url: &str, http: HttpOptions) -> AnthropicProvider {
    AnthropicProvider::new(AnthropicOptions {
        base_url: Some(base_url.to_owned()),
        key: Some(Secret::new(KEY)),
        http,
        ..AnthropicOptions::new("mock-model")
    })
    .unwrap()
}

pub(crate) fn openai(base_url: &str) -> OpenAiProvider {
    openai_with(base_url, HttpOptions::default())
}

pub(crate) fn openai_with(base_url: &str, http: HttpOptions) -> OpenAiProvider {
    OpenAiProvider::new(OpenAiOptions {
        base_url: Some(base_url.to_owned()),
        key: Some(Secret::new(KEY)),
        http,
        ..OpenAiOptions::new("mock-model")
    })
    .unwrap()
}

/// A request of one user message, with one tool.
pub(crate) fn request(prompt: &str) -> Request {
    conversation(vec![Arc::new(Message::user(prompt))])
}

pub(crate) fn conversation(conversation: Conversation) -> Request {
    let bash = ToolSpec {
        name: "bash".into(),
        description: "Runs a command.".into(),
        schema: serde_json::json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}),
    };
    Request {
        system: "You are tenon.".into(),
        tools: [bash].into(),
        conversation,
        output_tokens_max: 1_000,
    }
}

/// The user message that answers `calls`, each with its id as content.
pub(crate) fn results(ids: &[&str]) -> Arc<Message> {
    let content = ids.iter().map(|id| {
        let content = format!("result of {id}");
        let call_id = (*id).into();
        ContentBlock::ToolResult(ToolResult { call_id, content, ..ToolResult::default() })
    });
    Arc::new(Message { role: Role::User, content: content.collect() })
}

/// Everything that a reply showed, and what became of it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) events: Vec<StreamEvent>,
    pub(crate) outcome: Result<Reply, ProviderError>,
}

impl Run {
    pub(crate) fn reply(self) -> Reply {
        self.outcome.unwrap()
    }

    pub(crate) fn error(self) -> ProviderError {
        let error = self.outcome.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(KEY), "the key shows in {error:?}");
        error
    }

    pub(crate) fn retries(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, StreamEvent::Retrying { .. })).count()
    }
}

pub(crate) async fn run(provider: &dyn Provider, request: Request) -> Run {
    let earlier = request.conversation.clone();
    let mut stream = provider.stream(request);
    let (mut fold, mut events) = (Fold::default(), Vec::new());
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                events.push(event.clone());
                fold.push(event);
            }
            Err(error) => return Run { events, outcome: Err(error) },
        }
    }
    assert!(matches!(events.last(), Some(StreamEvent::Stopped { .. })), "{events:?}");
    Run { events, outcome: Ok(fold.finish(&earlier)) }
}

/// What a reply came to, in one line: blocks in order, stop reason, tokens.
pub(crate) fn summary(reply: &Reply) -> String {
    let mut parts: Vec<String> = reply
        .message
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text { text } => format!("text({text})"),
            ContentBlock::Thinking(thinking) => format!(
                "thinking({}|{}|{})",
                thinking.text,
                thinking.signature.as_deref().unwrap_or("-"),
                thinking.redacted.as_deref().unwrap_or("-")
            ),
            ContentBlock::ToolCall(call) => {
                let fault = match &call.fault {
                    None => "",
                    Some(tenon_model::ToolCallFault::CutOff) => " CUT",
                    Some(tenon_model::ToolCallFault::TooMany) => " TOO MANY",
                    Some(tenon_model::ToolCallFault::Malformed { .. }) => " MALFORMED",
                };
                format!("{}:{}{}{fault}", call.id, call.name, call.arguments)
            }
            other => format!("{other:?}"),
        })
        .collect();
    let usage = reply.usage;
    parts.push(format!("{:?}", reply.stop_reason.unwrap()));
    parts.push(format!(
        "{}+{}r+{}w>{}",
        usage.input, usage.cache_read, usage.cache_write, usage.output
    ));
    parts.join(" ")
}
