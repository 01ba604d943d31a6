//! Waiting for a lock on a file of the store, for a while: in tier C a command can hold it as long as it runs, where the
//! store lies in the workspace.

use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// So often it is looked whether the other process is done, or the waiting is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What others do there is over within this time, but where they take away gigabytes.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(15);

/// Locks a file once nobody else has it; [`Errno::WOULDBLOCK`] where that takes longer, or the waiting is over.
pub(super) fn lock_within(
    file: impl AsFd,
    how: FlockOperation,
    wait_max: Duration,
    is_over: impl Fn() -> bool,
) -> Result<(), Errno> {
    let until = Instant::now() + wait_max;
    loop {
        match flock(&file, how) {
            Err(Errno::WOULDBLOCK) if !is_over() && Instant::now() < until => sleep(LOOK_EVERY),
            Err(Errno::INTR) => {}
            locked => return locked,
        }
    }
}
