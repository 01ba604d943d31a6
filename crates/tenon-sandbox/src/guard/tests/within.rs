//! Repositories in the own directory of another one.

use super::*;

#[test]
fn repositories_where_git_keeps_none_bring_nothing_that_runs() {
    let make = |place: &str| {
        format!(
            "mkdir -p {place}/objects {place}/refs {place}/hooks && echo 'ref: refs/heads/m' > {place}/HEAD && \
             printf '[core]\n\tfsmonitor = evil\n' > {place}/config && echo evil > {place}/hooks/pre-push"
        )
    };
    let setup = "git init -q . && git init -q sub && mkdir -p .git/modules/m && \
                 git init -q --separate-git-dir .git/modules/m m";
    for place in [
        ".git/n",
        ".git/refs/heads/n",
        ".git/objects/ab/n/.git",
        "sub/.git/logs/n",
        ".git/modules/m/n",
        ".git/modules/m/n/modules/o",
    ] {
        let hook = format!("{place}/hooks/pre-push");
        let found = check(setup, &make(place), &[(&hook, "-")]);
        // Among logs it is none.
        let head = place.contains("logs").then(|| format!("{place}/HEAD"));
        let rest = [format!("{place}/config"), hook.clone()];
        assert_eq!(found, head.into_iter().chain(rest).collect::<Vec<_>>());
    }
    let pointer = ".git/n/.git";
    let work = "mkdir -p .git/n e/hooks && echo 'gitdir: ../../e' > .git/n/.git";
    assert_eq!(check(setup, work, &[(pointer, "-")]), [pointer]);
    // What was there stays, and git's own work is left alone.
    let setup = format!("{setup} && {}", make(".git/n"));
    let work =
        "git -c user.name=n -c user.email=e commit -q --allow-empty -m m && git branch a/b/c";
    assert_eq!(check(&setup, work, &[(".git/n/hooks/pre-push", "evil\n")]), [""; 0]);
}

#[test]
fn a_root_that_is_a_repository_under_another_name_has_others() {
    let setup = "git init -q src && git -C src -c user.name=n -c user.email=e commit -q --allow-empty -m m && \
                 git init -q . && git -c protocol.file.allow=always submodule --quiet add ./src sub && \
                 git clone -q --bare src src.git && mkdir -p .git/modules/sub/modules/known src.git/modules/known && \
                 echo known | tee .git/modules/sub/modules/known/config > src.git/modules/known/config";
    for root in [".git/modules/sub", "src.git"] {
        let other = format!("{root}/modules/q");
        let attack = format!(
            "mkdir -p {other}/hooks {root}/worktrees/w && git config -f {other}/config core.fsmonitor evil && \
             echo evil > {other}/hooks/pre-commit && git config -f {root}/worktrees/w/config.worktree core.pager evil"
        );
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        shell(&top, setup);
        let mut guard = Guard::default();
        let roots = [top.join("sub"), top.join(root)];
        guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
        shell(&top, &attack);
        let mut changes = guard.end(None);
        changes.retain(|change| !is_lack(&change.kind));
        let told = changes.iter().map(|change| change.path.strip_prefix(&top).unwrap());
        let told: Vec<String> = told.map(|path| path.display().to_string()).collect();
        let expected = [
            format!("{other}/config"),
            format!("{other}/hooks/pre-commit"),
            format!("{root}/worktrees/w/config.worktree"),
        ];
        assert_eq!(told, expected);
        assert_eq!(found(&top.join(&expected[1])), "-");
        assert_eq!(found(&top.join(root).join("modules/known/config")), "known\n");
    }
    // What a command makes of a root hides nothing of what is in its tree.
    let setup = "git init -q . && mkdir -p .git/modules/a modules/x && git init -q modules/x/sub";
    let attack = "mkdir objects refs; echo x > HEAD; echo x > modules/x/HEAD; \
                  git config -f .git/modules/a/config core.fsmonitor evil; \
                  mkdir -p modules/x/sub/.git/modules/q; git config -f modules/x/sub/.git/modules/q/config core.fsmonitor evil; \
                  echo evil > modules/x/.envrc";
    let expected =
        [".git/modules/a/config", "modules/x/.envrc", "modules/x/sub/.git/modules/q/config"];
    assert_eq!(check(setup, attack, &[("modules/x/.envrc", "-")]), expected);
}

