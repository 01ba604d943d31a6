//! Calls that ran beside one that is to be undone, that touched the same, and that were undone before: what this one
//! did cannot be told from what they did. So their undo is taken back first, and then all of them are undone.

use std::collections::{BTreeSet, HashSet};

use super::find::own_places;
use super::node::Moment;
use super::record::{Image, Old, Place};
use super::store::Store;
use super::{CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Journal, JournalError};

impl Journal {
    /// Adds what is undone together with these, each once.
    pub(super) fn with_undone_beside(
        &self,
        ids: &[CheckpointId],
    ) -> Result<Vec<CheckpointId>, JournalError> {
        let mut all: BTreeSet<CheckpointId> = ids.iter().copied().collect();
        let infos = self.checkpoints()?;
        let mut next: Vec<(CheckpointId, Option<CheckpointId>)> =
            ids.iter().map(|id| (*id, None)).collect();
        while let Some((id, undo)) = next.pop() {
            for by in self.undos_of_beside((id, undo), &infos)? {
                let undo = infos.iter().find(|info| info.id == by);
                let Some(CheckpointKind::Undo { of }) = undo.map(|info| &info.kind) else {
                    continue;
                };
                if all.insert(by) {
                    all.extend(of);
                    next.extend(of.iter().map(|id| (*id, Some(by))));
                }
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Returns the undos of calls that ran beside this one and touched the same; of one whose `undo` is taken back
    /// also those that were undone later than it.
    fn undos_of_beside(
        &self,
        (id, undo): (CheckpointId, Option<CheckpointId>),
        infos: &[CheckpointInfo],
    ) -> Result<BTreeSet<CheckpointId>, JournalError> {
        let mut undos = BTreeSet::new();
        let undone = infos.iter().filter_map(|info| match info.state {
            CheckpointState::Undone { by } if info.id != id && !info.is_of_undo() => {
                Some((info.id, by))
            }
            _ => None,
        });
        let mut undone = undone.peekable();
        if undone.peek().is_none() {
            return Ok(undos);
        }
        let Some(call) = self.span(id)? else { return Ok(undos) };
        for (other_id, by) in undone {
            let Ok(Some(other)) = self.span(other_id) else { continue };
            let is_beside = self.is_beside(id, &[other_id], other.over)
                && self.is_beside(other_id, &[id], call.over);
            let is_beside = is_beside || undo.is_some_and(|undo| by > undo);
            let is_after = || self.began(by).is_ok_and(|began| began >= call.over);
            if is_beside
                && is_after()
                && call.image.shares(&other.image, &self.store)
                && is_kept(by, infos)
            {
                undos.insert(by);
            }
        }
        Ok(undos)
    }

    /// Returns when a call ran, and its log; `None` for an undo, and for a call that has no end.
    fn span(&self, id: CheckpointId) -> Result<Option<Span>, JournalError> {
        let image = self.image(id)?;
        let over = self.over(id, &image)?.filter(|_| image.header.undoes.is_empty());
        let Some(over) = over else { return Ok(None) };
        Ok(Some(Span { over, image }))
    }
}

struct Span {
    over: Moment,
    image: Image,
}

/// Whether all that an undo took back is kept.
fn is_kept(by: CheckpointId, infos: &[CheckpointInfo]) -> bool {
    let is_there = |id: &CheckpointId| infos.iter().any(|info| info.id == *id);
    let undo = infos.iter().find(|info| info.id == by);
    matches!(undo.map(|info| &info.kind), Some(CheckpointKind::Undo { of }) if of.iter().all(is_there))
}

impl Image {
    /// Whether both touched the same name or file, one something in what the other made, took away or gave other
    /// rights, or one moved or removed a folder.
    pub(super) fn shares(&self, other: &Self, store: &Store) -> bool {
        let (own, theirs) = (self.touched(store), other.touched(store));
        let is_beneath = |one: &HashSet<Place>, other: &HashSet<Place>| {
            let is_in = |at: &Place| at.and_above().any(|at| other.contains(&at));
            one.iter().any(is_in)
        };
        self.leads_elsewhere()
            || other.leads_elsewhere()
            || is_beneath(&own, &theirs)
            || is_beneath(&theirs, &own)
    }

    fn leads_elsewhere(&self) -> bool {
        let mut nodes = self.nodes.values();
        nodes.any(|old| old.node.is_folder() && (old.gone || !old.moved.is_empty()))
    }

    /// Returns the names that were touched, where the files were, and the folders that got other rights.
    fn touched(&self, store: &Store) -> HashSet<Place> {
        let listed = self.listed();
        let is_touched = |old: &&Old| {
            !old.node.is_folder() || own_places(old).any(|at| listed.contains(&*store.shown(at)))
        };
        let files = self.nodes.values().filter(is_touched);
        let files = files.flat_map(own_places).cloned();
        let names = self.entries.iter().filter_map(|(folder, names)| {
            let old = self.nodes.get(folder)?;
            Some(names.keys().map(|name| old.place.join(name)))
        });
        files.chain(names.flatten()).collect()
    }
}
