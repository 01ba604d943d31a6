//! One log of calls that ran at the same time, as a background job and later calls do, for an undo of all of
//! them: each saved what it found, and of what several touched the first one found what was before.

mod left;

use std::collections::{HashMap, HashSet};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::node::{Moment, NodeId};
use super::record::{Content, Image, Place, Record, read_records};
use super::store::Store;
use super::whole::read_all;
use super::{CheckpointId, Journal, JournalError};

/// What an undo takes back at once: a call, an undo, or calls that ran at the same time.
pub(super) struct Unit {
    /// The oldest first.
    pub(super) ids: Vec<CheckpointId>,
}

/// One of several calls.
struct Part {
    id: CheckpointId,
    image: Image,
    over: Moment,
}

/// The log of several calls, while it is put together.
struct Merging {
    image: Image,
    /// When the first of them began, in nanoseconds since 1970; 0 where that is not known.
    began: u64,
    /// What they made.
    own: HashSet<NodeId>,
    folders: HashSet<NodeId>,
    /// What was at the names that they touched, by where those were before.
    names: HashMap<Place, Option<NodeId>>,
    /// Where each node is by now.
    at: HashMap<NodeId, Place>,
    /// Which of them moved folders, from where to where.
    moves: Vec<(CheckpointId, Place, Place)>,
}

impl Journal {
    /// Puts together which of these, the newest first, ran at the same time. Those between which something was
    /// undone are taken back one by one.
    pub(super) fn units(&self, ids: &[CheckpointId]) -> Result<Vec<Unit>, JournalError> {
        let mut units: Vec<(Unit, Option<Moment>)> = Vec::new();
        for id in ids.iter().rev() {
            let image = self.image(*id)?;
            let ended = self.over(*id, &image)?.filter(|_| image.header.undoes.is_empty());
            match units.last_mut() {
                Some((unit, over))
                    if ended.is_some()
                        && over.is_some_and(|over| self.is_beside(*id, &unit.ids, over)) =>
                {
                    unit.ids.push(*id);
                    *over = ended.max(*over);
                }
                _ => units.push((Unit { ids: vec![*id] }, ended)),
            }
        }
        let units =
            units.into_iter().flat_map(|(unit, over)| match self.has_undo_beside(&unit, over) {
                true => unit.ids.into_iter().map(|id| Unit { ids: vec![id] }).collect(),
                false => vec![unit],
            });
        let mut units: Vec<Unit> = units.collect();
        units.reverse();
        Ok(units)
    }

    /// Whether a call began before these, of which the last was over then, were. The clock of files goes by some
    /// milliseconds: in the same of them only calls that ran at the same time recorded by turns.
    pub(super) fn is_beside(
        &self,
        id: CheckpointId,
        earlier: &[CheckpointId],
        over: Moment,
    ) -> bool {
        let Ok(began) = self.began(id) else { return false };
        let has_turns = |id: &CheckpointId| {
            let records = self.store.records(*id).ok().flatten().unwrap_or_default();
            records.iter().any(|record| matches!(record, Record::Turn { .. }))
        };
        began < over || began == over && earlier.iter().chain([&id]).any(has_turns)
    }

    /// Whether something was undone while these calls ran.
    fn has_undo_beside(&self, unit: &Unit, over: Option<Moment>) -> bool {
        let (Some(first), true) = (unit.ids.first(), unit.ids.len() > 1) else { return false };
        let ids = self.store.ids().unwrap_or_default();
        let mut later = ids.into_iter().filter(|id| id > first && !unit.ids.contains(id));
        later.any(|id| {
            let header = self.store.read_header(id);
            header.is_ok_and(|header| !header.undoes.is_empty())
                && self.began(id).is_ok_and(|began| Some(began) < over)
        })
    }

    /// Returns the log of calls that ran at the same time, as if they were one.
    pub(super) fn together(&self, ids: &[CheckpointId]) -> Result<Image, JournalError> {
        let mut parts = Vec::new();
        let mut records: Vec<(u64, usize, Record)> = Vec::new();
        for id in ids {
            let image = self.image(*id)?;
            let over = self.over(*id, &image)?.ok_or(JournalError::Running { id: *id })?;
            let log = self.store.look_at_log(*id).map_err(Self::unknown(*id))?.id;
            let began = if log.is_unborn() { 0 } else { log.born() };
            let read = self.store.records(*id).map_err(Self::unknown(*id))?;
            let read = read.ok_or(JournalError::Damaged { id: *id })?;
            let mut at = began;
            for record in read {
                match record {
                    Record::Turn { at: turn } => at = turn,
                    record => records.push((at, parts.len(), record)),
                }
            }
            parts.push(Part { id: *id, image, over });
        }
        // Within one they stay in their order.
        records.sort_by_key(|(at, ..)| *at);
        let began = records.first().map_or(0, |(at, ..)| *at);
        let mut merging = Merging::new(began);
        for (_, part, record) in records {
            if let Some(part) = parts.get(part) {
                merging.take(part.id, record);
            }
        }
        let mut image = merging.image;
        if let Some(first) = parts.first() {
            image.header = first.image.header.clone();
            let again = self.store.again().map_err(Self::unknown(first.id))?;
            image.rename_nodes(&again);
            image.is_over = parts.iter().all(|part| part.image.is_over);
            image.over = parts.iter().map(|part| part.over).max();
            image.end = Some(Box::new(left::end(&self.store, &image, first.id, &mut parts)));
        }
        Ok(image)
    }
}

