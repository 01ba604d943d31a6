//! A file mapped into memory for reading.
//!
//! The weights are used where they lie: nothing is copied, a second program that runs the same
//! model shares the memory, and loading costs nothing once the file is in the page cache.
#![expect(unsafe_code, reason = "a map of a file; docs/decisions/0003-own-engine.md")]
#![expect(clippy::disallowed_methods, reason = "the model file, which a person chose by name")]

use std::{fs::File, io, ops::Deref, path::Path};

/// The bytes of a file.
#[derive(Debug)]
pub(crate) struct MappedFile(memmap2::Mmap);

impl MappedFile {
    /// Maps the file at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: the map is read-only. Whoever changes the file under a running program changes
        // the weights or, by cutting it short, ends the program with a bus error; the file is
        // only ever replaced by renaming, which leaves the mapped one as it is.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Self(map))
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
