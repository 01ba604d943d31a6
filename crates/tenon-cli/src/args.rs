//! The flags of a session and of its output, and nothing of what they do.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, ValueHint};

use crate::values::{self, ModeName, SandboxName};

/// What a session is made of.
#[derive(Debug, Clone, Default, PartialEq, Args)]
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
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) max_time: Option<Duration>,

    /// Change nothing, ask before each change and command, or ask only about what is risky
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeName>,

    /// The walls around commands: the best there are, namespaces (a, b), Landlock alone (c), or none
    #[arg(long, value_name = "TIER")]
    pub(crate) sandbox: Option<SandboxName>,

    /// Let commands reach this host, `*.suffix`, or with `on` everything (repeatable)
    #[arg(long, value_name = "HOST")]
    pub(crate) net: Vec<String>,

    /// Allow the calls that this rule matches (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,

    /// Refuse the calls that this rule matches, or a host: net(HOST) (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,

    /// Leave AGENTS.md and CLAUDE.md of the project unread
    #[arg(long)]
    pub(crate) no_project_instructions: bool,
}

/// Which folder a command is about that looks at what sessions did there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct PlaceArgs {
    /// Of this folder instead of the current one
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
}

/// How one prompt is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct OutputArgs {
    /// Print the answer alone and end
    #[arg(short, long)]
    pub(crate) print: bool,

    /// Print text as it happens, one object at the end, or an event a line [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output_format: Option<OutputFormat>,

    /// Show the model this image with the prompt (repeatable)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) image: Vec<PathBuf>,

    /// Print plain lines and redraw nothing, as for a screen reader
    #[arg(long)]
    pub(crate) plain: bool,
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
    /// Returns these arguments with what `other` lacks filled in; lists are joined.
    pub(crate) fn or(self, mut other: Self) -> Self {
        other.image.extend(self.image);
        Self {
            image: other.image,
            print: self.print || other.print,
            output_format: self.output_format.or(other.output_format),
            plain: self.plain || other.plain,
        }
    }
}

fn positive(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or("a number above 0, such as 0.50")
}
