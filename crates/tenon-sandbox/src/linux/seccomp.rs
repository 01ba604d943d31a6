//! Which system calls a command does not have.
//!
//! The other walls hold files, processes and the network; this one takes away the calls with which
//! walls are climbed: namespaces, mounts, tracing, keys, kernel interfaces with a history of holes.
//! What is refused fails with an error number and ends nobody.
//!
//! What the journal is asked about is in the same filter (see `notify.rs`), because to install one is
//! a good part of what a command costs; what is refused here is refused there, too.

use libc::c_long;
use rustix::io::Errno;
use rustix::process::Pid;

use super::by_argument::{Sockets, conditions, not_moved};
use super::filter::{Calls, EQUAL, argument_offset, call, jump, load, pretend, refuse};
use super::limits::limits_stay;
use super::notify::{ATTRIBUTES, ATTRIBUTES_HERE};
use super::told;

/// What else holds a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// Namespaces: what is not in them is out of reach.
    Namespaces,
    /// Landlock alone, which does not speak of these calls.
    Landlock,
    /// The same, and nothing is to be changed.
    LandlockToRead,
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

/// What of them the warm helper, and the first process of a command's namespaces, need until the
/// command begins.
const UNTIL_A_COMMAND: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_clone,
    libc::SYS_seccomp,
    libc::SYS_openat2,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_setrlimit,
];

/// Not in the library yet; the same on every architecture.
const OPEN_TREE_ATTR: c_long = 467;

/// Returns what the warm helper can give up itself, for all commands, and what is left for each: what
/// is in a filter costs whoever installs it. What the agent wants to hear of must not be refused
/// before it is asked.
pub(super) fn split(mut calls: Calls) -> (Calls, Calls) {
    let left = UNTIL_A_COMMAND.iter().copied().chain(told::numbers());
    let left = left.filter_map(|number| calls.remove_entry(&call(number)));
    let left = left.collect();
    (calls, left)
}

/// Returns what takes calls away.
pub(super) fn refusals(sockets: Sockets, around: Around) -> Calls {
    let mut calls = Calls::new();
    for number in REFUSED.iter().chain(REFUSED_HERE) {
        calls.insert(call(*number), vec![refuse(Errno::PERM)]);
    }
    // openat2's mode lies in memory that no filter sees (`set_id.rs`). The machine has so many contexts of asynchronous I/O.
    let nowhere = [libc::SYS_openat2, libc::SYS_io_setup];
    calls.extend(nowhere.map(|number| (call(number), vec![refuse(Errno::NOSYS)])));
    // Of what closes itself to the agent (ssh-agent, gpg-agent) nothing can be kept for undo, and every change would
    // be refused. It stays open, and to others of the command, too.
    let dumpable = jump(EQUAL, libc::PR_SET_DUMPABLE.cast_unsigned(), 0, 1);
    calls.insert(call(libc::SYS_prctl), vec![load(argument_offset(0)), dumpable, pretend()]);
    calls.extend(limits_stay().map(|(number, code)| (call(number), code)));
    if around == Around::LandlockToRead {
        // Landlock does not hold these. Programs go on after this error number where they only tried, as
        // they do for files of others.
        for number in ATTRIBUTES.iter().chain(ATTRIBUTES_HERE) {
            calls.insert(call(*number), vec![refuse(Errno::PERM)]);
        }
    }
    for (number, code) in conditions(sockets, around == Around::Namespaces) {
        calls.entry(call(number)).or_default().extend(code);
    }
    calls
}

/// Also leaves the helpers of a command without namespaces where they are: they end it, for which they need time.
pub(super) fn leave_helpers(calls: &mut Calls, helpers: &[Pid]) {
    let helpers = helpers.iter().map(|helper| helper.as_raw_nonzero().get().cast_unsigned());
    let (number, code) = not_moved(&helpers.collect::<Vec<_>>());
    calls.entry(call(number)).or_default().extend(code);
}

#[cfg(test)]
mod tests {
    use super::super::by_argument::{LEASES, NEW_LISTENER};
    use super::super::filter::{ARCHITECTURE, Filter, NUMBER_MAX};
    use super::super::notify::{FILE_SETATTR, add_questions};
    use super::super::shared_objects::SHARED_OBJECTS;
    use super::*;

    fn filter(sockets: Sockets, around: Around) -> Filter {
        Filter::of(&refusals(sockets, around))
    }

