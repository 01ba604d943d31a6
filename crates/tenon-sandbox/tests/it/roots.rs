//! Folders of a session that lie in one another: a command can exchange the inner one for a link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tenon_sandbox::{CommandError, Expected, FileError, Tier, WalkOptions, Wanted, Workspace};

use crate::files::fixture;
use crate::walls::{Place, tier};

#[test]
fn no_root_is_opened_through_a_link_in_another() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (root, outside) = (&top.join("root"), top.join("outside"));
    fs::create_dir_all(outside.join("in")).unwrap();
    fs::create_dir_all(root.join("plain")).unwrap();
    symlink(&outside, root.join("direct")).unwrap();
    symlink(root, outside.join("in/back")).unwrap();
    let check = |first: &Path, second: &Path, opens: bool| {
        let opened = Workspace::open(first).unwrap().with_root(second);
        let refused = matches!(opened, Err(FileError::InvalidPath { .. }));
        assert_eq!((opened.is_ok(), refused), (opens, !opens), "{first:?} {second:?}");
    };
    check(root, &root.join("plain"), true);
    check(root, &root.join("direct"), false);
    check(root, &root.join("direct/in"), false);
    check(&root.join("direct"), root, false);
    check(&outside.join("in"), &outside.join("in/back/plain"), false);
    // Links beside the folders are the user's.
    check(&outside.join("in/back"), &outside.join("in/back/plain"), true);
}

#[test]
fn no_command_runs_while_an_inner_root_is_a_link() {
    for tier in [tier(), Tier::C] {
        let place = Place::with(|settings| {
            settings.wanted = Wanted::Exactly(tier);
            let inner = settings.roots.first().unwrap().join("a/inner");
            fs::create_dir_all(&inner).unwrap();
            settings.roots.push(inner);
        });
        place.run("mv a b; mkdir a; ln -s $TOP a/inner; true");
        let outcome = place.try_run("cat $TOP/home/.ssh/id_rsa");
        assert!(matches!(outcome, Err(CommandError::Walls(_))), "{tier:?}: {outcome:?}");
        fs::remove_file(place.root().join("a/inner")).unwrap();
        let (_, said) = place.run("cat $TOP/home/.ssh/id_rsa; echo end");
        assert!(said.contains("end") && !said.contains("SECRET"), "{tier:?}: {said}");
    }
}

#[test]
fn a_file_of_a_root_is_served_by_every_link_that_leads_there() {
    let fixture = fixture();
    let (root, outer) = (&fixture.root, &fixture.outer);
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    // Links beside the root, one by another, and links in the root that go out by them and come back.
    symlink(outer, outer.join("alias")).unwrap();
    symlink("alias/second/../project", outer.join("further")).unwrap();
    symlink(outer.join("alias/project/src"), root.join("round")).unwrap();
    symlink("../further/.git/hooks", root.join("innocent")).unwrap();
    symlink(outer.join("alias/secrets"), root.join("away")).unwrap();
    symlink("loop", outer.join("loop")).unwrap();
    let absolute = |name: &str| outer.join(name).display().to_string();
    let workspace = &fixture.workspace;
    for (path, beneath) in [
        (absolute("alias/project/src/main.py"), "src/main.py"),
        (absolute("further/src/main.py"), "src/main.py"),
        ("../alias/alias/project/src/../src/main.py".into(), "src/main.py"),
        ("round/main.py".into(), "src/main.py"),
        ("round/none/new".into(), "src/none/new"),
        (absolute("further/new"), "new"),
    ] {
        let location = workspace.locate(&path).unwrap();
        assert_eq!((location.root, location.beneath.as_path()), (0, Path::new(beneath)), "{path}");
        assert!(workspace.outside(&path).unwrap().is_none(), "{path}");
        let written = workspace.write(&path, b"new", Expected::Any);
        assert!(written.is_ok(), "{path}: {written:?}");
        assert_eq!(workspace.open_file(&path).unwrap().path(), beneath);
        assert_eq!(fs::read(root.join(beneath)).unwrap(), b"new");
    }
    let walked = workspace.walk(&absolute("further/src"), WalkOptions::default()).unwrap();
    let walked: Vec<_> = walked.map(|entry| entry.unwrap().path).collect();
    assert!(walked.contains(&"src/main.py".into()), "{walked:?}");
    // What holds for the place holds by each way to it.
    for path in ["innocent/pre-commit".into(), absolute("further/.envrc")] {
        let refused = workspace.write(&path, b"x", Expected::Any);
        assert!(matches!(refused, Err(FileError::Protected { .. })), "{path}: {refused:?}");
    }
    for path in ["away/passwords.txt".into(), absolute("further/../secrets/x"), absolute("loop/x")]
    {
        let refused = workspace.write(&path, b"x", Expected::Any);
        assert!(matches!(refused, Err(FileError::Escapes { .. })), "{path}: {refused:?}");
    }
    symlink("further/nothing", outer.join("dangling")).unwrap();
    let refused = workspace.write(&absolute("dangling"), b"x", Expected::Any);
    assert!(matches!(refused, Err(FileError::DanglingLink { .. })), "{refused:?}");
}

#[test]
fn what_start_files_lead_to_by_now_is_protected() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for name in ["work/d", "home/fish/conf.d"] {
        fs::create_dir_all(top.join(name)).unwrap();
    }
    let link = |target: &str, name: &str| symlink(top.join(target), top.join(name)).unwrap();
    link("work/fish", "home/fish/conf.d/a");
    let named = [top.join("home/.rc"), top.join("home/fish")];
    let workspace = Workspace::open(&top.join("work")).unwrap().with_protected(&named);
    let check = |protected: &[&str], expected: bool| {
        for path in protected {
            assert_eq!(workspace.locate(path).unwrap().protected, expected, "{path}");
            let refused = matches!(
                workspace.write(path, b"x", Expected::Any),
                Err(FileError::Protected { .. })
            );
            assert_eq!(refused, expected, "{path}");
        }
    };
    check(&["fish"], true);
    check(&["rc", "d/new", "plain"], false);
    link("work/rc", "home/.rc");
    link("work/d", "home/fish/d");
    link("work", "home/fish/work");
    check(&["fish", "rc", "d/new", "d/later"], true);
    // What was protected once is so to the end.
    fs::remove_file(top.join("home/fish/conf.d/a")).unwrap();
    check(&["fish"], true);
    check(&["plain", "new"], false);
}
