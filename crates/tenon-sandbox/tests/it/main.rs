//! Tests of the crate from outside: real folders, real processes.

#![expect(clippy::disallowed_methods, reason = "tests look at files and processes from outside")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "../../../../tests/support/program_copy.rs"]
mod program_copy;
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;

mod command;
mod environment;
mod files;
mod grants;
mod journal;
mod network;
mod processes;
mod races;
mod roots;
mod support;
mod walk;
mod walls;
