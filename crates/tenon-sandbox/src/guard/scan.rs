//! Finds protected names beneath the roots, and what is there.
//!
//! Bounded in folders, files and bytes.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::mem;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Stat};

use super::folder::{look_at, named, names, open_folder_at};
use super::item::{HASHED_BYTES_MAX, Item, RUN, Room, item, leads_into_git, start_of};
use super::limits::Limits;
use super::listings::{Entries, Listings, Names};
use super::place::{Place, has_others, is_repository_root, setting_among};
use super::repository::{has_head, is_where_git_writes, would_wait_at};
use crate::git_refs::is_symbolic;
use crate::git_steps::{GitStep, has_steps};
use crate::workspace::{
    has_old_remotes, is_above_protected, is_listed, is_setting_of_git, is_written_by_git,
    makes_one, name_of,
};

/// Folders of a repository's own directory that are looked at anyway.
const GIT_OWN: [&str; 4] = ["hooks", "info", "modules", "worktrees"];

/// How much is kept of all of them, the upper ones first. What is known has its place, and may grow by as
/// much once more; what a command made has as much for itself, or a workspace could be so full that no
/// repository may come.
pub(super) const BYTES_MAX: usize = 64 << 20;

/// How much is kept of what commands made, and of what nothing runs: of more the hash, so that it takes
/// nobody's place.
pub(super) const MINOR_BYTES_MAX: usize = 8 << 20;

/// How much is read at a look of indexes that are too long to keep, to see whether they changed: about 50 ms.
const INDEXES_BYTES_MAX: u64 = 64 << 20;

/// Which files are as they were if their stamps are.
///
/// A command that wrote through a shared mapping before a look can write there later without another
/// change of the file's time. So a look while commands run, or after them, reads all files that they
/// could write: 2,000 small ones take 15 ms more, the few of most workspaces microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stamps<'a> {
    /// All: no command of this session had one open since it was read.
    Hold,
    /// Those in these folders, which are read-only for commands.
    HoldIn(&'a [PathBuf]),
}

impl Stamps<'_> {
    pub(super) fn hold_at(self, place: &Place) -> bool {
        match self {
            Self::Hold => true,
            Self::HoldIn([]) => false,
            Self::HoldIn(folders) => {
                let path = place.path();
                folders.iter().any(|folder| path.starts_with(folder))
            }
        }
    }
}

/// Returns every protected file and folder beneath the roots within the limits, and what is left of these. What
/// is as in `listings`, or in `known` where its stamp holds, is not read again.
pub(super) fn scan(
    roots: &[PathBuf],
    known: &BTreeMap<Place, Item>,
    stamps: Stamps<'_>,
    listings: &mut Listings,
    limits: Limits,
) -> (BTreeMap<Place, Item>, Limits) {
    let new = Scan::new(known, stamps, limits);
    let mut scan = Scan { listings: mem::take(listings), ..new };
    let tops = roots.iter().filter_map(|root| Some((root, open_folder_at(root).ok()?)));
    let tops: Vec<(&PathBuf, OwnedFd)> = tops.collect();
    let mut found: Vec<(&PathBuf, &OwnedFd, Vec<PathBuf>)> = Vec::new();
    // However much there is in the others.
    for (root, top) in tops.iter().filter(|(root, _)| is_repository_root(root)) {
        scan.repository(root, top, Path::new(""), 0);
        if root.file_name() == Some(OsStr::new(".git")) {
            scan.repositories.push(PathBuf::new());
        }
        found.push((root, top, mem::take(&mut scan.repositories)));
    }
    // Whether it is one, a command can decide by making three names.
    for (root, top) in tops.iter().filter(|(root, _)| root.file_name() != Some(OsStr::new(".git")))
    {
        scan.tree(root, top, Path::new(""));
        found.push((root, top, mem::take(&mut scan.repositories)));
    }
    // What is in the tree comes first.
    for (root, top, repositories) in found {
        scan.repositories = repositories;
        scan.within(root, top);
    }
    scan.listings.end_look();
    *listings = scan.listings;
    scan.found.extend(scan.folders);
    (scan.found, scan.left)
}

/// Goes through the folders beneath the roots as the first look does, which then need not read them.
pub(crate) fn list(roots: &[PathBuf], folders_max: usize) -> Listings {
    let mut listings = Listings::default();
    let limits = Limits::before(folders_max);
    scan(roots, &BTreeMap::new(), Stamps::Hold, &mut listings, limits);
    listings
}

