//! Submodules that commands move, and those that they have lead elsewhere.

use super::{Guard, Journaled, check, shell};

const SUBMODULE: &str = "export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e; \
                         git init -q o; git -C o commit -q --allow-empty -m m; git init -q .; mkdir deep; \
                         git -c protocol.file.allow=always submodule --quiet add ./o lib; git init -q other; mkdir tree";

#[test]
fn a_submodule_that_git_moves_stays_where_it_is_moved() {
    for (to, up) in [
        ("lib2", ""),
        ("deep/lib", "../"),
        ("their lib", ""),
        ("w\u{f6}rk+1", ""),
        ("deep/l\u{ed}b (o'ld); $x", "../"),
    ] {
        let quoted = format!("\"{}\"", to.replace('$', "\\$"));
        let work = format!(
            "git mv lib {quoted}; git status --short; git -C {quoted} status; \
             test \"$(git config -f .git/modules/lib/config --get-all core.worktree)\" = ../../../{quoted}"
        );
        let pointer = format!("{to}/.git");
        let text = format!("gitdir: {up}../.git/modules/lib\n");
        assert_eq!(check(SUBMODULE, &work, &[(&pointer, &text)]), [""; 0], "{to}");
        let back = format!("{work}; git mv {quoted} lib; git status; git -C lib status");
        let text = "gitdir: ../.git/modules/lib\n";
        assert_eq!(check(SUBMODULE, &back, &[("lib/.git", text)]), [""; 0], "{to}");
    }
    let whole = "echo \"gitdir: $PWD/.git/modules/lib\" > lib/.git; git -C lib status";
    assert_eq!(check(SUBMODULE, whole, &[]), [""; 0]);
}

#[test]
fn a_submodule_of_a_linked_worktree_stays_where_it_is_moved() {
    let worktree = format!(
        "{SUBMODULE}; git commit -qm s; git worktree add -q wt; \
         git -C wt -c protocol.file.allow=always submodule --quiet update --init"
    );
    let config = ".git/worktrees/wt/modules/lib/config";
    let work = format!(
        "git -C wt mv lib 'l 2'; git -C wt status; git -C 'wt/l 2' status; \
         test \"$(git config -f {config} --get-all core.worktree)\" = '../../../../../wt/l 2'"
    );
    assert_eq!(check(&worktree, &work, &[]), [""; 0]);
    let attack = format!("git config -f {config} core.worktree ../../../../../tree");
    assert_eq!(check(&worktree, &attack, &[]), [config]);
    // The repository of the worktree that is the session's folder.
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    std::fs::create_dir(top.join("m")).unwrap();
    shell(&top.join("m"), &worktree.replace(" wt", " ../wt"));
    let roots = [top.join("wt"), top.join("m/.git")];
    let mut guard = Guard::default();
    guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
    shell(&roots[0], "git mv lib 'l 2'; git status; git -C 'l 2' status");
    assert_eq!(guard.end(None), []);
    guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
    let hooks = "echo 'gitdir: ../worktrees/wt/modules/lib' > ../m/.git/hooks/.git; rm 'l 2/.git'; \
                 git config -f ../m/.git/worktrees/wt/modules/lib/config core.worktree ../../../../hooks";
    shell(&roots[0], hooks);
    let told = guard.end(None);
    assert!(told.iter().any(|change| change.path.ends_with("modules/lib/config")), "{told:?}");
}

#[test]
fn a_submodule_has_its_files_where_its_pointer_is() {
    let config = ".git/modules/lib/config";
    let other = "echo 'gitdir: ../.git/modules/lib' > tree/.git";
    for (attack, told) in [
        ("git config -f .git/modules/lib/config core.worktree ../../../tree".to_owned(), config),
        // The former one leads there, too.
        (format!("{other}; git config -f {config} core.worktree ../../../tree"), config),
        ("echo 'gitdir: ../other/.git' > lib/.git".to_owned(), "lib/.git"),
        (
            "mkdir -p x/y; mv lib x/y; echo 'gitdir: ../../../other/.git' > x/y/lib/.git"
                .to_owned(),
            "x/y/lib/.git",
        ),
        (
            "chmod 666 lib/.git; echo \"gitdir: $PWD/.git/modules/lib\" > lib/.git".to_owned(),
            "lib/.git",
        ),
        (
            "ln -s lib l; git config -f .git/modules/lib/config core.worktree ../../../l"
                .to_owned(),
            config,
        ),
    ] {
        assert_eq!(check(SUBMODULE, &attack, &[]), [told], "{attack}");
    }
}

#[test]
fn no_link_leads_out_where_the_files_of_a_submodule_are() {
    for attack in ["mv lib l; ln -s / lib", "mv lib l; ln -s .git/hooks lib"] {
        assert_eq!(check(SUBMODULE, attack, &[("lib", "-")]), ["lib"], "{attack}");
    }
    let deep = format!("{SUBMODULE}; git mv lib deep/lib");
    assert_eq!(check(&deep, "mv deep d; ln -s / deep", &[("deep", "-")]), ["deep"]);
    // Where it is no submodule any more, another folder may be in its place.
    let gone = format!("{SUBMODULE}; git rm -qf lib");
    for work in ["ln -s other lib; echo x > tree/f", "echo x > lib"] {
        assert_eq!(check(&gone, work, &[]), [""; 0], "{work}");
    }
    let own = format!("{SUBMODULE}; mv lib l; ln -s / lib");
    assert_eq!(check(&own, "rm lib; mv l lib", &[]), [""; 0]);
}
