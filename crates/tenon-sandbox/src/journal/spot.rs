//! Where something is while an undo is at work: in the tree, or in the store. Pure.

use std::path::PathBuf;

use super::CheckpointId;
use super::record::Place;

/// Where a node is for the moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    Tree(Place),
    /// In a checkpoint's folder on the mount of a root.
    Store {
        id: CheckpointId,
        root: usize,
        path: PathBuf,
    },
}

impl Spot {
    /// Takes in that what was at `from` is at `to`, with everything in it.
    pub(super) fn relocate(&mut self, from: &Self, to: &Self) {
        let rest = match (&*self, from) {
            (Self::Tree(at), Self::Tree(from)) if at.root == from.root => {
                at.path.strip_prefix(&from.path)
            }
            (
                Self::Store { id, root, path },
                Self::Store { id: other, root: other_root, path: from },
            ) if (id, root) == (other, other_root) => path.strip_prefix(from),
            _ => return,
        };
        let Ok(rest) = rest.map(PathBuf::from) else { return };
        *self = to.clone();
        let (Self::Tree(Place { path, .. }) | Self::Store { path, .. }) = self;
        if !rest.as_os_str().is_empty() {
            path.push(rest);
        }
    }

    /// Itself and every folder above it.
    pub(super) fn way(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |spot| {
            let mut above = spot.clone();
            let (Self::Tree(Place { path, .. }) | Self::Store { path, .. }) = &mut above;
            path.pop().then_some(above)
        })
    }

    /// How many folders it is in.
    pub(super) fn depth(&self) -> usize {
        let (Self::Tree(Place { path, .. }) | Self::Store { path, .. }) = self;
        path.components().count()
    }

    /// Whether it is something that was kept by itself, not in a folder that was.
    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Store { path, .. } if path.components().count() == 1)
    }
}
