//! Starts helpers and reaps those that have ended.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal};

use crate::linux::helper;

/// Helpers that end by themselves, now that their socket is closed. Nobody waits for them; they
/// are reaped when the next command starts or ends.
static LEFT_HELPERS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// A helper, a child of this process until it is reaped.
pub(crate) struct HelperProcess(Option<Child>);

impl HelperProcess {
    /// Returns its process id.
    pub(super) fn id(&self) -> Option<u32> {
        self.0.as_ref().map(Child::id)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(child) = &self.0 {
            // Not reaped yet, so the number is still its own.
            let _ = rustix::process::kill_process(Pid::from_child(child), signal);
        }
    }

    /// Reaps helpers that ended since the last call.
    pub(crate) fn reap_left() {
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

/// Starts a helper for one command in `folder`, with its control socket and its outputs.
pub(crate) fn start_helper(folder: &OwnedFd, ends: [OwnedFd; 3]) -> io::Result<HelperProcess> {
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
pub(super) fn spawn_warm() -> io::Result<(HelperProcess, UnixStream)> {
    spawn_with(helper::WARM, Stdio::null())
}

/// Starts the helper that becomes bubblewrap, and returns the socket to it, and what it says.
pub(super) fn spawn_outside() -> io::Result<(HelperProcess, UnixStream, UnixStream)> {
    let (said, says) = UnixStream::pair()?;
    let (process, socket) = spawn_with(helper::OUTSIDE, Stdio::from(OwnedFd::from(says)))?;
    Ok((process, socket, said))
}

fn spawn_with(kind: &CStr, says: Stdio) -> io::Result<(HelperProcess, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = program()
        .arg(OsStr::from_bytes(kind.to_bytes()))
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(says)
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
