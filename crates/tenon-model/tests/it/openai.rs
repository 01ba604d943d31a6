//! Streams of Chat Completions as the many servers send them.

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Reply, Turn},
    support::{openai, request, run, summary},
};

async fn check_reply(what: &str, reply: Reply, expected: &str) {
    let server = FakeServer::start(vec![reply]);
    let run = run(&openai(&server.url()), request("hi")).await;
    assert_eq!(run.retries(), 0, "{what}");
    assert_eq!(summary(&run.reply()), expected, "{what}");
}

/// Serves `stream` whole, in bytes and with CRLF; each must come to `expected`.
async fn check(what: &str, stream: &str, expected: &str) {
    check_reply(what, Reply::sse().piece(stream), expected).await;
    check_reply(what, Reply::sse().piece(stream).split_every(1), expected).await;
    let crlf = Reply::sse().piece(stream.replace('\n', "\r\n")).split_every(3);
    check_reply(what, crlf, expected).await;
}

fn sse(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null, "logprobs": null}], "usage": null})
}

fn finish(word: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}]})
}

const DONE: &str = "data: [DONE]\n\n";

#[tokio::test]
async fn a_whole_reply_arrives_in_any_split() {
    let turn = Turn::text("Ich schaue nach: 汉字 👋.")
        .thinking("let me see")
        .call("bash", json!({"command": "ls -l"}))
        .call("read_file", json!({}));
    check(
        "usual",
        &turn.openai_sse(),
        r#"thinking(let me see|-|-) text(Ich schaue nach: 汉字 👋.) call_1:bash{"command":"ls -l"} call_2:read_file{} ToolCalls 10+0r+0w>5"#,
    )
    .await;
}

#[tokio::test]
async fn prose_and_its_ends() {
    let hi = delta(json!({"role": "assistant", "content": "hi"}));
    let of = |chunks: &[Value]| sse(chunks) + DONE;
    check("usual", &of(&[hi.clone(), finish("stop")]), "text(hi) EndOfTurn 0+0r+0w>0").await;
    check("no [DONE]", &sse(&[hi.clone(), finish("stop")]), "text(hi) EndOfTurn 0+0r+0w>0").await;
    check("no stop word", &of(std::slice::from_ref(&hi)), "text(hi) EndOfTurn 0+0r+0w>0").await;
    check(
        "no last blank line",
        of(&[hi.clone(), finish("stop")]).trim_end(),
        "text(hi) EndOfTurn 0+0r+0w>0",
    )
    .await;
    check("own stop word", &of(&[hi.clone(), finish("eos")]), "text(hi) EndOfTurn 0+0r+0w>0").await;
    check("limit", &of(&[hi.clone(), finish("length")]), "text(hi) OutputLimit 0+0r+0w>0").await;
    check("filter", &of(&[hi.clone(), finish("content_filter")]), "text(hi) Refusal 0+0r+0w>0")
        .await;
    check(
        "refusal field",
        &of(&[delta(json!({"refusal": "I "})), delta(json!({"refusal": "won't"})), finish("stop")]),
        "text(I won't) Refusal 0+0r+0w>0",
    )
    .await;
    check(
        "comments and pings",
        &format!(
            ": OPENROUTER PROCESSING\n\n{}event: ping\ndata:\n\n{}{DONE}",
            sse(std::slice::from_ref(&hi)),
            sse(&[finish("stop")])
        ),
        "text(hi) EndOfTurn 0+0r+0w>0",
    )
    .await;
    check("null fields", &of(&[json!({"choices": null}), delta(json!({"content": null, "tool_calls": null, "reasoning": null, "refusal": null, "function_call": null})), hi.clone(), finish("stop")]), "text(hi) EndOfTurn 0+0r+0w>0").await;
    check(
        "content in parts",
        &of(&[delta(json!({"content": [{"type": "text", "text": "hi"}]})), finish("stop")]),
        "text(hi) EndOfTurn 0+0r+0w>0",
    )
    .await;
}

