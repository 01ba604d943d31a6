//! Hashes of what a request holds, so that the log tells which part of it a cache could have held.
//!
//! A message is hashed once, as the log stores it; the hash of a conversation goes on from that of
//! the messages before.

use std::sync::Arc;

use tenon_model::{ContentBlock, Conversation, Message, Provider, Request, ToolSpec};
use tenon_sandbox::ContentHash;

use crate::event::{ModelEvent, RequestForm};

/// Digits of a hash that are logged: 64 bits tell the requests of one session apart.
const DIGITS: usize = 16;

/// Hashes conversations that mostly grow at their end.
#[derive(Debug, Default)]
pub(crate) struct PrefixHasher {
    known: Vec<(Arc<Message>, String)>,
}

impl PrefixHasher {
    /// Returns the event that says that `request` is made.
    pub(crate) fn request(&mut self, request: &Request, form: Option<RequestForm>) -> ModelEvent {
        ModelEvent::RequestSent {
            system: hash(&[request.system.as_bytes()]),
            tools: Self::tools(&request.tools),
            messages: request.conversation.len(),
            hash: self.conversation(&request.conversation),
            form,
        }
    }

    /// Returns how `request` is sent to `provider`.
    pub(crate) fn form(
        provider: &dyn Provider,
        request: &Request,
        is_limited: bool,
    ) -> RequestForm {
        let written = provider.written(request).filter(|_| !has_images(&request.conversation));
        let body = written.as_ref().map(|written| Self::body(&written.body));
        let wire = written.map(|written| written.form);
        RequestForm { output_tokens_max: request.output_tokens_max, is_limited, wire, body }
    }

    /// Returns the hash of a request's body.
    pub(crate) fn body(body: &[u8]) -> String {
        hash(&[body])
    }

    /// Returns the hash of `tools`, as a request with them is logged.
    pub(crate) fn tools(tools: &[ToolSpec]) -> String {
        hash(&[&serde_json::to_vec(tools).unwrap_or_default()])
    }

    /// Returns the hash of `conversation`; empty if nothing was said.
    pub(super) fn conversation(&mut self, conversation: &Conversation) -> String {
        let same = self.known.iter().zip(conversation);
        let shared = same.take_while(|((known, _), now)| Arc::ptr_eq(known, now)).count();
        self.known.truncate(shared);
        for message in conversation.iter().skip(shared) {
            let before = self.known.last().map_or("", |(_, hash)| hash);
            let json = serde_json::to_vec(message).unwrap_or_default();
            let hash = hash(&[before.as_bytes(), &json]);
            self.known.push((Arc::clone(message), hash));
        }
        self.known.last().map(|(_, hash)| hash.clone()).unwrap_or_default()
    }
}

fn has_images(conversation: &Conversation) -> bool {
    let has = |block: &ContentBlock| match block {
        ContentBlock::Image(_) => true,
        ContentBlock::ToolResult(result) => !result.images.is_empty(),
        _ => false,
    };
    conversation.iter().any(|message| message.content.iter().any(has))
}

fn hash(parts: &[&[u8]]) -> String {
    let mut digits = ContentHash::of(&parts.concat()).to_string();
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_what_is_said_and_not_on_how_it_came_about() {
        let say = |words: &[&str]| -> Conversation {
            words.iter().map(|word| Arc::new(Message::user(*word))).collect()
        };
        let mut grown = PrefixHasher::default();
        let mut conversation = say(&["a", "b"]);
        let two = grown.conversation(&conversation);
        conversation.extend(say(&["c"]));
        let three = grown.conversation(&conversation);
        assert_eq!(PrefixHasher::default().conversation(&say(&["a", "b", "c"])), three);
        conversation.truncate(2);
        assert_eq!(grown.conversation(&conversation), two);
        assert_ne!(PrefixHasher::default().conversation(&say(&["ab"])), two);
        assert_ne!(PrefixHasher::default().conversation(&say(&["b", "a"])), two);
    }
}
