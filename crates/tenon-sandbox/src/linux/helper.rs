//! The process between the agent and a command: starts bash, and ends all that came from it.
//!
//! The program's own file is executed again under the name `tenon-helper`, and a start function
//! that the loader calls before `main` takes over (why before `main`: docs/decisions/0001). It is
//! two processes: the *watcher*, which the agent started, and in it the *keeper*, which starts
//! bash, reports its end and ends what it left behind. A command that kills its parent kills the
//! keeper; then everything falls to the watcher. When the agent dies, both see their socket close.
//!
//! One thread, plain system calls, nothing of the agent's but three descriptors: the control
//! socket as standard input, and the two output pipes.

#![expect(
    unsafe_code,
    reason = "fork, exec and signal calls, and the function that the loader calls"
)]

use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitStatus};

use super::process_tree::{Left, end_descendants, reap, signal_descendants};
use super::request::{REQUEST_BYTES_MAX, Report, Request, STOP};
use crate::linux::landlock;
use crate::profile::Profile;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
compile_error!("the helper relies on the GNU C library, which gives start functions the arguments");

/// The name that makes this program the helper.
pub(crate) const NAME: &CStr = c"tenon-helper";

type StartFunction = extern "C" fn(c_int, *const *const c_char, *const *const c_char);

// SAFETY: an entry of .init_array is a pointer to a function with this signature.
#[used]
#[unsafe(link_section = ".init_array")]
static START: StartFunction = start;

/// One argument of execve is at most 128 KiB, its end counted (MAX_ARG_STRLEN).
const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// Runs a script that is too long for an argument, out of descriptor 3, which it closes first.
/// Like `-c` it leaves `$0`, `$@` and BASH_SOURCE alone and reads nothing from standard input.
const LONG_SCRIPT: &CStr = c"eval \"exec 3<&-; $(</dev/fd/3)\"";

/// The name to start the program under. Whoever uses it has the start function linked in.
pub(crate) fn name() -> &'static OsStr {
    std::hint::black_box(&START);
    OsStr::from_bytes(NAME.to_bytes())
}

extern "C" fn start(count: c_int, arguments: *const *const c_char, _: *const *const c_char) {
    if count < 1 || arguments.is_null() {
        return;
    }
    // SAFETY: the loader gives `count` pointers to strings.
    let first = unsafe { *arguments };
    // SAFETY: as above; a null pointer does not come before the end of the list.
    if first.is_null() || unsafe { CStr::from_ptr(first) } != NAME {
        return;
    }
    watch();
}

fn exit(code: c_int) -> ! {
    // SAFETY: ends the process without running what the program registered for its end, whose
    // start never ran.
    unsafe { libc::_exit(code) }
}

/// The agent's end of things.
struct Control(OwnedFd);

impl Control {
    fn report(&self, report: Report) {
        // An agent that is gone needs no report; that it is gone is seen by polling.
        let _ = rustix::net::send(&self.0, &report.to_bytes(), SendFlags::NOSIGNAL);
    }

    fn fail(&self, errno: Errno) -> ! {
        self.report(Report::Failed(errno.raw_os_error()));
        exit(1);
    }

