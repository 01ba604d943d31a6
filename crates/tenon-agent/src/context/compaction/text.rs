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

/// Returns `text`, its middle left out if it has more than `tokens`.
pub(super) fn cut(text: &str, tokens: u64) -> Cow<'_, str> {
    let weight = weight_of_text(text);
    if weight <= tokens {
        return Cow::Borrowed(text);
    }
    let chars: Vec<char> = text.chars().collect();
    let kept = (chars.len() as u64 * tokens / weight) as usize;
    let (head, tail) = (kept - kept / 3, kept / 3);
    let left_out = chars.len() - kept;
    let head: String = chars.iter().take(head).collect();
    let tail: String = chars.iter().skip(chars.len() - tail).collect();
    Cow::Owned(format!("{head}\n(… {left_out} characters left out …)\n{tail}"))
}
