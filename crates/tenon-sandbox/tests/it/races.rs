//! Somebody exchanges names while files are read and written, and the same tests as another user.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command as Program;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use tenon_sandbox::{Access, Expected, WalkOptions, Workspace};

use crate::files::fixture;
use crate::skipped::skipped;

/// How often the names are exchanged at least.
const SWAPS: usize = 5_000;

/// Exchanges `one` and `other` without pause while `work` runs, and `work` again until it was
/// often enough.
pub(crate) fn while_swapping(one: &Path, other: &Path, mut work: impl FnMut(usize)) {
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // One of the names may be missing for a moment.
                if rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let mut round = 0;
        while swaps.load(Ordering::Relaxed) < SWAPS {
            work(round);
            round += 1;
        }
    });
}

#[test]
fn spec_17_a_folder_exchanged_for_a_link_leads_nowhere() {
    let fixture = fixture();
    let (inside, outside) = (fixture.root.join("swap"), fixture.outer.join("secrets"));
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("passwords.txt"), "inside").unwrap();
    symlink(&outside, fixture.root.join("link")).unwrap();
    let before = fs::read(outside.join("passwords.txt")).unwrap();
    let mut served = 0;
    while_swapping(&inside, &fixture.root.join("link"), |round| {
        for path in ["swap/passwords.txt", "link/../swap/passwords.txt", "./link/passwords.txt"] {
            if let Ok(bytes) = fixture.workspace.read(path, 1000) {
                assert_eq!(bytes, b"inside", "{path}");
                served += 1;
            }
        }
        for entry in fixture.workspace.walk("swap", WalkOptions::default()).into_iter().flatten() {
            let entry = entry.unwrap();
            assert!(!entry.path.ends_with("passwords.txt") || entry.len == 6, "{entry:?}");
        }
        if round % 8 == 0 {
            let name = format!("swap/new-{round}/file");
            let _ = fixture.workspace.write(&name, b"new", Expected::Any);
            let _ = fixture.workspace.write("swap/passwords.txt", b"inside", Expected::Any);
        }
    });
    assert!(served > 0);
    assert_eq!(fs::read(outside.join("passwords.txt")).unwrap(), before);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn spec_17_a_file_exchanged_for_a_link_is_not_written_through() {
    let fixture = fixture();
    let outside = fixture.outer.join("secrets/passwords.txt");
    let before = fs::read(&outside).unwrap();
    let (file, link) = (fixture.root.join("file"), fixture.root.join("link"));
    fs::write(&file, "inside").unwrap();
    symlink(&outside, &link).unwrap();
    while_swapping(&file, &link, |round| {
        if let Ok(bytes) = fixture.workspace.read("file", 1000) {
            assert_eq!(bytes, b"inside");
        }
        if round % 8 == 0 {
            // The name that is a link at the moment of the rename is replaced, not followed.
            let _ = fixture.workspace.write("file", b"inside", Expected::Any);
            if !link.is_symlink() && !file.is_symlink() {
                let _ = fs::remove_file(&link);
                symlink(&outside, fixture.root.join("link-again")).unwrap();
                fs::rename(fixture.root.join("link-again"), &link).unwrap();
            }
        }
    });
    assert_eq!(fs::read(&outside).unwrap(), before);
}

#[test]
fn spec_17_what_is_granted_is_what_was_shown_whatever_is_exchanged() {
    let fixture = fixture();
    let outer = &fixture.outer;
    fs::create_dir(outer.join("second/deep")).unwrap();
    fs::write(outer.join("second/deep/f"), "second").unwrap();
    fs::write(outer.join("secrets/f"), "secret").unwrap();
    symlink(outer.join("secrets"), outer.join("second/link")).unwrap();
    let mut served = 0;
    while_swapping(&outer.join("second/deep"), &outer.join("second/link"), |round| {
        for path in ["../second/deep/f", "../second/deep"] {
            let Ok(Some(found)) = fixture.workspace.outside(path) else { continue };
            let is_secret = found.absolute().starts_with(outer.join("secrets"));
            let writes = round % 4 == 0 && path.ends_with('f') && !is_secret;
            let access = if writes { Access::Write } else { Access::Read };
            let granted = fixture.workspace.clone().with_grant(&found, access);
            let Ok(workspace) = granted else { continue };
            if let Ok(bytes) = workspace.read("../second/deep/f", 1000) {
                assert_eq!(bytes, if is_secret { b"secret" } else { b"second" }, "{path}");
                served += 1;
            }
            if writes {
                let _ = workspace.write(path, b"second", Expected::Any);
            }
        }
    });
    assert!(served > 0);
    assert_eq!(fs::read(outer.join("secrets/f")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(outer.join("secrets")).unwrap().count(), 2);
}

#[test]
fn everything_holds_for_an_ordinary_user_too() {
    if !rustix::process::geteuid().is_root() {
        skipped("this is an ordinary user already");
        return;
    }
    // The build's folder may be closed to others.
    let folder = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    let program = folder.path().join("it");
    crate::program_copy::copy_program(&std::env::current_exe().unwrap(), &program);
    for part in ["files::", "walk::", "command::", "races::spec_17"] {
        let output = Program::new(&program)
            .arg(part)
            .uid(65_534)
            .gid(65_534)
            .current_dir("/")
            .env("HOME", "/nonexistent")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        assert!(!text.contains("running 0 tests"), "{part}: {text}");
    }
}

#[test]
fn writer_without_room() {
    let Some(root) = std::env::var_os("TENON_TEST_FOLDER") else {
        println!("skipped: this is the other half of a test, which runs it");
        return;
    };
    let workspace = Workspace::open(Path::new(&root)).unwrap();
    workspace.write("src/main.py", &[b'x'; 100_000], Expected::Any).unwrap_err();
}

#[test]
fn spec_31_a_write_without_room_leaves_the_file_and_nothing_else() {
    let fixture = fixture();
    // A limit on the size of files stops a write in its middle, as a full disk does.
    let script = "ulimit -f 8; trap '' XFSZ; exec \"$0\" --exact races::writer_without_room";
    let status = Program::new("bash")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("TENON_TEST_FOLDER", &fixture.root)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let text = fs::read_to_string(fixture.root.join("src/main.py")).unwrap();
    assert_eq!(text, "project/src/main.py");
    assert_eq!(fs::read_dir(fixture.root.join("src")).unwrap().count(), 2);
}

#[test]
fn a_new_file_has_no_other_name_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let flags = OFlags::WRONLY | OFlags::TMPFILE;
    if rustix::fs::open(folder.path(), flags, Mode::RUSR).is_err() {
        return skipped("the file system knows only files that have names");
    }
    let workspace = Workspace::open(folder.path()).unwrap();
    let is_over = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let names = fs::read_dir(folder.path()).unwrap().flatten();
                seen.extend(names.map(|entry| entry.file_name().into_string().unwrap()));
            }
            seen
        });
        for number in 0..200 {
            workspace.write(&format!("{number}"), &[b'z'; 50_000], Expected::Absent).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        looking.join().unwrap()
    });
    let other = seen.iter().find(|name| name.starts_with(".tenon-"));
    assert_eq!(other, None);
}
