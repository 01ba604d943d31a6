//! `tenon sessions delete` and `tenon sessions prune`: what goes is said first.

use std::{
    fmt::Display,
    io::{self, BufRead, IsTerminal, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use tenon_agent::{Removable, read_session, removable_sessions, remove_session};

use super::{listed, print_json};
use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    masked, past,
    print::{print, say_notices},
    resume::unreadable,
    screen::forget_typed,
    texts::{Language, Text},
    which_session::{find, line},
};

/// Remove sessions: their logs, and their long results
#[derive(Debug, clap::Args)]
pub(super) struct Delete {
    /// The session's id or its beginning, its name, or `last`
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,

    /// Print what was removed as a JSON array
    #[arg(long)]
    json: bool,
}

/// Remove sessions that are old or too many, after saying which
#[derive(Debug, clap::Args)]
pub(super) struct Prune {
    /// Those that were not used for this time: 30d, 12h or 8w
    #[arg(long, value_name = "TIME", value_parser = age)]
    older_than: Option<u64>,

    /// The ones used longest ago, until all others together have this size: 500MB or 2GB
    #[arg(long, value_name = "SIZE", value_parser = size, required_unless_present = "older_than")]
    to_size: Option<u64>,

    /// Remove them without asking
    #[arg(long)]
    yes: bool,

    /// Print what would be removed, or was with --yes, as a JSON array
    #[arg(long)]
    json: bool,
}

impl Delete {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let all = all(config)?;
        let summaries: Vec<_> = all.iter().map(|session| session.summary.clone()).collect();
        let mut going = Vec::new();
        for wanted in &self.ids {
            let id = &find(wanted, &summaries)?.id;
            if !going.iter().any(|session: &Removable| session.summary.id == *id) {
                going.extend(all.iter().find(|session| session.summary.id == *id).cloned());
            }
        }
        say(&going, self.json, config.look().language)?;
        remove_all(config, &going)
    }
}

impl Prune {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let now_ms =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
        let now_ms = u64::try_from(now_ms).unwrap_or(u64::MAX);
        let going = chosen(all(config)?, self.older_than, self.to_size, now_ms);
        let language = config.look().language;
        say(&going, self.json, language)?;
        if going.is_empty() || !(self.yes || is_wanted(self.json, language)?) {
            return Ok(ExitStatus::Finished);
        }
        // The question may have stood for long.
        let (kept, going) = changed_since(going, &all(config)?);
        let told = |session: &Removable| Text::SessionChanged.with(&[("id", &session.summary.id)]);
        say_notices(&kept.iter().map(told).collect::<Vec<_>>(), language);
        remove_all(config, &going)
    }
}

/// Returns the sessions to remove, used longest ago first.
fn chosen(
    mut all: Vec<Removable>,
    older_than_ms: Option<u64>,
    to_size: Option<u64>,
    now_ms: u64,
) -> Vec<Removable> {
    all.sort_by_key(|session| (session.summary.used_ms, session.summary.id.clone()));
    let mut left: u64 = all.iter().map(|session| session.bytes).sum();
    let mut going = Vec::new();
    for session in all {
        let idle_ms = now_ms.saturating_sub(session.summary.used_ms);
        let is_old = older_than_ms.is_some_and(|limit| idle_ms > limit);
        if is_old || to_size.is_some_and(|limit| left > limit) {
            left = left.saturating_sub(session.bytes);
            going.push(session);
        }
    }
    going
}

/// Divides the sessions that a person saw into those that are others `now`, and the rest.
fn changed_since(shown: Vec<Removable>, now: &[Removable]) -> (Vec<Removable>, Vec<Removable>) {
    shown.into_iter().partition(|session| {
        let mut same = now.iter().filter(|other| other.summary.id == session.summary.id);
        same.any(|other| other != session)
    })
}

fn all(config: &Config) -> Result<Vec<Removable>, CliError> {
    let (folder, results) = (config.folders.sessions(), config.folders.all_results());
    let all = removable_sessions(&folder, &results).map_err(unreadable)?;
    masked::read_of(all.iter().map(|session| &session.summary));
    Ok(all)
}

fn say(going: &[Removable], json: bool, language: Language) -> Result<(), CliError> {
    if json {
        let listed: Vec<_> = going.iter().map(|session| listed(&session.summary)).collect();
        return print_json(&listed);
    }
    going.iter().try_for_each(|session| print(&line(&session.summary)))?;
    let bytes: u64 = going.iter().map(|session| session.bytes).sum();
    let values: [(&str, &dyn Display); 2] =
        [("n", &going.len()), ("bytes", &bytes.div_ceil(1_000))];
    let text = if going.len() == 1 { Text::SessionGoing } else { Text::SessionsGoing };
    print(&format!("{}\n", text.say(language, &values)))
}

