//! What was in a file before and after a call, for showing what the call did.
//!
//! A content that was kept moves: undo puts the file itself back into the tree, redo takes it to the
//! store again. So it is looked for in all checkpoints from the call's on.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::find::{node_at, split};
use super::node::{Node, NodeId, look};
use super::record::{Image, Old, Place};
use super::store::{Store, object_name};
use super::walk::walk_folder;
use super::whole::errno_of;
use super::{CheckpointId, Journal, JournalError};
use crate::linux::openat::open_folder_beneath;

/// Returns a file's content before a call; `None` if there was none, or it is not kept.
pub(super) fn content_before(
    store: &Store,
    id: CheckpointId,
    path: &Path,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, JournalError> {
    let image = store.read_log(id).map_err(Journal::unknown(id))?;
    let image = image.ok_or(JournalError::Damaged { id })?;
    let Some(place) = store.place_of(path) else { return Ok(None) };
    let old = file_at(&image, &place);
    let Some(node) = old.map(|old| old.node.clone()) else { return Ok(None) };
    let length = old.and_then(|old| old.content).map_or(node.bytes, |content| content.length);
    if length > bytes_max {
        return Err(JournalError::TooLarge { path: path.to_path_buf(), bytes: length });
    }
    let failed = |errno| JournalError::io(errno, path);
    if length == 0 {
        return Ok(Some(Vec::new()));
    }
    content_of(store, id, image, (&node, length)).map_err(failed)
}

/// Returns the file that had a name before a call; it may have been met first by another of its names.
fn file_at<'a>(image: &'a Image, place: &Place) -> Option<&'a Old> {
    let mut files = image.nodes.values().filter(|old| old.node.is_file());
    files.find(|old| old.place == *place).or_else(|| {
        let (above, name) = split(place);
        let folder = image.nodes.values().find(|old| old.node.is_folder() && old.place == above)?;
        let id = (*image.entries.get(&folder.node.id)?.get(name)?)?;
        image.nodes.get(&id).filter(|old| old.node.is_file())
    })
}

