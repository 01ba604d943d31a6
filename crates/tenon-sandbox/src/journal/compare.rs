//! What a call did, worked out when it is over: the log's picture of before against the tree.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::CheckpointId;
use super::changes::{Change, ChangeKind, Changes, Trouble};
use super::closed::{self, through_place};
use super::copy::{open_any, open_object};
use super::find::{Deeper, Finder, node_at, split, walk};
use super::node::{Moment, Node, NodeId, look};
use super::record::{End, Image, Known, Old, Place, State};
use super::recorder::Recorder;
use super::store::{Store, object_name};
use crate::linux::closed::through;
use crate::workspace::{ContentHash, EntryKind};

/// How many files are hashed at the end of a call, and how many bytes of them: 32 MiB take about
/// 30 ms. What is past this is known again by length and time.
const HASHED_FILES_MAX: usize = 1000;
const HASHED_BYTES_MAX: u64 = 32 << 20;

/// What is remembered of new folders: more is not compared before undo.
const REMEMBERED_MAX: usize = 200_000;

/// What was found out about a call.
pub(crate) struct Comparison<'a> {
    store: &'a Store,
    image: &'a Image,
    id: CheckpointId,
    finder: Finder<'a>,
    changes: BTreeMap<PathBuf, Change>,
    after: BTreeMap<Place, State>,
    new_folders: Vec<Place>,
    /// Where folders stand that the call made in the place of others.
    made_anew: Vec<Place>,
    budget: Budget,
}

struct Budget {
    files: usize,
    bytes: u64,
}

/// Compares what a recorder saved with what is there now.
pub(crate) fn compare(recorder: &Recorder, id: CheckpointId) -> End {
    compare_image(&recorder.store, &recorder.image, id)
}

pub(crate) fn compare_image(store: &Store, image: &Image, id: CheckpointId) -> End {
    let mut comparison = Comparison {
        store,
        image,
        id,
        finder: Finder::new(store, image, id),
        changes: BTreeMap::new(),
        after: BTreeMap::new(),
        new_folders: Vec::new(),
        made_anew: Vec::new(),
        budget: Budget { files: HASHED_FILES_MAX, bytes: HASHED_BYTES_MAX },
    };
    comparison.entries();
    comparison.made_anew();
    comparison.nodes();
    let changes = Changes {
        id: Some(id),
        files: comparison.changes.into_values().collect(),
        left_out: image.left_out.clone(),
        troubles: image.trouble.clone(),
    };
    End {
        changes,
        after: comparison.after.into_iter().collect(),
        new_folders: comparison.new_folders,
        interrupted: false,
        log_bytes: 0,
    }
}

