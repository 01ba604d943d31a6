//! Names that other programs take commands from stay as they are.

use std::path::{Path, PathBuf};

use tenon_sandbox::{Exit, ProtectedChangeKind, Tier, Wanted};

use super::{Place, as_ordinary_user, printed, tier};

const HOOK: &str = "#!/bin/sh\nordinary\n";

fn repository(tier: Tier) -> Place {
    let place = Place::with(|settings| settings.wanted = Wanted::Exactly(tier));
    let status = std::process::Command::new("git")
        .args(["init", "-q"])
        .arg(place.root())
        .env("HOME", "/nonexistent")
        .status();
    assert!(status.unwrap().success());
    std::fs::create_dir_all(place.root().join(".vscode")).unwrap();
    std::fs::write(place.root().join(".vscode/tasks.json"), "ordinary").unwrap();
    std::fs::create_dir_all(place.root().join(".git/hooks")).unwrap();
    std::fs::write(place.root().join(".git/hooks/pre-commit"), HOOK).unwrap();
    place
}

#[test]
fn what_is_hidden_stays_so_when_another_file_is_put_in_its_place() {
    let secret = std::env::temp_dir().join(format!("tenon-hidden-{}", std::process::id()));
    std::fs::create_dir_all(&secret).unwrap();
    let name = secret.join("key");
    let place = Place::with(|settings| {
        settings.readable.push(secret.clone());
        settings.hidden.push(name.clone());
    });
    let write = |text: &str| {
        std::fs::write(secret.join("new"), text).unwrap();
        std::fs::rename(secret.join("new"), &name).unwrap();
    };
    for text in ["SECRET 1", "SECRET 2", "SECRET 3"] {
        write(text);
        // What a call finds hidden was hidden for one before it.
        for _ in 0..2 {
            let (_, said) = place.run(&format!("cat {}; ls {}", name.display(), secret.display()));
            assert!(said.contains("key") && !said.contains("SECRET"), "{text}: {said}");
        }
    }
    std::fs::remove_dir_all(&secret).unwrap();
}

/// Each attack is run in a repository of its own; the names must be as they were.
fn check_attacks(tier: Tier) {
    for attack in [
        "echo evil > .git/hooks/pre-commit",
        "echo evil > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
        "rm -f .git/hooks/pre-commit",
        "mv .git x; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
        "cp -r .git x; rm -rf .git; mv x .git; echo evil > .git/hooks/pre-commit",
        "mv .git/hooks h; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        "mv .git/hooks h; ln -s ../h .git/hooks; echo evil > h/pre-push",
        "ln -f /bin/true .git/hooks/pre-commit; ln -sf /bin/true .git/hooks/pre-commit",
        "echo evil > f; mv -f f .git/hooks/pre-commit",
        "git config core.hooksPath evil; git config alias.st '!evil'; true",
        "git config core.fsmonitor ./evil; git config core.sshCommand evil",
        "printf '[include]\\n path = ../evil\\n' >> .git/config",
        "printf '[core' > .git/config",
        "echo evil > .vscode/tasks.json; echo evil > .vscode/settings.json",
        "mv .vscode v; mkdir .vscode; echo evil > .vscode/tasks.json",
        "echo evil > .envrc; echo evil > .mcp.json; mkdir .idea; echo evil > .idea/w.xml",
        "git init -q sub; echo evil > sub/.git/hooks/pre-commit",
    ] {
        let place = repository(tier);
        let output = place.try_run(attack).unwrap();
        let read =
            |name: &str| std::fs::read_to_string(place.root().join(name)).unwrap_or_default();
        assert_eq!(read(".git/hooks/pre-commit"), HOOK, "{attack}: {output:?}");
        assert_eq!(read(".vscode/tasks.json"), "ordinary", "{attack}");
        let config = read(".git/config");
        for word in ["evil", "hooksPath", "fsmonitor"] {
            assert!(!config.contains(word), "{attack}: {config}");
        }
        for name in [
            ".envrc",
            ".mcp.json",
            ".idea/w.xml",
            ".vscode/settings.json",
            ".git/hooks/post-checkout",
            ".git/hooks/pre-push",
            "sub/.git/hooks/pre-commit",
        ] {
            assert!(!place.root().join(name).exists(), "{name} after {attack}: {output:?}");
        }
        assert!(output.protected.iter().all(|change| change.put_back), "{attack}: {output:?}");
    }
}

