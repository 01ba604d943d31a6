//! A workspace that is a copy of the user's home folder: commands see the copy as home, and of the home itself nothing.

use std::os::unix::fs::symlink;

use tenon_sandbox::{Profile, Sandbox, Settings, Tier, Wanted, Workspace};

use super::{Place, printed};
use crate::skipped::skipped;

fn check(tier: Tier) {
    let mut place = Place::new();
    let home = place.home();
    let copy = home.join("copies/u");
    for folder in ["secret", "copies/other", "copies/u/.rustup"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
        std::fs::write(home.join(folder).join("file"), folder.to_uppercase()).unwrap();
    }
    symlink(home.join("secret"), copy.join(".cargo")).unwrap();
    place.workspace = Workspace::open(&copy).unwrap();
    place.profile = Profile::workspace(&place.workspace);
    place.sandbox = Sandbox::new(Settings {
        roots: place.workspace.roots(),
        home: Some(copy.clone()),
        covered: vec![home.clone()],
        // In tier C what is readable is so with all that is in it.
        readable: if tier == Tier::C {
            Vec::new()
        } else {
            place.sandbox.settings().readable.clone()
        },
        wanted: Wanted::Exactly(tier),
        ..place.sandbox.settings().clone()
    });
    let mut command = place.command(
        "ls -A $TOP/home; cat $TOP/home/secret/file $TOP/home/copies/other/file ~/.cargo/file ~/.ssh/id_rsa \
         $TOP/home/.ssh/id_rsa; cat ~/.rustup/file && echo made > ~/new; echo end",
    );
    command.environment.retain(|(name, _)| name != "HOME");
    command.environment.push(("HOME".into(), copy.clone().into()));
    let said = match place.try_command(command) {
        Ok(output) => printed(&output),
        Err(error) => return skipped(error),
    };
    assert!(said.contains("COPIES/U/.RUSTUP") && said.contains("end\n"), "{tier:?}: {said}");
    for word in ["SECRET", "OTHER", "work"] {
        assert!(!said.contains(word), "{tier:?}: {said}");
    }
    assert_eq!(std::fs::read_to_string(copy.join("new")).unwrap(), "made\n", "{tier:?}");
}

#[test]
fn of_the_home_that_was_copied_nothing_is_seen() {
    for tier in [Tier::A, Tier::B, Tier::C] {
        if tier != Tier::B || std::path::Path::new("/usr/bin/bwrap").exists() {
            check(tier);
        }
    }
}

#[test]
fn of_the_home_that_was_copied_an_ordinary_user_sees_nothing() {
    super::as_ordinary_user("copied_home::of_the_home_that_was_copied_nothing_is_seen");
}
