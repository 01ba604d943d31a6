//! What an undo would bring to names that programs take commands from, though no look has judged it: what another
//! command wrote there, or where the name was a harmless one.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::FileType;

use super::astray::Astray;
use super::conflicts::{ConflictReason, Conflicts, Found};
use super::content::{find_kept, open_in, open_object, read_bytes, read_place};
use super::find::{node_at, own_places, split};
use super::git_programs::{GitFile, SETTINGS_BYTES_MAX, runs_programs};
use super::node::{NodeId, look};
use super::record::{Image, Old, Place};
use super::sealed::Seals;
use super::since::times_since;
use super::store::{Store, object_name};
use super::walk::{Deeper, walk, walk_folder};
use super::{CheckpointId, Journal, JournalError};
use crate::linux::openat::open_folder_beneath;
use crate::workspace::{makes_one, makes_repository, may_be_of_git};

impl Journal {
    /// Adds to the conflicts what would come back, or along, of what nobody judged, by an undo of `all` these; `astray` says
    /// where the undo of later ones left what it could not move back.
    pub(super) fn find_doubted(
        &self,
        id: CheckpointId,
        image: &Image,
        (all, astray): (&[CheckpointId], &Astray),
        (found, conflicts): (&mut Found, &Conflicts),
    ) -> Result<(), JournalError> {
        let after = After::new(&self.store, id, image);
        let mut doubted = self.along(id, image, &after)?;
        doubted.extend(elsewhere(&after, astray));
        let saved = image.nodes.values().filter(|old| old.is_doubted);
        let mut saved: Vec<(Place, &Old)> = saved.map(|old| (old.place.clone(), old)).collect();
        saved.extend(after.unsealed());
        // What an earlier one takes away again may come back for that. It may leave it where others' is kept.
        if *conflicts != Conflicts::Keep && !saved.is_empty() {
            let earlier = all.iter().filter(|other| **other < id);
            let earlier: Vec<Image> = earlier.filter_map(|other| self.image(*other).ok()).collect();
            saved.retain(|(place, old)| {
                let is_back = || !self.is_written_by_others(old.node.id, id, all);
                !earlier.iter().any(|image| takes_away(&self.store, image, (place, old), is_back))
            });
        }
        doubted.extend(saved.into_iter().map(|(place, _)| place));
        let mut new = after.new_settings();
        // What makes the folder a repository may be undone with it.
        let others = all.iter().filter(|other| **other != id && !new.is_empty());
        let others: Vec<Image> = others.filter_map(|other| self.image(*other).ok()).collect();
        new.retain(|(_, folder)| {
            !folder.as_ref().is_some_and(|folder| others.iter().any(|image| makes(image, folder)))
        });
        doubted.extend(new.into_iter().map(|(place, _)| place));
        doubted.extend(repositories(&self.store, image));
        for place in doubted {
            found.entry(place).or_insert(ConflictReason::Protected.into());
        }
        Ok(())
    }

    /// Whether calls that are not undone wrote what was saved of a file.
    fn is_written_by_others(&self, node: NodeId, id: CheckpointId, all: &[CheckpointId]) -> bool {
        let others = self.store.ids().unwrap_or_default().into_iter();
        let others = others.filter(|other| *other != id && !all.contains(other));
        let mut images = others.filter_map(|other| self.image(other).ok());
        images.any(|image| image.nodes.get(&node).is_some_and(|old| old.content.is_some()))
    }

