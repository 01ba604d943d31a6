//! What is left out is said at the time, what cannot be saved is refused, and the store is hidden.

use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use tenon_sandbox::{
    Conflicts, Exit, Expected, JournalError, LeftOut, LeftOutReason, Trouble, Undone,
};

use super::tree::difference;
use super::{Scene, Walls};
use crate::walls::printed;

#[test]
fn the_usual_room_is_2_gib_and_1_gib_for_one_file() {
    let usual = tenon_sandbox::JournalOptions::new("/state");
    assert_eq!((usual.bytes_max, usual.file_bytes_max), (2_147_483_648, 1_073_741_824));
}

#[test]
fn a_cache_is_left_out_and_the_list_says_so() {
    let tag = "Signature: 8a477f597d28d172789f06886806bc55";
    let scene = Scene::new(Walls::None);
    scene
        .prepare(&format!("mkdir -p target/debug; echo '{tag}' > target/CACHEDIR.TAG; echo a > a"));
    let (_, changes) = scene.run("echo x > target/debug/x; rm target/CACHEDIR.TAG; echo b > a");
    let left_out = LeftOut { path: "target".into(), reason: LeftOutReason::Cache };
    assert_eq!(changes.left_out, [left_out]);
    assert_eq!(changes.summary(), "1 file changed, target/ not recorded (a cache)");
    scene.undo(changes.id.unwrap());
    assert_eq!(std::fs::read_to_string(scene.root().join("a")).unwrap(), "a\n");
    assert!(scene.root().join("target/debug/x").exists());
}

#[test]
fn a_cache_that_a_call_made_is_taken_away_with_it() {
    let tag = "Signature: 8a477f597d28d172789f06886806bc55";
    let scene = Scene::new(Walls::None);
    let before = scene.tree();
    let id =
        scene.change(&format!("mkdir target; echo '{tag}' > target/CACHEDIR.TAG; echo > target/x"));
    scene.undo(id);
    assert_eq!(difference(&before, &scene.tree()), "");
}

#[test]
fn a_file_that_is_too_large_is_left_out_when_written_and_not_when_deleted() {
    let above = std::env::temp_dir();
    let scene = Scene::at(&above, Walls::None, |options| options.file_bytes_max = 1000);
    scene.prepare("head -c 5000 /dev/zero > large; head -c 5000 /dev/zero > other");
    let before = scene.tree();
    let (_, changes) = scene.run("echo > large");
    let reason = LeftOutReason::TooLarge { bytes: 5000 };
    assert_eq!(changes.left_out, [LeftOut { path: "large".into(), reason }]);
    scene.prepare("head -c 5000 /dev/zero > large; touch -r other large");
    let id = scene.change("rm other; mv large away; echo appended >> away");
    scene.undo(id);
    let now = scene.tree();
    assert!(now.contains_key(Path::new("other")) && now.len() == before.len());
}

#[test]
fn an_undo_saves_what_it_takes_away_however_long_that_is() {
    let above = std::env::temp_dir();
    let scene = Scene::at(&above, Walls::None, |options| options.file_bytes_max = 1000);
    for (call, theirs) in [
        ("printf Z | dd of=f conv=notrunc", "head -c 5000 /dev/zero >> f"),
        ("head -c 5000 /dev/urandom > f", "true"),
        ("echo more >> f", "head -c 5000 /dev/zero >> f"),
    ] {
        scene.prepare("echo mine > f");
        let before = std::fs::read(scene.root().join("f")).unwrap();
        let id = scene.change(call);
        scene.prepare(theirs);
        let with_theirs = scene.tree();
        let conflicts = Conflicts::Overwrite(vec!["f".into()]);
        let undone = scene.journal.undo(&[id], "session", &conflicts).unwrap();
        let Undone::Done { id, changes, .. } = undone else { panic!("{call}: {undone:?}") };
        assert_eq!(changes.left_out, [], "{call}");
        assert_eq!(std::fs::read(scene.root().join("f")).unwrap(), before, "{call}");
        scene.undo(id);
        assert_eq!(difference(&with_theirs, &scene.tree()), "", "{call}");
    }
}

