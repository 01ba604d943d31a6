//! What a copy does not show while work on it goes on: which names are names of one file, as files were
//! told apart where they were copied from, and which folders are to be closed to this user.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, Metadata, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// A file elsewhere: its device, its number there, and when it was made, in nanoseconds since 1970; 0
/// where that is not known.
pub(super) type FileId = ((u64, u64), u64);

/// What this user may do in a folder to work in it.
pub(super) const OPEN: u32 = 0o700;

/// The names in a copy of each file that has several or may get them, and of closed folders.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_number: HashMap<(u64, u64), Vec<Name>>,
    /// Folders that are open to this user as long as there is work in them, and the permissions that they
    /// get.
    closed: BTreeMap<PathBuf, u32>,
}

#[derive(Debug)]
struct Name {
    path: PathBuf,
    /// What has it, which may be something else by now.
    is: Option<(u64, Option<SystemTime>)>,
    born: u64,
}

impl Names {
    /// Takes in that a file has a name in the copy.
    pub(super) fn add(&mut self, (number, born): FileId, path: &Path) {
        let name = Name { path: path.to_path_buf(), is: file_at(path), born };
        self.by_number.entry(number).or_default().push(name);
    }

    /// Returns the names that a file has in the copy.
    pub(super) fn of(&self, (number, born): FileId) -> impl Iterator<Item = &Path> {
        let is_it = move |name: &&Name| {
            (name.born == 0 || born == 0 || name.born == born)
                && name.is.is_some()
                && name.is == file_at(&name.path)
        };
        let names = self.by_number.get(&number).into_iter().flatten();
        names.filter(is_it).map(|name| name.path.as_path())
    }

    /// Takes in that something in the copy was renamed.
    pub(super) fn moved(&mut self, from: &Path, to: &Path) {
        for name in self.by_number.values_mut().flatten() {
            if let Ok(rest) = name.path.strip_prefix(from) {
                let is_itself = rest.as_os_str().is_empty();
                name.path = if is_itself { to.to_owned() } else { to.join(rest) };
            }
        }
        let is_moved = |path: &PathBuf, _: &mut u32| path.starts_with(from);
        let moved: Vec<_> = self.closed.extract_if(.., is_moved).collect();
        for (path, mode) in moved {
            let rest = path.strip_prefix(from).unwrap_or(&path);
            self.closed.insert(to.components().chain(rest.components()).collect(), mode);
        }
    }

    /// Gives a folder permissions; those that this user needs stay until [`Self::close`].
    pub(super) fn set_rights(&mut self, folder: &Path, mode: u32) -> io::Result<()> {
        self.closed.insert(folder.to_path_buf(), mode);
        fs::set_permissions(folder, Permissions::from_mode(mode | OPEN))
    }

    /// Closes the folders that are still there.
    pub(super) fn close(self) {
        // What is deep goes first, as long as this user gets there.
        for (folder, mode) in self.closed.into_iter().rev().filter(|(_, mode)| mode & OPEN != OPEN)
        {
            let now = fs::symlink_metadata(&folder).ok().filter(Metadata::is_dir);
            if now.is_some_and(|now| now.mode() & 0o7777 == mode | OPEN) {
                // This user made it.
                let _ = fs::set_permissions(&folder, Permissions::from_mode(mode));
            }
        }
    }
}

/// Returns which file is at a path of the copy.
fn file_at(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let now = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    Some((now.ino(), now.created().ok()))
}

/// Returns which file it is that is copied.
pub(super) fn id_of(metadata: &Metadata) -> FileId {
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let born = metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    let born = born.and_then(|born| u64::try_from(born.as_nanos()).ok());
    ((u64::from(major) << 32 | u64::from(minor), metadata.ino()), born.unwrap_or_default())
}
