//! What somebody moved away since, and its place again. A folder goes back there with everything in it, and a
//! file whose name of now goes away. Any other file stays where it is as it is, and its place gets one of its
//! own, as it was.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timestamps};
use rustix::io::Errno;

use super::{Failure, Undoing};
use crate::journal::find::{Finder, node_at, split};
use crate::journal::node::{NodeId, kernel_path, look};
use crate::journal::put::rename;
use crate::journal::record::{Old, Place, State};
use crate::journal::spot::Spot;
use crate::journal::state::{At, is_same, is_same_at, open_place};
use crate::journal::walk::walk_folder;

impl Undoing<'_> {
    /// Whether what somebody moved goes back. What is kept is where it is, and what was half done is taken back
    /// as far as it can be.
    pub(super) fn moves_back(&self) -> bool {
        self.kept.is_empty() && !self.takes_back()
    }

    /// Notes that a node is to be where the call left it, if the log gives it no name.
    pub(super) fn expect_home(&mut self, old: &Old, left: &Place) {
        let id = old.node.id;
        let mut names = self.image.entries.values().flat_map(|names| names.values());
        if !names.any(|before| *before == Some(id)) {
            self.lost.push((id, left.clone()));
        }
    }

    /// Takes in that somebody moved a node, and says whether it is as the call left it, or a folder: what is
    /// in that is found by way of it.
    pub(super) fn goes_home(
        &mut self,
        old: &Old,
        (left, state): (&Place, &State),
        found: Option<&Place>,
    ) -> bool {
        let Some(found) = found else { return false };
        let now = node_at(&self.store, found).ok().flatten();
        let is_folder = old.node.is_folder();
        let is_same = is_same(&self.store, found, state, now.as_ref());
        let stays = !self.moves_back() || found == left;
        if !is_same && (stays || !is_folder) {
            return false;
        }
        let id = old.node.id;
        self.spots.insert(id, Spot::Tree(found.clone()));
        if !stays {
            self.expect_home(old, left);
            self.moved_away.extend(self.can_stay(old, found).then(|| (id, found.clone())));
        }
        true
    }

    /// Has a file that had one name stay where somebody took it, which is at no name that the call touched: an
    /// undo that was cut short had put it back. Says whether it may.
    pub(super) fn stays_theirs(
        &mut self,
        old: &Old,
        place: &Place,
        after: &HashMap<&Place, &State>,
    ) -> bool {
        let is_moved = !after.contains_key(place) && *place != old.place;
        let stays = is_moved && !self.takes_back() && self.can_stay(old, place);
        self.moved_away.extend(stays.then(|| (old.node.id, place.clone())));
        stays
    }

    /// Where a file is that is kept because the call was about to take its name away, which it did not: the
    /// name went along with it when somebody moved it.
    pub(super) fn moved_with_name(
        &mut self,
        finder: &mut Finder<'_>,
        old: &Old,
        (spot, after): (&Spot, &HashMap<&Place, &State>),
    ) -> Option<Spot> {
        let is_left = self.left_files.contains_key(&old.node.id);
        if !is_left || !self.moves_back() || matches!(spot, Spot::Tree(_)) {
            return None;
        }
        let place = finder.find(old)?;
        self.stays_theirs(old, &place, after).then_some(Spot::Tree(place))
    }

    /// Whether a file can stay where somebody moved it, which is its one name in the tree: those that are in
    /// the store do not count.
    fn can_stay(&self, old: &Old, place: &Place) -> bool {
        if old.node.is_folder() || old.node.is_device() {
            return false;
        }
        let now = || node_at(&self.store, place).ok().flatten();
        old.node.links < 2 || now().is_some_and(|now| now.links <= 1 + self.names_in_stores(now.id))
    }

    /// How many names of a file are in the stores.
    fn names_in_stores(&self, file: NodeId) -> u32 {
        let (ids, mut names) = (self.store.ids().unwrap_or_default(), 0);
        let roots = 0..self.store.roots.len();
        for (id, root) in ids.iter().flat_map(|id| roots.clone().map(move |root| (*id, root))) {
            let Ok(folder) = self.store.open_kept(id, root) else { continue };
            walk_folder(&folder, &mut |_, node, _| names += u32::from(node.id == file));
        }
        names
    }

    /// Where something is that this work took away for a later call, as the call left it: somebody had moved
    /// it to what went.
    pub(super) fn taken_by_this(&mut self, old: &Old, state: &State) -> Option<Spot> {
        let own = self.to.id()?;
        let first = self.stored().get(&old.node.id)?.first.clone()?;
        let is_own = matches!(&first, Spot::Store { id, .. } if *id == own);
        let spot = is_own.then_some(first)?;
        let (folder, name) = self.open_around(&spot).ok()?;
        let now = look(&folder, &name).ok().flatten()?;
        let is_same = now.is_folder() || is_same_at(At::Folder(&folder, &name), state, &now);
        is_same.then_some(spot)
    }

    /// Has names emptied for what is to be there again, as if the call had taken it away.
    pub(super) fn expect_lost(&mut self) {
        for (id, place) in std::mem::take(&mut self.lost) {
            if self.is_kept(&place) {
                continue;
            }
            let (above, name) = split(&place);
            let Ok(folder) = self.to.folder(&above) else {
                // It may be there once all the others are.
                self.lost.push((id, place));
                continue;
            };
            let folder = self.called(folder.id);
            let touched = self.image.entries.get(&folder);
            if touched.is_some_and(|names| names.contains_key(name)) {
                continue;
            }
            if !self.image.nodes.contains_key(&folder)
                && let Ok(Some(now)) = node_at(&self.store, &above)
            {
                self.around_lost.entry(folder).or_insert(now);
            }
            self.spots.entry(folder).or_insert(Spot::Tree(above));
            let names = self.lost_names.entry(folder).or_default();
            names.insert(name.to_owned(), Some(id));
        }
    }

    /// Finds out which of the files that somebody moved stay where they are.
    pub(super) fn settle_moved(&mut self) {
        let mut moved = std::mem::take(&mut self.moved_away);
        if moved.is_empty() {
            return;
        }
        let names = self.names().into_iter().flat_map(|(folder, names)| {
            names.into_iter().map(move |(name, before)| (folder, name, before))
        });
        let wanted: HashMap<Place, Option<NodeId>> =
            names.map(|(folder, name, before)| (self.place_of(folder, &name), before)).collect();
        let named: HashSet<NodeId> = wanted.values().copied().flatten().collect();
        // With all that is in it, unless that gets another name.
        let goes = |at: &Place, is_itself: bool| {
            let Some(before) = wanted.get(at) else { return false };
            let now = node_at(&self.store, at).ok().flatten();
            now.is_some_and(|now| {
                let now = self.called(now.id);
                Some(now) != *before && (is_itself || !named.contains(&now))
            })
        };
        // Where a file stands in the place of a folder that something goes back into.
        let folders: HashSet<Place> = self.lost.iter().flat_map(|(_, at)| at.above()).collect();
        moved.retain(|(_, at)| {
            let mut above = at.path.ancestors().skip(1);
            let is_in_going =
                above.any(|path| goes(&Place { root: at.root, path: path.to_path_buf() }, false));
            !is_in_going && !goes(at, true) && !folders.contains(at)
        });
        for (id, _) in &moved {
            self.spots.remove(id);
            self.elsewhere.insert(*id);
        }
        self.moved_away = moved;
    }

    /// Makes files for the places of those that stay where they are.
    pub(super) fn copy_moved(&mut self) -> Result<(), Failure> {
        for (id, at) in std::mem::take(&mut self.moved_away) {
            let Some(old) = self.image.nodes.get(&id) else { continue };
            let fail = |errno| Failure { place: old.place.clone(), errno };
            self.make_one_again(old, Some(&at)).map_err(fail)?;
        }
        Ok(())
    }

    /// Whether a file was made by [`Self::copy_moved`], as it was.
    pub(super) fn is_copy(&self, id: NodeId, spot: &Spot) -> bool {
        let is_own = matches!(spot, Spot::Store { id, .. } if self.to.id() == Some(*id));
        is_own && self.again.contains_key(&id)
    }

    /// Opens a file that somebody moved, and says how long it is.
    pub(super) fn open_moved(&self, old: &Old, at: &Place) -> Result<(File, u64), Errno> {
        let now = node_at(&self.store, at)?.filter(|now| now.id == old.node.id);
        let now = now.ok_or(Errno::NOENT)?;
        Ok((open_place(&self.store, at, &now)?.into(), now.bytes))
    }

    /// Puts what was in folders that are gone back, now that those that the log knows are there.
    pub(super) fn attach_lost(&mut self) -> Result<(), Failure> {
        let mut lost = std::mem::take(&mut self.lost);
        // A folder before those in it.
        lost.sort_by(|(_, one), (_, other)| one.cmp(other));
        for (id, left) in lost {
            let Some(old) = self.image.nodes.get(&id) else { continue };
            let place = if old.place.is_in_store() { left } else { old.place.clone() };
            self.attach_one_lost(old, &place).map_err(|errno| Failure { place, errno })?;
        }
        Ok(())
    }

    fn attach_one_lost(&mut self, old: &Old, place: &Place) -> Result<(), Errno> {
        let (above, name) = split(place);
        self.bring_around(old.node.id, place)?;
        self.make_in_tree(&above)?;
        let around = self.to.folder(&above)?;
        // What somebody made of it came back with its folder.
        let theirs = look(&around.handle, name)?.filter(|it| self.theirs_at.contains_key(&it.id));
        if let Some(theirs) = theirs.filter(|it| it.id == old.node.id) {
            self.take_away(&around, name, &theirs, Spot::Tree(place.clone()))?;
        }
        let folder = self.called(around.id);
        self.spots.entry(folder).or_insert(Spot::Tree(above));
        if !self.spots.contains_key(&old.node.id) {
            self.make_one_again(old, None)?;
        }
        self.attach_one(folder, name, old.node.id)
    }

    /// Brings the folder back that something was in, if that is nowhere in the tree: somebody had moved it to a
    /// place where the call left no folder, and this work took it away from there.
    fn bring_around(&mut self, id: NodeId, place: &Place) -> Result<(), Errno> {
        let spot =
            self.spots.get(&id).cloned().or_else(|| self.taken_from(self.theirs_at.get(&id)?));
        let Some(Spot::Store { id: store, root, path }) = spot else { return Ok(()) };
        let is_folder = |at: &Place| {
            node_at(&self.store, at).is_ok_and(|now| now.is_some_and(|it| it.is_folder()))
        };
        let missing = place.above().take_while(|at| !is_folder(at)).last();
        let Some(to) = missing.filter(|_| self.to.id() == Some(store) && root == place.root) else {
            return Ok(());
        };
        let inside = place.path.strip_prefix(&to.path).unwrap_or(&place.path);
        let depth = inside.components().count();
        let folder = path.ancestors().nth(depth).filter(|_| path.ends_with(inside));
        let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) else {
            return Ok(());
        };
        let (was, from) = (
            self.origin((store, root), folder),
            Spot::Store { id: store, root, path: folder.to_path_buf() },
        );
        let mut after = self.image.end.iter().flat_map(|end| &end.after);
        let is_made = after.any(|(at, state)| *at == was && state.is_folder());
        let node = self.node_of(&from).ok().flatten().filter(|_| !is_made);
        let Some(node) = node.filter(|node| !self.image.nodes.contains_key(&node.id)) else {
            return Ok(());
        };
        self.make_way_for_folder(&to)?;
        let (above, name) = split(&to);
        let above = self.to.folder(&above)?;
        self.before_leaving(&from)?;
        self.to.note_moved(node.id, to.clone())?;
        let (around, old_name) = self.open_around(&from)?;
        rename((&around, &old_name), (&above.handle, name), &node)?;
        self.note_moved(&node, node.id, (&from, &Spot::Tree(to)));
        Ok(())
    }

    /// Where something is in the store that this work took away from `place`, or with a folder above it.
    fn taken_from(&self, place: &Place) -> Option<Spot> {
        let id = self.to.id()?;
        self.origins.iter().find_map(|(object, origin)| {
            let inside = place.path.strip_prefix(&origin.path).ok()?;
            let is_there = origin.root == place.root && !inside.as_os_str().is_empty();
            let path = Path::new(object).join(inside);
            is_there.then_some(Spot::Store { id, root: place.root, path })
        })
    }

    /// Gives folders of which the log does not speak the times that they had before something came back into
    /// them.
    pub(super) fn restore_times(&mut self) -> Result<(), Failure> {
        for (id, was) in std::mem::take(&mut self.around_lost) {
            let fail = |errno| Failure { place: Place { root: 0, path: "".into() }, errno };
            let Some(folder) = self.folder(id).map_err(fail)? else { continue };
            let times = Timestamps {
                last_access: was.accessed.into(),
                last_modification: was.modified.into(),
            };
            let path = kernel_path(&folder.handle, OsStr::new(""));
            match rustix::fs::utimensat(CWD, &*path, &times, AtFlags::empty()) {
                // A folder of another user, which lets a group write.
                Ok(()) | Err(Errno::PERM) => {}
                Err(errno) => return Err(fail(errno)),
            }
        }
        Ok(())
    }
}
