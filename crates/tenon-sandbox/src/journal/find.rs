//! Where the nodes of a log are now.
//!
//! Nearly always where the log says. A node that somebody moved meanwhile is looked for in the whole
//! tree, once.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

use super::CheckpointId;
use super::closed::{self, through_place, through_way};
use super::node::{Node, NodeId, look};
use super::record::{Image, Old, Place, State};
use super::store::{Store, object_name};
use crate::linux::closed::through;
use crate::linux::openat::{open_beneath, open_folder_beneath};

/// Deeper folders are not looked into: a descriptor is held for each level.
const DEPTH_MAX: usize = 256;

/// Paths that one place may have come to by moves of folders above it. A name through which thousands
/// of folders went leads to as many; what is not found there is looked for in the whole tree.
const PATHS_MAX: usize = 64;

/// Finds nodes of one log.
pub(crate) struct Finder<'a> {
    store: &'a Store,
    /// Whose log it is.
    id: CheckpointId,
    /// From where to where folders went.
    moves: HashMap<Place, Vec<Place>>,
    known: HashMap<NodeId, Option<Place>>,
    /// Every node of the tree; made at the first look that needs it.
    all: Option<HashMap<NodeId, Place>>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(store: &'a Store, image: &Image, id: CheckpointId) -> Self {
        let mut moves: HashMap<Place, Vec<Place>> = HashMap::new();
        for old in image.nodes.values().filter(|old| old.node.is_folder()) {
            let mut from = &old.place;
            for to in &old.moved {
                moves.entry(from.clone()).or_default().push(to.clone());
                from = to;
            }
        }
        Self { store, id, moves, known: HashMap::new(), all: None }
    }

    /// Returns where a node is in the tree; `None` if it is not there.
    pub(crate) fn find(&mut self, old: &Old) -> Option<Place> {
        let id = old.node.id;
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let found = self.search(old);
        self.known.insert(id, found.clone());
        found
    }

    fn search(&mut self, old: &Old) -> Option<Place> {
        let found = self.at_its_place(old);
        // One that is kept can have other names.
        if found.is_some() || old.gone || self.kept(old).is_some_and(|kept| kept.links < 2) {
            return found;
        }
        let store = self.store;
        self.all.get_or_insert_with(|| all_nodes(store)).get(&old.node.id).cloned()
    }

    /// Returns where a node is, if that is where the log says, or where a folder took it.
    pub(crate) fn at_its_place(&self, old: &Old) -> Option<Place> {
        let candidates = old.moved.iter().rev().chain(std::iter::once(&old.place));
        candidates.flat_map(|place| self.paths_of(place)).find(|place| {
            let now = node_at(self.store, place).ok().flatten();
            now.is_some_and(|now| now.id == old.node.id)
        })
    }

    /// Returns where the call left a node, and how, as far as its end says so.
    pub(crate) fn left_at<'e>(
        &self,
        old: &Old,
        after: &BTreeMap<&'e Place, &'e State>,
    ) -> Option<(&'e Place, &'e State)> {
        let last = old.moved.last().unwrap_or(&old.place);
        let known =
            |place: &Place| after.get_key_value(place).map(|(place, state)| (*place, *state));
        let mut known = self.paths_of(last).into_iter().rev().filter_map(|place| known(&place));
        known.find(|(_, state)| **state != State::Absent)
    }

    fn kept(&self, old: &Old) -> Option<Node> {
        let folder = self.store.open_kept(self.id, old.place.root).ok()?;
        let found = look(&folder, object_name(old.kept?).as_ref()).ok()??;
        (found.id == old.node.id).then_some(found)
    }

    /// The place itself, and where it went with a folder above it; of very many the first.
    fn paths_of(&self, place: &Place) -> Vec<Place> {
        let mut paths = vec![place.clone()];
        let mut at = 0;
        while let Some(path) = paths.get(at).cloned() {
            at += 1;
            for above in path.path.ancestors().skip(1) {
                let from = Place { root: path.root, path: above.to_owned() };
                let rest = path.path.strip_prefix(above).unwrap_or(Path::new(""));
                for to in self.moves.get(&from).into_iter().flatten() {
                    let moved = Place { root: to.root, path: to.path.join(rest) };
                    if paths.len() >= PATHS_MAX {
                        return paths;
                    }
                    if !paths.contains(&moved) {
                        paths.push(moved);
                    }
                }
            }
        }
        paths
    }
}

/// Looks at a place beneath a root; `None` when nothing is there.
pub(crate) fn node_at(store: &Store, place: &Place) -> Result<Option<Node>, Errno> {
    let (folder, name) = split(place);
    match through_place(store, &folder, |handle| look(handle, name)) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        outcome => outcome,
    }
}

/// The folder above a place, and its name in it; the root itself has none.
pub(crate) fn split(place: &Place) -> (Place, &OsStr) {
    let above = place.path.parent().unwrap_or(Path::new(""));
    let name = place.path.file_name().unwrap_or_default();
    (Place { root: place.root, path: above.to_path_buf() }, name)
}

fn all_nodes(store: &Store) -> HashMap<NodeId, Place> {
    let mut all = HashMap::new();
    for root in 0..store.roots.len() {
        let top = Place { root, path: "".into() };
        // What cannot be looked into is not found.
        let _ = walk(store, &top, &mut |place, node| {
            all.insert(node.id, place.clone());
            Deeper::Yes
        });
    }
    all
}

/// Whether to look into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deeper {
    Yes,
    No,
}

/// Shows everything beneath a folder, a folder before what is in it. The store's own folder is left
/// out, and folders that cannot be read.
pub(crate) fn walk(
    store: &Store,
    top: &Place,
    show: &mut dyn FnMut(&Place, &Node) -> Deeper,
) -> Result<(), Errno> {
    let handle = closed::open_folder(store, top)?;
    walk_from(store, &handle, top, 0, show);
    Ok(())
}

fn walk_from(
    store: &Store,
    handle: &OwnedFd,
    at: &Place,
    depth: usize,
    show: &mut dyn FnMut(&Place, &Node) -> Deeper,
) {
    // Not one after the other: a closed folder is closed again before what is in it is looked into.
    let Ok(entries) = through(handle, || entries(handle)) else { return };
    for (name, node) in entries {
        let place = at.join(&name);
        if node.is_folder() && store.is_own(&place) {
            continue;
        }
        if show(&place, &node) == Deeper::Yes && node.is_folder() && depth < DEPTH_MAX {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            let open = || open_beneath(handle, &*name, flags, Mode::empty());
            if let Ok(folder) = through(handle, open) {
                walk_from(store, &folder, &place, depth + 1, show);
            }
        }
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

/// Shows everything beneath an open folder by its path there.
pub(crate) fn walk_folder(top: &OwnedFd, show: &mut dyn FnMut(&Path, &Node)) {
    let mut folders = vec![std::path::PathBuf::new()];
    while let Some(path) = folders.pop() {
        for (name, node) in through_way(top, &path, entries).unwrap_or_default() {
            let path = path.join(name);
            show(&path, &node);
            if node.is_folder() {
                folders.push(path);
            }
        }
    }
}

/// Shows it until `is_enough`. Folders that are closed stay so, and are not looked into.
pub(crate) fn walk_folder_until(top: &OwnedFd, is_enough: &mut dyn FnMut(&Path, &Node) -> bool) {
    let mut folders = vec![std::path::PathBuf::new()];
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