#[tokio::test]
async fn reasoning_comes_in_several_fields() {
    let of = |fields: Value| {
        sse(&[delta(fields), delta(json!({"content": "hi"})), finish("stop")]) + DONE
    };
    let expected = "thinking(hm|-|-) text(hi) EndOfTurn 0+0r+0w>0";
    check(
        "DeepSeek, GLM, Qwen, vLLM",
        &of(json!({"reasoning_content": "hm", "content": null})),
        expected,
    )
    .await;
    check("Ollama, OpenRouter", &of(json!({"reasoning": "hm", "content": ""})), expected).await;
    check("both", &of(json!({"reasoning": "hm", "reasoning_content": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]})), expected).await;
    check("details alone", &of(json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}, {"type": "reasoning.encrypted", "data": "x"}]})), expected).await;
}

#[tokio::test]
async fn tokens_come_in_several_places() {
    let hi = delta(json!({"content": "hi"}));
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}});
    let deepseek = json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40});
    let with = |mut chunk: Value, usage: &Value| {
        chunk["usage"] = usage.clone();
        chunk
    };
    let of = |chunks: &[Value]| sse(chunks) + DONE;
    let expected = "text(hi) EndOfTurn 40+60r+0w>7";
    check(
        "a chunk without choices",
        &of(&[hi.clone(), finish("stop"), json!({"choices": [], "usage": usage})]),
        expected,
    )
    .await;
    check("the last chunk", &of(&[hi.clone(), with(finish("stop"), &usage)]), expected).await;
    check("DeepSeek", &of(&[hi.clone(), with(finish("stop"), &deepseek)]), expected).await;
    check(
        "every chunk",
        &of(&[
            with(hi.clone(), &json!({"prompt_tokens": 100, "completion_tokens": 1})),
            with(finish("stop"), &usage),
        ]),
        expected,
    )
    .await;
    let odd = |prompt: Value| json!({"prompt_tokens": prompt, "completion_tokens": 7.0});
    for (what, usage, tokens) in [
        ("whole floats", odd(json!(100.0)), "100+0r+0w>7"),
        ("broken floats", odd(json!(0.5)), "0+0r+0w>0"),
        ("negative", odd(json!(-1)), "0+0r+0w>0"),
        ("negative floats", odd(json!(-1.0)), "0+0r+0w>0"),
        ("texts", odd(json!("100")), "0+0r+0w>0"),
        ("no figures", json!("none"), "0+0r+0w>0"),
        ("a list", json!([[]]), "0+0r+0w>0"),
    ] {
        let expected = format!("text(hi) EndOfTurn {tokens}");
        check(what, &of(&[with(hi.clone(), &usage), finish("stop")]), &expected).await;
    }
    let broken = "data: {\"choices\":[],\"usage\":{\"prom\n\n";
    let whole = sse(&[hi.clone(), finish("stop")]);
    check(
        "half an event behind the stop word",
        &format!("{whole}{broken}{DONE}"),
        "text(hi) EndOfTurn 0+0r+0w>0",
    )
    .await;
    check(
        "zeros at the end",
        &of(&[
            with(hi.clone(), &usage),
            with(finish("stop"), &json!({"prompt_tokens": 0, "completion_tokens": 0})),
        ]),
        expected,
    )
    .await;
}

