//! Namespaces: the warm helper's own, and for each call a child in new ones.

#![expect(unsafe_code, reason = "unshare, clone, mount_setattr and an interface's flags")]

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::net::{AddressFamily, SocketAddrV4, SocketFlags, SocketType};
use rustix::path::Arg;
use rustix::process::Pid;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::control::last_errno;

/// Connections to the proxy that wait to be taken.
const BACKLOG: i32 = 128;

/// Leaves the namespaces of the machine, but the network's, and those that are new for each call: of
/// processes, and of segments and queues.
pub(super) fn leave() -> Result<(), Errno> {
    unshare(
        UnshareFlags::NEWUSER
            | UnshareFlags::NEWNS
            | UnshareFlags::NEWUTS
            | UnshareFlags::NEWCGROUP,
    )
}

/// Takes this thread out of the network of the machine into a new one, and returns that.
pub(super) fn leave_network() -> Result<OwnedFd, Errno> {
    unshare(UnshareFlags::NEWNET)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(c"/proc/thread-self/ns/net", flags, Mode::empty())
}

/// Takes this thread into a network.
pub(super) fn enter_network(network: &OwnedFd) -> Result<(), Errno> {
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
}

fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    // SAFETY: the table of descriptors stays as it is.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Makes a copy of this process as the first of a new pid namespace, with mounts, and segments and
/// queues of System V and POSIX, of its own. `None` in the copy.
pub(super) fn clone_inside() -> Result<Option<Pid>, Errno> {
    let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::SIGCHLD;
    // SAFETY: like fork, of a process that has one thread; without CLONE_VM the copy has its own
    // memory and no stack need be given.
    let answer = unsafe { libc::syscall(libc::SYS_clone, i64::from(flags), 0, 0, 0, 0) };
    match i32::try_from(answer) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(last_errno()),
    }
}

/// Switches the loopback interface on.
pub(super) fn loopback_up() -> Result<(), Errno> {
    let kind = (AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(kind.0, kind.1, kind.2, None)?;
    // SAFETY: all of it is numbers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = byte.cast_signed();
    }
    // IFF_UP and IFF_RUNNING fit a short.
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the call reads name and flags out of the request.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) };
    if answer == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Listens on a port of the namespace's loopback. The agent takes the connections, from outside:
/// a socket stays in the namespace that it was made in.
pub(super) fn listen() -> Result<OwnedFd, Errno> {
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A part of the file tree that is mounted nowhere yet, or again.
pub(super) struct Tree(pub(super) OwnedFd);

impl Tree {
    /// Takes what `path` beneath `folder` shows, with the mounts in it.
    pub(super) fn of(folder: impl AsFd, path: impl Arg + Copy) -> Result<Self, Errno> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW
            | OpenTreeFlags::AT_EMPTY_PATH;
        match open_tree(&folder, path, flags | OpenTreeFlags::AT_RECURSIVE) {
            Ok(tree) => Ok(Self(tree)),
            Err(errno) => Err(errno),
        }
    }

    /// Sets attributes here, and on the mounts beneath with `deep`.
    pub(super) fn set(&self, attributes: MountAttrFlags, deep: Deep) -> Result<(), Errno> {
        set_attributes(&self.0, attributes, MountAttrFlags::empty(), deep)
    }

    /// Makes only the top writable again, unless it was not writable from the beginning.
    pub(super) fn make_top_writable(&self) -> Result<(), Errno> {
        let read_only = MountAttrFlags::MOUNT_ATTR_RDONLY;
        match set_attributes(&self.0, MountAttrFlags::empty(), read_only, Deep::No) {
            Err(Errno::PERM) => Ok(()),
            answer => answer,
        }
    }

    /// Mounts it on what `target` is open on.
    pub(super) fn mount_on(&self, target: impl AsFd) -> Result<(), Errno> {
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&self.0, c"", &target, c"", flags)
    }
}

/// Whether the mounts beneath are meant as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deep {
    Yes,
    No,
}

/// Sets attributes of everything that is mounted.
pub(super) fn set_all(attributes: MountAttrFlags) -> Result<(), Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let root = open_tree(CWD, c"/", flags)?;
    set_attributes(&root, attributes, MountAttrFlags::empty(), Deep::Yes)
}

pub(super) fn set_attributes(
    mount: &OwnedFd,
    set: MountAttrFlags,
    clear: MountAttrFlags,
    deep: Deep,
) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: u64::from(set.bits()),
        attr_clr: u64::from(clear.bits()),
        propagation: 0,
        userns_fd: 0,
    };
    let recursive = if deep == Deep::Yes { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a string, and the structure has the size that is told.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(last_errno()) }
}
