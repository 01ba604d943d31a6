//! Which system call means what for the file tree.

use libc::c_long;
use rustix::io::Errno;

use super::recorder::{Fate, Writing};
use crate::linux::notify::{FILE_SETATTR, Question, REMOVEXATTRAT, SETXATTRAT};
use crate::linux::set_id::FCHMODAT2;
use crate::linux::task::{LastLink, Task};

/// What a call is about to do.
#[derive(Debug)]
pub(super) enum Call {
    Open {
        target: Target,
        creates: bool,
        /// None: nothing of what is there is written.
        writing: Option<Writing>,
        /// It is opened for reading as well, and not emptied: it need not be written.
        reads: bool,
    },
    /// The content of a file changes.
    Content(Target),
    /// A descriptor loses O_APPEND.
    SetFlags(i32),
    /// Permissions, owner, times or attributes change.
    Rights(Target),
    /// A name appears or goes.
    Entry(Target, Fate),
    Rename {
        from: Target,
        to: Target,
        onto: Onto,
    },
    Link {
        from: Target,
        to: Target,
    },
}

/// What a rename does with what has the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Onto {
    Replaces,
    /// It gets the old name.
    Exchanges,
    /// There may be nothing.
    Fails,
}

/// What a call is about.
#[derive(Debug)]
pub(super) enum Target {
    Descriptor(i32),
    Path { base: i32, path: Vec<u8>, last: LastLink },
}

/// Opened by every shell and by most scripts, so that they need not be looked for: what these names
/// lead to, no command can change.
const DEVICES: [&[u8]; 2] = [b"/dev/null", b"/dev/tty"];

impl Target {
    /// Whether it is by its name a device, and no file of anybody's.
    pub(super) fn is_device(&self) -> bool {
        matches!(self, Self::Path { path, .. } if DEVICES.contains(&&**path))
    }
}

/// Of `openat2` (openat2(2)): no path leads out of the folder that it begins at.
const RESOLVE_IN_ROOT: u64 = 0x10;

const FOLLOW: LastLink = LastLink::Follow;
const KEEP: LastLink = LastLink::Keep;

/// Reads what a call is about to do. `None` for one that changes nothing.
///
/// # Errors
/// What the kernel would say: arguments that cannot be read.
pub(super) fn classify(question: &Question, task: Task) -> Result<Option<Call>, Errno> {
    let arguments = Arguments { task, values: question.arguments };
    let a = &arguments;
    let number = c_long::from(question.number);
    if let Some(call) = old_call(number, a)? {
        return Ok(Some(call));
    }
    Ok(Some(match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => return open(a.path(0, FOLLOW)?, a.low(1)),
        libc::SYS_openat => return open(a.at(0, 1, FOLLOW)?, a.low(2)),
        libc::SYS_openat2 => {
            // Flags, mode and how the path is followed, 64 bits each.
            let how = task.bytes(a.value(2), 24)?;
            let field = |number: usize| {
                let bytes = how.get(number * 8..).and_then(<[u8]>::first_chunk);
                bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
            };
            let flags = u32::try_from(field(0) & 0xffff_ffff).unwrap_or(u32::MAX);
            let call = open(a.at(0, 1, FOLLOW)?, flags)?;
            // There `/` is the folder that it begins at. What can do without asks an older way.
            let is_in_root = field(2) & RESOLVE_IN_ROOT != 0;
            return if call.is_some() && is_in_root { Err(Errno::NOSYS) } else { Ok(call) };
        }
        libc::SYS_truncate => Call::Content(a.path(0, FOLLOW)?),
        libc::SYS_ftruncate | libc::SYS_fallocate => Call::Content(a.descriptor(0)),
        libc::SYS_unlinkat if a.number(2) & libc::AT_REMOVEDIR != 0 => {
            Call::Entry(a.at(0, 1, KEEP)?, Fate::FolderGone)
        }
        libc::SYS_unlinkat => Call::Entry(a.at(0, 1, KEEP)?, Fate::Gone),
        libc::SYS_renameat2 => {
            Call::Rename { from: a.at(0, 1, KEEP)?, to: a.at(2, 3, KEEP)?, onto: onto(a.low(4)) }
        }
        libc::SYS_linkat => {
            Call::Link { from: a.at_with_flags(0, 1, 4, Unless::Asked)?, to: a.at(2, 3, KEEP)? }
        }
        libc::SYS_symlinkat => Call::Entry(a.at(1, 2, KEEP)?, Fate::Appears),
        libc::SYS_mkdirat | libc::SYS_mknodat => Call::Entry(a.at(0, 1, KEEP)?, Fate::Appears),
        libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
            Call::Rights(a.descriptor(0))
        }
        libc::SYS_fchmodat => Call::Rights(a.at(0, 1, FOLLOW)?),
        FCHMODAT2 | libc::SYS_utimensat => {
            Call::Rights(a.at_with_flags(0, 1, 3, Unless::Forbidden)?)
        }
        libc::SYS_fchownat | FILE_SETATTR => {
            Call::Rights(a.at_with_flags(0, 1, 4, Unless::Forbidden)?)
        }
        SETXATTRAT | REMOVEXATTRAT => Call::Rights(a.at_with_flags(0, 1, 2, Unless::Forbidden)?),
        libc::SYS_setxattr | libc::SYS_removexattr => Call::Rights(a.path(0, FOLLOW)?),
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => Call::Rights(a.path(0, KEEP)?),
        libc::SYS_ioctl => Call::Rights(a.descriptor(0)),
        libc::SYS_bind => return bind(a),
        libc::SYS_fcntl => Call::SetFlags(a.number(0)),
        // As the filter and this table agree, there is no other.
        _ => return Err(Errno::NOSYS),
    }))
}

