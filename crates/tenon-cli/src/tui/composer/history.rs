//! What was typed in this session and earlier ones: Up and Down, and the search of Ctrl-R.
//!
//! The file is rustyline's, which the plain session writes too.

use std::path::PathBuf;

use rustyline::{
    Config,
    history::{FileHistory, History as _},
};

use crate::interactive::{HISTORY_LINES_MAX, create_private};

/// Prompts of before, the newest last.
#[derive(Default)]
pub(crate) struct History {
    entries: Vec<String>,
    file: Option<(FileHistory, PathBuf)>,
    /// The entry that is shown instead of the draft.
    at: Option<usize>,
    /// The draft that is shown again at the end.
    draft: String,
}

/// A search backwards through the history.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub words: String,
    /// The entry that is found.
    pub found: Option<usize>,
}

impl History {
    /// Reads the file, and returns why prompts are not kept if they are not.
    pub(crate) fn open(path: Option<PathBuf>) -> (Self, Option<String>) {
        let mut history = Self::default();
        let Some(path) = path else { return (history, None) };
        let opened = (|| {
            let config = Config::builder()
                .max_history_size(HISTORY_LINES_MAX)?
                .history_ignore_dups(true)?
                .history_ignore_space(true)
                .build();
            create_private(&path)?;
            let mut file = FileHistory::with_config(&config);
            file.load(&path)?;
            Ok::<_, rustyline::error::ReadlineError>(file)
        })();
        match opened {
            Ok(file) => {
                history.entries = file.iter().cloned().collect();
                history.file = Some((file, path));
                (history, None)
            }
            Err(error) => (history, Some(error.to_string())),
        }
    }

    /// Keeps what was sent.
    pub(crate) fn remember(&mut self, prompt: &str) {
        self.at = None;
        if self.entries.last().is_none_or(|last| last != prompt) {
            self.entries.push(prompt.to_owned());
        }
        // A history that cannot be written any more is no reason to stop working.
        if let Some((file, path)) = &mut self.file
            && file.add(prompt).unwrap_or(false)
        {
            let _ = file.append(path);
        }
    }

    /// Returns the entry before or after the one that is shown; `draft` is what is shown now.
    pub(crate) fn step(&mut self, older: bool, draft: &str) -> Option<String> {
        if self.at.is_none() {
            draft.clone_into(&mut self.draft);
        }
        let at = match (self.at, older) {
            (None, true) => self.entries.len().checked_sub(1)?,
            (None, false) => return None,
            (Some(at), true) => at.checked_sub(1)?,
            (Some(at), false) => at + 1,
        };
        let entry = self.entries.get(at);
        self.at = entry.map(|_| at);
        Some(entry.unwrap_or(&self.draft).clone())
    }

    /// Returns whether an entry is shown instead of the draft.
    pub(crate) fn is_shown(&self) -> bool {
        self.at.is_some()
    }

    /// Takes in that the draft was changed: it is no entry any more.
    pub(crate) fn leave(&mut self) {
        self.at = None;
    }

    /// Looks for `search` from the entry that is found on, or from the one before it.
    pub(crate) fn find(&self, search: &mut Search, older: bool) {
        let end = match search.found {
            Some(found) if older => found,
            Some(found) => found + 1,
            None => self.entries.len(),
        };
        let words = search.words.to_lowercase();
        let entries = self.entries.get(..end).unwrap_or_default();
        let found = entries.iter().rposition(|entry| entry.to_lowercase().contains(&words));
        search.found = found.or(search.found.filter(|_| older));
    }

    /// Returns an entry.
    pub(crate) fn entry(&self, place: usize) -> Option<&str> {
        self.entries.get(place).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(entries: &[&str]) -> History {
        let mut history = History::default();
        entries.iter().for_each(|entry| history.remember(entry));
        history
    }

    #[test]
    fn up_and_down_lead_through_the_entries_and_back_to_the_draft() {
        let mut history = history(&["one", "two", "two"]);
        assert_eq!(history.step(true, "draft").as_deref(), Some("two"));
        assert_eq!(history.step(true, "two").as_deref(), Some("one"));
        assert_eq!(history.step(true, "one"), None);
        assert_eq!(history.step(false, "one").as_deref(), Some("two"));
        assert_eq!(history.step(false, "two").as_deref(), Some("draft"));
        assert_eq!(history.step(false, "draft"), None);
    }

    #[test]
    fn a_search_finds_the_newest_first_and_then_older_ones() {
        let history = history(&["cargo test", "git log", "Cargo build"]);
        let mut search = Search { words: "cargo".into(), found: None };
        history.find(&mut search, false);
        assert_eq!(search.found, Some(2));
        history.find(&mut search, true);
        assert_eq!(search.found, Some(0));
        history.find(&mut search, true);
        assert_eq!(search.found, Some(0), "the oldest stays");
    }

    #[test]
    fn what_the_plain_session_kept_is_read_and_added_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let (mut first, warning) = History::open(Some(path.clone()));
        assert_eq!(warning, None);
        first.remember("two\nlines");
        let (mut second, _) = History::open(Some(path));
        assert_eq!(second.step(true, "").as_deref(), Some("two\nlines"));
    }
}
