//! A tool of one's own in an agent of one's own; the model is a script, so no key is needed.

use std::sync::Arc;

use tenon_agent::{Agent, AgentOptions, Sandbox, Tools, tool};
use tenon_model::ScriptedProvider;
use tenon_sandbox::Workspace;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Roll {
    /// How many sides the die has.
    sides: u32,
}

const SCRIPT: &str = r#"{"turns": [
    {"calls": [{"name": "roll", "arguments": {"sides": 6}}]}, {"text": "It is a 4."}]}"#;

/// Asks the model for a roll of the die.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = Arc::new(ScriptedProvider::parse(SCRIPT)?);
    let sandbox = Sandbox::unconfined(Vec::new());
    let mut options = AgentOptions::new(provider, Workspace::open(".".as_ref())?, sandbox);
    let roll = tool("roll", "Rolls a die.", |args: Roll| Ok(format!("{}", 4 % args.sides)));
    options.tools = Tools::new().with(roll);
    let outcome = Agent::new(options)?.prompt("Roll a die.", &Default::default()).await?;
    assert_eq!(outcome.answer, "It is a 4.");
    Ok(())
}
