//! Sessions that go: the log, and the folder of long results unless another session needs it.

#![expect(clippy::disallowed_methods, reason = "the session log is opened outside tenon-sandbox")]

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    kept_images::KeptImages,
    list::{SessionSummary, list, logs},
    log_error::LogError,
    read::{Session, path_of, read_lines},
};

/// How often, and after what wait, a log is tried that is in use: another process that removes it has it
/// for a millisecond or two.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// The ending of a log whose session is being removed. It goes last, so that what a kill leaves of the rest is
/// found by the next removal.
const GONE: &str = "gone";

/// A session and what would be gained by removing it.
///
/// ```
/// use tenon_agent::{SessionLog, removable_sessions};
///
/// let folder = tempfile::tempdir()?;
/// let log = SessionLog::create(folder.path())?;
/// let found = removable_sessions(folder.path(), &folder.path().join("results"))?;
/// assert!(found.is_empty(), "nothing was said in it, so it is in no list");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removable {
    /// The session.
    pub summary: SessionSummary,
    /// Bytes of its log, its images and its long results.
    pub bytes: u64,
}

/// Lists the sessions in `folder` with their size, whose long results lie in folders of their own
/// in `results`; newest first.
///
/// ```
/// use tenon_agent::removable_sessions;
///
/// let folder = tempfile::tempdir()?;
/// assert!(removable_sessions(folder.path(), folder.path())?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder cannot be listed.
pub fn removable(folder: &Path, results: &Path) -> Result<Vec<Removable>, LogError> {
    let sized = |summary: SessionSummary| {
        let images = KeptImages::beside(&folder.join(format!("{}.jsonl", summary.id)));
        let beside = bytes_in(images.folder()) + bytes_in(&results.join(&summary.id));
        let bytes = summary.bytes + beside;
        Removable { summary, bytes }
    };
    Ok(list(folder)?.into_iter().map(sized).collect())
}

/// Removes session `id` from `folder` with its images, and its long results from `results` unless a session that
/// left it needs them. What was removed cannot be had back. `first` is called before anything goes, once nobody
/// else can be at work on the session: for what is kept of it elsewhere, so that a kill leaves none of that
/// without the session.
///
/// ```
/// use tenon_agent::{SessionLog, remove_session};
///
/// let folder = tempfile::tempdir()?;
/// let results = folder.path().join("results");
/// std::fs::write(folder.path().join("one.jsonl"), "")?;
/// let (log, _) = SessionLog::open(folder.path(), "one")?;
/// assert!(remove_session(folder.path(), &results, "one", || ()).is_err_and(|error| error.is_in_use()));
/// drop(log);
/// remove_session(folder.path(), &results, "one", || ())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there is no such session, another process is at work on it, or it cannot be removed.
pub fn remove(
    folder: &Path,
    results: &Path,
    id: &str,
    first: impl FnOnce(),
) -> Result<(), LogError> {
    let path = path_of(folder, id)?;
    let file = locked(&path)?;
    first();
    let gone = path.with_extension(GONE);
    std::fs::rename(&path, &gone).map_err(|source| LogError::new(&path, source))?;
    remove_rest(folder, results, &gone, &file)?;
    for left in left_over(folder) {
        if let Some(file) = File::open(&left).ok().filter(|file| file.try_lock().is_ok()) {
            // What is still in the way is tried again the next time.
            let _ = remove_rest(folder, results, &left, &file);
        }
    }
    Ok(())
}

/// Removes what lies beside a log, and then the log, which is at `gone` by now and in no list.
fn remove_rest(folder: &Path, results: &Path, gone: &Path, file: &File) -> Result<(), LogError> {
    let id = gone.file_stem().and_then(|id| id.to_str()).unwrap_or_default();
    let results_of = head(id, file).results_of().to_owned();
    KeptImages::beside(gone).remove()?;
    let is_needed = logs(folder)?.iter().any(|(other, path)| {
        *other == results_of
            || File::open(path).is_ok_and(|file| head(other, &file).results_of() == results_of)
    });
    let own = results.join(&results_of);
    // The name stands in the log; only one that is a single folder's is followed.
    let is_one_name = own.file_name().is_some_and(|name| name == results_of.as_str())
        && own.parent() == Some(results);
    if !is_needed && is_one_name && own.is_dir() {
        std::fs::remove_dir_all(&own).map_err(|source| LogError::new(&own, source))?;
    }
    std::fs::remove_file(gone).map_err(|source| LogError::new(gone, source))
}

