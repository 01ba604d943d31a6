//! What is undone and redone, so that the files are as they were at an earlier moment of a session. Pure:
//! it looks at what is known of checkpoints, and at no files.
//!
//! Whatever the session did since is taken back, the newest first: calls, and undos, whose calls then
//! stand again and are taken back in their turn. What came to nothing in between (calls, and then undos
//! of just these in their order) is left as it is. Out of that order nothing is: the times of folders
//! may be others.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::undo::TAKE_BACK;
use super::{CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, JournalError};

/// What leads back to an earlier moment of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WayBack {
    /// The calls and undos for one [`super::Journal::undo`], the newest first.
    pub ids: Vec<CheckpointId>,
    /// The calls that stand now and then do not, the newest first.
    pub undone: Vec<CheckpointId>,
    /// The calls that are undone now and then stand, the oldest first.
    pub redone: Vec<CheckpointId>,
}

impl WayBack {
    /// Returns the way to before all that `is_since` names of `session`. `infos` are all checkpoints of
    /// the workspace ([`super::Journal::checkpoints`]). What other sessions did stands.
    ///
    /// # Errors
    /// [`JournalError::Unknown`] for a call that would have to be undone and is not kept any more: it was
    /// undone together with an earlier one, which is to be redone.
    ///
    /// ```
    /// use tenon_sandbox::{CheckpointId, Conflicts, Journal, JournalOptions, WayBack, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// let infos = journal.checkpoints()?;
    /// let way = WayBack::find(&infos, "session", |id| id >= CheckpointId::new(3))?;
    /// if !way.ids.is_empty() {
    ///     journal.undo(&way.ids, "session", &Conflicts::Refuse)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find(
        infos: &[CheckpointInfo],
        session: &str,
        is_since: impl Fn(CheckpointId) -> bool + Copy,
    ) -> Result<Self, JournalError> {
        let timeline = Timeline::of(infos, session, is_since);
        let ids = timeline.way_back();
        let kept: HashSet<CheckpointId> = infos.iter().map(|info| info.id).collect();
        let gone = |id: &&CheckpointId| is_since(**id) && !kept.contains(id);
        let mut undos = timeline.entries.iter().filter(|info| ids.contains(&info.id));
        if let Some(id) = undos.find_map(|info| info.took_back().iter().find(gone)) {
            return Err(JournalError::Unknown { id: *id });
        }
        let then = undone_then(infos, &ids);
        let mut way = Self { ids, ..Self::default() };
        for info in infos.iter().rev().filter(|info| info.kind == CheckpointKind::Call) {
            match (info.state, then.contains(&info.id)) {
                (CheckpointState::Done | CheckpointState::Interrupted, true) => {
                    way.undone.push(info.id);
                }
                (CheckpointState::Undone { .. }, false) => way.redone.push(info.id),
                _ => {}
            }
        }
        way.redone.reverse();
        Ok(way)
    }
}

/// What a session did since a moment, and how the files were before and after each, as numbers: the
/// same number is the same files. There is one more than entries.
struct Timeline<'a> {
    entries: Vec<&'a CheckpointInfo>,
    files: Vec<usize>,
}

impl<'a> Timeline<'a> {
    fn of(
        infos: &'a [CheckpointInfo],
        session: &str,
        is_since: impl Fn(CheckpointId) -> bool,
    ) -> Self {
        // What was half done and taken back was never done.
        let attempts = infos.iter().filter(|info| info.is_take_back());
        let half_done: HashSet<CheckpointId> =
            attempts.flat_map(|info| info.took_back()).copied().collect();
        let is_entry = |info: &&CheckpointInfo| {
            info.session == session
                && is_since(info.id)
                && info.is_over()
                && !info.is_take_back()
                && !half_done.contains(&info.id)
        };
        let entries: Vec<&CheckpointInfo> = infos.iter().filter(is_entry).collect();
        let mut files = vec![0];
        let mut around: HashMap<CheckpointId, (usize, usize)> = HashMap::new();
        let mut now = 0;
        for (number, info) in (1..).zip(&entries) {
            let before = now;
            let mut newest_first = info.took_back().to_vec();
            newest_first.sort_unstable_by(|one, other| other.cmp(one));
            let back = newest_first.iter().try_fold(before, |now, id| {
                around.get(id).filter(|(_, after)| *after == now).map(|(before, _)| *before)
            });
            now = back.filter(|_| info.is_of_undo()).unwrap_or(number);
            around.insert(info.id, (before, now));
            files.push(now);
        }
        Self { entries, files }
    }

    /// Returns what is taken back, the newest first.
    fn way_back(&self) -> Vec<CheckpointId> {
        let (mut way, mut at) = (Vec::new(), self.entries.len());
        loop {
            let now = self.files.get(at);
            let is_same =
                |earlier: &usize| self.files.get(*earlier) == now && self.is_apart(*earlier, at);
            at = (0..at).find(is_same).unwrap_or(at);
            let Some(before) = at.checked_sub(1) else { return way };
            way.extend(self.entries.get(before).map(|info| info.id));
            at = before;
        }
    }

    /// Whether what was done between two moments took nothing back but what was done there.
    fn is_apart(&self, from: usize, until: usize) -> bool {
        let between = self.entries.get(from..until).unwrap_or_default();
        let own: HashSet<CheckpointId> = between.iter().map(|info| info.id).collect();
        let mut undone: HashSet<CheckpointId> = HashSet::new();
        between.iter().rev().all(|info| {
            if undone.contains(&info.id) {
                return true;
            }
            undone.extend(info.took_back());
            info.took_back().iter().all(|id| own.contains(id))
        })
    }
}

/// Returns what is undone once `ids` are.
fn undone_then(infos: &[CheckpointInfo], ids: &[CheckpointId]) -> HashSet<CheckpointId> {
    let mut undone: HashSet<CheckpointId> = ids.iter().copied().collect();
    for info in infos.iter().rev().filter(|info| info.is_over()) {
        if !undone.contains(&info.id) {
            undone.extend(info.took_back());
        }
    }
    undone
}

impl CheckpointInfo {
    /// Whether it is done, or was before it was undone; a half-done undo is not.
    fn is_over(&self) -> bool {
        match self.state {
            CheckpointState::Running => false,
            CheckpointState::Interrupted => !self.is_of_undo(),
            CheckpointState::Done | CheckpointState::Undone { .. } => true,
        }
    }

    fn took_back(&self) -> &[CheckpointId] {
        match &self.kind {
            CheckpointKind::Call => &[],
            CheckpointKind::Undo { of } => of,
        }
    }

    fn is_take_back(&self) -> bool {
        self.name.starts_with(TAKE_BACK)
    }
}

/// One that was undone by one that stands is undone. Later ones decide over earlier ones; those in `but`
/// are about to be undone themselves, and count as if they were.
pub(super) fn mark_undone(infos: &mut [CheckpointInfo], but: &BTreeSet<CheckpointId>) {
    for index in (0..infos.len()).rev() {
        let Some(CheckpointInfo { id: by, kind: CheckpointKind::Undo { of }, state, .. }) =
            infos.get(index).cloned()
        else {
            continue;
        };
        // A half-done undo is taken back before the next.
        if state != CheckpointState::Done || but.contains(&by) {
            continue;
        }
        for info in infos.iter_mut().filter(|info| of.contains(&info.id)) {
            if matches!(info.state, CheckpointState::Done | CheckpointState::Interrupted) {
                info.state = CheckpointState::Undone { by };
            }
        }
    }
}
