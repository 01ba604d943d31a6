//! Files that a repository's settings include, which are protected like the settings.
//!
//! Known are the settings of the repositories at the roots and around the file, with their worktrees
//! and submodules. They are read anew each time: a person may have changed them.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::Workspace;
use super::resolve::Resolved;
use crate::git_includes::Includes;

/// Longer settings are none.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Folders of submodules and worktrees that are looked at, in some milliseconds.
const FOLDERS_MAX: usize = 500;

impl Workspace {
    /// Says whether git reads settings from a place.
    pub(super) fn is_included(&self, found: &Resolved) -> bool {
        let (place, roots) = (self.absolute(found.root, &found.beneath), self.roots());
        let is_inside = |folder: &&Path| roots.iter().any(|root| folder.starts_with(root));
        let around = place.ancestors().skip(1).filter(is_inside).map(Path::to_path_buf);
        let mut folders: Vec<PathBuf> = roots.iter().cloned().chain(around).collect();
        folders.sort_unstable();
        folders.dedup();
        let mut includes = Includes::beneath(&roots, self.shared.home.as_deref());
        for config in folders.iter().flat_map(|folder| settings(&folder.join(".git"))) {
            if let Some(bytes) = read(&config) {
                includes.follow(&config, &bytes, &mut read);
            }
        }
        includes.found.iter().any(|name| place.starts_with(name))
    }
}

/// Returns the files of settings that may be in a repository's own directory.
fn settings(own: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut owners = vec![own.to_path_buf()];
    let mut folders = Vec::new();
    let mut left = FOLDERS_MAX;
    loop {
        while let Some(own) = owners.pop() {
            files.extend(["config", "config.worktree"].map(|name| own.join(name)));
            folders.extend(["modules", "worktrees"].map(|name| own.join(name)));
        }
        let Some(folder) = folders.pop() else { return files };
        for inner in folders_in(&folder) {
            if left == 0 {
                return files;
            }
            left -= 1;
            let has = |name: &str| rustix::fs::lstat(inner.join(name)).is_ok();
            // One without its `HEAD` may get it back, or be a name on the way to another.
            if has("HEAD") || has("config") {
                owners.push(inner.clone());
            }
            if !has("HEAD") {
                folders.push(inner);
            }
        }
    }
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(handle) = rustix::fs::open(folder, flags, Mode::empty()) else { return Vec::new() };
    let entries = Dir::read_from(&handle).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.file_type() == FileType::Directory);
    let names = names.filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."));
    names
        .map(|entry| folder.join(std::ffi::OsStr::from_bytes(entry.file_name().to_bytes())))
        .collect()
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&handle).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(handle).take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
