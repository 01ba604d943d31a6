//! The log that is being written: JSONL, one event a line, append-only, mode 0600, one writer.
//!
//! An event is handed to the kernel before it is acted on or shown, so that a killed process
//! loses nothing. A thread of its own calls fdatasync at most every 200 ms; power loss costs no
//! more than that. A line that got only half onto a full disk is taken away again.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use super::{
    clock::now_ms,
    kept_images::KeptImages,
    log_error::LogError,
    read::{Session, path_of, read, read_lines},
};
use crate::event::Record;

/// The longest time that an event waits for fdatasync.
const SYNC_EVERY: Duration = Duration::from_millis(200);

/// An open log, locked against other writers. Dropping it waits until everything is on the disk, and
/// takes a new one away that no event got into.
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
    images: KeptImages,
    written: Mutex<Written>,
    /// Whether it was made here and not found.
    is_new: bool,
    sync_error: Arc<Mutex<Option<io::Error>>>,
    /// Tells the syncing thread that something was written; it ends when this is dropped.
    due: Option<mpsc::SyncSender<()>>,
    syncing: Option<std::thread::JoinHandle<()>>,
}

/// How far the log is whole.
#[derive(Debug)]
struct Written {
    bytes: u64,
    /// Whether there is half a line behind that.
    torn: bool,
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
        let failed = |source| LogError::beginning(folder, source);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        loop {
            let id = new_id();
            let path = folder.join(format!("{id}.jsonl"));
            let mut options = OpenOptions::new();
            options.append(true).create_new(true).mode(0o600);
            match options.open(&path) {
                Ok(file) => return Self::locked(id, path, file, Some(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(LogError::beginning(&path, source)),
            }
        }
    }

    /// Opens the log of session `id` in `folder` to go on with it, and reads it. A torn last line
    /// is taken away.
    ///
    /// ```
    /// use tenon_agent::SessionLog;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("20260101-120000-a1b2.jsonl");
    /// std::fs::write(&path, "{\"time_ms\":5,\"type\":\"notice\",\"text\":\"Hi.\"}\n{\"time")?;
    /// let (log, session) = SessionLog::open(folder.path(), "20260101-120000-a1b2")?;
    /// assert_eq!((session.records.len(), session.skipped), (1, 0));
    /// assert!(std::fs::read_to_string(&path)?.ends_with("}\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such log, a newer version wrote it, another process is at work on it, or it
    /// cannot be read or written.
    pub fn open(folder: &Path, id: &str) -> Result<(Self, Session), LogError> {
        let path = path_of(folder, id)?;
        let failed = |source| LogError::new(&path, source);
        let opened = OpenOptions::new().read(true).append(true).open(&path);
        let file = opened.map_err(|source| match File::open(&path) {
            Ok(_) => LogError::beginning(&path, source),
            Err(_) => failed(source),
        })?;
        let mut log = Self::locked(id.to_owned(), path.clone(), file, None)?;
        let (mut session, whole_bytes) = read_lines(id, &*log.file).map_err(failed)?;
        session.refuse_newer().map_err(failed)?;
        if log.file.metadata().map_err(failed)?.len() > whole_bytes {
            log.file.set_len(whole_bytes).map_err(failed)?;
            session.forget_torn();
        }
        log.images.fill(&mut session);
        log.written = Mutex::new(Written { bytes: whole_bytes, torn: false });
        Ok((log, session))
    }

    /// Creates a session in `folder` that leaves session `id` where that is now: it begins with
    /// the same events, abandoned branches and all, and the other stays as it is.
    ///
    /// ```
    /// use tenon_agent::SessionLog;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let old = SessionLog::create(folder.path())?;
    /// let (new, session) = SessionLog::fork(folder.path(), old.id())?;
    /// assert_ne!(new.id(), old.id());
    /// assert_eq!(session.records.len(), 1, "a fork says what it left");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`SessionLog::open`], but for that another process may be at work on the old session.
    pub fn fork(folder: &Path, id: &str) -> Result<(Self, Session), LogError> {
        Self::fork_to(folder, id, &[])
    }

    /// Does the same for a session that works in the folders `moved_to`, the root first; where the other
    /// works if there are none.
    ///
    /// ```
    /// use tenon_agent::SessionLog;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = r#"{"time_ms":1,"type":"session_started","version":1,"session":"one",
    ///     "workspace":["/work"],"model":"m","tenon":"0.1.0"}"#;
    /// std::fs::write(folder.path().join("one.jsonl"), log.replace('\n', "") + "\n")?;
    /// let (_log, session) = SessionLog::fork_to(folder.path(), "one", &["/other".into()])?;
    /// assert_eq!(session.own_folders(), ["/other"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`SessionLog::fork`].
    pub fn fork_to(
        folder: &Path,
        id: &str,
        moved_to: &[PathBuf],
    ) -> Result<(Self, Session), LogError> {
        let old = read(folder, id)?;
        let old_path = path_of(folder, id)?;
        let log = Self::create(folder)?;
        let filled = log.fill_from(&old, &old_path, moved_to);
        filled.inspect_err(|_| {
            // Half a fork is none; what cannot be removed says nothing wrong.
            let _ = std::fs::remove_file(&log.path);
            let _ = log.images.remove();
        })?;
        let new = log.session()?;
        Ok((log, new))
    }

    /// Copies the lines of another log behind a first line of its own, so that each keeps its
    /// number.
    fn fill_from(
        &self,
        old: &Session,
        old_path: &Path,
        moved_to: &[PathBuf],
    ) -> Result<(), LogError> {
        let failed = |source| LogError::new(old_path, source);
        let mut source = File::open(old_path).map_err(failed)?;
        let (_, whole_bytes) = read_lines(&old.id, &source).map_err(failed)?;
        source.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut lines = io::BufReader::new(source.take(whole_bytes));
        io::BufRead::skip_until(&mut lines, b'\n').map_err(failed)?;
        self.images.take_from(&KeptImages::beside(old_path)).map_err(failed)?;
        self.append(&old.fork_note(&self.id, moved_to))?;
        let failed = |source| LogError::beginning(&self.path, source);
        let copied = io::copy(&mut lines, &mut &*self.file).map_err(failed)?;
        self.lock_written().bytes += copied;
        Ok(())
    }

    /// Leaves the last `turns` turns of the session, or as many as there are, and returns what it
    /// goes on with. They stay in the log as an abandoned branch.
    ///
    /// ```
    /// use tenon_agent::SessionLog;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("one.jsonl");
    /// let log = r#"{"time_ms":1,"type":"user_message","prompt":"Sort it","message":{"role":"user","content":[]}}"#;
    /// std::fs::write(&path, format!("{log}\n"))?;
    /// let (log, _) = SessionLog::open(folder.path(), "one")?;
    /// assert_eq!(log.rewind(1)?.branch().count(), 1, "that it was rewound");
    /// assert_eq!(std::fs::read_to_string(&path)?.lines().count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the log cannot be read or written.
    pub fn rewind(&self, turns: u32) -> Result<Session, LogError> {
        let session = self.session()?;
        let Some(rewound) = session.rewind(turns) else { return Ok(session) };
        self.append(&Record { time_ms: now_ms(), event: rewound.into() })?;
        self.session()
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the log of a replay, in which pictures are what their digests say, without their bytes.
    pub(crate) fn with_images_by_name(mut self) -> Self {
        self.images.stand_by_name();
        self
    }

    /// Reads the log as it is now.
    pub(crate) fn session(&self) -> Result<Session, LogError> {
        let file = File::open(&self.path).map_err(|source| LogError::new(&self.path, source))?;
        let read = read_lines(&self.id, file);
        let (mut session, _) = read.map_err(|source| LogError::new(&self.path, source))?;
        self.images.fill(&mut session);
        Ok(session)
    }

    /// Appends one event; the pictures in it are kept first.
    ///
    /// # Errors
    /// Whatever the file system says; the event must then not be acted on.
    pub(crate) fn append(&self, record: &Record) -> Result<(), LogError> {
        let is_first = self.lock_written().bytes == 0;
        let failed = |source| match is_first {
            true => LogError::beginning(&self.path, source),
            false => LogError::writing(&self.path, source),
        };
        record.event.images().try_for_each(|image| self.images.keep(image))?;
        let mut line = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let sync_error = self.sync_error.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(error) = sync_error {
            return Err(failed(error));
        }
        let mut written = self.lock_written();
        if written.torn {
            self.file.set_len(written.bytes).map_err(failed)?;
            written.torn = false;
        }
        if let Err(error) = (&*self.file).write_all(&line) {
            written.torn = self.file.set_len(written.bytes).is_err();
            return Err(failed(error));
        }
        written.bytes += line.len() as u64;
        match &self.due {
            // Full means that a sync is due already.
            Some(due) => drop(due.try_send(())),
            // There is no thread for it.
            None => self.file.sync_data().map_err(failed)?,
        }
        Ok(())
    }

    /// Locks a log; `new_in` is the folder that it was made in just now.
    fn locked(
        id: String,
        path: PathBuf,
        file: File,
        new_in: Option<&Path>,
    ) -> Result<Self, LogError> {
        // The kernel gives the lock back when its process ends, however it ends.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::in_use(&path)),
            Err(TryLockError::Error(source)) => return Err(LogError::new(&path, source)),
        }
        let (file, sync_error) = (Arc::new(file), Arc::default());
        let (due, wait) = mpsc::sync_channel(1);
        let (synced, failed) = (Arc::clone(&file), Arc::clone(&sync_error));
        let (is_new, mut folder) = (new_in.is_some(), new_in.map(Path::to_path_buf));
        let sync = move || {
            synced.sync_data()?;
            folder.take().as_deref().into_iter().for_each(sync_names);
            Ok(())
        };
        let syncing = std::thread::Builder::new()
            .name("log-sync".into())
            .stack_size(64 * 1024)
            .spawn(move || sync_when_written(&wait, &failed, sync))
            .ok();
        let due = syncing.is_some().then_some(due);
        let written = Mutex::new(Written { bytes: 0, torn: false });
        let images = KeptImages::beside(&path);
        Ok(Self { id, path, file, images, written, is_new, sync_error, due, syncing })
    }

    fn lock_written(&self) -> std::sync::MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SessionLog {
    fn drop(&mut self) {
        drop(self.due.take());
        if let Some(syncing) = self.syncing.take() {
            let _ = syncing.join();
        }
        if self.is_new && self.lock_written().bytes == 0 {
            // Nothing goes on from it and no list has it.
            let _ = std::fs::remove_file(&self.path);
        }
        // Closing would do it as well, were there no copy of the descriptor in a child.
        let _ = self.file.unlock();
    }
}

/// Puts the names of a folder on the disk, and its own: a log that has none there is lost. A folder
/// that this user cannot open, or that its file system does not sync, gets there in its own time.
fn sync_names(folder: &Path) {
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
    for folder in [Some(folder), above].into_iter().flatten() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

/// Calls `sync` at most 200 ms after something was written, and once more when the log is closed.
fn sync_when_written(
    written: &mpsc::Receiver<()>,
    failed: &Mutex<Option<io::Error>>,
    mut sync: impl FnMut() -> io::Result<()>,
) {
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
        if let Err(error) = sync() {
            // The kernel says it once; the next append passes it on.
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
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
mod tests;
