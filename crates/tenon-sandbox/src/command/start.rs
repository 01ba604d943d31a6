//! Starts the helper, and reaps it when it has ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;

use super::{Command, CommandError};
use crate::linux::helper;

/// Room in a pipe, so that a command that prints much does not wait for every read.
const PIPE_BYTES: usize = 256 * 1024;

/// Helpers that end by themselves, now that their socket is closed. Nobody waits for them; they
/// are reaped when the next command starts or ends.
static LEFT_HELPERS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// The watcher, a child of this process until it is reaped.
pub(super) struct HelperProcess(Option<Child>);

impl HelperProcess {
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(child) = &self.0 {
            // Not reaped yet, so the number is still its own.
            let _ = rustix::process::kill_process(Pid::from_child(child), signal);
        }
    }

    /// Reaps helpers that ended since the last call.
    fn reap_left() {
        Self::left().retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_)) | Err(_)));
    }

    fn left() -> MutexGuard<'static, Vec<Child>> {
        // Nothing that can panic runs under the lock.
        LEFT_HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        Self::left().extend(self.0.take());
        Self::reap_left();
    }
}

pub(super) fn open_folder(command: &Command) -> Result<OwnedFd, CommandError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(&command.folder, flags, Mode::empty()).map_err(|errno| CommandError::Folder {
        folder: command.folder.clone(),
        source: errno.into(),
    })
}

#[expect(clippy::disallowed_methods, reason = "the one place where processes are started")]
pub(super) fn start_helper(
    folder: &OwnedFd,
) -> io::Result<(HelperProcess, UnixStream, Receiver, Receiver)> {
    HelperProcess::reap_left();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    let (out, out_end) = io::pipe()?;
    let (error, error_end) = io::pipe()?;
    for pipe in [&out, &error] {
        // Refused to a user who holds many; then the usual size has to do.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    }
    // The kernel's name for this program: right also when the file was replaced meanwhile. The
    // folder goes by descriptor, so that nobody can put another in its place.
    let child = std::process::Command::new("/proc/self/exe")
        .arg0(helper::name())
        .env_clear()
        .current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::from(out_end))
        .stderr(Stdio::from(error_end))
        .spawn()?;
    let helper = HelperProcess(Some(child));
    ours.set_nonblocking(true)?;
    let control = UnixStream::from_std(ours)?;
    let out = Receiver::from_file(File::from(OwnedFd::from(out)))?;
    let error = Receiver::from_file(File::from(OwnedFd::from(error)))?;
    Ok((helper, control, out, error))
}
