//! Descriptors that go from one process to another over a socket.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Folders that the agent looks into. A descriptor each, and all go in one message.
pub(crate) const LISTED_MAX: usize = 32;

/// The most descriptors in one message: folders, and the proxy's socket.
const DESCRIPTORS_MAX: usize = LISTED_MAX + 1;

/// Sends `bytes` and the descriptors as one message. Short enough to go in one piece. What other processes of the
/// user have under way in sockets counts against this one's limit of open files: a command can have it used up.
pub(crate) fn send_with(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let sent = match send_once(&socket, bytes, descriptors) {
        Err(Errno::TOOMANYREFS) => {
            let before = getrlimit(Resource::Nofile);
            setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before })?;
            let sent = send_once(&socket, bytes, descriptors);
            let _ = setrlimit(Resource::Nofile, before);
            sent?
        }
        sent => sent?,
    };
    if sent == bytes.len() { Ok(()) } else { Err(Errno::MSGSIZE) }
}

fn send_once(
    socket: &impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    let slices = [IoSlice::new(bytes)];
    rustix::io::retry_on_intr(|| sendmsg(socket, &slices, &mut ancillary, SendFlags::NOSIGNAL))
}

/// Receives at most `bytes` and what descriptors came with them. No bytes: the other end is gone.
pub(crate) fn receive_with(
    socket: impl AsFd,
    bytes: &mut [u8],
) -> Result<(usize, Vec<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(bytes)];
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(&socket, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok((received.bytes, descriptors))
}
