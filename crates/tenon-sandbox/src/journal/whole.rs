//! Files of the store are read and written as a whole.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

pub(crate) fn read_all(file: OwnedFd) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes).map_err(|error| errno_of(&error))?;
    Ok(bytes)
}

pub(crate) fn write_all(file: &impl AsFd, bytes: &[u8]) -> Result<(), Errno> {
    write_some(file, bytes).map_err(|(_, errno)| errno)
}

/// Adds all of it at the end of a file, or nothing: behind half a record, which a disk that fills up
/// leaves, nobody could read the next.
pub(crate) fn append(file: &impl AsFd, bytes: &[u8]) -> Result<(), Errno> {
    write_some(file, bytes).map_err(|(written, errno)| {
        if written > 0
            && let Ok(length) = rustix::fs::fstat(file).map(|stat| stat.st_size.cast_unsigned())
        {
            // To make a file shorter takes no room.
            let _ = rustix::fs::ftruncate(file, length.saturating_sub(written));
        }
        errno
    })
}

/// Says how much it wrote where that is not all.
fn write_some(file: &impl AsFd, bytes: &[u8]) -> Result<(), (u64, Errno)> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = (bytes.len() - rest.len()) as u64;
        let length = rustix::io::retry_on_intr(|| rustix::io::write(file, rest));
        rest = rest.get(length.map_err(|errno| (written, errno))?..).unwrap_or_default();
    }
    Ok(())
}

pub(crate) fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}
