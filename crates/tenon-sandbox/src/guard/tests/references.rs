use super::*;

const REPOSITORY: &str = "git init -q -b main .; git config user.name a; git config user.email a@b; \
     git commit -q --allow-empty -m one; git branch side; git update-ref refs/remotes/origin/main HEAD";

#[test]
fn no_reference_leads_git_to_write_another_file() {
    for (attack, path) in [
        ("git symbolic-ref refs/heads/zz commondir", ".git/refs/heads/zz"),
        ("echo 'ref:\tcommondir' > .git/refs/tags/v1", ".git/refs/tags/v1"),
        ("echo 'ref: refs/replace/01' > .git/refs/stash", ".git/refs/stash"),
        ("echo 'ref: refs/heads/side' > .git/refs/stash", ".git/refs/stash"),
        ("git symbolic-ref refs/rewritten/x refs/heads/side", ".git/refs/rewritten/x"),
        ("git symbolic-ref refs/remotes/origin/x refs/heads/side", ".git/refs/remotes/origin/x"),
        ("mkdir -p .git/refs/a/b; echo 'ref: objects/x' > .git/refs/a/b/c", ".git/refs/a/b/c"),
        ("echo 'ref: commondir' > .git/ORIG_HEAD", ".git/ORIG_HEAD"),
        (
            "mkdir -p .git/refs/remotes/x; echo '[core]' > .git/refs/remotes/x/config",
            ".git/refs/remotes/x/config",
        ),
        (
            "mkdir -p .git/refs/x/hooks; (git rev-parse HEAD; echo evil) > .git/refs/x/hooks/h",
            ".git/refs/x/hooks/h",
        ),
        (
            "mkdir -p .git/logs/refs/x; echo '[core]' > .git/logs/refs/x/config",
            ".git/logs/refs/x/config",
        ),
        (
            "mkdir -p .git/logs/refs/x/hooks; cp .git/logs/HEAD .git/logs/refs/x/hooks/h; chmod +x .git/logs/refs/x/hooks/h",
            ".git/logs/refs/x/hooks/h",
        ),
        (
            "d=.git/refs/$(printf 'a/%.0s' $(seq 90)); mkdir -p $d; echo 'ref: commondir' > ${d}z",
            concat!(
                ".git/refs/",
                "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/",
                "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/",
                "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/z"
            ),
        ),
        ("echo 'ref: commondir' > .git/NOTES_MERGE_REF", ".git/NOTES_MERGE_REF"),
        ("git init -q --bare b; echo 'ref: x/y' > b/refs/heads/main", "b/refs/heads/main"),
        (
            "git worktree add -q w; mkdir -p .git/worktrees/w/refs/worktree; \
             echo 'ref: commondir' > .git/worktrees/w/refs/worktree/x",
            ".git/worktrees/w/refs/worktree/x",
        ),
    ] {
        assert_eq!(check(REPOSITORY, attack, &[(path, "-")]), [path], "{attack}");
    }
    let link = "ln -sf refs/replace/01 .git/HEAD";
    assert_eq!(check(REPOSITORY, link, &[(".git/HEAD", "ref: refs/heads/main\n")]), [".git/HEAD"]);
    let linked = format!("{REPOSITORY}; ln -sf refs/heads/main .git/HEAD");
    assert_eq!(
        check_with(&linked, link, |root| {
            shell(root, "test $(readlink .git/HEAD) = refs/heads/main");
        }),
        [".git/HEAD"]
    );
    let head = "ref: refs/heads/main\n";
    let attack = "echo ref: refs/replace/01 > .git/HEAD";
    assert_eq!(check(REPOSITORY, attack, &[(".git/HEAD", head)]), [".git/HEAD"]);
}

#[test]
fn references_that_stand_for_others_of_commits_stay() {
    let work = "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main; git switch -q side; \
         git symbolic-ref refs/heads/alias refs/heads/main; git commit -q --allow-empty -m two; git stash -q; \
         git worktree add -q w main; git reset -q --hard HEAD~; git pack-refs --all; git checkout -q --detach; \
         git tag v1; git branch -m side other; git bisect start -q; git notes add -m note; git init -q --bare b; \
         ln -sf refs/heads/alias .git/HEAD; ln -sf refs/heads/main b/HEAD";
    assert_eq!(check(REPOSITORY, work, &[]), [""; 0]);
}

#[test]
fn a_reference_of_the_person_that_leads_elsewhere_stays() {
    let setup = format!("{REPOSITORY}; echo 'ref: mine' > .git/refs/heads/own");
    let own = [(".git/refs/heads/own", "ref: mine\n")];
    assert_eq!(check(&setup, "git switch -qc new", &own), [""; 0]);
    let attack = "echo 'ref: commondir' > .git/refs/heads/own";
    assert_eq!(check(&setup, attack, &own), [".git/refs/heads/own"]);
}
