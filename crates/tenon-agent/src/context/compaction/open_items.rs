//! The open items of the model's lists (`- [ ] …`), kept word for word behind a summary: a summary may
//! forget one.
//!
//! What counts is what the model said, without code blocks: the last list with an open item, less what
//! was ticked since (`- [x] …`). An item is its line and what is indented deeper below it.

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

/// How far a tab indents.
const TAB_COLUMNS: usize = 4;

/// An item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item<'a> {
    /// All its lines, as they stand.
    whole: &'a str,
    /// What its first line says.
    text: &'a str,
    is_open: bool,
}

impl<'a> Item<'a> {
    /// Whether it says what `known` says, or ticks it and names its first line alone.
    fn tells_of(&self, known: &Self) -> bool {
        let is_tick = !self.is_open && self.more().next().is_none();
        self.text == known.text && (is_tick || self.more().eq(known.more()))
    }

    /// Returns the lines below the first, however they are indented.
    fn more(&self) -> impl Iterator<Item = &'a str> {
        self.whole.lines().skip(1).map(str::trim).filter(|line| !line.is_empty())
    }
}

/// The items that are open, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OpenItems<'a> {
    items: Vec<Item<'a>>,
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
        self.items.is_empty()
    }

    /// Returns what is to stand behind `summary` in a window of so many tokens: what it does not say
    /// itself.
    pub(super) fn behind(mut self, summary: &str, window: u64) -> Self {
        let said = items(summary);
        self.items.retain(|known| !said.iter().any(|item| item.tells_of(known)));
        let mut room = (window / OPEN_SHARE).min(OPEN_TOKENS_MAX);
        let fits = |item: &&Item<'_>| {
            let weight = weight_of_text(item.whole);
            let fits = weight <= room;
            room = room.saturating_sub(weight);
            fits
        };
        let kept = self.items.iter().take_while(fits).count();
        self.left_out += self.items.len() - kept;
        self.items.truncate(kept);
        self
    }

    fn hear(&mut self, text: &'a str) {
        let said = items(text);
        if said.iter().any(|item| item.is_open) {
            let more = text.lines().find_map(|line| {
                line.strip_prefix(MORE.0)?.strip_suffix(MORE.1)?.parse::<usize>().ok()
            });
            (self.items, self.left_out) = (Vec::new(), more.unwrap_or_default());
        }
        for item in said {
            self.items.retain(|known| !item.tells_of(known));
            if item.is_open {
                self.items.push(item);
            }
        }
    }
}

/// As it stands behind a summary; nothing where nothing is open.
impl fmt::Display for OpenItems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.items.is_empty() && self.left_out == 0 {
            return Ok(());
        }
        f.write_str(OPEN)?;
        self.items.iter().try_for_each(|item| write!(f, "\n{}", item.whole))?;
        match self.left_out {
            0 => Ok(()),
            more => write!(f, "\n{}{more}{}", MORE.0, MORE.1),
        }
    }
}

/// Returns the items of lists in `text`, outside of code blocks. To an item belongs what is indented
/// deeper below it, up to the next item.
fn items(text: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    // The item that may go on: its indentation and where it begins.
    let mut open: Option<(usize, usize)> = None;
    let (mut is_code, mut end) = (false, 0);
    for line in text.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        let is_fence = ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence));
        is_code ^= is_fence;
        let indentation = indentation(line);
        if !(is_code || is_fence)
            && let Some(item) = item(line)
        {
            items.push(item);
            open = Some((indentation, start));
            continue;
        }
        open = open.filter(|(of_item, _)| indentation > *of_item);
        if let Some((_, begin)) = open
            && let Some(item) = items.last_mut()
        {
            item.whole = text.get(begin..start + line.len()).unwrap_or(item.whole);
        }
    }
    items
}

fn indentation(line: &str) -> usize {
    let blanks = line.chars().take_while(|sign| sign.is_whitespace());
    blanks.map(|sign| if sign == '\t' { TAB_COLUMNS } else { 1 }).sum()
}

fn item(line: &str) -> Option<Item<'_>> {
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
    (!text.is_empty()).then_some(Item { whole: line, text, is_open })
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
    fn the_lines_that_belong_to_an_item_are_kept_with_it() {
        let drop = "- [ ] Drop the old table, but only\n      after Ann checked the backup\n\n      of /srv/b";
        let tell = "- [ ] 通知小王：\n  先备份，再删除\n  - 然后\n\t```\n\t- [ ] no item\n\t```";
        let fix = ["- [ ] Fix:\n  a.rs", "- [ ] Fix:\n  b.rs"].join("\n");
        let list =
            format!("Plan:\n{drop}\n{tell}\n\nFor now.\n  - [x] done\n    so\n{fix}\n\nOn.\n  no");
        let open = format!("{drop}\n{tell}\n{fix}");
        check(&[&list], "", &open);
        // What was kept once is kept again.
        check(&[&open], "", &open);
        // A tick names all of it or its first line; a summary that says the first line does not say it.
        check(
            &[&list, "- [x] Fix:\n    b.rs\n- [x] 通知小王："],
            "",
            &format!("{drop}\n- [ ] Fix:\n  a.rs"),
        );
        check(
            &[&list],
            "- [ ] Drop the old table, but only\n- [ ] Fix:\n  a.rs",
            &format!("{drop}\n{tell}\n- [ ] Fix:\n  b.rs"),
        );
        check(&["- [ ] a\nb\n  c\n\t- [ ] d\n    e\n\t\tf"], "", "- [ ] a\n\t- [ ] d");
        check(&["- [ ] a\n\t- [ ] d\n\t\tf"], "", "- [ ] a\n\t- [ ] d\n\t\tf");
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
