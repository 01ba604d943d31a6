//! The built-in model: an engine for the Qwen2 family on the processor, and the harness that
//! makes a small model useful, behind the ordinary [`Provider`](tenon_model::Provider).
//!
//! The model speaks in raw tags ([`Block`]); a [`Grammar`] keeps it to exactly one block a reply.
//! Nothing outside this crate knows of either. Reads no environment and reaches no network.

mod activations;
mod attention;
mod engine;
mod generate;
mod gguf;
mod grammar;
mod guards;
mod kernels;
mod known;
mod mapped;
mod prefix;
mod prompt;
mod provider;
mod quant;
mod qwen2;
mod session;
#[cfg(target_arch = "x86_64")]
mod simd;
mod tags;
mod threads;
mod tokenizer;

pub use engine::{Engine, EngineError};
pub use grammar::{Allowed, Grammar};
pub use provider::{LocalOptions, LocalProvider, prepare};
pub use qwen2::{Qwen2, TOKENS_PER_PASS};
pub use tags::{Block, parse};
pub use tokenizer::Tokenizer;
