//! Where everything is that a log speaks of, also what is not where the call left it any more: a person
//! put something else in its place, moved it, or took it away; or an undo and its redo did.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

use super::Undoing;
use crate::journal::CheckpointId;
use crate::journal::find::{Finder, node_at};
use crate::journal::in_store::in_store;
use crate::journal::node::{Node, NodeId, look};
use crate::journal::record::{Content, LeftFile, Old, Place, State};
use crate::journal::spot::Spot;
use crate::journal::state::{At, is_same, is_same_at};
use crate::journal::store::object_name;
use crate::journal::walk::walk_folder;
use crate::linux::openat::open_beneath;

/// Where a node of the log is in the stores.
#[derive(Default)]
pub(super) struct Stored {
    /// In the first of them.
    pub(super) first: Option<Spot>,
    /// In the first from where this log gives it a name, or a folder around it. A name of its own goes before
    /// one in a folder, which has that for itself.
    coming: Option<Spot>,
    /// It is in one to stay there as it is: a redo brings it back from there.
    stays: bool,
}

/// How the call left things.
struct AsLeft<'a> {
    after: HashMap<&'a Place, &'a State>,
    /// Where it left what was there before, and how.
    left_at: HashMap<NodeId, (&'a Place, &'a State)>,
    /// What it left at these places.
    nodes: HashMap<&'a Place, NodeId>,
}

