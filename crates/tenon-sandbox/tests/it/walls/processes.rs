//! A command has as many processes as there is leave for, also where no namespace counts them.
//!
//! None of the tests has more than 120 at a time, or goes on without end.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenon_sandbox::{
    Attended, Exit, Jobs, LimitReached, Missing, SandboxError, Tier, Wanted, probe, runs_as_root,
};
use tokio_util::sync::CancellationToken;

use super::lifetime::{check_gone, mark};
use super::{Place, as_ordinary_user, ordinary_user, printed};
use crate::skipped::skipped;
use crate::support::{TIMEOUT, runtime};

const PROCESSES_MAX: u64 = 10;

/// Since this version Landlock holds signals.
const HOLDS_SIGNALS: u32 = 6;

fn place(tier: Tier) -> Place {
    Place::with(|settings| {
        settings.wanted = Wanted::Exactly(tier);
        settings.limits.processes_max = PROCESSES_MAX;
    })
}

/// Those where processes are counted by looking at them.
fn tiers() -> Vec<Tier> {
    let mut tiers = vec![Tier::C];
    match (runs_as_root(), std::path::Path::new("/usr/bin/bwrap").exists()) {
        (true, true) => tiers.push(Tier::B),
        (true, false) => skipped("bubblewrap is not installed"),
        // The kernel counts them.
        (false, _) => {}
    }
    tiers
}

fn python(mark: &str, program: &str) -> String {
    format!("exec python3 - {mark} <<'E'\n{program}\nE")
}

const SLEEPS: &str = "
import os, sys, time
for n in range(40): os.posix_spawn('/bin/sleep', ['sleep', sys.argv[1]], os.environ)
time.sleep(1000)";

const THREADS: &str = "
import threading, time
for n in range(30): threading.Thread(target=time.sleep, args=(1000,)).start()";

/// Each process starts the next and ends, so that whoever looks for them comes too late. The pause lets
/// those that ended be reaped, so that they are not many at a time.
const HOPS: &str = "
import os, time
for chain in range(15):
    if os.fork() == 0:
        for hop in range(2000):
            time.sleep(0.005)
            if os.fork(): os._exit(0)
        os._exit(0)
time.sleep(1000)";

/// The same, few and for longer.
const FEW_HOPS: &str = "
import os, time
for chain in range(3):
    if os.fork() == 0:
        for hop in range(20000):
            if os.fork(): os._exit(0)
        os._exit(0)
time.sleep(1000)";

fn is_ended(limit: Option<&LimitReached>) -> bool {
    limit == Some(&LimitReached::Processes { processes_max: PROCESSES_MAX })
}

#[test]
fn a_command_with_too_many_processes_is_ended_and_told_so() {
    for tier in tiers() {
        let place = place(tier);
        for program in [SLEEPS, THREADS, HOPS] {
            let mark = mark();
            let output = place.try_run(&python(&mark, program)).unwrap();
            assert!(is_ended(output.limit.as_ref()), "{tier:?}: {program}: {output:?}");
            assert_eq!(output.exit, Exit::Signal(libc::SIGKILL), "{tier:?}: {program}");
            check_gone(&mark);
            // What holds signals forbids nothing else.
            let again =
                "mkdir -p a b && touch a/x && ln -f a/x b/x && rm a/x && mv b/x a/y && echo again";
            let output = place.try_run(again).unwrap();
            assert_eq!((output.limit.clone(), printed(&output).as_str()), (None, "again\n"));
        }
    }
    as_ordinary_user("processes::a_command_with_too_many_processes_is_ended_and_told_so");
}

#[test]
fn a_job_with_too_many_processes_is_ended_and_told_so() {
    for tier in tiers() {
        let (place, mark) = (place(tier), mark());
        let command = place.command(&python(&mark, SLEEPS));
        let job = Attended::new(command, Some(place.sandbox.clone()), |_, _| {});
        runtime().block_on(async {
            let jobs = Jobs::default();
            let id = jobs.keep(job).unwrap();
            jobs.wait(id, TIMEOUT).await;
            let end = jobs.read(id).await.unwrap().status.end.unwrap();
            assert!(is_ended(end.limit.as_ref()), "{tier:?}: {end:?}");
            // Told once.
            let end = jobs.read(id).await.unwrap().status.end.unwrap();
            assert_eq!(end.limit, None, "{tier:?}");
        });
        check_gone(&mark);
    }
}

