//! Where no further process can be started: what a command left, which was ended just now, takes a
//! moment to go. So the next command waits for that, and keeps the helper that is there.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

use crate::command::{CommandError, Output};
use crate::missing::Missing;

/// How long a command waits. What was killed is gone within that on a machine that is not all busy.
pub(super) const ROOM_WITHIN: Duration = Duration::from_secs(3);

/// Between two tries.
pub(super) const TRIED_EVERY: Duration = Duration::from_millis(50);

/// Whether a command was not run because there was no room for its processes.
pub(super) fn is_full(result: &Result<Output, CommandError>) -> bool {
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
