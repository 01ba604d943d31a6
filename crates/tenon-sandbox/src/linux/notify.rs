//! Has the kernel ask before each call that can change the file tree: a filter whose questions go to
//! a listener, which the agent holds.
//!
//! Opening for reading is never asked about: the filter looks at the flags. What would get around
//! the filter (asynchronous calls, a write that ignores O_APPEND) is refused. One filter with that of
//! the walls, whose refusals come first.

#![expect(unsafe_code, reason = "the listener's requests")]

use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_long, sock_filter};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::control::owned;
use super::filter::{
    ANY_BIT, Calls, EQUAL, Filter, answer, argument_offset, call, jump, load, refuse,
};
use super::limits::is_at_least;
use super::set_id::{FCHMODAT2, Sets, sets};
use super::told::{self, Told};

/// `struct seccomp_notif`: which call, of whom.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Question {
    id: u64,
    /// The thread, as this process's namespace numbers it.
    pub(crate) pid: u32,
    flags: u32,
    pub(crate) number: i32,
    architecture: u32,
    instruction: u64,
    pub(crate) arguments: [u64; 6],
}

/// `struct seccomp_notif_resp`.
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// Where the kernel's questions about one command arrive.
#[derive(Debug)]
pub(crate) struct Listener {
    handle: OwnedFd,
    /// Whether the command is within walls.
    within_walls: bool,
    told: Told,
}

const RECEIVE: u64 = 0xc050_2100;
const SEND: u64 = 0xc018_2101;
const IS_VALID: u64 = 0x4008_2102;
const SET_FLAGS: u64 = 0x4008_2104;
const FLAG_CONTINUE: u32 = 1;
/// SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (Linux 6.6): the one that asks and the one that answers take
/// turns on one processor.
const FLAG_SYNC_WAKE_UP: u64 = 1;

const NEW_LISTENER: u64 = 1 << 3;
/// Once a question was taken, only a deadly signal ends the call (Linux 5.19).
const WAIT_KILLABLE: u64 = 1 << 5;

const RWF_NOAPPEND: u32 = 0x20;
const WRITES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC).cast_unsigned();

// Younger than the library; the same on every architecture.
pub(crate) const SETXATTRAT: c_long = 463;
pub(crate) const REMOVEXATTRAT: c_long = 466;
pub(crate) const FILE_SETATTR: c_long = 469;

/// Asked about, whatever the arguments.
const ALWAYS: &[c_long] = &[
    libc::SYS_openat2,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    FILE_SETATTR,
    libc::SYS_bind,
];

/// The same: what changes nothing but the folder that a thread is in.
pub(crate) const MOVES: [c_long; 2] = [libc::SYS_chdir, libc::SYS_fchdir];

#[cfg(target_arch = "x86_64")]
const ALWAYS_HERE: &[c_long] = &[
    libc::SYS_creat,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mkdir,
    libc::SYS_mknod,
];
#[cfg(target_arch = "aarch64")]
const ALWAYS_HERE: &[c_long] = &[libc::SYS_renameat];

/// The same: what changes a file without its content.
pub(super) const ATTRIBUTES: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];

#[cfg(target_arch = "x86_64")]
pub(super) const ATTRIBUTES_HERE: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(target_arch = "aarch64")]
pub(super) const ATTRIBUTES_HERE: &[c_long] = &[];

/// Work that no filter sees.
const REFUSED: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_setup,
    libc::SYS_io_submit,
];

/// Asked about like attributes: FS_IOC_SETFLAGS for both sizes of a word, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION
/// for both.
pub(super) const FILE_FLAGS: [u32; 5] =
    [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602, 0x4004_7602];

/// Older ways to reserve room for a file than `fallocate`, which is asked about: FS_IOC_RESVSP,
/// FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE.
const RESERVE: [u32; 3] = [0x4030_5828, 0x4030_582a, 0x4030_5839];

/// Installs a filter that asks in this process and everything it starts, and returns the listener.
/// `no_new_privs` must be set.
///
/// # Errors
/// `BUSY` where a filter above has a listener already.
pub(super) fn install(filter: &Filter) -> Result<OwnedFd, Errno> {
    if !is_possible() {
        return Err(Errno::NOSYS);
    }
    let answer = match filter.install(NEW_LISTENER | WAIT_KILLABLE) {
        Err(Errno::INVAL) => filter.install(NEW_LISTENER),
        answer => answer,
    };
    answer.and_then(owned)
}

/// Whether this kernel lets a call go on after it was asked about (Linux 5.5): with an older one it
/// would wait for ever.
pub(super) fn is_possible() -> bool {
    let release = rustix::system::uname();
    release.release().to_str().is_ok_and(|release| is_at_least(release, (5, 5)))
}

