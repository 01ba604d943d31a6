//! A log read back: every line that is an event, and the number of those that are none.
//!
//! Lines that this version does not know, or that are damaged, are skipped and counted.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use super::{clock::now_ms, log_error::LogError};
use crate::{
    event::{LOG_VERSION, Record, SessionEvent},
    session_note::SessionNote,
};

/// The longest line that a reader takes in; a result is far shorter.
const LINE_BYTES_MAX: usize = 64 << 20;

/// A session as it was read from its log.
///
/// ```
/// use tenon_agent::{SessionEvent, TurnEvent, read_session};
///
/// let folder = tempfile::tempdir()?;
/// let log = r#"{"time_ms":1,"type":"user_message","prompt":"Sort it","message":{"role":"user","content":[]}}
/// {"time_ms":2,"type":"user_message","prompt":"Add a test","message":{"role":"user","content":[]}}
/// {"time_ms":3,"type":"rewound","after_line":1,"turns":1}
/// {"time_ms":4,"type":"user_message","prompt":"Add a doc","message":{"role":"user","content":[]}}
/// "#;
/// std::fs::write(folder.path().join("one.jsonl"), log)?;
/// let session = read_session(folder.path(), "one")?;
/// assert_eq!(session.records.len(), 4);
/// let prompts: Vec<&str> = session
///     .branch()
///     .filter_map(|record| match &record.event {
///         SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => Some(prompt.as_str()),
///         _ => None,
///     })
///     .collect();
/// assert_eq!(prompts, ["Sort it", "Add a doc"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// The session's id.
    pub id: String,
    /// All events that this version knows, in order, those of abandoned branches too.
    pub records: Vec<Record>,
    /// Lines that were skipped: unknown, damaged or torn.
    pub skipped: usize,
    /// The line of each record, from 1.
    pub(crate) lines: Vec<u64>,
    /// The last line if it is torn.
    torn: Option<u64>,
}

impl Session {
    /// Returns a session of which nothing is known.
    pub(super) fn empty(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    /// Returns where the whole texts of long results are: under the id of this session, or of the
    /// one that it left.
    ///
    /// ```
    /// use tenon_agent::SessionLog;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let old = SessionLog::create(folder.path())?;
    /// let (_new, session) = SessionLog::fork(folder.path(), old.id())?;
    /// assert_eq!(session.results_of(), old.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn results_of(&self) -> &str {
        match self.records.first().map(|record| &record.event) {
            Some(SessionEvent::Session(SessionNote::SessionStarted {
                results_of: Some(id),
                ..
            })) => id,
            _ => &self.id,
        }
    }

