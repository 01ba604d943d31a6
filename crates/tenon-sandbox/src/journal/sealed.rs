//! What is known of files that an undo may bring back to names that programs take commands from: what was in them when they
//! were judged there, or when a call left them. Whoever had one open, or stood in its folder, can have written it in the
//! store since, where nobody looks.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::conflicts::Found;
use super::content::{open_in, read_bytes};
use super::find::{node_at, split};
use super::node::{Node, NodeId, look};
use super::record::{Image, Known, Old, Place, Sealed, State};
use super::state::{At, hashes_of};
use super::store::{Store, object_name};
use super::walk::{Deeper, walk};
use super::{Checkpoint, CheckpointId};
use crate::linux::openat::open_folder_beneath;
use crate::workspace::{ContentHash, is_protected_name, makes_one, may_be_of_git};

/// The longest file of which it is known what was in it, in bytes: git's index of half a million files.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// So many files are read at the end of a call, and so many bytes of all of them. What is past this is asked about.
pub(super) const FILES_MAX: usize = 10_000;
pub(super) const BYTES_MAX: u64 = FILE_BYTES_MAX;

/// What whoever looks after protected names found out about a call.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// What was in files that the call touched when they were found to be what may come back; `None` where that was not read.
    files: HashMap<NodeId, Option<ContentHash>>,
    /// What is protected by where it is.
    places: Vec<Place>,
}

impl Checkpoint {
    /// Takes in what was in files that the call touched when they were found to be what may come back, and paths at which
    /// something is protected by where it is.
    pub(crate) fn seal(
        &self,
        files: impl IntoIterator<Item = (NodeId, Option<ContentHash>)>,
        paths: impl IntoIterator<Item = PathBuf>,
    ) {
        let mut recorder = self.lock();
        recorder.judged.files.extend(files);
        let places = paths.into_iter().filter_map(|path| recorder.store.place_of(&path));
        recorder.judged.places = places.collect();
    }
}

impl Store {
    /// Whether programs take commands from what is at a place, by the names on its way.
    pub(super) fn protects(&self, place: &Place) -> bool {
        let root = self.roots.get(place.root);
        !place.is_in_store() && root.is_some_and(|root| is_protected_name(&root.path, &place.path))
    }
}

impl Image {
    /// Returns what was there before, by each name that the log knows of it.
    pub(super) fn names_before(&self) -> impl Iterator<Item = (Place, &Old)> {
        let named =
            self.entries.iter().filter_map(|(id, names)| Some((self.nodes.get(id)?, names)));
        named.flat_map(|(folder, names)| {
            names.iter().filter_map(|(name, before)| {
                Some((folder.place.join(name), self.nodes.get(before.as_ref()?)?))
            })
        })
    }
}

impl Old {
    /// Whether all that was in a file is saved apart from it, or it is none.
    pub(super) fn is_apart(&self) -> bool {
        !self.node.is_file() || self.content.is_some_and(|content| content.from == 0)
    }
}

/// Returns what was in files that a call keeps and that had protected names, or were judged at others.
pub(super) fn seal_kept(
    store: &Store,
    image: &Image,
    id: CheckpointId,
    judged: &Judged,
) -> Vec<Sealed> {
    let (mut files, mut bytes) = (FILES_MAX, BYTES_MAX);
    let mut read: HashMap<NodeId, Option<ContentHash>> = HashMap::new();
    let kept = image.names_before().filter(|(_, old)| old.kept.is_some() && !old.is_apart());
    let sealed = kept.filter_map(|(place, old)| {
        let judged = judged.files.get(&old.node.id);
        if old.is_doubted || judged.is_none() && !store.protects(&place) {
            return None;
        }
        let mut read = || {
            *read.entry(old.node.id).or_insert_with(|| {
                if files == 0 || old.node.bytes > bytes {
                    return None;
                }
                (files, bytes) = (files - 1, bytes - old.node.bytes);
                hash_of_kept(store, id, old)
            })
        };
        let content = judged.copied().flatten().or_else(&mut read)?;
        Some(Sealed { place, mode: old.node.mode, content })
    });
    sealed.collect()
}

/// Returns how things were in folders that a call made where something is protected by where it is.
pub(super) fn seal_made(store: &Store, made: &[Place], judged: &Judged) -> Vec<Sealed> {
    let mut sealed = Vec::new();
    let is_new = |place: &&Place| made.iter().any(|folder| folder.is_around(place));
    for top in judged.places.iter().filter(is_new) {
        // Whatever else comes there is asked about.
        let nothing = ContentHash::of(b"");
        sealed.push(Sealed { place: top.clone(), mode: 0, content: nothing });
        let mut seal = |place: &Place, node: &Node| {
            if !node.is_file() || node.bytes > FILE_BYTES_MAX || sealed.len() > FILES_MAX {
                return;
            }
            let hashes = hashes_of(At::Tree(store, place), node, 0);
            sealed.extend(hashes.ok().map(|(_, content)| Sealed {
                place: place.clone(),
                mode: node.mode,
                content,
            }));
        };
        if let Ok(Some(node)) = node_at(store, top) {
            seal(top, &node);
        }
        let _ = walk(store, top, &mut |place, node| {
            seal(place, node);
            Deeper::Yes
        });
    }
    sealed
}

