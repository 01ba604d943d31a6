//! What is printed outside of a session: a subcommand's text, and notices.

use std::io::{self, Write};

use crate::error::CliError;

/// Prints `text` to standard output at once. A reader that has seen enough ends the program.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints what the user should know, to standard error.
pub(crate) fn say_notices(notices: &[String]) {
    for notice in notices {
        let line = format!("note: {}\n", tenon_model::visible(notice));
        // What cannot be said is not worth stopping for.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}
