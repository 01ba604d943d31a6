//! Undo of everything: saves what a call is about to change, and puts it back.
//!
//! A [`Journal`] belongs to a workspace. Each call gets a [`Checkpoint`], which a file tool's
//! [`crate::Workspace`] and a command's [`crate::Sandbox`] save to. It is undo, not security: the
//! walls are another mechanism, and a command that wants to escape it can. The guard asks it where to
//! look in workspaces that are too large to be looked through.

mod along;
mod astray;
mod calls;
mod came_from;
mod changed_by;
mod changes;
mod checkpoint;
mod closed;
mod compare;
mod comparison;
mod conflicts;
mod content;
mod copy;
mod cut_short;
mod doubted;
mod end;
mod find;
mod forbids;
mod git_objects;
mod git_programs;
mod held_by;
mod here;
mod history;
mod idle;
mod in_store;
mod kept_names;
mod kept_since;
mod layers;
mod left_behind;
mod left_files;
mod left_out;
mod left_over;
mod links;
mod lock_wait;
mod manifest;
mod moved_along;
mod moved_roots;
mod named;
mod needed_objects;
mod node;
mod order;
mod overlap;
mod past;
mod patience;
mod place_before;
mod prune;
mod put;
mod reach;
mod record;
mod recorder;
mod refusals;
mod running;
mod scan;
mod sealed;
mod since;
mod spot;
mod stale;
mod state;
mod status;
mod store;
mod take_back;
mod together;
mod touched;
mod trouble;
mod unchanged;
mod undo;
mod undone_beside;
mod walk;
mod watch;
mod way_back;
mod ways;
mod whole;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;

pub(crate) use self::along::Along;
pub use self::changes::{
    Change, ChangeKind, Changes, LeftOut, LeftOutReason, LinkOut, Replaced, Rights,
};
pub use self::checkpoint::Checkpoint;
pub(crate) use self::comparison::Comparison;
pub use self::conflicts::{Conflict, ConflictReason, Conflicts};
pub use self::forbids::Forbids;
pub use self::history::Undone;
pub(crate) use self::kept_names::KeptName;
pub(crate) use self::left_behind::LeftBehind;
pub use self::named::without_middle;
pub(crate) use self::node::{Moment, NodeId, attributes_of, kernel_path, which};
pub use self::past::{Past, PastEntry};
pub use self::patience::Patience;
pub use self::prune::{Pruned, Usage, forget_session_of};
pub(crate) use self::refusals::Refused;
pub use self::refusals::{Barrier, OutsideWrite, RefusedMove};
pub use self::stale::StaleCache;
pub(crate) use self::touched::{AllTouched, Before, Came, Kept, ReadLimits, Touched};
pub use self::trouble::Trouble;
pub(crate) use self::watch::watch;
pub use self::way_back::WayBack;

use self::prune::Pruner;
use self::reach::Reach;
use self::record::Header;
use self::recorder::Recorder;
use self::store::Store;
use self::way_back::mark_undone;
use crate::workspace::{FileError, RootMoved, Workspace};

/// Whether a folder lies, by its name, in one that journals of workspaces on other mounts than the state folder are
/// kept in, or is one.
///
/// ```
/// use tenon_sandbox::is_in_undo_store;
///
/// assert!(is_in_undo_store("/data/work/.tenon/undo".as_ref()));
/// assert!(is_in_undo_store("/data/.tenon-undo-1000/0f".as_ref()));
/// assert!(!is_in_undo_store("/data/work/.tenon".as_ref()));
/// ```
#[must_use]
pub fn is_in_undo_store(folder: &Path) -> bool {
    folder.ancestors().any(|around| {
        let name = around.file_name().unwrap_or_default();
        around.ends_with(".tenon/undo") || name.as_encoded_bytes().starts_with(b".tenon-undo-")
    })
}

/// Saves what calls are about to change in one workspace, and undoes it. Cheap to clone.
///
/// Everything but [`Journal::begin`] looks at files: an async caller runs it where blocking is
/// allowed.
#[derive(Debug, Clone)]
pub struct Journal {
    store: Arc<Store>,
    pruner: Arc<Pruner>,
    /// Nothing where no folders are opened besides those of the store.
    reach: Option<Arc<Reach>>,
    /// How long others are waited for; as long as it takes if nothing.
    patience: Option<Patience>,
}

