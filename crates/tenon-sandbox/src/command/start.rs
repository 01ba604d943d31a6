//! Starts helpers, or has the warm one start a command, and reaps those that have ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;

use super::{Command, CommandError, Via};
use crate::linux::helper;
use crate::sandbox::WarmHelper;

/// Room in a pipe, so that a command that prints much does not wait for every read.
const PIPE_BYTES: usize = 256 * 1024;

/// Helpers that end by themselves, now that their socket is closed. Nobody waits for them; they
/// are reaped when the next command starts or ends.
static LEFT_HELPERS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// What a command is attended to through.
pub(super) struct Streams {
    /// The watcher; none where the warm helper started the command.
    pub(super) watcher: Option<HelperProcess>,
    pub(super) control: UnixStream,
    pub(super) out: Receiver,
    pub(super) error: Receiver,
}

/// A helper, a child of this process until it is reaped.
pub(crate) struct HelperProcess(Option<Child>);

impl HelperProcess {
    /// Returns its process id.
    pub(crate) fn id(&self) -> Option<u32> {
        self.0.as_ref().map(Child::id)
    }

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

fn open_folder(command: &Command) -> Result<OwnedFd, CommandError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(&command.folder, flags, Mode::empty()).map_err(|errno| CommandError::Folder {
        folder: command.folder.clone(),
        source: errno.into(),
    })
}

/// Opens what a command is attended to through, and has it started.
pub(super) fn start(command: &Command, via: &Via) -> Result<Streams, CommandError> {
    let failed = |source| CommandError::Helper { source };
    HelperProcess::reap_left();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
    let (out, out_end) = io::pipe().map_err(failed)?;
    let (error, error_end) = io::pipe().map_err(failed)?;
    for pipe in [&out, &error] {
        // Refused to a user who holds many; then the usual size has to do.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    }
    let ends = [OwnedFd::from(theirs), out_end.into(), error_end.into()];
    let watcher = match via {
        Via::Fresh => Some(start_helper(&open_folder(command)?, ends).map_err(failed)?),
        Via::Warm(helper) => {
            send(helper, &ends).map_err(failed)?;
            None
        }
    };
    let receiver = |pipe: io::PipeReader| Receiver::from_file(File::from(OwnedFd::from(pipe)));
    ours.set_nonblocking(true).map_err(failed)?;
    Ok(Streams {
        watcher,
        control: UnixStream::from_std(ours).map_err(failed)?,
        out: receiver(out).map_err(failed)?,
        error: receiver(error).map_err(failed)?,
    })
}

fn send(helper: &WarmHelper, ends: &[OwnedFd; 3]) -> io::Result<()> {
    let [control, out, error] = ends;
    Ok(helper.send_call(control.as_fd(), out.as_fd(), error.as_fd())?)
}

fn start_helper(folder: &OwnedFd, ends: [OwnedFd; 3]) -> io::Result<HelperProcess> {
    let [control, out, error] = ends;
    // The folder goes by descriptor, so that nobody can put another in its place.
    let child = program()
        .current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))
        .stdin(Stdio::from(control))
        .stdout(Stdio::from(out))
        .stderr(Stdio::from(error))
        .spawn()?;
    Ok(HelperProcess(Some(child)))
}

/// Starts the helper that holds namespaces, and returns the socket to it.
pub(crate) fn spawn_warm() -> io::Result<(HelperProcess, std::os::unix::net::UnixStream)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    let child = program()
        .arg(helper::WARM)
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((HelperProcess(Some(child)), ours))
}

/// This program under the helper's name. The kernel's name for its file: right also when the file
/// was replaced meanwhile.
#[expect(clippy::disallowed_methods, reason = "the one place where processes are started")]
fn program() -> std::process::Command {
    let mut program = std::process::Command::new("/proc/self/exe");
    program.arg0(helper::name()).env_clear();
    program
}
