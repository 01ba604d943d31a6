//! The providers: one file or folder each, and what they share.

pub(crate) mod body;
mod figures;

pub mod anthropic;
pub mod openai_chat;
pub mod scripted;

/// The names by which a model's provider is chosen (`PROVIDER/NAME`), in the order of the docs.
pub const PROVIDERS: [&str; 3] =
    [anthropic::PROVIDER_NAME, openai_chat::PROVIDER_NAME, scripted::PROVIDER_NAME];
