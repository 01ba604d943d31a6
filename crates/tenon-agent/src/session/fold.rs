//! The events of a branch become the conversation that the model was sent, message for message.
//!
//! What is missing because the log was cut short or damaged is made up for, so that the
//! conversation is always one that a provider takes: it begins with the person, and every call
//! has one result. Pure.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use tenon_model::{ContentBlock, Conversation, Image, Message, Role, ToolCall, ToolResult, Usage};
use tenon_sandbox::Workspace;

use super::{
    last_check::LastCheck,
    log_error::LogError,
    read::Session,
    recorder::Recorder,
    seen::{self, SeenNews},
};
use crate::{
    event::{
        CallChanges, CallEvent, Compaction, ContextEvent, ModelEvent, Record, SessionEvent,
        TurnEvent, View,
    },
    session_note::SessionNote,
};

/// How the results begin that are made up.
pub(super) const INTERRUPTED: &str = "interrupted before it ";
/// The result of a call that had begun when its process ended.
const INTERRUPTED_UNKNOWN: &str =
    "interrupted before it ended; what it did up to then is not known";
/// The same of a call of which it is known, which follows.
const INTERRUPTED_KNOWN: &str = "interrupted before it ended";
/// The result of a call that had not begun.
const NEVER_RAN: &str = "interrupted before it ran";
/// Stands where the person's first words are lost.
const BEGINNING_LOST: &str = "(the beginning of this conversation is lost)";
/// Stands for an image whose file is not beside the log any more, or was changed.
const IMAGE_LOST: &str = "(an image was here, whose file is lost)";
/// Stands for an image in a conversation with a model that sees none.
const IMAGE_LEFT_OUT: &str = "(an image was here, which this model cannot see)";

/// What a session goes on with.
#[derive(Debug, Default)]
pub(crate) struct Restored {
    pub conversation: Conversation,
    /// What the model has seen of files.
    seen: BTreeMap<String, String>,
    /// The folder in which it saw them; empty where nobody knows.
    folder: PathBuf,
    /// Results of calls that were cut short; to be logged before the session goes on.
    pub cut_short: Vec<CallEvent>,
    /// Whether the last turn has no end.
    pub is_turn_open: bool,
    /// Whether old messages were replaced by less.
    pub is_shortened: bool,
    /// The model that was asked last, as far as the branch says.
    pub model: Arc<str>,
    /// What the provider counted of the conversation as it was before old messages were replaced.
    pub counted_before: Option<(Conversation, Usage)>,
    /// What it counted last, of so many messages of the conversation.
    pub counted: Option<(usize, Usage)>,
    /// The command line of the check that ran last.
    pub last_check: Option<String>,
}

/// Takes in events one after another.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    messages: Vec<Said>,
    /// Calls of the last reply, until all are answered.
    calls: Vec<ToolCall>,
    started: HashSet<String>,
    results: HashMap<String, ToolResult>,
    notes: Vec<String>,
    model: Arc<str>,
    seen: BTreeMap<String, String>,
    /// The first folder that the session works in by now.
    folder: PathBuf,
    is_turn_open: bool,
    is_shortened: bool,
    /// What calls had changed that were cut short, in a line each.
    changed: HashMap<String, String>,
    counted_before: Option<(Conversation, Usage)>,
    /// What a model counted for the request of so many messages that it answered last.
    counted: Option<(usize, Usage, Arc<str>)>,
    last_check: LastCheck,
}

/// A message and the model that was talked to.
#[derive(Debug)]
struct Said {
    message: Arc<Message>,
    model: Arc<str>,
}

impl Restored {
    /// Returns what a session goes on with that `model` is asked from now on.
    pub(crate) fn of(session: &Session, model: &str, sees_images: bool) -> Self {
        Self::with_changes(session, model, sees_images, HashMap::new())
    }