#[test]
fn names_that_run_programs_stay_as_they_are() {
    check_attacks(tier());
}

#[test]
fn names_that_run_programs_stay_as_they_are_for_an_ordinary_user() {
    as_ordinary_user("protected::names_that_run_programs_stay_as_they_are");
}

#[test]
fn names_that_run_programs_are_put_back_without_namespaces() {
    check_attacks(Tier::C);
}

#[test]
fn names_that_run_programs_are_put_back_without_namespaces_for_an_ordinary_user() {
    as_ordinary_user("protected::names_that_run_programs_are_put_back_without_namespaces");
}

/// Runs an attack where settings of tenon's own lie in the workspace, or where they would.
fn attack_own_settings(tier: Tier, is_there: bool, setup: &str, attack: &str) -> Vec<PathBuf> {
    let place = Place::with(|settings| {
        settings.wanted = Wanted::Exactly(tier);
        let root = settings.roots.first().unwrap().clone();
        let folder = root.join(".config/tenon");
        settings.hidden.push(folder.clone());
        settings.own = vec![folder.clone(), folder.join("config.toml")];
        let file = "mkdir -p .config/tenon; printf ordinary > .config/tenon/config.toml";
        for script in [setup, if is_there { file } else { "" }] {
            let mut shell = std::process::Command::new("bash");
            let shell = shell.args(["-ec", script]).current_dir(&root);
            assert!(shell.status().unwrap().success(), "{script}");
        }
    });
    let output = place.try_run(attack).unwrap();
    let file = place.root().join(".config/tenon/config.toml");
    let found = std::fs::read_to_string(file).unwrap_or_default();
    let expected = if is_there { "ordinary" } else { "" };
    assert_eq!(found, expected, "{tier:?} {setup:?} {attack:?}: {output:?}");
    assert!(!place.root().join(".config/tenon/AGENTS.md").exists(), "{attack}");
    output.protected.into_iter().map(|change| change.path).collect()
}

fn check_own_settings(tier: Tier) {
    const WRITE: &str = "mkdir -p .config/tenon; echo evil > .config/tenon/config.toml; \
                         echo evil > .config/tenon/AGENTS.md";
    let check = |is_there, setup: &str, attack: &str| {
        attack_own_settings(tier, is_there, setup, attack);
    };
    for is_there in [false, true] {
        check(is_there, "", WRITE);
        check(is_there, "mkdir .config", &format!("mv .config c2; {WRITE}"));
        let linked = "rm -rf .config/tenon; mkdir -p c .config; echo evil > c/config.toml; \
                      ln -s ../c .config/tenon";
        check(is_there, "", linked);
        let linked_above = "mkdir -p c/tenon; echo evil > c/tenon/config.toml; \
                            mv .config c2; ln -s c .config";
        check(is_there, "", linked_above);
        let dots = "mkdir -p dots/tenon; ln -s dots .config";
        check(is_there, dots, WRITE);
        check(is_there, dots, &format!("rm .config; {WRITE}"));
        let file = "mkdir -p dots .config/tenon; ln -s ../../dots/c .config/tenon/config.toml";
        check(is_there, file, "echo evil > dots/c; mv dots d2; mkdir dots; echo evil > dots/c");
        let other =
            "mkdir -p dots e .config; echo evil > e/config.toml; ln -s ../dots .config/tenon";
        check(is_there, other, "ln -sfn ../e .config/tenon; rm -rf dots; ln -s e dots");
    }
    let links = "mkdir -p .config mid dots e; echo evil > e/config.toml; \
                 ln -s ../mid/x .config/tenon; ln -s ../dots mid/x";
    let all = "ln -sfn ../e .config/tenon; rm -r mid; mkdir m; ln -s ../e m/x; ln -s m mid";
    check(true, links, all);
}

