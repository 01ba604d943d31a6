//! The log: JSONL, one event a line, append-only, mode 0600.
//!
//! An event is handed to the kernel before it is acted on or shown, so that a killed process
//! loses nothing. A thread of its own calls fdatasync at most every 200 ms; power loss costs no
//! more than that. Readers skip lines that they do not know and a last line that is torn.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use crate::event::{LOG_VERSION, Record, SessionEvent, SessionNote, TurnEvent};

/// The longest time that an event waits for fdatasync.
const SYNC_EVERY: Duration = Duration::from_millis(200);
/// The longest line that a reader takes in; a result is far shorter.
const LINE_BYTES_MAX: usize = 64 << 20;

/// An open log. Dropping it waits until everything is on the disk.
///
/// Given to an agent, it receives every event before anybody sees it:
///
/// ```
/// # use tenon_agent::{Agent, AgentOptions, SessionLog, read_session};
/// # use std::sync::Arc;
/// # use tenon_model::ScriptedProvider;
/// # use tenon_sandbox::Workspace;
/// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
/// # let workspace = Workspace::open(".".as_ref())?;
/// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
/// # let mut options = AgentOptions::new(provider, workspace, sandbox);
/// let folder = tempfile::tempdir()?;
/// let log = SessionLog::create(folder.path())?;
/// let id = log.id().to_owned();
/// options.log = Some(log);
/// let agent = Agent::new(options)?;
/// assert_eq!(read_session(folder.path(), &id)?.records.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SessionLog {
    id: String,
    path: PathBuf,
    file: Arc<File>,
    /// Tells the syncing thread that something was written; it ends when this is dropped.
    written: Option<mpsc::SyncSender<()>>,
    syncing: Option<std::thread::JoinHandle<()>>,
}

/// A session as it was read from its log.
///
/// ```
/// use tenon_agent::{Session, SessionEvent, TurnEvent};
///
/// fn prompts(session: &Session) -> impl Iterator<Item = &str> {
///     session.records.iter().filter_map(|record| match &record.event {
///         SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => Some(prompt.as_str()),
///         _ => None,
///     })
/// }
///
/// let session = Session { id: "20260101-120000-a1b2".into(), records: Vec::new(), skipped: 0 };
/// assert_eq!(prompts(&session).next(), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The session's id.
    pub id: String,
    /// All events that this version knows, in order.
    pub records: Vec<Record>,
    /// Lines that were skipped: unknown, damaged or torn.
    pub skipped: usize,
}

/// One line of a list of sessions.
///
/// ```
/// use tenon_agent::SessionSummary;
///
/// let summary = SessionSummary {
///     id: "20260101-120000-a1b2".into(),
///     started_ms: 1_767_268_800_000,
///     workspace: "/work".into(),
///     model: "scripted/demo".into(),
///     prompt: "Add a docstring".into(),
/// };
/// let line = format!("{}  {}  {}", summary.id, summary.model, summary.prompt);
/// assert_eq!(line, "20260101-120000-a1b2  scripted/demo  Add a docstring");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session's id.
    pub id: String,
    /// When it began, in milliseconds since 1970 in UTC.
    pub started_ms: u64,
    /// The root of its workspace.
    pub workspace: PathBuf,
    /// `PROVIDER/NAME` of the model.
    pub model: String,
    /// The first prompt; empty if there was none.
    pub prompt: String,
}

/// The log could not be written or read; the source is what the file system said.
///
/// ```
/// use std::error::Error;
///
/// use tenon_agent::read_session;
///
/// let folder = tempfile::tempdir()?;
/// if let Err(error) = read_session(folder.path(), "20260101-120000-a1b2") {
///     assert!(error.to_string().starts_with("the session log /"));
///     let cause = error.source().map(ToString::to_string);
///     assert!(cause.is_some_and(|cause| cause.contains("No such file")));
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error("the session log {} cannot be used", path.display())]
pub struct LogError {
    path: PathBuf,
    source: io::Error,
}

