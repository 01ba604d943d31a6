//! Walks: what is shown, in which order, and what is left out.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tenon_sandbox::{EntryKind, WalkOptions, Workspace};

use crate::skipped::skipped;

fn make(files: &[(&str, &str)]) -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let workspace = Workspace::open(folder.path()).unwrap();
    (folder, workspace)
}

fn files(workspace: &Workspace, start: &str, options: WalkOptions) -> Vec<String> {
    let entries = workspace.walk(start, options).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.kind != EntryKind::Directory);
    files.map(|entry| entry.path.to_str().unwrap().to_owned()).collect()
}

fn check(workspace: &Workspace, start: &str, expected: &[&str]) {
    assert_eq!(files(workspace, start, WalkOptions::default()), expected, "{start}");
}

#[test]
fn entries_come_sorted_and_links_are_not_followed() {
    let (folder, workspace) = make(&[("b", ""), ("a/z", ""), ("a/y", "12"), (".hidden", "")]);
    symlink("..", folder.path().join("a/up")).unwrap();
    symlink("/etc", folder.path().join("c")).unwrap();
    check(&workspace, ".", &[".hidden", "a/up", "a/y", "a/z", "b", "c"]);
    check(&workspace, "a", &["a/up", "a/y", "a/z"]);
    check(&workspace, "a/y", &["a/y"]);
    let entries: Vec<_> =
        workspace.walk("a", WalkOptions::default()).unwrap().map(Result::unwrap).collect();
    let seen: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.len)).collect();
    assert_eq!(seen[1], (EntryKind::File, 2));
    assert_eq!(seen[0].0, EntryKind::Link);
}

#[test]
fn spec_33_spec_34_ignored_files_are_left_out() {
    let (_folder, workspace) = make(&[
        (".gitignore", "*.log\n/target/\n!keep.log\n# remark\n\nsub/only-here\n"),
        (".ignore", "noise\n"),
        (".git/info/exclude", "private\n"),
        (".git/config", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("noise", ""),
        ("private", ""),
        ("target/x", ""),
        ("sub/target/x", ""),
        ("sub/only-here", ""),
        ("sub/.gitignore", "!b.log\nlocal\n"),
        ("sub/b.log", ""),
        ("sub/c.log", ""),
        ("sub/local", ""),
        ("sub/noise", ""),
    ]);
    let shown =
        [".gitignore", ".ignore", "keep.log", "sub/.gitignore", "sub/b.log", "sub/target/x"];
    check(&workspace, ".", &shown);
    // Rules above the start count too.
    check(&workspace, "sub", &["sub/.gitignore", "sub/b.log", "sub/target/x"]);
    // Whoever names an ignored folder means it.
    check(&workspace, "target", &["target/x"]);
    let all = WalkOptions { include_ignored: true, ..WalkOptions::default() };
    assert_eq!(files(&workspace, ".", all).len(), 14);
}

#[test]
fn rules_of_a_repository_end_at_a_repository_within() {
    let (_folder, workspace) = make(&[
        (".git/HEAD", ""),
        (".gitignore", "*.log\n"),
        ("part/.git/HEAD", ""),
        ("part/a.log", ""),
        ("part/deep/b.log", ""),
        ("b.log", ""),
    ]);
    check(&workspace, ".", &[".gitignore", "part/a.log", "part/deep/b.log"]);
    check(&workspace, "part/deep", &["part/deep/b.log"]);
}

#[test]
fn paths_in_another_root_are_absolute() {
    let (_folder, workspace) = make(&[("a", "")]);
    let (other, _) = make(&[("b/c", "")]);
    let workspace = workspace.with_root(other.path()).unwrap();
    let root = other.path().canonicalize().unwrap();
    check(&workspace, root.to_str().unwrap(), &[root.join("b/c").to_str().unwrap()]);
}

#[test]
fn a_filter_leaves_out_entries_and_walks_into_folders() {
    let (_folder, workspace) = make(&[("a/x.rs", ""), ("a/y.txt", ""), ("b.rs", "")]);
    let walk = workspace.walk(".", WalkOptions::default()).unwrap();
    let walk = walk.only(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let paths: Vec<_> = walk.map(|entry| entry.unwrap().path).collect();
    assert_eq!(paths, [Path::new("a/x.rs"), Path::new("b.rs")]);
}

#[test]
fn a_walk_ends_at_its_bound_and_says_so() {
    let (_folder, workspace) = make(&[("a", ""), ("b", ""), ("c", "")]);
    for (entries_max, count, is_cut) in [(2, 2, true), (3, 3, false)] {
        let options = WalkOptions { entries_max, ..WalkOptions::default() };
        let mut walk = workspace.walk(".", options).unwrap();
        assert_eq!((walk.by_ref().count(), walk.is_cut()), (count, is_cut));
    }
}

#[test]
fn a_folder_that_cannot_be_read_does_not_end_the_walk() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        skipped("for root every folder is readable; runs as another user elsewhere");
        return;
    }
    let (folder, workspace) = make(&[("a/x", ""), ("b", "")]);
    fs::set_permissions(folder.path().join("a"), fs::Permissions::from_mode(0o0)).unwrap();
    let items: Vec<_> = workspace.walk(".", WalkOptions::default()).unwrap().collect();
    assert!(items[0].is_err());
    assert_eq!(items[1].as_ref().unwrap().path, Path::new("b"));
    fs::set_permissions(folder.path().join("a"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_very_deep_folder_is_walked_without_running_out_of_descriptors() {
    let (folder, workspace) = make(&[]);
    let mut path = folder.path().to_path_buf();
    for _ in 0..300 {
        path.push("d");
        fs::create_dir(&path).unwrap();
    }
    let walk = workspace.walk(".", WalkOptions::default()).unwrap();
    assert_eq!(walk.filter(Result::is_ok).count(), 256);
}
