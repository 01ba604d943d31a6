//! Where the targets of a command's calls are, seen from the workspace.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::io::Errno;

use super::super::calls::Target;
use super::super::find::split;
use super::super::node::{Node, NodeId, look, which};
use super::super::recorder::Folder;
use super::{FOLDERS_MAX, Plan, TRIES_MAX, Watch};
use crate::linux::task::{Found, Looked, Task, path_of};

/// A name in a folder of the workspace.
pub(super) type Inside = (Arc<Folder>, OsString);

/// Where something is, seen from the workspace.
pub(super) enum Spot {
    Name(Inside),
    /// And what is there.
    Looked(Inside, Option<Box<Node>>),
    /// A file that has no name, or none that can be found.
    Handle(NodeId, OwnedFd),
    /// Not in the workspace; told is where if the walls let nothing be written there.
    Outside(Option<Box<Elsewhere>>),
    /// What is tenon's own, or a folder that this is in: no command changes it.
    Own(Inside),
    Fail(Errno),
}

/// A name in a folder that the walls let nothing be written in.
pub(super) struct Elsewhere {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
}

/// A folder by what may be done in it.
#[derive(Clone)]
pub(super) enum Known {
    /// In the workspace, where walls let nothing be written or do.
    Inside { folder: Arc<Folder>, is_held: bool },
    /// In another place, where walls let nothing be written or do.
    Outside { is_held: bool },
}

impl From<Spot> for Plan {
    fn from(spot: Spot) -> Self {
        match spot {
            Spot::Own(_) => Self::Fail(Errno::ACCESS),
            Spot::Fail(errno) => Self::Fail(errno),
            _ => Self::Pass,
        }
    }
}

impl Watch {
    /// Where a target is, however much was seen of it on the way.
    pub(super) fn inside(&mut self, task: Task, target: &Target) -> Result<Spot, Errno> {
        Ok(match self.look_inside(task, target)? {
            Spot::Looked(inside, _) => Spot::Name(inside),
            spot => spot,
        })
    }

    pub(super) fn look_inside(&mut self, task: Task, target: &Target) -> Result<Spot, Errno> {
        let found = match target {
            Target::Descriptor(number) => match task.descriptor(*number) {
                Ok(handle) => Ok(Found::Handle(handle)),
                Err(errno) => Err(errno),
            },
            Target::Path { base, path, last } => {
                let here = self.here_of(task, *base, path);
                task.find((*base, here.as_deref()), path, *last)
            }
        };
        match found {
            Ok(Found::Nowhere) => Ok(Spot::Fail(Errno::NOENT)),
            Ok(Found::Name(folder, name, looked)) => {
                let folder = match self.folder(&folder)? {
                    Known::Inside { folder, .. } => folder,
                    Known::Outside { is_held } => {
                        let elsewhere = || Box::new(Elsewhere { folder, name });
                        return Ok(Spot::Outside(is_held.then(elsewhere)));
                    }
                };
                if self.checkpoint.lock().store.holds(&folder.place, &name) {
                    return Ok(Spot::Own((folder, name)));
                }
                if name.is_empty() {
                    return Ok(Spot::Name(self.by_itself(folder)));
                }
                Ok(match looked {
                    Looked::Not => Spot::Name((folder, name)),
                    Looked::Nothing => Spot::Looked((folder, name), None),
                    Looked::At(found) => {
                        let node = Node::of(&found, &folder.handle);
                        Spot::Looked((folder, name), Some(Box::new(node)))
                    }
                })
            }
            Ok(Found::Handle(handle)) => self.by_handle(handle),
            // The kernel would say the same.
            Err(
                errno @ (Errno::NOENT
                | Errno::NOTDIR
                | Errno::LOOP
                | Errno::NAMETOOLONG
                | Errno::ACCESS
                | Errno::BADF),
            ) => Ok(Spot::Fail(errno)),
            Err(errno) => Err(errno),
        }
    }

