//! What the journal says of commands, where there are more folders than a look goes through: what
//! they touched is looked at one by one, and how it was is asked there.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use super::folder::{look_at, open_folder_at};
use super::item::{Content, FILE_BYTES_MAX, Item};
use super::limits::Limits;
use super::place::{Place, Way, has_others, is_way};
use super::scan::{BYTES_MAX, Scan, Stamps};
use super::touched::Role;
use crate::journal::{
    AllTouched, Before, Came, Checkpoint, Kept, LeftBehind, Moment, ReadLimits, Touched,
};
use crate::workspace::{above_listed, makes_one, makes_repository};

/// What is read of how things were.
pub(super) const LIMITS: ReadLimits = ReadLimits { each: FILE_BYTES_MAX, all: BYTES_MAX as u64 };

/// What was touched.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) before: Vec<(Place, Item)>,
    firsts: BTreeMap<Place, First>,
    made: Made,
    pub(super) after: BTreeMap<Place, Item>,
    /// Whether there may be more.
    pub(super) has_gaps: bool,
}

/// What commands made that has git take the folder around it for a repository.
#[derive(Default)]
pub(super) struct Made(BTreeSet<PathBuf>);

impl Made {
    fn of<'a>(touched: impl IntoIterator<Item = &'a AllTouched>) -> Self {
        let names = touched.into_iter().flat_map(|touched| &touched.names);
        let is_made = |name: &&Touched| {
            name.came == Came::Made && name.beneath.file_name().is_some_and(makes_repository)
        };
        Self(names.filter(is_made).map(|name| name.root.join(&name.beneath)).collect())
    }

    /// Returns what these commands made.
    pub(super) fn by(checkpoints: &[Checkpoint]) -> Self {
        let makes = |_: &Path, beneath: &Path| beneath.file_name().is_some_and(makes_repository);
        let touched = checkpoints.iter().map(|checkpoint| checkpoint.touched(&makes, LIMITS));
        Self::of(&touched.collect::<Vec<_>>())
    }

    /// Whether a folder was a repository's own, or might have had such, without what they made: what was in another was
    /// nobody's setting.
    pub(super) fn was_repository(&self, root: &Path, folder: &Path) -> bool {
        let path = root.join(folder);
        let was_there = |name: &str| {
            let path = path.join(name);
            !self.0.contains(&path) && rustix::fs::lstat(&path).is_ok()
        };
        path.ends_with(".git")
            || is_way(root, folder, Way::Repository)
            || is_way(root, folder, Way::Others)
            || makes_one(was_there)
    }
}

/// Looks at what these commands touched.
pub(super) fn recorded(
    checkpoints: &[Checkpoint],
    known: &BTreeMap<Place, Item>,
    since: Option<Moment>,
) -> Recorded {
    let mut scan = Scan::new(known, Stamps::HoldIn(&[]), Limits::TOUCHED);
    let touched = |checkpoint: &Checkpoint| {
        let tops = Tops::open(checkpoint.roots());
        let touched = checkpoint.touched(&|root, beneath| tops.matters(root, beneath), LIMITS);
        (tops, touched)
    };
    let touched: Vec<(Tops, AllTouched)> = checkpoints.iter().map(touched).collect();
    let mut all =
        Recorded { made: Made::of(touched.iter().map(|(_, it)| it)), ..Recorded::default() };
    for (tops, touched) in touched {
        all.has_gaps |= touched.has_gaps;
        all.look(&mut scan, &tops, touched);
    }
    all.end(scan, since)
}

/// Looks at what commands touched that nobody looked after.
pub(super) fn left(left: &LeftBehind, roots: Vec<PathBuf>) -> Recorded {
    let (known, tops) = (BTreeMap::new(), Tops::open(roots));
    let mut scan = Scan::new(&known, Stamps::HoldIn(&[]), Limits::TOUCHED);
    let mut all = Recorded::default();
    let touched = left.touched(&|root, beneath| tops.matters(root, beneath), LIMITS);
    all.made = Made::of([&touched]);
    all.look(&mut scan, &tops, touched);
    all.end(scan, None)
}

/// How something was before the first of several commands that touched it.
#[derive(Default)]
struct First {
    /// Of what they found, what changed longest ago.
    oldest: Option<(Option<Moment>, Item)>,
    /// Whether one of them found nothing there.
    is_made: bool,
}

impl First {
    fn take(&mut self, changed: Option<Moment>, item: Item) {
        let is_older = |(known, _): &(Option<Moment>, Item)| match (changed, known) {
            (Some(changed), Some(known)) => changed < *known,
            (changed, known) => changed.is_some() && known.is_none(),
        };
        if self.oldest.as_ref().is_none_or(is_older) {
            self.oldest = Some((changed, item));
        }
    }

    /// Returns what was there: where one found nothing, only what had not changed `since` the first of them began.
    fn found(self, since: Option<Moment>) -> Option<Item> {
        let (changed, item) = self.oldest?;
        let is_old = changed.zip(since).is_some_and(|(changed, since)| changed < since);
        (!self.is_made || is_old).then_some(item)
    }
}

