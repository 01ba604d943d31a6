//! Which files the model has come to know since that was logged last, so that a resumed session
//! notices what somebody else changed meanwhile.
//!
//! Logged behind the results that showed them: a session that is killed between the two has the
//! model read a file once more, and never overwrites what it did not see.

use std::{collections::BTreeMap, sync::Mutex, sync::PoisonError};

use tenon_sandbox::{Seen, Workspace};

use crate::session_note::SessionNote;

/// What was logged.
#[derive(Debug, Default)]
pub(crate) struct SeenNews {
    logged: Mutex<BTreeMap<String, String>>,
}

impl SeenNews {
    /// Returns what an earlier process logged.
    pub(crate) fn after(seen: &BTreeMap<String, String>) -> Self {
        Self { logged: Mutex::new(seen.clone()) }
    }

    /// Returns the event that says what `workspace` knows and the log does not.
    pub(crate) fn take(&self, workspace: &Workspace) -> Option<SessionNote> {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let news = workspace.take_seen_news();
        let now = news.into_iter().map(|(path, hash)| (path, hash.to_string()));
        let files: BTreeMap<String, String> =
            now.filter(|(path, hash)| logged.get(path) != Some(hash)).collect();
        logged.extend(files.clone());
        (!files.is_empty()).then_some(SessionNote::FilesSeen { files })
    }
}

/// Returns what was logged as a workspace takes it. What is no hash is left out.
pub(super) fn restored(files: &BTreeMap<String, String>) -> Vec<Seen> {
    files.iter().filter_map(|(path, hash)| Some((path.clone(), hash.parse().ok()?))).collect()
}