    /// The folder that the thread is in, if the path counts from it.
    fn here_of(&mut self, task: Task, base: i32, path: &[u8]) -> Option<Arc<OwnedFd>> {
        if base != libc::AT_FDCWD || path.starts_with(b"/") {
            return None;
        }
        if self.takes_turns {
            return self.here.of(task);
        }
        self.here.forget();
        self.here.is_settled(task);
        None
    }

    /// A folder by its own name, where it has one.
    fn by_itself(&mut self, folder: Arc<Folder>) -> Inside {
        let (above, name) = split(&folder.place);
        let name = name.to_owned();
        if name.is_empty() {
            return (folder, name);
        }
        match self.checkpoint.lock().folder(&above) {
            Ok(above) => (Arc::new(above), name),
            Err(_) => (folder, OsString::new()),
        }
    }

    /// Says of a name in the workspace whether it is tenon's own.
    fn named(&self, (folder, name): Inside) -> Spot {
        match self.checkpoint.lock().store.holds(&folder.place, &name) {
            true => Spot::Own((folder, name)),
            false => Spot::Name((folder, name)),
        }
    }

    /// What something open is called in the workspace.
    pub(super) fn by_handle(&mut self, handle: OwnedFd) -> Result<Spot, Errno> {
        let Some(node) = look(&handle, OsStr::new(""))? else { return Ok(Spot::Outside(None)) };
        if node.is_folder() {
            return Ok(match self.folder(&handle)? {
                Known::Inside { folder, .. } => {
                    let inside = self.by_itself(folder);
                    self.named(inside)
                }
                Known::Outside { .. } => Spot::Outside(None),
            });
        }
        if !node.is_file() {
            return Ok(Spot::Outside(None));
        }
        for _ in 0..TRIES_MAX {
            let path = path_of(&handle)?;
            let recorder = self.checkpoint.lock();
            let Some(place) = recorder.store.place_of_open(&path).filter(|_| path.is_absolute())
            else {
                break;
            };
            let (above, name) = split(&place);
            if let Ok(folder) = recorder.folder(&above)
                && look(&folder.handle, name)?.is_some_and(|found| found.id == node.id)
            {
                drop(recorder);
                return Ok(self.named((Arc::new(folder), name.to_owned())));
            }
            let now = look(&handle, OsStr::new(""))?;
            if now.is_none_or(|now| now.links == 0) || is_deleted(&path) {
                break;
            }
        }
        Ok(Spot::Handle(node.id, handle))
    }

    /// Returns our own handle on a folder of the workspace, which another process has open.
    fn folder(&mut self, theirs: &OwnedFd) -> Result<Known, Errno> {
        let id = which(theirs)?;
        if let Some(known) = self.folders.get(&id) {
            return Ok(known.clone());
        }
        let found = match self.find_folder(theirs, id)? {
            Some(folder) => {
                let is_held = self.is_held_within(theirs);
                Known::Inside { folder: Arc::new(folder), is_held }
            }
            None => Known::Outside { is_held: self.is_held(theirs) },
        };
        if self.folders.len() >= FOLDERS_MAX {
            self.folders.clear();
        }
        self.folders.insert(id, found.clone());
        Ok(found)
    }

    fn find_folder(&self, theirs: &OwnedFd, id: NodeId) -> Result<Option<Folder>, Errno> {
        let recorder = self.checkpoint.lock();
        if let Some(root) = recorder.root(id)? {
            return Ok(Some(root));
        }
        for _ in 0..TRIES_MAX {
            // As the command sees it, which is where we see it, or another folder.
            let path = path_of(theirs)?;
            if !path.is_absolute() {
                return Ok(None);
            }
            let Some(place) = recorder.store.place_of_open(&path) else { return Ok(None) };
            match recorder.folder(&place) {
                Ok(folder) if folder.id == id => return Ok(Some(folder)),
                Ok(folder) if !folder.id.is_on_device_of(id) => return Ok(None),
                _ if is_deleted(&path) => return Ok(None),
                Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::BUSY)
    }
}

/// What the kernel adds to the path of what has no name any more.
pub(super) fn is_deleted(path: &std::path::Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b" (deleted)")
}
