//! Private folders whose sessions were killed before they could remove them.
//!
//! They lie where commands may write, and a command can give such a name to a folder of the user's. So tenon notes in its
//! state, where no command writes, which folders it made, and removes no others.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::guard::{NOTES, open_left, open_private, read_left, write_locked};
use crate::journal::{NodeId, which};
use crate::linux::wire::{Readable, Reader, Sendable, Writer};
use crate::remove_tree::remove_held;

/// Begins the name of a note.
const KIND: &str = "folder-";

/// The note of a folder, locked as long as somebody uses that.
pub(super) struct Note {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Drop for Note {
    fn drop(&mut self) {
        // One that stays names a folder that is no more.
        let _ = rustix::fs::unlink(&self.path);
    }
}

/// Which folder it is.
struct Made {
    path: PathBuf,
    id: NodeId,
}

impl Sendable for Made {
    fn write(&self, writer: &mut Writer) {
        writer.field(self.path.as_os_str());
        self.id.write(writer);
    }
}

impl Readable for Made {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self { path: reader.path()?, id: NodeId::read(reader)? })
    }
}

/// Opens a folder, for looking into it. No link is followed.
pub(super) fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

impl Note {
    /// Notes beneath tenon's folder `state` that `folder`, which is at `path`, is to be removed.
    pub(super) fn write(state: &Path, path: &Path, folder: &OwnedFd) -> Result<Self, Errno> {
        let made = Made { path: path.to_path_buf(), id: which(folder)? };
        let bytes = made.to_bytes().ok_or(Errno::NAMETOOLONG)?;
        let (path, _lock) = write_locked(state, KIND, &bytes)?;
        Ok(Self { path, _lock })
    }
}

/// Removes the folders that are noted beneath tenon's folder `state` and that nobody uses.
pub(super) fn remove_left_behind(state: &Path) {
    let Ok(notes) = open_private(&state.join(NOTES)) else { return };
    for entry in Dir::read_from(&notes).into_iter().flatten().flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if !name.as_bytes().starts_with(KIND.as_bytes()) {
            continue;
        }
        let Some(note) = open_left(&notes, name) else { continue };
        // What cannot be removed is tried again.
        if read_left(&note).is_none_or(|made: Made| made.remove().is_ok()) {
            let _ = rustix::fs::unlinkat(&notes, name, AtFlags::empty());
        }
    }
}

impl Made {
    /// Removes it, unless it is gone, or something else stands at its name.
    fn remove(&self) -> std::io::Result<()> {
        let Ok(folder) = open(&self.path) else { return Ok(()) };
        if which(&folder)? == self.id { remove_held(&folder, &self.path) } else { Ok(()) }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are removed")]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_session_left_goes_and_nothing_else() {
        let top = tempfile::tempdir().unwrap();
        let state = top.path().join("state");
        std::fs::create_dir(&state).unwrap();
        let make = |name: &str| {
            let path = top.path().join(name);
            std::fs::create_dir_all(path.join("beneath")).unwrap();
            std::fs::write(path.join("beneath/file"), "left").unwrap();
            std::fs::write(path.join("file"), "left").unwrap();
            path
        };
        let note = |path: &Path| Note::write(&state, path, &open(path).unwrap()).unwrap();
        let [left, used, theirs, never] = ["tenon-1", "tenon-2", "tenon-3", "tenon-4"].map(&make);
        for (path, name) in [(&left, "folder-1"), (&theirs, "folder-3")] {
            // Nobody holds the copy, and nobody takes it away.
            std::fs::copy(&note(path).path, state.join(NOTES).join(name)).unwrap();
        }
        let _used = note(&used);
        // A command gave the name to a folder of the user's.
        std::fs::rename(&theirs, top.path().join("away")).unwrap();
        make("tenon-3");
        remove_left_behind(&state);
        let are_there = [&left, &used, &theirs, &never].map(|path| path.join("file").exists());
        assert_eq!(are_there, [false, true, true, true]);
        assert_eq!(std::fs::read_dir(state.join(NOTES)).unwrap().count(), 1);
    }
}
