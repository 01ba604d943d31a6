//! A look at the whole tree, for where the kernel cannot say what a command is about to change:
//! everything that is there, and a copy of each file in the store.
//!
//! A copy is made once: its name says of which file in which state it is, so that it serves as long
//! as the file stays as it is. Copies that no file needs any more go at the next look.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::changes::LeftOutReason;
use super::closed::open_folder;
use super::copy::{copy, is_cache, open_closed, open_quietly};
use super::lock_wait::{WAIT_MAX, lock_within};
use super::node::{Node, NodeId, look};
use super::record::Place;
use super::store::Store;
use crate::linux::closed::{closed_mode, through};
use crate::linux::openat::{PATH_BYTES_MAX, open_beneath};

/// So many files and folders are looked at: 100,000 take about 0.3 s and 40 MB.
const NODES_MAX: usize = 100_000;

/// A longer file is kept only where the file system shares its bytes (reflink), in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What all copies take that share nothing, in bytes.
const BYTES_MAX: u64 = 512 << 20;

/// A file that changed so short a time ago may change again with the same time, because file
/// systems count in steps: of up to 2 s (FAT), mostly of 4 ms.
const SETTLED_AFTER_SECONDS: i64 = 2;

/// How often a file is copied again that is written at the same time.
const TRIES_MAX: usize = 3;

/// What is there at a moment.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) nodes: HashMap<NodeId, Seen>,
    /// Of each folder that was looked into.
    pub(super) names: HashMap<NodeId, BTreeMap<OsString, NodeId>>,
    /// Folders that are left out because they can be made again: what is in them, as one number.
    pub(super) caches: HashMap<NodeId, u64>,
    /// A folder that was not looked into, because there is too much.
    pub(super) unseen: Option<Place>,
    /// A folder that was not looked into, because its path is too long.
    pub(super) too_long: Option<Place>,
    /// A file that was changed from then on, in seconds since 1970, is compared byte by byte.
    pub(super) unsettled_since: i64,
}

/// Something that is there.
pub(super) struct Seen {
    pub(super) node: Node,
    /// Its first place, and the folder and name that this is.
    pub(super) place: Place,
    pub(super) above: Option<(NodeId, OsString)>,
    pub(super) copy: Copied,
}

/// Where a file's content is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Copied {
    /// There is none to keep: no file, or an empty one.
    Nothing,
    /// As this object among the copies.
    As(String),
    Not(LeftOutReason),
}

/// The copies of files, of one base of the store. Locked while it is open: nobody takes one away.
pub(super) struct Copies {
    pub(super) folder: OwnedFd,
    known: HashSet<String>,
    used: HashSet<String>,
    bytes: u64,
}

/// Looks at everything, and keeps what is in files.
pub(super) fn scan_and_copy(store: &Store) -> Result<(Scan, Vec<Copies>), Errno> {
    let unsettled_since = unsettled_since();
    let mut copies = all_copies(store)?;
    let scan = scan(store, NODES_MAX, &mut |root, folder, name, node| {
        // What cannot be looked at more closely is compared by the rest.
        let _ = node.complete(folder, name);
        let Some(copies) = copies.get_mut(store.base_of(root)) else { return Copied::Nothing };
        copies.keep(folder, name, node, store.options.file_bytes_max)
    });
    for copies in &copies {
        copies.sweep(store)?;
    }
    Ok((Scan { unsettled_since, ..scan }, copies))
}

/// Opens the copies of each base.
pub(super) fn all_copies(store: &Store) -> Result<Vec<Copies>, Errno> {
    (0..store.bases.len()).map(|base| Copies::open(store.open_copies(base)?)).collect()
}

/// Looks at everything, and keeps nothing. `before` is how much there was.
pub(super) fn scan_again(store: &Store, before: &Scan) -> Scan {
    scan(store, before.nodes.len() + NODES_MAX, &mut |_, _, _, _| Copied::Nothing)
}

type Keep<'a> = &'a mut dyn FnMut(usize, &OwnedFd, &OsStr, &mut Node) -> Copied;

