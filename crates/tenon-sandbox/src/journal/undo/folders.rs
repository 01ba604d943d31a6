//! Gives folders their permissions, owners, times and attributes back, once all names are.

use std::ffi::OsStr;

use rustix::io::Errno;

use super::{Failure, Undoing};
use crate::journal::node::{NodeId, look};
use crate::journal::record::Old;
use crate::journal::recorder::Folder;
use crate::journal::spot::Spot;

impl Undoing<'_> {
    pub(super) fn restore_folders(&mut self) -> Result<(), Failure> {
        let folders = self.image.nodes.values().filter(|old| old.node.is_folder());
        let mut folders: Vec<&Old> = folders.collect();
        // Who closes a folder before those in it finds them no more.
        let depth = |old: &&Old| self.spots.get(&old.node.id).map_or(0, Spot::depth);
        folders.sort_by_cached_key(|old| std::cmp::Reverse(depth(old)));
        for old in folders {
            let fail = |errno| Failure { place: old.place.clone(), errno };
            let folder = self.folder(old.node.id).map_err(fail)?;
            let folder = folder.filter(|folder| !self.is_kept_folder(old, folder.id));
            let Some(folder) = folder else { continue };
            self.restore_folder(old, &folder).map_err(fail)?;
        }
        Ok(())
    }

    /// Whether the permissions of a folder, or of what is in its place, stay.
    pub(super) fn is_kept_folder(&self, old: &Old, actual: NodeId) -> bool {
        self.kept.iter().any(|left| left.place == old.place)
            || self.untouched.contains(&actual)
            || self.spots.get(&old.node.id).is_some_and(|spot| self.is_in_left(spot))
    }

    fn restore_folder(&mut self, old: &Old, folder: &Folder) -> Result<(), Errno> {
        let empty = OsStr::new("");
        let Some(mut now) = look(&folder.handle, empty)? else { return Ok(()) };
        now.complete(&folder.handle, empty)?;
        if old.node.has_same_rights(&now) && old.node.modified == now.modified {
            return Ok(());
        }
        let step = self.to.before_rights(folder, empty)?;
        self.finish_step(step)?;
        old.node.apply(&folder.handle, empty)
    }
}
