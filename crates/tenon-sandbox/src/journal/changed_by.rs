//! Which call changed what conflicts with an undo: a later one whose list of changes names it, or one that still
//! runs. What somebody else changed after that is nobody's.

use std::collections::HashMap;
use std::path::Path;

use super::changes::{Change, ChangeKind};
use super::compare::compare_image;
use super::conflicts::{Conflict, ConflictReason};
use super::find::node_at;
use super::node::Moment;
use super::record::{End, Place, State};
use super::state::is_same;
use super::store::Store;
use super::{CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Journal};

/// A call that may have made a conflict.
struct Changer {
    id: CheckpointId,
    /// When it was over; nothing while it runs.
    over: Option<Moment>,
    end: End,
    /// What it left and an undo of a call beside it put back.
    back: HashMap<Place, State>,
}

impl Journal {
    /// Says of each of the conflicts that an undo of `undone` met which call changed it last, as far as one did:
    /// none of these, of whichever session, and one that is over left it as it is now.
    ///
    /// What cannot be read is no call's.
    ///
    /// ```
    /// use tenon_sandbox::{Conflict, ConflictReason, Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// let conflict = Conflict { path: "a.txt".into(), reason: ConflictReason::Changed };
    /// assert_eq!(journal.changed_by(&[conflict], &[]), [None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn changed_by(
        &self,
        conflicts: &[Conflict],
        undone: &[CheckpointId],
    ) -> Vec<Option<CheckpointId>> {
        let journal = self.reaching(undone);
        let over =
            undone.iter().filter_map(|id| journal.over(*id, &journal.image(*id).ok()?).ok()?);
        let oldest = over.min();
        let infos = self.checkpoints().unwrap_or_default();
        let others = infos.iter().filter(|info| !undone.contains(&info.id));
        let mut changers: Vec<Changer> = others.filter_map(|info| journal.changer(info)).collect();
        changers.retain(|changer| changer.over.is_none() || changer.over > oldest);
        // The last first, and before it those that run.
        changers.sort_by_key(|changer| {
            std::cmp::Reverse((changer.over.is_none(), changer.over, changer.id))
        });
        let by = |conflict: &Conflict| {
            let is_theirs = matches!(
                conflict.reason,
                ConflictReason::Changed
                    | ConflictReason::Deleted
                    | ConflictReason::Created
                    | ConflictReason::NotKept
            );
            let place = journal.store.place_of(&conflict.path).filter(|_| is_theirs)?;
            let mut named = changers.iter().filter(|changer| changer.names(&journal.store, &place));
            let left = named.clone().find(|changer| journal.has_left(changer, &place));
            left.or_else(|| named.find(|it| journal.has_back(it, &place))).map(|it| it.id)
        };
        conflicts.iter().map(by).collect()
    }

    fn changer(&self, info: &CheckpointInfo) -> Option<Changer> {
        let id = info.id;
        if info.kind != CheckpointKind::Call {
            return None;
        }
        match info.state {
            CheckpointState::Running => {
                let image = self.image(id).ok()?;
                let end = compare_image(&self.store, &image, id);
                Some(Changer { id, over: None, end, back: HashMap::new() })
            }
            CheckpointState::Undone { .. } => None,
            CheckpointState::Done | CheckpointState::Interrupted => {
                let image = self.image(id).ok()?;
                let over = self.over(id, &image).ok()?;
                let back = self.put_back_beside(id, &image).ok()?;
                Some(Changer { id, over, end: *image.end?, back })
            }
        }
    }

    /// Whether something is as a call that is over left it; of one that runs nobody knows.
    fn has_left(&self, changer: &Changer, place: &Place) -> bool {
        if changer.over.is_none() {
            return true;
        }
        let now = node_at(&self.store, place).ok().flatten();
        match changer.end.after.iter().find(|(at, _)| at == place) {
            Some((_, state)) => is_same(&self.store, place, state, now.as_ref()),
            None => now.is_none(),
        }
    }

    fn has_back(&self, changer: &Changer, place: &Place) -> bool {
        let now = node_at(&self.store, place).ok().flatten();
        let back = changer.back.get(place);
        back.is_some_and(|state| is_same(&self.store, place, state, now.as_ref()))
    }
}

impl Changer {
    fn names(&self, store: &Store, place: &Place) -> bool {
        let path = store.shown(place);
        self.end.changes.files.iter().any(|change| names(change, &path))
    }
}

/// Whether a change is one of this, or of a folder that it was in.
fn names(change: &Change, path: &Path) -> bool {
    let from = match &change.kind {
        ChangeKind::Renamed { from, .. } => Some(from),
        _ => None,
    };
    path == change.path
        || from.is_some_and(|from| path.starts_with(from))
        || path.starts_with(&change.path)
            && matches!(change.kind, ChangeKind::Created | ChangeKind::Deleted)
}
