//! Attends to one command while it runs: reads what it prints, hears what the helper reports, and
//! brings it to an end when its time is up or the caller cancels.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::printed::Printed;
use super::start::{Streams, start};
use super::{Command, CommandError, Exit, Launch, LimitReached, Via};
use crate::helper::HelperProcess;
use crate::journal::{Checkpoint, Refused, watch};
use crate::linux::mark::Mark;
use crate::linux::notify::Listener;
use crate::linux::pass::receive_with;
use crate::linux::process_tree::kill_left;
use crate::linux::request::{Confinement, KILL, REPORT_BYTES, Report, Request, STOP, Sendable};
use crate::missing::SandboxError;
use crate::output::Stream;
use crate::profile::Limits;
use crate::room::{RoomTaken, RoomWatch};
use crate::tier::Tier;

/// Between asking a command to end and killing it.
const GRACE: Duration = Duration::from_secs(2);

/// How long pipes are read after the shell ended: what it printed is in them already, so this is
/// for a machine under load.
const DRAIN: Duration = Duration::from_millis(200);

/// How long the helper may take for what is left to do before it is ended itself. It gives up on
/// processes that do not die after 2 s.
const HELPER_SLACK: Duration = Duration::from_secs(3);

/// Stands for a time limit that the clock cannot add up.
const FAR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// One read takes at most this much. The kernel's pipes hold 64 KiB unless asked for more.
const READ_BYTES: usize = 64 * 1024;

/// Why we ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    TimedOut,
    Cancelled,
}

/// What happens when the time of a phase is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The command runs; then it is asked to end.
    Running,
    /// The shell ended; then pipes are not read any more.
    Draining,
    /// The helper ends what is left; then the helper itself is asked to end.
    Stopping,
    /// The watcher ends everything; then it is killed.
    Forcing,
}

pub(super) struct Running {
    control: Option<UnixStream>,
    out: Option<Receiver>,
    error: Option<Receiver>,
    /// None where the warm helper started the command: its first process ends with the socket.
    watcher: Option<HelperProcess>,
    /// Ends with its last clone, and every call with it.
    _via: Via,
    tier: Tier,
    folder: PathBuf,
    phase: Phase,
    deadline: Instant,
    ended: Option<Ended>,
    report: Option<Exit>,
    limit: Option<LimitReached>,
    limits: Option<Limits>,
    room: RoomWatch,
    started: bool,
    session: Option<Pid>,
    /// None where the kernel ends the command with its namespace.
    mark: Option<Mark>,
    /// Bytes of a report that is not complete yet.
    partial: Vec<u8>,
    /// Descriptors that came with reports.
    listeners: Vec<OwnedFd>,
    checkpoint: Option<Checkpoint>,
    is_unwatched: bool,
    within_walls: bool,
    /// Without namespaces, what may be written: nothing else holds permissions and the like.
    rights_beneath: Option<Vec<PathBuf>>,
    /// Folders of the workspace in which nothing may be written.
    held: Vec<PathBuf>,
    watch_ended: Option<oneshot::Receiver<Refused>>,
    buffer: Vec<u8>,
}

