//! Signals to all that came from a command, in one step of the kernel's.
//!
//! Whoever ends processes one by one loses against those that start new ones meanwhile. `kill(-1)`
//! reaches everybody at once, and a process that is being killed starts no other. It may only be sent
//! where it reaches nobody else: by the first process of a namespace, or out of a domain of Landlock
//! that signals cannot leave (Linux 6.12).

#![expect(unsafe_code, reason = "a signal to everybody, which the library does not send")]

use rustix::io::Errno;
use rustix::process::{Pid, Signal, test_kill_process};

use super::landlock::Rules;

/// Everybody else that this process may signal is a process of the command.
pub(super) struct Others(());

impl Others {
    /// Returns all others in the namespace of which this process is the first.
    pub(super) fn in_namespace() -> Option<Self> {
        (rustix::process::getpid() == Pid::INIT).then_some(Self(()))
    }

    /// Puts this process into a domain with all that it starts from now on, and returns these. None
    /// where the kernel cannot: it must refuse a signal to `parent`, which stays outside.
    pub(super) fn in_domain(parent: Pid) -> Option<Self> {
        rustix::thread::set_no_new_privs(true).ok()?;
        Rules::of_signals().ok()?.hold_unlogged().ok()?;
        (test_kill_process(parent) == Err(Errno::PERM)).then_some(Self(()))
    }

    /// Sends `signal` to all of them, not to this process.
    pub(super) fn signal(&self, signal: Signal) {
        // SAFETY: sends a signal, which reaches nobody that did not come from the command.
        unsafe { libc::kill(-1, signal.as_raw()) };
    }
}