/// Returns a file's content after a call, as far as it is known.
pub(super) fn content_after(
    store: &Store,
    id: CheckpointId,
    path: &Path,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, JournalError> {
    let Some(place) = store.place_of(path) else { return Ok(None) };
    let image = store.read_log(id).map_err(Journal::unknown(id))?;
    let same = image.as_ref().and_then(|image| still_there(image, &place));
    let ids = store.ids().map_err(Journal::unknown(id))?;
    for later in ids.into_iter().filter(|later| *later > id) {
        let Ok(Some(image)) = store.read_log(later) else { continue };
        let mut files = image.nodes.values().filter(|old| old.node.is_file());
        // By another name, too, if it has several.
        let found = files.find(|old| old.place == place || Some(old.node.id) == same);
        if let Some(path) = found.map(|old| store.absolute(&old.place)) {
            return content_before(store, later, &path, bytes_max);
        }
    }
    let now = node_at(store, &place).map_err(Journal::unknown(id))?;
    let Some(now) = now.filter(Node::is_file) else { return Ok(None) };
    if now.bytes > bytes_max {
        return Err(JournalError::TooLarge { path: path.to_path_buf(), bytes: now.bytes });
    }
    let bytes = open_place(store, &place).and_then(|file| read_bytes(file, now.bytes));
    bytes.map(Some).map_err(|errno| JournalError::io(errno, path))
}

/// Returns the file at a place, if the call left it there.
fn still_there(image: &Image, place: &Place) -> Option<NodeId> {
    let (_, name) = split(place);
    let old = image.nodes.values().find(|old| old.place == *place)?;
    let mut names = image.entries.values().flat_map(|names| names.keys());
    (!names.any(|known| known == name)).then_some(old.node.id)
}

/// Returns the first `length` bytes that were in `node` when the checkpoint `id` began. What the
/// first checkpoint from then on saved of it tells; one that saved only what is past a length, or
/// only the length, tells that much, and the next ones the rest; in the end the node itself,
/// wherever it is by now.
fn content_of(
    store: &Store,
    id: CheckpointId,
    first: Image,
    (node, length): (&Node, u64),
) -> Result<Option<Vec<u8>>, Errno> {
    let again = store.again()?;
    let number = again.iter().fold(node.id, |id, (old, new)| if id == *old { *new } else { id });
    let later: Vec<CheckpointId> = store.ids()?.into_iter().filter(|later| *later > id).collect();
    let rest = later.iter().filter_map(|later| Some((*later, store.read_log(*later).ok()??)));
    let (mut places, mut tails, mut wanted) = (Vec::new(), Vec::new(), length);
    for (at, mut image) in std::iter::once((id, first)).chain(rest) {
        image.rename_nodes(&again);
        let Some(old) = image.nodes.get(&number) else { continue };
        if let Some(content) = old.content.filter(|content| content.from < wanted) {
            let tail = match content.object {
                0 => Vec::new(),
                object => match open_object(store, at, old.place.root, object) {
                    // An undo that was taken back let go of it, and the file has it again.
                    Err(Errno::NOENT) if !image.header.undoes.is_empty() => continue,
                    file => read_bytes(file?, wanted - content.from)?,
                },
            };
            tails.push(tail);
            wanted = content.from;
            if wanted == 0 {
                break;
            }
        }
        places.push(old.place.clone());
        places.extend(old.moved.iter().cloned());
    }
    let mut bytes = match wanted {
        0 => Vec::new(),
        wanted => match open_now(store, number, &places, id, later)? {
            Some(file) => read_bytes(file, wanted)?,
            None => return Ok(None),
        },
    };
    tails.iter().rev().for_each(|tail| bytes.extend_from_slice(tail));
    Ok(Some(bytes))
}

/// Opens a file where it is by now.
fn open_now(
    store: &Store,
    number: NodeId,
    places: &[Place],
    id: CheckpointId,
    later: Vec<CheckpointId>,
) -> Result<Option<File>, Errno> {
    for place in places {
        if node_at(store, place).ok().flatten().is_some_and(|now| now.id == number) {
            return open_place(store, place).map(Some);
        }
    }
    let mut all = std::iter::once(id).chain(later);
    Ok(all.find_map(|at| {
        let (top, path) = find_kept(store, at, number)?;
        open_in(&top, &path).ok()
    }))
}

/// Finds what is kept as it is, by itself or in a folder: in which folder, and its path there.
pub(super) fn find_kept(
    store: &Store,
    at: CheckpointId,
    number: NodeId,
) -> Option<(OwnedFd, PathBuf)> {
    (0..store.roots.len()).find_map(|root| {
        let folder = store.open_kept(at, root).ok()?;
        let mut found = None;
        walk_folder(&folder, &mut |path, node, _| {
            if node.id == number {
                found.get_or_insert_with(|| path.to_path_buf());
            }
        });
        Some((folder, found?))
    })
}

pub(super) fn open_object(
    store: &Store,
    at: CheckpointId,
    root: usize,
    object: u64,
) -> Result<File, Errno> {
    let folder = store.open_kept(at, root)?;
    open(&folder, object_name(object).as_ref())
}

pub(super) fn open_place(store: &Store, place: &Place) -> Result<File, Errno> {
    let (folder, name) = split(place);
    open(&store.open_folder(&folder)?, name)
}

/// Returns the beginning of a file; `None` if there is none, or it cannot be read.
pub(super) fn read_place(store: &Store, place: &Place, bytes_max: u64) -> Option<Vec<u8>> {
    read_bytes(open_place(store, place).ok()?, bytes_max).ok()
}

/// Opens a file by its path beneath an open folder.
pub(super) fn open_in(top: &OwnedFd, path: &Path) -> Result<File, Errno> {
    let above = open_folder_beneath(top, path.parent().unwrap_or(Path::new("")))?;
    open(&above, path.file_name().unwrap_or_default())
}

fn open(folder: &OwnedFd, name: &std::ffi::OsStr) -> Result<File, Errno> {
    // A node that is no file any more must not be waited for.
    if !look(folder, name)?.is_some_and(|node| node.is_file()) {
        return Err(Errno::NOENT);
    }
    super::copy::open_object(folder, name).map(File::from)
}

pub(super) fn read_bytes(file: File, length: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(|error| errno_of(&error))?;
    Ok(bytes)
}
