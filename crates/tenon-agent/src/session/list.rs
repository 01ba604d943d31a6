//! The list of sessions: what stands at the beginning of each log, and what the folder knows of
//! it.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use memchr::memmem;

use super::{log_error::LogError, names};
use crate::{
    event::{LOG_VERSION, ModelEvent, Record, SessionEvent, TurnEvent},
    session_note::SessionNote,
};

/// Lines of a log that are looked at for its first prompt; more only where the beginning is
/// damaged.
const LINES_MAX: usize = 64;

/// Bytes from the beginning of a line within which its type stands.
const TYPE_WITHIN_BYTES: usize = 100;

/// Stands for a prompt whose line is damaged.
const PROMPT_LOST: &str = "(the first prompt is lost)";

/// Stands for the prompt of a log whose lines may mean anything.
const NEWER: &str = "(a newer version of tenon wrote it)";

/// Why a log is not listed that nobody can have written so.
const NO_EVENT: &str = "no line of it is an event";

/// One line of a list of sessions.
///
/// ```
/// use tenon_agent::SessionSummary;
///
/// let summary = SessionSummary {
///     id: "20260101-120000-a1b2".into(),
///     name: Some("docs".into()),
///     started_ms: 1_767_268_800_000,
///     used_ms: 1_767_268_860_000,
///     workspace: "/work".into(),
///     model: "scripted/demo".into(),
///     prompt: "Add a docstring".into(),
///     bytes: 2_100,
/// };
/// let line = format!("{}  {}  {}", summary.id, summary.model, summary.prompt);
/// assert_eq!(line, "20260101-120000-a1b2  scripted/demo  Add a docstring");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session's id.
    pub id: String,
    /// The name that the person gave it.
    pub name: Option<String>,
    /// When it began, in milliseconds since 1970 in UTC.
    pub started_ms: u64,
    /// When something happened in it last.
    pub used_ms: u64,
    /// The root of its workspace.
    pub workspace: PathBuf,
    /// `PROVIDER/NAME` of the model that it began with.
    pub model: String,
    /// The first prompt; empty if there was none.
    pub prompt: String,
    /// The length of its log.
    pub bytes: u64,
}

/// A session whose log could not be read, such as one of another owner.
///
/// ```
/// use tenon_agent::UnreadSession;
///
/// let unread = UnreadSession { id: "20260101-120000-a1b2".into(), why: "Permission denied".into() };
/// assert_eq!(format!("{}: {}", unread.id, unread.why), "20260101-120000-a1b2: Permission denied");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadSession {
    /// The session's id.
    pub id: String,
    /// What the operating system said.
    pub why: String,
}

/// Lists the sessions in `folder`, newest first. Files that are no log or cannot be read are left out; a
/// folder that does not exist has none.
///
/// ```
/// use tenon_agent::list_sessions;
///
/// let folder = tempfile::tempdir()?;
/// let log = r#"{"time_ms":5,"type":"session_started","version":1,"session":"one",
///     "workspace":["/work"],"model":"scripted/demo","tenon":"0.1.0"}"#;
/// std::fs::write(folder.path().join("one.jsonl"), log.replace('\n', ""))?;
/// let sessions = list_sessions(folder.path())?;
/// assert_eq!((sessions.len(), sessions[0].model.as_str()), (1, "scripted/demo"));
/// assert!(list_sessions(&folder.path().join("nowhere"))?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder cannot be listed.
pub fn list(folder: &Path) -> Result<Vec<SessionSummary>, LogError> {
    list_all(folder).map(|(sessions, _)| sessions)
}

