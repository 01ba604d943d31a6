//! Data on standard output: one object at the end, or each session event as a line.
//!
//! The same JSON as in the log; what a terminal would obey is escaped, which changes no value.

use std::fmt::Write;

use serde::Serialize;
use tenon_agent::{EndReason, Record, TurnOutcome};
use tenon_model::{ProviderErrorKind, Usage, visible};

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
    duration_ms: u64,
    /// Why no reply could be had; null if there was one.
    error: Option<&'a Failure>,
}

/// Why no reply could be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    pub kind: ProviderErrorKind,
    pub message: String,
    pub hint: Option<String>,
}

/// Returns the object for `outcome` as one line.
pub(crate) fn result(
    outcome: &TurnOutcome,
    session_id: &str,
    error: Option<&Failure>,
) -> Result<String, serde_json::Error> {
    line(&ResultObject {
        result: &outcome.answer,
        stop_reason: outcome.reason,
        usage: outcome.usage,
        cost: outcome.cost,
        steps: outcome.steps,
        session_id,
        duration_ms: outcome.duration_ms,
        error,
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
        };
        assert_eq!(
            result(&outcome, "id", None).unwrap(),
            concat!(
                r#"{"type":"result","result":"done","stop_reason":"finished","#,
                r#""usage":{"input":1,"output":2,"cache_read":3,"cache_write":4},"cost":null,"#,
                r#""steps":1,"session_id":"id","duration_ms":5,"error":null}"#,
                "\n"
            )
        );
    }
}
