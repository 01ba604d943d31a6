//! The warm helper: makes the namespaces and the file tree once, then a child in new namespaces of
//! processes and mounts for each call.
//!
//! The agent keeps its socket open as long as the session lasts; when that closes, this process
//! ends and the kernel ends every call with it. It reads no request and runs nothing itself.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, WaitOptions, wait};

use super::confine::{Ahead, Filters, confine_holder, drop_capabilities_of_programs};
use super::control::{Control, Signals, close_outputs, exit, reset_signals};
use super::inside::{self, Shared};
use super::layout::{self, Layout};
use super::limits::set_watches;
use super::namespace::{clone_inside, enter_network, leave, leave_network, listen, loopback_up};
use super::pass::{receive_with, send_with};
use super::request::{GIVEN, Refused, Report, TAKEN_BYTES, Wall, taken};

/// A child in namespaces of its own that waits for a call, so that no call waits for namespaces. The
/// agent has this end of its channel, too, so that no call waits for this process.
struct Spare {
    init: Pid,
    channel: OwnedFd,
}

/// A call that runs: the first process of its namespace, and the socket that must stay open until
/// the kernel has ended all of them.
struct Call {
    init: Pid,
    _control: OwnedFd,
}

/// Never returns. The socket is standard input.
pub(super) fn serve() -> ! {
    let Ok(control) = Control::take() else { exit(2) };
    let _ = rustix::thread::set_name(c"tenon-walls");
    // Ctrl-C on the agent's terminal is the agent's to handle.
    let _ = rustix::process::setsid();
    close_outputs();
    reset_signals();
    let signals = match Signals::open() {
        Ok(signals) => signals,
        Err(errno) => control.fail(errno),
    };
    // Before the agent has planned what to make in them.
    let left = leave();
    if left.is_ok() {
        control.report(Report::Unshared);
    }
    let layout: Layout = match control.read() {
        Ok(layout) => layout,
        Err(errno) => control.fail(errno),
    };
    let made = left
        .map_err(|errno| Wall::Namespaces.refused(errno))
        .and_then(|()| make_walls(&control, &layout));
    match made {
        Ok(Made { ahead, listed, listener }) => {
            let handles: Vec<_> = listed.iter().chain(&listener).map(AsFd::as_fd).collect();
            if send_with(&control.0, &Report::Ready.to_bytes(), &handles).is_err() {
                exit(1);
            }
            drop(listed);
            let shared = Shared { ahead, processes_max: layout.processes_max };
            take_calls(&control, &signals, &shared)
        }
        Err(refused) => {
            control.report(Report::Refused(refused));
            exit(1);
        }
    }
}

/// What was made before any call.
struct Made {
    /// What most calls have.
    ahead: Ahead,
    /// Folders for the agent to look into.
    listed: Vec<OwnedFd>,
    /// The proxy's socket, if one is wanted.
    listener: Option<OwnedFd>,
}

fn make_walls(control: &Control, layout: &Layout) -> Result<Made, Refused> {
    let network = layout.own_network.then(|| Network::begin(layout.listen)).transpose()?;
    // While the agent writes the id map.
    let filters = Filters::new();
    // Only who is outside may write one with more than one user.
    let mut answer = [0];
    match rustix::io::read(&control.0, &mut answer) {
        Ok(1) => {}
        _ => return Err(Wall::IdMap.refused(Errno::PERM)),
    }
    set_watches();
    layout::build(layout)?;
    let listed = layout::open_listed(layout)?;
    // What no call sees: the agent looked for it meanwhile. Each call looks whether it is hidden still.
    let hidden: Vec<PathBuf> = control.read().map_err(|errno| Wall::Protected.refused(errno))?;
    inside::hide_all(&hidden).map_err(|errno| Wall::Protected.refused(errno))?;
    let listener = network.map(Network::enter).transpose()?.flatten();
    drop_capabilities_of_programs().map_err(|errno| Wall::Capabilities.refused(errno))?;
    let ahead = confine_holder(filters, &layout.writable)?;
    Ok(Made { ahead, listed, listener })
}

/// A network with a loopback, and the proxy's socket in it if one is wanted.
struct Network {
    namespace: OwnedFd,
    listener: Option<OwnedFd>,
}

impl Network {
    /// Begins to make one, in a thread: the kernel takes half as long for it as for a file tree.
    fn begin(listens: bool) -> Result<JoinHandle<Result<Self, Refused>>, Refused> {
        let begun = thread::Builder::new().spawn(move || Self::make(listens));
        begun.map_err(|_| Wall::Namespaces.refused(Errno::AGAIN))
    }

