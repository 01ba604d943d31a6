//! The folder that a thread is in which asks much and alone: it is not opened for each question.
//!
//! Whoever changes its folder asks first, and does it after the answer. Until it asks again nobody knows
//! whether it has: so long the folder is opened for each question of those that share it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::linux::task::Task;

/// Without walls a thread comes to another folder in ways that nobody asks about (setns, pivot_root): then
/// the wrong one is known for no longer than this.
const KNOWN_FOR: Duration = Duration::from_millis(20);

/// Within this time who was answered goes on, unless the processors are busy. Others that share its folder
/// are answered later, so that they have the folder that is looked at.
const GOES_ON_WITHIN: Duration = Duration::from_millis(1);

/// With more threads that went to another folder and did not ask since, none is known.
const MOVING_MAX: usize = 32;

/// The folder of the thread that asked last.
#[derive(Debug, Default)]
pub(super) struct Here {
    known: Option<Known>,
    /// Who was answered that it may go to another folder, and did not ask since.
    moving: Vec<(Task, Instant)>,
}

#[derive(Debug)]
struct Known {
    task: Task,
    folder: Arc<OwnedFd>,
    opened: Instant,
}

impl Here {
    /// Takes in that a thread asks: what it was answered before is done.
    pub(super) fn asks(&mut self, task: Task) {
        self.moving.retain(|(moving, _)| *moving != task);
    }

    /// Takes in that a thread is about to go to another folder.
    pub(super) fn moves(&mut self, task: Task) {
        self.known = None;
        if self.moving.len() >= MOVING_MAX {
            self.moving.retain(|(moving, _)| moving.is_there());
        }
        self.moving.push((task, Instant::now()));
    }

    pub(super) fn forget(&mut self) {
        self.known = None;
    }

    /// Returns the folder that a thread is in; `None` if it cannot be opened, or may change at any time.
    pub(super) fn of(&mut self, task: Task) -> Option<Arc<OwnedFd>> {
        let is_known = |known: &&Known| known.task == task && known.opened.elapsed() < KNOWN_FOR;
        if let Some(known) = self.known.as_ref().filter(is_known) {
            return Some(Arc::clone(&known.folder));
        }
        self.known = None;
        if !self.is_settled(task) {
            return None;
        }
        let opened = Instant::now();
        let folder = Arc::new(task.descriptor(libc::AT_FDCWD).ok()?);
        self.known = Some(Known { task, folder: Arc::clone(&folder), opened });
        Some(folder)
    }

    /// Whether no other thread may just be taking this one to another folder. Where one may, it is given the
    /// time that it should need.
    pub(super) fn is_settled(&self, task: Task) -> bool {
        let shared = self.moving.iter().filter(|(moving, _)| moving.shares_folder(task));
        let last = shared.map(|(_, answered)| *answered).max();
        if let Some(answered) = last {
            std::thread::sleep(GOES_ON_WITHIN.saturating_sub(answered.elapsed()));
        }
        last.is_none() && self.moving.len() <= MOVING_MAX
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use rustix::process::Pid;

    use super::*;

    fn task(pid: Pid) -> Task {
        Task::new(pid.as_raw_nonzero().get().cast_unsigned())
    }

    #[test]
    fn a_folder_is_not_known_while_a_thread_that_shares_it_may_leave_it() {
        let (tell, tid) = channel();
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid()).unwrap();
            ended.recv()
        });
        let (own, other) = (task(rustix::thread::gettid()), task(tid.recv().unwrap()));
        let mut here = Here::default();
        assert!(here.of(own).is_some());
        here.moves(other);
        assert!(here.of(own).is_none());
        assert!(here.of(own).is_none(), "whoever asks");
        here.asks(other);
        assert!(here.of(own).is_some());
        here.moves(other);
        drop(end);
        assert!(thread.join().is_ok());
        assert!(here.of(own).is_some(), "the other thread ended");
        here.moves(task(rustix::process::getppid().unwrap()));
        assert!(here.of(own).is_some(), "a process has a folder of its own");
    }
}
