mod accepted;
mod addresses;
mod deep;
mod halves;
mod mapped;
mod merge;
mod moves;
mod owed;
mod own_links;
mod permissions;
mod rebase;
mod references;
mod room;
mod settings;
mod submodules;
mod ways;
mod within;
mod written;

use super::*;

/// What a command does to a folder with a repository in it, and what is there afterwards.
fn check(setup: &str, attack: &str, expected: &[(&str, &str)]) -> Vec<String> {
    check_with(setup, attack, |root| {
        for (name, text) in expected {
            assert_eq!(found(&root.join(name)), *text, "{name} after {attack}");
        }
    })
}

/// The same, with a look at the folder afterwards.
fn check_with(setup: &str, attack: &str, look: impl FnOnce(&Path)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    shell(&root, setup);
    let roots = [root.clone()];
    let mut guard = Guard::default();
    guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
    shell(&root, attack);
    let mut changes = guard.end(None);
    changes.retain(|change| !is_lack(&change.kind));
    look(&root);
    assert!(changes.iter().all(|change| change.put_back), "{changes:?}");
    changes
        .iter()
        .map(|change| change.path.strip_prefix(&root).unwrap().display().to_string())
        .collect()
}

/// Plays the person, or a command.
fn shell(root: &Path, script: &str) {
    #[expect(clippy::disallowed_methods, reason = "runs what nobody confines")]
    let status = std::process::Command::new("bash")
        .args(["-ec", script])
        .current_dir(root)
        .env("HOME", "/nonexistent")
        .status();
    assert!(status.unwrap().success(), "{script}");
}

/// Whether it says only that not everything is looked at.
fn is_lack(kind: &ProtectedChangeKind) -> bool {
    matches!(kind, ProtectedChangeKind::NotRecorded | ProtectedChangeKind::FilesNotRecorded)
}

/// Returns what is in a file, or the permissions of a folder.
#[expect(clippy::disallowed_methods, reason = "looks from outside")]
fn found(path: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => format!("{:o}", found.permissions().mode() & 0o7777),
        _ => std::fs::read_to_string(path).unwrap_or_else(|_| "-".into()),
    }
}

const REPOSITORY: &str = "git init -q . && printf '#!/bin/sh\nok\n' > .git/hooks/pre-commit";

#[test]
fn hooks_are_put_back_and_new_ones_taken_out() {
    let hook = "#!/bin/sh\nok\n";
    let kept = [(".git/hooks/pre-commit", hook)];
    assert_eq!(
        check(REPOSITORY, "echo evil > .git/hooks/pre-commit", &kept),
        [".git/hooks/pre-commit"]
    );
    assert_eq!(check(REPOSITORY, "rm .git/hooks/pre-commit", &kept), [".git/hooks/pre-commit"]);
    let gone = [(".git/hooks/post-merge", "-")];
    assert_eq!(
        check(REPOSITORY, "echo evil > .git/hooks/post-merge", &gone),
        [".git/hooks/post-merge"]
    );
    let attack = "mv .git/hooks h && mkdir .git/hooks && ln -s /bin/sh .git/hooks/post-merge";
    let found = check(REPOSITORY, attack, &kept);
    assert!(found.contains(&".git/hooks/post-merge".to_owned()), "{found:?}");
}

#[test]
fn a_link_in_place_of_hooks_is_replaced_by_them() {
    let attack = "mv .git/hooks h && mkdir evil && touch evil/pre-push && ln -s ../evil .git/hooks";
    let kept = [(".git/hooks/pre-commit", "#!/bin/sh\nok\n"), ("evil/pre-push", "")];
    assert!(check(REPOSITORY, attack, &kept).contains(&".git/hooks".to_owned()));
}

#[test]
fn a_repository_under_another_name_is_looked_at_too() {
    let attack = "git init -q --bare b && git -C b config core.fsmonitor ./evil && \
                  git -C b config user.name n && echo evil > b/hooks/post-merge";
    let gone = [("b/hooks/post-merge", "-")];
    assert_eq!(check("true", attack, &gone), ["b/config", "b/hooks/post-merge"]);
    let attack = "mkdir -p s/objects s/refs x && touch s/config x/HEAD && echo ../s > x/commondir";
    assert_eq!(check("true", attack, &[("x/commondir", "-")]), ["x/commondir"]);
}

