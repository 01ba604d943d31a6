//! What a call did, worked out when it is over: the log's picture of before against the tree.

mod same;
mod taken;

use std::collections::{BTreeMap, HashMap, HashSet};

use super::CheckpointId;
use super::came_from::{Name, came_from};
use super::changes::{Change, ChangeKind, Changes, Replaced};
use super::closed;
use super::find::{Finder, node_at, split};
use super::left_files::kept_state;
use super::links::links_out;
use super::node::{Node, NodeId, look};
use super::order::Ordered;
use super::record::{End, Image, Known, LeftFile, Old, Place, State};
use super::recorder::Recorder;
use super::sealed::{BYTES_MAX, FILES_MAX, with_heads};
use super::state::{At, hashes_of, rights_of, state_of};
use super::store::Store;
use super::trouble::Trouble;
use super::walk::{Deeper, walk};
use crate::linux::closed::through;
use crate::workspace::{ContentHash, EntryKind, may_be_of_git};

/// How many files are hashed at the end of a call, and how many bytes of them: 32 MiB take about
/// 30 ms. What is past this is known again by length and time.
const HASHED_FILES_MAX: usize = 1000;
pub(super) const HASHED_BYTES_MAX: u64 = 32 << 20;

/// What is remembered of new folders: more is not compared before undo.
const REMEMBERED_MAX: usize = 200_000;

/// How long the paths of all that are together, in bytes: in folders that are thousands deep each is long.
const REMEMBERED_BYTES_MAX: usize = 32 << 20;

/// What was found out about a call.
pub(crate) struct Comparison<'a> {
    store: &'a Store,
    image: &'a Image,
    id: CheckpointId,
    finder: Finder<'a>,
    changes: BTreeMap<Ordered, Change>,
    after: BTreeMap<Place, State>,
    left_at: Vec<(NodeId, Place)>,
    left_files: Vec<(NodeId, LeftFile)>,
    /// Hashes of what was in files before they were appended to.
    heads: HashMap<NodeId, ContentHash>,
    new_folders: Vec<Place>,
    /// From where what was there before came to where it is, as far as that is told.
    renamed: BTreeMap<Place, (Place, Node)>,
    /// From where that was.
    left: HashSet<Place>,
    /// Where something else stands in the place of what was there, which was told of.
    compared: HashSet<Place>,
    /// Where folders stand that the call made in the place of others.
    made_anew: Vec<Place>,
    budget: Budget,
    /// The same for what is at protected names.
    sealing: Budget,
}

struct Budget {
    files: usize,
    bytes: u64,
    /// Bytes of paths.
    paths: usize,
    /// Files that are compared with others in their place.
    others: usize,
}

/// Compares what a recorder saved with what is there now.
pub(crate) fn compare(recorder: &Recorder, id: CheckpointId) -> End {
    compare_image(&recorder.store, &recorder.image, id)
}

pub(crate) fn compare_image(store: &Store, image: &Image, id: CheckpointId) -> End {
    let (files, others) = (HASHED_FILES_MAX, HASHED_FILES_MAX);
    let mut comparison = Comparison {
        store,
        image,
        id,
        finder: Finder::new(store, image, id),
        changes: BTreeMap::new(),
        after: BTreeMap::new(),
        left_at: Vec::new(),
        left_files: Vec::new(),
        heads: HashMap::new(),
        new_folders: Vec::new(),
        renamed: BTreeMap::new(),
        left: HashSet::new(),
        compared: HashSet::new(),
        made_anew: Vec::new(),
        budget: Budget { files, bytes: HASHED_BYTES_MAX, paths: REMEMBERED_BYTES_MAX, others },
        sealing: Budget { files: FILES_MAX, bytes: BYTES_MAX, paths: 0, others: 0 },
    };
    comparison.entries();
    comparison.made_anew();
    comparison.nodes();
    comparison.taken();
    let (links, links_more) = links_out(store, image, comparison.after.iter());
    let changes = Changes {
        id: Some(id),
        files: comparison.changes.into_values().collect(),
        left_out: image.left_out.clone(),
        troubles: image.trouble.clone(),
        links,
        links_more,
    };
    End {
        changes,
        after: comparison.after.into_iter().collect(),
        left_at: comparison.left_at,
        new_folders: comparison.new_folders,
        interrupted: false,
        log_bytes: 0,
        left_files: comparison.left_files,
        kept: Vec::new(),
        moved: Vec::new(),
        sealed: Vec::new(),
    }
}

