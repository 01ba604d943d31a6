//! A session that was made shorter is replayed, whatever came of the request for a summary.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde_json::json;
use tenon_agent::{AgentOptions, ReplayOptions, Sandbox, SessionLog, read_session, replay};
use tenon_model::{ProviderError, ProviderErrorKind, Request, StreamEvent};
use tenon_sandbox::Workspace;

use super::{Answer, FromLog, asks_for_summary, bench, print, tools};
use crate::support::{calls, text};

#[tokio::test]
async fn a_summary_that_was_not_to_be_had_is_not_to_be_had_again() {
    let failed = |kind| vec![Err(ProviderError::new(kind, "lost"))];
    let broke_off = |_: &Request| {
        let half = StreamEvent::TextDelta { text: "half a".into() };
        vec![Ok(half), Err(ProviderError::new(ProviderErrorKind::Dropped, "lost"))]
    };
    let answers: [(&str, Box<Answer>); 6] = [
        ("written", Box::new(|_| text("It was done."))),
        ("broke off", Box::new(broke_off)),
        ("no credit", Box::new(move |_| failed(ProviderErrorKind::QuotaExhausted))),
        ("too long", Box::new(move |_| failed(ProviderErrorKind::ContextTooLong))),
        ("empty", Box::new(|_| text(""))),
        ("a call", Box::new(|_| calls(&[("print", json!({"n": 99}))]))),
    ];
    for (name, answer) in answers {
        let made = AtomicU64::new(0);
        let mut bench = bench(3_000, move |request| match asks_for_summary(request) {
            true => answer(request),
            false => match made.fetch_add(1, Ordering::SeqCst) {
                n @ 0..60 => print(n),
                _ => text("done"),
            },
        });
        bench.prompt("go").await;
        let asked = bench.model.requests.lock().unwrap().iter().any(asks_for_summary);
        assert!(asked, "{name}");
        let (folder, id) = bench.log.clone().unwrap();
        let session = read_session(&folder, &id).unwrap();
        let work = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(work.path()).unwrap();
        let sandbox = Sandbox::unconfined(Vec::new());
        let mut options = AgentOptions::new(bench.model.clone(), workspace, sandbox);
        let log = SessionLog::create(&work.path().join("log")).unwrap();
        options.tools = tools();
        options.recall = Some(Arc::new(FromLog(work.path().join("log"), log.id().to_owned())));
        options.log = Some(log);
        let replayed = replay(&session, options, ReplayOptions::default()).await.unwrap();
        assert_eq!((replayed.divergence, replayed.ended_early), (None, None), "{name}");
        assert!(replayed.steps > 60, "{name}");
    }
}
