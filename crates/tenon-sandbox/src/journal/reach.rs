//! Folders that a checkpoint counts from and that are none of this run: `--add-dir` holds for one run alone.
//!
//! They are opened where the checkpoint is undone or shown, through the same checks as the folders of the
//! run. Where others may have written the log, only those are that the session is known to have worked in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::record::Image;
use super::store::{Further, Store};
use super::{CheckpointId, Journal, JournalError};
use crate::workspace::{FileError, Workspace};

/// What may be opened besides the folders of a run.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    workspace: Workspace,
    /// Folders that the user gave to runs of the session.
    known: Vec<PathBuf>,
    /// Whether only this program can have written the logs.
    trusts_logs: bool,
}

impl Reach {
    pub(super) fn of(workspace: &Workspace, store: &Store) -> Self {
        let trusts_logs = store.has_own_logs();
        Self { workspace: workspace.clone(), known: Vec::new(), trusts_logs }
    }

    /// Makes sure that a folder may be opened.
    fn check(&self, folder: &Path) -> Result<(), FileError> {
        let path = || folder.to_string_lossy().into_owned();
        if !self.trusts_logs && !self.known.iter().any(|known| known == folder) {
            return Err(FileError::InvalidPath {
                path: path(),
                reason: "is none of the session's folders",
            });
        }
        let opened = self.workspace.clone().with_root(folder)?;
        match opened.roots().iter().any(|root| root == folder) {
            true => Ok(()),
            false => Err(FileError::InvalidPath { path: path(), reason: "leads elsewhere by now" }),
        }
    }
}

impl Journal {
    /// Has `folders`, absolute and without symbolic links, opened where a checkpoint changed something in
    /// them, though they are none of this workspace: those that the user gave to earlier runs of the session.
    /// Any others that a checkpoint names are opened only where no command can have written its log.
    ///
    /// ```
    /// use tenon_sandbox::{Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// let journal = journal.knowing(&["/lib/of/an/earlier/run".into()]);
    /// assert!(journal.unopened_folders("session")?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn knowing(mut self, folders: &[PathBuf]) -> Self {
        if let Some(reach) = &mut self.reach
            && !folders.is_empty()
        {
            Arc::make_mut(reach).known.extend_from_slice(folders);
            self.end_comparisons();
        }
        self
    }

    /// Returns the folders that calls of a session changed something in and that cannot be opened, with the
    /// reason.
    ///
    /// # Errors
    /// [`JournalError::Io`] when the store cannot be read.
    pub fn unopened_folders(
        &self,
        session: &str,
    ) -> Result<Vec<(PathBuf, FileError)>, JournalError> {
        let ids = self.store.ids().map_err(|errno| JournalError::io(errno, "the undo store"))?;
        let own = self.roots();
        let mut unopened: Vec<(PathBuf, FileError)> = Vec::new();
        for id in ids {
            let header = self.store.read_header(id).ok();
            let is_elsewhere = header.is_some_and(|header| {
                header.session == session && !header.roots.iter().all(|root| own.contains(root))
            });
            // One that cannot be read is in no list.
            let image = is_elsewhere.then(|| self.reaching(&[id]).image(id).ok()).flatten();
            for folder in image.into_iter().flat_map(|image| image.unopened) {
                if !unopened.iter().any(|(known, _)| *known == folder) {
                    let why = self.why_unopened(&folder);
                    unopened.push((folder, why));
                }
            }
        }
        Ok(unopened)
    }

    /// Returns this journal with the folders open that these checkpoints count from.
    pub(super) fn reaching(&self, ids: &[CheckpointId]) -> Self {
        let headers = ids.iter().filter_map(|id| self.store.read_header(*id).ok());
        let roots: Vec<Vec<PathBuf>> = headers.map(|header| header.roots).collect();
        self.reaching_roots(&roots)
    }

    /// Returns this journal with these folders open, each list those of one checkpoint, as far as they can be.
    pub(super) fn reaching_roots(&self, lists: &[Vec<PathBuf>]) -> Self {
        let Some(reach) = &self.reach else { return self.clone() };
        let own = self.roots();
        let mut further: Vec<Further> = Vec::new();
        for beside in lists {
            for root in beside.iter().filter(|root| !own.contains(root)) {
                let is_known = further.iter().any(|known| known.root == *root);
                if !is_known && reach.check(root).is_ok() {
                    further.push(Further { root: root.clone(), beside: beside.clone() });
                }
            }
        }
        if further.is_empty() {
            return self.clone();
        }
        match self.store.with_further(&further) {
            Ok(store) => {
                let (reach, patience) = (self.reach.clone(), self.patience.clone());
                Self { reach, patience, ..Self::of(Arc::new(store)) }
            }
            // What is changed there is then found to be out of reach.
            Err(_) => self.clone(),
        }
    }

    /// Reads the log of a checkpoint that is to be undone, or looked at: all folders that it changed
    /// something in must be open.
    pub(super) fn whole_image(&self, id: CheckpointId) -> Result<Image, JournalError> {
        let image = self.image(id)?;
        match image.unopened.first() {
            None => Ok(image),
            Some(folder) => {
                Err(JournalError::Unopened { id, source: Box::new(self.why_unopened(folder)) })
            }
        }
    }

    fn why_unopened(&self, folder: &Path) -> FileError {
        let checked = self.reach.as_ref().map_or(Ok(()), |reach| reach.check(folder));
        checked.err().unwrap_or_else(|| FileError::InvalidPath {
            path: folder.to_string_lossy().into_owned(),
            reason: "has no place where something of it can be kept",
        })
    }
}

impl Store {
    /// Whether no command can have written the logs: they are in the program's folder for state, and that is
    /// in no root.
    fn has_own_logs(&self) -> bool {
        let state = &self.options.state_folder;
        let is_in_root = self.roots.iter().any(|root| state.starts_with(&root.path));
        !is_in_root && self.bases.first().is_some_and(|base| base.top == state.join("undo"))
    }
}
