//! What a copy does not show while work on it goes on: which names are names of one file, as files were
//! told apart where they were copied from, and the times and permissions that folders get in the end.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, Metadata, Permissions},
    io,
    ops::Bound,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::times::set_modified;

/// A file elsewhere: its device, its number there, and when it was made, in nanoseconds since 1970; 0
/// where that is not known.
pub(super) type FileId = ((u64, u64), u64);

/// What this user may do in a folder to work in it.
pub(super) const OPEN: u32 = 0o700;

/// The names in a copy of each file that has several or may get them, and of closed folders.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_number: HashMap<(u64, u64), Vec<Name>>,
    /// Folders, and what they get once there is no more work in them.
    folders: BTreeMap<PathBuf, Closing>,
}

/// What a folder gets in the end: what is done in it changes its time, and it is open to this user until then.
#[derive(Debug, Clone, Copy, Default)]
struct Closing {
    mode: Option<u32>,
    modified: Option<SystemTime>,
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
        for (path, closing) in self.take_folders(from) {
            let rest = path.strip_prefix(from).unwrap_or(&path);
            self.folders.insert(to.components().chain(rest.components()).collect(), closing);
        }
    }

    /// Takes in that something in the copy was removed.
    pub(super) fn removed(&mut self, path: &Path) {
        self.take_folders(path);
    }

    /// Forgets a folder with those in it, and returns them.
    fn take_folders(&mut self, path: &Path) -> Vec<(PathBuf, Closing)> {
        let behind = (Bound::Included(path), Bound::Unbounded);
        let behind = self.folders.range::<Path, _>(behind).map(|(folder, _)| folder);
        let taken: Vec<PathBuf> =
            behind.take_while(|folder| folder.starts_with(path)).cloned().collect();
        taken.into_iter().filter_map(|folder| self.folders.remove_entry(&folder)).collect()
    }

    /// Gives a folder permissions; those that this user needs stay until [`Self::close`].
    pub(super) fn set_rights(&mut self, folder: &Path, mode: u32) -> io::Result<()> {
        self.folders.entry(folder.to_path_buf()).or_default().mode = Some(mode);
        fs::set_permissions(folder, Permissions::from_mode(mode | OPEN))
    }

    /// Has a folder be changed last at this time, once [`Self::close`] is called.
    pub(super) fn set_modified(&mut self, folder: &Path, modified: SystemTime) {
        self.folders.entry(folder.to_path_buf()).or_default().modified = Some(modified);
    }

    /// Gives the folders that are still there their times, and closes them.
    pub(super) fn close(self) {
        // What is deep goes first, as long as this user gets there.
        for (folder, Closing { mode, modified }) in self.folders.into_iter().rev() {
            let now = fs::symlink_metadata(&folder).ok().filter(Metadata::is_dir);
            let Some(now) = now else { continue };
            if let Some(modified) = modified {
                set_modified(&folder, modified);
            }
            let mode = mode.filter(|mode| mode & OPEN != OPEN);
            if let Some(mode) = mode.filter(|mode| now.mode() & 0o7777 == mode | OPEN) {
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
