//! The repositories of linked worktrees and submodules: what `.git` in a root says, read before any command runs.

use std::path::{Path, PathBuf};

use super::Settings;
use crate::git_config;

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
}
