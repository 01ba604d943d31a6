//! Turns: what is sent, what ends them, what stays valid.

use std::sync::Arc;

use futures::{StreamExt, stream};
use serde_json::json;
use tenon_agent::{
    EndReason, ModelEvent, SessionEvent, Tools, TurnEvent, TurnLimits, Update, tool,
};
use tenon_model::{
    Abilities, ContentBlock, EventStream, Provider, ProviderError, ProviderErrorKind, Request,
    Role, StopReason, StreamEvent, Thinking,
};
use tokio_util::sync::CancellationToken;

use crate::support::{bench, bench_with, calls, text};

fn echo() -> Tools {
    Tools::new().with(tool::<serde_json::Value>("echo", "Says it again.", |arguments| {
        Ok(arguments.to_string())
    }))
}

#[tokio::test]
async fn spec_1_each_step_sends_system_conversation_tools_and_the_largest_reply() {
    let mut bench = bench(vec![calls(&[("echo", json!({}))]), text("done")], echo());
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    for request in requests.iter() {
        assert!(request.system.contains("tenon"));
        assert_eq!(request.tools.len(), 1);
        assert_eq!(request.output_tokens_max, 8_192);
    }
    let lengths: Vec<usize> = requests.iter().map(|request| request.conversation.len()).collect();
    assert_eq!(lengths, [1, 3]);
    // What was sent once is sent again, the very same.
    assert!(Arc::ptr_eq(&requests[0].conversation[0], &requests[1].conversation[0]));
}

#[tokio::test]
async fn a_turn_that_ends_without_a_word_is_said_to_be_one() {
    for (words, expected) in [("", 1), (" \n", 1), ("done", 0)] {
        let mut bench = bench(vec![calls(&[("echo", json!({}))]), text(words)], echo());
        let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
        assert_eq!(outcome.reason, EndReason::Finished);
        let updates = bench.front.updates.lock().unwrap();
        let notices = updates.iter().filter(|update| {
            matches!(update, Update::Stored(record) if matches!(&record.event,
                SessionEvent::Turn(TurnEvent::Notice { text }) if text.ends_with("without a word")))
        });
        assert_eq!(notices.count(), expected, "{words:?}");
    }
}

#[tokio::test]
async fn spec_8_the_model_decides_the_order_of_work() {
    for order in [["one", "two", "one"], ["two", "one", "two"], ["two", "two", "one"]] {
        let named = |name: &'static str| {
            tool::<serde_json::Value>(name, "Says its name.", move |_| Ok(name.to_owned()))
        };
        let tools = Tools::new().with(named("one")).with(named("two"));
        let mut replies: Vec<_> = order.iter().map(|name| calls(&[(name, json!({}))])).collect();
        replies.push(text("done"));
        let mut bench = bench(replies, tools);
        bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
        let requests = bench.provider.requests.lock().unwrap();
        let results = requests.last().unwrap().conversation.iter().flat_map(|m| &m.content);
        let results: Vec<&str> = results
            .filter_map(|block| match block {
                ContentBlock::ToolResult(result) => Some(result.content.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(results, order);
    }
}

#[tokio::test]
async fn spec_39_spec_40_the_system_prompt_asks_for_the_users_language_facts_and_care() {
    let mut bench = bench(vec![text("done")], echo());
    bench.agent.prompt("你好", &CancellationToken::new()).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    let system = &requests[0].system;
    assert!(system.contains("Answer in the user's language."), "{system}");
    assert!(system.contains("Facts come from tools.") && system.contains("never guess"));
    assert!(system.contains("Destructive commands") && system.contains("need care"));
    for tool in ["read_file", "grep", "glob", "edit_file", "write_file", "bash"] {
        assert!(system.contains(&format!("{tool} ")), "{tool}: {system}");
    }
    assert!(system.len() <= 1_600, "{} bytes", system.len());
}

#[tokio::test]
async fn spec_2_the_whole_reply_is_appended_unchanged_before_tools_run() {
    let mut reply = vec![
        Ok(StreamEvent::ThinkingDelta { text: "hm".into() }),
        Ok(StreamEvent::ThinkingSignature { signature: "s".into() }),
        Ok(StreamEvent::TextDelta { text: "I look.".into() }),
    ];
    reply.extend(calls(&[("echo", json!({"a": 1}))]));
    let mut bench = bench(vec![reply, text("done")], echo());
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    let said = &requests[1].conversation[1];
    assert_eq!(said.role, Role::Assistant);
    let thinking = Thinking { text: "hm".into(), signature: Some("s".into()), redacted: None };
    assert_eq!(said.content[0], ContentBlock::Thinking(thinking));
    assert_eq!(said.content[1], ContentBlock::Text { text: "I look.".into() });
    assert!(matches!(&said.content[2], ContentBlock::ToolCall(call) if call.name == "echo"));
}

#[tokio::test]
async fn spec_6_the_last_text_is_the_answer() {
    let mut first = vec![Ok(StreamEvent::TextDelta { text: "working".into() })];
    first.extend(calls(&[("echo", json!({}))]));
    let mut bench = bench(vec![first, text("the answer")], echo());
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.answer.as_str(), outcome.steps), ("the answer", 2));
    assert_eq!(outcome.reason, EndReason::Finished);
}

