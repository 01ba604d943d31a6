//! What a call saved and left as it was: a file that it opened for writing and did not write, a name that came
//! and went. None of it is a change of the call, so an undo leaves it to whoever changed it since.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::path::Path;

use super::changes::ChangeKind;
use super::compare::HASHED_BYTES_MAX;
use super::node::NodeId;
use super::record::{Image, Old, Place, State};
use super::store::Store;

impl Image {
    /// Forgets what the call left as it was. Nothing is read for it: the list of changes, which was made when
    /// the call was over, names each file that has another content, other rights or another time.
    pub(super) fn leave_unchanged(&mut self, store: &Store) {
        let Some(end) = self.end.as_ref().filter(|_| self.header.undoes.is_empty()) else { return };
        let after: HashMap<&Place, &State> =
            end.after.iter().map(|(place, state)| (place, state)).collect();
        let left: HashMap<NodeId, &Place> = end.left_at.iter().map(|(id, at)| (*id, at)).collect();
        let mut entries = mem::take(&mut self.entries);
        let listed = self.listed();
        let names = entries.values().flat_map(|names| names.values());
        let named: HashSet<NodeId> = names.copied().flatten().collect();
        let is_unchanged = |old: &&Old| {
            let stayed = old.kept.is_none() && !old.gone && old.moved.is_empty();
            stayed
                && !old.node.is_folder()
                && !named.contains(&old.node.id)
                && left.get(&old.node.id).is_some_and(|at| **at == old.place)
                && after.get(&old.place).is_some_and(|state| state.is_as(old))
                && !listed.contains(&*store.shown(&old.place))
        };
        let files: Vec<&Old> = self.nodes.values().filter(is_unchanged).collect();
        let mut places: HashSet<Place> = files.iter().map(|old| old.place.clone()).collect();
        let files: HashSet<NodeId> = files.iter().map(|old| old.node.id).collect();
        let moved: HashSet<&Place> = self.nodes.values().flat_map(|old| &old.moved).collect();
        for (folder, names) in &mut entries {
            let Some(at) = left.get(folder) else { continue };
            names.retain(|name, before| {
                let place = at.join(name);
                let is_gone = after.get(&place).is_some_and(|state| **state == State::Absent);
                let came_and_went = before.is_none() && is_gone && !moved.contains(&place);
                places.extend(came_and_went.then_some(place));
                !came_and_went
            });
        }
        self.entries = entries;
        self.nodes.retain(|id, _| !files.contains(id));
        if let Some(end) = &mut self.end {
            end.after.retain(|(place, _)| !places.contains(place));
            end.left_at.retain(|(id, _)| !files.contains(id));
            end.left_files.retain(|(id, _)| !files.contains(id));
        }
    }

    /// Returns the paths that the list of changes names, also those of before and of what was not saved.
    fn listed(&self) -> HashSet<&Path> {
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

impl State {
    /// Whether this is how something was before the call, as far as that is seen without its content. That of
    /// a long file is not compared when the call is over: then nothing of it may have changed since.
    fn is_as(&self, old: &Old) -> bool {
        let Self::Present { mode, bytes, modified, changed, .. } = self else { return false };
        let was = &old.node;
        (*mode, *bytes, *modified) == (was.mode, was.bytes, was.modified)
            && (*bytes <= HASHED_BYTES_MAX || *changed == was.changed)
    }
}
