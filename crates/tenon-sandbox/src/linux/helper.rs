//! The process between the agent and a command: starts bash, and ends all that came from it.
//!
//! The program's own file is executed again under the name `tenon-helper`, and a start function
//! that the loader calls before `main` takes over (why before `main`: docs/decisions/0001). It is
//! two processes: the *watcher*, which the agent started, and in it the *keeper*, which starts
//! bash, reports its end and ends what it left behind. A command that kills its parent kills the
//! keeper; then everything falls to the watcher. When the agent dies, both see their socket close.
//! Where both are killed, the agent ends what has the command's mark (see `mark.rs`).
//! With the argument `warm` it is the process that holds namespaces (see `warm.rs`) instead, with
//! `outside` the one that has bubblewrap make them (see `bubblewrap.rs`).
//!
//! One thread, plain system calls, nothing of the agent's but three descriptors: the control
//! socket as standard input, and the two output pipes.

#![expect(unsafe_code, reason = "fork, and the function that the loader calls")]

use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitStatus};

use super::bubblewrap;
use super::confine::Ahead;
use super::control::{Control, Signals, close_outputs, exit, made, reset_signals, wait_for};
use super::inside;
use super::landlock::Rules;
use super::limits::no_core;
use super::others::Others;
use super::pass::receive_with;
use super::process_tree::{Left, end_descendants, reap, signal_descendants};
use super::request::{HELPER_NAME, Report, Request, STOP};
use super::shell::start_shell;
use super::warm;
use super::watch::Watch;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
compile_error!("the helper relies on the GNU C library, which gives start functions the arguments");

/// The arguments that make it the one that holds the namespaces, the one that becomes bubblewrap,
/// and the first process in what bubblewrap made.
pub(crate) const WARM: &CStr = c"warm";
pub(crate) const OUTSIDE: &CStr = c"outside";

/// How the watcher is called in lists of processes: whoever ends all that is called tenon has it do its work.
const WATCHER_NAME: &CStr = c"call-watcher";

/// How long the keeper may take to end everything before it is killed. Where it can do that in one
/// step (see `others.rs`), the watcher cannot.
const KEEPER_ENDS_WITHIN: Duration = Duration::from_secs(1);

type StartFunction = extern "C" fn(c_int, *const *const c_char, *const *const c_char);

// SAFETY: an entry of .init_array is a pointer to a function with this signature.
#[used]
#[unsafe(link_section = ".init_array")]
static START: StartFunction = start;

/// The name to start the program under. Whoever uses it has the start function linked in.
pub(crate) fn name() -> &'static OsStr {
    std::hint::black_box(&START);
    OsStr::from_bytes(HELPER_NAME.to_bytes())
}

extern "C" fn start(count: c_int, arguments: *const *const c_char, _: *const *const c_char) {
    if count < 1 || arguments.is_null() {
        return;
    }
    let argument = |number: c_int| {
        let number = usize::try_from(number).ok().filter(|_| number < count)?;
        // SAFETY: the loader gives `count` pointers to strings, none of them null.
        Some(unsafe { CStr::from_ptr(*arguments.add(number)) })
    };
    match (argument(0), argument(1)) {
        (Some(name), None) if name == HELPER_NAME => watch(),
        (Some(name), Some(kind)) if name == HELPER_NAME && kind == WARM => warm::serve(),
        (Some(name), Some(kind)) if name == HELPER_NAME && kind == OUTSIDE => bubblewrap::enter(),
        (Some(name), Some(kind)) if name == bubblewrap::PROGRAM && kind == HELPER_NAME => {
            inside::run_enclosed(argument(2).is_some())
        }
        _ => {}
    }
}

