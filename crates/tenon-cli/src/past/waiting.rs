//! A word to whoever waits because another process undoes in the same workspace, or is stopped in the middle of that.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tenon_sandbox::Journal;

/// What others do there is mostly over within this time.
const SILENT_MAX: Duration = Duration::from_secs(2);

/// Does what may have to wait for another process, and tells once for which.
pub(super) fn telling<T>(
    journal: &Journal,
    tell: impl FnOnce(u32) + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (over, is_over) = mpsc::channel::<()>();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            while is_over.recv_timeout(SILENT_MAX) == Err(RecvTimeoutError::Timeout) {
                if let Some(process) = journal.held_by_another() {
                    return tell(process);
                }
            }
        });
        let done = work();
        drop(over);
        done
    })
}