/// How much is kept, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalOptions {
    /// The program's own folder for state. Checkpoints are kept there if it is on the workspace's
    /// mount; else in a folder `.tenon-undo-UID` at the highest place of that mount that this user
    /// may write; else in `.tenon/undo` in the workspace.
    pub state_folder: PathBuf,
    /// How much all checkpoints of a workspace may take on disk, in bytes.
    pub bytes_max: u64,
    /// A longer file that is written in place is not copied before, in bytes; the change list says
    /// so. Deleting one needs no copy and is always undone.
    pub file_bytes_max: u64,
    /// Whether folders with a `CACHEDIR.TAG` are left out; the change list says so.
    pub leave_out_caches: bool,
    /// Whether the workspace is compared before and after each command also where the kernel could
    /// say what a command is about to change.
    pub by_comparison: bool,
}

impl JournalOptions {
    /// Returns the usual options: 2 GiB in all, 1 GiB for one file, without caches.
    #[must_use]
    pub fn new(state_folder: impl Into<PathBuf>) -> Self {
        Self {
            state_folder: state_folder.into(),
            bytes_max: 2 << 30,
            file_bytes_max: 1 << 30,
            leave_out_caches: true,
            by_comparison: false,
        }
    }
}

/// How the journal learns what commands change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// The kernel says it before each change.
    Commands,
    /// The same, but what a command changes is found out by comparing the workspace before and
    /// after it, within bounds; its changes say so.
    ByComparison,
}

/// Names a checkpoint among those of one workspace. Later ones are greater; the first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckpointId(pub(crate) u64);

impl CheckpointId {
    /// Returns the checkpoint with this number.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns its number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// What is known of a checkpoint without looking into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Which one.
    pub id: CheckpointId,
    /// The session that it belongs to.
    pub session: String,
    /// The call's name, as [`Journal::begin`] got it.
    pub name: String,
    /// What it is of.
    pub kind: CheckpointKind,
    /// When something was first about to change, to the second.
    pub started: SystemTime,
    /// Whether it is over, and whether it was undone.
    pub state: CheckpointState,
}

/// What a checkpoint is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointKind {
    /// A call.
    Call,
    /// An undo, which is undone by redo; also a redo, which undoes an undo.
    Undo {
        /// What it undid.
        of: Vec<CheckpointId>,
    },
}

/// Whether a checkpoint is over, and whether it was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointState {
    /// The call runs, here or in another process.
    Running,
    /// What it did stands.
    Done,
    /// The agent ended before the call did. What it did until then stands.
    Interrupted,
    /// What it did was undone, and not redone.
    Undone {
        /// By this one.
        by: CheckpointId,
    },
}

