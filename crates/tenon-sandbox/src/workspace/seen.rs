//! What the model has seen of which file, so that a change made by somebody else is noticed.
//!
//! The key is the place a path leads to, not the path, so that two ways to one file are one entry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{ContentHash, Workspace};

/// One entry of what was seen: the path as shown, and the content's hash.
pub type Seen = (String, ContentHash);

/// The root a place lies beneath, and the path from there.
type Key = (usize, PathBuf);

#[derive(Debug, Default)]
pub(super) struct SeenTable(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    files: BTreeMap<Key, ContentHash>,
    /// Those of which nobody was told yet.
    news: BTreeSet<Key>,
}

impl SeenTable {
    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspace {
    /// Notes that the model has seen the file at `path` with this content. A path that leads
    /// nowhere is ignored.
    pub fn note_seen(&self, path: &str, hash: ContentHash) {
        if let Ok(found) = self.resolve(path) {
            let mut seen = self.shared.seen.lock();
            let key = (found.root, found.beneath);
            if seen.files.insert(key.clone(), hash) != Some(hash) {
                seen.news.insert(key);
            }
        }
    }

    /// Returns the content that the model saw last at `path`.
    #[must_use]
    pub fn seen(&self, path: &str) -> Option<ContentHash> {
        let found = self.resolve(path).ok()?;
        self.shared.seen.lock().files.get(&(found.root, found.beneath)).copied()
    }

    /// Returns what was seen since the last call, by path, for the session's log. Takes as long as
    /// that is much.
    #[must_use]
    pub fn take_seen_news(&self) -> Vec<Seen> {
        let mut seen = self.shared.seen.lock();
        let news = std::mem::take(&mut seen.news);
        let known = news.into_iter().filter_map(|key| {
            let hash = *seen.files.get(&key)?;
            Some((self.shown(key.0, &key.1).to_string_lossy().into_owned(), hash))
        });
        known.collect()
    }

    /// Takes what a session had seen in the place of what is known.
    pub fn restore_seen(&self, seen: impl IntoIterator<Item = Seen>) {
        *self.shared.seen.lock() = Table::default();
        for (path, hash) in seen {
            self.note_seen(&path, hash);
        }
    }
}