/// Returns the hash of what was in a file that is kept.
fn hash_of_kept(store: &Store, id: CheckpointId, old: &Old) -> Option<ContentHash> {
    let folder = store.open_kept(old.kept_by.unwrap_or(id), old.place.root).ok()?;
    let name = object_name(old.kept?);
    let at = At::Folder(&folder, name.as_ref());
    let node = look(&folder, name.as_ref()).ok()?.filter(|node| node.id == old.node.id)?;
    let length = old.content.map_or(node.bytes, |content| content.length);
    let (head, whole) = hashes_of(at, &node, length).ok()?;
    Some(if old.content.is_some() { head } else { whole })
}

/// Returns what was in files as a call left them, of those that are so still, and what else is known of its files.
pub(super) fn seal_left<'a>(
    store: &'a Store,
    image: &'a Image,
    found: &'a Found,
) -> impl Iterator<Item = Sealed> + 'a {
    let known = image.end.iter().flat_map(|end| &end.sealed);
    let places: HashSet<&Place> = known.clone().map(|sealed| &sealed.place).collect();
    let after = image.end.iter().flat_map(|end| &end.after);
    let left = after.filter_map(move |(place, state)| {
        let State::Present { mode, content, .. } = state else { return None };
        let content = match content {
            Known::Hash(hash) => *hash,
            Known::Target(target) => ContentHash::of(target.as_encoded_bytes()),
            Known::Nothing => return None,
        };
        let is_theirs = || {
            let is_whole = |above| found.get(&above).is_some_and(|theirs| theirs.is_whole);
            found.contains_key(place) || place.above().any(is_whole)
        };
        let matters = store.protects(place) || may_be_of_git(&place.path) || places.contains(place);
        (matters && !is_theirs()).then(|| Sealed { place: place.clone(), mode: *mode, content })
    });
    left.chain(known.cloned())
}

/// What is known of files, by where they were.
pub(super) struct Seals<'a>(HashMap<&'a Place, Vec<&'a Sealed>>);

impl<'a> Seals<'a> {
    pub(super) fn of(image: &'a Image) -> Self {
        let mut seals: HashMap<&Place, Vec<&Sealed>> = HashMap::new();
        for sealed in image.end.iter().flat_map(|end| &end.sealed) {
            seals.entry(&sealed.place).or_default().push(sealed);
        }
        Self(seals)
    }

    /// Whether a file that comes back to a place by itself is none that may; `read` returns so much of it.
    pub(super) fn lack(
        &self,
        (store, place): (&Store, &Place),
        read: impl FnOnce(u64) -> Option<Vec<u8>>,
    ) -> bool {
        if !self.0.contains_key(place) && !store.protects(place) {
            return false;
        }
        // What is nowhere does not come.
        let Some(bytes) = read(FILE_BYTES_MAX + 1) else { return false };
        !self.has(place, None, ContentHash::of(&bytes))
    }

    /// Whether what is at a path in a folder that comes to a place from the store is none that may, as far as that
    /// matters there.
    pub(super) fn lack_in(
        &self,
        (store, place): (&Store, &Place),
        (folder, path, node): (&OwnedFd, &Path, &Node),
    ) -> bool {
        let is_of_git = || may_be_of_git(path) && is_in_repository(folder, path);
        let is_known = || place.and_above().any(|above| self.0.contains_key(&above));
        if !store.protects(place) && !is_known() && !is_of_git() {
            return false;
        }
        let content = match node.kind() {
            FileType::RegularFile => open_in(folder, path)
                .and_then(|file| read_bytes(file, FILE_BYTES_MAX + 1))
                .map(|bytes| ContentHash::of(&bytes)),
            FileType::Symlink => {
                let above = open_folder_beneath(folder, path.parent().unwrap_or(Path::new("")));
                let name = path.file_name().unwrap_or_default();
                let target =
                    above.and_then(|above| rustix::fs::readlinkat(&above, name, Vec::new()));
                target.map(|target| ContentHash::of(target.as_bytes()))
            }
            _ => return true,
        };
        !content.is_ok_and(|content| self.has(place, Some(node.mode), content))
    }

    fn has(&self, place: &Place, mode: Option<u32>, content: ContentHash) -> bool {
        let mut known = self.0.get(place).into_iter().flatten();
        known.any(|known| mode.is_none_or(|mode| mode == known.mode) && known.content == content)
    }
}

/// Whether a path beneath a folder is in one that is a repository's own.
fn is_in_repository(folder: &OwnedFd, path: &Path) -> bool {
    path.ancestors().skip(1).any(|above| {
        let Ok(above) = open_folder_beneath(folder, above) else { return false };
        makes_one(|name| look(&above, OsStr::new(name)).is_ok_and(|found| found.is_some()))
    })
}

/// Returns the folders that may be repositories' own by what is in them, of all that is in one.
pub(super) fn with_heads(found: &[(Place, Node)]) -> HashSet<PathBuf> {
    let heads = found.iter().map(|(place, _)| split(place));
    heads.filter(|(_, name)| *name == "HEAD").map(|(above, _)| above.path).collect()
}
