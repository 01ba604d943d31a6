//! Saves what is about to change, once in each checkpoint: who it was, where, and its content.
//!
//! What a call made itself is not saved when the call changes it again, and nothing in a folder
//! that it made: undo takes the whole folder away. A file that loses a name is kept by a further
//! name in the store; only one that is written in place is copied.

mod loss;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::CheckpointId;
use super::changes::{LeftOut, LeftOutReason};
use super::copy::{CopyJob, open_any};
use super::layers::look_parted;
use super::node::{Node, NodeId, look, which};
use super::record::{Content, Header, Image, Place, Record};
use super::sealed::Judged;
use super::store::{Log, Store, let_go, object_name};
use super::trouble::Trouble;
use super::whole::append;
use crate::linux::openat::open_beneath;
use crate::linux::wire::Sendable;

/// A longer file is copied by a thread of its own, so that other calls need not wait: 1 MiB takes
/// about 0.3 ms.
const COPY_AT_ONCE_BYTES_MAX: u64 = 1 << 20;

/// A folder beneath a root, open for looking at it.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) id: NodeId,
    pub(crate) handle: OwnedFd,
    pub(crate) place: Place,
}

impl Folder {
    pub(crate) fn new(handle: OwnedFd, place: Place) -> Result<Self, Errno> {
        Ok(Self { id: which(&handle)?, handle, place })
    }
}

/// What is about to happen to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Something is made there, if nothing is.
    Appears,
    /// What is there goes to another name.
    Moves,
    /// What is there loses this name.
    Gone,
    /// The same of a folder with nothing in it; anything else keeps it.
    FolderGone,
    /// Something comes there, whatever is there.
    Replaced,
}

impl Fate {
    fn loses(self) -> bool {
        matches!(self, Self::Gone | Self::FolderGone | Self::Replaced)
    }
}

/// Whether a folder was there before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It was there before.
    Old,
    /// The call made it.
    New,
    /// It is not recorded.
    LeftOut,
}

/// How a file is about to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    /// Only past its end.
    Append,
    Anywhere,
}

/// What must be waited for before the call may go on.
pub(crate) enum Step {
    Done,
    /// A long copy, to be run without holding anything up, then given back to
    /// [`Recorder::copied`].
    Copy(Box<CopyJob>),
    /// Another call's copy of the same file.
    Wait,
}

/// What one checkpoint saves.
pub(crate) struct Recorder {
    pub(crate) store: Arc<Store>,
    pub(crate) image: Image,
    log: Option<Log>,
    pub(super) statuses: HashMap<NodeId, Status>,
    /// Names that matter in folders that are left out, and what was there. Not for undo.
    pub(super) aside: BTreeMap<Place, Option<Node>>,
    copying: HashSet<NodeId>,
    /// Nodes that were there before have names where nothing was before.
    pub(super) has_moved: bool,
    /// The paths of roots that were elsewhere when the call began.
    pub(super) moved_before: Vec<PathBuf>,
    /// Grows when a folder gets another path.
    pub(crate) folders_moved: u64,
    pub(crate) is_over: bool,
    /// What was judged of files that it saved.
    pub(super) judged: Judged,
    /// When the log was made, in nanoseconds since 1970, once somebody asked.
    pub(super) began: Option<u64>,
    /// When that was looked at which is recorded now, in nanoseconds since 1970, where that is earlier.
    pub(super) looked_at: Option<u64>,
}

impl Recorder {
    pub(crate) fn new(store: Arc<Store>, header: Header) -> Self {
        let image = Image { header, ..Image::default() };
        let moved_before = store.moved_roots();
        Self {
            store,
            image,
            log: None,
            statuses: HashMap::new(),
            aside: BTreeMap::new(),
            copying: HashSet::new(),
            has_moved: false,
            moved_before,
            folders_moved: 0,
            is_over: false,
            judged: Judged::default(),
            began: None,
            looked_at: None,
        }
    }

