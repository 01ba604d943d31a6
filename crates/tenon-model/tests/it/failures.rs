//! What goes wrong, and what tenon makes of it: tried again where that helps, else said plainly.

use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::json;
use tenon_model::{HttpOptions, Provider, ProviderErrorKind as Kind, Pulse, StreamEvent};

use crate::{
    fake_server::{FakeServer, Reply, Turn},
    support::{KEY, Run, anthropic, anthropic_with, openai, openai_with, request, run},
};

fn error(status: u16, message: &str) -> Reply {
    Reply::status(status).json(json!({"error": {"type": "some_error", "message": message}}))
}

#[tokio::test]
async fn what_nobody_can_wait_out_stops_at_once_with_the_servers_words() {
    let cases = [
        (error(400, "bad tools"), Kind::BadRequest, "400: bad tools"),
        (error(401, &format!("wrong key {KEY}")), Kind::Unauthorized, "401: wrong key ***"),
        (error(403, "not yours"), Kind::Forbidden, "403: not yours"),
        (error(404, "no such model"), Kind::NotFound, "404: no such model"),
        (
            error(400, "prompt is too long: 9 > 8"),
            Kind::ContextTooLong,
            "400: prompt is too long: 9 > 8",
        ),
        (
            error(429, "You exceeded your current quota"),
            Kind::QuotaExhausted,
            "429: You exceeded your current quota",
        ),
        (
            Reply::status(302).header("location", "http://127.0.0.1:1/"),
            Kind::Configuration,
            " redirects to http://127.0.0.1:1/",
        ),
        (
            Reply::status(200).body("<!DOCTYPE html><p>Welcome"),
            Kind::Protocol,
            " sent a web page instead of a reply",
        ),
    ];
    for (reply, kind, words) in cases {
        let server = FakeServer::start(vec![reply.clone(), reply]);
        let providers: [&dyn Provider; 2] = [&anthropic(&server.url()), &openai(&server.url())];
        for provider in providers {
            let run = run(provider, request("hi")).await;
            assert_eq!(run.retries(), 0);
            let error = run.error();
            assert_eq!(error.kind, kind, "{error}");
            assert!(error.message.ends_with(words), "{error}");
            assert!(error.hint.is_some() || kind == Kind::BadRequest, "{error:?}");
        }
        assert_eq!(server.requests().len(), 2, "one request each");
    }
}

#[tokio::test]
async fn what_passes_by_itself_is_tried_again() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let failures = [
        error(429, "slow down").header("retry-after", "0"),
        error(529, "Overloaded").header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
        error(503, "busy").header("retry-after-ms", "0"),
        error(500, "broken").header("retry-after", "0"),
    ];
    for failure in failures {
        let server = FakeServer::start(vec![failure, Reply::anthropic_text("hi")]);
        let run = run(&anthropic(&server.url()), request("hi")).await;
        assert_eq!(run.retries(), 1);
        assert_eq!(run.reply().message.text(), "hi");
        let sent = server.requests();
        assert_eq!(sent[0].body, sent[1].body, "the same request again");
    }
    // Without a wait that the server names, the schedule's own is used.
    let broken = [
        Reply::sse().piece(format!("event: error\ndata: {overloaded}\n\n")),
        Reply::sse().data(overloaded.clone()),
        Reply::sse().drop_connection(),
        Reply::sse().piece("event: message_start\ndata: {\"type\":\"message_start\"}\n\n"),
        error(529, "Overloaded"),
    ];
    // All at the same time, since each waits about a second.
    let runs = broken.into_iter().map(|broken| async move {
        let server = FakeServer::start(vec![broken, Reply::anthropic_text("hi")]);
        let run = run(&anthropic(&server.url()), request("hi")).await;
        let wait = run.events.iter().find_map(|event| match event {
            StreamEvent::Retrying { wait_ms, attempt: 2, .. } => Some(*wait_ms),
            _ => None,
        });
        assert!(wait.is_some_and(|wait| (750..=1250).contains(&wait)), "{wait:?}");
        assert_eq!(run.reply().message.text(), "hi");
    });
    futures::future::join_all(runs).await;
}

