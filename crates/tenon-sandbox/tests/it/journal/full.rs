//! The disk is full while a call is recorded, and has room again later.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tenon_sandbox::{Conflicts, JournalError, Undone, runs_as_root};

use super::layers::{Mounts, mount};
use super::tree::difference;
use super::{Scene, Walls};
use crate::skipped::skipped;

/// A scene on a disk of its own, of which little is free when `fill` was run.
struct Small {
    scene: Scene,
    path: PathBuf,
    _mounts: Mounts,
    _above: tempfile::TempDir,
}

impl Small {
    fn new(prepare: &str) -> Option<Self> {
        if !runs_as_root() {
            skipped("only root mounts file systems");
            return None;
        }
        let above = tempfile::Builder::new().prefix("full").tempdir().unwrap();
        let path: PathBuf = above.path().canonicalize().unwrap();
        mount(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"], &path);
        let mounts = Mounts(vec![path.clone()]);
        let scene = Scene::at(&path, Walls::None, |_| {});
        scene.prepare(prepare);
        Some(Self { scene, path, _mounts: mounts, _above: above })
    }
}

fn free(scene: &Scene) -> u64 {
    let room = rustix::fs::statvfs(scene.root()).unwrap();
    room.f_bfree * room.f_frsize
}

/// Takes what is free on the disk, and gives it back.
const FILL: &str = "head -c 8M /dev/zero > ../filling 2>&-";
const EMPTY: &str = "rm ../filling";

#[test]
fn what_is_recorded_after_the_disk_was_full_is_undone_too() {
    let Some(small) = Small::new("for i in $(seq 60); do echo $i > f$i; done") else { return };
    let scene = &small.scene;
    let before = scene.tree();
    // The log fills its last page, up to the middle of a record.
    let (_, changes) = scene.run(&format!(
        "echo x > f1; {FILL}; for i in $(seq 2 60); do mv f$i m$i || break; done; {EMPTY}
         for i in $(seq 2 60); do [ -e f$i ] && mv f$i n$i; done; echo new > f2; true"
    ));
    assert!(!changes.troubles.is_empty(), "{changes:?}");
    let after = scene.tree();
    let undone = scene.undo(changes.id.unwrap());
    assert_eq!(difference(&before, &scene.tree()), "");
    scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "");
}

#[test]
fn what_a_call_changed_whose_end_found_no_room_is_no_conflict() {
    let Some(small) = Small::new("echo 1 > f; echo 1 > g") else { return };
    let scene = &small.scene;
    let before = scene.tree();
    // As if the last record were of long ago: who has a file open writes it for long.
    let (_, changes) = scene.run(&format!(
        "echo 2 >> f; exec 3>>g; touch -d '10 minutes ago' ../state/undo/*/0*1; echo 2 >&3; {FILL}; true"
    ));
    scene.prepare(EMPTY);
    let outcome = scene.journal.undo(&[changes.id.unwrap()], "session", &Conflicts::Refuse);
    assert!(matches!(outcome, Ok(Undone::Done { .. })), "{outcome:?}");
    assert_eq!(difference(&before, &scene.tree()), "");
}

#[test]
fn an_undo_without_room_for_its_end_leaves_everything_as_it_is_or_is_done() {
    let Some(small) = Small::new("for i in $(seq 40); do echo $i > f$i; done") else { return };
    let scene = &small.scene;
    let before = scene.tree();
    let id = scene.change("for i in $(seq 40); do echo x > f$i; done");
    let after = scene.tree();
    let mut left = 0;
    let done = loop {
        left += 16 << 10;
        assert!(left < 1 << 20, "there is room enough");
        scene.prepare(&format!("{FILL}; truncate -s -{left} ../filling"));
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
        scene.prepare(EMPTY);
        if let Ok(Undone::Done { id, .. }) = outcome {
            break id;
        }
        assert!(outcome.is_err(), "{outcome:?}");
        assert_eq!(difference(&after, &scene.tree()), "", "{left} bytes");
    };
    assert_eq!(difference(&before, &scene.tree()), "");
    scene.undo(done);
    assert_eq!(difference(&after, &scene.tree()), "");
}

#[test]
fn an_undo_without_room_for_what_it_saves_gives_back_what_it_took() {
    let Some(small) = Small::new("head -c 300K /dev/urandom > f; head -c 1500K /dev/urandom > g")
    else {
        return;
    };
    let scene = &small.scene;
    let before = scene.tree();
    let id =
        scene.change("for i in f g; do echo x | dd of=$i seek=1 conv=notrunc status=none; done");
    let (after, free) = (scene.tree(), free(scene));
    for _ in 0..2 {
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
        assert!(matches!(outcome, Err(JournalError::NotRestored { .. })), "{outcome:?}");
        assert_eq!(difference(&after, &scene.tree()), "");
        assert!(free.abs_diff(self::free(scene)) < 100 << 10, "{free} {}", self::free(scene));
        let shown = scene.journal.content_after(id, "g".as_ref(), 2 << 20).unwrap();
        assert_eq!(shown, Some(std::fs::read(scene.root().join("g")).unwrap()));
    }
    mount(&["-o", "remount,size=8m"], &small.path);
    scene.undo(id);
    assert_eq!(difference(&before, &scene.tree()), "");
}

/// What an undo had begun to save when it was killed has no record yet.
#[test]
fn what_a_killed_undo_had_begun_to_save_goes_with_the_next() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo 1 > f");
    let before = scene.tree();
    let id = scene.change("echo 2 > f");
    scene.undo(id);
    let kept = "$(ls -d ../state/undo/*/kept/* | tail -1)";
    scene.prepare(&format!("rm $(ls ../state/undo/*/ends/* | tail -1); echo x > {kept}/o77"));
    scene.undo(id);
    assert_eq!(difference(&before, &scene.tree()), "");
    scene.prepare("! ls ../state/undo/*/kept/*/o77");
}

#[test]
fn holes_are_saved_and_put_back_as_holes() {
    let scene = Scene::new(Walls::None);
    scene.prepare("truncate -s 100M s; echo x | dd of=s bs=1 seek=50M conv=notrunc status=none");
    let taken = || scene.root().join("s").metadata().unwrap().blocks() * 512;
    let (before, first) = (scene.tree(), taken());
    let id = scene.change(
        "truncate -s 200M s; head -c 3M /dev/urandom | dd of=s bs=1M seek=10 conv=notrunc status=none",
    );
    let (after, second) = (scene.tree(), taken());
    let undone = scene.undo(id);
    assert_eq!(difference(&before, &scene.tree()), "");
    assert!(taken() <= first + (64 << 10), "{first} {}", taken());
    scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "");
    assert!(taken() <= second + (64 << 10), "{second} {}", taken());
    let usage = scene.journal.usage().unwrap();
    assert!(usage.bytes < 8 << 20, "{usage:?}");
}
