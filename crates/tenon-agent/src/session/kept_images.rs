//! The pictures of a session: files beside its log, named by their digest, mode 0600.
//!
//! The log names them and never holds their bytes. They are on the disk before the event that
//! names them is in the log; a file that is gone or was changed leaves a sentence in its place. A
//! replay has no files of them: nobody looks at its pictures, and their digests say which they are.

#![expect(clippy::disallowed_methods, reason = "what belongs to the log lies beside it")]

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use tenon_model::{Image, base64};

use super::{log_error::LogError, read::Session};

/// What the bytes of a picture are where it is there by its digest alone.
const BY_NAME: &str = "AAAA";

/// Where the pictures of one session are.
#[derive(Debug)]
pub(super) struct KeptImages {
    folder: PathBuf,
    /// None is kept and none is missing.
    by_name: bool,
}

impl KeptImages {
    /// Returns the pictures beside the log at `path`.
    pub(super) fn beside(path: &Path) -> Self {
        Self { folder: path.with_extension("images"), by_name: false }
    }

    /// Has pictures be there by their digests, without files.
    pub(super) fn stand_by_name(&mut self) {
        self.by_name = true;
    }

    /// Keeps `image`, unless it is kept already.
    pub(super) fn keep(&self, image: &Image) -> Result<(), LogError> {
        let Some(path) = self.path_of(image) else { return Ok(()) };
        if self.by_name || image.data.is_empty() || path.exists() {
            return Ok(());
        }
        let failed = |source| LogError::writing(&path, source);
        let bytes = base64::decode(&image.data).ok_or_else(|| failed(not_base64()))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        // Half a file never has the name of a whole one.
        let part = path.with_extension("part");
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)
            .map_err(failed)?;
        file.write_all(&bytes).and_then(|()| file.sync_data()).map_err(failed)?;
        std::fs::rename(&part, &path).map_err(failed)?;
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }

    /// Fills in the bytes of the pictures that `session` names.
    pub(super) fn fill(&self, session: &mut Session) {
        let images = session.records.iter_mut().flat_map(|record| record.event.images_mut());
        for image in images.filter(|image| image.data.is_empty()) {
            if self.by_name {
                image.data = BY_NAME.into();
                continue;
            }
            let Some(path) = self.path_of(image) else { continue };
            let read = std::fs::read(path).ok().and_then(|bytes| Image::new(&bytes).ok());
            if let Some(read) = read.filter(|read| read.sha256 == image.sha256) {
                image.data = read.data;
            }
        }
    }

    /// Has all pictures of another session here, too.
    pub(super) fn take_from(&self, other: &Self) -> io::Result<()> {
        let entries = match std::fs::read_dir(&other.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        for entry in entries {
            let entry = entry?;
            let to = self.folder.join(entry.file_name());
            // The same file under two names; what is there is never changed.
            if std::fs::hard_link(entry.path(), &to).is_err() {
                std::fs::copy(entry.path(), &to)?;
            }
        }
        Ok(())
    }

    /// Returns the folder, which may not be there.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes them all.
    pub(super) fn remove(&self) -> Result<(), LogError> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(LogError::new(&self.folder, source))
            }
            _ => Ok(()),
        }
    }

    /// Returns where an image is; the name stands in the log, and only a digest is followed.
    fn path_of(&self, image: &Image) -> Option<PathBuf> {
        let is_digest =
            image.sha256.len() == 64 && image.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| self.folder.join(&image.sha256))
    }
}

fn not_base64() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an image is not base64")
}
