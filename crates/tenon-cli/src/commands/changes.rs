//! `tenon changes [SESSION]`.

use jiff::Timestamp;
use serde::Serialize;
use tenon_agent::CallChanges;
use tenon_sandbox::CheckpointState;

use crate::{
    args::PlaceArgs,
    config::Config,
    error::{CliError, ExitStatus},
    json,
    past::{self, Call, Gone, Past},
    print::{print, say_notices},
    screen::Sink,
    texts::Text,
};

/// List what each call of a session changed
#[derive(Debug, clap::Args)]
pub(crate) struct Changes {
    /// The session's id or its beginning; `last` is the newest [default: the last that changed
    /// something in this folder]
    #[arg(value_name = "SESSION")]
    session: Option<String>,

    /// List every file of each call, as on a pipe, not only the first 20
    #[arg(long)]
    all: bool,

    /// Show the changed lines of text files
    #[arg(long, conflicts_with = "json")]
    diff: bool,

    /// Print a JSON array
    #[arg(long)]
    json: bool,

    /// Say instead how much room everything takes that can be undone in this folder
    #[arg(long, conflicts_with_all = ["all", "diff", "json"])]
    usage: bool,

    #[command(flatten)]
    pub(super) place: PlaceArgs,
}

#[derive(Serialize)]
struct Listed<'a> {
    session: &'a str,
    step: Option<u32>,
    call: &'a str,
    started: String,
    state: &'static str,
    #[serde(flatten)]
    changes: CallChanges,
}

impl Changes {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let session = self.session.as_deref();
        if self.usage {
            let usage = Past::usage(config, session)?;
            print(&past::usage(&usage, config.look().language))?;
            return Ok(ExitStatus::Finished);
        }
        let past = match Past::open_if_any(config, session)? {
            Some(past) => past,
            None if self.json => {
                print("[]\n")?;
                return Ok(ExitStatus::Finished);
            }
            None => {
                let folder = past::shown(&config.root.to_string_lossy());
                let said = Text::NothingChanged.with(&[("folder", &folder)]);
                return Err(CliError::failed(said).with_hint(Text::HintSessions));
            }
        };
        let calls = past.calls()?;
        if self.json {
            say_notices(&past.unopened()?, config.look().language);
            let gone = past.gone()?;
            let gone = gone.iter().map(|call| listed_gone(call, &past));
            print_array(gone.chain(calls.iter().map(|call| listed(call, &past))))?;
            return Ok(ExitStatus::Finished);
        }
        let (language, all) = (config.look().language, self.all || !Sink::Output.is_terminal());
        let session = Text::Session.say(language, &[("id", &past.session)]);
        print(&format!("{session} · {}\n", past::shown(&past.root.to_string_lossy())))?;
        for note in past.notes()? {
            print(&format!("{}\n", note.say(language)))?;
        }
        for call in &calls {
            print(&past::line(call, language))?;
            print(&past::files_of_call(&call.changes, all, language))?;
            if self.diff {
                print(&past.diff_of(call, &config.look().style(Sink::Output)))?;
            }
        }
        Ok(ExitStatus::Finished)
    }
}

/// Prints a JSON array, one call after the other: each may have changed very many files.
fn print_array<'a>(calls: impl Iterator<Item = Listed<'a>>) -> Result<(), CliError> {
    let (mut before, mut end) = ("[\n  ", "[]\n");
    for call in calls {
        let json = json::pretty(&call)?;
        print(&format!("{before}{}", json.replace('\n', "\n  ")))?;
        (before, end) = (",\n  ", "\n]\n");
    }
    print(end)
}

fn listed<'a>(call: &'a Call, past: &'a Past) -> Listed<'a> {
    let started = Timestamp::try_from(call.started).unwrap_or_default();
    Listed {
        session: &past.session,
        step: call.step,
        call: &call.label,
        started: started.to_string(),
        state: match call.state {
            CheckpointState::Running => "running",
            CheckpointState::Done => "done",
            CheckpointState::Interrupted => "interrupted",
            CheckpointState::Undone { .. } => "undone",
        },
        changes: CallChanges {
            checkpoint: call.id.to_string().parse().ok(),
            ..CallChanges::with_all_files(&call.call_id, &call.changes)
        },
    }
}

/// Returns a call whose changes are not kept any more, as the log has it.
fn listed_gone<'a>(call: &'a Gone, past: &'a Past) -> Listed<'a> {
    let started = i64::try_from(call.started_ms).map(Timestamp::from_millisecond);
    Listed {
        session: &past.session,
        step: Some(call.step),
        call: &call.label,
        started: started.ok().and_then(Result::ok).unwrap_or_default().to_string(),
        state: "gone",
        changes: call.changes.clone(),
    }
}
