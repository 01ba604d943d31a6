//! What a person says while a turn goes on: delivered at the next step, once, and in order.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Value, json};
use tenon_agent::{
    Answer, CallEvent, Delivery, EndReason, FrontEnd, ModelEvent, PromptQueue, Question,
    SessionEvent, SessionLog, Tools, TurnEvent, TurnLimits, Update, read_session, tool,
};
use tenon_model::{ContentBlock, Conversation, Message, Role};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, Reply, bench_with, calls, text};

fn echo() -> Tools {
    Tools::new().with(tool::<Value>("echo", "x", |arguments| Ok(arguments.to_string())))
}

/// Says something when an event comes.
struct Person<F> {
    queue: PromptQueue,
    says: F,
}

#[async_trait]
impl<F: Fn(&SessionEvent, &PromptQueue) + Send + Sync> FrontEnd for Person<F> {
    fn update(&self, update: Update) {
        if let Update::Stored(record) = update {
            (self.says)(&record.event, &self.queue);
        }
    }

    async fn ask(&self, _question: Question) -> Answer {
        Answer::Nobody
    }
}

/// An agent with a person who `says` something at some events.
fn talking(
    replies: Vec<Reply>,
    log: Option<SessionLog>,
    limits: TurnLimits,
    says: impl Fn(&SessionEvent, &PromptQueue) + Send + Sync + 'static,
) -> (Bench, PromptQueue) {
    let queue = PromptQueue::default();
    let bench = bench_with(replies, echo(), |options| {
        options.queue = queue.clone();
        options.front = Arc::new(Person { queue: queue.clone(), says });
        (options.log, options.limits) = (log, limits);
    });
    (bench, queue)
}

fn is_result(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Call(CallEvent::ToolResult { .. }))
}

fn is_reply(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Model(ModelEvent::AssistantMessage { .. }))
}

fn push(queue: &PromptQueue, text: &str) {
    queue.push(text, Delivery::NextStep).unwrap();
}

/// `u` words of a person, `a` a reply, `c` a reply with calls, `r` results.
fn shape(conversation: &Conversation) -> String {
    let letter = |message: &Arc<Message>| match message.role {
        Role::Assistant if message.tool_calls().next().is_some() => "c".to_owned(),
        Role::Assistant => "a".to_owned(),
        Role::User => match &message.content[0] {
            ContentBlock::ToolResult(_) => "r".to_owned(),
            _ => format!("u:{}", message.text()),
        },
    };
    conversation.iter().map(letter).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn what_is_said_while_calls_run_goes_along_with_their_results() {
    let replies = vec![calls(&[("echo", json!({})), ("echo", json!({}))]), text("done")];
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path()).unwrap();
    let id = log.id().to_owned();
    let (mut bench, _) = talking(replies, Some(log), TurnLimits::default(), |event, queue| {
        if is_result(event) {
            push(queue, if queue.waiting().is_empty() { "not in tests/" } else { "也别动 docs/" });
        }
    });
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.answer.as_str(), outcome.steps), ("done", 2));
    let requests = bench.provider.requests.lock().unwrap();
    assert_eq!(shape(&requests[1].conversation), "u:go c r u:not in tests/ u:也别动 docs/");
    assert!(Arc::ptr_eq(&requests[0].conversation[0], &requests[1].conversation[0]));
    // Logged before it is sent, as part of the turn.
    let session = read_session(folder.path(), &id).unwrap();
    let kinds: Vec<String> = session
        .records
        .iter()
        .map(|record| match &record.event {
            SessionEvent::Turn(TurnEvent::UserMessage { prompt, at_step, .. }) => {
                format!("{prompt} {at_step}")
            }
            other => serde_json::to_value(other).unwrap()["type"].as_str().unwrap().to_owned(),
        })
        .filter(|kind| !kind.starts_with("call_") && kind != "tool_result")
        .collect();
    assert_eq!(
        kinds,
        [
            "session_started",
            "go false",
            "request_sent",
            "assistant_message",
            "not in tests/ true",
            "也别动 docs/ true",
            "request_sent",
            "assistant_message",
            "turn_ended"
        ]
    );
    assert_eq!(session.rewind(1), session.rewind(5), "it is one turn");
}

#[tokio::test]
async fn a_turn_that_would_end_goes_on_with_what_waits() {
    let replies = vec![text("done"), text("and that, too")];
    let said = AtomicUsize::new(0);
    let (mut bench, queue) = talking(replies, None, TurnLimits::default(), move |event, queue| {
        if is_reply(event) && said.fetch_add(1, Ordering::Relaxed) == 0 {
            queue.push("for later", Delivery::AfterTurn).unwrap();
            push(queue, "and the other one");
        }
    });
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.reason, outcome.steps), (EndReason::Finished, 2));
    assert_eq!(outcome.answer, "and that, too");
    let requests = bench.provider.requests.lock().unwrap();
    assert_eq!(shape(&requests[1].conversation), "u:go a u:and the other one");
    let left: Vec<String> = queue.waiting().into_iter().map(|waits| waits.prompt.text).collect();
    assert_eq!(left, ["for later"]);
}

#[tokio::test]
async fn what_waits_stays_where_it_is_when_the_turn_is_cancelled_or_has_no_request_left() {
    let cancel = CancellationToken::new();
    let end = cancel.clone();
    let replies = || vec![calls(&[("echo", json!({}))]), text("done")];
    let (mut bench, queue) =
        talking(replies(), None, TurnLimits::default(), move |event, queue| {
            if is_result(event) {
                push(queue, "more");
                end.cancel();
            }
        });
    let outcome = bench.agent.prompt("go", &cancel).await.unwrap();
    assert_eq!((outcome.reason, queue.waiting().len()), (EndReason::Cancelled, 1));
    let limits = TurnLimits { steps_max: Some(1), ..TurnLimits::default() };
    let (mut bench, queue) = talking(replies(), None, limits, |event, queue| {
        if is_result(event) {
            push(queue, "more");
        }
    });
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.reason, queue.waiting().len()), (EndReason::StepLimit, 1));
}

