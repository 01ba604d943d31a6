//! Long conversations: what is kept, what gives way, and that nothing is lost.

mod no_summary;
mod open_items;
mod recalled;
mod replayed;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use futures::{StreamExt, stream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tenon_agent::{
    Agent, AgentOptions, CallEvent, Compaction, CompactionCause, ContextEvent, EndReason,
    ModelEvent, Recall, Sandbox, SessionEvent, SessionLog, Tools, TurnEvent, Update, read_session,
    tool,
};
use tenon_model::{
    Abilities, ContentBlock, Conversation, EventStream, Message, Provider, ProviderError,
    ProviderErrorKind, Request, Role, StopReason, StreamEvent, ToolResult, Usage,
};
use tenon_sandbox::Workspace;
use tokio_util::sync::CancellationToken;

use crate::support::{Front, Reply, calls, text};

type Answer = dyn Fn(&Request) -> Reply + Send + Sync;

/// A model that decides by what it is sent.
struct Model {
    answer: Box<Answer>,
    requests: Mutex<Vec<Request>>,
    abilities: Abilities,
}

impl Provider for Model {
    fn model(&self) -> &str {
        "test/model"
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn stream(&self, request: Request) -> EventStream<'_> {
        let reply = (self.answer)(&request);
        self.requests.lock().unwrap().push(request);
        stream::iter(reply).boxed()
    }
}

struct Bench {
    agent: Agent,
    model: Arc<Model>,
    front: Arc<Front>,
    _folder: tempfile::TempDir,
    log: Option<(std::path::PathBuf, String)>,
}

/// Finds results again in the log, as the program does.
struct FromLog(std::path::PathBuf, String);

impl Recall for FromLog {
    fn recall(&self, handle: &str) -> Result<String, String> {
        let log = read_session(&self.0, &self.1).map_err(|error| error.to_string())?;
        log.recalled(handle).map(str::to_owned).ok_or("no such handle".to_owned())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Print {
    n: u64,
    lines: Option<u64>,
}

/// An agent whose model has a window of `window` tokens, and a tool that prints much.
fn bench(window: u32, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Model {
        answer: Box::new(answer),
        requests: Mutex::default(),
        abilities: Abilities { output_tokens_max: 500, ..Abilities::default() },
    });
    let front = Arc::new(Front::default());
    let log = SessionLog::create(&folder.path().join("log")).unwrap();
    let place = (folder.path().join("log"), log.id().to_owned());
    let workspace = Workspace::open(folder.path()).unwrap();
    let mut options = AgentOptions::new(model.clone(), workspace, Sandbox::unconfined(Vec::new()));
    options.tools = tools();
    options.front = front.clone();
    options.log = Some(log);
    options.recall = Some(Arc::new(FromLog(place.0.clone(), place.1.clone())));
    options.context_window_tokens = Some(window);
    Bench { agent: Agent::new(options).unwrap(), model, front, _folder: folder, log: Some(place) }
}

fn tools() -> Tools {
    Tools::new().with(tool("print", "Prints.", |arguments: Print| {
        let line = |i| format!("line {i} of output {} 输出\n", arguments.n);
        Ok((0..arguments.lines.unwrap_or(60)).map(line).collect())
    }))
}

impl Bench {
    async fn prompt(&mut self, prompt: &str) -> tenon_agent::TurnOutcome {
        self.agent.prompt(prompt, &CancellationToken::new()).await.unwrap()
    }

    fn compactions(&self) -> Vec<Compaction> {
        let updates = self.front.updates.lock().unwrap();
        updates
            .iter()
            .filter_map(|update| match update {
                Update::Stored(record) => match &record.event {
                    SessionEvent::Context(ContextEvent::Compacted(compaction)) => {
                        Some(compaction.clone())
                    }
                    _ => None,
                },
                Update::Live(_) => None,
            })
            .collect()
    }