#[tokio::test]
async fn calls_of_a_broken_attempt_are_void() {
    let broken = Turn::of_call("bash", json!({"command": "rm x"})).openai_sse();
    let half = broken.split_inclusive("\n\n").take(4).collect::<String>();
    let server = FakeServer::start(vec![
        Reply::sse().piece(half).drop_connection(),
        Reply::openai(Turn::of_call("bash", json!({"command": "ls"}))),
    ]);
    let run = run(&openai(&server.url()), request("hi")).await;
    assert_eq!(run.retries(), 1);
    let reply = run.reply();
    let calls: Vec<_> = reply.message.tool_calls().map(|call| call.arguments.to_string()).collect();
    assert_eq!(calls, [r#"{"command":"ls"}"#]);
}

#[tokio::test]
async fn what_was_shown_is_never_shown_again() {
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half a sen\"}}]}\n\n";
    let chunk = json!({"error": {"message": "upstream lost", "code": 502}});
    let cases = [
        (Reply::sse().piece(text).drop_connection(), Kind::Dropped),
        (Reply::sse().piece(text), Kind::Dropped),
        (Reply::sse().piece(text).piece("data: {\"choi"), Kind::Dropped),
        (Reply::sse().piece(text).data(chunk), Kind::Server),
        (Reply::sse().piece(text).data(json!({"object": "error", "message": "x"})), Kind::Server),
        (
            Reply::sse()
                .piece(text)
                .data(json!({"error": {"code": "insufficient_quota", "message": "x"}})),
            Kind::QuotaExhausted,
        ),
        (Reply::sse().piece(text).piece("data: oops\n\n"), Kind::Dropped),
        (Reply::sse().piece(text).piece("data: {\"choices\":[{\"del\n\n"), Kind::Dropped),
    ];
    for (reply, kind) in cases {
        let server = FakeServer::start(vec![reply, Reply::openai_text("other")]);
        let Run { events, outcome } = run(&openai(&server.url()), request("hi")).await;
        assert_eq!(events, [StreamEvent::TextDelta { text: "half a sen".into() }]);
        assert_eq!(outcome.unwrap_err().kind, kind);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_stalls_is_given_up_with_the_limit_named() {
    let http = HttpOptions {
        first_byte_timeout: Duration::from_millis(40),
        idle_timeout: Duration::from_millis(40),
        ..HttpOptions::default()
    };
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n";
    let server = FakeServer::start(vec![Reply::sse().piece(text).stall()]);
    let error = run(&openai_with(&server.url(), http.clone()), request("hi")).await.error();
    assert_eq!(error.kind, Kind::Stalled);
    assert!(error.message.ends_with("sent nothing for 0.04 s (the idle limit)"), "{error}");

    let server = FakeServer::start(vec![Reply::sse().stall(), Reply::anthropic_text("hi")]);
    let run = run(&anthropic_with(&server.url(), http), request("hi")).await;
    let reason = run.events.iter().find_map(|event| match event {
        StreamEvent::Retrying { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.is_some_and(|words| words.ends_with("(the first-byte limit)")));
}

#[tokio::test]
async fn whoever_asks_learns_how_long_a_reply_that_is_being_read_has_been_silent() {
    let pulse = Pulse::default();
    let http = HttpOptions {
        idle_timeout: Duration::from_millis(200),
        pulse: pulse.clone(),
        ..HttpOptions::default()
    };
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n";
    let server = FakeServer::start(vec![Reply::sse().piece(text).stall()]);
    let provider = openai_with(&server.url(), http);
    let later = || Instant::now() + Duration::from_secs(3600);
    assert_eq!(pulse.silent_for(later()), None, "nothing was asked for");
    let mut stream = provider.stream(request("hi"));
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::TextDelta { .. }))));
    assert!(pulse.silent_for(later()).is_some());
    assert!(matches!(stream.next().await, Some(Err(error)) if error.kind == Kind::Stalled));
    drop(stream);
    assert_eq!(pulse.silent_for(later()), None, "nothing is read any more");
}

#[tokio::test]
async fn a_long_wait_is_said_and_not_sat_out() {
    let server = FakeServer::start(vec![error(429, "slow down").header("retry-after", "3600")]);
    let run = run(&anthropic(&server.url()), request("hi")).await;
    assert_eq!(run.retries(), 0);
    let error = run.error();
    assert!(error.message.ends_with("slow down; it asks to wait 3600 s"), "{error}");
}

#[tokio::test]
async fn a_local_server_that_says_nothing_is_asked_twice() {
    let server = FakeServer::start(vec![Reply::sse(), Reply::sse(), Reply::sse()]);
    let run = run(&openai(&server.url()), request("hi")).await;
    assert_eq!(run.retries(), 1);
    let error = run.error();
    assert!(
        error.message.ends_with("ended the stream without a reply (after 2 attempts)"),
        "{error}"
    );
    assert!(error.hint.is_some_and(|hint| hint.contains("longer than their context")));
}

#[tokio::test]
async fn a_stream_with_nothing_but_its_end_is_no_reply() {
    is_asked_again("openai", "data: [DONE]\n\n").await;
    is_asked_again("openai", ": ping\n\ndata: [DONE]\n\n").await;
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n";
    is_asked_again("openai", &format!("{role}data: [DONE]\n\n")).await;
    is_asked_again("openai", r#"{"choices":[]}"#).await;
    let start =
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n";
    let stop = "data: {\"type\":\"message_stop\"}\n\n";
    let block = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    for broken in [stop, &format!("{start}{stop}"), &format!("{start}{block}{stop}")] {
        is_asked_again("anthropic", broken).await;
    }
    is_asked_again("anthropic", r#"{"content":[]}"#).await;
}

#[tokio::test]
async fn a_reply_without_a_word_that_says_why_is_one() {
    let openai = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let anthropic = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let server = FakeServer::start(vec![Reply::sse().piece(openai)]);
    let of_openai = run(&self::openai(&server.url()), request("hi")).await;
    let server = FakeServer::start(vec![Reply::sse().piece(anthropic)]);
    let of_anthropic = run(&self::anthropic(&server.url()), request("hi")).await;
    for run in [of_openai, of_anthropic] {
        assert_eq!((run.retries(), run.reply().message.content.len()), (0, 0));
    }
}

#[tokio::test]
async fn a_server_that_does_not_run_is_said_at_once() {
    let url = FakeServer::start(Vec::new()).url();
    let run = run(&openai(&url), request("hi")).await;
    assert_eq!(run.retries(), 0);
    let error = run.error();
    assert_eq!(error.kind, Kind::Connect);
    assert!(error.message.starts_with("Cannot connect to 127.0.0.1:"), "{error}");
}

/// Serves `broken` and then a good reply, which is asked for.
async fn is_asked_again(dialect: &str, broken: &str) {
    let is_openai = dialect == "openai";
    let good = if is_openai { Reply::openai_text("hi") } else { Reply::anthropic_text("hi") };
    let server = FakeServer::start(vec![Reply::sse().piece(broken), good]);
    let run = match is_openai {
        true => run(&openai(&server.url()), request("hi")).await,
        false => run(&anthropic(&server.url()), request("hi")).await,
    };
    assert_eq!(run.retries(), 1, "{dialect}: {broken}: {run:?}");
    assert_eq!(run.reply().message.text(), "hi", "{dialect}: {broken}");
}

#[tokio::test]
async fn a_broken_event_is_like_a_broken_connection_also_the_first_one() {
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n";
    let start = "data: {\"type\":\"message_start\"}\n\n";
    let cases = [
        ("openai", "data: {\"choices\":[{\"index\":0,\"del\n\n".to_owned()),
        ("openai", format!("{role}data: oops\n\n")),
        ("openai", format!("{role}data: {{\"choices\":7}}\n\n")),
        ("openai", "data: {garbage}\n\n".to_owned()),
        ("openai", "data: {\"ok\":true}\n\ndata: oops\n\n".to_owned()),
        ("openai", "data: [1]\n\n".to_owned()),
        ("anthropic", "data: {\"type\":\"content_bl\n\n".to_owned()),
        ("anthropic", format!("{start}data: oops\n\n")),
        ("anthropic", "data: {garbage}\n\n".to_owned()),
        ("anthropic", "event: message_start\ndata: {\"type\": message_start}\n\n".to_owned()),
        ("anthropic", "data: <html>\n\n".to_owned()),
    ];
    let runs = cases.map(|(dialect, broken)| async move { is_asked_again(dialect, &broken).await });
    futures::future::join_all(runs).await;
}

#[tokio::test]
async fn what_never_was_an_event_asks_for_the_base_url_after_all_attempts() {
    for dialect in ["anthropic", "openai"] {
        let server = FakeServer::start(vec![Reply::sse().piece("data: {garbage}\n\n"); 2]);
        let run = match dialect {
            "openai" => run(&openai(&server.url()), request("hi")).await,
            _ => run(&anthropic(&server.url()), request("hi")).await,
        };
        let error = run.error();
        assert_eq!(error.kind, Kind::Dropped, "{error}");
        assert!(error.message.ends_with("(after 2 attempts)"), "{error}");
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("base URL")), "{error:?}");
    }
}

#[tokio::test]
async fn a_large_error_is_read_only_in_part() {
    let server = FakeServer::start(vec![Reply::status(400).body(&"x".repeat(1_000_000))]);
    let error = run(&openai(&server.url()), request("hi")).await.error();
    assert!(error.message.chars().count() < 600);
}

#[tokio::test]
async fn a_stream_without_end_is_given_up_once_the_reply_is_too_large() {
    let part = "x".repeat(4 << 20);
    let text = json!({"choices": [{"index": 0, "delta": {"content": part}}]});
    let call = json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": part}});
    let arguments = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    for chunk in [text, arguments] {
        let stream = format!("data: {chunk}\n\n").repeat(17);
        let server = FakeServer::start(vec![Reply::sse().piece(stream)]);
        let run = run(&openai(&server.url()), request("hi")).await;
        assert_eq!(run.retries(), 0);
        let error = run.error();
        assert_eq!(error.kind, Kind::Protocol, "{error}");
        assert!(error.message.ends_with("sent a reply larger than 64 MiB"), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_event_that_is_too_large_is_told_as_that() {
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n";
    let server = FakeServer::start(vec![Reply::sse().piece(text).piece("x".repeat(9 << 20))]);
    let run = run(&openai(&server.url()), request("hi")).await;
    assert_eq!(run.events, [StreamEvent::TextDelta { text: "half".into() }]);
    let error = run.error();
    assert!(error.message.ends_with("sent an event larger than 8 MiB"), "{error}");
    let hint = error.hint.unwrap();
    assert!(hint.starts_with("no model says so much at once"), "{hint}");
}
