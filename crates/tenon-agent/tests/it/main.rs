//! The agent as its users see it: prompts in, events and files out.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "tests prepare and inspect files")]

#[path = "../../../../tests/support/fake_server/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod fake_server;

#[path = "../../../../tests/support/skipped.rs"]
mod skipped;

mod calls;
mod commands;
mod compaction;
mod examples;
mod faults;
mod grants;
mod images;
mod log;
mod masking;
mod own_tool;
mod queue;
mod receipts;
mod support;
mod turns;
