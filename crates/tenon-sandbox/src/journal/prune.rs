//! How much checkpoints take on disk, and which go when it is too much.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::io::Errno;

use super::kept_since::SHARE;
use super::patience::WAIT_TO_MAKE_ROOM;
use super::store::{COPIES, ENDS, Store, kept_name, name_of};
use super::{CheckpointId, CheckpointInfo, CheckpointState, Journal, JournalError, JournalOptions};

/// What the checkpoints of a workspace take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// On disk. What undone or deleted files took before they were changed is counted, since it is
    /// free only when their checkpoint goes.
    pub bytes: u64,
    /// How many there are.
    pub checkpoints: u64,
    /// How much they may take.
    pub bytes_max: u64,
}

/// What was taken away. It cannot be undone any more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    /// How many checkpoints.
    pub checkpoints: u64,
    /// How many bytes on disk.
    pub bytes: u64,
    /// Of which sessions, the oldest first.
    pub sessions: Vec<String>,
}

/// Makes room in the background. Who lets go of it last waits until that is done.
#[derive(Debug)]
pub(crate) struct Pruner {
    store: Arc<Store>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Pruner {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, thread: Mutex::default() }
    }

    fn is_due(&self) -> bool {
        self.store.kept.is_due(self.store.options.bytes_max)
    }
}

impl Drop for Pruner {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // What one of them cannot take away the next session does.
            let _ = thread.join();
            if self.is_due() {
                let _ = Journal::of(Arc::clone(&self.store)).prune();
            }
        }
    }
}

impl Journal {
    /// Makes room as [`Journal::prune`] does, in the background, if that is due: when something was
    /// kept for the first time, and then whenever calls kept a tenth of the bound. Costs next to
    /// nothing else. Whoever drops the last clone of this journal waits for it.
    pub fn prune_if_due(&self) {
        if !self.pruner.is_due() {
            return;
        }
        let mut thread = self.pruner.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let store = Arc::clone(&self.store);
        // Not a clone of this one, which would wait for itself.
        let prune = move || drop(Self::of(store).prune());
        *thread = std::thread::Builder::new().name("prune".into()).spawn(prune).ok();
    }

    /// Returns what the checkpoints take. Looks at everything that is kept.
    ///
    /// # Errors
    /// [`JournalError::Io`] when the store cannot be read.
    pub fn usage(&self) -> Result<Usage, JournalError> {
        let ids = self.store.ids().map_err(failed)?;
        Ok(Usage {
            bytes: ids.iter().map(|id| self.store.bytes_of(*id)).sum::<u64>()
                + self.store.bytes_of_copies(),
            checkpoints: ids.len() as u64,
            bytes_max: self.store.options.bytes_max,
        })
    }

    /// Takes away whole sessions, the one that was used longest ago first, until the rest fits and a
    /// tenth is free; of the last one its oldest checkpoints. Calls that run keep theirs, and the
    /// newest one that is over stays, however large. What a file tool of a killed agent left in the
    /// workspace goes first.
    ///
    /// # Errors
    /// [`JournalError::Io`] when something cannot be removed, [`JournalError::Held`] when another process has the store
    /// for longer than 3 s.
    pub fn prune(&self) -> Result<Pruned, JournalError> {
        let _lock = self.lock_within(WAIT_TO_MAKE_ROOM)?;
        // Before it is looked at: what comes meanwhile counts for the next time.
        self.store.kept.begin_anew();
        self.end_with_left_over(&self.checkpoints()?);
        let sizes = self.store.ids().map_err(failed)?.into_iter();
        let sizes: HashMap<CheckpointId, u64> =
            sizes.map(|id| (id, self.store.bytes_of(id))).collect();
        let mut rest: u64 = sizes.values().sum::<u64>() + self.store.bytes_of_copies();
        // To look at sizes takes long, and sessions go on meanwhile.
        let infos = self.checkpoints()?;
        let mut pruned = Pruned::default();
        let newest = infos.last().map(|info| info.session.clone());
        // Nobody could take back what was done last, were it taken away at once.
        let last = infos.iter().rfind(|info| info.state != CheckpointState::Running);
        let last = last.map(|info| info.id);
        let bytes_max = self.store.options.bytes_max;
        let fits = |rest: u64| rest <= bytes_max - bytes_max / SHARE;
        for session in by_last_use(&infos) {
            let is_newest = Some(&session) == newest.as_ref();
            if fits(rest) {
                break;
            }
            for info in infos.iter().filter(|info| info.session == session) {
                // A session goes as a whole, but for the one that is at work.
                if is_newest && fits(rest) {
                    break;
                }
                let bytes = sizes.get(&info.id).copied().unwrap_or(0);
                if info.state != CheckpointState::Running && Some(info.id) != last {
                    self.take_away(info, bytes, &mut pruned)?;
                    rest = rest.saturating_sub(bytes);
                }
            }
        }
        Ok(pruned)
    }

