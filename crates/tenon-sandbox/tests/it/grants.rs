//! What a grant opens: the place that was found, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tenon_sandbox::{
    Access, ContentHash, EntryKind, Expected, FileError, Outside, WalkOptions, Workspace,
};

use crate::files::{Fixture, fixture};

fn find(fixture: &Fixture, path: &str) -> Outside {
    fixture.workspace.outside(path).unwrap().unwrap()
}

fn granted(fixture: &Fixture, outside: &Outside, access: Access) -> Workspace {
    fixture.workspace.clone().with_grant(outside, access).unwrap()
}

fn read(workspace: &Workspace, path: &str) -> Result<String, String> {
    let bytes = workspace.read(path, 1000).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(bytes).unwrap())
}

#[test]
fn what_is_shown_is_where_every_link_leads() {
    let fixture = fixture();
    let secret = fixture.outer.join("secrets/passwords.txt");
    symlink("../secrets/passwords.txt", fixture.root.join("link")).unwrap();
    symlink(fixture.outer.join("secrets"), fixture.outer.join("way")).unwrap();
    let far = fixture.outer.join("second/../way/./passwords.txt");
    for path in
        ["../secrets/passwords.txt", "link", "src/../../way/passwords.txt", far.to_str().unwrap()]
    {
        let outside = find(&fixture, path);
        assert_eq!(outside.absolute(), secret, "{path}");
        assert_eq!(outside.kind(), Some(EntryKind::File));
        let workspace = granted(&fixture, &outside, Access::Read);
        assert_eq!(read(&workspace, path).as_deref(), Ok("secrets/passwords.txt"), "{path}");
        assert_eq!(workspace.open_file(path).unwrap().path(), secret.to_str().unwrap());
    }
    assert!(fixture.workspace.outside("src/main.py").unwrap().is_none());
    assert!(fixture.workspace.outside("missing").unwrap().is_none());
    assert_eq!(find(&fixture, "../missing/x").kind(), None);
}

#[test]
fn a_file_is_granted_and_nothing_beside_it() {
    let fixture = fixture();
    fs::write(fixture.outer.join("secrets/other"), "other").unwrap();
    let path = "../secrets/passwords.txt";
    let workspace = granted(&fixture, &find(&fixture, path), Access::Read);
    for other in
        ["../secrets/other", "../secrets/./passwords.txt/../other", "../secrets", "/etc/passwd"]
    {
        assert!(matches!(workspace.open_file(other), Err(FileError::Escapes { .. })), "{other}");
        assert!(workspace.walk(other, WalkOptions::default()).is_err(), "{other}");
    }
    let refused = workspace.write(path, b"x", Expected::Any).unwrap_err();
    assert!(matches!(refused, FileError::ReadOnly { .. }), "{refused}");
    assert_eq!(read(&fixture.workspace, path), Err(format!("Path escapes workspace: {path}")));
}

#[test]
fn a_folder_is_granted_for_reading_with_what_is_in_it() {
    let fixture = fixture();
    let outer = &fixture.outer;
    fs::create_dir(outer.join("secrets/deep")).unwrap();
    fs::write(outer.join("secrets/deep/f"), "deep").unwrap();
    symlink(outer.join("second/f"), outer.join("secrets/out")).unwrap();
    symlink(outer.join("secrets"), fixture.root.join("link")).unwrap();
    for path in ["../secrets", "link", "link/", outer.join("secrets").to_str().unwrap()] {
        let workspace = granted(&fixture, &find(&fixture, path), Access::Read);
        let walk = workspace.walk(path, WalkOptions::default()).unwrap();
        let entries: Vec<_> = walk.map(Result::unwrap).collect();
        let names: Vec<_> = entries
            .iter()
            .map(|entry| entry.path.strip_prefix(outer).unwrap().to_str().unwrap())
            .collect();
        let all = ["secrets/deep", "secrets/deep/f", "secrets/out", "secrets/passwords.txt"];
        assert_eq!(names, all, "{path}");
        let file = entries.iter().find(|entry| entry.path.ends_with("f")).unwrap();
        assert_eq!(workspace.open_entry(file).unwrap().len(), 4);
        let name = path.trim_end_matches('/');
        assert_eq!(read(&workspace, &format!("{name}/deep/f")).as_deref(), Ok("deep"));
        assert!(read(&workspace, &format!("{name}/out")).unwrap_err().contains("escapes"));
        assert!(read(&workspace, &format!("{name}/../second/f")).unwrap_err().contains("escapes"));
        let refused = workspace.write(&format!("{name}/new"), b"x", Expected::Any).unwrap_err();
        assert!(matches!(refused, FileError::ReadOnly { .. }), "{refused}");
        assert_eq!(workspace.spill_folder(), None);
        assert_eq!(workspace.roots(), std::slice::from_ref(&fixture.root));
    }
    let folder = find(&fixture, "../secrets");
    assert!(fixture.workspace.clone().with_grant(&folder, Access::Write).is_err());
}