    /// Returns what somebody put into a folder that the call had moved, under a name that is a protected one only
    /// where the folder comes from, or where any may be.
    fn along(
        &self,
        id: CheckpointId,
        image: &Image,
        after: &After<'_>,
    ) -> Result<Vec<Place>, JournalError> {
        let mut along = Vec::new();
        let over = self.over(id, image)?;
        for (id, at) in image.end.iter().flat_map(|end| &end.left_at) {
            let old = image.nodes.get(id).filter(|old| old.node.is_folder() && old.place != *at);
            let Some(old) = old.filter(|old| !old.place.is_in_store()) else { continue };
            // A folder that came from elsewhere, or may have: what is in it need not have other times for that.
            let mut came_with: Option<PathBuf> = None;
            // What cannot be looked into has no names that anybody uses.
            let _ = walk(&self.store, at, &mut |place, node| {
                let is_in = |folder: &PathBuf| place.path.starts_with(folder);
                let has_come = came_with.as_ref().is_some_and(is_in)
                    || over.is_none_or(|over| !times_since(node, over).is_empty());
                if node.is_folder() {
                    came_with = came_with.take().filter(is_in);
                    if has_come {
                        came_with.get_or_insert_with(|| place.path.clone());
                    }
                    return Deeper::Yes;
                }
                let rest = place.path.strip_prefix(&at.path).unwrap_or(&place.path);
                let to = old.place.join(rest.as_os_str());
                let read = |bytes_max| read_place(&self.store, place, bytes_max);
                let is_new = || {
                    old.is_special
                        || self.store.protects(&to) && !self.store.protects(place)
                        || after.repository_that_runs(&to, &read).is_some()
                };
                if has_come && is_new() {
                    along.push(place.clone());
                }
                Deeper::Yes
            });
        }
        Ok(along)
    }
}

/// Returns where files come to a protected name, because their folder is elsewhere than it was, that had another.
fn elsewhere(after: &After<'_>, astray: &Astray) -> Vec<Place> {
    let files = after.image.nodes.values().filter(|old| !old.node.is_folder());
    let come = files.filter_map(|old| {
        let now = astray.now(&old.place);
        let is_new = || {
            after.store.protects(&now) && !after.store.protects(&old.place)
                || after
                    .repository_that_runs(&now, &|bytes_max| after.saved(old, bytes_max))
                    .is_some()
        };
        (now != old.place && is_new()).then_some(now)
    });
    come.collect()
}

/// What will be where once the undo is done.
struct After<'a> {
    store: &'a Store,
    id: CheckpointId,
    image: &'a Image,
    seals: Seals<'a>,
    /// Folders of the log, by where they are.
    folders: HashMap<&'a Place, NodeId>,
}

impl<'a> After<'a> {
    fn new(store: &'a Store, id: CheckpointId, image: &'a Image) -> Self {
        let folders = image.nodes.iter().filter(|(_, old)| old.node.is_folder());
        let folders = folders.map(|(id, old)| (&old.place, *id)).collect();
        Self { store, id, image, seals: Seals::of(image), folders }
    }

    fn has(&self, folder: &Place, name: &str) -> bool {
        let said = self.folders.get(folder).and_then(|id| self.image.entries.get(id));
        match said.and_then(|names| names.get(OsStr::new(name))) {
            Some(before) => before.is_some(),
            None => is_there(self.store, &folder.join(OsStr::new(name))),
        }
    }

    /// Returns where something comes back that git goes by in a repository that is one by now, and may not have been when the
    /// call changed it, and links that come into a repository, where git would follow them; each with the repository, if that
    /// is not called `.git`.
    fn new_settings(&self) -> Vec<(Place, Option<Place>)> {
        let written = self.image.nodes.values().filter(|old| old.content.is_some());
        let named = self.image.names_before();
        let all = named.chain(written.map(|old| (old.place.clone(), old)));
        let back = all
            .filter(|(place, old)| old.content.is_some() || self.now(place) != Some(old.node.id));
        let mut new = Vec::new();
        for (place, old) in back {
            if old.node.is_folder() {
                self.new_in_folder(&place, old, &mut new);
            } else {
                let read = |bytes_max| self.saved(old, bytes_max);
                new.extend(self.new_setting(place, old.node.kind(), &read));
            }
        }
        new
    }

