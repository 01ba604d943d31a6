//! Names that people give to sessions, in one small file beside the logs, so that a list needs to
//! read no log to its end and a session can be named while another process is at work on it.
//!
//! A line a name, appended; the last one of a session holds.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{
    collections::HashMap,
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{log_error::LogError, read::path_of};

/// The file's name; logs end in `.jsonl`.
const FILE: &str = "names";

/// The longest name of a session, in characters: half a line of a terminal.
///
/// ```
/// use tenon_agent::SESSION_NAME_CHARS_MAX;
///
/// assert!("fix the flaky test".chars().count() <= SESSION_NAME_CHARS_MAX);
/// ```
pub const SESSION_NAME_CHARS_MAX: usize = 40;

#[derive(Serialize, Deserialize)]
struct Named {
    session: String,
    name: String,
}

/// Gives session `id` in `folder` a name, at most [`SESSION_NAME_CHARS_MAX`] characters of a
/// single line; an empty one takes its name away.
///
/// ```
/// use tenon_agent::{SessionLog, list_sessions, rename_session};
///
/// let folder = tempfile::tempdir()?;
/// let log = SessionLog::create(folder.path())?;
/// rename_session(folder.path(), log.id(), "flaky test")?;
/// assert!(rename_session(folder.path(), log.id(), "two\nlines").is_err());
/// assert!(rename_session(folder.path(), "20000101-000000-0000", "nothing").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there is no such session, the name is none, or it cannot be written.
pub fn rename(folder: &Path, id: &str, name: &str) -> Result<(), LogError> {
    let path = folder.join(FILE);
    let log = path_of(folder, id)?;
    if !log.is_file() {
        return Err(LogError::new(&log, io::ErrorKind::NotFound.into()));
    }
    let failed = |source| LogError::new(&path, source);
    if name.chars().count() > SESSION_NAME_CHARS_MAX || name.chars().any(char::is_control) {
        let words = format!("a name is one line of at most {SESSION_NAME_CHARS_MAX} characters");
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, words)));
    }
    let named = Named { session: id.to_owned(), name: name.trim().to_owned() };
    // The line end comes first, so that a torn line before it spoils no other.
    let line = serde_json::to_string(&named).map_err(|error| failed(error.into()))?;
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(&path).map_err(failed)?;
    file.write_all(format!("\n{line}\n").as_bytes()).map_err(failed)
}

/// Returns the names in `folder` by session. Without a readable file there are none.
pub(super) fn read(folder: &Path) -> HashMap<String, String> {
    let path = folder.join(FILE);
    let text = if path.is_file() { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    let mut names = HashMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        if let Ok(Named { session, name }) = serde_json::from_slice(line) {
            if name.is_empty() {
                names.remove(&session);
            } else {
                names.insert(session, name);
            }
        }
    }
    names
}
