//! A command has as much memory as there is leave for, whoever of its processes holds it and how, leaves
//! others what the kernel counts for a whole user, and nothing of a crash.

#![expect(clippy::panic, reason = "a test that finds another outcome has failed")]

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenon_sandbox::{Attended, Exit, Jobs, LimitReached, Tier, Wanted, runs_as_root};
use tokio_util::sync::CancellationToken;

use super::jobs::read_until;
use super::{Place, as_ordinary_user, printed, tier};
use crate::support::runtime;

const MIB: u64 = 1 << 20;

fn place(tier: Tier, memory_bytes_max: u64) -> Place {
    Place::with(|settings| {
        settings.wanted = Wanted::Exactly(tier);
        settings.limits.memory_bytes_max = memory_bytes_max;
    })
}

fn python(program: &str) -> String {
    format!("exec python3 - <<'E'\n{program}\nE")
}

fn check_ended(tier: Tier, script: &str) {
    let memory_bytes_max = 200 * MIB;
    let place = place(tier, memory_bytes_max);
    let output = place.try_run(script).unwrap();
    let limit = Some(LimitReached::Memory { memory_bytes_max });
    assert_eq!(output.limit, limit, "{tier:?}: {script}: {output:?}");
    let ordinary = place.try_run("head -c 1000000 /dev/zero | tail -c 1 | wc -c").unwrap();
    assert_eq!((ordinary.limit.clone(), printed(&ordinary).as_str()), (None, "1\n"));
}

fn check_all_ended() {
    let hogs = [
        "head -c 2000000000 /dev/zero | tail; sleep 1000".to_owned(),
        python(MEMORY_OF_A_THREAD),
        python(MEMORY_FILES),
        python(INHERITED),
    ];
    for tier in [tier(), Tier::C] {
        hogs.iter().for_each(|hog| check_ended(tier, hog));
    }
    check_ended(tier(), &python(SEGMENTS));
}

/// The first thread of a process that has ended has no memory, to look at it.
const MEMORY_OF_A_THREAD: &str = "
import ctypes, threading, time
def hold():
    held = b'x' * (400 << 20)
    time.sleep(1000)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if __import__('os').uname().machine == 'x86_64' else 93, 0)";

const MEMORY_FILES: &str = "
import os, time
held = [os.memfd_create('x') for n in range(4)]
for file in held: os.posix_fallocate(file, 0, 100 << 20)
time.sleep(1000)";

const INHERITED: &str = "
import mmap, os, time
shared = mmap.mmap(-1, 400 << 20)
for n in range(0, len(shared), 4096): shared[n] = 1
time.sleep(1000)";

const SEGMENTS: &str = "
import ctypes, time
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
libc.shmdt.argtypes = [ctypes.c_void_p]
for n in range(4):
    place = libc.shmat(libc.shmget(0, ctypes.c_size_t(100 << 20), 0o1600), None, 0)
    ctypes.memset(ctypes.c_void_p(place), 1, 100 << 20)
    libc.shmdt(place)
time.sleep(1000)";

/// Longer than it takes to look again.
const SHARED_BY_FORKS: &str = "
import os, time
held = b'x' * (100 << 20)
for n in range(10):
    if os.fork() == 0:
        time.sleep(2.5)
        os._exit(0)
print(sum(os.wait()[1] for n in range(10)))";

/// Mapped, open and inherited: it is there once.
const SHARED_BY_MAPPINGS: &str = "
import mmap, os, time
file = os.memfd_create('x')
os.posix_fallocate(file, 0, 100 << 20)
shared = mmap.mmap(file, 100 << 20)
for n in range(10):
    if os.fork() == 0:
        for n in range(0, len(shared), 4096): shared[n] = 1
        time.sleep(2.5)
        os._exit(0)
print(sum(os.wait()[1] for n in range(10)))";

fn check_none_ended() {
    for tier in [tier(), Tier::C] {
        for program in [SHARED_BY_FORKS, SHARED_BY_MAPPINGS] {
            let output = place(tier, 200 * MIB).try_run(&python(program)).unwrap();
            let seen = (output.exit, output.limit.clone(), printed(&output));
            assert_eq!(seen, (Exit::Code(0), None, "0\n".to_owned()), "{tier:?}: {program}");
        }
    }
}

