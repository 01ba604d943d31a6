//! How many threads the engine gets.
#![expect(clippy::disallowed_methods, reason = "reads the kernel's list of processors")]

use std::{collections::HashSet, fs, thread};

/// Decoding waits for memory, which more threads do not make faster.
const THREADS_MAX: usize = 8;

/// Returns the number of physical cores that this process may use: two threads on one core only
/// take turns at its arithmetic.
pub(crate) fn physical_cores() -> usize {
    let allowed = thread::available_parallelism().map_or(1, usize::from);
    let siblings: HashSet<String> = (0..allowed)
        .filter_map(|processor| {
            let folder = format!("/sys/devices/system/cpu/cpu{processor}/topology");
            fs::read_to_string(format!("{folder}/thread_siblings_list")).ok()
        })
        .collect();
    let physical = if siblings.is_empty() { allowed } else { siblings.len() };
    physical.min(allowed).clamp(1, THREADS_MAX)
}
