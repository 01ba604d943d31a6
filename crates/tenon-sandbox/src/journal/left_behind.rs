//! What guarded commands left behind whose agent ended before it could look after them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::Timestamps;
use rustix::io::Errno;

use super::history::AFTERMATH_SECONDS;
use super::node::NodeId;
use super::record::{End, Header, Image, Place, Record};
use super::store::Store;
use super::together::Merged;
use super::trouble::Trouble;
use super::whole::append;
use super::{CheckpointId, Journal, JournalError};
use crate::linux::wire::Sendable;

/// How many of the newest checkpoints are looked at: an agent that starts looks at what the ones
/// before it left.
pub(super) const LOOKED_AT_MAX: usize = 256;

/// Commands that are over, and that nobody looked after. They count as one: whoever starts looks after what it finds, so
/// all of these may have run at the same time.
pub(crate) struct LeftBehind {
    /// The workspace that they ran in: its folders may be others than those of a later session.
    pub(crate) journal: Journal,
    /// The oldest first.
    pub(super) parts: Vec<Part>,
    /// What they found, as if they were one.
    pub(super) image: Image,
    /// What changed later, in seconds since 1970, somebody else may have changed.
    pub(crate) until: i64,
}

/// One of these commands.
pub(super) struct Part {
    pub(super) id: CheckpointId,
    pub(super) image: Image,
    /// What it saved of files that another had found before, or had made.
    pub(super) of_others: HashSet<NodeId>,
    /// Folders that it moved, with where in them files had been that another had found before.
    pub(super) around_others: HashMap<NodeId, Vec<Place>>,
}

impl Journal {
    /// Returns what guarded commands left behind, if there are any.
    pub(crate) fn left_behind(&self) -> Option<LeftBehind> {
        let mut ids = self.store.ids().unwrap_or_default();
        ids.drain(..ids.len().saturating_sub(LOOKED_AT_MAX));
        let all: Vec<(CheckpointId, Header)> =
            ids.into_iter().filter_map(|id| Some((id, self.header_of_left(id)?))).collect();
        let mut roots: Vec<PathBuf> = Vec::new();
        for root in all.iter().flat_map(|(_, header)| &header.roots) {
            if !roots.contains(root) {
                roots.push(root.clone());
            }
        }
        let journal = match roots.iter().all(|root| self.roots().contains(root)) {
            true => self.clone(),
            false => Self::of(Arc::new(Store::open(&roots, self.store.options.clone()).ok()?)),
        };
        let read = |(id, _)| {
            let last = self.store.look_at_log(id).ok()?.modified;
            let image = journal.image(id).ok()?;
            Some((last.seconds, Part::new(id, image)))
        };
        let (last, mut parts): (Vec<i64>, Vec<Part>) = all.into_iter().filter_map(read).unzip();
        let until = last.into_iter().max()? + AFTERMATH_SECONDS;
        let image = match parts.as_mut_slice() {
            [part] => part.image.clone(),
            parts => journal.merge(parts)?,
        };
        Some(LeftBehind { journal, parts, image, until })
    }

    /// Returns the header of a guarded command that is over and that nobody looked after.
    fn header_of_left(&self, id: CheckpointId) -> Option<Header> {
        if self.store.has_ended(id) {
            return None;
        }
        let header = self.store.read_header(id).ok().filter(|header| header.is_guarded)?;
        // Whoever runs it holds it.
        self.store.lock_log(id).ok()??;
        let is_open = |root: &PathBuf| self.roots().contains(root);
        // A log that somebody else wrote could name any folders.
        let may_be = header.roots.iter().all(is_open)
            || self.has_own_store()
                && Store::open(&header.roots, self.store.options.clone()).is_ok();
        may_be.then_some(header)
    }

    /// Returns what these commands found, as if they were one.
    fn merge(&self, parts: &mut [Part]) -> Option<Image> {
        let ids: Vec<CheckpointId> = parts.iter().map(|part| part.id).collect();
        let first = parts.first()?;
        let Merged { image, found_by } = match first.image.trouble.contains(&Trouble::Compared) {
            // It was compared with how things are now: it has what the later ones did, too.
            true => Merged::of(first.id, first.image.clone()),
            false => self.merged(&ids).ok()?,
        };
        for part in parts {
            let is_own = |node: &NodeId| found_by.get(node) == Some(&part.id);
            let files = image.nodes.iter().filter(|(_, old)| !old.node.is_folder());
            let others = files.filter(|(node, _)| !is_own(node));
            let others: Vec<&Place> = others.map(|(_, old)| &old.place).collect();
            for (node, old) in part.image.nodes.iter().filter(|(node, _)| !is_own(node)) {
                if !old.node.is_folder() {
                    part.of_others.insert(*node);
                }
            }
            let moved = part.image.nodes.iter().filter(|(_, old)| !old.moved.is_empty());
            for (node, _) in moved.filter(|(_, old)| old.node.is_folder()) {
                let Some(was) = image.nodes.get(node).map(|old| &old.place) else { continue };
                let beneath = others.iter().copied().filter(|other| was.is_around(other));
                part.around_others.insert(*node, beneath.cloned().collect());
            }
        }
        Some(image)
    }

