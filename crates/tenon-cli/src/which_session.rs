//! Sessions as people name them, and as a line of a list.

use jiff::{Timestamp, tz::TimeZone};
use tenon_agent::SessionSummary;
use tenon_model::visible;

use crate::{
    error::CliError,
    masked::masked,
    texts::{Sentence, Text},
};

/// Characters of a prompt that are listed: with the columns before it about two lines of 80.
const PROMPT_CHARS_MAX: usize = 80;

/// The word for the newest session.
const LAST: &str = "last";

/// Returns the one session whose id or name is `wanted`, or whose id begins with it; `last` is the
/// newest.
pub(crate) fn find<'a>(
    wanted: &str,
    sessions: &'a [SessionSummary],
) -> Result<&'a SessionSummary, CliError> {
    let missing = |said: Sentence| CliError::usage(said).with_hint(Text::HintSessionIds);
    let several = |text: Text, n: usize| Err(missing(text.with(&[("n", &n), ("wanted", &wanted)])));
    if wanted == LAST {
        return sessions.first().ok_or_else(|| missing(Text::NoSessionYet.into()));
    }
    if let Some(session) = sessions.iter().find(|session| session.id == wanted) {
        return Ok(session);
    }
    let named = sessions.iter().filter(|session| session.name.as_deref() == Some(wanted));
    let begins = sessions.iter().filter(|session| session.id.starts_with(wanted));
    match (named.collect::<Vec<_>>().as_slice(), begins.collect::<Vec<_>>().as_slice()) {
        ([session], _) | ([], [session]) => Ok(session),
        ([], []) => Err(missing(Text::NoSuchSession.with(&[("wanted", &wanted)]))),
        ([], begin) => several(Text::SessionsBegin, begin.len()),
        (named, _) => several(Text::SessionsNamed, named.len()),
    }
}

/// Whether `wanted` means a session, or several.
pub(crate) fn is_known(wanted: &str, sessions: &[SessionSummary]) -> bool {
    let is_meant = |session: &SessionSummary| {
        wanted == LAST || session.id.starts_with(wanted) || session.name.as_deref() == Some(wanted)
    };
    sessions.iter().any(is_meant)
}

/// Whether `name` cannot be a session's: where a session is asked for, it means another one.
pub(crate) fn is_taken(name: &str) -> bool {
    name.trim() == LAST
}

/// Returns the line of a list for `session`.
pub(crate) fn line(session: &SessionSummary) -> String {
    let started = timestamp(session.started_ms).to_zoned(TimeZone::system());
    let prompt = session.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    // Before it is cut, so that no cut goes through a value.
    let prompt = masked(prompt);
    let short: String = prompt.chars().take(PROMPT_CHARS_MAX).collect();
    let more = if short.len() < prompt.len() { " …" } else { "" };
    let name = session.name.as_ref().map(|name| format!("[{name}]  ")).unwrap_or_default();
    let line = format!(
        "{}  {}  {}  {}  {name}{short}{more}",
        session.id,
        started.strftime("%Y-%m-%d %H:%M"),
        session.model,
        session.workspace.display(),
    );
    format!("{}\n", visible(&masked(line.trim_end())))
}

/// Returns the time of so many milliseconds since 1970.
pub(crate) fn timestamp(ms: u64) -> Timestamp {
    i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_its_name_or_a_beginning_of_its_id_that_fits_one() {
        let session = |(id, name): (&str, Option<&str>)| SessionSummary {
            id: id.into(),
            name: name.map(str::to_owned),
            started_ms: 0,
            used_ms: 0,
            workspace: "/".into(),
            model: "m".into(),
            prompt: String::new(),
            bytes: 0,
        };
        let sessions = [
            ("20260102-b", Some("docs")),
            ("20260101-a1", Some("twice")),
            ("20260101-a", Some("twice")),
            ("20251231-c", Some("20260102")),
        ]
        .map(session);
        let found = |wanted| find(wanted, &sessions).ok().map(|session| session.id.as_str());
        assert_eq!(found("20260102-"), Some("20260102-b"));
        assert_eq!(found("20260101-a"), Some("20260101-a"));
        assert_eq!(found("last"), Some("20260102-b"));
        assert_eq!(found("docs"), Some("20260102-b"));
        assert_eq!(found("20260102"), Some("20251231-c"), "a name is meant as it is written");
        assert_eq!((found("20260101"), found("x"), found("twice")), (None, None, None));
        assert!(find("last", &[]).is_err());
        for wanted in ["last", "20260101", "twice", "docs"] {
            assert!(is_known(wanted, &sessions) && !is_known(wanted, &[]), "{wanted}");
        }
        assert!(!is_known("x", &sessions));
    }
}
