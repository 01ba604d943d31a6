//! Files through a workspace: what is served, what is refused, what stays as it was.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::{prop_assert, prop_assert_eq, proptest};
use rustix::fs::XattrFlags;
use tempfile::TempDir;
use tenon_sandbox::{
    ContentHash, EntryKind, Expected, FileError, ProtectedNames, Workspace, WriteOptions,
};

use crate::skipped::skipped;

/// A project, and beside it what must not be reached.
pub(crate) struct Fixture {
    _outer: TempDir,
    pub(crate) outer: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) workspace: Workspace,
}

pub(crate) fn fixture() -> Fixture {
    let outer_folder = tempfile::tempdir().unwrap();
    let outer = outer_folder.path().canonicalize().unwrap();
    let root = outer.join("project");
    for folder in ["project/src/deep", "secrets", "project-evil", "second"] {
        fs::create_dir_all(outer.join(folder)).unwrap();
    }
    for file in ["project/src/main.py", "secrets/passwords.txt", "project-evil/x", "second/f"] {
        fs::write(outer.join(file), file).unwrap();
    }
    let workspace = Workspace::open(&root).unwrap();
    Fixture { _outer: outer_folder, outer, root, workspace }
}

const SERVED: Result<&str, &str> = Ok("project/src/main.py");

fn check_read(fixture: &Fixture, path: &str, expected: Result<&str, &str>) {
    let result = fixture.workspace.read(path, 1000);
    let result = result.map(|bytes| String::from_utf8(bytes).unwrap());
    let result = result.map_err(|error| error.to_string());
    assert_eq!(result.as_deref(), expected.map_err(str::to_owned).as_ref().copied(), "{path}");
}

