//! A thousand turns against servers that fail at every class of byte position, in both dialects.
//!
//! The server is a model that knows from the request alone what comes next, as a real one does: so
//! a prompt that is lost or sent twice, a reply that is shown twice or a call that runs twice shows.

mod history;
mod next;
mod server;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_agent::{
    Agent, AgentOptions, CompactionCause, ContextEvent, EndReason, Live, ModelEvent, Sandbox,
    SessionEvent, Tools, Update, tool,
};
use tenon_model::{
    AnthropicOptions, AnthropicProvider, HttpOptions, OpenAiOptions, OpenAiProvider, Provider,
    RetryPolicy,
};
use tenon_sandbox::Workspace;
use tokio_util::sync::CancellationToken;

use self::{
    next::full_text,
    server::{Fault, Faulty},
};
use crate::{fake_server::FakeServer, support::Front};

/// Together 1,000 turns.
const SESSIONS: u64 = 20;
const TURNS: u64 = 25;

/// Changes which fault comes when; every seed must pass.
const SEED: u64 = 0x7e_0a_11;

/// How long a server may be silent here. Longer than a busy machine keeps a thread waiting.
const SILENCE_MAX: Duration = Duration::from_millis(400);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Anthropic,
    OpenAi,
}

#[derive(Deserialize, JsonSchema)]
struct Mark {
    name: String,
    why: String,
}

fn provider(dialect: Dialect, url: &str) -> Arc<dyn Provider> {
    let retry = RetryPolicy {
        requests_max: 12,
        local_requests_max: 12,
        wait_first: Duration::from_micros(100),
        ..RetryPolicy::default()
    };
    let http = HttpOptions {
        first_byte_timeout: SILENCE_MAX,
        idle_timeout: SILENCE_MAX,
        retry,
        ..HttpOptions::default()
    };
    let base_url = Some(url.to_owned());
    match dialect {
        Dialect::Anthropic => {
            let options = AnthropicOptions { base_url, http, ..AnthropicOptions::new("mock") };
            Arc::new(AnthropicProvider::new(options).unwrap())
        }
        Dialect::OpenAi => {
            let options = OpenAiOptions { base_url, http, ..OpenAiOptions::new("mock") };
            Arc::new(OpenAiProvider::new(options).unwrap())
        }
    }
}

/// How many calls turn `turn` makes before its answer.
fn calls_of(turn: u64) -> u64 {
    turn % 4
}

/// Runs one session and returns how often each fault came.
async fn session(dialect: Dialect, number: u64) -> BTreeMap<Fault, u32> {
    let (faulty, seen) = Faulty::new(dialect, SEED ^ (number << 8));
    let server = FakeServer::answering(faulty.into_answer());
    let folder = tempfile::tempdir().unwrap();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&ran);
    let mark = tool("mark", "Notes that it ran.", move |Mark { name, why }: Mark| {
        notes.lock().unwrap().push(name.clone());
        // Every other result is long enough to be left out.
        let filling =
            if name.ends_with(['0', '2']) { "filling ".repeat(60) } else { String::new() };
        Ok(format!("noted {name} {why} {filling}"))
    });
    let front = Arc::new(Front::default());
    let workspace = Workspace::open(folder.path()).unwrap();
    let sandbox = Sandbox::unconfined(Vec::new());
    let mut options = AgentOptions::new(provider(dialect, &server.url()), workspace, sandbox);
    options.tools = Tools::new().with(mark);
    options.front = front.clone();
    let mut agent = Agent::new(options).unwrap();
    let (mut failed, mut too_long) = (0, 0);
    for turn in 1..=TURNS {
        let calls = calls_of(turn);
        let mut prompt = format!("turn {turn} calls {calls}.");
        let mut key_stopped = false;
        let place = format!("{dialect:?} session {number} turn {turn}");
        let told = || format!("{place}: {:?}", front.updates.lock().unwrap());
        let outcome = loop {
            let outcome = agent.prompt(prompt, &CancellationToken::new()).await.unwrap();
            if !seen.lock().unwrap().has_new_key() {
                break outcome;
            }
            assert_eq!(outcome.reason, EndReason::ProviderFailed, "{}", told());
            (key_stopped, prompt) = (true, "Go on.".to_owned());
            failed += 1;
        };
        assert_eq!(outcome.reason, EndReason::Finished, "{}", told());
        let (answer, full) = (outcome.answer.as_str(), full_text(turn, calls, calls));
        // What was said before the key stopped stands in the turn that it ended.
        let is_whole = answer == full || (key_stopped && full.ends_with(answer));
        assert!(is_whole, "{answer}: {}", told());
        let expected: Vec<String> = (0..calls).map(|call| format!("{turn}.{call}")).collect();
        assert_eq!(*ran.lock().unwrap(), expected, "{}", told());
        ran.lock().unwrap().clear();
        let shown: String = front.updates.lock().unwrap().iter().filter_map(prose).collect();
        let expected: String = (0..=calls).map(|done| full_text(turn, calls, done)).collect();
        assert_eq!(shown, expected, "{}", told());
        for update in front.updates.lock().unwrap().drain(..) {
            too_long += usize::from(made_shorter(&update));
            failed -= usize::from(is_failure(&update));
        }
        assert_eq!(failed, 0, "{place}: each failure is told of once");
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.wrong, Vec::<String>::new(), "{dialect:?} session {number}");
    let refused = seen.faults.get(&Fault::TooLong).map_or(0, |count| *count as usize);
    assert_eq!(too_long, refused, "{dialect:?} session {number}: made shorter once for each");
    seen.faults.clone()
}

/// Whether the conversation was made shorter because the provider refused it.
fn made_shorter(update: &Update) -> bool {
    let Update::Stored(record) = update else { return false };
    matches!(&record.event, SessionEvent::Context(ContextEvent::Compacted(made))
        if made.cause == CompactionCause::TooLong)
}

fn is_failure(update: &Update) -> bool {
    let Update::Stored(record) = update else { return false };
    matches!(record.event, SessionEvent::Model(ModelEvent::RequestFailed { .. }))
}

fn prose(update: &Update) -> Option<&str> {
    match update {
        Update::Live(Live::TextDelta(text)) => Some(text),
        _ => None,
    }
}

async fn sessions(dialect: Dialect) {
    let sessions = futures::future::join_all((0..SESSIONS).map(|n| session(dialect, n))).await;
    let mut faults = BTreeMap::new();
    for (fault, count) in sessions.into_iter().flatten() {
        *faults.entry(fault).or_insert(0) += count;
    }
    let missing: Vec<&Fault> = Fault::ALL.iter().filter(|f| !faults.contains_key(f)).collect();
    assert!(missing.is_empty(), "never came: {missing:?} of {faults:?}");
}

#[tokio::test]
async fn five_hundred_turns_of_the_messages_api_lose_and_double_nothing() {
    sessions(Dialect::Anthropic).await;
}

#[tokio::test]
async fn five_hundred_turns_of_chat_completions_lose_and_double_nothing() {
    sessions(Dialect::OpenAi).await;
}
