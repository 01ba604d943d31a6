//! Streams of the Messages API as servers send them.

use serde_json::json;

use crate::{
    fake_server::{FakeServer, Reply, Turn},
    support::{anthropic, request, run, summary},
};

/// Serves `stream` whole, in bytes and with CRLF; each must come to `expected`.
async fn check(what: &str, stream: &str, expected: &str) {
    let forms = [
        Reply::sse().piece(stream),
        Reply::sse().piece(stream).split_every(1),
        Reply::sse().piece(stream.replace('\n', "\r\n")).split_every(3),
    ];
    for reply in forms {
        let server = FakeServer::start(vec![reply]);
        let run = run(&anthropic(&server.url()), request("hi")).await;
        assert_eq!(run.retries(), 0, "{what}");
        assert_eq!(summary(&run.reply()), expected, "{what}");
    }
}

fn sse(events: &[serde_json::Value]) -> String {
    let name = |event: &serde_json::Value| event["type"].as_str().unwrap().to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}

fn start() -> serde_json::Value {
    json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}}})
}

fn stop(reason: &str) -> [serde_json::Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

#[tokio::test]
async fn a_whole_reply_arrives_in_any_split() {
    let turn = Turn::text("Ich schaue nach: 汉字 👋.")
        .thinking("let me see")
        .call("bash", json!({"command": "ls -l"}))
        .call("read_file", json!({}));
    check(
        "usual",
        &turn.anthropic_sse(),
        r#"thinking(let me see|sig-1|-) text(Ich schaue nach: 汉字 👋.) call_1:bash{"command":"ls -l"} call_2:read_file{} ToolCalls 10+0r+0w>5"#,
    )
    .await;
}

#[tokio::test]
async fn streams_as_they_come_in_the_world() {
    let text = |text: &str| {
        vec![
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
        ]
    };
    let of = |blocks: Vec<serde_json::Value>, reason: &str| {
        let mut all = vec![start(), json!({"type": "ping"})];
        all.extend(blocks);
        all.extend(stop(reason));
        sse(&all)
    };
    check(
        "pings and cached tokens",
        &of(text("hi"), "end_turn"),
        "text(hi) EndOfTurn 3+100r+20w>9",
    )
    .await;
    check("refusal", &of(text("no"), "refusal"), "text(no) Refusal 3+100r+20w>9").await;
    check("stop sequence", &of(text("no"), "stop_sequence"), "text(no) EndOfTurn 3+100r+20w>9")
        .await;
    check(
        "comments",
        &format!(": hello\n\n{}", of(text("hi"), "end_turn")),
        "text(hi) EndOfTurn 3+100r+20w>9",
    )
    .await;
    check(
        "window full",
        &of(text("long"), "model_context_window_exceeded"),
        "text(long) OutputLimit 3+100r+20w>9",
    )
    .await;
    check("unknown events and blocks", &of([vec![
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "server_thing", "x": 1}}),
        json!({"type": "content_block_stop", "index": 0}), json!({"type": "brand_new"})], text("hi")].concat(), "end_turn"), "text(hi) EndOfTurn 3+100r+20w>9").await;
    check("redacted thinking and a signature alone", &of(vec![
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "redacted_thinking", "data": "opaque"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "signature_delta", "signature": "s"}}),
        json!({"type": "content_block_stop", "index": 1}),
    ], "end_turn"), "thinking(|-|opaque) thinking(|s|-) EndOfTurn 3+100r+20w>9").await;
    let call = |input: serde_json::Value, parts: &[&str]| {
        let mut events = vec![
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t1", "name": "bash", "input": input}}),
        ];
        events.extend(parts.iter().map(|part| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}})));
        events.push(json!({"type": "content_block_stop", "index": 0}));
        events
    };
    check(
        "empty arguments",
        &of(call(json!({}), &[""]), "tool_use"),
        "t1:bash{} ToolCalls 3+100r+20w>9",
    )
    .await;
    check(
        "arguments at the start",
        &of(call(json!({"x": 1}), &[]), "tool_use"),
        r#"t1:bash{"x":1} ToolCalls 3+100r+20w>9"#,
    )
    .await;
    check(
        "malformed arguments",
        &of(call(json!({}), &["{\"x\"", ": oops}"]), "tool_use"),
        "t1:bash{} MALFORMED ToolCalls 3+100r+20w>9",
    )
    .await;
    check(
        "cut by the limit",
        &of(call(json!({}), &["{\"x\":1}"]), "max_tokens"),
        "t1:bash{} CUT OutputLimit 3+100r+20w>9",
    )
    .await;
    let no_stop = sse(&[vec![start()], text("hi"), stop("end_turn")[..1].to_vec()].concat());
    let odd = json!({"input_tokens": -1, "output_tokens": "many"});
    let whole = json!({"input_tokens": 3.0, "output_tokens": 9.0});
    for (usage, tokens) in [(odd, "0+0r+0w>0"), (whole, "3+0r+0w>9"), (json!(7), "0+0r+0w>0")] {
        let mut events = text("hi");
        events.push(
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}),
        );
        check("odd figures", &sse(&events), &format!("text(hi) EndOfTurn {tokens}")).await;
    }
    let broken = format!("{no_stop}data: {{\"type\":\"mess\n\n");
    check("half an event behind the stop word", &broken, "text(hi) EndOfTurn 3+100r+20w>9").await;
    check("no message_stop", &no_stop, "text(hi) EndOfTurn 3+100r+20w>9").await;
}

#[tokio::test]
async fn a_reply_may_be_one_document() {
    let of = |stop: &str| {
        json!({"type": "message", "role": "assistant", "stop_reason": stop, "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "t1", "name": "bash", "input": {"x": 1}},
        {"type": "tool_use", "id": "t2", "name": "bash", "input": {}}],
        "usage": {"input_tokens": 3, "output_tokens": 9, "cache_read_input_tokens": 100}})
    };
    let called = r#"thinking(hm|s|-) text(hi) t1:bash{"x":1} t2:bash{}"#;
    let document = of("tool_use");
    for (reply, end) in [
        (Reply::status(200).json(document.clone()), " ToolCalls 3+100r+0w>9"),
        (Reply::status(200).json(document.clone()).split_every(1), " ToolCalls 3+100r+0w>9"),
        (Reply::sse().piece(format!("\n{document}")), " ToolCalls 3+100r+0w>9"),
        (Reply::status(200).json(of("max_tokens")), " CUT OutputLimit 3+100r+0w>9"),
    ] {
        let server = FakeServer::start(vec![reply]);
        let run = run(&anthropic(&server.url()), request("hi")).await;
        assert_eq!(summary(&run.reply()), format!("{called}{end}"));
    }
    let half = document.to_string()[..40].to_owned();
    let server =
        FakeServer::start(vec![Reply::status(200).body(&half), Reply::anthropic_text("hi")]);
    assert_eq!(run(&anthropic(&server.url()), request("hi")).await.retries(), 1);
    for other in [json!({"ok": true}), json!({"choices": []}), json!([1])] {
        let server = FakeServer::start(vec![Reply::status(200).json(other)]);
        let error = run(&anthropic(&server.url()), request("hi")).await.error();
        assert!(error.message.ends_with("sent a document that is no reply"), "{error}");
    }
}
