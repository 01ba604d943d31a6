//! Has a command started, by a helper of its own or by the one that is there.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;

use super::{Command, CommandError, Via};
use crate::helper::{HelperProcess, WarmHelper, start_helper};
use crate::linux::landlock::Rules;
use crate::linux::pass::send_with;

/// Room in a pipe, so that a command that prints much does not wait for every read.
const PIPE_BYTES: usize = 256 * 1024;

/// How long the helper may take to start and read its request.
const HELPER_START: Duration = Duration::from_secs(10);

/// What a command is attended to through.
pub(super) struct Streams {
    /// The watcher; none where the warm helper started the command.
    pub(super) watcher: Option<HelperProcess>,
    pub(super) control: UnixStream,
    pub(super) out: Receiver,
    pub(super) error: Receiver,
    /// How much of the request is in the socket already.
    pub(super) sent_bytes: usize,
}

impl Streams {
    /// Sends what is not in the socket yet, while the helper reads: a script may be longer than that holds.
    pub(super) async fn send(&mut self, request: &[u8], rules: Option<&Rules>) -> io::Result<()> {
        let sent = async {
            let rest = request.get(self.sent_bytes..).unwrap_or_default();
            self.control.write_all(rest).await?;
            let Some(rules) = rules else { return Ok(()) };
            let send = || Ok(send_with(&self.control, b"R", &[rules.as_fd()])?);
            self.control.async_io(Interest::WRITABLE, send).await
        };
        tokio::time::timeout(HELPER_START, sent).await.map_err(|_| Errno::TIMEDOUT)?
    }
}

fn open_folder(command: &Command) -> Result<OwnedFd, CommandError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(&command.folder, flags, Mode::empty()).map_err(|errno| CommandError::Folder {
        folder: command.folder.clone(),
        source: errno.into(),
    })
}

/// Opens what a command is attended to through, and has it started. Of `request` there is, before
/// anybody waits for it, what the socket holds.
pub(super) fn start(command: &Command, via: &Via, request: &[u8]) -> Result<Streams, CommandError> {
    let failed = |source| CommandError::Helper { source };
    HelperProcess::reap_left();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
    let (out, out_end) = io::pipe().map_err(failed)?;
    let (error, error_end) = io::pipe().map_err(failed)?;
    for pipe in [&out, &error] {
        // Refused to a user who holds many; then the usual size has to do.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    }
    ours.set_nonblocking(true).map_err(failed)?;
    // A socket that takes nothing yet gets it later.
    let sent_bytes = (&ours).write(request).unwrap_or_default();
    let ends = [OwnedFd::from(theirs), out_end.into(), error_end.into()];
    let watcher = match via {
        Via::Fresh => Some(start_helper(&open_folder(command)?, ends).map_err(failed)?),
        Via::Warm(helper) => {
            send(helper, &ends).map_err(failed)?;
            None
        }
    };
    let receiver = |pipe: io::PipeReader| Receiver::from_file(File::from(OwnedFd::from(pipe)));
    Ok(Streams {
        watcher,
        control: UnixStream::from_std(ours).map_err(failed)?,
        out: receiver(out).map_err(failed)?,
        error: receiver(error).map_err(failed)?,
        sent_bytes,
    })
}

fn send(helper: &WarmHelper, ends: &[OwnedFd; 3]) -> io::Result<()> {
    let [control, out, error] = ends;
    Ok(helper.send_call(control.as_fd(), out.as_fd(), error.as_fd())?)
}