    /// Adds what is in a folder that comes back as a whole.
    fn new_in_folder(&self, place: &Place, old: &Old, new: &mut Vec<(Place, Option<Place>)>) {
        let kept = self.kept(old).and_then(|(top, path)| open_folder_beneath(&top, &path).ok());
        let Some(kept) = kept else { return };
        walk_folder(&kept, &mut |path, node, _| {
            if node.is_folder() {
                return;
            }
            let place = place.join(path.as_os_str());
            if self.seals.lack_in((self.store, &place), (&kept, path, node)) {
                return new.push((place, None));
            }
            let read = |bytes_max| read_bytes(open_in(&kept, path).ok()?, bytes_max).ok();
            new.extend(self.new_setting(place, node.kind(), &read));
        });
    }

    /// Returns files that come back by themselves, and where, of which it is not known that they may.
    fn unsealed(&self) -> impl Iterator<Item = (Place, &'a Old)> {
        self.image.names_before().filter(|(place, old)| {
            let id = old.node.id;
            let is_in_tree =
                || own_places(old).chain([place]).any(|place| self.now(place) == Some(id));
            let read = |bytes_max| if is_in_tree() { None } else { self.saved(old, bytes_max) };
            !old.is_apart() && self.seals.lack((self.store, place), read)
        })
    }

    /// Returns a place and its repository, if something of this kind counts that comes there.
    fn new_setting(
        &self,
        place: Place,
        kind: FileType,
        read: &dyn Fn(u64) -> Option<Vec<u8>>,
    ) -> Option<(Place, Option<Place>)> {
        if kind != FileType::Symlink {
            let folder = self.repository_that_runs(&place, read)?;
            return Some((place, Some(folder)));
        }
        let folder = place.above().find(|folder| self.is_repository_now(folder));
        let is_head = place.path.file_name() == Some(OsStr::new("HEAD"));
        (!is_head && (is_in_git(&place) || folder.is_some())).then_some((place, folder))
    }

    /// Returns the repository that is not called `.git`, is one now and will be, in which git would run something by what
    /// comes to a place, or write by names that it does not add.
    fn repository_that_runs(
        &self,
        place: &Place,
        read: &dyn Fn(u64) -> Option<Vec<u8>>,
    ) -> Option<Place> {
        // What is in a directory `.git` was judged by its name.
        if !may_be_of_git(&place.path) || is_in_git(place) {
            return None;
        }
        let mut above = place.above();
        above.find(|folder| {
            let Ok(rest) = place.path.strip_prefix(&folder.path) else { return false };
            if !self.is_repository_now(folder) || !makes_one(|name| self.has(folder, name)) {
                return false;
            }
            let settings = read_place(self.store, place, SETTINGS_BYTES_MAX);
            let (store, settings) = (self.store, settings.as_deref());
            GitFile { store, repository: folder, read, settings }.runs(rest)
        })
    }

    /// Returns so much of what was in a file, if that is saved or still there.
    fn saved(&self, old: &Old, bytes_max: u64) -> Option<Vec<u8>> {
        let there = |bytes_max| {
            let mut places = own_places(old);
            if let Some(place) = places.find(|place| self.now(place) == Some(old.node.id)) {
                return read_place(self.store, place, bytes_max);
            }
            let (top, path) = self.kept(old)?;
            read_bytes(open_in(&top, &path).ok()?, bytes_max).ok()
        };
        let Some(content) = old.content else { return there(bytes_max) };
        let from = content.from.min(bytes_max);
        let mut bytes = if from == 0 { Vec::new() } else { there(from)? };
        if content.object != 0 {
            let by = old.content_by.unwrap_or(self.id);
            let file = open_object(self.store, by, old.place.root, content.object);
            bytes.extend(read_bytes(file.ok()?, bytes_max - from).ok()?);
        }
        Some(bytes)
    }

