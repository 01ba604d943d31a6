//! What somebody put into a folder that a call had moved, or changed there: an undo moves the folder back
//! with everything in it, and says what went along.

use super::record::{Image, Place};
use super::since::Undoing;
use super::{Journal, JournalError};

/// So many files are named.
const NAMED_MAX: usize = 100;

impl Journal {
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
            if old.place == *at || old.moved.is_empty() || is_left {
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
