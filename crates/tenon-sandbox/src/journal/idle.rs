//! Calls of which no list speaks: at most names came and went, which changed the times of folders.
//!
//! An undo of one puts those back. It is asked for by nobody by its name, so nothing of it is a conflict: where
//! somebody changed since what it touched, it gives only the folders their times that are as it left them.

use std::collections::{HashMap, HashSet};

use super::conflicts::Found;
use super::find::node_at;
use super::node::{Node, NodeId};
use super::record::{End, Image, Old, Place, State};
use super::state::is_same;
use super::store::Store;
use super::{CheckpointId, Journal};

impl Journal {
    /// Returns whether a checkpoint is of a call that is over and of which no list speaks: it changed at most
    /// the times of folders.
    ///
    /// ```
    /// use tenon_sandbox::{CheckpointId, Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// assert!(!journal.is_idle(CheckpointId::new(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_idle(&self, id: CheckpointId) -> bool {
        let is_call = self.store.read_header(id).is_ok_and(|header| header.undoes.is_empty());
        let end = || self.store.read_end(id).ok().flatten();
        is_call && end().is_some_and(|end| end.is_unlisted())
    }
}

impl Image {
    /// Leaves nothing of a call without a list, of which somebody changed what was `found`, but folders whose
    /// times are as it left them. Nothing is a conflict then.
    pub(super) fn leave_idle(&mut self, store: &Store, found: &mut Found) {
        let end = self.end.as_ref().filter(|end| end.is_unlisted());
        let Some(end) = end.filter(|_| self.header.undoes.is_empty()) else { return };
        let after: HashMap<&Place, &State> =
            end.after.iter().map(|(place, state)| (place, state)).collect();
        let left: HashMap<NodeId, &Place> = end.left_at.iter().map(|(id, at)| (*id, at)).collect();
        // Where it made one anew in the place of another, that is the one that it left.
        let is_as_left = |old: &Old| {
            let at = left.get(&old.node.id).copied().unwrap_or(&old.place);
            let now = node_at(store, at).ok().flatten();
            after.get(at).zip(now).is_some_and(|(state, now)| {
                state.has_time_of(&now) && is_same(store, at, state, Some(&now))
            })
        };
        let folders = || self.nodes.values().filter(|old| old.node.is_folder());
        if found.is_empty() && folders().all(is_as_left) {
            return;
        }
        let stays = |old: &&Old| left.get(&old.node.id).is_some_and(|at| **at == old.place);
        let is_itself = |old: &&Old| {
            let now = node_at(store, &old.place).ok().flatten();
            now.is_some_and(|now| now.id == old.node.id)
        };
        let as_left = folders().filter(stays).filter(is_itself).filter(|old| is_as_left(old));
        let as_left: HashSet<NodeId> = as_left.map(|old| old.node.id).collect();
        self.nodes.retain(|id, _| as_left.contains(id));
        self.entries.clear();
        self.end = None;
        found.clear();
    }
}

impl End {
    fn is_unlisted(&self) -> bool {
        self.changes.files.is_empty() && self.changes.left_out.is_empty()
    }
}

impl State {
    fn has_time_of(&self, now: &Node) -> bool {
        matches!(self, Self::Present { modified, .. } if *modified == now.modified)
    }
}
