//! Calls that ran at the same time, as a background job and later calls do, and an undo of both: what the earlier
//! one left is told as it is once the later one is undone, and what the earlier one did after the end of the
//! later one is nobody else's.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;

use super::conflicts::Found;
use super::find::node_at;
use super::node::{Moment, NodeId};
use super::record::{Image, Place, State};
use super::state::{is_same, state_of};
use super::store::Store;
use super::{CheckpointId, CheckpointState, Journal, JournalError};

/// What an undo of a call left, as far as it may have touched it.
struct Undone {
    call: Image,
    /// When its log was made.
    began: Moment,
    /// How the undo left things; `None` where it is the one that works, and they are as they are now.
    after: Option<HashMap<Place, State>>,
}

impl Journal {
    /// Has the log of these parts speak of how things are since other calls were undone that ran beside them: those that were undone
    /// before, and of those that the undo works on the later ones than `turn`.
    pub(super) fn after_undo_beside(
        &self,
        parts: &[CheckpointId],
        image: &mut Image,
        (ids, turn): (&[CheckpointId], CheckpointId),
    ) -> Result<(), JournalError> {
        let Some(id) = parts.first().copied() else { return Ok(()) };
        let is_call = image.header.undoes.is_empty();
        let Some(over) = self.over(id, image)?.filter(|_| is_call) else { return Ok(()) };
        let others = self.begun_before(over, id)?.into_iter().rev();
        for other in others.filter(|other| !parts.contains(other)) {
            if let Some(undone) = self.undone(other, (ids, turn))? {
                image.take_in_undo(&self.store, &undone);
            }
        }
        Ok(())
    }

    /// Returns how undos left things that took back calls which were begun while this one ran.
    pub(super) fn put_back_beside(
        &self,
        id: CheckpointId,
        image: &Image,
    ) -> Result<HashMap<Place, State>, JournalError> {
        let mut back = HashMap::new();
        let Some(over) = self.over(id, image)? else { return Ok(back) };
        for other in self.begun_before(over, id)? {
            let undone = self.undone(other, (&[], id))?;
            back.extend(undone.and_then(|undone| undone.after).into_iter().flatten());
        }
        Ok(back)
    }

    /// Takes away what earlier calls that this undo takes back as well changed after the end of this one, or
    /// beside it.
    pub(super) fn leave_to_earlier(
        &self,
        id: CheckpointId,
        found: &mut Found,
        ids: &[CheckpointId],
    ) -> Result<(), JournalError> {
        let earlier: Vec<CheckpointId> = ids.iter().copied().filter(|other| *other < id).collect();
        if found.is_empty() || earlier.is_empty() {
            return Ok(());
        }
        let began = self.began(id)?;
        for other in earlier {
            let mut image = self.image(other)?;
            let is_beside = self.over(other, &image)?.is_some_and(|over| began < over);
            if !is_beside || !image.header.undoes.is_empty() {
                continue;
            }
            image.leave_unchanged(&self.store);
            self.after_undo_beside(&[other], &mut image, (ids, id))?;
            let after = image.end.iter().flat_map(|end| &end.after);
            let after: HashMap<&Place, &State> = after.map(|(at, state)| (at, state)).collect();
            let is_left = |place: &Place| {
                let now = node_at(&self.store, place).ok().flatten();
                let is_gone = now.is_none();
                let left = after.get(place);
                left.is_some_and(|state| is_same(&self.store, place, state, now.as_ref()))
                    || is_gone && place.above().any(|at| after.get(&at) == Some(&&State::Absent))
            };
            found.retain(|place, _| !is_left(place));
        }
        Ok(())
    }

    /// When the log of a checkpoint was made.
    pub(super) fn began(&self, id: CheckpointId) -> Result<Moment, JournalError> {
        let log = self.store.look_at_log(id).map_err(Self::unknown(id))?.id;
        if log.is_unborn() {
            let header = self.store.read_header(id).map_err(Self::unknown(id))?;
            let seconds = i64::try_from(header.started).unwrap_or(i64::MAX);
            return Ok(Moment { seconds, nanoseconds: 0 });
        }
        Ok(log.born_at())
    }

    /// Returns the calls after `id` that were begun before this moment.
    fn begun_before(
        &self,
        over: Moment,
        id: CheckpointId,
    ) -> Result<Vec<CheckpointId>, JournalError> {
        let ids = self.store.ids().map_err(|errno| JournalError::io(errno, "the undo store"))?;
        let mut begun = Vec::new();
        for later in ids.into_iter().filter(|later| *later > id) {
            match self.began(later) {
                Ok(began) if began > over => break,
                Ok(_) if self.is_beside(later, &[id], over) => begun.push(later),
                Ok(_) => {}
                // One that another process is about to make, or to remove.
                Err(_) => {}
            }
        }
        begun.retain(|id| self.store.read_header(*id).is_ok_and(|header| header.undoes.is_empty()));
        Ok(begun)
    }

