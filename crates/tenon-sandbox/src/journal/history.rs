//! Undo and redo of checkpoints, and what they find changed meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::astray::Astray;
use super::changes::Changes;
use super::compare::{compare, compare_image};
use super::conflicts::{
    Conflict, ConflictReason, Conflicts, Found, Left, Theirs, find_conflicts, is_of_undo,
    open_conflicts,
};
use super::find::node_at;
use super::left_over;
use super::needed_objects::left_whole_repositories;
use super::node::Moment;
use super::put::cut_meanwhile;
use super::record::{End, Image, Place, Sealed, State};
use super::recorder::Recorder;
use super::sealed::{Judged, seal_kept, seal_left};
use super::since::Undoing;
use super::store::Store;
use super::together::Unit;
use super::trouble::Trouble;
use super::undo::{NotBack, not_kept, undo};
use super::walk::{Deeper, walk};
use super::{CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Journal, JournalError};

/// After the last record of a call that was cut short, whatever came from it has ended within this
/// time, in seconds: what changed later is somebody else's.
pub(super) const AFTERMATH_SECONDS: i64 = 2;

/// What an undo is called, but for one that undoes an undo.
const UNDO: &str = "undo";

/// So many things that are overwritten are named; of what is in folders no more.
const TAKEN_NAMED_MAX: usize = 100;

/// What is held for taking an undo back, in bytes: records of some thousand files.
const RESERVE_BYTES: u64 = 256 << 10;

/// The undo of several checkpoints.
struct Work {
    recorder: Recorder,
    /// What is left as it is, for whoever asked.
    kept: Vec<Conflict>,
    left: Vec<Left>,
    /// What is put back although others changed it.
    overwritten: Vec<Conflict>,
    /// What of theirs goes along with folders.
    moved: BTreeSet<Place>,
    /// What the calls so far had touched.
    undone: BTreeSet<Place>,
    /// Git repositories whose objects stay.
    needed: BTreeSet<Place>,
    /// What forbids the undo, by where it was before the undo began. What is done once there is some only
    /// shows what else does, keeps what is theirs, and is taken back.
    open: BTreeMap<Place, ConflictReason>,
    /// Where what had to stay is meanwhile.
    astray: Astray,
    /// What is known of what it takes away.
    sealed: Vec<Sealed>,
}

impl Work {
    fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            kept: Vec::new(),
            left: Vec::new(),
            overwritten: Vec::new(),
            moved: BTreeSet::new(),
            undone: BTreeSet::new(),
            needed: BTreeSet::new(),
            open: BTreeMap::new(),
            astray: Astray::default(),
            sealed: Vec::new(),
        }
    }

    /// Takes in what is known of what the undo of a call takes away, by where it was before the undo began.
    fn seal(&mut self, store: &Store, image: &Image, found: &Found) {
        let at_first = |place: &Place| self.recorder.at_first(place);
        let sealed = seal_left(store, image, found);
        let sealed = sealed.map(|known| Sealed { place: at_first(&known.place), ..known });
        self.sealed.extend(sealed);
    }

    fn places_left(&self) -> HashSet<&Place> {
        self.left.iter().map(|left| &left.place).collect()
    }
}

impl CheckpointInfo {
    /// Whether it is an undo that a redo takes back; a redo is none.
    #[must_use]
    pub fn is_undo(&self) -> bool {
        self.is_of_undo() && self.name.split(' ').next() == Some(UNDO)
    }

    /// Whether it is an undo or a redo, or takes one back.
    pub(super) fn is_of_undo(&self) -> bool {
        self.kind != CheckpointKind::Call
    }
}

impl CheckpointKind {
    pub(super) fn undoes(&self, id: CheckpointId) -> bool {
        matches!(self, Self::Undo { of } if of.contains(&id))
    }
}

/// What undo did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// It is undone.
    Done {
        /// The undo's own checkpoint, for redo.
        id: CheckpointId,
        /// What the undo changed.
        changes: Changes,
        /// What was left as it is.
        kept: Vec<Conflict>,
        /// What others had changed since and is put back all the same: each, and the first files of
        /// folders that were theirs.
        overwritten: Vec<Conflict>,
        /// What others had put or changed in folders that were moved back with it: where the first of it is.
        moved: Vec<PathBuf>,
    },
    /// Others changed this since. Everything is as it was.
    Conflicts(Vec<Conflict>),
}

