//! Refused system calls that ordinary programs ask for, and that the agent wants to hear of.
//!
//! The kernel refuses without a word, and programs say what they like. Where a command is watched,
//! these calls are therefore questions to the agent, which always says no and remembers what it was.
//! Elsewhere the filter itself refuses them.

use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_long, sock_filter};
use rustix::io::Errno;

use super::filter::{Calls, EQUAL, and, answer, argument_offset, call, jump, load, refuse};

/// What [`crate::Output::refused`] says of sockets to this machine and others where there are none.
/// Programs also try for one and go on without: it explains only why a command failed.
///
/// ```
/// # use tenon_sandbox::{INTERNET_SOCKETS, Output};
/// fn wants_network(output: &Output) -> bool {
///     output.refused.contains(&INTERNET_SOCKETS)
/// }
/// ```
pub const INTERNET_SOCKETS: &str = "internet sockets";

/// The same of sockets with a path, which programs try for as well, to look up users most of all.
///
/// ```
/// # use tenon_sandbox::{Output, PATH_SOCKETS};
/// fn wants_a_socket(output: &Output) -> bool {
///     output.refused.contains(&PATH_SOCKETS)
/// }
/// ```
pub const PATH_SOCKETS: &str = "sockets with a path";

/// The same of sockets of families that are refused everywhere.
///
/// ```
/// # use tenon_sandbox::{OTHER_SOCKETS, Output};
/// fn wants_a_rare_socket(output: &Output) -> bool {
///     output.refused.contains(&OTHER_SOCKETS)
/// }
/// ```
pub const OTHER_SOCKETS: &str = "sockets of other families (vsock, packet and the like)";

/// The same of the bits with which a file is a program that runs as its owner or with its group.
///
/// ```
/// # use tenon_sandbox::{Output, SET_ID_BITS};
/// fn wants_such_a_program(output: &Output) -> bool {
///     output.refused.contains(&SET_ID_BITS)
/// }
/// ```
pub const SET_ID_BITS: &str = "the set-user-id or set-group-id bit of a file";

/// The kind of a socket, without its flags.
const KIND: u32 = 0xf;

const RAW_SOCKETS: &str = "raw sockets";

/// What people call them. What there is a question about besides, by its arguments, is not here:
/// no number may be in both lists.
const TOLD: [(&str, &[c_long]); 10] = [
    (
        "tracing a process (ptrace)",
        &[libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev],
    ),
    ("making or entering namespaces", &[libc::SYS_clone, libc::SYS_unshare, libc::SYS_setns]),
    ("mounting", &[libc::SYS_mount, libc::SYS_umount2, libc::SYS_fsopen, libc::SYS_open_tree]),
    ("changing the root folder (chroot)", &[libc::SYS_chroot, libc::SYS_pivot_root]),
    ("performance counters (perf)", &[libc::SYS_perf_event_open]),
    ("programs in the kernel (bpf)", &[libc::SYS_bpf]),
    ("the kernel's keys (keyctl)", &[libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key]),
    (RAW_SOCKETS, &[libc::SYS_socket]),
    ("the kernel's messages (dmesg)", &[libc::SYS_syslog]),
    (
        "setting the clock or the name of the machine",
        &[libc::SYS_clock_settime, libc::SYS_settimeofday, libc::SYS_sethostname],
    ),
];

/// Returns all of them.
pub(super) fn numbers() -> impl Iterator<Item = c_long> {
    TOLD.iter().flat_map(|(_, numbers)| numbers.iter().copied())
}

/// Makes questions of those among `calls`, where they are refused as something that nobody may do.
pub(super) fn ask(calls: &mut Calls) {
    let (refused, ask) = (refuse(Errno::PERM).k, answer(libc::SECCOMP_RET_USER_NOTIF));
    for number in numbers() {
        let Some(body) = calls.get_mut(&call(number)) else { continue };
        // A value that is compared or loaded may be the same number.
        let is_refusal = |code: &&mut sock_filter| code.code == ask.code && code.k == refused;
        body.iter_mut().filter(is_refusal).for_each(|code| code.k = ask.k);
    }
    if let Some(body) = calls.get_mut(&call(libc::SYS_socket)) {
        let at = |body: &[sock_filter], errno| {
            let refused = refuse(errno);
            body.iter().position(|code| (code.code, code.k) == (refused.code, refused.k))
        };
        // The answer to the families that there are nowhere.
        let nowhere = at(body, Errno::AFNOSUPPORT);
        if let Some(code) = nowhere.and_then(|at| body.get_mut(at)) {
            code.k = ask.k;
        }
        // Between it and the next are the families that there are.
        let families = nowhere.zip(at(body, Errno::ACCESS));
        if let Some(families) = families.and_then(|(start, end)| body.get(start..end)) {
            let is_paths = |code: &sock_filter| (code.code, code.k) == (EQUAL, PATHS);
            let paths = if families.iter().any(is_paths) { &[][..] } else { &ask_about_paths() };
            let questions = [paths, &ask_about_sockets()].concat();
            body.splice(..0, questions);
        }
    }
}

