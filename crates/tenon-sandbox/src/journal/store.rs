//! Where checkpoints are kept: a folder of the user's own on the workspace's mount, because only
//! there can a file be kept by a further name for it, which copies nothing.
//!
//! A checkpoint is its log, a file with its number. Most need no more than that and their end; what
//! is kept of files has a folder of its own, made when something is: to make one takes as long as
//! everything else that a call waits for.

mod further;
mod gone;
mod newest;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Access, AtFlags, CWD, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

pub(crate) use self::further::Further;
use self::further::key_of;
use super::kept_since::KeptSince;
use super::node::{Node, NodeId, look};
use super::record::{Header, Image, Place, Record};
use super::running::Running;
use super::ways::Ways;
use super::whole::{append, errno_of, read_all};
use super::{CheckpointId, JournalError, JournalOptions};
use crate::file_system::mount_of;
use crate::linux::openat::{open_beneath, open_folder_beneath};
use crate::linux::probe::asks_about_calls;
use crate::linux::wire::{Readable, Sendable};
use crate::remove_tree::remove_tree;
use crate::workspace::ContentHash;

/// The folder with a folder for each checkpoint that keeps something.
const KEPT: &str = "kept";

/// The folder with the ends of checkpoints: in one of its own, because the names beside the logs
/// say which is the newest.
pub(crate) const ENDS: &str = "ends";

/// Ends the name of an end that is being written.
pub(crate) const NEW: &str = ".new";

/// The most of a log that is read for its first record, in bytes: names are short.
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// The file with the nodes that were made again, for all checkpoints.
const AGAIN: &str = "again";

/// The folder with copies of files, for where commands cannot be watched.
pub(crate) const COPIES: &str = "copies";

/// The folder with what there was before commands that are compared.
const MANIFESTS: &str = "compared";

/// Held by whoever undoes.
pub(super) const LOCK: &str = "lock";

/// The roots of a workspace, and where their checkpoints are.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) roots: Vec<Root>,
    pub(crate) bases: Vec<Base>,
    pub(crate) options: JournalOptions,
    /// Whether one of the bases lies in a root.
    is_inside: bool,
    /// Commands cannot be watched here.
    is_unwatchable: AtomicBool,
    newest: Mutex<Option<newest::Newest>>,
    pub(super) running: Running,
    pub(super) ways: Ways,
    pub(super) kept: KeptSince,
}

#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    pub(crate) handle: OwnedFd,
    /// Which of the bases is on its mount.
    base: usize,
}

#[derive(Debug)]
pub(crate) struct Base {
    /// What must be hidden.
    pub(crate) top: PathBuf,
    pub(crate) path: PathBuf,
    handle: OwnedFd,
    ends: OwnedFd,
}

/// The log of a checkpoint that runs. Locked as long as this process has it open.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) id: CheckpointId,
    pub(crate) file: File,
    /// One for each base; made when something is kept there.
    folders: Vec<Option<OwnedFd>>,
    objects: u64,
}

/// A log that nobody else holds meanwhile.
pub(crate) struct HeldLog(OwnedFd);

impl Drop for HeldLog {
    fn drop(&mut self) {
        let_go(&self.0);
    }
}

impl AsFd for HeldLog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Lets go of a log. Closing it would do so as well, were there no copy of the descriptor in a child that
/// is about to run another program.
pub(super) fn let_go(log: impl AsFd) {
    let _ = rustix::fs::flock(log, FlockOperation::Unlock);
}

impl Store {
    pub(crate) fn open(roots: &[PathBuf], options: JournalOptions) -> Result<Self, JournalError> {
        let mut store = Self::empty(options);
        let key: String = match roots.first() {
            Some(first) => key_of(first),
            None => return Err(JournalError::NoStore { path: PathBuf::new(), code: libc::ENOENT }),
        };
        for path in roots {
            store.add_root(path, roots, &key).map_err(|errno| JournalError::NoStore {
                path: path.clone(),
                code: errno.raw_os_error(),
            })?;
        }
        store.find_inside();
        Ok(store)
    }

