//! A command has as much memory as there is leave for, whoever of its processes holds it and how.

use tenon_sandbox::{Exit, LimitReached, Tier, Wanted};

use super::{Place, as_ordinary_user, printed, tier};

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
