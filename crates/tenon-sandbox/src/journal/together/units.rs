//! What an undo takes back at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::journal::node::Moment;
use crate::journal::record::{Image, Record};
use crate::journal::take_back::is_try;
use crate::journal::{
    CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Journal, JournalError,
};

/// What an undo takes back at once: a call, an undo, or calls that ran at the same time, with what was undone and
/// redone meanwhile of calls that none of them outlasts.
pub(in crate::journal) struct Unit {
    /// The oldest first.
    pub(in crate::journal) ids: Vec<CheckpointId>,
    /// The newest of those that were asked for.
    pub(in crate::journal) newest: CheckpointId,
}

/// Calls that ran at the same time, while it is found out what was undone meanwhile.
struct Meanwhile<'a> {
    journal: &'a Journal,
    infos: &'a BTreeMap<CheckpointId, CheckpointInfo>,
    parts: BTreeMap<CheckpointId, Image>,
    /// When the last of them was over.
    over: Moment,
}

/// An undo or a redo, and the calls that it is of, also by way of another.
struct Undo {
    id: CheckpointId,
    of: BTreeSet<CheckpointId>,
}

impl Journal {
    /// Puts together which of these, the newest first, ran at the same time. Those between which something else
    /// was undone are taken back one by one.
    pub(in crate::journal) fn units(
        &self,
        ids: &[CheckpointId],
    ) -> Result<Vec<Unit>, JournalError> {
        let mut units: Vec<(Vec<CheckpointId>, Option<Moment>)> = Vec::new();
        for id in ids.iter().rev() {
            let image = self.image(*id)?;
            let ended = self.over(*id, &image)?.filter(|_| image.header.undoes.is_empty());
            match units.last_mut() {
                Some((unit, over))
                    if ended.is_some()
                        && over.is_some_and(|over| self.is_beside(*id, unit, over)) =>
                {
                    unit.push(*id);
                    *over = ended.max(*over);
                }
                _ => units.push((vec![*id], ended)),
            }
        }
        let infos = self.checkpoints()?.into_iter().map(|info| (info.id, info)).collect();
        let (mut found, mut absorbed): (Vec<Unit>, BTreeSet<CheckpointId>) = Default::default();
        for (unit, over) in units {
            let all = over.map(|over| self.with_meanwhile(&unit, over, &infos)).transpose()?;
            match all.flatten() {
                None => found.extend(unit.into_iter().map(Unit::of)),
                Some(all) => {
                    let newest = unit.last().copied().unwrap_or(CheckpointId(0));
                    absorbed.extend(all.iter().copied().filter(|id| !unit.contains(id)));
                    found.push(Unit { ids: all, newest });
                }
            }
        }
        found.retain(|unit| unit.ids.len() > 1 || !absorbed.contains(&unit.newest));
        found.reverse();
        Ok(found)
    }

    /// Whether a call began before these, of which the last was over then, were. The clock of files goes by some
    /// milliseconds: in the same of them only calls that ran at the same time recorded by turns.
    pub(in crate::journal) fn is_beside(
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

    /// Returns these calls with the undos and redos that touched the same while they ran, and with the calls that
    /// those were of; `None` where what was undone is no part of it: it was older, or stands.
    fn with_meanwhile(
        &self,
        unit: &[CheckpointId],
        over: Moment,
        infos: &BTreeMap<CheckpointId, CheckpointInfo>,
    ) -> Result<Option<Vec<CheckpointId>>, JournalError> {
        let mut parts = BTreeMap::new();
        for id in unit {
            parts.insert(*id, self.image(*id)?);
        }
        let mut meanwhile = Meanwhile { journal: self, infos, parts, over };
        while let Some(undo) = meanwhile.next()? {
            let Some(undo) = undo else { return Ok(None) };
            if !meanwhile.take_in(&undo)? {
                return Ok(None);
            }
        }
        Ok(Some(meanwhile.parts.into_keys().collect()))
    }
}

impl Unit {
    fn of(id: CheckpointId) -> Self {
        Self { ids: vec![id], newest: id }
    }
}

impl Meanwhile<'_> {
    /// Returns an undo or a redo that is not taken in and touched the same while these calls ran; nothing in it
    /// where nobody knows what it was of.
    fn next(&self) -> Result<Option<Option<Undo>>, JournalError> {
        let Some((first, _)) = self.parts.first_key_value() else { return Ok(None) };
        for (id, info) in self.infos.range(*first..).filter(|(_, info)| info.is_of_undo()) {
            let is_known = self.parts.contains_key(id) || self.is_nothing(info);
            if is_known || self.journal.began(*id)? >= self.over {
                continue;
            }
            let image = self.journal.image(*id)?;
            if self.parts.values().any(|part| image.shares(part, &self.journal.store)) {
                return Ok(Some(self.calls_of(*id).map(|of| Undo { id: *id, of })));
            }
        }
        Ok(None)
    }

    /// Whether it is an undo that was taken back as soon as it was seen that it cannot be done, or that.
    fn is_nothing(&self, info: &CheckpointInfo) -> bool {
        let by = match info.state {
            CheckpointState::Undone { by } => self.infos.get(&by),
            _ => None,
        };
        is_try(info) || by.is_some_and(is_try)
    }

    /// Returns the calls that an undo or a redo is of; `None` where one of them is not kept any more.
    fn calls_of(&self, undo: CheckpointId) -> Option<BTreeSet<CheckpointId>> {
        let (mut calls, mut next) = (BTreeSet::new(), vec![undo]);
        while let Some(id) = next.pop() {
            match &self.infos.get(&id)?.kind {
                CheckpointKind::Undo { of } => next.extend(of),
                CheckpointKind::Call => drop(calls.insert(id)),
            }
        }
        Some(calls)
    }

    /// Takes in an undo or a redo with its calls. Returns whether that can be: each is one of these, or ran beside
    /// them and was undone meanwhile, and nothing was left as it was.
    fn take_in(&mut self, undo: &Undo) -> Result<bool, JournalError> {
        let Some((first, _)) = self.parts.first_key_value() else { return Ok(false) };
        let (first, journal) = (*first, self.journal);
        if !journal.kept_by(undo.id)?.is_empty() {
            return Ok(false);
        }
        let mut new = vec![(undo.id, journal.image(undo.id)?)];
        for id in undo.of.iter().filter(|id| !self.parts.contains_key(id)) {
            let image = journal.image(*id)?;
            let Some(over) = journal.over(*id, &image)? else { return Ok(false) };
            if !self.is_undone_meanwhile(*id)?
                || *id < first && !journal.is_beside(first, &[*id], over)
            {
                return Ok(false);
            }
            new.push((*id, image));
        }
        for (id, image) in new {
            self.over = journal.over(id, &image)?.map_or(self.over, |over| self.over.max(over));
            self.parts.insert(id, image);
        }
        Ok(true)
    }

    /// Whether the last that became of a call while the others ran is that it was undone.
    fn is_undone_meanwhile(&self, call: CheckpointId) -> Result<bool, JournalError> {
        let Some(CheckpointState::Undone { by }) = self.infos.get(&call).map(|info| info.state)
        else {
            return Ok(false);
        };
        Ok(self.journal.began(by)? < self.over)
    }
}