impl SessionLog {
    /// Creates the log of a new session in `folder`, which is made with mode 0700 if it is
    /// missing. The id begins with the time in UTC, so that names sort by age.
    ///
    /// ```
    /// use tenon_agent::SessionLog;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = SessionLog::create(&folder.path().join("sessions"))?;
    /// assert!(folder.path().join("sessions").join(format!("{}.jsonl", log.id())).exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn create(folder: &Path) -> Result<Self, LogError> {
        let failed = |source| LogError { path: folder.to_path_buf(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        loop {
            let id = new_id();
            let path = folder.join(format!("{id}.jsonl"));
            let mut options = OpenOptions::new();
            options.append(true).create_new(true).mode(0o600);
            match options.open(&path) {
                Ok(file) => {
                    return Ok(Self {
                        id,
                        path,
                        file: Arc::new(file),
                        written: None,
                        syncing: None,
                    }
                    .with_syncing());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(LogError { path, source }),
            }
        }
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Appends one event.
    ///
    /// # Errors
    /// Whatever the file system says; the event must then not be acted on.
    pub(crate) fn append(&self, record: &Record) -> Result<(), LogError> {
        let failed = |source| LogError { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        (&*self.file).write_all(&line).map_err(failed)?;
        if let Some(written) = &self.written {
            // Full means that a sync is due already.
            let _ = written.try_send(());
        }
        Ok(())
    }

    fn with_syncing(mut self) -> Self {
        let (written, wait) = mpsc::sync_channel(1);
        let file = Arc::clone(&self.file);
        self.syncing = std::thread::Builder::new()
            .name("log-sync".into())
            .stack_size(64 * 1024)
            .spawn(move || sync_when_written(&file, &wait))
            .ok();
        self.written = self.syncing.is_some().then_some(written);
        self
    }
}

impl Drop for SessionLog {
    fn drop(&mut self) {
        drop(self.written.take());
        if let Some(syncing) = self.syncing.take() {
            let _ = syncing.join();
        }
    }
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
    let path = folder.join(format!("{id}.jsonl"));
    let failed = |source| LogError { path: path.clone(), source };
    if id.contains(['/', '\0']) {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a session id")));
    }
    let mut reader = BufReader::new(File::open(&path).map_err(failed)?);
    let mut session = Session { id: id.to_owned(), records: Vec::new(), skipped: 0 };
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = io::Read::take(&mut reader, LINE_BYTES_MAX as u64);
        if limited.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(session);
        }
        match serde_json::from_slice(&line) {
            Ok(record) => session.records.push(record),
            Err(_) => session.skipped += 1,
        }
    }
}

/// Lists the sessions in `folder`, newest first. Files that are no log are left out; a folder
/// that does not exist has none.
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
    let failed = |source| LogError { path: folder.to_path_buf(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            sessions.extend(summary(&path));
        }
    }
    sessions.sort_by(|left, right| (right.started_ms, &right.id).cmp(&(left.started_ms, &left.id)));
    Ok(sessions)
}

/// Reads as much of a log as its summary needs: up to the first prompt.
fn summary(path: &Path) -> Option<SessionSummary> {
    let mut lines = BufReader::new(File::open(path).ok()?).lines();
    let first: Record = serde_json::from_str(&lines.next()?.ok()?).ok()?;
    let SessionEvent::Session(SessionNote::SessionStarted {
        version,
        session,
        workspace,
        model,
        ..
    }) = first.event
    else {
        return None;
    };
    // A newer major version may mean anything by its lines.
    if version > LOG_VERSION {
        return None;
    }
    let prompt =
        lines.map_while(Result::ok).find_map(|line| {
            match serde_json::from_str::<Record>(&line).ok()?.event {
                SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => Some(prompt),
                _ => None,
            }
        });
    Some(SessionSummary {
        id: session,
        started_ms: first.time_ms,
        workspace: workspace.into_iter().next().unwrap_or_default(),
        model,
        prompt: prompt.unwrap_or_default(),
    })
}

fn sync_when_written(file: &File, written: &mpsc::Receiver<()>) {
    while written.recv().is_ok() {
        // Whatever is written until then shares the sync.
        let due = Instant::now() + SYNC_EVERY;
        let closing = loop {
            match written.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break false,
                Err(RecvTimeoutError::Disconnected) => break true,
            }
        };
        // A failed sync shows in the next append, which fails likewise.
        let _ = file.sync_data();
        if closing {
            return;
        }
    }
}

fn new_id() -> String {
    let time = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    let mut random = [0_u8; 2];
    // Without randomness the loop in `create` still finds a free name by its time.
    let _ = getrandom::fill(&mut random);
    let [high, low] = random;
    format!("{time}-{high:02x}{low:02x}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::event::TurnEvent;

    fn note(text: &str) -> Record {
        Record { time_ms: 7, event: TurnEvent::Notice { text: text.into() }.into() }
    }

    fn started(id: &str) -> Record {
        let event = SessionNote::SessionStarted {
            version: LOG_VERSION,
            session: id.into(),
            workspace: vec!["/w".into()],
            model: "scripted/x".into(),
            tenon: "0".into(),
        };
        Record { time_ms: 1, event: event.into() }
    }

    #[test]
    fn what_was_appended_is_read_back_and_the_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("new");
        let log = SessionLog::create(&folder).unwrap();
        let id = log.id().to_owned();
        log.append(&started(&id)).unwrap();
        log.append(&note("汉 \u{1b}[0m")).unwrap();
        drop(log);
        let session = read(&folder, &id).unwrap();
        assert_eq!(session.records, [started(&id), note("汉 \u{1b}[0m")]);
        assert_eq!(session.skipped, 0);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join(format!("{id}.jsonl"))), 0o600);
    }

    #[test]
    fn a_torn_last_line_and_unknown_events_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let log = SessionLog::create(folder.path()).unwrap();
        let id = log.id().to_owned();
        log.append(&note("a")).unwrap();
        (&*log.file).write_all(b"{\"time_ms\":1,\"type\":\"later\"}\n{\"time_ms\":1,\"ty").unwrap();
        let session = read(folder.path(), &id).unwrap();
        assert_eq!((session.records, session.skipped), (vec![note("a")], 2));
    }

    #[test]
    fn sessions_are_listed_newest_first_and_other_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(list(&folder.path().join("missing")).unwrap(), []);
        for (id, time_ms) in [("a", 1), ("b", 2)] {
            let record = Record { time_ms, ..started(id) };
            let line = serde_json::to_string(&record).unwrap();
            std::fs::write(folder.path().join(format!("{id}.jsonl")), line + "\n").unwrap();
        }
        std::fs::write(folder.path().join("c.jsonl"), "garbage").unwrap();
        let ids: Vec<String> =
            list(folder.path()).unwrap().into_iter().map(|session| session.id).collect();
        assert_eq!(ids, ["b", "a"]);
    }

    #[test]
    fn an_id_is_no_path() {
        assert!(read(Path::new("/"), "../etc/passwd").is_err());
    }
}
