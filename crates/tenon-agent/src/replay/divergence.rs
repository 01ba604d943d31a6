//! What is not as it was recorded, as data and as text to compare. Pure.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use serde::Serialize;
use tenon_model::{Conversation, Message, Request, written_again};

use super::recording::{RecordedResult, SeenFiles};
use crate::{
    event::{CallChanges, FileChange, FileChangeKind, ModelEvent, RequestForm},
    session::PrefixHasher,
    tools::{is_of_place, text_file::counted},
};

/// The first thing in a replay that was not as recorded.
///
/// ```
/// use tenon_agent::{Diverged, Divergence};
///
/// let divergence = Divergence {
///     step: 2,
///     what: Diverged::Result,
///     call_id: Some("call_2".into()),
///     call: Some("bash date".into()),
///     expected: "Mon".into(),
///     found: "Tue".into(),
/// };
/// assert_eq!(serde_json::to_value(&divergence)?["what"], "result");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The step that it belongs to, from 1: of a request the one that it would have begun.
    pub step: u32,
    /// What differs.
    pub what: Diverged,
    /// The call that it is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Its tool and main argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// As it was recorded, in lines.
    pub expected: String,
    /// As it is now, in lines.
    pub found: String,
}

/// What differs from a recording.
///
/// ```
/// use tenon_agent::Diverged;
///
/// assert_eq!(serde_json::to_string(&Diverged::Messages)?, r#""messages""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Diverged {
    /// The system prompt of a request.
    System,
    /// The tools of a request.
    Tools,
    /// The messages of a request.
    Messages,
    /// How long the reply to a request may be.
    ReplyLimit,
    /// The bytes of a request as they are sent.
    Body,
    /// Whether a request is made at all.
    Request,
    /// What a tool answered.
    Result,
    /// What a call did to the files, or their content afterwards.
    Files,
}

/// Returns what differs between two [`ModelEvent::RequestSent`], and both as text. With `is_masked` the
/// recorded hash of the messages says nothing, and they themselves are compared.
pub(super) fn of_requests(
    recorded: &ModelEvent,
    now: &ModelEvent,
    is_masked: bool,
    conversations: impl FnOnce() -> (Conversation, Conversation),
) -> Option<(Diverged, String, String)> {
    let (
        ModelEvent::RequestSent { system, tools, messages, hash, .. },
        ModelEvent::RequestSent {
            system: system_now,
            tools: tools_now,
            messages: messages_now,
            hash: hash_now,
            ..
        },
    ) = (recorded, now)
    else {
        return None;
    };
    if system != system_now {
        let hash = |hash: &str| format!("system prompt with hash {hash}\n");
        return Some((Diverged::System, hash(system), hash(system_now)));
    }
    if tools != tools_now {
        let hash = |hash: &str| format!("tools with hash {hash}\n");
        return Some((Diverged::Tools, hash(tools), hash(tools_now)));
    }
    if (messages, hash) == (messages_now, hash_now) {
        return None;
    }
    let (there, here) = conversations();
    if is_masked && there == here {
        return None;
    }
    let same = there.iter().zip(&here).take_while(|(there, here)| there == here).count();
    let (expected, found) = (shown(&there, same), shown(&here, same));
    if expected != found {
        return Some((Diverged::Messages, expected, found));
    }
    let count = |count: &usize, hash: &str| {
        format!("{} with hash {hash}\n", counted(*count as u64, "message"))
    };
    Some((Diverged::Messages, count(messages, hash), count(messages_now, hash_now)))
}

/// Returns what differs in how `request` is sent from how one with the same messages was, and both as
/// text. What a log does not say is not compared.
pub(super) fn of_form(
    recorded: &ModelEvent,
    request: &Request,
) -> Option<(Diverged, String, String)> {
    let ModelEvent::RequestSent { form: Some(recorded), .. } = recorded else { return None };
    let RequestForm { output_tokens_max, is_limited, wire, body } = recorded;
    // Replays have no limits.
    if !is_limited && *output_tokens_max != request.output_tokens_max {
        let tokens = |max: u32| format!("a reply of at most {max} tokens\n");
        let (expected, found) = (tokens(*output_tokens_max), tokens(request.output_tokens_max));
        return Some((Diverged::ReplyLimit, expected, found));
    }
    let request = Request { output_tokens_max: *output_tokens_max, ..request.clone() };
    let now = PrefixHasher::body(&written_again(wire.as_ref()?, &request)?);
    let hash = |hash: &str| format!("body with hash {hash}\n");
    let body = body.as_ref().filter(|body| **body != now)?;
    Some((Diverged::Body, hash(body), hash(&now)))
}

