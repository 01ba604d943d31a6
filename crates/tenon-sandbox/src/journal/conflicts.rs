//! What is not as a call left it, because somebody else changed it since. Undo looks for it both where the
//! call left things and where they are now, for it works where they are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use super::CheckpointId;
use super::astray::Astray;
use super::find::{Finder, node_at};
use super::node::{Node, NodeId};
use super::record::{End, Image, Old, Place, State};
use super::state::is_same;
use super::store::Store;
use super::walk::{Deeper, walk};

/// What undo does about what somebody else changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflicts {
    /// Nothing is undone.
    Refuse,
    /// It is left as it is, and the rest is undone.
    Keep,
    /// These are undone all the same, with everything in them; how they are now is kept in the
    /// undo's checkpoint. Others refuse.
    Overwrite(Vec<PathBuf>),
}

impl Conflicts {
    /// Adds what is answered about further ones: those that were to be overwritten before still are.
    ///
    /// ```
    /// use tenon_sandbox::Conflicts;
    ///
    /// let of = |path: &str| Conflicts::Overwrite(vec![path.into()]);
    /// assert_eq!(of("a").and(of("b")), Conflicts::Overwrite(vec!["a".into(), "b".into()]));
    /// assert_eq!(of("a").and(Conflicts::Keep), Conflicts::Keep);
    /// ```
    #[must_use]
    pub fn and(self, answer: Self) -> Self {
        match (self, answer) {
            (Self::Overwrite(mut before), Self::Overwrite(further)) => {
                before.extend(further);
                Self::Overwrite(before)
            }
            (_, answer) => answer,
        }
    }
}

/// Something that is not as the call left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// As [`super::Change::path`].
    pub path: PathBuf,
    /// What happened to it.
    pub reason: ConflictReason,
}

/// What happened to something since a call left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictReason {
    /// It is another.
    Changed,
    /// It is gone.
    Deleted,
    /// It was not there.
    Created,
    /// It is another or gone, and nobody has what was in it: it cannot be put back.
    NotKept,
    /// These are objects of a git repository of which somebody changed branches or the index, which may
    /// need them. They stay, whatever is done about conflicts.
    Needed,
    /// Programs take commands from its name, and what would come there was written by another command, and judged by
    /// nobody.
    Protected,
    /// It is not as it was before the call, because something that is kept is in it, stands in its place, or
    /// is the same file. Found once the rest is undone.
    Held,
}

/// What is not as a call left it.
pub(super) type Found = BTreeMap<Place, Theirs>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Theirs {
    pub(super) reason: ConflictReason,
    /// Somebody put it there: all that is in it is theirs as well.
    pub(super) is_whole: bool,
}

/// Something that an undo leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) place: Place,
    /// With everything in it.
    pub(crate) is_whole: bool,
}

/// The folders of a log that were there before the call.
#[derive(Default)]
struct Folders<'a> {
    /// By where the call left them.
    left: HashMap<Place, NodeId>,
    /// Where those are that are elsewhere by now.
    moved: HashMap<NodeId, Place>,
    /// Where those were that it removed.
    removed: HashSet<Place>,
    nodes: Option<&'a HashMap<NodeId, Old>>,
}

/// Finds what is not as a call left it; `astray` says where what was there before is, as far as that is known.
pub(super) fn find_conflicts(
    store: &Store,
    image: &Image,
    id: CheckpointId,
    astray: &Astray,
) -> Found {
    let mut found = BTreeMap::new();
    let Some(end) = &image.end else { return found };
    let known: BTreeMap<Place, &State> =
        end.after.iter().map(|(place, state)| (place.clone(), state)).collect();
    let folders = Folders::find(store, image, (id, end), astray);
    for (place, state) in &known {
        let now = node_at(store, place).ok().flatten();
        let is_other = now.as_ref().is_some_and(|now| folders.is_other(place, now));
        if !is_other && is_same(store, place, state, now.as_ref()) {
            continue;
        }
        let reason = match (state, &now) {
            (State::Absent, _) => ConflictReason::Created,
            (_, None) => ConflictReason::Deleted,
            _ => ConflictReason::Changed,
        };
        if !is_other && now.as_ref().is_some_and(|now| folders.is_in_place_of_removed(place, now)) {
            found_beside(store, place, &folders, &mut found);
            continue;
        }
        if reason == ConflictReason::Deleted {
            let in_the_way = in_the_way(store, place).filter(|at| !known.contains_key(at));
            in_the_way.map(|at| found.entry(at).or_insert(ConflictReason::Changed.into()));
        }
        let is_new = now.is_some_and(|now| now.is_folder() && (is_other || !state.is_folder()));
        found.insert(place.clone(), Theirs { reason, is_whole: is_new });
    }
    let created = Theirs { reason: ConflictReason::Created, is_whole: true };
    for folder in &end.new_folders {
        // A folder that is gone was found above.
        let _ = walk(store, folder, &mut |place, _| {
            if known.contains_key(place) {
                return Deeper::Yes;
            }
            found.insert(place.clone(), created);
            Deeper::No
        });
    }
    for place in folders.moved.into_values().collect::<BTreeSet<Place>>() {
        let mut above = place.path.ancestors().skip(1);
        let is_known = above.any(|path| {
            let above = Place { root: place.root, path: path.to_path_buf() };
            found.get(&above).is_some_and(|theirs| theirs.is_whole)
        });
        if !is_known {
            found.entry(place).or_insert(created);
        }
    }
    found
}

