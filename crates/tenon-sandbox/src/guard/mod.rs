//! Looks after each command whether it changed names that other programs take commands from, and
//! puts them back.
//!
//! What can be read-only for a command is (see `linux/inside.rs`); this is for the rest: git's
//! configuration, which ordinary work changes, names that did not exist, and everything in the tier
//! without namespaces. It runs when no process of the command is left, with descriptors beneath the
//! roots, and follows no link.
//!
//! The workspace is looked through before and after a command; folders that did not change are known
//! from the look before. In one with more folders than a look comes to it is the upper ones, and besides
//! what the journal says that the command touched is looked at, wherever it is.

mod accepted;
mod along;
mod alternates;
mod beside;
mod change;
mod copies;
mod doubts;
mod folder;
mod held;
mod item;
mod kept_names;
mod killed;
mod left_own;
mod limits;
mod listings;
mod merge;
mod moves;
mod named_by_git;
mod note;
mod others;
mod owed;
mod own;
mod permissions;
mod place;
mod put;
mod reach;
mod recorded;
mod repository;
mod scan;
mod submodule;
mod touched;
mod work_trees;
mod written;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

pub use self::change::{ProtectedChange, ProtectedChangeKind};
use self::copies::Copies;
pub(crate) use self::folder::names_at;
use self::held::Held;
use self::item::{Item, Room};
pub use self::killed::{LookedAfter, look_after_killed};
pub use self::left_own::{OwnLookedAfter, look_after_own};
pub use self::limits::GUARDED_FOLDERS_MAX;
use self::limits::Limits;
pub(crate) use self::listings::Listings;
pub(crate) use self::note::{
    FOLDER as NOTES, open_left, open_private, read as read_left, write_locked,
};
use self::note::{Note, Noted};
use self::others::{Others, Saying, Seat, Turn};
use self::owed::Owed;
use self::own::Own;
use self::place::Place;
use self::recorded::recorded;
pub(crate) use self::scan::list;
use self::scan::{MINOR_BYTES_MAX, Stamps, link_above, look, look_for_folder, scan};
use crate::file_system::{Identity, identity_of_folder};
use crate::git_config;
use crate::journal::{Checkpoint, KeptName, Moment};

/// Folders and files that are looked at in well below a millisecond.
const SMALL: usize = 100;

/// Permissions by which others write a file.
const WRITTEN: u32 = 0o022;

/// Where it is recorded what a command touches.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Journaled<'a> {
    By(&'a Checkpoint),
    Nowhere,
    /// It can write nothing that lasts.
    Needless,
}

/// What protected names were before the commands that run now.
#[derive(Default)]
pub(crate) struct Guard {
    /// What a look goes through before commands.
    most: Limits,
    roots: Vec<PathBuf>,
    held: Held,
    before: BTreeMap<Place, Item>,
    /// Which folders protected names are in that may go elsewhere with them.
    folders_of_names: HashMap<PathBuf, Identity>,
    /// What settings of git include, also what is not there, and by whose settings.
    included: BTreeMap<Place, PathBuf>,
    /// Where settings of git lead that name repositories on this machine.
    addresses: BTreeSet<Place>,
    /// Folders of objects that repositories have besides their own.
    alternates: Vec<PathBuf>,
    /// Where settings of git say that repositories have their files.
    trees: BTreeSet<Place>,
    own: Own,
    /// The user's, by which settings of git may name files.
    home: Option<PathBuf>,
    owed: Owed,
    /// Where what `own` was is noted while commands run, and what guards of other sessions go by is
    /// found: tenon's state folder.
    state: Option<PathBuf>,
    note: Option<Note>,
    seat: Option<Seat>,
    listings: Listings,
    /// Folders that are read-only for commands, with their identity: what changes there, a person
    /// changed. One that was exchanged meanwhile lost that, and counts like any other.
    frozen: Vec<(PathBuf, Identity)>,
    /// How many folders the last look went through.
    folders: Option<usize>,
    /// What a look goes through while commands run.
    limits: Limits,
    /// What the look before left of its own.
    left: Limits,
    running: usize,
    /// When the first of these began; none where commands of another session ran by then.
    since: Option<Moment>,
    /// Of the commands that run, and of those that nobody waited for.
    checkpoints: Vec<Checkpoint>,
    /// What these gave files in the journal, those that are over included.
    kept_names: Vec<KeptName>,
    /// One that writes is recorded nowhere.
    is_unrecorded: bool,
    /// What these wrote as git does, of which nobody knows the content: it is judged anew at each look.
    judged: BTreeSet<Place>,
    /// That not everything can be looked at is told once.
    lacks_told: Vec<ProtectedChangeKind>,
    /// A command ended without a look: its caller went away.
    unchecked: bool,
    /// Found by a look that belongs to no caller.
    pending: Vec<ProtectedChange>,
}

