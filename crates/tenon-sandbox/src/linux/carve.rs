//! Which names in the workspace a command may not write or move away, although it may write the
//! workspace.
//!
//! Looks only. What is found is mounted by `inside.rs`, or by bubblewrap at the word of
//! `bubblewrap.rs`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, fstat};
use rustix::io::Errno;

use super::closed::look_through;
use super::openat::{open_beneath, open_plain};
use super::request::Inside;
use crate::workspace::names_beneath;

/// What is tenon's own, which nobody has leave to write.
pub(super) const OWN_FOLDER: &str = ".tenon";

/// How far folders of submodules are looked through (`modules/a/modules/b`, `modules/a/b/c`).
const MODULES_DEPTH_MAX: usize = 5;

/// A name that is bound on itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CarveOut {
    /// A root or a repository.
    pub(super) above: PathBuf,
    /// Beneath it.
    pub(super) name: PathBuf,
    /// Otherwise it only cannot be moved away.
    pub(super) read_only: bool,
}

impl CarveOut {
    /// Opens it for looking at it; `None` if nothing is there, or a link.
    pub(super) fn open(&self) -> Result<Option<OwnedFd>, Errno> {
        look(&open_plain(&self.above)?, &self.name)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.above.join(&self.name)
    }
}

/// Returns all of them in the order in which they are bound: what is beneath comes after what is
/// above.
pub(super) fn carve_outs(inside: &Inside) -> Result<Vec<CarveOut>, Errno> {
    let mut found = Found { inside, carve_outs: Vec::new() };
    for root in &inside.roots {
        let folder = open_plain(root)?;
        found.pins(&folder, root)?;
        let mut above = ("", true);
        for name in names_beneath(root) {
            if let Some((first, _)) = name.split_once('/')
                && first != above.0
            {
                above = (first, look(&folder, Path::new(first))?.is_some());
            }
            let is_lifted = name != OWN_FOLDER && found.is_lifted(&root.join(name));
            if (above.1 || !name.contains('/')) && !is_lifted {
                found.freeze(&folder, root, Path::new(name))?;
            }
        }
        found.repository(&folder, root)?;
    }
    for repository in &inside.repositories {
        let folder = open_plain(repository)?;
        found.settings(&folder, repository, Path::new(""))?;
    }
    Ok(found.carve_outs)
}

struct Found<'a> {
    inside: &'a Inside,
    carve_outs: Vec<CarveOut>,
}

impl Found<'_> {
    /// The folders between a root and what is hidden in it, or may come there to be hidden: renamed, they would bring it
    /// to light for the next command, such as a socket of the user's under another name than it was bound by.
    fn pins(&mut self, folder: &OwnedFd, root: &Path) -> Result<(), Errno> {
        let Inside { hidden, pinned, .. } = self.inside;
        let above = hidden.iter().flat_map(|path| path.ancestors().skip(1));
        let above = above.chain(pinned.iter().map(PathBuf::as_path));
        let above = above.filter_map(|path| path.strip_prefix(root).ok());
        let above: BTreeSet<&Path> = above.filter(|name| !name.as_os_str().is_empty()).collect();
        for name in above {
            let Some(found) = look(folder, name)? else { continue };
            if FileType::from_raw_mode(fstat(&found)?.st_mode).is_dir() {
                let (above, name) = (root.to_path_buf(), name.to_path_buf());
                self.carve_outs.push(CarveOut { above, name, read_only: false });
            }
        }
        Ok(())
    }

    /// A repository's directory is bound on itself, so that it cannot be moved away, and what runs
    /// programs in it is read-only.
    fn repository(&mut self, folder: &OwnedFd, root: &Path) -> Result<(), Errno> {
        let name = Path::new(".git");
        let Some(target) = look(folder, name)? else { return Ok(()) };
        match FileType::from_raw_mode(fstat(&target)?.st_mode) {
            FileType::Directory => {
                let (above, name) = (root.to_path_buf(), name.to_path_buf());
                self.carve_outs.push(CarveOut { above, name, read_only: false });
                self.settings(folder, root, Path::new(".git"))
            }
            // It says where the repository is.
            _ => self.freeze(folder, root, name),
        }
    }

    /// `git` is the repository's directory, beneath `above`.
    fn settings(&mut self, folder: &OwnedFd, above: &Path, git: &Path) -> Result<(), Errno> {
        for name in ["hooks", "info"] {
            self.freeze(folder, above, &git.join(name))?;
        }
        let mut modules = vec![(git.join("modules"), 0)];
        while let Some((place, depth)) = modules.pop() {
            for name in child_folders(folder, &place) {
                let place = place.join(name);
                if look(folder, &place.join("HEAD"))?.is_some() {
                    for name in ["hooks", "info"] {
                        self.freeze(folder, above, &place.join(name))?;
                    }
                    modules.push((place.join("modules"), depth + 1));
                } else if depth < MODULES_DEPTH_MAX {
                    modules.push((place, depth + 1));
                }
            }
        }
        Ok(())
    }

    /// Whether this call has leave to write a file at this protected name or beneath it.
    fn is_lifted(&self, protected: &Path) -> bool {
        self.inside.lifted.iter().any(|lifted| lifted.starts_with(protected))
    }

    /// Adds what is at `name`.
    fn freeze(&mut self, folder: &OwnedFd, above: &Path, name: &Path) -> Result<(), Errno> {
        if look(folder, name)?.is_some() {
            let (above, name) = (above.to_path_buf(), name.to_path_buf());
            self.carve_outs.push(CarveOut { above, name, read_only: true });
        }
        Ok(())
    }
}

fn child_folders(folder: &OwnedFd, place: &Path) -> Vec<OsString> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let folder = open_beneath(folder, place, flags, Mode::empty());
    let entries = folder.ok().and_then(|folder| Dir::read_from(folder).ok());
    let mut names = Vec::new();
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name().to_bytes();
        if entry.file_type().is_dir() && name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names
}

/// Opens what is at `name` for looking at it; `None` if nothing is, or a link.
fn look(folder: &OwnedFd, name: &Path) -> Result<Option<OwnedFd>, Errno> {
    match look_through(folder, name) {
        Ok(handle) => {
            let is_link = FileType::from_raw_mode(fstat(&handle)?.st_mode).is_symlink();
            Ok((!is_link).then_some(handle))
        }
        // A path through a link leads elsewhere; there it is protected or not a wall's matter.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}
