//! What somebody with leave to do so writes at protected names while commands run.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::copies::Copies;
use super::folder::open_folder_at;
use super::item::{Content, FILE_BYTES_MAX, Item};
use super::limits::Limits;
use super::others::Others;
use super::place::Place;
use super::scan::{Scan, Stamps, look};
use super::{Guard, Journaled, ProtectedChange};
use crate::journal::{Came, Checkpoint};
use crate::workspace::LiftedWrite;

/// With these a file runs as its owner, or with its group: a write takes them away.
const SET_ID: u32 = 0o6000;

impl Guard {
    /// Looks before somebody with leave writes the protected file at `path`, where commands run, also of another
    /// session, or ran without a look: what they wrote at protected names is put back, and is in nobody's question.
    ///
    /// # Errors
    /// If it cannot be known what others do, or the file is not as it should be all the same.
    pub(crate) fn look_first(
        &mut self,
        path: &Path,
        roots: &[PathBuf],
    ) -> io::Result<Vec<ProtectedChange>> {
        let changes = match self.look_beside(roots) {
            Ok(Some(changes)) => changes,
            Ok(None) => return Ok(Vec::new()),
            Err(errno) => {
                let errno = io::Error::from(errno);
                let why = format!("tenon's state folder does not say what commands do: {errno}");
                return Err(io::Error::other(why));
            }
        };
        if self.is_of_a_command(path) {
            self.tell_later(changes);
            return Err(io::Error::other("a command that runs is writing it"));
        }
        Ok(changes)
    }

    /// Whether commands run in these folders, above or beneath them, of this session or another. What they wrote at
    /// protected names until now is put back, and told with the next look. Where it cannot be known, they may run.
    pub(crate) fn runs_beside(&mut self, roots: &[PathBuf]) -> bool {
        let runs = self.running > 0 || self.others().map_or(true, |others| others.are_in(roots));
        if runs && let Ok(Some(changes)) = self.look_beside(roots) {
            self.tell_later(changes);
        }
        runs
    }

    /// Puts back what commands wrote until now, also those of other sessions; `None` if none run, nor ran without a look.
    fn look_beside(&mut self, roots: &[PathBuf]) -> Result<Option<Vec<ProtectedChange>>, Errno> {
        if self.running > 0 {
            return Ok(Some(self.look()));
        }
        if self.is_idle() && self.others()?.are_none() {
            return Ok(None);
        }
        // As before and after a command that does nothing.
        self.begin(roots, &[], Journaled::Needless)?;
        Ok(Some(self.end(None)))
    }

    fn others(&mut self) -> Result<Others, Errno> {
        let turn = self.sit_down()?;
        let Some((seat, mut turn)) = self.seat.as_ref().zip(turn) else {
            return Ok(Others::default());
        };
        seat.others(&mut turn)
    }

    /// Whether a look left at a path what a command wrote: half of a copy, or what could not be put back.
    fn is_of_a_command(&self, path: &Path) -> bool {
        let copies = Copies::of(&self.before, &self.roots);
        self.places_at(path).iter().any(|place| {
            let Some(there) = look(place, None) else { return false };
            match self.before.get(place) {
                Some(before) => before.bytes().is_some() && !before.has_content_of(&there),
                None => copies.may_become_one(place, &there),
            }
        })
    }

    /// Takes what was `written` with leave for what should be there, while commands run. Whatever else is there
    /// by now, or beside it, is a command's, and so may be what `checkpoint` saved of what was there before.
    pub(crate) fn accept(&mut self, written: &LiftedWrite, checkpoint: Option<&Checkpoint>) {
        if self.running == 0 {
            return;
        }
        let turn = self.turn();
        checkpoint.into_iter().for_each(|own| self.doubt(own, &self.before));
        for place in self.places_at(&written.place) {
            if let Some(item) = self.item_of(&place, written) {
                self.before.insert(place, item);
            }
        }
        self.renew(turn.as_ref());
    }

    /// Returns as what a path is protected: as what it was, or else as what a look finds there.
    fn places_at(&self, path: &Path) -> BTreeSet<Place> {
        let is_there = |place: &Place| place.path() == path;
        let known = self.before.keys().chain(self.included.keys()).cloned();
        let mut places: BTreeSet<Place> = known.filter(is_there).collect();
        for root in &self.roots {
            let Ok(beneath) = path.strip_prefix(root) else { continue };
            let Ok(top) = open_folder_at(root) else { continue };
            let mut scan = Scan::new(&self.before, Stamps::HoldIn(&[]), Limits::TOUCHED);
            scan.place(root, &top, beneath, Came::Replaced);
            places.extend(scan.found.into_keys().filter(is_there));
        }
        let own = self.own.after(&self.roots, &self.before, Stamps::HoldIn(&[]));
        places.extend(own.into_keys().filter(is_there));
        places
    }

    /// Returns the file as it was written; none where something else than a file should be.
    fn item_of(&self, place: &Place, written: &LiftedWrite) -> Option<Item> {
        let before = self.before.get(place);
        if before.is_some_and(|before| !matches!(before.content, Content::File(_))) {
            return None;
        }
        let mode = before.map_or(written.mode, |before| before.mode & !SET_ID);
        let there = look(place, None);
        let owner = before.or(there.as_ref()).map(|item| item.owner)?;
        let content = Content::File(Some(written.bytes.clone()));
        let item = Item::told(mode, owner, 1, content);
        let is_kept = written.bytes.len() as u64 <= FILE_BYTES_MAX;
        let item = if is_kept { item } else { item.without_content() };
        // Of what is there also its time is known.
        Some(there.filter(|there| item.is_same(there)).unwrap_or(item))
    }
}
