//! How calls that ran at the same time left things: what the last of them that knows something says of it, and
//! where the others moved it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::Part;
use crate::journal::CheckpointId;
use crate::journal::compare::compare_image;
use crate::journal::find::node_at;
use crate::journal::node::{Moment, Node, NodeId};
use crate::journal::record::{End, Image, LeftFile, Old, Place, State};
use crate::journal::state::is_same;
use crate::journal::store::Store;

/// So many places one may have come to by moves of folders above it.
const PLACES_MAX: usize = 16;

/// What the calls left, each by its own end.
struct Ends<'a> {
    store: &'a Store,
    /// The last one to end first.
    after: Vec<HashMap<&'a Place, &'a State>>,
    /// What each of these left and another took away with the folder that it was in.
    lost: Vec<HashSet<Place>>,
    /// Folders that each of these made, of which it knew all that was in them.
    made: Vec<HashSet<&'a Place>>,
    /// Folders that one of them moved, from where to where.
    moved: Vec<(&'a Place, &'a Place)>,
}

/// Returns how the calls left things of which `image` is the log.
pub(super) fn end(store: &Store, image: &Image, id: CheckpointId, parts: &mut [Part]) -> End {
    parts.sort_by_key(|part| std::cmp::Reverse(part.over));
    let now = compare_image(store, image, id);
    let ends = Ends::of(store, parts);
    let mut after = ends.after();
    ends.take_in_folders(image, &now, &mut after);
    let left_at = left_at(parts, &now, &after);
    let is_there = |at: &&Place| after.get(at).is_some_and(|state| *state != State::Absent);
    let new_folders = now.new_folders.iter().filter(is_there).cloned().collect();
    let left_files = left_files(image, parts, &now, &after);
    let mut changes = now.changes;
    let each = parts.iter().filter_map(|part| part.image.end.as_ref());
    changes.files.extend(each.clone().flat_map(|end| end.changes.files.iter().cloned()));
    End {
        changes,
        after: after.into_iter().collect(),
        left_at,
        new_folders,
        interrupted: each.clone().any(|end| end.interrupted),
        log_bytes: 0,
        left_files,
        kept: Vec::new(),
        moved: Vec::new(),
        sealed: each.flat_map(|end| end.sealed.iter().cloned()).collect(),
    }
}

impl<'a> Ends<'a> {
    fn of(store: &'a Store, parts: &'a [Part]) -> Self {
        let ended = || parts.iter().filter(|part| part.image.end.is_some());
        let ends = ended().filter_map(|part| part.image.end.as_ref());
        let after = ends.map(|end| end.after.iter().map(|(at, state)| (at, state)).collect());
        let lost = ended().map(|part| lost(store, part, parts));
        let ends = ended().filter_map(|part| part.image.end.as_ref());
        let made = ends.map(|end| end.new_folders.iter().collect());
        let moved = parts.iter().flat_map(|part| {
            let left_at = part.image.end.iter().flat_map(|end| &end.left_at);
            left_at.filter_map(|(id, left)| {
                let old = part.image.nodes.get(id).filter(|old| old.node.is_folder())?;
                (old.place != *left).then_some((&old.place, left))
            })
        });
        let (after, lost, made) = (after.collect(), lost.collect(), made.collect());
        Self { store, after, lost, made, moved: moved.collect() }
    }

