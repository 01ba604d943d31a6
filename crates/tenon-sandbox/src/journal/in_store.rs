//! What was in the store of another checkpoint before an undo came to work on it, and in no place in the tree.
//! Pure.

use std::path::Path;

use super::CheckpointId;
use super::node::NodeId;
use super::record::{Image, Place};
use super::store::kept_name;

/// Stands for where a node was that was not in the tree: nothing there is recorded.
pub(super) const IN_STORE: &str = ".tenon/undo";

/// Where something was that is in the store of another checkpoint.
pub(super) fn in_store(root: usize, id: CheckpointId, path: &Path) -> Place {
    let folder = kept_name(id);
    Place { root, path: Path::new(IN_STORE).join(folder).join(path) }
}

impl Place {
    pub(super) fn is_in_store(&self) -> bool {
        self.path.starts_with(IN_STORE)
    }
}

impl Image {
    /// Whether a node was in the tree before: what an undo brings there is as new as what a call makes.
    pub(super) fn was_in_tree(&self, id: NodeId) -> bool {
        self.nodes.get(&id).is_some_and(|old| !old.place.is_in_store())
    }
}
