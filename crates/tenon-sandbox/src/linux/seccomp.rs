//! Which system calls a command does not have: a filter of our own in the kernel's BPF.
//!
//! The other walls hold files, processes and the network; this one takes away the calls with which
//! walls are climbed (namespaces, mounts, tracing, keys, kernel interfaces with a history of
//! holes) and every way around the filter itself (another architecture's numbers, numbers that are
//! younger than this list). What is refused fails with an error number and ends nobody.
//!
//! A filter that hands calls to the journal must be installed before this one, which refuses any
//! further listener.

#![expect(unsafe_code, reason = "the call that installs the filter")]

use std::collections::BTreeMap;

use libc::{c_long, sock_filter};
use rustix::io::Errno;

use super::control::last_errno;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the filter needs this architecture's number");

/// Younger calls are refused until somebody has looked at them: file_setattr (Linux 6.17).
const NUMBER_MAX: u32 = 469;

// Offsets in `struct seccomp_data`, and of the low half of an argument (both architectures store
// that first).
pub(super) const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
pub(super) const fn argument_offset(index: u8) -> u32 {
    16 + 8 * index as u32
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
pub(super) const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const GREATER: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
pub(super) const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

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

/// Puts a character into a terminal's input, and what the console can do beyond that.
const TERMINAL_INPUT: [u32; 2] = [0x5412, 0x541c];

/// Calls that are looked through one by one, of those that have rules; the others are passed by the
/// group. The kernel tries every call when it takes the filter, so that one long row costs 0.1 ms
/// more for each command.
const GROUP: usize = 8;

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

/// What else holds a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// Namespaces: what is not in them is out of reach.
    Namespaces,
    /// Landlock alone, which does not speak of these calls.
    Landlock,
}

