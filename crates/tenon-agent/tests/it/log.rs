//! The log: everything that was shown is there, in order.

use serde_json::{Value, json};
use tenon_agent::{SessionLog, Tools, Update, read_session, tool};
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