    /// Returns the folders and the model that the session worked with last.
    ///
    /// ```
    /// use tenon_agent::read_session;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = r#"{"time_ms":1,"type":"session_resumed","version":1,"workspace":["/work"],
    ///     "model":"openai/gpt-5.2","tenon":"0.1.0"}"#;
    /// std::fs::write(folder.path().join("one.jsonl"), log.replace('\n', ""))?;
    /// let session = read_session(folder.path(), "one")?;
    /// let (folders, model) = session.worked_with().unwrap_or_default();
    /// assert_eq!((folders[0].to_str(), model), (Some("/work"), "openai/gpt-5.2"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn worked_with(&self) -> Option<(&[PathBuf], &str)> {
        let mut changed_to: Option<&str> = None;
        let (own, moved_to) = (self.own_id(), self.moved_to());
        for record in self.records.iter().rev() {
            match &record.event {
                SessionEvent::Session(SessionNote::ModelChanged { model, .. }) => {
                    changed_to.get_or_insert(model);
                }
                // A fork that was never gone on with does not know its model yet.
                SessionEvent::Session(
                    note @ (SessionNote::SessionStarted { workspace, model, .. }
                    | SessionNote::SessionResumed { workspace, model, .. }),
                ) if !workspace.is_empty() && !model.is_empty() => {
                    let is_own = moved_to.is_empty()
                        || matches!(note, SessionNote::SessionResumed { session, .. } if session == own);
                    let folders = if is_own { workspace } else { moved_to };
                    return Some((folders, changed_to.unwrap_or(model)));
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the first folder of each run of the session itself, each once, the one that it worked in
    /// last at the end. A session works in one folder; those of older versions of tenon could be moved.
    ///
    /// ```
    /// use tenon_agent::read_session;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = r#"{"time_ms":1,"type":"session_resumed","version":1,"workspace":["/work"],"model":"m","tenon":"0"}
    /// {"time_ms":2,"type":"session_resumed","version":1,"workspace":["/moved"],"model":"m","tenon":"0"}
    /// "#;
    /// std::fs::write(folder.path().join("one.jsonl"), log)?;
    /// let session = read_session(folder.path(), "one")?;
    /// assert_eq!(session.own_folders(), ["/work", "/moved"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn own_folders(&self) -> Vec<&Path> {
        let (own, is_fork) = (self.own_id(), self.forked_from().is_some());
        let is_own = |event: &SessionEvent| match event {
            SessionEvent::Session(SessionNote::SessionStarted { .. }) => !is_fork,
            SessionEvent::Session(SessionNote::SessionResumed { session, .. }) => {
                session == own || !is_fork && session.is_empty()
            }
            _ => false,
        };
        let last = self.worked_with().and_then(|(folders, _)| folders.first());
        let own = self.records.iter().filter(|record| is_own(&record.event));
        let mut folders: Vec<&Path> = Vec::new();
        for folder in own.filter_map(|record| folder_of(&record.event)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        if let Some(last) = last {
            folders.retain(|folder| folder != last);
            folders.push(last);
        }
        folders
    }

    /// Returns behind how many records the session went on in the folder that it worked in last; none if it
    /// worked in no other.
    ///
    /// ```
    /// use tenon_agent::{SessionLog, read_session};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = r#"{"time_ms":1,"type":"session_started","version":1,"session":"one","workspace":["/work"],"model":"m","tenon":"0"}
    /// {"time_ms":2,"type":"notice","text":"Hi."}
    /// {"time_ms":3,"type":"session_resumed","version":1,"workspace":["/moved"],"model":"m","tenon":"0"}
    /// "#;
    /// std::fs::write(folder.path().join("one.jsonl"), log)?;
    /// assert_eq!(read_session(folder.path(), "one")?.moved_behind(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn moved_behind(&self) -> usize {
        let last = self.worked_with().and_then(|(folders, _)| folders.first());
        let Some(last) = last else { return 0 };
        let other = self
            .records
            .iter()
            .rposition(|record| folder_of(&record.event).is_some_and(|folder| folder != last));
        let Some(other) = other else { return 0 };
        let behind = self.records.iter().skip(other + 1);
        let here = behind.take_while(|record| folder_of(&record.event).is_none()).count();
        other + 1 + here
    }

    /// Returns the session with nothing but what it did since it went on in the folder that it worked in last.
    ///
    /// ```
    /// use tenon_agent::{SessionLog, read_session};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = r#"{"time_ms":1,"type":"session_started","version":1,"session":"one","workspace":["/work"],"model":"m","tenon":"0"}
    /// {"time_ms":3,"type":"session_resumed","version":1,"workspace":["/moved"],"model":"m","tenon":"0"}
    /// "#;
    /// std::fs::write(folder.path().join("one.jsonl"), log)?;
    /// assert_eq!(read_session(folder.path(), "one")?.since_move().records.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn since_move(&self) -> Self {
        let behind = self.moved_behind();
        let mut since = self.clone();
        since.records.drain(..behind);
        since.lines.drain(..behind.min(since.lines.len()));
        since
    }

    /// The session's id as its log has it: the file may be called otherwise.
    fn own_id(&self) -> &str {
        match self.records.first().map(|record| &record.event) {
            Some(SessionEvent::Session(SessionNote::SessionStarted { session, .. })) => session,
            _ => &self.id,
        }
    }

    /// The folders that it left the session for that it left; empty if it works where that did.
    fn moved_to(&self) -> &[PathBuf] {
        match self.records.first().map(|record| &record.event) {
            Some(SessionEvent::Session(SessionNote::SessionStarted { moved_to, .. })) => moved_to,
            _ => &[],
        }
    }

    /// Returns the folders that runs of the session worked in whose first one was `root`.
    ///
    /// ```
    /// use tenon_agent::read_session;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = r#"{"time_ms":1,"type":"session_resumed","version":1,"workspace":["/work","/lib"],
    ///     "model":"openai/gpt-5.2","tenon":"0.1.0"}"#;
    /// std::fs::write(folder.path().join("one.jsonl"), log.replace('\n', ""))?;
    /// let session = read_session(folder.path(), "one")?;
    /// assert_eq!(session.folders_with("/work".as_ref()).len(), 2);
    /// assert!(session.folders_with("/other".as_ref()).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn folders_with(&self, root: &Path) -> Vec<PathBuf> {
        let mut folders = BTreeSet::new();
        for record in &self.records {
            if let SessionEvent::Session(
                SessionNote::SessionStarted { workspace, .. }
                | SessionNote::SessionResumed { workspace, .. },
            ) = &record.event
                && workspace.first().is_some_and(|first| first == root)
            {
                folders.extend(workspace.iter().cloned());
            }
        }
        folders.into_iter().collect()
    }

