//! What this call touched and a call that ran beside it took away or moved: an undo of that one brings it back as
//! this one left it, so it is told by where it comes back to. What is remembered is how things are.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;

use super::Comparison;
use crate::journal::CheckpointId;
use crate::journal::changes::ChangeKind;
use crate::journal::find::{Finder, node_at};
use crate::journal::node::{Node, NodeId, look};
use crate::journal::order::Ordered;
use crate::journal::record::{Image, Old, Place, State};
use crate::journal::state::{At, held_state, of_node, state_of};
use crate::journal::store::{Store, object_name};
use crate::journal::trouble::Trouble;
use crate::journal::walk::{Deeper, walk};

/// A call that ran at the same time and was not undone.
struct Other {
    id: CheckpointId,
    image: Image,
}

/// Something that others took away or moved.
struct Taken {
    /// Where it was before they did.
    place: Place,
    /// Where it is, if that is in the tree.
    at: Option<Place>,
    node: Node,
    state: State,
}

impl<'a> Comparison<'a> {
    /// Tells of what is not there because others took it away.
    pub(super) fn taken(&mut self) {
        let image: &'a Image = self.image;
        let ids = match image.header.undoes.is_empty() {
            true => beside(self.store, self.id),
            false => Vec::new(),
        };
        if ids.is_empty() {
            return;
        }
        let made = self.made_and_gone();
        let old = image.nodes.values().filter(|old| old.kept.is_none() && !old.gone);
        let missing: Vec<&Old> = old.filter(|old| self.finder.find(old).is_none()).collect();
        if made.is_empty() && missing.is_empty() {
            return;
        }
        let others = read(self.store, ids);
        for old in missing {
            if let Some(taken) = self.taken_one(&others, old.node.id) {
                self.taken_old(old, taken);
            }
        }
        for (folder, name) in made {
            let named = others
                .iter()
                .filter_map(|other| other.image.entries.get(&folder)?.get(name).copied().flatten());
            let named: Vec<NodeId> = named.collect();
            if let Some(id) = named.iter().find(|id| !image.nodes.contains_key(id)) {
                let taken = self.taken_one(&others, *id);
                taken.into_iter().for_each(|taken| self.taken_new(&others, taken));
            } else if let Some(old) = named.iter().find_map(|id| image.nodes.get(id)) {
                self.taken_name(&others, (folder, name), old);
            }
        }
    }