    /// Returns how an undo of a call left things, if it is undone.
    fn undone(
        &self,
        id: CheckpointId,
        (ids, turn): (&[CheckpointId], CheckpointId),
    ) -> Result<Option<Undone>, JournalError> {
        let after = if ids.contains(&id) {
            if id <= turn {
                return Ok(None);
            }
            None
        } else {
            let infos = self.checkpoints_after(CheckpointId(id.0.saturating_sub(1)))?;
            let info = infos.into_iter().find(|info| info.id == id);
            let Some(CheckpointState::Undone { by }) = info.map(|info| info.state) else {
                return Ok(None);
            };
            let end = self.image(by)?.end;
            Some(end.map(|end| end.after.into_iter().collect()).unwrap_or_default())
        };
        let mut call = self.image(id)?;
        call.leave_unchanged(&self.store);
        Ok(Some(Undone { call, began: self.began(id)?, after }))
    }
}

impl Undone {
    /// How the undo left something that it may have touched.
    fn state(&self, store: &Store, place: &Place) -> Option<State> {
        match &self.after {
            Some(after) => after.get(place).cloned(),
            None => Some(match node_at(store, place).ok()? {
                Some(now) => state_of(store, place, &now),
                None => State::Absent,
            }),
        }
    }
}

impl Image {
    fn take_in_undo(&mut self, store: &Store, undone: &Undone) {
        self.take_in_names(store, undone);
        let Undone { call, .. } = undone;
        self.take_in_earlier(call);
        let (Some(end), Some(theirs)) = (&mut self.end, &call.end) else { return };
        let moved = theirs.left_at.iter().filter_map(|(id, left)| {
            let old = call.nodes.get(id).filter(|old| !old.place.is_in_store())?;
            (old.place != *left).then_some((left, &old.place))
        });
        let moved: HashMap<&Place, &Place> = moved.collect();
        let mut touched: HashSet<&Place> = theirs.after.iter().map(|(at, _)| at).collect();
        touched.extend(moved.values());
        let back = |place: &Place| {
            let was = place.path.ancestors().find_map(|path| {
                let above = Place { root: place.root, path: path.to_path_buf() };
                let was = moved.get(&above)?;
                Some(was.join(place.path.strip_prefix(path).ok()?.as_os_str()))
            });
            was.unwrap_or_else(|| place.clone())
        };
        let now = |place: &Place| touched.contains(place).then(|| undone.state(store, place))?;
        let mut after: BTreeMap<Place, State> = BTreeMap::new();
        for (place, state) in std::mem::take(&mut end.after) {
            let to = if state == State::Absent { place.clone() } else { back(&place) };
            let state = now(&to).unwrap_or(state);
            match to == place {
                true => drop(after.entry(to).or_insert(state)),
                false => drop(after.insert(to, state)),
            }
        }
        end.after = after.into_iter().collect();
        end.left_at.iter_mut().for_each(|(_, at)| *at = back(at));
        end.new_folders.iter_mut().for_each(|at| *at = back(at));
        for (id, left) in &mut end.left_files {
            let was = call.nodes.get(id).map(|old| old.place.clone());
            left.place = left.place.as_ref().map(back).or(was);
            if let Some(state) = left.place.as_ref().and_then(now) {
                (left.state, left.head) = (state, None);
            }
        }
    }

    /// What the other touched first is as that one found it, and its undo put back what it wrote over.
    fn take_in_earlier(&mut self, call: &Self) {
        for old in self.nodes.values_mut() {
            let Some(theirs) = call.nodes.get(&old.node.id) else { continue };
            // Whatever is done to something sets this.
            if theirs.node.changed < old.node.changed {
                old.node = theirs.node.clone();
                old.content = old.content.filter(|_| theirs.content.is_none());
            }
        }
    }

    /// What this call found at a name after the other had made it was not there before, and what it had at one
    /// before the other took that away was.
    fn take_in_names(&mut self, store: &Store, Undone { call, began, .. }: &Undone) {
        let named: HashSet<NodeId> =
            self.entries.values().flat_map(|names| names.values()).copied().flatten().collect();
        let unnamed = self.nodes.values().filter(|old| !named.contains(&old.node.id));
        let unnamed: HashMap<&Place, NodeId> =
            unnamed.map(|old| (&old.place, old.node.id)).collect();
        let mut names: Vec<(NodeId, OsString, Option<NodeId>)> = Vec::new();
        for (folder, of) in self.entries.iter().filter(|(id, _)| call.entries.contains_key(id)) {
            let Some(old) = self.nodes.get(folder) else { continue };
            for (name, before) in of {
                let Some(theirs) = call.entries.get(folder).and_then(|names| names.get(name))
                else {
                    continue;
                };
                let place = old.place.join(name);
                let now = node_at(store, &place).ok().flatten().map(|now| now.id);
                if let Some(was) = unnamed.get(&place).filter(|was| now == Some(**was)) {
                    names.push((*folder, name.clone(), Some(*was)));
                } else if theirs.is_none()
                    && before.is_some_and(|id| !id.is_unborn() && id.born_at() >= *began)
                {
                    names.push((*folder, name.clone(), None));
                }
            }
        }
        for (folder, name, before) in names {
            self.entries.entry(folder).or_default().insert(name, before);
        }
    }
}
