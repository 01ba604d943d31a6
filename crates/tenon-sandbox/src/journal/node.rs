//! One thing in the file tree as it is at a moment: who it is, and all about it but its content.
//!
//! It is told apart by device, number and birth time, because a name may move and a number is used
//! again once it is free.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, Statx, StatxFlags, Timespec, Timestamps, Uid, XattrFlags,
};
use rustix::io::Errno;
use rustix::time::ClockId;

use super::changes::Rights;
use crate::file_system::{FileSystem, OVERLAYFS, device_of, file_system};
use crate::linux::closed::{lasting_mode, through};
use crate::linux::openat::look_at;
use crate::linux::wire::{Reader, Writer};

/// The kernel's XATTR_SIZE_MAX and XATTR_LIST_MAX, in bytes.
const ATTRIBUTE_BYTES_MAX: usize = 65_536;

/// The bits of a mode that do not say the kind.
const PERMISSIONS: u32 = 0o7777;

/// Which one it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId {
    device: u64,
    number: u64,
    /// In nanoseconds; 0 where the file system does not tell, or tells another time later.
    born: u64,
}

/// A moment as the file system tells it: seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

impl Moment {
    /// Returns the moment that a file has which changes now.
    pub(crate) fn now() -> Self {
        let now = rustix::time::clock_gettime(ClockId::RealtimeCoarse);
        let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or_default();
        Self { seconds: now.tv_sec, nanoseconds }
    }

    /// Returns the moment so much later.
    pub(crate) fn after(self, time: Duration) -> Self {
        let nanoseconds = self.nanoseconds + time.subsec_nanos();
        let (carried, nanoseconds) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let seconds = self.seconds.saturating_add(seconds).saturating_add(i64::from(carried));
        Self { seconds, nanoseconds }
    }

    /// Returns the moment a nanosecond earlier.
    pub(crate) fn just_before(self) -> Self {
        match self.nanoseconds.checked_sub(1) {
            Some(nanoseconds) => Self { nanoseconds, ..self },
            None => Self { seconds: self.seconds.saturating_sub(1), nanoseconds: 999_999_999 },
        }
    }
}

/// Names and values, sorted.
pub(crate) type Attributes = Vec<(OsString, OsString)>;

/// What a node is besides its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    /// Kind and permissions.
    pub(crate) mode: u32,
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) bytes: u64,
    pub(crate) links: u32,
    pub(crate) accessed: Moment,
    pub(crate) modified: Moment,
    pub(crate) changed: Moment,
    /// Where a symbolic link leads; empty for everything else, and before [`Node::complete`].
    pub(crate) target: OsString,
    /// Extended attributes; none before [`Node::complete`], and where this user may not read them.
    pub(crate) attributes: Option<Attributes>,
}

