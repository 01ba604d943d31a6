//! What a call touched, name by name, and what was there before: for whoever looks after names that
//! programs take commands from. Asked while the call runs, or when it is over.
//!
//! Nothing in a folder that the call made is recorded: the folder stands for it. What was there before
//! is found by going down the tree as it was, since a folder may be at another place by now.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::CheckpointId;
use super::checkpoint::Checkpoint;
use super::content::{open_object, open_place, read_bytes};
use super::find::{Finder, node_at};
use super::left_behind::LeftBehind;
use super::node::{Moment, Node, NodeId, look};
use super::record::{Image, Old, Place};
use super::recorder::Recorder;
use super::store::Store;
use super::trouble::Trouble;
use crate::linux::openat::open_beneath;

/// How much is looked at that was in folders which are no longer where they were, and how deep.
const KEPT_MAX: usize = 10_000;
const DEPTH_MAX: usize = 64;

/// What a call touched.
#[derive(Debug, Default)]
pub(crate) struct AllTouched {
    /// The upper ones first.
    pub(crate) names: Vec<Touched>,
    /// Folders that were elsewhere before: what is in them and was not touched came along.
    pub(crate) moved: Vec<(PathBuf, PathBuf)>,
    /// Whether something may have been touched that nobody recorded.
    pub(crate) has_gaps: bool,
}

/// A name that a call touched.
#[derive(Debug)]
pub(crate) struct Touched {
    pub(crate) root: PathBuf,
    pub(crate) beneath: PathBuf,
    pub(crate) came: Came,
    /// Whether `before` was in the folder that is there now, at the place where that was.
    pub(crate) is_along: bool,
    /// A file or link that was there before; `None` where none was, or it does not matter.
    pub(crate) before: Option<Before>,
}

/// How what is at a name came there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// It was there before.
    Stayed,
    /// Something else was.
    Replaced,
    /// Nothing was.
    Made,
}

/// What was at a name.
#[derive(Debug)]
pub(crate) struct Before {
    /// What the log calls it, where that speaks of it.
    pub(crate) id: Option<NodeId>,
    /// Kind and permissions.
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) links: u64,
    pub(crate) modified: Option<Moment>,
    /// When something of it was changed last, which only the kernel sets.
    pub(crate) changed: Option<Moment>,
    pub(crate) content: Kept,
}

/// What is known of a content.
#[derive(Debug)]
pub(crate) enum Kept {
    File(Vec<u8>),
    Link(OsString),
    Nothing,
}

/// How many bytes are read of how things were.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadLimits {
    /// Of a file: of a longer one none.
    pub(crate) each: u64,
    /// Of all.
    pub(crate) all: u64,
}

impl Checkpoint {
    /// Returns the names that the call touched as far as they matter: those that `matters` says, given
    /// a root and a place beneath it, and folders and links that were not there.
    pub(crate) fn touched(
        &self,
        matters: &dyn Fn(&Path, &Path) -> bool,
        limits: ReadLimits,
    ) -> AllTouched {
        let recorder = self.lock();
        let Some(id) = recorder.id() else { return AllTouched::default() };
        let store = Arc::clone(&recorder.store);
        let mut look = Look::new(&store, &recorder.image, id, matters, limits);
        look.image();
        look.aside(&recorder);
        AllTouched { has_gaps: has_gaps(&recorder), ..look.all() }
    }

    /// Returns the folders with checkpoints.
    pub(crate) fn own_folders(&self) -> Vec<PathBuf> {
        self.lock().store.folders()
    }

    /// Returns the roots that are recorded.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        self.lock().store.roots.iter().map(|root| root.path.clone()).collect()
    }
}

impl LeftBehind {
    /// Does what [`Checkpoint::touched`] does.
    pub(crate) fn touched(
        &self,
        matters: &dyn Fn(&Path, &Path) -> bool,
        limits: ReadLimits,
    ) -> AllTouched {
        let id = self.parts.first().map_or(CheckpointId(0), |part| part.id);
        let mut look = Look::new(&self.journal.store, &self.image, id, matters, limits);
        look.is_everywhere = true;
        look.image();
        look.all()
    }
}

/// A comparison does not look into what it leaves out.
fn has_gaps(recorder: &Recorder) -> bool {
    let has = |trouble| recorder.image.trouble.contains(&trouble);
    has(Trouble::NotWatched)
        || has(Trouble::Compared) && !recorder.image.left_out.is_empty()
        || recorder.aside_is_full()
}

