//! A command takes as much room of a file system as there is leave for, in however many files.

#![expect(clippy::panic, reason = "a test that finds another outcome has failed")]

use tenon_sandbox::{
    Attended, Exit, Jobs, Journal, JournalOptions, LimitReached, Output, RoomBound, RoomTaken,
    RoomTakenHow, Tier, Wanted, runs_as_root,
};
use tokio_util::sync::CancellationToken;

use super::{Place, as_ordinary_user, printed, tier};
use crate::journal::layers::{Mounts, mount};
use crate::skipped::skipped;
use crate::support::{TIMEOUT, runtime};

const MIB: u64 = 1 << 20;

/// Others may delete meanwhile: it goes on for two gigabytes.
const GROWS: &str =
    "for n in $(seq 100); do head -c 20000000 /dev/zero > f$n; done; echo BROKEN; sleep 1000";

fn limited(tier: Tier, disk_bytes_max: u64) -> Place {
    Place::with(|settings| {
        settings.wanted = Wanted::Exactly(tier);
        settings.limits.disk_bytes_max = disk_bytes_max;
    })
}

fn taken(output: &Output) -> RoomTaken {
    let Some(LimitReached::Disk(taken)) = &output.limit else { panic!("{output:?}") };
    taken.clone()
}

fn check_ended(tier: Tier, script: &str) -> RoomTaken {
    let output = limited(tier, 64 * MIB).try_run(script).unwrap();
    let taken = taken(&output);
    assert_eq!(output.exit, Exit::Signal(libc::SIGKILL), "{tier:?}: {output:?}");
    assert_eq!(printed(&output), "", "{tier:?}");
    let bound = RoomBound::Limit { bytes: 64 * MIB };
    assert_eq!((taken.bound, taken.how), (bound, RoomTakenHow::Ended), "{tier:?}");
    assert!(taken.taken_bytes > 64 * MIB, "{tier:?}: {taken:?}");
    taken
}

#[test]
fn a_command_that_fills_the_disk_by_many_files_is_ended_and_told_so() {
    for tier in [tier(), Tier::C] {
        check_ended(tier, GROWS);
    }
    check_ended(Tier::C, &format!("cd $TMPDIR; {GROWS}"));
    as_ordinary_user("disk::a_command_that_fills_the_disk_by_many_files_is_ended_and_told_so");
}

#[test]
fn a_job_that_fills_the_disk_is_ended_and_told_so() {
    let place = limited(tier(), 64 * MIB);
    let job = Attended::new(place.command(GROWS), Some(place.sandbox.clone()), |_, _| {});
    runtime().block_on(async {
        let jobs = Jobs::default();
        let id = jobs.keep(job).unwrap();
        jobs.wait(id, TIMEOUT).await;
        let end = jobs.read(id).await.unwrap().status.end.unwrap();
        assert!(matches!(end.limit, Some(LimitReached::Disk(_))), "{end:?}");
    });
}

/// A disk that nobody else writes to.
struct Disk {
    place: Place,
    _mounts: Mounts,
    _above: tempfile::TempDir,
}

impl Disk {
    fn new(disk_bytes_max: u64) -> Option<Self> {
        Self::mounted("size=200m", disk_bytes_max)
    }

    fn mounted(options: &str, disk_bytes_max: u64) -> Option<Self> {
        if !runs_as_root() {
            skipped("only root mounts file systems");
            return None;
        }
        let above = tempfile::Builder::new().prefix("disk").tempdir().unwrap();
        let path = above.path().canonicalize().unwrap();
        mount(&["-t", "tmpfs", "-o", options, "tmpfs"], &path);
        let mounts = Mounts(vec![path.clone()]);
        let place = Place::at(&path, "work", |settings| {
            settings.limits.disk_bytes_max = disk_bytes_max;
        });
        Some(Self { place, _mounts: mounts, _above: above })
    }

    fn run(&self, script: &str) -> Output {
        self.place.try_run(script).unwrap()
    }

    /// The same, recorded for undo.
    fn record(&self, script: &str) -> Output {
        let state = self.place.top.path().canonicalize().unwrap().join("state");
        std::fs::create_dir(&state).unwrap();
        let journal = Journal::open(&self.place.workspace, JournalOptions::new(state)).unwrap();
        let sandbox = self.place.sandbox.recording(&journal.begin("session", "call"));
        let (command, cancel) = (self.place.command(script), CancellationToken::new());
        runtime().block_on(sandbox.run(command, &cancel, &mut |_, _| {})).unwrap()
    }
}