    /// None as long as nothing was about to change.
    pub(crate) fn id(&self) -> Option<CheckpointId> {
        self.log.as_ref().map(|log| log.id)
    }

    pub(crate) fn log_file(&self) -> Option<&std::fs::File> {
        self.log.as_ref().map(|log| &log.file)
    }

    pub(crate) fn folder(&self, place: &Place) -> Result<Folder, Errno> {
        Folder::new(self.store.open_folder(place)?, place.clone())
    }

    /// Returns the root that this is, if it is one: most commands change something right in it.
    pub(crate) fn root(&self, id: NodeId) -> Result<Option<Folder>, Errno> {
        for (number, root) in self.store.roots.iter().enumerate() {
            if which(&root.handle)? == id {
                let handle = rustix::io::fcntl_dupfd_cloexec(&root.handle, 0)?;
                let place = Place { root: number, path: PathBuf::new() };
                return Ok(Some(Folder { id, handle, place }));
            }
        }
        Ok(None)
    }

    /// Before something happens to a name.
    pub(crate) fn before_entry(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        fate: Fate,
    ) -> Result<Step, Errno> {
        match self.status(folder)? {
            Status::LeftOut => {
                self.note_left_out(folder, name)?;
                return Ok(Step::Done);
            }
            Status::New => return self.before_known_entry(folder, name, fate),
            Status::Old => {}
        }
        let known =
            self.image.entries.get(&folder.id).is_some_and(|names| names.contains_key(name));
        if known {
            return self.before_known_entry(folder, name, fate);
        }
        let found = look_parted(&folder.handle, name)?;
        match (&found, fate) {
            (Some(_), Fate::Appears) | (None, Fate::Moves | Fate::Gone | Fate::FolderGone) => {
                return Ok(Step::Done);
            }
            _ => {}
        }
        self.save_folder(folder)?;
        let mut step = Step::Done;
        let before = found.as_ref().map(|node| node.id);
        if let Some(node) = found {
            self.save_node(folder, name, &node)?;
            if fate.loses() {
                step = self.before_loss(folder, name, &node, fate)?;
            }
        }
        self.write(Record::Entry { folder: folder.id, name: name.to_owned(), before })?;
        Ok(step)
    }

    /// Before something is made at a name where nothing is.
    fn before_appearing(&mut self, folder: &Folder, name: &OsStr) -> Result<Step, Errno> {
        let names = self.image.entries.get(&folder.id);
        let is_known = names.is_some_and(|names| names.contains_key(name));
        if is_known || self.status(folder)? != Status::Old {
            return self.before_entry(folder, name, Fate::Appears);
        }
        self.save_folder(folder)?;
        let name = name.to_owned();
        self.write(Record::Entry { folder: folder.id, name, before: None })?;
        Ok(Step::Done)
    }

    /// What is at a name that was touched before, or in a folder of the call's own, matters only if
    /// it is a node that was there before and came here, by this call or by one that runs beside it.
    fn before_known_entry(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        fate: Fate,
    ) -> Result<Step, Errno> {
        if !(fate.loses() && self.has_moved || self.is_beside()) {
            return Ok(Step::Done);
        }
        let Some(node) = look_parted(&folder.handle, name)? else { return Ok(Step::Done) };
        if self.came_by_another(node.id)? {
            self.save_node(folder, name, &node)?;
        }
        if !fate.loses() || !self.image.nodes.contains_key(&node.id) {
            return Ok(Step::Done);
        }
        self.before_loss(folder, name, &node, fate)
    }

