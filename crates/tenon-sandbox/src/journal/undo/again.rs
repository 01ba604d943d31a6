//! Makes again what has no node any more.

use std::fs::File;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Failure, Undoing};
use crate::journal::copy::{copy, copy_part};
use crate::journal::find::{node_at, split};
use crate::journal::node::{NodeId, look};
use crate::journal::put::write_into;
use crate::journal::record::{Old, Place};
use crate::journal::recorder::Fate;
use crate::journal::spot::Spot;
use crate::journal::store::object_name;
use crate::linux::openat::open_beneath;

impl Undoing<'_> {
    /// Makes again what has no node any more.
    pub(super) fn make_again(&mut self) -> Result<(), Failure> {
        for (folder, names) in self.names() {
            for (name, before) in names {
                let Some(old) = before.and_then(|id| self.image.nodes.get(&id)) else { continue };
                let place = self.place_of(folder, &name);
                let id = old.node.id;
                if self.spots.contains_key(&id) || self.is_kept(&place) || self.is_theirs(id) {
                    continue;
                }
                self.make_one_again(old, None).map_err(|errno| Failure { place, errno })?;
            }
        }
        let folders: Vec<NodeId> = self.image.entries.keys().copied().collect();
        for id in folders {
            let Some(old) = self.image.nodes.get(&id) else { continue };
            let was_in_store = old.place.is_in_store();
            let is_somewhere = self.spots.contains_key(&id) || self.is_theirs(id);
            if !is_somewhere && !self.is_kept(&old.place) && !was_in_store {
                // Somebody removed it since, and undo was told to go on.
                let fail = |errno| Failure { place: old.place.clone(), errno };
                self.make_in_tree(&old.place).map_err(fail)?;
                let made = node_at(&self.store, &old.place).map_err(fail)?;
                if let Some(made) = made {
                    self.note_again(id, made.id).map_err(fail)?;
                }
                self.spots.insert(id, Spot::Tree(old.place.clone()));
            }
        }
        Ok(())
    }

    /// Makes a node again, in the store. `source` is where the file itself is: what was not saved is as there.
    pub(super) fn make_one_again(
        &mut self,
        old: &Old,
        source: Option<&Place>,
    ) -> Result<(), Errno> {
        let root = old.place.root;
        let (objects, object) = self.to.object(root)?;
        let name = object_name(object);
        match old.node.kind() {
            FileType::Directory => rustix::fs::mkdirat(&objects, &*name, Mode::RWXU)?,
            FileType::Symlink => rustix::fs::symlinkat(&*old.node.target, &objects, &*name)?,
            FileType::RegularFile => {
                let source = source.map(|place| self.open_moved(old, place)).transpose()?;
                let content = old.content.filter(|content| content.from == 0 || source.is_some());
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
                let mode = Mode::RUSR | Mode::WUSR;
                let new = || open_beneath(&objects, &*name, flags, mode).map(File::from);
                match (content, source) {
                    (None, None) => return Err(Errno::NOENT),
                    (None, Some((source, length))) => copy(&source, &new()?, length)?,
                    (Some(content), source) => {
                        let file = new()?;
                        if let Some((source, _)) = source.filter(|_| content.from > 0) {
                            copy_part(&source, &file, 0, content.from, 0)?;
                        }
                        let saved = self.open_content(old, content)?;
                        write_into(&file, content, saved.as_ref())?;
                    }
                }
            }
            FileType::Fifo | FileType::Socket => {
                let mode = Mode::from_raw_mode(old.node.mode & 0o7777);
                rustix::fs::mknodat(&objects, &*name, old.node.kind(), mode, 0)?;
            }
            _ => return Err(Errno::NOENT),
        }
        if !old.node.is_folder() {
            old.node.apply(&objects, name.as_ref())?;
        }
        let made = look(&objects, name.as_ref())?.ok_or(Errno::NOENT)?;
        self.note_again(old.node.id, made.id)?;
        if made.is_folder() {
            self.to.note_new_folder(made.id);
            self.empty.insert(old.node.id);
        }
        let own = self.to.id().ok_or(Errno::NOENT)?;
        self.spots.insert(old.node.id, Spot::Store { id: own, root, path: name.into() });
        Ok(())
    }

    /// Takes in that a node was made again. One that still is somewhere stays what other logs mean.
    fn note_again(&mut self, id: NodeId, made: NodeId) -> Result<(), Errno> {
        if !self.elsewhere.contains(&id) {
            self.store.note_again(id, made)?;
        }
        self.again.insert(id, made);
        Ok(())
    }

    /// Makes a folder that is not there, and those above it.
    pub(super) fn make_in_tree(&mut self, place: &Place) -> Result<(), Errno> {
        if node_at(&self.store, place)?.is_some_and(|now| now.is_folder()) {
            return Ok(());
        }
        self.make_way_for_folder(place)?;
        let (above, name) = split(place);
        let folder = self.to.folder(&above)?;
        // What the log knows of it is set in the end.
        rustix::fs::mkdirat(&folder.handle, name, Mode::from_raw_mode(0o777))
    }

    /// Before a folder comes to a place where there is none: makes those above it, and takes away what stands
    /// there.
    pub(super) fn make_way_for_folder(&mut self, place: &Place) -> Result<(), Errno> {
        let (above, name) = split(place);
        self.make_in_tree(&above)?;
        let folder = self.to.folder(&above)?;
        if let Some(now) = look(&folder.handle, name)? {
            self.take_away(&folder, name, &now, Spot::Tree(place.clone()))?;
        }
        let step = self.to.before_entry(&folder, name, Fate::Appears)?;
        self.finish_step(step)
    }
}