#[test]
fn a_submodule_that_lacks_its_head_gets_nothing_that_runs() {
    let own = ".git/modules/a/b";
    let setup = format!(
        "git init -q . && mkdir -p .git/modules/a && git init -q --separate-git-dir {own} m && \
         mkdir -p {own}/hooks {own}/info && echo own > {own}/hooks/pre-push && rm {own}/HEAD"
    );
    let attack = format!(
        "cd {own} && git config -f config core.fsmonitor evil && git config -f config user.name n && \
         echo ../x > commondir && echo evil | tee hooks/pre-push hooks/post-merge > info/attributes && \
         cd ../../.. && mkdir -p worktrees/w && git config -f worktrees/w/config.worktree core.pager evil"
    );
    let kept =
        [(".git/modules/a/b/hooks/pre-push", "own\n"), (".git/modules/a/b/hooks/post-merge", "-")];
    let expected = [
        ".git/modules/a/b/commondir",
        ".git/modules/a/b/config",
        ".git/modules/a/b/hooks/post-merge",
        ".git/modules/a/b/hooks/pre-push",
        ".git/modules/a/b/info/attributes",
        ".git/worktrees/w/config.worktree",
    ];
    assert_eq!(check(&setup, &attack, &kept), expected);
    // Names that settings have can be those of submodules.
    let work =
        "for name in hooks info/x config/hooks; do git init -q --bare .git/modules/$name; done";
    assert_eq!(check(&setup, work, &[]), [""; 0]);
}

#[test]
fn links_in_folders_that_git_makes_go_wherever_the_repository_is() {
    let setup = "git init -q --bare b && mkdir -p b/lfs/tmp && ln -s x b/lfs/tmp/own && git init -q --bare w/.git";
    let attack = "for f in lfs/tmp rebase-merge sequencer svn/refs; do mkdir -p {b,w/.git}/$f && ln -s /x b/$f/l && ln -s /x w/.git/$f/l; done; \
                  mkdir b/tree && ln -s /x b/tree/l";
    let found = check_with(setup, attack, |root| {
        let is_there = |name: &str| root.join(name).symlink_metadata().is_ok();
        assert!(is_there("b/lfs/tmp/own") && is_there("b/tree/l"));
    });
    let places = ["lfs/tmp/l", "rebase-merge/l", "sequencer/l", "svn/refs/l"];
    let of = |git: &'static str| places.map(|place| format!("{git}/{place}"));
    assert_eq!(found, [of("b"), of("w/.git")].concat());
}

#[test]
fn pipes_that_git_would_wait_at_go() {
    let setup = "git init -q . && mkfifo pipe .git/own";
    let attack = "rm .git/HEAD && mkfifo .git/HEAD .git/packed-refs other";
    let names = [".git/HEAD", ".git/packed-refs"];
    let found = check_with(setup, attack, |root| {
        let is_there = |name: &str| root.join(name).symlink_metadata().is_ok();
        assert!(["pipe", "other", ".git/own"].iter().all(|name| is_there(name)));
    });
    assert_eq!(found, names);
}

/// Pipes at which git would wait, deeper in repositories and in work trees.
const PIPES: [&str; 20] = [
    ".git/logs/HEAD",
    ".git/modules/m/gitdir",
    ".git/modules/m/refs/heads/m",
    ".git/objects/info/alternates",
    ".git/objects/info/commit-graph",
    ".git/objects/pack/multi-pack-index",
    ".git/rebase-merge/message",
    ".git/refs/heads/main",
    ".git/worktrees/w/gitdir",
    ".gitattributes",
    ".gitignore",
    ".gitmodules",
    ".lfsconfig",
    ".mailmap",
    "b/objects/info/alternates",
    "b/refs/heads/main",
    "d/.gitattributes",
    "d/.gitignore",
    "d/e/.gitignore",
    "n/.git/refs/heads/main",
];

/// A repository with others in it, and pipes at which nobody waits.
const WITH_OTHERS: &str = "git init -q . && git init -q n && git init -q --bare b && mkdir -p d .git/modules && \
                           git init -q --bare .git/modules/m && mkfifo d/pipe b/.git-pipe";

fn pipes() -> String {
    let make = |pipe: &str| format!("mkdir -p $(dirname {pipe}) && rm -f {pipe} && mkfifo {pipe}");
    PIPES.map(make).join(" && ")
}

#[test]
fn pipes_deeper_in_a_repository_and_where_git_reads_in_a_work_tree_go() {
    let attack = format!("{} && mkfifo d/other", pipes());
    let found = check_with(WITH_OTHERS, &attack, |root| {
        let is_there = |name: &str| root.join(name).symlink_metadata().is_ok();
        assert!(["d/pipe", "d/other", "b/.git-pipe"].iter().all(|name| is_there(name)));
        assert!(!PIPES.iter().any(|name| is_there(name)));
    });
    assert_eq!(found, PIPES);
    let whole = "mkdir -p x/y/.git/objects && cp -r .git/refs x/y/.git && cp .git/HEAD x/y/.git && \
                 mkfifo x/y/.git/refs/a x/.gitignore";
    assert_eq!(check(WITH_OTHERS, whole, &[]), ["x/.gitignore", "x/y/.git/refs/a"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "plays the person and the command")]
fn the_repository_of_a_linked_worktree_gets_no_other_one() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (root, git) = (top.join("w"), top.join("m/.git"));
    for place in [&root, &git.join("objects"), &git.join("refs")] {
        std::fs::create_dir_all(place).unwrap();
    }
    std::fs::write(git.join("HEAD"), "x").unwrap();
    let mut guard = Guard::default();
    guard.begin(&[root, git.clone()], &[], Journaled::Nowhere).unwrap();
    for place in ["objects", "refs"] {
        std::fs::create_dir_all(git.join("n").join(place)).unwrap();
    }
    std::fs::write(git.join("n/HEAD"), "x").unwrap();
    std::fs::write(git.join("n/config"), "[core]\n\tfsmonitor = evil\n").unwrap();
    let told: Vec<_> = guard.end(None).into_iter().map(|change| change.path).collect();
    assert_eq!(told, [git.join("n/config")]);
}

