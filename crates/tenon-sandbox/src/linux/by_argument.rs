//! Which system calls a command has for some arguments only.
//!
//! A filter sees numbers: what lies in memory (paths, structures) it cannot judge, so such calls are
//! refused as a whole here or in `seccomp.rs`, or the agent is asked (`notify.rs`).

use libc::{c_long, sock_filter};
use rustix::io::Errno;

use super::file_requests::{LETTER, LETTERS, REQUESTS};
use super::filter::{ANY_BIT, EQUAL, and, argument_offset, jump, lead, load, refuse, short};
use super::notify::{FILE_FLAGS, FILE_SETATTR};
use super::shared_objects::SHARED_OBJECTS;

/// Every flag with which clone, unshare and setns make a namespace, but CLONE_NEWTIME, which
/// clone cannot have and which is a signal's number there.
const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET)
    .cast_unsigned();

/// TIOCSTI puts a character into a terminal's input, TIOCLINUX is what the console can do beyond that, and for TIOCSETD
/// the kernel loads a line discipline.
const TERMINAL_INPUT: [u32; 3] = [0x5412, 0x541c, 0x5423];

/// Which sockets there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Also those that reach other machines, as far as a namespace goes.
    Internet,
    /// Only those between processes.
    Local,
    /// The same without paths: only pairs, which one process makes and gives to another.
    Pairs,
}