#[test]
fn a_command_that_takes_too_much_memory_is_ended_and_told_so() {
    check_all_ended();
    as_ordinary_user("memory::a_command_that_takes_too_much_memory_is_ended_and_told_so");
}

#[test]
fn memory_that_processes_share_counts_once() {
    check_none_ended();
    as_ordinary_user("memory::memory_that_processes_share_counts_once");
}

#[test]
fn segments_of_system_v_end_with_their_call() {
    let place = Place::new();
    let make = "
import ctypes
print(ctypes.CDLL(None).shmget(77, 4096, 0o1600) >= 0)
print(len(open('/proc/sysvipc/shm').readlines()))";
    let look = "print(len(open('/proc/sysvipc/shm').readlines()))";
    assert_eq!(place.run(&python(make)).1, "True\n2\n");
    assert_eq!(place.run(&python(look)).1, "1\n");
}

/// Takes all that it gets of what the kernel counts for a whole user.
const OF_THE_USER: &str = "
import ctypes, os, resource, signal
libc = ctypes.CDLL(None)
instances = 0
while libc.inotify_init() >= 0: instances += 1
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
signals = 0
while libc.sigqueue(os.getpid(), 40, ctypes.c_void_p()) == 0: signals += 1
print(instances, signals)";

fn check_half_is_left() {
    let all = getrlimit(Resource::Sigpending).current.unwrap();
    let instances = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").unwrap();
    let instances: u64 = instances.trim().parse().unwrap();
    for tier in [tier(), Tier::C] {
        let output = place(tier, 1024 * MIB).try_run(&python(OF_THE_USER)).unwrap();
        let said = printed(&output);
        let had: Vec<u64> = said.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [watching, signals] = had[..] else { panic!("{output:?}") };
        assert!(0 < signals && signals <= all / 2, "{tier:?}: {output:?}");
        // Of tier A alone.
        assert!(tier != Tier::A || (0 < watching && watching <= instances / 2), "{output:?}");
    }
}

#[test]
fn half_of_what_a_user_may_watch_and_queue_is_left_for_others() {
    check_half_is_left();
    as_ordinary_user("memory::half_of_what_a_user_may_watch_and_queue_is_left_for_others");
}

/// Has 600 descriptors under way in sockets.
const UNDER_WAY: &str = "
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))
ends = [socket.socketpair() for n in range(3)]
for here, there in ends: socket.send_fds(here, [b'x'], [0] * 200)
print('sent', flush=True)
time.sleep(1000)";

#[test]
fn descriptors_that_a_job_has_under_way_leave_room_for_the_next_command() {
    if runs_as_root() {
        // Root has no such limit.
        as_ordinary_user(
            "memory::descriptors_that_a_job_has_under_way_leave_room_for_the_next_command",
        );
        return;
    }
    let place = place(tier(), 1024 * MIB);
    let command = place.command(&python(UNDER_WAY));
    let job = Attended::new(command, Some(place.sandbox.clone()), |_, _| {});
    runtime().block_on(async {
        let jobs = Jobs::default();
        let id = jobs.keep(job).unwrap();
        read_until(&jobs, id, "sent").await;
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(500), ..before }).unwrap();
        let cancel = CancellationToken::new();
        let output =
            place.sandbox.run(place.command("echo runs"), &cancel, &mut |_, _| {}).await.unwrap();
        setrlimit(Resource::Nofile, before).unwrap();
        assert_eq!(printed(&output), "runs\n", "{output:?}");
        jobs.stop_all().await;
    });
}

/// Sets the limit of crashes, which is said to be done and is not.
const CORE: &str = "
import resource
which = resource.RLIMIT_CORE
print(resource.getrlimit(which))
resource.setrlimit(which, (0, 0))
print(resource.getrlimit(which))
try: print(resource.prlimit(0, which, (0, 0)))
except PermissionError: print('refused')";

#[test]
fn no_program_of_the_machine_is_started_for_a_crash() {
    let most = getrlimit(Resource::Core).maximum.map_or(1, |most| most.min(1));
    let limit = format!("({most}, {most})\n");
    for tier in [tier(), Tier::C] {
        let output = place(tier, 1024 * MIB).try_run(&python(CORE)).unwrap();
        assert_eq!(printed(&output), format!("{limit}{limit}refused\n"), "{tier:?}");
    }
}
