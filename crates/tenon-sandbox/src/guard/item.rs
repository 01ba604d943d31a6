//! What is at a protected name: read within bounds, compared with what was there.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;

use super::folder::{MakeFolders, open_beneath, open_parent};
use crate::file_system::{Identity, Stamp, is_recent};
use crate::journal::Moment;
use crate::linux::closed::{lasting_mode_of, through};
use crate::linux::wire::{Readable, Reader, Sendable, Writer};
use crate::workspace::ContentHash;

/// The longest file whose content is kept.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;

/// As much of a file says whether it is a hash and no more, or begins with two.
const START_BYTES: usize = 160;

/// Permissions by which somebody runs a file.
pub(super) const RUN: u32 = 0o111;

/// How much is read at a look of files that are longer, only to see whether they changed: about 10 ms.
pub(super) const HASHED_BYTES_MAX: u64 = 16 << 20;

/// What is added to the number of a content's kind where the time is known: older notes have none.
const WITH_TIME: u64 = 8;

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// None where nobody looked at the time, and the journal tells how it was.
    stamp: Option<Stamp>,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    /// How many names it has: by another one it is written where nobody looks.
    pub(super) links: u64,
    /// When its content was changed last, which it is again when it is put back. None where nobody knows.
    pub(super) modified: Option<Moment>,
    /// Whether it had changed just before: then another change may have left the stamp as it is.
    is_recent: bool,
    pub(super) content: Content,
    /// Of a file whose content is not kept, where it was read.
    hash: Option<ContentHash>,
    /// Whether a command of this session made it, and it may stay: it need not be put back.
    pub(super) is_made: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// None where it is too long to keep. Files with the same bytes share them.
    File(Option<Arc<[u8]>>),
    Link(OsString),
    /// What is in it has places of its own: here its permissions count.
    Folder,
    Other,
}

impl Item {
    /// Returns what was there, as the journal tells it.
    pub(super) fn told(mode: u32, owner: (u32, u32), links: u64, content: Content) -> Self {
        Self {
            stamp: None,
            mode,
            owner,
            links,
            modified: None,
            is_recent: false,
            content,
            hash: None,
            is_made: false,
        }
    }

    /// Returns a folder that is held.
    pub(super) fn folder(handle: &OwnedFd, stat: &Stat) -> Self {
        let mode = lasting_mode_of(handle).unwrap_or(stat.st_mode & 0o7777);
        let owner = (stat.st_uid, stat.st_gid);
        // It has a name more for each folder in it.
        let told = Self::told(mode, owner, 1, Content::Folder);
        Self { stamp: Some(Stamp::of(stat)), ..told }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        match self.has_same_content(other) {
            Some(is_same) => is_same && self.mode == other.mode && other.links <= self.links,
            // Nobody read it: what is neither file nor link, or longer than is read.
            None => self.stamp.is_some() && self.stamp == other.stamp,
        }
    }

    /// Whether the content is known to be the same, with no more rights.
    pub(super) fn has_content_of(&self, other: &Self) -> bool {
        self.has_same_content(other) == Some(true) && other.mode & !self.mode == 0
    }

    /// Whether nothing but its permissions is different.
    pub(super) fn differs_in_mode_alone(&self, other: &Self) -> bool {
        self.mode != other.mode
            && other.links <= self.links
            && self.has_same_content(other) == Some(true)
    }

    /// None where nobody knows.
    fn has_same_content(&self, other: &Self) -> Option<bool> {
        match (&self.content, &other.content) {
            (Content::File(Some(one)), Content::File(Some(other))) => Some(one == other),
            (Content::File(_), Content::File(_)) => Some(self.hash()? == other.hash()?),
            (Content::Other, Content::Other) => None,
            (one, other) => Some(one == other),
        }
    }

    /// Returns the hash of what is in a file, where that was read.
    pub(super) fn hash(&self) -> Option<ContentHash> {
        self.bytes().map(ContentHash::of).or(self.hash)
    }

    /// Whether it can be seen whether it changed, though its stamp is the same and it is not kept.
    pub(super) fn has_hash(&self) -> bool {
        self.hash.is_some()
    }

    /// Whether this was in it, where `stat` speaks of what it was read from.
    pub(super) fn had(&self, content: Option<ContentHash>, stat: &Stat) -> bool {
        match self.hash() {
            Some(hash) => Some(hash) == content,
            None => self.stamp == Some(Stamp::of(stat)),
        }
    }

    #[cfg(test)]
    pub(super) fn take_stamp_of(&mut self, other: &Self) {
        (self.stamp, self.is_recent) = (other.stamp, false);
    }

    pub(super) fn is_link(&self) -> bool {
        matches!(self.content, Content::Link(_))
    }

    pub(super) fn is_folder(&self) -> bool {
        self.content == Content::Folder
    }

