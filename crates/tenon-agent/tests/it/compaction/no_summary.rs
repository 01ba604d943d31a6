//! Summaries that cannot be had, or only of a part.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use tenon_agent::EndReason;
use tenon_model::{ContentBlock, ProviderError, ProviderErrorKind, StreamEvent};
use tokio_util::sync::CancellationToken;

use super::{all_text, asks_for_summary, bench, print, too_long};
use crate::support::{calls, text};

#[tokio::test]
async fn a_summary_that_fails_or_is_cancelled_leaves_the_conversation_as_it_is() {
    let mut bench = bench(100_000, |request| match asks_for_summary(request) {
        true => vec![Err(ProviderError::new(ProviderErrorKind::QuotaExhausted, "no credit"))],
        false => text("hello"),
    });
    bench.prompt("one").await;
    bench.agent.compact(None, &CancellationToken::new()).await.unwrap();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    bench.agent.compact(None, &cancelled).await.unwrap();
    assert!(bench.compactions().is_empty());
    bench.prompt("two").await;
    let requests = bench.model.requests.lock().unwrap();
    assert_eq!(requests.last().unwrap().conversation.len(), 3);
}

#[tokio::test]
async fn a_summary_that_cannot_be_had_near_the_window_does_not_end_the_work() {
    let made = AtomicU64::new(0);
    let mut bench = bench(3_000, move |request| match asks_for_summary(request) {
        true => vec![
            Ok(StreamEvent::TextDelta { text: "half a".into() }),
            Err(ProviderError::new(ProviderErrorKind::Dropped, "lost")),
        ],
        false => match made.fetch_add(1, Ordering::SeqCst) {
            n @ 0..60 => print(n),
            _ => text("done"),
        },
    });
    let outcome = bench.prompt("go").await;
    assert_eq!((outcome.reason, outcome.answer.as_str()), (EndReason::Finished, "done"));
    assert!(bench.compactions().iter().all(|made| made.replaced == 0));
    let asked = bench.model.requests.lock().unwrap().iter().filter(|r| asks_for_summary(r)).count();
    assert_eq!(asked, 2, "once, and once more because it broke off");
}

#[tokio::test]
async fn a_model_that_writes_no_summary_gets_the_list_of_its_calls() {
    let made = AtomicU64::new(0);
    let mut bench = bench(3_000, move |request| match asks_for_summary(request) {
        true => calls(&[("print", json!({"n": 99}))]),
        false => match made.fetch_add(1, Ordering::SeqCst) {
            n @ 0..60 => print(n),
            _ => text("done"),
        },
    });
    assert_eq!(bench.prompt("go").await.reason, EndReason::Finished);
    let listed = bench.compactions().into_iter().find(|made| made.replaced > 0).unwrap();
    let words = listed.messages[0].text();
    assert!(!listed.has_summary());
    assert!(
        words.contains("No summary could be had") && words.contains("- print {\"n\":1}"),
        "{words}"
    );
}

#[tokio::test]
async fn what_was_summed_up_before_stays_where_no_new_summary_can_be_had() {
    for is_refused in [true, false] {
        let asked = AtomicU64::new(0);
        let mut bench = bench(100_000, move |request| {
            let said = all_text(&request.conversation);
            match asks_for_summary(request) {
                true if asked.fetch_add(1, Ordering::SeqCst) == 0 => text("The key is under 门垫."),
                true if is_refused => too_long("prompt is too long"),
                true => calls(&[("print", json!({"n": 99}))]),
                false if said.len() > 80_000 => too_long("prompt is too long"),
                false => text(&"And then? ".repeat(7_000)),
            }
        });
        bench.prompt("Where is the key?").await;
        bench.agent.compact(None, &CancellationToken::new()).await.unwrap();
        for again in 1..4 {
            assert_eq!(bench.prompt("Tell me more.").await.reason, EndReason::Finished);
            let prompt = format!("{} {again}", "And this? ".repeat(1_000));
            assert_eq!(bench.prompt(&prompt).await.reason, EndReason::Finished, "{again}");
            let requests = bench.model.requests.lock().unwrap();
            let last = all_text(&requests.last().unwrap().conversation);
            assert_eq!(last.matches("The key is under 门垫.").count(), 1, "{is_refused} {again}");
            assert_eq!(last.matches("No summary could be had").count(), 1, "{is_refused} {again}");
        }
        let compactions = bench.compactions();
        assert!(compactions.len() > 3, "{}", compactions.len());
        assert!(compactions[1..].iter().all(|made| !made.has_summary()));
    }
}

#[tokio::test]
async fn what_is_refused_as_too_long_is_left_where_nothing_can_be_gained() {
    let asked = AtomicU64::new(0);
    let mut bench = bench(100_000, move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        n @ 0..6 => print(n),
        _ => too_long("prompt is too long"),
    });
    for again in 1..6 {
        let outcome = bench.prompt(&format!("Go on. {again}")).await;
        assert_eq!(outcome.reason, EndReason::ProviderFailed, "{again}");
    }
    let conversation = bench.logged();
    let of_results = conversation.iter().flat_map(|message| &message.content);
    for block in of_results {
        if let ContentBlock::ToolResult(result) = block {
            assert!(result.content.matches("(Left out to save room").count() <= 1, "{result:?}");
        }
    }
    let compactions = bench.compactions();
    assert!(!compactions.is_empty());
    assert!(compactions.iter().all(|made| made.tokens_after < made.tokens_before));
}

#[tokio::test]
async fn what_is_too_long_is_summed_up_without_its_newest_messages() {
    let mut bench = bench(100_000, |request| {
        let said = all_text(&request.conversation);
        match asks_for_summary(request) {
            _ if said.contains("as long as that") && said.contains("too much") => {
                too_long("prompt is too long")
            }
            true => text("They spoke of the weather."),
            false if said.contains("too much") => text("fine"),
            false => text(&"An answer as long as that. ".repeat(4_000)),
        }
    });
    bench.prompt("first of all").await;
    let outcome = bench.prompt("too much").await;
    assert_eq!((outcome.reason, outcome.answer.as_str()), (EndReason::Finished, "fine"));
    let compactions = bench.compactions();
    assert_eq!(compactions.len(), 1);
    assert!(compactions[0].has_summary());
    assert!(compactions[0].messages[0].text().contains("They spoke of the weather."));
}
