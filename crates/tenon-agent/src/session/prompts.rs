//! What a person said in a session, without reading the rest of it: for showing what a session was
//! about, and for going back to one of them.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use memchr::memmem;

use super::{log_error::LogError, read::path_of};
use crate::{
    event::{ModelEvent, Record, SessionEvent, TurnEvent},
    session_note::SessionNote,
};

/// What stands in a line that is looked into: the types of the events that count.
const TYPES: [&str; 3] =
    [r#""type":"user_message""#, r#""type":"assistant_message""#, r#""type":"rewound""#];
/// Bytes from the beginning of a line within which its type stands.
const TYPE_WITHIN_BYTES: usize = 100;

/// A prompt of a session.
///
/// ```
/// use tenon_agent::EarlierPrompt;
///
/// let prompt = EarlierPrompt { time_ms: 5, text: "Sort it".into(), step: 1 };
/// assert_eq!(format!("{} (step {})", prompt.text, prompt.step), "Sort it (step 1)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierPrompt {
    /// When it was said, in milliseconds since 1970 in UTC.
    pub time_ms: u64,
    /// What the person wrote.
    pub text: String,
    /// The number of the step that followed it, from 1: all replies that the log has count, those of
    /// abandoned branches too.
    pub step: u32,
}

/// Returns the prompts of the current branch of session `id` in `folder`, oldest first.
///
/// ```
/// use tenon_agent::session_prompts;
///
/// let folder = tempfile::tempdir()?;
/// let log = r#"{"time_ms":1,"type":"user_message","prompt":"Sort it","message":{"role":"user","content":[]}}
/// {"time_ms":2,"type":"assistant_message","message":{"role":"assistant","content":[]},"usage":{},"duration_ms":1}
/// {"time_ms":3,"type":"user_message","prompt":"Add a test","message":{"role":"user","content":[]}}
/// "#;
/// std::fs::write(folder.path().join("one.jsonl"), log)?;
/// let prompts = session_prompts(folder.path(), "one")?;
/// assert_eq!((prompts[1].text.as_str(), prompts[1].step), ("Add a test", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there is no such log or it cannot be read. Damaged lines are skipped.
pub fn prompts(folder: &Path, id: &str) -> Result<Vec<EarlierPrompt>, LogError> {
    let path = path_of(folder, id)?;
    let failed = |source| LogError::new(&path, source);
    let mut lines = BufReader::with_capacity(64 << 10, File::open(&path).map_err(failed)?);
    let (mut line, mut number, mut step) = (Vec::new(), 0, 1);
    let mut prompts: Vec<(u64, EarlierPrompt)> = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(prompts.into_iter().map(|(_, prompt)| prompt).collect());
        }
        number += 1;
        let head = line.get(..TYPE_WITHIN_BYTES).unwrap_or(&line);
        if !TYPES.iter().any(|kind| memmem::find(head, kind.as_bytes()).is_some()) {
            continue;
        }
        let Ok(Record { time_ms, event }) = serde_json::from_slice(&line) else { continue };
        match event {
            SessionEvent::Turn(TurnEvent::UserMessage { prompt: text, .. }) => {
                prompts.push((number, EarlierPrompt { time_ms, text, step }));
            }
            SessionEvent::Model(ModelEvent::AssistantMessage { .. }) => step += 1,
            SessionEvent::Session(SessionNote::Rewound { after_line, .. }) => {
                prompts.retain(|(line, _)| *line <= after_line);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_gone_back_behind_is_left_out_and_its_steps_count() {
        let folder = tempfile::tempdir().unwrap();
        let said = |text: &str| {
            format!(
                r#"{{"time_ms":1,"type":"user_message","prompt":"{text}","message":{{"role":"user","content":[]}}}}"#
            )
        };
        let reply = r#"{"time_ms":2,"type":"assistant_message","message":{"role":"assistant","content":[{"type":"text","text":"\"type\":\"rewound\""}]},"usage":{},"duration_ms":1}"#;
        let lines = [
            said("one"),
            reply.to_owned(),
            "garbage".to_owned(),
            said("two"),
            reply.to_owned(),
            r#"{"time_ms":3,"type":"rewound","after_line":3,"turns":1}"#.to_owned(),
            said("three"),
        ];
        std::fs::write(folder.path().join("a.jsonl"), lines.join("\n")).unwrap();
        let found = prompts(folder.path(), "a").unwrap();
        let found: Vec<(&str, u32)> = found.iter().map(|p| (p.text.as_str(), p.step)).collect();
        assert_eq!(found, [("one", 1), ("three", 3)]);
        assert!(prompts(folder.path(), "b").is_err());
        assert!(prompts(folder.path(), "../a").is_err());
    }
}
