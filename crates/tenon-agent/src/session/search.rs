//! Words looked for in the text of all sessions: their names, prompts, answers, calls and results.
//!
//! A log is read line by line, first only until each word was seen, as bytes. Where all were, it is read
//! again, and the lines that hold one are read as events; so hundreds of logs take about as long
//! as reading their files, however long they are. The whole texts of long results are read with them, as far as
//! they are still there.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufReader},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use grep_matcher::Matcher;
use tenon_model::ContentBlock;

use super::{
    list::{UnreadSession, logs},
    log_error::LogError,
    long_results, names,
    read::next_line,
    words::{Words, excerpt},
};
use crate::{
    event::{CallEvent, ModelEvent, Record, SessionEvent, TurnEvent},
    masking::Masking,
};

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
    /// `name`, `prompt`, `answer`, `thinking`, `call` or `result`.
    pub kind: &'static str,
    /// The words with what stands around them, on one line.
    pub text: String,
}

/// Looks for sessions in `folder` whose text has all of `words`, in any case of letters, wherever
/// each is, also in the whole texts of long results, of which each session has a folder in `results`; newest session first. Told are the events (and the name) that have most of the words, and more of
/// them only for words that the others lack; those that have all, at most 20 of each session. What is told of an event is
/// masked by `masking`, also a value that is there in part. With them come the sessions whose logs cannot be read.
///
/// ```
/// use tenon_agent::{Masking, search_sessions};
///
/// let folder = tempfile::tempdir()?;
/// let log = r#"{"time_ms":5,"type":"user_message","prompt":"Add a Docstring",
///     "message":{"role":"user","content":[]}}"#;
/// std::fs::write(folder.path().join("one.jsonl"), log.replace('\n', ""))?;
/// let results = folder.path().join("results");
/// let search = |words| search_sessions(folder.path(), &results, words, &Masking::off());
/// let (found, unread) = search("docstring add")?;
/// assert_eq!((found[0].kind, found[0].text.as_str()), ("prompt", "Add a Docstring"));
/// assert!(unread.is_empty());
/// assert!(search("docstring remove")?.0.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder cannot be listed.
pub fn search(
    folder: &Path,
    results: &Path,
    words: &str,
    masking: &Masking,
) -> Result<(Vec<Found>, Vec<UnreadSession>), LogError> {
    let mut logs = logs(folder)?;
    logs.sort_by(|left, right| right.0.cmp(&left.0));
    let (mut found, mut unread, names) = (Vec::new(), Vec::new(), names::read(folder));
    let Some(words) = Words::new(words) else { return Ok((found, unread)) };
    for (id, path) in logs {
        let name = names.get(&id).map(String::as_str);
        let of_session = || {
            let results = long_results::folder_of(results, &id, &path)?;
            Looking { log: &path, results, name, words: &words, masking }.told()
        };
        match of_session() {
            Ok(best) => found.extend(best.into_iter().map(|(kind, time_ms, text)| Found {
                session: id.clone(),
                time_ms,
                kind,
                text,
            })),
            Err(error) => unread.push(UnreadSession { id, why: error.to_string() }),
        }
    }
    Ok((found, unread))
}

/// Returns when the session of a log was used last.
fn used_ms(log: &Path) -> u64 {
    let modified = log.metadata().and_then(|log| log.modified()).ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis() as u64)
}

