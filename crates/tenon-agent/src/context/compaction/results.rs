//! Results that give way to a line, or to an excerpt, with a handle by which they come back.

use std::{collections::HashMap, sync::Arc};

use tenon_model::{ContentBlock, Message, ToolCall, ToolResult};

use super::text::cut;
use crate::{
    context::tokens::{weight_of_result, weight_of_text},
    event::ShorterResult,
    session::shortened,
};

/// A shorter result stays: the line in its place would save little.
const RESULT_CHARS_MIN: usize = 400;

/// How much of a result's beginning stands in its line, in characters.
const BEGINNING_CHARS_MAX: usize = 80;

/// How much of a call's arguments stands in a list, in characters.
const ARGUMENTS_CHARS_MAX: usize = 100;

/// How many calls are listed in the place of a summary.
const CALLS_LISTED_MAX: usize = 60;

/// Stands in front of these, and in their place if there are none.
pub(super) const NO_SUMMARY: &str = "No summary could be had from the model.";
const CALLS: &str = " The calls that were made, oldest first:";
const CALL: &str = "- ";

/// What stands around the number of those that are not listed any more.
const LEFT_OUT_CALLS: (&str, &str) = ("(", " earlier ones are left out)");

/// Stands behind these, in front of the summary before.
const EARLIER: &str = "\n\n(What was done before these calls, summed up:)\n\n";

/// With what the line in the place of a result begins.
const LEFT_OUT: &str = "(Left out to save room: ";

/// What stands around a handle.
const RECALL: &str = "recall {\"handle\":\"";
const GIVES_BACK: &str = "\"} gives them back.)";
const GIVES_ALL: &str = "\"} gives all of it, in parts.)";

/// The digits of a handle.
const HANDLE_DIGITS: usize = 8;

/// The calls of a conversation by their ids.
pub(super) struct Calls<'a> {
    calls: HashMap<&'a str, &'a ToolCall>,
}

impl<'a> Calls<'a> {
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let calls = messages.iter().flat_map(|message| message.tool_calls());
        Self { calls: calls.map(|call| (call.id.as_str(), call)).collect() }
    }

    /// Returns a call in a line: its name and the beginning of its arguments.
    pub(super) fn line(&self, call_id: &str) -> String {
        self.calls.get(call_id).map_or_else(|| "a call".to_owned(), |call| line(call))
    }

    /// Returns the newest calls of `messages`, a line each, for want of a summary, behind those that were listed
    /// `earlier`, and the summary before of at most so many tokens.
    pub(super) fn list(&self, messages: &[Arc<Message>], earlier: &str, tokens_max: u64) -> String {
        let (listed, summary) = match earlier.strip_prefix(NO_SUMMARY) {
            Some(listed) => listed.split_once(EARLIER).unwrap_or((listed, "")),
            None => ("", earlier),
        };
        let (before, behind) = LEFT_OUT_CALLS;
        let count = |line: &str| line.strip_prefix(before)?.strip_suffix(behind)?.parse().ok();
        let gone: usize = listed.lines().find_map(count).unwrap_or_default();
        let known = listed.lines().filter_map(|line| Some(line.strip_prefix(CALL)?.to_owned()));
        let calls = messages.iter().flat_map(|message| message.tool_calls()).map(line);
        let calls: Vec<String> = known.chain(calls).collect();
        let over = calls.len().saturating_sub(CALLS_LISTED_MAX);
        let mut list = NO_SUMMARY.to_owned();
        if !calls.is_empty() {
            list.push_str(CALLS);
        }
        if gone + over > 0 {
            list.push_str(&format!("\n{before}{}{behind}", gone + over));
        }
        calls.iter().skip(over).for_each(|call| list.push_str(&format!("\n{CALL}{call}")));
        if !summary.is_empty() {
            list.push_str(&format!("{EARLIER}{}", cut(summary, tokens_max)));
        }
        list
    }

    fn name(&self, call_id: &str) -> &str {
        self.calls.get(call_id).map_or("a call", |call| call.name.as_str())
    }
}