    /// Does the same; `changed` says in a line what calls had changed that were cut short.
    pub(crate) fn with_changes(
        session: &Session,
        model: &str,
        sees_images: bool,
        changed: HashMap<String, String>,
    ) -> Self {
        let mut fold = Fold { changed, ..Fold::default() };
        session.branch().for_each(|record| fold.take(record));
        let cut_short = fold.answer_calls();
        let messages = fold.messages.into_iter();
        let count = messages.len();
        let fit: Conversation =
            messages.filter_map(|said| said.fit_for(model, sees_images)).collect();
        let conversation = valid(fit);
        // Of messages that were sent otherwise nothing is known.
        let is_as_sent = conversation.len() == count;
        let counted = fold.counted.filter(|(_, _, by)| is_as_sent && **by == *model);
        Self {
            conversation,
            counted: counted.map(|(sent, usage, _)| (sent, usage)),
            counted_before: fold.counted_before,
            seen: fold.seen,
            folder: fold.folder,
            cut_short,
            is_turn_open: fold.is_turn_open,
            is_shortened: fold.is_shortened,
            model: fold.model,
            last_check: fold.last_check.command(),
        }
    }

    /// Logs what makes the log whole again, `changed` by calls that were cut short among it, and
    /// tells the person.
    pub(crate) fn mend(
        &self,
        skipped: usize,
        changed: Vec<CallChanges>,
        recorder: &Recorder,
    ) -> Result<(), LogError> {
        let changed = changed.into_iter().map(CallEvent::CallChanged);
        changed
            .chain(self.cut_short.iter().cloned())
            .try_for_each(|event| recorder.record(event))?;
        let mut notices = Vec::new();
        if self.is_turn_open {
            notices.push(match self.cut_short.len() {
                0 => "the last turn was cut short".to_owned(),
                1 => "the last turn was cut short; the model is told of 1 call of it".to_owned(),
                n => format!("the last turn was cut short; the model is told of {n} calls of it"),
            });
        }
        if skipped > 0 {
            notices.push(match skipped {
                1 => "1 line of the log is left out: damaged, or of another version of tenon"
                    .to_owned(),
                n => format!(
                    "{n} lines of the log are left out: damaged, or of another version of tenon"
                ),
            });
        }
        notices.into_iter().try_for_each(|text| recorder.record(TurnEvent::Notice { text }))
    }

    /// Returns what was restored of what the model has seen alone.
    pub(crate) fn of_seen(seen: BTreeMap<String, String>) -> Self {
        Self { seen, ..Self::default() }
    }

    /// Whether the conversation was about `workspace`, as far as anybody knows.
    pub(crate) fn is_of(&self, workspace: &Workspace) -> bool {
        self.folder.as_os_str().is_empty() || self.folder == *workspace.root()
    }

    /// Has `workspace` take back what is seen in it, and returns that: nothing of another folder.
    pub(crate) fn see_in(&self, workspace: &Workspace) -> SeenNews {
        let seen = if self.is_of(workspace) { self.seen.clone() } else { BTreeMap::new() };
        workspace.restore_seen(seen::restored(&seen));
        SeenNews::after(seen)
    }
}

