//! The agent as its users see it: prompts in, events and files out.

mod calls;
mod log;
mod own_tool;
mod support;
mod turns;
