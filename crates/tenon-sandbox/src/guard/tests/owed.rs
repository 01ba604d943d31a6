//! What could not be put back is no state that anybody meant.

use super::*;

/// Runs a command; returns what was changed, and whether that was put back.
fn command(guard: &mut Guard, root: &Path, script: &str) -> Vec<(String, bool)> {
    guard.begin(&[root.to_path_buf()], &[], Journaled::Nowhere).unwrap();
    shell(root, script);
    let mut changes = guard.end(None);
    changes.retain(|change| !is_lack(&change.kind));
    let named = |change: &ProtectedChange| {
        let path = change.path.strip_prefix(root).unwrap().display().to_string();
        (path, change.put_back)
    };
    changes.iter().map(named).collect()
}

#[test]
fn what_could_not_be_put_back_is_owed_until_it_is_or_somebody_changed_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    shell(
        &root,
        "mkdir a b; echo mine > b/.envrc; chattr +i a && touch able && chattr -i a || true",
    );
    if found(&root.join("able")) == "-" {
        return println!(
            "skipped: only root can make a folder immutable, and not on every file system"
        );
    }
    let mut guard = Guard::default();
    let left = command(&mut guard, &root, "echo evil > a/.envrc; rm b/.envrc; chattr +i a b");
    assert_eq!(left, [("a/.envrc".to_owned(), false), ("b/.envrc".to_owned(), false)]);
    assert_eq!(command(&mut guard, &root, "true"), left, "it is tried again, and told");
    shell(&root, "chattr -i a b");
    let done = command(&mut guard, &root, "true");
    assert_eq!(done, [("a/.envrc".to_owned(), true), ("b/.envrc".to_owned(), true)]);
    assert_eq!(
        (found(&root.join("a/.envrc")), found(&root.join("b/.envrc"))),
        ("-".into(), "mine\n".into())
    );
    let left = command(&mut guard, &root, "echo evil > a/.envrc; chattr +i a");
    assert_eq!(left, [("a/.envrc".to_owned(), false)]);
    shell(&root, "chattr -i a; echo theirs > a/.envrc");
    assert_eq!(command(&mut guard, &root, "true"), []);
    assert_eq!(found(&root.join("a/.envrc")), "theirs\n");
}