    /// Takes away what is kept of one session.
    ///
    /// # Errors
    /// [`JournalError::Io`] when something cannot be removed.
    pub fn forget_session(&self, session: &str) -> Result<Pruned, JournalError> {
        let _lock = self.lock()?;
        let mut pruned = Pruned::default();
        for info in self.checkpoints()?.iter().filter(|info| info.session == session) {
            if info.state != CheckpointState::Running {
                let bytes = self.store.bytes_of(info.id);
                self.take_away(info, bytes, &mut pruned)?;
            }
        }
        Ok(pruned)
    }

    fn take_away(
        &self,
        info: &CheckpointInfo,
        bytes: u64,
        pruned: &mut Pruned,
    ) -> Result<(), JournalError> {
        self.store.remove(info.id).map_err(failed)?;
        pruned.checkpoints += 1;
        pruned.bytes += bytes;
        if pruned.sessions.last() != Some(&info.session) {
            pruned.sessions.push(info.session.clone());
        }
        Ok(())
    }
}

impl Store {
    /// Returns how many bytes copies of files take on disk that no checkpoint holds alone.
    pub(crate) fn bytes_of_copies(&self) -> u64 {
        self.bases.iter().map(|base| bytes_in(&base.path.join(COPIES))).sum()
    }

    /// Returns how many bytes a checkpoint takes on disk.
    pub(crate) fn bytes_of(&self, id: CheckpointId) -> u64 {
        let kept: u64 =
            self.bases.iter().map(|base| bytes_in(&base.path.join(kept_name(id)))).sum();
        let own = self.bases.first().map_or(0, |base| {
            let end = base.path.join(ENDS).join(name_of(id));
            bytes_at(&base.path.join(name_of(id))) + bytes_at(&end)
        });
        kept + own
    }
}

/// Takes away what is kept of one session of the workspace whose first folder was `root`, which need not be
/// there any more.
///
/// # Errors
/// [`JournalError::Io`] when something cannot be removed.
pub fn forget_session_of(
    root: &Path,
    options: &JournalOptions,
    session: &str,
) -> Result<Pruned, JournalError> {
    let mut pruned = Pruned::default();
    for store in Store::of_gone(root, options).map_err(failed)? {
        let of_place = Journal::of(Arc::new(store)).forget_session(session)?;
        pruned.checkpoints += of_place.checkpoints;
        pruned.bytes += of_place.bytes;
        pruned.sessions.extend(of_place.sessions);
    }
    Ok(pruned)
}

fn failed(errno: Errno) -> JournalError {
    JournalError::io(errno, "the undo store")
}

/// The sessions, the one that was used longest ago first.
fn by_last_use(infos: &[CheckpointInfo]) -> Vec<String> {
    let mut sessions: Vec<String> = Vec::new();
    for info in infos.iter().rev() {
        if !sessions.contains(&info.session) {
            sessions.push(info.session.clone());
        }
    }
    sessions.reverse();
    sessions
}

#[expect(clippy::disallowed_methods, reason = "the journal's own folder, which no tool can name")]
fn bytes_in(folder: &Path) -> u64 {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        bytes += bytes_at(&entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            bytes += bytes_in(&entry.path());
        }
    }
    bytes
}

/// What a file or a folder by itself takes.
fn bytes_at(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = std::fs::symlink_metadata(path) else { return 0 };
    // What has another name elsewhere takes its room there as well.
    let share = if found.is_dir() { 1 } else { found.nlink().max(1) };
    found.blocks() * 512 / share
}
