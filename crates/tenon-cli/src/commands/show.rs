//! `tenon show ID`.

use tenon_agent::{SessionSummary, list_sessions, read_session};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    print::{print, say_notices},
    render,
    screen::Sink,
};

/// Print a session as it looked
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The session's id or its beginning, as `tenon sessions` lists it; `last` is the newest
    #[arg(value_name = "ID")]
    id: String,
}

impl Show {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let folder = config.folders.sessions();
        let unreadable = |error| CliError::failed("the session cannot be read").with_source(error);
        let sessions = list_sessions(&folder).map_err(unreadable)?;
        let id = find(&self.id, &sessions)?;
        let session = read_session(&folder, id).map_err(unreadable)?;
        if session.skipped > 0 {
            let words = "events are not shown: damaged, or of another version of tenon";
            say_notices(&[format!("{} {words}", session.skipped)]);
        }
        print(&render::transcript(&session.records, &config.look().style(Sink::Output)))?;
        Ok(ExitStatus::Finished)
    }
}

/// Returns the one id that is `wanted` or begins with it.
fn find<'a>(wanted: &str, sessions: &'a [SessionSummary]) -> Result<&'a str, CliError> {
    let ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    let missing =
        |words: String| CliError::usage(words).with_hint("`tenon sessions` lists the ids");
    if wanted == "last" {
        return ids.first().copied().ok_or_else(|| missing("there is no session yet".into()));
    }
    if let Some(id) = ids.iter().find(|id| **id == wanted) {
        return Ok(id);
    }
    match ids.iter().filter(|id| id.starts_with(wanted)).collect::<Vec<_>>().as_slice() {
        [id] => Ok(id),
        [] => Err(missing(format!("there is no session `{wanted}`"))),
        several => Err(missing(format!("{} sessions begin with `{wanted}`", several.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_by_a_beginning_that_fits_one() {
        let session = |id: &str| SessionSummary {
            id: id.into(),
            started_ms: 0,
            workspace: "/".into(),
            model: "m".into(),
            prompt: String::new(),
        };
        let sessions = ["20260102-b", "20260101-a1", "20260101-a"].map(session);
        let found = |wanted| find(wanted, &sessions).ok();
        assert_eq!(found("20260102"), Some("20260102-b"));
        assert_eq!(found("20260101-a"), Some("20260101-a"));
        assert_eq!(found("last"), Some("20260102-b"));
        assert_eq!((found("20260101"), found("x")), (None, None));
        assert!(find("last", &[]).is_err());
    }
}
