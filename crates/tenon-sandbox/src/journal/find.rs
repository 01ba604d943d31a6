//! Where the nodes of a log are now.
//!
//! Nearly always where the log says. A node that somebody moved meanwhile is looked for in the whole
//! tree, once.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;

use rustix::io::Errno;

use super::CheckpointId;
use super::closed::through_place;
use super::node::{Node, NodeId, look};
use super::record::{Image, Old, Place, State};
use super::store::{Store, object_name};
use super::walk::{Deeper, walk};

/// Paths that one place may have come to by moves of folders above it. A name through which thousands
/// of folders went leads to as many; what is not found there is looked for in the whole tree.
const PATHS_MAX: usize = 64;

/// Finds nodes of one log.
pub(crate) struct Finder<'a> {
    store: &'a Store,
    /// Whose log it is.
    id: CheckpointId,
    /// Folders by where they were before.
    folders: HashMap<&'a Place, &'a Old>,
    /// Where something was when the call was over.
    left: HashSet<&'a Place>,
    /// From where to where folders went.
    moves: HashMap<Place, Vec<Place>>,
    known: HashMap<NodeId, Option<Place>>,
    /// Where each node of the log is in the tree; made at the first look that needs it.
    all: Option<HashMap<NodeId, Place>>,
    nodes: &'a HashMap<NodeId, Old>,
    /// Why a part of the tree could not be looked into.
    unseen: Option<Errno>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(store: &'a Store, image: &'a Image, id: CheckpointId) -> Self {
        let mut moves: HashMap<Place, Vec<Place>> = HashMap::new();
        let folders = image.nodes.values().filter(|old| old.node.is_folder());
        let folders = folders.map(|old| (&old.place, old)).collect();
        for old in image.nodes.values().filter(|old| old.node.is_folder()) {
            let mut from = &old.place;
            for to in &old.moved {
                moves.entry(from.clone()).or_default().push(to.clone());
                from = to;
            }
        }
        let after = image.end.iter().flat_map(|end| &end.after);
        let left = after.filter(|(_, state)| *state != State::Absent).map(|(place, _)| place);
        let (left, known) = (left.collect(), HashMap::new());
        let (all, nodes, unseen) = (None, &image.nodes, None);
        Self { store, id, folders, left, moves, known, all, nodes, unseen }
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
        // A folder that was not empty was not removed.
        let is_gone = old.gone && !self.left.contains(&old.place);
        // One that is kept can have other names.
        if found.is_some() || is_gone || self.kept(old).is_some_and(|kept| kept.links < 2) {
            return found;
        }
        if self.all.is_none() {
            self.look_everywhere();
        }
        self.all.as_ref()?.get(&old.node.id).cloned()
    }

    fn look_everywhere(&mut self) {
        let mut all = HashMap::new();
        for root in 0..self.store.roots.len() {
            let top = Place { root, path: "".into() };
            let looked = walk(self.store, &top, &mut |place, node| {
                if self.nodes.contains_key(&node.id) {
                    all.insert(node.id, place.clone());
                }
                Deeper::Yes
            });
            self.unseen = looked.err().or(self.unseen);
        }
        self.all = Some(all);
    }

    /// Why a part of the tree could not be looked into, if one was looked for that is not at its place.
    pub(crate) fn unseen(&self) -> Option<Errno> {
        self.unseen
    }

    /// Returns where a node is, if that is where the log says, or where a folder took it.
    pub(crate) fn at_its_place(&mut self, old: &Old) -> Option<Place> {
        let mut plain = own_places(old).filter(|place| self.is_at(old, place)).cloned();
        let found = plain.next();
        let found = found.or_else(|| self.in_its_folder(old).filter(|at| self.is_at(old, at)));
        found.or_else(|| self.candidates(old).find(|place| self.is_at(old, place)))
    }

    /// Returns the path that a node has if only folders above it went elsewhere.
    pub(crate) fn in_its_folder(&mut self, old: &Old) -> Option<Place> {
        let root = old.place.root;
        for above in old.place.path.ancestors().skip(1) {
            let Some(folder) = self.folders.get(&Place { root, path: above.into() }) else {
                continue;
            };
            let rest = old.place.path.strip_prefix(above).ok()?;
            return Some(self.find(folder)?.join(rest.as_os_str()));
        }
        None
    }

    /// Returns all places where a node is of those that the log says, or where a folder took it.
    pub(crate) fn places(&mut self, old: &Old) -> Vec<Place> {
        let mut places: Vec<Place> = self.in_its_folder(old).into_iter().collect();
        places.extend(own_places(old).cloned());
        if !places.iter().any(|place| self.is_at(old, place)) {
            places.extend(self.candidates(old));
        }
        places.retain(|place| self.is_at(old, place));
        places
    }

    fn candidates<'s>(&'s self, old: &'s Old) -> impl Iterator<Item = Place> + 's {
        own_places(old).flat_map(|place| self.paths_of(place))
    }

    fn is_at(&self, old: &Old, place: &Place) -> bool {
        let now = node_at(self.store, place).ok().flatten();
        now.is_some_and(|now| now.id == old.node.id)
    }

    fn kept(&self, old: &Old) -> Option<Node> {
        let folder = self.store.open_kept(old.kept_by.unwrap_or(self.id), old.place.root).ok()?;
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

/// The places of a node that the log says, the last one first.
pub(super) fn own_places(old: &Old) -> impl Iterator<Item = &Place> {
    old.moved.iter().rev().chain(std::iter::once(&old.place))
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
