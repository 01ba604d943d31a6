//! The helper's end of its socket, and its signals as data.
//!
//! What both kinds of helper need (a fresh one for each command, and the warm one that holds the
//! namespaces): requests come in, reports go out, signals are read like bytes.

#![expect(unsafe_code, reason = "signal calls, descriptors that the kernel just returned, _exit")]

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::Pid;

use super::pass::send_with;
use super::request::{Readable, Report, read_message};

/// The agent's end of things.
pub(super) struct Control(pub(super) OwnedFd);

impl Control {
    /// Moves the control socket out of the way of what a command inherits, and closes all else.
    pub(super) fn take() -> Result<Self, Errno> {
        // SAFETY: the agent starts the helper with a socket as standard input; what else it is
        // fails at the first use.
        let input = unsafe { BorrowedFd::borrow_raw(0) };
        rustix::net::sockopt::socket_type(input)?;
        close_from(3);
        let control = rustix::io::fcntl_dupfd_cloexec(input, 10)?;
        replace(&open_null()?, 0);
        Ok(Self(control))
    }

    pub(super) fn report(&self, report: Report) {
        self.report_all(&[report]);
    }

    /// Makes several reports at once.
    pub(super) fn report_all(&self, reports: &[Report]) {
        let bytes: Vec<u8> = reports.iter().flat_map(|report| report.to_bytes()).collect();
        // An agent that is gone needs no report; that it is gone is seen by polling.
        let _ = rustix::net::send(&self.0, &bytes, SendFlags::NOSIGNAL);
    }

    /// Reports, and hands a descriptor over with it.
    pub(super) fn report_with(&self, report: Report, handle: &OwnedFd) {
        // As above.
        let _ = send_with(&self.0, &report.to_bytes(), &[handle.as_fd()]);
    }

    pub(super) fn fail(&self, errno: Errno) -> ! {
        self.report(Report::Failed(errno.raw_os_error()));
        exit(1);
    }

    pub(super) fn read<T: Readable>(&self) -> Result<T, Errno> {
        read_message(|bytes| {
            let mut bytes = bytes;
            while !bytes.is_empty() {
                match rustix::io::read(&self.0, &mut *bytes) {
                    Ok(0) => return Err(Errno::PIPE),
                    Ok(length) => bytes = bytes.get_mut(length..).unwrap_or_default(),
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                }
            }
            Ok(())
        })
    }
}

/// Signals that arrive as data. Blocked, so that they are neither lost nor deadly.
pub(super) struct Signals(pub(super) OwnedFd);

impl Signals {
    pub(super) fn open() -> Result<Self, Errno> {
        // SAFETY: the set is initialised by sigemptyset before it is used.
        let handle = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        owned(handle).map(Self)
    }

    /// Waits until one arrives, or until then.
    pub(super) fn wait(&self, until: Option<Instant>) {
        let mut handles = [PollFd::new(&self.0, PollFlags::IN)];
        // An interruption is a wake-up like any other.
        let _ = poll(&mut handles, rest_until(until).as_ref());
    }

    /// Takes what arrived and says whether anything but the end of a child was among it.
    pub(super) fn take(&self) -> bool {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut asked_to_end = false;
        let mut bytes = [0_u8; SIZE];
        while let Ok(SIZE) = rustix::io::read(&self.0, &mut bytes) {
            // The signal's number is the first field.
            let [a, b, c, d, ..] = bytes;
            asked_to_end |= u32::from_ne_bytes([a, b, c, d]) != libc::SIGCHLD.cast_unsigned();
        }
        asked_to_end
    }
}

/// What the agent ignores, a command must not inherit; and a process that ignores the end of its
/// children never hears of it.
pub(super) fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default action needs no function; a number that is no signal is refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

pub(super) fn unblock_signals() {
    // SAFETY: the set is initialised by sigemptyset before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

pub(super) fn owned(handle: c_int) -> Result<OwnedFd, Errno> {
    if handle < 0 {
        return Err(last_errno());
    }
    // SAFETY: a call just returned it, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(handle) })
}

/// Reads what fork and clone answer to the parent, if they made a process.
pub(super) fn made(answer: c_int) -> Option<Pid> {
    // A number below zero is none that the library would take.
    if answer > 0 { Pid::from_raw(answer) } else { None }
}

pub(super) fn last_errno() -> Errno {
    let code = std::io::Error::last_os_error().raw_os_error();
    Errno::from_raw_os_error(code.unwrap_or(libc::EIO))
}

pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: ends the process without running what the program registered for its end, whose
    // start never ran.
    unsafe { libc::_exit(code) }
}

pub(super) fn open_null() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

/// A pipe ends for its reader when the last writer closes it, so only the command may keep it.
pub(super) fn close_outputs() {
    if let Ok(null) = open_null() {
        replace(&null, 1);
        replace(&null, 2);
    }
}

/// Makes the standard descriptor `number` another name for `handle`.
pub(super) fn replace(handle: &OwnedFd, number: c_int) {
    // SAFETY: replaces a standard stream or a number that nothing in a helper owns.
    unsafe { libc::dup2(handle.as_raw_fd(), number) };
}

pub(super) fn close_from(first: u32) {
    close_range(first, u32::MAX);
}

/// Closes every descriptor from 3 upwards that is not in `kept`. What owned one of them must not
/// be used or dropped any more: for a process that was just made and ends by `_exit`.
pub(super) fn close_all_but(kept: &mut [c_int]) {
    kept.sort_unstable();
    let mut first = 3;
    for handle in kept.iter().filter_map(|handle| u32::try_from(*handle).ok()) {
        if handle > first {
            close_range(first, handle - 1);
        }
        first = first.max(handle + 1);
    }
    close_range(first, u32::MAX);
}

fn close_range(first: u32, last: u32) {
    // SAFETY: the callers say that nothing uses these descriptors any more.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0_u32) };
}

/// What a wait ended with.
pub(super) struct Woken {
    pub(super) control_closed: bool,
    pub(super) control_readable: bool,
}

pub(super) fn wait_for(
    control: &Control,
    events: PollFlags,
    signals: &Signals,
    until: Option<Instant>,
) -> Woken {
    let mut handles = [PollFd::new(&control.0, events), PollFd::new(&signals.0, PollFlags::IN)];
    // An interruption is a wake-up like any other.
    let _ = poll(&mut handles, rest_until(until).as_ref());
    let [control, _] = &handles;
    let events = control.revents();
    Woken {
        control_closed: events.intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR),
        control_readable: events.contains(PollFlags::IN),
    }
}

fn rest_until(until: Option<Instant>) -> Option<Timespec> {
    let rest = until?.saturating_duration_since(Instant::now());
    Some(Timespec {
        tv_sec: i64::try_from(rest.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(rest.subsec_nanos()),
    })
}
