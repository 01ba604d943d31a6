//! What happens in a session: the log stores it, the screen draws it, stream-json prints it.
//!
//! One enum per room, wrapped in [`SessionEvent`]. Every event has a `type` of its own in JSON,
//! so that a reader needs no second look-up; unknown types are skipped when a log is read.
//! Deltas and progress are [`Live`]: shown as they come and never stored.

mod changes;
mod context;
mod images;
mod live;
mod receipt;
mod request;
mod view;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenon_model::{Image, Message, ProviderError, ProviderErrorKind, StopReason, ToolCall, Usage};
use tenon_sandbox::HostTried;

pub use self::changes::{
    CallChanges, FileChange, FileChangeKind, ForbiddenChange, NotSaved, OutwardLink,
};
pub use self::context::{
    Compaction, CompactionCause, ContextEvent, Continuation, ContinuationCause, ShorterResult,
};
pub use self::live::Live;
pub use self::receipt::{CheckRun, Receipt, Unproven, Verification};
pub use self::request::RequestForm;
pub use self::view::{View, own_lines_at_end};
use crate::{policy::Verdict, session_note::SessionNote};

/// The version of the log's format, in its first line.
///
/// ```
/// use tenon_agent::LOG_VERSION;
///
/// let first = r#"{"time_ms":5,"type":"session_started","version":7}"#;
/// let first: serde_json::Value = serde_json::from_str(first)?;
/// let is_newer = first["version"].as_u64() > Some(u64::from(LOG_VERSION));
/// assert!(is_newer, "lines of a newer format may mean anything");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub const LOG_VERSION: u32 = 1;

/// What a front end is told.
///
/// ```
/// use tenon_agent::{Live, Update};
///
/// fn is_shown_at_once(update: &Update) -> bool {
///     match update {
///         Update::Stored(_) => false,
///         Update::Live(_) => true,
///     }
/// }
///
/// assert!(is_shown_at_once(&Update::Live(Live::Progress("Loading the model".into()))));
/// ```
#[derive(Debug, Clone)]
pub enum Update {
    /// An event that is in the log already.
    Stored(Arc<Record>),
    /// Something to show now that is not kept.
    Live(Live),
}

/// A session event with its time, as it stands in the log.
///
/// A line of the log, and of `stream-json` output, is one record:
///
/// ```
/// use tenon_agent::{Record, TurnEvent};
///
/// let line = r#"{"time_ms":1767225600000,"type":"notice","text":"The file was cut."}"#;
/// let record: Record = serde_json::from_str(line)?;
/// assert_eq!(record.event, TurnEvent::Notice { text: "The file was cut.".into() }.into());
/// assert_eq!(serde_json::to_string(&record)?, line);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Milliseconds since 1970 in UTC.
    pub time_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: SessionEvent,
}

/// An event of a session, by the room that it comes from.
///
/// ```
/// use tenon_agent::{CallEvent, SessionEvent, TurnEvent};
///
/// /// Returns the line that a log viewer shows for `event`.
/// fn line(event: &SessionEvent) -> Option<String> {
///     match event {
///         SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => Some(format!("> {prompt}")),
///         SessionEvent::Turn(TurnEvent::Notice { text }) => Some(format!("({text})")),
///         SessionEvent::Call(CallEvent::CallStarted { call, subject }) => {
///             Some(format!("{} {subject}", call.name))
///         }
///         _ => None,
///     }
/// }
///
/// let event = TurnEvent::Notice { text: "One file was left out.".into() };
/// assert_eq!(line(&event.into()).as_deref(), Some("(One file was left out.)"));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SessionEvent {
    /// Of the session as a whole.
    Session(SessionNote),
    /// Of a turn.
    Turn(TurnEvent),
    /// Of a model request.
    Model(ModelEvent),
    /// Of a tool call.
    Call(CallEvent),
    /// Of the conversation as the model sees it.
    Context(ContextEvent),
}