    /// Whether enough is known of it to make it again.
    pub(super) fn is_kept(&self) -> bool {
        !matches!(self.content, Content::File(None) | Content::Other)
    }

    /// Device and inode of what somebody looked at.
    pub(super) fn identity(&self) -> Option<Identity> {
        self.stamp.map(|stamp| (stamp.device, stamp.inode))
    }

    /// Whether a person did not touch it since `known` was looked at.
    pub(super) fn has_stamp_of(&self, known: &Self) -> bool {
        self.stamp == known.stamp
    }

    /// Whether it was this file that was looked at, and that has not changed since.
    pub(super) fn is_still(&self, inode: Option<u64>, changed: Option<Moment>) -> bool {
        let of = |stamp: Stamp| {
            let (seconds, nanoseconds) = stamp.changed;
            let is_then = |changed: Moment| {
                (changed.seconds, u64::from(changed.nanoseconds)) == (seconds, nanoseconds)
            };
            inode == Some(stamp.inode) && changed.is_some_and(is_then)
        };
        !self.is_recent && self.stamp.is_some_and(of)
    }

    /// Whether it changed after the second `until`, since 1970.
    pub(super) fn changed_after(&self, until: i64) -> bool {
        self.stamp.is_none_or(|stamp| stamp.changed.0 > until)
    }

    /// The same, of which no more is known than that it is there.
    pub(super) fn without_content(&self) -> Self {
        Self { content: Content::File(None), hash: self.hash(), ..*self }
    }

    pub(super) fn with(&self, mode: u32, bytes: Vec<u8>) -> Self {
        Self { mode, modified: None, content: Content::File(Some(bytes.into())), ..self.clone() }
    }

    /// Whether a file has more names than `before`: by another one it would be written where nobody looks.
    pub(super) fn has_new_name(&self, before: Option<&Self>) -> bool {
        self.links > before.map_or(1, |before| before.links)
    }

    pub(super) fn bytes(&self) -> Option<&[u8]> {
        self.shared_bytes().map(|bytes| &**bytes)
    }

    /// Takes the same bytes from another file.
    pub(super) fn share(&mut self, bytes: Arc<[u8]>) {
        self.content = Content::File(Some(bytes));
    }

    pub(super) fn shared_bytes(&self) -> Option<&Arc<[u8]>> {
        match &self.content {
            Content::File(bytes) => bytes.as_ref(),
            Content::Link(_) | Content::Folder | Content::Other => None,
        }
    }
}

/// How much of what is in files is kept; what they share counts once.
#[derive(Default)]
pub(super) struct Room {
    used: usize,
    /// Where bytes are that somebody holds.
    counted: HashSet<*const u8>,
}

impl Room {
    pub(super) fn count(&mut self, item: &Item) {
        if let Some(bytes) = item.shared_bytes()
            && self.counted.insert(bytes.as_ptr())
        {
            self.used += bytes.len();
        }
    }

    /// Returns a file, without its content where there is no room for that.
    pub(super) fn keep(&mut self, item: Item, bytes_max: usize) -> Item {
        let Some(bytes) = item.shared_bytes() else { return item };
        if !self.counted.contains(&bytes.as_ptr()) && self.used + bytes.len() > bytes_max {
            return item.without_content();
        }
        self.count(&item);
        item
    }
}

/// Returns what is at `beneath`, as it is `known` if its stamp is the same. Of a file that is too long to
/// keep at most `hashed_left` bytes are read.
pub(super) fn item(
    top: &OwnedFd,
    beneath: &Path,
    stat: &Stat,
    known: Option<&Item>,
    hashed_left: &mut u64,
) -> Item {
    let stamp = Stamp::of(stat);
    match known {
        Some(known) if known.stamp == Some(stamp) && !known.is_recent => known.clone(),
        _ => {
            let content =
                content(top, beneath, FileType::from_raw_mode(stat.st_mode), stat.st_size);
            let length = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
            let is_left = content == Content::File(None) && length > FILE_BYTES_MAX;
            let left = hashed_left.checked_sub(length).filter(|_| is_left);
            let bytes = left.and_then(|left| {
                *hashed_left = left;
                read(top, beneath, length).ok()
            });
            Item {
                stamp: Some(stamp),
                mode: stat.st_mode & 0o7777,
                owner: (stat.st_uid, stat.st_gid),
                links: stat.st_nlink,
                modified: modified(stat),
                is_recent: is_recent(stat),
                content,
                hash: bytes.as_deref().map(ContentHash::of),
                is_made: false,
            }
        }
    }
}

fn modified(stat: &Stat) -> Option<Moment> {
    let nanoseconds = u32::try_from(stat.st_mtime_nsec).ok()?;
    Some(Moment { seconds: stat.st_mtime, nanoseconds })
}