/// Returns the long results of `messages`, oldest first, for which `wanted`, asked how many
/// estimated tokens are saved by it, says yes.
pub(super) fn shorter_results(
    messages: &[Arc<Message>],
    calls: &Calls<'_>,
    mut wanted: impl FnMut(u64) -> bool,
) -> Vec<ShorterResult> {
    let mut shorter = Vec::new();
    for result in long_results(messages) {
        let handle = handle(result);
        let beginning: String = first_line(&result.content);
        let image =
            if result.images.is_empty() { "" } else { " with its image, which can be read again" };
        let text = format!(
            "{LEFT_OUT}{} characters of {}{image}, beginning `{beginning}`. {RECALL}{handle}{GIVES_BACK}",
            result.content.chars().count(),
            calls.name(&result.call_id),
        );
        let saved = weight_of_result(result).saturating_sub(weight_of_text(&text));
        if wanted(saved) {
            let call_id = result.call_id.clone();
            shorter.push(ShorterResult { handle, call_id, text: Some(text) });
        }
    }
    shorter
}

/// Returns excerpts of the longest results of `messages`, so that all together have about `tokens`.
pub(super) fn excerpts(
    messages: &[Arc<Message>],
    calls: &Calls<'_>,
    tokens: u64,
) -> Vec<ShorterResult> {
    let count = long_results(messages).count().max(1) as u64;
    let each = tokens / count;
    let too_long = long_results(messages).filter(|result| weight_of_text(&result.content) > each);
    too_long
        .map(|result| {
            // An excerpt becomes a shorter one. What handle it names is its own affair: a command can print one.
            let excerpt = handle_in(&result.content).and_then(|_| result.content.rsplit_once('\n'));
            let content = excerpt.map_or(&*result.content, |(content, _)| content);
            let handle = handle(result);
            let text = format!(
                "{}\n{LEFT_OUT}the middle of {}. {RECALL}{handle}{GIVES_ALL}",
                cut(content, each),
                calls.name(&result.call_id),
            );
            ShorterResult { handle, call_id: result.call_id.clone(), text: Some(text) }
        })
        .collect()
}

fn long_results(messages: &[Arc<Message>]) -> impl Iterator<Item = &ToolResult> {
    let results = messages.iter().flat_map(|message| &message.content);
    let results = results.filter_map(|block| match block {
        ContentBlock::ToolResult(result) => Some(result),
        _ => None,
    });
    results.filter(|result| {
        let is_long = result.content.len() > RESULT_CHARS_MIN
            && result.content.chars().count() > RESULT_CHARS_MIN;
        (is_long || !result.images.is_empty()) && !result.content.starts_with(LEFT_OUT)
    })
}

/// Returns the handle that stands in the place of a result or behind an excerpt of it.
pub(super) fn handle_in(content: &str) -> Option<&str> {
    let before = content.strip_suffix(GIVES_BACK).or_else(|| content.strip_suffix(GIVES_ALL))?;
    let (_, handle) = before.rsplit_once(RECALL)?;
    Some(handle).filter(|handle| is_handle(handle))
}

/// Whether `text` has the form of a handle.
pub(super) fn is_handle(text: &str) -> bool {
    let digits = text.strip_prefix('r').unwrap_or_default();
    digits.len() == HANDLE_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Returns the name of a result: FNV-1a of its call and content, so that it is the same whenever
/// and wherever it is made, and no count has to be kept.
pub(super) fn handle(result: &ToolResult) -> String {
    let bytes = result.call_id.bytes().chain([0]).chain(result.content.bytes());
    let hash = bytes
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("r{hash:08x}")
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    shortened(line.trim(), BEGINNING_CHARS_MAX)
}

fn line(call: &ToolCall) -> String {
    format!("{} {}", call.name, shortened(&call.arguments.to_string(), ARGUMENTS_CHARS_MAX))
}
