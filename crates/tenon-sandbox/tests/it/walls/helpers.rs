//! What watches over a command: the command cannot hold it up, and nothing is left where it is killed.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use tenon_sandbox::{Exit, Tier, Wanted};

use super::lifetime::{left, mark, staying, wait_until_gone};
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

/// What `/proc` says of a process: its name, and its parent.
fn read(pid: i32) -> Option<(String, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = stat.split_once(" (")?.1.rsplit_once(") ")?;
    Some((name.to_owned(), rest.split(' ').nth(1)?.parse().ok()?))
}

/// Reads a process id that a command wrote, once it has.
fn written(file: &Path) -> i32 {
    loop {
        if let Some(pid) = std::fs::read_to_string(file).ok().and_then(|it| it.trim().parse().ok())
        {
            return pid;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(pid: i32, signal: Signal) {
    // It may have ended meanwhile.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

#[test]
fn what_left_its_session_is_ended_without_helpers() {
    let place = place(Tier::C);
    for then in ["sleep 1000", "(setsid sleep $mark; true) & ulimit -x 7; disown -a; sleep 1000"] {
        let (mark, file) = (mark(), place.root().join("keeper"));
        let _ = std::fs::remove_file(&file);
        let script = staying(&mark, &format!("echo $PPID > keeper; {then}"));
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                let keeper = written(&file);
                let (_, watcher) = read(keeper).unwrap();
                for how in [Signal::STOP, Signal::KILL] {
                    [watcher, keeper].iter().for_each(|pid| signal(*pid, how));
                }
            });
            place.try_run(&script).unwrap()
        });
        assert_eq!(output.exit, Exit::Signal(libc::SIGKILL), "{output:?}");
        wait_until_gone(&mark);
    }
    as_ordinary_user("helpers::what_left_its_session_is_ended_without_helpers");
}

#[test]
fn agent_that_runs_an_endless_command_without_namespaces() {
    let Some(mark) = std::env::var_os("TENON_TEST_MARK") else {
        println!("skipped: this is the other half of a test, which runs it");
        return;
    };
    place(Tier::C)
        .run(&staying(mark.to_str().unwrap(), "echo $PPID > $TOP/work/keeper; sleep 1000"));
}

#[test]
fn killing_all_that_is_called_tenon_ends_everything() {
    let mark = mark();
    let folder = tempfile::tempdir().unwrap();
    let mut agent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "walls::helpers::agent_that_runs_an_endless_command_without_namespaces"])
        .env("TENON_TEST_MARK", &mark)
        .env("TMPDIR", folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while left(&mark).len() < 7 {
        assert!(agent.try_wait().unwrap().is_none(), "the agent ended early");
        std::thread::sleep(Duration::from_millis(5));
    }
    let place = std::fs::read_dir(folder.path()).unwrap().flatten();
    let place = place.map(|entry| entry.path().join("work")).find(|path| path.exists()).unwrap();
    let keeper = written(&place.join("keeper"));
    let (_, watcher) = read(keeper).unwrap();
    let agent_pid = Pid::from_child(&agent).as_raw_nonzero().get();
    let is_found = |pid: &i32| read(*pid).is_some_and(|(name, _)| name.contains("tenon"));
    // As `pkill -9 tenon` does; what is stopped first does nothing between two of them.
    let killed: Vec<_> =
        [watcher, keeper].into_iter().filter(is_found).chain([agent_pid]).collect();
    for how in [Signal::STOP, Signal::KILL] {
        killed.iter().for_each(|pid| signal(*pid, how));
    }
    agent.wait().unwrap();
    wait_until_gone(&mark);
}