impl Journal {
    /// Undoes checkpoints, the newest first, as one checkpoint, whose undo is the redo. All of it or
    /// nothing: if others changed something since, `conflicts` says what is done about it.
    ///
    /// # Errors
    /// [`JournalError`]; after [`JournalError::NotRestored`] what was done can be undone in turn.
    pub fn undo(
        &self,
        ids: &[CheckpointId],
        session: &str,
        conflicts: &Conflicts,
    ) -> Result<Undone, JournalError> {
        self.reaching(ids).undo_in_reach(ids, session, conflicts)
    }

    fn undo_in_reach(
        &self,
        ids: &[CheckpointId],
        session: &str,
        conflicts: &Conflicts,
    ) -> Result<Undone, JournalError> {
        let failed = |errno| JournalError::io(errno, "the undo store");
        let _lock = self.lock()?;
        self.store.check_in_place()?;
        // What cannot be read is found before anything is touched.
        ids.iter().try_for_each(|id| self.whole_image(*id).map(drop))?;
        self.take_back_half_done()?;
        let (ids, _) = self.what_to_undo(ids)?;
        let ids = self.with_undone_beside(&ids)?;
        let (ids, name) = self.what_to_undo(&ids)?;
        self.check_nothing_runs_around_store()?;
        let reserve = self.reserve().map_err(failed)?;
        let recorder = self.recorder(session, &name, ids.clone());
        let mut work = Work::new(recorder);
        let units = self.units(&ids)?;
        let last = units.len().saturating_sub(1);
        for (number, unit) in units.iter().enumerate() {
            match self.undo_one(unit, conflicts, number == last, &mut work) {
                Err(JournalError::NotRestored { .. }) if !work.open.is_empty() => break,
                Err(error) => {
                    release(&reserve);
                    if let Some(own) = work.recorder.id() {
                        self.give_up(work.recorder, own, session)?;
                    }
                    return Err(error);
                }
                Ok(()) => {}
            }
        }
        if !work.open.is_empty() {
            if let Some(own) = work.recorder.id() {
                release(&reserve);
                self.give_up(work.recorder, own, session)?;
            }
            let open = work.open.iter().map(|(place, why)| self.conflict(place, *why));
            return Ok(Undone::Conflicts(open.collect()));
        }
        let Work { mut recorder, kept, mut overwritten, moved, sealed, .. } = work;
        // What several calls changed is told once.
        overwritten.sort_by(|one, other| one.path.cmp(&other.path));
        overwritten.dedup_by(|one, other| one.path == other.path);
        // An earlier call may have moved it once more.
        let is_there = |place: &&Place| node_at(&self.store, place).is_ok_and(|now| now.is_some());
        let moved = moved.iter().filter(is_there).map(|place| self.store.shown(place));
        let moved: Vec<PathBuf> = moved.collect();
        recorder.begin().map_err(failed)?;
        let own = recorder.id().ok_or_else(|| failed(Errno::NOENT))?;
        release(&reserve);
        let told = End {
            kept: kept.iter().map(|conflict| conflict.path.clone()).collect(),
            moved: moved.clone(),
            sealed,
            ..End::default()
        };
        let changes = self.finish_undo(recorder, own, told).or_else(|error| {
            // Without its end it would be half done.
            self.take_back(&[own], session, &[])?;
            Err(error)
        })?;
        Ok(Undone::Done { id: own, changes, kept, overwritten, moved })
    }