/// Why the journal could not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// There is no place for checkpoints.
    #[error("nothing can be kept for undo of {}: {}", path.display(), io::Error::from_raw_os_error(*code))]
    NoStore {
        /// The workspace's root.
        path: PathBuf,
        /// The error number.
        code: i32,
    },
    /// There is no such checkpoint, or no more.
    #[error("there is no checkpoint {id}")]
    Unknown {
        /// The id that was asked for.
        id: CheckpointId,
    },
    /// The call goes on still.
    #[error("checkpoint {id} belongs to a call that is still running")]
    Running {
        /// The checkpoint.
        id: CheckpointId,
    },
    /// It was undone before.
    #[error("checkpoint {id} was undone already")]
    AlreadyUndone {
        /// The checkpoint.
        id: CheckpointId,
    },
    /// A folder of the workspace is not at its path. Nothing was undone.
    #[error(transparent)]
    RootMoved(#[from] RootMoved),
    /// A file is longer than the caller wants to hold.
    #[error("{} has {bytes} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// Undo broke off. What it did until then is in the checkpoint `id` and can be undone.
    #[error("{} could not be put back: {}", path.display(), why_not_restored(*code))]
    NotRestored {
        /// The checkpoint of the undo.
        id: CheckpointId,
        /// What could not be put back.
        path: PathBuf,
        /// The error number.
        code: i32,
    },
    /// A log that this program cannot read, or that a power loss cut.
    #[error("checkpoint {id} cannot be read")]
    Damaged {
        /// The checkpoint.
        id: CheckpointId,
    },
    /// It changed something in a folder that is none of the workspace by now, and cannot be opened.
    #[error("checkpoint {id} changed something in a folder that cannot be opened: {source}")]
    Unopened {
        /// The checkpoint.
        id: CheckpointId,
        /// Which folder, and why.
        source: Box<FileError>,
    },
    /// Another process undid or made room, and the waiting for it was ended. Nothing was done.
    #[error("the waiting for another process was ended")]
    GivenUp,
    /// Another process has the store for longer than it was waited for. Nothing was done.
    #[error("another process holds the undo store")]
    Held {
        /// Which, if the kernel tells.
        process: Option<u32>,
    },
    /// Anything else that the operating system said.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Says why something could not be put back.
fn why_not_restored(code: i32) -> String {
    match Errno::from_raw_os_error(code) {
        Errno::NODATA => {
            "the call only added to it, what was before that is not kept, and somebody \
                          wrote to it since"
                .to_owned()
        }
        Errno::NOENT => "it is gone, and what was in it is not kept".to_owned(),
        _ => io::Error::from_raw_os_error(code).to_string(),
    }
}

impl JournalError {
    pub(crate) fn io(errno: Errno, path: impl Into<PathBuf>) -> Self {
        Self::Io { path: path.into(), source: errno.into() }
    }
}

impl Journal {
    /// Opens the journal of a workspace, and makes its folder. Takes well below a millisecond,
    /// unless an agent was killed while a command ran that is compared: then it is compared now.
    ///
    /// # Errors
    /// [`JournalError::NoStore`] when nothing can be kept; then nothing may be changed that is to
    /// be undone.
    pub fn open(workspace: &Workspace, options: JournalOptions) -> Result<Self, JournalError> {
        let store = Store::open(&workspace.roots(), options)?;
        let reach = Some(Arc::new(Reach::of(workspace, &store)));
        let journal = Self { reach, ..Self::of(Arc::new(store)) };
        if journal.store.roots.iter().any(|root| layers::renumbers(&root.handle)) {
            journal.store.note_unwatchable();
        }
        journal.end_comparisons();
        Ok(journal)
    }

    fn of(store: Arc<Store>) -> Self {
        Self {
            pruner: Arc::new(Pruner::new(Arc::clone(&store))),
            store,
            reach: None,
            patience: None,
        }
    }

    /// Returns the folders with checkpoints, which no command may see: for
    /// [`crate::Settings::hidden`] and [`Workspace::with_own_folder`].
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        self.store.folders()
    }

    /// Returns how the journal learns what a session's calls change. Only trying tells for sure:
    /// where the kernel refuses to ask about a command, it is compared like all after it.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        if self.store.compares() { Coverage::ByComparison } else { Coverage::Commands }
    }

    /// Begins a checkpoint. `session` is the session's id; `name` says what is shown of the call.
    #[must_use]
    pub fn begin(&self, session: &str, name: &str) -> Checkpoint {
        Checkpoint::new(self.recorder(session, name, Vec::new()))
    }

    fn recorder(&self, session: &str, name: &str, undoes: Vec<CheckpointId>) -> Recorder {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let header = Header {
            session: session.to_owned(),
            name: name.to_owned(),
            started: since.as_secs(),
            undoes,
            roots: self.roots(),
            is_guarded: false,
        };
        Recorder::new(Arc::clone(&self.store), header)
    }

    fn unknown(id: CheckpointId) -> impl FnOnce(Errno) -> JournalError {
        move |errno| match errno {
            Errno::NOENT => JournalError::Unknown { id },
            Errno::BADMSG => JournalError::Damaged { id },
            errno => JournalError::io(errno, format!("checkpoint {id}")),
        }
    }

    /// Returns all checkpoints of the workspace, of every session, oldest first.
    ///
    /// # Errors
    /// [`JournalError::Io`] when the store cannot be read. A checkpoint that cannot is left out.
    pub fn checkpoints(&self) -> Result<Vec<CheckpointInfo>, JournalError> {
        self.checkpoints_after(CheckpointId(0))
    }

    /// Returns the checkpoints that were begun after `after`, oldest first, and looks at no others:
    /// of one that an earlier one undid it is not known.
    ///
    /// # Errors
    /// As [`Journal::checkpoints`].
    pub fn checkpoints_after(
        &self,
        after: CheckpointId,
    ) -> Result<Vec<CheckpointInfo>, JournalError> {
        self.checkpoints_without(&BTreeSet::new(), after)
    }

    /// The same as if those in `but`, which are about to be undone, were so already.
    fn checkpoints_without(
        &self,
        but: &BTreeSet<CheckpointId>,
        after: CheckpointId,
    ) -> Result<Vec<CheckpointInfo>, JournalError> {
        let ids = self.store.ids().map_err(|errno| JournalError::io(errno, "the undo store"))?;
        let mut infos: Vec<CheckpointInfo> = Vec::new();
        for id in ids.into_iter().filter(|id| *id > after) {
            // One that another process is about to make has no header yet.
            let Ok(header) = self.store.read_header(id) else { continue };
            let state = if self.store.has_ended(id) {
                CheckpointState::Done
            } else if matches!(self.store.lock_log(id), Ok(Some(_))) {
                CheckpointState::Interrupted
            } else {
                CheckpointState::Running
            };
            infos.push(CheckpointInfo {
                id,
                session: header.session,
                name: header.name,
                kind: match header.undoes.is_empty() {
                    true => CheckpointKind::Call,
                    false => CheckpointKind::Undo { of: header.undoes },
                },
                started: UNIX_EPOCH + Duration::from_secs(header.started),
                state,
            });
        }
        mark_undone(&mut infos, but);
        Ok(infos)
    }

    /// Returns the checkpoint that was begun last, if there is one.
    ///
    /// # Errors
    /// [`JournalError::Io`] when the store cannot be read.
    pub fn newest(&self) -> Result<Option<CheckpointId>, JournalError> {
        let ids = self.store.ids().map_err(|errno| JournalError::io(errno, "the undo store"))?;
        Ok(ids.last().copied())
    }

    /// Returns what a checkpoint's call changed, as it was when the call was over.
    ///
    /// # Errors
    /// [`JournalError::Unknown`], [`JournalError::Running`] and the like.
    pub fn changes(&self, id: CheckpointId) -> Result<Changes, JournalError> {
        if let Some(end) = self.end_of_interrupted(id)? {
            // A full disk does not take it: then it is worked out again.
            let _ = self.keep_end(id, end.clone());
            return Ok(end.changes);
        }
        let end = self.store.read_end(id).map_err(Self::unknown(id))?;
        let end = end.ok_or(JournalError::Running { id })?;
        match self.store.is_whole(id, &end).map_err(Self::unknown(id))? {
            true => Ok(end.changes),
            false => Err(JournalError::Damaged { id }),
        }
    }

    /// Returns the same of a call that may still run: what it has changed by now.
    ///
    /// # Errors
    /// As [`Self::changes`], but for [`JournalError::Running`].
    pub fn changes_so_far(&self, id: CheckpointId) -> Result<Changes, JournalError> {
        match self.changes(id) {
            Err(JournalError::Running { .. }) => {
                let journal = self.reaching(&[id]);
                Ok(compare::compare_image(&journal.store, &journal.image(id)?, id).changes)
            }
            known => known,
        }
    }

    /// Returns a file's content before a call, for showing what it did. `None`: there was no such
    /// file, or it was not saved.
    ///
    /// # Errors
    /// [`JournalError::TooLarge`] past `bytes_max`, and what cannot be read.
    pub fn content_before(
        &self,
        id: CheckpointId,
        path: &Path,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, JournalError> {
        content::content_before(&self.reaching(&[id]).store, id, path, bytes_max)
    }

    /// Returns a file's content after a call: what a later call saved, or what is there now. `None`
    /// when there is no such file, or it is not known any more.
    ///
    /// # Errors
    /// [`JournalError::TooLarge`] past `bytes_max`, and what cannot be read.
    pub fn content_after(
        &self,
        id: CheckpointId,
        path: &Path,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, JournalError> {
        content::content_after(&self.reaching(&[id]).store, id, path, bytes_max)
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for CheckpointId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}
