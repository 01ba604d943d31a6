//! Results that were left out are named to the model, and the tool `recall` gives them back.

use serde_json::json;
use tenon_agent::{CompactionCause, read_session};
use tenon_model::{ContentBlock, Request};
use tokio_util::sync::CancellationToken;

use super::{all_text, asks_for_summary, bench, print, results_in};
use crate::support::{calls, text};

#[tokio::test]
async fn old_results_give_way_first_and_recall_gives_them_back() {
    let mut bench = bench(8_000, |request| {
        let words = all_text(&request.conversation);
        let left_out = words.split_once("recall {\\\"handle\\\":\\\"").map(|(_, rest)| &rest[..9]);
        match (left_out, results_in(request)) {
            (Some(handle), _) if !words.contains("\"name\":\"recall\"") => {
                calls(&[("recall", json!({ "handle": handle }))])
            }
            (Some(_), _) => text("found"),
            (None, _) => print(request.conversation.len() as u64),
        }
    });
    assert_eq!(bench.prompt("go").await.answer, "found");
    let compactions = bench.compactions();
    assert_eq!(compactions.len(), 1);
    let made = &compactions[0];
    assert_eq!((made.cause, made.replaced), (CompactionCause::Window, 0));
    assert!(made.messages.is_empty() && !made.results.is_empty());
    let requests = bench.model.requests.lock().unwrap();
    assert!(!requests.iter().any(asks_for_summary), "no summary was needed");
    let has_recall = |request: &Request| request.tools.iter().any(|tool| tool.name == "recall");
    let steps: Vec<bool> = requests.iter().map(has_recall).collect();
    let first = steps.iter().position(|has| *has).unwrap();
    assert_eq!(first, steps.len() - 2, "the list changes with the compaction and not before");
    let ContentBlock::ToolResult(back) =
        &requests.last().unwrap().conversation.last().unwrap().content[0]
    else {
        panic!()
    };
    let whole: String = (0..60).map(|i| format!("line {i} of output 1 输出\n")).collect();
    assert_eq!(back.content, whole, "the first result, whole");
}

#[tokio::test]
async fn after_ten_summaries_every_old_result_is_named_and_recalled() {
    let mut bench = bench(50_000, |request| match asks_for_summary(request) {
        true => text("Summed up."),
        false if results_in(request) == 0 => {
            let words = request.conversation.last().unwrap().text();
            print(words.trim_start_matches("print ").parse().unwrap())
        }
        false => text("done"),
    });
    for n in 0..10 {
        bench.prompt(&format!("print {n}")).await;
        bench.agent.compact(None, &CancellationToken::new()).await.unwrap();
    }
    let (folder, id) = bench.log.clone().unwrap();
    let session = read_session(&folder, &id).unwrap();
    let summary = bench.logged()[0].text();
    let handles: Vec<String> = bench
        .compactions()
        .into_iter()
        .flat_map(|made| made.results)
        .map(|gone| gone.handle)
        .collect();
    assert_eq!(handles.len(), 10);
    for (n, handle) in handles.iter().enumerate() {
        assert!(summary.contains(&format!("\n{handle}: print {{\"n\":{n}}}")), "{summary}");
        let whole: String = (0..60).map(|i| format!("line {i} of output {n} 输出\n")).collect();
        assert_eq!(session.recalled(handle), Some(whole.as_str()));
        assert!(session.recallable().contains(&format!("{handle}: print")), "{handle}");
    }
}