impl Guard {
    /// Returns a guard that looks through so many folders, whatever is at the paths `own`, and links on the `ways` to
    /// secrets. What these were is noted in `state`, where guards of other sessions find what this one goes by.
    pub(crate) fn new(
        folders_max: usize,
        (own, ways): (Vec<PathBuf>, Vec<PathBuf>),
        state: Option<PathBuf>,
    ) -> Self {
        let (most, own) = (Limits::before(folders_max), Own::new(own, ways));
        Self { most, own, state, ..Self::default() }
    }

    /// Takes in which folder the user's home is, as it is named.
    pub(crate) fn of_home(self, home: Option<PathBuf>) -> Self {
        Self { home, ..self }
    }

    /// Takes in what folders were found to have in them, so that no look reads them for that.
    pub(crate) fn know(&mut self, listings: Listings) {
        self.listings = listings;
    }

    /// Notes what is there, before a command. What a person changed since is the new state; what a command
    /// of another session may have written that runs now is not.
    /// `frozen` names are read-only for the command, if they are folders. `journaled` says
    /// where it is recorded what the command touches.
    ///
    /// # Errors
    /// If what the command could change cannot be noted where others find it, or what others noted
    /// cannot be read. Then it must not run.
    pub(crate) fn begin(
        &mut self,
        roots: &[PathBuf],
        frozen: &[PathBuf],
        journaled: Journaled<'_>,
    ) -> Result<(), Errno> {
        if self.running == 0 {
            let mut turn = self.sit_down()?;
            if self.unchecked {
                let changes = self.check();
                self.pending.extend(changes);
            }
            self.checkpoints.clear();
            self.kept_names.clear();
            (self.judged, self.is_unrecorded) = (BTreeSet::new(), false);
            self.roots = roots.to_vec();
            self.held.begin();
            let others = match (&self.seat, &mut turn) {
                (Some(seat), Some(turn)) => seat.others(turn)?,
                _ => Others::default(),
            };
            self.since = others.are_none().then(Moment::now);
            let (stamps, most) = (Stamps::Hold, self.most);
            let (found, left) = scan(&self.roots, &self.before, stamps, &mut self.listings, most);
            let mut before = self.own.before(&self.roots, &self.before);
            before.extend(found);
            if !left.are_left() {
                self.keep_known(&mut before);
            }
            others.correct(&mut before, &self.roots);
            self.owed.correct(&mut before);
            let known = std::mem::replace(&mut self.before, before);
            self.follow_includes(&known, &others);
            self.follow_addresses();
            self.note_folders();
            self.folders = Some(self.most.folders - left.folders);
            (self.limits, self.left) = (self.most.after(left), left);
            let identity = |path: &PathBuf| Some((path.clone(), identity_of_folder(path)?));
            self.frozen = frozen.iter().filter_map(identity).collect();
            self.note()?;
            self.say(turn.as_ref())?;
        } else {
            self.begin_beside(frozen)?;
        }
        self.running += 1;
        self.unchecked = true;
        match journaled {
            Journaled::By(checkpoint) => self.checkpoints.push(checkpoint.clone()),
            Journaled::Nowhere => self.is_unrecorded = true,
            Journaled::Needless => {}
        }
        Ok(())
    }

    /// Has the note on disk say what `own` should be, for whoever starts if this program is killed.
    fn note(&mut self) -> Result<(), Errno> {
        let old = self.note.take();
        let noted = Noted::of(&self.roots, &self.own, self.before.iter(), &self.frozen);
        match (&self.state, noted) {
            (Some(state), Some(noted)) => self.note = Some(Note::write(state, &noted, old)?),
            _ => old.into_iter().for_each(Note::remove),
        }
        Ok(())
    }

    /// Takes a seat among the guards of other sessions, and a turn.
    fn sit_down(&mut self) -> Result<Option<Turn>, Errno> {
        if let (None, Some(state)) = (&self.seat, &self.state) {
            self.seat = Some(Seat::new(state)?);
        }
        self.seat.as_ref().map(Seat::turn).transpose()
    }

