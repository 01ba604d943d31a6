//! What forbids an undo, or was left as it was, as people read it: with the later call that changed it, if it was
//! one.

use std::path::{Path, PathBuf};

use tenon_model::written_out;
use tenon_sandbox::{
    ChangeKind, Changes, CheckpointId, CheckpointInfo, CheckpointState, Conflict as Found,
    ConflictReason,
};

use super::{Call, Past, in_line, shown};
use crate::{
    masked::asked,
    texts::{Language, Sentence, Text},
};

/// Something that is not as a call left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) path: PathBuf,
    pub(crate) reason: ConflictReason,
    /// The call that changed it; nothing where a person did, or nobody knows.
    pub(crate) by: Option<By>,
}

/// A call that changed what another was to have back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct By {
    who: Who,
    /// It still runs.
    runs: bool,
    /// What became of it, if it moved it, or a folder above it.
    moved: Option<Moved>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Moved {
    /// It is there now; later calls may have moved it on.
    To(PathBuf),
    /// It is not where calls moved it.
    Away,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Who {
    /// Of this session.
    Step(u32),
    /// Another session's.
    Session(String),
}

impl Past {
    /// Says which calls still run, of which an undo takes nothing back.
    pub(crate) fn still_running(&self) -> Option<Sentence> {
        let calls = running(&self.calls().ok()?)?;
        Some(Text::StillRuns.with(&[("calls", &calls)]))
    }

    /// Adds which calls made the conflicts that an undo of `undone` met.
    pub(super) fn named_by(&self, found: Vec<Found>, undone: &[CheckpointId]) -> Vec<Conflict> {
        let by = self.journal.changed_by(&found, undone);
        // Who it was helps, and is not needed.
        let infos = self.journal.checkpoints().unwrap_or_default();
        let steps = self.steps();
        let named = |id: CheckpointId, path: &Path| {
            let info = infos.iter().find(|info| info.id == id)?;
            let call_id = info.name.split('\t').next().unwrap_or_default();
            let who = match info.session == self.session {
                true => Who::Step(steps.of(id, call_id)?),
                false => Who::Session(info.session.clone()),
            };
            let runs = info.state == CheckpointState::Running;
            let stands = |call: &&CheckpointInfo| {
                !matches!(call.state, CheckpointState::Undone { .. }) && !undone.contains(&call.id)
            };
            let since = |call: &&CheckpointInfo| undone.iter().min().is_none_or(|it| call.id > *it);
            let moved = self.moved(path, infos.iter().filter(since).filter(stands));
            Some(By { who, runs, moved })
        };
        let named = found.into_iter().zip(by).map(|(Found { path, reason }, by)| {
            let by = by.and_then(|id| named(id, &path));
            Conflict { path, reason, by }
        });
        named.collect()
    }

    /// Returns what became of something that was at `path` before `calls`, oldest first, if one of them moved it.
    fn moved<'a>(
        &self,
        path: &Path,
        calls: impl Iterator<Item = &'a CheckpointInfo>,
    ) -> Option<Moved> {
        let moved = |at: Option<PathBuf>, call: &CheckpointInfo| {
            let changes = self.journal.changes_so_far(call.id).ok();
            let to = changes.and_then(|changes| moved_to(&changes, at.as_deref().unwrap_or(path)));
            to.or(at)
        };
        let at = calls.fold(None, moved)?;
        let is_there = self.root.join(&at).symlink_metadata().is_ok();
        Some(if is_there { Moved::To(at) } else { Moved::Away })
    }
}

/// Returns which name a call gave something, or has by a folder above it.
fn moved_to(changes: &Changes, path: &Path) -> Option<PathBuf> {
    let renamed = changes.files.iter().filter_map(|change| match &change.kind {
        ChangeKind::Renamed { from, .. } => Some((from, path.strip_prefix(from).ok()?, change)),
        _ => None,
    });
    // What was moved in a folder that was moved is in the list by itself.
    let (_, rest, change) = renamed.max_by_key(|(from, ..)| from.as_os_str().len())?;
    // Joined with nothing it would end with a slash.
    let is_itself = rest.as_os_str().is_empty();
    Some(if is_itself { change.path.clone() } else { change.path.join(rest) })
}

