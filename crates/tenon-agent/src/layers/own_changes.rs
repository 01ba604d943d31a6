//! What a command wrote itself, by its change list in the journal. Names alone: what somebody else wrote
//! into the same file meanwhile counts as the command's, as it does for undo.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use tenon_sandbox::{Change, ChangeKind, CheckpointId, Journal, Trouble};

use crate::event::CallChanges;

/// What a command wrote, by absolute paths.
#[derive(Debug, Default)]
pub(super) struct OwnChanges {
    files: BTreeSet<PathBuf>,
    /// With all that is in them.
    folders: BTreeSet<PathBuf>,
}

impl OwnChanges {
    /// Returns what a call wrote that `changed` says all of, in a workspace whose first folder is `root`;
    /// `None` where nobody knows.
    pub(super) fn of(journal: &Journal, changed: &[CallChanges], root: &Path) -> Option<Self> {
        let mut own = Self::default();
        for changes in changed {
            let changes = journal.changes(CheckpointId::new(changes.checkpoint?)).ok()?;
            if changes.troubles.iter().any(leaves_gaps) {
                return None;
            }
            own.folders.extend(changes.left_out.iter().map(|left_out| root.join(&left_out.path)));
            changes.files.iter().for_each(|change| own.take(change, root));
        }
        Some(own)
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.files.contains(path) || path.ancestors().any(|folder| self.folders.contains(folder))
    }

    fn take(&mut self, change: &Change, root: &Path) {
        let path = root.join(&change.path);
        match &change.kind {
            ChangeKind::Mode | ChangeKind::Times => self.files.insert(path),
            ChangeKind::Renamed { from, .. } => {
                self.folders.insert(root.join(from));
                self.folders.insert(path)
            }
            _ => self.folders.insert(path),
        };
    }
}

/// Whether a command may have written more than the list says, or others wrote what it says.
fn leaves_gaps(trouble: &Trouble) -> bool {
    !matches!(trouble, Trouble::Refused { .. } | Trouble::Forbidden { .. })
}
