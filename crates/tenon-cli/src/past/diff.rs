//! The changed lines of text files: of one call, and of everything that a session changed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use tenon_agent::{Masking, diff_hunks};
use tenon_sandbox::{
    Change, ChangeKind, EntryKind, FileError, JournalError, WalkOptions, Workspace,
};

use super::{Call, Past, shown};
use crate::{
    error::CliError,
    masked::{self, masked},
    render::{self, Style},
    texts::Text,
};

/// Longer files are not compared: nobody reads such a diff.
const DIFF_BYTES_MAX: u64 = 1 << 20;

/// Files of new folders that are compared: what is unpacked or installed is no change to be read.
const NEW_FILES_MAX: usize = 500;

/// Files by where they are now, with where they were if that is elsewhere.
type Touched = BTreeMap<PathBuf, (Option<PathBuf>, Before)>;

/// A file as it was before the session.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Before {
    Missing,
    Text(String),
    /// Too long, no text, or not kept.
    Unknown,
}

impl Past {
    /// Returns the changed lines of a call's text files.
    pub(crate) fn diff_of(&self, call: &Call, style: &Style) -> String {
        let mut said = String::new();
        for change in files_of(call) {
            let Some(before) = source(change) else { continue };
            let content = |found| String::from_utf8(content(found)?).ok();
            let old = match before {
                None => Some(String::new()),
                Some(path) => content(self.journal.content_before(call.id, path, DIFF_BYTES_MAX)),
            };
            let new = match change.kind {
                ChangeKind::Deleted => Some(String::new()),
                _ => content(self.journal.content_after(call.id, &change.path, DIFF_BYTES_MAX)),
            };
            // What is too long, not kept any more or no text is listed above and has no lines.
            let (Some(old), Some(new)) = (old, new) else { continue };
            let hunks = diff_hunks(&old, &new);
            if !hunks.is_empty() {
                said.push_str(&painted(&change.path.to_string_lossy(), &hunks, style));
            }
        }
        said
    }

    /// Takes in the secrets of files of variables as they were around these calls: what is not in such
    /// a file any more is a secret still.
    pub(super) fn learn_values(&self, calls: &[Call]) {
        for call in calls {
            for change in files_of(call) {
                let is_wanted = |path: &&Path| Masking::is_file_of_variables(path);
                let text = |found| String::from_utf8(content(found)?).ok();
                let before = [source(change).flatten(), moved_from(change)];
                for path in before.into_iter().flatten().filter(is_wanted) {
                    let found = self.journal.content_before(call.id, path, DIFF_BYTES_MAX);
                    masked::learn(path, &text(found).unwrap_or_default());
                }
                if let Some(path) = Some(change.path.as_path()).filter(is_wanted) {
                    let found = self.journal.content_after(call.id, path, DIFF_BYTES_MAX);
                    masked::learn(path, &text(found).unwrap_or_default());
                }
            }
        }
    }

    /// Returns what each call changed with its changed lines.
    pub(crate) fn all_diffs(&self, style: &Style) -> Result<String, CliError> {
        let mut said = self.notes_here(style.language)?;
        for call in self.calls()? {
            said.push_str(&super::line(&call, style.language));
            said.push_str(&super::files(&call.changes, style.language));
            said.push_str(&self.diff_of(&call, style));
            said.push('\n');
        }
        Ok(said)
    }

    /// Returns how the files that calls of the session changed, and that stand, differ now from
    /// before it, a person's own changes to them since included; empty if they do not.
    pub(crate) fn whole_diff(
        &self,
        workspace: &Workspace,
        style: &Style,
    ) -> Result<String, CliError> {
        let workspace = &super::with_folders(workspace.clone(), &self.workspace.roots());
        let mut said = String::new();
        for (path, (was, before)) in self.touched(workspace)? {
            let now = match workspace.read(&path.to_string_lossy(), DIFF_BYTES_MAX) {
                Ok(bytes) => String::from_utf8(bytes).map_or(Before::Unknown, Before::Text),
                Err(FileError::NotFound { .. }) => Before::Missing,
                Err(_) => Before::Unknown,
            };
            let name = match was {
                Some(was) => format!("{} ← {}", path.display(), was.display()),
                None => path.display().to_string(),
            };
            said.push_str(&difference(&name, &before, &now, style));
        }
        Ok(said)
    }

