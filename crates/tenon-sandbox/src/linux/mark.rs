//! Tells what came from a command when nobody is left who would know: by a limit that it cannot change.
//!
//! What left its session and lost its helpers is a child of the machine's first process like any
//! other. But limits are inherited by all that a process starts, and shown in `/proc`. One that the
//! kernel goes by no more (that of locks, since Linux 2.4.25) is set to a number of the command's own,
//! and where there are walls, they leave it so (see `limits.rs`).

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit};
use rustix::rand::GetRandomFlags;

use super::procfs::read;

/// The limit, by its number.
pub(super) const MARK: u32 = libc::RLIMIT_LOCKS;

/// How `/proc/PID/limits` names it.
const NAME: &[u8] = b"Max file locks";

/// A command's own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(pub(super) u64);

impl Mark {
    /// Makes one that no other command on the machine has.
    ///
    /// # Errors
    /// If the kernel gives no random number.
    pub(crate) fn new() -> Result<Self, Errno> {
        let mut bytes = [0; size_of::<u64>()];
        rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())?;
        // The highest number stands for no limit.
        Ok(Self(u64::from_ne_bytes(bytes) >> 1))
    }

    /// Marks this process and all that it starts. Where the limit is lower already, within the walls of
    /// another tenon, it stays.
    pub(super) fn set(self) {
        let limit = Rlimit { current: Some(self.0), maximum: Some(self.0) };
        let _ = rustix::process::setrlimit(Resource::Locks, limit);
    }

    /// Whether the process has it.
    pub(super) fn is_of(self, pid: Pid) -> bool {
        let limits = read(&format!("/proc/{}/limits", pid.as_raw_nonzero()));
        limits.and_then(|limits| mark_in(&limits)) == Some(self)
    }
}

/// Reads the mark out of `/proc/PID/limits`, of whose columns the first after the name counts.
fn mark_in(limits: &[u8]) -> Option<Mark> {
    let line = limits.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(NAME))?;
    let number = std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?;
    number.parse().ok().map(Mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_from_its_line() {
        let limits = |value: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max address space         77                   unlimited            bytes     \n\
                 Max file locks            {value:<20} {value:<20} locks     \n\
                 Max pending signals       7                    7                    signals   \n"
            )
        };
        let check = |value: &str, expected: Option<u64>| {
            assert_eq!(mark_in(limits(value).as_bytes()), expected.map(Mark), "{value}");
        };
        check("8446744073709551615", Some(8_446_744_073_709_551_615));
        check("unlimited", None);
        assert_eq!(mark_in(b""), None);
    }

    #[test]
    fn no_two_are_the_same_and_none_is_no_limit() {
        let (one, other) = (Mark::new().unwrap(), Mark::new().unwrap());
        assert_ne!(one, other);
        assert!(one.0 <= u64::MAX / 2 && other.0 <= u64::MAX / 2);
        assert!(!one.is_of(rustix::process::getpid()));
    }
}
