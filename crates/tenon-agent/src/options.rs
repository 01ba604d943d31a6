//! What an agent is made of, and what it says before its first prompt.

mod unlogged;

use std::{path::Path, sync::Arc};

use tenon_model::{Abilities, Provider};
use tenon_sandbox::{Jobs, Journal, Workspace};

use self::unlogged::unlogged;
use crate::{
    context::{Exchange, Instruction, SYSTEM_PROMPT, attach, render_instructions},
    event::{CallChanges, CallEvent, LOG_VERSION},
    host_presets::HostPresets,
    input::{FrontEnd, Prompt, Silent},
    layers::{self, Dispatch, Forbidden, OpenJobs, Reach, Receipts, StandIn},
    masking::Masking,
    policy::{Denials, Mode, Places, Rules},
    queue::PromptQueue,
    session::{LogError, Recorder, Restored, Session, SessionLog},
    session_note::SessionNote,
    tools::{RESULT_CHARS_MAX, Recall, Sandbox, Tools, job_news},
    turn::TurnLimits,
};

/// The parts of an agent. [`AgentOptions::new`] fills in what most programs want; every field can
/// be set before the agent is made.
///
/// ```
/// # use tenon_agent::{AgentOptions, CoreToolOptions, Mode, TurnLimits, core_tools};
/// # use std::sync::Arc;
/// # use tenon_model::ScriptedProvider;
/// # use tenon_sandbox::Workspace;
/// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
/// # let workspace = Workspace::open(".".as_ref())?;
/// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
/// let mut options = AgentOptions::new(provider, workspace, sandbox);
/// options.tools = core_tools(CoreToolOptions::default());
/// options.mode = Mode::Ask;
/// options.limits = TurnLimits { steps_max: Some(20), ..TurnLimits::default() };
/// options.system = format!("{}\n- Never touch the folder vendor.", options.system).into();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AgentOptions {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The only way to files.
    pub workspace: Workspace,
    /// The only way to processes.
    pub sandbox: Sandbox,
    /// What the model can call.
    pub tools: Tools,
    /// What is allowed, asked for and denied beyond the built-in rules.
    pub rules: Rules,
    /// What is done without asking. That nothing may be changed ([`Mode::ReadOnly`]) is told to the model
    /// with a prompt.
    pub mode: Mode,
    /// The places that the built-in rules speak of.
    pub places: Places,
    /// Which hosts belong together; each is asked about alone if `None`.
    pub host_presets: Option<Arc<dyn HostPresets>>,
    /// Where the session is shown and who answers for it.
    pub front: Arc<dyn FrontEnd>,
    /// Where the session is kept; nowhere if `None`.
    pub log: Option<SessionLog>,
    /// The session that the agent goes on with: what [`SessionLog::open`] or [`SessionLog::fork`]
    /// gave together with the log. What a person allowed until its end is not allowed any more.
    pub resumed: Option<Session>,
    /// The limits of each turn.
    pub limits: TurnLimits,
    /// The most characters of a result that the model is shown; 50,000 unless set.
    pub result_chars_max: usize,
    /// The system prompt, at first tenon's own. It goes with every request: what differs between
    /// sessions is better put into `instructions`, so that prompt caches hit.
    pub system: Arc<str>,
    /// What goes in front of the first prompt, the nearest to the work last.
    pub instructions: Vec<Instruction>,
    /// The secrets that nobody is shown; at first those of the workspace's `.env` files.
    pub masking: Masking,
    /// How many tokens request and reply may have together; what the provider knows of its model
    /// if `None`.
    pub context_window_tokens: Option<u32>,
    /// Whether a turn that changed something ends with a [`Receipt`](crate::Receipt), and the model
    /// is asked once to run a check if none ran since; on unless set.
    pub receipts: bool,
    /// Commands that check the work, such as `cargo test`, the first of which the model is asked to
    /// run; what is found in the project if there are none.
    pub verify: Vec<String>,
    /// Where results are found again that were left out of a conversation that got too long. The
    /// model gets the tool `recall` for it when that happens first.
    pub recall: Option<Arc<dyn Recall>>,
    /// Where what calls are about to change is saved, so that it can be undone. Its folders are to be
    /// hidden from commands and protected in the workspace ([`Journal::folders`]).
    pub journal: Option<Journal>,
    /// What the model is told in front of the first prompt, a line each: what it cannot know.
    pub news: Vec<String>,
    /// What a person says while a turn goes on; the agent takes from it what is for its next step.
    pub queue: PromptQueue,
    /// Whether what runs in the background ends with each turn, before its receipt is made, as in a run of
    /// one prompt; else it runs until [`Agent::end_jobs`](crate::Agent::end_jobs).
    pub jobs_end_with_turn: bool,
    /// What stands between a conversation that is replayed and its tools.
    pub(crate) stand_in: Option<Arc<dyn StandIn>>,
}