    /// Before a node gets another name.
    pub(crate) fn before_rename(
        &mut self,
        (from, old_name): (&Folder, &OsStr),
        (to, new_name): (&Folder, &OsStr),
        exchange: bool,
    ) -> Result<Step, Errno> {
        let Some(node) = look_parted(&from.handle, old_name)? else { return Ok(Step::Done) };
        let target = look_parted(&to.handle, new_name)?;
        if target.as_ref().is_some_and(|target| target.id == node.id) {
            return Ok(Step::Done);
        }
        for (folder, name) in [(from, old_name), (to, new_name)] {
            // What is in it comes along.
            if (exchange || !node.is_file()) && self.status(folder)? == Status::LeftOut {
                self.note_aside(folder, name)?;
            }
        }
        let step = self.before_entry(from, old_name, Fate::Moves)?;
        let is_folder = |target: &Node| target.is_folder();
        // No file replaces a folder, and none goes into itself, or where its `..` cannot be changed.
        let stays = exchange
            || target.as_ref().is_some_and(is_folder)
                && (!node.is_folder()
                    || to.place.path.starts_with(from.place.join(old_name).path)
                    || loss::stays(&from.handle, old_name, &node)
                    || from.id != to.id && !loss::may_change(&from.handle, old_name));
        let fate = if stays { Fate::Moves } else { Fate::Replaced };
        let other = self.before_entry(to, new_name, fate)?;
        self.note_moved(node.id, to.place.join(new_name))?;
        let mut has_folder = node.is_folder();
        if let Some(target) = target.filter(|_| exchange) {
            self.note_moved(target.id, from.place.join(old_name))?;
            has_folder |= target.is_folder();
        }
        if has_folder {
            self.folders_moved += 1;
        }
        Ok(if matches!(step, Step::Done) { other } else { step })
    }

    /// Before a node gets a further name.
    pub(crate) fn before_link(
        &mut self,
        from: Option<(&Folder, &OsStr)>,
        (to, name): (&Folder, &OsStr),
    ) -> Result<Step, Errno> {
        if let Some((folder, old_name)) = from
            && let Some(node) = look_parted(&folder.handle, old_name)?
            && !self.is_new(folder, old_name, node.id)?
        {
            self.save_node(folder, old_name, &node)?;
            self.note_moved(node.id, to.place.join(name))?;
        }
        self.before_entry(to, name, Fate::Appears)
    }

    pub(crate) fn note_moved(&mut self, id: NodeId, place: Place) -> Result<(), Errno> {
        if self.image.nodes.contains_key(&id) {
            self.has_moved = true;
            self.write(Record::Moved { id, place })?;
        }
        Ok(())
    }

    /// Before permissions, owner, times or attributes change; of the folder for an empty name.
    pub(crate) fn before_rights(&mut self, folder: &Folder, name: &OsStr) -> Result<Step, Errno> {
        let Some(node) = look_parted(&folder.handle, name)? else { return Ok(Step::Done) };
        if !self.is_new(folder, name, node.id)? {
            self.save_node(folder, name, &node)?;
        }
        Ok(Step::Done)
    }

    /// Before a file is opened for writing, or made. `seen` is what is there, if that is known.
    pub(crate) fn before_open(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        seen: Option<Option<Node>>,
        (creates, writing): (bool, Option<Writing>),
    ) -> Result<Step, Errno> {
        // In a folder of the call's own, only what came from elsewhere matters.
        if !self.has_moved && self.status(folder)? == Status::New && !self.is_beside() {
            return Ok(Step::Done);
        }
        let found = match seen {
            Some(seen) => seen,
            None => look_parted(&folder.handle, name)?,
        };
        match (found, writing) {
            (None, _) if creates => self.before_appearing(folder, name),
            (Some(_), Some(writing)) => self.before_content(folder, name, writing),
            _ => Ok(Step::Done),
        }
    }

    /// Before a file is written in place.
    pub(crate) fn before_content(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        writing: Writing,
    ) -> Result<Step, Errno> {
        let Some(node) = look_parted(&folder.handle, name)? else { return Ok(Step::Done) };
        if !node.is_file() || self.is_new(folder, name, node.id)? {
            return Ok(Step::Done);
        }
        let known = self.image.nodes.get(&node.id).and_then(|old| old.content);
        if known.is_some_and(|content| content.from == 0 || writing == Writing::Append) {
            return Ok(Step::Done);
        }
        if self.copying.contains(&node.id) {
            return Ok(Step::Wait);
        }
        self.save_node(folder, name, &node)?;
        if writing == Writing::Append {
            let (id, length) = (node.id, node.bytes);
            self.write(Record::Content { id, from: length, length, object: 0 })?;
            return Ok(Step::Done);
        }
        self.save_content(node.id, (&folder.handle, name), folder.place.root)
    }