#[tokio::test]
async fn spec_5_a_cancelled_turn_leaves_no_call_unanswered() {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let tools = Tools::new().with(tool::<serde_json::Value>("stop", "Cancels.", move |_| {
        stop.cancel();
        Ok("cancelled".into())
    }));
    let both = calls(&[("stop", json!({})), ("stop", json!({}))]);
    let mut bench = bench(vec![both, text("again")], tools);
    let outcome = bench.agent.prompt("go", &cancel).await.unwrap();
    assert_eq!(outcome.reason, EndReason::Cancelled);
    bench.agent.prompt("and now", &CancellationToken::new()).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    let results = &requests[1].conversation[2];
    assert_eq!(results.content.len(), 2);
}

#[tokio::test]
async fn a_reply_that_is_cancelled_keeps_its_text() {
    let cancel = CancellationToken::new();
    // The second request never ends; the words before it stand.
    let mut bench = bench(vec![calls(&[("echo", json!({}))])], echo());
    let end = cancel.clone();
    let (outcome, ()) = tokio::join!(bench.agent.prompt("go", &cancel), async move {
        tokio::task::yield_now().await;
        end.cancel();
    });
    assert_eq!(outcome.unwrap().reason, EndReason::Cancelled);
}

#[tokio::test]
async fn a_failed_request_ends_the_turn_with_its_reason_and_the_next_turn_works() {
    let error = ProviderError::new(ProviderErrorKind::Unauthorized, "no key").with_hint("set it");
    let mut bench = bench(vec![vec![Err(error)], text("now")], echo());
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.reason, EndReason::ProviderFailed);
    let outcome = bench.agent.prompt("go on", &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.answer, "now");
}

#[tokio::test]
async fn a_key_that_stops_working_in_mid_turn_loses_nothing() {
    let refused = ProviderError::new(ProviderErrorKind::Unauthorized, "401").with_hint("check it");
    let first = calls(&[("echo", json!({}))]);
    let mut bench = bench(vec![first, vec![Err(refused)], text("done")], echo());
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.reason, EndReason::ProviderFailed);
    let hint = bench.front.updates.lock().unwrap().iter().find_map(|update| match update {
        Update::Stored(record) => match &record.event {
            SessionEvent::Model(ModelEvent::RequestFailed { hint, .. }) => hint.clone(),
            _ => None,
        },
        Update::Live(_) => None,
    });
    assert!(hint.is_some_and(|hint| hint.starts_with("check it; it worked until now")));
    bench.agent.prompt("go on", &CancellationToken::new()).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    let (before, after) = (&requests[1].conversation, &requests[2].conversation);
    assert_eq!(after[..before.len()], before[..], "what was sent is sent again");
    assert_eq!(after.last().unwrap().text(), "go on");
}

#[tokio::test]
async fn a_reply_that_breaks_off_five_times_in_a_row_ends_the_turn_with_what_came() {
    let half = || -> Vec<Result<StreamEvent, ProviderError>> {
        let lost = ProviderError::new(ProviderErrorKind::Dropped, "lost");
        let mut events = calls(&[("echo", json!({}))]);
        events.insert(0, Ok(StreamEvent::TextDelta { text: "a".into() }));
        *events.last_mut().unwrap() = Err(lost);
        events
    };
    let mut bench = bench((0..9).map(|_| half()).collect(), echo());
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.reason, outcome.answer.as_str()), (EndReason::ProviderFailed, "aaaaaa"));
    assert_eq!(bench.provider.requests.lock().unwrap().len(), 6);
    let ran = bench.front.updates.lock().unwrap().iter().any(|update| {
        matches!(update, Update::Stored(record) if matches!(record.event, SessionEvent::Call(_)))
    });
    assert!(!ran, "no call of a reply that broke off runs");
}