/// Returns in which open file a call reserves room, and how much at most.
pub(super) fn reserved(question: &Question) -> Option<(i32, u64)> {
    // With these it reserves none.
    const OTHERS: i32 =
        libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_COLLAPSE_RANGE | libc::FALLOC_FL_INSERT_RANGE;
    let [file, mode, _, length, ..] = question.arguments;
    // The kernel takes the low half of what is an `int`.
    let int = |value: u64| u32::try_from(value & 0xffff_ffff).unwrap_or(0).cast_signed();
    let reserves = c_long::from(question.number) == libc::SYS_fallocate && int(mode) & OTHERS == 0;
    reserves.then(|| (int(file), length))
}

/// Calls that newer architectures do without.
#[cfg(target_arch = "x86_64")]
fn old_call(number: c_long, a: &Arguments) -> Result<Option<Call>, Errno> {
    const CREATE: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
    Ok(Some(match number {
        libc::SYS_creat => return open(a.path(0, FOLLOW)?, CREATE.cast_unsigned()),
        libc::SYS_unlink => Call::Entry(a.path(0, KEEP)?, Fate::Gone),
        libc::SYS_rmdir => Call::Entry(a.path(0, KEEP)?, Fate::FolderGone),
        libc::SYS_rename => {
            Call::Rename { from: a.path(0, KEEP)?, to: a.path(1, KEEP)?, onto: Onto::Replaces }
        }
        libc::SYS_renameat => {
            Call::Rename { from: a.at(0, 1, KEEP)?, to: a.at(2, 3, KEEP)?, onto: Onto::Replaces }
        }
        libc::SYS_link => Call::Link { from: a.path(0, KEEP)?, to: a.path(1, KEEP)? },
        libc::SYS_symlink => Call::Entry(a.path(1, KEEP)?, Fate::Appears),
        libc::SYS_mkdir | libc::SYS_mknod => Call::Entry(a.path(0, KEEP)?, Fate::Appears),
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => {
            Call::Rights(a.path(0, FOLLOW)?)
        }
        libc::SYS_lchown => Call::Rights(a.path(0, KEEP)?),
        libc::SYS_futimesat => Call::Rights(a.at(0, 1, FOLLOW)?),
        _ => return Ok(None),
    }))
}

#[cfg(target_arch = "aarch64")]
fn old_call(number: c_long, a: &Arguments) -> Result<Option<Call>, Errno> {
    Ok(match number {
        libc::SYS_renameat => {
            let (from, to) = (a.at(0, 1, KEEP)?, a.at(2, 3, KEEP)?);
            Some(Call::Rename { from, to, onto: Onto::Replaces })
        }
        _ => None,
    })
}

fn onto(flags: u32) -> Onto {
    if flags & libc::RENAME_EXCHANGE != 0 {
        Onto::Exchanges
    } else if flags & libc::RENAME_NOREPLACE != 0 {
        Onto::Fails
    } else {
        Onto::Replaces
    }
}

