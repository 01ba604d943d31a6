//! What comes to stand where local addresses lead that a person set.

use super::*;

const WITH_COMMIT: &str =
    "git init -q -b main . && git -c user.name=n -c user.email=e commit -q --allow-empty -m m";

/// Has a command put a link to elsewhere where an address leads.
fn check_link(setup: &str, link: &str) {
    let setup = format!("{WITH_COMMIT} && {setup}");
    let attack = format!("rm -rf '{link}' && ln -s /x '{link}'");
    let told = check_with(&setup, &attack, |root| {
        assert!(!root.join(link).is_symlink(), "{link}");
    });
    assert_eq!(told, [link], "{setup}");
}

#[test]
fn nothing_comes_to_stand_at_an_address_with_any_sign_in_it() {
    for folder in ["ven (old)", "R&D", "100%", "a!", "a$b;c\\\\d", "a:b", "\u{e9}", "a#b"] {
        let link = format!("{folder}/x");
        let setup = format!("mkdir '{folder}' && git config remote.v.url \"$PWD\"/'{link}'");
        check_link(&setup, &link);
    }
    check_link("git config remote.v.url \"file://$PWD/a%20b\"", "a b");
    check_link("git config remote.v.url \"file://$PWD/a%20b\"", "a%20b");
    check_link("git config remote.v.url ./a:b", "a:b");
    // It has no name.
    check_link("git config branch.main.remote \"$PWD/R&D\"", "R&D");
    check_link(
        "printf '[user]\\n\\tname = \\351\\n' >> .git/config && git config remote.v.url \"$PWD/v\"",
        "v",
    );
}

#[test]
fn an_address_with_any_sign_in_it_may_get_another_name_and_go() {
    let setup = format!("{WITH_COMMIT} && git remote add v \"$PWD/R&D/x\"");
    for work in ["git remote rename v w", "git remote remove v"] {
        let told = check_with(&setup, work, |root| {
            shell(root, "test \"$(git config --get-regexp remote.v)\" = ''");
        });
        assert_eq!(told, [""; 0], "{work}");
    }
    let attack = "git config remote.v.url \"$PWD/R&D/y\"";
    assert_eq!(check(&setup, attack, &[]), [".git/config"]);
}

#[test]
fn a_relative_address_leads_from_each_work_tree() {
    let up = "git remote add origin ../up";
    check_link(&format!("{up} && git worktree add -q wt"), "up");
    check_link(&format!("{up} && mkdir -p a/b && git worktree add -q a/b/wt"), "a/b/up");
    let submodule = "mkdir -p .git/modules/m deep && git init -q --separate-git-dir .git/modules/m deep/m && \
                     git -C deep/m config core.worktree ../../../deep/m && git -C deep/m remote add o ../up";
    check_link(submodule, "deep/up");
    let apart = format!(
        "{submodule} && git -C deep/m config --unset core.worktree && git -C deep/m config extensions.worktreeConfig true && \
         git -C deep/m config --worktree core.worktree ../../../deep/m"
    );
    check_link(&apart, "deep/up");
    let bare = "mkdir worktrees && git init -q --bare worktrees/b && git -C worktrees/b remote add o ../up";
    check_link(bare, "worktrees/up");
    let included =
        "mkdir conf && git config -f conf/a remote.o.url ./up && git config include.path ../conf/a";
    check_link(included, "up");
}

#[test]
fn ordinary_files_with_the_name_of_a_remote_stay() {
    let setup = format!(
        "{WITH_COMMIT} && git config remote.deploy.pushurl ssh://h/x && git config branch.main.pushRemote release && \
         printf '#!/bin/sh\\n' > deploy && git bundle create -q bundle --all && git config remote.v.url ./bundle && \
         git config branch.main.remote large && truncate -s 2M large"
    );
    for work in [
        "echo more >> deploy; echo bin > release; git bundle create -q other HEAD && mv other bundle",
        "truncate -s 2M release; chmod +x release; rm deploy bundle",
        "mkdir release && mv deploy release",
        "rm large",
    ] {
        assert_eq!(check(&setup, work, &[]), [""; 0], "{work}");
    }
    let script = [("deploy", "#!/bin/sh\n")];
    for attack in ["ln -sf /x deploy", "echo 'gitdir: /x' > deploy", "rm deploy; mkfifo deploy"] {
        assert_eq!(check(&setup, attack, &script), ["deploy"], "{attack}");
    }
    let large = "(echo 'gitdir: /x'; head -c 2M /dev/zero) > release";
    assert_eq!(check(&setup, large, &[("release", "-")]), ["release"]);
    let pointer =
        format!("{setup} && git init -q --separate-git-dir=sep tree && mv tree/.git deploy");
    for attack in ["echo x > deploy", "rm deploy", "ln -sf /x deploy"] {
        assert_eq!(check(&pointer, attack, &[]), ["deploy"], "{attack}");
    }
}

#[test]
fn a_clone_of_a_bundle_has_its_address_until_that_leads_elsewhere() {
    let bundle = format!("{WITH_COMMIT} && git bundle create -q q.bundle --all");
    let work = "git clone -q q.bundle c && git -C c fetch -q && git remote add b \"$PWD/q.bundle\"";
    assert_eq!(check(&bundle, work, &[]), [""; 0]);
    check_link(&format!("git bundle create -q q.bundle --all && {work}"), "q.bundle");
    let cloned = format!("{bundle} && {work}");
    assert_eq!(check(&cloned, "echo 'gitdir: /x' > q.bundle", &[]), ["q.bundle"]);
    let both = format!("{work} && rm q.bundle && ln -s /x q.bundle");
    assert_eq!(check(&bundle, &both, &[]), [".git/config", "c/.git/config"]);
}

#[test]
fn addresses_beneath_a_folder_with_any_sign_in_its_name_stay() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("R&D (ada's) $x; 100%");
    std::fs::create_dir(&root).unwrap();
    shell(&root, WITH_COMMIT);
    let mut guard = Guard::default();
    guard.begin(std::slice::from_ref(&root), &[], Journaled::Nowhere).unwrap();
    shell(
        &root,
        "git clone -q . c && git remote add c \"$PWD/c\" && git -C c remote add up \"$PWD/.\"",
    );
    assert_eq!(guard.end(None), []);
    shell(&root, "test \"$(git -C c config remote.origin.url)\" = \"$PWD/.\"");
}
