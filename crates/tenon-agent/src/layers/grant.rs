//! What one approved call may open besides the workspace: the place that was shown in the question,
//! held by a handle from before it, and nothing else.

use std::{borrow::Cow, path::PathBuf};

use tenon_sandbox::{Access, ContentHash, Expected, FileError, Outside, Workspace};

use crate::policy::{Action, Verdict};

/// The longest protected file that is written, as long as `edit_file` takes any.
const BYTES_MAX: u64 = 16 << 20;

/// What a call gets once it is approved.
pub(super) enum Grant {
    /// Nothing besides.
    Nothing,
    /// A file of the workspace that links lead to, by its own path.
    Linked(String),
    /// One protected place in the workspace may be written, as long as what is there is what was there
    /// when the question was made: these bytes, or no file.
    Protected(PathBuf, Option<Vec<u8>>),
    /// A place outside.
    Outside(Outside, Access),
    /// A place outside that nobody may open, as the model wrote it, or one in the workspace.
    Closed { written: String, within: bool },
}

impl Grant {
    /// Returns what a call with `action` needs.
    ///
    /// # Errors
    /// One sentence for the model: the path leads elsewhere than when the action was made, or to what cannot
    /// be read, such as a folder.
    pub(super) fn of(action: &Action, workspace: &Workspace) -> Result<Self, String> {
        match action {
            Action::Write { path, protected: true, .. } => match workspace.locate(path) {
                Ok(place) => {
                    let found = found(path, workspace).map_err(|error| error.to_string())?;
                    Ok(Self::Protected(place.absolute, found))
                }
                // The write itself says what is wrong with it.
                Err(_) => Ok(Self::Nothing),
            },
            Action::Write { path, written: Some(_), .. } => Ok(Self::Linked(path.clone())),
            Action::Outside(place) if place.closed.is_some() => {
                Ok(Self::Closed { written: place.written.clone(), within: place.within })
            }
            Action::Outside(place) => match workspace.outside(&place.written) {
                Ok(Some(found)) if found.absolute().to_string_lossy() == place.path => {
                    Ok(Self::Outside(found, place.access))
                }
                _ => Err(elsewhere(&place.written)),
            },
            _ => Ok(Self::Nothing),
        }
    }

    /// Returns the place as it would be opened, for the question.
    pub(super) fn subject(&self) -> Option<String> {
        match self {
            Self::Nothing | Self::Closed { .. } => None,
            Self::Linked(path) => Some(path.clone()),
            Self::Protected(place, _) => Some(place.to_string_lossy().into_owned()),
            Self::Outside(found, _) => Some(found.absolute().to_string_lossy().into_owned()),
        }
    }

    /// Returns what the file holds that a call would write which is asked about: a protected one, or one
    /// outside.
    pub(super) fn held(&self, workspace: &Workspace, verdict: Verdict) -> Option<Cow<'_, [u8]>> {
        match self {
            _ if verdict != Verdict::Ask => None,
            Self::Protected(_, found) => found.as_deref().map(Cow::Borrowed),
            Self::Outside(found, Access::Write) => {
                let workspace = workspace.clone().with_grant(found, Access::Write).ok()?;
                workspace.read(found.written(), BYTES_MAX).ok().map(Cow::Owned)
            }
            _ => None,
        }
    }

    /// Returns what the model is told of a refusal: what leaves the workspace begins as if there
    /// were nobody who could allow it.
    pub(super) fn refused(&self, reason: String) -> String {
        match self {
            Self::Outside(found, _) => escapes(found.written(), found.is_within(), &reason),
            Self::Closed { written, within } => escapes(written, *within, &reason),
            Self::Nothing | Self::Linked(_) | Self::Protected(..) => reason,
        }
    }

    /// Whether what is opened is held by a handle or compared with what was shown, whatever the path
    /// leads to by now.
    pub(super) fn holds_a_place(&self) -> bool {
        matches!(self, Self::Protected(..) | Self::Outside(..))
    }

    /// Returns the workspace of the approved call.
    ///
    /// # Errors
    /// One sentence for the model: something else is there now than what was asked about.
    pub(super) fn narrow(&self, workspace: Workspace) -> Result<Workspace, String> {
        match self {
            Self::Nothing | Self::Linked(_) => Ok(workspace),
            // Policy lets none of these through.
            Self::Closed { written, .. } => Err(elsewhere(written)),
            Self::Protected(place, found) => {
                let hash = found.as_deref().map(|bytes| Expected::Hash(ContentHash::of(bytes)));
                Ok(workspace.with_lifted(place, hash.unwrap_or(Expected::Absent)))
            }
            Self::Outside(found, access) => {
                workspace.with_grant(found, *access).map_err(|_| elsewhere(found.written()))
            }
        }
    }
}

/// Returns what is at a path; a folder is an error, as it is to the write.
fn found(path: &str, workspace: &Workspace) -> Result<Option<Vec<u8>>, FileError> {
    match workspace.read(path, BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(FileError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn escapes(written: &str, within: bool, reason: &str) -> String {
    let said = if within { "Closed" } else { "Path escapes workspace" };
    format!("{said}: {written}\n{reason}")
}

pub(super) fn elsewhere(path: &str) -> String {
    format!("{path} leads to something else than a moment ago, so nothing was done")
}