fn open(target: Target, flags: u32) -> Result<Option<Call>, Errno> {
    let has = |wanted: i32| flags & wanted.cast_unsigned() == wanted.cast_unsigned();
    // A file without a name changes nothing until it gets one.
    if has(libc::O_PATH) || has(libc::O_TMPFILE) {
        return Ok(None);
    }
    let access = flags & libc::O_ACCMODE.cast_unsigned();
    let is_written = access != 0 || has(libc::O_TRUNC);
    let creates = has(libc::O_CREAT);
    if !is_written && !creates {
        return Ok(None);
    }
    let only_appends =
        access == libc::O_WRONLY.cast_unsigned() && has(libc::O_APPEND) && !has(libc::O_TRUNC);
    let is_exclusive = creates && has(libc::O_EXCL);
    let writing = match (is_written && !is_exclusive, only_appends) {
        (false, _) => None,
        (true, true) => Some(Writing::Append),
        (true, false) => Some(Writing::Anywhere),
    };
    let target = match target {
        Target::Path { base, path, .. } if is_exclusive || has(libc::O_NOFOLLOW) => {
            Target::Path { base, path, last: KEEP }
        }
        target => target,
    };
    let reads = access == libc::O_RDWR.cast_unsigned() && !has(libc::O_TRUNC);
    Ok(Some(Call::Open { target, creates, writing, reads }))
}

/// A socket with a path is a name that appears.
fn bind(a: &Arguments) -> Result<Option<Call>, Errno> {
    let length = usize::try_from(a.value(2)).unwrap_or(0).min(size_of::<libc::sockaddr_un>());
    if length <= size_of::<libc::sa_family_t>() {
        return Ok(None);
    }
    let address = a.task.bytes(a.value(1), length)?;
    let Some((family, path)) = address.split_first_chunk() else { return Ok(None) };
    let is_local = i32::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX;
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    if !is_local || path.is_empty() {
        return Ok(None);
    }
    let target = Target::Path { base: libc::AT_FDCWD, path: path.to_vec(), last: KEEP };
    Ok(Some(Call::Entry(target, Fate::Appears)))
}

/// When a link at the end is followed, by the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unless {
    /// It is followed unless AT_SYMLINK_NOFOLLOW is there.
    Forbidden,
    /// It is followed only with AT_SYMLINK_FOLLOW.
    Asked,
}

struct Arguments {
    task: Task,
    values: [u64; 6],
}

impl Arguments {
    fn value(&self, index: usize) -> u64 {
        self.values.get(index).copied().unwrap_or(0)
    }

    /// The kernel takes the low half of what is an `int`.
    fn low(&self, index: usize) -> u32 {
        u32::try_from(self.value(index) & 0xffff_ffff).unwrap_or(0)
    }

    fn number(&self, index: usize) -> i32 {
        self.low(index).cast_signed()
    }

    fn descriptor(&self, index: usize) -> Target {
        Target::Descriptor(self.number(index))
    }

    fn path(&self, index: usize, last: LastLink) -> Result<Target, Errno> {
        let path = self.task.path(self.value(index))?;
        Ok(Target::Path { base: libc::AT_FDCWD, path, last })
    }

    fn at(&self, base: usize, path: usize, last: LastLink) -> Result<Target, Errno> {
        if self.value(path) == 0 {
            // Without a path the descriptor is meant, for times and others.
            return Ok(self.descriptor(base));
        }
        let path = self.task.path(self.value(path))?;
        Ok(Target::Path { base: self.number(base), path, last })
    }

    fn at_with_flags(
        &self,
        base: usize,
        path: usize,
        flags: usize,
        unless: Unless,
    ) -> Result<Target, Errno> {
        let flags = self.number(flags);
        let follows = match unless {
            Unless::Forbidden => flags & libc::AT_SYMLINK_NOFOLLOW == 0,
            Unless::Asked => flags & libc::AT_SYMLINK_FOLLOW != 0,
        };
        let target = self.at(base, path, if follows { FOLLOW } else { KEEP })?;
        Ok(match target {
            Target::Path { base, path, .. }
                if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 =>
            {
                Target::Descriptor(base)
            }
            target => target,
        })
    }
}
