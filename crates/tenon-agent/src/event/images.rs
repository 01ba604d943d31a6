//! The pictures that events hold.

use tenon_model::{ContentBlock, Image, Message};

use super::{ContextEvent, SessionEvent, TurnEvent};

impl SessionEvent {
    /// Returns the pictures of an event, in order.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        let messages = match self {
            Self::Turn(TurnEvent::UserMessage { message, .. }) => std::slice::from_ref(message),
            Self::Context(ContextEvent::Compacted(compaction)) => &compaction.messages,
            _ => &[],
        };
        let blocks = messages.iter().flat_map(|message: &Message| &message.content);
        blocks.filter_map(|block| match block {
            ContentBlock::Image(image) => Some(image),
            _ => None,
        })
    }

    /// Returns the same pictures, to fill in their bytes.
    pub(crate) fn images_mut(&mut self) -> impl Iterator<Item = &mut Image> {
        let messages = match self {
            Self::Turn(TurnEvent::UserMessage { message, .. }) => std::slice::from_mut(message),
            Self::Context(ContextEvent::Compacted(compaction)) => &mut compaction.messages,
            _ => &mut [],
        };
        let blocks = messages.iter_mut().flat_map(|message: &mut Message| &mut message.content);
        blocks.filter_map(|block| match block {
            ContentBlock::Image(image) => Some(image),
            _ => None,
        })
    }
}
