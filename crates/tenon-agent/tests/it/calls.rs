//! Calls: looked up, checked, judged, run, answered.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tenon_agent::{
    Answer, CallEvent, CoreToolOptions, Effect, Rule, SessionEvent, Tool, ToolContext, ToolOutput,
    Tools, Update, core_tools, tool,
};
use tenon_model::ContentBlock;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, bench, bench_with, calls, text};

/// Waits until another call of the same kind runs too.
struct Meet(Arc<Barrier>, Effect);

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

impl Tool for Meet {
    type Args = Name;

    fn name(&self) -> &str {
        "meet"
    }

    fn description(&self) -> &str {
        "Meets."
    }

    fn effect(&self, _args: &Name) -> Effect {
        self.1
    }

    fn subject(&self, args: &Name) -> String {
        args.name.clone()
    }

    async fn run(&self, args: Name, _context: &ToolContext) -> Result<ToolOutput, String> {
        self.0.wait().await;
        Ok(ToolOutput::text(args.name))
    }
}

async fn run(bench: &mut Bench) -> Vec<(String, bool)> {
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    bench.results(1)
}

#[tokio::test]
async fn spec_4_reads_run_side_by_side_and_results_keep_the_order_of_the_calls() {
    let tools = Tools::new().with(Meet(Arc::new(Barrier::new(3)), Effect::Read));
    let names = ["a", "b", "c"].map(|name| ("meet", json!({ "name": name })));
    let mut bench = bench(vec![calls(&names), text("done")], tools);
    let results = run(&mut bench).await;
    assert_eq!(results, ["a", "b", "c"].map(|name| (name.to_owned(), false)));
    let requests = bench.provider.requests.lock().unwrap();
    let message = requests[1].conversation.last().unwrap();
    let all_results =
        message.content.iter().all(|block| matches!(block, ContentBlock::ToolResult(_)));
    assert!(all_results, "all results are in one user message");
}

#[tokio::test]
async fn spec_4_a_call_that_writes_overlaps_no_other() {
    // Were two of them to run at once, the counter would show it.
    let running = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    struct Alone(Arc<std::sync::atomic::AtomicUsize>);
    impl Tool for Alone {
        type Args = Name;
        fn name(&self) -> &str {
            "alone"
        }
        fn description(&self) -> &str {
            "Is alone."
        }
        fn effect(&self, _args: &Name) -> Effect {
            Effect::Write
        }
        fn subject(&self, args: &Name) -> String {
            args.name.clone()
        }
        async fn run(&self, _args: Name, _context: &ToolContext) -> Result<ToolOutput, String> {
            let before = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            self.0.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
            Ok(ToolOutput::text(before.to_string()))
        }
    }
    let names = ["a", "b", "c"].map(|name| ("alone", json!({ "name": name })));
    let mut bench = bench(vec![calls(&names), text("done")], Tools::new().with(Alone(running)));
    assert_eq!(run(&mut bench).await, vec![("0".to_owned(), false); 3]);
}

#[tokio::test]
async fn spec_9_the_map_holds_hundreds_of_tools() {
    let tools = (0..500).fold(Tools::new(), |tools, n| {
        tools.with(tool::<Value>(&format!("tool_{n}"), "One of many.", move |_| Ok(n.to_string())))
    });
    let mut bench = bench(vec![calls(&[("tool_321", json!({}))]), text("done")], tools);
    assert_eq!(run(&mut bench).await, [("321".to_owned(), false)]);
}

#[tokio::test]
async fn spec_10_an_unknown_tool_is_an_error_with_the_nearest_names() {
    let tools = Tools::new()
        .with(tool::<Value>("read_file", "Reads.", |_| Ok(String::new())))
        .with(tool::<Value>("bash", "Runs.", |_| Ok(String::new())));
    let mut bench = bench(vec![calls(&[("readfile", json!({}))]), text("done")], tools);
    let expected = "Error: Unknown tool: readfile. Nearest: read_file, bash".to_owned();
    assert_eq!(run(&mut bench).await, [(expected, true)]);
}

#[tokio::test]
async fn spec_12_wrong_arguments_are_an_error_that_names_the_field() {
    let tools = Tools::new().with(tool::<Name>("greet", "Greets.", |args| Ok(args.name)));
    let wrong = calls(&[("greet", json!({"name": 5})), ("greet", json!({}))]);
    let mut bench = bench(vec![wrong, text("done")], tools);
    let results = run(&mut bench).await;
    assert_eq!(
        results[0].0,
        "Error: greet: invalid arguments: `name` must be a string, got number 5"
    );
    assert!(results[1].0.contains("`name` is required"), "{results:?}");
}