impl Fold {
    pub(crate) fn take(&mut self, record: &Record) {
        self.last_check.take(&record.event);
        match &record.event {
            SessionEvent::Turn(event) => self.turn(event),
            SessionEvent::Call(CallEvent::CallStarted { call, .. }) => {
                self.started.insert(call.id.clone());
            }
            SessionEvent::Call(CallEvent::ToolResult {
                call_id,
                content,
                is_error,
                images,
                ..
            }) => {
                let (call_id, content) = (call_id.clone(), content.clone());
                let (is_error, images) = (*is_error, images.clone());
                let result = ToolResult { call_id, content, is_error, images };
                self.results.insert(result.call_id.clone(), result);
            }
            SessionEvent::Model(ModelEvent::AssistantMessage { message, usage, .. }) => {
                self.answer_calls();
                if self.messages.is_empty() {
                    self.push(Message::user(BEGINNING_LOST));
                }
                self.calls = message.tool_calls().cloned().collect();
                // A provider would not take one that is empty.
                if !message.content.is_empty() {
                    if usage.input_all() > 0 {
                        self.counted = Some((self.messages.len(), *usage, Arc::clone(&self.model)));
                    }
                    self.push(message.clone());
                }
            }
            SessionEvent::Session(
                SessionNote::SessionStarted { model, workspace, .. }
                | SessionNote::SessionResumed { model, workspace, .. },
            ) => {
                self.model = model.as_str().into();
                if let Some(folder) = workspace.first().filter(|folder| **folder != self.folder) {
                    // By the same names there are other files.
                    self.seen.clear();
                    self.folder.clone_from(folder);
                }
                // Whoever resumed it was told.
                self.is_turn_open = false;
            }
            SessionEvent::Session(SessionNote::ModelChanged { model, .. }) => {
                self.model = model.as_str().into();
            }
            SessionEvent::Session(SessionNote::FilesSeen { files, .. }) => {
                self.seen.extend(files.clone());
            }
            SessionEvent::Context(ContextEvent::Continued(continuation)) => {
                self.answer_calls();
                self.push(continuation.message.clone());
            }
            SessionEvent::Context(ContextEvent::Compacted(compaction)) => {
                self.shorten(compaction);
            }
            // What a person decided and what failed is not said to the model.
            _ => {}
        }
    }

    fn turn(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::UserMessage { message, .. } => {
                self.answer_calls();
                self.push(message.clone());
                self.is_turn_open = true;
            }
            TurnEvent::NoteToModel { text } => self.notes.push(text.clone()),
            TurnEvent::TurnEnded { .. } => {
                self.answer_calls();
                self.is_turn_open = false;
            }
            TurnEvent::Notice { .. } => {}
        }
    }

    fn shorten(&mut self, compaction: &Compaction) {
        let whole = self.conversation();
        let counted = self
            .counted
            .take()
            .and_then(|(sent, usage, _)| Some((whole.get(..sent)?.to_vec(), usage)));
        self.counted_before = counted.or(self.counted_before.take());
        let shorter = compaction.applied_to(&whole);
        let first = compaction.messages.len();
        let models = self.messages.iter().skip(compaction.replaced).map(|said| &said.model);
        let models: Vec<Arc<str>> =
            std::iter::repeat_n(&self.model, first).chain(models).cloned().collect();
        let said = shorter.into_iter().zip(models).map(|(message, model)| Said { message, model });
        self.messages = said.collect();
        self.is_shortened = true;
    }

    /// Returns what the model has seen of files.
    pub(crate) fn into_seen(self) -> BTreeMap<String, String> {
        self.seen
    }

    /// Returns the conversation as it was sent with a request that is made now.
    pub(crate) fn conversation(&mut self) -> Conversation {
        self.answer_calls();
        self.messages.iter().map(|said| Arc::clone(&said.message)).collect()
    }

    fn push(&mut self, message: Message) {
        self.messages.push(Said { message: Arc::new(message), model: Arc::clone(&self.model) });
    }

    /// Closes the last reply, and returns the results that are made up because there are none.
    fn answer_calls(&mut self) -> Vec<CallEvent> {
        let calls = std::mem::take(&mut self.calls);
        let (mut found, started) =
            (std::mem::take(&mut self.results), std::mem::take(&mut self.started));
        let notes = std::mem::take(&mut self.notes);
        let (mut results, mut made_up) = (Vec::new(), Vec::new());
        for call in &calls {
            let result = found.remove(&call.id).unwrap_or_else(|| {
                let words = match self.changed.get(&call.id) {
                    _ if !started.contains(&call.id) => NEVER_RAN.to_owned(),
                    None => INTERRUPTED_UNKNOWN.to_owned(),
                    Some(changed) => format!("{INTERRUPTED_KNOWN}\n[changes] {changed}"),
                };
                made_up.push(CallEvent::ToolResult {
                    call_id: call.id.clone(),
                    content: words.clone(),
                    is_error: true,
                    images: Vec::new(),
                    view: View::text(&words),
                    duration_ms: 0,
                    cut_short: true,
                    job: None,
                });
                let (call_id, content) = (call.id.clone(), words);
                ToolResult { call_id, content, is_error: true, images: Vec::new() }
            });
            results.push(result);
        }
        if !calls.is_empty() {
            self.push(results_message(results, notes));
        }
        made_up
    }
}

