//! Finds and ends every process that came from a command.
//!
//! A descendant may have left its session and its parent (setsid, double fork). It cannot leave
//! its subreaper: when its parent ends it becomes a child of the helper, so ancestry in `/proc`
//! always leads there.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use super::mark::Mark;
use super::others::Others;

/// A process that does not end by SIGKILL within this time hangs in the kernel or belongs to
/// another user; nothing more can be done about it.
const GIVE_UP_AFTER: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    /// How many it has, itself counted.
    pub(super) threads: u64,
    parent: i32,
    session: i32,
}

/// Sends `signal` to everything that came from the process `ancestor`, not to itself.
pub(crate) fn signal_descendants(ancestor: Pid, signal: Signal) {
    for Process { pid, .. } in family(ancestor) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, signal);
    }
}

/// Kills all that has the mark, and everything in the session `session`: what is left to do when the
/// helpers are gone. Who starts processes faster than they are found may have some left.
pub(crate) fn kill_left(session: Option<Pid>, mark: Mark) {
    let session = session.map(|session| session.as_raw_nonzero().get());
    let is_left = |it: &Process| Some(it.session) == session || mark.is_of(it.pid);
    kill_all(Instant::now() + GIVE_UP_AFTER, || {
        processes().into_iter().filter(is_left).map(|it| it.pid).collect()
    });
}

/// Kills all that `find` finds. All are stopped before any is killed, and looked for again until
/// there are no others, so that none can make new ones meanwhile.
fn kill_all(give_up_at: Instant, find: impl Fn() -> Vec<Pid>) {
    let mut stopped = HashSet::new();
    loop {
        let before = stopped.len();
        for pid in find() {
            if stopped.insert(pid) {
                // It may have ended meanwhile.
                let _ = kill_process(pid, Signal::STOP);
            }
        }
        if stopped.len() == before || Instant::now() > give_up_at {
            break;
        }
    }
    for pid in stopped {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Ends and reaps every descendant of this process, tells of each child that was reaped, and
/// returns whether some are left that could not be ended. Without `others`, who start processes
/// faster than they are found here are among these.
pub(super) fn end_descendants(
    others: Option<&Others>,
    mut reaped: impl FnMut(Pid, WaitStatus),
) -> Left {
    let give_up_at = Instant::now() + GIVE_UP_AFTER;
    let ancestor = rustix::process::getpid();
    while reap(&mut reaped) == Left::Some {
        if Instant::now() > give_up_at {
            return Left::Some;
        }
        match others {
            Some(others) => others.signal(Signal::KILL),
            None => kill_all(give_up_at, || {
                family(ancestor).into_iter().map(|process| process.pid).collect()
            }),
        }
        if reap(&mut reaped) == Left::None {
            break;
        }
        // Killed processes take a moment to go; their children come to us only then.
        std::thread::sleep(Duration::from_micros(200));
    }
    Left::None
}

/// Whether there are children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Some,
    None,
}

/// Reaps every child that has ended.
pub(crate) fn reap(reaped: &mut impl FnMut(Pid, WaitStatus)) -> Left {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => reaped(pid, status),
            Ok(None) => return Left::Some,
            Err(Errno::INTR) => {}
            Err(_) => return Left::None,
        }
    }
}

/// Returns everything that came from the process `ancestor`, without itself.
pub(super) fn family(ancestor: Pid) -> Vec<Process> {
    let processes = processes();
    let mut family = HashSet::from([ancestor.as_raw_nonzero().get()]);
    let mut found = Vec::new();
    // A child's number may be below its parent's, so once through the list is not enough.
    loop {
        let before = found.len();
        for process in &processes {
            let pid = process.pid.as_raw_nonzero().get();
            if family.contains(&process.parent) && family.insert(pid) {
                found.push(*process);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn processes() -> Vec<Process> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::open("/proc", flags, Mode::empty()) else { return Vec::new() };
    let Ok(entries) = Dir::read_from(&folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().to_str().ok()?;
        name.parse().ok()
    });
    names.filter_map(|pid| read_process(&folder, pid)).collect()
}

fn read_process(folder: &OwnedFd, pid: i32) -> Option<Process> {
    let name = format!("{pid}/stat");
    let file =
        rustix::fs::openat(folder, &*name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    // The name is at most 16 bytes (64 for kernel threads), the numbers at most 20 each.
    let mut buffer = [0_u8; 1024];
    let length = rustix::io::read(file, &mut buffer).ok()?;
    let text = buffer.get(..length)?;
    parse_stat(Pid::from_raw(pid)?, text)
}

/// Reads `/proc/PID/stat`. The name in it is in parentheses and may have parentheses itself, so the
/// last one counts.
fn parse_stat(pid: Pid, text: &[u8]) -> Option<Process> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let mut fields = text.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let threads = fields.nth(13)?.parse().ok()?;
    Some(Process { pid, threads, parent, session })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let pid = Pid::from_raw(12).unwrap();
        let text = b"12 (a) S (b)) S 5 6 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 9";
        let expected = Process { pid, threads: 3, parent: 5, session: 7 };
        assert_eq!(parse_stat(pid, text), Some(expected));
        assert_eq!(parse_stat(pid, b"12 (cat"), None);
    }

    #[test]
    fn this_process_is_a_descendant_of_its_parent() {
        let parent = rustix::process::getppid().unwrap();
        let me = rustix::process::getpid();
        let found = family(parent).into_iter().find(|process| process.pid == me).unwrap();
        assert!(found.threads > 1, "{found:?}");
    }
}
