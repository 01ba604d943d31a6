//! The command line: every flag and subcommand, and nothing of what they do.
//!
//! A prompt stands where a subcommand could: one that equals a subcommand's name needs
//! `tenon run`. Flags of a session may stand before `run` or after it; before a subcommand that
//! has no use for them they are an error, because every flag does something.

use std::{path::PathBuf, time::Duration};

use clap::{Args as ArgumentGroup, Parser, ValueEnum, ValueHint};

use crate::{
    commands::Subcommand,
    config::{self, ModeName, SandboxName},
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
pub(crate) struct Args {
    /// What to do [a prompt that is a command's name: tenon run NAME]
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(subcommand)]
    pub(crate) command: Option<Subcommand>,
}

/// What a session is made of.
#[derive(Debug, Clone, Default, PartialEq, ArgumentGroup)]
pub(crate) struct SessionArgs {
    /// The model: PROVIDER/NAME, local, scripted:FILE, or a well-known name alone
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// A GGUF file of the Qwen2 family to run in process
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) model_file: Option<PathBuf>,

    /// Work in this folder instead of the current one
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,

    /// Let the session work in this folder too (repeatable)
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,

    /// End each turn after this many model requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: Option<u32>,

    /// End each turn after this many tokens, in and out together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,

    /// End each turn before it costs more, in US dollars
    #[arg(long, value_name = "USD", value_parser = positive)]
    pub(crate) max_cost: Option<f64>,

    /// End each turn after this time: 90, 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = config::time)]
    pub(crate) max_time: Option<Duration>,

    /// Change nothing, ask before each change and command, or ask only about what is risky
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeName>,

    /// The walls around commands: the best there are, namespaces (a), Landlock alone (c), or none
    #[arg(long, value_name = "TIER")]
    pub(crate) sandbox: Option<SandboxName>,

    /// Let commands reach this host, `*.suffix`, or with `on` everything (repeatable)
    #[arg(long, value_name = "HOST")]
    pub(crate) net: Vec<String>,

    /// Allow the calls that this rule matches (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,

    /// Refuse the calls that this rule matches (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,

    /// Leave AGENTS.md and CLAUDE.md of the project unread
    #[arg(long)]
    pub(crate) no_project_instructions: bool,
}

/// How one prompt is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, ArgumentGroup)]
pub(crate) struct OutputArgs {
    /// Print the answer alone and end
    #[arg(short, long)]
    pub(crate) print: bool,

    /// Print text as it happens, one object at the end, or an event a line [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output_format: Option<OutputFormat>,
}

/// How a turn is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    // For people, as it happens. (Documentation comments here would double the length of --help.)
    #[default]
    Text,
    // One object at the end.
    Json,
    // The session's events as they happen, an object a line.
    StreamJson,
}

impl SessionArgs {
    /// Returns these arguments with what `other` lacks filled in; lists are joined.
    pub(crate) fn or(self, mut other: Self) -> Self {
        other.add_dir.extend(self.add_dir);
        other.allow.extend(self.allow);
        other.deny.extend(self.deny);
        other.net.extend(self.net);
        Self {
            model: self.model.or(other.model),
            model_file: self.model_file.or(other.model_file),
            cwd: self.cwd.or(other.cwd),
            add_dir: other.add_dir,
            max_steps: self.max_steps.or(other.max_steps),
            max_tokens: self.max_tokens.or(other.max_tokens),
            max_cost: self.max_cost.or(other.max_cost),
            max_time: self.max_time.or(other.max_time),
            mode: self.mode.or(other.mode),
            sandbox: self.sandbox.or(other.sandbox),
            net: other.net,
            allow: other.allow,
            deny: other.deny,
            no_project_instructions: self.no_project_instructions || other.no_project_instructions,
        }
    }
}

impl OutputArgs {
    /// Returns these arguments with what `other` lacks filled in.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            print: self.print || other.print,
            output_format: self.output_format.or(other.output_format),
        }
    }
}

fn positive(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or("a number above 0, such as 0.50")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

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
