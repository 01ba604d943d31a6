#![expect(clippy::disallowed_methods, reason = "tests prepare and inspect files")]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tenon_model::{Abilities, EventStream, Provider, Request, ScriptedProvider};
use tenon_sandbox::{Journal, JournalOptions, Workspace};
use tokio_util::sync::CancellationToken;

use super::{Diverged, ReplayOptions, Replayed, replay};
use crate::{
    AgentOptions, Answer, Delivery, FrontEnd, Live, PromptQueue, Question, Sandbox, Session,
    SessionLog, SessionNote, TurnLimits, Update,
    agent::Agent,
    event::{CallEvent, ModelEvent, Record, SessionEvent},
    read_session,
    tools::{CoreToolOptions, core_tools},
};

fn options(workspace: &std::path::Path, turns: Value) -> AgentOptions {
    let script = json!({ "turns": turns }).to_string();
    let provider = Arc::new(ScriptedProvider::parse(&script).unwrap());
    let workspace = Workspace::open(workspace).unwrap();
    let mut options = AgentOptions::new(provider, workspace, Sandbox::unconfined(Vec::new()));
    options.tools = core_tools(CoreToolOptions::default());
    options
}

/// Says something at the first result of a call.
struct Meanwhile(PromptQueue, Mutex<Option<String>>);

#[async_trait]
impl FrontEnd for Meanwhile {
    fn update(&self, update: Update) {
        let Update::Stored(record) = update else { return };
        if matches!(record.event, SessionEvent::Call(CallEvent::ToolResult { .. }))
            && let Some(words) = self.1.lock().unwrap().take()
        {
            self.0.push(words, Delivery::NextStep).unwrap();
        }
    }

    async fn ask(&self, _: Question) -> Answer {
        Answer::Deny(None)
    }
}

/// Records a session of these prompts in a workspace with `a.txt`. What stands behind ` + ` is said
/// at once, and in the same session `Leave it.` at the first result.
async fn recorded(prompts: &[&str], turns: Value, steps_max: Option<u32>) -> Session {
    let folder = tempfile::tempdir().unwrap();
    let work = workspace();
    let mut options = options(work.path(), turns);
    options.limits = TurnLimits { steps_max, ..TurnLimits::default() };
    let log = SessionLog::create(folder.path()).unwrap();
    let id = log.id().to_owned();
    options.log = Some(log);
    let queue = options.queue.clone();
    let meanwhile = prompts.iter().any(|prompt| prompt.contains(" + "));
    let meanwhile = Mutex::new(meanwhile.then(|| "Leave it.".to_owned()));
    options.front = Arc::new(Meanwhile(queue.clone(), meanwhile));
    let mut agent = Agent::new(options).unwrap();
    for prompt in prompts {
        match *prompt {
            "/rewind" => drop(agent.rewind(1).unwrap()),
            "/compact" => agent.compact(None, &CancellationToken::new()).await.unwrap(),
            prompt => {
                let (prompt, meanwhile) = prompt.split_once(" + ").unwrap_or((prompt, ""));
                if !meanwhile.is_empty() {
                    queue.push(meanwhile, Delivery::NextStep).unwrap();
                }
                drop(agent.prompt(prompt, &CancellationToken::new()).await.unwrap());
            }
        }
    }
    drop(agent);
    read_session(folder.path(), &id).unwrap()
}

fn workspace() -> tempfile::TempDir {
    let work = tempfile::tempdir().unwrap();
    std::fs::write(work.path().join("a.txt"), "one\n").unwrap();
    work
}

async fn replayed(session: &Session, how: ReplayOptions) -> Replayed {
    let (work, logs) = (workspace(), tempfile::tempdir().unwrap());
    let mut options = options(work.path(), json!([]));
    options.log = Some(SessionLog::create(logs.path()).unwrap());
    replay(session, options, how).await.unwrap()
}

/// Those of these replays: none.
fn walls() -> Option<String> {
    Some("off".to_owned())
}

