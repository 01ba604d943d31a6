//! The open items of the model's lists (`- [ ] …`), kept word for word behind a summary: a summary may
//! forget one.
//!
//! What counts is what the model said, without code blocks: the last list with an open item, less what
//! was ticked since (`- [x] …`).

use std::{fmt, sync::Arc};

use tenon_model::{Message, Role};

use super::{prompts::Prompts, text::texts};
use crate::context::tokens::weight_of_text;

/// What stands in front of the items.
pub(super) const OPEN: &str = "\n\n(Open items of your last list, word for word:)";

/// The share of the window that the items may take, and the most, in tokens.
const OPEN_SHARE: u64 = 32;
const OPEN_TOKENS_MAX: u64 = 1_000;

/// What stands around the number of items for which there is no room.
const MORE: (&str, &str) = ("(and ", " more, left out to save room)");

/// A line of a list.
struct Item<'a> {
    line: &'a str,
    text: &'a str,
    is_open: bool,
}

/// The items that are open, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OpenItems<'a> {
    lines: Vec<(&'a str, &'a str)>,
    left_out: usize,
}

impl<'a> OpenItems<'a> {
    /// Returns what is open at the end of `messages`.
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let mut open = Self::default();
        for message in messages {
            match message.role {
                Role::Assistant => texts(message).for_each(|text| open.hear(text)),
                // What was open when the conversation was made shorter before.
                Role::User => Prompts::behind(message).into_iter().for_each(|text| open.hear(text)),
            }
        }
        open
    }

    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns what is to stand behind `summary` in a window of so many tokens: what it does not say
    /// itself.
    pub(super) fn behind(mut self, summary: &str, window: u64) -> Self {
        let said: Vec<Item<'_>> = items(summary).collect();
        self.lines.retain(|(_, text)| said.iter().all(|item| item.text != *text));
        let mut room = (window / OPEN_SHARE).min(OPEN_TOKENS_MAX);
        let fits = |(line, _): &&(&str, &str)| {
            let weight = weight_of_text(line);
            let fits = weight <= room;
            room = room.saturating_sub(weight);
            fits
        };
        let kept = self.lines.iter().take_while(fits).count();
        self.left_out += self.lines.len() - kept;
        self.lines.truncate(kept);
        self
    }

    fn hear(&mut self, text: &'a str) {
        let said: Vec<Item<'a>> = items(text).collect();
        if said.iter().any(|item| item.is_open) {
            let more = text.lines().find_map(|line| {
                line.strip_prefix(MORE.0)?.strip_suffix(MORE.1)?.parse::<usize>().ok()
            });
            (self.lines, self.left_out) = (Vec::new(), more.unwrap_or_default());
        }
        for Item { line, text, is_open } in said {
            self.lines.retain(|(_, known)| *known != text);
            if is_open {
                self.lines.push((line, text));
            }
        }
    }
}

/// As it stands behind a summary; nothing where nothing is open.
impl fmt::Display for OpenItems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() && self.left_out == 0 {
            return Ok(());
        }
        f.write_str(OPEN)?;
        self.lines.iter().try_for_each(|(line, _)| write!(f, "\n{line}"))?;
        match self.left_out {
            0 => Ok(()),
            more => write!(f, "\n{}{more}{}", MORE.0, MORE.1),
        }
    }
}

/// Returns the items of lists in `text`, outside of code blocks.
fn items(text: &str) -> impl Iterator<Item = Item<'_>> {
    let mut is_code = false;
    text.lines().filter_map(move |line| {
        let is_fence = ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence));
        is_code ^= is_fence;
        if is_code || is_fence { None } else { item(line) }
    })
}

fn item(line: &str) -> Option<Item<'_>> {
    let line = line.trim_end();
    let rest = line.trim_start();
    let digits = rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let rest = match digits.len() < rest.len() {
        true => digits.strip_prefix(['.', ')'])?,
        false => rest.strip_prefix(['-', '*', '+'])?,
    };
    let rest = rest.strip_prefix(' ')?.trim_start();
    let (is_open, text) = match rest.strip_prefix("[ ] ") {
        Some(text) => (true, text),
        None => (false, rest.strip_prefix("[x] ").or_else(|| rest.strip_prefix("[X] "))?),
    };
    let text = text.trim();
    (!text.is_empty()).then_some(Item { line, text, is_open })
}

#[cfg(test)]
mod tests {
    use tenon_model::ContentBlock;

    use super::*;

    fn check(said: &[&str], summary: &str, expected: &str) {
        let message = |text: &&str| {
            let content = vec![ContentBlock::Text { text: (*text).to_owned() }];
            Arc::new(Message { role: Role::Assistant, content })
        };
        let messages: Vec<_> = said.iter().map(message).collect();
        let shown = OpenItems::of(&messages).behind(summary, 100_000).to_string();
        let shown = shown.strip_prefix(OPEN).unwrap_or(&shown);
        assert_eq!(shown.trim_start(), expected, "{said:?}");
    }

    #[test]
    fn the_last_list_with_an_open_item_counts_less_what_was_ticked_since() {
        let list = "Plan:\n- [x] a\n- [ ] rename `b` in 库.rs\n  * [ ] c\n1. [ ] d\n2) [X] e\n";
        let open = "- [ ] rename `b` in 库.rs\n  * [ ] c\n1. [ ] d";
        check(&[list, "on"], "Summary.", open);
        check(&["- [ ] old", list], "", open);
        check(&[list, "- [x] c is done\n- [x] c"], "", "- [ ] rename `b` in 库.rs\n1. [ ] d");
        check(&[list, "- [ ] new"], "", "- [ ] new");
        check(&[list, "- [x] rename `b` in 库.rs\n- [x] c\n- [x] d"], "", "");
        // What the summary says of an item stands there.
        check(&[list], "Left:\n- [ ] c\n- [x] d", "- [ ] rename `b` in 库.rs");
        check(&["```\n- [ ] of a file\n```\n-[ ] no\n- [] no\n- [ ]\n[ ] no\n1 [ ] no"], "", "");
    }

    #[test]
    fn what_has_no_room_is_counted_and_stays_so() {
        let list: String = (0..900).map(|n| format!("- [ ] item number {n}\n")).collect();
        let said = |text: String| {
            let content = vec![ContentBlock::Text { text }];
            [Arc::new(Message { role: Role::Assistant, content })]
        };
        let messages = said(list);
        let once = OpenItems::of(&messages).behind("", 8_000).to_string();
        assert!(weight_of_text(&once) < 400, "{once}");
        let kept = once.matches("- [ ] ").count();
        assert!(
            kept > 10
                && once.ends_with(&format!("(and {} more, left out to save room)", 900 - kept))
        );
        let messages = said(once.clone());
        assert_eq!(OpenItems::of(&messages).behind("", 8_000).to_string(), once);
    }
}
