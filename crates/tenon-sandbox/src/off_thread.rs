//! Work that waits for the disk or for other processes, on a thread of its own: one that did such work
//! before and waits for more, or a new one.
//!
//! Tokio's threads for that are not asked for: it panics where the first of them cannot be made, as
//! where the limit of processes is reached. Here the work is then done by whoever asked for it: late
//! rather than not at all. What it cannot start itself, it says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::{self, Builder, ThreadId};
use std::time::Duration;

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
    let (work, wait) = task(work);
    if let Err(work) = hand_over(work) {
        work();
    }
    wait
}

/// The same for what need not be done where there is no room for a thread.
pub(crate) fn off_thread_if_room<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<OffThread<T>> {
    let (work, wait) = task(work);
    hand_over(work).ok().map(|()| wait)
}

type Task = Box<dyn FnOnce() + Send>;

fn task<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> (Task, OffThread<T>) {
    let (done, wait) = oneshot::channel();
    let task = move || {
        // Nobody may wait any more.
        let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
    };
    (Box::new(task), OffThread(wait))
}

/// So long a thread waits for more. To make one takes three times as long as to wake one up.
const IDLE: Duration = Duration::from_secs(10);

/// The threads that wait for more.
static WAITING: Mutex<Vec<(ThreadId, Sender<Task>)>> = Mutex::new(Vec::new());

fn waiting() -> MutexGuard<'static, Vec<(ThreadId, Sender<Task>)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a thread something to do, or it back if there is no room for a thread.
fn hand_over(task: Task) -> Result<(), Task> {
    let last = waiting().pop();
    let task = match last {
        Some((_, thread)) => match thread.send(task) {
            Ok(()) => return Ok(()),
            Err(SendError(task)) => task,
        },
        None => task,
    };
    // A thread that cannot be made drops what it was to do, so that is kept here.
    let first = Arc::new(Mutex::new(Some(task)));
    let kept = Arc::clone(&first);
    let take =
        |first: &Mutex<Option<Task>>| first.lock().unwrap_or_else(PoisonError::into_inner).take();
    match Builder::new().spawn(move || take(&first).into_iter().for_each(serve)) {
        Ok(_) => Ok(()),
        Err(_) => take(&kept).map_or(Ok(()), Err),
    }
}

/// Carries out one task, then those that come.
fn serve(first: Task) {
    first();
    let (thread, tasks) = channel();
    while let Some(task) = next(&thread, &tasks) {
        task();
    }
}

fn next(thread: &Sender<Task>, tasks: &Receiver<Task>) -> Option<Task> {
    let own = thread::current().id();
    waiting().push((own, thread.clone()));
    if let Ok(task) = tasks.recv_timeout(IDLE) {
        return Some(task);
    }
    let mut waiting = waiting();
    let place = waiting.iter().position(|(id, _)| *id == own);
    match place {
        Some(place) => {
            waiting.remove(place);
            None
        }
        // Somebody took it from there and is about to send something.
        None => {
            drop(waiting);
            tasks.recv().ok()
        }
    }
}

impl<T> Future for OffThread<T> {
    type Output = thread::Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<thread::Result<T>> {
        let done = Pin::new(&mut self.0).poll(context);
        // Each is sent something, so that is never the error of the channel.
        done.map(|done| done.unwrap_or_else(|error| Err(Box::new(error))))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[tokio::test]
    async fn threads_that_are_done_do_what_comes_next_also_after_a_panic() {
        let mut threads = HashSet::new();
        for _ in 0..200 {
            threads.insert(off_thread(|| thread::current().id()).await.unwrap());
            assert!(off_thread(|| panic!("meant")).await.is_err());
        }
        assert!(threads.len() < 100, "{} threads for one after another", threads.len());
        let begun: Vec<_> = (0..50).map(|number| off_thread_if_room(move || number)).collect();
        for (number, one) in begun.into_iter().enumerate() {
            assert_eq!(one.unwrap().await.unwrap(), number);
        }
    }
}
