//! The stash that git applies at the end of a rebase is what git set aside as the rebase began, by whoever it was.

use super::written::COMMITTED;
use super::{Guard, Journaled, check, check_with, found, shell};

/// Branches of which each is in conflict with each.
const BRANCHES: &str = "git checkout -qb side; echo s > a; git commit -qam s; git checkout -q main; echo m > a; git commit -qam m; \
     git checkout -qb next; echo n > a; git commit -qam n; git checkout -qb other main~; echo o > a; git commit -qam o; git checkout -q side";

/// Has a rebase go on to its end.
const GOES_ON: &str = "echo z > a; git add a; GIT_EDITOR=true git rebase --continue >/dev/null";

#[test]
fn a_stash_of_a_rebase_that_a_command_began_stays() {
    for backend in ["merge", "apply"] {
        let setup =
            format!("{COMMITTED}; {BRANCHES}; ! git rebase -q --{backend} main 2>/dev/null");
        let again = format!("! git rebase -q --{backend} --autostash");
        let stays = format!(
            "2>/dev/null; test -s .git/rebase-{backend}/autostash; cp .git/rebase-{backend}/autostash stash"
        );
        for work in [
            format!("{GOES_ON}; echo u > d/b; {again} next {stays}"),
            format!("git rebase --abort; echo u > d/b; {again} next {stays}"),
            format!("{GOES_ON}; echo u > d/b; {again} main other {stays}"),
        ] {
            let told = check_with(&setup, &work, |root| {
                let stash = found(&root.join(format!(".git/rebase-{backend}/autostash")));
                assert!(
                    stash == found(&root.join("stash")) && stash.len() == 41,
                    "{work}: {stash}"
                );
            });
            assert_eq!(told, [""; 0], "{work}");
        }
    }
}

#[test]
fn no_stash_of_a_command_gets_into_a_rebase_that_was_there() {
    for backend in ["merge", "apply"] {
        let setup =
            format!("{COMMITTED}; {BRANCHES}; ! git rebase -q --{backend} main 2>/dev/null");
        let folder = format!(".git/rebase-{backend}");
        let stash = format!("{folder}/autostash");
        let write = format!("git rev-parse next > {stash}");
        for attack in [
            write.clone(),
            format!(
                "git rebase --abort; echo u > d/b; ! git rebase -q --{backend} --autostash main 2>/dev/null; test -s {stash}"
            ),
            format!("cp -r {folder} x; rm -r {folder}; mv x {folder}; {write}"),
            format!("git rev-parse next > {folder}/orig-head; {write}"),
            format!("rm {folder}/onto {folder}/head-name; {write}"),
            format!("git rev-parse --short next > {folder}/onto; {write}"),
            format!("git rev-parse main | tr a-f A-F > {folder}/onto; {write}"),
            format!("echo >> {folder}/onto; echo detached HEAD > {folder}/head-name; {write}"),
        ] {
            let told = check(&setup, &attack, &[(&stash, "-")]);
            assert_eq!(told, [stash.as_str()], "{attack}");
        }
        // What is not as git writes it is put back, so that it is the same rebase again.
        let attack = format!("echo 'refs/heads/$(x)' > {folder}/head-name; {write}");
        let told = check(&setup, &attack, &[(&stash, "-")]);
        assert_eq!(told, [stash.clone(), format!("{folder}/head-name")], "{attack}");
        let attack = format!("mv r s; git -C s rev-parse next > s/{stash}");
        let setup = format!("mkdir r; cd r; {setup}");
        let moved = format!("s/{stash}");
        assert_eq!(check(&setup, &attack, &[(&moved, "-")]), [moved.as_str()], "{attack}");
    }
}

#[test]
fn a_stash_waits_for_what_git_writes_after_it() {
    for (rest, told) in [("git rev-parse next > .git/rebase-merge/onto", 0), ("true", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let roots = [folder.path().canonicalize().unwrap()];
        shell(&roots[0], &format!("{COMMITTED}; {BRANCHES}; ! git rebase -q main 2>/dev/null"));
        let stash = roots[0].join(".git/rebase-merge/autostash");
        let mut guard = Guard::default();
        guard.begin(&roots, &[], Journaled::Needless).unwrap();
        shell(
            &roots[0],
            "git rebase --abort; mkdir .git/rebase-merge; git rev-parse other > .git/rebase-merge/autostash",
        );
        assert!(guard.look().is_empty() && stash.exists(), "{rest}");
        shell(&roots[0], rest);
        assert_eq!((guard.end(None).len(), stash.exists()), (told, told == 0), "{rest}");
    }
}

#[test]
fn what_is_said_of_a_stash_brings_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let roots = [folder.path().canonicalize().unwrap()];
    shell(&roots[0], &format!("{COMMITTED}; {BRANCHES}; ! git rebase -q main 2>/dev/null"));
    let mut guard = Guard::default();
    guard.begin(&roots, &[], Journaled::Needless).unwrap();
    shell(
        &roots[0],
        "git rebase --abort; echo u > d/b; ! git rebase -q --autostash main 2>/dev/null; cp .git/rebase-merge/autostash stash",
    );
    let changes = guard.end(None);
    let hash = found(&roots[0].join("stash")).trim_end().to_owned();
    let said = changes.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = format!(
        ".git/rebase-merge/autostash had git apply what it names later; `git stash apply {hash}` brings back what was set aside there; taken out"
    );
    assert!(said.len() == 1 && said[0].ends_with(&expected), "{said:?}");
    shell(
        &roots[0],
        &format!("git rebase --abort; git stash apply -q {hash}; test $(cat d/b) = u"),
    );
}

#[test]
fn a_rebase_deletes_no_references_but_its_own() {
    let setup = format!("{COMMITTED}; {BRANCHES}; ! git rebase -q main 2>/dev/null");
    let list = ".git/rebase-merge/refs-to-delete";
    let attack = format!("printf 'refs/rewritten/onto\nrefs/heads/next\n' > {list}");
    assert_eq!(check(&setup, &attack, &[(list, "-")]), [list]);
    let work = "git rebase --abort; ! git rebase -q --rebase-merges main 2>/dev/null";
    assert_eq!(check(&setup, work, &[(list, "refs/rewritten/onto\n")]), [""; 0]);
}
