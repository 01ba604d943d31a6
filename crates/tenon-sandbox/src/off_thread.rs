//! Work that waits for the disk or for other processes, on a thread of its own.
//!
//! Tokio's threads for that are not asked for: it panics where the first of them cannot be made, as
//! where the limit of processes is reached. Here the work is then done by whoever asked for it: late
//! rather than not at all. What it cannot start itself, it says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::{self, Builder};

use tokio::sync::oneshot;

/// Work that was begun: waits for what comes of it, or for its panic. It goes on if this is dropped.
#[derive(Debug)]
pub struct OffThread<T>(oneshot::Receiver<thread::Result<T>>);

/// Begins `work` on a thread of its own. Without room for one it is done here, and over when this
/// returns.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(tenon_sandbox::off_thread(|| 6 * 7).await.ok(), Some(42));
/// # }
/// ```
pub fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> OffThread<T> {
    let (done, wait) = oneshot::channel();
    // A thread that cannot be made drops what it was to do, so that is kept here.
    let task = Arc::new(Mutex::new(Some((work, done))));
    let kept = Arc::clone(&task);
    if Builder::new().spawn(move || carry_out(&task)).is_err() {
        carry_out(&kept);
    }
    OffThread(wait)
}

type Task<W, T> = Mutex<Option<(W, oneshot::Sender<thread::Result<T>>)>>;

fn carry_out<T>(task: &Task<impl FnOnce() -> T, T>) {
    let taken = task.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((work, done)) = taken {
        // Nobody may wait any more.
        let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
    }
}

/// The same for what need not be done where there is no room for a thread.
pub(crate) fn off_thread_if_room<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<OffThread<T>> {
    let (done, wait) = oneshot::channel();
    let begun = Builder::new().spawn(move || done.send(catch_unwind(AssertUnwindSafe(work))));
    begun.ok().map(|_| OffThread(wait))
}

impl<T> Future for OffThread<T> {
    type Output = thread::Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<thread::Result<T>> {
        let done = Pin::new(&mut self.0).poll(context);
        // Each is sent something, so that is never the error of the channel.
        done.map(|done| done.unwrap_or_else(|error| Err(Box::new(error))))
    }
}
