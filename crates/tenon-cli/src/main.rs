//! The `tenon` program: reads the command line, does what it says, and turns the outcome into an
//! exit code.
//!
//! A prompt stands where a subcommand could: one that equals a subcommand's name needs
//! `tenon run`. Flags of a session may stand before `run` or after it; before a subcommand that
//! has no use for them they are an error, because every flag does something.

mod args;
mod commands;
mod config;
mod error;
mod export;
mod headless;
mod images;
mod interactive;
mod jobs;
mod json;
mod model_choice;
mod offer;
mod past;
mod print;
mod pull;
mod question;
mod render;
mod replay;
mod resume;
mod screen;
mod setup;
mod signals;
mod texts;
mod tui;
mod values;
mod which_session;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use rustix::process::DumpableBehavior;

use crate::{
    args::{OutputArgs, SessionArgs},
    commands::Subcommand,
    error::{CliError, ExitStatus},
    resume::ResumeArgs,
};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "tenon",
    version,
    disable_help_subcommand = true,
    about = "A coding agent for the terminal.\n\nWithout a prompt, tenon asks for one after another. \
             With one it carries it out and ends;\ntext on standard input is added to the prompt, \
             or is the prompt if none is given.",
    after_help = "Exit codes: 0 finished, 1 the task ended otherwise, 2 usage or configuration, \
                  3 the walls that \
                  were asked for cannot be had, 130 interrupted."
)]
struct Args {
    /// What to do [a prompt that is a command's name: tenon run NAME]
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,

    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    resume: ResumeArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(subcommand)]
    command: Option<Subcommand>,
}

fn main() -> ExitCode {
    // Other programs of this user cannot look into this one, where keys are. A kernel that refuses
    // leaves things as they are for every program.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let outcome = run(Args::parse());
    outcome
        .unwrap_or_else(|error| {
            error.report();
            error.status()
        })
        .into()
}

fn run(args: Args) -> Result<ExitStatus, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed("the program cannot start").with_source(error))?;
    let Args { prompt, session, resume, output, command } = args;
    let command = command.unwrap_or_else(|| Subcommand::without_name(prompt.as_deref()));
    let outcome = runtime.block_on(command.execute(prompt, session, resume, output, Args::command));
    // A blocking read of the terminal may be left over; nobody waits for it.
    runtime.shutdown_background();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Args, clap::error::ErrorKind> {
        Args::try_parse_from([&["tenon"], line].concat()).map_err(|error| error.kind())
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_prompt_is_a_prompt_unless_it_is_a_subcommands_name() {
        assert_eq!(parse(&["fix it"]).unwrap().prompt.as_deref(), Some("fix it"));
        assert_eq!(parse(&["--", "--odd"]).unwrap().prompt.as_deref(), Some("--odd"));
        let sessions = parse(&["sessions"]).unwrap();
        assert!(sessions.prompt.is_none() && sessions.command.is_some());
    }

    #[test]
    fn flags_stand_before_run_or_after_it() {
        let before = parse(&["--model", "a", "--deny", "x", "run", "--deny", "y", "p"]).unwrap();
        let Some(Subcommand::Run(run)) = before.command else { panic!("not run") };
        let joined = run.session.or(before.session);
        assert_eq!(joined.model.as_deref(), Some("a"));
        assert_eq!(joined.deny, ["x", "y"]);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        use clap::error::ErrorKind;
        let cases: [(&[&str], ErrorKind); 4] = [
            (&["--nonsense"], ErrorKind::UnknownArgument),
            (&["--max-steps", "0"], ErrorKind::ValueValidation),
            (&["--output-format", "xml"], ErrorKind::InvalidValue),
            (&["a", "b"], ErrorKind::UnknownArgument),
        ];
        for (line, expected) in cases {
            assert_eq!(parse(line).unwrap_err(), expected, "{line:?}");
        }
    }
}
