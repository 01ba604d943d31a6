//! Where the files of a submodule are: the settings of its repository say it, and a `.git` file there leads back. Git writes
//! both where it moves one, so neither is judged without the other.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::folder::open_folder_at;
use super::item::{FILE_BYTES_MAX, read};
use crate::git_blanks::without_line_ends;
use crate::git_config;
use crate::links::{goes_out_again, resolved};
use crate::workspace::makes_one;

/// Returns the directory to which a `.git` file in a folder leads, as it is now.
pub(super) fn repository_of(folder: &Path, pointer: &[u8]) -> Option<PathBuf> {
    folder.join(way_of(pointer)?).canonicalize().ok()
}

/// Whether a `.git` file in a folder says a way as git writes it: through no link, and into no folder that it leaves again.
pub(super) fn is_straight(folder: &Path, pointer: &[u8]) -> bool {
    way_of(pointer).is_some_and(|way| {
        !goes_out_again(way)
            && resolved(&folder.join(way)).is_some_and(|(_, links)| links.is_empty())
    })
}

/// Returns the way to a repository that a `.git` file says.
pub(super) fn way_of(pointer: &[u8]) -> Option<&Path> {
    let way = without_line_ends(pointer.strip_prefix(b"gitdir: ")?);
    Some(Path::new(OsStr::from_bytes(way)))
}

/// Returns the folder that settings of a repository, which is in another folder, say its files are in.
pub(super) fn tree_of(repository: &Path, settings: &[u8]) -> Option<PathBuf> {
    let settings = std::str::from_utf8(settings).ok()?;
    Some(repository.join(git_config::last(settings, "core", "worktree")?))
}

/// Whether the settings of a repository say that its files are in a folder.
pub(super) fn has_tree(repository: &Path, folder: &Path, roots: &[PathBuf]) -> bool {
    let settings = read_beneath(&repository.join("config"), roots);
    let tree = settings.and_then(|settings| tree_of(repository, &settings)?.canonicalize().ok());
    tree.is_some() && tree == folder.canonicalize().ok()
}

/// Whether settings that were `before` in a repository may come to say that its files are in `tree`: to where no link
/// leads, in a folder whose `.git` file leads back, while none does any more where they were.
pub(super) fn may_move(
    repository: &Path,
    tree: &Path,
    before: Option<&[u8]>,
    roots: &[PathBuf],
) -> bool {
    let own = repository.canonicalize().ok();
    let leads_back = |tree: &Path| {
        let pointer = read_beneath(&tree.join(".git"), roots);
        own.is_some() && pointer.and_then(|pointer| repository_of(tree, &pointer)) == own
    };
    if goes_out_again(tree.strip_prefix(repository).unwrap_or(tree)) {
        return false;
    }
    let Some((tree, links)) = resolved(tree) else { return false };
    let old = before.and_then(|before| resolved(&tree_of(repository, before)?));
    links.is_empty()
        && leads_back(&tree)
        && old.is_none_or(|(old, _)| old == tree || !leads_back(&old))
}

/// Whether a folder is beneath a root, and neither that nor a folder on the way is a repository's own directory.
pub(super) fn is_in_work_tree(folder: &Path, roots: &[PathBuf]) -> bool {
    let is_in_git = |beneath: &Path| beneath.iter().any(|name| name == ".git");
    let is_repository = |root: &Path| {
        root.ends_with(".git") || makes_one(|name| rustix::fs::lstat(root.join(name)).is_ok())
    };
    let trees = roots.iter().filter(|root| !is_repository(root));
    let mut beneath = trees.filter_map(|root| folder.strip_prefix(root).ok());
    beneath.any(|beneath| !is_in_git(beneath))
}

/// Returns what is in a file beneath one of the roots; `None` if it cannot be read, or is longer than is kept.
fn read_beneath(path: &Path, roots: &[PathBuf]) -> Option<Vec<u8>> {
    let root = roots.iter().find(|root| path.starts_with(root))?;
    read(&open_folder_at(root).ok()?, path.strip_prefix(root).ok()?, FILE_BYTES_MAX).ok()
}
