//! Data on standard output: one object at the end, or each session event as a line.
//!
//! The same JSON as in the log; what a terminal would obey is escaped, which changes no value.

use std::{error::Error, fmt::Write};

use serde::Serialize;
use tenon_agent::{
    CallEvent, EndReason, LogError, Receipt, Record, TurnEvent, TurnOutcome, Verdict,
};
use tenon_model::{ProviderErrorKind, Usage, visible};

use crate::{
    error::CliError,
    masked::masked,
    texts::{Language, Text},
};

/// What `--output-format json` prints.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "result")]
pub(crate) struct ResultObject<'a> {
    /// The last text of the model.
    result: &'a str,
    stop_reason: EndReason,
    usage: Usage,
    /// US dollars; null where the price is not known.
    cost: Option<f64>,
    steps: u32,
    session_id: &'a str,
    /// The session that this one left; null if it is no fork.
    forked_from: Option<&'a str>,
    duration_ms: u64,
    /// Whether what was changed was checked; null if nothing was.
    receipt: Option<&'a Receipt>,
    /// The walls of commands; null if none ran.
    sandbox: Option<&'a str>,
    /// What was refused without asking anybody.
    refused: &'a [Refused],
    /// Why no reply could be had or the session not be kept; null if both could.
    error: Option<&'a Failure>,
}

/// Why no reply could be had, or the session not be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    pub kind: FailureKind,
    pub message: String,
    pub hint: Option<String>,
}

/// Which session a result is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Of {
    /// Empty if none could begin.
    pub session_id: String,
    /// The session that it left, if it is a fork.
    pub forked_from: Option<String>,
}

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum FailureKind {
    /// A request.
    Request(ProviderErrorKind),
    /// Something else, which has this name.
    Other(&'static str),
}

impl Failure {
    /// Returns why a session cannot be kept.
    fn of_log(error: &LogError) -> Self {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let hint = error
            .broken_session()
            .map(|id| Text::HintLogBroken.say(Language::English, &[("id", &id)]));
        Self { kind: FailureKind::Other("log"), message: masked(format!("{error}{cause}")), hint }
    }
}

/// A call that was refused without asking anybody, or what it did not get: a host, system calls, a
/// protected file as it wrote it, a file that a denial of writing speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Refused {
    call_id: String,
    /// The tool's name; `host` for a host, `system call` for what a command asked the kernel for,
    /// `walls` for what else they refused it,
    /// `protected file` for one that a command wrote, `file` for one that a denial kept from it.
    tool: String,
    /// What it would have touched.
    subject: String,
    /// The rule that decided.
    rule: String,
    /// What to give on the command line so that it is allowed; null if nothing allows it.
    flag: Option<String>,
}

/// The refused calls of a turn, from its events.
#[derive(Debug, Default)]
pub(crate) struct RefusedCalls {
    /// Calls without an answer: id, tool, subject.
    open: Vec<(String, String, String)>,
    refused: Vec<Refused>,
}

/// More are not listed: a model that goes on so has been told often enough.
const REFUSED_MAX: usize = 1_000;

impl RefusedCalls {
    /// Takes in what happened to a call.
    pub(crate) fn take_in(&mut self, event: &CallEvent) {
        match event {
            CallEvent::CallStarted { call, subject } => {
                self.open.push((call.id.clone(), call.name.clone(), subject.clone()));
            }
            CallEvent::ToolResult { call_id, .. } => self.open.retain(|(id, ..)| id != call_id),
            CallEvent::CallDecided {
                call_id,
                verdict: Verdict::Deny,
                rule,
                asked: false,
                flag,
            } => {
                let open = self.open.iter().find(|(id, ..)| id == call_id).cloned();
                let (call_id, tool, subject) = open.unwrap_or_default();
                let (rule, flag) = (rule.clone(), flag.clone());
                self.add(Refused { call_id, tool, subject, rule, flag });
            }
            CallEvent::HostRefused { call_id, host, rule, flag } => self.add(Refused {
                call_id: call_id.clone(),
                tool: "host".into(),
                subject: host.clone(),
                rule: rule.clone().unwrap_or_else(|| "walls: network".into()),
                flag: flag.clone(),
            }),
            CallEvent::WriteRefused { call_id, path, flag } => self.add(Refused {
                call_id: call_id.clone(),
                tool: "protected file".into(),
                subject: path.clone(),
                rule: "built-in: protected file".into(),
                flag: flag.clone(),
            }),
            CallEvent::WallsRefused { call_id, wall, what, flag } => self.add(Refused {
                call_id: call_id.clone(),
                tool: if wall.is_some() { "walls" } else { "system call" }.into(),
                subject: what.clone(),
                rule: format!("walls: {}", wall.as_deref().unwrap_or("system calls")),
                flag: flag.clone(),
            }),
            CallEvent::CallChanged(changes) => changes.forbidden.iter().for_each(|it| {
                self.add(Refused {
                    call_id: changes.call_id.clone(),
                    tool: "file".into(),
                    subject: it.path.clone(),
                    rule: it.rule.clone(),
                    flag: None,
                });
            }),
            CallEvent::CallDecided { .. } | CallEvent::HostTried { .. } => {}
        }
    }