const PATHS: u32 = libc::AF_UNIX.cast_unsigned();

fn ask_about_paths() -> [sock_filter; 3] {
    [load(argument_offset(0)), jump(EQUAL, PATHS, 0, 1), answer(libc::SECCOMP_RET_USER_NOTIF)]
}

/// Asks about internet sockets but raw ones, which have a question of their own elsewhere: what is
/// asked about does not say where it was.
fn ask_about_sockets() -> [sock_filter; 7] {
    [
        load(argument_offset(0)),
        jump(EQUAL, libc::AF_INET.cast_unsigned(), 1, 0),
        jump(EQUAL, libc::AF_INET6.cast_unsigned(), 0, 4),
        load(argument_offset(1)),
        and(KIND),
        jump(EQUAL, libc::SOCK_RAW.cast_unsigned(), 1, 0),
        answer(libc::SECCOMP_RET_USER_NOTIF),
    ]
}

/// What one command was refused.
#[derive(Debug, Default)]
pub(super) struct Told(AtomicU32);

impl Told {
    /// Takes in that a call was asked about; returns what is answered if it is one of these, which
    /// never goes on: what the filter itself would answer.
    pub(super) fn takes(&self, number: i32, arguments: [u64; 6]) -> Option<Errno> {
        let is_it = |(_, numbers): &(_, &[c_long])| numbers.contains(&c_long::from(number));
        let found = TOLD.iter().position(is_it)?;
        let [family, kind, ..] = arguments;
        let is_raw = kind & u64::from(KIND) == u64::from(libc::SOCK_RAW.cast_unsigned());
        // The kernel and the filter look at no more of it.
        let family = family & u64::from(u32::MAX);
        let is_of = |known: i32| family == u64::from(known.cast_unsigned());
        let (bit, errno) = if c_long::from(number) != libc::SYS_socket {
            (found, Errno::PERM)
        } else if is_of(libc::AF_INET) || is_of(libc::AF_INET6) {
            if is_raw { (found, Errno::PERM) } else { (TOLD.len(), Errno::ACCESS) }
        } else if family == u64::from(PATHS) {
            (TOLD.len() + 1, Errno::ACCESS)
        } else {
            (TOLD.len() + 2, Errno::AFNOSUPPORT)
        };
        self.0.fetch_or(1 << bit, Ordering::Relaxed);
        Some(errno)
    }

    /// Takes in that a file was to get the set-user-id or set-group-id bit; returns what is answered.
    pub(super) fn takes_bits(&self) -> Errno {
        self.0.fetch_or(1 << (TOLD.len() + 3), Ordering::Relaxed);
        Errno::PERM
    }

    /// Returns what was refused, in words for people.
    pub(super) fn words(&self) -> Vec<&'static str> {
        let bits = self.0.load(Ordering::Relaxed);
        let others = [INTERNET_SOCKETS, PATH_SOCKETS, OTHER_SOCKETS, SET_ID_BITS];
        let words = TOLD.iter().map(|(words, _)| *words).chain(others);
        let told = words.enumerate().filter(|(number, _)| bits & (1 << number) != 0);
        told.map(|(_, words)| words).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::by_argument::Sockets;
    use super::super::filter::{ARCHITECTURE, Filter};
    use super::super::notify::add_questions;
    use super::super::seccomp::{Around, refusals};
    use super::*;