#[test]
fn permissions_of_a_file_that_is_too_large_are_undone_and_its_content_and_times_stay() {
    let above = std::env::temp_dir();
    for write in ["touch large", "echo > large", "echo >> large; echo x 1<> large"] {
        for script in [format!("{write}; chmod 640 large"), format!("chmod 640 large; {write}")] {
            let scene = Scene::at(&above, Walls::None, |options| options.file_bytes_max = 1000);
            scene.prepare("head -c 5000 /dev/zero > large; touch -d 2001-01-01 large");
            let large = scene.root().join("large");
            let mode = || std::fs::metadata(&large).unwrap().permissions().mode() & 0o777;
            let rest = || {
                let time = std::fs::metadata(&large).unwrap().modified().unwrap();
                (std::fs::read(&large).unwrap(), time)
            };
            let before = mode();
            let id = scene.change(&script);
            let left = rest();
            let undo = scene.undo(id);
            assert_eq!((mode(), rest()), (before, left.clone()), "{script}");
            scene.undo(undo);
            assert_eq!((mode(), rest()), (0o640, left), "{script}");
        }
    }
}

#[test]
fn a_call_that_cannot_be_saved_fails_and_the_list_says_so() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; echo two > other");
    // The store takes nothing more.
    let checkpoint = scene.begin();
    let workspace = scene.workspace.recording(&checkpoint);
    workspace.write("first", b"", Expected::Any).unwrap();
    let folder = scene.journal.folders().remove(0);
    for entry in std::fs::read_dir(&folder).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    let output = scene.start("echo changed > text", &scene.sandbox.recording(&checkpoint));
    assert_eq!(output.exit, Exit::Code(1), "{}", printed(&output));
    assert!(printed(&output).contains("Input/output error"), "{}", printed(&output));
    assert_eq!(std::fs::read_to_string(scene.root().join("text")).unwrap(), "one\n");
    let changes = checkpoint.changes_so_far().unwrap();
    let refused = |trouble: &Trouble| matches!(trouble, Trouble::Refused { path, .. } if path.ends_with("text"));
    assert!(changes.troubles.iter().any(refused), "{changes:?}");
    assert!(workspace.write("other", b"changed", Expected::Any).is_err());
    assert_eq!(std::fs::read_to_string(scene.root().join("other")).unwrap(), "two\n");
}

#[test]
fn a_call_whose_end_has_no_room_came_to_its_end_all_the_same() {
    for is_killed in [false, true] {
        let scene = Scene::new(Walls::None);
        scene.prepare("echo one > text; echo two > other");
        let checkpoint = scene.begin();
        scene.start("echo three > text; rm other", &scene.sandbox.recording(&checkpoint));
        let folder = scene.journal.folders().remove(0);
        for store in std::fs::read_dir(&folder).unwrap() {
            // Nothing more can be made in it.
            std::fs::remove_dir_all(store.unwrap().path().join("ends")).unwrap();
        }
        let id = checkpoint.id().unwrap();
        let mut expected = checkpoint.changes_so_far().unwrap();
        if is_killed {
            expected.troubles.push(Trouble::Interrupted);
        } else {
            assert_eq!(checkpoint.finish().unwrap(), expected);
        }
        // As in a child that is about to run another program.
        let _copies = copies_of_open(&folder);
        drop(checkpoint);
        let until = Instant::now() + Duration::from_secs(30);
        let changes = loop {
            match scene.journal.changes(id) {
                // The thread that was asked about the command's calls holds it a moment longer.
                Err(JournalError::Running { .. }) if is_killed && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                changes => break changes,
            }
        };
        assert_eq!(changes.unwrap(), expected);
    }
}

/// Copies this process's open files beneath a folder.
fn copies_of_open(folder: &Path) -> Vec<OwnedFd> {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let is_beneath = std::fs::read_link(&path).is_ok_and(|target| target.starts_with(folder));
        is_beneath.then(|| path.file_name().unwrap().to_str().unwrap().parse().unwrap())
    });
    let copies: Vec<OwnedFd> =
        open.filter_map(|fd| pidfd_getfd(&own, fd, PidfdGetfdFlags::empty()).ok()).collect();
    assert!(!copies.is_empty());
    copies
}

#[test]
fn a_command_does_not_see_the_store() {
    let scene = Scene::new(Walls::A);
    scene.change("echo one > text");
    let folder = scene.journal.folders().remove(0);
    let script =
        format!("ls -A {0} 2>/dev/null; echo x > {0}/x && echo BROKEN; true", folder.display());
    let (output, _) = scene.run(&script);
    assert!(!printed(&output).contains("BROKEN"), "{}", printed(&output));
    assert!(!printed(&output).contains("0000"), "{}", printed(&output));
}

