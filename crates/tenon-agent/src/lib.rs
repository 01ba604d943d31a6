//! The agent as a library.

pub mod policy;
