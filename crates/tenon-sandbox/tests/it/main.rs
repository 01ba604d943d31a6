//! Tests of the crate from outside: real folders, real processes.

#![expect(clippy::disallowed_methods, reason = "tests look at files and processes from outside")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod command;
mod environment;
mod files;
mod support;
