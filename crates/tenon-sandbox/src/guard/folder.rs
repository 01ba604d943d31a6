//! Folders beneath a root: opened without following a link, so that what a command left behind leads
//! nowhere, and listed, also those that it closed.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::file_system::kind;
use crate::linux::closed::{open_closed, open_through, through};
use crate::linux::openat::openat2;

/// Whether folders that are not there are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MakeFolders {
    Yes,
    No,
}

/// A folder and the names in it.
pub(super) struct Listed {
    pub(super) folder: Dir,
    /// Taken before the names were read.
    pub(super) stat: Stat,
    pub(super) names: Vec<(OsString, FileType)>,
    /// Whether no error cut them short.
    pub(super) is_whole: bool,
}

/// Returns the names in a folder; none where it cannot be read.
pub(super) fn names(top: &OwnedFd, place: &Path) -> Vec<(OsString, FileType)> {
    listed(top, place).map(|listed| listed.names).unwrap_or_default()
}

/// Returns the names in the folder at a path; none where it cannot be read.
pub(crate) fn names_at(path: &Path) -> Vec<(OsString, FileType)> {
    open_folder_at(path).map(|folder| names(&folder, Path::new(""))).unwrap_or_default()
}

/// Opens a folder and reads the names in it, all through one descriptor.
pub(super) fn listed(top: &OwnedFd, place: &Path) -> Result<Listed, Errno> {
    let place = named(place);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match open_beneath(top, place, flags) {
        // Who may not list it can still open what is in it by name.
        Err(Errno::ACCESS) => {
            let closed = open_through(top, place)?;
            through(&closed, || open_beneath(&closed, Path::new("."), flags))
        }
        folder => folder,
    }?;
    // Not opened anew by its handle: it may be closed again.
    let mut folder = Dir::new(folder)?;
    let stat = rustix::fs::fstat(folder.fd()?)?;
    let (mut names, mut is_whole) = (Vec::new(), true);
    while let Some(entry) = folder.read() {
        let Ok(entry) = entry else {
            is_whole = false;
            break;
        };
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push((OsStr::from_bytes(name).to_owned(), entry.file_type()));
        }
    }
    let handle = folder.fd()?;
    names.iter_mut().for_each(|(name, told)| *told = kind(handle, name, *told));
    Ok(Listed { folder, stat, names, is_whole })
}

/// Returns how a place is named for a call that takes no empty path.
pub(super) fn named(place: &Path) -> &Path {
    if place.as_os_str().is_empty() { Path::new(".") } else { place }
}

/// Opens the folder above a place, and returns the name in it.
pub(super) fn open_parent<'a>(
    top: &OwnedFd,
    beneath: &'a Path,
    make: MakeFolders,
) -> Result<(OwnedFd, &'a OsStr), Errno> {
    let name = beneath.file_name().ok_or(Errno::INVAL)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Not by its name: it may be closed itself.
    let mut folder = rustix::io::fcntl_dupfd_cloexec(top, 0)?;
    for part in beneath.parent().into_iter().flatten() {
        folder = through(&folder, || match open_beneath(&folder, Path::new(part), flags) {
            Err(Errno::NOENT) if make == MakeFolders::Yes => {
                rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755))?;
                open_beneath(&folder, Path::new(part), flags)
            }
            answer => answer,
        })?;
    }
    Ok((folder, name))
}

/// Opens what is at a place for looking at it only, also in closed folders.
pub(super) fn look_at(top: &OwnedFd, beneath: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match (open_beneath(top, beneath, flags), beneath.parent(), beneath.file_name()) {
        (Err(Errno::ACCESS), Some(above), Some(name)) => {
            let folder = open_through(top, above)?;
            through(&folder, || open_beneath(&folder, Path::new(name), flags))
        }
        (outcome, ..) => outcome,
    }
}

pub(super) fn open_beneath(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(folder, path, flags, Mode::empty(), resolve)
}

pub(super) fn open_folder_at(path: &Path) -> Result<OwnedFd, Errno> {
    // A command may have put a link there, if the root lies in another one.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // A command may have closed it, or a folder above that lies in another root.
        Err(Errno::ACCESS) => open_closed(path),
        outcome => outcome,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_the_file_system_does_not_tell_is_looked_up() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink("sub", folder.path().join("link")).unwrap();
        let top = open_folder_at(folder.path()).unwrap();
        let check = |name: &str, told, expected| {
            assert_eq!(kind(&top, OsStr::new(name), told), expected, "{name}");
        };
        check("sub", FileType::Unknown, FileType::Directory);
        check("file", FileType::Unknown, FileType::RegularFile);
        check("link", FileType::Unknown, FileType::Symlink);
        check("gone", FileType::Unknown, FileType::Unknown);
        check("sub", FileType::RegularFile, FileType::RegularFile);
    }

    #[test]
    fn a_folder_that_is_closed_is_listed_and_stays_closed() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::write(closed.join("file"), "").unwrap();
        let set = |mode| {
            std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(0o111);
        let top = open_folder_at(folder.path()).unwrap();
        assert_eq!(names(&top, Path::new("closed")).len(), 1);
        let mode = std::fs::metadata(&closed).unwrap().permissions().mode();
        set(0o700);
        assert_eq!(mode & 0o777, 0o111);
    }
}
