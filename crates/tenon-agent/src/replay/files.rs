//! What calls changed in the workspace of a replay, and taking back what was undone in the recording.
//!
//! A call that was cut short is not run: what it had changed is made instead, outside of the journal.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use tenon_sandbox::{CheckpointId, CheckpointInfo, CheckpointState, Conflicts, Journal, Undone};

use super::{
    ChangesOfCall,
    recording::{Changed, RecordedUndo},
};
use crate::event::CallChanges;

/// What the undos of a replay belong to in its journal.
const SESSION: &str = "replay";

/// What calls changed here.
#[derive(Default)]
pub(super) struct Files {
    /// Makes what a call had changed that is not run.
    make: Option<ChangesOfCall>,
    /// Calls of which that was made.
    made: HashSet<String>,
    /// A call that was cut short, and what it had changed that is not made here.
    lost: Option<(String, String)>,
    /// How many changes each call told of, and the checkpoint of each.
    told: HashMap<String, usize>,
    checkpoints: HashMap<Changed, CheckpointId>,
    /// Undos as they were recorded, and what did the same here, in order.
    undos: HashMap<u64, Vec<Done>>,
}

/// Something that was done here and can be taken back.
#[derive(Debug, Clone)]
enum Done {
    Checkpoint(CheckpointId),
    /// What a call had changed that is not run.
    Made(String),
}

impl Files {
    pub(super) fn new(make: Option<ChangesOfCall>) -> Self {
        Self { make, ..Self::default() }
    }

    /// Takes in what a call changed.
    pub(super) fn changed(&mut self, changes: &CallChanges) {
        let told = self.told.entry(changes.call_id.clone()).or_default();
        let changed = (changes.call_id.clone(), *told);
        *told += 1;
        let checkpoint = changes.checkpoint.map(CheckpointId::new);
        self.checkpoints.extend(checkpoint.map(|id| (changed, id)));
    }

    /// Makes what a call had changed that was cut short, or remembers that it is not made.
    pub(super) fn make(&mut self, call_id: &str, changes: Option<&CallChanges>) {
        let call_id = call_id.to_owned();
        if self.exchange(&call_id) {
            self.made.insert(call_id);
        } else {
            self.lose(&call_id, changes);
        }
    }

    /// Remembers that what a call had changed that was cut short is not made.
    pub(super) fn lose(&mut self, call_id: &str, changes: Option<&CallChanges>) {
        let unknown = || "it is not known what".to_owned();
        let lost = changes.map_or_else(unknown, |changes| changes.summary.clone());
        self.lost = Some((call_id.to_owned(), lost));
    }

    /// Takes back in `journal` what the job of a call changed `here`, and makes what it had changed there.
    pub(super) fn cut(
        &mut self,
        (call_id, changes): (&str, Option<&CallChanges>),
        here: Option<CallChanges>,
        journal: Option<&Journal>,
        everywhere: &[PathBuf],
    ) {
        if let Some(here) = here {
            let id = here.checkpoint.map(|id| Done::Checkpoint(CheckpointId::new(id)));
            let overwrite = Conflicts::Overwrite(everywhere.to_vec());
            let undone = id.zip(journal).and_then(|(id, it)| self.take_back(id, it, &overwrite));
            if undone.is_none() {
                return self.lose(call_id, changes);
            }
        }
        self.checkpoints.retain(|(known, _), _| known != call_id);
        self.make(call_id, changes);
    }

    fn exchange(&self, call_id: &str) -> bool {
        self.make.as_ref().is_some_and(|make| make(call_id))
    }

    /// Returns what a call had changed that was cut short, if that is missing here.
    pub(super) fn take_lost(&mut self) -> Option<String> {
        self.lost.take().map(|(_, lost)| lost)
    }

    /// Undoes in `journal`, that of the replay, what the undo `by` took back; `recorded` has whose
    /// the checkpoints of the recording are. Fails with why that is not possible.
    pub(super) fn undo(
        &mut self,
        RecordedUndo { by, of, idle }: &RecordedUndo,
        recorded: &HashMap<u64, Changed>,
        journal: &Journal,
        everywhere: &[PathBuf],
    ) -> Result<(), &'static str> {
        let idle: HashMap<u64, &str> =
            idle.iter().map(|call| (call.checkpoint, call.call_id.as_str())).collect();
        let mut newest_first: Vec<u64> = of.iter().chain(idle.keys()).copied().collect();
        newest_first.sort_unstable_by(|one, other| other.cmp(one));
        let mut done = Vec::new();
        for id in newest_first {
            if let Some(call_id) = idle.get(&id) {
                done.extend(idle_here(call_id, journal).map(Done::Checkpoint));
                continue;
            }
            let changed = recorded.get(&id);
            let here = changed.and_then(|changed| self.checkpoints.get(changed));
            match (self.undos.get(&id), here, changed) {
                (Some(undo), ..) => done.extend(undo.iter().rev().cloned()),
                (_, Some(here), _) => done.push(Done::Checkpoint(*here)),
                (.., Some((call_id, _))) if self.made.contains(call_id) => {
                    done.push(Done::Made(call_id.clone()));
                }
                // It was not run, or changed nothing.
                (.., Some((call_id, _))) => {
                    self.lost = self.lost.take().filter(|(lost, _)| lost != call_id);
                }
                _ => return Err("what was undone in between is not in the log"),
            }
        }
        // What a person had changed meanwhile is not in the copy.
        let overwrite = Conflicts::Overwrite(everywhere.to_vec());
        let undone: Option<Vec<Done>> =
            done.into_iter().map(|done| self.take_back(done, journal, &overwrite)).collect();
        self.undos.insert(*by, undone.ok_or("what was undone in between cannot be undone here")?);
        Ok(())
    }

    /// Returns what takes this back again; `None` if it cannot be taken back.
    fn take_back(&self, done: Done, journal: &Journal, conflicts: &Conflicts) -> Option<Done> {
        match done {
            Done::Checkpoint(id) => match journal.undo(&[id], SESSION, conflicts) {
                Ok(Undone::Done { id, .. }) => Some(Done::Checkpoint(id)),
                Ok(Undone::Conflicts(_)) | Err(_) => None,
            },
            Done::Made(call_id) => self.exchange(&call_id).then_some(Done::Made(call_id)),
        }
    }
}

/// Returns the checkpoint of a call of which no list speaks; none if it changed nothing here.
fn idle_here(call_id: &str, journal: &Journal) -> Option<CheckpointId> {
    let infos = journal.checkpoints().ok()?;
    let is_done = |info: &&CheckpointInfo| {
        info.state == CheckpointState::Done
            && info.name.split('\t').next() == Some(call_id)
            && journal.is_idle(info.id)
    };
    infos.iter().rfind(is_done).map(|info| info.id)
}
