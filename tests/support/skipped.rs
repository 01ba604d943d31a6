//! Tests that cannot run here, in full or in part.

use std::fmt::Display;
use std::io::Write;

/// Says why on standard error, past the test runner, which shows nothing of a test that passes. `.ci/run`
/// counts these lines.
pub(crate) fn skipped(reason: impl Display) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {reason}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