    /// Returns the files that calls which stand have changed.
    fn touched(&self, workspace: &Workspace) -> Result<Touched, CliError> {
        let mut touched = Touched::new();
        let mut new_folders: Vec<PathBuf> = Vec::new();
        for call in self.calls()?.iter().filter(|call| call.stands()) {
            new_folders.extend(call.changes.files.iter().filter(is_new_folder).map(path_of));
            for change in files_of(call) {
                let Some(from) = source(change) else { continue };
                if let Some(gone) = moved_from(change).filter(|gone| from != Some(*gone)) {
                    let before = (None, self.before(call, gone));
                    touched.entry(gone.to_path_buf()).or_insert(before);
                }
                let moved = from.and_then(|from| touched.remove(from));
                let first = moved.unwrap_or_else(|| match from {
                    None => (None, Before::Missing),
                    // The list names a new folder, not what is in it.
                    Some(from) if new_folders.iter().any(|folder| from.starts_with(folder)) => {
                        (None, Before::Missing)
                    }
                    Some(from) => {
                        let was = (*from != change.path).then(|| from.to_path_buf());
                        (was, self.before(call, from))
                    }
                });
                touched.entry(change.path.clone()).or_insert(first);
            }
        }
        for file in new_folders.iter().flat_map(|folder| files_in(workspace, folder)) {
            touched.entry(file).or_insert((None, Before::Missing));
        }
        Ok(touched)
    }

    fn before(&self, call: &Call, path: &Path) -> Before {
        let found = content(self.journal.content_before(call.id, path, DIFF_BYTES_MAX));
        found.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Before::Unknown, Before::Text)
    }
}

/// Returns the files whose content may be another.
fn files_of(call: &Call) -> impl Iterator<Item = &Change> {
    call.changes.files.iter().filter(|change| change.entry == EntryKind::File)
}

fn is_new_folder(change: &&Change) -> bool {
    change.entry == EntryKind::Directory && change.kind == ChangeKind::Created
}

fn path_of(change: &Change) -> PathBuf {
    change.path.clone()
}

/// Returns the files beneath a folder as it is now, the first of many.
fn files_in(workspace: &Workspace, folder: &Path) -> Vec<PathBuf> {
    let options = WalkOptions::default();
    // A folder that is gone again has none.
    let walk = workspace.walk(&folder.to_string_lossy(), options).into_iter().flatten();
    let files = walk.filter_map(Result::ok).filter(|entry| entry.kind == EntryKind::File);
    files.take(NEW_FILES_MAX).map(|entry| entry.path).collect()
}

/// Returns where the file was before a change, if it was anywhere; nothing if its content is the
/// same. Where another file was, that is what changed.
fn source(change: &Change) -> Option<Option<&Path>> {
    match &change.kind {
        ChangeKind::Edited | ChangeKind::Deleted => Some(Some(&change.path)),
        ChangeKind::Created => Some(None),
        ChangeKind::Renamed { .. } if is_over_file(change) => Some(Some(&change.path)),
        ChangeKind::Renamed { from, .. } => Some(Some(from)),
        ChangeKind::Mode | ChangeKind::Times => None,
    }
}

fn is_over_file(change: &Change) -> bool {
    change.over.is_some_and(|over| over.entry == EntryKind::File)
}

fn moved_from(change: &Change) -> Option<&Path> {
    match &change.kind {
        ChangeKind::Renamed { from, .. } => Some(from),
        _ => None,
    }
}

fn content(found: Result<Option<Vec<u8>>, JournalError>) -> Option<Vec<u8>> {
    found.ok().flatten()
}

/// Returns changed lines as they are shown. Masked before they are painted: colours and line breaks
/// would go through a value.
fn painted(name: &str, hunks: &str, style: &Style) -> String {
    let hunks = masked(hunks);
    render::diff(&shown(name), &hunks, style) + &masked::perhaps_commands(&hunks, style)
}

fn difference(name: &str, before: &Before, now: &Before, style: &Style) -> String {
    let text = |side: &Before| match side {
        Before::Missing => Some(String::new()),
        Before::Text(text) => Some(text.clone()),
        Before::Unknown => None,
    };
    match (text(before), text(now)) {
        (Some(old), Some(new)) if old == new => String::new(),
        (Some(old), Some(new)) => {
            format!("{}\n", painted(name, &diff_hunks(&old, &new), style))
        }
        _ => {
            let said = Text::DiffUnreadable.template(style.language);
            format!("{}: {said}\n\n", shown(name))
        }
    }
}
