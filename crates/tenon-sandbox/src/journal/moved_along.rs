//! What somebody put into a folder that a call had moved, or changed there: an undo moves the folder back
//! with everything in it, and says what went along.

use std::path::PathBuf;

use super::record::{Image, Place};
use super::since::Undoing;
use super::{CheckpointId, Journal, JournalError};

/// So many files are named.
const NAMED_MAX: usize = 100;

impl Journal {
    /// Returns where the first files are now that an undo or a redo moved along with their folders, though others
    /// had made or changed them since.
    ///
    /// # Errors
    /// [`JournalError::Unknown`] and the like.
    ///
    /// ```
    /// use tenon_sandbox::{CheckpointId, Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// assert!(journal.moved_by(CheckpointId::new(1)).is_ok_and(|moved| moved.is_empty()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn moved_by(&self, id: CheckpointId) -> Result<Vec<PathBuf>, JournalError> {
        let end = self.store.read_end(id).map_err(Self::unknown(id))?;
        Ok(end.map(|end| end.moved).unwrap_or_default())
    }

    /// Returns where such files will be.
    pub(super) fn moved_along(
        &self,
        image: &Image,
        undoing: &Undoing<'_>,
    ) -> Result<Vec<Place>, JournalError> {
        let mut along = Vec::new();
        for (id, at) in image.end.iter().flat_map(|end| &end.left_at) {
            let Some(old) = image.nodes.get(id).filter(|old| old.node.is_folder()) else {
                continue;
            };
            // What is left is not moved.
            let is_left = undoing.left.iter().any(|left| left.is_at(at));
            if old.place == *at || old.moved.is_empty() || old.place.is_in_store() || is_left {
                continue;
            }
            let theirs = self.theirs_beneath(at, image, undoing, |_| true)?.unwrap_or_default();
            along.extend(theirs.iter().filter_map(|place| {
                Some(old.place.join(place.path.strip_prefix(&at.path).ok()?.as_os_str()))
            }));
        }
        along.sort_unstable();
        along.dedup();
        along.truncate(NAMED_MAX);
        Ok(along)
    }
}
