//! What was there before the call and cannot go back to its place, because somebody made something else
//! there, which is kept: it stays where the call left it. Else it would go to the store with what the call
//! made, and there would be none of it in the workspace.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;

use super::Undoing;
use crate::journal::find::{node_at, own_places};
use crate::journal::record::Place;
use crate::journal::{node::NodeId, spot::Spot};

type Names = Vec<(NodeId, BTreeMap<OsString, Option<NodeId>>)>;

impl Undoing<'_> {
    /// Whether something at a place, or in it, stays as it is.
    pub(super) fn is_kept(&self, place: &Place) -> bool {
        let mut staying = self.staying.iter();
        self.is_left(place)
            || staying.any(|at| at.root == place.root && at.path.starts_with(&place.path))
    }

    /// Whether something at a place, or in it, is left to whoever changed it.
    pub(super) fn is_left(&self, place: &Place) -> bool {
        self.kept.iter().any(|left| left.is_at(place))
    }

    /// Whether something is in a folder that is left with everything in it.
    pub(super) fn is_in_left(&self, spot: &Spot) -> bool {
        matches!(spot, Spot::Tree(place) if self.kept.iter().any(|left| left.is_around(place)))
    }

    /// Finds what stays.
    pub(super) fn find_staying(&mut self) {
        // Whatever else is undone.
        let spared = self.spared.values().flatten().chain(&self.nowhere);
        let mut spared: Vec<Place> = spared.cloned().collect();
        self.staying.clone_from(&spared);
        if self.kept.is_empty() {
            return;
        }
        let names = self.names();
        spared.extend(self.with_given_names_alone(&names));
        let in_store: BTreeMap<Spot, NodeId> = self
            .spots
            .iter()
            .filter(|(_, spot)| matches!(spot, Spot::Store { .. }))
            .map(|(id, spot)| (spot.clone(), *id))
            .collect();
        // What stays may be in the place of something else, which then stays as well.
        loop {
            let coming = self.coming(&names, &in_store);
            let named = names.iter().flat_map(|(_, names)| names.values()).flatten();
            let homeless = named.filter(|id| !coming.contains(id));
            let mut staying: Vec<Place> = homeless
                .filter_map(|id| match self.spots.get(id) {
                    Some(Spot::Tree(place)) => Some(place.clone()),
                    _ => None,
                })
                .chain(spared.iter().cloned())
                .collect();
            staying.sort_unstable();
            staying.dedup();
            if staying.len() <= self.staying.len() {
                break;
            }
            self.staying = staying;
        }
    }

    /// Where files are that were there before, and have only names by now that the call gave them.
    fn with_given_names_alone(&self, names: &Names) -> Vec<Place> {
        let touched = names.iter().flat_map(|(folder, names)| {
            names.iter().map(|(name, before)| (self.place_of(*folder, name), *before))
        });
        let touched: HashMap<Place, Option<NodeId>> = touched.collect();
        let named: HashSet<NodeId> = touched.values().copied().flatten().collect();
        // What was in a store goes to one again.
        let files = self.image.nodes.values().filter(|old| !old.node.is_folder());
        let files = files.filter(|old| !old.place.is_in_store() && !named.contains(&old.node.id));
        let files = files.filter_map(|old| {
            let Some(Spot::Tree(at)) = self.spots.get(&old.node.id) else { return None };
            let is_there = |place: &&Place| {
                let now = node_at(&self.store, place).ok().flatten();
                now.is_some_and(|now| now.id == old.node.id)
            };
            let mut names = own_places(old).filter(is_there).chain([at]);
            names.all(|place| self.is_given(place, &touched)).then(|| at.clone())
        });
        files.collect()
    }

    /// Whether the call made a name, or a folder that it is in.
    fn is_given(&self, place: &Place, touched: &HashMap<Place, Option<NodeId>>) -> bool {
        for path in place.path.ancestors() {
            let at = Place { root: place.root, path: path.to_path_buf() };
            let node = node_at(&self.store, &at).ok().flatten();
            // The names in a folder that was there before are known one by one.
            if at != *place && node.is_some_and(|node| self.image.nodes.contains_key(&node.id)) {
                return false;
            }
            if touched.contains_key(&at) {
                return true;
            }
        }
        false
    }

    /// What gets a name that it had before.
    fn coming(&self, names: &Names, in_store: &BTreeMap<Spot, NodeId>) -> HashSet<NodeId> {
        let named: HashSet<NodeId> =
            names.iter().flat_map(|(_, names)| names.values()).copied().flatten().collect();
        let mut coming = HashSet::new();
        loop {
            let known = coming.len();
            for (folder, names) in names {
                if !self.will_be_there(*folder, (&named, &coming), in_store) {
                    continue;
                }
                let free = |name: &&OsString| !self.is_kept(&self.place_of(*folder, name));
                let free = names.iter().filter(|(name, _)| free(name));
                coming.extend(free.filter_map(|(_, before)| *before));
            }
            if coming.len() == known {
                return coming;
            }
        }
    }

    /// Whether a folder of the log will be in the tree.
    fn will_be_there(
        &self,
        id: NodeId,
        (named, coming): (&HashSet<NodeId>, &HashSet<NodeId>),
        in_store: &BTreeMap<Spot, NodeId>,
    ) -> bool {
        match self.spots.get(&id) {
            // Where it is, or where it was.
            Some(Spot::Tree(_)) => true,
            _ if named.contains(&id) => coming.contains(&id),
            None => self.image.nodes.get(&id).is_some_and(|old| !self.is_kept(&old.place)),
            // In something that is there by itself.
            Some(spot) => {
                let mut way = spot.clone().way().skip(1);
                way.any(|above| in_store.get(&above).is_some_and(|id| coming.contains(id)))
            }
        }
    }
}