    fn make(listens: bool) -> Result<Self, Refused> {
        let namespace = leave_network().map_err(|errno| Wall::Namespaces.refused(errno))?;
        let refused = |errno| Wall::Loopback.refused(errno);
        loopback_up().map_err(refused)?;
        let listener = listens.then(listen).transpose().map_err(refused)?;
        Ok(Self { namespace, listener })
    }

    /// Waits for it, takes this process into it, and returns the socket. There is one thread again.
    fn enter(begun: JoinHandle<Result<Self, Refused>>) -> Result<Option<OwnedFd>, Refused> {
        let made = begun.join().map_err(|_| Wall::Namespaces.refused(Errno::CHILD))?;
        let Self { namespace, listener } = made?;
        enter_network(&namespace).map_err(|errno| Wall::Namespaces.refused(errno))?;
        Ok(listener)
    }
}

fn take_calls(control: &Control, signals: &Signals, shared: &Shared) -> ! {
    let mut calls: Vec<Call> = Vec::new();
    let mut spare: Option<Spare> = None;
    // What the last call was given through. Its first process closes the other end when the shell
    // begins: until then a new spare would take the processor, and the kernel's locks, from it.
    let mut beginning: Option<OwnedFd> = None;
    loop {
        if spare.is_none() && beginning.is_none() {
            // Where there is none, the call tells why.
            spare = make_spare(shared).ok();
            if let Some(Spare { init, channel }) = &spare {
                control.report_with(Report::Waiting(init.as_raw_nonzero().get()), channel);
            }
        }
        let wait_for = [Some(&control.0), Some(&signals.0), beginning.as_ref()];
        let mut handles: Vec<_> = wait_for
            .into_iter()
            .flatten()
            .map(|handle| PollFd::new(handle, PollFlags::IN))
            .collect();
        let _ = poll(&mut handles, None);
        let woken: Vec<_> = handles.iter().map(|handle| !handle.revents().is_empty()).collect();
        let is_woken = |number: usize| woken.get(number).is_some_and(|woken| *woken);
        if is_woken(1) {
            if signals.take() {
                exit(0);
            }
            while let Ok(Some((pid, _))) = wait(WaitOptions::NOHANG) {
                // The last end of its socket: the agent sees that everything is gone.
                calls.retain(|call| call.init != pid);
                spare = spare.filter(|spare| spare.init != pid);
            }
        }
        if is_woken(2) {
            beginning = None;
        }
        if is_woken(0)
            && let Some((call, channel)) = take_call(control, &mut spare, shared)
        {
            calls.push(call);
            beginning = Some(channel);
        }
    }
}

fn make_spare(shared: &Shared) -> Result<Spare, Errno> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let (channel, theirs) = rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?;
    match clone_inside()? {
        None => inside::run(theirs, shared),
        Some(init) => Ok(Spare { init, channel }),
    }
}

/// Returns the call, and what it was given through.
fn take_call(
    control: &Control,
    spare: &mut Option<Spare>,
    shared: &Shared,
) -> Option<(Call, OwnedFd)> {
    let mut message = [0; TAKEN_BYTES];
    let handles = match receive_with(&control.0, &mut message) {
        Ok((1.., handles)) => handles,
        // The agent is gone; the kernel ends the calls, which are bound to this process.
        _ => exit(0),
    };
    let (call, spare) = match <[OwnedFd; 3]>::try_from(handles) {
        Ok([call, out, error]) => {
            let spare = give(&call, &out, &error, shared);
            (call, spare)
        }
        // The agent gave it to the spare. If that has ended meanwhile, the agent sees the socket close.
        Err(handles) => {
            let call = handles.into_iter().next()?;
            let spare = spare.take_if(|spare| message == taken(spare.init))?;
            (call, Ok(spare))
        }
    };
    match spare {
        Ok(Spare { init, channel }) => Some((Call { init, _control: call }, channel)),
        Err(errno) => {
            Control(call).report(Report::Refused(Wall::Namespaces.refused(errno)));
            None
        }
    }
}

/// Gives a call to a new child.
fn give(call: &OwnedFd, out: &OwnedFd, error: &OwnedFd, shared: &Shared) -> Result<Spare, Errno> {
    let spare = make_spare(shared)?;
    send_with(&spare.channel, GIVEN, &[call.as_fd(), out.as_fd(), error.as_fd()])?;
    Ok(spare)
}
