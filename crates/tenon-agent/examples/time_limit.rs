//! A turn that is cancelled from outside, here when its time is over.

use std::{sync::Arc, time::Duration};

use tenon_agent::{Agent, AgentOptions, EndReason, Sandbox};
use tenon_model::ScriptedProvider;
use tenon_sandbox::Workspace;
use tokio_util::sync::CancellationToken;

const SCRIPT: &str = r#"{"turns": [{"delay_ms": 600000, "text": "Too late."}]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = Arc::new(ScriptedProvider::parse(SCRIPT)?);
    let sandbox = Sandbox::unconfined(Vec::new());
    let options = AgentOptions::new(provider, Workspace::open(".".as_ref())?, sandbox);
    let mut agent = Agent::new(options)?;

    let cancel = CancellationToken::new();
    let time_is_over = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        time_is_over.cancel();
    });
    let outcome = agent.prompt("Think about it.", &cancel).await?;
    assert_eq!(outcome.reason, EndReason::Cancelled);
    Ok(())
}
