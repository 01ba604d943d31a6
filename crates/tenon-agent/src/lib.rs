//! The agent as a library.