/// Asks whether they may go; without a terminal only a flag can say so.
fn is_wanted(json: bool, language: Language) -> Result<bool, CliError> {
    if json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        say_notices(&[Text::NotRemoved.into()], language);
        return Ok(false);
    }
    forget_typed();
    io::stderr().lock().write_all(Text::RemoveAsk.template(language).as_bytes())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "是"))
}

fn remove_all(config: &Config, going: &[Removable]) -> Result<ExitStatus, CliError> {
    let (folder, results) = (config.folders.sessions(), config.folders.all_results());
    let mut status = ExitStatus::Finished;
    for session in going {
        // What it changed cannot be undone any more once nobody knows of it.
        let id = &session.summary.id;
        let read = read_session(&folder, id).unwrap_or_default();
        let mut forgotten = None;
        let forget = || forgotten = Some(past::forget(config, id, &read));
        let removed = remove_session(&folder, &results, id, forget);
        // Where it is not there any more another tenon removed it meanwhile.
        if let Err(error) = removed.or_else(|it| if it.is_missing() { Ok(()) } else { Err(it) }) {
            let said = Text::SessionNotRemoved.with(&[("id", id)]);
            CliError::failed(said).with_source(error).report(config.look().language);
            status = ExitStatus::Failed;
        } else if forgotten.is_none() {
            past::forget(config, id, &read)?;
        }
        forgotten.unwrap_or(Ok(()))?;
    }
    Ok(status)
}

/// Reads an age and returns its milliseconds.
fn age(text: &str) -> Result<u64, &'static str> {
    let hours = [("h", 1), ("d", 24), ("w", 7 * 24)];
    let read = hours.iter().find_map(|(unit, hours)| {
        text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(hours * 3_600_000)
    });
    read.ok_or("a time such as 30d, 12h or 8w")
}

/// Reads a size and returns its bytes.
fn size(text: &str) -> Result<u64, &'static str> {
    let units = [("kb", 1_000), ("mb", 1_000_000), ("gb", 1_000_000_000), ("", 1)];
    let text = text.to_ascii_lowercase();
    let read = units.iter().find_map(|(unit, bytes)| {
        text.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(*bytes)
    });
    read.ok_or("a size such as 500MB or 2GB")
}

#[cfg(test)]
mod tests {
    use tenon_agent::SessionSummary;

    use super::*;

    #[test]
    fn ages_and_sizes_are_read() {
        assert_eq!((age("30d"), age("2w")), (Ok(2_592_000_000), Ok(1_209_600_000)));
        assert!(age("30").is_err() && age("d").is_err() && age("99999999999999999w").is_err());
        assert_eq!(
            (size("500MB"), size("2gb"), size("7")),
            (Ok(500_000_000), Ok(2_000_000_000), Ok(7))
        );
        assert!(size("big").is_err());
    }

    fn session((id, used_ms, bytes): (&str, u64, u64)) -> Removable {
        Removable {
            summary: SessionSummary {
                id: id.into(),
                name: None,
                started_ms: 0,
                used_ms,
                workspace: "/".into(),
                model: "m".into(),
                prompt: String::new(),
                bytes,
            },
            bytes,
        }
    }

    #[test]
    fn what_changed_since_it_was_shown_stays_and_nothing_goes_that_was_not_shown() {
        let shown = vec![session(("a", 10, 10)), session(("b", 20, 10)), session(("c", 30, 10))];
        let now = [session(("a", 10, 10)), session(("b", 20, 11)), session(("new", 1, 1))];
        let (kept, going) = changed_since(shown, &now);
        let ids = |sessions: Vec<Removable>| -> String {
            sessions.into_iter().map(|session| session.summary.id).collect()
        };
        // What is gone already is no failure.
        assert_eq!((ids(kept), ids(going)), ("b".into(), "ac".into()));
    }

    #[test]
    fn the_sessions_used_longest_ago_go_first_and_no_more_than_needed() {
        let all = || vec![session(("c", 30, 10)), session(("b", 20, 10)), session(("a", 10, 10))];
        let ids = |older_than, to_size| -> String {
            chosen(all(), older_than, to_size, 31).into_iter().map(|gone| gone.summary.id).collect()
        };
        assert_eq!(ids(Some(15), None), "a");
        assert_eq!(ids(Some(5), None), "ab");
        assert_eq!(ids(None, Some(20)), "a");
        assert_eq!(ids(None, Some(19)), "ab");
        assert_eq!((ids(None, Some(30)), ids(None, Some(0))), (String::new(), "abc".into()));
        assert_eq!(ids(Some(15), Some(15)), "ab");
    }
}