/// Returns what is at a place that a look did not come to; `None` if nothing is, or a folder.
pub(super) fn look(place: &Place, known: Option<&Item>) -> Option<Item> {
    let top = open_folder_at(place.root()).ok()?;
    let stat = rustix::fs::fstat(&look_at(&top, place.beneath()).ok()?).ok()?;
    let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
    (!is_folder).then(|| item(&top, place.beneath(), &stat, known, &mut { HASHED_BYTES_MAX }))
}

/// Returns the link that stands where a place has a folder: git would follow it.
pub(super) fn link_above(place: &Place) -> Option<(Place, Item)> {
    let roots = [place.root().to_path_buf()];
    // The lowest cannot be looked at where a higher one is a link.
    place.path().ancestors().skip(1).find_map(|folder| {
        let place = Place::included(folder, &roots)?;
        let item = look(&place, None).filter(Item::is_link)?;
        Some((place, item))
    })
}

/// Returns the folder that is at a place, if one is.
pub(super) fn look_for_folder(place: &Place) -> Option<Item> {
    let top = open_folder_at(place.root()).ok()?;
    let handle = look_at(&top, named(place.beneath())).ok()?;
    let stat = rustix::fs::fstat(&handle).ok()?;
    let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
    is_folder.then(|| Item::folder(&handle, &stat))
}