/// What goes in front of prompts.
pub(crate) struct Opening {
    instructions: Vec<Instruction>,
    first: bool,
    attach: bool,
    masking: Masking,
    jobs: Jobs,
    /// What else the model is told with the next prompt.
    news: Vec<String>,
}

/// What goes in front of one prompt.
pub(crate) struct OpeningText {
    /// For the model.
    pub before: Vec<String>,
    /// The same in a line each, for people.
    pub attached: Vec<String>,
    /// What people should know.
    pub notices: Vec<String>,
}

impl AgentOptions {
    /// Returns the options of an agent that has no tools yet, writes no log, shows nothing, and
    /// works freely in `workspace`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use tenon_agent::{AgentOptions, Sandbox};
    /// use tenon_model::ScriptedProvider;
    /// use tenon_sandbox::Workspace;
    ///
    /// let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
    /// let workspace = Workspace::open(".".as_ref())?;
    /// let sandbox = Sandbox::unconfined(Vec::new());
    /// let options = AgentOptions::new(provider, workspace, sandbox);
    /// assert!(options.tools.specs().is_empty() && options.log.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(provider: Arc<dyn Provider>, workspace: Workspace, sandbox: Sandbox) -> Self {
        Self {
            provider,
            tools: Tools::new(),
            rules: Rules::default(),
            mode: Mode::default(),
            places: Places { home: String::new(), ..Places::of(&workspace, Path::new("/")) },
            host_presets: None,
            front: Arc::new(Silent),
            log: None,
            resumed: None,
            limits: TurnLimits::default(),
            result_chars_max: RESULT_CHARS_MAX,
            system: SYSTEM_PROMPT.into(),
            instructions: Vec::new(),
            masking: Masking::new(Vec::new),
            context_window_tokens: None,
            receipts: true,
            verify: Vec::new(),
            recall: None,
            journal: None,
            news: Vec::new(),
            queue: PromptQueue::default(),
            jobs_end_with_turn: false,
            stand_in: None,
            workspace,
            sandbox,
        }
    }

    pub(crate) fn into_parts(
        self,
    ) -> Result<(Exchange, Dispatch, Recorder, TurnLimits, Opening, Restored), LogError> {
        self.masking.open(&self.workspace);
        let recorder = Recorder::new(self.log, self.front, self.masking.clone());
        let (provider, window) = (&*self.provider, self.context_window_tokens);
        let (resumed, journal) = (self.resumed.as_ref(), self.journal.as_ref());
        let restored = begin(resumed, journal, provider, window, &self.workspace, &recorder)?;
        let seen = restored.see_in(&self.workspace);
        let workspace = self.workspace.with_filter(Arc::new(self.masking.clone()));
        if let Some(session) = &self.resumed {
            self.tools.edits().restore(&session.records, self.journal.as_ref(), &workspace);
        }
        let opening = Opening {
            instructions: self.instructions,
            // Another folder has instructions of its own.
            first: restored.conversation.is_empty() || !restored.is_of(&workspace),
            attach: self.provider.abilities().wants_attached_context,
            masking: self.masking.clone(),
            jobs: self.sandbox.jobs().clone(),
            news: self.news,
        };
        let exchange = Exchange {
            provider: self.provider,
            system: self.system,
            tools: self.tools.specs().into(),
            sandbox: self.sandbox.clone(),
        };
        let undo = self.journal.clone();
        let receipts = Receipts::new(self.receipts, self.verify, undo.clone());
        receipts.go_on(restored.last_check.clone());
        let open_jobs = Arc::new(OpenJobs::new(undo));
        let journal = self.journal.map(|journal| (journal, recorder.session_id()));
        let forbidden = Forbidden {
            denials: Denials::new(&self.rules, &self.places),
            stand_in: self.stand_in.clone(),
        };
        let dispatch = Dispatch {
            tools: self.tools,
            layers: layers::layers(
                journal,
                self.result_chars_max,
                self.masking.clone(),
                &open_jobs,
                forbidden,
            ),
            open_jobs,
            jobs_end_with_turn: self.jobs_end_with_turn,
            rules: self.rules.into(),
            mode: self.mode,
            places: self.places,
            workspace,
            sandbox: self.sandbox,
            asking: Arc::default(),
            reach: Reach::new(self.host_presets),
            refused_writes: Arc::default(),
            masking: self.masking,
            receipts,
            seen,
            stand_in: self.stand_in,
        };
        Ok((exchange, dispatch, recorder, self.limits, opening, restored))
    }
}

