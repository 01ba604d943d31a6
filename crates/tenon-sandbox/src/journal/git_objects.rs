//! Which places of a git repository speak of its objects. Pure.
//!
//! What a call wrote beneath `objects` is never told by a conflict: a branch that a person makes at the call's
//! commit, or a commit on top of it, changes none of these files and needs all of them.

use std::path::{Component, Path};

/// In a repository's own folder, the folders in which everything may name objects.
const FOLDERS: [&str; 8] = [
    "refs",
    "logs",
    "reftable",
    "worktrees",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "modules",
];

const OBJECTS: &str = "objects";

/// Returns the folder of the repository that `path` is an object of, or a folder with objects: what lies
/// above the innermost `objects`.
pub(super) fn repository_of(path: &Path) -> Option<&Path> {
    let mut above = path.ancestors();
    above.find(|path| path.file_name().is_some_and(|name| name == OBJECTS))?.parent()
}

/// Whether what is at `path` in a repository's own folder may name objects of it.
pub(super) fn names_objects(path: &Path) -> bool {
    let mut parts = path.components();
    let Some(Component::Normal(first)) = parts.next() else { return false };
    let Some(first) = first.to_str() else { return false };
    match parts.next() {
        Some(_) => FOLDERS.contains(&first) && repository_of(path).is_none(),
        None => {
            FOLDERS.contains(&first)
                || ["index", "packed-refs"].contains(&first)
                || first.ends_with("HEAD")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_one_of_the_repository_around_it() {
        for (path, repository) in [
            (".git/objects/ab/cdef", Some(".git")),
            (".git/objects", Some(".git")),
            ("bare.git/objects/pack/x.pack", Some("bare.git")),
            (".git/modules/sub/objects/ab", Some(".git/modules/sub")),
            ("objects/ab", Some("")),
            (".git/refs/heads/main", None),
            ("src/objects.rs", None),
        ] {
            assert_eq!(repository_of(Path::new(path)), repository.map(Path::new), "{path}");
        }
    }

    #[test]
    fn branches_the_index_and_what_is_under_way_name_objects() {
        for (path, names) in [
            ("HEAD", true),
            ("ORIG_HEAD", true),
            ("MERGE_HEAD", true),
            ("index", true),
            ("packed-refs", true),
            ("refs", true),
            ("refs/heads/a/b", true),
            ("refs/stash", true),
            ("logs/refs/stash", true),
            ("reftable/tables.list", true),
            ("worktrees/w/HEAD", true),
            ("worktrees/w/index", true),
            ("rebase-merge/onto", true),
            ("", false),
            ("config", false),
            ("COMMIT_EDITMSG", false),
            ("hooks/pre-commit", false),
            ("hooks/HEAD", false),
            ("info/exclude", false),
            ("objects/ab/cdef", false),
            ("modules/sub/objects/ab", false),
        ] {
            assert_eq!(names_objects(Path::new(path)), names, "{path}");
        }
    }
}
