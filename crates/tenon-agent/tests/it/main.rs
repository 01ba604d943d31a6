//! The agent as its users see it: prompts in, events and files out.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "tests prepare and inspect files")]

mod calls;
mod commands;
mod compaction;
mod examples;
mod grants;
mod log;
mod masking;
mod own_tool;
mod support;
mod turns;
