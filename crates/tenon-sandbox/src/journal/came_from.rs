//! From where what was there before came to where it is. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::node::{Node, NodeId};
use super::record::Place;

/// A name that was touched.
pub(super) struct Name {
    /// Its path before the call, if something was there.
    pub(super) was: Place,
    /// Its path now; `None` in a folder that is gone.
    pub(super) at: Option<Place>,
    pub(super) before: Option<NodeId>,
    pub(super) now: Option<Node>,
}

/// Returns from where what is at a name now went there, name by name where a node has several.
pub(super) fn came_from(
    names: &[Name],
    arrived: Vec<(Place, Node)>,
) -> BTreeMap<Place, (Place, Node)> {
    let mut left: HashMap<NodeId, Vec<&Place>> = HashMap::new();
    let names = names.iter().filter(|name| !name.was.is_in_store());
    for Name { was, before, now, .. } in names {
        if let Some(id) = before.filter(|id| now.as_ref().is_none_or(|now| now.id != *id)) {
            left.entry(id).or_default().push(was);
        }
    }
    let mut to: HashMap<NodeId, Vec<(Place, Node)>> = HashMap::new();
    // What was nowhere before came from nowhere.
    for (place, node) in arrived.into_iter().filter(|(_, node)| left.contains_key(&node.id)) {
        to.entry(node.id).or_default().push((place, node));
    }
    let mut came_from = BTreeMap::new();
    for (id, mut to) in to {
        let mut from = left.remove(&id).unwrap_or_default();
        // Some came back to where they were, in other folders.
        let back: HashSet<Place> = to.iter().map(|(place, _)| place.clone()).collect();
        to.retain(|(place, _)| !from.contains(&place));
        from.retain(|place| !back.contains(place));
        from.sort_unstable();
        to.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let pairs = to.into_iter().zip(from);
        came_from.extend(pairs.map(|((to, node), from)| (to, (from.clone(), node))));
    }
    came_from
}
