//! A model file on its way: what is written is hashed part by part and as a whole.
//!
//! What does not match never stays: a bad part is cut off again, so that the file always holds
//! good parts and at most one that is not whole yet.

#![expect(clippy::disallowed_methods, reason = "model files are kept outside every workspace")]

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::ModelFile;

/// How much is read at a time when what is there is hashed.
const CHUNK_BYTES: usize = 1 << 20;

/// A file that grows to be a model file.
#[derive(Debug)]
pub(super) struct Partial<'a> {
    model: &'a ModelFile,
    target: PathBuf,
    path: PathBuf,
    file: File,
    /// Bytes of good parts and of the one that is not whole yet.
    position: u64,
    /// The number of that part, from 0.
    part: usize,
    part_start: u64,
    part_hash: Sha256,
    whole_hash: Sha256,
    /// The state of `whole_hash` where the part begins.
    whole_hash_before: Sha256,
}

/// Why bytes were not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// A part is not what it should be; it was cut off.
    #[error("part {0} does not have the digest it must have; it was thrown away")]
    Part(usize),
    /// The whole is not what it should be; it was deleted.
    #[error("the file does not have the digest it must have; it was thrown away")]
    Whole,
    /// There are more bytes than the file has.
    #[error("more came than the file has")]
    TooLong,
    /// The file is not complete.
    #[error("the file is not whole")]
    TooShort,
    /// The disk's words.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<'a> Partial<'a> {
    /// Opens the partial file in `folder`, or a new one, and hashes what is there; `progress`
    /// hears how many bytes of it are good so far.
    pub(super) fn open(
        model: &'a ModelFile,
        folder: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<Self> {
        let path = model.partial_path(folder);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut partial = Self {
            model,
            target: model.path(folder),
            file: options.open(&path)?,
            path,
            position: 0,
            part: 0,
            part_start: 0,
            part_hash: Sha256::new(),
            whole_hash: Sha256::new(),
            whole_hash_before: Sha256::new(),
        };
        partial.take_in_what_is_there(progress)?;
        Ok(partial)
    }

    /// Returns how many bytes are there.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the number of the part that comes next, from 0, or nothing if all are there.
    pub(super) fn next_part(&self) -> Option<usize> {
        (self.part < self.model.parts.len()).then_some(self.part)
    }

    /// Drops what is there of a part that is not whole.
    pub(super) fn drop_unfinished_part(&mut self) -> io::Result<()> {
        self.position = self.part_start;
        self.part_hash = Sha256::new();
        self.whole_hash = self.whole_hash_before.clone();
        self.file.set_len(self.position)?;
        self.file.seek(SeekFrom::Start(self.position))?;
        Ok(())
    }

    /// Appends `bytes`. Good parts among them stay even if an error is returned.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), WriteError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(self.left_in_part(bytes.len())?);
            self.file.write_all(now)?;
            self.take_in(now)?;
            bytes = later;
        }
        Ok(())
    }

    /// Checks the whole and gives it its name.
    pub(super) fn finish(self) -> Result<PathBuf, WriteError> {
        if self.next_part().is_some() {
            return Err(WriteError::TooShort);
        }
        if hexadecimal(self.whole_hash) != self.model.digest {
            std::fs::remove_file(&self.path)?;
            return Err(WriteError::Whole);
        }
        self.file.sync_all()?;
        std::fs::rename(&self.path, &self.target)?;
        Ok(self.target)
    }

    fn take_in_what_is_there(&mut self, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK_BYTES];
        while let Ok(most) = self.left_in_part(CHUNK_BYTES) {
            let count = self.file.read(buffer.get_mut(..most).unwrap_or_default())?;
            if count == 0 {
                return Ok(());
            }
            match self.take_in(buffer.get(..count).unwrap_or_default()) {
                Ok(()) => progress(self.position),
                Err(WriteError::Io(error)) => return Err(error),
                // Cut off already; what came after it cannot be trusted to belong there.
                Err(_) => return Ok(()),
            }
        }
        // Every part is there; whatever follows does not belong to the file.
        self.file.set_len(self.position)
    }

    /// Returns how many of `bytes` go into the part that is being filled.
    fn left_in_part(&self, bytes: usize) -> Result<usize, WriteError> {
        let part = self.model.parts.get(self.part).ok_or(WriteError::TooLong)?;
        let left = self.part_start + part.bytes - self.position;
        Ok(usize::try_from(left).unwrap_or(usize::MAX).min(bytes))
    }

    fn take_in(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.part_hash.update(bytes);
        self.whole_hash.update(bytes);
        self.position += bytes.len() as u64;
        let part = self.model.parts.get(self.part).ok_or(WriteError::TooLong)?;
        if self.position < self.part_start + part.bytes {
            return Ok(());
        }
        if hexadecimal(std::mem::take(&mut self.part_hash)) != part.digest {
            self.drop_unfinished_part()?;
            return Err(WriteError::Part(self.part + 1));
        }
        self.part += 1;
        self.part_start = self.position;
        self.whole_hash_before = self.whole_hash.clone();
        Ok(())
    }
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::pull::Part;

    /// Returns a model file of the parts in `texts`.
    pub(in crate::pull) fn model_of(texts: &[&str]) -> ModelFile {
        let digest = |text: &str| hexadecimal(Sha256::new_with_prefix(text));
        let part = |text: &&str| Part { bytes: text.len() as u64, digest: digest(text) };
        ModelFile {
            name: "test".into(),
            file_name: "model.gguf".into(),
            parts: texts.iter().map(part).collect(),
            digest: digest(&texts.concat()),
            hub_path: "a/b".into(),
            package: "pack".into(),
            package_version: "1".into(),
        }
    }

    fn open<'a>(model: &'a ModelFile, folder: &Path) -> Partial<'a> {
        Partial::open(model, folder, &mut |_| {}).unwrap()
    }

    #[test]
    fn any_pieces_make_the_file_and_it_is_private() {
        let model = model_of(&["abcd", "efgh", "ij"]);
        for size in 1..=10 {
            let folder = tempfile::tempdir().unwrap();
            let mut partial = open(&model, folder.path());
            b"abcdefghij".chunks(size).for_each(|piece| partial.write(piece).unwrap());
            let path = partial.finish().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"abcdefghij");
            let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap());
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn it_goes_on_where_it_was() {
        let model = model_of(&["abcd", "efgh"]);
        let folder = tempfile::tempdir().unwrap();
        open(&model, folder.path()).write(b"abcde").unwrap();
        let mut partial = open(&model, folder.path());
        assert_eq!((partial.position(), partial.next_part()), (5, Some(1)));
        partial.write(b"fgh").unwrap();
        partial.finish().unwrap();
    }

    #[test]
    fn a_bad_part_is_cut_off_alone_whether_it_comes_or_is_found() {
        let model = model_of(&["abcd", "efgh"]);
        let folder = tempfile::tempdir().unwrap();
        let mut partial = open(&model, folder.path());
        let error = partial.write(b"abcdXfgh").unwrap_err();
        assert!(matches!(error, WriteError::Part(2)), "{error}");
        assert_eq!((partial.position(), partial.next_part()), (4, Some(1)));
        assert_eq!(std::fs::read(&partial.path).unwrap(), b"abcd");
        partial.write(b"efgh").unwrap();
        let path = partial.path.clone();
        drop(partial);
        std::fs::write(&path, "abcdeXghmore").unwrap();
        let mut partial = open(&model, folder.path());
        assert_eq!(std::fs::read(&path).unwrap(), b"abcd");
        partial.write(b"efgh").unwrap();
        partial.finish().unwrap();
    }

    #[test]
    fn too_much_or_too_little_is_no_file() {
        let model = model_of(&["abcd"]);
        let folder = tempfile::tempdir().unwrap();
        let mut partial = open(&model, folder.path());
        assert!(matches!(partial.write(b"abcde"), Err(WriteError::TooLong)));
        std::fs::write(&partial.path, "ab").unwrap();
        let partial = open(&model, folder.path());
        assert!(matches!(partial.finish(), Err(WriteError::TooShort)));
        assert!(!model.path(folder.path()).exists());
    }

    #[test]
    fn a_whole_that_differs_is_deleted() {
        let model = ModelFile { digest: "0".repeat(64), ..model_of(&["abcd"]) };
        let folder = tempfile::tempdir().unwrap();
        let mut partial = open(&model, folder.path());
        partial.write(b"abcd").unwrap();
        assert!(matches!(partial.finish(), Err(WriteError::Whole)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
