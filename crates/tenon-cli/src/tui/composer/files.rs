//! The workspace's files for completion, listed in the background by the workspace's own walk,
//! which leaves out what `.gitignore` names and follows no links.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::Builder,
    time::{Duration, Instant},
};

use tenon_sandbox::{EntryKind, WalkOptions, Workspace};

/// The most files that are offered: matching more would be felt with each key.
const FILES_MAX: usize = 200_000;
/// How long a list is good: files come and go while a model works.
const FRESH: Duration = Duration::from_secs(5);

/// The list, and who is told when it is there.
pub(crate) struct Files {
    workspace: Workspace,
    listed: Arc<Mutex<Arc<Vec<String>>>>,
    listing: Arc<AtomicBool>,
    since: Option<Instant>,
    done: Arc<dyn Fn() + Send + Sync>,
}

impl Files {
    /// Returns an empty list; `done` is called from another thread when it was filled.
    pub(crate) fn new(workspace: Workspace, done: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (listed, listing) = (Arc::default(), Arc::default());
        Self { workspace, listed, listing, since: None, done }
    }

    /// Returns the files known now, and begins to list them anew if that was long ago.
    pub(crate) fn list(&mut self, now: Instant) -> Arc<Vec<String>> {
        let is_stale = self.since.is_none_or(|since| now.duration_since(since) > FRESH);
        if is_stale && !self.listing.swap(true, Ordering::SeqCst) {
            self.since = Some(now);
            let (workspace, done) = (self.workspace.clone(), Arc::clone(&self.done));
            let (listed, listing) = (Arc::clone(&self.listed), Arc::clone(&self.listing));
            let list = move || {
                let files = Arc::new(walk(&workspace));
                *listed.lock().unwrap_or_else(PoisonError::into_inner) = files;
                listing.store(false, Ordering::SeqCst);
                done();
            };
            // Without room for a thread nothing is completed, and nothing else is lost.
            if Builder::new().spawn(list).is_err() {
                self.listing.store(false, Ordering::SeqCst);
            }
        }
        self.known()
    }

    /// Returns the files known now.
    pub(crate) fn known(&self) -> Arc<Vec<String>> {
        Arc::clone(&self.listed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the files and folders beneath the root; a folder has a slash behind.
fn walk(workspace: &Workspace) -> Vec<String> {
    let options = WalkOptions { entries_max: FILES_MAX, ..WalkOptions::default() };
    let Ok(walk) = workspace.walk(".", options) else { return Vec::new() };
    walk.flatten()
        .filter_map(|entry| {
            // A name that is not UTF-8 cannot be typed into a prompt.
            let path = entry.path.to_str()?;
            match entry.kind {
                EntryKind::Directory => Some(format!("{path}/")),
                EntryKind::File | EntryKind::Link => Some(path.to_owned()),
                EntryKind::Other => None,
            }
        })
        .filter(|path| path != "./")
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests prepare files")]
    fn ignored_files_are_left_out_and_the_list_comes_from_another_thread() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src")).unwrap();
        std::fs::create_dir_all(folder.path().join("target")).unwrap();
        for (path, text) in
            [(".gitignore", "target\n"), ("src/main.rs", ""), ("target/out", ""), ("说明.md", "")]
        {
            std::fs::write(folder.path().join(path), text).unwrap();
        }
        let (sender, receiver) = mpsc::channel();
        let sender = Mutex::new(sender);
        let workspace = Workspace::open(folder.path()).unwrap();
        let done = Arc::new(move || sender.lock().unwrap().send(()).unwrap());
        let mut files = Files::new(workspace, done);
        let now = Instant::now();
        files.list(now);
        receiver.recv().unwrap();
        let list = files.list(now);
        assert!(list.contains(&"src/main.rs".to_owned()) && list.contains(&"src/".to_owned()));
        assert!(list.contains(&"说明.md".to_owned()), "{list:?}");
        assert!(!list.iter().any(|path| path.starts_with("target")), "{list:?}");
    }
}