/// When a call is refused.
enum When<'a> {
    Always,
    /// A bit of these is in the argument.
    Bits(u8, u32),
    /// The argument, after the mask, is one of these.
    OneOf(u8, u32, &'a [u32]),
    /// The argument is none of these.
    NoneOf(u8, &'static [u32]),
    /// The argument, after the mask, is one of the first, and as a whole none of the second.
    AmongNoneOf(u8, u32, &'static [u32], &'static [u32]),
    /// The first argument is this family, and the other argument is such.
    Family(u32, u8, Such),
}

/// What an argument is.
enum Such {
    /// After the mask this value.
    Is(u32, u32),
    /// None of these values.
    IsNoneOf(&'static [u32]),
}

/// Returns what runs for each of these calls: refuses, or comes to its end. Without namespaces around the
/// command it also refuses what reaches the machine.
pub(super) fn conditions(
    sockets: Sockets,
    has_namespaces: bool,
) -> impl Iterator<Item = (c_long, Vec<sock_filter>)> {
    let alone = if has_namespaces { Vec::new() } else { without_namespaces() };
    let all = conditional(sockets).into_iter().chain(alone);
    all.map(|(number, when, errno)| (number, body(&when, errno)))
}

/// Returns what leaves these processes on their processors. By its own number a program may ask for its own.
pub(super) fn not_moved(processes: &[u32]) -> (c_long, Vec<sock_filter>) {
    let when = When::OneOf(0, u32::MAX, processes);
    (libc::SYS_sched_setaffinity, body(&when, Errno::PERM))
}

const CHARACTER_AND_BLOCK: &[u32] = &[libc::S_IFCHR, libc::S_IFBLK];

/// What reaches the machine where there are no namespaces.
fn without_namespaces() -> Vec<(c_long, When<'static>, Errno)> {
    const SELF: &[u32] = &[0];
    let shared = SHARED_OBJECTS.iter().map(|call| (*call, When::Always, Errno::PERM));
    let of_others = [
        // A limit of processor time ends a process as a signal does.
        (libc::SYS_prlimit64, When::NoneOf(0, SELF), Errno::PERM),
        // A class below all others, or one above: 0 is the caller.
        (libc::SYS_sched_setscheduler, When::NoneOf(0, SELF), Errno::PERM),
        (libc::SYS_sched_setparam, When::NoneOf(0, SELF), Errno::PERM),
        (libc::SYS_sched_setattr, When::NoneOf(0, SELF), Errno::PERM),
        (libc::SYS_setpriority, When::NoneOf(1, SELF), Errno::PERM),
        (libc::SYS_ioprio_set, When::NoneOf(1, SELF), Errno::PERM),
        // A file that is open for reading is enough for these.
        (libc::SYS_ioctl, When::OneOf(1, u32::MAX, &FILE_FLAGS), Errno::PERM),
        (FILE_SETATTR, When::Always, Errno::PERM),
    ];
    shared.chain(of_others).collect()
}

const PRIORITY_OF_USER: &[u32] = &[2];
const IO_PRIORITY_OF_USER: &[u32] = &[3];

/// The first process of a command's namespaces, as the command numbers it, and its group.
const FIRST: &[u32] = &[1];

/// What would hold up the first process of a command's namespaces, which counts the command's memory and ends it: for
/// that it needs descriptors and time. In tier B the kernel lets the command do all of it.
fn to_the_first() -> [(c_long, When<'static>, Errno); 10] {
    let first = |call, argument| (call, When::OneOf(argument, u32::MAX, FIRST), Errno::PERM);
    let user = |call, kind| (call, When::OneOf(0, u32::MAX, kind), Errno::PERM);
    [
        first(libc::SYS_prlimit64, 0),
        first(libc::SYS_sched_setscheduler, 0),
        first(libc::SYS_sched_setparam, 0),
        first(libc::SYS_sched_setattr, 0),
        first(libc::SYS_sched_setaffinity, 0),
        // Also by its group, into which nobody comes, and with all of its user.
        first(libc::SYS_setpriority, 1),
        first(libc::SYS_ioprio_set, 1),
        first(libc::SYS_setpgid, 1),
        user(libc::SYS_setpriority, PRIORITY_OF_USER),
        user(libc::SYS_ioprio_set, IO_PRIORITY_OF_USER),
    ]
}

/// Which calls are refused for some arguments, and with which error.
fn conditional(sockets: Sockets) -> Vec<(c_long, When<'static>, Errno)> {
    const LOCAL: &[u32] = &[libc::AF_UNIX.cast_unsigned(), libc::AF_NETLINK.cast_unsigned()];
    const INTERNET: &[u32] = &[
        libc::AF_UNIX.cast_unsigned(),
        libc::AF_NETLINK.cast_unsigned(),
        libc::AF_INET.cast_unsigned(),
        libc::AF_INET6.cast_unsigned(),
    ];
    const PROTOCOLS: &[u32] = &[
        0,
        libc::IPPROTO_ICMP.cast_unsigned(),
        libc::IPPROTO_TCP.cast_unsigned(),
        libc::IPPROTO_UDP.cast_unsigned(),
        libc::IPPROTO_ICMPV6.cast_unsigned(),
        libc::IPPROTO_MPTCP.cast_unsigned(),
    ];
    const NETLINK: &[u32] = &[libc::AF_NETLINK.cast_unsigned()];
    let (families, in_pairs, refused) = match sockets {
        Sockets::Internet => (INTERNET, INTERNET, Errno::AFNOSUPPORT),
        Sockets::Local => (LOCAL, LOCAL, Errno::ACCESS),
        Sockets::Pairs => (NETLINK, LOCAL, Errno::ACCESS),
    };
    // The kind without its flags.
    let raw = |family: i32| {
        When::Family(family.cast_unsigned(), 1, Such::Is(0xf, libc::SOCK_RAW.cast_unsigned()))
    };
    // What asks for addresses and interfaces is netlink's protocol 0.
    let other_netlink = When::Family(libc::AF_NETLINK.cast_unsigned(), 2, Such::IsNoneOf(&[0]));
    // For others the kernel would load a module.
    let other_protocol =
        |family: i32| When::Family(family.cast_unsigned(), 2, Such::IsNoneOf(PROTOCOLS));
    let mut conditions = vec![
        (libc::SYS_clone, When::Bits(0, NAMESPACES), Errno::PERM),
        // Its arguments lie in memory that no filter can look at; libraries go back to clone.
        (libc::SYS_clone3, When::Always, Errno::NOSYS),
        // Memory of it is in no count that a limit could go by.
        (libc::SYS_memfd_secret, When::Always, Errno::NOSYS),
        (libc::SYS_socket, When::NoneOf(0, INTERNET), Errno::AFNOSUPPORT),
    ];
    let families = (sockets != Sockets::Internet).then_some(families);
    conditions.extend(families.map(|known| (libc::SYS_socket, When::NoneOf(0, known), refused)));
    conditions.extend([
        (libc::SYS_socketpair, When::NoneOf(0, in_pairs), refused),
        (libc::SYS_socket, raw(libc::AF_INET), Errno::PERM),
        (libc::SYS_socket, raw(libc::AF_INET6), Errno::PERM),
        (libc::SYS_socket, other_netlink, Errno::PROTONOSUPPORT),
        (libc::SYS_socket, other_protocol(libc::AF_INET), Errno::PROTONOSUPPORT),
        (libc::SYS_socket, other_protocol(libc::AF_INET6), Errno::PROTONOSUPPORT),
        (libc::SYS_ioctl, When::OneOf(1, u32::MAX, &TERMINAL_INPUT), Errno::PERM),
        // Programs take this for a file system that does not have it, and go on without.
        (libc::SYS_ioctl, When::AmongNoneOf(1, LETTER, &LETTERS, &REQUESTS), Errno::NOTTY),
        (libc::SYS_fcntl, When::OneOf(1, u32::MAX, &LEASES), Errno::INVAL),
        (libc::SYS_seccomp, When::Bits(1, NEW_LISTENER), Errno::BUSY),
        (libc::SYS_mknodat, When::OneOf(2, libc::S_IFMT, CHARACTER_AND_BLOCK), Errno::PERM),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, When::OneOf(1, libc::S_IFMT, CHARACTER_AND_BLOCK), Errno::PERM),
    ]);
    conditions.extend(to_the_first());
    if sockets == Sockets::Pairs {
        conditions.extend(DATAGRAMS.map(|kind| (libc::SYS_socketpair, kind, refused)));
    }
    conditions
}

/// One of a pair for datagrams can send to a path all the same; a raw one is such a one.
const DATAGRAMS: [When<'static>; 2] = [of_unix(libc::SOCK_DGRAM), of_unix(libc::SOCK_RAW)];

const fn of_unix(kind: i32) -> When<'static> {
    When::Family(libc::AF_UNIX.cast_unsigned(), 1, Such::Is(0xf, kind.cast_unsigned()))
}

/// F_SETLEASE and F_SETDELEG (Linux 6.19): whoever opens the file meanwhile waits, 45 s as a rule, tenon and the person included.
pub(super) const LEASES: [u32; 2] = [1024, 1040];

/// SECCOMP_FILTER_FLAG_NEW_LISTENER.
pub(super) const NEW_LISTENER: u32 = 1 << 3;

/// What runs for the one call: refuses, or comes to its end.
fn body(when: &When<'_>, errno: Errno) -> Vec<sock_filter> {
    let mut code = Vec::new();
    match when {
        When::Always => return vec![refuse(errno)],
        When::Bits(argument, bits) => {
            code.push(load(argument_offset(*argument)));
            code.push(jump(ANY_BIT, *bits, 0, 1));
            code.push(refuse(errno));
        }
        When::OneOf(argument, mask, values) => {
            code.push(load(argument_offset(*argument)));
            code.push(and(*mask));
            for value in *values {
                code.push(jump(EQUAL, *value, 0, 1));
                code.push(refuse(errno));
            }
        }
        When::NoneOf(argument, values) => {
            code.push(load(argument_offset(*argument)));
            code.extend(none_of(values));
            code.push(refuse(errno));
        }
        When::AmongNoneOf(argument, mask, groups, values) => {
            let mut test = vec![load(argument_offset(*argument))];
            test.extend(none_of(values));
            test.push(refuse(errno));
            code.extend([load(argument_offset(*argument)), and(*mask)]);
            code.extend(none_of(groups));
            code.push(lead(test.len()));
            code.extend(test);
        }
        When::Family(family, argument, such) => {
            let mut test = vec![load(argument_offset(*argument))];
            match such {
                Such::Is(mask, value) => test.extend([and(*mask), jump(EQUAL, *value, 0, 1)]),
                Such::IsNoneOf(values) => test.extend(none_of(values)),
            }
            test.push(refuse(errno));
            code.push(load(argument_offset(0)));
            code.push(jump(EQUAL, *family, 0, short(test.len())));
            code.extend(test);
        }
    }
    code
}

/// Goes past the next instruction if what was loaded is one of these.
fn none_of(values: &[u32]) -> impl Iterator<Item = sock_filter> {
    // Past the others and the next.
    let skip = |index| short(values.len() - index);
    values.iter().enumerate().map(move |(index, value)| jump(EQUAL, *value, skip(index), 0))
}
