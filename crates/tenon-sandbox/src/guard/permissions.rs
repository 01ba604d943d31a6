//! Puts permissions of protected folders back: who may write there can exchange what is in them, and
//! the kernel's walls hold what is in files, not who may write them.
//!
//! A rule that names a file in such a folder is none for the folder.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::folder::{look_at, open_folder_at};
use super::item::Item;
use super::place::Place;
use super::{Guard, ProtectedChange, ProtectedChangeKind};
use crate::linux::closed::set;

impl Guard {
    /// Puts back permissions of folders that were there before the commands, also of those that went
    /// elsewhere with what is in them, and says so in what is there `after`.
    pub(super) fn put_back_permissions(
        &self,
        after: &mut BTreeMap<Place, Item>,
    ) -> Vec<ProtectedChange> {
        // Where a file was, a folder is nothing of it.
        let was_file = |place: &Place| self.before.get(place).is_some_and(|it| !it.is_folder());
        after.retain(|place, item| !item.is_folder() || !was_file(place));
        let changed: Vec<(Place, u32)> = {
            let moved = LazyCell::new(|| self.moved(after));
            let mode = |place: &Place| {
                let before = self.before.get(place);
                let before = before.or_else(|| self.before.get(moved.get(place)?));
                // One that commands of now made, a look can have found before it was done.
                before.filter(|it| it.is_folder() && !it.is_made).map(|before| before.mode)
            };
            let folders = after.iter().filter(|(_, item)| item.is_folder());
            let changed = folders.filter_map(|(place, item)| {
                let mode = mode(place).filter(|mode| *mode != item.mode)?;
                (!self.is_frozen(&place.path())).then(|| (place.clone(), mode))
            });
            changed.collect()
        };
        let mut changes = Vec::new();
        for (place, mode) in changed {
            changes.push(ProtectedChange {
                path: place.path(),
                kind: ProtectedChangeKind::Permissions,
                found: None,
                by_name: place.listed().is_some(),
                put_back: self.put_permissions(&place, mode).is_ok(),
            });
            after.entry(place).and_modify(|item| item.mode = mode);
        }
        changes
    }

    /// Sets the permissions of a folder, which are saved for undo first.
    fn put_permissions(&self, place: &Place, mode: u32) -> Result<(), Errno> {
        let path = place.path();
        let names = path.parent().zip(path.file_name());
        if let (Some(checkpoint), Some((folder, name))) = (self.checkpoints.last(), names) {
            // What cannot be saved must go all the same.
            let _ = checkpoint.before_rights(folder, name);
        }
        let folder = look_at(&open_folder_at(place.root())?, place.beneath())?;
        let is_folder = |mode| FileType::from_raw_mode(mode).is_dir();
        if !is_folder(rustix::fs::fstat(&folder)?.st_mode) {
            return Err(Errno::NOTDIR);
        }
        set(&folder, mode)
    }
}
