//! Permissions of protected folders.

use super::*;

#[test]
fn permissions_of_protected_folders_are_put_back() {
    let setup = format!("{REPOSITORY} && mkdir -p .vscode/a && chmod 755 .git/* .vscode .vscode/a");
    let attack = "chmod 777 .git/hooks .vscode/a && chmod 500 .git/info && chmod 1755 .vscode";
    let kept = [".git/hooks", ".git/info", ".vscode", ".vscode/a"];
    assert_eq!(check(&setup, attack, &kept.map(|name| (name, "755"))), kept);
    // What is in the repository besides is the work.
    assert!(check(&setup, "chmod 700 .git .git/objects", &[(".git", "700")]).is_empty());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "looks from outside")]
fn permissions_of_protected_files_are_put_back() {
    use std::os::unix::fs::PermissionsExt;
    let setup = format!(
        "{REPOSITORY} && echo own > .envrc && mkdir .vscode && echo own > .vscode/t && \
         chmod 644 .envrc .vscode/t .git/config"
    );
    let check = |work: &str, name: &str, (mode, text): (u32, &str), expected: &[&str]| {
        let mut seen = None;
        let changes = check_with(&setup, work, |root| {
            let path = root.join(name);
            let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
            seen = Some((mode, std::fs::read_to_string(path).unwrap()));
        });
        assert_eq!(changes, expected, "{work}");
        assert!(seen.is_some_and(|seen| seen.0 == mode && seen.1.contains(text)), "{work}");
    };
    for work in ["chmod 666 .envrc", "cp .envrc y && chmod 622 y && mv y .envrc"] {
        check(work, ".envrc", (0o644, "own"), &[".envrc"]);
    }
    check("chmod 606 .vscode/t", ".vscode/t", (0o644, "own"), &[".vscode/t"]);
    check("mkdir q && cp .envrc q && chmod 646 q/.envrc", ".envrc", (0o644, "own"), &["q/.envrc"]);
    // A checkout makes them anew, by the umask of now.
    check("cp .envrc y && chmod 664 y && mv y .envrc", ".envrc", (0o664, "own"), &[]);
    // Settings of git may change, and be closed to others.
    let config = ".git/config";
    check("chmod 666 .git/config", config, (0o644, "core"), &[config]);
    check(
        "git config user.name me && chmod 620 .git/config",
        config,
        (0o644, "name = me"),
        &[config],
    );
    check("git config user.name me && chmod 600 .git/config", config, (0o600, "name = me"), &[]);
}

#[test]
fn what_a_command_closed_is_opened_and_what_is_in_it_put_back() {
    let setup = "mkdir -p .idea/a && echo own > .idea/a/t && echo own > .idea/a/u && \
                 chmod 755 .idea .idea/a";
    let attack = "echo evil > .idea/a/t && chmod 0 .idea/a && chmod 0 .idea";
    let kept =
        [(".idea", "755"), (".idea/a", "755"), (".idea/a/t", "own\n"), (".idea/a/u", "own\n")];
    assert_eq!(check(setup, attack, &kept), [".idea", ".idea/a", ".idea/a/t"]);
}

#[test]
fn a_folder_counts_as_long_as_it_has_protected_names() {
    let setup =
        "mkdir .claude .github && echo own > .claude/settings.json && chmod 755 .claude .github";
    let attack = "chmod 777 .claude .github";
    assert_eq!(check(setup, attack, &[(".claude", "755"), (".github", "777")]), [".claude"]);
    let attack = "chmod 777 .claude && rm .claude/settings.json";
    let kept = [(".claude", "755"), (".claude/settings.json", "own\n")];
    assert_eq!(check(setup, attack, &kept), [".claude", ".claude/settings.json"]);
}

#[test]
fn another_folder_in_its_place_and_it_at_another_place_have_its_permissions() {
    let setup = "mkdir -p .vscode a/.vscode && echo own > .vscode/t && echo own > a/.vscode/t && \
                 chmod 755 .vscode a/.vscode";
    let attack = "mv .vscode v && mkdir -m 777 .vscode && mv v/t .vscode";
    assert_eq!(check(setup, attack, &[(".vscode", "755")]), [".vscode"]);
    let attack = "mv a b && chmod 777 b/.vscode";
    assert_eq!(check(setup, attack, &[("b/.vscode", "755")]), ["b/.vscode"]);
}

#[test]
fn folders_come_and_go_with_the_permissions_that_they_have() {
    let setup = "mkdir -p .idea n/.vscode && chmod 755 .idea n/.vscode";
    let work = "rm -r .idea n && mkdir -m 700 .vscode";
    assert!(check(setup, work, &[(".idea", "-"), (".vscode", "700")]).is_empty());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "plays the command")]
fn folders_of_own_settings_have_their_permissions_back_after_a_kill() {
    use std::fs::{Permissions, create_dir_all, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (root, state) = (top.join("home"), top.join("state"));
    let own = root.join(".config/fish");
    for path in [&own, &state] {
        create_dir_all(path).unwrap();
    }
    let set = |mode| set_permissions(&own, Permissions::from_mode(mode)).unwrap();
    set(0o755);
    let mut guard = Guard::new(100, (vec![own.clone()], vec![]), Some(state.clone()));
    guard.begin(std::slice::from_ref(&root), &[], Journaled::Nowhere).unwrap();
    create_dir_all(own.join("new")).unwrap();
    set(0o777);
    guard.abandon();
    drop(guard);
    let changes = look_after_own(&state).remove(0).changes;
    assert!(changes.len() == 1 && changes[0].path == own && changes[0].put_back, "{changes:?}");
    assert_eq!(found(&own), "755");
}