pub(super) struct Scan<'a> {
    pub(super) found: BTreeMap<Place, Item>,
    /// Those that are protected, and those that protected names are in which are none elsewhere.
    pub(super) folders: BTreeMap<Place, Item>,
    known: &'a BTreeMap<Place, Item>,
    stamps: Stamps<'a>,
    listings: Listings,
    pub(super) left: Limits,
    room: Room,
    room_of_new: Room,
    room_of_minor: Room,
    /// What is in files that are kept; none as long as nothing new came.
    contents: Option<HashSet<Arc<[u8]>>>,
    hashed_left: u64,
    indexes_left: u64,
    /// Repositories' own directories in which others may be.
    pub(super) repositories: Vec<PathBuf>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        known: &'a BTreeMap<Place, Item>,
        stamps: Stamps<'a>,
        limits: Limits,
    ) -> Self {
        let (found, folders, listings) = Default::default();
        let kept = known.values().filter(|item| !item.is_made);
        let mut room = Room::default();
        kept.for_each(|item| room.count(item));
        Self {
            found,
            folders,
            known,
            stamps,
            listings,
            left: limits,
            room,
            room_of_new: Room::default(),
            room_of_minor: Room::default(),
            contents: None,
            hashed_left: HASHED_BYTES_MAX,
            indexes_left: INDEXES_BYTES_MAX,
            repositories: Vec::new(),
        }
    }

    /// Looks through a folder, the upper ones first.
    pub(super) fn tree(&mut self, root: &Path, top: &OwnedFd, from: &Path) {
        let (mut level, mut levels) = (vec![from.to_path_buf()], 0);
        while !level.is_empty() {
            if level.len() > self.left.folders {
                self.left.levels = self.left.levels.min(levels);
                level.truncate(self.left.folders);
            }
            let known = self.listings.unchanged(root, top, &level);
            let mut next = Vec::new();
            for (place, known) in level.iter().zip(known) {
                if self.left.unkept_folders == 0 {
                    self.left.levels = self.left.levels.min(levels);
                    return;
                }
                let names = self.names(root, top, place, known);
                self.entries(root, top, place, &names, &mut next);
            }
            level = next;
            levels += 1;
        }
    }

    /// Looks for repositories in the own directories of others, where git itself keeps none: it takes one
    /// there for what it is all the same. Folders that did not change are not read again, of which
    /// there are about 260 in a directory with loose objects: a third of a millisecond.
    pub(super) fn within(&mut self, root: &Path, top: &OwnedFd) {
        while !self.repositories.is_empty() {
            let (mut level, mut is_top) = (mem::take(&mut self.repositories), true);
            while !level.is_empty() {
                let depth = level.iter().map(|place| place.iter().count()).min().unwrap_or(0);
                if level.len() > self.left.folders {
                    self.left.levels = self.left.levels.min(depth);
                    level.truncate(self.left.folders);
                }
                let known = self.listings.unchanged(root, top, &level);
                let mut next = Vec::new();
                for (place, known) in level.iter().zip(known) {
                    if self.left.unkept_folders == 0 {
                        self.left.levels = self.left.levels.min(depth);
                        return;
                    }
                    let names = self.names(root, top, place, known);
                    if !is_top {
                        self.unnamed_repository(root, top, place, &names);
                    }
                    for (name, kind) in names.iter() {
                        let beneath = place.join(name);
                        let is_looked_at = is_top && GIT_OWN.iter().any(|own| name == *own);
                        if kind.is_dir() && !is_looked_at {
                            next.push(beneath);
                        } else if name == ".git" || misleads(*kind) && !is_top {
                            self.all(root, top, &beneath, 0);
                        }
                    }
                }
                (level, is_top) = (next, false);
            }
        }
    }

    /// Returns the names that matter in a folder, and counts it.
    fn names(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        place: &Path,
        known: Option<Entries>,
    ) -> Entries {
        let names = known.map(|entries| Names { entries, is_kept: true });
        let names = names.unwrap_or_else(|| self.listings.read(root, top, place));
        self.left.folders -= 1;
        self.left.unkept_folders -= usize::from(!names.is_kept);
        names.entries
    }

    /// Looks at what is in a folder; folders in it come next.
    fn entries(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        place: &Path,
        entries: &Entries,
        next: &mut Vec<PathBuf>,
    ) {
        self.unnamed_repository(root, top, place, entries);
        let folder = name_of(root, place);
        for (name, kind) in entries.iter() {
            let beneath = place.join(name);
            if name == ".git" && kind.is_dir() {
                let depth = beneath.iter().count();
                self.repository(root, top, &beneath, depth);
                self.repositories.push(beneath);
            } else if name == ".git" || is_listed(folder, name) {
                if place.file_name().is_some_and(is_above_protected) {
                    self.folder_of_names(root, top, place);
                }
                self.all(root, top, &beneath, 0);
            } else if kind.is_dir() {
                next.push(beneath);
            } else {
                self.link_or_pipe(root, top, &beneath, *kind);
            }
        }
    }

    /// Notes a link that leads git astray, or a pipe that it would wait at.
    pub(super) fn link_or_pipe(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        beneath: &Path,
        kind: FileType,
    ) {
        if kind.is_symlink() {
            self.link(root, top, beneath);
        } else if kind.is_fifo() && would_wait_at(root, top, beneath) {
            self.all(root, top, beneath, 0);
        }
    }

    /// Notes a link that gives a protected name to something else, leads to where nobody looks, or is where git writes.
    pub(super) fn link(&mut self, root: &Path, top: &OwnedFd, beneath: &Path) {
        if beneath.file_name().is_some_and(is_above_protected)
            || leads_into_git(top, beneath)
            || is_where_git_writes(root, top, beneath)
        {
            self.all(root, top, beneath, 0);
        }
    }

    /// Git takes a folder under any name for a repository by what is in it, or by what it points
    /// to. The root itself is looked at by [`scan`].
    pub(super) fn unnamed_repository(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        place: &Path,
        entries: &[(OsString, FileType)],
    ) {
        let has = |known: &str| entries.iter().any(|(name, _)| name == known);
        if makes_one(has) && !place.as_os_str().is_empty() {
            self.repository(root, top, place, place.iter().count());
        }
        // Which may point to one that does not look like a repository.
        if has("HEAD") && has("commondir") {
            let pointer = place.join("commondir");
            self.all(root, top, &pointer, place.iter().count());
        }
    }

    /// Notes what runs programs in a repository's own directory, and in those of its submodules.
    pub(super) fn repository(&mut self, root: &Path, top: &OwnedFd, place: &Path, depth: usize) {
        for (name, kind) in names(top, place) {
            let beneath = place.join(&name);
            let has_others = has_others(&name);
            let is_written = kind.is_file() && is_written_by_git(&name);
            if is_setting_of_git(&name) || is_written || has_others && kind.is_symlink() {
                self.all(root, top, &beneath, depth);
            } else if has_others && kind.is_dir() {
                self.others(root, top, &beneath);
            } else if kind.is_dir() && has_old_remotes(&name) {
                self.all(root, top, &beneath, depth);
            } else if let Some(step) = GitStep::of_references(&name).filter(|_| kind.is_dir()) {
                self.all(root, top, &beneath.join("replace"), depth);
                self.references(root, top, &beneath, (depth, step));
            } else if kind.is_dir() && name == "objects" {
                self.all(root, top, &beneath.join("info/alternates"), depth);
            } else if kind.is_dir() && has_steps(&name) {
                self.steps(root, top, &beneath, depth);
            } else if misleads(kind) {
                let depth = if name == "HEAD" { depth } else { 0 };
                self.all(root, top, &beneath, depth);
            }
        }
    }

    /// Notes the steps in a folder of a repository's own directory.
    pub(super) fn steps(&mut self, root: &Path, top: &OwnedFd, folder: &Path, depth: usize) {
        for (name, kind) in names(top, folder) {
            let beneath = folder.join(name);
            if !kind.is_dir() && GitStep::at_end_of(&beneath).is_some() {
                self.all(root, top, &beneath, depth);
            }
        }
    }

    /// Notes the references in a folder that stand for others, and files there that are none, or no logs of such. The rest
    /// counts as looked at.
    pub(super) fn references(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        folder: &Path,
        (depth, step): (usize, GitStep),
    ) {
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop().filter(|_| self.left.folders > 0) {
            self.left.folders -= 1;
            for (name, kind) in names(top, &folder) {
                let beneath = folder.join(name);
                if kind.is_dir() {
                    folders.push(beneath);
                } else if kind.is_file() && self.left.minor > 0 {
                    self.left.minor -= 1;
                    if !is_plain_reference(top, &beneath, step) {
                        self.all(root, top, &beneath, depth);
                    }
                }
            }
        }
    }

    /// Notes the links and pipes in a folder in which git writes, wherever they lead.
    pub(super) fn links(&mut self, root: &Path, top: &OwnedFd, place: &Path) {
        let mut folders = vec![place.to_path_buf()];
        while let Some(place) = folders.pop() {
            let others = self.beside_links(root, top, &place).into_iter();
            folders.extend(others.filter(|(_, kind)| kind.is_dir()).map(|(beneath, _)| beneath));
        }
    }

    /// Notes the links in a folder in which git would follow them to where nobody looks, and the pipes, and returns what
    /// else is there; nothing where there is no room left.
    fn beside_links(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        place: &Path,
    ) -> Vec<(PathBuf, FileType)> {
        if !self.has_room() {
            return Vec::new();
        }
        let all = names(top, place).into_iter().map(|(name, kind)| (place.join(name), kind));
        let (links, others): (Vec<_>, Vec<_>) = all.partition(|(_, kind)| misleads(*kind));
        links.iter().for_each(|(link, _)| self.all(root, top, link, 0));
        others
    }

    /// Counts a folder beneath a protected name; says whether it may be looked through.
    pub(super) fn has_room(&mut self) -> bool {
        let has_room = self.left.protected_folders > 0;
        self.left.protected_folders = self.left.protected_folders.saturating_sub(1);
        has_room
    }

    /// Looks through a folder in which a repository has others, and notes the links and pipes in it. What would run
    /// programs in one counts where it lacks its `HEAD`, too: that may come back.
    pub(super) fn others(&mut self, root: &Path, top: &OwnedFd, place: &Path) {
        let mut folders = vec![place.to_path_buf()];
        while let Some(place) = folders.pop() {
            for (beneath, kind) in self.beside_links(root, top, &place) {
                if !kind.is_dir() {
                    if let Some(depth) = setting_among(|_| true, &beneath) {
                        self.all(root, top, &beneath, depth);
                    }
                } else if has_head(top, &beneath) {
                    self.repository(root, top, &beneath, beneath.iter().count());
                    self.repositories.push(beneath);
                } else {
                    folders.push(beneath);
                }
            }
        }
    }

    /// Notes a folder in which names are protected that are not elsewhere.
    fn folder_of_names(&mut self, root: &Path, top: &OwnedFd, beneath: &Path) {
        let Ok(handle) = look_at(top, beneath) else { return };
        let Ok(stat) = rustix::fs::fstat(&handle) else { return };
        self.note_folder(Place::new(root, beneath, 0), &handle, &stat);
    }

    fn note_folder(&mut self, place: Place, handle: &OwnedFd, stat: &Stat) {
        // A root was opened by its name.
        if !place.beneath().as_os_str().is_empty() {
            self.folders.insert(place, Item::folder(handle, stat));
        }
    }

    fn item(&mut self, top: &OwnedFd, place: &Place, stat: &Stat) -> Item {
        let known = self.known.get(place);
        let does_hold = self.stamps.hold_at(place);
        // What a command made cannot take the time for what was there.
        let is_hashed = matches!(self.stamps, Stamps::Hold) || known.is_some_and(Item::has_hash);
        let hashed_left = match is_hashed {
            _ if place.is_git_index() => &mut self.indexes_left,
            true => &mut self.hashed_left,
            false => &mut 0,
        };
        item(top, place.beneath(), stat, known.filter(|_| does_hold), hashed_left)
    }

    /// Leaves the content out where there is no room for it.
    fn with_room(&mut self, place: &Place, mut item: Item) -> Item {
        let known = self.known.get(place);
        let is_before = matches!(self.stamps, Stamps::Hold);
        item.is_made =
            known.is_some_and(|known| known.is_made && (!is_before || item.has_stamp_of(known)));
        self.share(&mut item, known);
        let has_place = known.is_some_and(|known| !known.is_made && known.bytes().is_some());
        let is_minor = is_before && (item.is_made || !has_place && place.is_minor());
        let is_new = !is_before && known.is_none_or(|known| known.is_made);
        let item = match (is_minor, is_new) {
            (true, _) => self.room_of_minor.keep(item, MINOR_BYTES_MAX),
            (false, true) => self.room_of_new.keep(item, BYTES_MAX),
            // What was there is counted as well.
            (false, false) if has_place && is_before => self.room.keep(item, 2 * BYTES_MAX),
            (false, false) if has_place => self.room.keep(item, 3 * BYTES_MAX),
            (false, false) => self.room.keep(item, BYTES_MAX),
        };
        if let (Some(contents), Some(bytes)) = (&mut self.contents, item.shared_bytes()) {
            contents.insert(Arc::clone(bytes));
        }
        item
    }

    /// Has a file share its bytes with another that has the same: however often something is copied, it
    /// takes room once.
    fn share(&mut self, item: &mut Item, known: Option<&Item>) {
        let Some(bytes) = item.shared_bytes() else { return };
        let of_place = known.and_then(Item::shared_bytes).filter(|known| *known == bytes);
        let all = self.known.values().filter_map(Item::shared_bytes);
        let same = match of_place {
            Some(same) => Some(same),
            None => self.contents.get_or_insert_with(|| all.cloned().collect()).get(bytes),
        };
        if let Some(same) = same.cloned() {
            item.share(same);
        }
    }

    /// Notes what is at a place and, if that is a folder, all that is in it, however deep: what no path can name is
    /// nothing that can be opened.
    pub(super) fn all(&mut self, root: &Path, top: &OwnedFd, beneath: &Path, repository: usize) {
        let mut folders = Vec::new();
        folders.extend(self.one(top, Place::new(root, beneath, repository)));
        while let Some(folder) = folders.pop() {
            for (name, kind) in names(top, &folder) {
                let place = Place::new(root, &folder.join(name), repository);
                if kind.is_dir() || *self.left_of(&place) > 0 {
                    folders.extend(self.one(top, place));
                }
            }
        }
    }

    /// Notes what is at a place; returns where it is if it is a folder and may be looked through.
    fn one(&mut self, top: &OwnedFd, place: Place) -> Option<PathBuf> {
        let handle = look_at(top, named(place.beneath())).ok()?;
        let stat = rustix::fs::fstat(&handle).ok()?;
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            let folder = self.has_room().then(|| place.beneath().to_path_buf())?;
            self.note_folder(place, &handle, &stat);
            return Some(folder);
        }
        *self.left_of(&place) = self.left_of(&place).checked_sub(1)?;
        let item = self.item(top, &place, &stat);
        let item = self.with_room(&place, item);
        self.found.insert(place, item);
        None
    }

    /// Returns how many files such as this one may still be looked at.
    fn left_of(&mut self, place: &Place) -> &mut usize {
        if place.is_minor() {
            &mut self.left.minor
        } else if place.says_what_git_runs() {
            &mut self.left.settings
        } else {
            &mut self.left.files
        }
    }
}

/// Whether a file is a reference that stands for a commit, or a log of one that nobody runs.
fn is_plain_reference(top: &OwnedFd, file: &Path, step: GitStep) -> bool {
    let Ok((mode, start)) = start_of(top, file) else { return false };
    let is_run = step == GitStep::Log && mode & RUN != 0;
    !is_run && !is_symbolic(&start) && step.is_sound(&start)
}

/// Whether git would write where it leads, or wait for somebody who writes.
pub(super) fn misleads(kind: FileType) -> bool {
    kind.is_symlink() || kind.is_fifo()
}
