//! What went elsewhere with folders that a call moved, though the log does not speak of it: an undo moves it back with
//! them, as it is. For whoever looks after names that programs take commands from.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::checkpoint::Checkpoint;
use super::closed::through_place;
use super::find::split;
use super::node::{Node, NodeId};
use super::record::{Image, Old, Place};
use super::store::Store;
use super::touched::{Before, Look, ReadLimits};
use super::walk::{Deeper, walk};
use crate::workspace::makes_one;

/// So many files and folders are looked at, some microseconds each.
const LOOKED_AT_MAX: usize = 10_000;

/// Where a repository's own directory holds objects and branches, nothing is at a protected name, and there are many.
const DATA: [&str; 4] = ["lfs", "logs", "objects", "refs"];

/// Whether something matters by where it was, given a root, the place beneath it, and what says whether a folder beneath
/// that root held all that a repository's own does.
pub(crate) type Matters<'a> = dyn Fn(&Path, &Path, Says<'_>) -> bool + 'a;

/// Whether something is so of what was at a path.
type Says<'a> = &'a dyn Fn(&Path) -> bool;

/// What went along with folders.
#[derive(Debug, Default)]
pub(crate) struct AllAlong {
    /// The folders, by where they were.
    pub(crate) folders: Vec<(NodeId, PathBuf)>,
    pub(crate) files: Vec<Along>,
    /// Folders in which there is more than is looked at.
    pub(crate) unseen: Vec<NodeId>,
    /// Folders that held all that a repository's own does, by where they were.
    pub(crate) repositories: HashSet<PathBuf>,
}

/// A file or link that went along with a folder.
#[derive(Debug)]
pub(crate) struct Along {
    /// What the log calls the folder.
    pub(crate) folder: NodeId,
    pub(crate) root: PathBuf,
    /// Where it was, or would have been.
    pub(crate) beneath: PathBuf,
    /// How it is.
    pub(crate) now: Before,
}

impl Checkpoint {
    /// Returns what is in folders that the call moved, but for what its log speaks of, as far as the folder and the file
    /// matter.
    pub(crate) fn along(
        &self,
        folders: &Matters<'_>,
        files: &Matters<'_>,
        limits: ReadLimits,
    ) -> AllAlong {
        let recorder = self.lock();
        let Some(id) = recorder.id() else { return AllAlong::default() };
        let (store, image) = (&recorder.store, &recorder.image);
        let look = RefCell::new(Look::new(store, image, id, &|_, _| false, limits));
        let known = RefCell::default();
        let were = Were { look: &look, known: &known };
        let (mut all, mut left) = (AllAlong::default(), LOOKED_AT_MAX);
        for old in image.nodes.values().filter(|old| old.node.is_folder() && !old.gone) {
            let Some(root) = store.roots.get(old.place.root).map(|root| root.path.as_path()) else {
                continue;
            };
            let at = look.borrow_mut().finder.find(old);
            let Some(at) = at.filter(|at| *at != old.place) else { continue };
            let were = |folder: &Path| were.repository(root, old.place.root, folder);
            if old.place.is_in_store() || !folders(root, &old.place.path, &were) {
                continue;
            }
            all.folders.push((old.node.id, root.join(&old.place.path)));
            let matters = |beneath: &Path| files(root, beneath, &were);
            let is_data = |beneath: &Path| {
                let is_one = || DATA.iter().any(|name| beneath.ends_with(name));
                let above = beneath.parent().filter(|_| is_one());
                above.is_some_and(|above| above.ends_with(".git") || were(above))
            };
            let found = beneath((store, image), old, &at, (&matters, &is_data), &mut left);
            let Some(found) = found else {
                all.unseen.push(old.node.id);
                continue;
            };
            for (beneath, node, place) in found {
                let now = look.borrow_mut().was(&Old::new(node, place));
                all.files.push(Along {
                    folder: old.node.id,
                    root: root.to_path_buf(),
                    beneath,
                    now,
                });
            }
        }
        let known = known.into_inner().into_iter();
        all.repositories = known.filter(|(_, was)| *was).map(|(folder, _)| folder).collect();
        all
    }
}

/// Which folders held all that a repository's own does.
struct Were<'a, 'b> {
    look: &'b RefCell<Look<'a>>,
    known: &'b RefCell<HashMap<PathBuf, bool>>,
}

impl Were<'_, '_> {
    fn repository(&self, root: &Path, number: usize, folder: &Path) -> bool {
        let path = root.join(folder);
        if let Some(known) = self.known.borrow().get(&path) {
            return *known;
        }
        let was_there = |name: &str| {
            let place = Place { root: number, path: folder.join(name) };
            self.look.borrow_mut().before(&place).is_some()
        };
        let was = makes_one(was_there);
        self.known.borrow_mut().insert(path, was);
        was
    }
}

/// Returns the files in a folder that is `at` this place by now, by where they were, as far as they matter and the log does
/// not speak of them, but for those in a repository's data; `None` where there is more than is looked at.
fn beneath(
    (store, image): (&Store, &Image),
    top: &Old,
    at: &Place,
    (matters, is_data): (Says<'_>, Says<'_>),
    left: &mut usize,
) -> Option<Vec<(PathBuf, Node, Place)>> {
    let mut found = Vec::new();
    let mut folders = HashMap::from([(at.path.clone(), top.node.id)]);
    let mut is_whole = true;
    let looked = walk(store, at, &mut |place, node| {
        is_whole &= *left > 0;
        if !is_whole {
            return Deeper::No;
        }
        *left -= 1;
        let rest = place.path.strip_prefix(&at.path).unwrap_or(&place.path);
        let was = top.place.join(rest.as_os_str());
        let (above, name) = split(place);
        let said = folders.get(&above.path).and_then(|above| image.entries.get(above));
        let is_said = said.is_some_and(|names| names.contains_key(name));
        let known = image.nodes.get(&node.id);
        if node.is_folder() {
            // One that went there by itself is looked at by itself.
            let is_other = is_said || known.is_some_and(|known| known.place != was);
            if is_other || is_data(&was.path) {
                return Deeper::No;
            }
            folders.insert(place.path.clone(), node.id);
            return Deeper::Yes;
        }
        if !is_said && known.is_none() && matters(&was.path) {
            let mut node = node.clone();
            if node.kind() == FileType::Symlink {
                // One that cannot be read is none that is known.
                let _ = through_place(store, &above, |folder| node.complete(folder, name));
            }
            found.push((was.path, node, place.clone()));
        }
        Deeper::No
    });
    (is_whole && looked.is_ok()).then_some(found)
}
