//! The requests' shape, pinned; and that what was sent stays as it was sent.

use std::sync::Arc;

use serde_json::json;
use tenon_model::{
    AnthropicOptions, AnthropicProvider, AnthropicThinking, ContentBlock, Conversation, Image,
    KeyHeader, Message, Provider, Role, Secret, Thinking, ToolCall, ToolCallFault, ToolResult,
};

use crate::{
    fake_server::{FakeServer, Reply, Turn},
    support::{KEY, anthropic, conversation, openai, request, results, run},
};

fn call(id: &str, name: &str, fault: Option<ToolCallFault>) -> ContentBlock {
    let arguments = json!({"command": "ls", "n": 1.5});
    ContentBlock::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments, fault })
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.into() }
}

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message { role, content })
}

/// Every kind of block, and what must not be sent as it is.
fn everything() -> Conversation {
    let thinking = |text: &str, signature: Option<&str>, redacted: Option<&str>| {
        ContentBlock::Thinking(Thinking {
            text: text.into(),
            signature: signature.map(Into::into),
            redacted: redacted.map(Into::into),
        })
    };
    let result = |id: &str, content: &str, is_error| {
        ContentBlock::ToolResult(ToolResult {
            call_id: id.into(),
            content: content.into(),
            is_error,
            images: Vec::new(),
        })
    };
    let image = Image { media_type: "image/png".into(), data: "QUJD".into(), ..Image::default() };
    let malformed = ToolCallFault::Malformed { raw: "{".into(), error: "EOF".into() };
    vec![
        message(Role::User, vec![text("first \"quoted\"\n"), text("  ")]),
        message(Role::Assistant, vec![text("")]),
        message(Role::User, vec![text("again"), ContentBlock::Image(image)]),
        message(
            Role::Assistant,
            vec![
                thinking("signed", Some("sig"), None),
                thinking("", None, Some("opaque")),
                thinking("from elsewhere", None, None),
                text("I look."),
                call("a", "bash", None),
                call("functions.bash:1", "no such.tool", Some(malformed)),
            ],
        ),
        message(
            Role::User,
            vec![
                text("and more"),
                result("a", "done", false),
                result("functions.bash:1", "Error: EOF", true),
            ],
        ),
    ]
}