    /// The names at which nothing was before and nothing is now.
    fn made_and_gone(&mut self) -> Vec<(NodeId, &'a OsStr)> {
        let (image, mut gone): (&'a Image, _) = (self.image, Vec::new());
        for (folder, names) in &image.entries {
            let old = image.nodes.get(folder).filter(|old| !old.place.is_in_store());
            let Some(old) = old else { continue };
            let at = self.finder.find(old);
            let is_there = |name: &OsString| {
                let at = at.as_ref().map(|at| at.join(name));
                at.is_some_and(|at| node_at(self.store, &at).is_ok_and(|now| now.is_some()))
            };
            let names = names.iter().filter(|(name, before)| before.is_none() && !is_there(name));
            gone.extend(names.map(|(name, _)| (*folder, name.as_os_str())));
        }
        gone
    }

    /// Finds something where others took it.
    fn taken_one(&mut self, others: &[Other], id: NodeId) -> Option<Taken> {
        let known = others.iter().filter_map(|other| Some((other, other.image.nodes.get(&id)?)));
        let mut place = None;
        for (Other { id: other, image }, old) in known {
            let place = place.get_or_insert_with(|| old.place.clone()).clone();
            if let Some((folder, name, node)) = kept(self.store, *other, old) {
                let mut state = held_state(&folder, name.as_ref(), &node);
                self.hash(At::Folder(&folder, name.as_ref()), &node, (&mut state, false));
                return Some(Taken { place, at: None, node, state });
            }
            if let Some(at) = Finder::new(self.store, image, *other).at_its_place(old) {
                let node = node_at(self.store, &at).ok()??;
                let mut state = state_of(self.store, &at, &node);
                self.hash(At::Tree(self.store, &at), &node, (&mut state, false));
                return Some(Taken { place, at: Some(at), node, state });
            }
            // A copy is all that is kept where nobody was asked.
            let is_compared = image.trouble.contains(&Trouble::Compared);
            if old.gone && old.node.is_folder() || is_compared {
                let (node, state) = (old.node.clone(), of_node(&old.node));
                return Some(Taken { place, at: None, node, state });
            }
        }
        None
    }

    /// Something that was there before this call, too.
    fn taken_old(&mut self, old: &Old, Taken { node, state, .. }: Taken) {
        if self.changes.contains_key(&Ordered(self.store.shown(&old.place))) {
            return;
        }
        let is_later = old.node.modified != node.modified;
        let kind = if node.is_file() && old.node.bytes != node.bytes
            || old.content.is_some_and(|content| content.from == 0) && is_later
        {
            ChangeKind::Edited
        } else if !old.node.has_same_rights(&node) {
            ChangeKind::Mode
        } else if is_later && !node.is_folder() {
            ChangeKind::Times
        } else {
            return;
        };
        self.add_taken(&old.place, state, kind, (Some(&old.node), &node), 0);
    }

    /// A further name that this call gave something that was there before.
    fn taken_name(&mut self, others: &[Other], (folder, name): (NodeId, &OsStr), old: &'a Old) {
        let image: &'a Image = self.image;
        let Some(place) = image.nodes.get(&folder).map(|folder| folder.place.join(name)) else {
            return;
        };
        let is_given = old.moved.contains(&place) || image.trouble.contains(&Trouble::Compared);
        if !is_given || self.has_lost_a_name(old.node.id) {
            return;
        }
        let now = self.finder.find(old).and_then(|at| {
            let node = node_at(self.store, &at).ok()??;
            let state = self.after.get(&at).cloned();
            Some((state.unwrap_or_else(|| state_of(self.store, &at, &node)), node))
        });
        let taken = now.or_else(|| {
            let Taken { node, state, .. } = self.taken_one(others, old.node.id)?;
            Some((state, node))
        });
        if let Some((state, node)) = taken {
            self.add_taken(&place, state, ChangeKind::Created, (None, &node), 0);
        }
    }

    /// Whether something is not at a name any more that it had before: that is told of.
    fn has_lost_a_name(&mut self, id: NodeId) -> bool {
        let image: &'a Image = self.image;
        image.entries.iter().any(|(folder, names)| {
            let mut names = names.iter().filter(|(_, before)| **before == Some(id)).peekable();
            if names.peek().is_none() {
                return false;
            }
            let at = image.nodes.get(folder).and_then(|folder| self.finder.find(folder));
            names.any(|(name, _)| {
                let now = at.as_ref().and_then(|at| node_at(self.store, &at.join(name)).ok()?);
                now.is_none_or(|now| now.id != id)
            })
        })
    }

    /// Something that this call made.
    fn taken_new(&mut self, others: &[Other], Taken { place, at, node, state }: Taken) {
        let mut inside = Vec::new();
        if node.is_folder() {
            let taken = others.iter().flat_map(|other| other.image.nodes.values());
            let taken = taken.filter(|old| old.place != place && place.is_around(&old.place));
            let taken: HashSet<NodeId> = taken.map(|old| old.node.id).collect();
            let taken = taken.into_iter().filter_map(|id| self.taken_one(others, id));
            inside.extend(taken.map(|taken| taken.place));
            // What cannot be read is taken away with the folder all the same.
            if let Some(at) = at {
                let _ = walk(self.store, &at, &mut |now, _| {
                    let rest = now.path.strip_prefix(&at.path).unwrap_or(&now.path);
                    inside.push(place.join(rest.as_os_str()));
                    Deeper::Yes
                });
            }
        }
        let number = inside.len() as u64;
        self.add_taken(&place, state, ChangeKind::Created, (None, &node), number);
    }

    /// Tells of something that is not there as if it were.
    fn add_taken(
        &mut self,
        place: &Place,
        state: State,
        kind: ChangeKind,
        (before, now): (Option<&Node>, &Node),
        inside: u64,
    ) {
        let known = self.after.insert(place.clone(), state);
        self.add(place, kind, (before, Some(now)), inside);
        match known {
            Some(known) => drop(self.after.insert(place.clone(), known)),
            None => drop(self.after.remove(place)),
        }
    }
}

/// Returns what a call keeps of something, if it does, and where.
fn kept(store: &Store, id: CheckpointId, old: &Old) -> Option<(OwnedFd, String, Node)> {
    let (folder, name) = (store.open_kept(id, old.place.root).ok()?, object_name(old.kept?));
    let mut node = look(&folder, name.as_ref()).ok()?.filter(|node| node.id == old.node.id)?;
    node.complete(&folder, name.as_ref()).ok()?;
    Some((folder, name, node))
}

/// Returns the checkpoints that were begun after this one, and earlier ones that ran when it began, the oldest
/// first. Of one that was cut short these are all earlier ones that were.
fn beside(store: &Store, id: CheckpointId) -> Vec<CheckpointId> {
    let earlier = store.running.when_began(id);
    if earlier.as_ref().is_some_and(Vec::is_empty) && store.newest() == Ok(id.0) {
        return Vec::new();
    }
    let is_cut_short = |id: CheckpointId| {
        store.read_end(id).is_ok_and(|end| end.is_none_or(|end| end.interrupted))
    };
    let mut ids = store.ids().unwrap_or_default();
    ids.retain(|other| match &earlier {
        _ if *other >= id => *other > id,
        Some(earlier) => earlier.contains(other),
        None => is_cut_short(*other),
    });
    ids
}

/// Reads the logs of those that are calls and stand, the oldest first.
fn read(store: &Store, ids: Vec<CheckpointId>) -> Vec<Other> {
    let (mut others, mut undone) = (Vec::new(), HashSet::new());
    let again = store.again().unwrap_or_default();
    for id in ids.into_iter().rev() {
        let Ok(Some(mut image)) = store.read_log(id) else { continue };
        if undone.contains(&id) {
            continue;
        }
        undone.extend(image.header.undoes.iter().copied());
        if image.header.undoes.is_empty() {
            image.rename_nodes(&again);
            others.push(Other { id, image });
        }
    }
    others.reverse();
    others
}