    /// Returns the paths through symbolic links by which the user named folders of the session, each with its
    /// folder: those of all processes, each once.
    ///
    /// ```
    /// use tenon_agent::read_session;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = r#"{"time_ms":1,"type":"session_started","version":1,"session":"one",
    ///     "workspace":["/work","/data/lib"],"named":["/work","/lib"],"model":"m","tenon":"0.1.0"}"#;
    /// std::fs::write(folder.path().join("one.jsonl"), log.replace('\n', "") + "\n")?;
    /// let session = read_session(folder.path(), "one")?;
    /// assert_eq!(session.ways(), [("/lib".as_ref(), "/data/lib".as_ref())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ways(&self) -> Vec<(&Path, &Path)> {
        let mut ways = Vec::new();
        for record in &self.records {
            if let SessionEvent::Session(
                SessionNote::SessionStarted { workspace, named, .. }
                | SessionNote::SessionResumed { workspace, named, .. },
            ) = &record.event
            {
                let pairs = named.iter().zip(workspace).filter(|(named, folder)| named != folder);
                ways.extend(pairs.map(|(named, folder)| (named.as_path(), folder.as_path())));
            }
        }
        ways.sort();
        ways.dedup();
        ways
    }

    /// Returns the session that this one left, if it is a fork.
    ///
    /// ```
    /// use tenon_agent::{SessionLog, read_session};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = r#"{"time_ms":1,"type":"session_started","version":1,"session":"one",
    ///     "workspace":["/work"],"model":"m","tenon":"0.1.0"}"#;
    /// std::fs::write(folder.path().join("one.jsonl"), log.replace('\n', "") + "\n")?;
    /// let (log, fork) = SessionLog::fork(folder.path(), "one")?;
    /// assert_eq!(fork.forked_from(), Some("one"));
    /// assert_eq!(read_session(folder.path(), "one")?.forked_from(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forked_from(&self) -> Option<&str> {
        match &self.records.first()?.event {
            SessionEvent::Session(SessionNote::SessionStarted { forked_from, .. }) => {
                forked_from.as_deref()
            }
            _ => None,
        }
    }

    /// Returns the first line of session `id` that leaves this one, for `moved_to` if that are any folders.
    pub(super) fn fork_note(&self, id: &str, moved_to: &[PathBuf]) -> Record {
        let (last, model) = self.worked_with().unwrap_or_default();
        // What follows the first line was done where that one says, and said to the model that it named.
        let first = self.records.first().map(|record| &record.event);
        let (workspace, named, model, abilities) = match first {
            Some(SessionEvent::Session(SessionNote::SessionStarted {
                workspace,
                named,
                model,
                abilities,
                ..
            })) => (workspace.as_slice(), named.clone(), model.as_str(), abilities.clone()),
            _ => (last, Vec::new(), model, None),
        };
        let works_in = if moved_to.is_empty() { last } else { moved_to };
        let moved_to = if works_in.first() == workspace.first() { &[] } else { works_in };
        let event = SessionNote::SessionStarted {
            version: LOG_VERSION,
            session: id.to_owned(),
            workspace: workspace.to_vec(),
            model: model.to_owned(),
            tenon: env!("CARGO_PKG_VERSION").to_owned(),
            price: None,
            abilities,
            forked_from: Some(self.id.clone()),
            results_of: Some(self.results_of().to_owned()),
            moved_to: moved_to.to_vec(),
            named,
        };
        Record { time_ms: now_ms(), event: event.into() }
    }

    /// Refuses a log of a newer format, whose lines may mean anything.
    pub(super) fn refuse_newer(&self) -> io::Result<()> {
        let newest = self.records.iter().filter_map(|record| match &record.event {
            SessionEvent::Session(
                SessionNote::SessionStarted { version, .. }
                | SessionNote::SessionResumed { version, .. },
            ) => Some(*version),
            _ => None,
        });
        match newest.max() {
            Some(version) if version > LOG_VERSION => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "a newer version of tenon wrote it (format {version}, this knows {LOG_VERSION})"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Takes in that the torn last line is gone.
    pub(super) fn forget_torn(&mut self) {
        // Half a line can be a whole event all the same; nobody acted upon it.
        match (self.torn.take(), self.lines.last()) {
            (Some(torn), Some(last)) if torn == *last => {
                self.lines.pop();
                self.records.pop();
            }
            (Some(_), _) => self.skipped = self.skipped.saturating_sub(1),
            (None, _) => {}
        }
    }
}

/// Returns the first folder of a run that begins with `event`.
fn folder_of(event: &SessionEvent) -> Option<&Path> {
    let SessionEvent::Session(
        SessionNote::SessionStarted { workspace, .. }
        | SessionNote::SessionResumed { workspace, .. },
    ) = event
    else {
        return None;
    };
    workspace.first().map(PathBuf::as_path)
}

/// Whether the session goes on in another folder than `known`, which is then that one: there checkpoints are
/// counted anew.
pub(crate) fn is_elsewhere<'a>(event: &'a SessionEvent, known: &mut Option<&'a Path>) -> bool {
    let Some(folder) = folder_of(event) else { return false };
    known.replace(folder).is_some_and(|known| known != folder)
}