    /// Undoes one of several, and of the oldest nothing where something forbids it.
    fn undo_one(
        &self,
        unit: &Unit,
        conflicts: &Conflicts,
        is_oldest: bool,
        work: &mut Work,
    ) -> Result<(), JournalError> {
        let failed = |errno| JournalError::io(errno, "the undo store");
        let Some(id) = unit.ids.first().copied() else { return Ok(()) };
        let mut image = match unit.ids.as_slice() {
            [id] => self.image(*id)?,
            ids => self.together(ids)?,
        };
        image.leave_unchanged(&self.store);
        let ids = work.recorder.image.header.undoes.clone();
        // What was left to somebody is not as an undo left it.
        if work.left.is_empty() {
            self.after_undo_beside(&unit.ids, &mut image, (&ids, unit.newest))?;
        }
        work.astray.bring(&mut image);
        let mut found = find_conflicts(&self.store, &image, id, &work.astray);
        self.leave_to_earlier(id, &mut found, &ids)?;
        for place in cut_meanwhile(&self.store, &image, id) {
            found.entry(place).or_insert(ConflictReason::Changed.into());
        }
        found.retain(|place, theirs| !is_of_undo(&image, &work.undone, place, theirs.reason));
        image.leave_idle(&self.store, &mut found);
        self.find_doubted(id, &image, (&ids, &work.astray), (&mut found, conflicts))?;
        self.leave_needed(id, &mut image, (&mut found, conflicts), work)?;
        let open = open_conflicts(&self.store, &found, conflicts, |at| work.recorder.at_first(at));
        let not_kept = self.not_kept(id, &image, &open, work);
        for (place, why) in self.taken_away(&open, &work.recorder) {
            let why = if not_kept.contains(&place) { ConflictReason::NotKept } else { why };
            work.open.entry(place).or_insert(why);
        }
        if is_oldest && !work.open.is_empty() {
            return Ok(());
        }
        if *conflicts == Conflicts::Keep || !work.open.is_empty() {
            let known = work.places_left();
            let new = found.iter().filter(|(place, _)| !known.contains(place));
            let new: Vec<Conflict> =
                new.map(|(place, theirs)| self.conflict(place, theirs.reason)).collect();
            work.kept.extend(new);
            // For earlier calls, too: what is theirs by now stays where it is.
            work.left.extend(left_of(&found));
        }
        if matches!(conflicts, Conflicts::Overwrite(_)) {
            let taken = self.taken_away(&found, &work.recorder).into_iter();
            work.overwritten.extend(taken.map(|(place, why)| self.conflict(&place, why)));
        }
        work.seal(&self.store, &image, &found);
        let left = &work.left;
        let undoing = Undoing { id, left, own: &work.recorder.image, known: &work.needed };
        work.moved.extend(self.moved_along(&image, &undoing)?);
        // Also where nothing is to be done: without a log nothing would say that it is undone.
        work.recorder.begin().map_err(failed)?;
        match undo(id, &image, &mut work.recorder, &work.left) {
            Ok(not_back) => self.take_in(not_back, work),
            Err(failure) => {
                let path = self.store.shown(&failure.place);
                let code = failure.errno.raw_os_error();
                work.recorder.note_refused(Some(&failure.place), failure.errno);
                let own = work.recorder.id().ok_or_else(|| failed(Errno::NOENT))?;
                return Err(JournalError::NotRestored { id: own, path, code });
            }
        }
        work.undone.extend(image.end.iter().flat_map(|end| &end.after).map(|(at, _)| at.clone()));
        Ok(())
    }

    /// Returns those of the conflicts of one of several that cannot be put back at all, by where they were before
    /// the undo began.
    fn not_kept(
        &self,
        id: CheckpointId,
        image: &Image,
        open: &Found,
        work: &mut Work,
    ) -> BTreeSet<Place> {
        if open.is_empty() {
            return BTreeSet::new();
        }
        let nodes = not_kept(id, image, &mut work.recorder);
        let left = image.end.iter().flat_map(|end| &end.left_at);
        let left = left.filter(|(id, at)| nodes.contains(id) && open.contains_key(at));
        left.map(|(_, at)| work.recorder.at_first(at)).collect()
    }

    /// Takes in what one of several left as it was.
    fn take_in(&self, NotBack { nowhere, held, back, astray }: NotBack, work: &mut Work) {
        work.astray.extend(astray);
        let known = work.places_left();
        let nowhere = nowhere.iter().filter(|place| !known.contains(place));
        let nowhere: Vec<Conflict> =
            nowhere.map(|place| self.conflict(place, ConflictReason::Deleted)).collect();
        // What a later call would not let go, an earlier one did not have so.
        let shown = |places: BTreeSet<Place>| -> BTreeSet<PathBuf> {
            places.iter().map(|place| self.store.shown(place)).collect()
        };
        let (back, held) = (shown(back), shown(held));
        work.kept.retain(|Conflict { path, reason }| {
            let is_told = || path.ancestors().any(|above| held.contains(above));
            *reason != ConflictReason::Held || !back.contains(path) && !is_told()
        });
        work.kept.extend(nowhere);
        let reason = ConflictReason::Held;
        work.kept.extend(held.into_iter().map(|path| Conflict { path, reason }));
    }

    /// Leaves the objects of git repositories that somebody's branches may need.
    fn leave_needed(
        &self,
        id: CheckpointId,
        image: &mut Image,
        (found, conflicts): (&mut Found, &Conflicts),
        work: &mut Work,
    ) -> Result<(), JournalError> {
        let mut left = work.left.clone();
        if *conflicts == Conflicts::Keep {
            left_whole_repositories(&self.store, image, found);
            left.extend(left_of(found));
        }
        let undoing = Undoing { id, left: &left, own: &work.recorder.image, known: &work.needed };
        for repository in self.leave_needed_objects(image, found, &undoing)? {
            let objects = repository.join(OsStr::new("objects"));
            if work.needed.insert(repository) {
                work.kept.push(self.conflict(&objects, ConflictReason::Needed));
            }
        }
        Ok(())
    }