#[test]
fn processes_that_start_others_while_they_are_ended_are_ended() {
    if probe().landlock_abi.is_none_or(|version| version < HOLDS_SIGNALS) {
        skipped("this kernel's Landlock does not hold signals (Linux 6.12)");
        return;
    }
    let place = Place::with(|settings| settings.wanted = Wanted::Exactly(Tier::C));
    let mark = mark();
    let mut command = place.command(&python(&mark, FEW_HOPS));
    command.limits.timeout = Duration::from_secs(1);
    let cancel = CancellationToken::new();
    let output = runtime().block_on(place.sandbox.run(command, &cancel, &mut |_, _| {})).unwrap();
    assert!(matches!(output.exit, Exit::TimedOut { .. }), "{output:?}");
    check_gone(&mark);
    as_ordinary_user("processes::processes_that_start_others_while_they_are_ended_are_ended");
}

const ALONE: &str = "TENON_TEST_ROOM";

/// Runs a test of this module as an ordinary user and alone: the limit is of a whole process, and root has
/// none. Returns whether this is that run.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_none() {
        let test = format!("walls::processes::{test}");
        let arguments = ["--exact", &*test, "--nocapture"];
        let said = if runs_as_root() {
            ordinary_user(&arguments, &[(ALONE, "1")])
        } else {
            let program = std::env::current_exe().unwrap();
            let output =
                std::process::Command::new(program).args(arguments).env(ALONE, "1").output();
            Ok(String::from_utf8_lossy(&output.unwrap().stdout).into_owned())
        };
        match said {
            Ok(said) => assert!(said.contains("1 passed"), "{said}"),
            Err(reason) => skipped(format_args!("{reason}")),
        }
        return false;
    }
    true
}

#[test]
fn a_command_waits_for_room_for_its_processes() {
    if !is_alone("a_command_waits_for_room_for_its_processes") {
        return;
    }
    for tier in [Tier::C, Tier::A] {
        let place = Place::with(|settings| settings.wanted = Wanted::Exactly(tier));
        let limit = getrlimit(Resource::Nproc);
        let none = Rlimit { current: Some(1), maximum: limit.maximum };
        let again = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            setrlimit(Resource::Nproc, limit).unwrap();
        });
        setrlimit(Resource::Nproc, none).unwrap();
        // Its runtime has no thread yet.
        assert_eq!(printed(&place.try_run("echo again").unwrap()), "again\n", "{tier:?}");
        again.join().unwrap();
    }
}

#[test]
fn without_room_for_a_process_the_tier_that_was_wanted_is_named() {
    if !is_alone("without_room_for_a_process_the_tier_that_was_wanted_is_named") {
        return;
    }
    let none = Rlimit { current: Some(1), maximum: getrlimit(Resource::Nproc).maximum };
    setrlimit(Resource::Nproc, none).unwrap();
    for tier in [Tier::C, Tier::A] {
        let place = Place::with(|settings| settings.wanted = Wanted::Exactly(tier));
        let error = runtime().block_on(place.sandbox.tier()).unwrap_err();
        assert_eq!(error, SandboxError { tier, missing: Missing::Room });
    }
}

#[test]
fn processes_of_others_do_not_count() {
    for tier in tiers() {
        let place = place(tier);
        let others = std::thread::spawn(|| {
            // After the first look.
            std::thread::sleep(Duration::from_millis(300));
            let sleep = || std::process::Command::new("sleep").arg("2").spawn().unwrap();
            let others: Vec<_> = (0..30).map(|_| sleep()).collect();
            for mut other in others {
                other.wait().unwrap();
            }
        });
        let output = place.try_run("sleep 1.5; echo end").unwrap();
        others.join().unwrap();
        assert_eq!((output.limit.clone(), printed(&output).as_str()), (None, "end\n"), "{tier:?}");
    }
}