#[tokio::test]
async fn the_step_limit_ends_a_turn() {
    let again = |n: u32| calls(&[("echo", json!({ "n": n }))]);
    let limits = TurnLimits { steps_max: Some(3), ..TurnLimits::default() };
    let mut bench =
        bench_with((0..9).map(again).collect(), echo(), |options| options.limits = limits);
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.reason, outcome.steps), (EndReason::StepLimit, 3));
}

#[tokio::test]
async fn the_time_limit_cancels_what_runs_and_ends_the_turn() {
    let time_max = Some(std::time::Duration::from_millis(1));
    let limits = TurnLimits { time_max, ..TurnLimits::default() };
    // The second request never ends.
    let mut bench = bench_with(vec![calls(&[("echo", json!({}))])], echo(), |options| {
        options.limits = limits;
    });
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.reason, EndReason::TimeLimit);
    // The next turn has its own time and is not cancelled from the start.
    let outcome = bench.agent.prompt("go on", &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.reason, EndReason::TimeLimit);
}

/// A model whose words are always there already.
struct Talker(Abilities);

impl Provider for Talker {
    fn model(&self) -> &str {
        "fake/talker"
    }

    fn abilities(&self) -> &Abilities {
        &self.0
    }

    fn stream(&self, _: Request) -> EventStream<'_> {
        let word = || Ok(StreamEvent::TextDelta { text: "y".into() });
        stream::iter(std::iter::repeat_with(word).take(1_000_000)).boxed()
    }
}

#[tokio::test]
async fn the_time_limit_ends_a_reply_that_never_waits() {
    let time_max = Some(std::time::Duration::from_millis(1));
    let mut bench = bench_with(Vec::new(), echo(), |options| {
        options.limits = TurnLimits { time_max, ..TurnLimits::default() };
        options.provider = Arc::new(Talker(Abilities::default()));
    });
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.reason, EndReason::TimeLimit);
}

#[tokio::test]
async fn what_is_left_of_the_tokens_bounds_the_reply_that_is_asked_for() {
    let limits = TurnLimits { tokens_max: Some(1_000), ..TurnLimits::default() };
    let mut bench = bench_with(vec![text("done")], echo(), |options| options.limits = limits);
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    let asked = bench.provider.requests.lock().unwrap()[0].output_tokens_max;
    assert!((16..1_000).contains(&asked), "{asked}: what the request itself is, is reserved");
}

#[tokio::test]
async fn the_same_call_with_the_same_result_is_nudged_and_then_ended() {
    let again = || calls(&[("echo", json!({}))]);
    let mut bench = bench((0..9).map(|_| again()).collect(), echo());
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.reason, outcome.steps), (EndReason::LoopGuard, 5));
    let requests = bench.provider.requests.lock().unwrap();
    let nudged = requests[3].conversation.last().unwrap();
    assert!(nudged.text().contains("several times in a row"), "{nudged:?}");
}

#[tokio::test]
async fn a_call_cut_off_by_the_output_limit_never_runs() {
    let ran = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = ran.clone();
    let tools = Tools::new().with(tool::<serde_json::Value>("echo", "x", move |_| {
        flag.store(true, std::sync::atomic::Ordering::SeqCst);
        Ok(String::new())
    }));
    let cut = vec![
        Ok(StreamEvent::ToolCallStarted { index: 0, id: "a".into(), name: "echo".into() }),
        Ok(StreamEvent::ToolCallDelta { index: 0, arguments: "{}".into() }),
        Ok(StreamEvent::Stopped { reason: StopReason::OutputLimit }),
    ];
    let mut bench = bench(vec![cut, text("ok")], tools);
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert!(!ran.load(std::sync::atomic::Ordering::SeqCst));
    let (content, is_error) = bench.results(1).remove(0);
    assert!(is_error && content.contains("output limit"), "{content}");
}