    /// Waits for a turn. Without one, what others put back at the same time may fail, and is told.
    fn turn(&self) -> Option<Turn> {
        self.seat.as_ref().and_then(|seat| seat.turn().ok())
    }

    /// Tells guards of other sessions what this one goes by.
    fn say(&mut self, turn: Option<&Turn>) -> Result<(), Errno> {
        let (Some(seat), Some(turn)) = (&mut self.seat, turn) else { return Ok(()) };
        let saying = Saying {
            roots: &self.roots,
            levels: self.left.whole_levels(),
            frozen: &self.frozen,
            own: self.own.looked_at(),
            included: self.included.keys().map(Place::path).collect(),
            items: &self.before,
        };
        seat.say(turn, &saying)
    }

    /// Tells them what it goes by now, or that nothing runs.
    fn renew(&mut self, turn: Option<&Turn>) {
        self.renew_note();
        match (&self.seat, turn) {
            (Some(seat), Some(turn)) if self.running == 0 => seat.rest(turn),
            // What they cannot read, no command of theirs begins with.
            _ => {
                let _ = self.say(turn);
            }
        }
    }

    /// Takes in what own settings should be by now, or that nothing runs that could change them.
    fn renew_note(&mut self) {
        if self.running == 0 {
            self.note.take().into_iter().for_each(Note::remove);
        } else if self.note.is_some() {
            // Without it a kill leaves them as they are, and nothing else.
            let _ = self.note();
        }
    }

    /// Whether nothing runs that it knows of, nor ran and was not looked after.
    pub(crate) fn is_idle(&self) -> bool {
        self.running == 0 && !self.unchecked
    }

    /// Whether a look takes well below a millisecond.
    pub(crate) fn is_small(&self) -> bool {
        self.folders.is_some_and(|folders| folders + self.before.len() <= SMALL)
    }

    /// Looks what changed, puts it back and tells.
    pub(crate) fn end(&mut self, checkpoint: Option<&Checkpoint>) -> Vec<ProtectedChange> {
        let turn = self.turn();
        self.running = self.running.saturating_sub(1);
        let mut changes = std::mem::take(&mut self.pending);
        changes.extend(self.check_and_doubt(checkpoint));
        self.renew(turn.as_ref());
        self.unchecked = self.running > 0 || self.held.is_away;
        let own = checkpoint
            .and_then(|own| self.checkpoints.iter().position(|checkpoint| checkpoint.is(own)));
        if let Some(own) = own {
            self.checkpoints.remove(own);
        }
        changes
    }

    /// Does what [`Guard::end`] does while the commands go on.
    pub(crate) fn look(&mut self) -> Vec<ProtectedChange> {
        let turn = self.turn();
        let mut changes = std::mem::take(&mut self.pending);
        changes.extend(self.check());
        if self.running > 0 {
            self.renew(turn.as_ref());
        }
        changes
    }