#[test]
fn worktrees_of_a_repository_under_another_name_are_left_alone() {
    let attack = "git clone -q --bare . b.git && git -C b.git worktree add -q ../tree";
    let setup = "git init -q . && git -c user.name=n -c user.email=e commit -q --allow-empty -m m";
    let found = check(setup, attack, &[]);
    assert!(!found.iter().any(|path| path.starts_with("b.git")), "{found:?}");
}

#[test]
fn a_folder_in_place_of_a_file_makes_way_for_it() {
    let attack = "rm .envrc && mkdir -p .envrc/a/b";
    assert_eq!(check("echo own > .envrc", attack, &[(".envrc", "own\n")]), [".envrc"]);
}

#[test]
fn settings_of_other_agents_and_editors_do_not_appear() {
    let attack = "mkdir x .Cursor && echo x > x/settings.json && echo x > .Cursor/MCP.json && \
                  mv x .claude && mkdir -p deep/.zed .devcontainer && echo x > deep/.zed/tasks.json \
                  && echo x > .devcontainer/d.json && echo x > opencode.json";
    let gone = [(".claude/settings.json", "-"), (".Cursor/MCP.json", "-")];
    let expected = [
        ".Cursor/MCP.json",
        ".claude/settings.json",
        ".devcontainer/d.json",
        "deep/.zed/tasks.json",
        "opencode.json",
    ];
    assert_eq!(check("true", attack, &gone), expected);
    // What is only read to a model is nobody's command.
    let work = "mkdir -p .claude/commands .github/workflows && echo x > CLAUDE.md && \
                echo x > .claude/commands/a.md && echo x > .github/workflows/hooks";
    assert_eq!(check("true", work, &[(".claude/commands/a.md", "x\n")]), Vec::<String>::new());
    // A name that leads to another.
    let attack = "mkdir x && echo x > x/settings.json && ln -s x .claude";
    assert_eq!(check("true", attack, &[("x/settings.json", "x\n")]), [".claude"]);
}

#[test]
fn no_other_name_of_a_protected_file_stays() {
    let setup = "git init -q . && echo own > .envrc";
    let attack = "ln .envrc a && ln .git/config b && git config user.name n";
    let kept = [(".envrc", "own\n"), ("a", "own\n")];
    assert_eq!(check(setup, attack, &kept), [".envrc"]);
    let attack = "ln .git/config b";
    assert_eq!(check(setup, attack, &[]), [".git/config"]);
}

#[test]
fn what_a_command_closed_is_found_and_taken_out() {
    let attack = "mkdir -p a/b && echo evil > a/b/.envrc && chmod 111 a/b && chmod 555 a";
    let found = check("true", &format!("{attack}; true"), &[("a/b/.envrc", "-")]);
    assert_eq!(found, ["a/b/.envrc"]);
}

#[test]
fn ordinary_work_with_git_is_left_alone() {
    let attack = "git remote add origin https://host/a.git && git config branch.main.merge x && \
                  git config user.name n && git config user.email e@f && touch a && git add a && \
                  git -c core.hooksPath=/nonexistent commit -qm m && git worktree add -q tree && \
                  git init -q other";
    assert!(check(REPOSITORY, attack, &[]).is_empty());
}

#[test]
fn settings_that_run_programs_are_taken_out_and_others_stay() {
    let attack = "git config core.fsmonitor ./evil && git config core.abbrev 12 && \
                  git config --get core.abbrev > /dev/null";
    let found = check(REPOSITORY, attack, &[]);
    assert_eq!(found, [".git/config"]);
    let found = check(REPOSITORY, "printf '[core' > .git/config", &[]);
    assert_eq!(found, [".git/config"]);
}

#[test]
fn repositories_that_appear_bring_no_hooks() {
    let attack = "git init -q sub && echo evil > sub/.git/hooks/pre-commit && \
                  git -C sub config alias.st '!evil'";
    let found = check("true", attack, &[("sub/.git/hooks/pre-commit", "-")]);
    assert_eq!(found, ["sub/.git/config", "sub/.git/hooks/pre-commit"]);
    let attack = "mkdir -p sub evil/hooks && echo 'gitdir: ../evil' > sub/.git";
    assert_eq!(check("true", attack, &[("sub/.git", "-")]), ["sub/.git"]);
}