/// Repositories, of which the person's `mine` has objects outside.
const WITH_ALTERNATES: &str = "git init -q . && git init -q mine && git init -q --bare b && git init -q other && \
                               mkdir -p .git/objects/info b/objects/info mine/.git/objects/info && \
                               echo /srv/mirror/objects > mine/.git/objects/info/alternates";

#[test]
fn objects_of_other_repositories_are_named_by_the_person() {
    let own = "/srv/mirror/objects\n";
    let check = |attack: &str, name: &str, expected: &str, names: &[&str]| {
        let found = check(WITH_ALTERNATES, attack, &[(name, expected)]);
        assert_eq!(found, names, "{attack}");
    };
    let (top, bare) = (".git/objects/info/alternates", "b/objects/info/alternates");
    let mine = "mine/.git/objects/info/alternates";
    for line in [
        "/srv/objects",
        "../../../../objects",
        "\\\"/srv/objects\\\"",
        "../../other/.git/objects\\n/srv",
    ] {
        check(&format!("printf \"{line}\\n\" > {top}"), top, "-", &[top]);
        check(&format!("printf \"{line}\\n\" > {bare}"), bare, "-", &[bare]);
        check(&format!("printf \"{line}\\n\" > {mine}"), mine, own, &[mine]);
    }
    let other = "mkdir -p o/info; echo /srv/objects > o/info/alternates";
    check(&format!("{other}; echo ../../o > {top}"), top, "-", &[top]);
    let folder = "mkdir x; echo /srv/objects > x/alternates; rmdir .git/objects/info; mv x .git/objects/info";
    check(folder, top, "-", &[top]);
    check(&format!("ln -s /srv {top}"), top, "-", &[top]);
    check(&format!("rm {mine}"), mine, own, &[mine]);
    check(&format!("echo ../../../other/.git/objects > {mine}"), mine, own, &[mine]);
    let within = "../../other/.git/objects\n";
    check(&format!("echo ../../other/.git/objects > {top}"), top, within, &[]);
    let both = format!("{own}../../../other/.git/objects\n");
    check(&format!("echo ../../../other/.git/objects >> {mine}"), mine, &both, &[]);
    let shared = "git clone -q --shared other new && git -C new status --short";
    let names = check_with(WITH_ALTERNATES, shared, |root| {
        assert!(root.join("new/.git/objects/info/alternates").exists());
    });
    assert_eq!(names, [""; 0]);
}

#[test]
fn what_is_named_for_objects_leads_nowhere_else_later() {
    let setup = "git init -q . && mkdir -p .git/objects/info o && echo ../../o > .git/objects/info/alternates";
    let names = check_with(setup, "rmdir o && ln -s /srv o", |root| {
        assert!(root.join("o").symlink_metadata().is_err());
    });
    assert_eq!(names, ["o"]);
    let names = check_with(setup, "mkdir o/info && echo /srv > o/info/alternates", |root| {
        assert!(!root.join("o/info/alternates").exists());
    });
    assert_eq!(names, ["o/info/alternates"]);
}

#[test]
fn a_folder_with_the_name_of_a_file_that_may_come_brings_nothing() {
    let setup = "git init -q . && rm -rf .git/info";
    let names = ["HEAD", "commondir", "hooks/post-update", "objects/info/alternates"];
    for folder in [".git/info/refs", ".git/info/exclude", "n/.git/info/sparse-checkout"] {
        let make = names.map(|name| format!("echo /srv > {folder}/{name}")).join("; ");
        let attack = format!(
            "git init -q n; rm -rf n/.git/info; mkdir -p {folder}/{{hooks,objects/info,refs}}; {make}"
        );
        let all = names.map(|name| format!("{folder}/{name}"));
        assert_eq!(check(setup, &attack, &all.each_ref().map(|name| (&**name, "-"))), all);
    }
    // Where the root is a repository itself, names of the list count, too.
    let setup = "mkdir objects refs; echo x > HEAD";
    let attack =
        "mkdir -p info/refs info/exclude; echo x | tee info/refs/.envrc > info/exclude/.mcp.json";
    let all = ["info/exclude/.mcp.json", "info/refs/.envrc"];
    assert_eq!(check(setup, attack, &all.map(|name| (name, "-"))), all);
    let work = "git init -q n; cd n/.git; mkdir -p info; echo x | tee info/refs info/exclude > info/sparse-checkout; \
                mkdir -p hooks; echo x > hooks/new.sample";
    assert_eq!(check(setup, work, &[("n/.git/info/refs", "x\n")]), [""; 0]);
}
