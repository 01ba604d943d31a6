//! Finds in a log what was left out of the conversation.

use std::collections::{HashMap, HashSet};

use super::read::Session;
use crate::event::{CallEvent, ContextEvent, SessionEvent};

/// How much of a call's main argument stands in the list.
const SUBJECT_CHARS_MAX: usize = 100;

impl Session {
    /// Returns the whole text of the result that a compaction left out under `handle`.
    ///
    /// ```
    /// use tenon_agent::read_session;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let lines = [
    ///     r#"{"time_ms":1,"type":"tool_result","call_id":"a","content":"2 passed","view":{"shape":"text","text":"","lines":0},"duration_ms":1}"#,
    ///     r#"{"time_ms":2,"type":"compacted","cause":"window","replaced":0,"messages":[],"results":[{"handle":"r0","call_id":"a"}],"prompts_kept":0,"tokens_before":9,"tokens_after":5,"window_tokens":10,"usage":{}}"#,
    /// ];
    /// std::fs::write(folder.path().join("one.jsonl"), lines.join("\n"))?;
    /// let session = read_session(folder.path(), "one")?;
    /// assert_eq!(session.recalled("r0"), Some("2 passed"));
    /// assert_eq!(session.recalled("r1"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recalled(&self, handle: &str) -> Option<&str> {
        let (place, call_id) = self.records.iter().enumerate().find_map(|(place, record)| {
            let SessionEvent::Context(ContextEvent::Compacted(compaction)) = &record.event else {
                return None;
            };
            let result = compaction.results.iter().find(|result| result.handle == handle)?;
            Some((place, &result.call_id))
        })?;
        // An id may come again once the call that had it is no longer in the conversation.
        self.records.get(..place)?.iter().rev().find_map(|record| match &record.event {
            SessionEvent::Call(CallEvent::ToolResult { call_id: id, content, .. })
                if id == call_id =>
            {
                Some(content.as_str())
            }
            _ => None,
        })
    }

    /// Returns the handles of all results that compactions left out, the newest first, a line each with
    /// its call.
    ///
    /// ```
    /// use tenon_agent::Session;
    ///
    /// assert_eq!(Session::default().recallable(), "nothing was left out");
    /// ```
    pub fn recallable(&self) -> String {
        let (mut calls, mut handles) = (HashMap::new(), HashSet::new());
        let mut lines = Vec::new();
        for record in &self.records {
            match &record.event {
                SessionEvent::Call(CallEvent::CallStarted { call, subject }) => {
                    calls.insert(call.id.as_str(), (call.name.as_str(), subject.as_str()));
                }
                SessionEvent::Context(ContextEvent::Compacted(compaction)) => {
                    for result in &compaction.results {
                        if handles.insert(result.handle.as_str()) {
                            let call = calls.get(result.call_id.as_str());
                            lines.push(line(&result.handle, call.copied()));
                        }
                    }
                }
                _ => {}
            }
        }
        if lines.is_empty() {
            return "nothing was left out".into();
        }
        lines.reverse();
        lines.join("\n")
    }
}

fn line(handle: &str, call: Option<(&str, &str)>) -> String {
    let (name, subject) = call.unwrap_or(("a call", ""));
    format!("{handle}: {}", called(name, subject))
}

/// Returns what a call is called in a list: its tool, and the beginning of its main argument in one line.
pub(super) fn called(name: &str, subject: &str) -> String {
    let subject = subject.replace('\n', "␊");
    format!("{name} {}", shortened(&subject, SUBJECT_CHARS_MAX)).trim_end().to_owned()
}

/// Returns the beginning of a text, so many characters, and says so where that is not all.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
