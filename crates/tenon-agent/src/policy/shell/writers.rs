//! Programs whose arguments name what they write, as tables: the options that have a value, which of those
//! values is a file or a folder, and what the other arguments are.
//!
//! A program has several rows where one of its options makes another one of it. What programs write by
//! themselves, by a configuration or a script, is not in them.

mod archives;
mod files;
mod git;
mod network;
mod scripts;

use super::writer::Writer;

/// What is written.
pub(super) const WRITERS: [&[Writer]; 5] =
    [archives::WRITERS, files::WRITERS, git::WRITERS, network::WRITERS, scripts::WRITERS];
