//! What is in a repository's own directory, and where git writes in it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::FileType;

use super::folder::look_at;
use super::place::{Way, is_repository_root, is_way};
use crate::workspace::makes_one;

/// Where in a repository's own directory git, or what goes with it, writes files, besides beside these.
pub(super) const WRITTEN_BY_GIT: [&str; 15] = [
    "NOTES_MERGE_WORKTREE",
    "annex",
    "filter-repo",
    "fsmonitor--daemon",
    "lfs",
    "logs",
    "lost-found",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "rr-cache",
    "sequencer",
    "svn",
];

/// What git, or git-lfs, opens in folders of a work tree as soon as it is there.
const READ_BY_GIT: [&str; 5] =
    [".gitattributes", ".gitignore", ".gitmodules", ".lfsconfig", ".mailmap"];

pub(super) fn is_in_git(beneath: &Path) -> bool {
    beneath.iter().any(|name| name == ".git")
}

/// Whether git may write in a folder, by the names on its way.
pub(super) fn may_be_of_git(folder: &Path) -> bool {
    let is_known = |name: &OsStr| WRITTEN_BY_GIT.iter().any(|known| name == *known);
    folder.iter().any(|name| name == ".git" || is_known(name))
}

/// Whether a link stands in a repository's own directory beside `HEAD`, which alone may be one.
pub(super) fn is_beside_head(root: &Path, top: &OwnedFd, link: &Path) -> bool {
    let is_head = link.file_name() == Some(OsStr::new("HEAD"));
    !is_head && link.parent().is_some_and(|folder| is_repository(root, top, folder))
}

/// Whether a link is deeper in a repository's own directory, where git writes: anywhere in one that is called `.git`, else
/// where it writes itself. What else is there may be the person's.
pub(super) fn is_where_git_writes(root: &Path, top: &OwnedFd, link: &Path) -> bool {
    let Some(folder) = link.parent() else { return false };
    if !may_be_of_git(folder) {
        return false;
    }
    let is_of_git = |place: &Path| {
        let is_known = place.file_name().is_some_and(|name| may_be_of_git(name.as_ref()));
        is_known && place.parent().is_some_and(|above| is_repository(root, top, above))
    };
    let is_deep = is_in_git(folder) && !is_repository(root, top, folder);
    is_deep || folder.ancestors().any(is_of_git)
}

/// Whether git would wait at a pipe: where it writes, and in a work tree where it reads by name.
pub(super) fn would_wait_at(root: &Path, top: &OwnedFd, pipe: &Path) -> bool {
    pipe.file_name().is_some_and(is_read_by_git)
        || pipe.parent().is_some_and(|folder| is_repository(root, top, folder))
        || is_where_git_writes(root, top, pipe)
}

/// Whether git opens a file by this name in a work tree.
pub(super) fn is_read_by_git(name: &OsStr) -> bool {
    READ_BY_GIT.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a folder among others is a repository's own, whatever it is called: a submodule can have any name.
pub(super) fn has_head(top: &OwnedFd, folder: &Path) -> bool {
    let head = folder.join("HEAD");
    let is_file = || {
        let stat = look_at(top, &head).and_then(rustix::fs::fstat);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file())
    };
    let names_branch = || {
        let target = rustix::fs::readlinkat(top, &head, Vec::new());
        target.is_ok_and(|target| target.to_bytes().starts_with(b"refs/"))
    };
    is_file() || names_branch()
}

/// Whether git takes a folder for a repository's own, by its name or by what is in it.
pub(super) fn is_repository(root: &Path, top: &OwnedFd, folder: &Path) -> bool {
    if folder.as_os_str().is_empty() {
        return is_repository_root(root);
    }
    is_way(root, folder, Way::Repository)
        || makes_one(|name| look_at(top, &folder.join(name)).is_ok())
}