impl Recorded {
    fn look(&mut self, scan: &mut Scan<'_>, tops: &Tops, mut touched: AllTouched) {
        let AllTouched { names, moved, .. } = &mut touched;
        for name in names.iter_mut().filter(|name| name.is_along) {
            // Elsewhere without the folder that its protected name is in it counts as new.
            let place = place_of(tops, name);
            if place.is_none_or(|place| moved_with(&place, moved).is_none()) {
                (name.came, name.before) = (Came::Made, None);
            }
        }
        for name in &touched.names {
            let Some(top) = tops.of(&name.root) else { continue };
            scan.place(&name.root, top, &name.beneath, name.came);
        }
        let along = scan.found.iter().filter(|(place, _)| came_along(place, &touched));
        for (place, item) in along {
            self.firsts.entry(place.clone()).or_default().take(None, item.clone());
        }
        for name in touched.names {
            let Some(top) = tops.of(&name.root) else { continue };
            if name.came == Came::Made
                && let Some(place) = place_of(tops, &name)
            {
                self.firsts.entry(place).or_default().is_made = true;
            }
            let changed = name.before.as_ref().and_then(|before| before.changed);
            if let Some((place, item)) = before(scan, top, name, &self.made) {
                self.firsts.entry(place).or_default().take(changed, item);
            }
        }
    }

    fn end(mut self, scan: Scan<'_>, since: Option<Moment>) -> Self {
        let firsts = std::mem::take(&mut self.firsts).into_iter();
        let found = firsts.filter_map(|(place, first)| Some((place, first.found(since)?)));
        self.before = found.collect();
        self.has_gaps |= !scan.left.are_left();
        self.after = scan.found;
        self
    }
}

/// Whether a file came along with a folder that its protected name was in before, and was not touched
/// itself.
fn came_along(place: &Place, touched: &AllTouched) -> bool {
    let Some((owner, lowest)) = moved_with(place, &touched.moved) else { return false };
    let is_below = |name: &Touched| {
        let beneath = &name.beneath;
        name.root == place.root()
            && place.beneath().starts_with(beneath)
            && beneath.starts_with(lowest)
            && beneath != lowest
    };
    // Nor is what was in a folder that is a repository only now.
    let completes = |name: &Touched| {
        name.root == place.root()
            && name.came != Came::Stayed
            && name.beneath.parent() == Some(owner.as_path())
            && name.beneath.file_name().is_some_and(makes_repository)
    };
    !touched.names.iter().any(|name| is_below(name) || completes(name))
}

/// Returns the folder that the protected name of a file is in, and the lowest around it of those that moved.
fn moved_with<'a>(place: &Place, moved: &'a [(PathBuf, PathBuf)]) -> Option<(PathBuf, &'a Path)> {
    let (owner, _) = place.owner()?;
    let is_above = |root: &Path, path: &Path| root == place.root() && owner.starts_with(path);
    let moved = moved.iter().filter(|(root, path)| is_above(root, path));
    let lowest = moved.map(|(_, path)| path).max_by_key(|path| path.iter().count())?;
    Some((owner, lowest))
}

/// Roots, open.
pub(super) struct Tops(Vec<(OwnedFd, PathBuf)>);

impl Tops {
    pub(super) fn open(roots: Vec<PathBuf>) -> Self {
        let open = |root: PathBuf| Some((open_folder_at(&root).ok()?, root));
        Self(roots.into_iter().filter_map(open).collect())
    }

    pub(super) fn of(&self, root: &Path) -> Option<&OwnedFd> {
        self.0.iter().find(|(_, known)| known == root).map(|(top, _)| top)
    }

    pub(super) fn matters(&self, root: &Path, beneath: &Path) -> bool {
        self.of(root).is_some_and(|top| Role::of(root, top, beneath) != Role::Other)
    }
}

/// Returns the place that a name is, if it is protected by the names on its way.
fn place_of(tops: &Tops, name: &Touched) -> Option<Place> {
    let (root, beneath) = (&name.root, &name.beneath);
    place_as(Role::of(root, tops.of(root)?, beneath), root, beneath)
}

/// Returns the place that a name is by its role, if it is protected.
pub(super) fn place_as(role: Role, root: &Path, beneath: &Path) -> Option<Place> {
    let repository = match role {
        // What is in the directories of others has settings of its own.
        Role::Setting(depth) if !beneath.iter().nth(depth).is_some_and(has_others) => depth,
        Role::Repository | Role::Listed => 0,
        Role::Setting(_) | Role::Making | Role::Other => return None,
    };
    Some(Place::new(root, beneath, repository))
}

/// Returns how a name was, unless it may be as it is.
fn before(scan: &Scan<'_>, top: &OwnedFd, name: Touched, made: &Made) -> Option<(Place, Item)> {
    let Touched { root, beneath, before: Some(before), .. } = name else { return None };
    let is_file = |stat: Stat| !FileType::from_raw_mode(stat.st_mode).is_dir();
    let is_there = look_at(top, &beneath).and_then(rustix::fs::fstat).is_ok_and(is_file);
    let repository = match Role::of(&root, top, &beneath) {
        Role::Setting(depth) => {
            // Only a link to others matters itself.
            if !is_there && beneath.iter().nth(depth).is_some_and(has_others) {
                return None;
            }
            let repository: PathBuf = beneath.iter().take(depth).collect();
            if !made.was_repository(&root, &repository) {
                return None;
            }
            depth
        }
        Role::Listed => {
            let above: PathBuf = beneath.iter().take(above_listed(&root, &beneath)?).collect();
            let is_root = above.as_os_str().is_empty();
            // It may go with the folder that it was in.
            if !is_there && !is_root && look_at(top, &above).is_err() {
                return None;
            }
            0
        }
        Role::Repository => 0,
        Role::Making | Role::Other => return None,
    };
    let place = Place::new(&root, &beneath, repository);
    if is_there && !scan.found.contains_key(&place) {
        return None;
    }
    Some((place, told(before)))
}

/// Returns how something was.
pub(super) fn told(before: Before) -> Item {
    let content = match before.content {
        Kept::File(bytes) => Content::File(Some(bytes.into())),
        Kept::Link(target) => Content::Link(target),
        Kept::Nothing => Content::File(None),
    };
    let mut told = Item::told(before.mode, before.owner, before.links, content);
    told.modified = before.modified;
    told
}