#[test]
fn a_granted_file_is_written_again_and_again_and_a_new_one_is_made() {
    let fixture = fixture();
    for (path, before) in
        [("../second/f", true), ("../second/new", false), ("../new/deep/f", false)]
    {
        let workspace = granted(&fixture, &find(&fixture, path), Access::Write);
        for text in ["one", "two"] {
            let written = workspace.write(path, text.as_bytes(), Expected::Any).unwrap();
            assert_eq!(written.created, !before && text == "one", "{path}");
            workspace.note_seen(path, written.hash);
            assert_eq!(read(&workspace, path).as_deref(), Ok(text));
            assert_eq!(workspace.seen(path), Some(written.hash));
        }
        assert_eq!(fs::read(fixture.root.join(path)).unwrap(), b"two");
    }
    let seen: Vec<String> =
        fixture.workspace.take_seen_news().into_iter().map(|(path, _)| path).collect();
    let outer = fixture.outer.display();
    assert_eq!(
        seen,
        ["new/deep/f", "second/f", "second/new"].map(|path| format!("{outer}/{path}"))
    );
}

/// Exchanges something between the look and the opening.
fn check_exchanged(path: &str, access: Access, exchange: impl Fn(&Path)) {
    let fixture = fixture();
    let outer = fixture.outer.clone();
    symlink(outer.join("second"), fixture.root.join("way")).unwrap();
    fs::create_dir_all(outer.join("second/deep")).unwrap();
    fs::write(outer.join("second/deep/g"), "g").unwrap();
    let outside = find(&fixture, path);
    exchange(&outer);
    let refused = fixture.workspace.clone().with_grant(&outside, access);
    assert!(matches!(refused, Err(FileError::Changed { .. })), "{path}: {refused:?}");
}

#[test]
fn what_is_exchanged_before_the_answer_is_not_opened() {
    let link_over = |at: &'static str, to: &'static str| {
        move |outer: &Path| {
            let _ = fs::rename(outer.join(at), outer.join("away"));
            symlink(outer.join(to), outer.join(at)).unwrap();
        }
    };
    let secret = "secrets/passwords.txt";
    check_exchanged("../second/f", Access::Read, link_over("second/f", secret));
    check_exchanged("../second/f", Access::Write, link_over("second/f", secret));
    check_exchanged("way/f", Access::Read, link_over("second", "secrets"));
    check_exchanged("../second/deep/g", Access::Read, link_over("second/deep", "secrets"));
    check_exchanged("../second/new", Access::Write, link_over("second/new", secret));
    check_exchanged("../second", Access::Read, link_over("second", "secrets"));
    check_exchanged("../second/f", Access::Read, |outer| {
        fs::remove_file(outer.join("second/f")).unwrap();
        fs::hard_link(outer.join("secrets/passwords.txt"), outer.join("second/f")).unwrap();
    });
    check_exchanged("../second/f", Access::Read, |outer| {
        fs::remove_file(outer.join("second/f")).unwrap()
    });
}

#[test]
fn what_is_exchanged_after_the_answer_is_not_opened_either() {
    let fixture = fixture();
    let (file, secret) =
        (fixture.outer.join("second/f"), fixture.outer.join("secrets/passwords.txt"));
    let outside = find(&fixture, "../second/f");
    for access in [Access::Read, Access::Write] {
        let workspace = granted(&fixture, &outside, access);
        fs::rename(&file, fixture.outer.join("away")).unwrap();
        symlink(&secret, &file).unwrap();
        let refused = workspace.open_file("../second/f").unwrap_err();
        assert!(matches!(refused, FileError::Changed { .. }), "{refused}");
        let refused = workspace.write("../second/f", b"x", Expected::Any).unwrap_err();
        assert!(
            matches!(refused, FileError::Changed { .. } | FileError::ReadOnly { .. }),
            "{refused}"
        );
        fs::rename(fixture.outer.join("away"), &file).unwrap();
        assert!(workspace.open_file("../second/f").is_ok());
    }
    assert_eq!(fs::read(secret).unwrap(), b"secrets/passwords.txt");
}

