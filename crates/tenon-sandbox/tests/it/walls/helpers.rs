//! What watches over a command: the command cannot hold it up.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenon_sandbox::{Tier, Wanted};

use super::{Place, as_ordinary_user, tier};
use crate::skipped::skipped;

fn place(tier: Tier) -> Place {
    Place::with(|settings| settings.wanted = Wanted::Exactly(tier))
}

/// Where there are no namespaces, what ends the command is its parent, and what ends that one's family.
const HOLDING_UP: &str = r#"exec python3 - <<'E'
import ctypes, os, resource, threading
libc = ctypes.CDLL(None)
def parent_of(pid): return int(open(f'/proc/{pid}/stat').read().rsplit(') ', 1)[1].split()[1])
def of_process(pid):
    yield 'processors', lambda: os.sched_setaffinity(pid, {min(os.sched_getaffinity(pid))})
    yield 'priority', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)
    yield 'priority of its group', lambda: os.setpriority(os.PRIO_PGRP, pid, 19)
    yield 'being in its group', lambda: os.setpgid(0, pid)
    yield 'scheduling', lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    yield 'order at disks', lambda: 1 / (1 + libc.syscall(251, 1, pid, 3 << 13))
    yield 'order of its group at disks', lambda: 1 / (1 + libc.syscall(251, 2, pid, 3 << 13))
    yield 'limits', lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))
    for name in ('autogroup', 'oom_score_adj', 'timerslack_ns'):
        yield name, lambda: open(f'/proc/{pid}/{name}', 'w').write('1')
def of_user():
    yield 'priority of its user', lambda: os.setpriority(os.PRIO_USER, 0, 19)
    yield 'order of its user at disks', lambda: 1 / (1 + libc.syscall(251, 3, os.getuid(), 3 << 13))
parent = os.getppid()
watching = {1} if parent == 1 else {parent, parent_of(parent)}
tries = [each for pid in watching for each in of_process(pid)] + list(of_user())
for what, attempt in tries:
    try: attempt(); print('BROKEN', what)
    except (OSError, ZeroDivisionError): pass
own = os.sched_getaffinity(0)
def move(*numbers):
    for number in numbers: os.sched_setaffinity(number, own)
thread = threading.Thread(target=lambda: move(0, os.getpid(), threading.get_native_id()))
thread.start(); thread.join()
os.setpriority(os.PRIO_PROCESS, 0, 1)
print('end')
E"#;

#[test]
fn a_command_does_not_hold_up_what_ends_it() {
    for tier in [tier(), Tier::C] {
        assert_eq!(place(tier).run(HOLDING_UP).1, "end\n", "{tier:?}");
    }
    as_ordinary_user("helpers::a_command_does_not_hold_up_what_ends_it");
}

#[test]
fn no_command_comes_before_others_though_the_user_may() {
    for (resource, value) in [(Resource::Nice, 40), (Resource::Rtprio, 99)] {
        let all = Rlimit { current: Some(value), maximum: Some(value) };
        if setrlimit(resource, all).is_err() && getrlimit(resource).current == Some(0) {
            return skipped("only root gives leave to come before others");
        }
    }
    let script = "exec python3 - <<'E'
import os
def raised():
    yield lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)
    yield lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
for attempt in raised():
    try: attempt(); print('BROKEN')
    except PermissionError: print('refused')
E";
    for tier in [tier(), Tier::C] {
        assert_eq!(place(tier).run(script).1, "refused\nrefused\n", "{tier:?}");
    }
    as_ordinary_user("helpers::no_command_comes_before_others_though_the_user_may");
}
