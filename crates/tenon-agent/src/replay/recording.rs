//! A log as a recording: what was given to the session, what the model answered to each request,
//! and what came of the calls. Pure.

mod jobs;
mod summaries;
mod undone;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    path::PathBuf,
};

use tenon_model::{
    Abilities, ContentBlock, Image, Message, ProviderErrorKind, StopReason, ToolCall, Usage,
};

pub(super) use self::jobs::CutJob;
use self::jobs::JobsOfProgram;
use crate::{
    context::NOT_SHORTER,
    event::{
        CallChanges, CallEvent, ContextEvent, Continuation, ContinuationCause, EndReason,
        ModelEvent, Record, SessionEvent, TurnEvent,
    },
    masking::Masking,
    policy::Verdict,
    session::{Session, WENT_BACK},
    session_note::{IdleCall, SessionNote},
};

/// How what the model is told of an undo begins.
const UNDO_NEWS: &str = "[undo]";

/// Why a replay ends where the log is damaged.
pub(super) const UNREADABLE: &str = "the next prompt or reply cannot be read in the log";

/// Why a replay ends where it differs and the log is damaged before that.
pub(super) const UNREADABLE_BEFORE: &str =
    "what comes next is otherwise, and a part before it cannot be read in the log";

/// Why a replay ends where it differs and something was undone that is not where it was.
pub(super) const UNDONE_SOMEWHERE: &str = "what comes next is otherwise, and something was undone from elsewhere in the \
     middle of a turn: the log does not say between which calls";

/// What changed something: a call, and which of the changes that it told of.
pub(super) type Changed = (String, usize);

/// A session to follow.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub inputs: Vec<Input>,
    pub requests: Vec<Recorded>,
    /// What came of each request for a summary when the conversation got too long, in order.
    pub summaries: Vec<RecordedSummary>,
    /// Of the model that was asked first.
    pub model: String,
    pub abilities: Abilities,
    /// What was undone is named by these checkpoints.
    pub checkpoints: HashMap<u64, Changed>,
    /// Why it cannot be followed to its end.
    pub cut_short: Option<String>,
    /// Behind how many requests the first event is missing that cannot be read in the log.
    pub damaged_behind: Option<usize>,
    /// Behind how many requests something was undone in the middle of a turn, where an older version wrote the log:
    /// it does not say where.
    pub undone_behind: Option<usize>,
    /// Every rule that decided on a call.
    pub rules: Vec<String>,
    /// By which rules changes of each call were refused while it ran.
    pub forbidden_by: HashMap<String, Vec<String>>,
    /// The checks that the model was asked to run, and those that are in receipts.
    pub checks_asked: Vec<String>,
    pub checks_run: Vec<String>,
    /// Whether there is a receipt, or was to be one.
    pub has_receipts: bool,
}

/// Something that a person gave to the session.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Prompt {
        message: Message,
        turn: RecordedTurn,
    },
    /// Leave so many turns.
    Rewind(u32),
    /// Take the last compaction back.
    UndoCompaction,
    /// Make the conversation shorter, and what to keep to.
    Compact(Option<String>),
    /// Go on in another process, behind jobs that ended with the one before.
    Resume(Vec<CutJob>),
    /// Go on with another model.
    Model {
        model: String,
        abilities: Abilities,
    },
    /// Take back what these checkpoints changed, or an undo; this is called `by`.
    Undo(RecordedUndo),
}

/// What an undo took back.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecordedUndo {
    pub by: u64,
    pub of: Vec<u64>,
    /// Calls of which no list speaks.
    pub idle: Vec<IdleCall>,
}

/// The requests of a turn and how it ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RecordedTurn {
    pub requests: Range<usize>,
    /// What the person said before the first of them, behind the prompt.
    pub said: Vec<Message>,
    /// `None` if it goes on with the next input.
    pub ended: Option<EndReason>,
    pub killed: Option<Killed>,
}

/// The end of a program in the middle of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Killed {
    /// Of the event with which the session went on.
    pub line: u64,
    /// How many summaries the session had.
    pub summaries: usize,
}

/// A summary that the model wrote, or why there was none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecordedSummary {
    /// How many requests of other kinds were made before.
    pub behind: usize,
    pub answer: Result<(String, Usage), String>,
}

