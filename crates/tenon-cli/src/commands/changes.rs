//! `tenon changes [SESSION]`.

use jiff::Timestamp;
use serde::Serialize;
use tenon_agent::{CallChanges, diff_hunks};
use tenon_sandbox::{ChangeKind, CheckpointState, EntryKind, JournalError};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    past::{self, Call, Past},
    print::print,
    render,
    screen::Sink,
    texts::Text,
};

/// Longer files are not compared: nobody reads such a diff.
const DIFF_BYTES_MAX: u64 = 1 << 20;

/// List what each call of a session changed
#[derive(Debug, clap::Args)]
pub(crate) struct Changes {
    /// The session's id or its beginning; `last` is the newest [default: the last that changed
    /// something in this folder]
    #[arg(value_name = "SESSION")]
    session: Option<String>,

    /// Show the changed lines of text files
    #[arg(long, conflicts_with = "json")]
    diff: bool,

    /// Print a JSON array
    #[arg(long)]
    json: bool,

    /// Say instead how much room everything takes that can be undone in this folder
    #[arg(long, conflicts_with_all = ["diff", "json"])]
    usage: bool,
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
        let past = Past::open(config, self.session.as_deref())?;
        if self.usage {
            let usage = past.journal.usage().map_err(past::failed)?;
            print(&past::usage(&usage))?;
            return Ok(ExitStatus::Finished);
        }
        let calls = past.calls()?;
        if self.json {
            let listed: Vec<Listed<'_>> = calls.iter().map(|call| listed(call, &past)).collect();
            let json = serde_json::to_string_pretty(&listed)
                .map_err(|error| CliError::failed("not JSON").with_source(error))?;
            print(&(json + "\n"))?;
            return Ok(ExitStatus::Finished);
        }
        let language = config.look().language;
        let session = Text::Session.say(language, &[("id", &past.session)]);
        print(&format!("{session} · {}\n", past::shown(&past.root.to_string_lossy())))?;
        for call in &calls {
            print(&past::line(call, language))?;
            print(&past::files(&call.changes, language))?;
            if self.diff {
                self.print_diffs(call, &past, config)?;
            }
        }
        Ok(ExitStatus::Finished)
    }

    fn print_diffs(&self, call: &Call, past: &Past, config: &Config) -> Result<(), CliError> {
        let style = config.look().style(Sink::Output);
        for change in call.changes.files.iter().filter(|change| change.entry == EntryKind::File) {
            let before = match &change.kind {
                ChangeKind::Edited | ChangeKind::Deleted => Some(&change.path),
                ChangeKind::Created => None,
                ChangeKind::Renamed { from } => Some(from),
                ChangeKind::Mode | ChangeKind::Times => continue,
            };
            let content =
                |found: Result<Option<Vec<u8>>, JournalError>| String::from_utf8(found.ok()??).ok();
            let old = match before {
                None => Some(String::new()),
                Some(path) => content(past.journal.content_before(call.id, path, DIFF_BYTES_MAX)),
            };
            let new = match change.kind {
                ChangeKind::Deleted => Some(String::new()),
                _ => content(past.journal.content_after(call.id, &change.path, DIFF_BYTES_MAX)),
            };
            // What is too long, not kept any more or no text is listed above and has no lines.
            let (Some(old), Some(new)) = (old, new) else { continue };
            let hunks = diff_hunks(&old, &new);
            if !hunks.is_empty() {
                print(&render::diff(&change.path.to_string_lossy(), &hunks, &style))?;
            }
        }
        Ok(())
    }
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
            ..CallChanges::new(&call.call_id, &call.changes)
        },
    }
}