impl Store {
    /// Reads the records of a checkpoint's log, with their places in the roots that are open. `None` as of
    /// [`Self::read_log`].
    fn records(&self, id: CheckpointId) -> Result<Option<Vec<Record>>, Errno> {
        let file = self.open_log(id, OFlags::RDONLY)?;
        let Some(mut records) = read_records(&read_all(file)?) else { return Ok(None) };
        let Some(Record::Header(header)) = records.first() else { return Ok(None) };
        let roots: Vec<Option<Place>> =
            header.roots.iter().map(|root| self.place_of_root(root)).collect();
        for record in &mut records {
            if let Record::Node { place, .. } | Record::Moved { place, .. } = record {
                place.count_from(&roots);
            }
        }
        Ok(Some(records))
    }
}

impl Merging {
    fn new(began: u64) -> Self {
        Self {
            image: Image::default(),
            began,
            own: HashSet::new(),
            folders: HashSet::new(),
            names: HashMap::new(),
            at: HashMap::new(),
            moves: Vec::new(),
        }
    }

    fn take(&mut self, by: CheckpointId, record: Record) {
        match record {
            Record::Node { node, place } => {
                let id = node.id;
                if self.image.nodes.contains_key(&id) || self.own.contains(&id) {
                    return;
                }
                let now = self.moved_by(by, place);
                let before = self.before(&now);
                self.at.insert(id, now);
                if node.is_folder() {
                    self.folders.insert(id);
                }
                match self.is_new(id, &before) {
                    true => drop(self.own.insert(id)),
                    false => self.image.apply(Record::Node { node, place: before }),
                }
            }
            Record::Entry { folder, name, before } => {
                let Some(old) = self.image.nodes.get(&folder) else { return };
                let before = before.filter(|id| !self.own.contains(id));
                self.names.entry(old.place.join(&name)).or_insert(before);
                self.image.apply(Record::Entry { folder, name, before });
            }
            Record::Moved { id, place } => {
                self.note_moved(by, id, &place);
                self.image.apply(Record::Moved { id, place });
            }
            Record::Kept { id, object } => {
                if let Some(old) = self.image.nodes.get_mut(&id).filter(|old| old.kept.is_none()) {
                    (old.kept, old.kept_by) = (Some(object), Some(by));
                }
            }
            Record::Content { id, from, length, object } => {
                self.take_content(by, id, Content { from, length, object });
            }
            Record::Trouble(trouble) if self.image.has_told(&trouble) => {}
            Record::Header(_) | Record::End(_) | Record::Over | Record::Turn { .. } => {}
            record @ (Record::Gone { .. }
            | Record::Again { .. }
            | Record::LeftOut(_)
            | Record::Trouble(_)) => self.image.apply(record),
        }
    }

    /// Takes in what was saved of a file: what is known already is from before.
    fn take_content(&mut self, by: CheckpointId, id: NodeId, content: Content) {
        let Some(old) = self.image.nodes.get_mut(&id) else { return };
        let known = match old.content {
            None => content,
            // What another appended before is no part of it.
            Some(known) if known.from > 0 && known.object == 0 && content.from == 0 => {
                Content { length: known.length, ..content }
            }
            Some(_) => return,
        };
        (old.content, old.content_by) = (Some(known), Some(by));
    }

    fn note_moved(&mut self, by: CheckpointId, id: NodeId, to: &Place) {
        let Some(from) = self.at.insert(id, to.clone()) else { return };
        if !self.folders.contains(&id) || from == *to {
            return;
        }
        for at in self.at.values_mut() {
            if let Some(there) = at.led(&from, to) {
                *at = there;
            }
        }
        self.moves.push((by, from, to.clone()));
    }

    /// Where something is that was at `place` before this one moved folders.
    fn moved_by(&self, by: CheckpointId, place: Place) -> Place {
        let own = self.moves.iter().filter(|(who, ..)| *who == by);
        own.fold(place, |at, (_, from, to)| at.led(from, to).unwrap_or(at))
    }

    /// Where something was before, that is at `place` by now.
    fn before(&self, place: &Place) -> Place {
        let moves = self.moves.iter().rev();
        moves.fold(place.clone(), |at, (_, from, to)| at.led(to, from).unwrap_or(at))
    }

    /// Whether one of the calls made something that another found. What somebody else made meanwhile is at no
    /// name that a call had touched.
    fn is_new(&self, id: NodeId, before: &Place) -> bool {
        let is_other = self.names.get(before).is_some_and(|was| *was != Some(id));
        let above = before.above().filter_map(|at| self.names.get(&at).copied());
        let above: Vec<Option<NodeId>> = above.collect();
        let is_beneath_new = above.iter().any(Option::is_none);
        if id.is_unborn() || self.began == 0 || id.born() == self.began {
            // That clock goes by some milliseconds.
            return is_other || is_beneath_new;
        }
        id.born() > self.began && (is_other || !above.is_empty())
    }
}

impl Place {
    /// This, and the folders above it.
    pub(super) fn and_above(&self) -> impl Iterator<Item = Self> {
        let root = self.root;
        self.path.ancestors().map(move |path| Self { root, path: path.to_path_buf() })
    }

    /// The folders above this.
    pub(super) fn above(&self) -> impl Iterator<Item = Self> {
        self.and_above().skip(1)
    }

    /// Where this is once a folder went from one place to another; `None` where it was not in it.
    pub(super) fn led(&self, from: &Self, to: &Self) -> Option<Self> {
        let rest = self.path.strip_prefix(&from.path).ok().filter(|_| self.root == from.root)?;
        Some(to.join(rest.as_os_str()))
    }
}