/// A request and what came of it.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// The line of the request in the log, if it has one.
    pub line: u64,
    /// [`ModelEvent::RequestSent`]; logs of older versions may have none.
    pub sent: Option<ModelEvent>,
    pub message: Option<Message>,
    /// What the person said before the next request.
    pub said: Vec<Message>,
    pub usage: Usage,
    pub end: ReplyEnd,
    pub results: HashMap<String, RecordedResult>,
    /// How long each call took.
    pub took_ms: HashMap<String, u64>,
    /// Calls that began jobs.
    pub began_jobs: HashSet<String>,
    pub changes: HashMap<String, CallChanges>,
    /// Calls that were decided on, and whether a person did.
    pub decided: HashMap<String, (Verdict, bool)>,
    /// The files that the model came to know.
    pub seen: SeenFiles,
    /// Calls that were answered when the turn was being cancelled, or after its program had ended.
    pub cut_short: HashSet<String>,
    /// Calls that had begun.
    pub started: HashSet<String>,
    /// What was undone from elsewhere since the calls before it, and before its own.
    pub undone: Vec<RecordedUndo>,
    /// Something was undone from elsewhere while its calls ran.
    pub undone_beside: bool,
    /// The model was told to go on behind it.
    pub continued: bool,
}

/// Files that the model came to know, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SeenFiles {
    pub hashes: BTreeMap<String, String>,
    /// Of large files, whose hashes are of their times in what older versions recorded.
    pub bytes: BTreeMap<String, u64>,
}

impl SeenFiles {
    fn take(&mut self, hashes: &BTreeMap<String, String>, bytes: &BTreeMap<String, u64>) {
        self.bytes.retain(|path, _| !hashes.contains_key(path));
        self.hashes.extend(hashes.clone());
        self.bytes.extend(bytes.clone());
    }
}

/// How a reply ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum ReplyEnd {
    Stopped(StopReason),
    Failed(ProviderErrorKind, String),
    /// By the person, or by the time.
    Cancelled,
    /// The recording ends with it, or in the middle of its calls.
    #[default]
    Open,
}

/// What the model read of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordedResult {
    pub content: String,
    pub is_error: bool,
    pub images: Vec<Image>,
}

impl RecordedResult {
    /// Returns a result whose images are what their digests say: a log has no bytes of them.
    pub(super) fn new(content: &str, is_error: bool, images: &[Image]) -> Self {
        let by_digest = |image: &Image| Image { data: "".into(), ..image.clone() };
        let images = images.iter().map(by_digest).collect();
        Self { content: content.to_owned(), is_error, images }
    }
}

impl Recording {
    /// Reads `session`, of one that went on in another folder what it did there. With `without_receipts` the
    /// model is asked for a check as if a person did.
    pub(super) fn of(session: &Session, without_receipts: bool) -> Self {
        let behind = session.moved_behind();
        let line = behind.checked_sub(1).and_then(|last| session.lines.get(last)).copied();
        let mut reader =
            Reader { without_receipts, line: line.unwrap_or_default(), ..Reader::default() };
        for (line, record) in session.lines.iter().zip(&session.records).skip(behind) {
            if let Err(reason) = reader.take(*line, record) {
                reader.recording.cut_short = Some(reason.to_owned());
                break;
            }
        }
        if reader.turn.is_some() && reader.recording.cut_short.is_none() {
            reader.recording.cut_short = Some("the recording ends in the middle of a turn".into());
        }
        reader.close(None);
        if behind > 0 && matches!(reader.recording.inputs.first(), Some(Input::Resume(_))) {
            // It begins with that.
            reader.recording.inputs.remove(0);
        }
        reader.recording
    }

    /// Masks the results with which others are compared.
    pub(super) fn mask_results(&mut self, masking: &Masking) {
        let requests = self.requests.iter_mut();
        for result in requests.flat_map(|request| request.results.values_mut()) {
            result.content = masking.mask(std::mem::take(&mut result.content));
        }
    }
}