impl Comparison<'_> {
    fn entries(&mut self) {
        // Where nodes that were there before are now, as far as their names were touched.
        let mut found: Vec<Found> = Vec::new();
        let mut lost: HashSet<Place> = HashSet::new();
        for (folder, names) in &self.image.entries {
            let Some(old) = self.image.nodes.get(folder) else { continue };
            let now = self.finder.find(old);
            let at = now.clone().unwrap_or_else(|| old.place.clone());
            let handle = now.as_ref().and_then(|at| closed::open_folder(self.store, at).ok());
            for (name, before) in names {
                let place = at.join(name);
                let node =
                    handle.as_ref().and_then(|open| through(open, || look(open, name)).ok()?);
                if now.is_none() {
                    lost.insert(place.clone());
                }
                found.push((place, *before, node));
            }
        }
        let came_from = came_from(&found);
        let told: HashSet<Place> = came_from.values().cloned().collect();
        for (place, before, now) in found {
            let before = before.and_then(|id| self.image.nodes.get(&id));
            // In a folder that is gone; at its path may be another.
            if !lost.contains(&place) {
                self.remember(&place, now.as_ref());
            }
            // What became of it is told where it went.
            if now.is_some() || !told.contains(&place) {
                self.entry(&place, before, now, came_from.get(&place));
            }
        }
    }

    fn entry(
        &mut self,
        place: &Place,
        before: Option<&Old>,
        now: Option<Node>,
        from: Option<&Place>,
    ) {
        match (before, now) {
            (None, None) => {}
            (Some(old), None) => {
                let bytes = (Some(old.node.bytes), None);
                self.add(place, ChangeKind::Deleted, &old.node, bytes, 0);
            }
            (Some(old), Some(now)) if old.node.id == now.id => {}
            (_, Some(now)) if from.is_some() => {
                let was = self.image.nodes.get(&now.id);
                let is_edited = was.is_some_and(|was| self.was_edited(place, was, &now));
                let bytes =
                    (was.map_or(Some(now.bytes), |was| Some(was.node.bytes)), Some(now.bytes));
                let from = from.map(|from| self.store.shown(from)).unwrap_or_default();
                self.add(place, ChangeKind::Renamed { from, is_edited }, &now, bytes, 0);
            }
            (Some(old), Some(now)) => self.replaced(place, old, &now),
            (None, Some(now)) => {
                let is_new = now.is_folder() && !self.image.nodes.contains_key(&now.id);
                let inside = if is_new { self.new_folder(place) } else { 0 };
                self.add(place, ChangeKind::Created, &now, (None, Some(now.bytes)), inside);
            }
        }
    }

    /// Another node is at the name of one that was there before.
    fn replaced(&mut self, place: &Place, old: &Old, now: &Node) {
        let mut inside = 0;
        let kind = if old.node.kind() != now.kind() {
            if now.is_folder() {
                inside = self.new_folder(place);
            }
            ChangeKind::Edited
        } else if now.is_folder() {
            self.new_folder(place);
            self.made_anew.push(place.clone());
            match self.has_same_rights(place, old, now) {
                true => return,
                false => ChangeKind::Mode,
            }
        } else if !self.has_same_content(place, old, now) {
            ChangeKind::Edited
        } else if !self.has_same_rights(place, old, now) {
            ChangeKind::Mode
        } else if old.node.modified == now.modified {
            return;
        } else {
            ChangeKind::Times
        };
        let bytes = (Some(old.node.bytes), Some(now.bytes));
        self.add(place, kind, now, bytes, inside);
    }

    /// Tells of what is in folders that were removed and made again as if they had stayed: the names
    /// in the old ones were told as deleted. Of very many files each counts as edited.
    fn made_anew(&mut self) {
        let before: HashMap<&Place, &Old> =
            self.image.nodes.values().map(|old| (&old.place, old)).collect();
        let mut compared = 0;
        while let Some(folder) = self.made_anew.pop() {
            let mut inside = Vec::new();
            // What cannot be read is taken away with the folder all the same.
            let _ = walk(self.store, &folder, &mut |place, node| {
                inside.push((place.clone(), node.clone()));
                Deeper::No
            });
            for (place, now) in inside {
                let path = self.store.shown(&place);
                let is_deleted = |known: &Change| known.kind == ChangeKind::Deleted;
                let was =
                    self.changes.get(&path).is_some_and(is_deleted).then(|| before.get(&place));
                if let Some(old) = was.flatten() {
                    self.changes.remove(&path);
                    compared += usize::from(now.is_file());
                    if now.is_file() && compared > HASHED_FILES_MAX {
                        let bytes = (Some(old.node.bytes), Some(now.bytes));
                        self.add(&place, ChangeKind::Edited, &now, bytes, 0);
                    } else {
                        self.replaced(&place, old, &now);
                    }
                } else {
                    let inside = if now.is_folder() { self.new_folder(&place) } else { 0 };
                    self.add(&place, ChangeKind::Created, &now, (None, Some(now.bytes)), inside);
                }
            }
        }
    }

    /// Nodes that were touched where they are.
    fn nodes(&mut self) {
        for old in self.image.nodes.values() {
            let Some(mut place) = self.finder.find(old) else { continue };
            let Ok(Some(now)) = node_at(self.store, &place) else { continue };
            self.remember(&place, Some(&now));
            // A further name that the call gave a file does not tell what was done to the file.
            if place != old.place
                && node_at(self.store, &old.place)
                    .is_ok_and(|at| at.is_some_and(|at| at.id == now.id))
            {
                place = old.place.clone();
                self.remember(&place, Some(&now));
            }
            let path = self.store.shown(&place);
            // A name that was told of already may have another content besides.
            if self.changes.get(&path).is_some_and(|known| known.kind != ChangeKind::Times) {
                continue;
            }
            let kind = if self.was_edited(&place, old, &now) {
                ChangeKind::Edited
            } else if !self.has_same_rights(&place, old, &now) {
                ChangeKind::Mode
            } else if old.node.modified != now.modified && self.are_times_its_own(old) {
                ChangeKind::Times
            } else {
                continue;
            };
            self.add(&place, kind, &now, (Some(old.node.bytes), Some(now.bytes)), 0);
        }
    }

    /// Whether a node that is there still has another content.
    fn was_edited(&self, place: &Place, old: &Old, now: &Node) -> bool {
        // One that was left out has no content here, and another length.
        let was_written = old.content.is_some() || now.is_file() && old.node.bytes != now.bytes;
        was_written && !self.has_same_content(place, old, now)
    }

    /// Whether the time of something is told of: that of a folder changes with each name in it, and
    /// where nobody was asked it is not known whether with one that came and went.
    fn are_times_its_own(&self, old: &Old) -> bool {
        !old.node.is_folder()
            || !self.image.entries.contains_key(&old.node.id)
                && !self.image.trouble.contains(&Trouble::Compared)
    }

    fn has_same_rights(&self, place: &Place, old: &Old, now: &Node) -> bool {
        let now = complete(self.store, place, now);
        now.is_ok_and(|now| old.node.has_same_rights(&now))
    }

    fn has_same_content(&self, place: &Place, old: &Old, now: &Node) -> bool {
        if old.node.bytes != now.bytes {
            return false;
        }
        if now.is_file() && now.bytes == 0 {
            return true;
        }
        if !now.is_file() {
            let now = complete(self.store, place, now);
            return now.is_ok_and(|now| old.node.target == now.target);
        }
        if now.bytes > HASHED_BYTES_MAX {
            return old.node.modified == now.modified;
        }
        // Of a file that was only appended to, what was there before is in it still.
        let is_appended = old.content.is_some_and(|content| content.from > 0);
        let object = match (old.content, old.kept) {
            (Some(content), _) if content.length == 0 => return true,
            (Some(_), _) if is_appended && old.node.id == now.id => return true,
            (Some(content), _) if !is_appended => content.object,
            (_, Some(kept)) => kept,
            (_, None) => return old.node.modified == now.modified,
        };
        let Ok(folder) = self.store.open_kept(self.id, old.place.root) else { return false };
        let before = open_object(&folder, object_name(object).as_ref());
        let now = open_place(self.store, place, now);
        match (before, now) {
            (Ok(before), Ok(now)) => {
                same_bytes(File::from(before).take(old.node.bytes), now.into())
            }
            _ => false,
        }
    }

    fn add(
        &mut self,
        place: &Place,
        kind: ChangeKind,
        node: &Node,
        (old_bytes, new_bytes): (Option<u64>, Option<u64>),
        inside: u64,
    ) {
        let path = self.store.shown(place);
        let new_hash = match self.after.get(place) {
            Some(State::Present { content: Known::Hash(hash), .. }) => Some(*hash),
            _ => None,
        };
        let is_file = node.is_file();
        let change = Change {
            path: path.clone(),
            kind,
            entry: EntryKind::from(node.kind()),
            old_bytes: old_bytes.filter(|_| is_file),
            new_bytes: new_bytes.filter(|_| is_file),
            new_hash,
            inside,
        };
        self.changes.insert(path, change);
    }

    /// Remembers how something is, so that a later change of somebody else's is seen.
    fn remember(&mut self, place: &Place, now: Option<&Node>) {
        if self.after.contains_key(place) {
            return;
        }
        let state = self.state(place, now);
        self.after.insert(place.clone(), state);
    }

    fn state(&mut self, place: &Place, now: Option<&Node>) -> State {
        let Some(now) = now else { return State::Absent };
        let may_hash = self.budget.files > 0 && now.bytes <= self.budget.bytes && now.is_file();
        if may_hash {
            self.budget.files -= 1;
            self.budget.bytes -= now.bytes;
        }
        state_of(self.store, place, now, may_hash)
    }

    /// Counts and remembers what is in a folder that the call made.
    fn new_folder(&mut self, place: &Place) -> u64 {
        let mut inside = 0;
        let mut found = Vec::new();
        // What cannot be read is taken away with the folder all the same.
        let _ = walk(self.store, place, &mut |place, node| {
            inside += 1;
            if found.len() < REMEMBERED_MAX {
                found.push((place.clone(), node.clone()));
            }
            Deeper::Yes
        });
        if found.len() < REMEMBERED_MAX {
            self.new_folders.push(place.clone());
        }
        for (place, node) in found {
            let state = state_of(self.store, &place, &node, false);
            self.after.entry(place).or_insert(state);
        }
        inside
    }
}