/// When a call is refused.
enum When {
    Always,
    /// A bit of these is in the argument.
    Bits(u8, u32),
    /// The argument, after the mask, is one of these.
    OneOf(u8, u32, &'static [u32]),
    /// The argument is none of these.
    NoneOf(u8, &'static [u32]),
    /// The first argument is this family, and the other argument is such.
    Family(u32, u8, Such),
}

/// What an argument is.
enum Such {
    /// After the mask this value.
    Is(u32, u32),
    /// Not this value.
    IsNot(u32),
}

/// Calls that nobody has, whatever the arguments.
const REFUSED: &[c_long] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // Namespaces of others.
    libc::SYS_setns,
    libc::SYS_unshare,
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Keys are not in any namespace.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Into the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[c_long] = &[libc::SYS_kexec_file_load];

/// Not in the library yet; the same on every architecture.
const OPEN_TREE_ATTR: c_long = 467;

const CHARACTER_AND_BLOCK: &[u32] = &[libc::S_IFCHR, libc::S_IFBLK];

/// What reaches the machine where there are no namespaces.
fn without_namespaces() -> Vec<(c_long, When, Errno)> {
    const SELF: &[u32] = &[0];
    vec![
        // What they make stays there when all who used it have ended.
        (libc::SYS_shmget, When::Always, Errno::PERM),
        (libc::SYS_semget, When::Always, Errno::PERM),
        (libc::SYS_msgget, When::Always, Errno::PERM),
        (libc::SYS_mq_open, When::Always, Errno::PERM),
        // A limit of processor time ends a process as a signal does.
        (libc::SYS_prlimit64, When::NoneOf(0, SELF), Errno::PERM),
        (libc::SYS_setpriority, When::NoneOf(1, SELF), Errno::PERM),
        (libc::SYS_setpriority, When::OneOf(0, u32::MAX, &[PRIORITY_OF_USER]), Errno::PERM),
        (libc::SYS_ioprio_set, When::NoneOf(1, SELF), Errno::PERM),
        (libc::SYS_ioprio_set, When::OneOf(0, u32::MAX, &[IO_PRIORITY_OF_USER]), Errno::PERM),
        // A file that is open for reading is enough for these.
        (libc::SYS_ioctl, When::OneOf(1, u32::MAX, &FILE_FLAGS), Errno::PERM),
        (FILE_SETATTR, When::Always, Errno::PERM),
    ]
}

/// Not in the library yet; the same on every architecture.
const FILE_SETATTR: c_long = 469;

const PRIORITY_OF_USER: u32 = 2;
const IO_PRIORITY_OF_USER: u32 = 3;

/// FS_IOC_SETFLAGS for both sizes of a word, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION for both.
const FILE_FLAGS: [u32; 5] = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602, 0x4004_7602];

/// Which calls are refused for some arguments, and with which error.
fn conditional(sockets: Sockets) -> Vec<(c_long, When, Errno)> {
    const LOCAL: &[u32] = &[libc::AF_UNIX.cast_unsigned(), libc::AF_NETLINK.cast_unsigned()];
    const INTERNET: &[u32] = &[
        libc::AF_UNIX.cast_unsigned(),
        libc::AF_NETLINK.cast_unsigned(),
        libc::AF_INET.cast_unsigned(),
        libc::AF_INET6.cast_unsigned(),
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
    let other_netlink = When::Family(libc::AF_NETLINK.cast_unsigned(), 2, Such::IsNot(0));
    let mut conditions = vec![
        (libc::SYS_clone, When::Bits(0, NAMESPACES), Errno::PERM),
        // Its arguments lie in memory that no filter can look at; libraries go back to clone.
        (libc::SYS_clone3, When::Always, Errno::NOSYS),
        (libc::SYS_socket, When::NoneOf(0, families), refused),
        (libc::SYS_socketpair, When::NoneOf(0, in_pairs), refused),
        (libc::SYS_socket, raw(libc::AF_INET), Errno::PERM),
        (libc::SYS_socket, raw(libc::AF_INET6), Errno::PERM),
        (libc::SYS_socket, other_netlink, Errno::PROTONOSUPPORT),
        (libc::SYS_ioctl, When::OneOf(1, u32::MAX, &TERMINAL_INPUT), Errno::PERM),
        (libc::SYS_seccomp, When::Bits(1, NEW_LISTENER), Errno::BUSY),
        (libc::SYS_mknodat, When::OneOf(2, libc::S_IFMT, CHARACTER_AND_BLOCK), Errno::PERM),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, When::OneOf(1, libc::S_IFMT, CHARACTER_AND_BLOCK), Errno::PERM),
    ];
    if sockets == Sockets::Pairs {
        // One of a pair for datagrams can send to a path all the same; a raw one is such a one.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            let kind = Such::Is(0xf, kind.cast_unsigned());
            let pair = When::Family(libc::AF_UNIX.cast_unsigned(), 1, kind);
            conditions.push((libc::SYS_socketpair, pair, refused));
        }
    }
    conditions
}

/// SECCOMP_FILTER_FLAG_NEW_LISTENER.
const NEW_LISTENER: u32 = 1 << 3;

/// Takes the calls away from this process and everything it starts, for ever. `no_new_privs` must
/// be set.
pub(super) fn install(sockets: Sockets, around: Around) -> Result<(), Errno> {
    let mut filter = filter(sockets, around);
    let length = u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the program points to `length` instructions, which the kernel copies.
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    };
    if answer == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Returns the filter's instructions.
fn filter(sockets: Sockets, around: Around) -> Vec<sock_filter> {
    assemble(rules(sockets, around))
}