#[test]
fn names_that_programs_take_commands_from_do_not_appear() {
    let attack = "mkdir -p .vscode deep/.idea && echo x > .vscode/tasks.json && \
                  echo x > deep/.idea/w.xml && echo x > .envrc && echo x > .mcp.json";
    let found = check("true", attack, &[(".envrc", "-"), (".vscode/tasks.json", "-")]);
    assert_eq!(found, [".envrc", ".mcp.json", ".vscode/tasks.json", "deep/.idea/w.xml"]);
}

#[test]
fn a_repository_may_be_removed() {
    assert!(check(REPOSITORY, "rm -rf .git", &[]).is_empty());
}

#[test]
fn what_a_person_changes_in_a_frozen_folder_stays() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let idea = root.join(".idea");
    #[expect(clippy::disallowed_methods, reason = "plays the person's editor")]
    let save = |text: &str| {
        std::fs::create_dir_all(&idea).unwrap();
        std::fs::write(idea.join("workspace.xml"), text).unwrap();
    };
    save("before");
    let mut guard = Guard::default();
    guard
        .begin(std::slice::from_ref(&root), std::slice::from_ref(&idea), Journaled::Nowhere)
        .unwrap();
    save("after");
    assert_eq!(guard.end(None), []);
    // Without the folder that was read-only, nobody knows who it was.
    guard
        .begin(std::slice::from_ref(&root), std::slice::from_ref(&idea), Journaled::Nowhere)
        .unwrap();
    #[expect(clippy::disallowed_methods, reason = "plays the command")]
    std::fs::rename(&idea, root.join("moved")).unwrap();
    save("evil");
    assert_eq!(guard.end(None).len(), 1);
}

#[test]
fn a_root_that_looks_like_a_repository_hides_nothing() {
    let attack = "mkdir objects refs hooks && touch HEAD && echo x > .envrc && \
                  echo evil > hooks/pre-commit && printf '[alias]\n\ta = !evil\n' > config";
    let found = check("true", attack, &[(".envrc", "-"), ("hooks/pre-commit", "-")]);
    assert_eq!(found, [".envrc", "config", "hooks/pre-commit"]);
}

#[test]
fn a_submodule_may_come_and_says_where_it_is() {
    let setup = "git init -q other && \
                 git -C other -c user.name=n -c user.email=e commit -q --allow-empty -m m && \
                 git init -q .";
    let attack = "git -c protocol.file.allow=always submodule --quiet add ./other sub";
    assert_eq!(check(setup, attack, &[]), Vec::<String>::new());
    let evil = format!("{attack} && git -C .git/modules/sub config core.worktree /");
    assert_eq!(check(setup, &evil, &[]), [".git/modules/sub/config"]);
}

#[test]
fn copies_of_what_was_there_stay_where_they_can_do_no_more() {
    let setup = "git init -q . && mkdir -p .vscode .claude/hooks pkg/deep/.zed && echo s > .vscode/settings.json && \
                 echo own > pkg/.envrc && echo ok > .claude/hooks/x.sh && chmod 755 .claude/hooks/x.sh && \
                 echo t > pkg/deep/.zed/tasks.json && git add . && \
                 git -c user.name=n -c user.email=e commit -qm m";
    let check = |work: &str, expected: &[&str], there: &[(&str, &str)]| {
        assert_eq!(check(setup, work, there), expected, "{work}");
    };
    for work in [
        "git worktree add -q -b w wt",
        "git clone -q . wt",
        "mkdir wt && cp -rp .vscode pkg .claude wt",
        "mkdir -p wt/.claude && git worktree add -q -f -b w wt/u && mv wt/u u && rm -r wt && cp -rp u wt",
    ] {
        let there = [
            ("wt/.vscode/settings.json", "s\n"),
            ("wt/pkg/.envrc", "own\n"),
            ("wt/.claude/hooks/x.sh", "ok\n"),
            ("wt/pkg/deep/.zed/tasks.json", "t\n"),
        ];
        check(work, &[], &there);
    }
    check("mkdir q && cp pkg/.envrc q", &[], &[("q/.envrc", "own\n")]);
    // Other content, at another name, further up, or with more rights.
    check("mkdir q && echo evil > q/.envrc", &["q/.envrc"], &[("q/.envrc", "-")]);
    check("echo own > .envrc", &[".envrc"], &[(".envrc", "-")]);
    check("cp -r pkg/deep/.zed .", &[".zed/tasks.json"], &[(".zed/tasks.json", "-")]);
    let work =
        "mkdir q && cp .vscode/settings.json .vscode/tasks.json && cp pkg/.envrc q/.mcp.json";
    check(work, &[".vscode/tasks.json", "q/.mcp.json"], &[("q/.mcp.json", "-")]);
    let work = "mkdir q && cp pkg/.envrc q && chmod u+x q/.envrc";
    check(work, &["q/.envrc"], &[("q/.envrc", "-")]);
    let work = "chmod u+x pkg/.envrc && mkdir q && cp -p pkg/.envrc q";
    check(work, &["pkg/.envrc", "q/.envrc"], &[("q/.envrc", "-"), ("pkg/.envrc", "own\n")]);
    // By another name, or a link, it would be written where nobody looks.
    let work = "mkdir q && cp pkg/.envrc e && ln e q/.envrc";
    check(work, &["q/.envrc"], &[("q/.envrc", "-")]);
    let work = "mkdir q && ln -s ../pkg/.envrc q/.envrc";
    check(work, &["q/.envrc"], &[("q/.envrc", "-")]);
    // What a command wrote is none that was there.
    let work = "echo evil > pkg/.envrc && cp -r pkg q";
    check(work, &["pkg/.envrc", "q/.envrc"], &[("q/.envrc", "-"), ("pkg/.envrc", "own\n")]);
}

