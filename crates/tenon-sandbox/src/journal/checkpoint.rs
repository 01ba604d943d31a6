//! What a call is handed, to save what it is about to change.

use std::ffi::OsStr;
use std::fmt;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{Timespec, Timestamps};
use rustix::io::Errno;

use super::changes::Changes;
use super::closed::through_place;
use super::compare::compare;
use super::copy::CopyJob;
use super::find::node_at;
use super::forbids::Forbids;
use super::node::NodeId;
use super::record::{Old, Record};
use super::recorder::{Fate, Folder, Recorder, Step, Writing};
use super::refusals::{Refusals, Refused};
use super::sealed::{seal_kept, seal_made};
use super::{CheckpointId, JournalError};
use crate::workspace::{Recording, Workspace};

/// What one call is about to change is saved here before it does. Cheap to clone; a background job
/// keeps its own as long as it runs.
///
/// Nothing is written until something is about to change. One that is dropped without
/// [`Checkpoint::finish`] is kept and counts as interrupted.
#[derive(Clone)]
pub struct Checkpoint {
    inner: Arc<Inner>,
}

struct Inner {
    recorder: Mutex<Recorder>,
    /// A long copy ended.
    copied: Condvar,
    ended: Mutex<Option<Changes>>,
    forbids: OnceLock<Arc<dyn Forbids>>,
    /// Of the command of it that was watched last.
    refusals: Mutex<Option<Arc<Refusals>>>,
}

