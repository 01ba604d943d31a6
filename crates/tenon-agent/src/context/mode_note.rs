//! What the model is told of the mode in which a session runs, since it could else learn it from refusals
//! alone. It stands in front of a prompt, where it moves nothing that was sent before.

use tenon_model::{ContentBlock, Message, Role};

use crate::policy::Mode;

/// What is told where nothing may be changed.
const READ_ONLY: &str = "[mode] read-only: look and plan; whatever changes something is refused.";

/// What is told where that was told, and a session goes on in another mode.
const NOT_READ_ONLY: &str = "[mode] no longer read-only: you may change files and run commands.";

/// Returns what the model is to be told with the next prompt of `conversation`; nothing if it knows. What
/// is no longer in the conversation is told again.
pub(crate) fn due<'a>(
    mode: Mode,
    conversation: impl DoubleEndedIterator<Item = &'a Message>,
) -> Option<&'static str> {
    let mut prompts = conversation.rev().filter(|message| message.role == Role::User);
    let told = prompts.find_map(|message| message.content.iter().rev().find_map(note));
    match mode {
        Mode::ReadOnly => (told != Some(READ_ONLY)).then_some(READ_ONLY),
        Mode::Ask | Mode::Auto => (told == Some(READ_ONLY)).then_some(NOT_READ_ONLY),
    }
}

/// Returns the note that a block is, if it is one.
fn note(block: &ContentBlock) -> Option<&'static str> {
    match block {
        ContentBlock::Text { text } => {
            [READ_ONLY, NOT_READ_ONLY].into_iter().find(|note| note == text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_and_again_where_it_is_no_longer_so_or_no_longer_there() {
        let said = |note: Option<&str>| {
            let texts = note.into_iter().chain(["do it"]);
            let content = texts.map(|text| ContentBlock::Text { text: text.into() }).collect();
            Message { role: Role::User, content }
        };
        let (plain, strict, free) = (said(None), said(Some(READ_ONLY)), said(Some(NOT_READ_ONLY)));
        let cases: [(&[&Message], Mode, Option<&str>); 8] = [
            (&[], Mode::Auto, None),
            (&[], Mode::ReadOnly, Some(READ_ONLY)),
            (&[&strict, &plain], Mode::ReadOnly, None),
            (&[&strict, &plain], Mode::Ask, Some(NOT_READ_ONLY)),
            (&[&strict, &free, &plain], Mode::Auto, None),
            (&[&strict, &free], Mode::ReadOnly, Some(READ_ONLY)),
            (&[&strict, &free, &strict], Mode::ReadOnly, None),
            (&[&plain, &plain], Mode::ReadOnly, Some(READ_ONLY)),
        ];
        for (conversation, mode, expected) in cases {
            assert_eq!(due(mode, conversation.iter().copied()), expected, "{mode:?}");
        }
    }
}
