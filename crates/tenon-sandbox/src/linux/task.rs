//! The thread that asks: what its arguments say, and where its paths lead.
//!
//! Paths are followed as that thread sees them, from its own root and folder, because its file tree
//! may be another than this process's. Most are followed by the kernel in one call; those with
//! links are walked here one name at a time, because a link's text would be followed from this
//! process's root, and `/proc/self` would be this process.

#![expect(unsafe_code, reason = "reads another process's memory")]

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use libc::c_int;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, Statx, StatxFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::control::last_errno;
use crate::mounts::Mounts;

/// Where the kernel ends a path, its NUL counted.
const PATH_BYTES_MAX: usize = 4096;

/// So much of a path is read at a time: most are shorter.
const PART_BYTES: usize = 256;

/// Memory is mapped by pages: reading past one may fail where the text has ended already.
const PAGE_BYTES: u64 = 4096;

/// The kernel's own limit for one walk.
const LINKS_MAX: usize = 40;

/// What procfs says it is.
const PROC_SUPER_MAGIC: u64 = 0x9fa0;

/// Links of procfs that have a text like others; all else there leads to what no text names.
const PROC_TEXTS: [&str; 2] = ["mounts", "net"];

/// A thread of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Task {
    pid: u32,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) enum Found {
    /// A name in a folder, whether or not something is there. The folder itself for an empty name.
    Name(OwnedFd, OsString, Looked),
    /// Something that was found without its name.
    Handle(OwnedFd),
    /// Nowhere: a folder on the way is not there.
    Nowhere,
}

/// What was seen at the name on the way, so that it need not be looked at again.
#[derive(Debug)]
pub(crate) enum Looked {
    /// It was not looked at.
    Not,
    Nothing,
    At(Box<Statx>),
}

/// Whether a link at the end of a path is meant itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    Keep,
}

impl Task {
    pub(crate) fn new(pid: u32) -> Self {
        Self { pid }
    }

    /// Whether it has not ended, or another has its number by now.
    pub(crate) fn is_there(self) -> bool {
        Pid::from_raw(self.pid.cast_signed())
            .is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
    }

    /// Whether a change of the folder of one is one of the other, too. Where the kernel does not tell, yes.
    pub(crate) fn shares_folder(self, other: Self) -> bool {
        /// KCMP_FS of the kernel's `kcmp.h`.
        const FOLDERS: c_int = 3;
        // SAFETY: the call takes numbers only.
        let order = unsafe { libc::syscall(libc::SYS_kcmp, self.pid, other.pid, FOLDERS, 0, 0) };
        order == 0 || order < 0 && last_errno() != Errno::SRCH
    }

