//! Logs in, reasons out.

use serde_json::{Value, json};

use super::*;

/// Returns what became of each request's prefix in a log of these events.
fn prefixes(events: &[Value]) -> Vec<Prefix> {
    let mut text = String::new();
    for (index, event) in events.iter().enumerate() {
        let mut event = event.clone();
        event["time_ms"] = json!(1_000 * index);
        text.push_str(&format!("{event}\n"));
    }
    let (session, _) = super::super::read::read_lines("a", text.as_bytes()).unwrap();
    assert_eq!(session.skipped, 0, "{text}");
    ledger(&session).into_iter().map(|request| request.prefix).collect()
}

fn resumed(model: &str, tenon: &str) -> Value {
    json!({"type": "session_resumed", "version": 1, "workspace": [], "model": model, "tenon": tenon})
}

fn prompt(words: &str) -> Value {
    let message = json!({"role": "user", "content": [{"type": "text", "text": words}]});
    json!({"type": "user_message", "prompt": words, "message": message})
}

fn sent(system: &str, tools: &str, prompts: &[&str]) -> Value {
    let mut conversation = Conversation::new();
    for words in prompts {
        if !conversation.is_empty() {
            let said = tenon_model::Message {
                role: tenon_model::Role::Assistant,
                ..tenon_model::Message::user("ok")
            };
            conversation.push(said.into());
        }
        conversation.push(tenon_model::Message::user(*words).into());
    }
    let hash = PrefixHasher::default().conversation(&conversation);
    json!({"type": "request_sent", "system": system, "tools": tools, "messages": conversation.len(), "hash": hash})
}

fn reply(cache_read: u64, cache_write: u64) -> Value {
    let message = json!({"role": "assistant", "content": [{"type": "text", "text": "ok"}]});
    let usage = json!({"input": 10, "cache_read": cache_read, "cache_write": cache_write});
    json!({"type": "assistant_message", "message": message, "usage": usage, "duration_ms": 1})
}

