//! Refused system calls that ordinary programs ask for, and that the agent wants to hear of.
//!
//! The kernel refuses without a word, and programs say what they like. Where a command is watched,
//! these calls are therefore questions to the agent, which always says no and remembers what it was.
//! Elsewhere the filter itself refuses them.

use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_long, sock_filter};
use rustix::io::Errno;

use super::filter::{Calls, answer, call, refuse};

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
    ("raw sockets", &[libc::SYS_socket]),
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
}

/// What one command was refused.
#[derive(Debug, Default)]
pub(super) struct Told(AtomicU32);

impl Told {
    /// Takes in that a call was asked about; says whether it is one of these, which never goes on.
    pub(super) fn takes(&self, number: i32) -> bool {
        let is_it = |(_, numbers): &(_, &[c_long])| numbers.contains(&c_long::from(number));
        let found = TOLD.iter().position(is_it);
        if let Some(found) = found {
            self.0.fetch_or(1 << found, Ordering::Relaxed);
        }
        found.is_some()
    }

    /// Returns what was refused, in words for people.
    pub(super) fn words(&self) -> Vec<&'static str> {
        let bits = self.0.load(Ordering::Relaxed);
        let told = TOLD.iter().enumerate().filter(|(number, _)| bits & (1 << number) != 0);
        told.map(|(_, (words, _))| *words).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::{ARCHITECTURE, Filter};
    use super::super::notify::add_questions;
    use super::super::seccomp::{Around, Sockets, refusals};
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
        let vsock = refuse(Errno::AFNOSUPPORT).k;
        check(libc::SYS_socket, [libc::AF_VSOCK as u64, 0, 0, 0, 0, 0], vsock);
    }

    #[test]
    fn only_these_are_taken_and_each_is_said_once() {
        let told = Told::default();
        assert!(!told.takes(libc::SYS_openat as i32) && told.words().is_empty());
        for number in [libc::SYS_chroot, libc::SYS_ptrace, libc::SYS_ptrace] {
            assert!(told.takes(number as i32));
        }
        assert_eq!(
            told.words(),
            ["tracing a process (ptrace)", "changing the root folder (chroot)"]
        );
    }
}