    fn request(&self) -> Result<Request, Errno> {
        let mut length = [0; 4];
        self.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > REQUEST_BYTES_MAX {
            return Err(Errno::TOOBIG);
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| Errno::TOOBIG)?];
        self.read_exact(&mut bytes)?;
        Request::from_bytes(&bytes).ok_or(Errno::BADMSG)
    }

    fn read_exact(&self, mut bytes: &mut [u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match rustix::io::read(&self.0, &mut *bytes) {
                Ok(0) => return Err(Errno::PIPE),
                Ok(length) => bytes = bytes.get_mut(length..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

/// Signals that arrive as data. Blocked, so that they are neither lost nor deadly.
struct Signals(OwnedFd);

impl Signals {
    fn open() -> Result<Self, Errno> {
        // SAFETY: the set is initialised by sigemptyset before it is used.
        let handle = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        owned(handle).map(Self)
    }

    /// Takes what arrived and says whether anything but the end of a child was among it.
    fn take(&self) -> bool {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut asked_to_end = false;
        let mut bytes = [0_u8; SIZE];
        while let Ok(SIZE) = rustix::io::read(&self.0, &mut bytes) {
            // The signal's number is the first field.
            let [a, b, c, d, ..] = bytes;
            asked_to_end |= u32::from_ne_bytes([a, b, c, d]) != libc::SIGCHLD.cast_unsigned();
        }
        asked_to_end
    }
}

/// What the agent ignores, a command must not inherit; and a process that ignores the end of its
/// children never hears of it.
fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default action needs no function; a number that is no signal is refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

fn unblock_signals() {
    // SAFETY: the set is initialised by sigemptyset before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

fn owned(handle: c_int) -> Result<OwnedFd, Errno> {
    if handle < 0 {
        let code = std::io::Error::last_os_error().raw_os_error();
        return Err(Errno::from_raw_os_error(code.unwrap_or(libc::EIO)));
    }
    // SAFETY: a call just returned it, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(handle) })
}

/// The watcher: prepares everything, starts the keeper, and ends what the keeper could not.
fn watch() -> ! {
    let Ok(control) = take_control() else { exit(2) };
    let prepared = (|| {
        let _ = rustix::thread::set_name(NAME);
        // Ctrl-C on the agent's terminal is the agent's to handle. Fails when we lead a group
        // already, which is as good.
        let _ = rustix::process::setsid();
        rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        become_subreaper()?;
        reset_signals();
        let signals = Signals::open()?;
        Ok((signals, control.request()?))
    })();
    let (signals, request) = match prepared {
        Ok(prepared) => prepared,
        Err(errno) => control.fail(errno),
    };
    if !can_be_enforced(&request.profile) {
        control.report(Report::NotConfined);
        exit(1);
    }
    let watcher = rustix::process::getpid();
    // SAFETY: this process has one thread.
    let keeper = match unsafe { libc::fork() } {
        0 => keep(&control, &signals, &request, watcher),
        pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
            Some(pid) => pid,
            None => control.fail(Errno::AGAIN),
        },
    };
    drop(request);
    close_outputs();
    let mut keeper_ended = false;
    while !keeper_ended {
        let agent_gone = wait_for(&control, PollFlags::RDHUP, &signals, None).control_closed;
        let asked_to_end = signals.take();
        reap(&mut |pid, _| keeper_ended |= pid == keeper);
        if !keeper_ended && (agent_gone || asked_to_end) {
            let _ = rustix::process::kill_process(keeper, Signal::KILL);
            // Its end arrives as a signal; the closed socket must not be asked again.
            while !keeper_ended {
                let mut handles = [PollFd::new(&signals.0, PollFlags::IN)];
                let _ = poll(&mut handles, None);
                signals.take();
                reap(&mut |pid, _| keeper_ended |= pid == keeper);
            }
        }
    }
    end_descendants(|_, _| {});
    exit(0);
}

/// Moves the control socket out of the way of what a command inherits, and closes all else.
fn take_control() -> Result<Control, Errno> {
    // SAFETY: the agent starts the helper with a socket as standard input; what else it is fails
    // at the first use.
    let input = unsafe { BorrowedFd::borrow_raw(0) };
    rustix::net::sockopt::socket_type(input)?;
    // SAFETY: no descriptor from 3 upwards is owned by anything in this process.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
    let control = rustix::io::fcntl_dupfd_cloexec(input, 10)?;
    let null = open_null()?;
    // SAFETY: replaces standard input, which nothing owns.
    unsafe { libc::dup2(null.as_raw_fd(), 0) };
    Ok(Control(control))
}

fn open_null() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

/// A pipe ends for its reader when the last writer closes it, so only the command may keep it.
fn close_outputs() {
    if let Ok(null) = open_null() {
        // SAFETY: replaces standard output and error, which nothing owns.
        unsafe {
            libc::dup2(null.as_raw_fd(), 1);
            libc::dup2(null.as_raw_fd(), 2);
        }
    }
}

fn become_subreaper() -> Result<(), Errno> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
}

/// What a wait ended with.
struct Woken {
    control_closed: bool,
    control_readable: bool,
}

fn wait_for(
    control: &Control,
    events: PollFlags,
    signals: &Signals,
    until: Option<Instant>,
) -> Woken {
    let mut handles = [PollFd::new(&control.0, events), PollFd::new(&signals.0, PollFlags::IN)];
    let timeout = until.map(|until| {
        let rest = until.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: i64::try_from(rest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(rest.subsec_nanos()),
        }
    });
    // An interruption is a wake-up like any other.
    let _ = poll(&mut handles, timeout.as_ref());
    let [control, _] = &handles;
    let events = control.revents();
    Woken {
        control_closed: events.intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR),
        control_readable: events.contains(PollFlags::IN),
    }
}

/// The keeper: starts the shell, reports its end, and ends everything that came from it.
fn keep(control: &Control, signals: &Signals, request: &Request, watcher: Pid) -> ! {
    let started = become_subreaper().and_then(|()| {
        // A signal that this process takes as a request, so that it still ends the command.
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        if rustix::process::getppid() != Some(watcher) {
            return Err(Errno::SRCH);
        }
        start_shell(control, request)
    });
    let shell = match started {
        Ok(shell) => shell,
        Err(errno) => control.fail(errno),
    };
    control.report(Report::Started(shell.as_raw_nonzero().get()));
    close_outputs();
    let grace = Duration::from_millis(u64::from(request.grace_ms));
    let shell_ended = Cell::new(false);
    let mut reaped = |pid: Pid, status: WaitStatus| {
        if pid == shell {
            shell_ended.set(true);
            control.report(report_of(status));
        }
    };
    let mut kill_at: Option<Instant> = None;
    loop {
        let woken = wait_for(control, PollFlags::IN | PollFlags::RDHUP, signals, kill_at);
        let asked_to_end = signals.take();
        if reap(&mut reaped) == Left::None || asked_to_end || woken.control_closed {
            break;
        }
        if woken.control_readable && kill_at.is_none() {
            let mut byte = [0];
            if !matches!(rustix::io::read(&control.0, &mut byte), Ok(1)) || byte != [STOP] {
                break;
            }
            kill_at = Some(Instant::now() + grace);
            let keeper = rustix::process::getpid();
            signal_descendants(keeper, Signal::TERM);
            // A stopped process takes the signal only when it goes on.
            signal_descendants(keeper, Signal::CONT);
        }
        // Without a request to end, the command ends with its shell.
        let time_is_up = kill_at.is_some_and(|kill_at| Instant::now() >= kill_at);
        if time_is_up || kill_at.is_none() && shell_ended.get() {
            break;
        }
    }
    if end_descendants(&mut reaped) == Left::None {
        control.report(Report::Done);
    }
    exit(0);
}

fn report_of(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited(code),
        (None, Some(signal)) => Report::Signalled(signal),
        (None, None) => Report::Failed(libc::EIO),
    }
}

fn start_shell(control: &Control, request: &Request) -> Result<Pid, Errno> {
    let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(|_| Errno::INVAL);
    let is_long = request.script.len() > ARGUMENT_BYTES_MAX;
    let script = if is_long { LONG_SCRIPT.to_owned() } else { text(&request.script)? };
    let long_script = if is_long { Some(script_file(request.script.as_bytes())?) } else { None };
    let shells = request.shells.iter().map(|shell| text(shell)).collect::<Result<Vec<_>, _>>()?;
    let mut environment = Vec::with_capacity(request.environment.len());
    for (name, value) in &request.environment {
        let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
        environment.push(CString::new(entry).map_err(|_| Errno::INVAL)?);
    }
    let arguments = [c"bash".as_ptr(), c"-c".as_ptr(), script.as_ptr(), std::ptr::null()];
    let mut environment: Vec<*const c_char> =
        environment.iter().map(|entry| entry.as_ptr()).collect();
    environment.push(std::ptr::null());
    let keeper = rustix::process::getpid();
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        0 => {
            if confine(&request.profile).is_none() {
                control.report(Report::NotConfined);
                exit(127);
            }
            let errno = exec_shell(&shells, &arguments, &environment, long_script.as_ref(), keeper);
            control.report(Report::NoShell(errno.raw_os_error()));
            exit(127);
        }
        pid => Pid::from_raw(pid).filter(|_| pid > 0).ok_or(Errno::AGAIN),
    }
}