/// Logs that a session begins or goes on, and returns what it goes on with.
fn begin(
    resumed: Option<&Session>,
    journal: Option<&Journal>,
    provider: &dyn Provider,
    window: Option<u32>,
    workspace: &Workspace,
    recorder: &Recorder,
) -> Result<Restored, LogError> {
    let known = provider.abilities();
    let context_window_tokens = window.unwrap_or(known.context_window_tokens);
    let abilities = Some(Abilities { context_window_tokens, ..known.clone() });
    let (version, model, price) = (LOG_VERSION, provider.model().to_owned(), known.price);
    let (folders, tenon) = (workspace.roots(), env!("CARGO_PKG_VERSION").to_owned());
    let named = match workspace.ways().is_empty() {
        true => Vec::new(),
        false => workspace.named_roots(),
    };
    let Some(session) = resumed else {
        recorder.record(SessionNote::SessionStarted {
            version,
            session: recorder.session_id().to_owned(),
            workspace: folders,
            model,
            tenon,
            price,
            abilities,
            forked_from: None,
            results_of: None,
            moved_to: Vec::new(),
            named,
        })?;
        return Ok(Restored::default());
    };
    let sees_images = known.sees_images == Some(true);
    let mut restored = Restored::of(session, &model, sees_images);
    let changed = journal.map(|journal| unlogged(journal, session, &restored.cut_short));
    let (changed, by_jobs) = changed.unwrap_or_default();
    if !changed.is_empty() {
        let in_words = |changes: &CallChanges| {
            (changes.call_id.clone(), recorder.masked_text(changes.summary.clone()))
        };
        let in_words = changed.iter().map(in_words).collect();
        restored = Restored::with_changes(session, &model, sees_images, in_words);
    }
    recorder.record(SessionNote::SessionResumed {
        version,
        session: recorder.session_id().to_owned(),
        forked_from: session.forked_from().map(str::to_owned),
        workspace: folders,
        named,
        model,
        tenon,
        price,
        abilities,
    })?;
    restored.mend(session.skipped, changed, recorder)?;
    by_jobs.into_iter().try_for_each(|it| recorder.record(CallEvent::CallChanged(it)))?;
    Ok(restored)
}

impl Opening {
    /// Takes in whether the next prompt is the first of its conversation.
    pub(crate) fn set_first(&mut self, first: bool) {
        self.first = first;
    }

    /// Takes in whether the model wants attached context.
    pub(crate) fn set_attach(&mut self, attach: bool) {
        self.attach = attach;
    }

    /// Has the model and the person told with the next prompt.
    pub(crate) fn tell(&mut self, news: String) {
        self.news.push(news);
    }

    /// Returns what goes in front of `prompt`: instructions once, attached context each time if
    /// the model wants it.
    pub(crate) fn take_for(&mut self, prompt: &Prompt, workspace: &Workspace) -> OpeningText {
        let mut opening =
            OpeningText { before: Vec::new(), attached: Vec::new(), notices: Vec::new() };
        if std::mem::take(&mut self.first) {
            // Its end is waited for by the first call.
            drop(self.masking.begin_walk(workspace));
            let sources = self.instructions.iter().map(|instruction| &instruction.source);
            opening.attached.extend(sources.map(|source| format!("instructions: {source}")));
            // Before anything of them is cut off.
            let masked = |Instruction { source, text }: &Instruction| {
                let (source, text) = (source.clone(), self.masking.mask(text.clone()));
                Instruction { source, text }
            };
            let instructions: Vec<Instruction> = self.instructions.iter().map(masked).collect();
            let (text, note) = render_instructions(&instructions);
            opening.before.extend(text);
            opening.notices.extend(note);
        }
        let of_jobs = job_news(&self.jobs, &self.masking, workspace).map(|news| news.text);
        for news in std::mem::take(&mut self.news).into_iter().chain(of_jobs) {
            opening.notices.push(news.clone());
            opening.before.push(news);
        }
        if self.attach
            && let Some(attached) = attach(&prompt.text, workspace, &self.masking)
        {
            opening.attached.extend(attached.lines);
            opening.before.push(attached.text);
        }
        for text in &mut opening.before {
            *text = self.masking.mask(std::mem::take(text));
        }
        opening
    }
}
