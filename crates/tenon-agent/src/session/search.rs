//! Words looked for in the text of all sessions: their names, prompts, answers, calls and results.
//!
//! A log is searched as bytes for the rarest-looking word first, and only a line that holds it is
//! read as an event; so hundreds of logs take about as long as reading their files.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{path::Path, time::UNIX_EPOCH};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memrchr};

use super::{list::logs, log_error::LogError, names};
use crate::{
    event::{CallEvent, ModelEvent, Record, SessionEvent, TurnEvent},
    masking::Masking,
};

/// Characters that a result shows before and after the first word.
const CONTEXT_CHARS: usize = 40;
/// Events of one session that are told: more do not help to know it again.
const FOUND_PER_SESSION_MAX: usize = 20;

/// An event, or the name of a session, in which words were found.
///
/// ```
/// use tenon_agent::Found;
///
/// let found = Found {
///     session: "20260101-120000-a1b2".into(),
///     time_ms: 1_767_268_800_000,
///     kind: "prompt",
///     text: "… add a docstring to greet.py".into(),
/// };
/// assert_eq!(format!("{}: {}", found.kind, found.text), "prompt: … add a docstring to greet.py");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The session's id.
    pub session: String,
    /// When it was said, in milliseconds since 1970 in UTC; of a name, when the session was used last.
    pub time_ms: u64,
    /// `name`, `prompt`, `answer`, `call` or `result`.
    pub kind: &'static str,
    /// The words with what stands around them, on one line.
    pub text: String,
}

/// Looks for events in the sessions of `folder` whose text has all of `words`, in any case of
/// letters, and for sessions whose name has; newest session first, at most 20 events of each. What is told of an event is masked by
/// `masking`, also a value that is there in part.
///
/// ```
/// use tenon_agent::{Masking, search_sessions};
///
/// let folder = tempfile::tempdir()?;
/// let log = r#"{"time_ms":5,"type":"user_message","prompt":"Add a Docstring",
///     "message":{"role":"user","content":[]}}"#;
/// std::fs::write(folder.path().join("one.jsonl"), log.replace('\n', ""))?;
/// let found = search_sessions(folder.path(), "docstring add", &Masking::off())?;
/// assert_eq!((found[0].kind, found[0].text.as_str()), ("prompt", "Add a Docstring"));
/// assert!(search_sessions(folder.path(), "docstring remove", &Masking::off())?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder cannot be listed. Logs that cannot be read are left out.
pub fn search(folder: &Path, words: &str, masking: &Masking) -> Result<Vec<Found>, LogError> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    // The longest is the rarest, as far as one can tell.
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut logs = logs(folder)?;
    logs.sort_by(|left, right| right.0.cmp(&left.0));
    let Some(first) = words.first() else { return Ok(Vec::new()) };
    let (Some(in_json), Some(in_text)) = (
        matcher(&[json_of(first).as_str()]),
        words.iter().map(|word| matcher(&[word])).collect::<Option<Vec<_>>>(),
    ) else {
        return Ok(Vec::new());
    };
    let (mut found, names) = (Vec::new(), names::read(folder));
    for (id, path) in logs {
        let named = names.get(&id).and_then(|name| excerpt(name, &in_text, masking));
        if let Some(text) = named {
            found.push(Found { session: id.clone(), time_ms: used_ms(&path), kind: "name", text });
        }
        let Ok(log) = std::fs::read(path) else { continue };
        found.extend(of_log(&id, &log, &in_json, &in_text, masking));
    }
    Ok(found)
}

/// Returns when the session of a log was used last.
fn used_ms(log: &Path) -> u64 {
    let modified = log.metadata().and_then(|log| log.modified()).ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis() as u64)
}

fn matcher(literals: &[&str]) -> Option<RegexMatcher> {
    RegexMatcherBuilder::new().case_insensitive(true).fixed_strings(true).build_many(literals).ok()
}

/// Returns a word as it stands inside a string of JSON.
fn json_of(word: &str) -> String {
    let json = serde_json::to_string(word).unwrap_or_default();
    json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

fn of_log(
    id: &str,
    log: &[u8],
    in_json: &RegexMatcher,
    in_text: &[RegexMatcher],
    masking: &Masking,
) -> Vec<Found> {
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < FOUND_PER_SESSION_MAX {
        let Ok(Some(hit)) = in_json.find_at(log, from) else { break };
        let start =
            log.get(..hit.start()).and_then(|log| memrchr(b'\n', log)).map_or(0, |at| at + 1);
        let rest = log.get(hit.end()..).unwrap_or_default();
        let end = hit.end() + memchr(b'\n', rest).unwrap_or(rest.len());
        from = (end + 1).min(log.len());
        let line = log.get(start..end).unwrap_or_default();
        if let Ok(record) = serde_json::from_slice::<Record>(line)
            && let Some((kind, text)) = said(&record.event)
            && let Some(text) = excerpt(&text, in_text, masking)
        {
            found.push(Found { session: id.to_owned(), time_ms: record.time_ms, kind, text });
        }
        if from == log.len() {
            break;
        }
    }
    found
}

/// Returns what an event says, for people to look for.
fn said(event: &SessionEvent) -> Option<(&'static str, String)> {
    match event {
        SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => {
            Some(("prompt", prompt.clone()))
        }
        SessionEvent::Model(ModelEvent::AssistantMessage { message, .. }) => {
            Some(("answer", message.text()))
        }
        SessionEvent::Call(CallEvent::CallStarted { call, .. }) => {
            let mut text = call.name.clone();
            strings(&call.arguments, &mut text);
            Some(("call", text))
        }
        SessionEvent::Call(CallEvent::ToolResult { content, .. }) => {
            Some(("result", content.clone()))
        }
        _ => None,
    }
}

fn strings(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::String(string) => {
            text.push(' ');
            text.push_str(string);
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings(value, text)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| strings(value, text)),
        other => text.push_str(&format!(" {other}")),
    }
}