/// Reads the log of session `id` in `folder`.
///
/// ```
/// use tenon_agent::read_session;
///
/// let folder = tempfile::tempdir()?;
/// let log = "{\"time_ms\":5,\"type\":\"notice\",\"text\":\"Hello.\"}\n{\"time_ms\":6,\"ty";
/// std::fs::write(folder.path().join("20260101-120000-a1b2.jsonl"), log)?;
/// let session = read_session(folder.path(), "20260101-120000-a1b2")?;
/// assert_eq!((session.records.len(), session.skipped), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there is no such log or it cannot be read. Damaged lines are skipped and counted.
pub fn read(folder: &Path, id: &str) -> Result<Session, LogError> {
    let path = path_of(folder, id)?;
    let failed = |source| LogError::new(&path, source);
    let (session, _) = read_lines(id, File::open(&path).map_err(failed)?).map_err(failed)?;
    session.refuse_newer().map_err(failed)?;
    Ok(session)
}

/// Returns the path of a log, at which there is nothing or a file: to open a pipe would wait for ever.
pub(super) fn path_of(folder: &Path, id: &str) -> Result<PathBuf, LogError> {
    let path = folder.join(format!("{id}.jsonl"));
    let is_other = path.metadata().is_ok_and(|data| !data.is_file());
    if is_other || id.contains(['/', '\0']) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a session id");
        return Err(LogError::new(&path, source));
    }
    Ok(path)
}

/// Reads a log, and returns how many bytes of it are whole lines.
pub(super) fn read_lines(id: &str, log: impl Read) -> io::Result<(Session, u64)> {
    let mut reader = BufReader::with_capacity(64 << 10, log);
    let mut session = Session::empty(id);
    let (mut number, mut whole_bytes, mut bytes) = (1, 0, 0);
    let mut line = Vec::new();
    loop {
        let read = next_line(&mut reader, &mut line)?;
        if read == 0 {
            return Ok((session, whole_bytes));
        }
        bytes += read as u64;
        let is_whole = line.last() == Some(&b'\n');
        match serde_json::from_slice(&line) {
            Ok(record) => {
                session.records.push(record);
                session.lines.push(number);
            }
            Err(_) => session.skipped += 1,
        }
        session.torn = (!is_whole).then_some(number);
        if is_whole {
            number += 1;
            whole_bytes = bytes;
        }
    }
}

/// Reads the next line of a log, and returns its bytes: 0 at the end. A line that is too long comes in parts.
pub(super) fn next_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    log.take(LINE_BYTES_MAX as u64).read_until(b'\n', line)
}
