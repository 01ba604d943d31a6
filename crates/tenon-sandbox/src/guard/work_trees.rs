//! The tops of a repository's work trees: git counts a relative address from the top of the one that it is in.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::folder::names_at;
use super::place::Place;
use super::scan::look;
use super::submodule::tree_of;
use crate::git_blanks::trimmed_end;

/// How many linked work trees of one repository are looked at: more than people have side by side.
const LINKED_MAX: usize = 64;

/// Returns the folders in which git may be when it takes a relative address from the settings in the file `config`, the one
/// that is the repository's own first.
pub(super) fn tops_of(config: &Path) -> Vec<PathBuf> {
    let Some(folder) = config.parent() else { return Vec::new() };
    let is_linked = rustix::fs::lstat(folder.join("commondir")).is_ok();
    let all = folder.parent().filter(|above| is_linked && above.ends_with("worktrees"));
    let repository = all.and_then(Path::parent).unwrap_or(folder);
    let named = ["config", "config.worktree"]
        .into_iter()
        .filter_map(|name| tree_of(repository, &read(&repository.join(name))?));
    let is_named_git = repository.file_name() == Some(OsStr::new(".git"));
    let beside = repository.parent().filter(|_| is_named_git).map(Path::to_path_buf);
    let mut tops: Vec<PathBuf> = beside.into_iter().chain(named).collect();
    if tops.is_empty() {
        tops.push(repository.to_path_buf());
    }
    let linked = repository.join("worktrees");
    let places = names_at(&linked).into_iter().map(|(name, _)| linked.join(name));
    tops.extend(places.filter_map(|place| linked_top(&place)).take(LINKED_MAX));
    tops
}

/// Returns the top of a linked work tree, by what the repository has of it.
fn linked_top(place: &Path) -> Option<PathBuf> {
    let bytes = read(&place.join("gitdir"))?;
    let pointer = place.join(OsStr::from_bytes(trimmed_end(&bytes)));
    pointer.parent().map(Path::to_path_buf)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let place = Place::included(path, &[PathBuf::from("/")])?;
    look(&place, None)?.bytes().map(<[u8]>::to_vec)
}