    /// How each place was that one of them touched.
    fn after(&self) -> BTreeMap<Place, State> {
        let mut after = BTreeMap::new();
        // What is as one of them left it, and what is as none did.
        let mut same: HashMap<NodeId, Vec<(&Place, &State)>> = HashMap::new();
        let mut others = Vec::new();
        let places: HashSet<&Place> = self.after.iter().flat_map(HashMap::keys).copied().collect();
        for place in places {
            let now = self.look(place);
            if let Some(state) = self.same(place, place, now.as_ref()) {
                if let Some(now) = now {
                    same.entry(now.id).or_default().push((place, state));
                }
                after.insert(place.clone(), state.clone());
                continue;
            }
            let went = self.went(place).into_iter().find_map(|at| {
                let now = self.look(&at)?;
                let state = self.same(place, &at, Some(&now))?;
                Some((at, state))
            });
            if let Some((at, state)) = went {
                after.entry(at).or_insert_with(|| state.clone());
                continue;
            }
            let is_gone = || {
                place.above().any(|at| self.is_absent(&at))
                    || self.is_lost(place)
                    || self.was_not_in_made(place)
            };
            if now.is_none() && is_gone() {
                after.insert(place.clone(), State::Absent);
                continue;
            }
            // It came with a folder.
            if self.moved.iter().any(|(_, to)| *to != place && to.is_around(place)) {
                continue;
            }
            let last = self.after.iter().find_map(|after| after.get(place));
            others.extend(last.map(|state| (place.clone(), *state, now.map(|now| now.id))));
        }
        for (place, last, now) in others {
            // The same file by another name that a later one knew.
            let mut known = now.iter().filter_map(|id| same.get(id)).flatten();
            let known = known.find(|(name, _)| self.left_as_one(name, &place));
            after.insert(place, known.map_or(last, |(_, state)| state).clone());
        }
        after
    }

    /// Takes in what none of them knows by itself, in folders that they moved, and nobody changed since.
    fn take_in_folders(&self, image: &Image, now: &End, after: &mut BTreeMap<Place, State>) {
        let moved: HashSet<&Place> = self.moved.iter().map(|(_, to)| *to).collect();
        let came = now.left_at.iter().filter(|(id, at)| {
            let old = image.nodes.get(id).filter(|old| old.node.is_folder());
            old.is_some_and(|old| old.place != *at)
        });
        let moved: HashSet<&Place> = moved.into_iter().chain(came.map(|(_, at)| at)).collect();
        for (place, state) in &now.after {
            let is_since = state.changed() > image.over;
            if !is_since && place.above().any(|at| moved.contains(&at)) {
                after.entry(place.clone()).or_insert_with(|| state.clone());
            }
        }
    }

    /// Whether one of them left these two as what may be names of one file.
    fn left_as_one(&self, one: &Place, other: &Place) -> bool {
        self.after.iter().any(|after| {
            let states = after.get(one).zip(after.get(other));
            states.is_some_and(|(one, other)| **one != State::Absent && one.may_be(other))
        })
    }

    fn look(&self, place: &Place) -> Option<Node> {
        node_at(self.store, place).ok().flatten()
    }

    /// What one of them left at `place`, if that is what is at `at` now.
    fn same(&self, place: &Place, at: &Place, now: Option<&Node>) -> Option<&'a State> {
        let states = self.after.iter().filter_map(|after| after.get(place).copied());
        let mut same = states.filter(|state| is_same(self.store, at, state, now));
        same.next()
    }

    fn is_absent(&self, place: &Place) -> bool {
        self.after
            .iter()
            .any(|after| after.get(place).is_some_and(|state| **state == State::Absent))
    }

    /// Whether others took all that was left there away with its folder, in whose place another may stand.
    fn is_lost(&self, place: &Place) -> bool {
        let known =
            self.after.iter().zip(&self.lost).filter(|(after, _)| {
                after.get(place).is_some_and(|state| **state != State::Absent)
            });
        let mut known = known.map(|(_, lost)| place.and_above().any(|at| lost.contains(&at)));
        known.next().is_some_and(|first| first && known.all(|is_lost| is_lost))
    }

    /// Whether the last one that knows of it left a folder of its own there without it.
    fn was_not_in_made(&self, place: &Place) -> bool {
        let mut told = self.after.iter().zip(&self.made).filter_map(|(after, made)| {
            let is_absent = after.get(place).map(|state| **state == State::Absent);
            is_absent.or_else(|| place.above().any(|at| made.contains(&at)).then_some(true))
        });
        told.next() == Some(true)
    }

    /// Where something may have come to with folders above it.
    fn went(&self, place: &Place) -> Vec<Place> {
        let (mut found, mut next) = (Vec::new(), VecDeque::from([place.clone()]));
        while let Some(at) = next.pop_front() {
            for (from, to) in &self.moved {
                let Some(there) = at.led(from, to) else { continue };
                if found.len() < PLACES_MAX && there != *place && !found.contains(&there) {
                    found.push(there.clone());
                    next.push_back(there);
                }
            }
        }
        found
    }
}

