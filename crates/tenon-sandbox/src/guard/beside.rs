//! A command that begins while others run. What these may have changed is not looked at anew, but there is more to
//! look after: names that were read-only and are not for this one, and what a person linked into the roots meanwhile.

use std::path::PathBuf;

use rustix::io::Errno;

use super::Guard;

impl Guard {
    /// Does what [`Guard::begin`] says. What a new link of the person's leads to should be what it is now.
    pub(super) fn begin_beside(&mut self, frozen: &[PathBuf]) -> Result<(), Errno> {
        let found = self.own.beside(&self.roots, &self.before);
        let is_as_frozen = self.frozen.iter().all(|(path, _)| frozen.contains(path));
        if found.is_none() && is_as_frozen {
            return Ok(());
        }
        // What one of those that run may write has to be looked at.
        let turn = self.sit_down()?;
        self.frozen.retain(|(path, _)| frozen.contains(path));
        for (place, item) in found.into_iter().flatten() {
            self.before.entry(place).or_insert(item);
        }
        self.note()?;
        self.say(turn.as_ref())
    }
}
