//! The whole text of a result that is too long to show, in a file of its own.
//!
//! The folder (0700) and the file (0600, a name nobody can guess, never an existing one) are made
//! when there is something to write, not before.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::rand::GetRandomFlags;

use crate::filter::{FilteredText, SharedFilter};

/// A spilled text ends here, with a note: 1 GiB, so that a command that never stops printing
/// cannot fill a disk within its time limit.
pub const SPILL_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// All texts in one folder together, about: 8 GiB, so that no number of commands fills a disk. What
/// is written at the same time is not counted.
const FOLDER_BYTES_MAX: u64 = 8 * SPILL_BYTES_MAX;

const NOTE_AT_LIMIT: &str = "\n[the text goes on; this file ends at its limit]\n";

/// Where long results go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpillTarget {
    folder: PathBuf,
    bytes_max: u64,
    folder_bytes_max: u64,
    filter: Option<SharedFilter>,
}

impl SpillTarget {
    /// Returns the target for files in `folder`, which need not exist, each of at most
    /// [`SPILL_BYTES_MAX`] bytes, and all together of about eight times as many.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            bytes_max: SPILL_BYTES_MAX,
            folder_bytes_max: FOLDER_BYTES_MAX,
            filter: None,
        }
    }

    /// Lowers the limit for each file.
    #[must_use]
    pub fn with_bytes_max(self, bytes_max: u64) -> Self {
        Self { bytes_max, ..self }
    }

    /// Has everything that a command prints changed by `filter` before it is kept anywhere.
    #[must_use]
    pub(crate) fn with_filter(self, filter: Option<SharedFilter>) -> Self {
        Self { filter, ..self }
    }

    /// Begins a text of a command, if it is to be changed.
    pub(crate) fn begin_filter(&self) -> Option<Box<dyn FilteredText>> {
        self.filter.as_ref().map(SharedFilter::begin)
    }

    /// Makes a new file. What is written to it must have come through the filter, if there is one.
    ///
    /// # Errors
    /// What the operating system says.
    #[expect(clippy::disallowed_methods, reason = "this is the door for spilled results")]
    pub fn create(&self) -> io::Result<SpillFile> {
        let mut bytes = [0_u8; 8];
        rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = self.folder.join(format!("output-{digits}.txt"));
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let room = self.folder_bytes_max.saturating_sub(self.bytes()?).min(self.bytes_max);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(SpillFile { file, path, room, is_full: false })
    }

    /// Returns how many bytes the files take that are there.
    #[expect(clippy::disallowed_methods, reason = "this is the door for spilled results")]
    fn bytes(&self) -> io::Result<u64> {
        let files = std::fs::read_dir(&self.folder)?;
        Ok(files.flatten().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum())
    }

    /// Returns `text` as it may be shown.
    pub(crate) fn filtered(&self, text: &str) -> String {
        self.filter.as_ref().map_or_else(|| text.to_owned(), |filter| filter.whole(text))
    }

    /// Makes a new file with `text`, filtered, and returns its path.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn write(&self, text: &str) -> io::Result<PathBuf> {
        let mut file = self.create()?;
        file.push(&self.filtered(text))?;
        Ok(file.path)
    }
}

/// A spilled text that is being written.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    path: PathBuf,
    room: u64,
    is_full: bool,
}

impl SpillFile {
    /// Returns where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file, where a half-written one would mislead.
    #[expect(clippy::disallowed_methods, reason = "this is the door for spilled results")]
    pub fn remove(&self) {
        // Nothing more can be done about a file that cannot be removed.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Appends `text`; what is past the limit is left out, and a note at the end says so.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn push(&mut self, text: &str) -> io::Result<()> {
        if self.is_full {
            return Ok(());
        }
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let end = text.floor_char_boundary(room);
        self.file.write_all(text.as_bytes().get(..end).unwrap_or_default())?;
        self.room = self.room.saturating_sub(end as u64);
        if end < text.len() {
            self.is_full = true;
            self.file.write_all(NOTE_AT_LIMIT.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests read what was spilled")]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_folder_share_its_room() {
        let folder = tempfile::tempdir().unwrap();
        let target = SpillTarget { folder_bytes_max: 10, ..SpillTarget::new(folder.path()) };
        let write = |text: &str| std::fs::read_to_string(target.write(text).unwrap()).unwrap();
        assert_eq!(write("12345678"), "12345678");
        assert_eq!(write("abcd"), format!("ab{NOTE_AT_LIMIT}"));
        assert_eq!(write("x"), NOTE_AT_LIMIT);
    }
}