fn check_escapes(fixture: &Fixture, path: &str) {
    let expected = format!("Path escapes workspace: {path}");
    check_read(fixture, path, Err(&expected));
    for result in [
        fixture.workspace.write(path, b"evil", Expected::Any).map(|_| ()),
        fixture.workspace.locate(path).map(|_| ()),
        fixture.workspace.walk(path, tenon_sandbox::WalkOptions::default()).map(|_| ()),
    ] {
        assert_eq!(result.unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_path_that_could_not_be_opened_again_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let long = vec!["d".repeat(200); 21].join("/");
    let result = workspace.write(&long, b"x", Expected::Any);
    assert!(matches!(result, Err(FileError::InvalidPath { .. })), "{result:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn spec_16_paths_inside_are_served() {
    let fixture = fixture();
    let root = fixture.root.to_str().unwrap();
    symlink("src/main.py", fixture.root.join("link")).unwrap();
    symlink("src", fixture.root.join("folder")).unwrap();
    symlink(fixture.root.join("src/main.py"), fixture.root.join("absolute")).unwrap();
    symlink("absolute", fixture.root.join("chain")).unwrap();
    for path in [
        "src/main.py",
        "./src//deep/../main.py",
        "link",
        "folder/main.py",
        "folder/deep/../main.py",
        "absolute",
        "chain",
        "../project/src/main.py",
        &format!("{root}/src/main.py"),
        &format!("{root}/./src/main.py"),
        &format!("{root}/../project/src/main.py"),
        &format!("/..{root}//absolute"),
    ] {
        check_read(&fixture, path, SERVED);
    }
}

#[test]
fn spec_15_spec_16_paths_outside_are_refused() {
    let fixture = fixture();
    let outer = fixture.outer.to_str().unwrap();
    symlink("../secrets", fixture.root.join("out")).unwrap();
    symlink("../secrets/passwords.txt", fixture.root.join("out-file")).unwrap();
    symlink("/etc/passwd", fixture.root.join("out-absolute")).unwrap();
    symlink("out-file", fixture.root.join("out-chain")).unwrap();
    symlink("/dev/zero", fixture.root.join("zero")).unwrap();
    symlink("/proc/self/root/etc/passwd", fixture.root.join("magic")).unwrap();
    for path in [
        "../secrets/passwords.txt",
        "/etc/passwd",
        "../../etc/passwd",
        "../project-evil/x",
        "src/../../secrets/passwords.txt",
        "missing/../../../secrets/passwords.txt",
        "out/passwords.txt",
        "out-file",
        "out-absolute",
        "out-chain",
        "zero",
        "magic",
        "..",
        "/",
        "out/../project-evil/x",
        &format!("{outer}/project-evil/x"),
        &format!("{outer}/project/../secrets/passwords.txt"),
        &format!("{outer}/secrets/../project-evil/x"),
    ] {
        check_escapes(&fixture, path);
    }
    assert_eq!(
        fs::read(fixture.outer.join("secrets/passwords.txt")).unwrap(),
        b"secrets/passwords.txt"
    );
}

#[test]
fn spec_15_no_combination_of_names_leads_out() {
    let fixture = fixture();
    symlink("../secrets", fixture.root.join("out")).unwrap();
    symlink("/etc", fixture.root.join("out-absolute")).unwrap();
    symlink(&fixture.root, fixture.root.join("src/top")).unwrap();
    symlink("../..", fixture.root.join("src/up")).unwrap();
    let parts = proptest::sample::select(vec![
        "..",
        ".",
        "",
        "src",
        "deep",
        "top",
        "up",
        "out",
        "out-absolute",
        "main.py",
        "project",
        "secrets",
        "passwords.txt",
        "project-evil",
        "x",
        "missing",
        "ROOT",
    ]);
    let paths = proptest::collection::vec(parts, 1..8);
    proptest!(|(names in paths)| {
        let path = names.join("/").replace("ROOT", fixture.root.to_str().unwrap());
        if let Ok(bytes) = fixture.workspace.read(&path, 1000) {
            prop_assert_eq!(bytes, b"project/src/main.py", "{}", path);
        }
        if let Ok(location) = fixture.workspace.locate(&path) {
            prop_assert!(location.absolute.starts_with(&fixture.root), "{} {:?}", path, location);
        }
    });
}

#[test]
fn spec_14_further_roots_are_served() {
    let fixture = fixture();
    check_escapes(&fixture, "../second/f");
    let workspace = fixture.workspace.clone().with_root(&fixture.outer.join("second")).unwrap();
    let absolute = fixture.outer.join("second/f");
    symlink(&absolute, fixture.root.join("to-second")).unwrap();
    for path in ["../second/f", absolute.to_str().unwrap(), "to-second"] {
        let file = workspace.open_file(path).unwrap();
        assert_eq!(Path::new(file.path()), absolute, "{path}");
        let location = workspace.locate(path).unwrap();
        assert_eq!((location.root, location.beneath.as_path()), (1, Path::new("f")));
    }
    assert_eq!(workspace.roots(), [fixture.root.clone(), fixture.outer.join("second")]);
    assert!(matches!(
        workspace.read("../secrets/passwords.txt", 9),
        Err(FileError::Escapes { .. })
    ));
}

#[test]
fn a_root_given_by_a_link_is_known_by_both_names() {
    let fixture = fixture();
    let link = fixture.outer.join("link");
    symlink("project", &link).unwrap();
    let workspace = Workspace::open(&link).unwrap();
    assert_eq!(workspace.root(), fixture.root);
    for root in [&link, &fixture.root] {
        let path = root.join("src/main.py");
        assert_eq!(workspace.open_file(path.to_str().unwrap()).unwrap().path(), "src/main.py");
    }
}

#[test]
fn texts_that_are_no_paths_are_refused() {
    let fixture = fixture();
    check_read(&fixture, "", Err("Invalid path: \"\" is empty"));
    check_read(&fixture, "a\0b", Err("Invalid path: \"a\\0b\" has a NUL character"));
    let long = "x".repeat(300);
    check_read(&fixture, &long, Err(&format!("Invalid path: {long:?} is too long")));
    symlink("loop", fixture.root.join("loop")).unwrap();
    check_read(&fixture, "loop", Err("Invalid path: \"loop\" has too many symbolic links"));
}

#[test]
fn signs_of_the_shell_are_ordinary_characters() {
    let fixture = fixture();
    for path in ["~", "$HOME", "%2e%2e", "file:x", "a b", "*", "-", "\\"] {
        fixture.workspace.write(path, path.as_bytes(), Expected::Absent).unwrap();
        assert_eq!(fs::read(fixture.root.join(path)).unwrap(), path.as_bytes());
        check_read(&fixture, path, Ok(path));
    }
}

#[test]
fn spec_28_each_obstacle_has_its_own_error() {
    let fixture = fixture();
    check_read(&fixture, "none", Err("No such file or directory: none"));
    check_read(&fixture, "src", Err("Is a directory: src"));
    check_read(&fixture, ".", Err("Is a directory: ."));
    check_read(&fixture, "src/main.py/x", Err("Not a directory: src/main.py/x"));
    check_read(&fixture, "src/main.py/", Err("Not a directory: src/main.py/"));
    fs::write(fixture.root.join("large"), [b'x'; 1001]).unwrap();
    check_read(&fixture, "large", Err("File too large: large has 1001 bytes, the limit is 1000"));
    let closed = fixture.root.join("closed");
    fs::write(&closed, "x").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();
    if rustix::process::geteuid().is_root() {
        skipped("one row, for root: file permissions do not bind it");
    } else {
        check_read(&fixture, "closed", Err("Permission denied: closed"));
    }
}

#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    let fixture = fixture();
    let pipe = fixture.root.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.root.join("socket")).unwrap();
    symlink("pipe", fixture.root.join("to-pipe")).unwrap();
    for (path, kind) in [("pipe", "named pipe"), ("to-pipe", "named pipe"), ("socket", "socket")] {
        check_read(&fixture, path, Err(&format!("Not a regular file: {path} is a {kind}")));
        let written = fixture.workspace.write(path, b"x", Expected::Any).unwrap_err();
        assert_eq!(written.to_string(), format!("Not a regular file: {path} is a {kind}"));
    }
    let machine = Workspace::open(Path::new("/")).unwrap();
    for path in ["dev/zero", "/dev/null", "dev/tty"] {
        let error = machine.open_file(path).unwrap_err();
        assert!(
            matches!(error, FileError::NotRegular { kind: "character device" | "socket", .. }),
            "{path}: {error:?}"
        );
    }
}

#[test]
fn a_location_says_where_a_path_leads() {
    let fixture = fixture();
    symlink("src", fixture.root.join("folder")).unwrap();
    let location = fixture.workspace.locate("folder/../folder/new/file").unwrap();
    assert_eq!(location.beneath, Path::new("src/new/file"));
    assert_eq!(location.absolute, fixture.root.join("src/new/file"));
    assert_eq!((location.kind, location.protected), (None, false));
    let kind = |path| fixture.workspace.locate(path).unwrap().kind;
    assert_eq!(kind("src/main.py"), Some(EntryKind::File));
    assert_eq!(kind("."), Some(EntryKind::Directory));
}

#[test]
fn protected_names_are_decided_on_the_resolved_place() {
    let fixture = fixture();
    for name in
        [".git/hooks", "bare/objects", "bare/refs", "nearly/refs", "trees/objects", "trees/refs"]
    {
        fs::create_dir_all(fixture.root.join(name)).unwrap();
    }
    fs::write(fixture.root.join("bare/HEAD"), "").unwrap();
    fs::write(fixture.root.join("nearly/HEAD"), "").unwrap();
    symlink(".git/hooks", fixture.root.join("innocent")).unwrap();
    symlink("home/tenon.toml", fixture.root.join("settings")).unwrap();
    let workspace = fixture.workspace.clone();
    let workspace = workspace.with_own_folder(&fixture.root.join("state"));
    let workspace = workspace.with_own_folder(&fixture.root.join("settings"));
    for path in [
        ".git/hooks/pre-commit",
        "innocent/pre-commit",
        "src/../.git/config",
        "src/.vscode/tasks.json",
        "bare/hooks/pre-push",
        "bare/config",
        "bare/HEAD",
        "bare/refs/heads/main",
        "bare/modules/a/config",
        "trees/worktrees/w/notes",
        "trees/config",
        "nearly/objects/a",
        "nearly/commondir",
        "state/log",
        "home/tenon.toml",
    ] {
        assert!(workspace.locate(path).unwrap().protected, "{path}");
        let error = workspace.write(path, b"x", Expected::Any).unwrap_err();
        assert!(matches!(error, FileError::Protected { .. }), "{path}: {error:?}");
        let allowed = WriteOptions { expected: Expected::Any, protected: ProtectedNames::Allow };
        workspace.write(path, b"x", allowed).unwrap();
    }
    for path in ["src/config", "src/HEAD", "src/refs/heads/main", "bare/objects/a", "trees/a"] {
        assert!(!workspace.locate(path).unwrap().protected, "{path}");
    }
}

#[test]
fn files_that_settings_of_git_include_are_protected() {
    let fixture = fixture();
    let put = |name: &str, text: &str| {
        fs::create_dir_all(fixture.root.join(name).parent().unwrap()).unwrap();
        fs::write(fixture.root.join(name), text).unwrap();
    };
    let root = fixture.root.to_str().unwrap();
    put(
        ".git/config",
        "[include]\n\tpath = ../team.cfg\n[includeIf \"onbranch:x\"]path=../conf/a\n",
    );
    put("team.cfg", &format!("[include]\n\tpath = {root}/link\n"));
    put("behind", "");
    symlink("behind", fixture.root.join("link")).unwrap();
    put(".git/config.worktree", "[include]\n\tpath = extra\n");
    put(".git/modules/a/b/HEAD", "");
    put(".git/modules/a/b/config", "[include]\n\tpath = ../../../../sub.cfg\n");
    put(".git/worktrees/w/HEAD", "");
    put(".git/worktrees/w/config.worktree", "[include]\n\tpath = ~/project/tree.cfg\n");
    put("part/.git/config", "[include]\n\tpath = ../part.cfg\n");
    let protected = [
        "team.cfg",
        "conf/a",
        "link",
        "behind",
        ".git/extra",
        "sub.cfg",
        "tree.cfg",
        "part/part.cfg",
        "src/../team.cfg",
    ];
    for path in protected {
        assert!(fixture.workspace.locate(path).unwrap().protected, "{path}");
        let error = fixture.workspace.write(path, b"x", Expected::Any).unwrap_err();
        assert!(matches!(error, FileError::Protected { .. }), "{path}: {error:?}");
    }
    for path in ["conf", "conf/b", "part/team.cfg", "src/new", "a"] {
        assert!(!fixture.workspace.locate(path).unwrap().protected, "{path}");
    }
}

#[test]
fn spec_35_the_spill_folder_is_read_only() {
    let fixture = fixture();
    let spill = fixture.outer.join("state/spill");
    let workspace = fixture.workspace.clone().with_spill(&spill).unwrap();
    assert_eq!(workspace.spill_folder(), Some(&*spill));
    let path = spill.join("early");
    assert!(matches!(workspace.read(path.to_str().unwrap(), 9), Err(FileError::NotFound { .. })));
    let path = workspace.spill_target().unwrap().write("whole text").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(workspace.read(path, 100).unwrap(), b"whole text");
    let error = workspace.write(path, b"x", Expected::Any).unwrap_err();
    assert!(matches!(error, FileError::ReadOnly { .. }), "{error:?}");
    assert_eq!(workspace.roots(), std::slice::from_ref(&fixture.root));
    assert!(matches!(workspace.read("../state/other", 9), Err(FileError::Escapes { .. })));

    // Also where it lies inside a root.
    let inside = fixture.root.join("spill");
    let workspace = workspace.with_spill(&inside).unwrap();
    workspace.spill_target().unwrap().write("x").unwrap();
    let error = workspace.write("spill/x", b"x", Expected::Any).unwrap_err();
    assert!(matches!(error, FileError::ReadOnly { .. }), "{error:?}");
}

#[test]
fn a_spilled_text_ends_at_its_limit_with_a_note() {
    let fixture = fixture();
    let target = tenon_sandbox::SpillTarget::new(&fixture.outer.join("spill")).with_bytes_max(4);
    let mut file = target.create().unwrap();
    for text in ["a", "世界", "more"] {
        file.push(text).unwrap();
    }
    let text = fs::read_to_string(file.path()).unwrap();
    assert_eq!(text, "a世\n[the text goes on; this file ends at its limit]\n");
}

#[test]
fn spec_32_what_was_seen_is_known_by_place() {
    let fixture = fixture();
    symlink("src/main.py", fixture.root.join("link")).unwrap();
    let hash = ContentHash::of(b"x");
    fixture.workspace.note_seen("link", hash);
    assert_eq!(fixture.workspace.seen("src/main.py"), Some(hash));
    assert_eq!(fixture.workspace.seen("other"), None);
    let all = fixture.workspace.take_seen_news();
    assert_eq!(all, [("src/main.py".to_owned(), hash)]);
    fixture.workspace.note_seen("src/main.py", hash);
    assert_eq!(fixture.workspace.take_seen_news(), []);
    let other = ContentHash::of(b"y");
    fixture.workspace.note_seen("src/main.py", other);
    assert_eq!(fixture.workspace.take_seen_news(), [("src/main.py".to_owned(), other)]);
    let later = Workspace::open(&fixture.root).unwrap();
    later.restore_seen(all);
    assert_eq!(later.clone().seen("link"), Some(hash));
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn spec_29_a_new_file_gets_its_folders_and_the_usual_mode() {
    let fixture = fixture();
    let written = fixture.workspace.write("a/b/c", "é".as_bytes(), Expected::Absent).unwrap();
    assert_eq!((written.bytes, written.created, written.in_place), (2, true, false));
    assert_eq!(written.hash, ContentHash::of("é".as_bytes()));
    let usual = fixture.outer.join("usual");
    fs::write(&usual, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode();
    assert_eq!(mode(&fixture.root.join("a/b/c")), mode(&usual));
    assert_eq!(names(&fixture.root.join("a/b")), ["c"]);
    for path in ["new/", "src", ".", "src/"] {
        let error = fixture.workspace.write(path, b"x", Expected::Any).unwrap_err();
        assert!(matches!(error, FileError::IsDirectory { .. }), "{path}: {error:?}");
    }
}

#[test]
fn what_is_written_does_not_run_as_the_owner_of_the_file() {
    let fixture = fixture();
    let path = fixture.root.join("program");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    fixture.workspace.write("program", b"new", Expected::Any).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn spec_31_a_write_keeps_mode_owner_list_and_attributes() {
    let fixture = fixture();
    let path = fixture.root.join("src/main.py");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o1750)).unwrap();
    let file = fs::File::open(&path).unwrap();
    let set =
        |name: &str, value: &[u8]| rustix::fs::fsetxattr(&file, name, value, XattrFlags::empty());
    if set("user.origin", b"here").is_err() {
        skipped("in part: this file system has no extended attributes");
    }
    // Version 2; the owner rwx, user 77 rw, the group rx, the mask rwx, others nothing.
    let entries: [(u16, u16, u32); 5] =
        [(1, 7, !0), (2, 6, 77), (4, 5, !0), (16, 7, !0), (32, 0, !0)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    if set("system.posix_acl_access", &list).is_err() {
        skipped("in part: this file system has no access control lists");
    }
    let look = |path: &Path| {
        let data = fs::metadata(path).unwrap();
        let attribute = |name| {
            let mut value = vec![0; 200];
            let length = rustix::fs::getxattr(path, name, &mut *value).unwrap_or(0);
            value.truncate(length);
            value
        };
        (
            data.mode(),
            (data.uid(), data.gid()),
            attribute("user.origin"),
            attribute("system.posix_acl_access"),
        )
    };
    let before = look(&path);
    let inode = fs::metadata(&path).unwrap().ino();
    let written = fixture.workspace.write("src/main.py", b"new", Expected::Any).unwrap();
    assert_eq!((written.created, written.in_place), (false, false));
    assert_eq!(look(&path), before);
    assert_ne!(fs::metadata(&path).unwrap().ino(), inode);
    assert_eq!(names(&fixture.root.join("src")), ["deep", "main.py"]);
}

#[test]
fn spec_31_a_link_is_followed_and_kept_and_a_hard_link_is_broken() {
    let fixture = fixture();
    symlink("src/main.py", fixture.root.join("link")).unwrap();
    fs::hard_link(fixture.outer.join("secrets/passwords.txt"), fixture.root.join("hard")).unwrap();
    fixture.workspace.write("link", b"new", Expected::Any).unwrap();
    fixture.workspace.write("hard", b"new", Expected::Any).unwrap();
    assert_eq!(fs::read_link(fixture.root.join("link")).unwrap(), Path::new("src/main.py"));
    assert_eq!(fs::read(fixture.root.join("src/main.py")).unwrap(), b"new");
    assert_eq!(fs::read(fixture.root.join("hard")).unwrap(), b"new");
    let outside = fs::read_to_string(fixture.outer.join("secrets/passwords.txt")).unwrap();
    assert_eq!(outside, "secrets/passwords.txt");
}

#[test]
fn a_link_to_nothing_is_not_written_through() {
    let fixture = fixture();
    symlink("src/new", fixture.root.join("dangling")).unwrap();
    symlink("nowhere", fixture.root.join("folder")).unwrap();
    for path in ["dangling", "folder/x"] {
        let error = fixture.workspace.write(path, b"x", Expected::Any).unwrap_err();
        assert!(matches!(error, FileError::DanglingLink { .. }), "{path}: {error:?}");
    }
    assert_eq!(names(&fixture.root.join("src")), ["deep", "main.py"]);
}

#[test]
fn spec_32_a_file_that_is_not_as_expected_is_not_replaced() {
    let fixture = fixture();
    let write = |path, expected| fixture.workspace.write(path, b"new", expected);
    let seen = ContentHash::of(b"project/src/main.py");
    for (path, expected) in [
        ("src/main.py", Expected::Absent),
        ("src/main.py", Expected::Hash(ContentHash::of(b"other"))),
        ("none", Expected::Hash(seen)),
    ] {
        let error = write(path, expected).unwrap_err();
        assert!(matches!(error, FileError::Changed { .. }), "{path}: {error:?}");
    }
    check_read(&fixture, "src/main.py", SERVED);
    assert_eq!(names(&fixture.root.join("src")), ["deep", "main.py"]);
    assert_eq!(names(&fixture.root), ["src"]);
    write("src/main.py", Expected::Hash(seen)).unwrap();
}

#[test]
fn spec_31_where_a_rename_is_impossible_the_file_is_written_in_place() {
    if rustix::process::geteuid().is_root() {
        skipped("for root every folder is writable; runs as another user elsewhere");
        return;
    }
    let fixture = fixture();
    let folder = fixture.root.join("src");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let written = fixture.workspace.write("src/main.py", b"new", Expected::Any).unwrap();
    assert!(written.in_place && !written.created);
    check_read(&fixture, "src/main.py", Ok("new"));
    let error = fixture.workspace.write("src/other", b"new", Expected::Any).unwrap_err();
    assert!(matches!(error, FileError::PermissionDenied { .. }), "{error:?}");
    // Its other name may lie outside.
    fs::hard_link(fixture.root.join("src/main.py"), fixture.outer.join("other")).unwrap();
    let error = fixture.workspace.write("src/main.py", b"evil", Expected::Any).unwrap_err();
    assert!(matches!(error, FileError::PermissionDenied { .. }), "{error:?}");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    if rustix::process::geteuid().is_root() {
        println!(
            "skipped for root: file permissions do not bind it; runs as another user elsewhere"
        );
        return;
    }
    let fixture = fixture();
    let path = fixture.root.join("src/main.py");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = fixture.workspace.write("src/main.py", b"new", Expected::Any).unwrap_err();
    assert!(matches!(error, FileError::PermissionDenied { .. }), "{error:?}");
}

#[test]
fn a_name_that_is_not_utf_8_is_walked_and_opened() {
    let fixture = fixture();
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(fixture.root.join("src/deep").join(name), "x").unwrap();
    let walk = fixture.workspace.walk("src/deep", tenon_sandbox::WalkOptions::default()).unwrap();
    let entries: Vec<_> = walk.map(Result::unwrap).collect();
    assert_eq!(entries[0].path, Path::new("src/deep").join(name));
    assert_eq!(fixture.workspace.open_entry(&entries[0]).unwrap().len(), 1);
}