#[test]
fn what_lies_beside_own_settings_is_left_alone() {
    for tier in [tier(), Tier::C] {
        let beside = "mkdir -p .config/tenon2 && echo x > .config/tenon2/config.toml";
        assert!(attack_own_settings(tier, true, "", beside).is_empty());
        let setup = "mkdir -p .config d; echo mine > d/file";
        let told = attack_own_settings(tier, false, setup, "ln -s ../d .config/tenon");
        let links = told.iter().all(|path| path.ends_with(".config/tenon"));
        assert!(links && told.len() == 1, "{told:?}");
    }
}

#[test]
fn own_settings_in_the_workspace_stay_as_they_are() {
    check_own_settings(tier());
}

#[test]
fn own_settings_in_the_workspace_are_put_back_without_namespaces() {
    check_own_settings(Tier::C);
}

#[test]
fn own_settings_in_the_workspace_are_put_back_without_namespaces_for_an_ordinary_user() {
    as_ordinary_user("protected::own_settings_in_the_workspace_are_put_back_without_namespaces");
}

#[test]
fn what_was_put_back_is_told_with_what_was_found() {
    let place = repository(tier());
    let output = place.try_run("echo task > .envrc; git config core.pager evil").unwrap();
    let told: Vec<_> = output
        .protected
        .iter()
        .map(|change| (change.path.strip_prefix(place.root()).unwrap(), &change.kind))
        .collect();
    let settings = ProtectedChangeKind::GitSettings(vec!["core.pager".into()]);
    assert_eq!(
        told,
        [
            (Path::new(".envrc"), &ProtectedChangeKind::Created),
            (Path::new(".git/config"), &settings),
        ]
    );
    assert_eq!(output.protected.first().unwrap().found.as_deref(), Some(&b"task\n"[..]));
    assert!(place.try_run("true").unwrap().protected.is_empty());
}

#[test]
fn a_name_that_a_call_has_leave_for_is_not_read_only_and_put_back_afterwards() {
    let place = repository(tier());
    place.run("mkdir .tenon");
    std::fs::create_dir_all(place.root().join(".tenon")).unwrap();
    let script = "echo x > .git/hooks/pre-commit; echo x > .tenon/a; echo x > .mcp.json; \
                  echo new > .vscode/tasks.json; echo in; cat .vscode/tasks.json";
    let mut granted = place.command(script);
    let files = [".git/hooks/pre-commit", ".tenon/a", ".vscode/tasks.json"];
    granted.profile.lifted = files.iter().map(|name| place.root().join(name)).collect();
    let output = place.try_command(granted).unwrap();
    assert!(printed(&output).contains("in\nnew\n"), "{}", printed(&output));
    let told: Vec<_> = output.protected.iter().map(|it| (it.path.clone(), it.put_back)).collect();
    let expected = [".mcp.json", ".vscode/tasks.json"].map(|name| (place.root().join(name), true));
    assert_eq!(told, expected);
    let read = |name: &str| std::fs::read_to_string(place.root().join(name)).unwrap_or_default();
    assert_eq!((read(".vscode/tasks.json"), read(".mcp.json")), ("ordinary".into(), "".into()));
    assert_eq!(read(".tenon/a"), "");
    assert_ne!(read(".git/hooks/pre-commit"), "x\n");
}

#[test]
fn what_a_person_changes_while_a_command_only_reads_stays() {
    for wanted in [tier(), Tier::C] {
        let place = repository(wanted);
        let script = "until [ -e sub/.envrc ] && [ -e .mcp.json ]; do sleep 0.02; done";
        let mut command = place.command(script);
        command.profile = command.profile.read_only();
        let root = place.root().to_path_buf();
        let person = std::thread::spawn(move || {
            std::fs::create_dir(root.join("sub")).unwrap();
            std::fs::write(root.join("sub/.envrc"), "mine").unwrap();
            std::fs::write(root.join(".mcp.json"), "mine").unwrap();
        });
        let output = place.try_command(command).unwrap();
        person.join().unwrap();
        assert_eq!((output.exit, output.protected.as_slice()), (Exit::Code(0), &[][..]));
        let read = |name: &str| std::fs::read_to_string(place.root().join(name)).unwrap();
        assert_eq!([read("sub/.envrc"), read(".mcp.json")], ["mine", "mine"]);
    }
}

