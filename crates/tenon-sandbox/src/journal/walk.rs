//! Everything in a folder, however deep it is: the descriptors that are held are counted, and so is the
//! memory, and nothing goes by a path that could be too long for the kernel.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

use super::closed::{open_folder, open_way};
use super::node::{Node, NodeId, look};
use super::record::Place;
use super::store::Store;
use crate::linux::closed::through;
use crate::linux::openat::{open_beneath, open_folder_beneath};

/// Deeper folders are not looked into, which is told.
const DEPTH_MAX: usize = 1 << 14;

/// So many folders are open at a time: the deepest ones.
const OPEN_MAX: usize = 64;

/// Whether to look into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deeper {
    Yes,
    No,
}

/// Shows everything beneath a folder, a folder before what is in it. The store's own folder is left
/// out, and folders that this user may not read.
///
/// # Errors
/// Why something could not be looked into that is there and not closed; the rest is shown.
pub(crate) fn walk(
    store: &Store,
    top: &Place,
    show: &mut dyn FnMut(&Place, &Node) -> Deeper,
) -> Result<(), Errno> {
    let handle = open_folder(store, top)?;
    let mut at = top.clone();
    let is_left_out = |place: &Place| store.is_own(place);
    Walk::new(&handle, top.path.clone()).run(&mut |path, node| {
        // Without a copy of a long path each time.
        at.path.as_mut_os_string().clear();
        at.path.push(path);
        if node.is_folder() && is_left_out(&at) { Deeper::No } else { show(&at, node) }
    })
}

/// Shows everything beneath an open folder by its path there, and the folder that it is in but for that one:
/// all that is in a folder before what is in those.
pub(crate) fn walk_folder(top: &OwnedFd, show: &mut dyn FnMut(&Path, &Node, Option<NodeId>)) {
    Walk::new(top, PathBuf::new()).run_by_folder(show);
}

/// A folder that is being looked into.
struct Level {
    id: Option<NodeId>,
    /// `None` while others are looked into that are much deeper.
    handle: Option<OwnedFd>,
    rest: std::vec::IntoIter<(OsString, Node)>,
}

struct Walk<'a> {
    top: &'a OwnedFd,
    /// How long the path of the top is.
    top_length: usize,
    path: PathBuf,
    levels: Vec<Level>,
    /// Why something was not looked into.
    failed: Option<Errno>,
}

impl<'a> Walk<'a> {
    fn new(top: &'a OwnedFd, path: PathBuf) -> Self {
        let top_length = path.as_os_str().len();
        Self { top, top_length, path, levels: Vec::new(), failed: None }
    }

