//! What is not as it was before the call, though nobody changed it since: something that is kept is in it,
//! stands in its place, or is the same file. It is named, so that nobody takes it for put back.

use std::collections::BTreeSet;

use super::{NotBack, Undoing};
use crate::journal::astray::Astray;
use crate::journal::find::node_at;
use crate::journal::node::{Node, NodeId};
use crate::journal::record::Place;
use crate::journal::spot::Spot;
use crate::journal::walk::{Deeper, walk};

impl Undoing<'_> {
    /// Returns what is not put back, but for what is kept.
    pub(super) fn not_back(mut self) -> NotBack {
        let nowhere = std::mem::take(&mut self.nowhere);
        if self.takes_back() || self.kept.is_empty() && nowhere.is_empty() {
            return NotBack { nowhere, ..NotBack::default() };
        }
        let (mut held, mut back, mut made) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut astray = Astray::default();
        for (folder, names) in self.names() {
            let Some(Spot::Tree(above)) = self.spots.get(&folder) else { continue };
            for (name, before) in names {
                let at = above.join(&name);
                let now = node_at(&self.store, &at).ok().flatten();
                match (before, now) {
                    (None, Some(now)) if self.is_emptied(&at, &now) => made.push(at),
                    (before, now) if self.is_back(before, now.as_ref()) => {
                        back.insert(at);
                    }
                    (before, _) => {
                        let now = before.and_then(|id| self.is_at(id));
                        held.extend(now.iter().cloned());
                        now.into_iter().for_each(|now| astray.insert(at.clone(), now));
                        held.insert(at);
                    }
                }
            }
        }
        self.hold_made(made, &mut held);
        let removed = self.removed_in_left();
        let all: BTreeSet<Place> = held.union(&removed).cloned().collect();
        held.retain(|place| !self.is_told(place));
        held.extend(removed);
        held.retain(|place| !place.above().any(|above| all.contains(&above)));
        NotBack { nowhere, held, back, astray }
    }

    /// What the call removed from folders that somebody moved or removed since, by where it was: what is told of
    /// these folders does not say that it is gone.
    fn removed_in_left(&self) -> BTreeSet<Place> {
        let mut removed = BTreeSet::new();
        for (folder, names) in self.names() {
            let old = self.image.nodes.get(&folder).filter(|old| !old.place.is_in_store());
            let (Some(old), spot) = (old, self.spots.get(&folder)) else { continue };
            for (name, before) in names {
                if before.is_none_or(|id| self.is_somewhere(id)) {
                    continue;
                }
                let is_in_left = match spot {
                    Some(Spot::Tree(above)) => self.is_in_left(&Spot::Tree(above.join(&name))),
                    Some(Spot::Store { .. }) => false,
                    None => true,
                };
                let was = old.place.join(&name);
                let is_told = self.kept.iter().any(|left| left.place == was);
                if is_in_left && !is_told && !self.nowhere.contains(&was) {
                    removed.insert(was);
                }
            }
        }
        removed
    }

    /// Whether what was there before is in the tree, also as somebody changed and moved it.
    fn is_somewhere(&self, id: NodeId) -> bool {
        self.is_at(id).is_some() || self.theirs_at.contains_key(&id)
    }

    /// Whether a name has what it had before, as that was.
    fn is_back(&self, before: Option<NodeId>, now: Option<&Node>) -> bool {
        let (Some(before), Some(now)) = (before, now) else {
            return before.is_none() && now.is_none();
        };
        let old = self.image.nodes.get(&before).map(|old| &old.node);
        let is_same =
            |old: &Node| (old.mode, old.bytes, old.modified) == (now.mode, now.bytes, now.modified);
        now.id == self.actual(before)
            && (now.is_folder() || !self.untouched.contains(&now.id) || old.is_none_or(is_same))
    }

    /// Where a node is in the tree.
    fn is_at(&self, id: NodeId) -> Option<Place> {
        match self.spots.get(&id) {
            Some(Spot::Tree(place)) => Some(place.clone()),
            Some(Spot::Store { .. }) => None,
            None => self.spared.get(&id).cloned().flatten(),
        }
    }

    /// Whether it is a folder of the call's own that this undo took apart.
    fn is_emptied(&self, place: &Place, now: &Node) -> bool {
        let mut made = self.image.end.iter().flat_map(|end| &end.new_folders);
        now.is_folder()
            && !self.image.was_in_tree(self.called(now.id))
            && made.any(|folder| folder == place)
    }

    /// Whether it is told as theirs.
    fn is_told(&self, place: &Place) -> bool {
        self.kept.iter().any(|left| left.place == *place || left.is_around(place))
    }

    /// Adds what is left in folders of the call's own, but for those on the way to something that is told.
    fn hold_made(&self, made: Vec<Place>, held: &mut BTreeSet<Place>) {
        let is_there = |place: &&Place| node_at(&self.store, place).is_ok_and(|now| now.is_some());
        let told = self.kept.iter().map(|left| &left.place).chain(held.iter());
        let ways: BTreeSet<Place> = told.filter(is_there).flat_map(Place::above).collect();
        for top in made {
            if !ways.contains(&top) {
                held.extend((!self.is_told(&top)).then_some(top));
                continue;
            }
            // What cannot be looked into has something of theirs in it, which is told.
            let _ = walk(&self.store, &top, &mut |place, _| {
                if ways.contains(place) {
                    return Deeper::Yes;
                }
                if !self.is_told(place) {
                    held.insert(place.clone());
                }
                Deeper::No
            });
        }
    }
}
