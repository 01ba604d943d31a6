//! The bits with which a program runs as its owner or with its group, whoever starts it.
//!
//! A command gives them to no file: what it leaves in the workspace would act for the user when
//! anybody on the machine starts it. Folders may have the set-group-id bit, which there only says whose
//! group new files have (`git init --shared`). A filter sees no more than the mode, so the agent, where
//! it is asked, looks what it is for and sets the bit itself (see `journal/watch/set_group.rs`);
//! elsewhere the filter refuses it for folders, too. `openat2` has its mode in memory that can change
//! after a look, so that there is no such call within walls.

use libc::{c_long, sock_filter};
use rustix::io::Errno;

use super::filter::{ANY_BIT, Calls, argument_offset, call, jump, load, refuse};

/// Younger than the library; the same on every architecture.
pub(crate) const FCHMODAT2: c_long = 452;

const USER: u32 = 0o4000;
const GROUP: u32 = 0o2000;
const EITHER: u32 = USER | GROUP;

/// With one of these flags a file is made: O_CREAT, and what is O_TMPFILE's own.
const MAKES: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();

/// A call that takes a mode.
struct Takes {
    number: c_long,
    /// Which argument the mode is.
    mode: u8,
    to: To,
}

/// What gets the mode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// What is there.
    Existing,
    /// A new file.
    New,
    /// A new file, if this argument says so.
    NewBy(u8),
}

const fn takes(number: c_long, mode: u8, to: To) -> Takes {
    Takes { number, mode, to }
}

/// The kernel takes none of these bits from `mkdir`.
const CALLS: &[Takes] = &[
    takes(libc::SYS_fchmod, 1, To::Existing),
    takes(libc::SYS_fchmodat, 2, To::Existing),
    takes(FCHMODAT2, 2, To::Existing),
    takes(libc::SYS_mknodat, 2, To::New),
    takes(libc::SYS_openat, 3, To::NewBy(2)),
];

#[cfg(target_arch = "x86_64")]
const CALLS_HERE: &[Takes] = &[
    takes(libc::SYS_chmod, 1, To::Existing),
    takes(libc::SYS_mknod, 1, To::New),
    takes(libc::SYS_creat, 1, To::New),
    takes(libc::SYS_open, 2, To::NewBy(1)),
];
#[cfg(target_arch = "aarch64")]
const CALLS_HERE: &[Takes] = &[];

/// What a call does with these bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sets {
    Nothing,
    /// It sets the set-group-id bit alone, of what is there, with this mode.
    Group(u32),
    /// What no command may.
    Other,
}

/// Refuses all of them, where nobody is asked.
pub(super) fn refuse_all(calls: &mut Calls) {
    for Takes { number, mode, to } in CALLS.iter().chain(CALLS_HERE) {
        let has_mode =
            [load(argument_offset(*mode)), jump(ANY_BIT, EITHER, 0, 1), refuse(Errno::PERM)];
        let mut body: Vec<sock_filter> = Vec::new();
        if let To::NewBy(flags) = to {
            body.extend([load(argument_offset(*flags)), jump(ANY_BIT, MAKES, 0, 3)]);
        }
        body.extend(has_mode);
        calls.entry(call(*number)).or_default().extend(body);
    }
}

/// Returns what a call does that the agent is asked about.
pub(super) fn sets(number: i32, arguments: [u64; 6]) -> Sets {
    let mut all = CALLS.iter().chain(CALLS_HERE);
    let Some(found) = all.find(|takes| takes.number == c_long::from(number)) else {
        return Sets::Nothing;
    };
    // The kernel takes no more of them.
    let low = |index: u8| {
        let value = arguments.get(usize::from(index)).copied().unwrap_or(0);
        u32::try_from(value & 0xffff_ffff).unwrap_or(u32::MAX)
    };
    let mode = low(found.mode);
    match found.to {
        _ if mode & EITHER == 0 => Sets::Nothing,
        To::NewBy(flags) if low(flags) & MAKES == 0 => Sets::Nothing,
        To::Existing if mode & USER == 0 => Sets::Group(mode & 0o7777),
        _ => Sets::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::{ARCHITECTURE, Filter};
    use super::*;

    /// Checks what a call is taken for, and that a filter without questions refuses the same.
    fn check(number: c_long, arguments: &[i32], expected: Sets) {
        let mut all = [0; 6];
        for (one, argument) in all.iter_mut().zip(arguments) {
            *one = *argument as u64;
        }
        assert_eq!(sets(number as i32, all), expected, "{number} {arguments:?}");
        let mut calls = Calls::new();
        refuse_all(&mut calls);
        let answer = Filter::of(&calls).run(ARCHITECTURE, number as u32, all);
        let is_refused = answer.map(|(answer, _)| answer != libc::SECCOMP_RET_ALLOW);
        assert_eq!(is_refused, Some(expected != Sets::Nothing), "{number} {arguments:?}");
    }

    #[test]
    fn modes_are_judged_by_what_they_are_for() {
        const CREATES: i32 = libc::O_CREAT | libc::O_WRONLY;
        check(libc::SYS_fchmod, &[3, 0o755], Sets::Nothing);
        check(libc::SYS_fchmod, &[3, 0o1777], Sets::Nothing);
        check(libc::SYS_fchmod, &[3, 0o2775], Sets::Group(0o2775));
        check(libc::SYS_fchmod, &[3, 0o4755], Sets::Other);
        check(libc::SYS_fchmodat, &[-100, 0, 0o6755], Sets::Other);
        check(libc::SYS_fchmodat, &[-100, 0, !0o6000], Sets::Nothing);
        check(FCHMODAT2, &[-100, 0, 0o102_000, 0], Sets::Group(0o2000));
        check(libc::SYS_mknodat, &[-100, 0, 0o102_755], Sets::Other);
        check(libc::SYS_mkdirat, &[-100, 0, 0o6755], Sets::Nothing);
        check(libc::SYS_openat, &[-100, 0, CREATES, 0o4755], Sets::Other);
        check(libc::SYS_openat, &[-100, 0, CREATES, 0o2755], Sets::Other);
        check(libc::SYS_openat, &[-100, 0, CREATES, 0o755], Sets::Nothing);
        check(libc::SYS_openat, &[-100, 0, libc::O_RDWR, 0o4755], Sets::Nothing);
        check(libc::SYS_openat, &[-100, 0, libc::O_DIRECTORY, 0o4755], Sets::Nothing);
        check(libc::SYS_openat, &[-100, 0, libc::O_TMPFILE | libc::O_RDWR, 0o4755], Sets::Other);
    }
}
