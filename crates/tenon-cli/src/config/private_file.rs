//! Files of the user's own outside every workspace: configuration, certificates, scripts.

#![expect(clippy::disallowed_methods, reason = "the user's own files are opened here")]

use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

use crate::{error::CliError, texts::Text};

/// Reads a whole regular file of at most `bytes_max` bytes.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, CliError> {
    read_io(path, bytes_max).map_err(|error| unreadable(path, error))
}

/// Reads a whole text file, or returns nothing where there is none.
pub(super) fn read_if_there(path: &Path, bytes_max: u64) -> Result<Option<String>, CliError> {
    let failed = |error| unreadable(path, error);
    match read_io(path, bytes_max) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes).map_err(|_| {
                failed(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
            })?;
            Ok(Some(text))
        }
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Returns whether others than its owner may read the file.
pub(super) fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o077 != 0)
}

/// Returns whether a file or folder is another user's.
pub(crate) fn belongs_to_another(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    std::fs::metadata(path).is_ok_and(|metadata| metadata.uid() != user)
}

fn unreadable(path: &Path, error: io::Error) -> CliError {
    CliError::config(Text::FileUnreadable.with(&[("path", &path.display())])).with_source(error)
}

fn read_io(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // A named pipe would wait for a writer for ever.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it is longer than {bytes_max} bytes")));
    }
    Ok(bytes)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_within_its_bound_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(read_if_there(&path, 4).unwrap(), None);
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read_if_there(&path, 4).unwrap().as_deref(), Some("four"));
        assert!(read_if_there(&path, 3).is_err());
        assert!(read_if_there(folder.path(), 4).is_err());
        assert!(read(Path::new("/dev/zero"), 4).is_err());
    }
}