fn calls() -> Value {
    json!([
        {"thinking": "hm", "text": "Let me look.", "usage": {"input": 9, "output": 3}, "calls": [
            {"name": "read_file", "arguments": {"path": "a.txt"}},
            {"name": "glob", "arguments": {"pattern": "*"}},
            {"name": "nonsense", "raw_arguments": "{bad"}]},
        {"calls": [{"name": "edit_file", "arguments":
            {"path": "a.txt", "old_text": "one", "new_text": "two"}}]},
        {"calls": [{"name": "bash", "arguments": {"command": "cat a.txt; exit 3"}}]},
        {"text": "Done."},
        {"text": "And again."},
        {"text": "Summed up."},
        {"text": "Later."},
    ])
}

#[tokio::test]
async fn what_was_recorded_comes_again_and_a_replay_ends_where_it_is_told() {
    let prompts = ["go", "again", "/rewind", "/compact", "later"];
    let session = recorded(&prompts, calls(), None).await;
    let whole = replayed(&session, ReplayOptions::default()).await;
    let expected = Replayed { steps: 6, calls: 5, sandbox: walls(), ..Replayed::default() };
    assert_eq!(whole, expected);
    let until = replayed(&session, ReplayOptions { until: Some(2), ..Default::default() }).await;
    assert_eq!(until, Replayed { steps: 2, calls: 4, sandbox: walls(), ..Replayed::default() });
    let taken = ReplayOptions { results_of: Some(session.clone()), ..Default::default() };
    assert_eq!(replayed(&session, taken).await, Replayed { sandbox: None, ..expected });
}