    /// Reads a path out of the thread's memory.
    pub(crate) fn path(self, address: u64) -> Result<Vec<u8>, Errno> {
        let (mut path, mut buffer) = (Vec::new(), [0; PART_BYTES]);
        let mut at = address;
        while path.len() < PATH_BYTES_MAX {
            let rest = usize::try_from(PAGE_BYTES - at % PAGE_BYTES).map_err(|_| Errno::FAULT)?;
            let part = buffer.get_mut(..rest.min(PART_BYTES)).unwrap_or_default();
            let read = self.read(at, part)?;
            let part = part.get(..read).unwrap_or_default();
            if let Some(end) = part.iter().position(|byte| *byte == 0) {
                path.extend_from_slice(part.get(..end).unwrap_or_default());
                return Ok(path);
            }
            at += part.len() as u64;
            path.extend_from_slice(part);
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Reads bytes out of the thread's memory.
    pub(crate) fn bytes(self, address: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length];
        let read = self.read(address, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Reads from the thread's memory into a buffer, at least a byte.
    fn read(self, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        let pid = libc::pid_t::try_from(self.pid).map_err(|_| Errno::SRCH)?;
        let address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
        let length = buffer.len();
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: length };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
        // SAFETY: the kernel writes at most `length` bytes to the buffer; the other address is only
        // a number here.
        let read =
            unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        match usize::try_from(read) {
            Ok(0) => Err(Errno::FAULT),
            Ok(read) => Ok(read),
            Err(_) => Err(last_errno()),
        }
    }

    /// Opens what one of the thread's descriptors is open on, for looking at it.
    pub(crate) fn descriptor(self, number: i32) -> Result<OwnedFd, Errno> {
        if number == libc::AT_FDCWD {
            return self.open_own("cwd");
        }
        self.open_own(&format!("fd/{number}"))
    }

    fn open_own(self, name: &str) -> Result<OwnedFd, Errno> {
        let path = format!("/proc/{}/{name}", self.pid);
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }

    /// Follows a path to the name at its end. `here` is the folder that the thread is in, if that is known.
    pub(crate) fn find(
        self,
        (base, here): (i32, Option<&OwnedFd>),
        path: &[u8],
        last: LastLink,
    ) -> Result<Found, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let text = trimmed(path);
        let (folder, name) = match text.iter().rposition(|byte| *byte == b'/') {
            Some(at) => {
                (text.get(..=at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default())
            }
            None => (&b""[..], text),
        };
        let is_plain = !name.is_empty() && name != b"." && name != b"..";
        // A slash at the end asks for a folder, so a link there is followed.
        let follow = last == LastLink::Follow || text.len() < path.len();
        if is_plain && let Ok(handle) = self.open_plain((base, here), folder) {
            let name = OsStr::from_bytes(name);
            if !follow {
                return Ok(Found::Name(handle, name.to_owned(), Looked::Not));
            }
            let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
            let looked = match rustix::fs::statx(&handle, name, AtFlags::SYMLINK_NOFOLLOW, mask) {
                Ok(found) => Some(Looked::At(Box::new(found))),
                // No link was followed to this folder, so it is the one that the thread means.
                Err(Errno::NOENT) => Some(Looked::Nothing),
                Err(_) => None,
            };
            let is_link = |found: &Statx| {
                FileType::from_raw_mode(u32::from(found.stx_mode)) == FileType::Symlink
            };
            match looked {
                Some(Looked::At(found)) if is_link(&found) => {}
                Some(looked) => return Ok(Found::Name(handle, name.to_owned(), looked)),
                None => {}
            }
        }
        Walk::new(self, base, path)?.walk(follow)
    }

    /// Opens a folder whose path has no link in it.
    fn open_plain(
        self,
        (base, here): (i32, Option<&OwnedFd>),
        path: &[u8],
    ) -> Result<OwnedFd, Errno> {
        let open = |base: &OwnedFd, resolve| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat2(base, OsStr::from_bytes(path), flags, Mode::empty(), resolve)
        };
        let plainly = ResolveFlags::NO_SYMLINKS;
        if path.starts_with(b"/") {
            return open(&self.open_own("root")?, plainly | ResolveFlags::IN_ROOT);
        }
        match (path.is_empty(), here.filter(|_| base == libc::AT_FDCWD)) {
            (true, None) => self.descriptor(base),
            (true, Some(here)) => rustix::io::fcntl_dupfd_cloexec(here, 0),
            (false, None) => open(&self.descriptor(base)?, plainly),
            (false, Some(here)) => open(here, plainly),
        }
    }

    /// The process's and the thread's number in the innermost namespace, as its procfs has them.
    fn own_numbers(self) -> Result<(String, String), Errno> {
        let status = read_small(&format!("/proc/{}/status", self.pid))?;
        let last = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            line.split_ascii_whitespace().last().map(str::to_owned)
        };
        last("NStgid:").zip(last("NSpid:")).ok_or(Errno::SRCH)
    }

    /// The user as whom the thread changes files, as this process's namespace numbers users.
    pub(crate) fn user(self) -> Result<u32, Errno> {
        let status = read_small(&format!("/proc/{}/status", self.pid))?;
        // Real, effective, saved, of files.
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let user = line.and_then(|line| line.split_ascii_whitespace().nth(3)?.parse().ok());
        user.ok_or(Errno::SRCH)
    }

    /// What is mounted where, as the thread sees it; `None` where it has ended.
    pub(crate) fn mounts(self) -> Option<Mounts> {
        Mounts::of_process(self.pid)
    }

    /// The flags that one of the thread's descriptors was opened with.
    pub(crate) fn flags_of(self, number: i32) -> Result<u32, Errno> {
        let info = read_small(&format!("/proc/{}/fdinfo/{number}", self.pid))?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok()).ok_or(Errno::BADF)
    }
}