pub(super) struct Look<'a> {
    store: &'a Store,
    image: &'a Image,
    id: CheckpointId,
    pub(super) finder: Finder<'a>,
    matters: &'a dyn Fn(&Path, &Path) -> bool,
    limits: ReadLimits,
    found: BTreeMap<Place, Touched>,
    moved: Vec<(PathBuf, PathBuf)>,
    /// Files and folders in folders that are no longer where they were.
    kept_left: usize,
    /// Whether files are looked for everywhere: somebody may have moved them since.
    is_everywhere: bool,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        store: &'a Store,
        image: &'a Image,
        id: CheckpointId,
        matters: &'a dyn Fn(&Path, &Path) -> bool,
        limits: ReadLimits,
    ) -> Self {
        let finder = Finder::new(store, image, id);
        let (found, moved, kept_left) = (BTreeMap::new(), Vec::new(), KEPT_MAX);
        let is_everywhere = false;
        Self { store, image, id, finder, matters, limits, found, moved, kept_left, is_everywhere }
    }

    fn image(&mut self) {
        self.entries();
        self.nodes();
    }

    fn all(self) -> AllTouched {
        let mut names: Vec<Touched> = self.found.into_values().collect();
        names.sort_by_key(|touched| touched.beneath.iter().count());
        AllTouched { names, moved: self.moved, has_gaps: false }
    }

    /// Names in folders that were there before.
    fn entries(&mut self) {
        for (folder, names) in &self.image.entries {
            let Some(old) = self.image.nodes.get(folder) else { continue };
            let at = self.finder.find(old).unwrap_or_else(|| old.place.clone());
            let is_along = self.is_everywhere && at != old.place;
            for (name, before) in names {
                match before.filter(|_| is_along) {
                    Some(before) if self.along(&at.join(name), before) => {}
                    _ => self.name(at.join(name), *before),
                }
            }
        }
    }

    /// What changed where it is.
    fn nodes(&mut self) {
        for old in self.image.nodes.values() {
            if !old.node.is_folder() {
                self.name(old.place.clone(), Some(old.node.id));
                // A folder above it may have moved before somebody wrote it.
                let place = match self.is_everywhere {
                    true => self.finder.find(old),
                    false => self.finder.at_its_place(old),
                };
                let Some(place) = place else { continue };
                let is_along = self.is_everywhere
                    && place != old.place
                    && self.finder.in_its_folder(old).as_ref() == Some(&place);
                if !is_along || !self.along(&place, old.node.id) {
                    self.name(place, Some(old.node.id));
                }
            } else if let Some(place) = self.finder.find(old) {
                if place != old.place {
                    self.moved.push((self.root(&place).to_path_buf(), place.path.clone()));
                }
                if old.node.mode & OPEN != OPEN {
                    // What is in it could not be looked at before.
                    self.add(place, Came::Replaced, None);
                }
            }
        }
    }

    /// What is not recorded for undo.
    fn aside(&mut self, recorder: &Recorder) {
        for (place, before) in &recorder.aside {
            let came = came(before.as_ref().map(|node| node.id), self.now(place).as_ref());
            let was_file = before.as_ref().is_some_and(|node| !node.is_folder());
            let unknown = || Before {
                id: None,
                mode: 0,
                owner: (0, 0),
                links: 0,
                modified: None,
                changed: None,
                content: Kept::Nothing,
            };
            self.add(place.clone(), came, was_file.then(unknown));
        }
    }

    /// Takes in a file that was at a name in a folder which is elsewhere now. Returns whether it is one that matters.
    fn along(&mut self, place: &Place, id: NodeId) -> bool {
        let old = self.image.nodes.get(&id).filter(|old| !old.node.is_folder());
        let old = old.filter(|_| (self.matters)(self.root(place), &place.path));
        let Some(old) = old else { return false };
        let came = came(Some(id), self.now(place).as_ref());
        let was = self.was(old);
        self.add(place.clone(), came, Some(was));
        if let Some(touched) = self.found.get_mut(place) {
            touched.is_along = true;
        }
        true
    }

    /// `entry` is what the log says of a name; it may be said in a tree that was changed before.
    fn name(&mut self, place: Place, entry: Option<NodeId>) {
        if self.found.contains_key(&place) {
            return;
        }
        if !(self.matters)(self.root(&place), &place.path) {
            // Only what brings more with it.
            let Some(now) = self.now(&place).filter(|now| !now.is_file()) else { return };
            if entry != Some(now.id) {
                self.add(place, came(entry, Some(&now)), None);
            }
            return;
        }
        let (mut before, now) = (self.before(&place), self.now(&place));
        // Somebody put another file there since, as who puts back what the call wrote: the log speaks of
        // the one that was there.
        let is_known = |id: &NodeId| self.image.nodes.contains_key(id);
        if before.is_some_and(|id| !is_known(&id)) && entry.is_some_and(|id| is_known(&id)) {
            before = entry;
        }
        let came = came(before, now.as_ref());
        let old = before.and_then(|id| self.image.nodes.get(&id));
        if let Some(old) = old.filter(|old| old.node.is_folder() && came == Came::Replaced)
            && !place.path.ends_with(".git")
        {
            let here = self.finder.find(old);
            self.folder(&place, old.node.id, here.as_ref(), DEPTH_MAX);
        }
        let was = old.filter(|old| !old.node.is_folder()).map(|old| self.was(old));
        if now.is_some() || old.is_some() {
            self.add(place, came, was);
        }
    }

    /// What was in a folder that is no longer at `place`, but `here` or nowhere.
    fn folder(&mut self, place: &Place, id: NodeId, here: Option<&Place>, deeper: usize) {
        let mut names: BTreeMap<OsString, (Option<NodeId>, Option<Node>)> = BTreeMap::new();
        let handle = here.and_then(|here| self.store.open_folder(here).ok());
        for (name, node) in handle.iter().flat_map(nodes_in) {
            names.insert(name, (Some(node.id), Some(node)));
        }
        for (name, before) in self.image.entries.get(&id).into_iter().flatten() {
            names.insert(name.clone(), (*before, None));
        }
        for (name, (id, node)) in names {
            let (Some(id), true) = (id, self.kept_left > 0 && deeper > 0) else { continue };
            self.kept_left -= 1;
            let old = match (self.image.nodes.get(&id), node, here) {
                (Some(old), ..) => old.clone(),
                (None, Some(node), Some(here)) => Old::new(node, here.join(&name)),
                _ => continue,
            };
            let place = place.join(&name);
            if old.node.is_folder() {
                let here = self.finder.find(&old);
                self.folder(&place, id, here.as_ref(), deeper - 1);
            } else {
                let was = self.was(&old);
                self.add(place, Came::Replaced, Some(was));
            }
        }
    }

    fn add(&mut self, place: Place, came: Came, before: Option<Before>) {
        let (root, beneath) = (self.root(&place).to_path_buf(), place.path.clone());
        self.found.entry(place).or_insert(Touched { root, beneath, came, is_along: false, before });
    }

    fn root(&self, place: &Place) -> &Path {
        self.store.roots.get(place.root).map_or(Path::new(""), |root| &root.path)
    }

    fn now(&self, place: &Place) -> Option<Node> {
        node_at(self.store, place).ok().flatten()
    }

    /// Returns what was at a place before the call.
    pub(super) fn before(&mut self, place: &Place) -> Option<NodeId> {
        let mut at = Some(Place { root: place.root, path: PathBuf::new() });
        let mut id = self.now(at.as_ref()?)?.id;
        for name in &place.path {
            let said = self.image.entries.get(&id).and_then(|names| names.get(name));
            let next = at.map(|at| at.join(name));
            id = match said {
                Some(before) => (*before)?,
                None => self.now(next.as_ref()?)?.id,
            };
            // A folder that was touched can be elsewhere by now, or gone with all that was in it.
            at = match self.image.nodes.get(&id) {
                Some(old) => self.finder.find(old),
                None if said.is_some() => None,
                None => next,
            };
        }
        Some(id)
    }

    pub(super) fn was(&mut self, old: &Old) -> Before {
        let content = match old.node.kind() {
            FileType::RegularFile => self.bytes(old).map_or(Kept::Nothing, Kept::File),
            FileType::Symlink => Kept::Link(old.node.target.clone()),
            _ => Kept::Nothing,
        };
        let node = &old.node;
        Before {
            id: Some(node.id),
            mode: node.mode & 0o7777,
            owner: (node.user, node.group),
            links: node.links.into(),
            modified: Some(node.modified),
            changed: Some(node.changed),
            content,
        }
    }

    /// Returns what was in a file: what was saved of it, or what is in it as long as nobody wrote it.
    fn bytes(&mut self, old: &Old) -> Option<Vec<u8>> {
        let length = old.content.map_or(old.node.bytes, |content| content.length);
        if length > self.limits.each.min(self.limits.all) {
            return None;
        }
        let root = old.place.root;
        let saved = old.content.filter(|content| content.from == 0);
        let saved = saved.map(|content| (content.object, old.content_by));
        let file: Option<File> = match saved.or(old.kept.map(|object| (object, old.kept_by))) {
            None if length == 0 => return Some(Vec::new()),
            Some((0, _)) => return Some(Vec::new()),
            Some((object, by)) => open_object(self.store, by.unwrap_or(self.id), root, object).ok(),
            None => self.finder.find(old).and_then(|place| open_place(self.store, &place).ok()),
        };
        let bytes = read_bytes(file?, length).ok()?;
        self.limits.all -= length;
        (bytes.len() as u64 == length).then_some(bytes)
    }
}

/// Returns what is in a folder.
fn nodes_in(folder: &OwnedFd) -> Vec<(OsString, Node)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let open = open_beneath(folder, ".", flags, Mode::empty());
    let entries = open.ok().and_then(|open| Dir::read_from(open).ok());
    let mut nodes = Vec::new();
    for entry in entries.into_iter().flatten().flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "."
            && name != ".."
            && let Ok(Some(mut node)) = look(folder, name)
            && node.complete(folder, name).is_ok()
        {
            nodes.push((name.to_owned(), node));
        }
    }
    nodes
}

/// Read and search permission of the owner.
const OPEN: u32 = 0o500;

fn came(before: Option<NodeId>, now: Option<&Node>) -> Came {
    match (before, now) {
        (None, _) => Came::Made,
        (Some(before), Some(now)) if before == now.id => Came::Stayed,
        (Some(_), _) => Came::Replaced,
    }
}
