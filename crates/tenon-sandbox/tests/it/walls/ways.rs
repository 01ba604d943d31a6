//! Folders of a session, and HOME, that the user comes to by symbolic links.

use std::os::unix::fs::symlink;
use std::path::Path;

use tenon_sandbox::{Profile, Sandbox, Tier, Wanted, Workspace};

use super::{Place, as_ordinary_user, printed};
use crate::skipped::skipped;

/// A home named by a link, a workspace by three, of which two are one behind the other, and an added folder.
fn by_links(wanted: Wanted) -> Place {
    let mut place = Place::with(|settings| settings.readable.clear());
    let top = place.top.path().canonicalize().unwrap();
    for name in ["home/src", "home/notes", "disk", "far/work/bin", "far/lib", "far/other"] {
        std::fs::create_dir_all(top.join(name)).unwrap();
    }
    for (link, target) in [
        ("u", "home".into()),
        ("home/src/work", "../../disk/by".into()),
        ("disk/by", top.join("far/work")),
        ("home/lib", top.join("far/lib")),
        ("home/other", top.join("far/other")),
        ("far/work/away", top.join("far/other")),
    ] {
        symlink(target, top.join(link)).unwrap();
    }
    std::fs::write(top.join("far/other/file"), "SECRET").unwrap();
    std::fs::write(top.join("home/notes/file"), "SECRET").unwrap();
    let tool = top.join("far/work/bin/tool");
    std::fs::write(&tool, format!("#!{}/u/src/work/bin/sh\necho tool runs\n", top.display()))
        .unwrap();
    symlink("/bin/sh", top.join("far/work/bin/sh")).unwrap();
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let workspace = Workspace::open(&top.join("u/src/work")).unwrap();
    place.workspace = workspace.with_root(&top.join("u/lib")).unwrap();
    let settings = tenon_sandbox::Settings {
        roots: place.workspace.roots(),
        ways: place.workspace.ways(),
        home: Some(top.join("u")),
        wanted,
        ..place.sandbox.settings().clone()
    };
    place.profile = Profile::workspace(&place.workspace);
    place.sandbox = Sandbox::new(settings);
    place
}

/// What commands say, one after the other.
fn said(place: &Place, script: &str) -> Option<String> {
    let mut command = place.command(script);
    command.environment.retain(|(name, _)| name != "HOME");
    command.environment.push(("HOME".into(), place.top.path().join("u").into()));
    match place.try_command(command) {
        Ok(output) => Some(printed(&output)),
        Err(error) => {
            skipped(error);
            None
        }
    }
}

#[track_caller]
fn check(tier: Tier) {
    let place = by_links(Wanted::Exactly(tier));
    let top = place.top.path().canonicalize().unwrap();
    let script = "cd $TOP/u/src/work && bin/tool && echo made > $TOP/u/src/work/new && cat new && \
                  echo more > $TOP/u/lib/new && cd $HOME && cd lib && cat new && pwd -P";
    let Some(found) = said(&place, script) else { return };
    assert_eq!(found, format!("tool runs\nmade\nmore\n{}/far/lib\n", top.display()), "{tier:?}");
    assert_eq!(place.outside("far/work/new"), "made\n");
    assert_eq!(place.outside("far/lib/new"), "more\n");
    let script = "cat $TOP/home/other/file $TOP/far/other/file $TOP/u/notes/file away/file $HOME/other/file; \
                  echo x > $TOP/u/src/work/../new; cd $HOME/lib/..; ls; echo end";
    let found = said(&place, script).unwrap();
    assert!(found.contains("end\n") && !found.contains("SECRET"), "{tier:?}: {found}");
    assert_eq!(place.outside("home/src/new"), "-");
    if tier != Tier::C {
        let script = "cd $TOP; find . -mindepth 1 -maxdepth 3 -printf '%y %P\n' | grep -v -e far/new -e cargo | sort; \
                      readlink u home/src/work disk/by";
        let expected = "d disk\nd far\nd far/lib\nd far/work\nd far/work/bin\nd home\nd home/src\n\
                        f far/lib/new\nf far/work/new\n\
                        l disk/by\nl far/work/away\nl home/lib\nl home/src/work\nl u\n";
        let found = said(&place, script).unwrap();
        assert!(found.starts_with(expected), "{tier:?}: {found}");
        assert!(found.ends_with(&format!("home\n../../disk/by\n{}/far/work\n", top.display())));
    }
    let is_there =
        |name: &str| place.sandbox.out_of_sight(&place.profile, &top.join(name)).is_none();
    let found = ["u/src/work/new", "u/lib", "home/src/work", "home/other", "u/notes"].map(is_there);
    assert_eq!(found, [true, true, true, false, false], "{tier:?}");
}

#[test]
fn folders_are_come_to_by_the_links_that_the_user_named() {
    for tier in [Tier::A, Tier::B, Tier::C] {
        if tier != Tier::B || Path::new("/usr/bin/bwrap").exists() {
            check(tier);
        }
    }
}

#[test]
fn folders_are_come_to_by_links_for_an_ordinary_user() {
    as_ordinary_user("ways::folders_are_come_to_by_the_links_that_the_user_named");
}

#[test]
fn a_link_that_a_command_put_in_the_place_of_one_leads_nowhere_else() {
    for tier in [Tier::A, Tier::B] {
        if tier == Tier::B && !Path::new("/usr/bin/bwrap").exists() {
            continue;
        }
        let place = by_links(Wanted::Exactly(tier));
        let script = "rm -f $TOP/u $TOP/home/lib $TOP/home/src/work; mv $TOP/home/src $TOP/home/x; \
                      ln -sfn $TOP/far/other $TOP/home/lib; mkdir -p $TOP/home; ln -sfn /etc $TOP/home/src; echo end";
        let Some(first) = said(&place, script) else { continue };
        assert!(first.contains("end\n"), "{first}");
        let script = "cat $TOP/home/lib/file $TOP/far/other/file; echo x > $TOP/home/src/passwd; \
                      echo kept > $TOP/far/work/new; echo end";
        let found = said(&place, script).unwrap();
        assert!(found.contains("end\n") && !found.contains("SECRET"), "{tier:?}: {found}");
        assert_eq!(place.outside("far/work/new"), "kept\n");
        let target = std::fs::read_link(place.top.path().join("home/lib")).unwrap();
        assert!(target.ends_with("far/lib"), "{}", target.display());
    }
}
