//! How a call left a file of which its places alone do not tell: one that is kept and has further names,
//! which somebody may move, also out of the workspace.

use std::collections::HashMap;

use super::CheckpointId;
use super::node::{NodeId, look};
use super::record::{Image, Old, Place, State};
use super::state::held_state;
use super::store::{Store, object_name};
use crate::linux::wire::{Reader, Writer};

/// How a file was when the call was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftFile {
    /// `None` where all its names are outside of the workspace.
    pub(super) place: Option<Place>,
    pub(super) state: State,
}

impl LeftFile {
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.maybe(self.place.as_ref(), |writer, place| place.write(writer));
        self.state.write(writer);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self { place: reader.maybe(Place::read)?, state: State::read(reader)? })
    }
}

impl Image {
    /// Returns how the call left files; of one that is not among these its place tells.
    pub(super) fn left_files(&self) -> HashMap<NodeId, &LeftFile> {
        let left = self.end.iter().flat_map(|end| &end.left_files);
        left.map(|(id, left)| (*id, left)).collect()
    }
}

/// Returns how a file is that is kept; `None` where nobody has another name of it.
pub(super) fn kept_state(store: &Store, id: CheckpointId, old: &Old) -> Option<State> {
    let name = object_name(old.kept?);
    let folder = store.open_kept(id, old.place.root).ok()?;
    let node = look(&folder, name.as_ref()).ok()??;
    (node.id == old.node.id && node.links > 1).then(|| held_state(&folder, name.as_ref(), &node))
}
