//! Files that take the place of others in one step: what fails, or is killed, leaves the old one.

#![expect(clippy::disallowed_methods, reason = "writes what the person names, and their settings")]

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::Path,
};

/// Writes the file that the person names. Links are followed, and what is no file (a device, a pipe) is
/// written itself.
pub(crate) fn write(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    match target.metadata() {
        Ok(there) if !there.is_file() => fill(&mut OpenOptions::new().write(true).open(&target)?),
        _ => replace(&target, fill),
    }
}

/// Puts a file in the place of `target`, whose owner and mode it gets if that is a file. A link is replaced
/// and not followed.
pub(crate) fn replace(
    target: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let before = match target.symlink_metadata() {
        Ok(metadata) => Some(metadata).filter(Metadata::is_file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let stamp = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = target.with_file_name(format!(".{name}.{}.{stamp}.tmp", std::process::id()));
    // Not there before, whatever it could be, and open to nobody else.
    let mut made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = fill(&mut made)
        .and_then(|()| finish(&made, before.as_ref()))
        .and_then(|()| fs::rename(&beside, target));
    if written.is_err() {
        // Nothing more can be done about a file that cannot be removed.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn finish(file: &File, before: Option<&Metadata>) -> io::Result<()> {
    if let Some(before) = before {
        let new = file.metadata()?;
        if (before.uid(), before.gid()) != (new.uid(), new.gid()) {
            fchown(file, Some(before.uid()), Some(before.gid()))?;
        }
        file.set_permissions(PermissionsExt::from_mode(before.mode() & 0o777))?;
    }
    file.sync_all()
}