/// Adds what is asked about to what is refused, which comes first.
pub(super) fn add_questions(calls: &mut Calls) {
    told::ask(calls);
    let ask = answer(libc::SECCOMP_RET_USER_NOTIF);
    let mut add = |number: c_long, body: &[sock_filter]| {
        calls.entry(call(number)).or_default().extend_from_slice(body);
    };
    for number in [ALWAYS, ALWAYS_HERE, &MOVES, ATTRIBUTES, ATTRIBUTES_HERE].concat() {
        add(number, &[ask]);
    }
    for number in REFUSED {
        add(*number, &[refuse(Errno::NOSYS)]);
    }
    let mut opens = vec![(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    opens.push((libc::SYS_open, 1));
    for (number, flags) in opens {
        let looks_only = jump(ANY_BIT, libc::O_PATH.cast_unsigned(), 2, 0);
        let writes = jump(ANY_BIT, WRITES, 0, 1);
        add(number, &[load(argument_offset(flags)), looks_only, writes, ask]);
    }
    // A handle says of no path, and undo would have to look for the file everywhere.
    let writes = jump(ANY_BIT, WRITES, 0, 1);
    let by_handle = [load(argument_offset(2)), writes, refuse(Errno::NOSYS)];
    add(libc::SYS_open_by_handle_at, &by_handle);
    // A file that was opened for appending may be written anywhere after this.
    let sets_flags = jump(EQUAL, libc::F_SETFL.cast_unsigned(), 0, 3);
    let appends = jump(ANY_BIT, libc::O_APPEND.cast_unsigned(), 1, 0);
    let body = [load(argument_offset(1)), sets_flags, load(argument_offset(2)), appends, ask];
    add(libc::SYS_fcntl, &body);
    let ignores_append = jump(ANY_BIT, RWF_NOAPPEND, 0, 1);
    let refused = refuse(Errno::OPNOTSUPP);
    add(libc::SYS_pwritev2, &[load(argument_offset(5)), ignores_append, refused]);
    for (requests, answer) in [(&RESERVE[..], refused), (&FILE_FLAGS, ask)] {
        for request in requests {
            let is_it = jump(EQUAL, *request, 0, 1);
            add(libc::SYS_ioctl, &[load(argument_offset(1)), is_it, answer]);
        }
    }
}

impl Listener {
    /// Takes the questions about a command that is within walls, or is not.
    pub(crate) fn new(handle: OwnedFd, within_walls: bool) -> Self {
        Self { handle, within_walls, told: Told::default() }
    }

    /// Waits for the next question about a change. What nobody may do is answered here, so that no
    /// caller can let it go on. `None` when everything that could ask has ended.
    pub(crate) fn next(&self) -> Option<Question> {
        loop {
            let mut handles = [PollFd::new(&self.handle, PollFlags::IN)];
            match poll(&mut handles, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return None,
            }
            let [handle] = &handles;
            let events = handle.revents();
            if !events.contains(PollFlags::IN) {
                if events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                    return None;
                }
                continue;
            }
            // SAFETY: all of it is numbers; the kernel wants it empty.
            let mut question: Question = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel fills the structure, which has the size that the request names.
            let answer =
                unsafe { libc::ioctl(self.handle.as_raw_fd(), RECEIVE, &raw mut question) };
            if answer != 0 {
                // Whoever asked was ended meanwhile.
            } else if let Some(errno) = self.told.takes(question.number, question.arguments) {
                self.answer(&question, Err(errno));
            } else if self.sets(&question) == Sets::Other {
                self.answer(&question, Err(self.refuses_bits()));
            } else {
                return Some(question);
            }
        }
    }

    fn sets(&self, question: &Question) -> Sets {
        match self.within_walls {
            true => sets(question.number, question.arguments),
            false => Sets::Nothing,
        }
    }

    /// Whether the command runs within walls.
    pub(crate) fn is_within_walls(&self) -> bool {
        self.within_walls
    }

    /// Returns the mode with which a call sets the set-group-id bit of what is there. Within walls only a
    /// folder may get it, and the call must not go on: what it is about could be another by then.
    pub(crate) fn sets_group(&self, question: &Question) -> Option<u32> {
        match self.sets(question) {
            Sets::Group(mode) => Some(mode),
            Sets::Nothing | Sets::Other => None,
        }
    }

    /// Takes in that a file does not get such a bit, and returns what is answered.
    pub(crate) fn refuses_bits(&self) -> Errno {
        self.told.takes_bits()
    }

    /// Returns what the command was refused that ordinary programs ask for, in words for people.
    pub(crate) fn refused(&self) -> Vec<&'static str> {
        self.told.words()
    }

    /// Whether the thread that asked still waits: else its number may be another's by now.
    pub(crate) fn is_valid(&self, question: &Question) -> bool {
        // SAFETY: the kernel reads the number.
        unsafe { libc::ioctl(self.handle.as_raw_fd(), IS_VALID, &raw const question.id) == 0 }
    }

    /// Lets the call go on, or fail with an error number.
    pub(crate) fn answer(&self, question: &Question, outcome: Result<(), Errno>) {
        self.send(question, outcome, FLAG_CONTINUE);
    }

    /// Ends a call that was made in the command's place: it returns 0, or fails with an error number.
    pub(crate) fn done(&self, question: &Question, outcome: Result<(), Errno>) {
        self.send(question, outcome, 0);
    }

    fn send(&self, question: &Question, outcome: Result<(), Errno>, flags_if_ok: u32) {
        let mut answer = match outcome {
            Ok(()) => Answer { id: question.id, value: 0, error: 0, flags: flags_if_ok },
            Err(errno) => {
                let error = -errno.raw_os_error();
                Answer { id: question.id, value: 0, error, flags: 0 }
            }
        };
        // A thread that was ended meanwhile needs no answer.
        // SAFETY: the kernel reads the structure, which has the size that the request names.
        unsafe { libc::ioctl(self.handle.as_raw_fd(), SEND, &raw mut answer) };
    }

    /// Whether the one that asks and the one that answers take turns on one processor: fast with
    /// one that asks, slow with several. Does nothing before Linux 6.6.
    pub(crate) fn take_turns(&self, on: bool) {
        let flags = if on { FLAG_SYNC_WAKE_UP } else { 0 };
        // SAFETY: the argument is a number.
        unsafe { libc::ioctl(self.handle.as_raw_fd(), SET_FLAGS, flags) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!((size_of::<Question>(), size_of::<Answer>()), (80, 24));
    }
}
