//! The pictures that events hold.

use tenon_model::{ContentBlock, Image, Message};

use super::{CallEvent, ContextEvent, SessionEvent, TurnEvent};

impl SessionEvent {
    /// Returns the pictures of an event, in order.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        let (messages, own): (&[Message], &[Image]) = match self {
            Self::Turn(TurnEvent::UserMessage { message, .. }) => {
                (std::slice::from_ref(message), &[])
            }
            Self::Context(ContextEvent::Compacted(compaction)) => (&compaction.messages, &[]),
            Self::Call(CallEvent::ToolResult { images, .. }) => (&[], images),
            _ => (&[], &[]),
        };
        let blocks = messages.iter().flat_map(|message| &message.content);
        let said = blocks.filter_map(|block| match block {
            ContentBlock::Image(image) => Some(image),
            _ => None,
        });
        said.chain(own)
    }

    /// Returns the same pictures, to fill in their bytes.
    pub(crate) fn images_mut(&mut self) -> impl Iterator<Item = &mut Image> {
        let (messages, own): (&mut [Message], &mut [Image]) = match self {
            Self::Turn(TurnEvent::UserMessage { message, .. }) => {
                (std::slice::from_mut(message), &mut [])
            }
            Self::Context(ContextEvent::Compacted(compaction)) => {
                (&mut compaction.messages, &mut [])
            }
            Self::Call(CallEvent::ToolResult { images, .. }) => (&mut [], images),
            _ => (&mut [], &mut []),
        };
        let blocks = messages.iter_mut().flat_map(|message| &mut message.content);
        let said = blocks.filter_map(|block| match block {
            ContentBlock::Image(image) => Some(image),
            _ => None,
        });
        said.chain(own)
    }
}