/// A walk by names, as the thread sees them.
struct Walk {
    task: Task,
    root: OwnedFd,
    at: OwnedFd,
    pending: VecDeque<OsString>,
    links: usize,
}

impl Walk {
    fn new(task: Task, base: i32, path: &[u8]) -> Result<Self, Errno> {
        let root = task.open_own("root")?;
        let at =
            if path.starts_with(b"/") { task.open_own("root")? } else { task.descriptor(base)? };
        let mut walk = Self { task, root, at, pending: VecDeque::new(), links: 0 };
        walk.prepend(path);
        Ok(walk)
    }

    fn prepend(&mut self, text: &[u8]) {
        for name in text.rsplit(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            self.pending.push_front(OsStr::from_bytes(name).to_owned());
        }
    }

    fn walk(mut self, follow: bool) -> Result<Found, Errno> {
        while let Some(name) = self.pending.pop_front() {
            let is_last = self.pending.is_empty();
            if name == "." {
                continue;
            }
            if name == ".." {
                self.go_up()?;
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = match rustix::fs::openat(&self.at, &*name, flags, Mode::empty()) {
                Ok(handle) => handle,
                Err(Errno::NOENT) if is_last => return Ok(Found::Name(self.at, name, Looked::Not)),
                Err(Errno::NOENT) => return Ok(Found::Nowhere),
                Err(errno) => return Err(errno),
            };
            let stat = rustix::fs::fstat(&handle)?;
            match kind(&stat) {
                FileType::Symlink if is_last && !follow => {
                    return Ok(Found::Name(self.at, name, Looked::Not));
                }
                FileType::Symlink => {
                    if let Some(found) = self.follow(&name, &handle, is_last)? {
                        return Ok(found);
                    }
                }
                _ if is_last => return Ok(Found::Name(self.at, name, Looked::Not)),
                FileType::Directory => self.at = handle,
                _ => return Err(Errno::NOTDIR),
            }
        }
        Ok(Found::Name(self.at, OsString::new(), Looked::Not))
    }

    fn go_up(&mut self) -> Result<(), Errno> {
        let (root, at) = (rustix::fs::fstat(&self.root)?, rustix::fs::fstat(&self.at)?);
        if (root.st_dev, root.st_ino) != (at.st_dev, at.st_ino) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.at = rustix::fs::openat(&self.at, "..", flags, Mode::empty())?;
        }
        Ok(())
    }

    fn follow(
        &mut self,
        name: &OsStr,
        link: &OwnedFd,
        is_last: bool,
    ) -> Result<Option<Found>, Errno> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP);
        }
        let file_system = rustix::fs::fstatfs(&self.at)?;
        let is_proc = u64::try_from(file_system.f_type).is_ok_and(|kind| kind == PROC_SUPER_MAGIC);
        if is_proc && (name == "self" || name == "thread-self") {
            let (process, thread) = self.task.own_numbers()?;
            let text = if name == "self" { process } else { format!("{process}/task/{thread}") };
            self.prepend(text.as_bytes());
            return Ok(None);
        }
        if is_proc && !PROC_TEXTS.iter().any(|text| name == *text) {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let behind = rustix::fs::openat(&self.at, name, flags, Mode::empty())?;
            if is_last {
                return Ok(Some(Found::Handle(behind)));
            }
            self.at = behind;
            return Ok(None);
        }
        let text = rustix::fs::readlinkat(link, "", Vec::new())?.into_bytes();
        if text.starts_with(b"/") {
            self.at = self.task.open_own("root")?;
        }
        self.prepend(&text);
        Ok(None)
    }
}

fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    path.get(..end).unwrap_or_default()
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Returns the path of something that is open, as the kernel tells it: as the thread that it was
/// opened through sees it.
pub(crate) fn path_of(handle: &OwnedFd) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let text = rustix::fs::readlinkat(CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(text.into_bytes())))
}

#[expect(clippy::disallowed_methods, reason = "the kernel's words on a process")]
fn read_small(path: &str) -> Result<String, Errno> {
    std::fs::read_to_string(path)
        .map_err(|error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))
}