    /// Returns where something is kept: in which folder, and its path there.
    fn kept(&self, old: &Old) -> Option<(OwnedFd, PathBuf)> {
        let first = old.kept_by.unwrap_or(self.id);
        // Nearly always it is still there.
        if let Some(name) = old.kept.map(object_name)
            && let Ok(folder) = self.store.open_kept(first, old.place.root)
            && let Ok(Some(node)) = look(&folder, name.as_ref())
            && node.id == old.node.id
        {
            return Some((folder, name.into()));
        }
        // An undo and its redo take it from one store to another.
        let later = self.store.ids().ok()?.into_iter().filter(|later| *later > first);
        let mut all = std::iter::once(first).chain(later);
        all.find_map(|at| find_kept(self.store, at, old.node.id))
    }

    fn now(&self, place: &Place) -> Option<NodeId> {
        node_at(self.store, place).ok().flatten().map(|node| node.id)
    }

    fn is_repository_now(&self, folder: &Place) -> bool {
        makes_one(|name| is_there(self.store, &folder.join(OsStr::new(name))))
    }
}

/// Whether undoing a call takes away what a later one saved, once that is back: it puts back what the file held, or has
/// something else at its name. `is_back` is whether what comes before the bytes that it saved is as it was.
fn takes_away(
    store: &Store,
    image: &Image,
    (saved_at, saved): (&Place, &Old),
    is_back: impl FnOnce() -> bool,
) -> bool {
    let content = image.nodes.get(&saved.node.id).and_then(|old| old.content);
    if content.is_some_and(|content| content.from == 0 || is_back()) {
        return true;
    }
    let now = |place: &Place| node_at(store, place).ok().flatten().map(|node| node.id);
    saved_at.and_above().any(|at| {
        let (folder, name) = split(&at);
        let Some(before) = now(&folder)
            .and_then(|folder| image.entries.get(&folder))
            .and_then(|names| names.get(name))
        else {
            return false;
        };
        let own = if at == *saved_at { Some(saved.node.id) } else { now(&at) };
        let Some(own) = own.filter(|own| *before != Some(*own)) else { return false };
        let goes_to = image.nodes.get(&own).and_then(|old| saved.place.led(&at, &old.place));
        goes_to.is_none_or(|place| !store.protects(&place))
    })
}

/// Whether a call made a folder a repository.
fn makes(image: &Image, folder: &Place) -> bool {
    let new = image.end.iter().flat_map(|end| &end.new_folders);
    let is_new = |names: &BTreeMap<OsString, Option<NodeId>>| {
        names.iter().any(|(name, before)| before.is_none() && makes_repository(name))
    };
    let mut known =
        image.entries.iter().filter_map(|(id, names)| Some((image.nodes.get(id)?, names)));
    new.into_iter().any(|new| new.is_around(folder))
        || known.any(|(old, names)| old.place == *folder && is_new(names))
}

fn is_in_git(place: &Place) -> bool {
    place.path.iter().any(|name| name == ".git")
}

fn is_there(store: &Store, place: &Place) -> bool {
    node_at(store, place).is_ok_and(|node| node.is_some())
}

/// Returns the names by which a folder becomes a repository again that has settings by now which run programs: while it
/// was none, nobody looked at them.
fn repositories(store: &Store, image: &Image) -> Vec<Place> {
    let mut found = Vec::new();
    for (folder, names) in &image.entries {
        let Some(old) = image.nodes.get(folder) else { continue };
        if is_in_git(&old.place) {
            continue;
        }
        // It may come back from elsewhere.
        let mut left = image.end.iter().flat_map(|end| &end.left_at);
        let now = left.find(|(id, _)| id == folder).map_or(&old.place, |(_, at)| at);
        let back = names.iter().filter(|(name, before)| before.is_some() && makes_repository(name));
        let back = back.map(|(name, _)| old.place.join(name));
        let mut gone = back.filter(|place| !is_there(store, place));
        if let Some(place) = gone.next()
            && runs_programs(store, now)
        {
            found.push(place);
        }
    }
    found
}