#[test]
fn the_sum_is_the_same_event_by_event_and_has_what_was_gone_back_from_and_summed_up() {
    let mut resumed = resumed("x/a", "1");
    resumed["price"] = json!({"input": 2.0, "output": 4.0, "cache_read": 0.5, "cache_write": 1.0});
    let compacted = json!({
        "type": "compacted", "cause": "asked", "replaced": 1, "messages": [], "results": [], "prompts_kept": 0, "tokens_before": 9,
        "tokens_after": 5, "window_tokens": 100, "usage": {"input": 1000, "output": 50},
    });
    let events = [
        resumed,
        prompt("p"),
        sent("s", "t", &["p"]),
        reply(0, 100),
        json!({"type": "rewound", "after_line": 1, "turns": 1}),
        prompt("q"),
        sent("s", "t", &["q"]),
        reply(20, 0),
        compacted,
        sent("s", "t", &["q"]),
    ];
    let mut text = String::new();
    for mut event in events {
        event["time_ms"] = json!(1);
        text.push_str(&format!("{event}\n"));
    }
    let (session, _) = super::super::read::read_lines("a", text.as_bytes()).unwrap();
    assert_eq!(session.skipped, 0, "{text}");
    let mut spending = Spending::default();
    session.records.iter().for_each(|record| {
        spending.take(&record.event);
    });
    let sum = Spending::of(&ledger(&session));
    assert_eq!((spending.usage(), spending.cost()), (sum.usage(), sum.cost()));
    let usage = Usage { input: 1_020, output: 50, cache_read: 20, cache_write: 100 };
    assert_eq!(sum.usage(), usage);
    let cost = usage.cost(
        &serde_json::from_str(r#"{"input":2.0,"output":4.0,"cache_read":0.5,"cache_write":1.0}"#)
            .unwrap(),
    );
    assert!((sum.cost().unwrap() - cost).abs() < 1e-9);
}

fn check(second: &[Value], expected: &Prefix) {
    let first = [resumed("x/a", "1"), prompt("p"), sent("s", "t", &["p"]), reply(0, 100)];
    let found = prefixes(&[&first, second].concat());
    assert_eq!((&found[0], found.last().unwrap()), (&Prefix::First, expected), "{second:?}");
}

/// All 100 tokens of the cache were not read, and the reply was billed for 10.
fn broken(by: &str) -> Prefix {
    Prefix::Broken { by: by.into(), tokens: 10 }
}

#[test]
fn a_prefix_that_is_sent_again_as_it_was_is_kept() {
    check(&[prompt("q"), sent("s", "t", &["p", "q"]), reply(100, 20)], &Prefix::Kept);
    let other = [resumed("x/a", "2"), prompt("q"), sent("s", "t", &["p", "q"]), reply(100, 20)];
    check(&other, &Prefix::Kept);
}

#[test]
fn what_broke_a_prefix_is_named() {
    let two = &["p", "q"][..];
    check(
        &[resumed("x/b", "1"), prompt("q"), sent("s", "t", two), reply(0, 0)],
        &broken("the model changed from x/a to x/b"),
    );
    let changed = json!({"type": "model_changed", "model": "y/c"});
    check(
        &[changed, prompt("q"), sent("s", "t", two), reply(0, 0)],
        &broken("the model changed from x/a to y/c"),
    );
    check(
        &[resumed("x/a", "2"), prompt("q"), sent("s2", "t", two), reply(0, 0)],
        &broken("the system prompt changed (tenon 2 went on after 1)"),
    );
    check(&[prompt("q"), sent("s", "t2", two), reply(0, 0)], &broken("the tools changed"));
    let rewound = json!({"type": "rewound", "after_line": 1, "turns": 1});
    check(
        &[rewound, prompt("q"), sent("s", "t", &["q"]), reply(0, 0)],
        &broken("the conversation was rewound"),
    );
    let compacted = json!({"type": "compacted", "cause": "asked", "replaced": 2, "messages": [{"role": "user", "content": [{"type": "text", "text": "short"}]}],
        "results": [], "prompts_kept": 1, "tokens_before": 9, "tokens_after": 5, "window_tokens": 10, "usage": {"input": 5}});
    check(
        &[compacted.clone(), prompt("q"), sent("s", "t2", &["short", "q"]), reply(0, 0)],
        &broken("the conversation was made shorter"),
    );
    // Before anything was sent.
    let undone = json!({"type": "compaction_undone", "line": 5});
    check(
        &[compacted, undone, prompt("q"), sent("s", "t", &["p", "q"]), reply(100, 9)],
        &Prefix::Kept,
    );
    check(
        &[prompt("q"), sent("s", "t", &["other", "q"]), reply(0, 0)],
        &broken("the conversation was sent otherwise"),
    );
}

#[test]
fn a_rewind_behind_what_was_sent_last_breaks_nothing_before_it() {
    // The last turn is left before it was sent, so what the cache has is sent again.
    let rewound = json!({"type": "rewound", "after_line": 4, "turns": 1});
    check(
        &[prompt("never"), rewound, prompt("q"), sent("s", "t", &["p", "q"]), reply(100, 9)],
        &Prefix::Kept,
    );
}

#[test]
fn a_miss_of_the_provider_is_named_as_such() {
    check(
        &[prompt("q"), sent("s", "t", &["p", "q"]), reply(40, 80)],
        &Prefix::Missed { tokens: 60, after_ms: 3_000 },
    );
}

#[test]
fn no_cache_was_missed_by_a_reply_that_came_without_what_it_used() {
    let mut broken_off = reply(0, 0);
    broken_off["usage"] = json!({});
    let events = [
        resumed("x/a", "1"),
        prompt("a"),
        sent("s", "t", &["a"]),
        reply(0, 100),
        prompt("b"),
        sent("s", "t", &["a", "b"]),
        broken_off,
        prompt("c"),
        sent("s", "t", &["a", "b", "c"]),
        reply(100, 0),
    ];
    assert_eq!(prefixes(&events), [Prefix::First, Prefix::Kept, Prefix::Kept]);
}

#[test]
fn what_a_broken_prefix_billed_again_is_counted() {
    let case = |read, written, tokens| {
        let by = "the tools changed".to_owned();
        let expected = Prefix::Broken { by, tokens };
        check(&[prompt("q"), sent("s", "t2", &["p", "q"]), reply(read, written)], &expected);
    };
    // The request before left 100 in the cache; 10 more are billed outside of it here.
    case(0, 140, 100);
    case(30, 110, 70);
    case(100, 40, 0);
    // Less was sent than was in the cache.
    case(0, 35, 45);
}

#[test]
fn a_break_whose_request_had_no_reply_is_counted_with_the_next_one() {
    let mut nothing_told = reply(0, 0);
    nothing_told["usage"] = json!({});
    let tools = |tokens| Prefix::Broken { by: "the tools changed".into(), tokens };
    for silent in [vec![], vec![nothing_told]] {
        let first = [resumed("x/a", "1"), prompt("a"), sent("s", "t", &["a"]), reply(0, 100)];
        let after = if silent.is_empty() { &["a", "b"][..] } else { &["a", "b", "c"] };
        let next = if silent.is_empty() { vec![] } else { vec![prompt("c")] };
        let events = [
            &first[..],
            &[prompt("b"), sent("s", "t2", &["a", "b"])],
            &silent,
            &next,
            &[sent("s", "t2", after), reply(0, 200), prompt("d")],
            &[sent("s", "t2", &[after, &["d"]].concat()), reply(200, 9)],
        ];
        let expected = [Prefix::First, tools(0), tools(100), Prefix::Kept];
        assert_eq!(prefixes(&events.concat()), expected, "{silent:?}");
    }
}

#[test]
fn counts_that_no_server_can_mean_are_added_up_all_the_same() {
    let mut huge = reply(u64::MAX, u64::MAX);
    huge["usage"]["input"] = json!(u64::MAX);
    let events = [
        resumed("x/a", "1"),
        prompt("a"),
        sent("s", "t", &["a"]),
        huge.clone(),
        prompt("b"),
        sent("s", "t2", &["a", "b"]),
        huge,
    ];
    let by = "the tools changed".to_owned();
    assert_eq!(prefixes(&events), [Prefix::First, Prefix::Broken { by, tokens: 0 }]);
}