    /// Before a file that was opened for appending, and may have no name any more, is written
    /// elsewhere.
    pub(crate) fn before_content_of(
        &mut self,
        id: NodeId,
        handle: &OwnedFd,
    ) -> Result<Step, Errno> {
        let Some(old) = self.image.nodes.get(&id) else { return Ok(Step::Done) };
        if old.content.is_none_or(|content| content.from == 0) {
            return Ok(Step::Done);
        }
        if self.copying.contains(&id) {
            return Ok(Step::Wait);
        }
        let root = old.place.root;
        self.save_content(id, (handle, OsStr::new("")), root)
    }

    /// Copies what was in a file before the call: nothing that was appended since.
    pub(crate) fn save_content(
        &mut self,
        id: NodeId,
        (folder, name): (&OwnedFd, &OsStr),
        root: usize,
    ) -> Result<Step, Errno> {
        let Some(old) = self.image.nodes.get(&id) else { return Ok(Step::Done) };
        if !old.node.is_file() || old.content.is_some_and(|content| content.from == 0) {
            return Ok(Step::Done);
        }
        let length = old.content.map_or(old.node.bytes, |content| content.length);
        let place = old.place.clone();
        if length == 0 {
            self.write(Record::Content { id, from: 0, length, object: 0 })?;
            return Ok(Step::Done);
        }
        // What an undo takes away its redo brings back, however long it is.
        let is_undo = !self.image.header.undoes.is_empty();
        if length > self.store.options.file_bytes_max && !is_undo {
            let left_out = LeftOut {
                path: self.store.shown(&place),
                reason: LeftOutReason::TooLarge { bytes: length },
            };
            if !self.image.left_out.contains(&left_out) {
                self.write(Record::LeftOut(left_out))?;
            }
            return Ok(Step::Done);
        }
        let source = open_any(folder, name, id)?;
        if look(&source, OsStr::new(""))?.is_none_or(|now| now.id != id) {
            return Err(Errno::AGAIN);
        }
        let store = Arc::clone(&self.store);
        let (objects, object) = self.log()?.object(&store, root)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let target = open_beneath(objects, &*object_name(object), flags, Mode::RUSR | Mode::WUSR)?;
        let job = CopyJob { id, length, object, source: source.into(), target: target.into() };
        if length > COPY_AT_ONCE_BYTES_MAX {
            self.copying.insert(id);
            return Ok(Step::Copy(Box::new(job)));
        }
        let outcome = job.run();
        self.copied(&job, outcome)?;
        Ok(Step::Done)
    }

    /// Takes a copy that has been run.
    pub(crate) fn copied(
        &mut self,
        job: &CopyJob,
        outcome: Result<(), Errno>,
    ) -> Result<(), Errno> {
        self.copying.remove(&job.id);
        outcome?;
        let (id, length, object) = (job.id, job.length, job.object);
        self.write(Record::Content { id, from: 0, length, object })
    }

    /// Whether the call made what is at a name.
    fn is_new(&mut self, folder: &Folder, name: &OsStr, id: NodeId) -> Result<bool, Errno> {
        if self.image.nodes.contains_key(&id) {
            return Ok(false);
        }
        Ok(match self.status(folder)? {
            Status::LeftOut => {
                self.note_left_out(folder, name)?;
                true
            }
            Status::New | Status::Old if self.came_by_another(id)? => false,
            Status::New => true,
            Status::Old => match self.image.entries.get(&folder.id).and_then(|on| on.get(name)) {
                Some(before) => *before != Some(id),
                None => false,
            },
        })
    }