/// Returns what stands where a folder was that something was in.
fn in_the_way(store: &Store, place: &Place) -> Option<Place> {
    let above = place.path.ancestors().skip(1);
    let mut above = above.map(|path| Place { root: place.root, path: path.to_path_buf() });
    above.find_map(|at| {
        let now = node_at(store, &at).ok()??;
        Some((!now.is_folder()).then_some(at))
    })?
}

/// Notes a folder that somebody made where the call had removed one, and all that is in it: what the call
/// removed has its place beside that.
fn found_beside(store: &Store, top: &Place, folders: &Folders<'_>, found: &mut Found) {
    let shared = ConflictReason::Created.into();
    found.insert(top.clone(), shared);
    let _ = walk(store, top, &mut |place, node| {
        if folders.is_in_place_of_removed(place, node) {
            found.insert(place.clone(), shared);
            return Deeper::Yes;
        }
        found.insert(place.clone(), Theirs { reason: ConflictReason::Created, is_whole: true });
        Deeper::No
    });
}

impl<'a> Folders<'a> {
    fn find(
        store: &Store,
        image: &'a Image,
        (id, end): (CheckpointId, &End),
        astray: &Astray,
    ) -> Self {
        let removed = image.nodes.values().filter(|old| old.gone && old.node.is_folder());
        let removed = removed.map(|old| astray.now(&old.place)).collect();
        let mut folders = Self { removed, nodes: Some(&image.nodes), ..Self::default() };
        let mut finder = Finder::new(store, image, id);
        for (id, left) in &end.left_at {
            let old = image.nodes.get(id).filter(|old| old.node.is_folder());
            // One that came from a store goes as one that the call made.
            let Some(old) = old.filter(|old| !old.place.is_in_store()) else {
                continue;
            };
            if let Some(now) = finder.find(old).filter(|now| now != left) {
                folders.moved.insert(*id, now);
            }
            folders.left.insert(left.clone(), *id);
        }
        folders
    }

    /// Whether somebody made a folder where the call had removed one.
    fn is_in_place_of_removed(&self, place: &Place, now: &Node) -> bool {
        let is_known = || self.nodes.is_some_and(|nodes| nodes.contains_key(&now.id));
        now.is_folder() && self.removed.contains(place) && !is_known()
    }

    /// Whether a folder came to the place of another that the call left there, or another that the call left
    /// elsewhere is there.
    fn is_other(&self, place: &Place, now: &Node) -> bool {
        let left = self.left.get(place).filter(|id| now.is_folder() && **id != now.id);
        left.is_some_and(|id| self.moved.contains_key(id))
            || self.moved.get(&now.id).is_some_and(|moved| moved == place)
    }
}

/// Whether something is gone from a folder that goes as a whole because this undo took it away: what
/// another call made in it.
pub(super) fn is_of_undo(
    image: &Image,
    undone: &BTreeSet<Place>,
    place: &Place,
    reason: ConflictReason,
) -> bool {
    let folders = image.end.iter().flat_map(|end| &end.new_folders);
    let mut folders = folders.filter(|folder| folder.root == place.root);
    reason == ConflictReason::Deleted
        && undone.contains(place)
        && folders.any(|folder| place.path.starts_with(&folder.path))
}

/// What of the conflicts forbids the undo: named are they also by where they were `at_first`, before an undo of
/// several calls began.
pub(super) fn open_conflicts(
    store: &Store,
    found: &Found,
    conflicts: &Conflicts,
    at_first: impl Fn(&Place) -> Place,
) -> Found {
    let is_open = |place: &Place| match conflicts {
        Conflicts::Refuse => true,
        Conflicts::Keep => false,
        Conflicts::Overwrite(paths) => {
            let named = paths.iter().filter_map(|path| store.place_of(path));
            !named.into_iter().any(|named| named.is_around(place))
        }
    };
    let open = found.iter().filter(|(place, _)| is_open(place) && is_open(&at_first(place)));
    open.map(|(place, theirs)| (place.clone(), *theirs)).collect()
}

impl From<ConflictReason> for Theirs {
    fn from(reason: ConflictReason) -> Self {
        Self { reason, is_whole: false }
    }
}

impl Left {
    /// Whether something is left that is at `place`, or in it.
    pub(crate) fn is_at(&self, place: &Place) -> bool {
        let is_in_it = self.place.root == place.root && self.place.path.starts_with(&place.path);
        is_in_it || self.is_around(place)
    }

    /// Whether it is left with everything in it, and `place` is that or in it.
    pub(crate) fn is_around(&self, place: &Place) -> bool {
        self.is_whole && self.place.root == place.root && place.path.starts_with(&self.place.path)
    }
}