/// Lists the sessions in `folder` as [`list`], and those whose logs cannot be read.
///
/// ```
/// use tenon_agent::list_all_sessions;
///
/// let folder = tempfile::tempdir()?;
/// let log = folder.path().join("one.jsonl");
/// std::os::unix::fs::symlink(&log, &log)?;
/// let (sessions, unread) = list_all_sessions(folder.path())?;
/// assert!(sessions.is_empty() && unread[0].id == "one", "{unread:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder cannot be listed.
pub fn list_all(folder: &Path) -> Result<(Vec<SessionSummary>, Vec<UnreadSession>), LogError> {
    let names = names::read(folder);
    let (mut sessions, mut unread) = (Vec::new(), Vec::new());
    for (id, path) in logs(folder)? {
        match summary(&id, &path) {
            Ok(Some(mut summary)) => {
                summary.name = names.get(&summary.id).cloned();
                sessions.push(summary);
            }
            Ok(None) if is_empty(&path) => {}
            Ok(None) => unread.push(UnreadSession { id, why: NO_EVENT.to_owned() }),
            Err(error) => unread.push(UnreadSession { id, why: error.to_string() }),
        }
    }
    sessions.sort_by(|left, right| (right.started_ms, &right.id).cmp(&(left.started_ms, &left.id)));
    unread.sort_by(|left, right| right.id.cmp(&left.id));
    Ok((sessions, unread))
}

/// Whether nothing was written to a log: its session ended before it began.
fn is_empty(log: &Path) -> bool {
    log.metadata().is_ok_and(|it| it.len() == 0)
}

/// Returns the logs in `folder` with the ids of their sessions.
pub(super) fn logs(folder: &Path) -> Result<Vec<(String, PathBuf)>, LogError> {
    let failed = |source| LogError::new(folder, source);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut logs = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let is_log = match path.metadata() {
            // A pipe, a device or a folder is no log, whatever it is called; the pipe would be waited on.
            Ok(data) => data.is_file(),
            // Whoever opens it learns why.
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        if !is_log {
            continue;
        }
        // The id is the file's name, whatever is written inside.
        let id = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        if let Some(id) = id.filter(|_| path.extension().is_some_and(|end| end == "jsonl")) {
            logs.push((id, path));
        }
    }
    Ok(logs)
}

/// Reads as much of a log as its summary needs: up to the first prompt. `None` for what is no log.
fn summary(id: &str, path: &Path) -> io::Result<Option<SessionSummary>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let used = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mut summary: Option<SessionSummary> = None;
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    for _ in 0..LINES_MAX {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let Ok(record) = serde_json::from_slice::<Record>(&line) else { continue };
        let found = summary.get_or_insert_with(|| SessionSummary {
            id: id.to_owned(),
            name: None,
            started_ms: record.time_ms,
            used_ms: used.map_or(record.time_ms, |used| used.as_millis() as u64),
            workspace: PathBuf::new(),
            model: String::new(),
            prompt: String::new(),
            bytes: metadata.len(),
        });
        match record.event {
            // A newer version may mean anything by its lines.
            SessionEvent::Session(SessionNote::SessionStarted { version, .. })
                if version > LOG_VERSION =>
            {
                found.prompt = NEWER.to_owned();
                return Ok(summary);
            }
            SessionEvent::Session(SessionNote::SessionStarted { moved_to, model, .. })
                if found.model.is_empty() && !moved_to.is_empty() =>
            {
                found.workspace = moved_to.into_iter().next().unwrap_or_default();
                found.model = model;
            }
            SessionEvent::Session(
                SessionNote::SessionStarted { workspace, model, .. }
                | SessionNote::SessionResumed { workspace, model, .. },
            ) if found.model.is_empty() => {
                found.workspace = workspace.into_iter().next().unwrap_or_default();
                found.model = model;
            }
            SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => {
                found.prompt = prompt;
                break;
            }
            SessionEvent::Model(ModelEvent::AssistantMessage { .. }) => {
                found.prompt = PROMPT_LOST.to_owned();
                break;
            }
            _ => {}
        }
    }
    if let Some(summary) = summary.as_mut().filter(|summary| summary.model.is_empty())
        && let Some((workspace, model)) = resumed_in(&mut lines)
    {
        (summary.workspace, summary.model) = (workspace, model);
    }
    Ok(summary)
}