impl Undoing<'_> {
    /// Finds out where everything is.
    pub(super) fn locate(&mut self) {
        let store = Arc::clone(&self.store);
        let mut finder = Finder::new(&store, self.image, self.of);
        let after = self.image.end.iter().flat_map(|end| &end.after);
        let after: HashMap<&Place, &State> = after.map(|(place, state)| (place, state)).collect();
        let left_at = self.image.end.iter().flat_map(|end| &end.left_at);
        let nodes = left_at.clone().map(|(id, at)| (at, *id)).collect();
        let left_at = left_at.filter_map(|(id, at)| Some((*id, (at, *after.get(at)?)))).collect();
        let left = AsLeft { after, left_at, nodes };
        let mut missing = HashSet::new();
        let mut nodes: Vec<(&NodeId, &Old)> = self.image.nodes.iter().collect();
        // What is in closed folders is found by way of those above.
        nodes.sort_by_key(|(_, old)| &old.place);
        for (id, old) in nodes {
            // One that is kept may be in the tree all the same, if the call failed.
            let at_its_place = finder.at_its_place(old).map(Spot::Tree);
            let kept = || self.kept_here(old).filter(|(_, is_same)| *is_same);
            if let Some(spot) = at_its_place.or_else(|| Some(kept()?.0)) {
                let moved = self.moved_with_name(&mut finder, old, (&spot, &left.after));
                self.spots.insert(*id, moved.unwrap_or(spot));
            } else if let Some(shared) = self.shared(old) {
                self.again.insert(*id, shared);
                self.spots.insert(*id, Spot::Tree(old.place.clone()));
            } else if !self.locate_replaced(&mut finder, old, &left) && !self.elsewhere.contains(id)
            {
                missing.insert(*id);
            }
        }
        if !missing.is_empty() {
            self.look_in_stores(&missing);
        }
        match finder.unseen() {
            Some(errno) => self.refuse_unseen(errno, &missing),
            None => self.find_nowhere(),
        }
    }

    /// Returns the folder that somebody made where the call had removed one, and that stays: what was in
    /// that one comes into it.
    fn shared(&self, old: &Old) -> Option<NodeId> {
        let mut kept = self.kept.iter();
        let is_shared = old.gone && kept.any(|left| !left.is_whole && left.place == old.place);
        let now = node_at(&self.store, &old.place).ok().flatten().filter(|_| is_shared)?;
        let is_new = now.is_folder() && !self.image.nodes.contains_key(&now.id);
        (old.node.is_folder() && is_new).then_some(now.id)
    }

    /// Finds files that had a name and are gone for good: an undo had brought them back and was cut short,
    /// and then somebody removed them. Whatever is in their places stays.
    fn find_nowhere(&mut self) {
        let is_nowhere = |id: &NodeId| {
            let old =
                self.image.nodes.get(id).filter(|old| old.kept.is_some() && old.node.is_file());
            let has_bytes = |content: Content| content.from == 0;
            !self.spots.contains_key(id)
                && !self.spared.contains_key(id)
                && old.is_some_and(|old| !old.content.is_some_and(has_bytes))
        };
        let names = self.names().into_iter().flat_map(|(folder, names)| {
            names.into_iter().filter_map(move |(name, before)| Some((folder, name, before?)))
        });
        let nowhere = names.filter(|(_, _, before)| is_nowhere(before));
        self.nowhere = nowhere.map(|(folder, name, _)| self.place_of(folder, &name)).collect();
    }

    /// Where a part of the tree could not be looked into, a folder that nobody removed may be there: another
    /// is not made in its place, and nothing is taken away that it may be in.
    fn refuse_unseen(&mut self, errno: Errno, missing: &HashSet<NodeId>) {
        let missing = missing.iter().filter(|id| !self.spots.contains_key(id));
        let missing = missing.filter_map(|id| self.image.nodes.get(id));
        let mut lost = missing.filter(|old| !old.gone && old.kept.is_none());
        self.blocked.extend(lost.next().map(|old| (old.place.clone(), errno)));
    }

    /// Where a file is kept, and whether it is as the call left it: by a further name somebody else may
    /// have changed it, also if that is gone by now.
    fn kept_here(&self, old: &Old) -> Option<(Spot, bool)> {
        let (id, root) = (old.node.id, old.place.root);
        let by = old.kept_by.unwrap_or(self.of);
        let folder = self.store.open_kept(by, root).ok()?;
        let name = object_name(old.kept?);
        let node = look(&folder, name.as_ref()).ok()?.filter(|node| node.id == id)?;
        let left = self.left_files.get(&id);
        let at = At::Folder(&folder, name.as_ref());
        let is_same = left.is_none_or(|left| is_same_at(at, &left.state, &node));
        Some((Spot::Store { id: by, root, path: name.into() }, is_same))
    }

    /// What an undo put back and a redo took away again is in the store of that one, and what a later call
    /// had taken away in that of the call, if something stayed in its place.
    fn look_in_stores(&mut self, missing: &HashSet<NodeId>) {
        for id in missing {
            let Some(Stored { coming, stays, .. }) = self.stored().get(id) else { continue };
            let (coming, stays) = (coming.clone(), *stays);
            self.elsewhere.extend(stays.then_some(*id));
            if let Some(spot) = coming {
                self.spots.entry(*id).or_insert(spot);
                self.made_since.insert(*id);
                self.lost.retain(|(lost, _)| lost != id);
            }
        }
    }

    /// Whether a file is in the store of an undo as the call left it: then it is that one, whatever stands at
    /// its further names.
    fn is_in_undo(&mut self, id: NodeId, left: &LeftFile) -> bool {
        let spot = self.stored().get(&id).and_then(|stored| stored.first.clone());
        let around = spot.and_then(|spot| self.open_around(&spot).ok());
        around.is_some_and(|(folder, name)| {
            let now = look(&folder, &name).ok().flatten();
            now.is_some_and(|now| {
                now.links < 2 || is_same_at(At::Folder(&folder, &name), &left.state, &now)
            })
        })
    }

    /// Where nodes of the log are in the stores; looked at once.
    pub(super) fn stored(&mut self) -> &HashMap<NodeId, Stored> {
        if self.stored.is_none() {
            self.stored = Some(self.look_at_stores());
        }
        self.stored.get_or_insert_default()
    }

    fn look_at_stores(&self) -> HashMap<NodeId, Stored> {
        let mut stored: HashMap<NodeId, Stored> = HashMap::new();
        let names = self.image.entries.values().flat_map(BTreeMap::values);
        let named: HashSet<NodeId> = names.copied().flatten().collect();
        // An undo also works in folders that are in the store.
        let is_of_undo = !self.image.header.undoes.is_empty();
        let roots = 0..self.store.roots.len();
        let stores = self.stores_to_look_in().into_iter();
        for (id, root) in stores.flat_map(|id| roots.clone().map(move |root| (id, root))) {
            let Ok(folder) = self.store.open_kept(id, root) else { continue };
            let mut coming = HashSet::new();
            walk_folder(&folder, &mut |path, node, above| {
                let comes_with = above.is_some_and(|above| coming.contains(&above));
                let comes = is_of_undo || comes_with || named.contains(&node.id);
                coming.extend(comes.then_some(node.id));
                if !self.image.nodes.contains_key(&node.id) {
                    return;
                }
                let spot = Spot::Store { id, root, path: path.to_path_buf() };
                let known = stored.entry(node.id).or_default();
                known.stays |= !comes;
                let is_better = |other: &Spot| spot.is_object() && !other.is_object();
                if comes && known.coming.as_ref().is_none_or(is_better) {
                    known.coming = Some(spot.clone());
                }
                known.first.get_or_insert(spot);
            });
        }
        stored
    }

    /// Returns the checkpoints whose store may have what this log speaks of: undos, this and later ones, and
    /// calls after it that are undone; and undos in whose folders this one worked, for a redo puts back there
    /// what had left such a folder.
    fn stores_to_look_in(&self) -> Vec<CheckpointId> {
        let places = self.image.nodes.values().map(|old| &old.place);
        let worked_in: Vec<&Place> = places.filter(|place| place.is_in_store()).collect();
        let has_worked_in = |id: &CheckpointId| {
            let folder = in_store(0, *id, Path::new(""));
            worked_in.iter().any(|place| place.path.starts_with(&folder.path))
        };
        let ids = self.store.ids().unwrap_or_default();
        let (earlier, later): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| *id < self.of);
        let undoes = |id: CheckpointId| {
            self.store.read_header(id).map(|header| header.undoes).unwrap_or_default()
        };
        // The newest is this work, which undoes its calls.
        let (mut found, mut undone) = (Vec::new(), HashSet::new());
        for id in later.into_iter().rev() {
            let (of, is_undone) = (undoes(id), undone.contains(&id));
            if !of.is_empty() || is_undone && id != self.of {
                found.push(id);
            }
            undone.extend(of.into_iter().filter(|_| !is_undone));
        }
        found.reverse();
        found.extend(earlier.into_iter().filter(|id| has_worked_in(id) && !undoes(*id).is_empty()));
        found
    }

    /// Finds a node that is not where the log says. What stands at the place where the call left it
    /// stands for it: editors and git save by another file under the same name. Says whether there
    /// is one.
    fn locate_replaced(&mut self, finder: &mut Finder<'_>, old: &Old, left: &AsLeft<'_>) -> bool {
        let (id, image) = (old.node.id, self.image);
        let AsLeft { after, left_at, nodes } = left;
        // An undo takes names to give others.
        let is_returned = !image.header.undoes.is_empty() && !old.moved.is_empty();
        let lost_a_name = old.gone || old.kept.is_some() && !is_returned;
        if let Some(left) = self.left_files.get(&id).copied().filter(|_| lost_a_name) {
            return self.locate_linked(finder, old, (left, after));
        }
        let left = left_at.get(&id).copied();
        let found = finder.find(old);
        // Where the call itself left it, by another name too; or nobody says where that was.
        let is_left = |place: &Place| {
            let there = after.get(place).filter(|_| nodes.get(place).is_none_or(|at| *at == id));
            left.is_none_or(|(_, state)| there.is_some_and(|there| there.may_be(state)))
        };
        if let Some(place) = found.clone().filter(is_left) {
            self.stays_theirs(old, &place, after);
            self.spots.insert(id, Spot::Tree(place));
            return true;
        }
        let Some((left, state)) = left else { return false };
        // Or it stays for a later call.
        if self.is_kept(left) || found.as_ref().is_some_and(|place| self.is_left(place)) {
            // A later call had taken it away, and gives it back.
            if found.is_none() && self.stored().get(&id).is_some_and(|it| it.coming.is_some()) {
                return false;
            }
            // What it is by now is theirs, wherever that is.
            self.spared.insert(id, found);
            return true;
        }
        if let Some(spot) = self.taken(id) {
            self.spots.insert(id, spot);
            return true;
        }
        let now = node_at(&self.store, left).ok().flatten();
        let is_new =
            |now: &&Node| now.kind() == old.node.kind() && !image.nodes.contains_key(&now.id);
        let stands = now.as_ref().filter(is_new);
        // A folder that somebody moved is itself, whatever other stands in its place.
        let is_moved = old.node.is_folder() && found.is_some() && self.moves_back();
        let is_same_one = !is_moved && is_same(&self.store, left, state, stands);
        if stands.is_none() || !is_same_one {
            if let Some(spot) = self.taken_by_this(old, state).filter(|_| self.moves_back()) {
                self.spots.insert(id, spot);
                self.expect_home(old, left);
                return true;
            }
            if self.goes_home(old, (left, state), found.as_ref()) {
                return true;
            }
        }
        if let Some(stands) = stands {
            if !is_same_one {
                self.others.insert(id);
            }
            self.again.insert(id, stands.id);
            self.spots.insert(id, Spot::Tree(left.clone()));
            return true;
        }
        // What a person made of it meanwhile is theirs.
        self.elsewhere.extend(found.iter().map(|_| id));
        self.theirs_at.extend(found.map(|found| (id, found)));
        if self.moves_back() || !old.node.is_folder() && now.is_none() {
            self.expect_home(old, left);
        }
        false
    }

    /// As [`Self::locate_replaced`], of a file that lost a name by the call and has further ones. What
    /// somebody made of it by those is theirs: if nothing stands for it, another is made.
    fn locate_linked(
        &mut self,
        finder: &mut Finder<'_>,
        old: &Old,
        (left, after): (&LeftFile, &HashMap<&Place, &State>),
    ) -> bool {
        let id = old.node.id;
        let store = Arc::clone(&self.store);
        let same = |place: &Place| {
            let now = node_at(&store, place).ok().flatten();
            is_same(&store, place, &left.state, now.as_ref())
        };
        let is_asked = |place: &Place| after.contains_key(place) && !self.is_kept(place);
        if let Some(place) = finder.find(old).filter(|place| is_asked(place) || same(place)) {
            self.stays_theirs(old, &place, after);
            self.spots.insert(id, Spot::Tree(place));
            return true;
        }
        if self.is_in_undo(id, left) {
            return false;
        }
        let at = left.place.as_ref().filter(|at| !self.is_kept(at));
        let now = at.and_then(|at| node_at(&self.store, at).ok().flatten());
        let is_new = |now: &&Node| now.is_file() && !self.image.nodes.contains_key(&now.id);
        if let Some((at, now)) = at.zip(now.as_ref().filter(is_new)) {
            if !same(at) {
                self.others.insert(id);
            }
            self.again.insert(id, now.id);
            self.spots.insert(id, Spot::Tree(at.clone()));
            return true;
        }
        if old.content.is_none_or(|content| content.from > 0) {
            // Nobody else has what was in it: it gets its name, and is left as it is.
            let Some((spot, _)) = self.kept_here(old) else { return false };
            self.untouched.insert(id);
            self.spots.insert(id, spot);
            return true;
        }
        self.elsewhere.insert(id);
        self.lost.extend(at.filter(|_| now.is_none()).map(|at| (id, at.clone())));
        false
    }

    /// Where a node is that came to the store of the undo that this undoes, by itself or in a folder.
    fn taken(&mut self, id: NodeId) -> Option<Spot> {
        if self.image.header.undoes.is_empty() {
            return None;
        }
        let of = self.of;
        let first = self.stored().get(&id)?.first.clone();
        first.filter(|spot| matches!(spot, Spot::Store { id, .. } if *id == of))
    }

    /// Whether a node is left to whoever changed it where the call had moved it, and its names with it.
    pub(super) fn is_theirs(&self, id: NodeId) -> bool {
        match self.spots.get(&id) {
            None => self.spared.contains_key(&id),
            Some(spot @ Spot::Tree(place)) => {
                let old = self.image.nodes.get(&id);
                let is_moved = || old.is_some_and(|old| old.moved.contains(place));
                self.is_in_left(spot) || self.is_kept(place) && is_moved()
            }
            Some(Spot::Store { .. }) => false,
        }
    }

    /// Returns the names in a folder that the call removed, when it was empty, and that came into it
    /// since: an undo made it again with what was there before an earlier call, and a redo took it
    /// away as a whole.
    pub(super) fn strangers(&mut self, id: NodeId) -> Vec<OsString> {
        let is_removed = self.image.nodes.get(&id).is_some_and(|old| old.gone);
        if !is_removed || !self.made_since.contains(&id) {
            return Vec::new();
        }
        let Ok(Some(folder)) = self.folder(id) else { return Vec::new() };
        let known = self.image.entries.get(&id);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let open = open_beneath(&folder.handle, ".", flags, Mode::empty());
        let Ok(entries) = open.and_then(Dir::read_from) else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
        let names = names.filter(|name| name != b"." && name != b"..").map(OsString::from_vec);
        names.filter(|name| !known.is_some_and(|known| known.contains_key(name))).collect()
    }

    /// Whether a file keeps the name by which it was found: also in an old folder that is in the store
    /// for the moment. What had come into it was taken out, and the rest is put back with it.
    pub(super) fn stays_at(&self, spot: &Spot) -> bool {
        if matches!(spot, Spot::Tree(_)) {
            return true;
        }
        let is_old = |id: NodeId| self.image.nodes.contains_key(&self.called(id));
        spot.clone().way().skip(1).filter(|above| above.depth() > 0).any(|above| {
            let found = self.open_spot(&above).and_then(|folder| look(&folder, OsStr::new("")));
            found.is_ok_and(|found| found.is_some_and(|found| is_old(found.id)))
        })
    }

    /// What the log calls a node.
    pub(super) fn called(&self, actual: NodeId) -> NodeId {
        let mut again = self.again.iter();
        again.find(|(_, now)| **now == actual).map_or(actual, |(id, _)| *id)
    }
}