/// Returns what stands around the first place of a word, if all words are there.
fn excerpt(text: &str, words: &[RegexMatcher], masking: &Masking) -> Option<String> {
    let mut first: Option<(usize, usize)> = None;
    for word in words {
        let hit = word.find(text.as_bytes()).ok().flatten()?;
        if first.is_none_or(|(start, _)| hit.start() < start) {
            first = Some((hit.start(), hit.end()));
        }
    }
    let (start, end) = first?;
    let (before, after) = (text.get(..start)?, text.get(end..)?);
    let from = before.char_indices().nth_back(CONTEXT_CHARS - 1).map_or(0, |(at, _)| at);
    let to = after.char_indices().nth(CONTEXT_CHARS).map_or(text.len(), |(at, _)| end + at);
    let part = masking.part(text, from..to);
    let words: Vec<&str> = part.split_whitespace().collect();
    let (left, right) = (if from > 0 { "… " } else { "" }, if to < text.len() { " …" } else { "" });
    Some(format!("{left}{}{right}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenon_model::{Message, ToolCall};

    use super::*;
    use crate::event::View;

    fn found(words: &str) -> Vec<(&'static str, String)> {
        let folder = tempfile::tempdir().unwrap();
        let call = ToolCall {
            id: "c".into(),
            name: "bash".into(),
            arguments: json!({"command": "echo \"Größe\"\nls", "n": 17}),
            fault: None,
        };
        let prompt = "把 README 中的 v1 改成 v2".to_owned();
        let events: [SessionEvent; 3] = [
            TurnEvent::UserMessage {
                message: Message::user("x"),
                prompt,
                attached: vec![],
                at_step: false,
            }
            .into(),
            CallEvent::CallStarted { call, subject: "x".into() }.into(),
            CallEvent::ToolResult {
                call_id: "c".into(),
                content: format!("{} needle\n{}", "a ".repeat(300), "b ".repeat(300)),
                is_error: false,
                view: View::text(""),
                images: Vec::new(),
                duration_ms: 0,
                cut_short: false,
            }
            .into(),
        ];
        let lines =
            events.map(|event| serde_json::to_string(&Record { time_ms: 1, event }).unwrap());
        std::fs::write(folder.path().join("one.jsonl"), lines.join("\n") + "\n{torn readme")
            .unwrap();
        let found = search(folder.path(), words, &Masking::off()).unwrap();
        found.into_iter().map(|found| (found.kind, found.text)).collect()
    }

    #[test]
    fn a_session_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for id in ["one", "two"] {
            std::fs::write(folder.path().join(format!("{id}.jsonl")), "").unwrap();
        }
        names::rename(folder.path(), "one", "Flaky test").unwrap();
        let found = search(folder.path(), "TEST flaky", &Masking::off()).unwrap();
        let found: Vec<_> =
            found.iter().map(|found| (&*found.session, found.kind, &*found.text)).collect();
        assert_eq!(found, [("one", "name", "Flaky test")]);
        assert_eq!(search(folder.path(), "flaky prompt", &Masking::off()).unwrap(), []);
    }

    #[test]
    fn words_are_found_in_any_case_and_as_they_read_not_as_they_are_stored() {
        let check = |words, expected: &[(&'static str, &str)]| {
            let expected: Vec<_> =
                expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
            assert_eq!(found(words), expected, "{words}");
        };
        let prompt = ("prompt", "把 README 中的 v1 改成 v2");
        check("readme", &[prompt]);
        check("改成 V1", &[prompt]);
        check("\"GRÖSSE\"", &[]);
        check("\"größe\"", &[("call", "bash echo \"Größe\" ls 17")]);
        check("BASH 17", &[("call", "bash echo \"Größe\" ls 17")]);
        check("user_message", &[]);
        check("readme nowhere", &[]);
        check("  ", &[]);
        let (kind, text) = found("NEEDLE").remove(0);
        assert_eq!(kind, "result");
        assert!(text.starts_with("… a a") && text.contains("a needle b") && text.ends_with("b …"));
    }
}
