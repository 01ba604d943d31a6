//! Going back: the last turns are left, and the conversation goes on before them; or the last
//! compaction is undone. The log has all that it takes.

use std::collections::BTreeMap;

use super::{Agent, model::note, undone::UndoneSince};
use crate::{
    session::{LogError, Restored},
    session_note::SessionNote,
    tools::Tools,
};

impl Agent {
    /// Takes what the model is said to have seen of files for what is known.
    pub(crate) fn set_seen(&mut self, seen: BTreeMap<String, String>) {
        self.dispatch.set_seen(&Restored::of_seen(seen));
    }

    /// Goes on as another process does with the session: with nothing but what the log has, and tools of
    /// its own. A session that is not kept goes on as it is.
    pub(crate) fn resume(&mut self, tools: Tools) -> Result<(), LogError> {
        let Some(session) = self.recorder.session()? else { return Ok(()) };
        let provider = &self.exchange.provider;
        let sees_images = provider.abilities().sees_images == Some(true);
        let restored = Restored::of(&session, provider.model(), sees_images);
        self.set_tools(tools);
        let journal = self.undone.as_ref().map(UndoneSince::journal);
        let (edits, workspace) = (self.dispatch.tools.edits(), &self.dispatch.workspace);
        edits.restore(&session.records, journal, workspace);
        self.meter = self.exchange.meter(self.window);
        self.dispatch.receipts.go_on(restored.last_check.clone());
        self.take_up(restored);
        Ok(())
    }

    /// Leaves the last `turns` turns of the conversation, or as many as there are, and returns how
    /// many those were. They stay in the log as an abandoned branch. Files are not touched.
    ///
    /// ```
    /// # use tenon_agent::{Agent, AgentOptions, SessionLog};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use tenon_model::ScriptedProvider;
    /// # use tenon_sandbox::Workspace;
    /// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
    /// # let workspace = Workspace::open(".".as_ref())?;
    /// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
    /// # let mut options = AgentOptions::new(provider, workspace, sandbox);
    /// let folder = tempfile::tempdir()?;
    /// options.log = Some(SessionLog::create(folder.path())?);
    /// let mut agent = Agent::new(options)?;
    /// agent.prompt("Say hello.", &Default::default()).await?;
    /// assert_eq!(agent.rewind(5)?, 1);
    /// assert_eq!(agent.rewind(1)?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the log cannot be read or written. A session that is not kept has nothing to go back to.
    pub fn rewind(&mut self, turns: u32) -> Result<u32, LogError> {
        let Some(session) = self.recorder.session()? else { return Ok(0) };
        let Some(rewound) = session.rewind(turns) else { return Ok(0) };
        let left = match &rewound {
            SessionNote::Rewound { turns, .. } => *turns,
            _ => 0,
        };
        self.go_back(rewound)?;
        Ok(left)
    }

    /// Undoes the last compaction, and returns whether there was one: the conversation has again
    /// what it replaced, and all that came since. It may then be too long again.
    ///
    /// ```
    /// # use tenon_agent::{Agent, AgentOptions, SessionLog};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use tenon_model::ScriptedProvider;
    /// # use tenon_sandbox::Workspace;
    /// # let script = r#"{"turns": [{"text": "Hello."}, {"text": "They greeted each other."}]}"#;
    /// # let provider = Arc::new(ScriptedProvider::parse(script)?);
    /// # let workspace = Workspace::open(".".as_ref())?;
    /// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
    /// # let mut options = AgentOptions::new(provider, workspace, sandbox);
    /// let folder = tempfile::tempdir()?;
    /// options.log = Some(SessionLog::create(folder.path())?);
    /// let mut agent = Agent::new(options)?;
    /// agent.prompt("Say hello.", &Default::default()).await?;
    /// agent.compact(None, &Default::default()).await?;
    /// assert!(agent.undo_compaction()?);
    /// assert!(!agent.undo_compaction()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the log cannot be read or written. A session that is not kept has nothing to go back to.
    pub fn undo_compaction(&mut self) -> Result<bool, LogError> {
        let Some(session) = self.recorder.session()? else { return Ok(false) };
        let Some(undone) = session.undo_compaction() else { return Ok(false) };
        self.go_back(undone)?;
        Ok(true)
    }

    fn go_back(&mut self, to: SessionNote) -> Result<(), LogError> {
        self.recorder.record(to)?;
        let Some(session) = self.recorder.session()? else { return Ok(()) };
        let provider = &self.exchange.provider;
        let sees_images = provider.abilities().sees_images == Some(true);
        let restored = Restored::of(&session, provider.model(), sees_images);
        // Where the branch leads another model was asked: what comes now is not that one's.
        if *restored.model != *provider.model() {
            self.recorder.record(note(&**provider, self.window))?;
        }
        self.opening.set_first(restored.conversation.is_empty());
        if let Some(undone) = &mut self.undone {
            undone.set_branch_changed();
        }
        self.dispatch.set_seen(&restored);
        self.take_up(restored);
        Ok(())
    }

    /// Goes on with a conversation, and with what the provider counted of it.
    pub(super) fn take_up(&mut self, restored: Restored) {
        let Restored { conversation, counted, counted_before, is_shortened, .. } = restored;
        self.offer_recall(is_shortened);
        self.meter.rewritten(&self.exchange.system, &self.exchange.tools);
        if let Some((sent, usage)) = counted_before {
            self.meter.count(&sent, &usage, false);
            self.meter.rewritten(&self.exchange.system, &self.exchange.tools);
        }
        if let Some((sent, usage)) = counted {
            self.meter.count(conversation.get(..sent).unwrap_or_default(), &usage, true);
        }
        self.conversation = conversation;
    }
}
