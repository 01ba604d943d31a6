//! One log of calls that ran at the same time, as a background job and later calls do, for an undo of all of
//! them: each saved what it found, and of what several touched the first one found what was before.

mod left;
mod units;

use std::collections::{HashMap, HashSet};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::node::{Moment, NodeId, look};
use super::record::{Content, Image, Place, Record, read_records};
use super::store::{Store, object_name};
use super::whole::read_all;
use super::{CheckpointId, Journal, JournalError};

pub(super) use units::Unit;

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
    /// Which of them found each node first.
    found_by: HashMap<NodeId, CheckpointId>,
    /// Which of them moved folders, from where to where.
    moves: Vec<(CheckpointId, Place, Place)>,
    /// By which of them files were kept, and as what: an undo moves on what it kept.
    kept: HashMap<NodeId, Vec<(CheckpointId, u64)>>,
}

/// What several calls found before them, as if they were one.
pub(super) struct Merged {
    pub(super) image: Image,
    /// Which of them found each node first. What they made themselves is not among these.
    pub(super) found_by: HashMap<NodeId, CheckpointId>,
}

impl Merged {
    pub(super) fn of(id: CheckpointId, image: Image) -> Self {
        let found_by = image.nodes.keys().map(|node| (*node, id)).collect();
        Self { image, found_by }
    }
}

impl Journal {
    /// Returns the log of calls that ran at the same time, as if they were one.
    pub(super) fn together(&self, ids: &[CheckpointId]) -> Result<Image, JournalError> {
        let mut parts = Vec::new();
        for id in ids {
            let image = self.image(*id)?;
            let over = self.over(*id, &image)?.ok_or(JournalError::Running { id: *id })?;
            parts.push(Part { id: *id, image, over });
        }
        let mut image = self.merged(ids)?.image;
        if let Some(first) = parts.first() {
            image.header = first.image.header.clone();
            image.is_over = parts.iter().all(|part| part.image.is_over);
            image.over = parts.iter().map(|part| part.over).max();
            image.end = Some(Box::new(left::end(&self.store, &image, first.id, &mut parts)));
        }
        Ok(image)
    }

    /// Returns the same without how the calls left things.
    pub(super) fn merged(&self, ids: &[CheckpointId]) -> Result<Merged, JournalError> {
        let again =
            self.store.again().map_err(|errno| JournalError::io(errno, "the undo store"))?;
        let mut records: Vec<(u64, CheckpointId, Option<NodeId>, Record)> = Vec::new();
        for by in ids {
            let log = self.store.look_at_log(*by).map_err(Self::unknown(*by))?.id;
            let began = if log.is_unborn() { 0 } else { log.born() };
            let read = self.store.records(*by).map_err(Self::unknown(*by))?;
            let read = read.ok_or(JournalError::Damaged { id: *by })?;
            let mut at = began;
            for mut record in read {
                let id = match &record {
                    Record::Node { node, .. } => Some(node.id),
                    _ => None,
                };
                record.rename_nodes(&again);
                match record {
                    Record::Turn { at: turn } => at = turn,
                    record => records.push((at, *by, id, record)),
                }
            }
        }
        // Within one they stay in their order.
        records.sort_by_key(|(at, ..)| *at);
        let began = records.first().map_or(0, |(at, ..)| *at);
        let mut merging = Merging::new(began);
        for (_, by, id, record) in records {
            merging.take(by, id, record);
        }
        merging.take_in_kept(&self.store);
        Ok(Merged { image: merging.image, found_by: merging.found_by })
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
            if let Record::Node { node, .. } = record
                && self.is_elsewhere()
            {
                node.give_up_powers();
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
            found_by: HashMap::new(),
            moves: Vec::new(),
            kept: HashMap::new(),
        }
    }

    /// Takes in a record; `found` is what its node was called then.
    fn take(&mut self, by: CheckpointId, found: Option<NodeId>, record: Record) {
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
                match self.is_new((id, found.unwrap_or(id)), &before) {
                    true => drop(self.own.insert(id)),
                    false => {
                        self.found_by.insert(id, by);
                        self.image.apply(Record::Node { node, place: before });
                    }
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
            Record::Kept { id, object } => self.kept.entry(id).or_default().push((by, object)),
            Record::Content { id, from, length, object } => {
                self.take_content(by, id, Content { from, length, object });
            }
            Record::Trouble(trouble) if self.image.has_told(&trouble) => {}
            // What another had saved before is what comes back.
            Record::Doubted { id } if self.saved_by(id) != Some(by) => {}
            Record::Header(_) | Record::End(_) | Record::Over | Record::Turn { .. } => {}
            record @ (Record::Gone { .. }
            | Record::Doubted { .. }
            | Record::Special { .. }
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

    /// Which of them saved what comes back of a file.
    fn saved_by(&self, id: NodeId) -> Option<CheckpointId> {
        let content_by = self.image.nodes.get(&id)?.content_by;
        content_by.or_else(|| self.found_by.get(&id).copied())
    }

    /// Takes in where files are that are kept, of several the last.
    fn take_in_kept(&mut self, store: &Store) {
        for (id, all) in std::mem::take(&mut self.kept) {
            let Some(old) = self.image.nodes.get_mut(&id) else { continue };
            let is_there = |(by, object): &(CheckpointId, u64)| {
                let folder = store.open_kept(*by, old.place.root).ok()?;
                Some(look(&folder, object_name(*object).as_ref()).ok()??.id == id)
            };
            let last = all.iter().rfind(|kept| is_there(kept) == Some(true)).or(all.first());
            if let Some((by, object)) = last {
                (old.kept, old.kept_by) = (Some(*object), Some(*by));
            }
        }
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
    /// name that a call had touched. What an undo made again is as old as it was when it was `found`.
    fn is_new(&self, (id, found): (NodeId, NodeId), before: &Place) -> bool {
        let is_other = self.names.get(before).is_some_and(|was| *was != Some(id));
        let above = before.above().filter_map(|at| self.names.get(&at).copied());
        let above: Vec<Option<NodeId>> = above.collect();
        let is_beneath_new = above.iter().any(Option::is_none);
        if found.is_unborn() || self.began == 0 || found.born() == self.began {
            // That clock goes by some milliseconds.
            return is_other || is_beneath_new;
        }
        found.born() > self.began && (is_other || !above.is_empty())
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
