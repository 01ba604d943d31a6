//! Puts own settings back that commands changed whose program was killed, at the next start of any.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::folder::{MakeFolders, open_folder_at, open_parent};
use super::item::Item;
use super::note::{FOLDER, Noted, Notes, unique};
use super::own::Own;
use super::place::Place;
use super::put::make;
use super::scan::Stamps;
use super::{Guard, ProtectedChange, ProtectedChangeKind};
use crate::linux::closed::through;

/// Beside the notes: has a folder for each killed program of which something was put back.
const KEPT: &str = "kept";

/// What commands did to own settings whose program was killed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnLookedAfter {
    /// What was put back, or could not be.
    pub changes: Vec<ProtectedChange>,
    /// The folder in which everything is that stood there instead, by its path; none if nothing did.
    pub kept: Option<PathBuf>,
}

/// Puts back what commands did to [`crate::Settings::own`] whose program was killed while they ran, of
/// every session whose [`crate::Settings::state`] was `state`, and returns what it was, for each. What
/// is found there is kept in a folder of its own, since it may be a person's. For the start of a
/// program, before it reads its settings: nearly always it takes a few microseconds.
///
/// ```
/// # let state = tempfile::tempdir()?;
/// assert_eq!(tenon_sandbox::look_after_own(state.path()), []);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn look_after_own(state: &Path) -> Vec<OwnLookedAfter> {
    let mut all = Vec::new();
    if let Some(notes) = Notes::left_in(state) {
        notes.take(|noted| {
            let mut found = OwnLookedAfter::default();
            found.look_after(state, noted);
            all.push(found);
        });
    }
    all.retain(|found| !found.changes.is_empty());
    all
}

impl OwnLookedAfter {
    fn look_after(&mut self, state: &Path, noted: Noted) {
        let Noted { roots, named, led_to, items, frozen, ways } = noted;
        let place = |path: &Path| Place::own(path, &roots);
        let led_to = led_to.iter().filter_map(|path| place(path)).collect();
        let before = items.into_iter().filter_map(|(path, item)| Some((place(&path)?, item)));
        let before: BTreeMap<Place, Item> = before.collect();
        let own = Own::noted(named, ways, led_to);
        let mut guard = Guard { before, own, frozen, roots, ..Guard::default() };
        let mut after = guard.own.after(&guard.roots, &guard.before, Stamps::HoldIn(&[]));
        self.changes.extend(guard.put_back_permissions(&mut after));
        let differs = |place: &Place, item: &Item| {
            let before = guard.before.get(place);
            !item.is_folder() && before.is_none_or(|before| !before.is_same(item))
        };
        let differ: Vec<Place> = after
            .iter()
            .filter(|(place, item)| differs(place, item) && !guard.is_frozen(&place.path()))
            .map(|(place, _)| place.clone())
            .collect();
        for place in differ {
            if self.keep(state, &place, after.get(&place)).is_err() {
                // Nothing of a person's is lost: it stays where it is.
                self.changes.push(ProtectedChange {
                    path: place.path(),
                    kind: ProtectedChangeKind::Changed,
                    found: None,
                    by_name: false,
                    put_back: false,
                });
                guard.before.remove(&place);
                after.remove(&place);
            }
        }
        self.changes.extend(guard.correct(after));
    }

    /// Keeps what is at a place before it is taken away.
    fn keep(&mut self, state: &Path, place: &Place, item: Option<&Item>) -> Result<(), Errno> {
        let folder = match &self.kept {
            Some(folder) => folder.clone(),
            None => self.kept.insert(new_folder(state)?).clone(),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let kept = rustix::fs::openat(CWD, &folder, flags, Mode::empty())?;
        let path = place.path();
        let beneath = path.strip_prefix("/").map_err(|_| Errno::INVAL)?;
        let (kept, kept_name) = open_parent(&kept, beneath, MakeFolders::Yes)?;
        let top = open_folder_at(place.root())?;
        let (from, name) = open_parent(&top, place.beneath(), MakeFolders::No)?;
        let link = || rustix::fs::linkat(&from, name, &kept, kept_name, AtFlags::empty());
        match (through(&from, link), item) {
            (Ok(()), _) => Ok(()),
            // On another disk, or somebody else's.
            (Err(_), Some(item)) => make(&kept, kept_name, item),
            (Err(errno), None) => Err(errno),
        }
    }
}

/// Makes a folder for what is kept.
fn new_folder(state: &Path) -> Result<PathBuf, Errno> {
    let above = state.join(FOLDER).join(KEPT);
    match rustix::fs::mkdir(&above, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let folder = above.join(unique());
    rustix::fs::mkdir(&folder, Mode::RWXU)?;
    Ok(folder)
}
