//! `tenon sessions`.

use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use tenon_agent::{SessionSummary, list_sessions};
use tenon_model::visible;

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    print::print,
};

/// Characters of a prompt that are listed: with the columns before it about two lines of 80.
const PROMPT_CHARS_MAX: usize = 80;

/// List sessions, the newest first
#[derive(Debug, clap::Args)]
pub(crate) struct Sessions {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    started: String,
    workspace: &'a std::path::Path,
    model: &'a str,
    prompt: &'a str,
}

impl Sessions {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let sessions = list_sessions(&config.folders.sessions()).map_err(|error| {
            CliError::failed("the sessions cannot be listed").with_source(error)
        })?;
        if self.json {
            let listed: Vec<Listed<'_>> = sessions.iter().map(listed).collect();
            let json = serde_json::to_string_pretty(&listed)
                .map_err(|error| CliError::failed("not JSON").with_source(error))?;
            print(&(json + "\n"))?;
            return Ok(ExitStatus::Finished);
        }
        for session in &sessions {
            print(&line(session))?;
        }
        Ok(ExitStatus::Finished)
    }
}

fn listed(session: &SessionSummary) -> Listed<'_> {
    Listed {
        id: &session.id,
        started: timestamp(session.started_ms).to_string(),
        workspace: &session.workspace,
        model: &session.model,
        prompt: &session.prompt,
    }
}

fn line(session: &SessionSummary) -> String {
    let started = timestamp(session.started_ms).to_zoned(TimeZone::system());
    let prompt = session.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = prompt.chars().take(PROMPT_CHARS_MAX).collect();
    let more = if short.len() < prompt.len() { " …" } else { "" };
    let line = format!(
        "{}  {}  {}  {}  {short}{more}",
        session.id,
        started.strftime("%Y-%m-%d %H:%M"),
        session.model,
        session.workspace.display(),
    );
    format!("{}\n", visible(line.trim_end()))
}

fn timestamp(ms: u64) -> Timestamp {
    i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}