fn script_file(script: &[u8]) -> Result<OwnedFd, Errno> {
    let file = rustix::fs::memfd_create(c"script", MemfdFlags::CLOEXEC)?;
    let mut rest = script;
    while !rest.is_empty() {
        let length = rustix::io::retry_on_intr(|| rustix::io::write(&file, rest))?;
        rest = rest.get(length..).unwrap_or_default();
    }
    // Not 3 already, where its copy for the shell goes.
    rustix::io::fcntl_dupfd_cloexec(&file, 10)
}

/// Whether this helper can hold a command to `profile`: it holds writes, and neither reads nor the
/// network.
fn can_be_enforced(profile: &Profile) -> bool {
    let Profile { readable, network, .. } = Profile::unconfined();
    profile.readable == readable && profile.network == network
}

/// In the child: gives up for ever what the profile does not grant. `None` if the kernel does not
/// take it away.
fn confine(profile: &Profile) -> Option<()> {
    if profile.writable == Profile::unconfined().writable {
        return Some(());
    }
    landlock::confine_writes(&profile.writable).ok()
}

/// In the child: becomes the shell, or says why not.
fn exec_shell(
    shells: &[CString],
    arguments: &[*const c_char],
    environment: &[*const c_char],
    long_script: Option<&OwnedFd>,
    keeper: Pid,
) -> Errno {
    // A session of its own: `kill 0` in a script means the script's processes.
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if rustix::process::getppid() != Some(keeper) {
        return Errno::SRCH;
    }
    if let Some(file) = long_script {
        // SAFETY: what this process had under 3 it does not use any more before it is the shell.
        if unsafe { libc::dup2(file.as_fd().as_raw_fd(), 3) } < 0 {
            return Errno::BADF;
        }
    }
    unblock_signals();
    let mut errno = Errno::NOENT;
    for shell in shells {
        // SAFETY: both lists end with a null pointer and their strings outlive the call.
        unsafe { libc::execve(shell.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
        let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        errno = Errno::from_raw_os_error(code);
        if errno != Errno::NOENT {
            break;
        }
    }
    errno
}