impl Said {
    /// Returns the message as it goes to `model`, which another one may have been before: what a
    /// model thought is signed for itself, and servers refuse what another signed.
    fn fit_for(self, model: &str, sees_images: bool) -> Option<Arc<Message>> {
        let is_other = *self.model != *model;
        let is_gone = |image: &Image| image.data.is_empty() || (is_other && !sees_images);
        let left_out = |block: &ContentBlock| match block {
            ContentBlock::Thinking(_) => is_other,
            ContentBlock::Image(image) => is_gone(image),
            ContentBlock::ToolResult(result) => result.images.iter().any(is_gone),
            _ => false,
        };
        if !self.message.content.iter().any(left_out) {
            return Some(self.message);
        }
        let content = self.message.content.iter().filter_map(|block| match block {
            ContentBlock::Thinking(_) if left_out(block) => None,
            ContentBlock::Image(image) if left_out(block) => {
                let words = if image.data.is_empty() { IMAGE_LOST } else { IMAGE_LEFT_OUT };
                Some(ContentBlock::Text { text: words.to_owned() })
            }
            ContentBlock::ToolResult(result) if left_out(block) => {
                let mut result = result.clone();
                result.images.retain(|image| !is_gone(image));
                Some(ContentBlock::ToolResult(result))
            }
            block => Some(block.clone()),
        });
        let message = Message { role: self.message.role, content: content.collect() };
        (!message.content.is_empty()).then(|| Arc::new(message))
    }
}

/// Returns `conversation` with one result for every call and none that nobody asked for. It has no
/// other unless a line is lost that a compaction counted on.
fn valid(conversation: Conversation) -> Conversation {
    let mut whole = Conversation::with_capacity(conversation.len());
    let mut open: Vec<String> = Vec::new();
    for mut message in conversation {
        let is_asked_for = |block: &ContentBlock| match block {
            ContentBlock::ToolResult(result) => open.contains(&result.call_id),
            _ => true,
        };
        if !message.content.iter().all(is_asked_for) {
            Arc::make_mut(&mut message).content.retain(is_asked_for);
        }
        open.retain(|id| {
            !message.content.iter().any(
                |block| matches!(block, ContentBlock::ToolResult(result) if result.call_id == *id),
            )
        });
        if !open.is_empty() {
            let lost = open.drain(..).map(|call_id| {
                let content = INTERRUPTED_UNKNOWN.to_owned();
                ToolResult { call_id, content, is_error: true, images: Vec::new() }
            });
            let lost = results_message(lost.collect(), Vec::new());
            match message.role {
                Role::User => {
                    Arc::make_mut(&mut message).content.splice(0..0, lost.content).for_each(drop)
                }
                Role::Assistant => whole.push(Arc::new(lost)),
            }
        }
        open.extend(message.tool_calls().map(|call| call.id.clone()));
        if !message.content.is_empty() {
            whole.push(message);
        }
    }
    whole
}

/// Returns the user message that answers all calls of a reply, with notes behind them if there
/// are any.
pub(crate) fn results_message(results: Vec<ToolResult>, notes: Vec<String>) -> Message {
    let notes = notes.into_iter().map(|text| ContentBlock::Text { text });
    let content = results.into_iter().map(ContentBlock::ToolResult).chain(notes).collect();
    Message { role: Role::User, content }
}

#[cfg(test)]
mod tests;