#[test]
fn a_link_in_the_workspace_may_turn_while_the_shown_place_stays() {
    let fixture = fixture();
    let link = fixture.root.join("link");
    symlink("../second/f", &link).unwrap();
    let outside = find(&fixture, "link");
    fs::remove_file(&link).unwrap();
    symlink("../secrets/passwords.txt", &link).unwrap();
    let workspace = granted(&fixture, &outside, Access::Read);
    assert_eq!(read(&workspace, "link").as_deref(), Ok("second/f"));
}

#[test]
fn some_places_are_closed_whatever_anybody_says() {
    let fixture = fixture();
    let own = fixture.outer.join("secrets");
    let workspace = fixture.workspace.clone().with_own_folder(&own);
    symlink("/proc/self", fixture.root.join("me")).unwrap();
    for path in [
        "/proc/self/environ",
        "/proc",
        "/sys/kernel/notes",
        "/dev/null",
        "/dev/shm",
        "/",
        "..",
        "me/environ",
        "../secrets",
        "../secrets/passwords.txt",
        "../secrets/new",
    ] {
        let outside = workspace.outside(path).unwrap().unwrap();
        assert!(outside.closed().is_some(), "{path}");
        let refused = workspace.clone().with_grant(&outside, Access::Read);
        assert!(matches!(refused, Err(FileError::Escapes { .. })), "{path}");
    }
    // A way around that leads back in by the kernel's own links is no place of its own.
    let here = fs::File::open(&fixture.root).unwrap();
    let around = format!("/proc/self/fd/{}/src", std::os::fd::AsRawFd::as_raw_fd(&here));
    let place = fixture.root.join("src").display().to_string();
    let refused = workspace.outside(&around);
    assert!(matches!(refused, Err(FileError::LeadsBack { place: it, .. }) if it == place));
    symlink("nothing", fixture.outer.join("dangling")).unwrap();
    assert!(matches!(workspace.outside("../dangling"), Err(FileError::DanglingLink { .. })));
}

#[test]
fn a_protected_name_is_lifted_at_one_place() {
    let fixture = fixture();
    fs::create_dir_all(fixture.root.join(".git/hooks")).unwrap();
    symlink(".git/hooks", fixture.root.join("innocent")).unwrap();
    let place = fixture.workspace.locate("innocent/pre-commit").unwrap().absolute;
    let workspace = fixture.workspace.clone().with_lifted(&place, Expected::Any);
    let write = |path: &str| workspace.write(path, b"x", Expected::Any).map(|_| ());
    for path in [".git/hooks/pre-push", "innocent/pre-push", ".envrc", ".git/hooks/pre-commit/x"] {
        assert!(matches!(write(path), Err(FileError::Protected { .. })), "{path}");
    }
    write("innocent/pre-commit").unwrap();
    write(".git/hooks/pre-commit").unwrap();
    // The link leads elsewhere now.
    fs::remove_file(fixture.root.join("innocent")).unwrap();
    fs::create_dir(fixture.root.join(".vscode")).unwrap();
    symlink(".vscode", fixture.root.join("innocent")).unwrap();
    assert!(matches!(write("innocent/pre-commit"), Err(FileError::Protected { .. })));
}

#[test]
fn a_protected_name_is_lifted_for_what_was_there_when_it_was_asked_about() {
    let check = |then: Option<&str>, now: Option<&str>| {
        let fixture = fixture();
        let file = fixture.root.join(".envrc");
        let put = |text: Option<&str>| match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => drop(fs::remove_file(&file)),
        };
        put(then);
        let expected = |text: Option<&str>| {
            text.map_or(Expected::Absent, |text| Expected::Hash(ContentHash::of(text.as_bytes())))
        };
        let workspace = fixture.workspace.clone().with_lifted(&file, expected(then));
        put(now);
        // A tool reads it before it writes.
        for expected in [expected(now), Expected::Any] {
            let written = workspace.write(".envrc", b"new", expected);
            if then == now {
                written.unwrap();
                assert!(workspace.lifted_write().is_some());
                break;
            }
            assert!(matches!(written, Err(FileError::Changed { .. })), "{written:?}");
            assert!(workspace.lifted_write().is_none());
            assert_eq!(fs::read_to_string(&file).ok().as_deref(), now);
        }
    };
    for then in [None, Some("a"), Some("b")] {
        [None, Some("a"), Some("b")].into_iter().for_each(|now| check(then, now));
    }
}
