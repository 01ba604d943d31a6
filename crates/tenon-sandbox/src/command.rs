//! Runs a shell script in a process tree that ends with it.
//!
//! The script runs under a helper process (see `linux/helper.rs`) that reports its end and ends
//! what it left behind. A command is finished when its shell ends, not when the last holder of a
//! pipe lets go. Time and output have limits that must be given.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::linux::helper;
use crate::linux::process_tree::kill_session;
use crate::linux::request::{REPORT_BYTES, Report, Request, STOP};
use crate::output::{CleanText, OutputBuffer, Piece, Stream};
use crate::profile::Profile;
use crate::spill::{SpillFile, SpillTarget};

/// Between asking a command to end and killing it (SPEC 21).
const GRACE: Duration = Duration::from_secs(2);

/// How long pipes are read after the shell ended: what it printed is in them already, so this is
/// for a machine under load.
const DRAIN: Duration = Duration::from_millis(200);

/// How long the helper may take for what is left to do before it is ended itself. It gives up on
/// processes that do not die after 2 s.
const HELPER_SLACK: Duration = Duration::from_secs(3);

/// How long the helper may take to start and read its request.
const HELPER_START: Duration = Duration::from_secs(10);

/// Stands for a time limit that the clock cannot add up.
const FAR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// One read takes at most this much. The kernel's pipes hold 64 KiB unless asked for more.
const READ_BYTES: usize = 64 * 1024;

/// Room in a pipe, so that a command that prints much does not wait for every read.
const PIPE_BYTES: usize = 256 * 1024;

/// A shell script and everything it runs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What `bash -c` would get; may be longer than an argument can be.
    pub script: String,
    /// Where it runs.
    pub folder: PathBuf,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What it may read, write and reach.
    pub profile: Profile,
    /// Its limits.
    pub limits: CommandLimits,
}

/// The limits of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLimits {
    /// After this it is asked to end, and killed two seconds later.
    pub timeout: Duration,
    /// How many bytes of each stream are kept, head and tail together.
    pub output_bytes_max: usize,
    /// Where the whole text goes when more is printed than is kept.
    pub spill: Option<SpillTarget>,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// What it printed, cleaned, in the order in which it arrived; head and tail of each stream.
    pub pieces: Vec<Piece>,
    /// How many bytes it printed.
    pub bytes_total: u64,
    /// How many bytes of cleaned text are in no piece.
    pub left_out_bytes: u64,
    /// The file with the whole text, if something was left out and could be written there.
    pub spilled_to: Option<PathBuf>,
    /// From start to end.
    pub duration: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal; see [`signal_name`].
    Signal(i32),
    /// By us, because its time was up.
    TimedOut {
        /// The time it had.
        after: Duration,
    },
    /// By us, because the caller cancelled.
    Cancelled,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A script cannot have a NUL character in it.
    #[error("the command has a NUL character")]
    NulCharacter,
    /// The folder to run in cannot be opened.
    #[error("cannot run in {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no bash on this machine.
    #[error("bash is not installed: it is neither in /bin and /usr/bin nor on PATH")]
    ShellMissing,
    /// Bash is there and could not be started.
    #[error("bash cannot be started: {source}")]
    Shell {
        /// What the operating system said.
        source: io::Error,
    },
    /// The profile confines, and this build has nothing to enforce it with. Nothing was run.
    #[error("this build cannot confine commands; nothing was run")]
    NotConfined,
    /// The helper process could not be started or did not answer.
    #[error("cannot start the process that runs commands: {source}")]
    Helper {
        /// What the operating system said.
        source: io::Error,
    },
}

impl Command {
    /// Runs the command to its end. Both streams are read all the time; `on_output` gets the
    /// cleaned text as it comes, in whole lines.
    ///
    /// Needs a tokio runtime with I/O and time. A future that is dropped ends the command.
    ///
    /// # Errors
    /// [`CommandError`] when it did not run. A command that fails is an [`Output`].
    pub async fn run(
        self,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        let shells = shells(&self.environment);
        self.run_with(shells, cancel, on_output).await
    }

    async fn run_with(
        self,
        shells: Vec<OsString>,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        let started_at = Instant::now();
        let mut running = Running::start(&self, shells, started_at).await?;
        let mut printed = Printed {
            buffer: OutputBuffer::new(self.limits.output_bytes_max),
            target: self.limits.spill,
            file: None,
            on_output,
        };
        running.attend(cancel, &mut printed).await?;
        let exit = running.exit(self.limits.timeout);
        drop(running);
        printed.finish();
        Ok(Output {
            exit,
            pieces: printed.buffer.pieces(),
            bytes_total: printed.buffer.bytes_total(),
            left_out_bytes: printed.buffer.left_out_bytes(),
            spilled_to: printed.file.map(|file| file.path().to_path_buf()),
            duration: started_at.elapsed(),
        })
    }
}

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