#[tokio::test]
async fn what_was_said_in_the_middle_of_a_turn_comes_again() {
    let session = recorded(&["go + not b.txt", "again + and more"], calls(), None).await;
    let said = session
        .records
        .iter()
        .filter(|record| serde_json::to_string(record).unwrap().contains(r#""at_step":true"#));
    assert_eq!(said.count(), 3);
    let found = replayed(&session, ReplayOptions::default()).await;
    assert_eq!((found.divergence, found.ended_early), (None, None));
    assert_eq!(found.steps, 5);
}

/// Answers what a command that reached its time limit is asked about, or lets the question stand.
struct AtLimit(Option<Answer>);

#[async_trait]
impl FrontEnd for AtLimit {
    fn update(&self, _: Update) {}

    async fn ask(&self, question: Question) -> Answer {
        match self.0.clone().filter(|_| question.tool == "time") {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

#[tokio::test]
async fn a_time_limit_is_answered_as_it_was() {
    for (answer, command, told) in [
        (
            Some(Answer::Nobody),
            "echo a; sleep 60",
            "Error: command timed out after 1 s\na\n[walls] limits: the call had 1 s; a timeout of at most 600 s, or \
             background, would give it more",
        ),
        (
            Some(Answer::Deny(Some("use\nless".into()))),
            "echo a; sleep 60",
            "Error: command timed out after 1 s\na\nthe user ended it and said: use\nless",
        ),
        (
            Some(Answer::Allow),
            "echo a; sleep 60",
            "not done after 1 s; the user let it go on as job 1\na",
        ),
        (None, "echo a; sleep 1.3", "a"),
    ] {
        let (folder, work) = (tempfile::tempdir().unwrap(), workspace());
        let arguments = json!({"command": command, "timeout": 1});
        let turns = json!([{"calls": [{"name": "bash", "arguments": arguments}]}, {"text": "So."}]);
        let with_jobs =
            || core_tools(CoreToolOptions { has_jobs: true, ..CoreToolOptions::default() });
        let mut options = options(work.path(), turns);
        let log = SessionLog::create(folder.path()).unwrap();
        let id = log.id().to_owned();
        options.tools = with_jobs();
        (options.log, options.front) = (Some(log), Arc::new(AtLimit(answer)));
        let mut agent = Agent::new(options).unwrap();
        agent.prompt("go", &CancellationToken::new()).await.unwrap();
        drop(agent);
        let session = read_session(folder.path(), &id).unwrap();
        let is_told = |record: &Record| matches!(&record.event, SessionEvent::Call(CallEvent::ToolResult { content, .. }) if content.starts_with(told));
        assert!(session.records.iter().any(is_told), "{told}: {:?}", session.records);
        let tools_for: super::ToolLists = Box::new(move |_| vec![with_jobs()]);
        let how = ReplayOptions { tools_for: Some(tools_for), ..ReplayOptions::default() };
        let found = replayed(&session, how).await;
        assert_eq!((found.divergence, found.steps), (None, 2), "{told}");
    }
}

#[tokio::test]
async fn limits_failures_and_cuts_come_again() {
    let turns = json!([
        {"text": "half", "error": {"kind": "dropped", "message": "gone"}},
        {"text": " and half", "stop": "output_limit"},
        {"text": "rest", "calls": [{"name": "glob", "arguments": {"pattern": "*"}}]},
        {"error": {"kind": "unauthorized", "message": "no"}},
        {"calls": [{"name": "glob", "arguments": {"pattern": "*"}}]},
        {"calls": [{"name": "glob", "arguments": {"pattern": "*.txt"}}]},
        {"calls": [{"name": "glob", "arguments": {"pattern": "a*"}}]},
    ]);
    let session = recorded(&["one", "two", "three"], turns, Some(3)).await;
    let found = replayed(&session, ReplayOptions::default()).await;
    assert_eq!((found.divergence, found.ended_early), (None, None));
    assert_eq!(found.steps, 6);
}

#[tokio::test]
async fn the_first_difference_is_named_with_its_step() {
    let session = recorded(&["go"], calls(), None).await;
    let check = async |old: &str, new: &str, step: u32, what: Diverged, found: &str| {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<String> =
            session.records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
        let log = lines.join("\n") + "\n";
        assert!(log.contains(old), "{old}");
        std::fs::write(folder.path().join("x.jsonl"), log.replacen(old, new, 1)).unwrap();
        let changed = read_session(folder.path(), "x").unwrap();
        let replayed = replayed(&changed, ReplayOptions::default()).await;
        let divergence = replayed.divergence.unwrap();
        assert_eq!((divergence.step, divergence.what), (step, what), "{divergence:?}");
        assert!(divergence.found.contains(found), "{divergence:?}");
    };
    check("exit code 3\\ntwo", "exit code 3\\nsix", 3, Diverged::Result, "two").await;
    let (text, other) = (r#""text":"go""#, r#""text":"come""#);
    check(text, other, 1, Diverged::Messages, "1 message with hash").await;
    check("Let me look.", "Let me see.", 2, Diverged::Messages, "3 messages with hash").await;
    check(r#""system":""#, r#""system":"0"#, 1, Diverged::System, "system prompt").await;
    check(r#""tools":""#, r#""tools":"0"#, 1, Diverged::Tools, "tools with hash").await;
    check(r#""content":"a.txt"#, r#""content":"b.txt"#, 1, Diverged::Result, "a.txt").await;
}

#[tokio::test]
async fn the_order_of_files_by_their_times_is_no_difference() {
    let elsewhere = tempfile::tempdir().unwrap();
    let names = elsewhere.path().join("names");
    let older_and_newer = |text: &str| std::fs::write(&names, text).unwrap();
    older_and_newer("b c");
    let touch = run(&format!(
        "read older newer < '{}'; touch -d 2026-01-01 $older; touch -d 2026-01-02 $newer",
        names.display()
    ));
    let glob = json!({"name": "glob", "arguments": {"pattern": "*"}});
    let turns = json!([{"calls": [touch]}, {"calls": [glob]}, {"text": "Three files."}]);
    let session = recorded(&["go"], turns, None).await;
    let again = async || replayed(&session, ReplayOptions::default()).await;
    older_and_newer("c b");
    let found = again().await;
    assert_eq!((found.divergence, found.steps), (None, 3));
    older_and_newer("d b");
    let divergence = again().await.divergence.unwrap();
    assert_eq!((divergence.step, divergence.what), (2, Diverged::Result));
    assert_eq!(divergence.expected, "a.txt\nc\nb\n");
}

#[tokio::test]
async fn in_which_order_two_streams_came_is_no_difference() {
    let elsewhere = tempfile::tempdir().unwrap();
    let order = elsewhere.path().join("order");
    let prints = |first: &str, second: &str| {
        std::fs::write(&order, format!("{first}; sleep 0.3; {second}; exit 3")).unwrap();
    };
    let turns = json!([{"calls": [run(&format!(". '{}'", order.display()))]}, {"text": "So."}]);
    prints("echo a", "echo b >&2");
    let session = recorded(&["go"], turns, None).await;
    let again = async || replayed(&session, ReplayOptions::default()).await;
    prints("echo b >&2", "echo a");
    let found = again().await;
    assert_eq!((found.divergence, found.steps), (None, 2));
    prints("echo a >&2", "echo b");
    let divergence = again().await.divergence.unwrap();
    assert_eq!((divergence.step, divergence.what), (1, Diverged::Result));
    assert_eq!(divergence.found, "(error)\nexit code 3\n[stderr]\na\n[stdout]\nb\n");
}

/// A script under another name, by a model that sees no images.
struct Other(ScriptedProvider, Abilities);

impl Provider for Other {
    fn model(&self) -> &str {
        "other/model"
    }

    fn abilities(&self) -> &Abilities {
        &self.1
    }

    fn stream(&self, request: Request) -> EventStream<'_> {
        self.0.stream(request)
    }
}

#[tokio::test]
async fn another_model_in_mid_session_is_another_recorded_model() {
    let (folder, work) = (tempfile::tempdir().unwrap(), workspace());
    let mut options = options(work.path(), calls());
    let log = SessionLog::create(folder.path()).unwrap();
    let id = log.id().to_owned();
    options.log = Some(log);
    let go = CancellationToken::new();
    let mut agent = Agent::new(options).unwrap();
    agent.prompt("go", &go).await.unwrap();
    let script = json!({"turns": [
        {"thinking": "so", "calls": [{"name": "glob", "arguments": {"pattern": "*.txt"}}]},
        {"text": "One file."},
        {"text": "Yes."},
    ]});
    let script = ScriptedProvider::parse(&script.to_string()).unwrap();
    let abilities = Abilities { wants_forgiving_tools: true, ..Abilities::default() };
    let forgiving =
        CoreToolOptions { is_forgiving: true, has_jobs: true, ..CoreToolOptions::default() };
    agent.set_model(Arc::new(Other(script, abilities)), core_tools(forgiving)).unwrap();
    agent.prompt("and you?", &go).await.unwrap();
    drop(agent);
    // Another process goes on with the first model.
    let (log, session) = SessionLog::open(folder.path(), &id).unwrap();
    let mut options = self::options(work.path(), json!([{"text": "Back again."}]));
    (options.log, options.resumed) = (Some(log), Some(session));
    Agent::new(options).unwrap().prompt("and back?", &go).await.unwrap();
    let session = read_session(folder.path(), &id).unwrap();
    let lists = ReplayOptions {
        tools_for: Some(Box::new(|abilities| {
            let is_forgiving = abilities.wants_forgiving_tools;
            let has_jobs = is_forgiving;
            let tools = CoreToolOptions { is_forgiving, has_jobs, ..CoreToolOptions::default() };
            vec![core_tools(tools)]
        })),
        ..ReplayOptions::default()
    };
    let expected = Replayed { steps: 7, calls: 6, sandbox: walls(), ..Replayed::default() };
    assert_eq!(replayed(&session, lists).await, expected);
    // Without a list that fits, the tools are what differs.
    let divergence = replayed(&session, ReplayOptions::default()).await.divergence.unwrap();
    assert_eq!((divergence.step, divergence.what), (5, Diverged::Tools));
}

/// Cancels when a command says that it has begun.
struct Hasty(CancellationToken);

#[async_trait]
impl FrontEnd for Hasty {
    fn update(&self, update: Update) {
        if matches!(update, Update::Live(Live::CallOutput { text, .. }) if text.contains("begun")) {
            self.0.cancel();
        }
    }

    async fn ask(&self, _: Question) -> Answer {
        Answer::Allow
    }
}

/// Records a turn that is cancelled in a command, and another one behind it, with a journal.
async fn cancelled(turns: Value) -> (tempfile::TempDir, Session) {
    let (folder, work) = (tempfile::tempdir().unwrap(), workspace());
    let mut options = options(work.path(), turns);
    let log = SessionLog::create(folder.path()).unwrap();
    let id = log.id().to_owned();
    options.log = Some(log);
    let state = JournalOptions::new(folder.path().join("state"));
    options.journal = Some(Journal::open(&options.workspace, state).unwrap());
    let cancel = CancellationToken::new();
    options.front = Arc::new(Hasty(cancel.clone()));
    let mut agent = Agent::new(options).unwrap();
    agent.prompt("go", &cancel).await.unwrap();
    agent.prompt("again", &CancellationToken::new()).await.unwrap();
    drop(agent);
    let session = read_session(folder.path(), &id).unwrap();
    (folder, session)
}

/// As [`replayed`], with a journal.
async fn replayed_with_journal(session: &Session) -> Replayed {
    let (work, logs) = (workspace(), tempfile::tempdir().unwrap());
    let mut options = options(work.path(), json!([]));
    options.log = Some(SessionLog::create(logs.path()).unwrap());
    let state = JournalOptions::new(logs.path().join("state"));
    options.journal = Some(Journal::open(&options.workspace, state).unwrap());
    replay(session, options, ReplayOptions::default()).await.unwrap()
}

fn run(command: &str) -> Value {
    json!({"name": "bash", "arguments": {"command": command}})
}

#[tokio::test]
async fn a_call_that_was_cancelled_is_answered_as_it_was_and_the_rest_is_replayed() {
    let edit = json!({"name": "edit_file", "arguments":
        {"path": "a.txt", "old_text": "one", "new_text": "two"}});
    let (folder, session) = cancelled(json!([
        {"calls": [run("echo first")]},
        {"calls": [edit, run("echo begun; sleep 60; echo > b.txt"), run("echo never")]},
        {"calls": [run("cat a.txt; ls")]},
        {"text": "Two."},
    ]))
    .await;
    let found = replayed_with_journal(&session).await;
    let calls: Vec<&str> = session
        .records
        .iter()
        .filter_map(|record| match &record.event {
            SessionEvent::Call(CallEvent::ToolResult { call_id, cut_short: true, .. }) => {
                Some(&**call_id)
            }
            _ => None,
        })
        .collect();
    assert_eq!((found.divergence, found.ended_early), (None, None));
    assert_eq!((found.steps, found.calls, calls.len()), (4, 5, 2));
    assert_eq!(found.not_run, calls);
    // A log of before, which does not say what was cut short, is followed up to there.
    let lines = session.records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n");
    let log: String = lines.collect::<String>().replace(",\"cut_short\":true", "");
    std::fs::write(folder.path().join("old.jsonl"), log).unwrap();
    let old = read_session(folder.path(), "old").unwrap();
    let found = replayed_with_journal(&old).await;
    assert_eq!((found.divergence, found.steps), (None, 1));
    assert_eq!(found.ended_early.unwrap(), "the turn was cancelled while a call ran");
}

#[tokio::test]
async fn what_a_cancelled_call_had_changed_is_no_difference_of_the_agent() {
    let (_folder, session) = cancelled(json!([
        {"calls": [run("echo b > b.txt; echo begun; sleep 60")]},
        {"calls": [run("echo fine")]},
        {"calls": [run("ls")]},
        {"text": "Both."},
    ]))
    .await;
    let found = replayed_with_journal(&session).await;
    assert_eq!((found.divergence, found.steps), (None, 3));
    let reason = found.ended_early.unwrap();
    assert!(reason.ends_with("what a call had changed that was cut short: 1 new"), "{reason}");
}

/// The session of which a process wrote `log` before it was killed, as another goes on with it.
async fn gone_on(log: &str) -> Session {
    let (folder, work) = (tempfile::tempdir().unwrap(), workspace());
    // In another folder it would be another session.
    let lines = log.lines().map(|line| {
        let mut record: Record = serde_json::from_str(line).unwrap();
        if let SessionEvent::Session(SessionNote::SessionStarted { workspace, .. }) =
            &mut record.event
        {
            *workspace = vec![work.path().canonicalize().unwrap()];
        }
        serde_json::to_string(&record).unwrap() + "\n"
    });
    std::fs::write(folder.path().join("killed.jsonl"), lines.collect::<String>()).unwrap();
    let (log, session) = SessionLog::open(folder.path(), "killed").unwrap();
    let mut options = options(work.path(), json!([{"text": "On."}]));
    (options.log, options.resumed) = (Some(log), Some(session));
    Agent::new(options).unwrap().prompt("go on", &CancellationToken::new()).await.unwrap();
    read_session(folder.path(), "killed").unwrap()
}

#[tokio::test]
async fn a_session_whose_program_was_killed_at_any_event_is_replayed_to_its_end() {
    let session = recorded(&["go", "again + not b.txt"], calls(), None).await;
    let lines: Vec<String> = session
        .records
        .iter()
        .map(|record| serde_json::to_string(record).unwrap() + "\n")
        .collect();
    let mut cut = 0;
    for count in 1..=lines.len() {
        let killed =
            gone_on(&lines.iter().take(count).map(String::as_str).collect::<String>()).await;
        let found = replayed(&killed, ReplayOptions::default()).await;
        assert_eq!((found.divergence, found.ended_early), (None, None), "after {count} lines");
        let answers = killed.records.iter().filter(|record| {
            matches!(record.event, SessionEvent::Model(ModelEvent::AssistantMessage { .. }))
        });
        assert_eq!(found.steps as usize, answers.count(), "after {count} lines");
        cut += usize::from(!found.not_run.is_empty());
    }
    assert!(cut > 5, "{cut} of {} in the middle of a call", lines.len());
}

#[tokio::test]
async fn a_turn_that_was_killed_and_left_runs_none_of_what_it_was_at() {
    let session = recorded(&["go"], calls(), None).await;
    let is_bash = |record: &&Record| matches!(&record.event, SessionEvent::Call(CallEvent::CallStarted { call, .. }) if call.name == "bash");
    let at = session.records.iter().position(|record| is_bash(&record)).unwrap();
    let line = |record: &Record| serde_json::to_string(record).unwrap() + "\n";
    let mut log: String = session.records.iter().take(at + 1).map(line).collect();
    log.push_str(&line(&Record { time_ms: 1, event: session.rewind(1).unwrap().into() }));
    let found = replayed(&gone_on(&log).await, ReplayOptions::default()).await;
    assert_eq!((found.divergence, found.ended_early), (None, None));
    assert_eq!((found.steps, found.not_run.len()), (4, 1));
}

#[tokio::test]
async fn a_damaged_event_ends_a_replay_early_where_it_takes_something_away() {
    let session = recorded(&["go", "again", "/compact", "later"], calls(), None).await;
    let lines: Vec<String> =
        session.records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let whole = replayed(&session, ReplayOptions::default()).await;
    assert_eq!((whole.steps, &whole.ended_early), (6, &None));
    let mut early = 0;
    for (at, line) in lines.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let mut damaged = lines.clone();
        damaged[at] = "\0".repeat(30);
        std::fs::write(folder.path().join("x.jsonl"), damaged.join("\n") + "\n").unwrap();
        let damaged = read_session(folder.path(), "x").unwrap();
        for takes_results in [false, true] {
            let results_of = takes_results.then(|| session.clone());
            let how = ReplayOptions { results_of, ..ReplayOptions::default() };
            let found = replayed(&damaged, how).await;
            let is_whole = found.steps == whole.steps;
            assert!(
                is_whole || found.divergence.is_some() || found.ended_early.is_some(),
                "{at} {line}: {found:?}"
            );
            early += usize::from(found.ended_early.is_some());
            // What was asked for is there all the same.
            let until = (found.steps > 0).then_some(found.steps);
            if let Some(until) = until.filter(|_| found.ended_early.is_some()) {
                let results_of = takes_results.then(|| session.clone());
                let how = ReplayOptions { until: Some(until), results_of, ..Default::default() };
                assert_eq!(replayed(&damaged, how).await.ended_early, None, "{at} {line}");
            }
        }
    }
    assert!(early >= 2 * 8, "{early}");
}