impl Recorded {
    /// Returns the calls of the reply.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.message.iter().flat_map(Message::tool_calls)
    }

    /// Whether its reply, or how it failed, is missing in the log.
    pub(super) fn is_unanswered(&self) -> bool {
        self.end == ReplyEnd::Open || self.message.is_none() && !self.results.is_empty()
    }

    /// Whether a call was cut short and it is not known which: older versions did not log it.
    fn hides_what_was_cut(&self) -> bool {
        let is_cut =
            |result: &RecordedResult| result.is_error && result.content.contains("cancelled");
        self.cut_short.is_empty() && self.results.values().any(is_cut)
    }
}

struct OpenTurn {
    message: Message,
    first: usize,
    said: Vec<Message>,
    killed: Option<Killed>,
    /// What was undone since the last calls.
    undone: Vec<RecordedUndo>,
}

#[derive(Default)]
struct Reader {
    recording: Recording,
    /// The turn that is open, and where its requests begin.
    turn: Option<OpenTurn>,
    /// Where the requests of the last turn begin, if its program ended in its middle and its calls
    /// get their results now.
    killed_at: Option<usize>,
    without_receipts: bool,
    /// The model that is asked by now.
    model: String,
    abilities: Abilities,
    /// How many changes each call told of.
    changes: HashMap<String, usize>,
    /// The folders, and the checkpoints of calls there with how many requests there were by then.
    roots: Vec<PathBuf>,
    changed_at: Vec<(u64, usize)>,
    /// The log says what was undone; those of older versions do not.
    names_undone: bool,
    /// The line of the last event.
    line: u64,
    jobs: JobsOfProgram,
}