#[tokio::test]
async fn the_messages_api_gets_its_shape() {
    let server = FakeServer::start(vec![Reply::anthropic_text("ok")]);
    run(&anthropic(&server.url()), conversation(everything())).await.reply();
    let sent = &server.requests()[0];
    assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(sent.header("x-api-key"), Some(KEY));
    assert_eq!(sent.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(sent.header("authorization"), None);
    insta::assert_snapshot!(sent.text().replace(r#"{"role""#, "\n{\"role\""));
    sent.json();
}

#[tokio::test]
async fn chat_completions_gets_its_shape() {
    let server = FakeServer::start(vec![Reply::openai_text("ok")]);
    run(&openai(&server.url()), conversation(everything())).await.reply();
    let sent = &server.requests()[0];
    assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    insta::assert_snapshot!(sent.text().replace(r#"{"role""#, "\n{\"role\""));
    sent.json();
}

#[tokio::test]
async fn headers_add_little_to_a_small_request() {
    let server = FakeServer::start(vec![Reply::anthropic_text("ok")]);
    run(&anthropic(&server.url()), request("hi")).await.reply();
    let sent = &server.requests()[0];
    let names: Vec<_> = sent.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "content-type",
            "accept",
            "anthropic-version",
            "x-api-key",
            "user-agent",
            "host",
            "content-length"
        ]
    );
    assert!(sent.wire_bytes - sent.body.len() < 350, "{}", sent.wire_bytes);
}

const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Runs `steps` steps with calls and returns the bodies, cache marks taken out.
async fn bodies(provider: &dyn Provider, server: &FakeServer, steps: usize) -> Vec<String> {
    let mut request = request("do it");
    for step in 0..steps {
        let reply = run(provider, request.clone()).await.reply();
        let ids: Vec<_> = reply.message.tool_calls().map(|call| call.id.clone()).collect();
        request.conversation.push(Arc::new(reply.message));
        request.conversation.push(results(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
        assert_eq!(server.requests().len(), step + 1);
    }
    server.requests().iter().map(|sent| sent.text().replace(CACHE_MARK, "")).collect()
}

fn turns(count: usize) -> Vec<Turn> {
    let turn = |n: usize| {
        Turn::text("Next.").call_with_id(&format!("id{n}"), "bash", "{\"command\":\"ls\"}")
    };
    (0..count).map(turn).collect()
}

/// Each body begins with the one before it, up to the end of that one's last message.
fn check_append_only(bodies: &[String], end_of_messages: &str) {
    for pair in bodies.windows(2) {
        let (kept, _) = pair[0].rsplit_once(end_of_messages).unwrap();
        assert!(pair[1].starts_with(kept), "{}\n{}", pair[0], pair[1]);
    }
}

#[tokio::test]
async fn what_was_sent_stays_the_same_and_is_serialised_once() {
    const STEPS: usize = 12;
    let server = FakeServer::anthropic(turns(STEPS));
    let provider = anthropic(&server.url());
    check_append_only(&bodies(&provider, &server, STEPS).await, "]}],\"max_tokens\"");
    assert_eq!(provider.messages_written(), 2 * STEPS as u64 - 1);
    let marks: Vec<_> =
        server.requests().iter().map(|sent| sent.text().matches(CACHE_MARK).count()).collect();
    assert_eq!(marks, [vec![2], vec![3; STEPS - 1]].concat());
    let last = server.requests().pop().unwrap().json();
    let messages = last["messages"].as_array().unwrap();
    let marked: Vec<usize> = (0..messages.len())
        .filter(|at| messages[*at]["content"].to_string().contains("cache_control"))
        .collect();
    assert_eq!(marked, [messages.len() - 3, messages.len() - 1]);

    let server = FakeServer::openai(turns(STEPS));
    let provider = openai(&server.url());
    check_append_only(&bodies(&provider, &server, STEPS).await, "],\"max_tokens\"");
    assert_eq!(provider.messages_written(), 2 * STEPS as u64 - 1);
}

#[tokio::test]
async fn another_conversation_is_written_anew_from_where_it_differs() {
    let server = FakeServer::start((0..4).map(|_| Reply::anthropic_text("ok")).collect());
    let provider = anthropic(&server.url());
    let long = conversation(everything());
    run(&provider, long.clone()).await.reply();
    let mut rewound = long.clone();
    rewound.conversation.truncate(3);
    rewound.conversation.push(Arc::new(Message::user("other")));
    run(&provider, rewound.clone()).await.reply();
    assert_eq!(provider.messages_written(), 5 + 1);
    let fresh = anthropic(&server.url());
    run(&fresh, rewound).await.reply();
    let sent = server.requests();
    assert_eq!(sent[1].text(), sent[2].text());
    let mut other_system = long;
    other_system.system = "Other.".into();
    run(&provider, other_system).await.reply();
    assert!(server.requests()[3].text().contains("\"Other.\""));
}

#[tokio::test]
async fn a_user_message_after_a_failed_turn_joins_the_one_before() {
    let server = FakeServer::start(vec![Reply::anthropic_text("ok")]);
    let two = vec![Arc::new(Message::user("one")), Arc::new(Message::user("two"))];
    run(&anthropic(&server.url()), conversation(two)).await.reply();
    let messages = server.requests()[0].json()["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!(messages[0]["content"][1]["text"], "two");
}

#[tokio::test]
async fn models_that_think_by_themselves_are_asked_to_show_it() {
    let cases = [
        (
            "claude-sonnet-5-5",
            AnthropicThinking::Auto,
            json!({"type": "adaptive", "display": "summarized"}),
        ),
        ("claude-sonnet-4-5", AnthropicThinking::Auto, json!(null)),
        (
            "claude-sonnet-4-5",
            AnthropicThinking::Budget(2_000),
            json!({"type": "enabled", "budget_tokens": 2_000}),
        ),
    ];
    for (model, thinking, expected) in cases {
        let server = FakeServer::start(vec![Reply::anthropic_text("ok")]);
        let base_url = Some(server.url());
        let key_header = KeyHeader::Bearer;
        let key = Some(Secret::new(KEY));
        let options = AnthropicOptions {
            base_url,
            key,
            key_header,
            thinking,
            ..AnthropicOptions::new(model)
        };
        run(&AnthropicProvider::new(options).unwrap(), request("hi")).await.reply();
        let sent = &server.requests()[0];
        assert_eq!(sent.json()["thinking"], expected, "{model}");
        assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(sent.header("x-api-key"), None);
    }
}

#[tokio::test]
async fn what_the_user_says_twice_in_a_row_is_one_message() {
    let said = |words: &str| Arc::new(Message::user(words));
    let server = FakeServer::start(vec![
        Reply::openai_text("ok"),
        Reply::openai_text("ok"),
        Reply::anthropic_text("ok"),
    ]);
    let (chat, messages) = (openai(&server.url()), anthropic(&server.url()));
    let one = vec![said("one,")];
    let two = vec![Arc::clone(&one[0]), said("二 \"2\""), said(" ")];
    run(&chat, conversation(one)).await.reply();
    run(&chat, conversation(two.clone())).await.reply();
    run(&messages, conversation(two)).await.reply();
    let sent: Vec<_> = server.requests().iter().map(|sent| sent.json()).collect();
    let user = |text: &str| json!({"role": "user", "content": text});
    assert_eq!(sent[0]["messages"].as_array().unwrap()[1..], [user("one,")]);
    assert_eq!(sent[1]["messages"].as_array().unwrap()[1..], [user("one,\n\n二 \"2\"")]);
    assert_eq!(sent[2]["messages"].as_array().unwrap().len(), 1);
    assert_eq!(sent[2]["messages"][0]["content"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_said_behind_results_is_marked_as_one_message_with_them() {
    let said = |words: &str| Arc::new(Message::user(words));
    let replies = || (0..2).map(|_| Reply::anthropic_text("ok")).collect();
    let server = FakeServer::start(replies());
    let asks = |id: &str| message(Role::Assistant, vec![call(id, "bash", None)]);
    let mut conversation_so_far = vec![said("go"), asks("a"), results(&["a"])];
    let provider = anthropic(&server.url());
    run(&provider, conversation(conversation_so_far.clone())).await.reply();
    let heard = [said("not there"), said("nor here")];
    conversation_so_far.extend([asks("b"), results(&["b"])].into_iter().chain(heard));
    run(&provider, conversation(conversation_so_far)).await.reply();
    let sent = server.requests();
    let marked: Vec<Vec<(usize, usize)>> = sent
        .iter()
        .map(|sent| {
            let messages = sent.json()["messages"].as_array().unwrap().clone();
            let blocks = messages.iter().enumerate().flat_map(|(index, message)| {
                let blocks = message["content"].as_array().unwrap();
                let marked =
                    blocks.iter().enumerate().filter(|(_, b)| b["cache_control"].is_object());
                marked.map(|(block, _)| (index, block)).collect::<Vec<_>>()
            });
            blocks.collect()
        })
        .collect();
    // The second mark stands where the last request had its own.
    assert_eq!(marked, [vec![(0, 0), (2, 0)], vec![(2, 0), (4, 2)]]);
    let bodies: Vec<String> = sent.iter().map(|sent| sent.text().replace(CACHE_MARK, "")).collect();
    check_append_only(&bodies, "]}],\"max_tokens\"");
}

#[tokio::test]
async fn what_is_said_behind_an_image_goes_into_the_same_message() {
    let image =
        || Image { media_type: "image/png".into(), data: "QUJD".into(), ..Image::default() };
    let shown = message(Role::User, vec![ContentBlock::Image(image())]);
    let said = |words: &str| Arc::new(Message::user(words));
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}});
    let part = |text: &str| json!({"type": "text", "text": text});
    let server = FakeServer::start((0..3).map(|_| Reply::openai_text("ok")).collect());
    let provider = openai(&server.url());
    let mut so_far = vec![Arc::clone(&shown)];
    run(&provider, conversation(so_far.clone())).await.reply();
    so_far.push(said("what is it?"));
    run(&provider, conversation(so_far.clone())).await.reply();
    so_far.extend([said(" "), shown]);
    run(&provider, conversation(so_far)).await.reply();
    let sent = server.requests();
    let messages = sent[2].json()["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert_eq!(messages[1]["content"], json!([url, part("what is it?"), url]));
    let bodies: Vec<String> = sent.iter().map(|sent| sent.text()).collect();
    check_append_only(&bodies, "]}],\"max_tokens\"");
}
