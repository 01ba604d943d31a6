//! The repositories of linked worktrees and submodules: what `.git` in a root says, read before any command runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::Settings;
use crate::git_config;
use crate::guard::names_at;
use crate::linux::openat::open_plain;

/// What git writes in a repository's directory, folders all of them.
const WRITTEN: [&str; 9] =
    ["annex", "lfs", "logs", "modules", "objects", "refs", "reftable", "rr-cache", "worktrees"];

/// What else it has there, but for names that end or begin in a certain way.
const READ: [&str; 17] = [
    "HEAD",
    "branches",
    "commondir",
    "config",
    "description",
    "git-daemon-export-ok",
    "gitdir",
    "hooks",
    "index",
    "info",
    "packed-refs",
    "rebase-apply",
    "rebase-merge",
    "remotes",
    "sequencer",
    "shallow",
    "svn",
];

/// Returns the directories of repositories whose worktrees, or submodules, the roots are: what `.git`
/// there says, if the repository says the same. Asked once, before any command ran.
pub(super) fn repositories(settings: &Settings) -> Vec<PathBuf> {
    linked_repositories(&settings.roots).collect()
}

fn linked_repositories(roots: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    roots.iter().filter_map(|root| linked_repository(root))
}

/// Returns the directories of repositories that lie in none of the roots, and whose linked worktrees or submodules
/// roots are. Commands of the session may write them ([`super::Sandbox`]); a journal records nothing there.
///
/// ```
/// assert!(tenon_sandbox::repositories_outside(&["/nowhere".into()]).is_empty());
/// ```
#[must_use]
pub fn repositories_outside(roots: &[PathBuf]) -> Vec<PathBuf> {
    let is_outside = |path: &PathBuf| !roots.iter().any(|root| path.starts_with(root));
    linked_repositories(roots).filter(is_outside).collect()
}

/// Returns what lies in a repository's directory and is none of git's, if that is no `.git` and has linked worktrees:
/// those, and whatever else stands beside them where they are made beneath a bare repository. Folders and files, no links.
pub(super) fn foreign_in(repository: &Path) -> Vec<PathBuf> {
    if repository.ends_with(".git") {
        return Vec::new();
    }
    // A command may have closed it.
    let names = names_at(repository);
    if !names.iter().any(|(name, kind)| name == "worktrees" && kind.is_dir()) {
        return Vec::new();
    }
    let is_foreign = |(name, kind): &&(OsString, FileType)| {
        (kind.is_dir() || kind.is_file()) && !is_of_git(&name.to_string_lossy())
    };
    names.iter().filter(is_foreign).map(|(name, _)| repository.join(name)).collect()
}

/// Returns what of a repository's directory commands write where nothing in it can be made read-only, and what
/// they read of it: all of it, if all is git's, and else what git writes for a commit, which is in folders.
pub(super) fn parts_of(repository: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    if foreign_in(repository).is_empty() {
        return (vec![repository.to_path_buf()], Vec::new());
    }
    let there = |names: &[&str]| {
        let paths = names.iter().map(|name| repository.join(name));
        paths.filter(|path| open_plain(path).is_ok()).collect()
    };
    (there(&WRITTEN), there(&READ))
}

/// Whether git, or what goes with it, has this name in a repository's directory.
fn is_of_git(name: &str) -> bool {
    // Heads, messages and what is under way: COMMIT_EDITMSG, MERGE_HEAD, NOTES_MERGE_WORKTREE.
    let is_state =
        name.contains('_') && name.chars().all(|it| it.is_ascii_uppercase() || it == '_');
    let is_file = name.ends_with(".lock") || name.starts_with("config") || name.starts_with("gc.");
    let is_index = name.starts_with("sharedindex.") || name.starts_with("fsmonitor--daemon");
    is_state || is_file || is_index || WRITTEN.contains(&name) || READ.contains(&name)
}

/// Whether a path lies in one of [`repositories_outside`], and not in what lies there beside what is git's, which
/// commands do not write.
///
/// ```
/// assert!(!tenon_sandbox::is_in_repository_outside(&["/nowhere".into()], "/nowhere".as_ref()));
/// ```
#[must_use]
pub fn is_in_repository_outside(roots: &[PathBuf], path: &Path) -> bool {
    let is_in = |folder: &PathBuf| path.starts_with(folder);
    let mut repositories = repositories_outside(roots).into_iter().filter(is_in);
    repositories.any(|repository| !foreign_in(&repository).iter().any(is_in))
}