impl Running {
    pub(super) async fn start(
        command: &Command,
        shells: Vec<OsString>,
        launch: Launch,
        started_at: Instant,
    ) -> Result<Self, CommandError> {
        let helper_failed = |source| CommandError::Helper { source };
        if command.script.as_bytes().contains(&0) {
            return Err(CommandError::NulCharacter);
        }
        let rights_beneath = match &launch.confinement {
            Confinement::Walls(walls) if walls.inside.is_none() => Some(walls.writable.clone()),
            _ => None,
        };
        let within_walls = matches!(launch.confinement, Confinement::Walls(_));
        let mark = match launch.via {
            Via::Fresh => Some(Mark::new().map_err(|errno| helper_failed(errno.into()))?),
            Via::Warm(_) => None,
        };
        let request = Request {
            shells,
            script: OsString::from(command.script.as_str()),
            environment: command.environment.clone(),
            confinement: launch.confinement,
            limits: launch.limits,
            grace_ms: u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX),
            watched: launch.checkpoint.as_ref().is_some_and(|known| !known.compares()),
            mark,
        };
        let too_long = || CommandError::Shell { source: Errno::TOOBIG.into() };
        let request = request.to_bytes().ok_or_else(too_long)?;
        // Before it can take any.
        let room = RoomWatch::new(launch.room.as_ref());
        let mut streams = start(command, &launch.via, &request)?;
        streams.send(&request, launch.rules.as_deref()).await.map_err(helper_failed)?;
        let Streams { watcher, control, out, error, .. } = streams;
        Ok(Self {
            control: Some(control),
            out: Some(out),
            error: Some(error),
            tier: launch.tier,
            watcher,
            _via: launch.via,
            folder: command.folder.clone(),
            phase: Phase::Running,
            deadline: started_at.checked_add(command.limits.timeout).unwrap_or(started_at + FAR),
            ended: None,
            report: None,
            limit: None,
            limits: launch.limits,
            room,
            started: false,
            session: None,
            mark,
            partial: Vec::new(),
            listeners: Vec::new(),
            buffer: vec![0; READ_BYTES],
            checkpoint: launch.checkpoint,
            is_unwatched: false,
            within_walls,
            rights_beneath,
            held: launch.held,
            watch_ended: None,
        })
    }

    /// Reads what comes until the command is over.
    pub(super) async fn attend(
        &mut self,
        cancel: &CancellationToken,
        printed: &Printed,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<(), CommandError> {
        while self.control.is_some() || self.out.is_some() || self.error.is_some() {
            let is_running = self.phase == Phase::Running;
            // In this order, so that a command that prints without end cannot hold off its end.
            tokio::select! {
                biased;
                () = cancel.cancelled(), if is_running => self.stop(Ended::Cancelled),
                () = tokio::time::sleep_until(self.deadline) => {
                    if self.phase == Phase::Draining {
                        self.read_rest(printed, on_output);
                    }
                    self.time_is_up();
                }
                taken = self.room.exceeded(), if is_running => self.kill(taken),
                () = readable(self.control.as_ref()) => self.read_reports()?,
                () = ready(self.error.as_ref()) => {
                    self.read_pipe(Stream::Error, printed, on_output);
                    // What prints without end must not hold up what runs beside it.
                    tokio::task::yield_now().await;
                }
                () = ready(self.out.as_ref()) => {
                    self.read_pipe(Stream::Out, printed, on_output);
                    tokio::task::yield_now().await;
                }
            }
        }
        Ok(())
    }

    pub(super) fn exit(&self, after: Duration) -> Exit {
        match (self.ended, self.report) {
            (Some(Ended::TimedOut), _) => Exit::TimedOut { after },
            (Some(Ended::Cancelled), _) => Exit::Cancelled,
            (None, Some(exit)) => exit,
            // Nobody could tell, because the helper was killed, and everything with it.
            (None, None) => Exit::Signal(libc::SIGKILL),
        }
    }

    /// Returns the limit that ended the command; a shell passes the signal of its last program on.
    pub(super) fn limit(&self) -> Option<LimitReached> {
        const BY_SIGNAL: i32 = 128 + libc::SIGXFSZ;
        match self.report {
            Some(Exit::Signal(libc::SIGXFSZ) | Exit::Code(BY_SIGNAL)) => {
                let file_bytes_max = self.limits.and_then(|limits| limits.of_file());
                self.limit.clone().or(Some(LimitReached::FileSize { file_bytes_max }))
            }
            _ => self.limit.clone().or_else(|| self.room.at_end().map(LimitReached::Disk)),
        }
    }

    fn enter(&mut self, phase: Phase, time: Duration) {
        self.phase = phase;
        self.deadline = Instant::now() + time;
    }

    fn stop(&mut self, why: Ended) {
        self.ended = Some(why);
        self.ask_helper(STOP, GRACE);
    }

    /// Without the time in which it would take more.
    fn kill(&mut self, taken: RoomTaken) {
        self.limit = Some(LimitReached::Disk(taken));
        self.ask_helper(KILL, Duration::ZERO);
    }

    fn ask_helper(&mut self, byte: u8, grace: Duration) {
        if let Some(control) = &self.control {
            // A socket that takes no byte belongs to a helper that reads none; the deadline acts.
            let _ = control.try_write(&[byte]);
        }
        self.enter(Phase::Stopping, grace + HELPER_SLACK);
    }

    fn time_is_up(&mut self) {
        match self.phase {
            Phase::Running => self.stop(Ended::TimedOut),
            Phase::Draining => {
                self.out = None;
                self.error = None;
                self.enter(Phase::Stopping, HELPER_SLACK);
            }
            Phase::Stopping => {
                match &self.watcher {
                    Some(watcher) => watcher.signal(Signal::TERM),
                    // The first process of the namespace ends when this socket does.
                    None => self.control = None,
                }
                self.enter(Phase::Forcing, HELPER_SLACK);
            }
            Phase::Forcing => {
                if let Some(watcher) = &self.watcher {
                    watcher.signal(Signal::KILL);
                }
                self.control_closed();
                self.out = None;
                self.error = None;
            }
        }
    }

    /// The helper is gone, and did not say that everything that came from the command is.
    fn control_closed(&mut self) {
        if let Some(mark) = self.mark {
            kill_left(self.session, mark);
        }
        self.all_ended();
    }

    /// The helper has ended, or is about to; that need not be waited for.
    fn all_ended(&mut self) {
        self.control = None;
        if self.phase != Phase::Draining {
            self.enter(Phase::Draining, DRAIN);
        }
    }

    fn read_reports(&mut self) -> Result<(), CommandError> {
        let mut bytes = [0; 64];
        let Some(control) = &self.control else { return Ok(()) };
        let read = control.try_io(Interest::READABLE, || Ok(receive_with(control, &mut bytes)?));
        let read = read.map(|(length, handles)| {
            self.listeners.extend(handles);
            length
        });
        match read {
            Ok(0) => self.control_closed(),
            Ok(length) => self.partial.extend_from_slice(bytes.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.control_closed(),
        }
        if self.control.is_none()
            && !self.started
            && self.partial.is_empty()
            && self.ended.is_none()
        {
            // The helper died before it started anything.
            return Err(CommandError::Helper { source: Errno::PIPE.into() });
        }
        while let Some((bytes, rest)) = self.partial.split_first_chunk::<REPORT_BYTES>() {
            let report = Report::from_bytes(*bytes);
            self.partial = rest.to_vec();
            self.take(report)?;
        }
        Ok(())
    }

    fn take(&mut self, report: Option<Report>) -> Result<(), CommandError> {
        let error = io::Error::from_raw_os_error;
        match report {
            Some(Report::Started(pid)) => {
                self.started = true;
                self.session = Pid::from_raw(pid);
            }
            Some(Report::Exited(code)) => self.shell_ended(Exit::Code(code)),
            Some(Report::Signalled(signal)) => self.shell_ended(Exit::Signal(signal)),
            Some(Report::Done) => self.all_ended(),
            Some(Report::NoShell(libc::ENOENT)) => return Err(CommandError::ShellMissing),
            Some(Report::NoShell(code)) => {
                return Err(CommandError::Shell { source: error(code) });
            }
            Some(Report::Failed(code)) => return Err(CommandError::Helper { source: error(code) }),
            Some(Report::NoFolder(code)) => {
                return Err(CommandError::Folder {
                    folder: self.folder.clone(),
                    source: error(code),
                });
            }
            Some(Report::Refused(refused)) => {
                return Err(CommandError::Walls(SandboxError::refused(self.tier, refused)));
            }
            Some(Report::Watched) => self.watch(),
            Some(Report::NotWatched(_)) => {
                self.is_unwatched = true;
                if let Some(checkpoint) = &self.checkpoint {
                    checkpoint.note_unwatchable();
                }
            }
            Some(Report::MemoryExceeded) => {
                let memory_bytes_max = self.limits.map_or(u64::MAX, |it| it.memory_bytes_max);
                self.limit = Some(LimitReached::Memory { memory_bytes_max });
            }
            Some(Report::ProcessesExceeded) => {
                let processes_max = self.limits.map_or(u64::MAX, |it| it.processes_max);
                self.limit = Some(LimitReached::Processes { processes_max });
            }
            Some(Report::Unshared | Report::Ready | Report::Waiting(_)) | None => {
                return Err(CommandError::Helper { source: Errno::BADMSG.into() });
            }
        }
        Ok(())
    }

    /// Answers the kernel's questions about the command from now on.
    fn watch(&mut self) {
        let (Some(listener), Some(checkpoint)) = (self.listeners.pop(), self.checkpoint.clone())
        else {
            return self.not_watched();
        };
        let (ended, watch_ended) = oneshot::channel();
        let held = (self.rights_beneath.take(), std::mem::take(&mut self.held));
        let listener = Listener::new(listener, self.within_walls);
        match watch(listener, checkpoint, held, self.room.room(), ended) {
            Ok(()) => self.watch_ended = Some(watch_ended),
            // The listener is closed: every call that changes something fails.
            Err(_) => self.not_watched(),
        }
    }

    fn not_watched(&mut self) {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.note_not_watched();
        }
    }

    /// Whether nothing ran, because the kernel refused to ask about it.
    pub(super) fn is_unwatched(&self) -> bool {
        self.is_unwatched
    }

    /// Waits until the last question was answered, and returns what was refused; `None` where nobody
    /// watched. Whoever could ask has ended already.
    pub(super) async fn watched(&mut self) -> Option<Refused> {
        let watch_ended = self.watch_ended.take()?;
        if let Ok(refused) = tokio::time::timeout(HELPER_SLACK, watch_ended).await {
            return refused.ok();
        }
        // Something that could not be ended goes on.
        self.not_watched();
        None
    }

    fn shell_ended(&mut self, exit: Exit) {
        self.report = Some(exit);
        // After a request to end, the rest of the tree has its grace still.
        if self.phase == Phase::Running {
            self.enter(Phase::Draining, DRAIN);
        }
    }

    fn read_pipe(
        &mut self,
        stream: Stream,
        printed: &Printed,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) {
        let slot = match stream {
            Stream::Out => &mut self.out,
            Stream::Error => &mut self.error,
        };
        let Some(pipe) = slot else { return };
        match pipe.try_read(&mut self.buffer) {
            Ok(0) => *slot = None,
            Ok(length) => {
                let bytes = self.buffer.get(..length).unwrap_or_default();
                printed.push(stream, bytes, on_output);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => *slot = None,
        }
    }

    /// Reads what is in the pipes by now: on a busy machine this program may not have run since the shell ended.
    /// No more than that, for others may print without end.
    fn read_rest(&mut self, printed: &Printed, on_output: &mut (dyn FnMut(Stream, &str) + Send)) {
        for (stream, pipe) in [(Stream::Error, &self.error), (Stream::Out, &self.out)] {
            let Some(pipe) = pipe else { continue };
            let mut left = rustix::io::ioctl_fionread(pipe).unwrap_or_default();
            while left > 0 {
                let Ok(length) = rustix::io::read(pipe, &mut self.buffer) else { break };
                let bytes = self.buffer.get(..length).unwrap_or_default();
                printed.push(stream, bytes, on_output);
                left = if length == 0 { 0 } else { left.saturating_sub(length as u64) };
            }
        }
    }
}

/// Ready when there is something to read; never for a stream that is closed.
async fn ready(pipe: Option<&Receiver>) {
    match pipe {
        // An error shows at the read that follows.
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

async fn readable(control: Option<&UnixStream>) {
    match control {
        Some(control) => drop(control.readable().await),
        None => std::future::pending().await,
    }
}
