//! What can go wrong with a log.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{event::EndReason, outcome::TurnOutcome};

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
///     assert!(!error.is_in_use());
///     let cause = error.source().map(ToString::to_string);
///     assert!(cause.is_some_and(|cause| cause.contains("No such file")));
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error("the session log {} cannot be {}", path.display(), if *writing { "written" } else { "used" })]
pub struct LogError {
    path: PathBuf,
    writing: bool,
    /// Whether there is a session with events in it.
    is_kept: bool,
    source: io::Error,
    /// What the turn had come to that ended by it.
    outcome: Option<Box<TurnOutcome>>,
}

impl LogError {
    pub(super) fn new(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_path_buf(), writing: false, is_kept: false, source, outcome: None }
    }

    /// Returns the error of a log that took events before.
    pub(super) fn writing(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_path_buf(), writing: true, is_kept: true, source, outcome: None }
    }

    /// Returns the error of a log that took no event.
    pub(super) fn beginning(path: &Path, source: io::Error) -> Self {
        Self { is_kept: false, ..Self::writing(path, source) }
    }

    pub(super) fn in_use(path: &Path) -> Self {
        let words = "another process is at work on this session";
        Self::new(path, io::Error::new(io::ErrorKind::WouldBlock, words))
    }

    /// Adds how the turn was when it ended by this error.
    pub(crate) fn with_outcome(self, outcome: TurnOutcome) -> Self {
        let outcome = TurnOutcome { reason: EndReason::LogFailed, ..outcome };
        Self { outcome: Some(Box::new(outcome)), ..self }
    }

    /// Returns how the turn was when it ended by this error; `None` if there was no turn.
    ///
    /// ```
    /// use tenon_agent::SessionLog;
    ///
    /// let error = SessionLog::create("/dev/null/sessions".as_ref()).err();
    /// assert!(error.is_some_and(|error| error.outcome().is_none()));
    /// ```
    pub fn outcome(&self) -> Option<&TurnOutcome> {
        self.outcome.as_deref()
    }

    /// Returns whether it was to be written, and not only read.
    ///
    /// ```
    /// use tenon_agent::{SessionLog, read_session};
    ///
    /// let error = SessionLog::create("/dev/null/sessions".as_ref()).err();
    /// assert!(error.is_some_and(|error| error.is_unwritable()));
    /// let error = read_session("/dev/null/sessions".as_ref(), "20260101-120000-a1b2").err();
    /// assert!(error.is_some_and(|error| !error.is_unwritable()));
    /// ```
    pub fn is_unwritable(&self) -> bool {
        self.writing
    }

    /// Returns whether another process is at work on the session.
    ///
    /// ```
    /// use tenon_agent::SessionLog;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let log = SessionLog::create(folder.path())?;
    /// let second = SessionLog::open(folder.path(), log.id());
    /// assert!(second.is_err_and(|error| error.is_in_use()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_in_use(&self) -> bool {
        self.source.kind() == io::ErrorKind::WouldBlock
    }

    /// Returns whether there is no such log.
    ///
    /// ```
    /// use tenon_agent::read_session;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let error = read_session(folder.path(), "20260101-120000-a1b2").err();
    /// assert!(error.is_some_and(|error| error.is_missing()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_missing(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// Returns the id of a session that took events until it could not be written any more.
    ///
    /// ```no_run
    /// use tenon_agent::LogError;
    ///
    /// fn hint(error: &LogError) -> Option<String> {
    ///     Some(format!("make room, then: tenon --resume {}", error.broken_session()?))
    /// }
    /// ```
    pub fn broken_session(&self) -> Option<&str> {
        self.path.file_stem().and_then(|stem| stem.to_str()).filter(|_| self.is_kept)
    }
}