/// Events of a turn.
///
/// ```
/// use tenon_agent::TurnEvent;
///
/// let event = serde_json::from_str(
///     r#"{"type":"turn_ended","reason":"finished","answer":"Done.","usage":{"input":900,
///         "output":12},"steps":3,"duration_ms":4100}"#,
/// )?;
/// if let TurnEvent::TurnEnded { answer, usage, steps, .. } = event {
///     let line = format!("{answer} ({steps} steps, {} tokens)", usage.input_all() + usage.output);
///     assert_eq!(line, "Done. (3 steps, 912 tokens)");
/// }
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// The person said something; a turn begins, or goes on with it.
    UserMessage {
        /// What the model is sent: instructions and attached context first, the prompt last.
        message: Message,
        /// The prompt alone, as the person wrote it.
        prompt: String,
        /// What was put in front of the prompt, one line each, for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<String>,
        /// Whether it was said in the middle of a turn, which goes on with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        at_step: bool,
    },
    /// The harness said something to the person: a cut.
    Notice {
        /// One sentence.
        text: String,
    },
    /// The harness says something to the model, behind the results of its calls: a nudge.
    NoteToModel {
        /// What the model reads.
        text: String,
    },
    /// Control is back with the user.
    TurnEnded {
        /// Why.
        reason: EndReason,
        /// The last text of the model: the answer.
        answer: String,
        /// Tokens of the whole turn.
        usage: Usage,
        /// US dollars, where the model's price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Model requests made.
        steps: u32,
        /// From prompt to end, in milliseconds.
        duration_ms: u64,
        /// Whether what was changed was checked; missing if nothing was changed or checked, or if
        /// the project has no check that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Receipt>,
        /// The walls that its commands had, as `--sandbox` names them, once a first one ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<String>,
    },
}

