//! Takes back undos that did not come to their end: those that failed, and those that the end of their
//! process cut short.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::compare::compare_image;
use super::conflicts::Left;
use super::find::{Finder, node_at};
use super::history::name_of;
use super::left_behind::LOOKED_AT_MAX;
use super::node::{Moment, NodeId, look};
use super::record::{End, Image, Place};
use super::scan::entries;
use super::store::object_name;
use super::undo::{TAKE_BACK, undo};
use super::{CheckpointId, CheckpointInfo, CheckpointState, Journal, JournalError};

/// An undo that was cut short has ended within this time after its log was last touched, which is before
/// each change. What changed later is somebody else's.
const STEP_MAX: Duration = Duration::from_millis(20);
/// The same of a file that gets its bytes back.
const CONTENT_MAX: Duration = Duration::from_secs(2);

impl Journal {
    /// Returns whether the end of its process cut an undo or a redo short. The next one takes it back first.
    ///
    /// ```
    /// use tenon_sandbox::{Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// assert!(!journal.is_half_undone());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_half_undone(&self) -> bool {
        let ids = self.store.ids().unwrap_or_default();
        let mut newest = ids.into_iter().rev().take(LOOKED_AT_MAX);
        let is_undo = |id| self.store.read_header(id).is_ok_and(|header| !header.undoes.is_empty());
        // Few are: only then all are looked at.
        newest.any(|id| !self.store.has_ended(id) && is_undo(id))
            && self.checkpoints().is_ok_and(|infos| infos.iter().any(is_half_done))
    }

    /// Takes back undos and redos that the end of their process cut short, but for what somebody changed
    /// since. What it does is of their sessions. [`Journal::undo`] does it by itself; before it, the calls
    /// of a redo that was cut short count as undone.
    ///
    /// # Errors
    /// As [`Journal::undo`].
    ///
    /// ```
    /// use tenon_sandbox::{Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// journal.take_back_cut_short()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_back_cut_short(&self) -> Result<(), JournalError> {
        let _lock = self.lock()?;
        self.store.check_in_place()?;
        self.take_back_half_done()
    }

    /// Undoes the first, an undo, but for what is `kept`. The rest are earlier tries. Only with the end
    /// of this is it taken back: until then it may be tried again.
    pub(super) fn take_back(
        &self,
        ids: &[CheckpointId],
        session: &str,
        kept: &[Left],
    ) -> Result<(), JournalError> {
        let Some(&id) = ids.first() else { return Ok(()) };
        let failed = |errno| JournalError::io(errno, "the undo store");
        let image = self.whole_image(id)?;
        let mut recorder = self.recorder(session, &name_of(TAKE_BACK, &[id]), ids.to_vec());
        recorder.begin().map_err(failed)?;
        let own = recorder.id().ok_or_else(|| failed(Errno::NOENT))?;
        let outcome = undo(id, &image, &mut recorder, kept);
        self.finish_undo(recorder, own, End::default())?;
        outcome.map_err(|failure| JournalError::NotRestored {
            id: own,
            path: self.store.shown(&failure.place),
            code: failure.errno.raw_os_error(),
        })?;
        if kept.is_empty() {
            self.remove_saved(id, &image);
        }
        Ok(())
    }

    /// Gives back the room of the bytes that an undo saved, or had begun to save: taken back, it has no
    /// redo that needs them.
    fn remove_saved(&self, id: CheckpointId, image: &Image) {
        let Ok(again) = self.store.again() else { return };
        let kept: HashSet<String> =
            image.nodes.values().filter_map(|old| old.kept).map(object_name).collect();
        for root in 0..self.store.roots.len() {
            let Ok(folder) = self.store.open_kept(id, root) else { continue };
            for name in entries(&folder).unwrap_or_default() {
                let Ok(Some(node)) = look(&folder, &name) else { continue };
                // What it made again and had not put back yet may be all there is of a file.
                let is_needed = name.to_str().is_none_or(|name| kept.contains(name))
                    || again.iter().any(|(_, new)| *new == node.id);
                if node.is_file() && node.links == 1 && !is_needed {
                    // What stays goes with its checkpoint.
                    let _ = rustix::fs::unlinkat(&folder, &*name, AtFlags::empty());
                }
            }
        }
    }

    /// An undo that was cut short by the end of its process is taken back, as if it had not begun. What
    /// somebody else changed since stays as it is, and so is no more as the call left it.
    pub(super) fn take_back_half_done(&self) -> Result<(), JournalError> {
        let infos = self.checkpoints()?;
        // What took one back and was cut short itself saved no content: it is done again.
        for info in infos.iter().rev().filter(|info| info.is_of_undo() && !is_try(info)) {
            let tries = infos
                .iter()
                .filter(|other| is_try(other) && is_cut_short(other) && other.kind.undoes(info.id));
            let mut ids = vec![info.id];
            ids.extend(tries.map(|other| other.id));
            // Earlier programs ended it before it was taken back.
            if is_cut_short(info) || info.state == CheckpointState::Done && ids.len() > 1 {
                let journal = self.reaching(&ids);
                journal.take_back(&ids, &info.session, &journal.changed_since(&ids)?)?;
            }
        }
        Ok(())
    }

    /// Returns what of the work of these, an undo that was cut short and tries to take it back, changed
    /// after them.
    fn changed_since(&self, ids: &[CheckpointId]) -> Result<Vec<Left>, JournalError> {
        // When what they changed was changed last, and when that may have been by them.
        let mut all: BTreeMap<Place, (Moment, Moment)> = BTreeMap::new();
        // Where folders are that somebody moved since: with everything in them.
        let mut moved = BTreeSet::new();
        for id in ids {
            let last = self.store.look_at_log(*id).map_err(Self::unknown(*id))?.modified;
            let image = self.whole_image(*id)?;
            let content = last_content(&image);
            let end = compare_image(&self.store, &image, *id);
            let mut finder = Finder::new(&self.store, &image, *id);
            moved.extend(end.left_at.into_iter().filter_map(|(id, at)| {
                let old = image.nodes.get(&id).filter(|old| old.node.is_folder())?;
                finder.at_its_place(old).is_none().then_some(at)
            }));
            for (place, state) in end.after {
                let Some(changed) = state.changed() else { continue };
                let is_content = || {
                    let now = node_at(&self.store, &place).ok().flatten();
                    now.is_some_and(|now| content == Some(now.id))
                };
                let own = last.after(if is_content() { CONTENT_MAX } else { STEP_MAX });
                let known = all.entry(place).or_insert((changed, own));
                known.1 = known.1.max(own);
            }
        }
        let later = all.into_iter().filter(|(_, (changed, own))| changed > own);
        let left = later.map(|(place, _)| Left { is_whole: moved.contains(&place), place });
        Ok(left.collect())
    }
}

pub(super) fn is_try(info: &CheckpointInfo) -> bool {
    info.name.starts_with(TAKE_BACK)
}

fn is_cut_short(info: &CheckpointInfo) -> bool {
    info.state == CheckpointState::Interrupted
}

fn is_half_done(info: &CheckpointInfo) -> bool {
    info.is_of_undo() && !is_try(info) && is_cut_short(info)
}

/// The file whose bytes were saved last, and written then.
fn last_content(image: &Image) -> Option<NodeId> {
    let contents = image.nodes.values().filter_map(|old| Some((old.content?.object, old.node.id)));
    contents.max().map(|(_, id)| id)
}
