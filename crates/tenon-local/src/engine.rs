//! What the rest of the crate needs of an engine: tokens in, likelihoods of the next one out.

use std::{io, path::PathBuf};

/// A language model with its state after the tokens it has read.
pub trait Engine: Send {
    /// Returns the tokens read so far, oldest first.
    fn tokens(&self) -> &[u32];

    /// Returns how many tokens can be read before [`Engine::rewind`] is needed.
    fn tokens_max(&self) -> usize;

    /// Reads `tokens` after those read before. Fails where they do not fit or are unknown.
    fn prefill(&mut self, tokens: &[u32]) -> Result<(), EngineError>;

    /// Returns, for each of the last `count` tokens of the last [`Engine::prefill`], the
    /// likelihoods (logits) of what follows it, vocabulary after vocabulary, oldest first.
    /// `count` is cut to the tokens of the last pass, which may have been a part of the call.
    fn logits(&mut self, count: usize) -> &[f32];

    /// Forgets every token after the first `to`.
    fn rewind(&mut self, to: usize);
}

/// Why the built-in model cannot be loaded or run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The file cannot be opened or read.
    #[error("cannot read the model file {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not begin as a GGUF file does.
    #[error("the model file is not a GGUF file")]
    NotGguf,
    /// The file ends before what its header promises.
    #[error("the model file is cut short or damaged: it ends before what its header promises")]
    Truncated,
    /// The file contradicts itself or the format.
    #[error("the model file is damaged: {0}")]
    Malformed(String),
    /// The file holds a model of another architecture.
    #[error("the model file has the architecture `{0}`; the built-in engine runs `qwen2` only")]
    Architecture(String),
    /// A tensor is stored in a way that the engine cannot read.
    #[error("tensor `{tensor}` is stored as type {kind}, which the built-in engine cannot read")]
    Storage {
        /// The tensor.
        tensor: String,
        /// The type's number in the format.
        kind: u32,
    },
    /// More tokens than the context holds.
    #[error("{asked} tokens do not fit the context of {tokens_max}")]
    ContextFull {
        /// How many there would be.
        asked: usize,
        /// How many fit.
        tokens_max: usize,
    },
    /// A token number outside the vocabulary.
    #[error("token {0} is not in the vocabulary")]
    UnknownToken(u32),
    /// No threads could be started.
    #[error("cannot start the engine's threads: {0}")]
    Threads(String),
}