    /// Returns the conversation as the log gives it.
    fn logged(&self) -> Conversation {
        let (folder, id) = self.log.as_ref().unwrap();
        let mut conversation = Conversation::new();
        let mut results: Vec<ContentBlock> = Vec::new();
        for record in read_session(folder, id).unwrap().records {
            match record.event {
                SessionEvent::Turn(TurnEvent::UserMessage { message, .. })
                | SessionEvent::Model(ModelEvent::AssistantMessage { message, .. }) => {
                    conversation.push(Arc::new(message));
                }
                SessionEvent::Call(CallEvent::ToolResult {
                    call_id,
                    content,
                    is_error,
                    images,
                    ..
                }) => {
                    results.push(ContentBlock::ToolResult(ToolResult {
                        call_id,
                        content,
                        is_error,
                        images,
                    }));
                    let asked = conversation.last().unwrap().tool_calls().count();
                    if asked == results.len() {
                        let content = std::mem::take(&mut results);
                        conversation.push(Arc::new(Message { role: Role::User, content }));
                    }
                }
                SessionEvent::Context(ContextEvent::Compacted(compaction)) => {
                    conversation = compaction.applied_to(&conversation);
                }
                SessionEvent::Context(ContextEvent::Continued(continuation)) => {
                    conversation.push(Arc::new(continuation.message));
                }
                _ => {}
            }
        }
        conversation
    }
}

fn all_text(conversation: &Conversation) -> String {
    serde_json::to_string(conversation).unwrap()
}

fn asks_for_summary(request: &Request) -> bool {
    request.conversation.last().unwrap().text().starts_with("(The conversation is getting too long")
}

/// Every call has its result in the next message, and no result is without its call.
fn check_valid(conversation: &Conversation) {
    let mut open: Vec<&str> = Vec::new();
    for message in conversation {
        let results = message.content.iter().filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some(result.call_id.as_str()),
            _ => None,
        });
        assert_eq!(open, results.collect::<Vec<_>>(), "{}", all_text(conversation));
        open = message.tool_calls().map(|call| call.id.as_str()).collect();
    }
    assert!(open.is_empty());
    assert_eq!(conversation[0].role, Role::User);
    assert_eq!(conversation.last().unwrap().role, Role::User);
}

fn print(n: u64) -> Reply {
    calls(&[("print", json!({"n": n}))])
}

/// The session of `bench` goes on in another process.
fn resumed(bench: Bench) -> Bench {
    let Bench { agent, model, front, _folder, log } = bench;
    drop(agent);
    let (place, id) = log.clone().unwrap();
    let (kept, session) = SessionLog::open(&place, &id).unwrap();
    let workspace = Workspace::open(_folder.path()).unwrap();
    let mut options = AgentOptions::new(model.clone(), workspace, Sandbox::unconfined(Vec::new()));
    (options.tools, options.front) = (tools(), front.clone());
    options.recall = Some(Arc::new(FromLog(place, id)));
    (options.log, options.resumed) = (Some(kept), Some(session));
    options.context_window_tokens = Some(10_000);
    Bench { agent: Agent::new(options).unwrap(), model, front, _folder, log }
}

/// Results since the last prompt.
fn results_in(request: &Request) -> usize {
    let results = request.conversation.iter().rev().take_while(|message| {
        message.role == Role::Assistant
            || message.content.iter().any(|block| matches!(block, ContentBlock::ToolResult(_)))
    });
    results.filter(|message| message.role == Role::User).count()
}

