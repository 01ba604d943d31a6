//! What the model has seen of which file, so that a change made by somebody else is noticed.
//!
//! The key is the place a path leads to, not the path, so that two ways to one file are one entry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{ContentHash, Workspace};

/// One entry of what was seen: the path as shown, and the content's hash.
pub type Seen = (String, ContentHash);

#[derive(Debug, Default)]
pub(super) struct SeenTable(Mutex<BTreeMap<(usize, PathBuf), ContentHash>>);

impl SeenTable {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(usize, PathBuf), ContentHash>> {
        // Nothing that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspace {
    /// Notes that the model has seen the file at `path` with this content. A path that leads
    /// nowhere is ignored.
    pub fn note_seen(&self, path: &str, hash: ContentHash) {
        if let Ok(found) = self.resolve(path) {
            self.shared.seen.lock().insert((found.root, found.beneath), hash);
        }
    }

    /// Returns the content that the model saw last at `path`.
    #[must_use]
    pub fn seen(&self, path: &str) -> Option<ContentHash> {
        let found = self.resolve(path).ok()?;
        self.shared.seen.lock().get(&(found.root, found.beneath)).copied()
    }

    /// Returns everything that was seen, by path, for the session's log.
    #[must_use]
    pub fn seen_all(&self) -> Vec<Seen> {
        let seen = self.shared.seen.lock();
        let entries = seen.iter().map(|((root, beneath), hash)| {
            (self.shown(*root, Path::new(beneath)).to_string_lossy().into_owned(), *hash)
        });
        entries.collect()
    }

    /// Takes what a session had seen in the place of what is known.
    pub fn restore_seen(&self, seen: impl IntoIterator<Item = Seen>) {
        self.shared.seen.lock().clear();
        for (path, hash) in seen {
            self.note_seen(&path, hash);
        }
    }
}
