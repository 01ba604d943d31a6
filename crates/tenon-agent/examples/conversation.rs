//! Two prompts to one agent with the core tools, in a folder of its own. The model knows the first
//! when it hears the second.

use std::sync::Arc;

use tenon_agent::{Agent, AgentOptions, CoreToolOptions, EndReason, Sandbox, core_tools};
use tenon_model::ScriptedProvider;
use tenon_sandbox::Workspace;

const SCRIPT: &str = r#"{"turns": [
    {"calls": [{"name": "write_file", "arguments": {"path": "greet.txt", "content": "Hello."}}]},
    {"text": "It is written."}, {"text": "It says hello."}]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let workspace = Workspace::open(folder.path())?;
    let provider = Arc::new(ScriptedProvider::parse(SCRIPT)?);
    let sandbox = Sandbox::unconfined(Vec::new());
    let mut options = AgentOptions::new(provider, workspace.clone(), sandbox);
    options.tools = core_tools(CoreToolOptions::default());

    let mut agent = Agent::new(options)?;
    let first = agent.prompt("Write a greeting into greet.txt.", &Default::default()).await?;
    assert_eq!((first.reason, first.steps), (EndReason::Finished, 2));
    assert_eq!(workspace.read("greet.txt", 1_000)?, b"Hello.");
    let second = agent.prompt("What does it say?", &Default::default()).await?;
    assert_eq!(second.answer, "It says hello.");
    Ok(())
}
