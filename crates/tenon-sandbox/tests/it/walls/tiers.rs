//! Which walls stand, and that nothing pretends.

use tenon_sandbox::{CommandError, Exit, Missing, Network, Profile, Tier, Wanted, probe};

use super::{
    Place, Row, as_ordinary_user, attacks, check_rows, ordinary_user_with, printed, refused,
    rustix_is_root, works,
};
use crate::support::runtime;

fn alone() -> Place {
    Place::with(|settings| settings.wanted = Wanted::Exactly(Tier::C))
}

#[test]
fn the_best_tier_is_the_one_with_namespaces() {
    let place = Place::with(|settings| settings.wanted = Wanted::Best);
    assert_eq!(runtime().block_on(place.sandbox.tier()), Ok(Tier::A));
    let told = place.sandbox.describe(&place.profile);
    assert_eq!((told.tier, told.missing), (Tier::A, Vec::new()));
    assert_eq!(told.writable, [place.root()]);
    assert!(told.scratch.contains(&"/tmp".into()) && told.loopback);
}

#[test]
fn no_walls_run_nothing_that_asks_for_them() {
    let place = Place::with(|settings| settings.wanted = Wanted::Exactly(Tier::D));
    let result = place.try_run("touch ran");
    assert!(matches!(result, Err(CommandError::Walls(_))), "{result:?}");
    assert!(!place.root().join("ran").exists());
    let mut open = place.command("touch ran");
    open.profile = Profile::unconfined();
    assert_eq!(place.try_command(open).unwrap().exit, Exit::Code(0));
    assert!(place.root().join("ran").exists());
    // Leave for a protected file asks for no walls either.
    let mut open = place.command("touch .envrc");
    open.profile = Profile { lifted: vec![place.root().join(".envrc")], ..Profile::unconfined() };
    assert_eq!(place.try_command(open).unwrap().exit, Exit::Code(0));
    assert!(place.root().join(".envrc").exists());
}

#[test]
fn a_workspace_that_is_everything_is_refused() {
    let place = Place::with(|settings| settings.roots = vec!["/".into()]);
    let Err(CommandError::Walls(error)) = place.try_run("true") else { panic!("it ran") };
    assert_eq!(error.missing, Missing::WholeFileSystem);
    assert!(error.hint().is_some());
}

#[test]
fn commands_that_could_write_what_undo_keeps_are_refused_without_namespaces() {
    let check = |tier, store: &str, refused: bool| {
        let mut path = std::path::PathBuf::new();
        let place = Place::with(|settings| {
            settings.wanted = Wanted::Exactly(tier);
            path = settings.roots[0].join(store);
            settings.hidden.push(path.clone());
        });
        std::fs::create_dir_all(&path).unwrap();
        let result = place.try_run("touch ran");
        assert_eq!(place.root().join("ran").exists(), !refused, "{tier}, {store}: {result:?}");
        if refused {
            let Err(CommandError::Walls(error)) = result else { panic!("{store}: {result:?}") };
            assert_eq!(error.missing, Missing::UndoStore { path });
            assert!(error.hint().is_some_and(|hint| hint.contains("`undo = false`")));
        }
        let mut reads = place.command("ls");
        reads.profile = reads.profile.read_only();
        assert!(place.try_command(reads).is_ok(), "{tier}, {store}");
    };
    for (store, refused) in [
        (".tenon/undo", true),
        ("sub/.tenon-undo-0", true),
        ("../.tenon-undo-0", false),
        (".tenon/other", false),
    ] {
        check(Tier::C, store, refused);
        check(Tier::A, store, false);
    }
}

/// The other half of the test below.
#[test]
fn agent_without_user_namespaces() {
    if std::env::var_os("TENON_TEST_NO_NAMESPACES").is_none() {
        println!("skipped: this is the other half of a test, which runs it");
        return;
    }
    let exact = Place::new();
    let Err(CommandError::Walls(error)) = exact.try_run("touch ran") else { panic!("it ran") };
    assert_eq!((error.tier, error.missing), (Tier::A, Missing::NamespaceCount));
    assert!(!exact.root().join("ran").exists());
    let best = Place::with(|settings| settings.wanted = Wanted::Best);
    assert_eq!(best.run("echo ran").1, "ran\n");
    let told = best.sandbox.describe(&best.profile);
    assert_eq!(told.tier, Tier::C);
    assert_eq!(told.missing.first().map(|error| &error.missing), Some(&Missing::NamespaceCount));
}

