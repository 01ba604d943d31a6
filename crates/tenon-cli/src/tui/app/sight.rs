//! What a person has before their eyes: no question is answered that was not on the screen.

use std::time::Instant;

use super::App;
use crate::tui::guard::Writing;

impl App {
    /// Takes in that what was drawn is on the screen, written out by `now`.
    pub(crate) fn shown(&mut self, now: Instant) {
        let writing = Writing::at(now, self.wrote);
        if let Some((approval, _)) = &mut self.approval {
            approval.shown(now, writing);
        }
        if let Some(conflict) = &mut self.conflict {
            conflict.shown(now, writing);
        }
        if let Some(picker) = &mut self.picker {
            picker.shown(now);
        }
    }

    /// Whether something is being written, or searched for in what was written earlier.
    pub(crate) fn has_draft(&self) -> bool {
        !self.composer.is_empty() || self.composer.search().is_some()
    }

    /// Takes in that something else has the screen: keys are for that, and answer nothing here.
    pub(crate) fn hidden(&mut self) {
        if let Some((approval, _)) = &mut self.approval {
            approval.hidden();
        }
        if let Some(conflict) = &mut self.conflict {
            conflict.hidden();
        }
        if let Some(picker) = &mut self.picker {
            picker.hidden();
        }
    }
}
