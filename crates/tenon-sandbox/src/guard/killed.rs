//! Looks after commands whose agent was killed before it could.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::item::Item;
use super::limits::Limits;
use super::listings::Listings;
use super::others::Others;
use super::place::Place;
use super::recorded::{LIMITS, Tops, left, told};
use super::scan::{Stamps, look, scan};
use super::{Guard, ProtectedChange};
use crate::journal::{Journal, LeftBehind};

/// What commands did to protected names whose agent was killed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LookedAfter {
    /// What was put back, or could not be.
    pub changes: Vec<ProtectedChange>,
    /// Files that were changed later, too: they are left as they are.
    pub changed_since: Vec<PathBuf>,
    /// Files that are left as they are because the records of how they were lie on the workspace's own
    /// mount, where commands of another session may have written them.
    pub unsure: Vec<PathBuf>,
}

/// Puts back what commands did to protected names whose agent was killed while they ran, once. All of them count as one:
/// what was there is what was there before the first. What it puts back is a checkpoint of its own in the session of
/// the newest; an undo of that, and not of the commands with it, is a conflict. `name` says what it is called, given the
/// name of that command's own. Nothing is put back from records on the workspace's own mount (see
/// [`LookedAfter::unsure`]). Goes through all folders of the workspace if there is such a command, else it takes
/// well below a millisecond.
///
/// ```
/// use tenon_sandbox::{Journal, JournalOptions, Workspace, look_after_killed};
///
/// # let folder = tempfile::tempdir()?;
/// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
/// # std::fs::create_dir(&root)?;
/// let workspace = Workspace::open(&root)?;
/// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
/// let name = |call: &str| format!("after {call}");
/// assert_eq!(look_after_killed(&journal, &name).changes, []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn look_after_killed(journal: &Journal, name: &dyn Fn(&str) -> String) -> LookedAfter {
    let mut all = LookedAfter::default();
    if journal.left_behind().is_some() {
        // Somebody else may have looked after them meanwhile.
        journal.alone(|| {
            let Some(left) = journal.left_behind() else { return };
            let tops = Tops::open(left.journal.roots());
            let is_judged = |root: &Path, beneath: &Path| tops.matters(root, beneath);
            left.look_after(&is_judged, || all.add(&left, name));
        });
    }
    all
}

impl LookedAfter {
    fn add(&mut self, left: &LeftBehind, name: &dyn Fn(&str) -> String) {
        let (mut guard, mut after) = as_it_was(left);
        let roots = &guard.roots.clone();
        let places: BTreeSet<Place> = guard.before.keys().chain(after.keys()).cloned().collect();
        for place in places {
            let (before, now) = (guard.before.get(&place), after.get(&place));
            let is_since = match (before, now) {
                (None, Some(now)) if place.may_appear(now, roots) => false,
                (Some(before), Some(now)) if before.is_same(now) => false,
                (_, Some(now)) => now.changed_after(left.until),
                (_, None) => changed_above(&place, left.until),
            };
            if is_since {
                guard.before.remove(&place);
                after.remove(&place);
                self.changed_since.push(place.path());
            }
        }
        if !left.journal.has_own_store() {
            let places: BTreeSet<&Place> = guard.before.keys().chain(after.keys()).collect();
            let differs = |place: &&&Place| match (guard.before.get(place), after.get(place)) {
                (Some(before), Some(now)) => !before.is_same(now),
                (None, Some(now)) => !place.may_appear(now, roots),
                (_, None) => true,
            };
            self.unsure.extend(places.iter().filter(differs).map(|place| place.path()));
            return;
        }
        let (session, call) = left.call();
        let own = left.journal.begin(session, &name(call));
        guard.checkpoints = vec![own.clone()];
        self.changes.extend(guard.correct(after));
        // It was found to be what may not stand there.
        own.doubt_all();
        // It never fails; what does not reach the disk is worked out when somebody asks.
        let _ = own.finish();
    }
}

/// Returns a guard as it was before the commands, and what is there now of what they touched.
fn as_it_was(left_behind: &LeftBehind) -> (Guard, BTreeMap<Place, Item>) {
    let roots = left_behind.journal.roots();
    let (mut recorded, most) = (left(left_behind, roots.clone()), Limits::default());
    let (mut now, _) = scan(&roots, &BTreeMap::new(), Stamps::Hold, &mut Listings::default(), most);
    now.retain(|place, _| !recorded.after.contains_key(place));
    now.extend(recorded.before.iter().cloned());
    let mut guard = Guard { roots: roots.clone(), before: now, ..Guard::default() };
    guard.follow_includes(&BTreeMap::new(), &Others::default());
    let included = |root: &Path, beneath: &Path| {
        let place = Place::included(&root.join(beneath), &roots);
        place.filter(|place| guard.included.contains_key(place))
    };
    let is_included = |root: &Path, beneath: &Path| included(root, beneath).is_some();
    for name in left_behind.touched(&is_included, LIMITS).names {
        let Some(place) = included(&name.root, &name.beneath) else { continue };
        recorded.after.extend(look(&place, None).map(|item| (place.clone(), item)));
        recorded.before.extend(name.before.map(|before| (place, told(before))));
    }
    guard.before = recorded.before.into_iter().collect();
    let numbers = recorded.after.values().filter_map(|item| Some(item.identity()?.1)).collect();
    guard.kept_names = left_behind.kept_names(&numbers);
    guard.leave_out_kept_names(&mut recorded.after);
    (guard, recorded.after)
}

/// Whether the nearest folder above that is there changed after the second `until`.
fn changed_above(place: &Place, until: i64) -> bool {
    let path = place.path();
    let mut above = path.ancestors().skip(1).filter_map(|path| rustix::fs::lstat(path).ok());
    above.next().is_none_or(|stat| stat.st_ctime > until)
}
