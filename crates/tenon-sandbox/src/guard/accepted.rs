//! What somebody with leave to do so wrote at protected names while commands run.

use std::path::Path;

use super::Guard;
use super::folder::open_folder_at;
use super::limits::Limits;
use super::scan::{Scan, Stamps, look};
use crate::journal::Came;

impl Guard {
    /// Takes what is at `path` as it should be: somebody with leave to do so wrote it while
    /// commands run.
    pub(crate) fn accept(&mut self, path: &Path) {
        if self.running == 0 {
            return;
        }
        let turn = self.turn();
        self.before.retain(|place, _| !place.path().starts_with(path));
        for root in &self.roots {
            let Ok(beneath) = path.strip_prefix(root) else { continue };
            let Ok(top) = open_folder_at(root) else { continue };
            let mut scan = Scan::new(&self.before, Stamps::HoldIn(&[]), Limits::TOUCHED);
            scan.place(root, &top, beneath, Came::Replaced);
            let found = scan.found;
            self.before.extend(found);
        }
        for place in self.included.keys().filter(|place| place.path().starts_with(path)) {
            if let Some(item) = look(place, None) {
                self.before.insert(place.clone(), item);
            }
        }
        let mut own = self.own.after(&self.roots, &self.before, Stamps::HoldIn(&[]));
        own.retain(|place, _| place.path().starts_with(path));
        self.before.extend(own);
        self.renew(turn.as_ref());
    }
}