impl From<Found> for Conflict {
    fn from(Found { path, reason }: Found) -> Self {
        Self { path, reason, by: None }
    }
}

impl Conflict {
    fn said(&self, language: Language) -> String {
        let by = self.by.as_ref();
        let moved = by.and_then(|by| by.moved.as_ref());
        let text = match (self.reason, by.map(|by| by.runs)) {
            (ConflictReason::Deleted, Some(runs)) if let Some(moved) = moved => match (moved, runs)
            {
                (Moved::To(_), false) => Text::ConflictMovedBy,
                (Moved::To(_), true) => Text::ConflictMovedByRunning,
                (Moved::Away, false) => Text::ConflictMovedAwayBy,
                (Moved::Away, true) => Text::ConflictMovedAwayByRunning,
            },
            (ConflictReason::Changed, None) => Text::ConflictChanged,
            (ConflictReason::Changed, Some(false)) => Text::ConflictChangedBy,
            (ConflictReason::Changed, Some(true)) => Text::ConflictChangedByRunning,
            (ConflictReason::Deleted, None) => Text::ConflictDeleted,
            (ConflictReason::Deleted, Some(false)) => Text::ConflictDeletedBy,
            (ConflictReason::Deleted, Some(true)) => Text::ConflictDeletedByRunning,
            (ConflictReason::Created, None) => Text::ConflictCreated,
            (ConflictReason::Created, Some(false)) => Text::ConflictCreatedBy,
            (ConflictReason::Created, Some(true)) => Text::ConflictCreatedByRunning,
            (ConflictReason::NotKept, None) => Text::ConflictNotKept,
            (ConflictReason::NotKept, Some(false)) => Text::ConflictNotKeptBy,
            (ConflictReason::NotKept, Some(true)) => Text::ConflictNotKeptByRunning,
            (ConflictReason::Needed, _) => Text::ConflictNeeded,
            (ConflictReason::Held, _) => Text::ConflictHeld,
            (ConflictReason::Protected, _) => Text::ConflictProtected,
        };
        let who = match by.map(|by| &by.who) {
            None => String::new(),
            Some(Who::Step(step)) => Text::WhoStep.say(language, &[("step", step)]),
            Some(Who::Session(id)) => Text::WhoSession.say(language, &[("id", &shown(id))]),
        };
        let to = match moved {
            Some(Moved::To(path)) => shown(&path.to_string_lossy()),
            Some(Moved::Away) | None => String::new(),
        };
        text.say(language, &[("who", &who), ("to", &to)])
    }
}

/// Whether all of the conflicts can be put back, should a person say so.
pub(crate) fn can_overwrite(conflicts: &[Conflict]) -> bool {
    conflicts.iter().all(|conflict| conflict.reason != ConflictReason::NotKept)
}

/// Returns the conflicts, a line each.
pub(crate) fn listed(conflicts: &[Conflict], language: Language) -> String {
    lines(conflicts, shown, language)
}

/// Returns the conflicts, a line each, as a question shows them.
pub(crate) fn listed_asked(conflicts: &[Conflict], language: Language) -> String {
    lines(conflicts, |path| in_line(&written_out(&asked(path))), language)
}

fn lines(conflicts: &[Conflict], name: impl Fn(&str) -> String, language: Language) -> String {
    let line = |conflict: &Conflict| {
        let path = name(&conflict.path.to_string_lossy());
        format!("  {path} ({})\n", conflict.said(language))
    };
    conflicts.iter().map(line).collect()
}

/// Names the calls that still run.
pub(super) fn running(calls: &[Call]) -> Option<String> {
    let runs = calls.iter().filter(|call| call.state == CheckpointState::Running);
    let labels: Vec<String> = runs.map(|call| shown(&call.label)).collect();
    (!labels.is_empty()).then(|| labels.join(", "))
}
