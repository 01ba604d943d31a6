//! Makes a conversation shorter. Pure: plans what goes, and says it as a [`Compaction`].
//!
//! First old results give way to a line each; the tool `recall` gives them back. If that is not
//! enough, everything but the newest messages becomes one message: what the person said, word for
//! word as far as there is room, a summary that the model wrote, and the open items of its last list.
//! Messages that stay are not touched, so every result keeps its call.

mod open_items;
mod prompts;
mod recallable;
mod results;
mod text;

use std::sync::Arc;

use tenon_model::{ContentBlock, Conversation, Message, Role, Usage};

use self::{
    open_items::{OPEN, OpenItems},
    prompts::{Kept, Prompts},
    recallable::{RECALLABLE, Recallable},
    results::{Calls, shorter_results},
    text::{cut, is_own_words, is_prompt},
};
use super::tokens::{Meter, Space, weight};
use crate::event::{Compaction, CompactionCause, ShorterResult};

/// The share of the window that the newest messages may take, which stay as they are.
const TAIL_SHARE: u64 = 8;

/// The share of the window that a summary may take, and its largest size in tokens: what is worth
/// saying of any work fits on a few pages.
const SUMMARY_SHARE: u64 = 8;
const SUMMARY_TOKENS_MAX: u64 = 4_000;

/// How many times its size may be spent on a summary: models that think first do so in the same
/// limit.
const SUMMARY_REPLY_FACTOR: u64 = 4;

/// What stands in front of a summary.
const SUMMARY: &str = "(What was done since, summed up:)";

/// What stands in front of why there is no summary, where the work goes on without.
pub(crate) const NOT_SHORTER: &str = "the conversation could not be made shorter: ";

/// The request for a summary.
const REQUEST: &str = "(The conversation is getting too long. Write the summary that takes the place \
    of everything above, so that the work can go on from it alone. Call no tools. What the user said \
    is kept beside it, without the middle of the longest messages if there is no room: do not repeat \
    it, but for what is needed of such a middle. Open items (`- [ ]`) of your last list are kept, too. \
    Say briefly, in this order, and leave out what is empty: 1. the task and where it stands; 2. \
    constraints and decisions that hold; 3. what was done: files by path and what changed in them, \
    commands and how they ended; 4. what was found out and is needed later: names, places, error \
    messages, as they are; 5. open todos, word for word. Write in the user's language.";

/// Returns the summary in a message that took the place of old ones; empty if there was none.
pub(crate) fn summary_in(message: &Message) -> Option<&str> {
    let summary = summed_up_in(message)?;
    Some(if summary.starts_with(results::NO_SUMMARY) { "" } else { summary })
}

/// Returns the summary, or what stands in its place, in a message that took the place of old ones.
fn summed_up_in(message: &Message) -> Option<&str> {
    let text = text::texts(message).last()?.strip_prefix(SUMMARY)?.trim_start();
    let text = text.rsplit_once(RECALLABLE).map_or(text, |(before, _)| before);
    Some(text.rsplit_once(OPEN).map_or(text, |(before, _)| before))
}

/// Returns what stands in `old` messages for those that were replaced before; empty if none were.
fn earlier(old: &[Arc<Message>]) -> &str {
    let mut made = old.iter().rev().filter(|message| Prompts::behind(message).is_some());
    made.find_map(|message| summed_up_in(message)).unwrap_or_default()
}

impl Compaction {
    /// Whether a summary that the model wrote stands for what was replaced. Where none could be had the
    /// calls are listed; where only results were made shorter nothing was replaced.
    ///
    /// ```
    /// use tenon_agent::Compaction;
    ///
    /// fn said(compaction: &Compaction) -> &'static str {
    ///     match (compaction.replaced, compaction.has_summary()) {
    ///         (0, _) => "old results were left out",
    ///         (_, true) => "old messages were summed up",
    ///         (_, false) => "old messages gave way to a list of calls",
    ///     }
    /// }
    /// ```
    pub fn has_summary(&self) -> bool {
        self.messages.first().and_then(summary_in).is_some_and(|summary| !summary.is_empty())
    }
}

