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
    pub(super) fn after(seen: BTreeMap<String, String>) -> Self {
        Self { logged: Mutex::new(seen) }
    }

    /// Returns the event that says what `workspace` knows and the log does not. `length` returns that
    /// of a large file.
    pub(crate) fn take(
        &self,
        workspace: &Workspace,
        length: impl Fn(&str) -> Option<u64>,
    ) -> Option<SessionNote> {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut files, mut bytes) = (BTreeMap::new(), BTreeMap::new());
        for (path, hash) in workspace.take_seen_news() {
            let digits = hash.to_string();
            if logged.get(&path) != Some(&digits) {
                bytes.extend(length(&path).map(|length| (path.clone(), length)));
                files.insert(path, digits);
            }
        }
        logged.extend(files.clone());
        (!files.is_empty()).then_some(SessionNote::FilesSeen { files, bytes })
    }
}

/// Returns what was logged as a workspace takes it. What is no hash is left out.
pub(super) fn restored(files: &BTreeMap<String, String>) -> Vec<Seen> {
    files.iter().filter_map(|(path, hash)| Some((path.clone(), hash.parse().ok()?))).collect()
}
