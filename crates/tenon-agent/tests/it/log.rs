//! The log: everything that was shown is there, in order.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tenon_agent::{Answer, FrontEnd, Question, SessionLog, Tools, Update, read_session, tool};
use tenon_model::{Abilities, EventStream, Provider, Request, ScriptedProvider};
use tokio_util::sync::CancellationToken;

use crate::support::{bench_with, calls, text};

#[tokio::test]
async fn what_was_shown_is_what_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path()).unwrap();
    let id = log.id().to_owned();
    let tools = Tools::new().with(tool::<Value>("echo", "x", |_| Ok("汉\u{1b}[31m".into())));
    let mut bench =
        bench_with(vec![calls(&[("echo", json!({}))]), text("done")], tools, |options| {
            options.log = Some(log);
        });
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    let shown: Vec<_> = bench
        .front
        .updates
        .lock()
        .unwrap()
        .iter()
        .filter_map(|update| match update {
            Update::Stored(record) => Some((**record).clone()),
            Update::Live(_) => None,
        })
        .collect();
    let session = read_session(folder.path(), &id).unwrap();
    assert_eq!(session.records, shown);
    assert_eq!(session.skipped, 0);
}

/// Looks into the log at the moment in which something is acted on.
#[derive(Clone)]
struct Log {
    path: PathBuf,
    /// The last event, each time that the model was asked or a tool ran.
    found: Arc<Mutex<Vec<String>>>,
}

impl Log {
    fn last(&self) -> Value {
        let text = std::fs::read_to_string(&self.path).unwrap();
        assert!(text.ends_with('\n'));
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }

    fn look(&self) {
        self.found.lock().unwrap().push(self.last()["type"].as_str().unwrap().to_owned());
    }
}

#[async_trait]
impl FrontEnd for Log {
    fn update(&self, update: Update) {
        if let Update::Stored(record) = update {
            assert_eq!(self.last(), serde_json::to_value(&*record).unwrap());
        }
    }

    async fn ask(&self, _: Question) -> Answer {
        Answer::Nobody
    }
}

struct Asked(ScriptedProvider, Log);

impl Provider for Asked {
    fn model(&self) -> &str {
        self.0.model()
    }

    fn abilities(&self) -> &Abilities {
        self.0.abilities()
    }

    fn stream(&self, request: Request) -> EventStream<'_> {
        self.1.look();
        self.0.stream(request)
    }
}

#[tokio::test]
async fn an_event_is_in_the_log_before_it_is_acted_on_or_shown() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path()).unwrap();
    let path = folder.path().join(format!("{}.jsonl", log.id()));
    let watched = Log { path, found: Arc::default() };
    let (asked, shown, used) = (watched.clone(), watched.clone(), watched.clone());
    let tools = Tools::new().with(tool::<Value>("echo", "x", move |_| {
        used.look();
        Ok("said".into())
    }));
    let script = json!({"turns": [
        {"text": "I look.", "calls": [{"name": "echo", "arguments": {}}]},
        {"text": "Done."},
    ]});
    let mut bench = bench_with(Vec::new(), tools, |options| {
        let script = ScriptedProvider::parse(&script.to_string()).unwrap();
        options.provider = Arc::new(Asked(script, asked));
        options.front = Arc::new(shown);
        options.log = Some(log);
    });
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    // The prompt, the reply and the result stand before these, or the others would be the last.
    assert_eq!(*watched.found.lock().unwrap(), ["request_sent", "call_started", "request_sent"]);
}