/// A conversation that is to be made shorter.
pub(crate) struct Shortening<'a> {
    pub conversation: &'a Conversation,
    pub meter: &'a Meter,
    pub cause: CompactionCause,
    pub focus: Option<&'a str>,
}

/// Returns the message that asks for a summary, and how many tokens the reply may have.
pub(crate) fn summary_request(space: &Space, focus: Option<&str>) -> (Message, u32) {
    let tokens = summary_tokens_max(space);
    let focus = focus.map(|focus| format!(" Keep to this above all: {focus}")).unwrap_or_default();
    // A word is somewhat more than a token.
    let words = tokens / 2;
    let message = Message::user(format!("{REQUEST} At most {words} words.{focus})"));
    let reply = (tokens * SUMMARY_REPLY_FACTOR).min(space.reply_max).min(space.left().max(tokens));
    (message, u32::try_from(reply).unwrap_or(u32::MAX))
}

fn summary_tokens_max(space: &Space) -> u64 {
    (space.window / SUMMARY_SHARE).min(SUMMARY_TOKENS_MAX).min(space.reply_max)
}

impl Shortening<'_> {
    /// Returns how to leave out old results, and to cut those that alone are too long, if that is
    /// enough.
    pub(crate) fn without_results(&self) -> Option<Compaction> {
        let space = self.space();
        let (shorter, used) = self.old_results(&space);
        if used <= space.target() && !shorter.is_empty() {
            let none = Kept::default();
            return Some(self.compaction(0, Vec::new(), shorter, none, Usage::default()));
        }
        self.without_any_results().filter(|made| made.tokens_after <= space.target())
    }

    /// Returns how to leave out all old results, enough or not, so that a summary can be asked for
    /// at all; `None` if there are none.
    pub(crate) fn without_any_results(&self) -> Option<Compaction> {
        let calls = Calls::of(self.conversation);
        let end = self.tail_start(&self.space());
        let shorter = shorter_results(self.conversation.get(..end)?, &calls, |_| true);
        let shorter = self.with_cut_tail(shorter, end, &calls);
        let none = Kept::default();
        (!shorter.is_empty())
            .then(|| self.compaction(0, Vec::new(), shorter, none, Usage::default()))
    }

    /// Returns what a summary can be asked of, one after the other while the one before is too long: all
    /// of it, if that was not refused already; without its results; without its newest messages
    /// either, which stay as they are.
    pub(crate) fn to_sum_up(&self) -> Vec<Conversation> {
        let whole = (self.cause != CompactionCause::TooLong).then(|| self.conversation.clone());
        let lighter = self.without_any_results().map(|made| made.applied_to(self.conversation));
        let start = self.tail_start(&self.space());
        let old = lighter.as_ref().unwrap_or(self.conversation).get(..start);
        let old = old.filter(|_| start < self.conversation.len()).map(<[_]>::to_vec);
        [whole, lighter, old].into_iter().flatten().collect()
    }

    /// Returns how to put `summary` in the place of all but the newest messages; `None` if those
    /// are all there are. Without a summary the calls that were made are listed, in front of the
    /// summary before.
    pub(crate) fn summed_up(&self, summary: Option<&str>, usage: Usage) -> Option<Compaction> {
        let space = self.space();
        let start = self.tail_start(&space);
        let old = self.conversation.get(..start).filter(|old| !old.is_empty())?;
        let calls = Calls::of(self.conversation);
        let prompts = Prompts::of(old);
        let (mut message, kept) = prompts.message(space.window);
        let gone = shorter_results(old, &calls, |_| true);
        let text = match summary.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => cut(text, summary_tokens_max(&space)).into_owned(),
            None => calls.list(old, earlier(old), summary_tokens_max(&space)),
        };
        let newest = self.conversation.get(start..).unwrap_or_default();
        let open = match OpenItems::of(newest).is_empty() {
            true => OpenItems::of(self.conversation).behind(&text, space.window),
            // They stay where they are.
            false => OpenItems::default(),
        };
        let text = format!("{SUMMARY}\n\n{text}{open}{}", Recallable::of(old, &calls, &gone));
        message.content.push(ContentBlock::Text { text });
        let gone: Vec<ShorterResult> =
            gone.into_iter().map(|result| ShorterResult { text: None, ..result }).collect();
        let shorter = self.with_cut_tail(gone, start, &calls);
        Some(self.compaction(start, vec![message], shorter, kept, usage))
    }

    fn space(&self) -> Space {
        self.meter.space(self.conversation)
    }

    fn compaction(
        &self,
        replaced: usize,
        messages: Vec<Message>,
        results: Vec<ShorterResult>,
        Kept { whole, cut }: Kept,
        usage: Usage,
    ) -> Compaction {
        let space = self.space();
        let mut compaction = Compaction {
            cause: self.cause,
            focus: self.focus.map(str::to_owned),
            replaced,
            messages,
            results,
            prompts_kept: whole,
            prompts_cut: cut,
            tokens_before: space.used,
            tokens_after: 0,
            window_tokens: space.window,
            usage,
        };
        let shorter = compaction.applied_to(self.conversation);
        compaction.tokens_after = self.meter.estimated(&shorter);
        compaction
    }

    /// Leaves out old results, the oldest first, until the target is reached; returns them, and how
    /// many tokens a request then has.
    fn old_results(&self, space: &Space) -> (Vec<ShorterResult>, u64) {
        let calls = Calls::of(self.conversation);
        let end = self.tail_start(space);
        let old = self.conversation.get(..end).unwrap_or_default();
        let mut used = space.used;
        let shorter = shorter_results(old, &calls, |saved| {
            let wanted = used > space.target();
            if wanted {
                used = used.saturating_sub(self.meter.scaled(saved));
            }
            wanted
        });
        (shorter, used)
    }

    /// Adds the results of the newest messages that are too large to stay whole.
    fn with_cut_tail(
        &self,
        mut shorter: Vec<ShorterResult>,
        start: usize,
        calls: &Calls<'_>,
    ) -> Vec<ShorterResult> {
        let tail = self.conversation.get(start..).unwrap_or_default();
        let tail_tokens: u64 = tail.iter().map(|message| weight(message)).sum();
        let max = self.space().window / TAIL_SHARE;
        if self.meter.scaled(tail_tokens) > max {
            shorter.extend(results::excerpts(tail, calls, max));
        }
        shorter
    }

    /// Returns where the newest messages begin that stay: at a reply or a prompt, so that no result
    /// loses its call; within a share of the window, but with the results that the model waits for,
    /// also if the person said something behind them.
    fn tail_start(&self, space: &Space) -> usize {
        let conversation = self.conversation;
        let max = match self.cause {
            CompactionCause::Asked => 0,
            CompactionCause::Window | CompactionCause::TooLong => space.window / TAIL_SHARE,
        };
        let is_behind_results = |index: usize| {
            let before = conversation.iter().take(index).rev().find(|before| !is_prompt(before));
            before.is_some_and(|before| before.role == Role::User)
        };
        let begins = |index: usize, message: &Message| {
            let is_new = is_prompt(message) && !is_own_words(message);
            message.role == Role::Assistant || (is_new && !is_behind_results(index))
        };
        let mut start = conversation.len();
        let mut tokens = 0;
        let mut is_owed = conversation.last().is_some_and(|last| last.role == Role::User);
        for (index, message) in conversation.iter().enumerate().rev() {
            tokens += self.meter.scaled(weight(message));
            if tokens > max && !is_owed {
                break;
            }
            if begins(index, message) {
                start = index;
                is_owed = false;
            }
        }
        start
    }
}

#[cfg(test)]
mod tests;
