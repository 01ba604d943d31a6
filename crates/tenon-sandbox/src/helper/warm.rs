//! The agent's end of a helper that holds namespaces: a warm one for all commands of a session, or
//! one that bubblewrap made for a single command.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;
use tokio::task::AbortHandle;

use super::process::{HelperProcess, spawn_outside, spawn_warm};
use crate::linux::bubblewrap::Enclosure;
use crate::linux::layout::Layout;
use crate::linux::pass::{receive_with, send_with};
use crate::linux::request::{GIVEN, REPORT_BYTES, Report, Sendable, taken};
use crate::linux::within::within_walls;
use crate::missing::{Missing, SandboxError};
use crate::network::Proxy;
use crate::tier::Tier;

/// How long the helper may take for anything before it counts as gone. It takes 3 ms.
const ANSWER: Duration = Duration::from_secs(10);

/// How long the first process to wait for a call may take to be made. It takes 0.2 ms.
const FIRST: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// What bubblewrap says when it fails is a line.
const SAID_BYTES_MAX: usize = 400;

/// A process that holds namespaces and starts calls in them, as long as this lives.
pub(crate) struct WarmHelper {
    socket: UnixStream,
    listener: Option<TcpListener>,
    /// No call was sent yet.
    is_new: AtomicBool,
    /// The task that serves the listener; ended with this.
    served: Mutex<Option<Served>>,
    tier: Tier,
    _process: HelperProcess,
}

struct Served(AbortHandle);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A helper that makes namespaces and waits to be told what to make in them.
pub(crate) struct Begun {
    process: HelperProcess,
    socket: UnixStream,
}

impl Begun {
    /// Starts one, where it can be let have namespaces.
    pub(crate) fn new() -> Result<Self, SandboxError> {
        if within_walls() {
            return Err(SandboxError::new(Tier::A, Missing::WithinWalls));
        }
        let (process, socket) =
            spawn_warm().map_err(|error| SandboxError::not_started(Tier::A, &error))?;
        Ok(Self { process, socket })
    }

    /// Has it carry the layout out, and does not wait for that.
    pub(crate) fn make(self, layout: &Layout) -> Result<Making, SandboxError> {
        let gone = || SandboxError::new(Tier::A, Missing::Helper);
        let helper = WarmHelper::tell(Tier::A, self.process, self.socket, layout)?;
        helper.expect(Report::Unshared)?;
        helper.write_id_maps().map_err(|_| {
            let refused = crate::linux::request::Wall::IdMap.refused(Errno::PERM);
            SandboxError::refused(Tier::A, refused)
        })?;
        (&helper.socket).write_all(b"G").map_err(|_| gone())?;
        Ok(Making { helper, listed: layout.listed.len() })
    }
}

/// A helper that carries a layout out.
pub(crate) struct Making {
    helper: WarmHelper,
    /// How many folders of the layout are listed.
    listed: usize,
}

impl Making {
    /// Has it hide what no call may see, and waits until it takes calls. Also returns the folders of
    /// the layout that are listed, open.
    pub(crate) fn hold(
        self,
        hidden: &Vec<PathBuf>,
    ) -> Result<(WarmHelper, Vec<OwnedFd>), SandboxError> {
        let Self { helper, listed } = self;
        let gone = || SandboxError::new(helper.tier, Missing::Helper);
        let hidden = hidden.to_bytes().ok_or_else(gone)?;
        // One that could not make the layout does not read it, and has said so.
        let _ = (&helper.socket).write_all(&hidden);
        helper.ready(listed)
    }
}

