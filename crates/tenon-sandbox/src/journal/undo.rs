//! Puts back what one checkpoint saved, recording all it does in a checkpoint of its own, so that
//! it can be undone like any call.
//!
//! First files get their bytes back where they are; then every name that holds another node than
//! before is emptied, by moving what is there to the store; folders that are gone are made again;
//! every name gets its node back; and folders get their permissions and times last. Whatever is
//! moved is written down before, so an end at any moment loses nothing.

mod again;
mod beside;
mod closed;
mod folders;
mod held;
mod home;
mod inside;
mod locate;
mod mounts;
mod not_kept;
mod staying;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::CheckpointId;
use super::astray::Astray;
use super::checkpoint::touch;
use super::conflicts::Left;
use super::find::{node_at, split};
use super::in_store::{IN_STORE, in_store};
use super::node::{Node, NodeId, look};
use super::put::{differs, rename, write_content};
use super::record::{Content, Image, LeftFile, Old, Place, Record};
use super::recorder::{Fate, Folder, Recorder, Step, Writing};
use super::spot::Spot;
use super::state::{At, has_head, has_same_content};
use super::store::{Store, object_name};
use crate::linux::openat::{open_beneath, open_folder_beneath};
use crate::workspace::ContentHash;
use locate::Stored;
pub(super) use not_kept::not_kept;

/// What taking back an undo that failed is called.
pub(crate) const TAKE_BACK: &str = "take back";

/// Something that could not be put back, and why.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) place: Place,
    pub(crate) errno: Errno,
}

/// What an undo did not put back.
#[derive(Debug, Default)]
pub(crate) struct NotBack {
    /// Files that are nowhere any more, which nobody can put back.
    pub(crate) nowhere: Vec<Place>,
    /// What is not as it was, because something that is kept holds it.
    pub(crate) held: BTreeSet<Place>,
    /// Names that are as they were before the call; known where something is held.
    pub(crate) back: BTreeSet<Place>,
    /// Where what is held is, by where it was before the call.
    pub(crate) astray: Astray,
}

/// The work on one checkpoint.
pub(crate) struct Undoing<'a> {
    store: Arc<Store>,
    of: CheckpointId,
    image: &'a Image,
    to: &'a mut Recorder,
    spots: HashMap<NodeId, Spot>,
    /// How the call left files of which their places alone do not tell.
    left_files: HashMap<NodeId, &'a LeftFile>,
    /// Nodes that were made again by this work.
    again: HashMap<NodeId, NodeId>,
    /// Nodes of the log that are in the stores of others; looked at once.
    stored: Option<HashMap<NodeId, Stored>>,
    /// Nodes that have a name again, maybe in a folder that has none yet.
    placed: HashSet<NodeId>,
    /// Nodes that are in the store of a later undo.
    made_since: HashSet<NodeId>,
    /// Folders that were made again, while nothing is in them.
    empty: HashSet<NodeId>,
    /// Names that get their nodes because something else must leave theirs.
    making_way: HashSet<(NodeId, OsString)>,
    /// Where what this work moved to the store was before, by its name there.
    origins: HashMap<OsString, Place>,
    /// Folders that were opened up and that the log knows no permissions of, and theirs.
    opened: Vec<(OwnedFd, u32)>,
    /// What stays as it is, because somebody else changed it.
    kept: &'a [Left],
    /// What has a name there, of which nothing is changed by whatever name.
    untouched: HashSet<NodeId>,
    /// What was there before the call, and where it stays, because its own place is kept.
    staying: Vec<Place>,
    /// Nodes for which something else stands by now, which was told to be undone all the same.
    others: HashSet<NodeId>,
    /// Nodes that the call left where they are to stay as they are, and where they are now.
    spared: HashMap<NodeId, Option<Place>>,
    /// Nodes that are theirs, or in the store for a redo: another is made in the place of each.
    elsewhere: HashSet<NodeId>,
    /// Where some of these are that somebody changed and moved.
    theirs_at: HashMap<NodeId, Place>,
    /// Where the call left nodes that are not there now, though it touched none of their names.
    lost: Vec<(NodeId, Place)>,
    /// Files that somebody moved and did not change, and where they are now.
    moved_away: Vec<(NodeId, Place)>,
    /// What forbids the work: where something of another kind stands in the place of one of these, or one
    /// may be that was not found.
    blocked: Vec<(Place, Errno)>,
    /// Where files were that are nowhere any more, and whose bytes nobody has.
    nowhere: Vec<Place>,
    /// Names for these, as if the call had taken them away.
    lost_names: HashMap<NodeId, BTreeMap<OsString, Option<NodeId>>>,
    /// How the folders were that these are in, of which the log does not speak.
    around_lost: HashMap<NodeId, Node>,
}