#[tokio::test]
async fn a_word_of_the_person_ends_a_repetition() {
    let mut replies: Vec<Reply> = (0..7).map(|_| calls(&[("echo", json!({}))])).collect();
    replies.push(text("done"));
    let results = AtomicUsize::new(0);
    let (mut bench, _) = talking(replies, None, TurnLimits::default(), move |event, queue| {
        if is_result(event) && results.fetch_add(1, Ordering::Relaxed) == 4 {
            push(queue, "try another way");
        }
    });
    let outcome = bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.reason, outcome.steps), (EndReason::Finished, 8));
}

/// Checks that calls and results take turns, and that what was sent stays.
fn check_valid(before: &Conversation, now: &Conversation) {
    assert!(before.iter().zip(now).all(|(before, now)| Arc::ptr_eq(before, now)));
    assert!(before.len() <= now.len());
    let mut open: Vec<String> = Vec::new();
    for message in now {
        let answered: Vec<String> = message
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ToolResult(result) => Some(result.call_id.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(answered, std::mem::take(&mut open), "{}", shape(now));
        open.extend(message.tool_calls().map(|call| call.id.clone()));
    }
    assert_eq!(now.last().unwrap().role, Role::User);
}

/// Runs three turns with words of a person at the `moments`, counted in events, and goes on with
/// what is left of the log when it ends at a share of it.
async fn check_moments(moments: &[usize], later: &[bool], share: usize) {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path()).unwrap();
    let id = log.id().to_owned();
    let mut replies = Vec::new();
    for _ in 0..20 {
        let both = [("echo", json!({"a": 1})), ("echo", json!({"b": 2}))];
        replies.extend([calls(&both), text("x"), calls(&both[..1]), calls(&both[..1]), text("y")]);
    }
    let events = AtomicUsize::new(0);
    let (spoken, kinds) = (moments.to_vec(), later.to_vec());
    let (mut bench, queue) = talking(replies, Some(log), TurnLimits::default(), move |_, queue| {
        let now = events.fetch_add(1, Ordering::Relaxed);
        for (number, _) in spoken.iter().enumerate().filter(|(_, moment)| **moment == now) {
            let later = kinds.get(number).copied().unwrap_or_default();
            let delivery = if later { Delivery::AfterTurn } else { Delivery::NextStep };
            queue.push(format!("word {number}"), delivery).unwrap();
        }
    });
    for turn in 0..3 {
        bench.agent.prompt(format!("turn {turn}"), &CancellationToken::new()).await.unwrap();
    }
    drop(bench.agent);
    let session = read_session(folder.path(), &id).unwrap();
    let logged: Vec<String> = session
        .records
        .iter()
        .filter_map(|record| match &record.event {
            SessionEvent::Turn(TurnEvent::UserMessage { prompt, at_step: true, .. }) => {
                Some(prompt.clone())
            }
            _ => None,
        })
        .collect();
    let left: Vec<String> = queue.waiting().into_iter().map(|waits| waits.prompt.text).collect();
    for (number, moment) in moments.iter().enumerate() {
        let word = format!("word {number}");
        let is_said = *moment < session.records.len();
        let times = logged.iter().chain(&left).filter(|said| **said == word).count();
        assert_eq!(times, usize::from(is_said), "{word}: {logged:?} {left:?}");
        let is_late = later.get(number).copied().unwrap_or_default();
        assert!(!is_said || left.contains(&word) || !is_late);
    }
    let requests = bench.provider.requests.lock().unwrap().clone();
    let nothing = Conversation::new();
    let before = std::iter::once(&nothing).chain(requests.iter().map(|sent| &sent.conversation));
    for (before, now) in before.zip(&requests) {
        check_valid(before, &now.conversation);
    }
    let whole = shape(&requests.last().unwrap().conversation);
    assert!(logged.iter().all(|word| whole.contains(word)), "{logged:?} {whole}");
    check_cut(folder.path(), &id, share).await;
}

/// Cuts the log at a share of a thousand of its bytes, as a kill does, and goes on with it.
async fn check_cut(folder: &std::path::Path, id: &str, share: usize) {
    let path = folder.join(format!("{id}.jsonl"));
    let bytes = std::fs::read(&path).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let kept = &bytes[..first + (bytes.len() - first) * share / 1_000];
    std::fs::write(&path, kept).unwrap();
    let (log, session) = SessionLog::open(folder, id).unwrap();
    let words: Vec<String> = session
        .records
        .iter()
        .filter_map(|record| match &record.event {
            SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => Some(prompt.clone()),
            _ => None,
        })
        .collect();
    let mut bench = bench_with(vec![text("on")], echo(), |options| {
        (options.log, options.resumed) = (Some(log), Some(session));
    });
    bench.agent.prompt("go on", &CancellationToken::new()).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    check_valid(&Conversation::new(), &requests[0].conversation);
    let said: Vec<String> = shape(&requests[0].conversation)
        .split("u:")
        .skip(1)
        .map(|rest| rest.trim_end_matches([' ', 'a', 'c', 'r']).to_owned())
        .collect();
    assert_eq!(said, [words, vec!["go on".to_owned()]].concat());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn at_any_moment_a_word_is_delivered_once_and_the_conversation_stays_valid(
        moments in proptest::collection::vec(1..70_usize, 0..8),
        later in proptest::collection::vec(any::<bool>(), 8),
        share in 0..=1_000_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check_moments(&moments, &later, share));
    }
}