fn scan(store: &Store, nodes_max: usize, keep: Keep<'_>) -> Scan {
    let mut scan = Scan::default();
    for root in 0..store.roots.len() {
        let top = Place { root, path: "".into() };
        let Ok(handle) = store.open_folder(&top) else { continue };
        let Ok(Some(mut node)) = look(&handle, OsStr::new("")) else { continue };
        let _ = node.complete(&handle, OsStr::new(""));
        let mut folders = vec![(top.clone(), node.id)];
        let seen = Seen { node, place: top, above: None, copy: Copied::Nothing };
        // One root may lie in another.
        let Entry::Vacant(vacant) = scan.nodes.entry(seen.node.id) else { continue };
        vacant.insert(seen);
        while let Some((place, id)) = folders.pop() {
            if scan.nodes.len() >= nodes_max {
                scan.unseen = Some(place);
                break;
            }
            scan.look_into(store, (&place, id), keep, &mut folders);
        }
    }
    scan
}

impl Scan {
    /// What cannot be read is not looked into: then nothing is said of what is in it.
    fn look_into(
        &mut self,
        store: &Store,
        (at, id): (&Place, NodeId),
        keep: Keep<'_>,
        folders: &mut Vec<(Place, NodeId)>,
    ) {
        // Each place is remembered by its path, of which there can be many and long ones.
        if at.path.as_os_str().len() >= PATH_BYTES_MAX {
            self.too_long.get_or_insert_with(|| at.clone());
            return;
        }
        let Ok(folder) = open_folder(store, at) else { return };
        if store.options.leave_out_caches && !at.path.as_os_str().is_empty() && is_cache(&folder) {
            self.caches.insert(id, fingerprint(store, at));
            return;
        }
        let is_closed = closed_mode(&folder).is_some();
        // What others closed is not looked into.
        let _ = through(&folder, || self.look_into_open(store, (at, id, &folder), keep, folders));
        if is_closed
            && let Some(seen) = self.nodes.get_mut(&id)
            && let Ok(Some(now)) = look(&folder, OsStr::new(""))
        {
            // Its permissions were lifted for a moment, which is a change.
            seen.node.changed = now.changed;
        }
    }

    fn look_into_open(
        &mut self,
        store: &Store,
        (at, id, folder): (&Place, NodeId, &OwnedFd),
        keep: Keep<'_>,
        folders: &mut Vec<(Place, NodeId)>,
    ) -> Result<(), Errno> {
        let entries = entries(folder)?;
        let mut names = BTreeMap::new();
        for name in entries {
            let Ok(Some(mut node)) = look(folder, &name) else { continue };
            let place = at.join(&name);
            if node.is_folder() && store.is_own(&place) {
                continue;
            }
            names.insert(name.clone(), node.id);
            if self.nodes.contains_key(&node.id) {
                continue;
            }
            let copy = keep(at.root, folder, &name, &mut node);
            if node.is_folder() {
                folders.push((place.clone(), node.id));
            }
            names.insert(name.clone(), node.id);
            let seen = Seen { node, place, above: Some((id, name)), copy };
            self.nodes.insert(seen.node.id, seen);
        }
        self.names.insert(id, names);
        Ok(())
    }
}

pub(super) fn entries(folder: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let mut names = Vec::new();
    for entry in Dir::read_from(open_beneath(folder, ".", flags, Mode::empty())?)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// All that is in a folder in one number, which is another when something in it changed.
fn fingerprint(store: &Store, top: &Place) -> u64 {
    let (mut sum, mut count) = (0_u64, 0);
    // What cannot be read counts as nothing.
    let _ = super::walk::walk(store, top, &mut |place, node| {
        let mut hasher = DefaultHasher::new();
        (&place.path, node.id, node.bytes, node.mode).hash(&mut hasher);
        if !node.is_folder() {
            (node.changed.seconds, node.changed.nanoseconds).hash(&mut hasher);
        }
        sum = sum.wrapping_add(hasher.finish());
        count += 1;
        if count < NODES_MAX { super::walk::Deeper::Yes } else { super::walk::Deeper::No }
    });
    sum
}

/// The moment from which on a change may bear the time of the one before.
fn unsettled_since() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX) - SETTLED_AFTER_SECONDS
}

impl Copies {
    fn open(folder: OwnedFd) -> Result<Self, Errno> {
        // Whoever else looks at the tree now uses what is there.
        share(&folder)?;
        let known = entries(&folder)?.into_iter().filter_map(|name| name.into_string().ok());
        Ok(Self { known: known.collect(), folder, used: HashSet::new(), bytes: 0 })
    }

