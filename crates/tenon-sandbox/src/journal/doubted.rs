//! What an undo would bring to names that programs take commands from, though no look has judged it: what another
//! command wrote there, or where the name was a harmless one.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;

use super::astray::Astray;
use super::conflicts::{ConflictReason, Found};
use super::content::{open_object, open_place, read_bytes};
use super::find::node_at;
use super::git_programs::{SETTINGS_BYTES_MAX, runs_programs};
use super::node::NodeId;
use super::record::{Image, Old, Place};
use super::since::times_since;
use super::store::Store;
use super::walk::{Deeper, walk};
use super::{CheckpointId, Journal, JournalError};
use crate::git_config;
use crate::workspace::{is_protected_name, is_setting_of_git, makes_repository};

impl Journal {
    /// Adds to the conflicts what would come back, or along, of what nobody judged, by an undo of `all` these; `astray` says
    /// where the undo of later ones left what it could not move back.
    pub(super) fn find_doubted(
        &self,
        id: CheckpointId,
        image: &Image,
        (all, astray): (&[CheckpointId], &Astray),
        found: &mut Found,
    ) -> Result<(), JournalError> {
        let mut doubted = self.along(id, image)?;
        doubted.extend(elsewhere(&self.store, image, astray));
        let after = After::new(&self.store, image);
        let old = image.nodes.values().filter(|old| old.is_doubted);
        doubted.extend(old.map(|old| old.place.clone()));
        let mut new = after.new_settings(id);
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

    /// Returns what somebody put into a folder that the call had moved, under a name that is a protected one only
    /// where the folder comes from.
    fn along(&self, id: CheckpointId, image: &Image) -> Result<Vec<Place>, JournalError> {
        let mut along = Vec::new();
        let over = self.over(id, image)?;
        for (id, at) in image.end.iter().flat_map(|end| &end.left_at) {
            let old = image.nodes.get(id).filter(|old| old.node.is_folder() && old.place != *at);
            let Some(old) = old.filter(|old| !old.place.is_in_store()) else { continue };
            // What cannot be looked into has no names that anybody uses.
            let _ = walk(&self.store, at, &mut |place, node| {
                let came = over.is_none_or(|over| !times_since(node, over).is_empty());
                let rest = place.path.strip_prefix(&at.path).unwrap_or(&place.path);
                let is_new = || {
                    is_protected(&self.store, &old.place.join(rest.as_os_str()))
                        && !is_protected(&self.store, place)
                };
                if !node.is_folder() && came && is_new() {
                    along.push(place.clone());
                }
                Deeper::Yes
            });
        }
        Ok(along)
    }
}

/// Returns where files come to a protected name, because their folder is elsewhere than it was, that had another.
fn elsewhere(store: &Store, image: &Image, astray: &Astray) -> Vec<Place> {
    let files = image.nodes.values().filter(|old| !old.node.is_folder());
    let come = files.filter_map(|old| {
        let now = astray.now(&old.place);
        let is_new =
            now != old.place && is_protected(store, &now) && !is_protected(store, &old.place);
        is_new.then_some(now)
    });
    come.collect()
}

fn is_protected(store: &Store, place: &Place) -> bool {
    let root = store.roots.get(place.root);
    root.is_some_and(|root| is_protected_name(&root.path, &place.path))
}

/// What will be where once the undo is done.
struct After<'a> {
    store: &'a Store,
    image: &'a Image,
    /// Folders of the log, by where they are.
    folders: HashMap<&'a Place, NodeId>,
}

impl<'a> After<'a> {
    fn new(store: &'a Store, image: &'a Image) -> Self {
        let folders = image.nodes.iter().filter(|(_, old)| old.node.is_folder());
        let folders = folders.map(|(id, old)| (&old.place, *id)).collect();
        Self { store, image, folders }
    }

    fn has(&self, folder: &Place, name: &str) -> bool {
        let said = self.folders.get(folder).and_then(|id| self.image.entries.get(id));
        match said.and_then(|names| names.get(OsStr::new(name))) {
            Some(before) => before.is_some(),
            None => is_there(self.store, &folder.join(OsStr::new(name))),
        }
    }

