//! Another model for the same conversation, and what fills the window of the one there is.

use std::sync::Arc;

use tenon_model::{Abilities, ContentBlock, Conversation, Provider, Role};

use super::Agent;
use crate::{
    context::WindowUse,
    session::{LogError, Restored},
    session_note::SessionNote,
    tools::Tools,
};

impl Agent {
    /// Goes on with another model from the next prompt on, which can call `tools`. The log says so.
    ///
    /// What a model thought is signed for itself, so it is left out of what another one is sent; it
    /// is there again for its own model. What the provider's cache held is lost.
    ///
    /// ```
    /// # use tenon_agent::{Agent, AgentOptions, CoreToolOptions, core_tools};
    /// # use std::sync::Arc;
    /// # use tenon_model::ScriptedProvider;
    /// # use tenon_sandbox::Workspace;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let first = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
    /// # let other = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Me too."}]}"#)?);
    /// # let workspace = Workspace::open(".".as_ref())?;
    /// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
    /// # let options = AgentOptions::new(first, workspace, sandbox);
    /// let mut agent = Agent::new(options)?;
    /// agent.prompt("Say hello.", &Default::default()).await?;
    /// agent.set_model(other, core_tools(CoreToolOptions::default()))?;
    /// let outcome = agent.prompt("And you?", &Default::default()).await?;
    /// assert_eq!(outcome.answer, "Me too.");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the log cannot be read or written; nothing is changed then.
    pub fn set_model(&mut self, provider: Arc<dyn Provider>, tools: Tools) -> Result<(), LogError> {
        let abilities = provider.abilities();
        let is_same = self.exchange.provider.model() == provider.model();
        let conversation = match self.recorder.session()? {
            Some(session) => {
                Restored::of(&session, provider.model(), abilities.sees_images == Some(true))
                    .conversation
            }
            None if is_same => self.conversation.clone(),
            None => without_thinking(&self.conversation),
        };
        self.recorder.record(note(&*provider, self.window))?;
        self.conversation = conversation;
        self.opening.set_attach(abilities.wants_attached_context);
        self.exchange.provider = provider;
        self.set_tools(tools);
        self.meter = self.exchange.meter(self.window);
        Ok(())
    }

    /// Has the model call `tools` from now on, and what gives results back if it has that.
    pub(super) fn set_tools(&mut self, tools: Tools) {
        tools.edits().take_over(self.dispatch.tools.edits());
        self.dispatch.tools = tools;
        self.exchange.tools = self.dispatch.tools.specs().into();
        if std::mem::take(&mut self.offers_recall) {
            self.offer_recall(true);
        }
    }

    /// Returns what the model that is asked can do.
    pub(crate) fn abilities(&self) -> &Abilities {
        self.exchange.provider.abilities()
    }

    /// Returns what fills the model's window, by what it is.
    ///
    /// ```
    /// # use tenon_agent::{Agent, AgentOptions};
    /// # use std::sync::Arc;
    /// # use tenon_model::ScriptedProvider;
    /// # use tenon_sandbox::Workspace;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
    /// # let workspace = Workspace::open(".".as_ref())?;
    /// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
    /// # let options = AgentOptions::new(provider, workspace, sandbox);
    /// let mut agent = Agent::new(options)?;
    /// assert_eq!(agent.window_use().prompts, 0);
    /// agent.prompt("Say hello.", &Default::default()).await?;
    /// let now = agent.window_use();
    /// assert!(now.system > 0 && now.prompts > 0 && now.replies > 0 && now.used() < now.window);
    /// # Ok(())
    /// # }
    /// ```
    pub fn window_use(&self) -> WindowUse {
        let (system, tools) = (&self.exchange.system, &self.exchange.tools);
        let space = self.meter.space(&self.conversation);
        WindowUse::of(system, tools, &self.conversation).scaled_to(&space)
    }
}

/// Returns the event that says which model goes on.
pub(super) fn note(provider: &dyn Provider, window: Option<u32>) -> SessionNote {
    let (model, known) = (provider.model().to_owned(), provider.abilities());
    let context_window_tokens = window.unwrap_or(known.context_window_tokens);
    let abilities = Some(Abilities { context_window_tokens, ..known.clone() });
    SessionNote::ModelChanged { model, price: known.price, abilities }
}

/// Returns a conversation that is not kept in a log, as another model takes it.
fn without_thinking(conversation: &Conversation) -> Conversation {
    let fit = conversation.iter().filter_map(|message| {
        let is_thought = |block: &ContentBlock| matches!(block, ContentBlock::Thinking(_));
        if message.role == Role::User || !message.content.iter().any(is_thought) {
            return Some(Arc::clone(message));
        }
        let mut spoken = (**message).clone();
        spoken.content.retain(|block| !is_thought(block));
        (!spoken.content.is_empty()).then(|| Arc::new(spoken))
    });
    fit.collect()
}