/// Puts together a filter from what runs for each call that has rules.
pub(super) fn assemble(rules: BTreeMap<u32, Vec<sock_filter>>) -> Vec<sock_filter> {
    let mut code = vec![
        load(ARCHITECTURE_OFFSET),
        jump(EQUAL, ARCHITECTURE, 1, 0),
        refuse(Errno::NOSYS),
        load(NUMBER_OFFSET),
        // Also what has the bit of x32.
        jump(GREATER, NUMBER_MAX, 0, 1),
        refuse(Errno::NOSYS),
    ];
    let rules: Vec<(u32, Vec<sock_filter>)> = rules.into_iter().collect();
    for group in rules.chunks(GROUP) {
        let mut body = Vec::new();
        for (number, rule) in group {
            body.push(jump(EQUAL, *number, 0, short(rule.len())));
            body.extend_from_slice(rule);
        }
        body.push(answer(libc::SECCOMP_RET_ALLOW));
        let last = group.last().map_or(0, |(number, _)| *number);
        code.push(jump(GREATER, last, short(body.len()), 0));
        code.extend(body);
    }
    code.push(answer(libc::SECCOMP_RET_ALLOW));
    code
}

/// Returns what runs for each call that has rules, in the order of their numbers.
fn rules(sockets: Sockets, around: Around) -> BTreeMap<u32, Vec<sock_filter>> {
    let mut rules: BTreeMap<u32, Vec<sock_filter>> = BTreeMap::new();
    for number in REFUSED.iter().chain(REFUSED_HERE) {
        rules.insert(call(*number), vec![refuse(Errno::PERM)]);
    }
    let alone = match around {
        Around::Landlock => without_namespaces(),
        Around::Namespaces => Vec::new(),
    };
    for (number, when, errno) in conditional(sockets).into_iter().chain(alone) {
        rules.entry(call(number)).or_default().extend(body(&when, errno));
    }
    rules
}

/// A group is at most a hundred instructions long, which a test holds it to.
fn short(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

/// What runs for the one call: refuses, or goes on with the call's number loaded again.
fn body(when: &When, errno: Errno) -> Vec<sock_filter> {
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
            for (index, value) in values.iter().enumerate() {
                // Past the others and the refusal.
                let skip = u8::try_from(values.len() - index).unwrap_or(u8::MAX);
                code.push(jump(EQUAL, *value, skip, 0));
            }
            code.push(refuse(errno));
        }
        When::Family(family, argument, such) => {
            let (mask, test) = match such {
                Such::Is(mask, value) => (*mask, jump(EQUAL, *value, 0, 1)),
                Such::IsNot(value) => (u32::MAX, jump(EQUAL, *value, 1, 0)),
            };
            code.push(load(argument_offset(0)));
            code.push(jump(EQUAL, *family, 0, 4));
            code.push(load(argument_offset(*argument)));
            code.push(and(mask));
            code.push(test);
            code.push(refuse(errno));
        }
    }
    code.push(load(NUMBER_OFFSET));
    code
}

/// A system call's number fits 32 bits on every architecture.
pub(super) fn call(number: c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

fn and(mask: u32) -> sock_filter {
    sock_filter { code: AND, jt: 0, jf: 0, k: mask }
}

pub(super) fn jump(code: u16, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code, jt: if_true, jf: if_false, k: value }
}

pub(super) fn answer(value: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: value }
}