    fn keep(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        node: &mut Node,
        file_bytes_max: u64,
    ) -> Copied {
        if node.is_device() {
            return Copied::Not(LeftOutReason::NotCopied);
        }
        if !node.is_file() || node.bytes == 0 {
            return Copied::Nothing;
        }
        let settled = copy_name(node);
        if self.known.contains(&settled) {
            self.count(node);
            self.used.insert(settled.clone());
            return Copied::As(settled);
        }
        for _ in 0..TRIES_MAX {
            match self.copy(folder, name, node, file_bytes_max) {
                Ok(name) => {
                    self.used.insert(name.clone());
                    return Copied::As(name);
                }
                Err(Errno::AGAIN) => {}
                Err(Errno::FBIG) => {
                    return Copied::Not(LeftOutReason::TooLarge { bytes: node.bytes });
                }
                Err(_) => break,
            }
        }
        Copied::Not(LeftOutReason::NotCopied)
    }

    fn count(&mut self, node: &Node) {
        // A longer one shares its bytes.
        if node.bytes <= FILE_BYTES_MAX {
            self.bytes += node.bytes;
        }
    }

    /// # Errors
    /// `FBIG` for what is too long, `AGAIN` if the file changed meanwhile: `node` is how it is now.
    fn copy(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        node: &mut Node,
        file_bytes_max: u64,
    ) -> Result<String, Errno> {
        if node.bytes > file_bytes_max {
            return Err(Errno::FBIG);
        }
        let source = File::from(match open_quietly(folder, name) {
            Err(Errno::ACCESS) => {
                let source = open_closed(folder, name, node.id)?;
                // Its permissions were lifted for a moment, which is a change.
                let now = look(&source, OsStr::new(""))?.ok_or(Errno::NOENT)?;
                node.changed = now.changed;
                source
            }
            source => source?,
        });
        let new = format!("new-{}", std::process::id());
        // Left by a process of this number that was ended.
        let _ = rustix::fs::unlinkat(&self.folder, &*new, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mode = Mode::RUSR | Mode::WUSR;
        let target = File::from(open_beneath(&self.folder, &*new, flags, mode)?);
        let copied = self.copy_bytes(&source, &target, node);
        let outcome = copied.and_then(|()| {
            let mut now = look(&source, OsStr::new(""))?.ok_or(Errno::NOENT)?;
            if (now.changed, now.bytes) != (node.changed, node.bytes) {
                (now.attributes, now.target) = (node.attributes.take(), OsString::new());
                *node = now;
                return Err(Errno::AGAIN);
            }
            let is_settled = node.changed.seconds < unsettled_since();
            let name = copy_name(node) + if is_settled { "" } else { "-unsettled" };
            rustix::fs::renameat(&self.folder, &*new, &self.folder, &*name)?;
            Ok(name)
        });
        if outcome.is_err() {
            let _ = rustix::fs::unlinkat(&self.folder, &*new, AtFlags::empty());
        }
        outcome
    }

    fn copy_bytes(&mut self, source: &File, target: &File, node: &Node) -> Result<(), Errno> {
        if rustix::fs::ioctl_ficlone(target, source).is_ok() {
            return Ok(());
        }
        if node.bytes > FILE_BYTES_MAX {
            return Err(Errno::FBIG);
        }
        if self.bytes + node.bytes > BYTES_MAX {
            return Err(Errno::NOSPC);
        }
        copy(source, target, node.bytes)?;
        self.count(node);
        Ok(())
    }

    /// Takes away what no file needs, unless somebody else may.
    fn sweep(&self, store: &Store) -> Result<(), Errno> {
        let alone = FlockOperation::NonBlockingLockExclusive;
        // Who holds no lock any more may have left a command to be compared.
        if rustix::fs::flock(&self.folder, alone).is_ok() && !store.has_manifests() {
            for name in self.known.difference(&self.used) {
                match rustix::fs::unlinkat(&self.folder, name.as_str(), AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno),
                }
            }
        }
        // The lock may be lost where the other was not to be had.
        share(&self.folder)
    }
}

/// Has the folder together with others, once nobody has it alone.
fn share(folder: &OwnedFd) -> Result<(), Errno> {
    lock_within(folder, FlockOperation::NonBlockingLockShared, WAIT_MAX, || false)
}

/// Which file in which state.
fn copy_name(node: &Node) -> String {
    let (modified, changed) = (node.modified, node.changed);
    format!(
        "{}-{}-{}.{}-{}.{}",
        node.id,
        node.bytes,
        modified.seconds,
        modified.nanoseconds,
        changed.seconds,
        changed.nanoseconds
    )
}
