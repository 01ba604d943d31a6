//! What a merge leaves for the next commit is the person's alone, and names no file behind a link.

use super::written::COMMITTED;
use super::{Guard, Journaled, ProtectedChangeKind, check, found, shell};

/// A merge with a conflict in `a` and in `d/b`.
const CONFLICT: &str = "git checkout -qb s; echo s > a; echo t > d/b; git commit -qam s; git checkout -q main; echo m > a; echo n > d/b; \
     git commit -qam m; git merge -q s || test -s .git/MERGE_RR";

const RERERE: &str = "git config rerere.enabled true";

#[test]
fn no_list_of_conflicts_of_a_command_stays() {
    let gone = [(".git/MERGE_RR", "-")];
    let merge = format!("{RERERE}; {CONFLICT}");
    assert_eq!(check(COMMITTED, &merge, &gone), [".git/MERGE_RR"]);
    // Git makes an empty one where it has nothing to list.
    let solved =
        format!("{merge}; echo x | tee a > d/b; git commit -qam solved; test -e .git/MERGE_RR");
    assert_eq!(check(COMMITTED, &solved, &[(".git/MERGE_RR", "")]), [""; 0]);
    let id = "0".repeat(40);
    let setup = format!(
        "{COMMITTED}; git clone -q --bare . b; git worktree add -q w; mkdir -p .git/modules; git clone -q --bare . .git/modules/m"
    );
    for folder in [".git", "b", ".git/worktrees/w", ".git/modules/m"] {
        let list = format!("{folder}/MERGE_RR");
        for content in [&format!("{id}\\ta\\0"), &format!("{id}\\td/none\\0"), "evil"] {
            let attack = format!("printf '{content}' > {list}");
            assert_eq!(check(&setup, &attack, &[(&list, "-")]), [list.as_str()], "{content}");
        }
    }
    let linked = format!("{CONFLICT}; rm a; ln -s d/b a");
    let merge = format!("{RERERE}; {linked}");
    assert_eq!(check(COMMITTED, &merge, &gone), [".git/MERGE_RR"]);
}

#[test]
fn a_list_of_conflicts_that_was_there_comes_back_or_becomes_shorter() {
    let setup =
        format!("{COMMITTED}; {RERERE}; {CONFLICT}; cp .git/MERGE_RR before; cp before ../RR");
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("RR");
    let copied = setup.replace("../RR", list.to_str().unwrap());
    let run = |attack: &str, expected: &dyn Fn(&str) -> String, told: &[&str]| {
        let changes = super::check_with(&copied, attack, |root| {
            let before = found(&list);
            assert_eq!(found(&root.join(".git/MERGE_RR")), expected(&before), "{attack}");
        });
        assert_eq!(changes, told, "{attack}");
    };
    let same = |before: &str| before.to_owned();
    let none = |_: &str| "-".to_owned();
    run("echo 1 > a", &same, &[]);
    run("rm d/b; touch .git/MERGE_RR", &same, &[]);
    run("git merge --abort", &none, &[]);
    run("echo x | tee a > d/b; git commit -qam solved", &|_| String::new(), &[]);
    run(
        "git checkout -q --ours a; git add a; git rerere",
        &|before| {
            let rest = before.split_inclusive('\0').filter(|entry| !entry.ends_with("\ta\0"));
            rest.collect()
        },
        &[],
    );
    for attack in [
        "cat before before > .git/MERGE_RR; sed -i s,d/b,d/c, .git/MERGE_RR",
        "echo x >> .git/MERGE_RR",
    ] {
        run(attack, &same, &[".git/MERGE_RR"]);
    }
    for attack in [
        "rm a; ln -s d/b a",
        "mv d e; ln -s e d",
        "mv d e; ln -s e d; echo x > .git/MERGE_RR",
        "rm a; ln -s /nonexistent a",
    ] {
        run(attack, &none, &[".git/MERGE_RR"]);
    }
    let elsewhere = format!("{COMMITTED}; {RERERE}; {CONFLICT}; git config core.worktree ..");
    let gone = [(".git/MERGE_RR", "-")];
    assert_eq!(check(&elsewhere, "echo 1 > a", &gone), [".git/MERGE_RR"]);
}