#[test]
fn what_is_protected_by_where_it_is_has_no_copies() {
    let setup = "mkdir -p a b && git init -q a/r && git init -q b/r && echo ok > a/r/.git/hooks/pre-push && \
                 git -C a/r config core.fsmonitor own";
    let work = "cp a/r/.git/hooks/pre-push b/r/.git/hooks && cp a/r/.git/config b/r/.git && cp a/r/.git/config .";
    let gone = [("b/r/.git/hooks/pre-push", "-")];
    assert_eq!(check(setup, work, &gone), ["b/r/.git/config", "b/r/.git/hooks/pre-push"]);
}

#[test]
fn what_a_command_hides_behind_folders_of_its_own_is_found() {
    let check = |most: usize, expected: ProtectedChangeKind| {
        let before = 2_050;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        #[expect(clippy::disallowed_methods, reason = "plays the person and the command")]
        let make = |from: usize, to: usize| {
            (from..to).for_each(|n| std::fs::create_dir_all(root.join(format!("a/{n}"))).unwrap());
        };
        make(0, before);
        let mut guard = Guard::new(most, Default::default(), None);
        guard.begin(std::slice::from_ref(&root), &[], Journaled::Nowhere).unwrap();
        make(before, 2_100);
        #[expect(clippy::disallowed_methods, reason = "plays the command")]
        std::fs::create_dir_all(root.join("z/z/z"))
            .and_then(|()| std::fs::write(root.join("z/z/z/.envrc"), "evil"))
            .unwrap();
        let found = guard.end(None);
        assert_eq!(found.len(), 1, "{most}");
        assert_eq!(found[0].kind, expected, "{most}");
    };
    check(GUARDED_FOLDERS_MAX, ProtectedChangeKind::Created);
    // Who had so many before has not been looked through, and nothing of it is taken for new.
    check(2_000, ProtectedChangeKind::NotRecorded);
}

#[test]
fn many_protected_files_hide_nothing() {
    let many = "mkdir .idea && (cd .idea && seq 2100 | xargs touch)";
    let evil = "git config core.fsmonitor evil && echo evil > .envrc && git init -q n && \
                git -C n config core.pager evil && echo evil > n/.git/hooks/pre-commit";
    let gone = [(".envrc", "-"), ("n/.git/hooks/pre-commit", "-"), (".idea/2100", "-")];
    let found = check(REPOSITORY, &format!("{many} && {evil}"), &gone);
    for name in [".git/config", "n/.git/config"] {
        assert!(found.contains(&name.to_owned()), "{name}");
    }
    // Git's settings are looked at however many were there.
    let setup = format!("{REPOSITORY} && {many}");
    let found = check(&setup, "git config core.fsmonitor evil", &[]);
    assert_eq!(found, [".git/config"]);
}

