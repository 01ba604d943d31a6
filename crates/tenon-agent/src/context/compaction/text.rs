//! Texts of messages, and texts that are cut.

use std::borrow::Cow;

use tenon_model::{ContentBlock, Message, Role};

use crate::context::{
    tokens::weight_of_text,
    words::{GO_ON_AFTER_FAILURE, GO_ON_AFTER_LIMIT, RUN_CHECK},
};

/// Returns whether a person, or tenon for them, says something in `message` besides results.
pub(super) fn is_prompt(message: &Message) -> bool {
    let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult(_));
    message.role == Role::User && !message.content.iter().any(is_result)
}

/// Returns whether tenon says what `message` says: that a reply goes on, that a check is missing.
pub(super) fn is_own_words(message: &Message) -> bool {
    let last = texts(message).last();
    let own = [GO_ON_AFTER_FAILURE, GO_ON_AFTER_LIMIT, RUN_CHECK];
    last.is_some_and(|text| own.iter().any(|words| text.starts_with(words)))
}

/// Returns the texts of `message`, in their order.
pub(super) fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

/// What stands in the place of a middle that is left out, around the number of its characters.
const LEFT_OUT: (&str, &str) = ("\n(… ", " characters left out …)\n");

/// Returns `text`, its middle left out if it has more than `tokens`. What was cut before is cut at the
/// same place, and the number is that of all that is gone; what was cut to as many stays as it is.
pub(super) fn cut(text: &str, tokens: u64) -> Cow<'_, str> {
    if weight_of_text(text) <= tokens {
        return Cow::Borrowed(text);
    }
    let (head, gone, tail) = parts(text).unwrap_or((text, 0, ""));
    let chars: Vec<char> = head.chars().chain(tail.chars()).collect();
    let around = |kept: usize| -> (String, String) {
        let (head, tail) = (kept - kept / 3, kept / 3);
        (chars.iter().take(head).collect(), chars.iter().skip(chars.len() - tail).collect())
    };
    let mut kept = chars.len();
    let (head, tail) = loop {
        let (head, tail) = around(kept);
        let weight = weight_of_text(&format!("{head}{tail}"));
        if weight <= tokens {
            break (head, tail);
        }
        // Ends may weigh more than the middle; less is kept each time.
        kept = (kept as u64 * tokens / weight) as usize;
    };
    if kept == chars.len() {
        return Cow::Borrowed(text);
    }
    let left_out = gone + chars.len() - kept;
    let (before, behind) = LEFT_OUT;
    Cow::Owned(format!("{head}{before}{left_out}{behind}{tail}"))
}

/// Returns what stands around a middle that was left out, and how many characters that had.
fn parts(text: &str) -> Option<(&str, usize, &str)> {
    let (head, rest) = text.split_once(LEFT_OUT.0)?;
    let (number, tail) = rest.split_once(LEFT_OUT.1)?;
    Some((head, number.parse().ok()?, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_stays_as_it_is_where_no_more_is_to_go() {
        let mixed = format!("{}{}{}", "汉字".repeat(500), "a word ".repeat(900), "末".repeat(800));
        for text in ["blah word ".repeat(700), mixed] {
            for tokens in [1_000, 999, 200, 1] {
                let once = cut(&text, tokens).into_owned();
                assert!(once.contains(" characters left out …)"), "{tokens}");
                assert_eq!(cut(&once, tokens), once, "{tokens}");
            }
        }
    }

    #[test]
    fn what_is_cut_again_tells_all_that_is_gone() {
        let text: String = (0..4_000).map(|n| char::from_u32(0x4e00 + n).unwrap_or('一')).collect();
        let mut shorter = text.clone();
        for tokens in [2_000, 1_000, 900, 100] {
            shorter = cut(&shorter, tokens).into_owned();
            let (head, gone, tail) = parts(&shorter).unwrap();
            assert!(text.starts_with(head) && text.ends_with(tail), "{tokens}");
            assert_eq!(head.chars().count() + gone + tail.chars().count(), 4_000, "{tokens}");
            assert!(weight_of_text(&shorter) <= tokens + 20, "{tokens}");
        }
    }
}