#[tokio::test]
async fn spec_54_after_ten_compactions_every_word_of_the_user_is_in_the_request() {
    let mut bench = bench(4_000, |request| {
        if asks_for_summary(request) {
            return text("The task stands as it stood. 待办:检查 v2。");
        }
        let n = request.conversation.len() as u64;
        if results_in(request) < 3 { print(n) } else { text("Done with this one.") }
    });
    let mut said: Vec<String> = Vec::new();
    while bench.compactions().iter().filter(|made| made.replaced > 0).count() < 10 {
        let n = said.len();
        assert!(n < 200, "{:?}", bench.compactions());
        said.push(format!("Constraint {n}: 不要修改 secret_{n}.txt, use \"tabs\", keep v{n}."));
        let outcome = bench.prompt(&said[n].clone()).await;
        assert_eq!(outcome.reason, EndReason::Finished);
        let requests = std::mem::take(&mut *bench.model.requests.lock().unwrap());
        for request in &requests {
            check_valid(&request.conversation);
            let words = all_text(&request.conversation);
            for prompt in &said {
                let prompt = serde_json::to_string(prompt).unwrap();
                let prompt = prompt.trim_matches('"');
                assert_eq!(words.matches(prompt).count(), 1, "{prompt} in {words}");
            }
        }
    }
    assert!(bench.compactions().iter().all(|made| made.tokens_after < made.tokens_before));
    let last = bench.logged();
    bench.prompt("what is left?").await;
    let requests = bench.model.requests.lock().unwrap();
    let first = &requests[0].conversation;
    assert_eq!(first[..last.len()], last[..], "the log gives what is sent");
    assert!(all_text(first).contains("待办:检查 v2。"), "the last summary is there");
}

#[tokio::test]
async fn a_compaction_is_undone_and_the_next_request_holds_the_old_messages_again() {
    let mut bench = bench(50_000, |request| match asks_for_summary(request) {
        true => text("Summed up."),
        false if results_in(request) == 0 => print(request.conversation.len() as u64),
        false => text("done"),
    });
    let cancel = CancellationToken::new();
    bench.prompt("first").await;
    bench.prompt("second").await;
    let whole = bench.logged();
    let tools = bench.model.requests.lock().unwrap()[0].tools.len();
    bench.agent.compact(None, &cancel).await.unwrap();
    bench.prompt("third").await;
    let since = bench.logged().split_off(bench.compactions()[0].messages.len());
    bench.agent.compact(None, &cancel).await.unwrap();
    assert!(bench.agent.undo_compaction().unwrap());
    assert!(bench.agent.undo_compaction().unwrap());
    assert!(!bench.agent.undo_compaction().unwrap());
    bench.model.requests.lock().unwrap().clear();
    bench.prompt("fourth").await;
    let request = bench.model.requests.lock().unwrap()[0].clone();
    assert_eq!(request.tools.len(), tools, "nothing is left out that could be recalled");
    let sent = request.conversation;
    let mut expected = whole;
    let kept = since.iter().position(|message| message.text().contains("third")).unwrap();
    expected.extend(since[kept..].iter().cloned());
    expected.push(Arc::new(Message::user("fourth")));
    assert_eq!(all_text(&sent), all_text(&expected));
    check_valid(&sent);
    // A session that goes on has it, too.
    let (folder, id) = bench.log.clone().unwrap();
    let session = read_session(&folder, &id).unwrap();
    let is_compaction =
        |event: &SessionEvent| matches!(event, SessionEvent::Context(ContextEvent::Compacted(_)));
    assert!(!session.branch().any(|record| is_compaction(&record.event)));
    assert_eq!(session.records.iter().filter(|record| is_compaction(&record.event)).count(), 2);
}

#[tokio::test]
async fn between_compactions_each_request_begins_with_the_one_before_it() {
    let mut bench = bench(6_000, |request| match asks_for_summary(request) {
        true => text("Summed up."),
        false if results_in(request) < 30 => print(request.conversation.len() as u64),
        false => text("done"),
    });
    bench.prompt("go").await;
    let compactions = bench.compactions();
    assert!(compactions.len() > 2, "{compactions:?}");
    let requests = bench.model.requests.lock().unwrap();
    let mut broken = 0;
    for pair in requests.windows(2) {
        let (before, after) = (&pair[0].conversation, &pair[1].conversation);
        let same = before.iter().zip(after).all(|(before, after)| Arc::ptr_eq(before, after));
        let holds = same && after.len() >= before.len();
        if asks_for_summary(&pair[1]) {
            assert!(holds, "a summary is asked for behind what was sent");
            assert_eq!(pair[0].tools, pair[1].tools);
            assert_eq!(pair[0].system, pair[1].system);
        }
        broken += usize::from(!holds);
    }
    assert_eq!(broken, compactions.len(), "nothing else rewrites what was sent");
}

