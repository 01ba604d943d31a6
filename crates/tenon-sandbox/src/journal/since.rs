//! What somebody changed since a call of which no call's list speaks: found by its times alone. What an undo
//! or a redo did is none of theirs, what a later call did that stands is.

use std::collections::{BTreeSet, HashSet};
use std::time::UNIX_EPOCH;

use super::conflicts::Left;
use super::node::{Moment, Node};
use super::record::{Image, Place, State};
use super::walk::{Deeper, walk};
use super::{CheckpointId, Journal, JournalError};

/// Files of one repository or folder that are looked at, some microseconds each.
const LOOKED_AT_MAX: usize = 100_000;

/// What an undo has to go by.
pub(super) struct Undoing<'a> {
    pub(super) id: CheckpointId,
    /// What is left to whoever changed it.
    pub(super) left: &'a [Left],
    /// The log of the undo so far.
    pub(super) own: &'a Image,
    /// Repositories whose objects stay for what was undone before.
    pub(super) known: &'a BTreeSet<Place>,
}

/// When an undo worked, and on what.
struct Span {
    from: Moment,
    until: Moment,
    places: HashSet<Place>,
}

impl Journal {
    /// Returns the files beneath `top` that `is_wanted` names and somebody changed since the call, or moved there with
    /// their folder, but for what the undo puts back; `None` where there are too many to look at, or one cannot be looked at.
    pub(super) fn theirs_beneath(
        &self,
        top: &Place,
        image: &Image,
        undoing: &Undoing<'_>,
        is_wanted: impl Fn(&Place) -> bool,
    ) -> Result<Option<Vec<Place>>, JournalError> {
        let Some(over) = self.over(undoing.id, image)? else { return Ok(Some(Vec::new())) };
        let put_back: HashSet<&Place> =
            image.end.iter().flat_map(|end| &end.after).map(|(place, _)| place).collect();
        // Each with what it is known by.
        let mut later: Vec<(Place, Place, Vec<Moment>)> = Vec::new();
        let mut came_with: Option<(Place, Vec<Moment>)> = None;
        let mut looked_at = 0;
        let looked = walk(&self.store, top, &mut |place, node| {
            looked_at += 1;
            if looked_at > LOOKED_AT_MAX || !is_wanted(place) {
                return Deeper::No;
            }
            let times = times_since(node, over);
            if node.is_folder() {
                came_with = came_with.take().filter(|(folder, _)| folder.is_around(place));
                // What is made or removed in one changes both its times, a rename of it this one alone.
                let has_come = !times.is_empty() && node.modified < over;
                if has_come && came_with.is_none() && !put_back.contains(place) {
                    came_with = Some((place.clone(), times));
                }
            } else if !put_back.contains(place) {
                match &came_with {
                    Some((folder, came)) if times.is_empty() => {
                        later.push((place.clone(), folder.clone(), came.clone()));
                    }
                    _ if times.is_empty() => {}
                    _ => later.push((place.clone(), place.clone(), times)),
                }
            }
            Deeper::Yes
        });
        if looked.is_err() || looked_at > LOOKED_AT_MAX {
            return Ok(None);
        }
        if later.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let mut spans = self.undos_since(undoing.id)?;
        let from = Moment { seconds: seconds_of(undoing.own.header.started), nanoseconds: 0 };
        let until = Moment { seconds: i64::MAX, nanoseconds: 0 };
        spans.push(Span { from, until, places: places_of(undoing.own) });
        later.retain(|(_, known_by, times)| {
            !times.iter().all(|time| spans.iter().any(|span| span.has(known_by, *time)))
        });
        Ok(Some(later.into_iter().map(|(place, ..)| place).collect()))
    }

    /// When a call was over; `None` where it has no end, and so nothing to go by.
    pub(super) fn over(
        &self,
        id: CheckpointId,
        image: &Image,
    ) -> Result<Option<Moment>, JournalError> {
        if image.over.is_some() {
            return Ok(image.over);
        }
        let looked = match image.end.as_ref().map(|end| end.interrupted) {
            None => Ok(None),
            // The end came when somebody asked.
            Some(true) => self.store.look_at_log(id).map(|log| Some(log.modified)),
            Some(false) => self.store.ended(id),
        };
        looked.map_err(Self::unknown(id))
    }

    /// Returns what undos and redos did after `id`.
    fn undos_since(&self, id: CheckpointId) -> Result<Vec<Span>, JournalError> {
        let mut spans = Vec::new();
        for info in self.checkpoints_after(id)?.into_iter().filter(|info| info.is_of_undo()) {
            // What has no end is taken back before the next undo.
            let Some(until) = self.store.ended(info.id).map_err(Self::unknown(info.id))? else {
                continue;
            };
            let Ok(image) = self.image(info.id) else { continue };
            let started = info.started.duration_since(UNIX_EPOCH).unwrap_or_default();
            let from = Moment { seconds: seconds_of(started.as_secs()), nanoseconds: 0 };
            spans.push(Span { from, until, places: places_of(&image) });
        }
        Ok(spans)
    }
}

impl Span {
    fn has(&self, place: &Place, time: Moment) -> bool {
        self.from <= time && time <= self.until && self.places.contains(place)
    }
}

/// The times of a node that are not from before: a file that came back by a rename keeps when it was written.
pub(super) fn times_since(node: &Node, over: Moment) -> Vec<Moment> {
    [node.changed, node.modified].into_iter().filter(|time| *time >= over).collect()
}

/// All that a log touched.
fn places_of(image: &Image) -> HashSet<Place> {
    let nodes = image.nodes.values();
    let nodes = nodes.flat_map(|old| old.moved.iter().chain(std::iter::once(&old.place))).cloned();
    let names = image.entries.iter().filter_map(|(folder, names)| {
        let old = image.nodes.get(folder)?;
        Some(names.keys().map(|name| old.place.join(name)))
    });
    let after = image.end.iter().flat_map(|end| &end.after);
    let after = after.filter(|(_, state)| *state != State::Absent).map(|(place, _)| place.clone());
    nodes.chain(names.flatten()).chain(after).collect()
}

fn seconds_of(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}
