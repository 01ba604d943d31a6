//! The results that `recall` gives back, named behind a summary.
//!
//! Nothing else names them once the messages are gone in which they stood, so each summary names what
//! the one before it named.

use std::{collections::HashSet, fmt, sync::Arc};

use tenon_model::{ContentBlock, Message};

use super::{
    prompts::Prompts,
    results::{Calls, handle, handle_in, is_handle},
};
use crate::{event::ShorterResult, tools::RECALL_LIST};

/// What stands in front of the list, the newest first.
pub(super) const RECALLABLE: &str = "\n\n(Results that the tool recall gives back:";

/// How many have a line each, with their call.
const LISTED_MAX: usize = 20;

/// How many more are named: some hundred tokens.
const NAMED_MAX: usize = 100;

/// What stands in front of those that are named only.
const NAMED: &str = "older ones: ";

/// What stands around the number of those that are not named.
const MORE: (&str, &str) = ("and ", " older still, which recall names for the handle ");

/// What can be recalled, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Recallable {
    /// Handles, and in a line what they stand for where that is known.
    results: Vec<(String, Option<String>)>,
    /// How many older ones are not among these.
    older: usize,
}

impl Recallable {
    /// Returns what `messages` name, and those of their results that are `gone` with them.
    pub(super) fn of(messages: &[Arc<Message>], calls: &Calls<'_>, gone: &[ShorterResult]) -> Self {
        let gone: HashSet<&str> = gone.iter().map(|result| result.handle.as_str()).collect();
        let mut all = Self::default();
        for message in messages {
            if let Some((_, list)) =
                Prompts::behind(message).and_then(|text| text.rsplit_once(RECALLABLE))
            {
                all.add_listed(list);
            }
            for block in &message.content {
                let ContentBlock::ToolResult(result) = block else { continue };
                let own = Some(handle(result)).filter(|handle| gone.contains(handle.as_str()));
                let named = handle_in(&result.content).map(str::to_owned);
                let line = Some(calls.line(&result.call_id));
                all.results
                    .extend(named.into_iter().chain(own).map(|handle| (handle, line.clone())));
            }
        }
        let mut seen = HashSet::new();
        all.results.retain(|(handle, _)| seen.insert(handle.clone()));
        let over = all.results.len().saturating_sub(LISTED_MAX + NAMED_MAX);
        all.results.drain(..over);
        all.older += over;
        all
    }

    /// Adds what an earlier list names.
    fn add_listed(&mut self, list: &str) {
        let mut results = Vec::new();
        for line in list.strip_suffix(')').unwrap_or(list).lines() {
            let more = line.strip_prefix(MORE.0).and_then(|line| line.split_once(MORE.1));
            if let Some(count) = more.and_then(|(count, _)| count.parse::<usize>().ok()) {
                self.older += count;
            } else if let Some(handles) = line.strip_prefix(NAMED) {
                results.extend(handles.split(' ').map(|handle| (handle.to_owned(), None)));
            } else if let Some((handle, call)) = line.split_once(": ") {
                results.push((handle.to_owned(), Some(call.to_owned())));
            }
        }
        results.retain(|(handle, _)| is_handle(handle));
        self.results.extend(results.into_iter().rev());
    }
}

/// The list as it stands behind a summary; nothing where there is nothing to name.
impl fmt::Display for Recallable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.results.is_empty() {
            return Ok(());
        }
        f.write_str(RECALLABLE)?;
        let newest_first = || self.results.iter().rev();
        for (handle, line) in newest_first().take(LISTED_MAX) {
            write!(f, "\n{handle}: {}", line.as_deref().unwrap_or("a call"))?;
        }
        let named: Vec<&str> =
            newest_first().skip(LISTED_MAX).map(|(handle, _)| handle.as_str()).collect();
        if !named.is_empty() {
            write!(f, "\n{NAMED}{}", named.join(" "))?;
        }
        if self.older > 0 {
            write!(f, "\n{}{}{}`{RECALL_LIST}`", MORE.0, self.older, MORE.1)?;
        }
        f.write_str(")")
    }
}
