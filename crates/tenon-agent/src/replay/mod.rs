//! Runs a recorded session again: the same prompts, the model's recorded replies, and the real loop
//! and tools in between. What differs from the recording first ends it.
//!
//! No model is asked. Prompts and what stood in front of them come from the recording, because they
//! were given to the session; everything that the agent does by itself is done anew.

mod course;
mod divergence;
mod files;
mod places;
mod played;
mod recording;
mod reply;

use std::{mem, sync::Arc};

use tenon_model::{Abilities, ContentBlock, Message};
use tokio_util::sync::CancellationToken;

pub use self::divergence::{Diverged, Divergence};
use self::{
    course::Course,
    places::PlaceNames,
    played::Played,
    recording::{Input, RecordedTurn, Recording},
};
use crate::{
    agent::Agent,
    event::{ModelEvent, Record, SessionEvent, TurnEvent},
    input::{FrontEnd, Prompt},
    layers::{StandIn, set_checks},
    options::AgentOptions,
    policy::Mode,
    session::{LogError, PrefixHasher, Session, SessionLog},
    tools::{Recall, RecallTool, Tools},
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
    /// The folders above the first of them, from near to far, so that a result can tell of `../a`.
    pub places_above: Vec<(String, String)>,
    /// Returns the lists of tools that a model with these abilities may have been given. The first
    /// that is as recorded is taken, else [`AgentOptions::tools`].
    pub tools_for: Option<ToolLists>,
    /// Makes what calls had changed that were cut short, which are not run; nothing does if `None`.
    pub changes_of: Option<ChangesOfCall>,
    /// Whether secrets were taken out of the log after it was written, so that its messages are not
    /// those of which it has hashes.
    pub log_is_masked: bool,
}

/// Makes in the workspace what the call with this id had changed, and takes it back the next time, for
/// the call was undone; returns whether it did.
///
/// ```
/// use tenon_agent::ChangesOfCall;
///
/// let nothing_is_known: ChangesOfCall = Box::new(|_call_id| false);
/// ```
pub type ChangesOfCall = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Returns lists of tools for a model.
///
/// ```
/// use tenon_agent::{CoreToolOptions, ToolLists, core_tools};
///
/// let lists: ToolLists = Box::new(|abilities| {
///     let shows_images = abilities.sees_images == Some(true);
///     vec![core_tools(CoreToolOptions { shows_images, ..CoreToolOptions::default() })]
/// });
/// ```
pub type ToolLists = Box<dyn Fn(&Abilities) -> Vec<Tools> + Send + Sync>;

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
    /// Those before them that are not replayed, because the session was in another folder then.
    pub steps_before: u32,
    /// Calls whose results were compared.
    pub calls: u32,
    /// The first thing that was not as recorded.
    pub divergence: Option<Divergence>,
    /// Why the rest of the recording was not replayed, if that was not asked for.
    pub ended_early: Option<String>,
    /// Calls that were not run, because they left the walls or were cut short: the recorded results
    /// were taken.
    pub not_run: Vec<String>,
    /// The walls that commands had here, as `--sandbox` names them, once a first one ran.
    pub sandbox: Option<String>,
}

/// Replays `session` with the parts in `options`, whose provider is not asked, and whose limits,
/// instructions, news, mode, checks and front end do not matter.
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
    let masked = masked(session, &mut recording, &options, how.log_is_masked);
    let inputs = mem::take(&mut recording.inputs);
    options.mode = recording.mode();
    options.verify = set_checks(&options.workspace, &recording.checks_asked, &recording.checks_run);
    options.receipts = recording.has_receipts && how.results_of.is_none();
    let (model, abilities) = (recording.model.clone(), recording.abilities.clone());
    let lists =
        Lists { own: options.tools.clone(), lists: how.tools_for, recall: options.recall.clone() };
    let answers = how.results_of.map(|session| Recording::of(&session, false));
    let places = PlaceNames::new(how.places, how.places_above);
    let places = (options.workspace.clone(), options.journal.clone(), places);
    let steps_before = steps_in(session.records.iter().take(session.moved_behind()));
    if how.until.is_some_and(|until| until <= steps_before) {
        return Ok(Replayed { steps_before, ..Replayed::default() });
    }
    let rest = (how.until.map(|until| until - steps_before), how.changes_of);
    options.resumed = before_move(&masked.0, options.log.as_ref())?;
    let course = Course::new(masked, recording, answers, places, options.masking.clone(), rest);
    let course = Arc::new(course);
    options.tools = lists.choose(&course, &abilities);
    options.context_window_tokens = None;
    options.instructions.clear();
    options.news.clear();
    options.limits = crate::TurnLimits { steps_max: None, ..crate::TurnLimits::default() };
    options.log = options.log.map(SessionLog::with_images_by_name);
    options.provider = Arc::new(Played::new(&course, model, abilities));
    options.front = Arc::clone(&course) as Arc<dyn FrontEnd>;
    options.queue = course.queue().clone();
    options.stand_in = Some(Arc::clone(&course) as Arc<dyn StandIn>);
    let (sandbox, runs) = (options.sandbox.clone(), !course.takes_answers());
    let mut agent = Agent::new(options)?;
    for input in inputs {
        if course.is_over() {
            break;
        }
        match input {
            Input::Prompt { message, turn } => {
                // What the recording told of jobs stands in front of its prompt.
                drop(sandbox.jobs().news());
                take_turn(&mut agent, &course, (&message, turn)).await?;
            }
            Input::Resume(jobs) => {
                agent.end_jobs().await?;
                course.cut(jobs).await;
                sandbox.renew().await;
                agent.resume(lists.choose(&course, agent.abilities()))?;
            }
            Input::Rewind(turns) => drop(agent.rewind(turns)?),
            Input::UndoCompaction => drop(agent.undo_compaction()?),
            Input::Compact(focus) => {
                agent.compact(focus.as_deref(), &CancellationToken::new()).await?;
            }
            Input::Model { model, abilities } => {
                let tools = lists.choose(&course, &abilities);
                agent.set_model(Arc::new(Played::new(&course, model, abilities)), tools)?;
            }
            Input::Undo(undone) => course.undo(undone).await,
        }
    }
    sandbox.jobs().stop_all().await;
    let tier = sandbox.tier().filter(|_| runs).map(str::to_owned);
    Ok(outcome(&course, tier, steps_before))
}

