//! Where folders were before the call, which may have moved them, and folders above them.

use super::find::node_at;
use super::record::Place;
use super::recorder::{Folder, Recorder};

impl Recorder {
    /// Returns where something was before an undo of several calls began, that is at `place` by now.
    pub(super) fn at_first(&self, place: &Place) -> Place {
        if !self.has_moved {
            return place.clone();
        }
        let known = || self.image.nodes.get(&node_at(&self.store, place).ok()??.id);
        if let Some(old) = known().filter(|old| !old.place.is_in_store()) {
            return old.place.clone();
        }
        let Place { root, path } = place;
        for above in path.ancestors().skip(1) {
            let Ok(folder) = self.folder(&Place { root: *root, path: above.to_path_buf() }) else {
                continue;
            };
            let before = self.place_before(&folder);
            if let Ok(rest) = path.strip_prefix(above)
                && !before.is_in_store()
            {
                return before.join(rest.as_os_str());
            }
        }
        place.clone()
    }

    /// Returns where a folder that was there before was then.
    pub(super) fn place_before(&self, folder: &Folder) -> Place {
        if let Some(old) = self.image.nodes.get(&folder.id) {
            return old.place.clone();
        }
        let here = || folder.place.clone();
        let is_in_tree = || self.folder(&folder.place).is_ok_and(|there| there.id == folder.id);
        // What an undo takes to the store has no path there that leads to it.
        if !self.has_moved || !self.image.header.undoes.is_empty() && !is_in_tree() {
            return here();
        }
        let Place { root, path } = &folder.place;
        for above in path.ancestors().skip(1) {
            let Ok(there) = self.folder(&Place { root: *root, path: above.to_path_buf() }) else {
                continue;
            };
            let old = self.image.nodes.get(&there.id);
            if let (Some(old), Ok(rest)) = (old, path.strip_prefix(above)) {
                return old.place.join(rest.as_os_str());
            }
        }
        here()
    }
}