/// Looks at what is at `name` in `folder`, a link itself; at the folder for an empty name. `None`
/// when nothing is there. Target and attributes are left out.
pub(crate) fn look(folder: impl AsFd, name: &OsStr) -> Result<Option<Node>, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    match rustix::fs::statx(&folder, name, flags, mask) {
        Ok(found) => Ok(Some(Node::of(&found, &folder))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns which one is held. Its times are not asked for: where the kernel keeps fine ones (Linux 6.13),
/// each change after a look at them gets one of its own, which costs all who change anything.
pub(crate) fn which(held: impl AsFd) -> Result<NodeId, Errno> {
    let mask = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::BTIME;
    let found = rustix::fs::statx(&held, "", AtFlags::EMPTY_PATH, mask)?;
    Ok(NodeId::of(&found, held))
}

impl NodeId {
    fn of(found: &Statx, folder: impl AsFd) -> Self {
        let device = device_of(found);
        // Only devices of no disk are layers.
        let is_layered = found.stx_dev_major == 0
            && file_system(folder) == Some(FileSystem { device, kind: OVERLAYFS });
        let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0 && !is_layered;
        let born = &found.stx_btime;
        let seconds = born.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000);
        let born = if has_birth { seconds + u64::from(born.tv_nsec) } else { 0 };
        Self { device, number: found.stx_ino, born }
    }

    /// Whether it is not known when it was born.
    pub(crate) fn is_unborn(self) -> bool {
        self.born == 0
    }

    /// Returns its device, as `device_of` does, and its number.
    pub(crate) fn inode(self) -> (u64, u64) {
        (self.device, self.number)
    }

    /// When it was born.
    pub(crate) fn born_at(self) -> Moment {
        let seconds = i64::try_from(self.born / 1_000_000_000).unwrap_or(i64::MAX);
        // Less than a second.
        let nanoseconds = u32::try_from(self.born % 1_000_000_000).unwrap_or(0);
        Moment { seconds, nanoseconds }
    }

    /// Returns when it was made, in nanoseconds since 1970; 0 where that is not known.
    pub(crate) fn born(self) -> u64 {
        self.born
    }

    pub(crate) fn is_beside(self, other: Self) -> bool {
        self.device == other.device
    }
}

impl Node {
    /// Returns its permissions and owner.
    pub(crate) fn rights(&self) -> Rights {
        Rights { mode: self.mode & 0o7777, user: self.user, group: self.group }
    }

    /// Returns what was found in `folder`, without target and attributes.
    pub(crate) fn of(found: &Statx, folder: impl AsFd) -> Self {
        let moment = |time: &rustix::fs::StatxTimestamp| Moment {
            seconds: time.tv_sec,
            nanoseconds: time.tv_nsec,
        };
        let id = NodeId::of(found, folder);
        let mode = u32::from(found.stx_mode);
        Self {
            id,
            mode: lasting_mode(id.inode()).map_or(mode, |lasting| mode & !PERMISSIONS | lasting),
            user: found.stx_uid,
            group: found.stx_gid,
            bytes: found.stx_size,
            links: found.stx_nlink,
            accessed: moment(&found.stx_atime),
            modified: moment(&found.stx_mtime),
            changed: moment(&found.stx_ctime),
            target: OsString::new(),
            attributes: None,
        }
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.kind() == FileType::Directory
    }

    pub(crate) fn is_file(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    /// What only the system's own root can make again.
    pub(crate) fn is_device(&self) -> bool {
        matches!(self.kind(), FileType::CharacterDevice | FileType::BlockDevice)
    }

    /// Adds where a link leads, and extended attributes.
    pub(crate) fn complete(&mut self, folder: impl AsFd, name: &OsStr) -> Result<(), Errno> {
        if self.kind() == FileType::Symlink {
            let target = rustix::fs::readlinkat(&folder, name, Vec::new())?;
            self.target = OsString::from_vec(target.into_bytes());
        }
        self.attributes = attributes(&kernel_path(&folder, name), name.is_empty())?;
        if self.attributes.is_none() {
            self.attributes = attributes_of(&hold(folder, name)?);
        }
        Ok(())
    }

    /// Whether mode, owner and attributes are the same.
    pub(crate) fn has_same_rights(&self, other: &Self) -> bool {
        (self.mode, self.user, self.group) == (other.mode, other.user, other.group)
            && match (&self.attributes, &other.attributes) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            }
    }

    /// Takes from a file what gives whoever runs it other rights: where a log may be forged, undo gives nobody any.
    pub(super) fn give_up_powers(&mut self) {
        if self.is_file() {
            self.mode &= !0o6000;
            let attributes = self.attributes.iter_mut();
            attributes.for_each(|all| all.retain(|(name, _)| name != "security.capability"));
        }
    }

    /// Gives what is at `name` in `folder` the owner, attributes, permissions and times of this.
    /// Content must be in its place before.
    pub(crate) fn apply(&self, folder: impl AsFd, name: &OsStr) -> Result<(), Errno> {
        // Whatever comes to its name meanwhile is not touched.
        let held = hold(folder, name)?;
        let empty = OsStr::new("");
        let path = kernel_path(&held, empty);
        let Some(mut now) = look(&held, empty)? else { return Err(Errno::NOENT) };
        let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
        // The kernel's name for a descriptor leads to what is held, also to a link.
        let flags = AtFlags::empty();
        let mut mode = self.mode;
        if (now.user, now.group) != (self.user, self.group) {
            match rustix::fs::chownat(CWD, &*path, Some(user), Some(group), flags) {
                // Only root gives files away; what was another user's and is gone comes back as one's own.
                Err(Errno::PERM) => {
                    let _ = rustix::fs::chownat(CWD, &*path, None, Some(group), flags);
                    // Nobody runs it with the rights of who undoes.
                    mode &= if self.is_file() { !0o6000 } else { !0 };
                }
                done => done?,
            }
        }
        let is_link = self.kind() == FileType::Symlink;
        now.complete(&held, empty)?;
        if !is_link && now.attributes != self.attributes && now.mode & 0o600 != 0o600 {
            // Whose own permissions close it takes no attributes.
            set_mode(&held, empty, now.mode | 0o600)?;
        }
        self.apply_attributes(&now, &path)?;
        let is_anothers = now.user != rustix::process::geteuid().as_raw();
        if !is_link {
            // After the attributes, of which an access control list changes the group's part.
            let done = set_mode(&held, empty, mode);
            let is_so =
                || look(&held, empty).is_ok_and(|now| now.is_some_and(|now| now.mode == mode));
            done.or_else(|errno| if is_so() { Ok(()) } else { Err(errno) })?;
        }
        let times = Timestamps {
            last_access: self.accessed.into(),
            last_modification: self.modified.into(),
        };
        match rustix::fs::utimensat(CWD, &*path, &times, flags) {
            // What another user lets a group write has no times that it may set.
            Err(Errno::PERM) if is_anothers => Ok(()),
            done => done,
        }
    }

    fn apply_attributes(&self, now: &Self, path: &OsStr) -> Result<(), Errno> {
        let (Some(wanted), Some(there)) = (&self.attributes, &now.attributes) else {
            return Ok(());
        };
        for (name, _) in there {
            if !wanted.iter().any(|(known, _)| known == name) {
                rustix::fs::removexattr(path, &**name)?;
            }
        }
        for (name, value) in wanted {
            if !there.contains(&(name.clone(), value.clone())) {
                let flags = XattrFlags::empty();
                rustix::fs::setxattr(path, &**name, value.as_bytes(), flags)?;
            }
        }
        Ok(())
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        self.id.write(writer);
        for number in [self.mode, self.user, self.group, self.links] {
            writer.number(u64::from(number));
        }
        writer.number(self.bytes);
        for moment in [self.accessed, self.modified, self.changed] {
            writer.number(moment.seconds.cast_unsigned());
            writer.number(u64::from(moment.nanoseconds));
        }
        writer.field(&self.target);
        writer.maybe(self.attributes.as_ref(), |writer, attributes| {
            writer.each(attributes, |writer, (name, value)| {
                writer.field(name);
                writer.field(value);
            });
        });
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let id = NodeId::read(reader)?;
        let mut number = || u32::try_from(reader.number()?).ok();
        let (mode, user, group, links) = (number()?, number()?, number()?, number()?);
        let bytes = reader.number()?;
        let mut moment = || {
            Some(Moment {
                seconds: reader.number()?.cast_signed(),
                nanoseconds: u32::try_from(reader.number()?).ok()?,
            })
        };
        let (accessed, modified, changed) = (moment()?, moment()?, moment()?);
        let target = reader.field()?;
        let pair = |reader: &mut Reader<'_>| Some((reader.field()?, reader.field()?));
        let attributes = reader.maybe(|reader| reader.each(pair))?;
        Some(Self {
            id,
            mode,
            user,
            group,
            bytes,
            links,
            accessed,
            modified,
            changed,
            target,
            attributes,
        })
    }
}

impl NodeId {
    pub(crate) fn is_on_device_of(self, other: Self) -> bool {
        self.device == other.device
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        for number in [self.device, self.number, self.born] {
            writer.number(number);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (device, number, born) = (reader.number()?, reader.number()?, reader.number()?);
        Some(Self { device, number, born })
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}-{:x}-{:x}", self.device, self.number, self.born)
    }
}

impl From<Moment> for Timespec {
    fn from(moment: Moment) -> Self {
        Self { tv_sec: moment.seconds, tv_nsec: moment.nanoseconds.into() }
    }
}

/// Takes hold of what is at `name` in `folder`, a link itself; of the folder for an empty name.
/// Somebody may exchange what is at the name meanwhile, for a link out of the workspace, too.
pub(super) fn hold(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    match name.is_empty() {
        true => rustix::io::fcntl_dupfd_cloexec(folder, 0),
        false => look_at(folder, name),
    }
}

/// Gives what is at `name` in `folder` these permissions, never what a link leads to.
pub(super) fn set_mode(folder: impl AsFd, name: &OsStr, mode: u32) -> Result<(), Errno> {
    let held = hold(folder, name)?;
    let path = kernel_path(&held, OsStr::new(""));
    rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(mode & 0o7777), AtFlags::empty())
}

