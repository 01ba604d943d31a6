//! The door through which everything is printed that is no event of a session: known secrets are
//! shown by name there as they are in the session.
//!
//! One for the whole program, because what is printed comes from everywhere: the journal, the disk,
//! names that people gave, errors. Events pass the masking of their agent and are not held up here.

use std::{
    collections::HashSet,
    path::Path,
    sync::{PoisonError, RwLock},
};

use tenon_agent::{Masking, Record, Session, SessionSummary};
use tenon_model::{MaskStream, visible};
use tenon_sandbox::Workspace;

use crate::{
    render::{Meaning, Style},
    texts::Text,
};

/// Folders whose files are read for a list of sessions, some tens of microseconds for each.
const FOLDERS_MAX: usize = 500;

/// What is known; nothing before the configuration is read, or if it says so.
static KNOWN: RwLock<Option<Masking>> = RwLock::new(None);

/// Masks what `masking` knows from now on.
pub(crate) fn know(masking: &Masking) {
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = Some(masking.clone());
}

/// Reads the values of everything beneath the folders of `workspace`.
pub(crate) fn read_all(workspace: &Workspace) {
    if let Some(masking) = known() {
        masking.read_all(workspace);
    }
}

/// Reads the values of each of `sessions`' folders, which may be any that there are: of files at their
/// tops, because a list must not go through all of them.
pub(crate) fn read_of<'a>(sessions: impl IntoIterator<Item = &'a SessionSummary>) {
    let Some(masking) = known() else { return };
    let mut folders = HashSet::new();
    let folders = sessions
        .into_iter()
        .map(|session| session.workspace.as_path())
        .filter(|folder| folder.is_absolute() && folders.insert(*folder))
        .take(FOLDERS_MAX);
    // What is gone or cannot be read has nothing to mask.
    masking.open_all(&mut folders.filter_map(|folder| Workspace::open(folder).ok()));
}

/// Reads the values of everything beneath the folders that `session` works in.
pub(crate) fn read_all_of(session: &Session) {
    let folders = session.worked_with().map(|(folders, _)| folders).unwrap_or_default();
    for folder in folders {
        if let Ok(workspace) = Workspace::open(folder) {
            read_all(&workspace);
        }
    }
}

/// Takes in the values of a file of variables that held `text`.
pub(crate) fn learn(path: &Path, text: &str) {
    if let Some(masking) = known() {
        masking.learn(path, text);
    }
}

/// Returns `text` as it may be shown.
pub(crate) fn masked(text: impl Into<String>) -> String {
    let text = text.into();
    match known() {
        Some(masking) => masking.mask(text),
        None => text,
    }
}

/// Returns `text` as a question shows it, or a list of rules: what the workspace's files hold is no secret
/// to the person who is asked, and a model may have written it there.
pub(crate) fn asked(text: impl Into<String>) -> String {
    let text = text.into();
    match known() {
        Some(masking) => masking.asked(text),
        None => text,
    }
}

/// Returns what is said below changed lines whose values are `masked`, if such a value may be a command.
pub(crate) fn perhaps_commands(masked: &str, style: &Style) -> String {
    let said = |label: String| {
        let said = Text::MaskedPerhapsCommand.say(style.language, &[("label", &visible(&label))]);
        style.paint(Meaning::Warning, &said) + "\n"
    };
    masking().perhaps_commands(masked).into_iter().map(said).collect()
}

/// Returns the events of a log as they may be shown. A text must be masked before it is drawn: colours
/// and markup part what a value is known by.
pub(crate) fn records<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Record> {
    let masking = masking();
    records.into_iter().map(|record| masking.record(record.clone())).collect()
}

/// Returns what masks what is printed.
pub(crate) fn masking() -> Masking {
    known().unwrap_or_else(Masking::off)
}

/// Returns what masks a text that comes in pieces, by what is known now.
pub(crate) fn stream() -> MaskStream {
    masking().stream()
}

fn known() -> Option<Masking> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}