/// The kind of something said, when, and the words with what stands around them.
type Told = (&'static str, u64, String);

/// What is told of one session: each with the words that it has.
#[derive(Default)]
struct Best {
    told: Vec<(BTreeSet<usize>, Told)>,
}

impl Best {
    /// Takes in what was said, if it has words that no other has, or all.
    fn take(&mut self, words: &Words, masking: &Masking, said: (&'static str, u64, &str)) {
        let (kind, time_ms, text) = said;
        let (has, Some(first)) = words.in_text(text) else { return };
        if self.has_room_for(&has, words)
            && let Some(excerpt) = excerpt(text, first, masking)
        {
            self.keep(has, words, (kind, time_ms, excerpt));
        }
    }

    fn has_room_for(&self, has: &BTreeSet<usize>, words: &Words) -> bool {
        has.len() == words.count() || !self.told.iter().any(|(other, _)| has.is_subset(other))
    }

    fn keep(&mut self, has: BTreeSet<usize>, words: &Words, told: Told) {
        if !self.has_room_for(&has, words) {
            return;
        }
        let has_all = has.len() == words.count();
        self.told.retain(|(other, _)| (has_all && *other == has) || !other.is_subset(&has));
        self.told.push((has, told));
    }

    /// Returns what is told if the session has all the words.
    fn told(self, words: &Words) -> Vec<Told> {
        let has: BTreeSet<usize> = self.told.iter().flat_map(|(has, _)| has).copied().collect();
        let count = if has.len() == words.count() { FOUND_PER_SESSION_MAX } else { 0 };
        self.told.into_iter().map(|(_, told)| told).take(count).collect()
    }

    /// Whether nothing that is said later would be told.
    fn is_full(&self, words: &Words) -> bool {
        let full = |(has, _): &&(BTreeSet<usize>, Told)| has.len() == words.count();
        self.told.iter().filter(full).count() >= FOUND_PER_SESSION_MAX
    }
}

/// The search of one session.
struct Looking<'a> {
    log: &'a Path,
    /// The folder with its long results.
    results: PathBuf,
    name: Option<&'a str>,
    words: &'a Words,
    masking: &'a Masking,
}

impl Looking<'_> {
    fn told(&self) -> io::Result<Vec<Told>> {
        if !self.may_have_all()? {
            return Ok(Vec::new());
        }
        let (words, masking, mut best) = (self.words, self.masking, Best::default());
        if let Some(name) = self.name {
            best.take(words, masking, ("name", used_ms(self.log), name));
        }
        let (mut log, mut line) = (BufReader::new(File::open(self.log)?), Vec::new());
        let mut looked_in = BTreeSet::new();
        while !best.is_full(words) && next_line(&mut log, &mut line)? > 0 {
            let long = long_results::named_in(&line);
            let is_told = words.in_json.iter().any(|word| word.is_match(&line).unwrap_or(false));
            if !is_told && long.is_empty() {
                continue;
            }
            let Ok(record) = serde_json::from_slice::<Record>(&line) else { continue };
            for (kind, text) in said(&record.event) {
                best.take(words, masking, (kind, record.time_ms, &text));
                // What has them all in its beginning and end is told by these.
                if words.in_text(&text).0.len() == words.count() {
                    continue;
                }
                for name in long.iter().filter(|name| kind == "result" && text.contains(*name)) {
                    if looked_in.insert(name.clone())
                        && let Some((has, excerpt)) = self.in_result(name)
                    {
                        best.keep(has, words, (kind, record.time_ms, excerpt));
                    }
                }
            }
        }
        Ok(best.told(words))
    }

    /// Looks in the whole text of a long result.
    fn in_result(&self, name: &str) -> Option<long_results::Hit> {
        long_results::look_in(&self.results.join(name), self.words, self.masking)
    }

    /// Whether each word is somewhere in the name, in the bytes of the log, or in a long result.
    fn may_have_all(&self) -> io::Result<bool> {
        let in_name = self.name.map(|name| self.words.in_text(name).0).unwrap_or_default();
        let mut missing: BTreeSet<usize> = (0..self.words.count()).collect();
        missing.retain(|place| !in_name.contains(place));
        let (mut log, mut line) = (BufReader::new(File::open(self.log)?), Vec::new());
        let mut long = BTreeSet::new();
        while !missing.is_empty() && next_line(&mut log, &mut line)? > 0 {
            let words = self.words.in_json.iter().enumerate();
            for (place, word) in words {
                if missing.contains(&place) && word.is_match(&line).unwrap_or(false) {
                    missing.remove(&place);
                }
            }
            long.extend(long_results::named_in(&line));
        }
        for name in long {
            if missing.is_empty() {
                break;
            }
            let has = self.in_result(&name).map(|(has, _)| has).unwrap_or_default();
            missing.retain(|place| !has.contains(place));
        }
        Ok(missing.is_empty())
    }
}