impl WarmHelper {
    /// Has bubblewrap make what one command needs, and waits until it takes that command.
    pub(crate) fn enclose(enclosure: &Enclosure) -> Result<Self, SandboxError> {
        let gone = || SandboxError::new(Tier::B, Missing::Helper);
        let started = spawn_outside();
        let (process, socket, mut said) =
            started.map_err(|error| SandboxError::not_started(Tier::B, &error))?;
        said.set_read_timeout(Some(ANSWER)).map_err(|_| gone())?;
        let made = Self::tell(Tier::B, process, socket, enclosure)?.ready(0);
        made.map(|(helper, _)| helper).map_err(|error| {
            if error.missing != Missing::Helper {
                return error;
            }
            // It has ended, or is about to.
            let mut bytes = [0; SAID_BYTES_MAX];
            let length = said.read(&mut bytes).unwrap_or_default();
            let said = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default());
            let said = said.trim().trim_start_matches("bwrap: ");
            SandboxError::of_bubblewrap(if said.is_empty() { "it said nothing" } else { said })
        })
    }

    fn tell(
        tier: Tier,
        process: HelperProcess,
        socket: UnixStream,
        message: &impl Sendable,
    ) -> Result<Self, SandboxError> {
        let gone = || SandboxError::new(tier, Missing::Helper);
        let bytes = message.to_bytes().ok_or_else(gone)?;
        let timeouts = socket
            .set_read_timeout(Some(ANSWER))
            .and_then(|()| socket.set_write_timeout(Some(ANSWER)));
        timeouts.and_then(|()| (&socket).write_all(&bytes)).map_err(|_| gone())?;
        let (listener, served) = (None, Mutex::default());
        // Bubblewrap makes one process, which says itself that it takes a call.
        let is_new = AtomicBool::new(tier == Tier::A);
        Ok(Self { socket, listener, is_new, served, tier, _process: process })
    }

    /// Waits until it takes calls, and returns the first handles that came with that.
    fn ready(mut self, first: usize) -> Result<(Self, Vec<OwnedFd>), SandboxError> {
        let mut handles = self.expect(Report::Ready)?;
        let listener = handles.split_off(first.min(handles.len()));
        self.listener = listener.into_iter().next().map(TcpListener::from);
        let nonblocking = self.socket.set_nonblocking(true);
        nonblocking.map_err(|_| SandboxError::new(self.tier, Missing::Helper))?;
        Ok((self, handles))
    }

    /// Returns the socket inside, to which commands connect for the proxy.
    pub(crate) fn listener(&self) -> Option<&TcpListener> {
        self.listener.as_ref()
    }

    /// Has `proxy` take what commands connect to, from the first call on. Without a proxy nobody
    /// does; a listener that cannot be served refuses. Needs a tokio runtime.
    pub(crate) fn serve(&self, proxy: Option<&Proxy>) {
        let (Some(proxy), Some(listener)) = (proxy, &self.listener) else { return };
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if served.as_ref().is_some_and(|served| !served.0.is_finished()) {
            return;
        }
        let (proxy, listener) = (proxy.clone(), listener.try_clone());
        let task = tokio::spawn(async move {
            if let Ok(listener) = listener {
                let _ = proxy.serve(listener).await;
            }
        });
        *served = Some(Served(task.abort_handle()));
    }

    /// Has a call started with this control socket and these outputs: by the process that waits for
    /// one, or, while there is none, by one that the helper makes for it.
    pub(crate) fn send_call(
        &self,
        control: BorrowedFd<'_>,
        out: BorrowedFd<'_>,
        error: BorrowedFd<'_>,
    ) -> Result<(), Errno> {
        let handles = [control, out, error];
        match self.take_waiting() {
            // It may have ended.
            Some((pid, channel)) if send_with(&channel, GIVEN, &handles).is_ok() => {
                send_with(&self.socket, &taken(pid), &[control])
            }
            _ => send_with(&self.socket, GIVEN, &handles),
        }
    }

    /// Returns the process that waits for a call, and its channel. Waits for the first only, which
    /// is made when the helper says that it takes calls.
    fn take_waiting(&self) -> Option<(Pid, OwnedFd)> {
        if self.is_new.swap(false, Ordering::Relaxed) {
            let mut socket = [PollFd::new(&self.socket, PollFlags::IN)];
            // Without it the helper makes one for the call.
            let _ = poll(&mut socket, Some(&FIRST));
        }
        let mut waiting = None;
        let mut bytes = [0; REPORT_BYTES];
        // One after another: the last is there, and those before have ended.
        while let Ok((REPORT_BYTES, handles)) = receive_with(&self.socket, &mut bytes) {
            let Some(Report::Waiting(pid)) = Report::from_bytes(bytes) else { continue };
            waiting = Pid::from_raw(pid).zip(handles.into_iter().next());
        }
        waiting
    }

    fn expect(&self, expected: Report) -> Result<Vec<OwnedFd>, SandboxError> {
        let gone = || SandboxError::new(self.tier, Missing::Helper);
        let mut bytes = [0; REPORT_BYTES];
        let (mut length, handles) =
            receive_with(self.socket.as_fd(), &mut bytes).map_err(|_| gone())?;
        while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
            length += match (&self.socket).read(rest) {
                Ok(0) | Err(_) => return Err(gone()),
                Ok(more) => more,
            };
        }
        match Report::from_bytes(bytes) {
            Some(report) if report == expected => Ok(handles),
            Some(Report::Refused(refused)) => Err(SandboxError::refused(self.tier, refused)),
            _ => Err(gone()),
        }
    }

    /// Maps ids in the helper's user namespace to themselves: an ordinary user's own, root's all.
    fn write_id_maps(&self) -> std::io::Result<()> {
        let Some(pid) = self._process.id() else { return Err(Errno::SRCH.into()) };
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        if user.is_root() {
            write_setting(&format!("/proc/{pid}/uid_map"), &whole_map("/proc/self/uid_map")?)?;
            return write_setting(
                &format!("/proc/{pid}/gid_map"),
                &whole_map("/proc/self/gid_map")?,
            );
        }
        let (user, group) = (user.as_raw(), group.as_raw());
        write_setting(&format!("/proc/{pid}/setgroups"), "deny")?;
        write_setting(&format!("/proc/{pid}/uid_map"), &format!("{user} {user} 1"))?;
        write_setting(&format!("/proc/{pid}/gid_map"), &format!("{group} {group} 1"))
    }
}

/// Every id that this process knows, mapped to itself.
#[expect(clippy::disallowed_methods, reason = "a map of the kernel's")]
fn whole_map(path: &str) -> std::io::Result<String> {
    Ok(same_ids(&std::fs::read_to_string(path)?))
}

fn same_ids(map: &str) -> String {
    let line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (first, _, count) = (fields.next()?, fields.next()?, fields.next()?);
        Some(format!("{first} {first} {count}\n"))
    };
    map.lines().filter_map(line).collect()
}

#[expect(clippy::disallowed_methods, reason = "the id map of a process that was just started")]
fn write_setting(path: &str, text: &str) -> std::io::Result<()> {
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_mapped_to_themselves() {
        assert_eq!(same_ids("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(same_ids("0 100000 65536\n65536 1000 1\n"), "0 0 65536\n65536 65536 1\n");
    }
}