    fn run(mut self, show: &mut dyn FnMut(&Path, &Node) -> Deeper) -> Result<(), Errno> {
        let top = rustix::io::fcntl_dupfd_cloexec(self.top, 0);
        self.enter(top, None);
        while let Some(level) = self.levels.last_mut() {
            let Some((name, node)) = level.rest.next() else {
                self.levels.pop();
                if !self.levels.is_empty() {
                    self.path.pop();
                }
                continue;
            };
            self.path.push(&name);
            if show(&self.path, &node) == Deeper::No
                || !node.is_folder()
                || !self.enter_name(&name, node.id)
            {
                self.path.pop();
            }
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn run_by_folder(mut self, show: &mut dyn FnMut(&Path, &Node, Option<NodeId>)) {
        let top = rustix::io::fcntl_dupfd_cloexec(self.top, 0);
        // What cannot be looked into is not found.
        if self.enter(top, None) {
            self.show_last(show);
        }
        while let Some(level) = self.levels.last_mut() {
            let Some((name, node)) = level.rest.next_back() else {
                self.levels.pop();
                if !self.levels.is_empty() {
                    self.path.pop();
                }
                continue;
            };
            if !node.is_folder() {
                continue;
            }
            self.path.push(&name);
            if self.enter_name(&name, node.id) {
                self.show_last(show);
            } else {
                self.path.pop();
            }
        }
    }

    /// Shows all that is in the deepest level.
    fn show_last(&mut self, show: &mut dyn FnMut(&Path, &Node, Option<NodeId>)) {
        let Some(level) = self.levels.last() else { return };
        for (name, node) in level.rest.as_slice() {
            self.path.push(name);
            show(&self.path, node, level.id);
            self.path.pop();
        }
    }

    /// Goes on in a folder of the deepest level; says whether it does.
    fn enter_name(&mut self, name: &OsStr, id: NodeId) -> bool {
        if self.levels.len() >= DEPTH_MAX {
            self.failed = Some(Errno::NAMETOOLONG);
            return false;
        }
        let opened = self.open_last().and_then(|folder| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            through(folder, || open_beneath(folder, name, flags, Mode::empty()))
        });
        self.enter(opened, Some(id))
    }

    fn enter(&mut self, opened: Result<OwnedFd, Errno>, id: Option<NodeId>) -> bool {
        // Not one after the other: a closed folder is closed again before what is in it is looked into.
        let found = opened
            .and_then(|handle| through(&handle, || entries(&handle)).map(|found| (handle, found)));
        match found {
            Ok((handle, found)) => {
                self.levels.push(Level { id, handle: Some(handle), rest: found.into_iter() });
                let far = self.levels.len().checked_sub(OPEN_MAX + 1);
                if let Some(level) = far.and_then(|far| self.levels.get_mut(far)) {
                    level.handle = None;
                }
                true
            }
            // Gone meanwhile, or another's.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM) => false,
            Err(errno) => {
                self.failed = Some(errno);
                false
            }
        }
    }

    /// The folder of the deepest level, which is opened again where it had to be closed, and those right
    /// above it with it.
    fn open_last(&mut self) -> Result<&OwnedFd, Errno> {
        if self.levels.last().is_some_and(|level| level.handle.is_none()) {
            let from = self.levels.len().saturating_sub(OPEN_MAX);
            let above = self.path.parent().unwrap_or(Path::new(""));
            let bytes = above.as_os_str().as_bytes().get(self.top_length..).unwrap_or_default();
            let beneath = Path::new(OsStr::from_bytes(bytes.strip_prefix(b"/").unwrap_or(bytes)));
            let names: Vec<&OsStr> = beneath.iter().collect();
            // The top is a level, and no name.
            let (far, near) = names.split_at_checked(from).unwrap_or((&[], &names));
            let mut folder = open_way(self.top, &far.iter().collect::<PathBuf>())?;
            let mut near = near.iter();
            for level in self.levels.iter_mut().skip(from) {
                let known = look(&folder, OsStr::new(""))?.map(|node| node.id);
                if level.id.is_some() && level.id != known {
                    // Somebody moved it meanwhile.
                    return Err(Errno::AGAIN);
                }
                let next = near
                    .next()
                    .map(|name| through(&folder, || open_folder_beneath(&folder, Path::new(name))));
                let next = next.transpose()?;
                level.handle = Some(folder);
                let Some(next) = next else { break };
                folder = next;
            }
        }
        self.levels.last().and_then(|level| level.handle.as_ref()).ok_or(Errno::NOENT)
    }
}

/// What is in an open folder.
fn entries(folder: &OwnedFd) -> Result<Vec<(OsString, Node)>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let names = Dir::read_from(open_beneath(folder, ".", flags, Mode::empty())?)?;
    let mut found = Vec::new();
    for entry in names.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        match look(folder, name) {
            Ok(Some(node)) => found.push((name.to_owned(), node)),
            // It may be listed, but not looked into.
            Err(Errno::ACCESS) => return Err(Errno::ACCESS),
            _ => {}
        }
    }
    Ok(found)
}

/// Shows it until `is_enough`. Folders that are closed stay so, and are not looked into.
pub(crate) fn walk_folder_until(top: &OwnedFd, is_enough: &mut dyn FnMut(&Path, &Node) -> bool) {
    let mut folders = vec![PathBuf::new()];
    while let Some(path) = folders.pop() {
        let Ok(folder) = open_folder_beneath(top, &path) else { continue };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let open = open_beneath(&folder, ".", flags, Mode::empty());
        let Some(entries) = open.ok().and_then(|open| Dir::read_from(open).ok()) else { continue };
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Ok(Some(node)) = look(&folder, name) else { continue };
            let path = path.join(name);
            if is_enough(&path, &node) {
                return;
            }
            if node.is_folder() {
                folders.push(path);
            }
        }
    }
}
