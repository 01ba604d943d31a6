//! How a file gets its bytes back, and a node its name, against the permissions that they have now.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::CheckpointId;
use super::copy::{copy, copy_part, open_any};
use super::find::{Finder, node_at};
use super::node::{Node, look, set_mode};
use super::record::{Content, Image, Old, Place, Record};
use super::recorder::{Folder, Recorder, Step, Writing};
use super::store::{Store, object_name};
use crate::linux::openat::open_beneath;

impl Recorder {
    /// For undo: before a file loses what is past `length`, which is all that is saved.
    pub(crate) fn before_cut(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        length: u64,
    ) -> Result<Step, Errno> {
        let Some(node) = look(&folder.handle, name)? else { return Ok(Step::Done) };
        let known = self.image.nodes.get(&node.id).and_then(|old| old.content);
        if known.is_some() || node.bytes <= length {
            return self.before_content(folder, name, Writing::Anywhere);
        }
        self.save_node(folder, name, &node)?;
        let source = File::from(open_any(&folder.handle, name, node.id)?);
        let (objects, object) = self.object(folder.place.root)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let target = open_beneath(&objects, &*object_name(object), flags, Mode::RUSR | Mode::WUSR)?;
        copy_part(&source, &File::from(target), length, node.bytes, 0)?;
        self.write(Record::Content { id: node.id, from: length, length: node.bytes, object })
            .map(|()| Step::Done)
    }
}

/// Finds the files of a log that are shorter by now than what undo leaves of them: somebody else cut
/// them, maybe while the call ran.
pub(super) fn cut_meanwhile(store: &Store, image: &Image, id: CheckpointId) -> Vec<Place> {
    let mut finder = Finder::new(store, image, id);
    let is_left_out = |path: &Path| image.left_out.iter().any(|left_out| left_out.path == *path);
    let find = |old: &Old| {
        let content = old.content.filter(|content| content.from > 0)?;
        let place = finder.find(old).filter(|_| !is_left_out(&store.shown(&old.place)))?;
        let now = node_at(store, &place).ok()??;
        (now.bytes < content.from).then_some(place)
    };
    image.nodes.values().filter_map(find).collect()
}

/// Whether a file's content is another than what was saved.
///
/// # Errors
/// `NODATA` where nobody knows what was before the part that was saved.
pub(super) fn differs(
    content: Content,
    object: Option<&File>,
    now: &Node,
    (folder, name): (&OwnedFd, &OsStr),
) -> Result<bool, Errno> {
    if now.bytes < content.from {
        return Err(Errno::NODATA);
    }
    if now.bytes != content.length {
        return Ok(true);
    }
    let Some(object) = object else { return Ok(false) };
    if content.from > 0 {
        return Ok(true);
    }
    let Ok(file) = open_any(folder, name, now.id) else { return Ok(true) };
    let file = File::from(file);
    let (mut one, mut other) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut at = 0;
    while at < content.length {
        let length = rustix::io::pread(object, &mut one, at)?;
        let part = other.get_mut(..length).unwrap_or_default();
        let read = rustix::io::pread(&file, &mut *part, at)?;
        if length == 0 || read != length || one.get(..length) != Some(&*part) {
            return Ok(true);
        }
        at += length as u64;
    }
    Ok(false)
}

pub(super) fn write_content(
    folder: &OwnedFd,
    name: &OsStr,
    now: &Node,
    content: Content,
    object: Option<&File>,
) -> Result<(), Errno> {
    let open = || open_beneath(folder, name, OFlags::WRONLY | OFlags::NOFOLLOW, Mode::empty());
    let file = match open() {
        Err(Errno::ACCESS) => {
            // Its permissions are put back after its content.
            set_mode(folder, name, now.mode | 0o200)?;
            open()?
        }
        file => file?,
    };
    write_into(&File::from(file), content, object)
}

/// Gives an open file the bytes that were saved of it.
pub(super) fn write_into(
    file: &File,
    content: Content,
    object: Option<&File>,
) -> Result<(), Errno> {
    let Some(object) = object else { return rustix::fs::ftruncate(file, content.length) };
    if content.from == 0 {
        copy(object, file, content.length)?;
    } else {
        let tail = content.length - content.from;
        copy_part(object, file, 0, tail, content.from)?;
    }
    rustix::fs::ftruncate(file, content.length)
}

/// Renames, also where the permissions of folders are against it.
pub(super) fn rename(
    (from, old_name): (&OwnedFd, &OsStr),
    (to, new_name): (&OwnedFd, &OsStr),
    node: &Node,
) -> Result<(), Errno> {
    match rustix::fs::renameat(from, old_name, to, new_name) {
        Err(Errno::ACCESS | Errno::PERM) => {}
        outcome => return outcome,
    }
    for folder in [from, to] {
        open_up(folder, OsStr::new(""));
    }
    if node.is_folder() {
        open_up(from, old_name);
    }
    let outcome = rustix::fs::renameat(from, old_name, to, new_name);
    if node.is_folder() {
        let (folder, name) = if outcome.is_ok() { (to, new_name) } else { (from, old_name) };
        // The same user gave it more a moment ago.
        let _ = set_mode(folder, name, node.mode);
    }
    outcome
}

/// Lets this user write a folder. Those that undo works in get their permissions back at the end.
pub(super) fn open_up(folder: &OwnedFd, name: &OsStr) {
    if let Ok(Some(node)) = look(folder, name) {
        // What cannot be opened up fails at the next try, with its reason.
        let _ = set_mode(folder, name, node.mode | 0o700);
    }
}
