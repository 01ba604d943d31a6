//! Protected files that a command moves, or copies, to where they count for more.

use super::*;

const DEPENDENCY: &str = "mkdir -p vendor/dep/.vscode vendor/dep/deep && echo own > vendor/dep/.envrc && \
                          echo t > vendor/dep/.vscode/tasks.json && echo o > vendor/dep/deep/.envrc";

#[test]
fn what_a_dependency_has_for_itself_does_not_come_higher_up() {
    let check = |work: &str, told: &[&str], there: &[(&str, &str)]| {
        assert_eq!(check(DEPENDENCY, work, there), told, "{work}");
    };
    let all = [".envrc", ".vscode/tasks.json"];
    let gone = [(".envrc", "-"), (".vscode/tasks.json", "-")];
    check("mv vendor/dep/.vscode vendor/dep/.envrc . && rm -rf vendor/dep", &all, &gone);
    let told = ["vendor/.envrc"];
    check(
        "mv vendor/dep/deep/.envrc vendor && rm -rf vendor/dep",
        &told,
        &[("vendor/.envrc", "-")],
    );
    // A folder that moved as a whole has them for itself still.
    let there = [("dep/.envrc", "own\n"), ("dep/.vscode/tasks.json", "t\n")];
    check("mv vendor/dep . && rmdir vendor", &[], &there);
    let there = [("q/r/s/.envrc", "own\n")];
    check("mkdir -p q/r/s && mv vendor/dep/.envrc q/r/s && rm -rf vendor", &[], &there);
}

#[test]
fn the_repository_of_a_dependency_does_not_become_that_of_the_workspace() {
    let setup = "git init -q vendor/dep && echo own > vendor/dep/.git/hooks/pre-push && \
                 git -C vendor/dep config core.pager mine";
    let work = "mv vendor/dep/.git . && rm -rf vendor/dep";
    let told = [".git/config", ".git/hooks/pre-push"];
    assert_eq!(check(setup, work, &[(".git/hooks/pre-push", "-")]), told);
    let there = [("dep/.git/hooks/pre-push", "own\n")];
    assert_eq!(check(setup, "mv vendor/dep .", &there), [""; 0]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "plays the person and the command")]
fn a_root_in_another_one_is_as_deep_as_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let inner = top.join("vendor/dep");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join(".envrc"), "own").unwrap();
    let mut guard = Guard::default();
    guard.begin(&[top.clone(), inner.clone()], &[], Journaled::Nowhere).unwrap();
    std::fs::copy(inner.join(".envrc"), top.join(".envrc")).unwrap();
    std::fs::create_dir(inner.join("q")).unwrap();
    std::fs::copy(inner.join(".envrc"), inner.join("q/.envrc")).unwrap();
    let told: Vec<_> = guard.end(None).into_iter().map(|change| change.path).collect();
    assert_eq!(told, [top.join(".envrc")]);
    assert!(inner.join("q/.envrc").exists() && !top.join(".envrc").exists());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "plays the person and the command")]
fn the_first_of_two_names_can_be_that_of_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let root = top.join(".claude");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("settings.json"), "own").unwrap();
    let mut guard = Guard::default();
    guard.begin(std::slice::from_ref(&root), &[], Journaled::Nowhere).unwrap();
    std::fs::write(root.join("settings.json"), "evil").unwrap();
    std::fs::create_dir_all(root.join("hooks")).unwrap();
    for name in ["hooks/x.sh", "agents.json"] {
        std::fs::write(root.join(name), "evil").unwrap();
    }
    let told: Vec<_> = guard.end(None).into_iter().map(|change| change.path).collect();
    assert_eq!(told, ["hooks/x.sh", "settings.json"].map(|name| root.join(name)));
    assert_eq!(std::fs::read(root.join("settings.json")).unwrap(), b"own");
}
