//! What a call saved and left as it was: a file that it opened for writing and did not write, what it renamed
//! there and back, a name that came and went. None of it is a change of the call, so an undo leaves it to whoever
//! changed it since.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::mem;
use std::path::Path;

use super::changes::ChangeKind;
use super::compare::HASHED_BYTES_MAX;
use super::find::own_places;
use super::node::NodeId;
use super::record::{End, Image, Old, Place, State};
use super::store::Store;

impl Image {
    /// Forgets what the call left as it was. Nothing is read for it: the list of changes, which was made when
    /// the call was over, names each file that has another content, other rights or another time.
    pub(super) fn leave_unchanged(&mut self, store: &Store) {
        let Some(end) = self.end.as_ref().filter(|_| self.header.undoes.is_empty()) else { return };
        let mut entries = mem::take(&mut self.entries);
        let left = AsLeft::of(end);
        let listed = self.listed();
        let mut names: HashMap<NodeId, Vec<Option<Place>>> = HashMap::new();
        for (folder, name, before) in each_name(&entries) {
            let Some(before) = before else { continue };
            let at = left.at.get(&folder).map(|folder| folder.join(name));
            names.entry(before).or_default().push(at);
        }
        let is_unchanged = |old: &&Old| {
            let names = names.get(&old.node.id).map_or(&[][..], Vec::as_slice);
            left.is_as(old, names) && !listed.contains(&*store.shown(&old.place))
        };
        let (folders, files): (Vec<&Old>, Vec<&Old>) =
            self.nodes.values().filter(is_unchanged).partition(|old| old.node.is_folder());
        let mut unchanged: HashSet<NodeId> = files.iter().map(|old| old.node.id).collect();
        let others = self.nodes.values().filter(|old| !unchanged.contains(&old.node.id));
        // A folder is known for what is in it, too.
        let around: HashSet<Place> = others.flat_map(Old::all_above).collect();
        let is_needed = |old: &Old| {
            entries.contains_key(&old.node.id) || own_places(old).any(|at| around.contains(at))
        };
        let folders = folders.into_iter().filter(|old| !is_needed(old));
        unchanged.extend(folders.map(|old| old.node.id));
        let (gone, others): (Vec<&Old>, Vec<&Old>) =
            self.nodes.values().partition(|old| unchanged.contains(&old.node.id));
        let mut places: HashSet<Place> = gone.iter().map(|old| old.place.clone()).collect();
        let moved: HashSet<&Place> = others.iter().flat_map(|old| &old.moved).collect();
        for (folder, names) in &mut entries {
            let Some(at) = left.at.get(folder) else { continue };
            names.retain(|name, before| {
                let place = at.join(name);
                let is_left = match before {
                    Some(before) => unchanged.contains(before),
                    None => left.is_absent(&place) && !moved.contains(&place),
                };
                places.extend(is_left.then_some(place));
                !is_left
            });
        }
        self.entries = entries;
        self.nodes.retain(|id, _| !unchanged.contains(id));
        if let Some(end) = &mut self.end {
            end.after.retain(|(place, _)| !places.contains(place));
            end.left_at.retain(|(id, _)| !unchanged.contains(id));
            end.left_files.retain(|(id, _)| !unchanged.contains(id));
        }
    }

    /// Returns the paths that the list of changes names, also those of before and of what was not saved.
    pub(super) fn listed(&self) -> HashSet<&Path> {
        let mut listed: HashSet<&Path> = HashSet::new();
        for change in self.end.iter().flat_map(|end| &end.changes.files) {
            listed.insert(&change.path);
            if let ChangeKind::Renamed { from, .. } = &change.kind {
                listed.insert(from);
            }
        }
        listed.extend(self.left_out.iter().map(|left_out| left_out.path.as_path()));
        listed
    }
}

/// How the call left things.
struct AsLeft<'a> {
    after: HashMap<&'a Place, &'a State>,
    at: HashMap<NodeId, &'a Place>,
    new_folders: HashSet<&'a Place>,
}

impl<'a> AsLeft<'a> {
    fn of(end: &'a End) -> Self {
        let after = end.after.iter().map(|(place, state)| (place, state)).collect();
        let at = end.left_at.iter().map(|(id, at)| (*id, at)).collect();
        Self { after, at, new_folders: end.new_folders.iter().collect() }
    }

    /// Whether something is where and how it was before the call, by all its `names` that the call touched, and
    /// by no other.
    fn is_as(&self, old: &Old, names: &[Option<Place>]) -> bool {
        let is_name = |at: &Place| names.iter().flatten().any(|name| name == at);
        !old.gone
            && self.at.get(&old.node.id).is_some_and(|at| **at == old.place || self.is_at(old, at))
            && self.after.get(&old.place).is_some_and(|state| state.is_as(old))
            && names.iter().all(|at| at.as_ref().is_some_and(|at| self.is_at(old, at)))
            && old.moved.iter().all(|to| is_name(to) || !self.may_be_at(old, to))
    }

    /// Whether this, which is at its place, is at this one, too.
    fn is_at(&self, old: &Old, at: &Place) -> bool {
        let here = self.after.get(&old.place);
        here.zip(self.after.get(at)).is_some_and(|(here, there)| here.may_be(there))
    }

    /// Whether it may be there by a name that it did not have: of what is not known nothing is there if a folder
    /// above it is gone, or is one that the call made and of which all is known.
    fn may_be_at(&self, old: &Old, to: &Place) -> bool {
        if *to == old.place || self.after.contains_key(to) {
            return *to != old.place && self.is_at(old, to);
        }
        let above = to.path.ancestors().skip(1);
        let mut above = above.map(|path| Place { root: to.root, path: path.to_path_buf() });
        !above.any(|at| self.is_absent(&at) || self.new_folders.contains(&at))
    }

    fn is_absent(&self, place: &Place) -> bool {
        self.after.get(place).is_some_and(|state| **state == State::Absent)
    }
}

fn each_name(
    entries: &HashMap<NodeId, BTreeMap<OsString, Option<NodeId>>>,
) -> impl Iterator<Item = (NodeId, &OsString, Option<NodeId>)> {
    let each = entries.iter();
    each.flat_map(|(folder, names)| names.iter().map(|(name, before)| (*folder, name, *before)))
}

impl Old {
    /// Returns the folders above all places of this.
    fn all_above(&self) -> impl Iterator<Item = Place> {
        own_places(self).flat_map(|at| {
            let above = at.path.ancestors().skip(1);
            above.map(|path| Place { root: at.root, path: path.to_path_buf() })
        })
    }
}

impl State {
    /// Whether this is how something was before the call, as far as that is seen without its content. That of
    /// a long file is not compared when the call is over: then nothing of it may have changed since.
    fn is_as(&self, old: &Old) -> bool {
        let Self::Present { mode, bytes, modified, changed, .. } = self else { return false };
        let was = &old.node;
        let is_written = old.content.is_some() && *bytes > HASHED_BYTES_MAX;
        (*mode, *modified) == (was.mode, was.modified)
            && (*bytes == was.bytes || was.is_folder())
            && (!is_written || *changed == was.changed)
    }
}