fn too_long(words: &str) -> Reply {
    vec![Err(ProviderError::new(ProviderErrorKind::ContextTooLong, words))]
}

#[tokio::test]
async fn an_unknown_window_is_learned_when_the_provider_says_too_long() {
    let made = AtomicU64::new(0);
    let mut bench = bench(1_000_000, move |request| {
        let tokens = all_text(&request.conversation).len() / 4;
        match asks_for_summary(request) {
            _ if tokens > 3_000 => too_long("This model's maximum context length is 3000 tokens."),
            true => text("Summed up."),
            false => match made.fetch_add(1, Ordering::SeqCst) {
                n @ 0..20 => print(n),
                _ => text("done"),
            },
        }
    });
    let outcome = bench.prompt("go").await;
    assert_eq!((outcome.reason, outcome.answer.as_str()), (EndReason::Finished, "done"));
    let compactions = bench.compactions();
    assert_eq!(compactions[0].cause, CompactionCause::TooLong);
    assert_eq!(compactions[0].window_tokens, 3_000);
    assert!(compactions[1..].iter().all(|made| made.cause == CompactionCause::Window));
    let ends = bench.front.updates.lock().unwrap();
    let failed = ends.iter().any(|update| {
        matches!(update, Update::Stored(record)
        if matches!(record.event, SessionEvent::Model(ModelEvent::RequestFailed { .. })))
    });
    assert!(!failed, "what was mended is no failure");
}

#[tokio::test]
async fn what_is_still_too_long_is_said_once_it_was_made_shorter() {
    let mut bench = bench(100_000, |request| match asks_for_summary(request) {
        true => text("Summed up."),
        false if all_text(&request.conversation).contains("second") => {
            too_long("prompt is too long")
        }
        false if results_in(request) == 0 => print(1),
        false => text("done"),
    });
    bench.prompt("first").await;
    let outcome = bench.prompt("second").await;
    assert_eq!(outcome.reason, EndReason::ProviderFailed);
    assert_eq!(bench.compactions().len(), 1);
    let updates = bench.front.updates.lock().unwrap();
    let hints: Vec<String> = updates
        .iter()
        .filter_map(|update| match update {
            Update::Stored(record) => match &record.event {
                SessionEvent::Model(ModelEvent::RequestFailed { hint, .. }) => hint.clone(),
                _ => None,
            },
            Update::Live(_) => None,
        })
        .collect();
    assert_eq!(hints.len(), 1);
    assert!(hints[0].contains("made shorter already"), "{hints:?}");
}

#[tokio::test]
async fn a_prompt_that_alone_is_too_long_is_said_and_nothing_is_lost() {
    let mut bench = bench(100_000, |request| match request.conversation.len() {
        1 => too_long("prompt is too long: 9 tokens > 8 maximum"),
        _ => text("fine"),
    });
    assert_eq!(bench.prompt("much too long").await.reason, EndReason::ProviderFailed);
    assert!(bench.compactions().is_empty());
    assert_eq!(bench.prompt("go on").await.answer, "fine");
    let requests = bench.model.requests.lock().unwrap();
    assert!(all_text(&requests.last().unwrap().conversation).contains("much too long"));
}

#[tokio::test]
async fn one_result_that_fills_the_window_is_cut_to_an_excerpt() {
    let mut bench = bench(2_000, |request| {
        if asks_for_summary(request) {
            return text("Summed up.");
        }
        match results_in(request) {
            0 => calls(&[("print", json!({"n": 7, "lines": 2_000}))]),
            _ => text("read"),
        }
    });
    assert_eq!(bench.prompt("look").await.answer, "read");
    let requests = bench.model.requests.lock().unwrap();
    let last = all_text(&requests.last().unwrap().conversation);
    assert!(
        last.contains("line 0 of output 7") && last.contains("line 1999 of output 7"),
        "{last}"
    );
    assert!(last.contains("Left out to save room") && last.len() < 8_000, "{}", last.len());
}

