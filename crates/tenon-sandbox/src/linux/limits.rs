//! What a command may use: the kernel's limits of a process, and of their number.
//!
//! RLIMIT_AS is not used: it counts reserved addresses and breaks node, go and java. Memory is
//! watched instead, and so are processes where the kernel does not count them (see `watch.rs`).

use libc::{c_long, sock_filter};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

use super::filter::{EQUAL, argument_offset, jump, load, pretend, refuse};
use super::mark::MARK;
use super::procfs::read;
use super::request::Inside;
use crate::profile::Limits;

/// The lowest `pid_max` that the kernel takes (RESERVED_PIDS + 1).
const PID_MAX_MIN: u64 = 301;

/// Since this release every pid namespace has a `pid_max` of its own. On an older one the file is
/// the whole machine's.
const PID_MAX_RELEASE: (u32, u32) = (6, 14);

/// What a user may have of `inotify`, and where it is said how much of it a namespace may.
const WATCHES: [(&str, &str); 2] = [
    ("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances"),
    ("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"),
];

/// In the child, before it is the shell. Inside a user namespace its processes are counted apart
/// from the user's others; elsewhere the count would be wrong.
pub(super) fn set(limits: &Limits, inside: Option<&Inside>) -> Result<(), Errno> {
    no_core()?;
    if inside.is_some() && !has_pid_max(inside) {
        lower(Resource::Nproc, limits.processes_max)?;
    }
    // Counted for all processes of the user.
    if let Some(all) = rustix::process::getrlimit(Resource::Sigpending).current {
        lower(Resource::Sigpending, all / 2)?;
    }
    // Leave to come before all others would hold up what counts and ends the command.
    lower(Resource::Nice, 0)?;
    lower(Resource::Rtprio, 0)?;
    lower(Resource::Fsize, limits.file_bytes_max)?;
    lower(Resource::Nofile, limits.open_files_max)
}

/// Leaves nothing of a crash, neither in a file nor for the machine's own program that takes crashes: the kernel starts
/// that also with a limit of 0, but not with one of 1 (core(5)). Where the limit is 0 for good it stays so.
pub(super) fn no_core() -> Result<(), Errno> {
    let most = rustix::process::getrlimit(Resource::Core).maximum.map_or(1, |most| most.min(1));
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    rustix::process::setrlimit(Resource::Core, limit)
}

/// Returns what leaves that limit as it is, and says that it was set: a lower one would be none. The same of the mark.
pub(super) fn limits_stay() -> [(c_long, Vec<sock_filter>); 2] {
    let is_mark = jump(EQUAL, MARK, 1, 0);
    let is_core = |past| jump(EQUAL, libc::RLIMIT_CORE, 0, past);
    let high = |argument| load(argument_offset(argument) + 4);
    let set = vec![load(argument_offset(0)), is_mark, is_core(1), pretend()];
    let set_and_get = vec![
        load(argument_offset(1)),
        is_mark,
        is_core(10),
        // Without a new one it only asks.
        load(argument_offset(2)),
        jump(EQUAL, 0, 0, 2),
        high(2),
        jump(EQUAL, 0, 6, 0),
        // Nobody would tell the former one.
        load(argument_offset(3)),
        jump(EQUAL, 0, 0, 3),
        high(3),
        jump(EQUAL, 0, 0, 1),
        pretend(),
        refuse(Errno::PERM),
    ];
    [(libc::SYS_setrlimit, set), (libc::SYS_prlimit64, set_and_get)]
}

/// Whether the kernel counts a command's processes in its own namespace, those of root, too.
pub(super) fn has_pid_max(inside: Option<&Inside>) -> bool {
    // Bubblewrap sets no `pid_max`.
    inside.is_some_and(|inside| {
        !inside.is_enclosed && has_own_pid_max(&rustix::system::uname().release().to_string_lossy())
    })
}

/// Sets a limit for good; one that is lower already stays.
fn lower(resource: Resource, value: u64) -> Result<(), Errno> {
    let now = rustix::process::getrlimit(resource);
    let least = |now: Option<u64>| Some(now.map_or(value, |now| now.min(value)));
    let limit = Rlimit { current: least(now.current), maximum: least(now.maximum) };
    rustix::process::setrlimit(resource, limit)
}

/// In a user namespace of its own: leaves the user's other programs half of what watches folders. Where the kernel
/// counts none in namespaces (before Linux 4.11), everything is as it was.
pub(super) fn set_watches() {
    for (all, own) in WATCHES {
        let number =
            read(all).and_then(|text| String::from_utf8(text).ok()?.trim().parse::<u64>().ok());
        if let Some(number) = number {
            let _ = write_file(own, (number / 2).to_string().as_bytes());
        }
    }
}

/// In a namespace of its own, `/proc` mounted and still writable: at most so many processes.
/// Returns whether the kernel can.
pub(super) fn set_processes(processes_max: u64) -> Result<bool, Errno> {
    let release = rustix::system::uname();
    if !has_own_pid_max(&release.release().to_string_lossy()) {
        return Ok(false);
    }
    let value = processes_max.saturating_add(PID_MAX_MIN).to_string();
    write_file("/proc/sys/kernel/pid_max", value.as_bytes())?;
    Ok(true)
}

pub(crate) fn has_own_pid_max(release: &str) -> bool {
    is_at_least(release, PID_MAX_RELEASE)
}

/// Whether a kernel's release is this one or a later one.
pub(crate) fn is_at_least(release: &str, wanted: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= wanted,
        _ => false,
    }
}

pub(super) fn write_file(path: &str, bytes: &[u8]) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_kernels_have_a_pid_max_for_each_namespace() {
        let check = |release: &str, expected| assert_eq!(has_own_pid_max(release), expected);
        check("6.14.0", true);
        check("6.18.44-generic", true);
        check("7.0", true);
        check("6.13.9", false);
        check("5.15.0-91-generic", false);
        check("", false);
        check("unknown", false);
    }
}