/// Events of a model request.
///
/// ```
/// use tenon_agent::ModelEvent;
/// use tenon_model::ProviderErrorKind;
///
/// let event = ModelEvent::RequestFailed {
///     kind: ProviderErrorKind::Unauthorized,
///     message: "invalid x-api-key".into(),
///     hint: Some("check ANTHROPIC_API_KEY".into()),
/// };
/// if let ModelEvent::RequestFailed { message, hint: Some(hint), .. } = event {
///     assert_eq!(format!("{message}; {hint}"), "invalid x-api-key; check ANTHROPIC_API_KEY");
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModelEvent {
    /// A request is made. The hashes tell which part of it is as in the request before, and so
    /// what a cache can hold.
    RequestSent {
        /// Hash of the system prompt.
        system: String,
        /// Hash of the tools.
        tools: String,
        /// How many messages are sent.
        messages: usize,
        /// Hash of the messages.
        hash: String,
        /// How it is sent; logs of older versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<RequestForm>,
    },
    /// A reply is over.
    AssistantMessage {
        /// What the model said, whole and unchanged; only its text if it was cut short. Calls that
        /// it had begun are dropped and never ran.
        message: Message,
        /// Why it stopped; missing if it was cut short by the person or a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<StopReason>,
        /// Tokens of this request.
        usage: Usage,
        /// Tokens of attempts at it that broke off before anything was said, so that it was made again.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        retried: Usage,
        /// From the request to the end of the reply, in milliseconds.
        duration_ms: u64,
    },
    /// No reply could be had.
    RequestFailed {
        /// What kind of failure it was.
        kind: ProviderErrorKind,
        /// One sentence, with the server's own words where it had some.
        message: String,
        /// What to do about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

/// Events of a tool call.
///
/// ```
/// use tenon_agent::{CallEvent, View};
///
/// let result = CallEvent::ToolResult {
///     call_id: "call_1".into(),
///     content: "2 passed".into(),
///     is_error: false,
///     images: Vec::new(),
///     view: View::text("2 passed"),
///     duration_ms: 840,
///     cut_short: false,
///     job: None,
/// };
/// if let CallEvent::ToolResult { call_id, is_error, duration_ms, .. } = &result {
///     let word = if *is_error { "failed" } else { "done" };
///     assert_eq!(format!("{call_id} {word} in {duration_ms} ms"), "call_1 done in 840 ms");
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CallEvent {
    /// The policy decided, and a person where one was asked; there is none where the mode alone allowed
    /// the call. What follows is the call itself.
    CallDecided {
        /// The call.
        call_id: String,
        /// What was decided in the end.
        verdict: Verdict,
        /// The rule that decided, or because of which a person was asked.
        rule: String,
        /// Whether a person was asked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asked: bool,
        /// What to give on the command line so that the same call is allowed, where it was refused
        /// because nobody could be asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flag: Option<String>,
    },
    /// A command could not reach a host, and nobody could be asked about it, or nobody is.
    HostRefused {
        /// The call.
        call_id: String,
        /// The host.
        host: String,
        /// The rule that denies it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// What to give on the command line so that it is reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flag: Option<String>,
    },
    /// Commands tried a host: once for each call, host and port, before the call's result; for what is
    /// not known to be of a call, or is of a job, behind the results of a reply's calls, before a prompt,
    /// or at the end of the jobs.
    HostTried {
        /// The call whose command, or whose job, was the one that ran; missing where more than one ran,
        /// or none any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// The host; missing for all those that are too many to be told apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The port, if there is a host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// How often a connection was made.
        #[serde(default, skip_serializing_if = "is_zero")]
        reached: u64,
        /// How often none could be made, or what answered was no HTTP.
        #[serde(default, skip_serializing_if = "is_zero")]
        failed: u64,
        /// How often it was not let through.
        #[serde(default, skip_serializing_if = "is_zero")]
        blocked: u64,
        /// Why, the last time that it failed or was not let through.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A command could not write a protected file, or wrote it, so that it was put back, and nobody could
    /// be asked about it.
    WriteRefused {
        /// The call.
        call_id: String,
        /// The file.
        path: String,
        /// What to give on the command line so that it stays as the command wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flag: Option<String>,
    },
    /// The walls refused a command something that nobody is asked about.
    WallsRefused {
        /// The call.
        call_id: String,
        /// Which wall, as the result says (`files`, `rights`, `limits` and the like); missing for system calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wall: Option<String>,
        /// What was refused, for people.
        what: String,
        /// What to give on the command line so that it is allowed; missing where no flag would.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flag: Option<String>,
    },
    /// The call begins.
    CallStarted {
        /// The call, as the model wrote it.
        call: ToolCall,
        /// Its main argument, for people.
        subject: String,
    },
    /// Something is not as it was before the call. A command that went on in the background says so
    /// once it has ended.
    CallChanged(CallChanges),
    /// The call is answered.
    ToolResult {
        /// The call.
        call_id: String,
        /// What the model reads.
        content: String,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// Pictures that the model sees with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// How people see it.
        view: View,
        /// From start to answer, in milliseconds.
        duration_ms: u64,
        /// Whether it came when the turn was being cancelled: the call may not have been let to its
        /// end, or not have begun.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_short: bool,
        /// The number of the job that it began, if it did: a command that went on in the background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<u32>,
    },
}

/// Why a turn ended.
///
/// ```
/// use tenon_agent::EndReason;
///
/// fn exit_code(reason: EndReason) -> u8 {
///     match reason {
///         EndReason::Finished => 0,
///         EndReason::Cancelled => 130,
///         _ => 1,
///     }
/// }
///
/// assert_eq!(exit_code(EndReason::StepLimit), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The model was done.
    Finished,
    /// The reply was cut by the output limit.
    OutputLimit,
    /// The model or its provider refused.
    Refusal,
    /// The turn's limit of steps was reached.
    StepLimit,
    /// The turn's limit of tokens was reached.
    TokenLimit,
    /// The turn's limit of money was reached.
    CostLimit,
    /// The turn's time was over.
    TimeLimit,
    /// The person cancelled.
    Cancelled,
    /// The model repeated itself without getting anywhere.
    LoopGuard,
    /// No reply could be had from the provider.
    ProviderFailed,
    /// The session could not be kept: in no log, since that could not be written.
    LogFailed,
}

impl From<HostTried> for CallEvent {
    fn from(tried: HostTried) -> Self {
        let HostTried { caller, host, reached, failed, blocked, reason } = tried;
        let (host, port) = host.unzip();
        let call_id = caller.as_deref().map(str::to_owned);
        Self::HostTried { call_id, host, port, reached, failed, blocked, reason }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ModelEvent {
    /// Returns the event for a request that failed with `error`.
    pub(crate) fn failed(error: ProviderError) -> Self {
        Self::RequestFailed { kind: error.kind, message: error.message, hint: error.hint }
    }
}

impl From<SessionNote> for SessionEvent {
    fn from(event: SessionNote) -> Self {
        Self::Session(event)
    }
}

impl From<ContextEvent> for SessionEvent {
    fn from(event: ContextEvent) -> Self {
        Self::Context(event)
    }
}

impl From<TurnEvent> for SessionEvent {
    fn from(event: TurnEvent) -> Self {
        Self::Turn(event)
    }
}

impl From<ModelEvent> for SessionEvent {
    fn from(event: ModelEvent) -> Self {
        Self::Model(event)
    }
}

impl From<CallEvent> for SessionEvent {
    fn from(event: CallEvent) -> Self {
        Self::Call(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_flat_object_with_time_and_type() {
        let record = Record {
            time_ms: 5,
            event: CallEvent::ToolResult {
                call_id: "a".into(),
                content: "b".into(),
                is_error: false,
                images: Vec::new(),
                view: View::text("b"),
                duration_ms: 1,
                cut_short: false,
                job: None,
            }
            .into(),
        };
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(
            json,
            r#"{"time_ms":5,"type":"tool_result","call_id":"a","content":"b","view":{"shape":"text","text":"b","lines":1},"duration_ms":1}"#
        );
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }

    #[test]
    fn an_unknown_event_is_an_error_that_a_reader_can_skip() {
        assert!(serde_json::from_str::<Record>(r#"{"time_ms":5,"type":"later"}"#).is_err());
    }
}
