//! Commands that did not run for a reason that passes, and are tried again.
//!
//! Where no further process can be started: what a command left, which was ended just now, takes a
//! moment to go. So the next command waits for that, and keeps the helper that is there. And where
//! protected names came or went while the walls were made around them: those of a job, or of another
//! session.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use tokio::time::Instant;

use crate::command::{CommandError, Output};
use crate::missing::Missing;

/// How long a command waits for room. What was killed is gone within that on a machine that is not all
/// busy.
const ROOM_WITHIN: Duration = Duration::from_secs(3);

/// Between two tries.
const TRIED_EVERY: Duration = Duration::from_millis(50);

/// How often walls are made anew. Where a program does nothing but make and remove a name, every other
/// try fails; each takes 20 ms.
const NAMES_TRIES_MAX: u32 = 20;

/// How often and how long a command is still tried.
pub(super) struct Tries {
    room_until: Instant,
    names_left: u32,
}

impl Tries {
    pub(super) fn new() -> Self {
        Self { room_until: Instant::now() + ROOM_WITHIN, names_left: NAMES_TRIES_MAX - 1 }
    }

    /// Returns when a command is tried again that ended so; `None` if it is not.
    pub(super) fn again_in(&mut self, result: &Result<Output, CommandError>) -> Option<Duration> {
        if have_names_changed(result) {
            self.names_left = self.names_left.checked_sub(1)?;
            return Some(Duration::ZERO);
        }
        (is_full(result) && Instant::now() < self.room_until).then_some(TRIED_EVERY)
    }
}

fn have_names_changed(result: &Result<Output, CommandError>) -> bool {
    matches!(result, Err(CommandError::Walls(error)) if error.missing == Missing::NamesChanged)
}

/// Whether a command was not run because there was no room for its processes.
fn is_full(result: &Result<Output, CommandError>) -> bool {
    match result {
        Err(CommandError::Helper { source }) => is_of_number(source),
        Err(CommandError::Walls(error)) => error.missing == Missing::Room,
        _ => false,
    }
}

/// Whether it is the number of processes that there may be.
pub(super) fn is_of_number(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::AGAIN)
}
