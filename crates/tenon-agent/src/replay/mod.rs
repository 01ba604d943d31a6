//! Runs a recorded session again: the same prompts, the model's recorded replies, and the real loop
//! and tools in between. What differs from the recording first ends it.
//!
//! No model is asked. Prompts and what stood in front of them come from the recording, because they
//! were given to the session; everything that the agent does by itself is done anew.

mod course;
mod divergence;
mod places;
mod recording;

use std::{mem, sync::Arc};

use tenon_model::{ContentBlock, Message, Provider};
use tokio_util::sync::CancellationToken;

pub use self::divergence::{Diverged, Divergence};
use self::{
    course::Course,
    places::PlaceNames,
    recording::{Input, Recording},
};
use crate::{
    agent::Agent,
    event::ModelEvent,
    input::{FrontEnd, Prompt},
    layers::StandIn,
    options::AgentOptions,
    policy::Mode,
    session::{LogError, PrefixHasher, Session},
    tools::{Tools, job_news},
};

/// How a session is replayed.
///
/// ```
/// use tenon_agent::ReplayOptions;
///
/// let first_three_steps = ReplayOptions { until: Some(3), ..ReplayOptions::default() };
/// ```
#[derive(Default)]
pub struct ReplayOptions {
    /// The last step that is replayed, with its calls; all of them if `None`.
    pub until: Option<u32>,
    /// The session whose results are taken for those of the tools, none of which then runs.
    pub results_of: Option<Session>,
    /// Paths as they were recorded, and as they are here.
    pub places: Vec<(String, String)>,
    /// Further lists of tools that the recording may have been made with. The first that is as
    /// recorded is taken, else [`AgentOptions::tools`].
    pub tools: Vec<Tools>,
}

/// What came of a replay.
///
/// ```
/// use tenon_agent::Replayed;
///
/// fn said(replayed: &Replayed) -> String {
///     match &replayed.divergence {
///         Some(divergence) => format!("step {} differs", divergence.step),
///         None => format!("{} steps, nothing differs", replayed.steps),
///     }
/// }
///
/// assert_eq!(said(&Replayed::default()), "0 steps, nothing differs");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Replies of the model that were replayed.
    pub steps: u32,
    /// Calls whose results were compared.
    pub calls: u32,
    /// The first thing that was not as recorded.
    pub divergence: Option<Divergence>,
    /// Why the rest of the recording was not replayed, if that was not asked for.
    pub ended_early: Option<String>,
    /// Calls that left the walls and were not run: the recorded results were taken.
    pub not_run: Vec<String>,
}

/// Replays `session` with the parts in `options`, whose provider is not asked, and whose limits,
/// instructions, news, mode and front end do not matter.
///
/// ```
/// # use tenon_agent::{Agent, AgentOptions, ReplayOptions, SessionLog, read_session, replay};
/// # use std::sync::Arc;
/// # use tenon_model::ScriptedProvider;
/// # use tenon_sandbox::Workspace;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let workspace = Workspace::open(".".as_ref())?;
/// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
/// # let folder = tempfile::tempdir()?;
/// # let log = SessionLog::create(folder.path())?;
/// # let id = log.id().to_owned();
/// # let parts = |script| -> Result<AgentOptions, Box<dyn std::error::Error>> {
/// #     let provider = Arc::new(ScriptedProvider::parse(script)?);
/// #     Ok(AgentOptions::new(provider, workspace.clone(), sandbox.clone()))
/// # };
/// # let mut options = parts(r#"{"turns": [{"text": "Hello."}]}"#)?;
/// # options.log = Some(log);
/// # Agent::new(options)?.prompt("Say hello.", &Default::default()).await?;
/// let session = read_session(folder.path(), &id)?;
/// let replayed = replay(&session, parts(r#"{"turns": []}"#)?, ReplayOptions::default()).await?;
/// assert_eq!((replayed.steps, replayed.divergence), (1, None));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Only if the log of the replay, if there is one, cannot be written.
pub async fn replay(
    session: &Session,
    mut options: AgentOptions,
    how: ReplayOptions,
) -> Result<Replayed, LogError> {
    let mut recording = Recording::of(session, how.results_of.is_some());
    let inputs = mem::take(&mut recording.inputs);
    options.mode = recording.mode();
    if let Some(ModelEvent::RequestSent { tools: recorded, .. }) = recording.first_sent() {
        let is_recorded = |tools: &Tools| PrefixHasher::tools(&tools.specs()) == *recorded;
        let own = mem::take(&mut options.tools);
        let mut lists = std::iter::once(&own).chain(&how.tools);
        options.tools = lists.find(|tools| is_recorded(tools)).unwrap_or(&own).clone();
    }
    let answers = how.results_of.map(|session| Recording::of(&session, false));
    let course = Course::new(session, recording, answers, PlaceNames::new(how.places), how.until);
    let course = Arc::new(course);
    options.context_window_tokens = None;
    options.instructions.clear();
    options.news.clear();
    options.limits = crate::TurnLimits { steps_max: None, ..crate::TurnLimits::default() };
    options.receipts &= !course.takes_answers();
    options.provider = Arc::clone(&course) as Arc<dyn Provider>;
    options.front = Arc::clone(&course) as Arc<dyn FrontEnd>;
    options.queue = course.queue().clone();
    options.stand_in = Some(Arc::clone(&course) as Arc<dyn StandIn>);
    let jobs = options.sandbox.jobs().clone();
    let mut agent = Agent::new(options)?;
    for input in inputs {
        if course.is_over() {
            break;
        }
        match input {
            Input::Prompt { message, turn } => {
                let cancel = CancellationToken::new();
                course.begin(turn, &cancel);
                // What the recording told of jobs stands in front of its prompt.
                drop(job_news(&jobs));
                let prompt = given(&message);
                agent.prompt(prompt, &cancel).await?;
                course.end_turn();
            }
            Input::Rewind(turns) => drop(agent.rewind(turns)?),
            Input::UndoCompaction => drop(agent.undo_compaction()?),
            Input::Compact(focus) => {
                agent.compact(focus.as_deref(), &CancellationToken::new()).await?;
            }
        }
    }
    jobs.stop_all().await;
    Ok(course.outcome())
}

/// Returns the prompt that became `message`, with what stood in front of it.
fn given(message: &Message) -> Prompt {
    let mut prompt = Prompt::default();
    for block in &message.content {
        match block {
            ContentBlock::Text { text } => prompt.context.push(text.clone()),
            ContentBlock::Image(image) => prompt.images.push(image.clone()),
            _ => {}
        }
    }
    prompt.text = prompt.context.pop().unwrap_or_default();
    prompt
}

/// Returns how much was asked, as far as the recording shows it.
impl Recording {
    fn mode(&self) -> Mode {
        let rules = |rule: &str| self.rules.iter().any(|known| known == rule);
        match () {
            () if rules("mode: read-only") => Mode::ReadOnly,
            () if rules("mode: ask") => Mode::Ask,
            () => Mode::Auto,
        }
    }
}

#[cfg(test)]
mod tests;