    pub(crate) fn save_folder(&mut self, folder: &Folder) -> Result<(), Errno> {
        if self.image.nodes.contains_key(&folder.id) {
            return Ok(());
        }
        let Some(node) = look(&folder.handle, OsStr::new(""))? else { return Ok(()) };
        self.save_node(folder, OsStr::new(""), &node)
    }

    pub(crate) fn save_node(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        node: &Node,
    ) -> Result<(), Errno> {
        if self.image.nodes.contains_key(&node.id) {
            return Ok(());
        }
        let mut node = node.clone();
        node.complete(&folder.handle, name)?;
        let place = self.place_before(folder).join(name);
        self.write(Record::Node { node, place })
    }

    /// A call was refused because what it would change could not be saved.
    pub(crate) fn note_refused(&mut self, place: Option<&Place>, errno: Errno) {
        let path = place.map(|place| self.store.shown(place)).unwrap_or_default();
        self.note_trouble(Trouble::Refused { path, code: errno.raw_os_error() });
    }

    pub(crate) fn note_trouble(&mut self, trouble: Trouble) {
        if self.image.has_told(&trouble) {
            return;
        }
        // A store that takes no record still tells in this process.
        if self.log.is_none() || self.write(Record::Trouble(trouble.clone())).is_err() {
            self.image.trouble.push(trouble);
        }
    }

    /// Makes the log, also where nothing is about to change.
    pub(crate) fn begin(&mut self) -> Result<(), Errno> {
        self.log().map(|_| ())
    }

    fn log(&mut self) -> Result<&mut Log, Errno> {
        if self.is_over {
            return Err(Errno::CANCELED);
        }
        if self.log.is_none() {
            let log = self.store.new_log()?;
            if !self.image.header.undoes.is_empty() {
                // What runs in another process has turns of its own.
                self.store.running.end_turn();
            }
            let header = Record::Header(self.image.header.clone());
            let troubles = self.image.trouble.iter().cloned().map(Record::Trouble);
            let mut records = std::iter::once(header).chain(troubles);
            let written = records
                .try_for_each(|record| append(&log.file, &record.to_bytes().ok_or(Errno::TOOBIG)?));
            if let Err(errno) = written {
                // On a full disk each call that is refused would leave one.
                let _ = self.store.remove(log.id);
                return Err(errno);
            }
            self.log = Some(log);
        }
        self.log.as_mut().ok_or(Errno::NOENT)
    }

    /// A free name in the store, on the mount of a root.
    pub(crate) fn object(&mut self, root: usize) -> Result<(OwnedFd, u64), Errno> {
        let store = Arc::clone(&self.store);
        let (folder, object) = self.log()?.object(&store, root)?;
        Ok((rustix::io::fcntl_dupfd_cloexec(folder, 0)?, object))
    }

    /// Appends a record. Once this returns, the end of this process does not lose it.
    pub(crate) fn write(&mut self, record: Record) -> Result<(), Errno> {
        if !self.image.has_room_for(&record) {
            return Err(Errno::NOSPC);
        }
        let bytes = record.to_bytes().ok_or(Errno::TOOBIG)?;
        let store = Arc::clone(&self.store);
        let (looked_at, is_call) = (self.looked_at, self.image.header.undoes.is_empty());
        let log = self.log()?;
        if is_call && store.has_others() {
            store.running.note_others();
        }
        if let Some(at) = store.running.turn(log.id, looked_at) {
            append(&log.file, &Record::Turn { at }.to_bytes().ok_or(Errno::TOOBIG)?)?;
        }
        append(&log.file, &bytes)?;
        self.image.apply(record);
        Ok(())
    }

    /// Whether this file may be written past its end only, as far as it was saved.
    pub(crate) fn is_saved_for_appending(&self) -> bool {
        let mut contents = self.image.nodes.values().filter_map(|old| old.content);
        contents.any(|Content { from, .. }| from > 0)
    }

    /// Lets go of the log: the checkpoint runs no more.
    pub(crate) fn close(&mut self) {
        self.is_over = true;
        if let Some(log) = &self.log {
            self.store.running.end(log.id);
            let_go(&log.file);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}