impl Comparison<'_> {
    fn entries(&mut self) {
        let names = self.names();
        for Name { at, now, .. } in &names {
            // In a folder that is gone; at its path may be another.
            at.iter().for_each(|at| self.remember(at, now.as_ref()));
        }
        let mut arrived = Vec::new();
        for Name { at, before, now, .. } in &names {
            let (Some(at), Some(now)) = (at, now) else { continue };
            if *before == Some(now.id) {
                continue;
            }
            if now.is_folder() && !self.image.was_in_tree(now.id) {
                arrived.extend(self.new_folder(at));
            }
            arrived.push((at.clone(), now.clone()));
        }
        self.renamed = came_from(&names, arrived);
        self.left = self.renamed.values().map(|(from, _)| from.clone()).collect();
        for (to, (from, now)) in self.renamed.clone() {
            if let Some(old) = self.image.nodes.get(&now.id) {
                let is_edited = self.was_edited(&to, old, &now);
                self.add_renamed(&to, &from, (old, &now), is_edited);
            }
        }
        for name in &names {
            self.name(name);
        }
    }

    /// The names that were touched, in folders that were there before.
    fn names(&mut self) -> Vec<Name> {
        let mut found = Vec::new();
        let folders = self.image.entries.iter();
        let mut folders: Vec<_> = folders
            .filter_map(|(folder, names)| Some((self.image.nodes.get(folder)?, names)))
            .collect();
        // What is beneath another is found by way of it.
        folders.sort_by_key(|(old, _)| &old.place);
        for (old, names) in folders {
            let folder = self.finder.find(old);
            let handle = folder.as_ref().and_then(|at| closed::open_folder(self.store, at).ok());
            for (name, before) in names {
                let now =
                    handle.as_ref().and_then(|open| through(open, || look(open, name)).ok()?);
                let at = folder.as_ref().map(|folder| folder.join(name));
                found.push(Name { was: old.place.join(name), at, before: *before, now });
            }
        }
        found
    }

    fn name(&mut self, Name { was, at, before, now }: &Name) {
        if was.is_in_store() {
            // It is told with the folder that came from there.
            return;
        }
        let came = at.as_ref().filter(|at| self.renamed.contains_key(at));
        let now = at.as_ref().zip(now.as_ref()).filter(|_| came.is_none());
        let Some(old) = before.and_then(|id| self.image.nodes.get(&id)) else {
            if let Some((at, now)) = now {
                let inside = self.inside(at, now);
                self.add(at, ChangeKind::Created, (None, Some(now)), inside);
            }
            return;
        };
        if now.is_some_and(|(_, now)| now.id == old.node.id) {
            return;
        }
        if let Some(at) = came.filter(|_| !self.left.contains(was)) {
            self.renamed_over(at, old);
        }
        if let Some((at, now)) = now.filter(|(at, _)| *at == was || !self.left.contains(was)) {
            self.replaced((was, at), old, now);
            return;
        }
        if let Some((at, now)) = now {
            let inside = self.inside(at, now);
            self.add(at, ChangeKind::Created, (None, Some(now)), inside);
        }
        // What became of it is told where it went.
        if self.left.contains(was) || self.renamed.contains_key(was) {
            return;
        }
        // Its folder may be elsewhere, and another in the place of that.
        match node_at(self.store, was).ok().flatten() {
            None => self.add(was, ChangeKind::Deleted, (Some(&old.node), None), 0),
            Some(now) if now.id == old.node.id => drop(self.compared.insert(was.clone())),
            Some(now) => self.replaced((was, was), old, &now),
        }
    }

    /// Another node is at the name of one that was there before, at `at` now.
    fn replaced(&mut self, (was, at): (&Place, &Place), old: &Old, now: &Node) {
        self.compared.insert(at.clone());
        let mut inside = 0;
        let kind = if old.node.kind() != now.kind() {
            inside = self.inside(at, now);
            if was != at {
                self.add(was, ChangeKind::Deleted, (Some(&old.node), None), 0);
                return self.add(at, ChangeKind::Created, (None, Some(now)), inside);
            }
            ChangeKind::Edited
        } else if now.is_folder() {
            self.made_anew.push(at.clone());
            match self.has_same_rights(at, old, now) {
                true => return,
                false => ChangeKind::Mode,
            }
        } else if !self.has_same_content(at, old, now) {
            ChangeKind::Edited
        } else if !self.has_same_rights(at, old, now) {
            ChangeKind::Mode
        } else if old.node.modified == now.modified || was != at {
            return;
        } else {
            ChangeKind::Times
        };
        match was == at {
            true => self.add(at, kind, (Some(&old.node), Some(now)), inside),
            false => self.add_renamed(at, was, (old, now), kind == ChangeKind::Edited),
        }
    }

    /// Tells of what is in folders that were removed and made again as if they had stayed: what the
    /// old ones had was told of.
    fn made_anew(&mut self) {
        while let Some(folder) = self.made_anew.pop() {
            let mut inside = Vec::new();
            // What cannot be read is taken away with the folder all the same.
            let _ = walk(self.store, &folder, &mut |place, node| {
                inside.push((place.clone(), node.clone()));
                Deeper::No
            });
            for (place, now) in inside {
                if !self.compared.contains(&place) && !self.renamed.contains_key(&place) {
                    let inside = self.inside(&place, &now);
                    self.add(&place, ChangeKind::Created, (None, Some(&now)), inside);
                }
            }
        }
    }

    /// Nodes that were touched where they are.
    fn nodes(&mut self) {
        let mut nodes: Vec<&Old> = self.image.nodes.values().collect();
        nodes.sort_by_key(|old| &old.place);
        for old in nodes {
            let Some(place) = self.finder.find(old) else {
                self.left_files.extend(self.left_outside(old));
                continue;
            };
            let Ok(Some(now)) = node_at(self.store, &place) else { continue };
            self.remember(&place, Some(&now));
            self.left_at.push((old.node.id, place.clone()));
            self.left_files.extend(self.left_in(old, &place));
            let Some((was, place)) = self.known_name(old, place) else { continue };
            self.remember(&place, Some(&now));
            let path = Ordered(self.store.shown(&place));
            // A name that was told of already may have another content besides.
            if self.changes.get(&path).is_some_and(|known| known.kind != ChangeKind::Times) {
                continue;
            }
            let kind = if self.was_edited(&place, old, &now) {
                ChangeKind::Edited
            } else if !self.has_same_rights(&place, old, &now) {
                ChangeKind::Mode
            } else if old.node.modified != now.modified
                && was == place
                && self.are_times_its_own(old, &now)
            {
                ChangeKind::Times
            } else {
                continue;
            };
            match was == place {
                true => self.add(&place, kind, (Some(&old.node), Some(&now)), 0),
                false => self.add_renamed(&place, &was, (old, &now), kind == ChangeKind::Edited),
            }
        }
    }

    /// Returns a name that a node had before, and what that is now: a further name that the call gave a
    /// file does not tell what was done to the file.
    fn known_name(&mut self, old: &Old, place: Place) -> Option<(Place, Place)> {
        if place == old.place {
            return Some((place.clone(), place));
        }
        let places = self.finder.places(old).into_iter().chain([place]);
        let known = places.filter_map(|at| Some((self.was_at(&at, old.node.id)?, at)));
        known.min_by_key(|(was, _)| *was != old.place)
    }

    /// Returns where something was that is at `place` now; `None` if it came there by that name, or from a
    /// store with the folder that it is in.
    fn was_at(&self, place: &Place, mut id: NodeId) -> Option<Place> {
        let (mut at, mut names) = (place.clone(), Vec::new());
        // Not by recursion: there can be thousands of folders above it.
        let top = loop {
            if at.path.as_os_str().is_empty() {
                break &at;
            }
            let (above, name) = split(&at);
            let folder = node_at(self.store, &above).ok()??.id;
            let before = self.image.entries.get(&folder).and_then(|names| names.get(name));
            if before.is_some_and(|before| *before != Some(id)) {
                return None;
            }
            names.push(name.to_owned());
            if let Some(old) = self.image.nodes.get(&folder) {
                break &old.place;
            }
            (at, id) = (above, folder);
        };
        let mut was = top.clone();
        was.path.extend(names.iter().rev());
        (!was.is_in_store()).then_some(was)
    }

    /// Whether the time of something is told of: that of a folder changes with each name in it, and
    /// where nobody was asked with one that came and went, which is a change of now.
    fn are_times_its_own(&self, old: &Old, now: &Node) -> bool {
        let is_compared = self.image.trouble.contains(&Trouble::Compared);
        let is_by_a_name = self.image.entries.contains_key(&old.node.id)
            || is_compared && now.modified == now.changed;
        !old.node.is_folder() || !is_by_a_name
    }

    fn add_renamed(
        &mut self,
        to: &Place,
        from: &Place,
        (old, now): (&Old, &Node),
        is_edited: bool,
    ) {
        let kind = ChangeKind::Renamed { from: self.store.shown(from), is_edited };
        self.add(to, kind, (Some(&old.node), Some(now)), 0);
    }

    /// What was at a name to which something else was renamed is gone.
    fn renamed_over(&mut self, place: &Place, old: &Old) {
        let (node, path) = (&old.node, Ordered(self.store.shown(place)));
        let bytes = node.is_file().then_some(node.bytes);
        if let Some(change) = self.changes.get_mut(&path) {
            change.over = Some(Replaced { entry: EntryKind::from(node.kind()), bytes });
        }
    }

    fn add(
        &mut self,
        place: &Place,
        kind: ChangeKind,
        (before, now): (Option<&Node>, Option<&Node>),
        inside: u64,
    ) {
        let Some(node) = now.or(before) else { return };
        let path = self.store.shown(place);
        let new_hash = match self.after.get(place) {
            Some(State::Present { content: Known::Hash(hash), .. }) => Some(*hash),
            _ => None,
        };
        let bytes = |node: Option<&Node>| Some(node.filter(|node| node.is_file())?.bytes);
        let both = before.zip(now);
        let was = both.filter(|(before, now)| before.kind() != now.kind());
        let rights = both.filter(|_| was.is_none());
        let rights = rights.map(|(before, now)| (before.rights(), now.rights()));
        let change = Change {
            path: path.clone(),
            kind,
            entry: EntryKind::from(node.kind()),
            old_bytes: bytes(before),
            new_bytes: bytes(now),
            new_hash,
            inside,
            was: was.map(|(before, _)| EntryKind::from(before.kind())),
            over: None,
            rights: rights.filter(|(before, now)| before != now),
        };
        self.changes.insert(Ordered(path), change);
    }

    /// Remembers how something is, so that a later change of somebody else's is seen.
    fn remember(&mut self, place: &Place, now: Option<&Node>) {
        if self.after.contains_key(place) {
            return;
        }
        let state = self.state(place, now);
        self.after.insert(place.clone(), state);
    }

    /// Returns how a file is left of which its place alone does not tell.
    fn left_in(&self, old: &Old, place: &Place) -> Option<(NodeId, LeftFile)> {
        if old.node.is_folder() || old.kept.is_none() && old.appended_from().is_none() {
            return None;
        }
        let (id, state) = (old.node.id, self.after.get(place)?.clone());
        let head = self.heads.get(&id).copied();
        Some((id, LeftFile { place: Some(place.clone()), state, head }))
    }

    /// The same of one that has no name in the workspace.
    fn left_outside(&self, old: &Old) -> Option<(NodeId, LeftFile)> {
        let state = kept_state(self.store, self.id, old)?;
        Some((old.node.id, LeftFile { place: None, state, head: None }))
    }

    fn state(&mut self, place: &Place, now: Option<&Node>) -> State {
        let Some(now) = now else { return State::Absent };
        let (at, mut state) = (At::Tree(self.store, place), state_of(self.store, place, now));
        self.hash(at, now, (&mut state, self.store.protects(place)));
        if (self.image.nodes.contains_key(&now.id) || self.puts_back())
            && let State::Present { rights, .. } = &mut state
        {
            *rights = rights_of(at, now);
        }
        state
    }

    /// Takes in the content of a file, as long as not too much was read.
    fn hash(&mut self, at: At<'_>, now: &Node, (state, is_protected): (&mut State, bool)) {
        let State::Present { content, .. } = state else { return };
        let budget = if is_protected { &mut self.sealing } else { &mut self.budget };
        if budget.files == 0 || now.bytes > budget.bytes || !now.is_file() {
            return;
        }
        budget.files -= 1;
        budget.bytes -= now.bytes;
        let head_bytes = self.image.nodes.get(&now.id).and_then(Old::appended_from);
        if let Ok((head, whole)) = hashes_of(at, now, head_bytes.unwrap_or(0)) {
            *content = Known::Hash(whole);
            self.heads.extend(head_bytes.map(|_| (now.id, head)));
        }
    }

    /// Whether what comes here was there before some call, like what a log speaks of: undo gives that its
    /// owner and attributes back, so another is a conflict.
    fn puts_back(&self) -> bool {
        !self.image.header.undoes.is_empty()
    }

    /// Remembers what is in a folder that the call made; returns what was there before.
    fn new_folder(&mut self, place: &Place) -> Vec<(Place, Node)> {
        let (mut found, mut is_whole) = (Vec::new(), true);
        let mut arrived = Vec::new();
        // What cannot be read is taken away with the folder all the same.
        let _ = walk(self.store, place, &mut |place, node| {
            let bytes = place.path.as_os_str().len();
            if found.len() < REMEMBERED_MAX && bytes <= self.budget.paths {
                self.budget.paths -= bytes;
                found.push((place.clone(), node.clone()));
            } else {
                is_whole = false;
            }
            if self.image.nodes.contains_key(&node.id) {
                arrived.push((place.clone(), node.clone()));
            }
            Deeper::Yes
        });
        if is_whole {
            self.new_folders.push(place.clone());
        }
        let heads = with_heads(&found);
        let is_of_repository = |place: &Place| {
            let above = || place.path.ancestors().skip(1).any(|above| heads.contains(above));
            may_be_of_git(&place.path) && above()
        };
        for (place, node) in found {
            let mut state = state_of(self.store, &place, &node);
            if self.store.protects(&place) || is_of_repository(&place) {
                self.hash(At::Tree(self.store, &place), &node, (&mut state, true));
            }
            if let State::Present { rights, .. } = &mut state
                && self.puts_back()
            {
                *rights = rights_of(At::Tree(self.store, &place), &node);
            }
            self.after.entry(place).or_insert(state);
        }
        arrived
    }

    /// Counts what is in a folder that the call made, and is not told by itself.
    fn inside(&self, place: &Place, now: &Node) -> u64 {
        if !now.is_folder() || self.image.was_in_tree(now.id) {
            return 0;
        }
        let mut inside = 0;
        let _ = walk(self.store, place, &mut |place, _| {
            if self.renamed.contains_key(place) {
                return Deeper::No;
            }
            inside += 1;
            Deeper::Yes
        });
        inside
    }
}