    /// Undoes an undo. The same as [`Journal::undo`] of it.
    ///
    /// # Errors
    /// As [`Journal::undo`].
    pub fn redo(
        &self,
        id: CheckpointId,
        session: &str,
        conflicts: &Conflicts,
    ) -> Result<Undone, JournalError> {
        self.undo(&[id], session, conflicts)
    }

    /// Returns the conflicts, by where they were before the undo began, and the first files of folders that are
    /// theirs.
    fn taken_away(&self, found: &Found, recorder: &Recorder) -> Vec<(Place, ConflictReason)> {
        let mut taken = Vec::new();
        for (place, theirs) in found {
            taken.push((recorder.at_first(place), theirs.reason));
            if !theirs.is_whole {
                continue;
            }
            // What cannot be read is taken away with the folder all the same.
            let _ = walk(&self.store, place, &mut |place, node| {
                if taken.len() >= TAKEN_NAMED_MAX {
                    return Deeper::No;
                }
                if !node.is_folder() {
                    taken.push((recorder.at_first(place), ConflictReason::Created));
                }
                Deeper::Yes
            });
        }
        taken
    }

    /// Returns what an undo or a redo left as it was, because others had changed it since, or needed it.
    ///
    /// # Errors
    /// [`JournalError::Unknown`] and the like.
    ///
    /// ```
    /// use tenon_sandbox::{CheckpointId, Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// assert!(journal.kept_by(CheckpointId::new(1)).is_ok_and(|kept| kept.is_empty()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kept_by(&self, id: CheckpointId) -> Result<Vec<PathBuf>, JournalError> {
        let end = self.store.read_end(id).map_err(Self::unknown(id))?;
        Ok(end.map(|end| end.kept).unwrap_or_default())
    }

    fn conflict(&self, place: &Place, reason: ConflictReason) -> Conflict {
        Conflict { path: self.store.shown(place), reason }
    }

    /// Ends an undo of which `told` says what it did not put back.
    pub(super) fn finish_undo(
        &self,
        mut recorder: Recorder,
        id: CheckpointId,
        told: End,
    ) -> Result<Changes, JournalError> {
        let End { kept, moved, sealed, .. } = told;
        let end = End { kept, moved, sealed, ..compare(&recorder, id) };
        let changes = end.changes.clone();
        let written = self.store.write_end(id, end);
        recorder.close();
        written.map_err(|errno| JournalError::io(errno, "the undo store"))?;
        Ok(changes)
    }

    /// Holds the room that taking an undo back takes, until it is released. Fails on a full disk.
    fn reserve(&self) -> Result<Vec<OwnedFd>, Errno> {
        let mut held = Vec::new();
        for base in &self.store.bases {
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            // Where there is no such thing nothing is held.
            let Ok(file) = rustix::fs::open(&base.path, flags, Mode::RUSR | Mode::WUSR) else {
                continue;
            };
            match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES) {
                Err(errno @ (Errno::NOSPC | Errno::DQUOT)) => return Err(errno),
                _ => held.push(file),
            }
        }
        Ok(held)
    }

    /// Takes back an undo that cannot be done to its end.
    fn give_up(
        &self,
        mut recorder: Recorder,
        own: CheckpointId,
        session: &str,
    ) -> Result<(), JournalError> {
        // Without an end it counts as half done, should this be cut short.
        recorder.close();
        self.take_back(&[own], session, &[])
    }

    /// The newest first, and what the work on them is called: an undo, or a redo of an undo, which
    /// tells also when what it speaks of is not kept any more.
    fn what_to_undo(
        &self,
        ids: &[CheckpointId],
    ) -> Result<(Vec<CheckpointId>, String), JournalError> {
        let wanted: BTreeSet<CheckpointId> = ids.iter().copied().collect();
        // What an undo among them took back stands again when its own turn comes.
        let infos = self.checkpoints_without(&wanted, CheckpointId(0))?;
        let mut is_redo = !ids.is_empty();
        for id in ids {
            let info = infos.iter().find(|info| info.id == *id);
            let info = info.ok_or(JournalError::Unknown { id: *id })?;
            is_redo &= info.is_undo();
            match info.state {
                CheckpointState::Running => return Err(JournalError::Running { id: *id }),
                CheckpointState::Undone { .. } => {
                    return Err(JournalError::AlreadyUndone { id: *id });
                }
                CheckpointState::Done | CheckpointState::Interrupted => {}
            }
            self.finish_interrupted(*id)?;
        }
        let wanted: Vec<CheckpointId> = wanted.into_iter().rev().collect();
        let name = name_of(if is_redo { "redo" } else { UNDO }, &wanted);
        Ok((wanted, name))
    }

    /// Reads a whole log, with nodes as they are called by now.
    pub(super) fn image(&self, id: CheckpointId) -> Result<Image, JournalError> {
        let image = self.store.read_log(id).map_err(Self::unknown(id))?;
        let mut image = image.ok_or(JournalError::Damaged { id })?;
        let again = self.store.again().map_err(Self::unknown(id))?;
        image.rename_nodes(&again);
        Ok(image)
    }

    /// Ends the checkpoints of calls that were cut short and left something in the workspace.
    pub(super) fn end_with_left_over(&self, infos: &[CheckpointInfo]) {
        let is_cut_short = |info: &CheckpointInfo| info.state == CheckpointState::Interrupted;
        for info in infos.iter().filter(|info| is_cut_short(info) && !info.is_of_undo()) {
            let journal = self.reaching(&[info.id]);
            let image = journal.store.read_log(info.id).ok().flatten();
            if image.is_some_and(|image| left_over::is_some(&journal.store, &image)) {
                // Else it is done when somebody asks what changed.
                let _ = self.finish_interrupted(info.id);
            }
        }
    }

    /// Ends a checkpoint whose process ended before it could.
    pub(super) fn finish_interrupted(&self, id: CheckpointId) -> Result<(), JournalError> {
        match self.end_of_interrupted(id)? {
            Some(end) => self.keep_end(id, end),
            None => Ok(()),
        }
    }

    /// Writes the end of a checkpoint whose process ended before it could. Not that of an undo: it
    /// would be a whole one.
    pub(super) fn keep_end(&self, id: CheckpointId, end: End) -> Result<(), JournalError> {
        match self.store.read_header(id).map_err(Self::unknown(id))?.undoes.is_empty() {
            true => self.store.write_end(id, end).map_err(Self::unknown(id)),
            false => Ok(()),
        }
    }

    /// Works out the end of a checkpoint whose process ended before it could; `None` if it has one.
    pub(super) fn end_of_interrupted(&self, id: CheckpointId) -> Result<Option<End>, JournalError> {
        if self.store.has_ended(id) {
            return Ok(None);
        }
        let lock = self.store.lock_log(id).map_err(Self::unknown(id))?;
        let Some(_lock) = lock else { return Err(JournalError::Running { id }) };
        let last = self.store.look_at_log(id).map_err(Self::unknown(id))?.modified;
        let journal = self.reaching(&[id]);
        let (store, mut image) = (&journal.store, journal.whole_image(id)?);
        if !image.is_over {
            image.trouble.push(Trouble::Interrupted);
        }
        let left_over = left_over::remove(store, &image);
        let mut end: End = compare_image(store, &image, id);
        end.sealed = seal_kept(store, &image, id, &Judged::default());
        end.interrupted = true;
        let is_compared = image.trouble.contains(&Trouble::Compared);
        for (place, state) in &mut end.after {
            let changed = match state.changed() {
                // Somebody else may have taken it away.
                None if is_compared => changed_above(store, place),
                // This is what changed it last.
                changed => left_over.get(place).copied().or(changed),
            };
            if changed.is_some_and(|changed| is_past(changed, last)) {
                // Like nothing that can be found, so that it is asked about.
                *state = State::unknown();
            }
        }
        for (_, left) in &mut end.left_files {
            if left.state.changed().is_some_and(|changed| is_past(changed, last)) {
                (left.state, left.head) = (State::unknown(), None);
            }
        }
        Ok(Some(end))
    }
}

fn left_of(found: &Found) -> impl Iterator<Item = Left> {
    let left = found.iter();
    left.map(|(place, Theirs { is_whole, .. })| Left { place: place.clone(), is_whole: *is_whole })
}

/// Gives back what was held. Closing would not at once, where a process that another thread is about to
/// start has a copy of the descriptor.
fn release(reserve: &[OwnedFd]) {
    for file in reserve {
        // To make a file shorter takes no room.
        let _ = rustix::fs::ftruncate(file, 0);
    }
}

/// When the nearest folder above changed that is there.
fn changed_above(store: &Store, place: &Place) -> Option<Moment> {
    let mut above = place.path.ancestors().skip(1);
    above.find_map(|path| {
        let above = Place { root: place.root, path: path.to_path_buf() };
        Some(node_at(store, &above).ok()??.changed)
    })
}

fn is_past(changed: Moment, last: Moment) -> bool {
    changed.seconds > last.seconds + AFTERMATH_SECONDS
}

pub(super) fn name_of(what: &str, ids: &[CheckpointId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    format!("{what} {}", ids.join(" "))
}