#[tokio::test]
async fn what_would_gain_nothing_is_left() {
    let mut bench = bench(4_000, |request| match results_in(request) {
        0 => calls(&[("print", json!({"n": 1, "lines": 1, "note": "long ".repeat(4_000)}))]),
        _ => text("Printed."),
    });
    let outcome = bench.prompt("print").await;
    assert_eq!(outcome.reason, EndReason::Finished);
    assert_eq!(bench.compactions(), []);
    assert!(!bench.model.requests.lock().unwrap().iter().any(asks_for_summary));
}

#[tokio::test]
async fn a_person_makes_it_shorter_and_says_what_to_keep_to() {
    let mut bench = bench(100_000, |request| match asks_for_summary(request) {
        true => text("保留 API 的摘要"),
        false if results_in(request) == 0 => print(1),
        false => text("done"),
    });
    bench.agent.compact(None, &CancellationToken::new()).await.unwrap();
    assert!(bench.compactions().is_empty(), "there is nothing yet");
    bench.prompt("约束:不要改 API").await;
    bench.agent.compact(Some("the API"), &CancellationToken::new()).await.unwrap();
    let made = bench.compactions().remove(0);
    assert_eq!((made.cause, made.replaced, made.prompts_kept), (CompactionCause::Asked, 4, 1));
    assert_eq!(made.focus.as_deref(), Some("the API"));
    bench.prompt("next").await;
    let requests = bench.model.requests.lock().unwrap();
    let asked = requests.iter().find(|request| asks_for_summary(request)).unwrap();
    assert!(asked.conversation.last().unwrap().text().contains("the API"));
    assert_eq!(asked.output_tokens_max, 500);
    let sent =
        &requests.iter().rev().find(|request| !asks_for_summary(request)).unwrap().conversation;
    let words = all_text(sent);
    assert!(words.contains("约束:不要改 API") && words.contains("保留 API 的摘要"), "{words}");
}

#[tokio::test]
async fn tokens_that_the_provider_counts_are_believed_before_an_estimate() {
    let mut bench = bench(10_000, |request| {
        let usage = Usage { input: 9_500, output: 10, ..Usage::default() };
        let reply = if results_in(request) == 0 { print(1) } else { text("done") };
        let mut events = if asks_for_summary(request) { text("Summed up.") } else { reply };
        let stopped = events.pop().unwrap();
        assert!(matches!(
            stopped,
            Ok(StreamEvent::Stopped { reason: StopReason::EndOfTurn | StopReason::ToolCalls })
        ));
        events.extend([Ok(StreamEvent::Usage(usage)), stopped]);
        events
    });
    // By its length it would be half as much.
    bench.prompt(&"word ".repeat(4_000)).await;
    let made = bench.compactions().remove(0);
    assert!(made.tokens_before > 9_500, "{made:?}");
}

#[tokio::test]
async fn a_session_that_goes_on_believes_the_providers_count_as_before() {
    // The provider counts twice what an estimate does.
    let counts = |request: &Request| -> u64 {
        let words = request.conversation.iter().map(|message| message.text().len() as u64);
        200 + words.sum::<u64>() / 2
    };
    let model = move |request: &Request| {
        let mut events = match asks_for_summary(request) {
            true => text("Summed up."),
            false => text("yes"),
        };
        let stopped = events.pop().unwrap();
        let usage = Usage { input: counts(request), output: 1, ..Usage::default() };
        events.extend([Ok(StreamEvent::Usage(usage)), stopped]);
        events
    };
    let mut sizes = Vec::new();
    for goes_on in [false, true] {
        let mut bench = bench(10_000, model);
        for _ in 0..14 {
            bench.prompt(&"word ".repeat(400)).await;
            if goes_on {
                bench = resumed(bench);
            }
        }
        let sizes_now: Vec<_> =
            bench.compactions().iter().map(|made| (made.replaced, made.tokens_before)).collect();
        assert!(!sizes_now.is_empty(), "goes on: {goes_on}");
        sizes.push(sizes_now);
    }
    assert_eq!(sizes[0], sizes[1]);
}
