//! Folders that this user may give another name where they are, and not move anywhere else: those of another
//! owner. They do not go by way of the store.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use rustix::fs::{Access, AtFlags, RenameFlags};
use rustix::io::Errno;

use super::Undoing;
use crate::journal::find::split;
use crate::journal::node::{Node, NodeId, look};
use crate::journal::record::Place;
use crate::journal::recorder::{Fate, Folder};
use crate::journal::spot::Spot;

impl Undoing<'_> {
    /// Whether what is at a name gets its own name in the same folder, and cannot leave that.
    pub(super) fn goes_beside(
        &self,
        (id, folder): (NodeId, &Folder),
        name: &OsStr,
        now: &Node,
    ) -> bool {
        let own = rustix::process::geteuid();
        if !now.is_folder() || own.is_root() || now.user == own.as_raw() {
            return false;
        }
        let access = rustix::fs::accessat(&folder.handle, name, Access::WRITE_OK, AtFlags::EACCESS);
        let called = self.called(now.id);
        let mut names = self.image.entries.get(&id).into_iter().flatten();
        access == Err(Errno::ACCESS) && names.any(|(_, before)| *before == Some(called))
    }

    /// Before a node gets a name that such a folder still has: that one gets its own first, and one that is
    /// in the way of that before it. Says whether the node has its name now, which it has if it is such a folder
    /// as well, and both were exchanged.
    pub(super) fn make_way(
        &mut self,
        (id, folder, name): (NodeId, &Folder, &OsStr),
        (node, before, from): (&Node, NodeId, &Spot),
        other: Node,
    ) -> Result<bool, Errno> {
        if let Spot::Tree(place) = from
            && split(place).0 == folder.place
            && node.is_folder()
        {
            return self.exchange((folder, name), (node, before, place), &other).map(|()| true);
        }
        let mut other = Some(other);
        // Each time one that was in the way has its name: there are no more of them than names.
        let names = self.image.entries.get(&id).map_or(0, BTreeMap::len);
        for _ in 0..names {
            let Some(now) = other else { return Ok(false) };
            let called = self.called(now.id);
            let mut names = self.image.entries.get(&id).into_iter().flatten();
            let own = names.find(|(_, before)| **before == Some(called));
            let (own, _) = own.filter(|(own, _)| *own != name).ok_or(Errno::EXIST)?;
            let own = own.clone();
            if !self.making_way.insert((id, own.clone())) {
                // Somebody else is at work in there.
                return Err(Errno::EXIST);
            }
            let outcome = self.attach_one(id, &own, called);
            self.making_way.remove(&(id, own));
            outcome?;
            other = look(&folder.handle, name)?;
        }
        if other.is_some() { Err(Errno::EXIST) } else { Ok(false) }
    }

    /// Gives a folder its name, and the other that has it by now the one of the first for the moment.
    fn exchange(
        &mut self,
        (folder, name): (&Folder, &OsStr),
        (node, id, place): (&Node, NodeId, &Place),
        other: &Node,
    ) -> Result<(), Errno> {
        if !other.is_folder() {
            return Err(Errno::EXIST);
        }
        let (_, old_name) = split(place);
        let to = folder.place.join(name);
        for name in [name, old_name] {
            let step = self.to.before_entry(folder, name, Fate::Moves)?;
            self.finish_step(step)?;
        }
        self.to.note_moved(node.id, to.clone())?;
        self.to.note_moved(other.id, place.clone())?;
        let (at, flags) = (&folder.handle, RenameFlags::EXCHANGE);
        rustix::fs::renameat_with(at, old_name, at, name, flags)?;
        let (from, to) = (Spot::Tree(place.clone()), Spot::Tree(to));
        for spot in self.spots.values_mut() {
            let was = spot.clone();
            spot.relocate(&from, &to);
            if *spot == was {
                spot.relocate(&to, &from);
            }
        }
        self.placed.insert(id);
        Ok(())
    }
}