#[test]
fn a_repository_outside_is_looked_at_however_full_the_workspace_is() {
    let (work, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let roots = [&work, &other].map(|folder| folder.path().canonicalize().unwrap());
    #[expect(clippy::disallowed_methods, reason = "plays the person and the command")]
    let write = |path: &str, text: &str| {
        let path = Path::new(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    (0..2_100).for_each(|n| write(&format!("{}/.idea/{n}", roots[0].display()), ""));
    let repository = roots[1].display();
    for name in ["HEAD", "objects/a", "refs/a"] {
        write(&format!("{repository}/{name}"), "");
    }
    let mut guard = Guard::default();
    guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
    write(&format!("{repository}/config"), "[core]\n\tpager = evil\n");
    let found = guard.end(None);
    assert!(found.iter().any(|change| change.path.ends_with("config")), "{found:?}");
}

#[test]
fn worktrees_and_submodules_of_a_repository_below_may_come() {
    let commit = "git -c user.name=n -c user.email=e commit -q --allow-empty -m m";
    let setup =
        format!("git init -q a/r && cd a/r && {commit} && git init -q x && cd x && {commit}");
    let attack = "cd a/r && git worktree add -q ../../tree && \
                  git -c protocol.file.allow=always submodule --quiet add ./x sub";
    assert_eq!(check(&setup, attack, &[]), Vec::<String>::new());
    let gone = [("t/.git", "-")];
    for place in ["y", "modules/m/y", "y/.git/modules/z"] {
        let evil = format!(
            "cp -r a/r/.git y && mkdir -p t a/r/.git/modules/m a/r/.git/{place} && touch a/r/.git/modules/m/HEAD; \
             mv y a/r/.git/{place}/r && echo 'gitdir: ../a/r/.git/{place}/r' > t/.git"
        );
        assert_eq!(check(&setup, &evil, &gone), ["t/.git"], "{place}");
    }
}

#[test]
fn worktrees_may_come_and_go_and_lead_where_they_led() {
    let commit = "git -c user.name=n -c user.email=e commit -q --allow-empty -m m";
    let bare = format!("git init -q r && git -C r {} && git clone -q --bare r b", &commit[4..]);
    let setup = format!(
        "git init -q . && {commit} && git worktree add -q w && git worktree add -q x && {bare} && \
         git -C b worktree add -q ../y"
    );
    let there = [(".git/worktrees/w/commondir", "../..\n"), ("b/worktrees/y/commondir", "../..\n")];
    let check = |work: &str, expected: &[&str], there: &[(&str, &str)]| {
        assert_eq!(check(&setup, work, there), expected, "{work}");
    };
    for work in [
        "git worktree add -q z && git -C b worktree add -q ../u",
        "git worktree move x m && git worktree repair",
        "git worktree remove x && rm -r m 2> /dev/null || git worktree prune",
        "mv .git g && mv g .git",
    ] {
        check(work, &[], &there);
    }
    let gone = [(".git/worktrees/x/commondir", "-"), ("b/worktrees/y/commondir", "-")];
    let work = "git worktree remove x && rm -r y && git -C b worktree prune --expire now";
    check(work, &[], &gone);
    check("mv b c && mv .git g", &[], &[("c/worktrees/y/commondir", "../..\n")]);
    let changed = [".git/worktrees/w/commondir", "b/worktrees/y/commondir"];
    for work in [
        "echo /x | tee .git/worktrees/w/commondir > b/worktrees/y/commondir",
        "rm .git/worktrees/w/commondir b/worktrees/y/commondir",
        "cd .git/worktrees/w && ln -sf ../../config commondir && cd - > /dev/null && \
         mv b/worktrees/y/commondir b/worktrees/y/c",
    ] {
        check(work, &changed, &there);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "plays the person and the command")]
fn a_worktree_whose_repository_is_elsewhere_leads_where_it_led() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let script = "git init -q m && git -C m -c user.name=n -c user.email=e commit -q --allow-empty \
                  -m m && git -C m worktree add -q ../w";
    let made = std::process::Command::new("bash").args(["-ec", script]).current_dir(&top).status();
    assert!(made.unwrap().success());
    let pointer = top.join("m/.git/worktrees/w/commondir");
    let mut guard = Guard::default();
    guard.begin(&[top.join("w"), top.join("m/.git")], &[], Journaled::Nowhere).unwrap();
    std::fs::write(&pointer, "/x\n").unwrap();
    let changes = guard.end(None);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!((&changes[0].path, &changes[0].kind), (&pointer, &ProtectedChangeKind::Changed));
    assert_eq!(std::fs::read(&pointer).unwrap(), b"../..\n");
}

#[test]
fn no_way_leads_to_a_repository_that_nobody_looks_at() {
    let commit = "git -c user.name=n -c user.email=e commit -q --allow-empty -m m";
    let setup =
        format!("git init -q . && {commit} && git worktree add -q w && cp -r .git y && mv y .git");
    // A folder that git takes for a repository only by what leads to it.
    let folder = "mkdir -p s/objects s/refs && printf '[core]\nfsmonitor = evil\n' > s/config";
    let pointer = format!("{folder} && echo ../../../s > .git/worktrees/w/commondir");
    let own = [(".git/worktrees/w/commondir", "../..\n")];
    assert_eq!(check(&setup, &pointer, &own), [".git/worktrees/w/commondir"]);
    let made = format!(
        "{folder} && git worktree add -q v && echo ../../../s > .git/worktrees/v/commondir"
    );
    assert_eq!(
        check(&setup, &made, &[(".git/worktrees/v/commondir", "-")]),
        [".git/worktrees/v/commondir"]
    );
    let pointer = format!("{folder} && echo ../s > .git/commondir");
    assert_eq!(check(&setup, &pointer, &[(".git/commondir", "-")]), [".git/commondir"]);
    for link in ["l", ".git/worktrees/l", ".git/modules"] {
        let attack = format!("ln -s $PWD/.git/y {link}");
        assert_eq!(check(&setup, &attack, &[]), [link]);
    }
    // A blank at the end is a part of the path for git.
    let attack = "git init -q --bare b.git && ln -s /x 'b.git ' && mkdir v && echo 'gitdir: ../b.git ' > v/.git";
    assert_eq!(check(&setup, attack, &[("v/.git", "-")]), ["v/.git"]);
    let attack = "rm -r .git/worktrees/w && ln -s ../y .git/worktrees/w";
    assert_eq!(check(&setup, attack, &[]), [".git/worktrees/w"]);
}

#[test]
fn what_changed_just_now_is_read_again_though_its_times_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let roots = [folder.path().canonicalize().unwrap()];
    #[expect(clippy::disallowed_methods, reason = "plays the command")]
    std::fs::write(roots[0].join(".envrc"), "evil").unwrap();
    let (mut known, _) =
        scan(&roots, &BTreeMap::new(), Stamps::Hold, &mut Listings::default(), Limits::default());
    let found = known.clone();
    for item in known.values_mut() {
        item.share(b"good"[..].into());
    }
    assert_eq!(
        scan(&roots, &known, Stamps::Hold, &mut Listings::default(), Limits::default()).0,
        found
    );
    assert!(known.values().zip(found.values()).all(|(one, other)| !other.is_same(one)));
}

#[test]
fn files_that_settings_include_get_no_programs() {
    let setup = |more: &str| {
        format!(
            "git init -q . && git config include.path ../team.cfg && \
             git config includeIf.onbranch:x.path ../conf/more.cfg && {more}"
        )
    };
    let harmless = "[user]\n\tname = n\n";
    let made = "printf '[user]\\n\\tname = n\\n' > team.cfg";
    // It is there, or not yet.
    for more in [made, "true"] {
        let attack = "printf '[user]\\n\\tname = n\\n[core]\\n\\tfsmonitor = evil\\n' > team.cfg";
        let after = [("team.cfg", harmless)];
        assert_eq!(check(&setup(more), attack, &after), ["team.cfg"]);
        let attack = "printf '[user]\\n\\tname = n\\n' > team.cfg";
        assert_eq!(check(&setup(more), attack, &[("team.cfg", harmless)]), [""; 0]);
        let attack = "mkdir conf && echo '[alias] x = !evil' > conf/more.cfg";
        let after = [("conf/more.cfg", "")];
        assert_eq!(check(&setup(more), attack, &after), ["conf/more.cfg"]);
        let attack = "mkdir evil && echo '[alias] x = !evil' > evil/more.cfg && ln -s evil conf";
        assert!(check(&setup(more), attack, &[("conf/more.cfg", "-")]).contains(&"conf".into()));
        let attack = "echo '[alias] x = !evil' > e && ln -sf e team.cfg";
        assert!(check(&setup(more), attack, &[]).contains(&"team.cfg".into()));
    }
    assert_eq!(check(&setup(made), "rm team.cfg", &[("team.cfg", harmless)]), ["team.cfg"]);
    assert_eq!(check(&setup(made), "rm -r .git team.cfg", &[("team.cfg", "-")]), [""; 0]);
    // Included by what is included, through a link.
    let deep = "printf '[include]\\n\\tpath = l\\n' > team.cfg && touch a b && ln -s a l";
    let attack = "echo '[core] pager = evil' > a";
    assert_eq!(check(&setup(deep), attack, &[("a", "")]), ["a"]);
    let attack = "echo '[core] pager = evil' > b && ln -sf b l";
    assert_eq!(check(&setup(deep), attack, &[]), ["l"]);
    // Of a worktree and of a submodule.
    let others = "git config extensions.worktreeConfig true && \
                  git config --worktree include.path ../w.cfg && mkdir -p .git/modules/m && \
                  git init -q --separate-git-dir .git/modules/m m && \
                  git -C m config include.path $PWD/m.cfg";
    let attack = "echo '[core] pager = evil' > w.cfg && echo '[core] pager = evil' > m.cfg";
    let after = [("w.cfg", ""), ("m.cfg", "")];
    assert_eq!(check(&setup(others), attack, &after), ["m.cfg", "w.cfg"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "plays the command")]
fn what_a_command_did_that_nobody_waited_for_is_put_back_by_the_next_program() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (root, state) = (top.join("home"), top.join("state"));
    for path in [&root, &state] {
        std::fs::create_dir(path).unwrap();
    }
    let own = root.join(".profile");
    let mut guard = Guard::new(100, (vec![own.clone()], vec![]), Some(state.clone()));
    guard.begin(std::slice::from_ref(&root), &[], Journaled::Nowhere).unwrap();
    std::fs::write(&own, "evil").unwrap();
    assert_eq!(look_after_own(&state), [], "its program lives");
    guard.abandon();
    drop(guard);
    let found = look_after_own(&state);
    assert!(found.len() == 1 && !own.exists(), "{found:?}");
    let kept = found[0].kept.as_ref().unwrap().join(own.strip_prefix("/").unwrap());
    assert_eq!(std::fs::read(kept).unwrap(), b"evil");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "plays the command and its person")]