impl Reader {
    /// Takes the next event in; fails with why the recording cannot be followed beyond.
    fn take(&mut self, line: u64, record: &Record) -> Result<(), &'static str> {
        let last = std::mem::replace(&mut self.line, line);
        if line > last + 1 {
            let requests = self.recording.requests.len();
            self.recording.damaged_behind.get_or_insert(requests);
        }
        match &record.event {
            SessionEvent::Session(note) => self.note(line, note)?,
            SessionEvent::Turn(event) => self.turn_event(event)?,
            SessionEvent::Model(event) => self.model(line, event)?,
            SessionEvent::Call(event) => self.call(event),
            SessionEvent::Context(ContextEvent::Continued(continued)) => {
                if let Some(request) = self.request() {
                    request.continued = true;
                }
                self.continued(continued);
            }
            SessionEvent::Context(ContextEvent::Compacted(made)) => self.compacted(made),
        }
        Ok(())
    }

    fn continued(&mut self, continued: &Continuation) {
        if continued.cause == ContinuationCause::NotChecked {
            self.recording.has_receipts = true;
            self.recording.checks_asked.extend(continued.reason.clone());
        }
        match continued.cause {
            ContinuationCause::Failure => {
                let words = continued.reason.clone().unwrap_or_default();
                self.failed(ProviderErrorKind::Dropped, words);
            }
            ContinuationCause::NotChecked if self.without_receipts => {
                self.close(None);
                self.open(&continued.message);
            }
            ContinuationCause::NotChecked | ContinuationCause::OutputLimit => {}
        }
    }

    fn note(&mut self, line: u64, note: &SessionNote) -> Result<(), &'static str> {
        match note {
            SessionNote::SessionStarted { model, abilities, workspace, .. } => {
                workspace.clone_into(&mut self.roots);
                self.goes_on_with(model, abilities.clone().unwrap_or_default());
            }
            // What follows was done before the session went on.
            SessionNote::SessionResumed { .. } | SessionNote::Rewound { .. }
                if self.turn.is_some() =>
            {
                self.kill(line);
                return self.note(line, note);
            }
            SessionNote::ModelChanged { .. } if self.turn.is_some() => {
                return Err("another model was chosen in the middle of a turn");
            }
            SessionNote::SessionResumed { model, abilities, .. }
            | SessionNote::ModelChanged { model, abilities, .. } => {
                if let SessionNote::SessionResumed { workspace, .. } = note {
                    self.recording.inputs.push(Input::Resume(self.jobs.end()));
                    // In other folders checkpoints are counted anew.
                    if *workspace != self.roots {
                        workspace.clone_into(&mut self.roots);
                        self.changed_at.clear();
                    }
                }
                // Older versions do not say what another model can do.
                let abilities = abilities.clone().unwrap_or_else(|| self.abilities.clone());
                self.goes_on_with(model, abilities);
            }
            SessionNote::FilesUndone { by, of, idle, .. } => {
                self.names_undone = true;
                self.undone(RecordedUndo { by: *by, of: of.clone(), idle: idle.clone() });
            }
            SessionNote::Rewound { turns, .. } => self.recording.inputs.push(Input::Rewind(*turns)),
            SessionNote::CompactionUndone { .. } => {
                self.recording.inputs.push(Input::UndoCompaction);
            }
            SessionNote::FilesSeen { files, bytes } => {
                if let Some(request) = self.request() {
                    request.seen.take(files, bytes);
                }
            }
        }
        Ok(())
    }

    fn goes_on_with(&mut self, model: &str, abilities: Abilities) {
        if *model == *self.model && abilities == self.abilities {
            return;
        }
        model.clone_into(&mut self.model);
        self.abilities = abilities.clone();
        if self.recording.requests.is_empty() {
            model.clone_into(&mut self.recording.model);
            self.recording.abilities = abilities;
        } else {
            let model = model.to_owned();
            self.recording.inputs.push(Input::Model { model, abilities });
        }
    }

    fn turn_event(&mut self, event: &TurnEvent) -> Result<(), &'static str> {
        match event {
            TurnEvent::UserMessage { message, at_step: true, .. } => {
                if let Some(request) = self.request() {
                    request.said.push(message.clone());
                } else if let Some(turn) = &mut self.turn {
                    turn.said.push(message.clone());
                }
            }
            TurnEvent::UserMessage { .. } if self.turn.is_some() => {
                return Err("a turn began in the middle of another");
            }
            TurnEvent::UserMessage { message, .. } => {
                let is_undo = |block: &ContentBlock| match block {
                    ContentBlock::Text { text } => {
                        text.starts_with(UNDO_NEWS) && !text.starts_with(WENT_BACK)
                    }
                    _ => false,
                };
                let before = message.content.len().saturating_sub(1);
                if !self.names_undone && message.content.iter().take(before).any(is_undo) {
                    return Err("calls were undone in between, and the log does not say which");
                }
                self.open(message);
            }
            TurnEvent::TurnEnded { reason, receipt, .. } => {
                self.recording.has_receipts |= receipt.is_some();
                let run = receipt.iter().flat_map(|receipt| &receipt.checks);
                self.recording.checks_run.extend(run.map(|check| check.command.clone()));
                let is_cut = matches!(reason, EndReason::Cancelled | EndReason::TimeLimit);
                let last = self.request().filter(|_| is_cut);
                match last {
                    Some(last) if last.calls().next().is_none() => last.end = ReplyEnd::Cancelled,
                    Some(last) if last.hides_what_was_cut() => {
                        last.end = ReplyEnd::Open;
                        return Err("the turn was cancelled while a call ran");
                    }
                    _ => {}
                }
                self.close(Some(*reason));
            }
            TurnEvent::Notice { text } => {
                if let Some(why) = text.strip_prefix(NOT_SHORTER) {
                    self.summary(Err(why.to_owned()));
                }
            }
            TurnEvent::NoteToModel { .. } => {}
        }
        Ok(())
    }

    fn model(&mut self, line: u64, event: &ModelEvent) -> Result<(), &'static str> {
        let is_of_turn = !matches!(event, ModelEvent::RequestFailed { .. });
        if is_of_turn && self.turn.is_none() {
            return Err(UNREADABLE);
        }
        match event {
            ModelEvent::RequestSent { .. } => {
                let sent = Some(event.clone());
                let undone = self
                    .turn
                    .as_mut()
                    .map(|turn| std::mem::take(&mut turn.undone))
                    .unwrap_or_default();
                let request = Recorded { line, sent, undone, ..Recorded::default() };
                self.recording.requests.push(request);
            }
            ModelEvent::AssistantMessage { message, stop, usage, .. } => {
                if self.request().is_none_or(|request| request.message.is_some()) {
                    self.recording.requests.push(Recorded::default());
                }
                let Some(request) = self.request() else { return Ok(()) };
                (request.message, request.usage) = (Some(message.clone()), *usage);
                if let Some(stop) = stop {
                    request.end = ReplyEnd::Stopped(*stop);
                }
            }
            ModelEvent::RequestFailed { kind, message, .. } => self.failed(*kind, message.clone()),
        }
        Ok(())
    }

    fn call(&mut self, event: &CallEvent) {
        self.job(event);
        match event {
            CallEvent::CallDecided { rule, .. } => self.recording.rules.push(rule.clone()),
            CallEvent::CallChanged(changes) => {
                let by = self.recording.forbidden_by.entry(changes.call_id.clone()).or_default();
                by.extend(changes.forbidden.iter().map(|it| it.rule.clone()));
                let told = self.changes.entry(changes.call_id.clone()).or_default();
                let changed = (changes.call_id.clone(), *told);
                *told += 1;
                let requests = self.recording.requests.len();
                self.changed_at.extend(changes.checkpoint.map(|id| (id, requests)));
                self.recording.checkpoints.extend(changes.checkpoint.map(|id| (id, changed)));
            }
            _ => {}
        }
        let is_killed = self.killed_at.is_some();
        let Some(request) = self.request() else { return };
        match event {
            CallEvent::CallDecided { call_id, verdict, asked, .. } => {
                request.decided.insert(call_id.clone(), (*verdict, *asked));
            }
            // What a job changed after its call is not compared.
            CallEvent::CallChanged(changes) if !request.results.contains_key(&changes.call_id) => {
                request.changes.insert(changes.call_id.clone(), changes.clone());
            }
            CallEvent::ToolResult {
                call_id,
                content,
                is_error,
                images,
                cut_short,
                duration_ms,
                job,
                ..
            } => {
                request.took_ms.insert(call_id.clone(), *duration_ms);
                request.began_jobs.extend(job.map(|_| call_id.clone()));
                if *cut_short || is_killed {
                    request.cut_short.insert(call_id.clone());
                }
                let result = RecordedResult::new(content, *is_error, images);
                request.results.insert(call_id.clone(), result);
            }
            CallEvent::CallStarted { call, .. } => drop(request.started.insert(call.id.clone())),
            // What was refused stands in the result; how often a host was tried is not compared.
            CallEvent::CallChanged(_)
            | CallEvent::HostRefused { .. }
            | CallEvent::HostTried { .. }
            | CallEvent::WriteRefused { .. }
            | CallEvent::WallsRefused { .. } => {}
        }
    }

    /// Takes in that the program ended in the middle of the turn.
    fn kill(&mut self, line: u64) {
        let killed = Killed { line, summaries: self.recording.summaries.len() };
        if let Some(request) = self.request()
            && request.end == ReplyEnd::Open
        {
            request.end = ReplyEnd::Cancelled;
        }
        if let Some(turn) = &mut self.turn {
            (turn.killed, self.killed_at) = (Some(killed), Some(turn.first));
        }
        self.close(None);
    }

    /// The request that was made last in this turn.
    fn request(&mut self) -> Option<&mut Recorded> {
        let first = self.turn.as_ref().map(|turn| turn.first).or(self.killed_at)?;
        self.recording.requests.get_mut(first..)?.last_mut()
    }

    fn failed(&mut self, kind: ProviderErrorKind, words: String) {
        if let Some(request) = self.request()
            && request.end == ReplyEnd::Open
        {
            request.end = ReplyEnd::Failed(kind, words);
        }
    }

    fn open(&mut self, message: &Message) {
        let (message, first) = (message.clone(), self.recording.requests.len());
        let (said, undone) = (Vec::new(), Vec::new());
        self.turn = Some(OpenTurn { message, first, said, killed: None, undone });
        self.killed_at = None;
    }

    fn close(&mut self, ended: Option<EndReason>) {
        let Some(OpenTurn { message, first, said, killed, undone }) = self.turn.take() else {
            return;
        };
        let requests = first..self.recording.requests.len();
        let turn = RecordedTurn { requests, said, ended, killed };
        self.recording.inputs.push(Input::Prompt { message, turn });
        self.recording.inputs.extend(undone.into_iter().map(Input::Undo));
    }
}