#[test]
fn without_user_namespaces_the_next_tier_is_taken_and_told() {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
                  exec $0 --exact walls::tiers::agent_without_user_namespaces";
    let output = std::process::Command::new("unshare")
        .args(["-Ur", "bash", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("TENON_TEST_NO_NAMESPACES", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The other half of the test below.
#[test]
fn agent_that_nobody_may_read() {
    if std::env::var_os("TENON_TEST_UNREADABLE").is_none() {
        println!("skipped: this is the other half of a test, which runs it");
        return;
    }
    let Err(CommandError::Walls(error)) = Place::new().try_run("true") else { panic!("it ran") };
    assert_eq!((error.tier, &error.missing), (Tier::A, &Missing::Unreadable));
    assert!(error.hint().is_some_and(|hint| hint.contains("chmod a+r")));
}

#[test]
fn a_program_that_may_be_executed_and_not_read_says_so() {
    if !rustix_is_root() {
        println!("skipped: only root makes a file that is not one's own");
        return;
    }
    let arguments = ["--exact", "walls::tiers::agent_that_nobody_may_read", "--nocapture"];
    match ordinary_user_with(0o711, &arguments, &[("TENON_TEST_UNREADABLE", "1")]) {
        Ok(said) => assert!(said.contains("1 passed"), "{said}"),
        Err(reason) => println!("skipped: {reason}"),
    }
}

#[test]
fn attacks_on_files_fail_without_namespaces() {
    let place = alone();
    let promised: Vec<_> = attacks::all()
        .into_iter()
        .filter(|row| !attacks::NOT_WITHOUT_NAMESPACES.contains(&row.name))
        .collect();
    check_rows(&place, promised);
    assert_eq!(place.outside("outside"), "OUTSIDE");
}

#[test]
fn attacks_on_files_fail_without_namespaces_for_an_ordinary_user() {
    as_ordinary_user("tiers::attacks_on_files_fail_without_namespaces");
}

#[test]
fn there_are_no_internet_sockets_without_namespaces() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo BROKEN; echo end");
    let (_, said) = alone().run(&script);
    assert!(said.contains("Permission denied") && !said.contains("BROKEN"), "{said}");
    let (_, said) = alone().network(Network::On).run(&script);
    assert!(said.contains("BROKEN"), "{said}");
    assert!(!alone().try_run("true").unwrap().has_sockets);
    assert!(Place::new().try_run("true").unwrap().has_sockets);
    let Err(CommandError::Walls(error)) = alone().network(Network::Proxied).try_run("true") else {
        panic!("it ran")
    };
    assert_eq!(error.missing, Missing::Proxy);
}

#[test]
fn what_comes_later_can_be_read_without_namespaces_too() {
    let mut place = alone();
    let folder = place.top.path().join("outside-folder");
    std::fs::create_dir(&folder).unwrap();
    let script = format!("cat {}", folder.join("file").display());
    assert!(!place.run(&script).1.contains("later"));
    std::fs::write(folder.join("file"), "later").unwrap();
    assert!(place.run(&script).1.contains("later"));
    // Another folder under the name of the workspace: the rules are made for it anew.
    let root = place.root().to_path_buf();
    std::fs::rename(&root, root.with_extension("old")).unwrap();
    std::fs::create_dir(&root).unwrap();
    place.workspace = tenon_sandbox::Workspace::open(&root).unwrap();
    assert_eq!(place.run("echo new > file; cat file").1, "new\n");
    assert!(!root.with_extension("old").join("file").exists());
}

/// What holds the namespaces gave up what no command gets; each command gives up the rest.
#[test]
fn the_filter_of_a_command_is_in_two_parts() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let outer = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:\t"));
    let outer: u32 = outer.unwrap().parse().unwrap();
    let filters = "sed -n 's/Seccomp_filters:\t//p' /proc/1/status /proc/self/status";
    assert_eq!(Place::new().run(filters).1, format!("{}\n{}\n", outer + 1, outer + 2));
}

#[test]
fn what_was_made_ahead_is_what_the_first_command_uses() {
    let place = Place::new();
    runtime().block_on(async { place.sandbox.warm_up(&place.profile) });
    assert_eq!(place.run("echo ran; cat /proc/1/comm").1, "ran\ntenon-init\n");
    // Where it cannot be had, the command says so.
    let none = Place::with(|settings| settings.wanted = Wanted::Exactly(Tier::D));
    runtime().block_on(async { none.sandbox.warm_up(&none.profile) });
    assert!(none.try_run("true").is_err());
}

#[test]
fn a_private_folder_for_temporary_files_is_there_without_namespaces() {
    let place = alone();
    let output = place.try_run("f=$(mktemp) && echo $f && echo a > $f && cat $f").unwrap();
    let said = printed(&output);
    assert!(said.ends_with("\na\n"), "{said}");
    let folder = said.lines().next().unwrap().to_owned();
    drop(place);
    assert!(!std::path::Path::new(&folder).exists());
}

/// Programs look for settings in HOME, and many give up on those that they may not open.
const HOME: &[Row] = &[
    works(
        "git",
        "cat $HOME/.gitconfig; cd ~ && cd - && git init -q r && cd r && echo a > a && git add a && \
         git commit -qm first && git log --format=%an && git status --short && git branch b && \
         git config --global core.abbrev 9 && git config --global user.name && echo done",
        &["Ada Real", "done"],
    ),
    works(
        "places in the home that variables name",
        "export XDG_CONFIG_HOME; echo $XDG_CONFIG_HOME; git config user.name && echo done",
        &["Ada Real", "done"],
    ),
    works(
        "files that are shown, toolchains and folders of links",
        "cat ~/.npmrc ~/.cargo/config.toml ~/.rustup/settings && ls ~/.cargo ~/.cargo/bin && \
         test ! -e ~/.cargo/credentials.toml && test ! -e ~/.ssh && echo done",
        &["registry=shown", "[shown]", "settings", "tool", "done"],
    ),
    works(
        "what is written there is there in the next command",
        "echo kept > ~/.cache-of-a-tool && mkdir -p ~/.config/tool && echo done",
        &["done"],
    ),
    works("the next command", "cat ~/.cache-of-a-tool; ls $TMPDIR | wc -l", &["kept\n0\n"]),
    works("a shell's own settings", "bash -lic true 2>&1 | grep -i denied || echo none", &["none"]),
    works(
        "other programs",
        "set -e; for p in 'npm --version' 'pip --version' 'python3 -c pass' 'node -e 0' \
         'make --version' 'curl --version' 'wget --version'; do command -v ${p%% *} > /dev/null || continue; \
         $p > out 2>&1 || { echo $p; cat out; exit 1; }; ! grep -i denied out; done; echo done",
        &["done"],
    ),
    refused(
        "the user's own",
        "cat $TOP/home/.gitconfig $TOP/home/.curlrc && echo BROKEN; echo x > $TOP/home/new && echo BROKEN; \
         echo x > ~/.cargo/bin/tool && echo BROKEN; echo refused",
    ),
];

#[test]
fn programs_find_a_home_without_namespaces() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with(|settings| {
        settings.wanted = Wanted::Exactly(Tier::C);
        settings.readable = Vec::new();
        let home = settings.home.clone().unwrap();
        for (number, name) in [
            ".gitconfig",
            ".config/git/config",
            ".config/git/ignore",
            ".config/git/attributes",
            ".npmrc",
            ".config/pip/pip.conf",
            ".curlrc",
            ".wgetrc",
            ".bashrc",
            ".bash_profile",
            ".profile",
            ".inputrc",
            ".cargo/config.toml",
            ".cargo/bin/tool",
            ".rustup/settings",
        ]
        .iter()
        .enumerate()
        {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text =
                if number == 0 { "[user]\nname = Ada Real\nemail = a@b\n" } else { "settings\n" };
            std::fs::write(&path, text).unwrap();
            let mode = if number % 2 == 0 { 0o600 } else { 0o644 };
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        settings.shown = vec![
            (home.join(".npmrc"), b"registry=shown\n".to_vec()),
            (home.join(".cargo/config.toml"), b"[shown]\n".to_vec()),
        ];
    });
    for row in HOME {
        let mut command = place.command(row.script);
        let config = place.home().join(".config");
        command.environment.push(("XDG_CONFIG_HOME".into(), config.into()));
        let said = printed(&place.try_command(command).unwrap());
        let holds = row.prints.iter().all(|wanted| said.contains(wanted));
        assert!(
            holds && !row.never.iter().any(|never| said.contains(never)),
            "{}: {said}",
            row.name
        );
    }
    let written = std::fs::read_to_string(place.home().join(".gitconfig")).unwrap();
    assert!(written.contains("Ada") && !written.contains("abbrev"), "{written}");
}

#[test]
fn programs_find_a_home_without_namespaces_for_an_ordinary_user() {
    as_ordinary_user("tiers::programs_find_a_home_without_namespaces");
}

#[test]
fn a_home_that_is_the_workspace_stays_the_home_without_namespaces() {
    let place = Place::with(|settings| {
        settings.wanted = Wanted::Exactly(Tier::C);
        settings.home = settings.roots.first().cloned();
    });
    let mut command = place.command("echo $HOME; echo x > ~/file");
    command.environment.retain(|(name, _)| name != "HOME");
    command.environment.push(("HOME".into(), place.root().into()));
    let said = printed(&place.try_command(command).unwrap());
    assert_eq!(said, format!("{}\n", place.root().display()));
    assert!(place.root().join("file").exists());
}

/// Landlock holds none of it, and nobody is asked about a command that only reads.
const ATTRIBUTES: &[Row] = &[
    refused("mode", "chmod 777 $F && echo BROKEN; echo refused"),
    refused("owner", "chown $(id -u) $F && echo BROKEN; echo refused"),
    refused("times", "touch -d 2001-01-01 $F && echo BROKEN; echo refused"),
    refused(
        "by descriptor, and attributes",
        "python3 -c \"import os, sys
f = os.environ['F']; d = os.open(f, os.O_RDONLY)
for call in (lambda: os.fchmod(d, 0o777), lambda: os.fchown(d, os.getuid(), -1), lambda: os.utime(d, (1, 1)),
             lambda: os.utime(f, (1, 1)), lambda: os.setxattr(f, 'user.x', b'y'), lambda: os.setxattr(d, 'user.x', b'y')):
    try: call(); print('BROKEN')
    except OSError as error: print(error.errno)\"; echo refused",
    ),
    works(
        "ordinary reading",
        "set -e; cd r; git status --short; git log --format=%s; git diff; git grep a; ls -l; grep -r a .; \
         python3 -c 'import tempfile as t; f = t.NamedTemporaryFile(); d = t.TemporaryDirectory(); print(6*7)'; \
         f=$(mktemp); cat a > $f; sort $f; cat $f <<E\nE\nfind . -newer a | wc -l; echo done",
        &["first", "42", "done"],
    ),
];

#[test]
fn commands_that_only_read_change_no_attributes_without_namespaces() {
    use std::os::unix::fs::MetadataExt;
    let mut place = alone();
    let git = "git init -q r && cd r && echo a > a && git add a && \
               git -c user.name=n -c user.email=e commit -qm first && echo ready; touch ../inside";
    assert!(place.run(git).1.contains("ready"));
    place.profile = place.profile.clone().read_only();
    for file in [place.top.path().join("outside"), place.root().join("inside")] {
        let facts = || {
            let found = std::fs::metadata(&file).unwrap();
            (found.mode(), found.mtime(), found.ctime(), found.ctime_nsec())
        };
        let before = facts();
        for row in ATTRIBUTES {
            let mut command = place.command(row.script);
            command.environment.push(("F".into(), file.clone().into()));
            let said = printed(&place.try_command(command).unwrap());
            let holds = row.prints.iter().all(|wanted| said.contains(wanted));
            assert!(holds && !said.contains("BROKEN"), "{}: {said}", row.name);
        }
        assert_eq!(facts(), before);
    }
}

#[test]
fn commands_that_only_read_change_no_attributes_without_namespaces_for_an_ordinary_user() {
    as_ordinary_user("tiers::commands_that_only_read_change_no_attributes_without_namespaces");
}

#[test]
fn this_kernel_has_what_the_tests_need() {
    let kernel = probe();
    assert!(kernel.seccomp && kernel.mount_setattr && kernel.user_namespaces, "{kernel:?}");
    assert!(kernel.landlock_abi >= Some(3), "{kernel:?}");
}

#[test]
fn a_running_command_may_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let place = Place::new();
    let cancel = tokio_util::sync::CancellationToken::new();
    let mut ignore = |_, _: &str| {};
    is_send(&place.sandbox.run(place.command("true"), &cancel, &mut ignore));
    is_send(&place.sandbox.tier());
}
