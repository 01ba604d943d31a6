//! What is printed outside of a session: a subcommand's text, and notices.

use std::io::{self, Write};

use crate::{
    error::CliError,
    masked::{asked, masked},
    texts::{Language, Sentence, Text},
};

/// Prints `text` to standard output at once, known secrets by name. A reader that has seen enough ends the program.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    print_as_it_is(&masked(text))
}

/// Prints what is said of rules: as a question shows it.
pub(crate) fn print_asked(text: &str) -> Result<(), CliError> {
    print_as_it_is(&asked(text))
}

fn print_as_it_is(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints what the user should know, to standard error.
pub(crate) fn say_notices(notices: &[Sentence], language: Language) {
    for notice in notices {
        let (label, said) = (Text::Note.template(language), notice.say(language));
        let line = format!("{label} {}\n", tenon_model::visible(&masked(said)));
        // What cannot be said is not worth stopping for.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}
