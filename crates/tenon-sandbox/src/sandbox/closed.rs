//! What is closed to commands stays so as long as a session lasts.
//!
//! A command may take a link away, or exchange it, that leads to a place of secrets: what it led to would be a file
//! of the workspace like any other.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::missing::Missing;

/// How many places may come to those that were closed at first. Each is a mount for each command, and a person who
/// moves all keys of a home to other places comes to a tenth of it.
const LATER_MAX: usize = 1_000;

/// What was found closed since the session began, where links led.
#[derive(Debug, Clone, Default)]
pub(super) struct Closed {
    places: BTreeSet<PathBuf>,
    /// None before the first were taken in.
    places_max: Option<usize>,
}

impl Closed {
    /// Takes in what is closed now.
    ///
    /// # Errors
    /// If there would be too many: what is found no more would be open.
    pub(super) fn take_in<'a>(
        &mut self,
        found: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(), Missing> {
        let new: BTreeSet<&PathBuf> =
            found.into_iter().filter(|place| !self.places.contains(*place)).collect();
        let count = self.places.len() + new.len();
        if count > *self.places_max.get_or_insert(count + LATER_MAX) {
            return Err(Missing::ClosedPlaces);
        }
        self.places.extend(new.into_iter().cloned());
        Ok(())
    }

    /// Returns what was closed, and these.
    pub(super) fn with(&self, places: impl IntoIterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
        self.places.iter().cloned().chain(places).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_in_up_to_a_limit_and_those_that_are_known_always() {
        let places = |range: std::ops::Range<usize>| -> Vec<PathBuf> {
            range.map(|number| PathBuf::from(format!("/home/ada/{number}"))).collect()
        };
        let mut closed = Closed::default();
        closed.take_in(&places(0..2_000)).unwrap();
        closed.take_in(&places(1_000..2_000 + LATER_MAX)).unwrap();
        let all = closed.with([]);
        assert_eq!(closed.take_in(&places(5_000..5_001)), Err(Missing::ClosedPlaces));
        closed.take_in(&places(0..3_000)).unwrap();
        assert_eq!((all.len(), closed.with([])), (3_000, all));
    }
}