    /// Returns a store without any folder.
    fn empty(options: JournalOptions) -> Self {
        Self {
            roots: Vec::new(),
            bases: Vec::new(),
            options,
            is_inside: false,
            is_unwatchable: AtomicBool::new(false),
            newest: Mutex::default(),
            running: Running::default(),
            ways: Ways::default(),
            kept: KeptSince::default(),
        }
    }

    fn add_root(&mut self, path: &Path, roots: &[PathBuf], key: &str) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())?;
        let (top, folder) = self.top_for(path, roots)?;
        let base = match self.bases.iter().position(|base| base.top == top) {
            Some(known) => known,
            None => {
                let path = top.join(key);
                let handle = make_private(&folder, key)?;
                for name in [KEPT, ENDS] {
                    make_in(&handle, name)?;
                }
                let ends = open_folder_beneath(&handle, Path::new(ENDS))?;
                self.bases.push(Base { top, path, handle, ends });
                self.bases.len() - 1
            }
        };
        self.roots.push(Root { path: path.to_path_buf(), handle, base });
        Ok(())
    }

    /// Finds the folder for the checkpoints of all workspaces on the mount of `root`. It is held: where a command of another
    /// session may write, another one could be at the path by now.
    fn top_for(&self, root: &Path, roots: &[PathBuf]) -> Result<(PathBuf, OwnedFd), Errno> {
        let mount = mount_of(root)?;
        let state = self.options.state_folder.join("undo");
        let existing = state.ancestors().find(|path| path.exists());
        if existing.is_some_and(|path| mount_of(path) == Ok(mount)) && make_all(&state).is_ok() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = rustix::fs::open(&state, flags, Mode::empty())?;
            return Ok((state, folder));
        }
        let user = rustix::process::geteuid().as_raw();
        let above: Vec<&Path> = root.ancestors().skip(1).collect();
        for place in above.into_iter().rev() {
            let is_inside = roots.iter().any(|root| place.starts_with(root));
            let may = || {
                let wanted = Access::WRITE_OK | Access::EXEC_OK;
                rustix::fs::accessat(CWD, place, wanted, AtFlags::EACCESS).is_ok()
            };
            if !is_inside && mount_of(place) == Ok(mount) && may() {
                let path = place.join(format!(".tenon-undo-{user}"));
                if let Ok(folder) = make_private(CWD, &path) {
                    return Ok((path, folder));
                }
            }
        }
        let path = root.join(".tenon").join("undo");
        make_all(&path)?;
        let folder = make_private(CWD, &path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::openat(&folder, ".gitignore", flags, 0o600.into()) {
            // Without it git would list the folder; nothing else depends on it.
            let _ = rustix::io::write(file, b"*\n");
        }
        Ok((path, folder))
    }

    pub(crate) fn root(&self, root: usize) -> Result<&Root, Errno> {
        self.roots.get(root).ok_or(Errno::NOENT)
    }

    pub(crate) fn base_of(&self, root: usize) -> usize {
        self.roots.get(root).map_or(0, |root| root.base)
    }

    fn base(&self, base: usize) -> Result<&Base, Errno> {
        self.bases.get(base).ok_or(Errno::NOENT)
    }

    /// Whether the tree is compared before and after a command, because nothing else tells.
    pub(crate) fn compares(&self) -> bool {
        self.options.by_comparison
            || self.is_unwatchable.load(Ordering::Relaxed)
            || !asks_about_calls()
    }

    /// The kernel refused to ask about a command, as it will about the next.
    pub(crate) fn note_unwatchable(&self) {
        self.is_unwatchable.store(true, Ordering::Relaxed);
    }

    /// Whether the logs lie where a command of another session may write.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.bases.first().is_some_and(|base| !base.top.starts_with(&self.options.state_folder))
    }

    /// Opens the folder for copies of files, for reading it.
    pub(crate) fn open_copies(&self, base: usize) -> Result<OwnedFd, Errno> {
        let base = &self.base(base)?.handle;
        make_in(base, COPIES)?;
        open_beneath(base, COPIES, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    }

    /// Makes the folder for manifests, if there is none.
    pub(crate) fn make_manifests(&self) -> Result<(), Errno> {
        make_in(&self.base(0)?.handle, MANIFESTS)
    }

    /// Opens the folder for manifests, for reading it.
    pub(crate) fn open_manifests(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        open_beneath(&self.base(0)?.handle, MANIFESTS, flags, Mode::empty())
    }

    /// Whether there is one, of a command that runs or that was cut short.
    pub(crate) fn has_manifests(&self) -> bool {
        let names = self.open_manifests().and_then(Dir::read_from).map(|names| {
            names.flatten().any(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
        });
        names.unwrap_or_default()
    }

    /// Opens a folder beneath a root, for looking at it, without following a link.
    pub(crate) fn open_folder(&self, place: &Place) -> Result<OwnedFd, Errno> {
        let root = self.root(place.root)?;
        open_folder_beneath(&root.handle, &place.path)
    }

    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.bases.iter().map(|base| base.top.clone()).collect()
    }

    /// Whether a place is the store's own folder.
    pub(crate) fn is_own(&self, place: &Place) -> bool {
        let is_named = place.path.file_name().is_some_and(|name| {
            use std::os::unix::ffi::OsStrExt;
            name == "undo" || name.as_bytes().starts_with(b".tenon-undo-")
        });
        is_named && self.bases.iter().any(|base| base.top == self.absolute(place))
    }

    /// Whether a place is in the store, which may lie in the workspace, or a folder that the store
    /// is in.
    pub(crate) fn holds(&self, folder: &Place, name: &OsStr) -> bool {
        self.is_inside && self.held(folder, name).is_some()
    }

    /// Returns the path of such a place, or the store's where that lies beneath.
    pub(crate) fn held(&self, folder: &Place, name: &OsStr) -> Option<PathBuf> {
        let place = folder.join(name);
        let path = self.absolute(&place);
        let is_root = place.path.as_os_str().is_empty();
        let mut tops = self.bases.iter().map(|base| &base.top);
        let top = tops.find(|top| path.starts_with(top) || !is_root && top.starts_with(&path))?;
        Some(if path.starts_with(top) { path } else { top.clone() })
    }

    /// Returns a place as people see it.
    pub(crate) fn shown(&self, place: &Place) -> PathBuf {
        match (place.root, place.path.as_os_str().is_empty()) {
            (0, true) => PathBuf::from("."),
            (0, false) => place.path.clone(),
            _ => self.absolute(place),
        }
    }

    pub(crate) fn absolute(&self, place: &Place) -> PathBuf {
        let root = self.roots.get(place.root).map_or(Path::new("/"), |root| &root.path);
        if place.path.as_os_str().is_empty() { root.to_path_buf() } else { root.join(&place.path) }
    }

    /// Returns the place of an absolute path, or of one relative to the first root.
    pub(crate) fn place_of(&self, path: &Path) -> Option<Place> {
        if path.is_relative() {
            let path = if path == Path::new(".") { Path::new("") } else { path };
            return Some(Place { root: 0, path: path.to_path_buf() });
        }
        let found = self.roots.iter().enumerate().filter_map(|(root, known)| {
            let path = path.strip_prefix(&known.path).ok()?;
            Some(Place { root, path: path.to_path_buf() })
        });
        // The innermost, where one root lies in another.
        found.min_by_key(|place| place.path.as_os_str().len())
    }

    /// Returns all checkpoints, oldest first.
    pub(crate) fn ids(&self) -> Result<Vec<CheckpointId>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = open_beneath(&self.base(0)?.handle, ".", flags, Mode::empty())?;
        let mut ids: Vec<u64> = Vec::new();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok();
            ids.extend(name.and_then(|name| name.parse::<u64>().ok()));
        }
        ids.sort_unstable();
        Ok(ids.into_iter().map(CheckpointId).collect())
    }

    /// Opens the folder with what a checkpoint keeps of a root; `NOENT` where it keeps nothing.
    pub(crate) fn open_kept(&self, id: CheckpointId, root: usize) -> Result<OwnedFd, Errno> {
        let base = self.base(self.base_of(root))?;
        open_folder_beneath(&base.handle, &kept_name(id))
    }

    pub(super) fn open_log(&self, id: CheckpointId, flags: OFlags) -> Result<OwnedFd, Errno> {
        open_beneath(&self.base(0)?.handle, &*name_of(id), flags, Mode::empty())
    }

    /// Returns the folder with the ends of checkpoints.
    pub(crate) fn ends(&self) -> Result<&OwnedFd, Errno> {
        self.base(0).map(|base| &base.ends)
    }

    /// Holds the log, if nobody else does: `None` while the call runs.
    pub(crate) fn lock_log(&self, id: CheckpointId) -> Result<Option<HeldLog>, Errno> {
        let file = self.open_log(id, OFlags::RDWR | OFlags::APPEND)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(HeldLog(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Reads a checkpoint's log, with its places in the roots that are open. `None` for one that has
    /// not begun.
    pub(crate) fn read_log(&self, id: CheckpointId) -> Result<Option<Image>, Errno> {
        let file = self.open_log(id, OFlags::RDONLY)?;
        let Some(mut image) = Image::read(&read_all(file)?) else { return Ok(None) };
        let roots: Vec<Option<Place>> =
            image.header.roots.iter().map(|root| self.place_of_root(root)).collect();
        image.end = self.read_end(id)?.map(Box::new);
        if let Some(end) = &image.end
            && !self.is_whole(id, end)?
        {
            // Half of what was changed would be undone, as if it were all.
            return Err(Errno::BADMSG);
        }
        image.set_roots(&roots);
        if self.is_elsewhere() {
            image.nodes.values_mut().for_each(|old| old.node.give_up_powers());
        }
        Ok(Some(image))
    }

    /// Reads only what a checkpoint is.
    pub(crate) fn read_header(&self, id: CheckpointId) -> Result<Header, Errno> {
        let file = self.open_log(id, OFlags::RDONLY)?;
        let mut bytes = vec![0; HEADER_BYTES_MAX];
        let length = rustix::io::read(&file, &mut bytes)?;
        bytes.truncate(length);
        Image::read(&bytes).map(|image| image.header).ok_or(Errno::BADMSG)
    }

    /// Returns a checkpoint's log as it looks by itself: how long it is, and when something was last
    /// written to it.
    pub(crate) fn look_at_log(&self, id: CheckpointId) -> Result<Node, Errno> {
        look(&self.base(0)?.handle, name_of(id).as_ref())?.ok_or(Errno::NOENT)
    }

    /// Says for all checkpoints that a node was made again.
    pub(crate) fn note_again(&self, old: NodeId, new: NodeId) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let file = open_beneath(&self.base(0)?.handle, AGAIN, flags, Mode::RUSR | Mode::WUSR)?;
        let bytes = Record::Again { old, new }.to_bytes().ok_or(Errno::TOOBIG)?;
        append(&file, &bytes)
    }

    /// Returns the nodes that were made again, oldest first.
    pub(crate) fn again(&self) -> Result<Vec<(NodeId, NodeId)>, Errno> {
        let bytes = match open_beneath(&self.base(0)?.handle, AGAIN, OFlags::RDONLY, Mode::empty())
        {
            Ok(file) => read_all(file)?,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(errno) => return Err(errno),
        };
        let mut rest = &bytes[..];
        let mut again = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| Errno::BADMSG)?;
            let Some((record, after)) = after.split_at_checked(length) else { break };
            rest = after;
            if let Some(Record::Again { old, new }) = Record::from_bytes(record) {
                again.push((old, new));
            }
        }
        Ok(again)
    }

    /// Returns the file that is locked by one process at a time: whoever undoes, or takes checkpoints away.
    pub(super) fn lock_file(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE;
        open_beneath(&self.base(0)?.handle, LOCK, flags, Mode::RUSR | Mode::WUSR)
    }

    /// Removes a checkpoint, its log first, so that a half-removed one is none.
    pub(crate) fn remove(&self, id: CheckpointId) -> Result<(), Errno> {
        let (log, base) = (name_of(id), &self.base(0)?.handle);
        let newest = self.known_newest()?;
        for file in [log.clone(), format!("{ENDS}/{log}"), format!("{ENDS}/{log}{NEW}")] {
            match rustix::fs::unlinkat(base, &*file, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        // Its number is not used again, and that of one that somebody made meanwhile is taken.
        newest.map_or(Ok(()), |number| self.note_newest(number))?;
        for base in &self.bases {
            match open_folder_beneath(&base.handle, &kept_name(id)) {
                Ok(_) => {
                    let kept = open_folder_beneath(&base.handle, Path::new(KEPT))?;
                    // Another store could be at the path by now.
                    let path = format!("/proc/self/fd/{}/{}", kept.as_raw_fd(), name_of(id));
                    remove_tree(Path::new(&path)).map_err(|error| errno_of(&error))?;
                }
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

impl Log {
    /// Returns the folder for what is kept of a root, and a number that is free there.
    pub(crate) fn object(&mut self, store: &Store, root: usize) -> Result<(&OwnedFd, u64), Errno> {
        let base = store.base_of(root);
        let folder = self.folders.get_mut(base).ok_or(Errno::NOENT)?;
        if folder.is_none() {
            let base = &store.base(base)?.handle;
            let name = kept_name(self.id);
            make_in(base, &name)?;
            *folder = Some(open_folder_beneath(base, &name)?);
        }
        self.objects += 1;
        let folder = folder.as_ref().ok_or(Errno::NOENT)?;
        Ok((folder, self.objects))
    }
}

/// Returns the name of something that is kept.
pub(crate) fn object_name(object: u64) -> String {
    format!("o{object}")
}

/// Returns the name of a checkpoint's log, and of its end beside those of others.
pub(crate) fn name_of(id: CheckpointId) -> String {
    format!("{:012}", id.0)
}

pub(crate) fn kept_name(id: CheckpointId) -> PathBuf {
    Path::new(KEPT).join(name_of(id))
}

fn hash_of_path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    ContentHash::of(path.as_os_str().as_bytes()).to_string()
}

/// Makes a folder and those above it for this user alone.
fn make_all(path: &Path) -> Result<(), Errno> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| errno_of(&error))
}

/// Makes a folder of the store, if it is not there.
fn make_in(base: &OwnedFd, name: impl rustix::path::Arg) -> Result<(), Errno> {
    match rustix::fs::mkdirat(base, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Makes a folder for this user alone, or makes sure that it is one, and holds it. No link is followed to it.
fn make_private(folder: impl AsFd, name: impl rustix::path::Arg + Copy) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdirat(&folder, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    if stat.st_mode & 0o777 != 0o700 {
        rustix::fs::fchmod(&folder, Mode::RWXU)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, rename};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "plays a command of another session")]
    fn no_link_leads_to_another_store() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let [work, other] = ["work", "other"].map(|name| top.join(name));
        let id = CheckpointId(1);
        create_dir_all(&work).unwrap();
        let open =
            || Store::open(std::slice::from_ref(&work), JournalOptions::new(top.join("state")));
        let store = open().unwrap();
        let path = store.bases[0].path.clone();
        for store in [&path, &other] {
            create_dir_all(store.join(kept_name(id)).join("folder")).unwrap();
        }
        rename(&path, top.join("moved")).unwrap();
        symlink(&other, &path).unwrap();
        store.remove(id).unwrap();
        let is_there = |store: &Path| store.join(kept_name(id)).exists();
        assert!(is_there(&other) && !is_there(&top.join("moved")));
        assert!(open().is_err());
    }
}
