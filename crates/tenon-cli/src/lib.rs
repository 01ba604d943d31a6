//! What the `tenon` program does: reads the command line, does what it says, and turns the outcome into
//! an exit code.
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
mod masked;
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
mod session_links;
mod setup;
mod signals;
mod texts;
mod tui;
mod values;
mod which_session;
mod whole_file;
mod would_write;

use std::{error::Error, ffi::OsString, process::ExitCode, time::Duration};

use clap::{
    CommandFactory, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use rustix::process::DumpableBehavior;
use tenon_model::visible;
use tenon_sandbox::within_walls;
use tokio::runtime::Runtime;

use crate::{
    args::{OutputArgs, SessionArgs},
    commands::Subcommand,
    config::Environment,
    error::{CliError, ExitStatus},
    resume::ResumeArgs,
    texts::{Language, Text},
};

/// Longer than a session: a thread that the runtime has made stays.
const KEPT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

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

/// Does what the command line of this process says, and returns the exit code.
pub fn main() -> ExitCode {
    // Other programs of this user cannot look into this one, where keys are. A kernel that refuses
    // leaves things as they are for every program. Within the walls of another tenon all keys are what
    // a command there gave; and that tenon must see which file this one is about to change.
    if !within_walls() {
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    signals::outlive_file_limit();
    let environment = Environment::read();
    let language = environment.language();
    let args = Args::try_parse().map_err(|error| match wrong_value(&error) {
        Some(wrong) => wrong,
        None => shown(error, std::env::args_os()).exit(),
    });
    args.and_then(|args| run(args, environment))
        .unwrap_or_else(|error| {
            error.report(language);
            error.status()
        })
        .into()
}

fn run(args: Args, environment: Environment) -> Result<ExitStatus, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(KEPT)
        .build()
        .map_err(|error| CliError::failed(Text::NotStarted).with_source(error))?;
    keep_thread(&runtime)?;
    setup::look_after_own(&environment);
    let Args { prompt, session, resume, output, command } = args;
    let command = command.unwrap_or_else(|| Subcommand::without_name(prompt.as_deref()));
    let done = command.execute(environment, prompt, session, resume, output, Args::command);
    let outcome = runtime.block_on(done);
    // A blocking read of the terminal may be left over; nobody waits for it.
    runtime.shutdown_background();
    outcome
}

/// Has the runtime make its first thread for what waits, which then stays. It panics where it has none and
/// can make none, and libraries ask it for one, to look up a host for instance.
fn keep_thread(runtime: &Runtime) -> Result<(), CliError> {
    let told_by = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let begun = std::panic::catch_unwind(|| drop(runtime.spawn_blocking(|| ())));
    std::panic::set_hook(told_by);
    begun.map_err(|_| CliError::failed(Text::NoThread).with_hint(Text::HintNoThread))
}

/// Returns the error about a value that this program itself refuses. Whatever else can be wrong with
/// a command line is said by clap, in English.
fn wrong_value(error: &clap::Error) -> Option<CliError> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    };
    let (flag, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    let why = error.source().filter(|_| error.kind() == ErrorKind::ValueValidation)?;
    let wrong = CliError::usage(Text::WrongValue.with(&[("value", value), ("flag", flag)]));
    Some(wrong.with_source(why.to_string()).with_hint(Text::HintHelp))
}

/// Returns the error of the same words made visible: clap repeats them, and a shell may have put names
/// of files there. No mode lifts the walls, which one that asks for it is told.
fn shown(error: clap::Error, words: impl Iterator<Item = OsString>) -> clap::Error {
    let words = words.map(|word| visible(&word.to_string_lossy()).into_owned());
    let mut error = Args::try_parse_from(words).err().unwrap_or(error);
    let is = |kind, text: &str| matches!(error.get(kind), Some(ContextValue::String(said)) if said == text);
    if is(ContextKind::InvalidArg, "--mode <MODE>") && is(ContextKind::InvalidValue, "unconfined") {
        let tip = Text::MendNoTier.template(Language::English).into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Args, ErrorKind> {
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
    fn a_wrong_value_is_said_in_the_language_of_the_locale() {
        let error = Args::try_parse_from(["tenon", "--max-cost", "0"]).unwrap_err();
        let said = wrong_value(&error).map(|error| error.text(Language::Chinese)).unwrap();
        assert_eq!(
            said,
            "错误： `--max-cost <USD>` 的值 `0` 无效：大于 0 的数，例如 0.50\n建议： --help 说明它接受什么\n"
        );
        for line in [&["--nonsense"][..], &["--output-format", "xml"]] {
            let error = Args::try_parse_from([&["tenon"], line].concat()).unwrap_err();
            assert!(wrong_value(&error).is_none(), "{line:?}");
        }
    }

    #[test]
    fn what_clap_repeats_is_shown_and_not_obeyed() {
        for line in [&["a", "\u{1b}[2Jb\u{202e}"][..], &["--output-format", "\u{1b}]0;x\u{7}"]] {
            let line = [&["tenon"], line].concat();
            let error = Args::try_parse_from(&line).unwrap_err();
            let kind = error.kind();
            let error = shown(error, line.iter().map(OsString::from));
            let said = error.render().ansi().to_string();
            assert!(said.contains("\u{241b}"), "{said}");
            assert!(!said.contains("\u{1b}[2J") && !said.contains(['\u{7}', '\u{202e}']), "{said}");
            assert_eq!((error.kind(), error.exit_code()), (kind, 2));
        }
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