/// What was and is at a name.
type Found = (Place, Option<NodeId>, Option<Node>);

/// Returns from where what is at a name now went there, name by name where a node has several.
fn came_from(found: &[Found]) -> BTreeMap<Place, Place> {
    let mut left: BTreeMap<NodeId, Vec<&Place>> = BTreeMap::new();
    let mut arrived: BTreeMap<NodeId, Vec<&Place>> = BTreeMap::new();
    for (place, before, now) in found {
        let now = now.as_ref().map(|now| now.id);
        if *before != now {
            before.iter().for_each(|id| left.entry(*id).or_default().push(place));
            now.iter().for_each(|id| arrived.entry(*id).or_default().push(place));
        }
    }
    let mut came_from = BTreeMap::new();
    for (id, mut to) in arrived {
        let mut from = left.remove(&id).unwrap_or_default();
        from.sort_unstable();
        to.sort_unstable();
        came_from.extend(to.into_iter().cloned().zip(from.into_iter().cloned()));
    }
    came_from
}

/// Returns how something is; its content by hash only where that is wanted.
pub(crate) fn state_of(store: &Store, place: &Place, now: &Node, hashed: bool) -> State {
    let mut content = Known::Nothing;
    if now.is_file() && hashed {
        content = hash_of(store, place, now).map_or(Known::Nothing, Known::Hash);
    } else if now.kind() == rustix::fs::FileType::Symlink
        && let Ok(complete) = complete(store, place, now)
    {
        content = Known::Target(complete.target);
    }
    State::Present {
        mode: now.mode,
        bytes: now.bytes,
        modified: now.modified,
        changed: now.changed,
        content,
    }
}