/// Returns the names at which one left something in folders that others removed.
fn lost(store: &Store, part: &Part, parts: &[Part]) -> HashSet<Place> {
    let left = || part.image.end.iter().flat_map(|end| &end.left_at);
    let folders: HashMap<NodeId, &Place> = left().map(|(id, at)| (*id, at)).collect();
    let nodes: HashMap<&Place, NodeId> = left().map(|(id, at)| (at, *id)).collect();
    let mut lost = HashSet::new();
    for other in parts.iter().filter(|other| other.id != part.id) {
        let stays = other.image.end.iter().flat_map(|end| &end.left_at);
        let stays: HashSet<NodeId> = stays.map(|(id, _)| *id).collect();
        for (folder, names) in &other.image.entries {
            let old = other.image.nodes.get(folder);
            let Some(old) = old.filter(|old| old.gone && !stays.contains(folder)) else { continue };
            let anew = node_at(store, &old.place).ok().flatten().map(|anew| anew.id);
            let is_later =
                |time: Moment| anew.is_none_or(|anew| anew.is_unborn() || anew.born_at() >= time);
            // It may be in the folder that is there now only if that is older than this.
            let is_lost = |at: &Place| {
                let node = nodes.get(at);
                folders.get(folder) == Some(&&old.place)
                    || is_later(part.over)
                    || node.is_some_and(|id| id.is_unborn() || is_later(id.born_at()))
            };
            lost.extend(names.keys().map(|name| old.place.join(name)).filter(is_lost));
        }
    }
    lost
}

/// Where the calls left what was there before.
fn left_at(parts: &[Part], now: &End, after: &BTreeMap<Place, State>) -> Vec<(NodeId, Place)> {
    let mut known: HashMap<NodeId, &Place> = HashMap::new();
    for end in parts.iter().flat_map(|part| &part.image.end) {
        // Another may have put something else there since.
        let stands = end.after.iter().filter(|(at, state)| after.get(at) == Some(state));
        let stands: HashSet<&Place> = stands.map(|(at, _)| at).collect();
        for (id, at) in end.left_at.iter().filter(|(_, at)| stands.contains(at)) {
            known.entry(*id).or_insert(at);
        }
    }
    let is_there = |at: &Place| after.get(at).is_some_and(|state| *state != State::Absent);
    let mut left: HashMap<NodeId, &Place> = HashMap::new();
    for (id, at) in &now.left_at {
        let said = known.get(id).copied().filter(|said| !is_there(at) && is_there(said));
        left.insert(*id, said.unwrap_or(at));
    }
    for (id, at) in known.into_iter().filter(|(_, at)| is_there(at)) {
        left.entry(id).or_insert(at);
    }
    left.into_iter().map(|(id, at)| (id, at.clone())).collect()
}

/// How the calls left files of which their places alone do not tell.
fn left_files(
    image: &Image,
    parts: &[Part],
    now: &End,
    after: &BTreeMap<Place, State>,
) -> Vec<(NodeId, LeftFile)> {
    let mut left_files = now.left_files.clone();
    for (id, left) in &mut left_files {
        let Some(old) = image.nodes.get(id) else { continue };
        let ends = parts.iter().filter_map(|part| {
            let is_from = |other: &&Old| other.appended_from() == old.appended_from();
            let appended = part.image.nodes.get(id).filter(is_from);
            let end = part.image.end.as_ref()?;
            let (_, left) = end.left_files.iter().find(|(other, _)| other == id)?;
            appended.is_some().then_some(left)
        });
        let said: Vec<&LeftFile> = ends.collect();
        left.head = said.iter().find_map(|said| said.head).or(left.head);
        match &left.place {
            Some(at) => {
                if let Some(state) = after.get(at).filter(|state| **state != State::Absent) {
                    left.state = state.clone();
                }
            }
            None => {
                if let Some(said) = said.first() {
                    left.state = said.state.clone();
                }
            }
        }
    }
    left_files
}