    fn run(filter: &Filter, architecture: u32, number: u32, arguments: [u64; 6]) -> Option<u32> {
        filter.run(architecture, number, arguments).map(|(answer, _)| answer)
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
            let mut calls = refusals(sockets, Around::LandlockToRead);
            add_questions(&mut calls);
            let longest = Filter::of(&calls).0.iter().map(|code| code.jt.max(code.jf)).max();
            assert!(longest < Some(u8::MAX), "{longest:?}");
        }
    }

    #[test]
    fn the_kernel_does_not_go_through_all_of_it_for_each_number() {
        let mut calls = refusals(Sockets::Internet, Around::Namespaces);
        add_questions(&mut calls);
        let filter = Filter::of(&calls);
        let steps = (0..NUMBER_MAX).filter_map(|number| filter.run(ARCHITECTURE, number, [0; 6]));
        let mean = steps.map(|(_, steps)| steps).sum::<usize>() / NUMBER_MAX as usize;
        assert!(mean <= 13, "{mean} of {}", filter.0.len());
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
        SHARED_OBJECTS.iter().for_each(|call| alone(*call, [0, 4096], true));
        alone(libc::SYS_prlimit64, [2, 0], true);
        alone(libc::SYS_prlimit64, [0, 7], false);
        for scheduling in
            [libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr]
        {
            alone(scheduling, [2, 0], true);
            alone(scheduling, [0, 0], false);
        }
        alone(libc::SYS_setpriority, [0, 2], true);
        alone(libc::SYS_setpriority, [0, 0], false);
        alone(libc::SYS_ioprio_set, [1, 2], true);
        alone(libc::SYS_ioprio_set, [1, 0], false);
        alone(libc::SYS_ioctl, [3, 0x4008_6602], true);
        alone(libc::SYS_ioctl, [3, 0x8008_6601], false);
        alone(FILE_SETATTR, [0, 0], true);
    }

    #[test]
    fn nothing_holds_up_the_first_process() {
        let check = |number, arguments: [u64; 2], is_refused: bool| {
            let expected = if is_refused { refused(Errno::PERM) } else { ALLOWED };
            check(Sockets::Internet, number, &arguments, expected);
        };
        for number in [
            libc::SYS_prlimit64,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setscheduler,
        ] {
            for (process, is_refused) in
                [(1, true), (0xffff_ffff_0000_0001, true), (0, false), (7, false)]
            {
                check(number, [process, 0], is_refused);
            }
        }
        for (number, process, user) in [(libc::SYS_setpriority, 0, 2), (libc::SYS_ioprio_set, 1, 3)]
        {
            let group = process + 1;
            for (kind, of, is_refused) in [
                (process, 0, false),
                (process, 1, true),
                (group, 0, false),
                (group, 1, true),
                (user, 0, true),
                (user, 65534, true),
            ] {
                check(number, [kind, of], is_refused);
            }
        }
        check(libc::SYS_setpgid, [0, 1], true);
        check(libc::SYS_setpgid, [0, 0], false);
        check(libc::SYS_setpgid, [1, 7], false);
    }

    #[test]
    fn helpers_stay_on_their_processors() {
        let mut calls = refusals(Sockets::Pairs, Around::Landlock);
        leave_helpers(&mut calls, &[70_000, 70_001].map(|pid| Pid::from_raw(pid).unwrap()));
        let filter = Filter::of(&calls);
        for (process, expected) in [
            (70_000, refused(Errno::PERM)),
            (70_001, refused(Errno::PERM)),
            (70_002, ALLOWED),
            (0, ALLOWED),
        ] {
            let arguments = [process, 0, 0, 0, 0, 0];
            let number = libc::SYS_sched_setaffinity as u32;
            assert_eq!(run(&filter, ARCHITECTURE, number, arguments), expected, "{process}");
        }
    }

    #[test]
    fn a_commands_mark_is_not_changed() {
        let pretended = Some(libc::SECCOMP_RET_ERRNO);
        for (limit, expected) in [
            (libc::RLIMIT_LOCKS, pretended),
            (libc::RLIMIT_CORE, pretended),
            (libc::RLIMIT_AS, ALLOWED),
        ] {
            let limit = u64::from(limit);
            check(Sockets::Local, libc::SYS_setrlimit, &[limit, 4096], expected);
            check(Sockets::Local, libc::SYS_prlimit64, &[0, limit, 4096, 0], expected);
            // Only asked for.
            check(Sockets::Local, libc::SYS_prlimit64, &[0, limit, 0, 4096], ALLOWED);
        }
    }

    #[test]
    fn what_only_reads_changes_no_attributes_without_namespaces() {
        for number in ATTRIBUTES.iter().chain(ATTRIBUTES_HERE) {
            let answer = |around| {
                let mut calls = refusals(Sockets::Pairs, around);
                if around == Around::LandlockToRead {
                    // Refused before anybody is asked.
                    add_questions(&mut calls);
                }
                run(&Filter::of(&calls), ARCHITECTURE, *number as u32, [0; 6])
            };
            assert_eq!(answer(Around::LandlockToRead), refused(Errno::PERM), "{number}");
            assert_eq!(answer(Around::Landlock), ALLOWED, "{number}");
        }
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
        check(Sockets::Local, libc::SYS_memfd_secret, &[], refused(Errno::NOSYS));
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
        for (protocol, expected) in [
            (libc::IPPROTO_TCP, ALLOWED),
            (libc::IPPROTO_SCTP, refused(Errno::PROTONOSUPPORT)),
            (libc::IPPROTO_DCCP, refused(Errno::PROTONOSUPPORT)),
        ] {
            for family in [libc::AF_INET, libc::AF_INET6] {
                check(Sockets::Internet, socket(family, stream, protocol as u64), expected);
            }
        }
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
    fn nobody_waits_for_a_lease_and_locks_are_allowed() {
        let check = |what, expected| check(Sockets::Local, libc::SYS_fcntl, &[3, what], expected);
        for what in LEASES {
            check(what.into(), refused(Errno::INVAL));
        }
        check(libc::F_SETLK.cast_unsigned().into(), ALLOWED);
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