pub(super) fn refuse(errno: Errno) -> sock_filter {
    answer(libc::SECCOMP_RET_ERRNO | errno.raw_os_error().cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel does; `None` where it would not take it.
    fn run(
        code: &[sock_filter],
        architecture: u32,
        number: u32,
        arguments: [u64; 6],
    ) -> Option<u32> {
        let mut data = Vec::new();
        data.extend(number.to_le_bytes());
        data.extend(architecture.to_le_bytes());
        data.extend([0; 8]);
        data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        let (mut register, mut at) = (0_u32, 0_usize);
        loop {
            let instruction = code.get(at)?;
            at += 1;
            let branch =
                |holds: bool| usize::from(if holds { instruction.jt } else { instruction.jf });
            match instruction.code {
                LOAD => {
                    let start = instruction.k as usize;
                    let bytes = data.get(start..start + 4)?;
                    register = u32::from_le_bytes(bytes.try_into().unwrap());
                }
                AND => register &= instruction.k,
                EQUAL => at += branch(register == instruction.k),
                GREATER => at += branch(register > instruction.k),
                ANY_BIT => at += branch(register & instruction.k != 0),
                RETURN => return Some(instruction.k),
                _ => return None,
            }
        }
    }

    const ALLOWED: Option<u32> = Some(libc::SECCOMP_RET_ALLOW);

    fn refused(errno: Errno) -> Option<u32> {
        Some(libc::SECCOMP_RET_ERRNO | errno.raw_os_error() as u32)
    }

    fn check(sockets: Sockets, number: c_long, arguments: &[u64], expected: Option<u32>) {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        let answer = run(&filter(sockets, Around::Namespaces), ARCHITECTURE, number as u32, all);
        assert_eq!(answer, expected, "call {number} with {arguments:?}, {sockets:?}");
    }

    #[test]
    fn every_jump_fits() {
        for sockets in [Sockets::Internet, Sockets::Local, Sockets::Pairs] {
            let longest =
                filter(sockets, Around::Landlock).iter().map(|code| code.jt.max(code.jf)).max();
            assert!(longest < Some(u8::MAX), "{longest:?}");
        }
    }

    #[test]
    fn calls_of_other_architectures_are_refused() {
        let code = filter(Sockets::Internet, Around::Landlock);
        let none = [0; 6];
        assert_eq!(run(&code, 0x4000_0003, 1, none), refused(Errno::NOSYS));
        assert_eq!(run(&code, 0xc000_003d, 1, none), refused(Errno::NOSYS));
        assert_eq!(run(&code, ARCHITECTURE, 0x4000_0000 | 1, none), refused(Errno::NOSYS));
        assert_eq!(run(&code, ARCHITECTURE, NUMBER_MAX + 1, none), refused(Errno::NOSYS));
        assert_eq!(run(&code, ARCHITECTURE, u32::MAX, none), refused(Errno::NOSYS));
    }

    #[test]
    fn without_namespaces_what_reaches_the_machine_is_refused() {
        let code = filter(Sockets::Pairs, Around::Landlock);
        let alone = |number: c_long, arguments: [u64; 2], is_refused: bool| {
            let [first, second] = arguments;
            let answer = run(&code, ARCHITECTURE, number as u32, [first, second, 0, 0, 0, 0]);
            let expected = if is_refused { refused(Errno::PERM) } else { ALLOWED };
            assert_eq!(answer, expected, "call {number} with {arguments:?}");
            check(Sockets::Internet, number, &arguments, ALLOWED);
        };
        alone(libc::SYS_shmget, [0, 4096], true);
        alone(libc::SYS_mq_open, [0, 0], true);
        alone(libc::SYS_prlimit64, [1, 0], true);
        alone(libc::SYS_prlimit64, [0, 7], false);
        alone(libc::SYS_setpriority, [0, 1], true);
        alone(libc::SYS_setpriority, [2, 0], true);
        alone(libc::SYS_setpriority, [0, 0], false);
        alone(libc::SYS_ioprio_set, [1, 1], true);
        alone(libc::SYS_ioprio_set, [1, 0], false);
        alone(libc::SYS_ioctl, [3, 0x4008_6602], true);
        alone(libc::SYS_ioctl, [3, 0x8008_6601], false);
        alone(FILE_SETATTR, [0, 0], true);
    }

    #[test]
    fn ordinary_calls_are_allowed() {
        for number in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_exit_group] {
            check(Sockets::Local, number, &[], ALLOWED);
        }
    }

    #[test]
    fn calls_that_climb_walls_are_refused() {
        for number in REFUSED.iter().chain(REFUSED_HERE) {
            check(Sockets::Internet, *number, &[0, 1, 2], refused(Errno::PERM));
        }
    }

    #[test]
    fn a_new_process_is_allowed_and_a_new_namespace_is_not() {
        let threads = (libc::CLONE_VM | libc::CLONE_THREAD | libc::SIGCHLD) as u64;
        check(Sockets::Local, libc::SYS_clone, &[threads], ALLOWED);
        for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET] {
            let flags = threads | flag as u64;
            check(Sockets::Local, libc::SYS_clone, &[flags], refused(Errno::PERM));
        }
        check(Sockets::Local, libc::SYS_clone3, &[], refused(Errno::NOSYS));
    }

    #[test]
    fn a_pair_cannot_be_turned_to_a_path() {
        let refused = refused(Errno::ACCESS);
        for (kind, expected) in [
            (libc::SOCK_STREAM | libc::SOCK_CLOEXEC, ALLOWED),
            (libc::SOCK_SEQPACKET, ALLOWED),
            (libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, refused),
            (libc::SOCK_RAW, refused),
        ] {
            let pair = [libc::AF_UNIX as u64, kind as u64, 0];
            check(Sockets::Pairs, libc::SYS_socketpair, &pair, expected);
            check(Sockets::Local, libc::SYS_socketpair, &pair, ALLOWED);
        }
    }

    #[test]
    fn sockets_are_refused_by_family_and_kind() {
        let socket = |family: i32, kind: i32, protocol: u64| [family as u64, kind as u64, protocol];
        let check = |sockets, arguments: [u64; 3], expected| {
            check(sockets, libc::SYS_socket, &arguments, expected);
        };
        let stream = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        let raw = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        check(Sockets::Internet, socket(libc::AF_INET, stream, 0), ALLOWED);
        check(Sockets::Internet, socket(libc::AF_INET6, libc::SOCK_DGRAM, 17), ALLOWED);
        check(Sockets::Internet, socket(libc::AF_INET, raw, 1), refused(Errno::PERM));
        check(Sockets::Internet, socket(libc::AF_INET6, raw, 1), refused(Errno::PERM));
        check(Sockets::Local, socket(libc::AF_INET, stream, 0), refused(Errno::ACCESS));
        check(Sockets::Local, socket(libc::AF_UNIX, stream, 0), ALLOWED);
        check(Sockets::Pairs, socket(libc::AF_UNIX, stream, 0), refused(Errno::ACCESS));
        check(Sockets::Pairs, socket(libc::AF_INET, stream, 0), refused(Errno::ACCESS));
        check(Sockets::Pairs, socket(libc::AF_NETLINK, raw, 0), ALLOWED);
        check(Sockets::Local, socket(libc::AF_NETLINK, raw, 0), ALLOWED);
        check(Sockets::Local, socket(libc::AF_NETLINK, raw, 9), refused(Errno::PROTONOSUPPORT));
        for family in [libc::AF_VSOCK, libc::AF_ALG, libc::AF_PACKET, libc::AF_BLUETOOTH, 0, -1] {
            check(Sockets::Internet, socket(family, stream, 0), refused(Errno::AFNOSUPPORT));
        }
    }

    #[test]
    fn devices_are_not_made_and_pipes_are() {
        let check = |mode: u32, expected| {
            check(Sockets::Local, libc::SYS_mknodat, &[0, 0, u64::from(mode)], expected);
        };
        check(libc::S_IFIFO | 0o644, ALLOWED);
        check(libc::S_IFSOCK | 0o644, ALLOWED);
        check(0o644, ALLOWED);
        check(libc::S_IFCHR | 0o644, refused(Errno::PERM));
        check(libc::S_IFBLK, refused(Errno::PERM));
    }

    #[test]
    fn terminals_are_not_typed_into() {
        let check = |request: u64, expected| {
            check(Sockets::Local, libc::SYS_ioctl, &[0, request], expected);
        };
        check(0x5401, ALLOWED);
        check(0x5412, refused(Errno::PERM));
        // The kernel looks at the low half only.
        check(0xffff_ffff_0000_5412, refused(Errno::PERM));
        check(0x541c, refused(Errno::PERM));
    }

    #[test]
    fn a_second_listener_is_refused_and_a_plain_filter_is_not() {
        let check = |flags: u64, expected| {
            check(Sockets::Local, libc::SYS_seccomp, &[1, flags], expected);
        };
        check(0, ALLOWED);
        check(1, ALLOWED);
        check(u64::from(NEW_LISTENER), refused(Errno::BUSY));
    }
}
