//! An agent whose session is kept in a log, and the log read back.

use std::sync::Arc;

use tenon_agent::{
    Agent, AgentOptions, Sandbox, SessionEvent, SessionLog, TurnEvent, read_session,
};
use tenon_model::ScriptedProvider;
use tenon_sandbox::Workspace;

const SCRIPT: &str = r#"{"turns": [{"text": "Hello."}]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let provider = Arc::new(ScriptedProvider::parse(SCRIPT)?);
    let sandbox = Sandbox::unconfined(Vec::new());
    let mut options = AgentOptions::new(provider, Workspace::open(folder.path())?, sandbox);
    let sessions = folder.path().join("sessions");
    let log = SessionLog::create(&sessions)?;
    let id = log.id().to_owned();
    options.log = Some(log);
    Agent::new(options)?.prompt("Say hello.", &Default::default()).await?;

    let session = read_session(&sessions, &id)?;
    let answer = session.records.iter().find_map(|record| match &record.event {
        SessionEvent::Turn(TurnEvent::TurnEnded { answer, .. }) => Some(answer.as_str()),
        _ => None,
    });
    assert_eq!(answer, Some("Hello."));
    Ok(())
}