/// Returns the message number `at` as text; empty if there is none.
fn shown(conversation: &Conversation, at: usize) -> String {
    let Some(message) = conversation.get(at) else { return String::new() };
    let message: &Message = Arc::as_ref(message);
    let json = serde_json::to_string_pretty(message).unwrap_or_default();
    // Each line of a text on a line of its own.
    json.replace("\\n", "\n") + "\n"
}

/// Returns a result as text.
pub(super) fn of_result(result: &RecordedResult) -> String {
    let word = if result.is_error { "(error)\n" } else { "" };
    format!("{word}{}\n", result.content)
}

/// Returns what a call changed as recorded and now, in lines. A hash that an older version did not
/// record is left out in both.
pub(super) fn of_changes(
    recorded: Option<&CallChanges>,
    now: Option<&CallChanges>,
) -> (String, String) {
    let files = |changes: Option<&CallChanges>| -> BTreeMap<String, FileChange> {
        let files = changes.into_iter().flat_map(|changes| &changes.files);
        let files = files.filter(|file| file.kind != FileChangeKind::Times && !file.refreshed);
        files.map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (there, here) = (files(recorded), files(now));
    let has_hash = |path: &String| {
        [&there, &here]
            .iter()
            .all(|files| files.get(path).is_none_or(|file| file.new_hash.is_some()))
    };
    let is_index = |path: &String| {
        [&there, &here]
            .iter()
            .all(|files| files.get(path).is_some_and(|it| it.index_hash.is_some()))
    };
    let lines = |files: &BTreeMap<String, FileChange>| -> String {
        let line = |file: &FileChange| match is_index(&file.path) {
            true => line_of_index(file),
            false => line(file, has_hash(&file.path)),
        };
        files.values().map(line).collect()
    };
    (lines(&there), lines(&here))
}

fn line(file: &FileChange, with_hash: bool) -> String {
    let kind = serde_json::to_value(file.kind).unwrap_or_default();
    let mut line = format!("{} {}", kind.as_str().unwrap_or_default(), file.path);
    if let Some(from) = &file.from {
        line.push_str(&format!(" (was {from})"));
    }
    if file.inside > 0 {
        line.push_str(&format!(" ({} inside)", file.inside));
    }
    if let Some(bytes) = file.new_bytes {
        line.push_str(&format!(" {}", counted(bytes, "byte")));
    }
    if let Some(hash) = file.new_hash.as_ref().filter(|_| with_hash) {
        line.push_str(&format!(" sha256:{hash}"));
    }
    line + "\n"
}

/// Returns the line of an index by what it says: its bytes have the times of files.
fn line_of_index(index: &FileChange) -> String {
    let said = index.index_hash.as_deref().unwrap_or_default();
    let named = FileChange { new_bytes: None, new_hash: None, ..index.clone() };
    format!("{} says sha256:{said}\n", line(&named, false).trim_end())
}

/// Whether two results differ at most in their lines of changes and in what tenon says of hidden places.
pub(super) fn are_told_otherwise(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|result| without_place(without_recording(result).0));
    one == other
}

/// Whether two results differ at most in what their lines of changes say of how changes were recorded,
/// for which the kernel may be asked or not where a replay runs, and in what tenon says of hidden
/// places, which lie otherwise around the copy of a workspace.
pub(super) fn are_recorded_otherwise(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|result| {
        let (rest, changes) = without_recording(result);
        (without_place(rest), changes)
    });
    one == other
}

/// Whether two results say of the same path that a command may not remove it, one because more lives on it
/// than on the other: that is by where the workspace lies.
pub(super) fn are_refused_otherwise(one: &str, other: &str) -> bool {
    let path = |result: &str| {
        let why = result.strip_prefix("Error: refused by the rule built-in: removing ")?;
        let (_, path) = why.split_once(": it would remove `")?;
        Some(path.rsplit_once("`, which ")?.0.to_owned())
    };
    path(one).is_some_and(|one| path(other) == Some(one))
}

/// Returns a result before and behind the line in which tenon says something of a hidden place. Only
/// notes of its own follow such a line: what a program printed stays.
fn without_place(result: &str) -> (&str, &str) {
    let is_note = |line: &str| line.starts_with('[');
    let mut end = result.len();
    while let Some(start) = result.get(..end).and_then(|before| before.rfind('\n')) {
        let line = result.get(start + 1..end).unwrap_or_default();
        if is_of_place(line) {
            let part = |range: Range<usize>| result.get(range).unwrap_or_default();
            return (part(0..start), part(end..result.len()));
        }
        if !is_note(line) {
            break;
        }
        end = start;
    }
    (result, "")
}

