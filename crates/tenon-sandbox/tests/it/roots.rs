//! Folders of a session that lie in one another: a command can exchange the inner one for a link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tenon_sandbox::{CommandError, FileError, Tier, Wanted, Workspace};

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