struct Running {
    control: Option<UnixStream>,
    out: Option<Receiver>,
    error: Option<Receiver>,
    helper: HelperProcess,
    phase: Phase,
    deadline: Instant,
    ended: Option<Ended>,
    report: Option<Exit>,
    session: Option<Pid>,
    /// Bytes of a report that is not complete yet.
    partial: Vec<u8>,
    buffer: Vec<u8>,
}

impl Running {
    async fn start(
        command: &Command,
        shells: Vec<OsString>,
        started_at: Instant,
    ) -> Result<Self, CommandError> {
        let helper_failed = |source| CommandError::Helper { source };
        if command.script.as_bytes().contains(&0) {
            return Err(CommandError::NulCharacter);
        }
        let request = Request {
            shells,
            script: OsString::from(command.script.as_str()),
            environment: command.environment.clone(),
            profile: command.profile.clone(),
            grace_ms: u32::try_from(GRACE.as_millis()).unwrap_or(u32::MAX),
        };
        let too_long = || CommandError::Shell { source: Errno::TOOBIG.into() };
        let request = request.to_bytes().ok_or_else(too_long)?;
        let folder = open_folder(command)?;
        let (helper, mut control, out, error) = start_helper(&folder).map_err(helper_failed)?;
        // Sent while the helper reads; a script may be longer than the socket holds.
        match tokio::time::timeout(HELPER_START, control.write_all(&request)).await {
            Ok(Ok(())) => {}
            Ok(Err(source)) => return Err(helper_failed(source)),
            Err(_) => return Err(helper_failed(Errno::TIMEDOUT.into())),
        }
        Ok(Self {
            control: Some(control),
            out: Some(out),
            error: Some(error),
            helper,
            phase: Phase::Running,
            deadline: started_at.checked_add(command.limits.timeout).unwrap_or(started_at + FAR),
            ended: None,
            report: None,
            session: None,
            partial: Vec::new(),
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Reads what comes until the command is over.
    async fn attend(
        &mut self,
        cancel: &CancellationToken,
        printed: &mut Printed<'_>,
    ) -> Result<(), CommandError> {
        while self.control.is_some() || self.out.is_some() || self.error.is_some() {
            let is_running = self.phase == Phase::Running;
            // In this order, so that a command that prints without end cannot hold off its end.
            tokio::select! {
                biased;
                () = cancel.cancelled(), if is_running => self.stop(Ended::Cancelled),
                () = tokio::time::sleep_until(self.deadline) => self.time_is_up(),
                () = readable(self.control.as_ref()) => self.read_reports()?,
                () = ready(self.error.as_ref()) => self.read_pipe(Stream::Error, printed),
                () = ready(self.out.as_ref()) => self.read_pipe(Stream::Out, printed),
            }
        }
        Ok(())
    }

    fn exit(&self, after: Duration) -> Exit {
        match (self.ended, self.report) {
            (Some(Ended::TimedOut), _) => Exit::TimedOut { after },
            (Some(Ended::Cancelled), _) => Exit::Cancelled,
            (None, Some(exit)) => exit,
            // Nobody could tell, because the helper was killed, and everything with it.
            (None, None) => Exit::Signal(libc::SIGKILL),
        }
    }

    fn enter(&mut self, phase: Phase, time: Duration) {
        self.phase = phase;
        self.deadline = Instant::now() + time;
    }

    fn stop(&mut self, why: Ended) {
        self.ended = Some(why);
        if let Some(control) = &self.control {
            // A socket that takes no byte belongs to a helper that reads none; the deadline acts.
            let _ = control.try_write(&[STOP]);
        }
        self.enter(Phase::Stopping, GRACE + HELPER_SLACK);
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
                self.helper.signal(Signal::TERM);
                self.enter(Phase::Forcing, HELPER_SLACK);
            }
            Phase::Forcing => {
                self.helper.signal(Signal::KILL);
                self.control_closed();
                self.out = None;
                self.error = None;
            }
        }
    }

    /// The helper is gone, and with it, as far as it could, everything that came from the command.
    fn control_closed(&mut self) {
        self.control = None;
        if self.report.is_none()
            && let Some(session) = self.session
        {
            kill_session(session);
        }
        if self.phase != Phase::Draining {
            self.enter(Phase::Draining, DRAIN);
        }
    }

    fn read_reports(&mut self) -> Result<(), CommandError> {
        let mut bytes = [0; 64];
        let read = match &self.control {
            Some(control) => control.try_read(&mut bytes),
            None => return Ok(()),
        };
        match read {
            Ok(0) => self.control_closed(),
            Ok(length) => self.partial.extend_from_slice(bytes.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.control_closed(),
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
            Some(Report::Started(pid)) => self.session = Pid::from_raw(pid),
            Some(Report::Exited(code)) => self.shell_ended(Exit::Code(code)),
            Some(Report::Signalled(signal)) => self.shell_ended(Exit::Signal(signal)),
            // The helper is about to end; that need not be waited for.
            Some(Report::Done) => self.control_closed(),
            Some(Report::NoShell(libc::ENOENT)) => return Err(CommandError::ShellMissing),
            Some(Report::NoShell(code)) => {
                return Err(CommandError::Shell { source: error(code) });
            }
            Some(Report::Failed(code)) => return Err(CommandError::Helper { source: error(code) }),
            Some(Report::NotConfined) => return Err(CommandError::NotConfined),
            None => return Err(CommandError::Helper { source: Errno::BADMSG.into() }),
        }
        Ok(())
    }

    fn shell_ended(&mut self, exit: Exit) {
        self.report = Some(exit);
        // After a request to end, the rest of the tree has its grace still.
        if self.phase == Phase::Running {
            self.enter(Phase::Draining, DRAIN);
        }
    }

    fn read_pipe(&mut self, stream: Stream, printed: &mut Printed<'_>) {
        let slot = match stream {
            Stream::Out => &mut self.out,
            Stream::Error => &mut self.error,
        };
        let Some(pipe) = slot else { return };
        match pipe.try_read(&mut self.buffer) {
            Ok(0) => *slot = None,
            Ok(length) => printed.take(stream, self.buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => *slot = None,
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

/// What came out of the command so far.
struct Printed<'a> {
    buffer: OutputBuffer,
    target: Option<SpillTarget>,
    file: Option<SpillFile>,
    on_output: &'a mut (dyn FnMut(Stream, &str) + Send),
}

impl Printed<'_> {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let text = self.buffer.clean(stream, bytes);
        self.keep(stream, &text);
    }

    fn finish(&mut self) {
        for stream in [Stream::Out, Stream::Error] {
            let text = self.buffer.clean_rest(stream);
            self.keep(stream, &text);
        }
    }

    fn keep(&mut self, stream: Stream, text: &CleanText) {
        if text.as_str().is_empty() {
            return;
        }
        (self.on_output)(stream, text.as_str());
        if self.file.is_none() && !self.buffer.has_room(text) {
            self.begin_spill();
        }
        self.buffer.keep(text);
        if let Some(file) = &mut self.file
            && file.push(text.as_str()).is_err()
        {
            // Half a text under the name of the whole is worse than none.
            file.remove();
            self.file = None;
        }
    }

    /// Everything so far is still in the buffer: from here on the file has what it has not.
    fn begin_spill(&mut self) {
        let Some(target) = self.target.take() else { return };
        self.file = target.create().ok();
        for piece in self.buffer.pieces() {
            if let Some(file) = &mut self.file
                && file.push(&piece.text).is_err()
            {
                file.remove();
                self.file = None;
            }
        }
    }
}

/// Helpers that end by themselves, now that their socket is closed. Nobody waits for them; they
/// are reaped when the next command starts or ends.
static LEFT_HELPERS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// The watcher, a child of this process until it is reaped.
struct HelperProcess(Option<Child>);

impl HelperProcess {
    fn signal(&self, signal: Signal) {
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

#[expect(clippy::disallowed_methods, reason = "the one place where processes are started")]
fn start_helper(folder: &OwnedFd) -> io::Result<(HelperProcess, UnixStream, Receiver, Receiver)> {
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

/// Returns where bash may be: the usual places, then the search path.
fn shells(environment: &[(OsString, OsString)]) -> Vec<OsString> {
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| &**value);
    let folders = path.unwrap_or_default().as_bytes().split(|byte| *byte == b':');
    let folders = folders.filter(|folder| folder.starts_with(b"/")).map(OsStr::from_bytes);
    let mut shells = vec![OsString::from("/bin/bash"), OsString::from("/usr/bin/bash")];
    shells.extend(folders.map(|folder| PathBuf::from(folder).join("bash").into_os_string()));
    shells
}

/// Returns a signal's name, such as `SIGKILL`; `signal N` for one without.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSTKFLT => "SIGSTKFLT",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGPROF => "SIGPROF",
        libc::SIGIO => "SIGIO",
        libc::SIGPWR => "SIGPWR",
        libc::SIGSYS => "SIGSYS",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_machine_without_bash_is_told_so() {
        let command = Command {
            script: "true".to_owned(),
            folder: PathBuf::from("/"),
            environment: Vec::new(),
            profile: Profile::unconfined(),
            limits: CommandLimits { timeout: Duration::MAX, output_bytes_max: 0, spill: None },
        };
        let run = |shell: &str| {
            let shells = vec![OsString::from("/none/bash"), OsString::from(shell)];
            let command = command.clone();
            async move { command.run_with(shells, &CancellationToken::new(), &mut |_, _| {}).await }
        };
        assert!(matches!(run("/none/either").await, Err(CommandError::ShellMissing)));
        assert!(matches!(run("/proc/version").await, Err(CommandError::Shell { .. })));
        assert!(matches!(run("/bin/bash").await, Ok(Output { exit: Exit::Code(0), .. })));
    }

    #[test]
    fn bash_is_looked_for_in_absolute_folders_only() {
        let environment = [("PATH".into(), "/opt/bin:relative:".into())];
        assert_eq!(shells(&environment), ["/bin/bash", "/usr/bin/bash", "/opt/bin/bash"]);
    }
}