    /// Whether a folder that is not called `.git` will be a repository's own.
    fn is_repository(&self, folder: &Place) -> bool {
        let is_whole = || ["objects", "refs"].iter().all(|name| self.has(folder, name));
        self.has(folder, "HEAD") && (is_whole() || self.has(folder, "commondir"))
    }

    /// Whether a place will be one of the settings of such a repository.
    fn is_setting(&self, place: &Place) -> bool {
        place.and_above().any(|at| {
            let name = at.path.file_name();
            let above =
                at.path.parent().map(|path| Place { root: at.root, path: path.to_path_buf() });
            name.is_some_and(is_setting_of_git)
                && above.is_some_and(|above| self.is_repository(&above))
        })
    }

    /// Returns where something comes back as a setting of a repository that is one by now, and may not have been when the call
    /// changed it, and links that come into a repository, where git would follow them; each with the repository, if that is not
    /// called `.git`.
    fn new_settings(&self, id: CheckpointId) -> Vec<(Place, Option<Place>)> {
        let nodes = &self.image.nodes;
        let named =
            self.image.entries.iter().filter_map(|(id, names)| Some((nodes.get(id)?, names)));
        let named = named.flat_map(|(folder, names)| {
            let known = |(name, before): (&OsString, &Option<NodeId>)| {
                Some((folder.place.join(name), nodes.get(before.as_ref()?)?))
            };
            names.iter().filter_map(known)
        });
        let written = nodes.values().filter(|old| old.content.is_some());
        let all = named.chain(written.map(|old| (old.place.clone(), old)));
        let new = all.filter(|(place, old)| {
            let is_link = old.node.kind() == FileType::Symlink;
            !old.node.is_folder()
                && (is_link || place.path.iter().any(is_setting_of_git))
                && (old.content.is_some() || self.now(place) != Some(old.node.id))
        });
        let new = new.filter_map(|(place, old)| {
            let folder = place.above().find(|folder| self.is_repository_now(folder));
            let counts = match (old.node.kind(), &folder) {
                (FileType::Symlink, folder) => {
                    let is_head = place.path.file_name() == Some(OsStr::new("HEAD"));
                    !is_head && (is_in_git(&place) || folder.is_some())
                }
                (_, Some(_)) => self.is_new_setting(&place, old, id),
                (_, None) => false,
            };
            counts.then_some((place, folder))
        });
        new.collect()
    }

    fn now(&self, place: &Place) -> Option<NodeId> {
        node_at(self.store, place).ok().flatten().map(|node| node.id)
    }

    fn is_new_setting(&self, place: &Place, old: &Old, id: CheckpointId) -> bool {
        let name = place.path.file_name().unwrap_or_default();
        // What is in a directory `.git` was judged by its name.
        if is_in_git(place) || name.as_bytes().ends_with(b".sample") || !self.is_setting(place) {
            return false;
        }
        !name.as_bytes().starts_with(b"config") || !self.sets_nothing(place, old, id)
    }

    /// Whether settings that come back run nothing that those which are there do not run.
    fn sets_nothing(&self, place: &Place, old: &Old, id: CheckpointId) -> bool {
        let read = |file: File| read_bytes(file, SETTINGS_BYTES_MAX).ok();
        let now = open_place(self.store, place).ok().and_then(read);
        let saved = old
            .content
            .filter(|content| content.from == 0)
            .map(|content| (old.content_by, content.object));
        let saved = saved.or(old.kept.map(|object| (old.kept_by, object)));
        let saved = saved.and_then(|(by, object)| {
            if object == 0 {
                return Some(Vec::new());
            }
            read(open_object(self.store, by.unwrap_or(id), old.place.root, object).ok()?)
        });
        let changed =
            saved.and_then(|saved| git_config::put_back(now.as_deref(), &saved, |_, _| false));
        changed.is_some_and(|(_, names)| names.is_empty())
    }

    fn is_repository_now(&self, folder: &Place) -> bool {
        ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| is_there(self.store, &folder.join(OsStr::new(name))))
    }
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
        let back = names.iter().filter(|(name, before)| before.is_some() && makes_repository(name));
        let back = back.map(|(name, _)| old.place.join(name));
        let mut gone = back.filter(|place| !is_there(store, place));
        if let Some(place) = gone.next()
            && runs_programs(store, &old.place)
        {
            found.push(place);
        }
    }
    found
}