/// Undoes what `image`, the log of `of`, tells, and records it in `to`. Returns what is not put back, but for
/// what is `kept`.
pub(crate) fn undo(
    of: CheckpointId,
    image: &Image,
    to: &mut Recorder,
    kept: &[Left],
) -> Result<NotBack, Failure> {
    let mut undoing = Undoing::new(of, image, to, kept);
    undoing.locate();
    undoing.find_staying();
    undoing.open_closed_folders();
    let outcome = undoing.put_back();
    undoing.close_again();
    outcome.map(|()| undoing.not_back())
}

impl<'a> Undoing<'a> {
    fn new(of: CheckpointId, image: &'a Image, to: &'a mut Recorder, kept: &'a [Left]) -> Self {
        let at_kept = |left: &Left| Some(node_at(&to.store, &left.place).ok()??.id);
        let untouched = kept.iter().filter_map(at_kept).collect();
        Self {
            store: Arc::clone(&to.store),
            of,
            image,
            to,
            spots: HashMap::new(),
            left_files: image.left_files(),
            again: HashMap::new(),
            stored: None,
            placed: HashSet::new(),
            made_since: HashSet::new(),
            empty: HashSet::new(),
            making_way: HashSet::new(),
            origins: HashMap::new(),
            opened: Vec::new(),
            kept,
            untouched,
            staying: Vec::new(),
            others: HashSet::new(),
            spared: HashMap::new(),
            elsewhere: HashSet::new(),
            theirs_at: HashMap::new(),
            lost: Vec::new(),
            moved_away: Vec::new(),
            blocked: Vec::new(),
            nowhere: Vec::new(),
            lost_names: HashMap::new(),
            around_lost: HashMap::new(),
        }
    }
}

