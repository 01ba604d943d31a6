//! A watch on what everything has together that came from this process: memory, and processes where
//! the kernel does not count them for each command.
//!
//! Processes are counted with all their threads, as the kernel's own limits count them. Between two
//! counts it is enough to know how many there are on the whole machine, which is one short read.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::limits::has_pid_max;
use super::memory::{MemoryWatch, Segments};
use super::others::Others;
use super::process_tree::family;
use super::procfs::read;
use super::request::{Report, Request};
use crate::profile::Limits;

/// Between two looks, where this process sees those of the command only.
const EVERY: Duration = Duration::from_millis(100);

/// Where those of the whole machine must be looked through for the command's. How many there are of
/// all is looked at as often as above.
const EVERY_OF_MACHINE: Duration = Duration::from_millis(500);

/// So many are stopped before they are counted: running, they leave no processor for that.
const STOPPED_FROM: u64 = 1000;

/// Looks from time to time what there is.
pub(super) struct Watch {
    limits: Option<Limits>,
    /// Whether processes are counted here.
    counts: bool,
    memory: MemoryWatch,
    whole_every: Duration,
    next: Option<Instant>,
    next_whole: Option<Instant>,
    /// Threads of others on the machine, at the last count.
    elsewhere: Option<u64>,
}

impl Watch {
    /// Looks at what comes from the command of `request`, if that has limits.
    pub(super) fn new(request: &Request) -> Self {
        let inside = request.confinement.inside();
        let (whole_every, segments) = match inside {
            Some(_) => (EVERY, Segments::Own),
            None => (EVERY_OF_MACHINE, Segments::Others),
        };
        let counts = !has_pid_max(inside);
        let limits = request.limits;
        let bytes_max = limits.map_or(u64::MAX, |limits| limits.memory_bytes_max);
        let first = limits.map(|_| Instant::now() + if counts { EVERY } else { whole_every });
        Self {
            limits,
            counts,
            memory: MemoryWatch::new(bytes_max, segments),
            whole_every,
            next: first,
            next_whole: first,
            elsewhere: None,
        }
    }

    /// Returns when to wake up: at the next look, or at `other` if that comes before.
    pub(super) fn wake_at(&self, other: Option<Instant>) -> Option<Instant> {
        self.next.into_iter().chain(other).min()
    }

    /// Looks if it is time to, and returns what to report if there is too much of something.
    pub(super) fn exceeded(&mut self, now: Instant, others: Option<&Others>) -> Option<Report> {
        let limits = self.limits.filter(|_| self.next.is_some_and(|next| now >= next))?;
        let is_whole = self.next_whole.is_some_and(|next| now >= next);
        let report = self.look(limits.processes_max, is_whole, others);
        let now = Instant::now();
        if is_whole {
            self.next_whole = Some(now + self.whole_every);
        }
        self.next = if self.counts { Some(now + EVERY) } else { self.next_whole };
        report
    }

    fn look(
        &mut self,
        processes_max: u64,
        is_whole: bool,
        others: Option<&Others>,
    ) -> Option<Report> {
        let on_machine = if self.counts { threads_on_machine() } else { None };
        let more = on_machine.zip(self.elsewhere).map_or(0, |(all, rest)| all.saturating_sub(rest));
        let is_suspect = more > processes_max;
        if !is_whole && !is_suspect {
            return None;
        }
        let stopped = others.filter(|_| is_suspect && more > STOPPED_FROM);
        if let Some(others) = stopped {
            others.signal(Signal::STOP);
        }
        let family = family(rustix::process::getpid());
        let count = family.iter().map(|process| process.threads).sum();
        if self.counts && count > processes_max {
            return Some(Report::ProcessesExceeded);
        }
        if let Some(others) = stopped {
            others.signal(Signal::CONT);
        }
        self.elsewhere = on_machine.map(|all| all.saturating_sub(count));
        let is_exceeded = is_whole && self.memory.is_exceeded(&family);
        is_exceeded.then_some(Report::MemoryExceeded)
    }
}

/// Returns how many threads there are of all processes on the machine, if the kernel says so.
fn threads_on_machine() -> Option<u64> {
    threads_in(&read("/proc/loadavg")?)
}

/// Reads the number of all threads out of `0.20 0.18 0.12 1/80 11206`.
fn threads_in(text: &[u8]) -> Option<u64> {
    let counts = std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(3)?;
    counts.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_is_behind_that_of_running_ones() {
        assert_eq!(threads_in(b"0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(threads_in(b"0.20 0.18 0.12 1 11206\n"), None);
        assert_eq!(threads_in(b""), None);
    }

    #[test]
    fn the_kernel_says_how_many_threads_there_are() {
        assert!(threads_on_machine().is_some_and(|threads| threads > 1));
    }
}