/// The kernel's name for a place in an open folder; for an empty name a link to what is open. Calls
/// that take no descriptor for looking only take this.
pub(crate) fn kernel_path(folder: impl AsFd, name: &OsStr) -> OsString {
    let mut path = OsString::from(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()));
    if !name.is_empty() {
        path.push("/");
        path.push(name);
    }
    path
}

/// Returns the extended attributes of what is held, also where its own permissions close it.
pub(crate) fn attributes_of(held: &OwnedFd) -> Option<Attributes> {
    let path = kernel_path(held, OsStr::new(""));
    through(held, || attributes(&path, true)?.ok_or(Errno::ACCESS)).ok()
}

fn attributes(path: &OsStr, follow: bool) -> Result<Option<Attributes>, Errno> {
    let list = |buffer: &mut [u8]| {
        if follow {
            rustix::fs::listxattr(path, buffer)
        } else {
            rustix::fs::llistxattr(path, buffer)
        }
    };
    let names = match value(list) {
        Err(Errno::OPNOTSUPP) => return Ok(Some(Vec::new())),
        names => names?,
    };
    let mut found = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let get = |buffer: &mut [u8]| {
            if follow {
                rustix::fs::getxattr(path, name, buffer)
            } else {
                rustix::fs::lgetxattr(path, name, buffer)
            }
        };
        match value(get) {
            Ok(value) => {
                found.push((OsStr::from_bytes(name).to_owned(), OsString::from_vec(value)));
            }
            // Gone since.
            Err(Errno::NODATA) => {}
            Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    }
    found.sort();
    Ok(Some(found))
}

fn value(read: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; 256];
    loop {
        match read(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < ATTRIBUTE_BYTES_MAX => {
                buffer.resize(ATTRIBUTE_BYTES_MAX, 0);
            }
            Err(errno) => return Err(errno),
        }
    }
}
