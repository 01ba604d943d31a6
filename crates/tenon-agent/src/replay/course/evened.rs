//! The course as what compares contents: a file in which a path of here stands is as recorded if it is so with the
//! path of there.

use tenon_sandbox::ContentHash;

use super::{Course, State};
use crate::event::CallChanges;

/// The longest file in which paths are looked for: what programs write them to is short.
const EVENED_BYTES_MAX: u64 = 4 << 20;

impl Course {
    /// Returns what a call changed by the names of there, with files as `recorded` that are so but for paths in them.
    pub(super) fn evened(
        &self,
        state: &State,
        changes: &CallChanges,
        recorded: Option<&CallChanges>,
    ) -> CallChanges {
        let mut evened = changes.clone();
        for file in &mut evened.files {
            let path = state.places.there(&file.path);
            let here = std::mem::replace(&mut file.path, path);
            file.from = file.from.as_ref().map(|from| state.places.there(from));
            let recorded =
                recorded.and_then(|it| it.files.iter().find(|known| known.path == file.path));
            let hashes = file.new_hash.as_ref().zip(recorded.and_then(|it| it.new_hash.as_ref()));
            let Some((hash, recorded)) = hashes.filter(|(hash, recorded)| hash != recorded) else {
                continue;
            };
            if let Some(bytes) = self.evened_content(state, &here, (hash, recorded)) {
                (file.new_hash, file.new_bytes) = (Some(recorded.clone()), Some(bytes));
            }
        }
        evened
    }

    /// Returns the length of the file at `path` as it would be there, if that has the hash that was recorded and
    /// the file still the first one.
    pub(super) fn evened_content(
        &self,
        state: &State,
        path: &str,
        (hash, recorded): (&str, &str),
    ) -> Option<u64> {
        let is_of = |hash: &str, bytes: &[u8]| ContentHash::of(bytes).to_string() == hash;
        let bytes = self.workspace.read(path, EVENED_BYTES_MAX).ok()?;
        let text = std::str::from_utf8(&bytes).ok().filter(|_| is_of(hash, &bytes))?;
        let there = state.places.there(text);
        is_of(recorded, there.as_bytes()).then_some(there.len() as u64)
    }
}