#[test]
fn what_is_deleted_or_a_hole_takes_no_room() {
    let Some(disk) = Disk::new(30 * MIB) else { return };
    let script = "truncate -s 10G holes; for n in $(seq 6); do head -c 20M /dev/zero > f; \
                  sleep 0.15; rm f; done; echo end";
    let output = disk.run(script);
    assert_eq!((output.limit.clone(), printed(&output)), (None, "end\n".into()), "{output:?}");
}

#[test]
fn a_command_leaves_some_room_of_a_small_disk_whatever_the_limit_is() {
    let Some(disk) = Disk::new(32 << 30) else { return };
    let output = disk.run("head -c 1G /dev/zero > f 2>&-; sleep 1000");
    let RoomTaken { bound, how, left_bytes, .. } = taken(&output);
    let RoomBound::Reserve { bytes } = bound else { panic!("{output:?}") };
    assert!((9 * MIB..=10 * MIB).contains(&bytes) && left_bytes < bytes, "{output:?}");
    assert_eq!(how, RoomTakenHow::Ended);
    // What there was then is what the next one may take.
    assert_eq!(disk.run("rm f; head -c 100M /dev/zero > g").limit, None);
}

#[test]
fn a_command_leaves_some_names_of_a_disk_that_has_a_fixed_number_of_them() {
    let Some(disk) = Disk::mounted("size=200m,nr_inodes=4000", 32 << 30) else { return };
    let RoomTaken { bound, how, .. } = taken(&disk.run("touch $(seq 5000) 2>&-; sleep 1000"));
    let RoomBound::Names { taken, left, reserve } = bound else { panic!("{bound:?}") };
    assert!((190..=200).contains(&reserve) && left < reserve && taken > 3_000, "{bound:?}");
    assert_eq!(how, RoomTakenHow::Ended);
    let said = disk.run("rm -f *; touch $(seq 1000)");
    assert_eq!(said.limit, None, "{said:?}");
}

#[test]
fn what_took_too_much_before_anybody_looked_is_told_at_its_end() {
    let Some(disk) = Disk::new(30 * MIB) else { return };
    let output = disk.run("exec head -c 40M /dev/zero > f");
    // On a busy machine somebody may have looked.
    match taken(&output).how {
        RoomTakenHow::SeenAfter => assert_eq!(output.exit, Exit::Code(0), "{output:?}"),
        how => assert_eq!(how, RoomTakenHow::Ended, "{output:?}"),
    }
}

#[test]
fn more_than_there_is_leave_for_is_not_reserved() {
    let Some(disk) = Disk::new(30 * MIB) else { return };
    let script = "fallocate -l 20M a; fallocate -l 20M b; fallocate -l 5M c; du -sm a b c; \
                  fallocate -p -l 20M a; fallocate -l 20M b; du -sm a b c";
    let output = disk.record(script);
    let said = printed(&output);
    let sizes = |a, b| format!("{a}\ta\n{b}\tb\n5\tc\n");
    assert!(said.contains(&(sizes(20, 0) + &sizes(0, 20))), "{said}");
    assert_eq!(said.matches("quota exceeded").count(), 1, "{said}");
    let RoomTaken { how, taken_bytes, .. } = taken(&output);
    assert_eq!(how, RoomTakenHow::Refused { bytes: 20 * MIB });
    assert!(taken_bytes > 30 * MIB, "{output:?}");
}

#[test]
fn copies_for_undo_count_to_no_command() {
    let Some(disk) = Disk::new(30 * MIB) else { return };
    let file = disk.place.root().join("old");
    std::fs::write(&file, vec![1; 40 << 20]).unwrap();
    let output = disk.record("printf x | dd of=old conv=notrunc status=none; sleep 0.3; echo end");
    assert_eq!((output.limit.clone(), printed(&output)), (None, "end\n".into()), "{output:?}");
    let room = rustix::fs::statvfs(&file).unwrap();
    assert!(room.f_bavail * room.f_frsize < 130 * MIB, "nothing was copied");
}