#[test]
fn folders_of_tenons_own_are_never_seen() {
    for inside in [true, false] {
        let place = Place::with(|settings| {
            let root = settings.roots.first().unwrap();
            let own = if inside { root.join("state") } else { root.with_file_name("state") };
            std::fs::create_dir(&own).unwrap();
            std::fs::write(own.join("log"), "SECRET").unwrap();
            settings.hidden.push(own);
        });
        let own = if inside { "state" } else { "../state" };
        let (_, said) = place
            .run(&format!("cat {own}/log; ls -A {own}; rm -rf {own}; mv {own} x; touch {own}/new"));
        assert!(!said.contains("SECRET") && !said.contains("\nlog"), "{said}");
        let log = if inside {
            place.root().join("state/log")
        } else {
            place.top.path().join("state/log")
        };
        assert_eq!(std::fs::read_to_string(log).unwrap(), "SECRET");
    }
}

/// A place whose workspace gets its repository from this script, given the folder of the main one
/// and the workspace.
fn place_of_git(script: &str) -> Place {
    Place::with(|settings| {
        let root = settings.roots.first().unwrap().clone();
        let status = std::process::Command::new("bash")
            .args(["-c", script, "bash"])
            .args([&root.with_file_name("main"), &root])
            .env("HOME", "/nonexistent")
            .envs([
                ("GIT_AUTHOR_NAME", "n"),
                ("GIT_AUTHOR_EMAIL", "e"),
                ("GIT_COMMITTER_NAME", "n"),
                ("GIT_COMMITTER_EMAIL", "e"),
            ])
            .status();
        assert!(status.unwrap().success());
    })
}

/// Commits in a workspace that has one commit.
fn commits(place: &Place) {
    let (exit, said) = place.run(
        "export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e; \
         set -e; touch f; git add f; git commit -qm b; git log --oneline | wc -l",
    );
    assert_eq!((exit, said.as_str()), (Exit::Code(0), "2\n"));
}

#[test]
fn a_submodule_works_and_its_repository_is_protected() {
    let place = place_of_git(
        "set -e; cd $2; git init -q; git commit -q --allow-empty -m a; mkdir -p $1/modules
        mv .git $1/modules/s; git -C $1/modules/s config core.worktree $2
        echo gitdir: ../main/modules/s > .git",
    );
    commits(&place);
    let (_, said) = place.run(
        "d=../main/modules/s; echo evil > $d/hooks/pre-commit; echo evil > ../main/new
        git config core.fsmonitor 'touch evil'",
    );
    let main = place.top.path().join("main");
    assert!(
        !main.join("modules/s/hooks/pre-commit").exists() && !main.join("new").exists(),
        "{said}"
    );
    let config = std::fs::read_to_string(main.join("modules/s/config")).unwrap();
    assert!(config.contains("worktree") && !config.contains("evil"), "{config}");
}

#[test]
fn a_linked_worktree_works_and_its_repository_is_protected() {
    let mut place = place_of_git(
        "set -e; git init -q $1; cd $1; git commit -q --allow-empty -m a; rmdir $2
        git worktree add -q $2",
    );
    // The folder was made anew: the session must hold the new one.
    place.workspace = tenon_sandbox::Workspace::open(place.root()).unwrap();
    assert_eq!(place.workspace.roots(), place.sandbox.settings().roots);
    commits(&place);
    let (_, said) = place.run(
        "echo evil > ../main/.git/hooks/pre-commit; echo evil > ../main/new; echo evil > .git",
    );
    assert!(!place.top.path().join("main/.git/hooks/pre-commit").exists(), "{said}");
    assert!(!place.top.path().join("main/new").exists());
    assert!(std::fs::read_to_string(place.root().join(".git")).unwrap().starts_with("gitdir: "));
    // A worktree of it beneath this one.
    let (_, said) = place.run("git worktree add -q in && git -C in status -sb");
    assert_eq!(said, "## in\n");
    assert_eq!(place.run("git -C in status -sb").1, "## in\n");
    // A pointer to a repository that nobody looks at.
    let script = "cp -r ../main/.git /tmp/other; mkdir evil; echo gitdir: /tmp/other > evil/.git";
    let (_, said) = place.run(script);
    assert!(!place.root().join("evil/.git").exists(), "{said}");
}