/// Returns the folder and the model of the first process that went on with a session whose beginning
/// is damaged.
fn resumed_in(lines: &mut impl BufRead) -> Option<(PathBuf, String)> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let head = line.get(..TYPE_WITHIN_BYTES).unwrap_or(&line);
        if memmem::find(head, br#""type":"session_resumed""#).is_none() {
            continue;
        }
        if let Ok(record) = serde_json::from_slice::<Record>(&line)
            && let SessionEvent::Session(SessionNote::SessionResumed { workspace, model, .. }) =
                record.event
        {
            return Some((workspace.into_iter().next()?, model));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::read;

    #[test]
    fn sessions_are_listed_newest_first_and_other_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(list(&folder.path().join("missing")).unwrap(), []);
        for (id, time_ms) in [("a", 1), ("b", 2)] {
            let line = format!(
                r#"{{"time_ms":{time_ms},"type":"session_started","version":1,"session":"../x","workspace":["/w"],"model":"m","tenon":"0"}}"#
            );
            std::fs::write(folder.path().join(format!("{id}.jsonl")), line + "\n").unwrap();
        }
        std::fs::write(folder.path().join("c.jsonl"), "garbage").unwrap();
        std::fs::write(folder.path().join("names"), "").unwrap();
        std::fs::write(folder.path().join("empty.jsonl"), "").unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(folder.path().join("d.jsonl")).status();
        assert!(pipe.unwrap().success());
        std::fs::create_dir(folder.path().join("e.jsonl")).unwrap();
        assert!(read(folder.path(), "d").is_err());
        let ids: Vec<String> =
            list(folder.path()).unwrap().into_iter().map(|session| session.id).collect();
        assert_eq!(ids, ["b", "a"]);
        let log = folder.path().join("f.jsonl");
        std::os::unix::fs::symlink(&log, &log).unwrap();
        let (sessions, unread) = list_all(folder.path()).unwrap();
        assert_eq!(sessions.len(), 2);
        let [link, garbage] = unread.as_slice() else { panic!("{unread:?}") };
        assert!(link.id == "f" && link.why.starts_with("Too many levels of"), "{link:?}");
        assert_eq!((&*garbage.id, &*garbage.why), ("c", NO_EVENT));
    }

    #[test]
    fn a_log_whose_first_line_is_damaged_is_listed_by_what_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let log = "\0\0\0{\n{\"time_ms\":7,\"type\":\"user_message\",\"prompt\":\"Sort\",\"message\":{\"role\":\"user\",\"content\":[]}}\n";
        std::fs::write(folder.path().join("a.jsonl"), log).unwrap();
        let sessions = list(folder.path()).unwrap();
        assert_eq!((sessions[0].started_ms, sessions[0].prompt.as_str()), (7, "Sort"));
        assert_eq!(read(folder.path(), "a").unwrap().skipped, 1);
        let resumed = r#"{"time_ms":9,"type":"session_resumed","version":1,"workspace":["/w"],"model":"m","tenon":"0"}"#;
        std::fs::write(folder.path().join("a.jsonl"), format!("{log}{resumed}\n")).unwrap();
        let sessions = list(folder.path()).unwrap();
        assert_eq!((&*sessions[0].workspace, &*sessions[0].model), (Path::new("/w"), "m"));
    }

    #[test]
    fn a_log_of_a_newer_format_is_listed_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let line = r#"{"time_ms":7,"type":"session_started","version":2,"session":"a","workspace":["/w"],"model":"m","tenon":"9"}"#;
        std::fs::write(folder.path().join("a.jsonl"), format!("{line}\n")).unwrap();
        let sessions = list(folder.path()).unwrap();
        assert_eq!((sessions[0].prompt.as_str(), &*sessions[0].workspace), (NEWER, Path::new("")));
        let error = std::error::Error::source(&read(folder.path(), "a").unwrap_err())
            .map(ToString::to_string);
        assert!(error.is_some_and(|words| words.starts_with("a newer version of tenon wrote it")));
    }
}