    #[test]
    fn what_is_told_is_a_question_where_it_would_be_refused_and_nowhere_else() {
        let mut calls = refusals(Sockets::Internet, Around::Namespaces);
        add_questions(&mut calls);
        let filter = Filter::of(&calls);
        let check = |number: c_long, arguments: [u64; 6], expected: u32| {
            let answer = filter.run(ARCHITECTURE, number as u32, arguments);
            assert_eq!(answer.map(|(answer, _)| answer), Some(expected), "{number} {arguments:?}");
        };
        let (asked, allowed) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW);
        let partly = [libc::SYS_clone, libc::SYS_socket];
        for number in numbers().filter(|number| !partly.contains(number)) {
            check(number, [0; 6], asked);
        }
        check(libc::SYS_clone, [libc::CLONE_NEWUSER as u64, 0, 0, 0, 0, 0], asked);
        check(libc::SYS_clone, [libc::CLONE_VM as u64, 0, 0, 0, 0, 0], allowed);
        check(libc::SYS_socket, [libc::AF_INET as u64, libc::SOCK_RAW as u64, 0, 0, 0, 0], asked);
        check(
            libc::SYS_socket,
            [libc::AF_INET as u64, libc::SOCK_STREAM as u64, 0, 0, 0, 0],
            allowed,
        );
        for family in [libc::AF_VSOCK, libc::AF_PACKET, libc::AF_ALG, -1] {
            check(libc::SYS_socket, [family as u64, 0, 0, 0, 0, 0], asked);
        }
    }

    #[test]
    fn internet_sockets_are_a_question_where_there_are_none() {
        let (asked, allowed) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW);
        let refused = refuse(Errno::ACCESS).k;
        let check = |sockets, [family, kind]: [i32; 2], is_watched: bool, expected: u32| {
            let mut calls = refusals(sockets, Around::Landlock);
            if is_watched {
                add_questions(&mut calls);
            }
            let arguments = [family as u64, kind as u64, 0, 0, 0, 0];
            let answer = Filter::of(&calls).run(ARCHITECTURE, libc::SYS_socket as u32, arguments);
            let answer = answer.map(|(answer, _)| answer);
            assert_eq!(answer, Some(expected), "{sockets:?} {family} {kind}");
        };
        let stream = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        for sockets in [Sockets::Local, Sockets::Pairs] {
            for family in [libc::AF_INET, libc::AF_INET6] {
                check(sockets, [family, stream], true, asked);
                check(sockets, [family, libc::SOCK_DGRAM], true, asked);
                check(sockets, [family, stream], false, refused);
                check(sockets, [family, libc::SOCK_RAW], true, refused);
            }
            for family in [libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG, -1] {
                check(sockets, [family, libc::SOCK_RAW], true, asked);
                check(sockets, [family, stream], true, asked);
                check(sockets, [family, stream], false, refuse(Errno::AFNOSUPPORT).k);
            }
            check(sockets, [libc::AF_NETLINK, libc::SOCK_RAW], true, allowed);
        }
        check(Sockets::Local, [libc::AF_UNIX, stream], true, allowed);
        check(Sockets::Pairs, [libc::AF_UNIX, stream], true, asked);
        check(Sockets::Pairs, [libc::AF_UNIX, libc::SOCK_RAW], true, asked);
        check(Sockets::Pairs, [libc::AF_UNIX, stream], false, refused);
        check(Sockets::Internet, [libc::AF_INET, stream], true, allowed);
    }

    #[test]
    fn only_these_are_taken_and_each_is_said_once() {
        let told = Told::default();
        assert_eq!(told.takes(libc::SYS_openat as i32, [0; 6]), None);
        assert!(told.words().is_empty());
        for number in [libc::SYS_chroot, libc::SYS_ptrace, libc::SYS_ptrace] {
            assert_eq!(told.takes(number as i32, [0; 6]), Some(Errno::PERM));
        }
        let of_kind = |kind: i32| [libc::AF_INET as u64, kind as u64, 0, 0, 0, 0];
        let raw = of_kind(libc::SOCK_RAW | libc::SOCK_CLOEXEC);
        let stream = of_kind(libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
        let words = ["tracing a process (ptrace)", "changing the root folder (chroot)"];
        assert_eq!(told.words(), words);
        assert_eq!(told.takes(libc::SYS_socket as i32, stream), Some(Errno::ACCESS));
        assert_eq!(told.words(), [words[0], words[1], INTERNET_SOCKETS]);
        assert_eq!(told.takes(libc::SYS_socket as i32, raw), Some(Errno::PERM));
        assert_eq!(told.words(), [words[0], words[1], RAW_SOCKETS, INTERNET_SOCKETS]);
        let path = [libc::AF_UNIX as u64, libc::SOCK_RAW as u64, 0, 0, 0, 0];
        assert_eq!(told.takes(libc::SYS_socket as i32, path), Some(Errno::ACCESS));
        assert_eq!(told.words()[3..], [INTERNET_SOCKETS, PATH_SOCKETS]);
        let told = Told::default();
        for family in [libc::AF_VSOCK, libc::AF_PACKET, -1] {
            let raw = [family as u64, libc::SOCK_RAW as u64, 0, 0, 0, 0];
            assert_eq!(told.takes(libc::SYS_socket as i32, raw), Some(Errno::AFNOSUPPORT));
        }
        assert_eq!(told.words(), [OTHER_SOCKETS]);
    }
}