/// Returns a result, its line of changes in parts, without what that says of the recording.
fn without_recording(result: &str) -> (&str, Vec<&str>) {
    let start = match result.rfind("\n[changes] ") {
        Some(start) if !result.get(start + 1..).is_some_and(|line| line.contains('\n')) => start,
        _ => return (result, Vec::new()),
    };
    let (rest, line) = result.split_at(start);
    let is_of_recording = |part: &&str| {
        ["by comparison", "the list may be incomplete"].contains(part)
            || part.contains(" not recorded (")
            || part.ends_with(" not compared (too many files)")
    };
    let line = line.trim_start_matches("\n[changes] ");
    (rest, line.split(", ").filter(|part| !is_of_recording(part)).collect())
}

/// Returns what the model came to know of files as recorded and now, in lines: by content, large ones
/// by length. Of those whose length is not in the recording, as an older version wrote it, the path alone counts.
pub(super) fn of_seen(recorded: &SeenFiles, now: &SeenFiles) -> (String, String) {
    let is_unsaid = |path: &String| {
        let is_recorded = recorded.hashes.contains_key(path);
        is_recorded && !recorded.bytes.contains_key(path) && now.bytes.contains_key(path)
    };
    let lines = |files: &SeenFiles| -> String {
        let line = |(path, hash): (&String, &String)| match files.bytes.get(path) {
            _ if is_unsaid(path) => format!("{path}\n"),
            Some(bytes) => format!("{path} {}\n", counted(*bytes, "byte")),
            None => format!("{path} sha256:{hash}\n"),
        };
        files.hashes.iter().map(line).collect()
    };
    (lines(recorded), lines(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_changes_were_recorded_is_no_difference_and_what_changed_is() {
        let is_same = |one: &str, other: &str| are_recorded_otherwise(one, other);
        let watched = "exit code 0\nx\n[changes] 1 file changed, 1 new under d/";
        let compared = format!("{watched}, by comparison");
        assert!(is_same(watched, &compared));
        assert!(is_same(&compared, &format!("{watched}, a.bin not recorded (2 MB)")));
        assert!(is_same("x", "x\n[changes] target/ not recorded (a cache), by comparison"));
        assert!(!is_same(watched, "exit code 0\nx\n[changes] 1 file changed, by comparison"));
        assert!(!is_same(watched, &format!("{compared}\n[walls] x")));
        assert!(!is_same("x\n[changes] 1 new", "y\n[changes] 1 new"));
        assert!(!is_same("x, by comparison", "x"));
    }

    #[test]
    fn why_a_path_is_not_removed_is_no_difference_and_that_it_is_not_is_one() {
        let refused = |what: &str, path: &str, why: &str| {
            format!(
                "Error: refused by the rule built-in: removing {what}: it would remove `{path}`, \
                 which {why}; no rule can allow that"
            )
        };
        let system = refused("the system", "../..", "the machine or the account lives on");
        let outside = |path| refused("outside the workspace", path, "lies outside the workspace");
        assert!(are_refused_otherwise(&system, &outside("../..")));
        assert!(!are_refused_otherwise(&system, &outside("../x")));
        assert!(!are_refused_otherwise(&system, "removed"));
    }

    #[test]
    fn what_tenon_says_of_hidden_places_is_no_difference_and_what_a_program_prints_is() {
        let is_same = |one: &str, other: &str| are_recorded_otherwise(one, other);
        let missed = "exit code 1\ncat: ../x: No such file or directory";
        let said = |where_it_lies: &str| {
            format!("{missed}\n[walls] files: {where_it_lies} looks as if it were not there; x")
        };
        let (home, tmp) = (said("the home"), said("/tmp"));
        assert!(is_same(missed, &home) && is_same(&home, &tmp) && is_same(&tmp, missed));
        let changed = format!("{tmp}\n[changes] 1 new, by comparison");
        assert!(is_same(&changed, &format!("{missed}\n[changes] 1 new")));
        assert!(!is_same(&changed, missed));
        assert!(!is_same(&format!("{home}\n1"), &format!("{tmp}\n1")), "a program printed it");
        assert!(!is_same(missed, &format!("{missed}\n[walls] files: other")));
        assert!(!is_same(missed, &format!("{home}\n[walls] files: other")));
    }
}