impl Checkpoint {
    pub(crate) fn new(recorder: Recorder) -> Self {
        let inner = Inner {
            recorder: Mutex::new(recorder),
            copied: Condvar::new(),
            ended: Mutex::default(),
            forbids: OnceLock::new(),
            refusals: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the checkpoint's id; `None` until something was about to change.
    #[must_use]
    pub fn id(&self) -> Option<CheckpointId> {
        self.lock().id()
    }

    /// Has the kernel refuse commands of this call what these rules forbid, and [`Changes::troubles`]
    /// say so: no wall, since a program that means to can exchange what its path leads to in that
    /// moment. Not where commands are compared and not watched. Rules that were given before stay.
    pub fn forbid(&self, rules: Arc<dyn Forbids>) {
        // The second time there are some.
        let _ = self.inner.forbids.set(rules);
    }

    pub(crate) fn forbids(&self) -> Option<&dyn Forbids> {
        self.inner.forbids.get().map(|rules| &**rules)
    }

    /// Returns what changed so far, for a call that goes on.
    ///
    /// # Errors
    /// None at the moment; what cannot be looked at counts as gone.
    pub fn changes_so_far(&self) -> Result<Changes, JournalError> {
        let recorder = self.lock();
        Ok(match recorder.id() {
            Some(id) => compare(&recorder, id).changes,
            None => nothing(&recorder),
        })
    }

    /// Ends the checkpoint: works out what changed and remembers how things are now, so that undo
    /// sees what others change afterwards. The second time it says the same.
    ///
    /// A full disk does not take the end; the checkpoint then counts as interrupted, and undo works. That the
    /// call came to its end is still known if the disk takes a few bytes.
    ///
    /// # Errors
    /// None at the moment, as [`Checkpoint::changes_so_far`].
    pub fn finish(&self) -> Result<Changes, JournalError> {
        let mut ended = self.inner.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changes) = &*ended {
            return Ok(changes.clone());
        }
        let mut recorder = self.lock();
        recorder.note_moved_roots();
        let changes = match recorder.id() {
            None => nothing(&recorder),
            Some(id) => {
                let mut end = compare(&recorder, id);
                let Recorder { store, image, judged, .. } = &*recorder;
                end.sealed = seal_kept(store, image, id, judged);
                end.sealed.extend(seal_made(store, &end.new_folders, judged));
                let changes = end.changes.clone();
                if recorder.store.write_end(id, end).is_err() {
                    // For so little there mostly is room in what the log has already.
                    let _ = recorder.write(Record::Over);
                    // What changed is known all the same: the log was last touched when it was over.
                    recorder.log_file().into_iter().for_each(touch);
                }
                recorder.store.kept.add(&recorder.image);
                recorder.close();
                changes
            }
        };
        recorder.is_over = true;
        Ok(ended.insert(changes).clone())
    }

    /// Whether this and `other` are clones of one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Whether a command of it is to be compared, not watched.
    pub(crate) fn compares(&self) -> bool {
        self.lock().store.compares()
    }

    /// Says that the command of it still runs: what changes long after the last time is not its own.
    pub(crate) fn touch(&self) {
        if let Some(log) = self.lock().log_file() {
            touch(log);
        }
    }

    /// Takes in that protected names are put back after the command of it.
    pub(crate) fn note_guarded(&self) {
        self.lock().image.header.is_guarded = true;
    }

    /// Takes in that undo is not to put back without a question what was saved of these.
    pub(crate) fn doubt(&self, nodes: impl IntoIterator<Item = NodeId>) {
        let mut recorder = self.lock();
        for id in nodes {
            // On a full disk it comes back, as it is: undo lists it.
            let _ = recorder.write(Record::Doubted { id });
        }
    }

    /// Takes in that undo is to put back no file without a question that was saved so far.
    pub(crate) fn doubt_all(&self) {
        let is_file = |(id, old): (&NodeId, &Old)| (!old.node.is_folder()).then_some(*id);
        let saved: Vec<NodeId> = self.lock().image.nodes.iter().filter_map(is_file).collect();
        self.doubt(saved);
    }

    /// Takes in that undo is not to move back without a question what somebody puts into these folders.
    pub(crate) fn note_special(&self, folders: impl IntoIterator<Item = NodeId>) {
        let mut recorder = self.lock();
        for id in folders {
            let _ = recorder.write(Record::Special { id });
        }
    }

    /// Takes in where it is noted what its command is refused.
    pub(super) fn note_refusals(&self, refusals: &Arc<Refusals>) {
        *self.refusals() = Some(Arc::clone(refusals));
    }

    /// Returns what its command was refused until now; `None` while nobody watches one.
    pub(crate) fn refused_so_far(&self) -> Option<Refused> {
        let refusals = self.refusals().clone()?;
        Some(refusals.so_far())
    }

    fn refusals(&self) -> MutexGuard<'_, Option<Arc<Refusals>>> {
        self.inner.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel refused to ask about a command of it.
    pub(crate) fn note_unwatchable(&self) {
        self.lock().store.note_unwatchable();
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Recorder> {
        // A record is written whole or not at all.
        self.inner.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a long copy, and tells those who wait for it.
    pub(crate) fn copy(&self, job: &CopyJob) -> Result<(), Errno> {
        let outcome = job.run();
        let taken = self.lock().copied(job, outcome);
        self.inner.copied.notify_all();
        taken
    }

    /// Before the permissions of what is at a name are set, in a folder that may be closed.
    pub(crate) fn before_rights(&self, folder: &Path, name: &OsStr) -> Result<(), Errno> {
        self.save_in(folder, |recorder, folder| recorder.before_rights(folder, name))
    }

    /// Saves what `before` says of a folder, which may be closed; nothing outside of the roots.
    fn save_in(
        &self,
        folder: &Path,
        mut before: impl FnMut(&mut Recorder, &Folder) -> Result<Step, Errno>,
    ) -> Result<(), Errno> {
        self.save(|recorder| {
            let store = Arc::clone(&recorder.store);
            let Some(place) = store.place_of(folder) else { return Ok(Step::Done) };
            through_place(&store, &place, |handle| {
                let handle = rustix::io::fcntl_dupfd_cloexec(handle, 0)?;
                before(recorder, &Folder::new(handle, place.clone())?)
            })
        })
    }

    /// Saves what `before` says, and waits for copies that this takes.
    pub(crate) fn save(
        &self,
        mut before: impl FnMut(&mut Recorder) -> Result<Step, Errno>,
    ) -> Result<(), Errno> {
        let mut recorder = self.lock();
        loop {
            match before(&mut recorder)? {
                Step::Done => return Ok(()),
                Step::Copy(job) => {
                    drop(recorder);
                    return self.copy(&job);
                }
                Step::Wait => {
                    let waited = self.inner.copied.wait(recorder);
                    recorder = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl Recording for Checkpoint {
    fn before_temporary(&self, folder: &Path, name: &OsStr) -> Result<(), Errno> {
        self.save_in(folder, |recorder, folder| recorder.before_entry(folder, name, Fate::Replaced))
    }

    fn before_replacing(&self, folder: &Path, name: &OsStr) -> Result<(), Errno> {
        self.save(|recorder| {
            let Some(folder) = recorder.store.place_of(folder) else {
                return recorder.note_outside(folder.join(name));
            };
            let folder = recorder.folder(&folder)?;
            recorder.before_entry(&folder, name, Fate::Replaced)
        })
    }

    fn before_writing(&self, folder: &Path, name: &OsStr) -> Result<(), Errno> {
        self.save(|recorder| {
            let Some(folder) = recorder.store.place_of(folder) else {
                return recorder.note_outside(folder.join(name));
            };
            let folder = recorder.folder(&folder)?;
            recorder.before_content(&folder, name, Writing::Anywhere)
        })
    }

    fn has_kept(&self, folder: &Path, name: &OsStr) -> bool {
        let recorder = self.lock();
        let Some(folder) = recorder.store.place_of(folder) else { return false };
        let node = node_at(&recorder.store, &folder.join(name)).ok().flatten();
        let old = node.and_then(|node| recorder.image.nodes.get(&node.id));
        old.is_some_and(|old| old.kept.is_some())
    }
}

impl Workspace {
    /// Returns the same workspace, whose writes are saved for undo first. A write that cannot be
    /// saved is refused.
    #[must_use]
    pub fn recording(&self, checkpoint: &Checkpoint) -> Self {
        self.told_to(Arc::new(checkpoint.clone()))
    }
}

/// Has a file be of now.
pub(super) fn touch(file: impl AsFd) {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    // One that cannot be told makes more of what changes later the command's own, or a question.
    let _ = rustix::fs::futimens(file, &times);
}

fn nothing(recorder: &Recorder) -> Changes {
    Changes { troubles: recorder.image.trouble.clone(), ..Changes::default() }
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Checkpoint").field(&self.id()).finish()
    }
}