impl Undoing<'_> {
    fn put_back(&mut self) -> Result<(), Failure> {
        // What is taken back is so as far as it can be.
        self.expect_lost();
        self.settle_moved();
        if !self.takes_back() {
            self.check_mounts()?;
            if let Some((place, errno)) = self.blocked.pop() {
                return Err(Failure { place, errno });
            }
        }
        self.copy_moved()?;
        self.restore_files()?;
        self.detach()?;
        self.make_again()?;
        self.attach()?;
        self.attach_lost()?;
        self.restore_times()?;
        self.restore_folders()
    }

    fn takes_back(&self) -> bool {
        self.to.image.header.name.starts_with(TAKE_BACK)
    }

    fn actual(&self, id: NodeId) -> NodeId {
        self.again.get(&id).copied().unwrap_or(id)
    }

    /// Opens the folder that a spot is in; the name of the spot in it.
    fn open_around(&self, spot: &Spot) -> Result<(OwnedFd, OsString), Errno> {
        match spot {
            Spot::Tree(place) => {
                let (folder, name) = split(place);
                Ok((self.store.open_folder(&folder)?, name.to_owned()))
            }
            Spot::Store { id, root, path } => {
                let top = self.store.open_kept(*id, *root)?;
                let folder = open_folder_beneath(&top, path.parent().unwrap_or(Path::new("")))?;
                Ok((folder, path.file_name().unwrap_or_default().to_owned()))
            }
        }
    }

    fn node_of(&self, spot: &Spot) -> Result<Option<Node>, Errno> {
        match spot {
            Spot::Tree(place) => node_at(&self.store, place),
            Spot::Store { .. } => {
                let (folder, name) = self.open_around(spot)?;
                look(&folder, &name)
            }
        }
    }

    /// Where something in the store was in the tree, as far as this work moved it there.
    fn origin(&self, (id, root): (CheckpointId, usize), path: &Path) -> Place {
        let mut parts = path.components();
        let own = parts.next().filter(|_| self.to.id() == Some(id));
        match own.and_then(|first| self.origins.get(first.as_os_str())) {
            Some(origin) => origin.join(parts.as_path().as_os_str()),
            None => in_store(root, id, path),
        }
    }

    /// A folder of the log, for work in it. `None` when it is nowhere.
    fn folder(&mut self, id: NodeId) -> Result<Option<Folder>, Errno> {
        let Some(spot) = self.spots.get(&id).cloned() else { return Ok(None) };
        let place = match &spot {
            Spot::Tree(place) => place.clone(),
            Spot::Store { id, root, path } => self.origin((*id, *root), path),
        };
        let handle = self.open_spot(&spot)?;
        let id = self.actual(id);
        if matches!(spot, Spot::Store { .. }) {
            self.to.note_old_folder(id);
        }
        Ok(Some(Folder { id, handle, place }))
    }

    /// Opens a folder where it is.
    fn open_spot(&self, spot: &Spot) -> Result<OwnedFd, Errno> {
        match spot {
            Spot::Tree(place) => self.store.open_folder(place),
            Spot::Store { id, root, path } => {
                open_folder_beneath(&self.store.open_kept(*id, *root)?, path)
            }
        }
    }

    /// Takes in that a node moved, which the log calls `id`.
    fn note_moved(&mut self, node: &Node, id: NodeId, (from, to): (&Spot, &Spot)) {
        if node.is_folder() && !self.empty.contains(&id) {
            for spot in self.spots.values_mut() {
                spot.relocate(from, to);
            }
        } else if let Some(spot) = self.spots.get_mut(&id).filter(|spot| **spot == *from) {
            // Nothing moves with it: all spots need not be looked through.
            spot.clone_from(to);
        }
    }

    fn restore_files(&mut self) -> Result<(), Failure> {
        let files = self.image.nodes.values().filter(|old| !old.node.is_folder());
        for old in files {
            let id = old.node.id;
            let Some(spot) = self.spots.get(&id).cloned() else { continue };
            // What stays elsewhere than it was gets its content back there.
            let is_left = matches!(&spot, Spot::Tree(place) if self.is_left(place));
            if is_left || self.spared.contains_key(&id) || self.is_copy(id, &spot) {
                continue;
            }
            let fail = |errno| Failure { place: old.place.clone(), errno };
            self.restore_file(old, &spot).map_err(fail)?;
        }
        Ok(())
    }

    fn restore_file(&mut self, old: &Old, spot: &Spot) -> Result<(), Errno> {
        let path = self.store.shown(&old.place);
        let is_left_out = self.image.left_out.iter().any(|left_out| left_out.path == path);
        let (folder, name) = self.open_around(spot)?;
        let Some(now) = look(&folder, &name)? else { return Ok(()) };
        if self.untouched.contains(&now.id) {
            return Ok(());
        }
        let without_content = is_left_out.then(|| old.without_content(&now));
        let old = without_content.as_ref().unwrap_or(old);
        let source = match old.content.filter(|_| old.node.is_file()) {
            Some(content) => Some((content, self.open_content(old, content)?)),
            None => None,
        };
        if !self.has_its_head(old, &now, At::Folder(&folder, &name)) {
            // Nobody has what was before the part that was saved.
            return Err(Errno::NODATA);
        }
        let content_differs = match &source {
            Some((content, object)) => differs(*content, object.as_ref(), &now, (&folder, &name))?,
            None => false,
        };
        let mut complete = now.clone();
        complete.complete(&folder, &name)?;
        let rights_differ =
            !old.node.has_same_rights(&complete) || old.node.modified != now.modified;
        if !content_differs && !rights_differ {
            return Ok(());
        }
        if let Spot::Tree(place) = spot {
            let (above, name) = split(place);
            let above = self.to.folder(&above)?;
            let step = self.to.before_rights(&above, name)?;
            self.finish_step(step)?;
            if content_differs {
                let step = self.before_content(&above, name, old)?;
                self.finish_step(step)?;
            }
        } else if now.links > 1 || !self.to.image.header.name.starts_with(TAKE_BACK) {
            if !self.to.image.nodes.contains_key(&now.id) {
                let place = match now.links {
                    // An earlier checkpoint may want it as it is now.
                    ..=1 => Place { root: old.place.root, path: IN_STORE.into() },
                    // Another name of it is in the tree.
                    _ => old.place.clone(),
                };
                self.to.write(Record::Node { node: complete, place })?;
            }
            if content_differs && !self.takes_back() {
                let step = self.to.save_content(now.id, (&folder, &name), old.place.root)?;
                self.finish_step(step)?;
            }
        }
        if let Some((content, object)) = source.filter(|_| content_differs) {
            write_content(&folder, &name, &now, content, object.as_ref())?;
        }
        old.node.apply(&folder, &name)
    }

    /// Whether what was in a file before it was appended to is in it still, or in what stands for it.
    fn has_its_head(&self, old: &Old, now: &Node, at: At<'_>) -> bool {
        let (Some(from), id) = (old.appended_from(), old.node.id) else { return true };
        match self.left_files.get(&id) {
            Some(left) => {
                let has_head = |head: ContentHash| has_head(at, now, from, &head);
                has_same_content(at, &left.state, now) || left.head.is_some_and(has_head)
            }
            None => !self.others.contains(&id),
        }
    }

    fn before_content(&mut self, above: &Folder, name: &OsStr, old: &Old) -> Result<Step, Errno> {
        match old.content {
            // What is half done is not wanted again: if this is cut short, it is done once more.
            _ if self.takes_back() => Ok(Step::Done),
            // What was appended is all that redo needs.
            Some(content) if content.from > 0 && self.to.image.header.undoes.len() == 1 => {
                self.to.before_cut(above, name, content.from)
            }
            _ => self.to.before_content(above, name, Writing::Anywhere),
        }
    }

    /// Ends what is to be done before a change. The log is of now: should this be cut short, what changed
    /// later is somebody else's.
    fn finish_step(&mut self, step: Step) -> Result<(), Errno> {
        self.to.log_file().into_iter().for_each(touch);
        match step {
            Step::Done => Ok(()),
            Step::Copy(job) => {
                let outcome = job.run();
                self.to.copied(&job, outcome)
            }
            // Nobody else works with this recorder.
            Step::Wait => Err(Errno::DEADLK),
        }
    }

    fn open_content(&self, old: &Old, content: Content) -> Result<Option<File>, Errno> {
        if content.object == 0 {
            return Ok(None);
        }
        let folder = self.store.open_kept(old.content_by.unwrap_or(self.of), old.place.root)?;
        let name = object_name(content.object);
        Ok(Some(open_beneath(&folder, &*name, OFlags::RDONLY, Mode::empty())?.into()))
    }

    /// The names that were touched, folder by folder, a folder before those in it.
    fn names(&self) -> Vec<(NodeId, BTreeMap<OsString, Option<NodeId>>)> {
        let entries = self.image.entries.iter().chain(&self.lost_names);
        let mut names: Vec<_> = entries.map(|(folder, names)| (*folder, names.clone())).collect();
        let removed = self.image.nodes.values().filter(|old| old.gone).map(|old| old.node.id);
        let was_empty = removed.filter(|id| !self.image.entries.contains_key(id));
        names.extend(was_empty.map(|id| (id, BTreeMap::new())));
        names.sort_by_key(|(id, _)| {
            self.image.nodes.get(id).map_or(0, |old| old.place.path.as_os_str().len())
        });
        names
    }

    fn detach(&mut self) -> Result<(), Failure> {
        for (id, mut names) in self.names() {
            names.extend(self.strangers(id).into_iter().map(|name| (name, None)));
            for (name, before) in names {
                let place = self.place_of(id, &name);
                let outcome = self.detach_one(id, &name, before);
                outcome.map_err(|errno| Failure { place, errno })?;
            }
        }
        Ok(())
    }

    fn place_of(&self, folder: NodeId, name: &OsStr) -> Place {
        let place = match self.spots.get(&folder) {
            Some(Spot::Tree(place)) => place.clone(),
            _ => match self.image.nodes.get(&folder) {
                Some(old) => old.place.clone(),
                None => Place { root: 0, path: PathBuf::new() },
            },
        };
        place.join(name)
    }

    fn detach_one(
        &mut self,
        id: NodeId,
        name: &OsStr,
        before: Option<NodeId>,
    ) -> Result<(), Errno> {
        let Some(folder) = self.folder(id)? else { return Ok(()) };
        let place = folder.place.join(name);
        let from = match self.spots.get(&id) {
            Some(Spot::Store { id, root, path }) => {
                Spot::Store { id: *id, root: *root, path: path.join(name) }
            }
            _ => Spot::Tree(place.clone()),
        };
        if self.is_kept(&place) {
            return self.detach_inside(&from);
        }
        let Some(now) = look(&folder.handle, name)? else { return Ok(()) };
        if Some(now.id) == before || self.goes_beside((id, &folder), name, &now) {
            return Ok(());
        }
        self.take_away(&folder, name, &now, from)
    }

    /// Moves what is at a name to the store.
    fn take_away(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        now: &Node,
        from: Spot,
    ) -> Result<(), Errno> {
        let step = self.to.before_entry(folder, name, Fate::Moves)?;
        self.finish_step(step)?;
        let root = folder.place.root;
        let (objects, object) = self.to.object(root)?;
        if self.to.image.nodes.contains_key(&now.id) {
            self.to.write(Record::Kept { id: now.id, object })?;
        }
        let kept = object_name(object);
        rename((&folder.handle, name), (&objects, kept.as_ref()), now)?;
        let own = self.to.id().ok_or(Errno::NOENT)?;
        self.origins.insert(OsString::from(&kept), folder.place.join(name));
        let to = Spot::Store { id: own, root, path: kept.into() };
        self.note_moved(now, self.called(now.id), (&from, &to));
        Ok(())
    }

    fn attach(&mut self) -> Result<(), Failure> {
        for (id, names) in self.names() {
            for (name, before) in names {
                let Some(before) = before else { continue };
                let place = self.place_of(id, &name);
                let outcome = self.attach_one(id, &name, before);
                outcome.map_err(|errno| Failure { place, errno })?;
            }
        }
        Ok(())
    }

    fn attach_one(&mut self, id: NodeId, name: &OsStr, before: NodeId) -> Result<(), Errno> {
        let Some(folder) = self.folder(id)? else { return Ok(()) };
        if self.is_kept(&folder.place.join(name)) {
            return Ok(());
        }
        let now = look(&folder.handle, name)?;
        if now.as_ref().is_some_and(|now| now.id == self.actual(before)) || self.is_theirs(before) {
            return Ok(());
        }
        let Some(spot) = self.spots.get(&before).cloned() else { return Err(Errno::NOENT) };
        let Some(node) = self.node_of(&spot)? else { return Err(Errno::NOENT) };
        let step = self.to.before_entry(&folder, name, Fate::Appears)?;
        self.finish_step(step)?;
        let to = match self.spots.get(&id) {
            Some(Spot::Store { id, root, path }) => {
                Spot::Store { id: *id, root: *root, path: path.join(name) }
            }
            _ => Spot::Tree(folder.place.join(name)),
        };
        if let Some(other) = now
            && self.make_way((id, &folder, name), (&node, before, &spot), other)?
        {
            return Ok(());
        }
        // What made way may be a folder that it is in.
        let Some(spot) = self.spots.get(&before).cloned() else { return Err(Errno::NOENT) };
        let (around, old_name) = self.open_around(&spot)?;
        self.before_return(&spot, &node, (&around, &old_name))?;
        let is_link = !node.is_folder() && (self.placed.contains(&before) || self.stays_at(&spot));
        if !is_link {
            self.before_leaving(&spot)?;
        }
        if let Spot::Tree(place) = &to {
            self.to.note_moved(node.id, place.clone())?;
        }
        if is_link {
            let flags = AtFlags::empty();
            rustix::fs::linkat(&around, &*old_name, &folder.handle, name, flags)?;
        } else {
            rename((&around, &old_name), (&folder.handle, name), &node)?;
            self.note_moved(&node, before, (&spot, &to));
            self.placed.insert(before);
        }
        self.empty.remove(&id);
        Ok(())
    }

    /// Before a node gets a name again that an older checkpoint of this undo may change: as it is now
    /// it is undone again after a redo.
    fn before_return(
        &mut self,
        spot: &Spot,
        node: &Node,
        (around, name): (&OwnedFd, &OsStr),
    ) -> Result<(), Errno> {
        if self.to.image.nodes.contains_key(&node.id) {
            return Ok(());
        }
        let place = match spot {
            // With what is in it, it is as old as a folder in the tree. One in another is saved as it leaves.
            Spot::Store { id, root, path }
                if node.is_folder() && spot.is_object() && self.to.id() != Some(*id) =>
            {
                in_store(*root, *id, path)
            }
            _ if node.is_folder() || self.to.image.header.undoes.len() < 2 => return Ok(()),
            Spot::Tree(place) => place.clone(),
            Spot::Store { root, .. } => Place { root: *root, path: IN_STORE.into() },
        };
        let mut node = node.clone();
        node.complete(around, name)?;
        self.to.write(Record::Node { node, place })
    }

    /// Before a node leaves the folder that it is in. What is kept by itself was written down when
    /// it came.
    fn before_leaving(&mut self, spot: &Spot) -> Result<(), Errno> {
        let (folder, name) = match spot {
            Spot::Tree(place) => {
                let (above, name) = split(place);
                (self.to.folder(&above)?, name)
            }
            Spot::Store { .. } if spot.is_object() => return Ok(()),
            Spot::Store { id, root, path } => {
                let (handle, _) = self.open_around(spot)?;
                let above = path.parent().unwrap_or(Path::new(""));
                let place = self.origin((*id, *root), above);
                let id = look(&handle, OsStr::new(""))?.ok_or(Errno::NOENT)?.id;
                self.to.note_old_folder(id);
                (Folder { id, handle, place }, path.file_name().unwrap_or_default())
            }
        };
        let step = self.to.before_entry(&folder, name, Fate::Moves)?;
        self.finish_step(step)
    }
}