#[expect(clippy::disallowed_methods, reason = "git's own pointers, read before any command runs")]
fn linked_repository(root: &Path) -> Option<PathBuf> {
    let pointer = root.join(".git");
    let read = |path: PathBuf| {
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|file| file.is_file());
        is_file.then(|| std::fs::read_to_string(path).ok()).flatten()
    };
    let text = read(pointer.clone())?;
    let own = root.join(text.trim_end().strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let is_repository =
        |folder: &Path| ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).exists());
    let tree = read(own.join("config"));
    if let Some(tree) = tree.and_then(|text| git_config::last(&text, "core", "worktree")) {
        // A submodule's repository says where its files are.
        let fits = own.join(tree).canonicalize().ok()? == root.canonicalize().ok()?;
        return (fits && is_repository(&own)).then_some(own);
    }
    let back = Path::new(read(own.join("gitdir"))?.trim_end()).canonicalize().ok()?;
    let common = own.join(read(own.join("commondir"))?.trim_end()).canonicalize().ok()?;
    let fits = back == pointer && own.starts_with(common.join("worktrees"));
    (fits && is_repository(&common)).then_some(common)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_to_a_repository_counts_only_if_the_repository_points_back() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (common, tree) = (top.join("main/.git"), top.join("tree"));
        let own = common.join("worktrees/tree");
        for path in [&own, &common.join("objects"), &common.join("refs"), &tree] {
            std::fs::create_dir_all(path).unwrap();
        }
        let write = |path: PathBuf, text: String| std::fs::write(path, text).unwrap();
        write(common.join("HEAD"), "ref: refs/heads/main\n".into());
        write(own.join("commondir"), "../..\n".into());
        write(tree.join(".git"), format!("gitdir: {}\n", own.display()));
        write(own.join("gitdir"), format!("{}/.git\n", tree.display()));
        assert_eq!(linked_repository(&tree), Some(common.clone()));
        write(own.join("gitdir"), "/elsewhere/.git\n".into());
        assert_eq!(linked_repository(&tree), None);
        write(tree.join(".git"), "gitdir: ../main/.git\n".into());
        assert_eq!(linked_repository(&tree), None);
        write(common.join("config"), "[core]\n\tbare = false\n\tworktree = ../../tree\n".into());
        assert_eq!(linked_repository(&tree), Some(common.clone()));
        write(common.join("config"), "[core]\n\tworktree = ../../other\n".into());
        assert_eq!(linked_repository(&tree), None);
    }

    #[test]
    fn what_is_none_of_gits_in_a_bare_repository_is_told_from_what_is() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let check = |repository: &str, foreign: &[&str]| {
            let repository = top.join(repository);
            let mut found = foreign_in(&repository);
            found.sort();
            assert_eq!(found, foreign.iter().map(|name| repository.join(name)).collect::<Vec<_>>());
            parts_of(&repository)
        };
        for name in ["pure.git", "with", "main/.git"] {
            for inner in ["objects", "refs", "worktrees/a", "hooks"] {
                std::fs::create_dir_all(top.join(name).join(inner)).unwrap();
            }
            let files = ["HEAD", "config", "packed-refs", "FETCH_HEAD", "config.lock", "gc.log"];
            for file in files.into_iter().chain(["COMMIT_EDITMSG", "AUTO_MERGE", "BISECT_LOG"]) {
                std::fs::write(top.join(name).join(file), "").unwrap();
            }
        }
        assert_eq!(check("pure.git", &[]), (vec![top.join("pure.git")], Vec::new()));
        for name in ["with", "main/.git"] {
            std::fs::create_dir(top.join(name).join("tree")).unwrap();
            std::fs::write(top.join(name).join("notes"), "").unwrap();
        }
        std::os::unix::fs::symlink("notes", top.join("with/link")).unwrap();
        let (written, read) = check("with", &["notes", "tree"]);
        assert_eq!(
            written,
            ["objects", "refs", "worktrees"].map(|name| top.join("with").join(name))
        );
        let expected = ["HEAD", "config", "hooks", "packed-refs"];
        assert_eq!(read, expected.map(|name| top.join("with").join(name)));
        assert_eq!(check("main/.git", &[]).1, Vec::<PathBuf>::new());
    }
}
