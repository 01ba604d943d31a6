//! Lets undo, which changes what is in them, into folders that their owner closed, until it is over.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use rustix::io::Errno;

use super::Undoing;
use crate::journal::node::{look, set_mode};
use crate::journal::put::open_up;
use crate::journal::recorder::Folder;
use crate::journal::spot::Spot;
use crate::linux::closed::closed_mode;

impl Undoing<'_> {
    /// Lets this user into closed folders, wherever something of the log is in them. Their
    /// permissions are put back at the end.
    pub(super) fn open_closed_folders(&mut self) {
        if rustix::process::geteuid().is_root() {
            return;
        }
        let mut ways = BTreeSet::new();
        for (id, old) in &self.image.nodes {
            let spot = self.spots.get(id).cloned();
            let spot = spot.unwrap_or_else(|| Spot::Tree(old.place.clone()));
            ways.extend(spot.way().skip(usize::from(!old.node.is_folder())));
        }
        for spot in ways {
            // What is gone is no way, and what stays closed fails at the next try, with its reason.
            let _ = self.open_closed(&spot);
        }
    }

    /// Lets this user into a folder.
    pub(super) fn open_closed(&mut self, spot: &Spot) -> Result<(), Errno> {
        if rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let (handle, empty) = (self.open_spot(spot)?, OsStr::new(""));
        let Some(mode) = closed_mode(&handle) else { return Ok(()) };
        let id = look(&handle, empty)?.ok_or(Errno::NOENT)?.id;
        let known = self.image.nodes.get(&id).filter(|old| !self.is_kept_folder(old, id));
        let hold = || rustix::io::fcntl_dupfd_cloexec(&handle, 0);
        let held = known.is_none().then(hold).transpose()?;
        if let Spot::Tree(place) = spot {
            let handle = rustix::io::fcntl_dupfd_cloexec(&handle, 0)?;
            let folder = Folder { id, handle, place: place.clone() };
            self.to.before_rights(&folder, empty)?;
        }
        open_up(&handle, empty);
        self.opened.extend(held.map(|held| (held, mode)));
        Ok(())
    }

    pub(super) fn close_again(&mut self) {
        for (folder, mode) in self.opened.drain(..).rev() {
            // The same user opened it a moment ago.
            let _ = set_mode(&folder, OsStr::new(""), mode);
        }
    }
}