/// Returns the logs of sessions whose removal a kill cut short.
fn left_over(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_left =
        |path: &PathBuf| path.extension().is_some_and(|end| end == GONE) && path.is_file();
    paths.filter(is_left).collect()
}

/// Opens a log that no process is at work on, not even one that removes it.
fn locked(path: &Path) -> Result<File, LogError> {
    let failed = |source| LogError::new(path, source);
    for tries_left in (0..TRIES).rev() {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if tries_left > 0 => std::thread::sleep(BETWEEN_TRIES),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
    Err(LogError::in_use(path))
}

/// Returns a session with its first line alone.
fn head(id: &str, file: &File) -> Session {
    let mut line = Vec::new();
    let read = io::BufRead::read_until(&mut io::BufReader::new(file), b'\n', &mut line);
    let session = read.and_then(|_| read_lines(id, &*line));
    session.map_or_else(|_| Session::empty(id), |(session, _)| session)
}

/// Returns the bytes of the files in `folder`, which has no folders in it.
fn bytes_in(folder: &Path) -> u64 {
    let entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    entries.iter().filter_map(|path| path.symlink_metadata().ok()).map(|data| data.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SessionLog;

    #[test]
    fn long_results_go_with_the_last_session_that_needs_them() {
        let folder = tempfile::tempdir().unwrap();
        let (sessions, results) = (folder.path().join("sessions"), folder.path().join("results"));
        std::fs::create_dir_all(&sessions).unwrap();
        std::fs::write(sessions.join("old.jsonl"), "").unwrap();
        let (new, _) = SessionLog::fork(&sessions, "old").unwrap();
        let fork = new.id().to_owned();
        drop(new);
        std::fs::create_dir_all(results.join("old")).unwrap();
        std::fs::write(results.join("old/output.txt"), "long").unwrap();
        remove(&sessions, &results, "old", || ()).unwrap();
        assert!(results.join("old").exists());
        remove(&sessions, &results, &fork, || ()).unwrap();
        assert!(!results.join("old").exists());
        assert!(logs(&sessions).unwrap().is_empty());
    }

    #[test]
    fn what_is_kept_elsewhere_goes_first_and_only_once_nobody_is_at_work() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.jsonl");
        std::fs::write(&path, "").unwrap();
        let (log, _) = SessionLog::open(folder.path(), "one").unwrap();
        let is_refused =
            |first: &mut dyn FnMut()| remove(folder.path(), folder.path(), "one", first).is_err();
        assert!(is_refused(&mut || panic!("it is in use")));
        drop(log);
        let mut was_there = false;
        assert!(!is_refused(&mut || was_there = path.exists()));
        assert!(was_there && !path.exists());
    }

    #[test]
    fn what_a_kill_left_of_a_session_goes_with_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let (sessions, results) = (folder.path().join("sessions"), folder.path().join("results"));
        for id in ["killed", "other", "living"] {
            std::fs::create_dir_all(sessions.join(id).with_extension("images")).unwrap();
            std::fs::create_dir_all(results.join(id)).unwrap();
            let ending = if id == "other" { "jsonl" } else { GONE };
            std::fs::write(sessions.join(id).with_extension(ending), "").unwrap();
        }
        let living = File::open(sessions.join("living.gone")).unwrap();
        living.try_lock().unwrap();
        remove(&sessions, &results, "other", || ()).unwrap();
        let names = |folder: &Path| {
            let names = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name());
            let mut names: Vec<String> = names.map(|it| it.into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&sessions), ["living.gone", "living.images"]);
        assert_eq!(names(&results), ["living"]);
    }
}