/// Returns what came of it, steps counted from the beginning of the recording.
fn outcome(course: &Course, sandbox: Option<String>, steps_before: u32) -> Replayed {
    let mut replayed = Replayed { sandbox, steps_before, ..course.outcome() };
    if let Some(divergence) = &mut replayed.divergence {
        divergence.step += steps_before;
    }
    replayed
}

async fn take_turn(
    agent: &mut Agent,
    course: &Course,
    (message, turn): (&Message, RecordedTurn),
) -> Result<(), LogError> {
    let (cancel, killed) = (CancellationToken::new(), turn.killed);
    course.begin(turn, &cancel);
    agent.prompt(given(message), &cancel).await?;
    course.end_turn();
    if let Some(killed) = killed {
        // What the model had seen of files in its last step was forgotten.
        agent.set_seen(course.seen_at(killed.line));
    }
    Ok(())
}

/// Where the tools of a replay are taken from.
struct Lists {
    own: Tools,
    lists: Option<ToolLists>,
    recall: Option<Arc<dyn Recall>>,
}

impl Lists {
    /// Returns the tools that the next request of the recording has.
    fn choose(&self, course: &Course, abilities: &Abilities) -> Tools {
        let mut lists = self.lists.as_ref().map(|lists| lists(abilities)).unwrap_or_default();
        lists.push(self.own.clone());
        let recorded = course.next_tools();
        let is = |tools: &Tools| recorded == Some(&*PrefixHasher::tools(&tools.specs()));
        let is_recorded = |tools: &&Tools| {
            // The agent adds this one itself once something is left out.
            let recall = self.recall.clone();
            is(tools)
                || recall.is_some_and(|recall| is(&(*tools).clone().with(RecallTool::new(recall))))
        };
        lists.iter().find(is_recorded).unwrap_or(&self.own).clone()
    }
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

/// Returns how many replies of the model there are.
fn steps_in<'a>(records: impl Iterator<Item = &'a Record>) -> u32 {
    let is_reply = |record: &&Record| {
        matches!(record.event, SessionEvent::Model(ModelEvent::AssistantMessage { .. }))
    };
    u32::try_from(records.filter(is_reply).count()).unwrap_or(u32::MAX)
}

/// Returns what `session` had done in another folder before it went on in its last one, which is not done
/// again: the log of the replay has it from then on. `None` if there is nothing of that.
fn before_move(session: &Session, log: Option<&SessionLog>) -> Result<Option<Session>, LogError> {
    let (behind, Some(log)) = (session.moved_behind(), log) else { return Ok(None) };
    if behind == 0 {
        return Ok(None);
    }
    let mut line = 0;
    for (number, record) in session.lines.iter().zip(&session.records).take(behind) {
        // Rewinds name lines by their number, those that cannot be read counted.
        for _ in line + 1..*number {
            let nothing = TurnEvent::Notice { text: String::new() }.into();
            log.append(&Record { time_ms: record.time_ms, event: nothing })?;
        }
        log.append(record)?;
        line = *number;
    }
    log.session().map(Some)
}

/// Returns `session` as it would have been logged with what is known now, since what was not known to be
/// a secret then is the same all the same; and whether its messages are others, as `log_is_masked` says
/// of the log. The results of `recording` are masked with it.
fn masked(
    session: &Session,
    recording: &mut Recording,
    options: &AgentOptions,
    log_is_masked: bool,
) -> (Session, bool) {
    options.masking.read_all(&options.workspace);
    recording.mask_results(&options.masking);
    let mut masked = session.clone();
    for record in &mut masked.records {
        if !matches!(record.event, SessionEvent::Session(_)) {
            *record = options.masking.record(record.clone());
        }
    }
    let is_masked = log_is_masked || masked.records != session.records;
    (masked, is_masked)
}

#[cfg(test)]
mod tests;