/// Returns what an event says, for people to look for.
fn said(event: &SessionEvent) -> Vec<(&'static str, String)> {
    match event {
        SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => {
            vec![("prompt", prompt.clone())]
        }
        SessionEvent::Model(ModelEvent::AssistantMessage { message, .. }) => {
            let thoughts = message.content.iter().filter_map(|block| match block {
                ContentBlock::Thinking(thinking) => Some(("thinking", thinking.text.clone())),
                _ => None,
            });
            thoughts.chain([("answer", message.text())]).collect()
        }
        SessionEvent::Call(CallEvent::CallStarted { call, .. }) => {
            let mut text = call.name.clone();
            strings(&call.arguments, &mut text);
            vec![("call", text)]
        }
        SessionEvent::Call(CallEvent::ToolResult { content, .. }) => {
            vec![("result", content.clone())]
        }
        _ => Vec::new(),
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenon_model::{Message, ToolCall, Usage};

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
                job: None,
            }
            .into(),
        ];
        let lines =
            events.map(|event| serde_json::to_string(&Record { time_ms: 1, event }).unwrap());
        std::fs::write(folder.path().join("one.jsonl"), lines.join("\n") + "\n{torn readme")
            .unwrap();
        let (found, _) = search(folder.path(), folder.path(), words, &Masking::off()).unwrap();
        found.into_iter().map(|found| (found.kind, found.text)).collect()
    }

    #[test]
    fn a_session_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for id in ["one", "two"] {
            std::fs::write(folder.path().join(format!("{id}.jsonl")), "").unwrap();
        }
        names::rename(folder.path(), "one", "Flaky test").unwrap();
        let log = folder.path().join("three.jsonl");
        std::os::unix::fs::symlink(&log, &log).unwrap();
        let (found, unread) =
            search(folder.path(), folder.path(), "TEST flaky", &Masking::off()).unwrap();
        assert!(unread.len() == 1 && unread[0].id == "three", "{unread:?}");
        let found: Vec<_> =
            found.iter().map(|found| (&*found.session, found.kind, &*found.text)).collect();
        assert_eq!(found, [("one", "name", "Flaky test")]);
        assert_eq!(
            search(folder.path(), folder.path(), "flaky prompt", &Masking::off()).unwrap().0,
            []
        );
    }

    #[test]
    fn a_session_is_found_by_words_in_different_places_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let prompt = |prompt: &str| {
            let message = json!({ "role": "user", "content": [] });
            let event = json!({ "time_ms": 1, "type": "user_message", "prompt": prompt, "message": message });
            event.to_string()
        };
        let answer = json!([
            { "type": "thinking", "text": "hidden thought" },
            { "type": "text", "text": "cherry" },
        ]);
        let answer = json!({
            "time_ms": 1, "type": "assistant_message", "usage": Usage::default(), "duration_ms": 1,
            "message": { "role": "assistant", "content": answer },
        });
        let lines = [prompt("apple"), prompt("apple pie"), prompt("pie"), answer.to_string()];
        std::fs::write(folder.path().join("one.jsonl"), lines.join("\n")).unwrap();
        std::fs::write(folder.path().join("two.jsonl"), &lines[0]).unwrap();
        names::rename(folder.path(), "one", "Flaky").unwrap();
        let check = |words: &str, expected: &[(&str, &str)]| {
            let (found, _) = search(folder.path(), folder.path(), words, &Masking::off()).unwrap();
            let found: Vec<_> = found.iter().map(|found| (found.kind, &*found.text)).collect();
            assert_eq!(found, expected, "{words}");
        };
        check("flaky cherry", &[("name", "Flaky"), ("answer", "cherry")]);
        check("pie cherry APPLE", &[("prompt", "apple pie"), ("answer", "cherry")]);
        check("thought apple", &[("prompt", "apple"), ("thinking", "hidden thought")]);
        check("pie", &[("prompt", "apple pie"), ("prompt", "pie")]);
        check("flaky cherry nowhere", &[]);
        check("user_message pie", &[]);
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
