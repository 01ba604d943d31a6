//! How a call left a file of which its places alone do not tell: one that is kept and has further names,
//! which somebody may move, also out of the workspace; and one that was only appended to, for nobody
//! has what was in it before.

use std::collections::HashMap;

use super::CheckpointId;
use super::node::{NodeId, look};
use super::record::{Image, LeftFile, Old, State};
use super::state::held_state;
use super::store::{Store, object_name};

impl Image {
    /// Returns how the call left files; of one that is not among these its place tells.
    pub(super) fn left_files(&self) -> HashMap<NodeId, &LeftFile> {
        let left = self.end.iter().flat_map(|end| &end.left_files);
        left.map(|(id, left)| (*id, left)).collect()
    }
}

impl Old {
    /// From where on something was appended to it, if nothing else was done to what was in it.
    pub(super) fn appended_from(&self) -> Option<u64> {
        self.content.map(|content| content.from).filter(|from| *from > 0)
    }
}

/// Returns how a file is that is kept; `None` where nobody has another name of it.
pub(super) fn kept_state(store: &Store, id: CheckpointId, old: &Old) -> Option<State> {
    let name = object_name(old.kept?);
    let folder = store.open_kept(old.kept_by.unwrap_or(id), old.place.root).ok()?;
    let node = look(&folder, name.as_ref()).ok()??;
    (node.id == old.node.id && node.links > 1).then(|| held_state(&folder, name.as_ref(), &node))
}