#[test]
fn a_list_of_conflicts_goes_while_commands_run() {
    let folder = tempfile::tempdir().unwrap();
    let roots = [folder.path().canonicalize().unwrap()];
    shell(&roots[0], &format!("{COMMITTED}; {RERERE}; {CONFLICT}"));
    let list = roots[0].join(".git/MERGE_RR");
    let mut guard = Guard::default();
    guard.begin(&roots, &[], Journaled::Needless).unwrap();
    assert!(guard.look().is_empty() && list.exists());
    let is_told = |guard: &mut Guard| {
        let told: Vec<_> = guard.look().into_iter().map(|change| change.kind).collect();
        told == [ProtectedChangeKind::GitConflicts { is_out: true }]
    };
    shell(&roots[0], "cp .git/MERGE_RR own; rm a; ln -s d/b a");
    assert!(is_told(&mut guard) && !list.exists());
    shell(&roots[0], "rm a; echo 1 > a; cp own .git/MERGE_RR");
    assert!(is_told(&mut guard) && !list.exists());
}

#[test]
fn no_stash_that_a_command_has_a_commit_apply_stays() {
    let setup = format!(
        "{COMMITTED}; git checkout -qb side; echo s > a; git commit -qam s; git checkout -q main; echo m > a; git commit -qam m"
    );
    let gone = [(".git/MERGE_AUTOSTASH", "-")];
    let merge = "echo u > u; git add u; ! git merge -q --autostash side 2>/dev/null; test -s .git/MERGE_AUTOSTASH -a -s .git/MERGE_HEAD";
    for attack in [
        merge,
        "git rev-parse HEAD | tee .git/MERGE_HEAD > .git/MERGE_AUTOSTASH",
        "git rev-parse side > .git/MERGE_HEAD; git rev-parse HEAD > .git/MERGE_AUTOSTASH",
    ] {
        assert_eq!(check(&setup, attack, &gone), [".git/MERGE_AUTOSTASH"], "{attack}");
    }
    let own = format!("{setup}; {merge}; cp .git/MERGE_AUTOSTASH before");
    let folder = tempfile::tempdir().unwrap();
    let roots = [folder.path().canonicalize().unwrap()];
    shell(&roots[0], &own);
    let (stash, before) = (roots[0].join(".git/MERGE_AUTOSTASH"), found(&roots[0].join("before")));
    let mut guard = Guard::default();
    let hash = "0123456789abcdef0123456789abcdef01234567";
    for (command, is_told) in [
        ("echo 1 > a", false),
        ("cp before .git/MERGE_AUTOSTASH", false),
        ("git rev-parse side > .git/MERGE_AUTOSTASH", true),
        (&format!("echo {hash} > .git/MERGE_AUTOSTASH"), true),
    ] {
        guard.begin(&roots, &[], Journaled::Needless).unwrap();
        guard.begin(&roots, &[], Journaled::Needless).unwrap();
        shell(&roots[0], command);
        let mut changes = guard.end(None);
        assert_eq!(
            (changes.len(), found(&stash)),
            (usize::from(is_told), before.clone()),
            "{command}"
        );
        if command.contains(hash) {
            let said = changes.remove(0).to_string();
            assert!(
                said.ends_with(&format!("`git stash apply {hash}` brings back what was set aside there; put back as it was")),
                "{said}"
            );
        }
        assert!(guard.end(None).is_empty(), "{command}");
    }
    guard.begin(&roots, &[], Journaled::Needless).unwrap();
    shell(
        &roots[0],
        "git commit -qam merged; test ! -e .git/MERGE_AUTOSTASH; git diff --quiet HEAD -- a; git diff --cached --name-only | grep -q u",
    );
    assert!(guard.end(None).is_empty());
}
