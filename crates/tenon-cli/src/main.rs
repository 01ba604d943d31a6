//! The `tenon` program: reads the command line, does what it says, and turns the outcome into an
//! exit code.

mod args;
mod commands;
mod config;
mod error;
mod headless;
mod interactive;
mod json;
mod model_choice;
mod offer;
mod pull;
mod question;
mod render;
mod screen;
mod setup;
mod signals;
mod texts;

use std::process::ExitCode;

use clap::Parser;
use rustix::process::DumpableBehavior;

use crate::{args::Args, commands::Subcommand, error::CliError, error::ExitStatus};

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
    let Args { prompt, session, output, command } = args;
    let command = command.unwrap_or_else(|| Subcommand::without_name(prompt.as_deref()));
    let outcome = runtime.block_on(command.execute(prompt, session, output));
    // A blocking read of the terminal may be left over; nobody waits for it.
    runtime.shutdown_background();
    outcome
}
