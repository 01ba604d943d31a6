//! What an undo could not put back though it was told to, because nobody has what was there before: only
//! looks, so that nobody is offered what fails.

use std::collections::BTreeSet;

use rustix::fs::FileType;

use super::Undoing;
use crate::journal::CheckpointId;
use crate::journal::node::{NodeId, look};
use crate::journal::record::{Image, Old};
use crate::journal::recorder::Recorder;
use crate::journal::state::At;

/// Returns the nodes of `image`, the log of `of`, whose content is not kept.
pub(in crate::journal) fn not_kept(
    of: CheckpointId,
    image: &Image,
    to: &mut Recorder,
) -> BTreeSet<NodeId> {
    Undoing::new(of, image, to, &[]).find_not_kept()
}

impl Undoing<'_> {
    fn find_not_kept(&mut self) -> BTreeSet<NodeId> {
        self.locate();
        self.find_staying();
        self.settle_moved();
        let has_source: Vec<NodeId> = self.moved_away.iter().map(|(id, _)| *id).collect();
        let mut wanted: BTreeSet<NodeId> = self.lost.iter().map(|(id, _)| *id).collect();
        for (folder, names) in self.names() {
            let named =
                names.iter().filter(|(name, _)| !self.is_kept(&self.place_of(folder, name)));
            wanted.extend(named.filter_map(|(_, before)| *before));
        }
        wanted.retain(|id| {
            let is_there = self.spots.contains_key(id) || has_source.contains(id);
            let old = self.image.nodes.get(id).filter(|_| !is_there && !self.is_theirs(*id));
            old.is_some_and(|old| !can_be_made(old))
        });
        let cut = self.image.nodes.values().filter(|old| !self.can_be_cut(old));
        wanted.extend(cut.map(|old| old.node.id));
        wanted
    }

    /// Whether a file that was appended to still begins as it did.
    fn can_be_cut(&self, old: &Old) -> bool {
        let id = old.node.id;
        let (Some(from), Some(spot)) = (old.appended_from(), self.spots.get(&id)) else {
            return true;
        };
        let Ok((folder, name)) = self.open_around(spot) else { return true };
        let Ok(Some(now)) = look(&folder, &name) else { return true };
        let is_left = self.spared.contains_key(&id) || self.untouched.contains(&now.id);
        is_left || now.bytes >= from && self.has_its_head(old, &now, At::Folder(&folder, &name))
    }
}

/// Whether what is nowhere can be made again from what is kept.
fn can_be_made(old: &Old) -> bool {
    match old.node.kind() {
        FileType::RegularFile => old.content.is_some_and(|content| content.from == 0),
        FileType::Directory | FileType::Symlink | FileType::Fifo | FileType::Socket => true,
        _ => false,
    }
}