#[tokio::test]
async fn calls_come_in_many_shapes() {
    let call = |call: Value| delta(json!({"tool_calls": [call]}));
    let of = |chunks: &[Value], word: &str| sse(&[chunks, &[finish(word)]].concat()) + DONE;
    let whole = |index: Value, id: Value, arguments: Value| {
        call(
            json!({"index": index, "id": id, "type": "function", "function": {"name": "bash", "arguments": arguments}}),
        )
    };
    let one = r#"a:bash{"x":1} ToolCalls 0+0r+0w>0"#;
    let two = r#"a:bash{"x":1} b:bash{"x":2} ToolCalls 0+0r+0w>0"#;
    check("stop after calls", &of(&[whole(json!(0), json!("a"), json!("{\"x\":1}"))], "stop"), one)
        .await;
    check(
        "arguments as an object",
        &of(&[whole(json!(0), json!("a"), json!({"x": 1}))], "tool_calls"),
        one,
    )
    .await;
    check(
        "encoded twice",
        &of(&[whole(json!(0), json!("a"), json!("\"{\\\"x\\\":1}\""))], "tool_calls"),
        one,
    )
    .await;
    check(
        "index 0 for all",
        &of(
            &[
                whole(json!(0), json!("a"), json!("{\"x\":1}")),
                whole(json!(0), json!("b"), json!("{\"x\":2}")),
            ],
            "tool_calls",
        ),
        two,
    )
    .await;
    check(
        "no index",
        &of(
            &[
                whole(Value::Null, json!("a"), json!("{\"x\":1}")),
                whole(Value::Null, json!("b"), json!("{\"x\":2}")),
            ],
            "tool_calls",
        ),
        two,
    )
    .await;
    check(
        "name and id in every fragment",
        &of(
            &[
                whole(json!(0), json!("a"), json!("{\"x\"")),
                whole(json!(0), json!("a"), json!(":1}")),
            ],
            "tool_calls",
        ),
        one,
    )
    .await;
    check(
        "same id twice",
        &of(
            &[
                whole(json!(0), json!("a"), json!("{\"x\":1}")),
                whole(json!(1), json!("a"), json!("{\"x\":2}")),
            ],
            "tool_calls",
        ),
        r#"a:bash{"x":1} a_2:bash{"x":2} ToolCalls 0+0r+0w>0"#,
    )
    .await;
    check(
        "no id",
        &of(&[whole(json!(0), json!(""), json!(""))], "tool_calls"),
        "call:bash{} ToolCalls 0+0r+0w>0",
    )
    .await;
    check(
        "cut by the limit",
        &of(
            &[
                whole(json!(0), json!("a"), json!("{\"x\":1}")),
                whole(json!(1), json!("b"), json!("{\"x\":2}")),
            ],
            "length",
        ),
        r#"a:bash{"x":1} b:bash{} CUT OutputLimit 0+0r+0w>0"#,
    )
    .await;
    check(
        "malformed",
        &of(&[whole(json!(0), json!("a"), json!("{x:1}"))], "tool_calls"),
        "a:bash{} MALFORMED ToolCalls 0+0r+0w>0",
    )
    .await;
    check(
        "the first API's function_call",
        &of(
            &[
                delta(json!({"function_call": {"name": "bash", "arguments": "{\"x\""}})),
                delta(json!({"function_call": {"arguments": ":1}"}})),
            ],
            "function_call",
        ),
        r#"call:bash{"x":1} ToolCalls 0+0r+0w>0"#,
    )
    .await;
}

#[tokio::test]
async fn llama_cpp_python_sends_each_call_in_two_fields() {
    let both = |part: &str| {
        let function = json!({"name": "weather", "arguments": part});
        delta(json!({"role": null, "content": null, "function_call": function,
            "tool_calls": [{"index": 0, "id": "call__0_weather_cmpl-7", "type": "function", "function": function}]}))
    };
    let start = delta(
        json!({"role": "assistant", "content": null, "function_call": null, "tool_calls": null}),
    );
    let parts = ["{\"", "city", "\":", " \"", "Paris", "\"}", ""].map(both);
    let end = json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": null, "delta": {"role": null, "content": null, "function_call": null, "tool_calls": null}}]});
    let stream = format!(
        ": ping - 2026-11-21 10:50:10.700011+00:00\n\n{}{DONE}",
        sse(&[&[start], &parts[..], &[end]].concat())
    );
    check(
        "recorded",
        &stream,
        r#"call__0_weather_cmpl-7:weather{"city":"Paris"} ToolCalls 0+0r+0w>0"#,
    )
    .await;
}

#[tokio::test]
async fn a_reply_may_be_one_document() {
    let document = json!({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "hi", "reasoning_content": "hm",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{\"x\":1}"}}]}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5}});
    let expected = r#"thinking(hm|-|-) text(hi) a:bash{"x":1} ToolCalls 10+0r+0w>5"#;
    check_reply("plain JSON", Reply::status(200).json(document.clone()), expected).await;
    check_reply("in bytes", Reply::status(200).json(document.clone()).split_every(1), expected)
        .await;
    check_reply("called a stream", Reply::sse().piece(format!("\n{document}")), expected).await;
}

#[tokio::test]
async fn a_server_that_keeps_the_connection_open_after_the_end_is_not_waited_for() {
    let hi = sse(&[delta(json!({"content": "hi"})), finish("stop")]);
    check_reply(
        "stalls after [DONE]",
        Reply::sse().piece(format!("{hi}{DONE}")).stall(),
        "text(hi) EndOfTurn 0+0r+0w>0",
    )
    .await;
    check_reply(
        "drops after the stop word",
        Reply::sse().piece(&hi).drop_connection(),
        "text(hi) EndOfTurn 0+0r+0w>0",
    )
    .await;
}