    /// Runs `work` while nobody else undoes or looks after what was left behind; not where that
    /// cannot be had.
    pub(crate) fn alone<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let _lock = self.lock().ok()?;
        Some(work())
    }

    /// Whether no command can have written what is kept: all of it is in the program's folder for state, and
    /// that is in no root. Where the workspace is on another mount, it lies where commands of a session
    /// further up write.
    pub(crate) fn has_own_store(&self) -> bool {
        let state = &self.store.options.state_folder;
        let is_in_root = self.roots().iter().any(|root| state.starts_with(root));
        !is_in_root && self.store.bases.iter().all(|base| base.top == state.join("undo"))
    }

    /// Returns the workspace's roots.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        self.store.roots.iter().map(|root| root.path.clone()).collect()
    }
}

impl Part {
    fn new(id: CheckpointId, image: Image) -> Self {
        Self { id, image, of_others: HashSet::new(), around_others: HashMap::new() }
    }
}

impl LeftBehind {
    /// Runs `work`, which looks after the commands, and takes in that this was done: what `work` changes is not theirs. `is_judged`
    /// says whether undo is to ask before it puts back, at a place beneath a root, what another of them had written.
    pub(crate) fn look_after(&self, is_judged: &dyn Fn(&Path, &Path) -> bool, work: impl FnOnce()) {
        let end = |part: &Part| self.journal.end_of_interrupted(part.id).ok().flatten();
        let ends: Vec<Option<End>> = self.parts.iter().map(end).collect();
        work();
        for (part, end) in self.parts.iter().zip(ends) {
            // On a full disk it is done once more.
            let _ = self.doubt(part, is_judged);
            if let Some(end) = end {
                let _ = self.journal.keep_end(part.id, end);
            }
        }
    }

    /// Has undo ask about what a command saved and another had written.
    fn doubt(
        &self,
        part: &Part,
        is_judged: &dyn Fn(&Path, &Path) -> bool,
    ) -> Result<(), JournalError> {
        let store = &self.journal.store;
        let is_judged = |place: &Place| {
            let root = store.roots.get(place.root);
            root.is_some_and(|root| is_judged(&root.path, &place.path))
        };
        let is_doubted = |node: &&NodeId| {
            let old = part.image.nodes.get(node).filter(|old| !old.is_doubted);
            old.is_some_and(|old| is_judged(&old.place))
        };
        let doubted = part.of_others.iter().filter(is_doubted);
        let doubted = doubted.map(|id| Record::Doubted { id: *id });
        let special = part.around_others.iter().filter(|(_, others)| others.iter().any(is_judged));
        let special = special.map(|(id, _)| Record::Special { id: *id });
        store.add_to_left(part.id, doubted.chain(special)).map_err(Journal::unknown(part.id))
    }

    /// The session that the newest of them was of, and what its call is called: an undo of it comes before one of the others.
    pub(crate) fn call(&self) -> (&str, &str) {
        let header = self.parts.last().map_or(&self.image.header, |part| &part.image.header);
        (&header.session, &header.name)
    }
}

impl Store {
    /// Adds records to the log of a command that is over, which says when it was last known to run.
    fn add_to_left(
        &self,
        id: CheckpointId,
        records: impl Iterator<Item = Record>,
    ) -> Result<(), Errno> {
        let records: Option<Vec<Vec<u8>>> = records.map(|record| record.to_bytes()).collect();
        let bytes = records.ok_or(Errno::TOOBIG)?.concat();
        if bytes.is_empty() {
            return Ok(());
        }
        let last = self.look_at_log(id)?;
        let log = self.lock_log(id)?.ok_or(Errno::WOULDBLOCK)?;
        append(&log, &bytes)?;
        let times = Timestamps {
            last_access: last.accessed.into(),
            last_modification: last.modified.into(),
        };
        rustix::fs::futimens(&log, &times)
    }
}