/// Whether a link in `folder` leads to a place within a repository's own directory, most of which
/// nobody looks through.
pub(super) fn leads_into_git(folder: impl AsFd, name: &Path) -> bool {
    // Says only whether to look closer.
    let target = rustix::fs::readlinkat(folder, name, Vec::new());
    target.is_ok_and(|target| {
        Path::new(OsStr::from_bytes(target.to_bytes())).iter().any(|name| name == ".git")
    })
}

fn content(top: &OwnedFd, beneath: &Path, kind: FileType, length: i64) -> Content {
    match kind {
        FileType::RegularFile if u64::try_from(length).is_ok_and(|l| l <= FILE_BYTES_MAX) => {
            Content::File(read(top, beneath, FILE_BYTES_MAX).ok().map(Arc::from))
        }
        FileType::RegularFile => Content::File(None),
        FileType::Symlink => {
            let target = open_parent(top, beneath, MakeFolders::No).and_then(|(folder, name)| {
                through(&folder, || rustix::fs::readlinkat(&folder, name, Vec::new()))
            });
            target.map_or(Content::Other, |target| {
                Content::Link(OsString::from_vec(target.into_bytes()))
            })
        }
        _ => Content::Other,
    }
}

pub(super) fn read(top: &OwnedFd, beneath: &Path, bytes_max: u64) -> Result<Vec<u8>, Errno> {
    read_whole(&open_to_read(top, beneath)?, bytes_max)
}

/// Returns the permissions of a file and its first bytes: of a reference, all.
pub(super) fn start_of(top: &OwnedFd, beneath: &Path) -> Result<(u32, Vec<u8>), Errno> {
    let file = open_to_read(top, beneath)?;
    let mode = rustix::fs::fstat(&file)?.st_mode;
    let mut start = vec![0; START_BYTES];
    let length = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut start))?;
    start.truncate(length);
    Ok((mode, start))
}

pub(super) fn open_to_read(top: &OwnedFd, beneath: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match open_beneath(top, beneath, flags) {
        // The folder that it is in may be closed.
        Err(Errno::ACCESS) => {
            let (folder, name) = open_parent(top, beneath, MakeFolders::No)?;
            through(&folder, || open_beneath(&folder, Path::new(name), flags))
        }
        file => file,
    }
}

/// Reads a file from where it stands to its end.
pub(super) fn read_whole(file: &OwnedFd, bytes_max: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let length = rustix::io::retry_on_intr(|| rustix::io::read(file, &mut buffer))?;
        bytes.extend_from_slice(buffer.get(..length).unwrap_or_default());
        if length == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > bytes_max {
            return Err(Errno::FBIG);
        }
    }
}

impl Sendable for Item {
    fn write(&self, writer: &mut Writer) {
        writer.maybe(self.stamp.as_ref(), |writer, stamp| {
            let Stamp { device, inode, length, changed: (seconds, nanoseconds) } = *stamp;
            for number in [device, inode, length.cast_unsigned(), seconds.cast_unsigned()] {
                writer.number(number);
            }
            writer.number(nanoseconds);
        });
        for number in [self.mode, self.owner.0, self.owner.1] {
            writer.number(u64::from(number));
        }
        writer.number(self.links);
        let (kind, bytes) = match &self.content {
            Content::File(Some(bytes)) => (0, OsStr::from_bytes(bytes)),
            Content::File(None) => (1, OsStr::new("")),
            Content::Link(target) => (2, target.as_os_str()),
            Content::Other => (3, OsStr::new("")),
            Content::Folder => (4, OsStr::new("")),
        };
        writer.number(kind + if self.modified.is_some() { WITH_TIME } else { 0 });
        writer.field(bytes);
        if let Some(Moment { seconds, nanoseconds }) = self.modified {
            writer.number(seconds.cast_unsigned());
            writer.number(nanoseconds.into());
        }
    }
}

impl Readable for Item {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let stamp = reader.maybe(|reader| {
            let (device, inode) = (reader.number()?, reader.number()?);
            let length = reader.number()?.cast_signed();
            let changed = (reader.number()?.cast_signed(), reader.number()?);
            Some(Stamp { device, inode, length, changed })
        })?;
        let mut small = || u32::try_from(reader.number()?).ok();
        let (mode, owner) = (small()?, (small()?, small()?));
        let (links, kind, bytes) = (reader.number()?, reader.number()?, reader.field()?);
        let content = match kind % WITH_TIME {
            0 => Content::File(Some(bytes.into_vec().into())),
            1 => Content::File(None),
            2 => Content::Link(bytes),
            3 => Content::Other,
            4 => Content::Folder,
            _ => return None,
        };
        let modified = match kind / WITH_TIME {
            0 => None,
            _ => Some(Moment {
                seconds: reader.number()?.cast_signed(),
                nanoseconds: u32::try_from(reader.number()?).ok()?,
            }),
        };
        // How long ago it was written nobody knows any more: what is kept is compared.
        let told = Self::told(mode, owner, links, content);
        Some(Self { stamp, modified, is_recent: true, ..told })
    }
}