/// The watcher: prepares everything, starts the keeper, and ends what the keeper could not.
fn watch() -> ! {
    let Ok(control) = Control::take() else { exit(2) };
    let prepared = (|| {
        let _ = rustix::thread::set_name(WATCHER_NAME);
        // Ctrl-C on the agent's terminal is the agent's to handle. Fails when we lead a group
        // already, which is as good.
        let _ = rustix::process::setsid();
        no_core()?;
        become_subreaper()?;
        reset_signals();
        let signals = Signals::open()?;
        let request: Request = control.read()?;
        let has_rules = request.confinement.has_rules();
        let ahead = if has_rules { Some(Ahead::with(rules_of(&control)?)) } else { None };
        Ok((signals, request, ahead))
    })();
    let (signals, request, ahead) = match prepared {
        Ok(prepared) => prepared,
        Err(errno) => control.fail(errno),
    };
    let watcher = rustix::process::getpid();
    // SAFETY: this process has one thread.
    let keeper = match unsafe { libc::fork() } {
        0 => keep(&control, &signals, &request, ahead.as_ref(), watcher),
        pid => match made(pid) {
            Some(pid) => pid,
            None => control.fail(Errno::AGAIN),
        },
    };
    drop((request, ahead));
    close_outputs();
    let mut keeper_ended = false;
    while !keeper_ended {
        let agent_gone = wait_for(&control, PollFlags::RDHUP, &signals, None).control_closed;
        let asked_to_end = signals.take();
        reap(&mut |pid, _| keeper_ended |= pid == keeper);
        if !keeper_ended && (agent_gone || asked_to_end) {
            end_keeper(keeper, &signals);
            keeper_ended = true;
        }
    }
    end_descendants(None, |_, _| {});
    exit(0);
}

/// Asks the keeper to end everything and itself, kills it where it does not, and reaps it.
fn end_keeper(keeper: Pid, signals: &Signals) {
    let _ = rustix::process::kill_process(keeper, Signal::TERM);
    let mut kill_at = Some(Instant::now() + KEEPER_ENDS_WITHIN);
    let mut keeper_ended = false;
    while !keeper_ended {
        if kill_at.take_if(|kill_at| Instant::now() >= *kill_at).is_some() {
            let _ = rustix::process::kill_process(keeper, Signal::KILL);
        }
        // Its end arrives as a signal; the socket, which may be closed, must not be asked again.
        signals.wait(kill_at);
        signals.take();
        reap(&mut |pid, _| keeper_ended |= pid == keeper);
    }
}

/// Takes the rules that the agent made.
fn rules_of(control: &Control) -> Result<Rules, Errno> {
    let (_, handles) = receive_with(&control.0, &mut [0])?;
    handles.into_iter().next().map(Rules::from).ok_or(Errno::BADMSG)
}

fn become_subreaper() -> Result<(), Errno> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
}

/// The keeper: starts the shell, reports its end, and ends everything that came from it.
fn keep(
    control: &Control,
    signals: &Signals,
    request: &Request,
    ahead: Option<&Ahead>,
    watcher: Pid,
) -> ! {
    let _ = rustix::thread::set_name(HELPER_NAME);
    let others = request.confinement.is_alone().then(|| Others::in_domain(watcher)).flatten();
    let others = others.as_ref();
    let started = become_subreaper().and_then(|()| {
        // A signal that this process takes as a request, so that it still ends the command.
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        if rustix::process::getppid() != Some(watcher) {
            return Err(Errno::SRCH);
        }
        start_shell(control, request, ahead)
    });
    let shell = match started {
        Ok(shell) => shell,
        Err(errno) => control.fail(errno),
    };
    control.report(Report::Started(shell.as_raw_nonzero().get()));
    close_outputs();
    let grace = Duration::from_millis(request.grace_ms);
    let shell_ended = Cell::new(false);
    let mut reaped = |pid: Pid, status: WaitStatus| {
        if pid == shell {
            shell_ended.set(true);
            control.report(Report::of(status));
        }
    };
    let mut watch = Watch::new(request);
    let mut kill_at: Option<Instant> = None;
    loop {
        let until = watch.wake_at(kill_at);
        let woken = wait_for(control, PollFlags::IN | PollFlags::RDHUP, signals, until);
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
        let now = Instant::now();
        if let Some(report) = watch.exceeded(now, others) {
            control.report(report);
            break;
        }
        // Without a request to end, the command ends with its shell.
        let time_is_up = kill_at.is_some_and(|kill_at| now >= kill_at);
        if time_is_up || kill_at.is_none() && shell_ended.get() {
            break;
        }
    }
    if end_descendants(others, &mut reaped) == Left::None {
        control.report(Report::Done);
    }
    exit(0);
}