#[test]
fn permissions_and_the_like_stay_as_they_are_outside_in_tier_c() {
    let scene = Scene::new(Walls::C);
    let outside = scene.top.path().join("outside");
    std::fs::write(&outside, "outside").unwrap();
    let before = super::tree::tree(scene.top.path());
    let outside = outside.display();
    let script = format!(
        "chmod 777 {outside}; touch -h -d 2000-01-01 {outside}
        python3 -c \"import os; os.setxattr('{outside}', 'user.x', b'y')\"
        python3 -c \"import os; os.utime('{outside}', (1, 2))\"
        ln -s {outside} link; chmod 777 link; cd ..; chmod 777 outside; chmod 755 .
        chmod 666 /dev/null; chmod 755 nothing
        cd work; rm link; echo x > $TMPDIR/x && chmod 700 $TMPDIR/x && touch -d 2000-01-01 $TMPDIR/x"
    );
    let (output, changes) = scene.run(&script);
    let said = printed(&output);
    assert_eq!(output.exit, Exit::Code(0), "{said}");
    assert_eq!(said.matches("Operation not permitted").count(), 8, "{said}");
    assert!(said.contains("nothing': No such file"), "{said}");
    scene.undo(changes.id.unwrap());
    let mut after = super::tree::tree(scene.top.path());
    after.retain(|path, _| before.contains_key(path));
    let mut before = before;
    for tree in [&mut before, &mut after] {
        tree.retain(|path, _| !path.starts_with("state"));
    }
    assert_eq!(difference(&before, &after), "");
}

#[test]
fn a_second_root_is_undone_as_the_first() {
    let scene = Scene::new(Walls::None);
    let other = scene.top.path().canonicalize().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    let workspace = scene.workspace.clone().with_root(&other).unwrap();
    let options = tenon_sandbox::JournalOptions::new(scene.top.path().join("state"));
    let journal = tenon_sandbox::Journal::open(&workspace, options).unwrap();
    std::fs::write(other.join("file"), "one").unwrap();
    let before = super::tree::tree(&other);
    let checkpoint = journal.begin("session", "call");
    let script = format!("cd {}; echo two > file; mkdir new; mv file new/", other.display());
    scene.start(&script, &scene.sandbox.recording(&checkpoint));
    let changes = checkpoint.finish().unwrap();
    assert!(changes.files.iter().any(|change| change.path.starts_with(&other)), "{changes:?}");
    journal.undo(&[changes.id.unwrap()], "session", &Conflicts::Refuse).unwrap();
    assert_eq!(difference(&before, &super::tree::tree(&other)), "");
}

#[test]
fn nothing_outside_the_workspace_is_recorded() {
    let scene = Scene::new(Walls::None);
    let (output, changes) =
        scene.run("cd ..; echo x > outside; mkdir d; mv outside d/; rm -r d; echo y > /dev/null");
    assert_eq!(output.exit, Exit::Code(0), "{}", printed(&output));
    assert!(changes.is_empty(), "{changes:?}");
}

#[test]
fn a_job_and_a_call_record_side_by_side() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; echo job > job");
    let before = scene.tree();
    let (job, call) = (scene.begin(), scene.begin());
    scene.start("echo two >> job; mkdir jobs", &scene.sandbox.recording(&job));
    scene.start("echo two > text; echo x > jobs/x", &scene.sandbox.recording(&call));
    scene.start("echo three >> job", &scene.sandbox.recording(&job));
    let call = call.finish().unwrap();
    assert_eq!(Scene::listed(&call), ["created jobs/x", "edited text"]);
    let job = job.finish().unwrap();
    scene.undo_all(&[call.id.unwrap(), job.id.unwrap()]);
    assert_eq!(difference(&before, &scene.tree()), "");
}

#[test]
fn two_who_record_in_one_workspace_count_on() {
    let first = Scene::new(Walls::None);
    let second = Scene::in_folder(first.top.path(), Walls::None, |_| {});
    let mut newest = 0;
    for scene in [&first, &first, &second, &first, &second, &second, &first] {
        let id = scene.change("echo >> a");
        assert!(id.number() > newest, "{id:?} after {newest}");
        newest = id.number();
    }
}