    /// Takes in that a command ended without a look, because its caller went away.
    pub(crate) fn abandon(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// Has the next look tell what one found whose command did not run.
    pub(crate) fn tell_later(&mut self, changes: Vec<ProtectedChange>) {
        self.pending.extend(changes);
    }

    /// Takes in that nobody read what the last command's look told.
    pub(crate) fn was_nobodys(&mut self) {
        self.lacks_told.clear();
    }

    /// Returns what is there, and that not everything could be looked at if that is so. What was
    /// there before, and nobody knew of, is known now.
    fn look_after(&mut self) -> (BTreeMap<Place, Item>, Option<ProtectedChange>) {
        let is_as_before =
            |(path, identity): &&(PathBuf, Identity)| identity_of_folder(path) == Some(*identity);
        let frozen = self.frozen.iter().filter(is_as_before).map(|(path, _)| path.clone());
        let frozen: Vec<PathBuf> = frozen.collect();
        let stamps = Stamps::HoldIn(&frozen);
        let (roots, limits) = (&self.roots, self.limits);
        let (found, left) = scan(roots, &self.before, stamps, &mut self.listings, limits);
        let mut after = self.own.after(roots, &self.before, stamps);
        after.extend(found);
        self.folders = Some(self.limits.folders - left.folders);
        for (place, before) in &self.before {
            if after.contains_key(place) {
                continue;
            }
            let found = match before.is_folder() {
                true => look_for_folder(place),
                false => look(place, Some(before).filter(|_| stamps.hold_at(place))),
            };
            after.extend(found.map(|item| (place.clone(), item)));
        }
        for place in self.included.keys() {
            if after.contains_key(place) {
                continue;
            }
            match look(place, self.before.get(place).filter(|_| stamps.hold_at(place))) {
                Some(item) => drop(after.insert(place.clone(), item)),
                None => after.extend(link_above(place)),
            }
        }
        let at_addresses = self.at_addresses(&after);
        after.extend(at_addresses);
        let hides = if self.left.are_left() {
            !left.are_left()
        } else {
            let recorded = recorded(&self.checkpoints, &self.before, self.since);
            after.extend(recorded.after);
            for (place, item) in recorded.before {
                self.before.entry(place).or_insert(item);
            }
            recorded.has_gaps
        };
        let kind = match hides || self.own.has_more() {
            true => Some(ProtectedChangeKind::TooMany),
            false => self.lack().filter(|lack| !self.lacks_told.contains(lack)),
        };
        let Some(kind) = kind else { return (after, None) };
        if kind != ProtectedChangeKind::TooMany {
            self.lacks_told.push(kind.clone());
        }
        let path = self.roots.first().cloned().unwrap_or_default();
        (after, Some(ProtectedChange { path, kind, found: None, by_name: false, put_back: false }))
    }

    fn check(&mut self) -> Vec<ProtectedChange> {
        if let Some(told) = self.moved_meanwhile() {
            return told;
        }
        let (mut after, told) = self.look_after();
        self.leave_out_kept_names(&mut after);
        let mut changes: Vec<ProtectedChange> = told.into_iter().collect();
        changes.extend(self.put_back_permissions(&mut after));
        changes.extend(self.correct(after));
        changes
    }

    /// Whether a place was read-only for the commands.
    fn is_frozen(&self, path: &Path) -> bool {
        let is_there = |(frozen, identity): &(PathBuf, Identity)| {
            path.starts_with(frozen) && identity_of_folder(frozen) == Some(*identity)
        };
        self.frozen.iter().any(is_there)
    }

    /// Puts back what is not as it was.
    fn correct(&mut self, after: BTreeMap<Place, Item>) -> Vec<ProtectedChange> {
        let mut changes = Vec::new();
        // How these should be. A second scan would take what a job wrote meanwhile for that.
        let mut corrected: Vec<(Place, Option<Item>)> = Vec::new();
        self.frozen.retain(|(path, identity)| identity_of_folder(path) == Some(*identity));
        let may = |place: &Place| {
            let path = place.path();
            self.frozen.iter().any(|(frozen, _)| path.starts_with(frozen))
        };
        let moved = self.moved(&after);
        let many = LazyCell::new(|| Self::has_many_addresses(&after));
        let copies = LazyCell::new(|| Copies::of(&self.before, &self.roots));
        // What is too much comes first: a link may stand where a folder was.
        for (place, item) in &after {
            let before = self.counted_before(place, item, &moved);
            let before = before.as_deref();
            let is_same = before.is_some_and(|before| before.is_same(item))
                || self.is_ordinary(place, before, Some(item));
            if may(place) || item.is_folder() || is_same || written::may_be_left(place, item) {
                continue;
            }
            // What a command made counts as if it had come now, where it cannot be made again or may be
            // as it is: a look can have found half of it.
            let counts = |before: &&Item| {
                let may_be = || place.may_appear(item, &self.roots);
                !before.is_folder() && (!before.is_made || before.is_kept() && !may_be())
            };
            let before = before.filter(counts);
            if !item.has_new_name(before) {
                if copies.has(place, item) {
                    continue;
                }
                if self.running > 0 && copies.may_become_one(place, item) {
                    corrected.push((place.clone(), before.cloned()));
                    continue;
                }
            }
            if let Some((change, should_be)) = self.judge(place, before, item, &many) {
                changes.push(change);
                corrected.push((place.clone(), should_be));
            }
        }
        for (place, before) in &self.before {
            // A repository or folder may be removed; what ran programs in it is gone with it.
            if may(place)
                || after.contains_key(place)
                || before.is_folder()
                || place.is_in_repository() && !place.repository_is_there()
                || place.has_no_owner()
                || place.is_written_by_git()
                || self.is_included_no_more(place)
                || self.is_ordinary(place, Some(before), None)
                || before.is_made && (place.may_go() || !before.is_kept())
            {
                continue;
            }
            corrected.push((place.clone(), before.is_kept().then(|| before.clone())));
            changes.push(ProtectedChange {
                path: place.path(),
                kind: ProtectedChangeKind::Removed,
                found: None,
                by_name: place.listed().is_some(),
                put_back: before.is_kept() && self.put(place, Some(before)),
            });
        }
        changes.extend(self.correct_written(&after, &moved, &mut corrected));
        self.owed.take(&changes, &after, &corrected);
        self.take_in(after, corrected, &moved);
        changes
    }

    /// Takes what is there `after` a look for what should be, but for what was corrected.
    fn take_in(
        &mut self,
        after: BTreeMap<Place, Item>,
        corrected: Vec<(Place, Option<Item>)>,
        moved: &BTreeMap<Place, Place>,
    ) {
        let before = std::mem::replace(&mut self.before, after);
        for (place, should_be) in corrected {
            match should_be {
                Some(item) => self.before.insert(place, item),
                None => self.before.remove(&place),
            };
        }
        let mut room = Room::default();
        for (place, mut item) in std::mem::take(&mut self.before) {
            let known = before.get(moved.get(&place).unwrap_or(&place));
            item.is_made = known.is_none_or(|known| known.is_made);
            let item = if item.is_made { room.keep(item, MINOR_BYTES_MAX) } else { item };
            self.before.insert(place, item);
        }
        if self.running > 0 {
            self.note_folders();
            self.follow_addresses();
        }
    }

    /// Puts one name back that is not as it was, unless it may be so. Returns also how it should be.
    fn judge(
        &self,
        place: &Place,
        before: Option<&Item>,
        after: &Item,
        has_many_addresses: &dyn Deref<Target = bool>,
    ) -> Option<(ProtectedChange, Option<Item>)> {
        let found = after.bytes().map(<[u8]>::to_vec);
        let change = |kind, put_back, should_be| {
            let (path, found) = (place.path(), found.clone());
            let by_name = place.listed().is_some();
            Some((ProtectedChange { path, kind, found, by_name, put_back }, should_be))
        };
        let is_opened = |before: &Item| after.mode & !before.mode & WRITTEN != 0;
        let has_new_name = after.has_new_name(before);
        if place.is_git_config() {
            let old = before.and_then(|before| before.bytes());
            if let Some((text, names)) = after.bytes().and_then(|new| {
                let is_made = before.is_none_or(|before| before.is_made);
                git_config::put_back(old, new, |name, value| {
                    place.may_set((name, value), old, &self.roots)
                        && (name == "core.worktree" || !**has_many_addresses)
                        || is_made && place.may_mirror(name, value)
                })
            }) {
                let opened_from = before.filter(|before| !before.is_made && is_opened(before));
                if names.is_empty() && !has_new_name && opened_from.is_none() {
                    return None;
                }
                let as_before = before.filter(|_| old == Some(&text));
                let mode = opened_from.map_or(after.mode, |before| before.mode);
                let put_back = as_before.cloned().unwrap_or_else(|| after.with(mode, text));
                let done = self.put(place, Some(&put_back));
                let kind = match (names.is_empty(), has_new_name) {
                    (false, _) => ProtectedChangeKind::GitSettings(names),
                    (true, true) => ProtectedChangeKind::Changed,
                    (true, false) => ProtectedChangeKind::Permissions,
                };
                return change(kind, done, Some(put_back));
            }
        }
        if place.is_alternates()
            && !has_new_name
            && !**has_many_addresses
            && alternates::may_say(place, before, after, &self.roots)
        {
            return None;
        }
        match before {
            Some(before)
                if place.may_lead_elsewhere(before, after, &self.roots)
                    && !has_new_name
                    && !is_opened(before) =>
            {
                None
            }
            None if place.may_appear(after, &self.roots) && !has_new_name => None,
            None => change(ProtectedChangeKind::Created, self.put(place, None), None),
            Some(before) => {
                // What cannot be made again is not taken away either.
                let done = before.is_kept() && self.put(place, Some(before));
                let should_be = if before.is_kept() { before } else { after };
                let kind = match before.differs_in_mode_alone(after) {
                    true => ProtectedChangeKind::Permissions,
                    false => ProtectedChangeKind::Changed,
                };
                change(kind, done, Some(should_be.clone()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