/// Whether something is as it was. What is past all doubt is not read.
pub(crate) fn is_same(store: &Store, place: &Place, was: &State, now: Option<&Node>) -> bool {
    let (mode, bytes, modified, changed, content) = match (was, now) {
        (State::Absent, None) => return true,
        (State::Absent, Some(_)) | (State::Present { .. }, None) => return false,
        (State::Present { mode, bytes, modified, changed, content }, Some(_)) => {
            (mode, bytes, modified, changed, content)
        }
    };
    let Some(now) = now else { return false };
    if *mode != now.mode {
        return false;
    }
    if now.is_folder() || *changed == now.changed && *modified == now.modified {
        return true;
    }
    match content {
        _ if *bytes != now.bytes => false,
        Known::Hash(hash) => hash_of(store, place, now).is_ok_and(|now| now == *hash),
        Known::Target(_) => state_of(store, place, now, false).content() == Some(content),
        Known::Nothing => *modified == now.modified,
    }
}

impl State {
    fn content(&self) -> Option<&Known> {
        match self {
            Self::Absent => None,
            Self::Present { content, .. } => Some(content),
        }
    }

    /// Stands for a state that nothing is the same as.
    pub(crate) fn unknown() -> Self {
        let never = Moment { seconds: i64::MIN, nanoseconds: 0 };
        let content = Known::Nothing;
        Self::Present { mode: 0, bytes: 0, modified: never, changed: never, content }
    }

    pub(crate) fn changed(&self) -> Option<Moment> {
        match self {
            Self::Absent => None,
            Self::Present { changed, .. } => Some(*changed),
        }
    }
}

/// Opens a file, also one that its owner closed for himself.
fn open_place(store: &Store, place: &Place, now: &Node) -> Result<OwnedFd, Errno> {
    let (folder, name) = split(place);
    through_place(store, &folder, |folder| open_any(folder, name, now.id))
}

/// Adds where a link leads, and extended attributes.
fn complete(store: &Store, place: &Place, node: &Node) -> Result<Node, Errno> {
    let (folder, name) = split(place);
    through_place(store, &folder, |folder| {
        let mut node = node.clone();
        node.complete(folder, name).map(|()| node)
    })
}

fn hash_of(store: &Store, place: &Place, now: &Node) -> Result<ContentHash, Errno> {
    let mut file = File::from(open_place(store, place, now)?);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer).map_err(|error| super::store::errno_of(&error))? {
            0 => return Ok(ContentHash::of_digest(hasher)),
            length => hasher.update(buffer.get(..length).unwrap_or_default()),
        }
    }
}

fn same_bytes(mut one: impl Read, mut other: File) -> bool {
    let mut parts = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let Ok(length) = one.read(&mut parts.0) else { return false };
        if length == 0 {
            return matches!(other.read(&mut parts.1), Ok(0));
        }
        let Some(part) = parts.1.get_mut(..length) else { return false };
        if other.read_exact(part).is_err() || parts.0.get(..length) != Some(&*part) {
            return false;
        }
    }
}