#[tokio::test]
async fn spec_13_an_error_and_a_panic_in_a_tool_become_error_results() {
    let tools = Tools::new()
        .with(tool::<Value>("fails", "Fails.", |_| Err("no luck".into())))
        .with(tool::<Value>("panics", "Panics.", |_| panic!("out of cheese")));
    let both = calls(&[("fails", json!({})), ("panics", json!({}))]);
    let mut bench = bench(vec![both, text("done")], tools);
    let results = run(&mut bench).await;
    assert_eq!(results[0], ("Error: no luck".to_owned(), true));
    assert!(results[1].0.contains("out of cheese") && results[1].1, "{results:?}");
}

#[tokio::test]
async fn spec_35_a_long_result_is_cut_and_the_note_says_where_the_rest_is() {
    let long = "汉".repeat(400) + "end";
    let words = long.clone();
    let tools = Tools::new().with(tool::<Value>("long", "Long.", move |_| Ok(words.clone())));
    let spill = tempfile::tempdir().unwrap();
    let folder = spill.path().join("spill");
    let mut bench =
        bench_with(vec![calls(&[("long", json!({}))]), text("done")], tools, |options| {
            options.result_chars_max = 90;
            options.workspace = options.workspace.clone().with_spill(&folder).unwrap();
        });
    let (content, _) = run(&mut bench).await.remove(0);
    assert!(content.starts_with(&"汉".repeat(60)) && content.ends_with("end"), "{content}");
    assert!(content.contains("(313 characters left out; the whole text is in /"), "{content}");
    let path = content.split("text is in ").nth(1).unwrap().split(')').next().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), long);
}

#[tokio::test]
async fn a_call_that_needs_a_yes_is_asked_and_refused_where_nobody_answers() {
    for (answer, expected) in [
        (Answer::Allow, "ok"),
        (Answer::Deny(Some("not now".into())), "the user refused this call and said: not now"),
        (Answer::Nobody, "nobody is here to ask"),
    ] {
        let tools = Tools::new().with(tool::<Value>("risky", "Risks.", |_| Ok("ok".into())));
        let mut bench =
            bench_with(vec![calls(&[("risky", json!({}))]), text("done")], tools, |options| {
                let rule =
                    Rule::parse("risky", tenon_agent::Verdict::Ask, tenon_agent::Origin::Config);
                options.rules = [rule.unwrap()].into_iter().collect();
            });
        bench.front.answers.lock().unwrap().push_back(answer);
        let (content, _) = run(&mut bench).await.remove(0);
        assert!(content.contains(expected), "{content}");
        assert_eq!(bench.front.questions.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn every_call_is_shown_before_it_runs_and_after() {
    let tools = Tools::new().with(tool::<Name>("greet", "Greets.", |args| Ok(args.name)));
    let mut bench = bench(vec![calls(&[("greet", json!({"name": "x"}))]), text("done")], tools);
    run(&mut bench).await;
    let updates = bench.front.updates.lock().unwrap();
    let kinds: Vec<&str> = updates
        .iter()
        .filter_map(|update| match update {
            Update::Stored(record) => match &record.event {
                SessionEvent::Session(_) | SessionEvent::Context(_) => Some("session"),
                SessionEvent::Turn(_) => Some("turn"),
                SessionEvent::Model(_) => Some("model"),
                SessionEvent::Call(CallEvent::CallStarted { .. }) => Some("started"),
                SessionEvent::Call(_) => Some("result"),
            },
            Update::Live(_) => None,
        })
        .collect();
    let sent_and_said = ["model", "model"];
    let parts = [&["session", "turn"][..], &sent_and_said, &["started", "result"]];
    assert_eq!(kinds, [parts.concat(), [&sent_and_said[..], &["turn"]].concat()].concat());
}

#[tokio::test]
async fn a_yes_for_the_session_lifts_the_same_question_and_no_other() {
    let command = |text: &str| calls(&[("bash", json!({ "command": text }))]);
    let turns = vec![
        command("git push -f"),
        command("git push -f"),
        command("git push --mirror"),
        text("done"),
    ];
    let tools = core_tools(CoreToolOptions::default());
    let mut bench = bench(turns, tools);
    bench.front.answers.lock().unwrap().extend([Answer::AllowForSession, Answer::Nobody]);
    run(&mut bench).await;
    let questions = bench.front.questions.lock().unwrap();
    let asked: Vec<_> = questions.iter().map(|question| question.subject.as_str()).collect();
    assert_eq!(asked, ["git push -f", "git push --mirror"]);
    assert_eq!(questions[0].decision.lifted_by[0].to_string(), "bash(git push -f:*)");
}