fn of_places_of_secrets_links_alone_are_put_back_also_by_the_next_program() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (root, state) = (top.join("home"), top.join("state"));
    let at = |name: &str| root.join(name);
    for path in [&state, &at("dotfiles/aws"), &at(".kube")] {
        std::fs::create_dir_all(path).unwrap();
    }
    symlink("dotfiles/aws", at(".aws")).unwrap();
    symlink("dotfiles/netrc", at(".netrc")).unwrap();
    let ways = [".aws", ".azure", ".kube", ".netrc"].map(at).to_vec();
    let mut guard = Guard::new(100, (vec![], ways), Some(state.clone()));
    let roots = std::slice::from_ref(&root);
    let attack = || {
        std::fs::remove_file(at(".aws")).unwrap();
        symlink("dotfiles", at(".azure")).unwrap();
        std::fs::write(at("dotfiles/aws/credentials"), "new").unwrap();
        std::fs::write(at(".kube/config"), "new").unwrap();
    };
    let check = |changes: &[ProtectedChange]| {
        let changed: Vec<_> = changes.iter().map(|change| change.path.clone()).collect();
        assert_eq!(changed, [at(".azure"), at(".aws")], "{changes:?}");
        assert!(changes.iter().all(|change| change.put_back), "{changes:?}");
        assert_eq!(std::fs::read_link(at(".aws")).unwrap(), Path::new("dotfiles/aws"));
        assert!(!at(".azure").is_symlink() && at(".kube/config").exists());
    };
    guard.begin(roots, &[], Journaled::Nowhere).unwrap();
    attack();
    check(&guard.end(None));
    guard.begin(roots, &[], Journaled::Nowhere).unwrap();
    attack();
    guard.abandon();
    drop(guard);
    let found = look_after_own(&state);
    check(&found[0].changes);
}