    /// Returns them in their order.
    pub(crate) fn list(&self) -> &[Refused] {
        &self.refused
    }

    fn add(&mut self, refused: Refused) {
        if self.refused.len() < REFUSED_MAX {
            self.refused.push(refused);
        }
    }
}

/// Returns the object for `outcome` as one line.
pub(crate) fn result(
    outcome: &TurnOutcome,
    of: &Of,
    refused: &[Refused],
    error: Option<&Failure>,
) -> Result<String, serde_json::Error> {
    line(&ResultObject {
        result: &outcome.answer,
        stop_reason: outcome.reason,
        usage: outcome.usage,
        cost: outcome.cost,
        steps: outcome.steps,
        session_id: &of.session_id,
        forked_from: of.forked_from.as_deref(),
        duration_ms: outcome.duration_ms,
        receipt: outcome.receipt.as_ref(),
        sandbox: outcome.sandbox.as_deref(),
        refused,
        error,
    })
}

/// Returns the object for a turn that ended because its session could not be kept, as one line.
pub(crate) fn not_kept(
    error: &LogError,
    of: &Of,
    refused: &[Refused],
) -> Result<String, serde_json::Error> {
    result(&outcome_of(error), of, refused, Some(&Failure::of_log(error)))
}

/// Returns the same as an event, which no log has.
pub(crate) fn end_not_kept(error: &LogError) -> Result<String, serde_json::Error> {
    let TurnOutcome { reason, answer, usage, cost, steps, duration_ms, receipt, sandbox } =
        outcome_of(error);
    let event =
        TurnEvent::TurnEnded { reason, answer, usage, cost, steps, duration_ms, receipt, sandbox };
    let time_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    record(&Record { time_ms, event: event.into() })
}

/// Returns how the turn was; without any there was nothing to it.
fn outcome_of(error: &LogError) -> TurnOutcome {
    error.outcome().cloned().unwrap_or_else(|| TurnOutcome {
        reason: EndReason::LogFailed,
        answer: String::new(),
        usage: Usage::default(),
        cost: None,
        steps: 0,
        duration_ms: 0,
        receipt: None,
        sandbox: None,
    })
}

/// Returns `record` as one line.
pub(crate) fn record(record: &Record) -> Result<String, serde_json::Error> {
    line(record)
}

fn line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut line = escaped(serde_json::to_string(value)?);
    line.push('\n');
    Ok(line)
}

/// Returns `value` as a person reads JSON, over several lines, without an end of the last one.
pub(crate) fn pretty(value: &impl Serialize) -> Result<String, CliError> {
    let json = serde_json::to_string_pretty(value)
        .map_err(|error| CliError::failed(Text::NotJson).with_source(error))?;
    Ok(escaped(json))
}

/// Writes what would not print as itself in JSON's own escapes. Outside of strings JSON has no
/// such characters.
fn escaped(json: String) -> String {
    if matches!(visible(&json), std::borrow::Cow::Borrowed(_)) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        let mut bytes = [0; 4];
        match visible(character.encode_utf8(&mut bytes)) {
            std::borrow::Cow::Borrowed(_) => safe.push(character),
            std::borrow::Cow::Owned(_) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(safe, "\\u{unit:04x}");
                }
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_change_no_value_and_leave_nothing_to_obey() {
        let text = "汉 \u{1b}[31m \u{9b}2J \u{7f} \u{202e}x \u{e0041} 👨‍👩‍👧\n";
        let line = line(&text).unwrap();
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        assert_eq!(visible(&line), line.as_str());
        assert!(line.contains("汉") && line.contains("👨‍👩‍👧"));
        let pretty = pretty(&[text]).unwrap();
        assert_eq!(serde_json::from_str::<[String; 1]>(&pretty).unwrap(), [text]);
        assert_eq!((visible(&pretty), pretty.lines().count()), (pretty.as_str().into(), 3));
    }

    #[test]
    fn the_object_has_every_field_of_the_documentation() {
        let outcome = TurnOutcome {
            reason: EndReason::Finished,
            answer: "done".into(),
            usage: Usage { input: 1, output: 2, cache_read: 3, cache_write: 4 },
            cost: None,
            steps: 1,
            duration_ms: 5,
            receipt: None,
            sandbox: Some("a".into()),
        };
        let of = Of { session_id: "id".into(), forked_from: Some("other".into()) };
        assert_eq!(
            result(&outcome, &of, &[], None).unwrap(),
            concat!(
                r#"{"type":"result","result":"done","stop_reason":"finished","#,
                r#""usage":{"input":1,"output":2,"cache_read":3,"cache_write":4},"cost":null,"#,
                r#""steps":1,"session_id":"id","forked_from":"other","duration_ms":5,"#,
                r#""receipt":null,"sandbox":"a","refused":[],"error":null}"#,
                "\n"
            )
        );
    }
}
